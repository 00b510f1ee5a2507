# shellcheck shell=bash
# A work on a filesystem that is recorded once, and the states that power cuts leave of it, for
# `flashemu-lab crash --fs`.  It runs in the guest:
#
#   cuts.sh record FILESYSTEM [MOUNT-OPTIONS]      on the device at $NBD_PORT: makes the filesystem,
#                                                  mounts it, and runs $RUN there; its exit code.
#                                                  Its first line is "kernel VERSION"
#   cuts.sh judge FILESYSTEM [MOUNT-OPTIONS]       judges states, as long as somebody asks
#
# A judge has one disk, $VM_DISK, whose content the host changes while nobody has it open here.  The
# host asks at port $ORDERS with a line
#
#   MARKS [OFFSET+LENGTH...]        so many of /root/marks stand in front of the cut; in sectors of
#                                   512 bytes, what cannot be read
#
# and gets one:
#
#   WORD CODE KIND NOTES TEXT       kept, unknown or broken; the exit code of $CHECK; what has said so:
#                                   mount, check, umount or fsck; what is no fault, "-" or words with
#                                   commas between them; and why, of a check its last words
#
# Marks that begin with "flashemu:" are this script's, and $CHECK does not see them.
set -uo pipefail
export LC_ALL=C
here=/run/cuts
mkdir -p $here
mode=$1 fs=$2 options=${3-}

# --- filesystems ---

make_fs() {
    case $fs in
    ext4) mke2fs -q -F -t ext4 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$1" ;;
    xfs) mkfs.xfs -q -f -K "$1" ;;
    btrfs) mkfs.btrfs -q -f -K "$1" ;;
    f2fs) mkfs.f2fs -q -f -t 0 "$1" ;;
    vfat) mkfs.vfat -F 32 -I "$1" ;;
    exfat) mkfs.exfat "$1" ;;
    ntfs | ntfs3) mkntfs -q -F -f "$1" ;;
    esac
}

mount_fs() {
    local type=$fs
    [ "$fs" != ntfs ] || type=ntfs-3g
    mount -t "$type" ${options:+-o "$options"} "$1" /mnt
}

# Looks only.  Prints what is wrong; an exit code of 0 says that nothing is, whatever was printed.
fsck_of() {
    case $fs in
    ext4) e2fsck -fn "$1" ;;
    xfs) xfs_repair -n "$1" ;;
    btrfs) btrfs check --readonly "$1" ;;
    f2fs) fsck.f2fs --dry-run "$1" ;;
    vfat) fsck.vfat -n "$1" ;;
    exfat) fsck.exfat -n "$1" ;;
    ntfs | ntfs3) ntfsfix -n "$1" ;;
    esac
}

# What fsck.vfat has said: "note WORD" for what any cut may leave, and "fault LINE" for the rest.
# The line with a name belongs to the one behind it.
read_vfat() {
    awk '
    /^$/ || /^fsck.fat / || /^(Cannot initialize conversion|Using internal CP)/ || /^Leaving / || /^  *[0-9]+:[0-9a-f]+\// || /^This is mostly harmless/ { next }
    /Not automatically fixing|Automatically removing|Auto-correcting|Truncating file to/ { next }
    /^[^ ].*: [0-9]+ files, [0-9]+\/[0-9]+ clusters$/ { next }
    /^There are differences between boot sector/ || /^Dirty bit is set/ { print "note dirty"; next }
    /^Reclaimed [0-9]+ unused cluster/ { print "note lost-clusters"; next }
    /File size is [0-9]+ bytes, cluster chain length is > / { print "note lost-clusters"; name = ""; next }
    /^Free cluster summary (wrong|uninitialized)/ || /^1\) Correct|^2\) Don/ { print "note summary"; next }
    /^FATs differ but appear to be intact/ || /Using first FAT/ { print "note fats-differ"; next }
    /^\// { name = $0; next }
    { print "fault " (name ? name ": " : "") $0; name = "" }' | awk '!seen[$0]++'
}

