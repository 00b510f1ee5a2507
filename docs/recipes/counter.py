#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A counter on a device, and its check: what a power cut breaks in it.

    counter.py work    counts to 5, and promises each number with a mark
    counter.py check   0: the device has the number that was promised last, or the next one

The number is in two places, which must be equal.  The program writes the first, then the second,
and flushes once.  That is wrong: see what `flashemu-lab crash` says about it.
"""

import os
import subprocess
import sys

import nbd

PLACES = (0, 1 << 20)
h = nbd.NBD()
h.connect_uri(os.environ["FLASHEMU_URI"])
if sys.argv[1] == "work":
    for number in range(1, 6):
        for place in PLACES:
            h.pwrite(number.to_bytes(4096, "little"), place)
        h.flush()
        subprocess.run([os.environ["FLASHEMU"], "ctl", os.environ["FLASHEMU_CONTROL"], "mark",
                        str(number)], check=True, stdout=subprocess.DEVNULL)
    h.shutdown()
else:
    first, second = (int.from_bytes(h.pread(4096, place), "little") for place in PLACES)
    with open(os.environ["FLASHEMU_MARKS"], encoding="utf-8") as file:
        promised = int((file.read().split() or ["0"])[-1])
    sys.exit(0 if first == second and first in (promised, promised + 1) else 1)
