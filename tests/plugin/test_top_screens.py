#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whole screens of flashemu top, as text, against those that are kept in screens/.

The device has virtual time.  The screen is paused while the device works, and everything that it
did falls into the one interval that is shown afterwards; so each screen is the same everywhere.

    FLASHEMU_UPDATE=1 meson test -C build top_screens      keeps the screens of this run

A kept file has the colours as ^[[34m, once for what has the same colour.  Blanks at the end of a
row are left out.
"""

import os
import re

from flashemu_screen import Screen
from flashemu_server import Server, run

KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "screens")
CLEAR = "\033[H\033[J"
SAME_COLOUR = re.compile(r"(\033\[[0-9]+m)([^\033]*)\033\[0m\1")
SIZES = ((80, 24), (40, 12))


def whole_screen(text, words):
    """The first whole screen that has these words; None without one."""
    for screen in text.decode(errors="replace").split(CLEAR)[1:]:
        if words in screen and "q quit" in screen and screen.endswith("\r"):
            return screen
    return None


def until(screen, words):
    return whole_screen(screen.until(lambda text: whole_screen(text, words)), words)


def work(server):
    """Writes of which some overwrite others, reads and a trim; in the server's virtual time."""
    h = server.connect()
    for i in range(48):
        h.pwrite(bytes(1 << 20), (i % 40) << 20)
    for i in range(60):
        h.pwrite(bytes(4096), (i * 7919 % 9000) * 4096)
    for i in range(30):
        h.pread(16384, i << 18)


def shown(columns, rows, **env):
    """The screen of the interval in which the device has worked."""
    with Server("transcend8g", "clock=virtual", "device.used=0", "nand.blocks_per_plane=512",
                "device.capacity=128M", options=["-t", "1"]) as s:
        with Screen("--interval", "100ms", s.control, columns=columns, rows=rows,
                    **env) as screen:
            until(screen, "it has nothing to do")
            screen.type(b"p")
            until(screen, "paused")
            work(s)
            screen.type(b"p")
            worked = until(screen, "busy")
            screen.type(b"q")
            screen.end()
    lines = [line.rstrip("\r ") for line in worked.split("\r\n")]
    text = "\n".join(lines) + "\n"
    while SAME_COLOUR.search(text):
        text = SAME_COLOUR.sub(r"\1\2", text)
    return text.replace("\033", "^[")


def test_screens():
    different = []
    for columns, rows in SIZES:
        for colour in (True, False):
            env = {"LC_ALL": "C.UTF-8"} if colour else {"LC_ALL": "C", "NO_COLOR": "1"}
            text = shown(columns, rows, **env)
            path = os.path.join(KEPT, "top-%dx%d-%s.txt" % (
                columns, rows, "colour" if colour else "plain"))
            if os.environ.get("FLASHEMU_UPDATE"):
                os.makedirs(KEPT, exist_ok=True)
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
            with open(path, encoding="utf-8") as f:
                kept = f.read()
            if text != kept:
                different.append("%s should be\n%sand is\n%s" % (path, kept, text))
            assert colour or ("^[" not in text and text.isascii()), text
            assert not colour or "^[[33m" in text, text
    assert not different, "\n".join(different)


run(globals())
