#!/usr/bin/env bash
# flashemu-lab record and run --mode full with the virtual machine's kernel: recordings of two filesystems, and an
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
    lab sample --kernel vm --seed "${2:-1}" -o samples.csv
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

lab record --kernel vm --recipes r.toml -o mine
lab record --kernel vm --recipes r.toml --limit 512K -o mine test-vfat
lab show test-vfat | grep -q '^write .* 8\.4$'
# The kernel's requests are as long as the device of the recipe takes them, or as it is told.
/usr/bin/python3 - mine/test-vfat.trace.gz 122880 mine/512K/test-vfat.trace.gz 524288 <<'EOF'
import gzip, sys
for path, limit in zip(sys.argv[1::2], map(int, sys.argv[2::2])):
    lines = gzip.open(path, "rt").read().splitlines()
    assert "# limit: %d" % limit in lines and "# think: of the host, emulated" in lines
    requests = [line.split() for line in lines if line[0] != "#"]
    assert max(int(r[3]) for r in requests) == limit, path
    thinking = sum("think=" in r[-1] for r in requests)
    assert thinking > len(requests) / 2, (thinking, len(requests))
EOF
lab run x.toml --mode full --kernel vm --json >out.json
/usr/bin/python3 - <<'EOF'
import json
out = json.load(open("out.json"))
assert len(out["full"]) == 4 and all(check["pace"] > 0 for check in out["full"])
for row, check in zip(out["rows"], out["full"]):
    for name, replayed in row["values"].items():
        ratio = check["values"][name] / replayed
        print(row["levels"], name, replayed, "kernel/replay %.3f" % ratio)
        # A kernel does not do the same twice; a wrong start would be a factor of two.
        assert 0.85 < ratio < 1.15, (row, check)
EOF

# What a replay takes of a run through the kernel is all that the device saw: with each of the run's
# own think times, a replay takes the kernel's time to the nanosecond.  The device answers when the
# flash has the data, since a replay also counts what is still under way when it begins.
PYTHONPATH=$top/tools/lab /usr/bin/python3 - <<'EOF'
import json, subprocess
from dataclasses import replace
from pathlib import Path
from flashemu_lab.recording import recipes
from flashemu_lab.kernel.record import Job, find_machine, perform, think_times
from flashemu_lab.runs.program import Tool

tool, device = Tool(), ("silicongo-emmc8g", "cache.mode=off")
recipe = replace(recipes.load(Path("r.toml"))["test-ext4"], scale=0.1)
job = Job(recipe, ("profile=" + device[0], *device[1:]), True)
for _, heard, _, trace in perform(find_machine(tool, "vm"), [job], lambda *words: None):
    counts = {name: sum(one["host"][kind]["ops"] for kind in ("read", "write", "trim", "flush"))
              for name, one in heard.results.items()}
    before = sum(counts[name] for name in ("format", "mount", "before"))
    last = before + counts["write"]
    lines = [line.split() for line in trace.read_text().splitlines() if line[0] != "#"][:last]
    thinks = think_times(trace, last)
    kernel = heard.results["write"]["busy_ns"]


def busy(pace):
    for name, part in (("warm", slice(0, before)), ("work", slice(before, last))):
        Path(name).write_text("# flashemu trace 1\n" + "".join(
            " ".join(["0", *words[1:4], *(w for w in words if w == "fua"),
                      "think=%d" % (pace * think)]) + "\n"
            for words, think in zip(lines[part], thinks[part])))
    done = subprocess.run([str(tool.path), "replay", "--json", *device, "work", "--warmup", "warm"],
                          check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["busy_ns"]


print("kernel", kernel, "replay", busy(1), "by a host that takes no time", busy(0))
assert busy(1) == kernel
assert busy(0) < 0.99 * kernel, "on this card the host's think times should matter"
EOF
# A sample of these two: the draw, the three times, and the file.
lab sample --kernel vm --seed 7 -o samples.csv test-vfat test-ext4
[ "$(cut -d , -f 1-3 samples.csv)" = "seed,filesystem,recording
7,ext4,test-ext4
7,vfat,test-vfat" ] || fail "$(cat samples.csv)"
