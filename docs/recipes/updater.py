#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""An updater with two slots and a pointer, and its check."""
import os
import subprocess
import sys

import nbd

h = nbd.NBD()
h.connect_uri(os.environ["FLASHEMU_URI"])
SLOTS, SIZE = (1 << 20, 2 << 20), 65536
if sys.argv[1] == "work":
    for version in range(1, 3):
        h.pwrite(bytes([version]) * SIZE, SLOTS[version % 2])
        pass  # is anything missing here?
        h.pwrite(bytes([version]) * 512, 0)  # the pointer: this version starts from now on
        h.flush()
        subprocess.run(["flashemu", "ctl", os.environ["FLASHEMU_CONTROL"], "mark",
                        "version %d" % version], check=True, stdout=subprocess.DEVNULL)
    h.shutdown()
else:
    with open(os.environ["FLASHEMU_MARKS"]) as marks:
        promised = len(marks.readlines())
    now = h.pread(512, 0)[0]
    if now < promised:
        sys.exit("version %d was installed, and %d would start" % (promised, now))
    if now and h.pread(SIZE, SLOTS[now % 2]) != bytes([now]) * SIZE:
        sys.exit("the slot of version %d is not whole" % now)
