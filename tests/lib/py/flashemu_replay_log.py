# SPDX-License-Identifier: BSD-3-Clause
"""A reader of logs of dm-log-writes, for those that `flashemu trace` writes.  It follows the text
admin-guide/device-mapper/log-writes of the kernel and does what the program replay-log of xfstests
does with --find, --end-mark and --replay; it shares nothing with what writes them."""

import struct

FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8


class Log:
    """The entries of a log, each with its place, and the bytes that follow it."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.bytes = f.read()
        magic, version, n, self.sector = struct.unpack_from("<QQQI", self.bytes)
        assert (magic, version) == (0x6a736677736872, 1)
        self.entries, at = [], self.sector
        for _ in range(n):
            first, count, flags, length = struct.unpack_from("<QQQQ", self.bytes, at)
            mark = self.bytes[at + 32:at + self.sector]
            at += self.sector
            size = count * self.sector
            data = b"" if flags & DISCARD else self.bytes[at:at + size]
            assert flags & DISCARD or len(data) == size, "the log ends in the midst of a write"
            at += len(data)
            # replay-log takes a mark for a string that ends in zero, and never looks at its length.
            text = mark[:mark.index(0)] if flags & MARK else None
            assert flags & MARK or length == 0
            assert text is None or (len(text) == length and count == 0)
            self.entries.append((first * self.sector, size, flags, data, text))
        self.end = at

    def find(self, mark):
        """The number of the first entry with this mark; None if there is none."""
        return next((i for i, entry in enumerate(self.entries) if entry[4] == mark), None)

    def replay(self, image, until=None):
        """Does in an image what stands in front of an entry; all by default."""
        for at, size, flags, data, _ in self.entries[:until]:
            assert at + size <= len(image), "behind the end of the device"
            image[at:at + size] = bytes(size) if flags & DISCARD else data
        return image
