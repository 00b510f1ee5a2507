#!/usr/bin/env bash
# Every filesystem that the kernel has, on a partition of a stick that can lose nothing:
# made, mounted, filled with files, unmounted, checked, compared.
. "$(dirname "$0")/lib.sh"
need_vm
filesystems() { # NAME...
    "$top/tools/vm/serve" --timeout 900 -- profile=transcend8g time-scale=0.05 -- \
        "$top/tests/vm/guest_filesystems.sh" "$@"
}
with_exfat filesystems vfat ext4 f2fs xfs ntfs-3g
