# shellcheck shell=bash
# What a filesystem makes of each way in which a card ends.  It runs in the guest:
#
#   tools/vm/serve -- ssd-page size=384M clock=virtual device.discard=yes cache.size=8M \
#       cache.volatile=yes cache.idle_flush=no -- tools/vm/ends.sh [FILESYSTEM [END[+cut|+trim]...]]
#
# An END is a lie of faults.lie, or one from which nothing comes back, so it is the last of a server:
#
#   read-only, full, slow   with faults.spare_blocks=0 and this as faults.end_of_life: blocks fail
#                           (slow: all of them, which is quicker with nand.pages_per_block=1024
#                           nand.blocks_per_plane=28)
#   never-ready             with faults.power_cut=dead:100%: power is cut and does not come back
#   disconnect              the device leaves the bus, and is plugged in again before it is mounted anew
#   hang                    with clock=real: the next request takes a minute more
#
# Eight old files are written honestly; then the end begins, eight new files are written and the old
# ones overwritten, and the filesystem and each file are synced.  With `cut` power fails behind that, with `trim` a
# file is removed and fstrim runs before.  Then it is mounted anew.  It prints for each
#
#   FILESYSTEM END[+cut|+trim] write=ok|failed busy=MS mount=ok|ro|failed old=N new=N kept=N errors=N
#       fsck=ok|CODE
#
# where `busy` is for how long the device was at work for those writes, `old` and `new` are how many of
# eight files have what was written last, `kept` how many of the old ones are as they were before, and
# `errors` how many lines of the kernel's log speak of errors.
set -euo pipefail
export LC_ALL=C

N=8
dev=$(attach "$NBD_PORT")
mkdir -p /mnt /run/ends
head -c 300000 /dev/urandom >/run/ends/noise

order() {
    local reply
    reply=$(ctl "$CTL_PORT" "$1")
    case $reply in *'"ok":true'*) ;; *) fail "$1: $reply" ;; esac
}
busy() { ctl "$CTL_PORT" '{"cmd":"stats"}' | json busy_ns; }
lie() { order "{\"cmd\":\"set\",\"args\":[\"faults.lie\",\"$1\"]}"; }

# wear_out [N]: so many blocks fail, or all that the chip has: behind the last one the reply is no.  One
# connection for all, because each takes a while.
wear_out() {
    local block=0 reply fd
    exec {fd}<>"/dev/tcp/$(host_of "$CTL_PORT")/$CTL_PORT"
    while [ $block -lt "${1:-1000000}" ]; do
        printf '{"cmd":"mark-bad","args":["%d"]}\n' $block >&"$fd"
        IFS= read -r -t 60 reply <&"$fd"
        case $reply in *'"ok":true'*) block=$((block + 1)) ;; *) break ;; esac
    done
    exec {fd}>&-
    [ $block -gt 0 ] || fail "no block could be made bad"
}

begin() {
    case $1 in
    read-only | full) wear_out 1 ;;
    slow) wear_out ;;
    never-ready)
        order '{"cmd":"power-cut"}'
        ! ctl "$CTL_PORT" '{"cmd":"power-on"}' | grep -q '"ok":true' || fail "it is ready" ;;
    disconnect) order '{"cmd":"disconnect"}' ;;
    hang) order '{"cmd":"hang","args":["60s"]}' ;;
    *) lie "$1" ;;
    esac
}

make_fs() {
    case $1 in
    vfat) mkfs.vfat -F 32 -I "$dev" ;;
    ext4) mke2fs -q -F -t ext4 "$dev" ;;
    f2fs) mkfs.f2fs -q -f "$dev" ;;
    xfs) mkfs.xfs -q -f -K "$dev" ;;
    btrfs) mkfs.btrfs -q -f "$dev" ;;
    esac >/dev/null 2>&1
}

check_fs() {
    case $1 in
    vfat) fsck.vfat -n "$dev" ;;
    ext4) e2fsck -fn "$dev" ;;
    f2fs) fsck.f2fs --dry-run "$dev" ;;
    xfs) xfs_repair -n "$dev" ;;
    btrfs) btrfs check --readonly "$dev" ;;
    esac >/dev/null 2>&1
}

# File number $2 of age $1: its name, and a hundred kilobytes that follow from it.
content() {
    echo "$1 $2"
    head -c $((100000 + $2 * 7919)) /run/ends/noise | tail -c 100000
}

write_files() {
    local i
    for ((i = 0; i < N; i++)); do content "$2" "$i" >"/mnt/$1$i" || return; done
    # vfat sends no flush for all of a filesystem, only for a file
    sync -f /mnt && sync /mnt/"$1"?
}

# How many files NAME0, NAME1 ... are those of this age.
right() {
    local i n=0
    for ((i = 0; i < N; i++)); do
        ! content "$2" "$i" | cmp -s - "/mnt/$1$i" || n=$((n + 1))
    done
    echo $n
}

errors() { dmesg | grep -ciE 'error|corrupt|fail|invalid|bad ' || :; }

# one FILESYSTEM END [trim|cut]
one() {
    local fs=$1 write=ok mount=ok old=- new=- kept=- fsck=ok before what=${3-} busy
    lie none
    make_fs "$fs" || fail "mkfs $fs"
    mount -t "$fs" "$dev" /mnt
    write_files old 1
    umount /mnt
    mount -t "$fs" "$dev" /mnt
    before=$(errors)
    begin "$2"
    busy=$(busy)
    [ "$what" != trim ] || { rm /mnt/old0; sync -f /mnt; fstrim /mnt || :; }
    { write_files new 1 && write_files old 2; } 2>/dev/null || write=failed
    busy=$((($(busy) - busy) / 1000000))
    if [ "$what" = cut ]; then
        order '{"cmd":"power-cut"}'
        umount /mnt 2>/dev/null || umount -l /mnt
        order '{"cmd":"power-on"}'
    else
        umount /mnt 2>/dev/null || umount -l /mnt
    fi
    [ "$2" != disconnect ] || order '{"cmd":"connect"}'
    echo 3 >/proc/sys/vm/drop_caches
    blockdev --flushbufs "$dev" || :
    timeout 60 mount -t "$fs" "$dev" /mnt 2>/dev/null ||
        { mount=ro; timeout 60 mount -r -t "$fs" "$dev" /mnt 2>/dev/null; } || mount=failed
    if [ $mount != failed ]; then
        old=$(right old 2 2>/dev/null) new=$(right new 1 2>/dev/null) kept=$(right old 1 2>/dev/null)
        umount /mnt 2>/dev/null || umount -l /mnt
    fi
    timeout 60 bash -c "dev=$dev; $(declare -f check_fs); check_fs $fs" || fsck=$?
    echo "$fs $2${what:++$what} write=$write busy=$busy mount=$mount old=$old new=$new kept=$kept" \
        "errors=$(($(errors) - before)) fsck=$fsck"
}

fs=${1:-ext4}
shift || :
[ $# -gt 0 ] || set -- none flush-ignored+cut flush-late+cut lost-write misdirected-write:1K \
    misdirected-read:1K stale-read:64M unstable-read stuck-read:0 capacity:192M wide-trim:4M+trim mixed-queue
for what in "$@"; do
    case $what in
    *+*) one "$fs" "${what%+*}" "${what#*+}" ;;
    *) one "$fs" "$what" ;;
    esac
done
lie none || : # what has ended may not hear it
detach "$dev" || :
