# shellcheck shell=bash
# The experiments that made alignment a topic, step by step; run in the guest:
#
#   tools/vm/serve -- profile=transcend8g -- tools/vm/story.sh STEP...
#
#   read        hdparm -t on the raw device
#   fat32       the layout as bought: a partition at sector 63, FAT32 with 4 KiB
#               clusters right behind; 100 MB from /dev/urandom onto a file
#   ext4        fdisk -H 224 -S 56, a partition at sector 256,
#               mke2fs -t ext4 -E stripe-width=32 -m 0; the same file
#   ntfs        a partition at 4 MiB, NTFS with 64 KiB clusters, mounted sync;
#               200 MB of zeros onto a file
#   ntfs-filled the same, once the partition has been filled up
#
#   raw-fresh   200 MB of aligned 1 MiB writes (to a stick with device.used=0)
#   raw-filled  the same over data (to a stick as profile transcend8g has it)
#
# Each step prints one line: its name, MB/s in device time, and what the device did for
# it; then fsck and a comparison of the file with what was written.
set -euo pipefail

MNT=${MNT:-/mnt} RUN=${RUN:-/run}
mkdir -p "$MNT"

declare -A before
counters='busy_ns device_ns host.write.bytes host.read.bytes nand.bytes_programmed nand.block_erases
    ftl.merges.switch ftl.merges.partial ftl.merges.full ftl.pages_copied'

stats() { ctl "$CTL_PORT" '{"cmd":"stats"}' >"$RUN"/stats; }

mark() {
    stats
    local key
    for key in $counters; do before[$key]=$(json "$key" <"$RUN"/stats); done
}

# since KEY: how much a counter has grown since `mark`; after `stats`.
since() { echo $(($(json "$1" <"$RUN"/stats) - before[$1])); }

# report STEP BYTES: one line of results since `mark`.
report() {
    stats
    awk -v step="$1" -v bytes="$2" -v busy="$(since busy_ns)" -v host="$(since host.write.bytes)" \
        -v nand="$(since nand.bytes_programmed)" -v erases="$(since nand.block_erases)" \
        -v s="$(since ftl.merges.switch)" -v p="$(since ftl.merges.partial)" \
        -v f="$(since ftl.merges.full)" 'BEGIN {
        printf "%s MB/s=%.2f seconds=%.2f waf=%.2f erases=%d switch=%d partial=%d full=%d\n",
            step, bytes * 1e3 / busy, busy / 1e9, host ? nand / host : 0, erases, s, p, f }'
}

# The first partition: the kernel's, or where it reads no tables a loop device over the
# same sectors.
part() {
    if [ -b "${dev}p1" ]; then
        echo "${dev}p1"
        return
    fi
    local start size loop
    read -r start size < <(sfdisk -d "$dev" 2>/dev/null | sed -n 's/.*start= *\([0-9]*\), size= *\([0-9]*\).*/\1 \2/p')
    loop=$(losetup -nO NAME,BACK-FILE | awk -v d="$dev" '$2 == d { print $1 }')
    [ -n "$loop" ] || loop=$(losetup -f --show --direct-io=on -o $((start * 512)) --sizelimit $((size * 512)) "$dev")
    echo "$loop"
}

wipe() {
    losetup -nO NAME,BACK-FILE 2>/dev/null | awk -v d="$dev" '$2 == d { print $1 }' | xargs -r losetup -d
    dd if=/dev/zero of="$dev" bs=1M count=1 oflag=direct status=none
}

# write_file STEP SOURCE MEGABYTES: writes it, reports, compares.
write_file() {
    mark
    dd if="$2" of="$MNT"/file bs=1M count="$3" conv=fsync 2>"$RUN"/dd
    report "$1" $(($3 << 20))
    sed -n "\$s/^/# dd says: /p" "$RUN"/dd >&2
    [ -z "${VERBOSE-}" ] || filefrag -v "$MNT"/file >&2 || :
}

check_sum() {
    local want
    want=$(sha256sum <"$MNT"/file)
    umount "$MNT"
    drop_caches
    "$@" >"$RUN"/fsck 2>&1 || { cat "$RUN"/fsck >&2; fail "fsck: $*"; }
    mount_again
    [ "$want" = "$(sha256sum <"$MNT"/file)" ] || fail "the file has changed"
    umount "$MNT"
}

step_read() {
    drop_caches
    mark
    hdparm -t "$dev" >&2
    stats
    # hdparm's MB are 2^20 bytes
    awk -v n="$(since host.read.bytes)" -v t="$(since busy_ns)" \
        'BEGIN { printf "read MB/s=%.2f\n", n * 1e9 / t / 1048576 }'
}

step_fat32() {
    wipe
    echo 'start=63, type=c' | sfdisk -q "$dev" >/dev/null 2>&1
    settle "$dev" 1
    mkfs.vfat -a -F 32 -s 8 "$(part)" >/dev/null
    mount_again() { mount -t vfat "$(part)" "$MNT"; }
    mount_again
    write_file fat32 /dev/urandom 100
    check_sum fsck.vfat -n "$(part)"
}

step_ext4() {
    wipe
    printf 'o\nn\np\n1\n256\n\nw\n' | fdisk -H 224 -S 56 -c=dos -u=sectors "$dev" >"$RUN"/fdisk 2>&1 || : # fails where the kernel reads no tables
    settle "$dev" 1
    sfdisk -d "$dev" 2>/dev/null | grep -q 'start= *256,' ||
        { cat "$RUN"/fdisk >&2; fail "no partition at sector 256"; }
    mke2fs -q -F -t ext4 -E stripe-width=32 -m 0 "$(part)"
    # mke2fs of the time wrote the inode tables; today's leaves that to the kernel, which
    # would do it while the file is being written.
    mount_again() { mount -t ext4 -o noinit_itable "$(part)" "$MNT"; }
    mount_again
    write_file ext4 /dev/urandom 100
    check_sum e2fsck -fn "$(part)"
}

# raw_write STEP OFFSET-IN-MIB
raw_write() {
    mark
    dd if=/dev/zero of="$dev" bs=1M seek="$2" count=200 oflag=direct 2>"$RUN"/dd
    report "$1" $((200 << 20))
    sed -n "\$s/^/# dd says: /p" "$RUN"/dd >&2
}

step_raw-fresh() { raw_write raw-fresh 4096; }

# The units that are open from before are closed at the new writes' cost, as they are in
# the middle of a long copy.
step_raw-filled() {
    dd if=/dev/zero of="$dev" bs=1M seek=2048 count=64 oflag=direct status=none
    raw_write raw-filled 3072
}

make_ntfs() {
    wipe
    echo 'start=8192, type=7' | sfdisk -q "$dev" >/dev/null 2>&1
    settle "$dev" 1
    mkntfs -q -Q -F -c 65536 "$(part)" >/dev/null
    mount_again() { ntfs-3g -o sync "$(part)" "$MNT"; }
    mount_again
}

step_ntfs() {
    make_ntfs
    write_file ntfs /dev/zero 200
    check_sum ntfsfix -n "$(part)"
}

step_ntfs-filled() {
    make_ntfs
    dd if=/dev/zero of="$MNT"/fill bs=1M 2>/dev/null || : # until the partition is full
    rm "$MNT"/fill
    write_file ntfs-filled /dev/zero 200
    umount "$MNT"
}

modprobe fuse 2>/dev/null || :
dev=$(attach "$NBD_PORT")
for step; do
    [ "$(type -t "step_$step")" = function ] || fail "no such step: $step"
    "step_$step"
done
detach "$dev"
