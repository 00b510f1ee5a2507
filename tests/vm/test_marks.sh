#!/usr/bin/env bash
# /run/flashemu/mark: a line is a mark in the trace behind everything that was acknowledged, with each
# engine; what is no mark is refused, and a server that does not answer is an error.  The log of the
# kernel's own dm-log-writes on the device is the same as the one that `flashemu trace` makes of the
# trace, byte for byte.
. "$(dirname "$0")/lib.sh"
need_vm
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cat >"$tmp/script" <<'END'
dev=$(attach $NBD_PORT) || exit 1
for i in 1 2 3; do
    dd if=/dev/zero of="$dev" bs=4096 count=1 seek=$i oflag=direct status=none
    echo "block \"$i\" \\" >/run/flashemu/mark || fail "block $i"
done
printf 'two\nlines' >/run/flashemu/mark && echo joined >>/run/flashemu/mark || fail "two lines"
mark words of a function || fail "the function"
for wrong in '' ' x' $'a\tb' "$(head -c 401 /dev/zero | tr '\0' x)"; do
    error=$(LC_ALL=C bash -c 'echo "$1" >/run/flashemu/mark' - "$wrong" 2>&1) && fail "taken: $wrong"
    case $error in *': Invalid argument') ;; *) fail "$error" ;; esac
    ! mark "$wrong" 2>/dev/null || fail "the function has taken: $wrong"
done
ls /run/flashemu
detach "$dev" || exit 1
mkdir /run/nobody && /vm/mark /run/nobody 127.0.0.1 9
error=$(LC_ALL=C bash -c 'echo late >/run/nobody/mark' 2>&1) && fail "nobody was there"
echo "${error##*: }"
dev=$(attach $NBD_PORT) || exit 1
modprobe -a loop dm-mod dm-log-writes || exit 1
truncate -s 1M /root/log && losetup /dev/loop0 /root/log || exit 1
log=/dev/dm-0
dmsetup create --noudevsync log \
    --table "0 $(blockdev --getsz "$dev") log-writes $dev /dev/loop0" || exit 1
put() { # BLOCK [BLOCKS [FLAG]]
    head -c $((4096 * ${2-1})) /dev/urandom |
        dd of=$log bs=4096 seek=$1 iflag=fullblock oflag=direct${3-} status=none
}
both() { dmsetup message log 0 mark "$1" && mark "$1"; }
mark begin && put 7 && put 3 2 && both nothing-is-durable && put 1 && sync $log && both four-are &&
    put 9 1 ,dsync && both with-FUA && put 8 && blkdiscard -o 32768 -l 65536 $log && put 11 &&
    sync $log && put 2 && put 7 || exit 1
dmsetup remove --noudevsync log && detach "$dev" && losetup -d /dev/loop0 && guest put /root/log
END
tool=${FLASHEMU:-$top/build/tools/flashemu}
for engine in uml tcg; do
    FLASHEMU_VM_ENGINE=$engine "$top/tools/vm/prepare" --engine >/dev/null 2>&1 || continue
    echo "# engine $engine"
    rm -f "$tmp"/{log,trace,data}
    FLASHEMU_VM_ENGINE=$engine "$top/tools/vm/serve" --out "$tmp" -- profile=ssd-page size=16M \
        cache.size=1M flush=always clock=virtual trace="$tmp/trace" trace-data="$tmp/data" -- \
        "$tmp/script" >"$tmp/out" || fail "$(cat "$tmp/out")"
    [ "$(cat "$tmp/out")" = "mark"$'\n'"Input/output error" ] || fail "$(cat "$tmp/out")"
    # What was behind the mark, without reads, is what the kernel has logged up to its end.
    sed -n '/ mark begin$/,$ { / mark begin$\| read /!p }' "$tmp/trace" >"$tmp/behind"
    { sed '/^# requests\|^[0-9]/,$d' "$tmp/trace" && cat "$tmp/behind"; } >"$tmp/second"
    "$tool" trace "$tmp/second" --to dm-log-writes -o "$tmp/made" --force
    "$tool" trace "$tmp/log" --to-data "$tmp/data2" -o "$tmp/kernel" --force
    sed '/ mark dm-log-writes-end$/d' "$tmp/kernel" >"$tmp/kernel2"
    "$tool" trace "$tmp/kernel2" --to dm-log-writes -o "$tmp/again" --force
    cmp "$tmp/made" "$tmp/again" || fail "the kernel has logged something else"
    cmp -i 512 -n $(($(stat -c %s "$tmp/again") - 512)) "$tmp/again" "$tmp/log" || fail "another log"
    [ "$("$tool" trace "$tmp/made" | grep -c ' mark ')" = 3 ] || fail "marks of the log"
    sed -n '/ mark begin$/q; / write \| mark /s/^[0-9]* \(mark .*\|write [0-9]*\).*/\1/p' "$tmp/trace" >"$tmp/told"
    diff - "$tmp/told" <<'END' || fail "other marks, or at other places"
write 4096
mark block "1" \
write 8192
mark block "2" \
write 12288
mark block "3" \
mark two
mark lines
mark joined
mark words of a function
END
done
