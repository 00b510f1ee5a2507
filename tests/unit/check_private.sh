#!/bin/sh
# The fields of struct fe_chip belong to chip.c, chip_lifetime.c, chip_load.c and the readers
# of medium_read.h: whoever else changed one of them would have to remember the image.  Outside those files a
# chip is only ever passed on, as in fe_chip_erase(&m->chip, peb, spare).
# Tests may look into a chip, and damage it.
cd "$1" || exit 2
found=$(grep -rnE --include='*.[ch]' '\bchip(\.[a-z_]{3}|->)|struct fe_chip\b' src tools plugin include |
    grep -vE '^src/nand/(chip|chip_lifetime|chip_load|chip_undo|medium_core|medium_read)\.[ch]:')
[ -z "$found" ] && exit 0
echo "These lines look into struct fe_chip (src/nand/chip.h):"
echo "$found"
exit 1
