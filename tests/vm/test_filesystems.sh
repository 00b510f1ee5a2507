#!/usr/bin/env bash
# Every filesystem that the kernel has, on a partition of a stick that can lose nothing:
# made, mounted, filled with files, unmounted, checked, compared.
. "$(dirname "$0")/lib.sh"
need_vm
filesystems() { # [--needs NAME] -- NAME...
    local needs=()
    while [ "$1" != -- ]; do needs+=("$1"); shift; done
    shift
    "$top/tools/vm/serve" --timeout 900 "${needs[@]}" -- profile=transcend8g time-scale=0.05 -- \
        "$top/tests/vm/guest_filesystems.sh" "$@"
}
read -r engine _ < <("$top/tools/vm/prepare" --engine)
if [ "$engine" = tcg ]; then
    filesystems -- vfat ext4 exfat f2fs xfs ntfs-3g
else
    filesystems -- vfat ext4 f2fs xfs ntfs-3g
    FLASHEMU_VM_ENGINE=tcg filesystems --needs exfat -- exfat
fi
