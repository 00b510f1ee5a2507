# shellcheck shell=bash
# Published experiments with flash sticks, step by step.  It runs in the guest:
#
#   tools/vm/serve -- profile=transcend8g -- tools/vm/story.sh STEP...
#
# Steps are the experiments of `flashemu verify --list`. Steps with fio need their job files
# in the folder of this script (run --file tools/vm/atto.fio:/vm/script/atto.fio).
#
# A step prints a line for each of its figures: its name, MB/s, the figure itself (bytes a
# second or ns), and what the device did for it. Times are those of the device. With DILATE=R
# they are those of this machine divided by R, and the server has time-scale=R. Most steps
# check the filesystem at their end; steps with a single file also compare its contents.
set -euo pipefail
export LC_ALL=C # what is parsed here is in no language

MNT=${MNT:-/mnt} RUN=${RUN:-/run}
mkdir -p "$MNT"

declare -A before
fstype=''
counters='busy_ns device_ns host.write.bytes host.read.bytes nand.bytes_programmed nand.block_erases
    ftl.merges.switch ftl.merges.partial ftl.merges.full ftl.pages_copied'

stats() { ctl "$CTL_PORT" '{"cmd":"stats"}' >"$RUN"/stats; }

mark() {
    stats
    local key
    for key in $counters; do before[$key]=$(json "$key" <"$RUN"/stats); done
    before[clock]=${EPOCHREALTIME/./}
}

# since KEY: how much a counter has grown from the last `mark` to the last `stats`.
since() { echo $(($(json "$1" <"$RUN"/stats) - before[$1])); }

# Nanoseconds from the last `mark` to the last `stats`, of the device or (with DILATE) this machine.
took() {
    if [ "${DILATE:-0}" != 0 ]; then
        echo $(((before[end] - before[clock]) * 1000 / DILATE))
    else
        since busy_ns
    fi
}

# report STEP BYTES [MB]: prints the results since `mark` as one line. An MB has 10^6 bytes, or MB.
report() {
    before[end]=${EPOCHREALTIME/./}
    stats
    awk -v step="$1" -v bytes="$2" -v mb="${3:-1000000}" -v ns="$(took)" -v host="$(since host.write.bytes)" \
        -v nand="$(since nand.bytes_programmed)" -v erases="$(since nand.block_erases)" \
        -v s="$(since ftl.merges.switch)" -v p="$(since ftl.merges.partial)" \
        -v f="$(since ftl.merges.full)" 'BEGIN {
        rate = bytes * 1e9 / ns / mb
        printf "%s MB/s=%.2f figure=%.0f seconds=%.2f waf=%.2f", step, rate, rate * 1e6,
            ns / 1e9, host ? nand / host : 0
        printf " erases=%d switch=%d partial=%d full=%d\n", erases, s, p, f }'
}

# The first partition: that of the kernel. If the kernel reads no partition tables, a loop device
# over the same sectors.
part() {
    local p='' start size loop
    case $dev in *[0-9]) p=p ;; esac
    if [ -b "$dev${p}1" ]; then
        echo "$dev${p}1"
        return
    fi
    read -r start size < <(sfdisk -d "$dev" 2>/dev/null |
        sed -n 's/.*start= *\([0-9]*\), size= *\([0-9]*\).*/\1 \2/p')
    loop=$(losetup -nO NAME,BACK-FILE | awk -v d="$dev" '$2 == d { print $1 }')
    [ -n "$loop" ] || loop=$(losetup -f --show --direct-io=on -o $((start * 512)) \
        --sizelimit $((size * 512)) "$dev")
    echo "$loop"
}

wipe() {
    losetup -nO NAME,BACK-FILE 2>/dev/null | awk -v d="$dev" '$2 == d { print $1 }' |
        xargs -r losetup -d
    dd if=/dev/zero of="$dev" bs=1M count=1 oflag=direct status=none
}

