# shellcheck shell=bash
# Cuts the power under a filesystem that is being written to, for `flashemu-lab crash`.  It runs in
# the guest:
#
#   crash.sh CUT...
#
# A CUT is ID|FILESYSTEM|WORKLOAD|WRITES: the power fails after that many writes to the device,
# counted from the moment when the filesystem is mounted.
#
# Each cut has a server of its own, so each device is as its profile says.  When the script is done
# with one, it ends the server, and the host starts the next one at the same port.  It prints
#
#   begin ID
#   result ID NAME=VALUE...    or    failed ID MESSAGE
#   end ID
#
# The guest remembers what fsync has said is safe.  It does not depend on the device.
set -euo pipefail
export LC_ALL=C

most=4000 # steps of a workload that is never cut off
noise=/run/crash/noise
mkdir -p /run/crash

stat_of() { ctl "$CTL_PORT" '{"cmd":"stats"}' | json "$1"; }
order() { ctl "$CTL_PORT" "$1" | grep -q '"ok":true'; }

# --- filesystems ---

make_fs() {
    case $1 in
    vfat) mkfs.vfat -F 32 -I "$dev" ;;
    exfat) mkfs.exfat "$dev" ;;
    ext4) mke2fs -q -F -t ext4 "$dev" ;;
    ext4-nojournal) mke2fs -q -F -t ext4 -O ^has_journal "$dev" ;;
    f2fs) mkfs.f2fs -q -f "$dev" ;;
    xfs) mkfs.xfs -q -f "$dev" ;;
    esac
}

mount_fs() { mount -t "${1%-nojournal}" "$dev" /mnt; }

# Looks only.
check_fs() {
    case $1 in
    vfat) fsck.vfat -n "$dev" ;;
    exfat) fsck.exfat -n "$dev" ;;
    ext4*) e2fsck -fn "$dev" ;;
    f2fs) fsck.f2fs --dry-run "$dev" ;;
    xfs) xfs_repair -n "$dev" ;;
    esac
}

repair_fs() {
    case $1 in
    vfat) fsck.vfat -a "$dev" ;;
    exfat) fsck.exfat -y "$dev" ;;
    ext4*) e2fsck -fy "$dev" ;;
    f2fs) fsck.f2fs -f "$dev" ;;
    xfs) xfs_repair -L "$dev" ;;
    esac
}

# --- workloads ---
#
# work_NAME writes until the power fails, and lists in /run/crash/acked what fsync has confirmed.
# look_NAME counts what is left of it: sets synced lost wrong unsynced whole part gone bad.

# The content of file or record number $1: its number, and 1 to 64 KiB that follow from it.
content() {
    echo "number $1"
    head -c $(($1 * 7919 % 65536 + 1)) $noise
}

# New files of up to 64 KiB.  Every other one is synced.
work_files() {
    local i
    for ((i = 1; i <= most; i++)); do
        echo "$i" >/run/crash/tried
        content "$i" >/run/crash/file
        if [ $((i % 2)) = 1 ]; then
            dd if=/run/crash/file of=/mnt/f"$i" bs=64K conv=fsync status=none || return 0
            echo "$i" >>/run/crash/acked
        else
            dd if=/run/crash/file of=/mnt/f"$i" bs=64K status=none || return 0
        fi
    done
}

look_files() {
    local i file size tried
    tried=$(cat /run/crash/tried)
    for ((i = 1; i <= tried; i++)); do
        file=/mnt/f$i
        content "$i" >/run/crash/file
        if grep -qx "$i" /run/crash/acked; then
            synced=$((synced + 1))
            if [ ! -e "$file" ]; then lost=$((lost + 1))
            elif ! cmp -s /run/crash/file "$file"; then wrong=$((wrong + 1)); fi
            continue
        fi
        unsynced=$((unsynced + 1))
        if [ ! -e "$file" ]; then gone=$((gone + 1))
        elif cmp -s /run/crash/file "$file"; then whole=$((whole + 1))
        else
            size=$(stat -c %s "$file")
            if [ "$size" -lt "$(stat -c %s /run/crash/file)" ] && cmp -s -n "$size" /run/crash/file "$file"
            then part=$((part + 1)); else bad=$((bad + 1)); fi
        fi
    done
}

