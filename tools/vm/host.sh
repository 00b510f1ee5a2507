# shellcheck shell=bash
# The functions of guest.sh, for scripts that run on a host, where the device is already attached.
. "$(dirname "${BASH_SOURCE[0]}")/guest.sh"

attach() { echo "$FLASHEMU_DEV"; }
detach() { :; }
settle() { blockdev --rereadpt "$1" 2>/dev/null || :; sleep 0.2; }

ctl() {
    shift
    printf '%s\n' "$*" | socat -t 60 - "UNIX-CONNECT:$FLASHEMU_CTL"
}
