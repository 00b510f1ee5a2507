# shellcheck shell=bash
# Shared by the tests of this folder; sourced.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# A kernel in user mode dies now and then of its host's doings, once in some hundreds of boots and in the
# middle of a script: then the test begins again, once.  A panic that the device brings comes back.
if [ -z "${FE_AGAIN-}" ]; then
    export FE_AGAIN=no
    said=$(mktemp) code=0
    trap 'cat "$said" >&2; rm -f "$said"' EXIT
    bash "$0" "$@" 2>"$said" || code=$?
    if [ $code != 0 ] && grep -q 'the machine died: Kernel panic' "$said"; then
        echo "once more, because the kernel died:" >>"$said"
        code=0
        bash "$0" "$@" 2>>"$said" || code=$?
    fi
    exit $code
fi

skip() {
    echo "skipped: $*" >&2
    exit 77
}

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

need_vm() {
    command -v qemu-system-x86_64 >/dev/null || skip "no qemu-system-x86_64"
    "$top/tools/vm/prepare" --check || skip "the virtual machine cannot be made here"
    "$top/tools/vm/prepare"
    echo "# engine $("$top/tools/vm/prepare" --engine)"
}

# within NAME MEASURED WANTED PERCENT
within() {
    awk -v m="$2" -v w="$3" -v p="$4" 'BEGIN {
        e = 100 * (m - w) / w
        exit !(e <= p && e >= -p) }' ||
        fail "$1: measured $2, published $3, more than $4 % apart"
    awk -v n="$1" -v m="$2" -v w="$3" 'BEGIN {
        printf "%-28s published %8.2f  measured %8.2f  %+.1f %%\n", n, w, m, 100 * (m - w) / w }'
}

# with_exfat COMMAND NAME...: the command with these filesystems and exfat, which is done by qemu in a
# machine of its own if the kernel is User Mode Linux.
with_exfat() {
    local engine
    read -r engine _ < <("$top/tools/vm/prepare" --engine)
    if [ "$engine" = tcg ]; then
        "$@" exfat
    else
        "$@"
        FLASHEMU_VM_ENGINE=tcg "$1" exfat
    fi
}
