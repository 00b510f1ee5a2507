# shellcheck shell=bash
# Run in the guest by test_flashbench.sh: guest_flashbench.sh align|open N
set -euo pipefail
dev=$(attach "$NBD_PORT")
# -a prints its table, -O writes it to a file unless on a terminal
case $1 in
align) flashbench -a "$dev" --blocksize=1024 --count=4 -o /run/out ;;
open)
    flashbench -O --erasesize=4194304 --blocksize=262144 --open-au-nr="$2" -o /run/out "$dev"
    cat /run/out
    ;;
esac
detach "$dev"
