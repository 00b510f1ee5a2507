# shellcheck shell=bash
# Run in the guest by test_filesystems.sh: guest_filesystems.sh NAME...
set -euo pipefail
wanted=" $* "
echo "kernel $(uname -r)"
dev=$(attach "$NBD_PORT")
dd if=/dev/zero of="$dev" bs=1M count=1 oflag=direct status=none
printf 'start=8192, size=2097152, type=83\n' | sfdisk -q "$dev"
settle "$dev" 1
part=${dev}p1

# try NAME MKFS... -- FSCK...
try() {
    local name=$1 make=() check=()
    shift
    case $wanted in *" $name "*) ;; *) return 0 ;; esac
    while [ "$1" != -- ]; do make+=("$1"); shift; done
    shift
    check=("$@")
    command -v "${make[0]}" >/dev/null || { echo "$name: no ${make[0]}, left out"; return; }
    modprobe "${name%-3g}" 2>/dev/null || modprobe fuse 2>/dev/null || :
    "${make[@]}" >/run/mkfs 2>&1 || { cat /run/mkfs; fail "$name: mkfs"; }
    if [ "$name" = ntfs-3g ]; then ntfs-3g "$part" /mnt; else mount -t "$name" "$part" /mnt; fi
    mkdir /mnt/dir
    dd if=/dev/urandom of=/mnt/big bs=1M count=12 status=none
    for i in {1..60}; do head -c $((i * 137)) /dev/urandom >"/mnt/dir/$i"; done
    for i in {1..60..3}; do rm "/mnt/dir/$i"; done
    (cd /mnt && find . -type f -exec sha256sum {} +) >/run/sums
    umount /mnt
    drop_caches
    "${check[@]}" >/run/fsck 2>&1 || { cat /run/fsck; fail "$name: fsck"; }
    if [ "$name" = ntfs-3g ]; then ntfs-3g "$part" /mnt; else mount -t "$name" "$part" /mnt; fi
    (cd /mnt && sha256sum --quiet -c /run/sums) || fail "$name: contents"
    umount /mnt
    echo "$name: ok"
}

try vfat mkfs.vfat -F 32 "$part" -- fsck.vfat -n "$part"
try ext4 mke2fs -q -F -t ext4 "$part" -- e2fsck -fn "$part"
try exfat mkfs.exfat "$part" -- fsck.exfat -n "$part"
try f2fs mkfs.f2fs -f "$part" -- fsck.f2fs "$part"
try xfs mkfs.xfs -f -q "$part" -- xfs_repair -n "$part"
try ntfs-3g mkntfs -q -Q -F "$part" -- ntfsfix -n "$part"
detach "$dev"
dmesg | grep -i 'i/o error' && fail "the kernel saw I/O errors"
exit 0
