#!/usr/bin/env bash
# Who runs the kernel: the choice, what it says, and a host on which User Mode Linux does not start.
# What no engine could do is refused by name.
. "$(dirname "$0")/lib.sh"
need_vm
tmp=$(mktemp -d)
other=''
trap '[ -z "$other" ] || kill "$other"; rm -rf "$tmp"' EXIT
prepare=$top/tools/vm/prepare
base=$("$prepare" --path)
is() { [ "$2" = "$3" ] || fail "$1: '$2' instead of '$3'"; }
refused() { # WORDS-OF-THE-MESSAGE RUN-OPTION...
    local code=0
    "$top/tools/vm/run" "${@:2}" - </dev/null >"$tmp/out" 2>&1 || code=$?
    is "run ${*:2}" "$code $(cat "$tmp/out")" "2 vm/run: $1"
}

refused "--needs ext5: the machine is not made with that" --needs ext5
if grep -qsx ntfs3 "$base/tcg.lacks"; then
    FLASHEMU_VM_ENGINE=tcg refused "--needs ntfs3: no kernel here has it" --needs ext4 --needs ntfs3
else
    echo "not tried: a module that no kernel has; Debian 13's has ntfs3"
fi
code=0
FLASHEMU_VM_ENGINE=kvm "$prepare" --engine 2>"$tmp/out" || code=$?
is "no such engine" "$code $(cat "$tmp/out")" "2 vm/prepare: FLASHEMU_VM_ENGINE=kvm: uml, tcg, timed or auto"

# Machines of both engines at the same time. They have the same disk.
if [ "$("$prepare" --engine)" = uml ]; then
    mkfifo "$tmp/go"
    FLASHEMU_VM_ENGINE=uml "$top/tools/vm/run" - <<<'echo up; sleep 500' >"$tmp/go" &
    other=$!
    read -r up <"$tmp/go"
    code=0
    FLASHEMU_VM_ENGINE=tcg "$top/tools/vm/run" - <<<'exit 42' || code=$?
    is "qemu beside User Mode Linux" "$up $code" "up 42"
    kill "$other"
    wait "$other" || :
    other=''
fi

# The same machine, with a kernel that a container does not let start.
[ -e "$base/linux.uml" ] || { echo "no User Mode Linux: $(cat "$base/uml.missing")"; exit 0; }
mkdir "$tmp/cache"
cp -rs "$base" "$tmp/cache/"
ln -s "${base%/*}/debs" "$tmp/cache/"
export FLASHEMU_VM_DIR=$tmp/cache
kernel=$tmp/cache/${base##*/}/linux.uml
rm "$kernel"
cat >"$kernel" <<END
#!/bin/sh
echo tried >>"$tmp/tried"
echo "Checking ptrace... Operation not permitted"
exit 1
END
chmod +x "$kernel"
why="User Mode Linux does not work here: Checking ptrace... Operation not permitted"
unset FLASHEMU_VM_ENGINE
is "the engine" "$("$prepare" --engine 2>"$tmp/err")" "tcg $why"
is "one clear line" "$(cat "$tmp/err")" "vm: qemu emulates a processor, because $why"
is "the engine again" "$("$prepare" --engine 2>&1)" "tcg $why"
is "times it was tried" "$(wc -l <"$tmp/tried")" 1
code=0
FLASHEMU_VM_ENGINE=uml "$prepare" --engine >"$tmp/out" 2>&1 || code=$?
is "uml" "$code $(cat "$tmp/out")" "2 vm/prepare: FLASHEMU_VM_ENGINE=uml: $why"
is "times it was tried" "$(wc -l <"$tmp/tried")" 2
touch -d '2 hours ago' "$tmp/cache/uml.fails"
is "the engine after an hour" "$("$prepare" --engine 2>/dev/null)" "tcg $why"
is "times it was tried" "$(wc -l <"$tmp/tried")" 3

# A kernel that dies once before it has begun costs one boot more. One that dies of nothing else is said.
cat >"$kernel" <<END
#!/bin/sh
echo tried >>"$tmp/starts"
[ ! -e "$tmp/works" ] || [ "\$(wc -l <"$tmp/starts")" != 2 ] || exec "$base/linux.uml" "\$@"
printf 'Kernel panic - not syncing: of the host\r\n [<60>] uml_finishsetup+0x54/0x59\r\n'
exit 134
END
mark=$(head -n 1 "$tmp/cache/uml.fails")
rm "$tmp/cache/uml.fails"
echo "$mark" >"$tmp/cache/uml.works"
code=0
FLASHEMU_VM_ENGINE=uml "$top/tools/vm/run" - <<<'exit 42' >"$tmp/out" 2>&1 || code=$?
is "a kernel that dies twice" "$code $(tail -n 1 "$tmp/out") $(wc -l <"$tmp/starts")" \
    "125 vm/run: the machine did not boot: Kernel panic - not syncing: of the host 2"
touch "$tmp/works"
rm "$tmp/starts"
code=0
FLASHEMU_VM_ENGINE=uml "$top/tools/vm/run" - <<<'echo up; exit 42' >"$tmp/out" 2>"$tmp/err" || code=$?
is "a kernel that dies once" "$code $(cat "$tmp/out")" "42 up"
is "what it says" "$(cat "$tmp/err")" \
    "vm/run: it starts once more, because the machine did not boot: Kernel panic - not syncing: of the host"
echo ok
