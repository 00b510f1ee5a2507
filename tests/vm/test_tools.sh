#!/usr/bin/env bash
# What the kernel learns of the device, and that its common tools work on it.
. "$(dirname "$0")/lib.sh"
need_vm
"$top/tools/vm/serve" --timeout 600 -- profile=transcend8g time-scale=0.1 -- \
    "$top/tests/vm/guest_tools.sh"

# The shell in the machine, with a terminal of its own.  How its last command ended is not how serve ends.
said=$(printf 'blockdev --getsize64 /dev/nbd0\ntty\n(exit 130)\nexit\n' |
    FLASHEMU_SCRIPTS=$top/tools/vm timeout 600 "$FLASHEMU" serve transcend8g --vm 2>&1 | tr -d '\r') ||
    fail "serve --vm: $said"
for line in 8019509248 /dev/pts/0; do
    grep -qx "$line" <<<"$said" || fail "serve --vm says no $line: $said"
done
