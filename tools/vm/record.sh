# shellcheck shell=bash
# Makes a filesystem and does some work on it, for `flashemu-lab record`.  It runs in the guest:
#
#   record.sh RECIPE...
#
# A RECIPE is NAME|TYPE|START|SECTORS|MKFS|MOUNT|WORK: the partition's type, first sector and
# length, two commands without their last words (the partition and the folder), and a function
# work_NAME of this file with its arguments.
#
# Each recipe has a server of its own, which records the requests.  When the script is done with
# one, it ends the server, and the host starts the next one at the same port.  The script prints
#
#   begin NAME CAPACITY LIMIT      bytes of the device, and of the longest request
#   phase PHASE REQUESTS BYTES     at the end of a phase: how many requests the device has had since
#                                  the beginning, and the bytes of files that the phase wrote or read
#   end NAME
#
# and first the versions of the kernel and the programs.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=story.sh
. "$(dirname "$0")"/story.sh

# phase NAME [BYTES]: says that a phase ends here.
phase() {
    stats
    local ops=0 kind
    for kind in read write trim flush; do
        ops=$((ops + $(json "host.$kind.ops" <"$RUN"/stats)))
    done
    echo "phase $1 $ops ${2:-0}"
}

# Replaces the function of story.sh: a recipe says how to mount.
mount_again() {
    # shellcheck disable=SC2086
    $mount "$(part)" "$MNT"
}

# --- work ---

# work_large MIB [BLOCK]: writes a large file and reads it.  With BLOCK, each write has this size.
work_large() {
    local bytes block=${2:-1M}
    bytes=$(($1 << 20))
    dd if=/dev/zero of="$MNT"/file bs="$block" count=$((bytes / $(bytes_of "$block"))) \
        conv=fsync status=none
    phase write $bytes
    remount
    phase remount
    dd if="$MNT"/file of=/dev/null bs=1M status=none
    phase read $bytes
}

versions() {
    echo "kernel $(uname -r)"
    echo "tools $(for tool in mkfs.vfat mkfs.exfat mkfs.xfs mkfs.f2fs mke2fs mkntfs; do
        "$tool" -V 2>&1 </dev/null | grep -m 1 '[0-9]\.[0-9]'
    done | sed 's/ *(.*//; s/^exfatprogs version *: */exfatprogs /' | paste -sd ';' | sed 's/;/; /g')"
}

# one RECIPE
one() {
    local name type start mkfs work tries=0
    IFS='|' read -r name type start sectors mkfs mount work <<<"$1"
    until dev=$(attach "$NBD_PORT" 2>"$RUN"/attach); do # the next server
        [ $((tries += 1)) -le 300 ] || { cat "$RUN"/attach >&2; fail "no server for $name"; }
        sleep 0.1
    done
    limit_requests
    echo "begin $name $(blockdev --getsize64 "$dev")" \
        $(($(cat "/sys/block/${dev##*/}/queue/max_sectors_kb") << 10))
    partition "$start" "$type" || fail "$name: no partition of $sectors sectors at $start"
    # shellcheck disable=SC2086
    $mkfs "$(part)" >"$RUN"/mkfs 2>&1 || { cat "$RUN"/mkfs >&2; fail "$name: $mkfs"; }
    phase format
    mount_again || fail "$name: $mount"
    phase mount
    # shellcheck disable=SC2086
    "work_${work%% *}" ${work#"${work%% *}"}
    echo "end $name"
    umount "$MNT"
    while pidof ntfs-3g >/dev/null; do sleep 0.1; done # it ends a little later
    losetup -nO NAME,BACK-FILE 2>/dev/null | awk -v d="$dev" '$2 == d { print $1 }' |
        xargs -r losetup -d
    detach "$dev"
    ctl "$CTL_PORT" '{"cmd":"quit"}' >/dev/null || :
}

trap '' PIPE # a server that is not there yet, or that has just ended, closes the connection
timers_off
versions
for recipe; do one "$recipe"; done
