#!/usr/bin/env bash
# flashemu-lab record and run --mode full with a real kernel: recordings of two filesystems, and an
# experiment whose replay agrees with the kernel at starts at which it was not recorded.
#
#   test_recordings.sh --every-filesystem [SEED]
#
# does the same with one shipped recording of each filesystem, on a device and with a start that the
# seed draws as well, and prints the differences.  That takes some minutes.
. "$(dirname "$0")/lib.sh"
need_vm
/usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "no python3-numpy"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export FLASHEMU_RECORDINGS=$tmp/mine FLASHEMU_LAB_STORE=$tmp/store FLASHEMU_SCRIPTS=$top/tools/vm
lab() { /usr/bin/python3 "$top/tools/lab/flashemu-lab" "$@"; }


# every_filesystem SEED: an experiment with a row for each filesystem.  Devices have the longest
# request of the recorded one, and f2fs is moved by multiples of its segments.
every_filesystem() {
    unset FLASHEMU_RECORDINGS
    lab list --recordings --json >list.json
    /usr/bin/python3 - "$1" >every.toml <<'EOF'
import json, random, sys
draw = random.Random(int(sys.argv[1]))
found = {}
for r in json.load(open("list.json")):
    stem = r["name"].rsplit("-", 1)[0]
    kind = stem if stem.startswith("vfat1") else r["filesystem"]
    phases = [p["name"] for p in r["phases"] if p["bytes"]]
    found.setdefault(kind, []).append((r, phases))
print("""name = "every"
title = "Replay and kernel"
[device]
profile = "{device}"
[workload]
requests = "{run}"
[measure.rate]
value = "user_bytes / busy_ns * 1000"
unit = "MB/s"
[factors.filesystem.levels]""")
for kind in sorted(found):
    r, phases = draw.choice(found[kind])
    devices = ["transcend8g"] + ["luxmini32g", "jetflash32g"] * (r["sectors"] < 2**23)
    device = draw.choice(devices) if r["capacity"] > 2**30 else "kingston512m"
    start = draw.choice([256, 4352, 8448]) if kind == "f2fs" else draw.randrange(1, 256)
    phase = draw.choice(phases)
    print(f'{kind} = {{device = "{device}", '
          f'run = "rec:{r["name"]},start={start},measure={phase}"}}')
EOF
    lab run every.toml --mode full --json >out.json
    /usr/bin/python3 - <<'EOF'
import json
out = json.load(open("out.json"))
for row, check in zip(out["rows"], out["full"]):
    replay, kernel = row["values"]["rate"], check["values"]["rate"]
    print("%-7s %-60s replay %6.2f, kernel %6.2f MB/s, %+.1f %%" % (
        row["levels"]["filesystem"], row["command"].removeprefix("flashemu replay "), replay,
        kernel, 100 * (kernel / replay - 1)))
    assert 0.7 < kernel / replay < 1.4, row
EOF
}
if [ "${1-}" = --every-filesystem ]; then
    every_filesystem "${2:-1}"
    exit
fi

cat >r.toml <<'EOF'
[defaults]
profile = "transcend8g"
start = 256
sectors = 262144
scale = 0.1
work = "large 8"

[test-vfat]
mkfs = "mkfs.vfat -F 32 -a -s 8"
mount = "mount -t vfat"

[test-ext4]
mkfs = "mke2fs -q -F -t ext4 -b 4096"
mount = "mount -t ext4 -o noinit_itable,commit=300"
work = "packages 2 1"
EOF
cat >x.toml <<'EOF'
name = "x"
title = "X"
[factors]
fs = ["vfat", "ext4"]
start = ["63", "8192"]
[device]
profile = "transcend8g"
[workload]
requests = "rec:test-{fs},start={start},measure=write"
[measure.rate]
value = "user_bytes / busy_ns * 1000"
unit = "MB/s"
[measure.programmed]
value = "nand.bytes_programmed"
EOF

lab record --recipes r.toml -o mine
lab show test-vfat | grep -q '^write .* 8\.4$'
lab run x.toml --mode full --json >out.json
/usr/bin/python3 - <<'EOF'
import json
out = json.load(open("out.json"))
assert len(out["full"]) == 4
for row, check in zip(out["rows"], out["full"]):
    for name, replayed in row["values"].items():
        ratio = check["values"][name] / replayed
        print(row["levels"], name, replayed, "kernel/replay %.3f" % ratio)
        # A kernel does not do the same twice; a wrong start would be a factor of two.
        assert 0.85 < ratio < 1.15, (row, check)
EOF
