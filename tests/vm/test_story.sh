#!/usr/bin/env bash
# The published measurements of the Transcend stick, with the commands of the time, by the
# kernel's own nbd client and filesystems.  In device time, and with the virtual clock, so
# that a slow machine does not stretch the experiment until the filesystem's timers write
# more than the file; one thread, so that requests stay in the kernel's order.
. "$(dirname "$0")/lib.sh"
need_vm

out=$(mktemp)
trap 'rm -f "$out"' EXIT
"$top/tools/vm/serve" --threads 1 --timeout 900 -- profile=transcend8g clock=virtual -- \
    "$top/tools/vm/story.sh" hdparm-t raw-filled file-fat32-factory file-ext4-aligned | tee "$out"
"$top/tools/vm/serve" --threads 1 --timeout 900 -- profile=transcend8g device.used=0 clock=virtual -- \
    "$top/tools/vm/story.sh" raw-fresh | tee -a "$out"

value() { sed -n "s/^$1 .*MB\/s=\([^ ]*\).*/\1/p" "$out"; }
within tr8-read-fat32 "$(value hdparm-t)" 33.43 15
within tr8-write-fat32 "$(value file-fat32-factory)" 3.6 15
within tr8-write-ext4-aligned "$(value file-ext4-aligned)" 6.2 15
within tr8-write-fresh "$(value raw-fresh)" 14.2 15
within tr8-write-filled "$(value raw-filled)" 5.7 15
