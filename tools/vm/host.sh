# shellcheck shell=bash
# On a host, what guest.sh is in the virtual machine: the device is attached already.
. "$(dirname "${BASH_SOURCE[0]}")/guest.sh"

attach() { echo "$FLASHEMU_DEV"; }
detach() { :; }
settle() { blockdev --rereadpt "$1" 2>/dev/null || :; sleep 0.2; }

ctl() {
    shift
    printf '%s\n' "$*" | socat -t 60 - "UNIX-CONNECT:$FLASHEMU_CTL"
}
