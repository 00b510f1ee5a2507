#!/usr/bin/env bash
# flashemu-lab crash with a kernel: one boot for all cuts; what fsync has confirmed is there; the
# second call takes all results from the store.  Then the same on a card whose cache is on, for each
# of four filesystems: the records of a file that was there before on all of them, and new files
# where fsync promises the folder's entry too.
. "$(dirname "$0")/lib.sh"
need_vm
/usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "no python3-numpy"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
lab_crash() {
    TMPDIR=$tmp /usr/bin/python3 "$top/tools/lab/flashemu-lab" crash --store "$tmp/store" --cuts 1 \
        --json "$@"
}
crash() {
    lab_crash transcend8g cache.size=1M cache.volatile=yes --filesystem ext4,vfat --within 60
}
crash >"$tmp/json" || fail "a cut has no result: $(cat "$tmp/json")"
python3 - "$tmp/json" <<'PY'
import json, sys
o = json.load(open(sys.argv[1]))
assert len(o["cuts"]) == 2 and all(c["status"] == "done" for c in o["cuts"]), o["cuts"]
for group in o["groups"]:
    print(group)
    assert group["mount_ns"][0] > 0 and group["unusable"] == 0
    assert sum(group[k] for k in ("whole", "part", "gone", "bad")) == group["unsynced"] > 0
    if group["filesystem"] == "ext4":
        assert group["lost"] == group["wrong"] == 0 and group["fsck_errors"] == 0
PY
crash | cmp - "$tmp/json" ||
    fail "the stored results are others"
lab_crash raspberrypi32g cache.mode=on --fs ext4,f2fs,vfat,exfat --workload files,log \
    --within 100 >"$tmp/card" ||
    fail "a cut on a card has no result: $(cat "$tmp/card")"
python3 - "$tmp/card" <<'PY'
import json, sys
o = json.load(open(sys.argv[1]))
assert [(g["filesystem"], g["workload"]) for g in o["groups"]] == [
    (fs, work) for fs in ("ext4", "f2fs", "vfat", "exfat") for work in ("files", "log")], o["groups"]
for group in o["groups"]:
    print(group)
    assert group["synced"] > 0 and group["wrong"] == 0, group
    if group["workload"] == "log" or group["filesystem"] in ("ext4", "f2fs"):
        assert group["lost"] == 0, group
PY
! compgen -G "$tmp/flashemu-*" || fail "a folder is left"