# The kernel's timers count the seconds of this machine. On a slow machine they would write tables
# out more often in the same device time. So they come after an hour, which no step takes, and ext4
# commits only at fsync (commit= in mount_again). A period of 0 is something else: each page that
# gets dirty wakes the kernel's thread at once then. The timers of xfs and f2fs are there once one of
# them is mounted, so this is called behind the mount, too.
#
# A kernel that lives in the device's time counts the device's seconds (TIMERS=real).
timers_late() {
    [ -z "${FLASHEMU_DEV-}" ] && [ "${TIMERS-}" != real ] || return 0
    local file
    for file in /proc/sys/vm/dirty_{writeback,expire}_centisecs /proc/sys/fs/xfs/xfssyncd_centisecs; do
        late "$file" 360000
    done
    for file in /sys/fs/f2fs/*/{cp,idle,discard_idle,gc_idle}_interval; do late "$file" 3600; done
}

# late FILE VALUE: sets a timer, if it is there, and remembers in `installed` with which it came.
late() {
    [ -e "$1" ] || return 0
    : "${installed[$1]:=$(cat "$1")}"
    echo "$2" >"$1"
}

# memory MIB: how many MiB of files the kernel keeps until it begins to write them out; a writer
# that is twice as far ahead has to wait. By default that is a tenth of the memory. The guest has so
# little that a file of 100 MB would reach it. From then on the writer and the kernel's thread run
# side by side, and the speed of this machine decides how much of the FATs is written with which
# data: the same file took 52 to 55 merges. With room for the whole file only fsync writes it out,
# and runs agree within a thousandth of a percent, on a busy machine, too. A PC with 2 GB, as one
# had in 2010, has that room.
memory() {
    [ -z "${FLASHEMU_DEV-}" ] || return 0
    echo $(($1 << 20)) >/proc/sys/vm/dirty_background_bytes
    echo $(($1 << 21)) >/proc/sys/vm/dirty_bytes
}

# as_installed: timers and limits are those with which the kernel has come, which `installed` keeps.
declare -A installed
for file in /proc/sys/vm/dirty_{{writeback,expire}_centisecs,background_ratio,ratio}; do
    installed[$file]=$(cat "$file")
done

as_installed() {
    [ -z "${FLASHEMU_DEV-}" ] || return 0
    local file
    for file in "${!installed[@]}"; do
        [ ! -e "$file" ] || echo "${installed[$file]}" >"$file" # that of a filesystem goes with it
    done
}

# write_file STEP SOURCE MEGABYTES: writes a file, reports, and compares the file with its source.
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
        / MB in / { for (i = 2; i < NF; i++) if ($i == "in") own = $(i - 2) / $(i + 1) * r }
        END { rate = r ? own : n * 1e9 / t / 1048576
            printf "%s MB/s=%.2f figure=%.0f\n", step, rate, rate * 1e6 }' "$RUN"/hdparm
}

step_hdparm-t() { read_raw hdparm-t "$dev"; }

# partition START TYPE: makes the only partition, of $sectors sectors or up to the device's end.
sectors=''
partition() {
    wipe
    echo "start=$1, ${sectors:+size=$sectors, }type=$2" | sfdisk -q "$dev" >/dev/null 2>&1
    settle "$dev" 1
}

# format START FILESYSTEM MKFS-OPTION...: makes a partition with a filesystem, and mounts it.
format() {
    local start=$1 fs=$2
    shift 2
    fstype=$fs
    case $fs in
    vfat) partition "$start" c; mkfs.vfat -F 32 "$@" "$(part)" >/dev/null ;;
    exfat) partition "$start" 7; mkfs.exfat "$@" "$(part)" >/dev/null ;;
    ntfs) partition "$start" 7; mkntfs -q -Q -F "$@" "$(part)" >/dev/null 2>&1 ;;
    xfs) partition "$start" 83; mkfs.xfs -q -f "$@" "$(part)" ;;
    f2fs) partition "$start" 83; mkfs.f2fs -q -f "$@" "$(part)" >/dev/null ;;
    ext4) partition "$start" 83; mke2fs -q -F -t ext4 "$@" "$(part)" ;;
    esac
    mount_again
}

# ext4 behaves as it did in 2010. mke2fs wrote the inode tables itself then; today it leaves that to
# the kernel, which does it while the file is being written. And the search for free blocks went
# from one block group to the next (until Linux 5.13); today it spreads a file over several groups.
# The steps file-ext4-today... have other options.
# With big_writes ntfs-3g needs fewer calls for the same writes.
ext4_options=noinit_itable,mb_optimize_scan=0,commit=300
mount_again() {
    case $fstype in
    ntfs) ntfs-3g -o big_writes "$(part)" "$MNT" ;;
    ext4) mount -t ext4 -o "$ext4_options" "$(part)" "$MNT" ;;
    *) mount -t "$fstype" "$(part)" "$MNT" ;;
    esac
}

# --- one stick, several layouts ---

step_file-fat32-factory() {
    format 63 vfat -a -s 8
    write_file file-fat32-factory /dev/urandom 100
    check_sum fsck.vfat -n "$(part)"
}

step_file-fat32-aligned() {
    format 256 vfat -a -s 8
    write_file file-fat32-aligned /dev/urandom 100
    check_sum fsck.vfat -n "$(part)"
}

# ext4_of_the_article STEP: the article's commands.
ext4_of_the_article() {
    wipe
    # it fails if the kernel reads no partition tables
    printf 'o\nn\np\n1\n256\n\nw\n' |
        fdisk -H 224 -S 56 -c=dos -u=sectors "$dev" >"$RUN"/fdisk 2>&1 || :
    settle "$dev" 1
    sfdisk -d "$dev" 2>/dev/null | grep -q 'start= *256,' ||
        { cat "$RUN"/fdisk >&2; fail "no partition at sector 256"; }
    mke2fs -q -F -t ext4 -E stripe-width=32 -m 0 "$(part)"
    fstype=ext4
    mount_again
    write_file "$1" /dev/urandom 100
    check_sum e2fsck -fn "$(part)"
}

step_file-ext4-aligned() { ext4_of_the_article file-ext4-aligned; }

# ext4_today STEP OPTION,...: the same with a kernel as it is installed today, and these options.
# Those of the article are in the steps one after the other: the inode tables are not written beside
# the file, then the search for free blocks is that of 2010. What is left are the commits every 5 s,
# and how much the kernel keeps until it writes.
ext4_today() {
    as_installed
    local ext4_options=$2
    ext4_of_the_article "$1"
}

step_file-ext4-today() { ext4_today file-ext4-today defaults; }
step_file-ext4-today-tables() { ext4_today file-ext4-today-tables noinit_itable; }
step_file-ext4-today-allocator() {
    ext4_today file-ext4-today-allocator noinit_itable,mb_optimize_scan=0
}

# The experiment was published with -o sync, which is not used here. With it, today's ntfs-3g
# rewrites 200 KiB of its tables after each 128 KiB of the file. At 14 MB/s that would be 36 MB/s
# on the bus, which no stick of that time could do. So the ntfs-3g of that time did not do this.
# "Aligned" means sector 256, as in the publication.
step_file-ntfs64k-fresh() {
    format 256 ntfs -c 65536
    write_file file-ntfs64k-fresh /dev/zero 200
    check_sum ntfsfix -n "$(part)"
}

# "Filled" is the past of the stick (device.used), so that 8 GB need not be written for it. Closing
# the units that are open from before counts as a cost of the new writes, as in a long copy.
step_file-ntfs64k-filled() {
    format 256 ntfs -c 65536
    dd if=/dev/zero of="$MNT"/before bs=1M count=64 conv=fsync status=none
    write_file file-ntfs64k-filled /dev/zero 200
    umount "$MNT"
}

# --- copying large files ---

# copy_files STEP: copies half a gigabyte of files, instead of the nine that were published. It has
# to be many times what fits into the kernel's memory, as the nine were.
copy_files() {
    local i
    memory 32
    mark
    for i in 1 2 3 4; do
        dd if=/dev/zero of="$MNT"/file$i bs=1M count=128 status=none
    done
    sync
    report "$1" $((512 << 20))
    umount "$MNT"
    fsck.vfat -n "$(part)" >"$RUN"/fsck 2>&1 || { cat "$RUN"/fsck >&2; fail "fsck"; }
}

step_copy-fat32-factory() {
    format 2500 vfat -a -s 8
    copy_files copy-fat32-factory
}

# Chooses the reserved sectors such that the clusters begin at a multiple of 4 MiB. The size of the
# FATs depends on them, so this is repeated if the size has changed.
step_copy-fat32-aligned() {
    local reserved=32 fat
    partition 8192 c
    fstype=vfat
    for _ in 1 2 3; do
        mkfs.vfat -F 32 -a -s 128 -R $reserved "$(part)" >/dev/null
        fat=$(od -An -tu4 -j36 -N4 "$(part)")
        [ $(((reserved + 2 * fat) % 8192)) != 0 ] || break
        reserved=$((8192 - 2 * fat % 8192))
    done
    [ $(((reserved + 2 * fat) % 8192)) = 0 ] || fail "the clusters do not begin at 4 MiB"
    mount_again
    copy_files copy-fat32-aligned
}

# --- the same on two filesystems, each on its half of the stick ---

# on_half FS START: runs hdparm -t on the partition, then writes a file. For $sectors see partition.
on_half() {
    format "$2" "$1"
    umount "$MNT"
    read_raw "hdparm-t-$1" "$(part)"
    mount_again
    timers_late
    write_file "file-$1" /dev/urandom 100
    umount "$MNT"
}

half() { echo $(($(blockdev --getsz "$dev") / 4096 * 2048)); }
step_half-ext4() { sectors=$(($(half) - 2048)) on_half ext4 2048; }
step_half-xfs() { on_half xfs "$(half)"; }
step_half-f2fs() { sectors=$(($(half) - 2048)) on_half f2fs 2048; }

# --- what people measured under Windows ---

jobs=$(dirname "$0")

# HD Tune measures at 64 places. Between two requests the program and Windows need a turn-around
# time, in which the device waits. It counts: it is added to the device's time or, with DILATE, the
# script waits for it.
hdtune() {
    local size run=$((1 << 20)) turn_us=250 # hdtune.fio has where it comes from
    size=$(blockdev --getsize64 "$dev")
    [ "$size" -gt $((128 * run)) ] || run=$((size / 128 / 65536 * 65536))
    drop_caches
    mark
    TARGET=$dev RUN=$run AMOUNT=$((64 * run)) SKIP=$((size / 64 / 65536 * 65536 - run)) \
        TURN=$((${DILATE:-0} * turn_us)) fio --output="$RUN"/fio "$jobs"/hdtune.fio ||
        { cat "$RUN"/fio >&2; fail "fio"; }
    before[end]=${EPOCHREALTIME/./}
    stats
    awk -v step="$1" -v n="$(since host.read.bytes)" -v ns="$(took)" -v own="${DILATE:-0}" \
        -v turn=$turn_us 'BEGIN {
        if (own == 0) ns += n / 65536 * turn * 1e3
        printf "%s MB/s=%.2f figure=%.0f bytes=%d\n", step, n * 1e3 / ns, n * 1e9 / ns, n }'
}

bytes_of() { numfmt --from=iec "${1^^}"; } # 8m

# atto_pass read|write STEP: the figure is that of the best transfer size. Only the largest transfer
# size passes over the whole file, because the others would take very long. The sizes that could be
# the best go far enough that blocks which the previous pass has left free do not matter.
atto_pass() {
    local transfer amount best=0 at=0 rate
    for transfer in 512:128k 4k:1m 32k:32m 128k:64m 1m:64m 8m:256m; do
        amount=$(bytes_of "${transfer#*:}")
        transfer=${transfer%:*}
        drop_caches
        mark
        TARGET=$MNT/atto TRANSFER=$transfer AMOUNT=$amount \
            fio --section="$1" --output="$RUN"/fio "$jobs"/atto.fio ||
            { cat "$RUN"/fio >&2; fail "fio"; }
        sync
        before[end]=${EPOCHREALTIME/./}
        stats
        rate=$(awk -v n=$amount -v ns="$(took)" 'BEGIN { printf "%.0f", n * 1e9 / ns }')
        echo "# $2 with $transfer: $rate" >&2
        [ "$rate" -le $best ] || best=$rate at=$transfer
    done
    awk -v step="$2" -v rate=$best -v at="$(bytes_of "$at")" 'BEGIN {
        printf "%s MB/s=%.2f figure=%.0f transfer=%d\n", step, rate / 1e6, rate, at }'
}

# windows NAME FS MKFS-OPTION...
windows() {
    local name=$1
    shift
    format 2048 "$@"
    umount "$MNT"
    hdtune "hdtune-$name"
    mount_again
    dd if=/dev/zero of="$MNT"/atto bs=1M count=256 conv=fsync status=none
    atto_pass write "atto-write-$name"
    atto_pass read "atto-read-$name"
    umount "$MNT"
}

step_windows-ntfs() { windows ntfs ntfs -c 4096; }
# Microsoft's formula (fatgen103) makes the FATs a few sectors longer than mkfs.vfat does. This
# moves the clusters, on sticks of 4 and 8 GB to an odd KiB. Here additional reserved sectors move
# them by the same amount.
step_windows-fat32() {
    local all=$(($(blockdev --getsz "$dev") - 2048)) ours theirs
    truncate -s $((all * 512)) "$RUN"/fat
    mkfs.vfat -F 32 -a -s 8 "$RUN"/fat >/dev/null
    ours=$(od -An -tu4 -j36 -N4 "$RUN"/fat)
    rm "$RUN"/fat
    theirs=$(((all - 32 + 1024) / 1025))
    windows fat32 vfat -a -s 8 -R $((32 + 2 * (theirs - ours)))
}
step_windows-exfat() { windows exfat exfat; }

# --- fragments ---

# An MB of the published page has 2^20 bytes. One can see that because the file of 15.2 MB takes the
# places of the 4 kB files: 486 MB of pairs are 3888 pairs, and 15.2 MB are 3891 clusters.
MB=1048576

# Writes files of 124 kB and 4 kB alternately into one folder until the card is full, and prints the
# number of their bytes. The kernel writes tables out when they have been dirty for 30 s (see
# timers_late), and the real card took 400 pairs in 30 s.
fill_with_files() {
    local n
    awk -v to="$MNT" 'BEGIN {
        small = "0123456789abcdef"
        while (length(small) < 4096) small = small small
        for (large = small; length(large) < 126976;) large = large small
        for (n = 0; ; n++) {
            file = to "/L" n; printf "%s", large >file; close(file)
            file = to "/S" n; printf "%s", small >file; close(file)
            if (n % 400 == 399) system("sync")
        }
    }' 2>/dev/null || : # ends when there is no more room
    n=$(find "$MNT" -name 'S*' | wc -l)
    [ "$n" -gt 1000 ] || fail "full after $n pairs of files"
    echo $((n * 131072))
}

remount() {
    umount "$MNT"
    drop_caches
    mount_again
}

# read_files STEP BYTES FILE...
read_files() {
    local step=$1 bytes=$2
    shift 2
    remount
    mark
    cat "$@" >/dev/null
    report "$step" "$bytes" $MB
}

step_fragments() {
    local bytes
    format 256 vfat -s 8
    mark
    bytes=$(fill_with_files)
    sync
    report fragments-fill "$bytes" $MB
    find "$MNT" -name 'S*' -delete
    remount
    mark
    dd if=/dev/zero of="$MNT"/file bs=4096 count=3891 conv=fsync status=none
    report fragments-write $((3891 * 4096)) $MB
    read_files fragments-read-whole $((100 * 126976)) "$MNT"/L{100..199}
    read_files fragments-read $((3891 * 4096)) "$MNT"/file
    umount "$MNT"
    fsck.vfat -n "$(part)" >"$RUN"/fsck 2>&1 || { cat "$RUN"/fsck >&2; fail "fsck"; }
}

# Makes the kernel's requests as long as those of the host on which the device was measured. nbd
# cuts them at 128 KiB: commands of usb-storage's 120 KiB would leave pieces of 8 KiB, which no
# real stick ever saw.
limit_requests() {
    local max
    max=$(ctl "$CTL_PORT" '{"cmd":"get","args":["link.max_transfer"]}' | json value)
    case $max in
    *K) [ "${max%K}" -ge 128 ] || echo "${max%K}" >/sys/block/"${dev##*/}"/queue/max_sectors_kb ;;
    esac
}

modprobe fuse 2>/dev/null || :
[ "${BASH_SOURCE[0]}" = "$0" ] || return 0 # record.sh takes the functions only
where=''
[ "${TIMERS-}" != real ] || where=", in the device's time"
echo "kernel $(uname -r)$where"
dev=$(attach "$NBD_PORT")
limit_requests
for step; do
    [ "$(type -t "step_$step")" = function ] || fail "no such step: $step"
    case $step in windows-*) ;; *) timers_late; memory 256 ;; esac # Windows is not Linux's cache
    "step_$step"
done
detach "$dev"
