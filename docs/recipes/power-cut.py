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

import argparse
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


def matching(pattern):
    """A type of arguments: texts that match."""
    def check(text):
        if not re.fullmatch(pattern, text):
            raise argparse.ArgumentTypeError("%r does not match %s" % (text, pattern))
        return text
    return check


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("stick", help="the socket of nbdkit -U")
    parser.add_argument("control", help="the socket of control=")
    parser.add_argument("cuts", type=matching("[1-9][0-9]*"), help="how many")
    parser.add_argument("step", type=matching("[0-9]+[a-z]+"), nargs="?",
                        help="time from one to the next, such as 73us")
    args = parser.parse_args()
    stick, control, rounds, step = args.stick, args.control, int(args.cuts), args.step
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
