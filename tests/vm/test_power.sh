#!/usr/bin/env bash
# Power cuts under filesystems that are being written to, on a stick with a volatile cache.
. "$(dirname "$0")/lib.sh"
need_vm
rounds=${1:-3}
power() { # NAME...
    "$top/tools/vm/serve" --timeout 1100 -- profile=transcend8g size=512M device.used=512M \
        time-scale=0.05 cache.size=1M cache.volatile=yes -- \
        "$top/tests/vm/guest_power.sh" "$rounds" "$@"
}
with_exfat power ext4 f2fs vfat