# One file that records are appended to.  Every third record is synced, and so are those before it.
work_log() {
    local i
    for ((i = 1; i <= most; i++)); do
        echo "$i" >/run/crash/tried
        content "$i" >/run/crash/file
        if [ $((i % 3)) = 0 ]; then
            dd if=/run/crash/file of=/mnt/log bs=64K oflag=append conv=notrunc,fsync status=none ||
                return 0
            echo "$i" >>/run/crash/acked
        else
            dd if=/run/crash/file of=/mnt/log bs=64K oflag=append conv=notrunc status=none || return 0
        fi
    done
}

look_log() {
    local i tried good size end=0 there
    tried=$(cat /run/crash/tried)
    synced=$(tail -n 1 /run/crash/acked)
    synced=${synced:-0} unsynced=$((tried - synced))
    for ((i = 1; i <= tried; i++)); do content "$i"; done >/run/crash/file
    there=0
    [ ! -e /mnt/log ] || there=$(stat -c %s /mnt/log)
    good=$there
    if [ "$there" != 0 ]; then # how far the log is what was written
        size=$(cmp /run/crash/file /mnt/log 2>/dev/null | sed -n 's/.*byte \([0-9]*\),.*/\1/p') || :
        [ -z "$size" ] || good=$((size - 1))
    fi
    for ((i = 1; i <= tried; i++)); do
        size=$(content "$i" | wc -c)
        end=$((end + size))
        if [ "$i" -le "$synced" ]; then
            if [ $end -gt "$there" ]; then lost=$((lost + 1))
            elif [ $end -gt "$good" ]; then wrong=$((wrong + 1)); fi
        elif [ $end -le "$good" ]; then whole=$((whole + 1))
        elif [ $((end - size)) -ge "$there" ]; then gone=$((gone + 1))
        elif [ "$good" = "$there" ]; then part=$((part + 1))
        else bad=$((bad + 1)); fi
    done
}

# A file of 32 blocks of 4 KiB, which are overwritten in place.  Each write is synced.
pages=32
page() { { echo "page $1"; head -c 4096 $noise; } | head -c 4096; }

prepare_database() {
    local i
    for ((i = 0; i < pages; i++)); do page "before $i"; done >/mnt/base
    sync
}

work_database() {
    local i
    for ((i = 1; i <= most; i++)); do
        echo "$i" >/run/crash/tried
        page "$i" >/run/crash/file
        dd if=/run/crash/file of=/mnt/base bs=4096 seek=$((i * 13 % pages)) conv=notrunc,fsync \
            status=none || return 0
        echo "$i" >>/run/crash/acked
    done
}

# A block that nobody has confirmed may be the old or the new one.
look_database() {
    local p i last tried now older
    tried=$(cat /run/crash/tried)
    last=$(tail -n 1 /run/crash/acked)
    last=${last:-0}
    for ((p = 0; p < pages; p++)); do
        now=''
        for ((i = last; i > 0; i--)); do
            if [ $((i * 13 % pages)) = $p ]; then now=$i; break; fi
        done
        dd if=/mnt/base of=/run/crash/there bs=4096 skip=$p count=1 status=none 2>/dev/null ||
            : >/run/crash/there
        if [ "$tried" != "$last" ] && [ $((tried * 13 % pages)) = $p ]; then
            unsynced=1
            if page "$tried" | cmp -s - /run/crash/there; then whole=1
            elif page "${now:-before $p}" | cmp -s - /run/crash/there; then gone=1
            else bad=1; fi
            continue
        fi
        synced=$((synced + 1))
        ! page "${now:-before $p}" | cmp -s - /run/crash/there || continue
        older=$(head -n 1 /run/crash/there | tr -d '\0')
        if [ -n "$older" ] && page "${older#page }" | cmp -s - /run/crash/there
        then lost=$((lost + 1)); else wrong=$((wrong + 1)); fi
    done
}

