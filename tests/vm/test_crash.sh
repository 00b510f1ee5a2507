#!/usr/bin/env bash
# flashemu-lab crash with a kernel: one boot for all cuts; what fsync has confirmed is there; the
# second call takes all results from the store.
. "$(dirname "$0")/lib.sh"
need_vm
/usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "no python3-numpy"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
crash() {
    TMPDIR=$tmp /usr/bin/python3 "$top/tools/lab/flashemu-lab" crash transcend8g cache.size=1M \
        cache.volatile=yes --store "$tmp/store" --filesystem ext4,vfat --cuts 1 --within 60 "$@"
}
crash --json >"$tmp/json" || fail "a cut has no result: $(cat "$tmp/json")"
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
crash --json | cmp - "$tmp/json" ||
    fail "the stored results are others"
! compgen -G "$tmp/flashemu-*" || fail "a folder is left"
