#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Cuts the power of an emulated stick at many instants, and checks a promise of a program.

    nbdkit -t 1 -U stick.nbd -P stick.pid flashemu transcend8g clock=virtual control=stick.ctl \\
        cache.size=256K device.used=0
    python3 power-cut.py stick.nbd stick.ctl 50

The program under test is `commit` below; put yours in its place.  It writes a record, flushes, and
then says that the record is safe.  After each cut, every record that was called safe must be there.
Exit code 1 and a line for each record that is lost.

The power fails after 1, 2, 3 ... writes, when the last of them has ended.  With a time as the fourth
argument, such as 73us, it fails after 1, 2, 3 ... times that much device time instead, usually in the
middle of a write.
"""

import itertools
import re
import subprocess
import sys

import nbd

RECORD = 4096


def ctl(socket, *words):
    subprocess.run(["flashemu", "ctl", socket, *words], check=True, stdout=subprocess.DEVNULL)


def commit(h, place, text):
    """Returns when the record is safe; nbd.Error if the power fails."""
    h.pwrite(text.ljust(RECORD, b"."), place * RECORD)
    if h.can_flush():  # a device without a cache has nothing to flush
        h.flush()


def when(cut, step):
    """The words of `power-cut after` for this cut."""
    if not step:
        return [str(cut + 1), "writes"]
    number, unit = re.fullmatch("([0-9]+)([a-z]+)", step).groups()
    return ["%d%s" % ((cut + 1) * int(number), unit)]


def words():
    """The arguments: two sockets, how many cuts, and the time from one to the next or ""."""
    stick, control, rounds, step = [*sys.argv[1:], ""][:4] if 4 <= len(sys.argv) <= 5 else [""] * 4
    if not re.fullmatch("[1-9][0-9]*", rounds) or not re.fullmatch("([0-9]+[a-z]+)?", step):
        print("usage: power-cut.py NBD_SOCKET CONTROL_SOCKET CUTS [TIME], such as "
              "power-cut.py stick.nbd stick.ctl 50 73us", file=sys.stderr)
        sys.exit(2)
    return stick, control, int(rounds), step


def main():
    stick, control, rounds, step = words()
    lost = 0
    for cut in range(rounds):
        h = nbd.NBD()
        h.connect_unix(stick)
        ctl(control, "power-cut", "after", *when(cut, step))
        safe = {}
        try:
            for n in itertools.count():  # until the power fails
                place = n % (rounds + 1)
                text = b"cut %d record %d" % (cut, n)
                safe.pop(place, None)  # while it is overwritten it may be either
                commit(h, place, text)
                safe[place] = text
        except nbd.Error:
            pass
        ctl(control, "power-on")
        for place, text in safe.items():
            if not bytes(h.pread(RECORD, place * RECORD)).startswith(text):
                print("cut after %s: record %d is lost" % (" ".join(when(cut, step)), place))
                lost += 1
        h.shutdown()
    print("%d cuts, %d records lost" % (rounds, lost))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