# --- a cut ---

# The server of this cut, and not that of the last one, which may live for another moment.
next_device() {
    local tries=0
    until dev=$(attach "$NBD_PORT" 2>/run/crash/attach) &&
        [ "$(ctl "$CTL_PORT" '{"cmd":"stats"}' 2>/dev/null | json host.write.ops)" = 0 ]; do
        [ -z "$dev" ] || detach "$dev" 2>/dev/null || :
        [ $((tries += 1)) -le 300 ] || { cat /run/crash/attach >&2; fail "no server for $id"; }
        sleep 0.1
    done
}

leave() {
    ! grep -q ' /mnt ' /proc/mounts || umount /mnt 2>/dev/null || umount -l /mnt
    [ ! -e "/sys/block/${dev##*/}/pid" ] || detach "$dev"
}

failed() {
    echo "failed $id $1: $(tail -n 1 "$2" 2>/dev/null)"
}

# One cut, up to its result.
one() {
    local fs=$1 work=$2 writes=$3 begin ready recover_ns mount_ns mounted=yes code=0 verdict=clean
    local synced=0 lost=0 wrong=0 unsynced=0 whole=0 part=0 gone=0 bad=0
    make_fs "$fs" >/run/crash/mkfs 2>&1 || { failed "mkfs" /run/crash/mkfs; return; }
    mount_fs "$fs" >/run/crash/mount 2>&1 || { failed "mount" /run/crash/mount; return; }
    : >/run/crash/acked
    echo 0 >/run/crash/tried
    [ "$(type -t "prepare_$work")" != function ] || "prepare_$work"
    sync
    order "{\"cmd\":\"power-cut\",\"args\":[\"after\",\"$writes\",\"writes\"]}" ||
        { failed "power-cut" /dev/null; return; }
    "work_$work" 2>/run/crash/work
    order '{"cmd":"power-cut","args":[]}' || : # only if the work has ended before
    leave
    begin=$(stat_of device_ns)
    ready=$(ctl "$CTL_PORT" '{"cmd":"power-on"}' | json ready_ns) ||
        { failed "power-on" /dev/null; return; }
    recover_ns=$((ready - begin))
    dev=$(attach "$NBD_PORT")
    begin=$(stat_of busy_ns)
    if ! mount_fs "$fs" >/run/crash/mount 2>&1; then
        mounted=repaired
        repair_fs "$fs" >/run/crash/fsck 2>&1 || :
        mount_fs "$fs" >/run/crash/mount 2>&1 || mounted=no
    fi
    mount_ns=$(($(stat_of busy_ns) - begin))
    [ $mounted = no ] || drop_caches
    "look_$work"
    [ $mounted = no ] || umount /mnt
    check_fs "$fs" >/run/crash/fsck 2>&1 || code=$?
    # Two of them only say in words that something is wrong.
    if [ $code != 0 ] || grep -qE '^\[FSCK\].*\[Fail\]' /run/crash/fsck; then verdict=errors; fi
    echo "result $id synced=$synced lost=$lost wrong=$wrong unsynced=$unsynced whole=$whole" \
        "part=$part gone=$gone bad=$bad recover_ns=$recover_ns mount_ns=$mount_ns" \
        "mounted=$mounted fsck=$verdict"
}

trap '' PIPE # a server that has just ended closes the connection
head -c 128K /dev/urandom >$noise
modprobe -a ext4 f2fs vfat exfat xfs 2>/dev/null || :
for arg; do
    IFS='|' read -r id fs work writes <<<"$arg"
    next_device
    echo "begin $id"
    one "$fs" "$work" "$writes"
    leave
    ctl "$CTL_PORT" '{"cmd":"quit"}' >/dev/null 2>&1 || :
    echo "end $id"
done
