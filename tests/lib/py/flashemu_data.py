# SPDX-License-Identifier: BSD-3-Clause
"""Traces with data, written and read as flashemu-trace(5) describes them, and by nothing else."""

import json
import struct

BLOCK = 4096
FIRST_LINE = b"# flashemu data 1\n"


def _table():
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        yield n


TABLE = list(_table())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def pieces(offset, length):
    """The lengths of the pieces of a write: it is cut at the multiples of 4096 of the device."""
    while length:
        n = min(length, BLOCK - offset % BLOCK)
        yield n
        offset, length = offset + n, length - n


class Writer:
    """A trace and its data; the path of the data is that of the trace with .data."""

    def __init__(self, path):
        self.path, self.lines, self.data, self.places = path, [], bytearray(FIRST_LINE), {}

    def _record(self, kind, content):
        if (kind, content) not in self.places:
            self.places[kind, content] = len(self.data)
            head = kind + struct.pack("<I", len(content))
            self.data += head + struct.pack("<I", crc32c(head + content)) + content
        return self.places[kind, content]

    def write(self, offset, content, time=0, words=""):
        places, at = [], 0
        for n in pieces(offset, len(content)):
            piece = content[at:at + n]
            places.append(self._record(b"blck", piece) if any(piece) else 0)
            at += n
        place = self._record(b"list", struct.pack("<%dQ" % len(places), *places))
        self.line(time, "write", offset, len(content), words, "data=%d" % place)

    def line(self, *words):
        self.lines.append(" ".join(str(word) for word in words if word != ""))

    def close(self):
        name = self.path.rsplit("/", 1)[-1] + ".data"
        with open(self.path, "w", encoding="utf-8") as f:
            f.write("# flashemu trace 1\n# data: %s\n%s\n" % (name, "\n".join(self.lines)))
        with open(self.path + ".data", "wb") as f:
            f.write(self.data)


class Data:
    """A file of data."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.bytes = f.read()
        assert self.bytes.startswith(FIRST_LINE)

    def _record(self, kind, place):
        head = self.bytes[place:place + 8]
        length, = struct.unpack("<I", head[4:])
        check, = struct.unpack("<I", self.bytes[place + 8:place + 12])
        content = self.bytes[place + 12:place + 12 + length]
        assert head[:4] == kind and crc32c(head + content) == check
        return content

    def get(self, place, offset, length):
        lengths = list(pieces(offset, length))
        places = struct.unpack("<%dQ" % len(lengths), self._record(b"list", place))
        got = b"".join(self._record(b"blck", at) if at else bytes(n)
                       for at, n in zip(places, lengths))
        assert len(got) == length
        return got


def states(path):
    """The lines of `flashemu cuts --states`."""
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def image_of(state, base, data):
    """The bytes of a state; base: what the host had written by then.  Sectors that cannot be read have
    zeros."""
    image = bytearray(base)
    for offset, length, place in state["data"]:
        image[offset:offset + length] = data.get(place, offset, length)
    for offset, length in state["zeros"] + state["unreadable"]:
        image[offset:offset + length] = bytes(length)
    return bytes(image)
