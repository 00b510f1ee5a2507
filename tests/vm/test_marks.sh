#!/usr/bin/env bash
# /run/flashemu/mark: a line is a mark in the trace behind everything that was acknowledged, with each
# engine; what is no mark is refused, and a server that does not answer is an error.
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
END
for engine in uml tcg; do
    FLASHEMU_VM_ENGINE=$engine "$top/tools/vm/prepare" --engine >/dev/null 2>&1 || continue
    echo "# engine $engine"
    FLASHEMU_VM_ENGINE=$engine "$top/tools/vm/serve" -- profile=ideal size=16M clock=virtual \
        trace="$tmp/trace" -- "$tmp/script" >"$tmp/out" || fail "$(cat "$tmp/out")"
    [ "$(cat "$tmp/out")" = "mark"$'\n'"Input/output error" ] || fail "$(cat "$tmp/out")"
    sed -n '/ write \| mark /s/^[0-9]* \(mark .*\|write [0-9]*\).*/\1/p' "$tmp/trace" >"$tmp/told"
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
