#!/usr/bin/env bash
# flashemu-lab record and run --mode full with a real kernel: recordings of two filesystems, and an
# experiment whose replay agrees with the kernel at starts at which it was not recorded.
#
#   test_recordings.sh --every-filesystem [SEED,... [FILE]]
#
# does the same with one shipped recording of each filesystem, as `flashemu-lab sample` draws it, and
# writes the samples to the file.  That takes some minutes for each seed.
. "$(dirname "$0")/lib.sh"
need_vm
/usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "no python3-numpy"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
start=$PWD
cd "$tmp"
export FLASHEMU_RECORDINGS=$tmp/mine FLASHEMU_LAB_STORE=$tmp/store FLASHEMU_SCRIPTS=$top/tools/vm
lab() { /usr/bin/python3 "$top/tools/lab/flashemu-lab" "$@"; }

if [ "${1-}" = --every-filesystem ]; then
    unset FLASHEMU_RECORDINGS
    lab sample --seed "${2:-1}" -o samples.csv
    [ -z "${3-}" ] || (cd "$start" && cp "$tmp"/samples.csv "$3")
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

# A sample of these two: the draw, both times, and the file.
lab sample --seed 7 -o samples.csv test-vfat test-ext4
[ "$(cut -d , -f 1-3 samples.csv)" = "seed,filesystem,recording
7,ext4,test-ext4
7,vfat,test-vfat" ] || fail "$(cat samples.csv)"
