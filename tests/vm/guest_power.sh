# shellcheck shell=bash
# Run in the guest by test_power.sh: guest_power.sh ROUNDS NAME...: power fails under filesystems that are being written
# to.  What fsync has said is safe is remembered outside the device and compared after fsck.
#
# ext4 and f2fs must have all of it.  vfat and exfat promise nothing for a directory that is not
# synced itself, so of those it is only told what they lost or changed.
set -euo pipefail
rounds=$1
shift
wanted=" $* "
modprobe -a ext4 f2fs vfat exfat 2>/dev/null || :
echo "kernel $(uname -r)"

power() {
    ctl "$CTL_PORT" "{\"cmd\":\"power-$1\"}" | grep -q '"ok":true' || fail "power-$1 was refused"
}

# Files of 1 to 64 KiB, each synced and then noted in /run/acked, and one more file that is
# written all the time and never synced.  The function returns when the device has gone.
load() {
    local i sum
    (while dd if=/run/noise of=/mnt/noise bs=64K conv=notrunc status=none; do :; done) 2>/dev/null &
    for ((i = 1; ; i++)); do
        head -c $((i * 7919 % 65536 + 1)) /run/noise | numbered "$i" >/run/file
        sum=$(sha256sum </run/file)
        dd if=/run/file of=/mnt/f$i bs=64K conv=fsync status=none 2>/dev/null || break
        echo "$i ${sum%% *}" >>/run/acked
    done
    kill %1 2>/dev/null || :
    wait 2>/dev/null || :
}

# Bytes that differ from file to file, cheaply: the number in front of each.
numbered() { echo "file $1"; cat; }

# compare: every file there is must be one that was tried, whole or (if not synced) a part of it.
compare() {
    local i sum there n=0 lost=0 wrong=0
    while read -r i sum; do
        n=$((n + 1))
        if [ ! -e "/mnt/f$i" ]; then lost=$((lost + 1)); continue; fi
        there=$(sha256sum <"/mnt/f$i")
        [ "${there%% *}" = "$sum" ] || wrong=$((wrong + 1))
    done </run/acked
    echo "$n $lost $wrong"
}

# try NAME must|may MKFS... -- FSCK...
try() {
    local name=$1 promise=$2 make=() check=() round n lost wrong
    local all=0 all_lost=0 all_wrong=0 repaired=0
    shift 2
    case $wanted in *" $name "*) ;; *) return 0 ;; esac
    while [ "$1" != -- ]; do make+=("$1"); shift; done
    shift
    check=("$@")
    grep -qw "$name" /proc/filesystems || fail "$name: not in this kernel"
    for ((round = 1; round <= rounds; round++)); do
        dev=$(attach "$NBD_PORT")
        "${make[@]}" "$dev" >/run/mkfs 2>&1 || { cat /run/mkfs; fail "$name: mkfs"; }
        mount -t "$name" "$dev" /mnt
        : >/run/acked
        load &
        until [ "$(wc -l </run/acked)" -ge $((round * 5)) ]; do sleep 0.05; done
        sleep "0.$((RANDOM % 10))"
        power cut
        wait %1 2>/dev/null || :
        umount /mnt 2>/dev/null || umount -l /mnt
        detach "$dev"
        power on
        dev=$(attach "$NBD_PORT")
        "${check[@]}" "$dev" >/run/fsck 2>&1 || repaired=$((repaired + 1))
        mount -t "$name" "$dev" /mnt || {
            cat /run/fsck
            fail "$name: not to be mounted after round $round"
        }
        read -r n lost wrong < <(compare)
        umount /mnt
        detach "$dev"
        all=$((all + n)) all_lost=$((all_lost + lost)) all_wrong=$((all_wrong + wrong))
    done
    echo "$name: $rounds power cuts, $all files synced, $all_lost of them gone," \
        "$all_wrong changed, $repaired times repaired by fsck"
    [ "$all_wrong" = 0 ] || [ "$promise" = may ] || fail "$name: synced files have changed"
    [ "$all_lost" = 0 ] || [ "$promise" = may ] || fail "$name: synced files are gone"
    [ "$all" -ge $((rounds * 5)) ] || fail "$name: hardly anything was written"
}

dd if=/dev/urandom of=/run/noise bs=1M count=1 status=none
try ext4 must mke2fs -q -F -t ext4 -- e2fsck -fy
try f2fs must mkfs.f2fs -f -q -- fsck.f2fs -a
try vfat may mkfs.vfat -F 32 -I -- fsck.vfat -a
try exfat may mkfs.exfat -- fsck.exfat -y
