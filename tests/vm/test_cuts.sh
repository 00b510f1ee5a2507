#!/usr/bin/env bash
# flashemu-lab crash --fs: a work is recorded on a filesystem, and a kernel judges what power cuts
# leave.  Works that come with it, and commands of one's own; guests that die or hang; mistakes.
. "$(dirname "$0")/lib.sh"
need_vm
/usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "no python3-numpy"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
mkdir room
device='ssd-page cache.size=64K'
crash() { # CODE ARG...
    local want=$1 code=0
    shift
    # shellcheck disable=SC2086
    TMPDIR=$tmp/room /usr/bin/python3 "$top/tools/lab/flashemu-lab" crash $device --second 0 \
        --store store "$@" >out 2>err || code=$?
    [ $code = "$want" ] || fail "exit code $code: $* :: $(cat out err)"
}
said() { grep -qF -- "$1" out err || fail "nobody says '$1': $(cat out err)"; }
names='for i in 1 2 3 4; do echo "$i" >f$i && sync f$i && mark "file $i" || exit 1; done'
there='while read -r _ i; do [ "$(cat f$i)" = "$i" ] || exit 1; done <"$FLASHEMU_MARKS"'

# In the time of the device, where that kernel is: its journal commits 5 s after what is not synced,
# at a full second of the kernel's.
if "$top/tools/vm/timed/kernel" --check; then
    crash 0 --kernel timed --fs ext4 --run "$names; echo 5 >f5; sleep 7" --check "$there" --cuts 2 \
        -o timed --json
    grep -q "\"kernel\": \"[0-9.]*, in the device's time\"" out || fail "which kernel? $(cat out)"
    awk '$2 == "mark" { at = $1 } $2 == "write" && $1 - at > 4.9e9 && $1 - at < 6.1e9 { n++ }
        END { exit !n }' timed/trace || fail "no commit: $(cat timed/trace)"
fi

# What fsync has confirmed is there, on a journal and on FAT32.  A chain of FAT32 may be wrong before a
# file is synced; the dirty mark is no fault.
crash 0 --fs ext4 --run "$names" --check "$there" --cuts 12
said 'No promise is broken in '
crash 1 --fs vfat --run "$names" --check "$there" --json
python3 - <<'PY'
import json
o = json.load(open("out"))
assert {b["reason"].split("/")[0] for b in o["broken"]} == {"fsck: "}, o["broken"]
assert any("Contains a free cluster" in b["reason"] for b in o["broken"]), o["broken"]
assert o["kept"] > len(o["broken"]) and o["notes"]["dirty"] >= o["kept"] // 2, o
assert o["numbers"]["capacity"] == 64 << 20, o
PY

# A promise that nobody keeps, and the id that repeats it.
crash 1 --fs ext4 --run 'echo 1 >f1 && mark "file 1" && echo 2 >f2 && sync f2' \
    --check "$there" --cuts 12 -o out1
said 'A promise is broken in '
id=$(sed -n 's/.*--state \([^ ]*\) .*/\1/p' out)
code=0
TMPDIR=$tmp/room /usr/bin/python3 "$top/tools/lab/flashemu-lab" crash --state "$id" -o out1 >again 2>&1 || code=$?
if [ $code != 1 ] || ! grep -qx "$id: broken, the check ended with exit code 1: .*" again; then
    fail "again: $code $(cat again)"
fi

# A work that comes with it, and what it must find: a log without sums, that is written in place.
crash 1 --fs ext4 --work log-unsummed --cuts 30 -o out2
said 'has begun and is not whole'

# A row of docs/FINDS.md: SQLite that does all right, on a device that ignores flushes.
if type -P sqlite3 >/dev/null; then
    /usr/bin/python3 "$top/tools/finds" --check --cuts 12 lie-flush-ignored >out 2>&1 || fail "$(cat out)"
fi

# A kernel that goes off, or hangs, in the check of a state.  Two states hang, and two machines wait for the
# timeout at the same time.
crash 1 --fs ext4 --run "$names" --cuts 8 --timeout 20 --jobs 2 --check \
    'case $(wc -l <"$FLASHEMU_MARKS") in 2) poweroff -f ;; 3) sleep 1234.5 ;; esac' --json
python3 - <<'PY'
import json
o = json.load(open("out"))
reasons = {b["reason"].split(":")[0] for b in o["broken"]}
assert reasons == {"the kernel crashed", "the kernel took more than 20 s"}, o["broken"]
assert o["kept"] + len(o["broken"]) == o["numbers"]["cases"] and o["kept"] > 0, o
PY

# Mistakes are one line each.
one() { said "$1"; [ "$(wc -l <err)" = 1 ] || fail "more than a line: $(cat err)"; }
crash 2 --fs ext4 --run "$names" --check 'exit 7'
one 'ended with exit code 7'
one 'on the state without a power cut, so it would find a fault where there is none'
crash 2 --fs ext4 --run 'echo why; exit 9' --check true
one 'the work on ext4 was not recorded: why'
crash 2 --fs ext4 --run 'kill -9 $$' --check true
one 'the work on ext4 was not recorded: the command was ended by SIGKILL'
crash 2 --fs ext4 --run "$names" --check 'kill -9 $$'
one 'was ended by SIGKILL on the state without a power cut'
crash 125 --fs ext4 --mount noatime,no_such_option --bisect
one 'the work on ext4 was not recorded: mount: '
said 'no_such_option' # the kernel names it
crash 2 --fs ext4 --work nosuch
one '--work nosuch: allowed: files, log'
crash 2 --fs ext4 --run true --work log
one '--run and --work are two works'
# Two filesystems with options of their own, side by side.
crash 0 --fs ext4,vfat --mount vfat:sync --mount ext4:data=journal --run 'echo 1 >f1 && sync f1' --check true \
    --cuts 3 -o two
[ "$(grep -cx 'ext4\|vfat' out)" = 2 ] || fail "two works: $(cat out)"
for fs in ext4:data=journal vfat:sync; do
    grep -q "\"mount\": \"${fs#*:}\"" "two/${fs%:*}/work.json" || fail "$fs: $(cat two/*/work.json)"
done
[ -s two/index.html ] || fail "no page of both"

[ -z "$(ls room)" ] || fail "a folder is left: $(ls room)"

runs() {
    readlink /proc/[0-9]*/cwd | grep -F "$tmp/room" || pgrep -af "$tmp" ||
        compgen -G "room/flashemu-vm.*"
}
# Killed while machines work: nothing goes on, neither of the recording nor of the judges.  A guest that
# still boots would end by itself, so the kill waits for its word.
# shellcheck disable=SC2016
hangs='echo at work >/proc/$PPID/fd/1; sleep 54321'
for way in run check; do
    run=$names check=true
    printf -v $way %s "$hangs"
    # shellcheck disable=SC2086
    TMPDIR=$tmp/room /usr/bin/python3 "$top/tools/lab/flashemu-lab" crash $device --kernel vm --fs ext4 --store store \
        --run "$run" --check "$check" --timeout 99999 \
        >/dev/null 2>&1 &
    lab=$!
    until grep -rqsx --include=said 'at work' room; do
        kill -0 $lab || fail "$way: has ended before it was killed"
        sleep 0.1
    done
    kill -9 $lab
    wait $lab 2>/dev/null || :
    tries=0
    while runs >/dev/null; do
        [ $((tries += 1)) -lt 150 ] || fail "$way: runs on: $(runs)"
        sleep 0.2
    done
done
rm -rf room/*
! pgrep -f "$tmp" >/dev/null || fail "something runs: $(pgrep -af "$tmp")"