# The same for fsck.exfat, which says only what is a fault.
read_exfat() {
    awk '
    /^$/ || /^exfatprogs version/ || /: (clean|corrupted)[.] / || /: files corrupted [0-9]/ { next }
    { print "fault " $0 }' | awk '!seen[$0]++'
}

# What any cut may leave on exfat, as notes: the mark that it was not unmounted, which is a bit of the boot
# sector; and clusters that belong to no file, which become files when they are rescued.  That changes
# the device, behind everything else that is looked at.
note_exfat() { # DEVICE
    local flags=0 files=0
    flags=$(od -An -tu1 -j 106 -N 1 "$1")
    [ $((flags & 2)) = 0 ] || notes=dirty
    [[ $(<$here/fsck) =~ ', files '([0-9]+) ]] && files=${BASH_REMATCH[1]}
    fsck.exfat -s -y "$1" >/dev/null 2>&1
    [[ $(fsck.exfat -n "$1" 2>&1) =~ ', files '([0-9]+) ]] || return 0
    [ "${BASH_REMATCH[1]}" = "$files" ] || notes+=${notes:+,}lost-clusters
}

# Judges a filesystem that is not mounted: sets notes and why.
look() {
    local code=0 word line
    fsck_of "$1" >$here/fsck 2>&1 || code=$?
    case $fs in
    vfat | exfat)
        while read -r word line; do
            case $word in
            note) notes+=${notes:+,}$line ;;
            fault) why=${why:-fsck: $line} ;;
            esac
        done < <("read_$fs" <$here/fsck)
        [ $code -le 1 ] || why=${why:-fsck ended with $code}
        [ -n "$why" ] || [ "$fs" = vfat ] || note_exfat "$1"
        ;;
    f2fs) # it says in words that something is wrong, unless it gives up
        line=$(grep -m 1 -E '^\[FSCK\].*\[Fail\]|\[ASSERT\]' $here/fsck) && why="fsck: $line"
        [ $code -lt 126 ] || why=${why:-fsck ended with $code}
        ;;
    *) # the first line that is neither a head nor a pass
        [ $code = 0 ] || why="fsck ended with $code: $(grep -m 1 -vE \
            '^(e2fsck |Pass |Phase |Warning!|Opening filesystem|Checking |\[[0-9]/|UUID|- |  *-|$)' $here/fsck)" ;;
    esac
}

# --- record ---

# What the kernel says about the options of a mount that has failed: it names the one that it does not know.
strange_option() {
    local told
    told=$(dmesg -t | grep -m 1 -iE 'option|parameter|bad value') && printf ' %s' "$told"
}

record() {
    local dev code=0
    echo "kernel $(uname -r)"
    dev=$(attach "$NBD_PORT") || exit 1
    make_fs "$dev" >$here/log 2>&1 || fail "mkfs: $(grep . $here/log | tail -n 1)"
    sync "$dev" || fail "the new filesystem cannot be flushed"
    dmesg -C
    mount_fs "$dev" 2>$here/log || fail "$(grep -m 1 . $here/log)$(strange_option)"
    mark 'flashemu: mounted' || exit 1
    # What this shell says of a signal is not heard: the exit code tells it.
    { (cd /mnt && exec bash -c "$RUN" 2>&3) </dev/null || code=$?; } 3>&2 2>/dev/null
    mark 'flashemu: done' && umount /mnt && mark 'flashemu: unmounted' || exit 1
    detach "$dev" || exit 1
    exit "$code"
}

# --- judge ---

