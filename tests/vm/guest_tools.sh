# shellcheck shell=bash
# Run in the guest by test_tools.sh.
set -euo pipefail
# The guest's files belong to whoever has made the machine, who need not be root.
[ -z "$(find /usr -xdev -perm /6000)" ] || fail "a program changes its user"
echo "kernel $(uname -r)"
dev=$(attach "$NBD_PORT")
name=${dev##*/}
[ "$(blockdev --getsize64 "$dev")" = 8019509248 ] || fail "size"
[ "$(cat "/sys/block/$name/queue/logical_block_size")" = 512 ] || fail "sector size"
[ "$(cat "/sys/block/$name/queue/discard_max_bytes")" = 0 ] ||
    fail "a stick without TRIM offers discard"
blkdiscard "$dev" 2>/dev/null && fail "blkdiscard on a stick without TRIM"

echo "# fio: random writes of 4 to 64 KiB with verification"
fio --name=verify --filename="$dev" --rw=randwrite --bsrange=4k-64k --size=16M --io_size=4M \
    --direct=1 --ioengine=psync --verify=crc32c --do_verify=1 --verify_fatal=1 --output=/run/fio ||
    { cat /run/fio; fail "fio"; }

echo "# hdparm -t"
hdparm -t "$dev" | grep -q 'Timing buffered disk reads' || fail "hdparm"

echo "# flashbench -a"
flashbench -a "$dev" --blocksize=1024 --count=4 -o /run/out >/run/flashbench || fail "flashbench"
grep -q '^align' /run/flashbench || fail "flashbench printed nothing"

echo "# past the end"
dd if=/dev/zero of="$dev" bs=512 seek=15663104 count=1 oflag=direct 2>/dev/null &&
    fail "write past the end"
dd if="$dev" of=/dev/null bs=512 skip=15663103 count=1 iflag=direct 2>/dev/null ||
    fail "last sector"
detach "$dev"
dmesg | grep -i 'i/o error' | grep -v 'nbd.*sector 15663104' && fail "the kernel saw I/O errors"
echo ok
