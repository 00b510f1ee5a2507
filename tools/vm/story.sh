# shellcheck shell=bash
# Published experiments with flash sticks, step by step; run in the guest:
#
#   tools/vm/serve -- profile=transcend8g -- tools/vm/story.sh STEP...
#
# Steps are named as the procedures that `flashemu verify --list` explains; and
#
#   raw-fresh   200 MB of aligned 1 MiB writes (to a stick with device.used=0)
#   raw-filled  the same over data (to a stick as profile transcend8g has it)
#
# A step prints a line for each of its figures: its name, MB/s, the figure itself (bytes a
# second or ns) and what the device did for it. Times are the device's; with DILATE=R they
# are those of this machine, divided by R (the server has time-scale=R then). What is
# written is compared and checked by fsck.
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
    before[clock]=${EPOCHREALTIME/./}
}

# since KEY: how much a counter has grown since `mark`; after `stats`.
since() { echo $(($(json "$1" <"$RUN"/stats) - before[$1])); }

# Nanoseconds since `mark`: the device's, or with DILATE this machine's; after `stats`.
took() {
    if [ "${DILATE:-0}" != 0 ]; then
        echo $(((before[end] - before[clock]) * 1000 / DILATE))
    else
        since busy_ns
    fi
}

# report STEP BYTES: one line of results since `mark`.
report() {
    before[end]=${EPOCHREALTIME/./}
    stats
    awk -v step="$1" -v bytes="$2" -v ns="$(took)" -v host="$(since host.write.bytes)" \
        -v nand="$(since nand.bytes_programmed)" -v erases="$(since nand.block_erases)" \
        -v s="$(since ftl.merges.switch)" -v p="$(since ftl.merges.partial)" \
        -v f="$(since ftl.merges.full)" 'BEGIN {
        printf "%s MB/s=%.2f figure=%.0f seconds=%.2f waf=%.2f erases=%d switch=%d partial=%d full=%d\n",
            step, bytes * 1e3 / ns, bytes * 1e9 / ns, ns / 1e9, host ? nand / host : 0, erases, s, p, f }'
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

# read_raw STEP DEV: hdparm -t, whose MB are 2^20 bytes.
read_raw() {
    drop_caches
    mark
    hdparm -t "$2" >"$RUN"/hdparm
    stats
    sed -n '/=/s/^/# hdparm says: /p' "$RUN"/hdparm >&2
    awk -v step="$1" -v n="$(since host.read.bytes)" -v t="$(since busy_ns)" -v r="${DILATE:-0}" '
        / MB in / { own = $(NF - 1) * r }
        END { rate = r ? own : n * 1e9 / t / 1048576
            printf "%s MB/s=%.2f figure=%.0f\n", step, rate, rate * 1e6 }' "$RUN"/hdparm
}

step_hdparm-t() { read_raw hdparm-t "$dev"; }

step_file-fat32-factory() {
    wipe
    echo 'start=63, type=c' | sfdisk -q "$dev" >/dev/null 2>&1
    settle "$dev" 1
    mkfs.vfat -a -F 32 -s 8 "$(part)" >/dev/null
    mount_again() { mount -t vfat "$(part)" "$MNT"; }
    mount_again
    write_file file-fat32-factory /dev/urandom 100
    check_sum fsck.vfat -n "$(part)"
}

step_file-ext4-aligned() {
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
    write_file file-ext4-aligned /dev/urandom 100
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

# Published with -o sync. Today's ntfs-3g makes of that an fsync of the device after each 4
# KiB, and no stick of the time does 14 MB/s so: the one of the time cannot have done it.
make_ntfs() {
    wipe
    echo 'start=8192, type=7' | sfdisk -q "$dev" >/dev/null 2>&1
    settle "$dev" 1
    mkntfs -q -Q -F -c 65536 "$(part)" >/dev/null 2>&1
    mount_again() { ntfs-3g -o big_writes "$(part)" "$MNT"; }
    mount_again
}

step_file-ntfs64k-fresh() {
    make_ntfs
    write_file file-ntfs64k-fresh /dev/zero 200
    check_sum ntfsfix -n "$(part)"
}

# "Filled" is the stick's past, device.used: 8 GB need not be written again for it. The
# units that are open from before are closed at the new writes' cost, as in a long copy.
step_file-ntfs64k-filled() {
    make_ntfs
    dd if=/dev/zero of="$MNT"/before bs=1M count=64 conv=fsync status=none
    write_file file-ntfs64k-filled /dev/zero 200
    umount "$MNT"
}

modprobe fuse 2>/dev/null || :
dev=$(attach "$NBD_PORT")
for step; do
    [ "$(type -t "step_$step")" = function ] || fail "no such step: $step"
    "step_$step"
done
detach "$dev"