# A device with sectors that cannot be read, of ranges in order.
damaged() {
    local at=0 range offset length size
    size=$(blockdev --getsz "$VM_DISK")
    {
        for range; do
            offset=${range%+*} length=${range#*+}
            [ "$offset" = $at ] || echo "$at $((offset - at)) linear $VM_DISK $at"
            echo "$offset $length error"
            at=$((offset + length))
        done
        [ $at = "$size" ] || echo "$at $((size - at)) linear $VM_DISK $at"
    } | dmsetup create --noudevsync damaged || fail "dmsetup"
}

# Says what a filesystem that does not mount needs, where a program mends just that.
mend() {
    [ "$fs" = ntfs ] || return 0
    if ntfsfix "$1" >$here/log 2>&1 && mount_fs "$1" >$here/log 2>&1; then
        why+="; it mounts after ntfsfix"
        umount /mnt || exit 0
    else
        why+="; ntfsfix does not help"
    fi
}

# Runs $CHECK on the filesystem.  That of a work that comes with the machine is a function here: to start a
# bash takes as long as the rest of such a check.
check() (
    exec </dev/null >$here/log 2>&1
    cd /mnt || exit 1
    name=${CHECK#bash \~/works.sh check }
    if [ "$name" != "$CHECK" ] && is_work "$name"; then
        check_one "$name"
        exit
    fi
    exec bash -c "$CHECK"
)

# What the check has said last.
last_words() { grep . $here/log | tail -n 1; }

# Sets word, code, kind, notes and why for a device.
one() {
    local dev=$1 told=''
    word=broken code=0 kind=mount notes='' why=''
    if ! mount_fs "$dev" >$here/log 2>&1; then
        why=$(grep -m 1 . $here/log) && why="mount: ${why#mount: }" && why=${why%.}
        mend "$dev"
        return
    fi
    kind=check
    if [ -n "${CHECK-}" ]; then
        check 2>/dev/null || code=$? # and not what this shell says of a signal
        [ "$code" = 0 ] || told=$(last_words)
    fi
    if ! umount /mnt 2>$here/log; then
        kind=umount why="umount: $(tail -n 1 $here/log)"
        return
    fi
    look "$dev"
    if [ -n "$why" ]; then kind=fsck; return; fi
    why=$told
    case $code in 0) word=kept ;; 125) word=unknown ;; esac
}

# Sets `shown` to the marks that $CHECK sees, and upto[N] to how many of them are among the first N marks.
read_marks() {
    local all=() i
    mapfile -t all </root/marks
    shown=() upto=(0)
    for ((i = 0; i < ${#all[@]}; i++)); do
        case ${all[i]} in '' | flashemu:*) ;; *) shown+=("${all[i]}") ;; esac
        upto+=(${#shown[@]})
    done
}

# Writes those that are among the first N marks to where the check finds them.
put_marks() {
    local n=${upto[$1]}
    { [ "$n" = 0 ] || printf '%s\n' "${shown[@]:0:n}"; } >$here/marks
}

# Whether something is mounted.  No program is asked: each costs as much as a mount.
is_mounted() {
    local mounts
    mapfile -t mounts </proc/mounts
    [[ ${mounts[*]} == *" /mnt "* ]]
}

judge() {
    local fd n ranges shown=() upto=() word code kind notes why dev
    modprobe -a dm-mod 2>/dev/null || :
    read_marks
    # shellcheck source=/dev/null
    . /root/works.sh
    exec {fd}<>"/dev/tcp/$(host_of "$ORDERS")/$ORDERS" || fail "nobody asks at port $ORDERS"
    while read -r n ranges <&$fd; do
        put_marks "$n"
        dev=$VM_DISK
        # shellcheck disable=SC2086
        if [ -n "$ranges" ]; then damaged $ranges; dev=/dev/dm-0; fi
        one "$dev"
        printf '%s %s %s %s %s\n' "$word" "$code" "$kind" "${notes:--}" "${why//[^[:print:]]/?}" >&$fd
        ! is_mounted || exit 0 # nobody knows what is still open
        [ -z "$ranges" ] || dmsetup remove --noudevsync damaged || exit 0
    done
    exit 0
}

export FLASHEMU_MARKS=$here/marks
"$mode"
