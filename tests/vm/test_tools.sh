#!/usr/bin/env bash
# What the kernel learns of the device, and that its common tools work on it.
. "$(dirname "$0")/lib.sh"
need_vm
"$top/tools/vm/serve" --timeout 600 -- profile=transcend8g time-scale=0.1 -- \
    "$top/tests/vm/guest_tools.sh"
