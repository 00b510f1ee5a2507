# SPDX-License-Identifier: BSD-3-Clause
"""A small program that keeps records on a device, with faults that can be planted.

    python3 flashemu_store.py work [FAULT]     writes records, and promises each one with a mark
    python3 flashemu_store.py check            0: the device has what was promised

The device is that of $FLASHEMU_URI.  Records are in a log, behind two headers:

    0      4096    8192
    | header | header | record | record | ...       a header says how many records there are

A header has a number, a count and a checksum.  The newer of two good headers counts; the program
writes the other one.  A record is written and flushed before the header that counts it, and the
header is flushed before the mark.

Faults: no-flush (a record is not flushed before its header), no-last-flush (a header is not flushed
before the mark), one-header (there is one header, which is overwritten in place, across pages), no-sum
(a record counts as soon as its beginning is there), early-mark (the mark comes before the header).
"""

import os
import subprocess
import sys
import zlib

import nbd

BLOCK = 4096
FAULTS = ("no-flush", "no-last-flush", "one-header", "no-sum", "early-mark")
COUNT = 2


def record(i):
    return (b"record %d." % i) * 700


def header(number, count, size=BLOCK):
    text = b"%08d %08d " % (number, count)
    body = text + bytes([65 + number % 26]) * (size - len(text) - 8)
    return body + b"%08x" % zlib.crc32(body)


def read_header(content):
    """(number, count) of a header, None if it is none."""
    if content[-8:] != b"%08x" % zlib.crc32(content[:-8]):
        return None
    return int(content[:8]), int(content[9:17])


def mark(text):
    subprocess.run([os.environ["FLASHEMU"], "ctl", os.environ["FLASHEMU_CONTROL"], "mark", text],
                   check=True, stdout=subprocess.DEVNULL)


class Layout:
    """Where things are."""

    def __init__(self, fault):
        self.size = 5 * BLOCK if fault == "one-header" else BLOCK
        self.headers = 1 if fault == "one-header" else 2
        self.first = 32 * BLOCK

    def header_at(self, number):
        return number % self.headers * self.size

    def record_at(self, i):
        return self.first + i * 2 * BLOCK


def work(h, fault):
    layout = Layout(fault)
    for i in range(COUNT):
        content = record(i).ljust(2 * BLOCK, b"\0")[:2 * BLOCK]
        h.pwrite(content, layout.record_at(i))
        if fault != "no-flush":
            h.flush()
        if fault == "early-mark":
            mark("record %d" % i)
        h.pwrite(header(i + 1, i + 1, layout.size), layout.header_at(i + 1))
        if fault != "no-last-flush":
            h.flush()
        if fault != "early-mark":
            mark("record %d" % i)


def check(h, marks, fault):
    layout = Layout(fault)
    found = [read_header(h.pread(layout.size, layout.header_at(n))) for n in range(layout.headers)]
    count = max((f for f in found if f), default=(0, 0))[1]
    while fault == "no-sum" and h.pread(6, layout.record_at(count)) == b"record":
        count += 1
    for i in range(count):
        if h.pread(2 * BLOCK, layout.record_at(i)) != record(i).ljust(2 * BLOCK, b"\0")[:2 * BLOCK]:
            return 1  # it counts a record that is not there
    return 0 if count >= len(marks) else 2  # a record that was promised is lost


def main():
    h = nbd.NBD()
    h.connect_uri(os.environ["FLASHEMU_URI"])
    fault = sys.argv[2] if len(sys.argv) > 2 else ""
    assert fault in ("", *FAULTS), fault
    if sys.argv[1] == "work":
        work(h, fault)
        h.shutdown()
        return 0
    with open(os.environ["FLASHEMU_MARKS"], encoding="utf-8") as f:
        return check(h, f.read().splitlines(), fault)


if __name__ == "__main__":
    sys.exit(main())
