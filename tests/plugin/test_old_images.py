#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Images that an earlier version has made (tests/data/images) open, and hold what they held."""

import glob
import json
import lzma
import os
import shutil
import tempfile
import zlib

from flashemu_server import Server, run
from flashemu_tool import good, good_json

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "images")
PIECE = 4096


def unpack(name, path):
    with lzma.open(os.path.join(DATA, name + ".img.xz")) as f, open(path, "wb") as out:
        shutil.copyfileobj(f, out)


def includes(has, wants, where):
    """Every value that was there is there; later versions may show more."""
    if isinstance(wants, dict):
        for key, value in wants.items():
            assert key in has, (where, key)
            includes(has[key], value, where + "." + key)
    else:
        assert has == wants, (where, has, wants)


def read(path, params):
    with Server(*params, "file=" + path, options=("-t", "1")) as s:
        h = s.connect()
        found = ["%08x" % zlib.crc32(h.pread(PIECE, at)) for at in range(0, h.get_size(), PIECE)]
        h.shutdown()
        assert s.terminate() == 0
    return found


def test_old_images_hold_what_they_held():
    names = sorted(os.path.basename(f)[:-5] for f in glob.glob(os.path.join(DATA, "*.json")))
    assert len(names) >= 7, names
    for name in names:
        with open(os.path.join(DATA, name + ".json")) as f:
            expected = json.load(f)
        with tempfile.TemporaryDirectory(prefix="fe") as folder:
            path = os.path.join(folder, "img")
            unpack(name, path)
            good("fsck", path)
            includes(good_json("inspect", path, "--json"), expected["inspect"], name)
            for again in range(2):
                found = read(path, expected["params"])
                wrong = [i for i, crc in enumerate(expected["crc32"]) if found[i] != crc]
                assert len(found) == len(expected["crc32"]) and not wrong, (name, again, wrong)
            good("fsck", path)


if __name__ == "__main__":
    run(globals())
