# SPDX-License-Identifier: BSD-3-Clause
"""flashemu top on a terminal, as its tests read it and type on it."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios

from flashemu_server import HANG_S
from flashemu_tool import TOOL


class Screen:
    """`flashemu top ARGS` on a terminal of this size.  What it writes is always read, because a full
    terminal would keep it from ending; and it is killed at the end, whatever happens.  Its colours
    and its language are those of env."""

    def __init__(self, *args, columns=80, rows=24, **env):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        base = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LANG", "LC_CTYPE")}
        self.proc = subprocess.Popen([TOOL, "top", *args], stdin=theirs, stdout=theirs,
                                     stderr=theirs, env=dict(base, **env),
                                     preexec_fn=own_terminal)
        os.close(theirs)

    def read(self):
        """The next bytes; none once the tool has ended."""
        assert select.select([self.ours], [], [], HANG_S)[0], "no screen comes"
        try:
            return os.read(self.ours, 65536)
        except OSError: # EIO: nobody has the other end
            return b""

    def until(self, enough):
        """Reads until enough(everything that this call has read)."""
        text = b""
        while not enough(text):
            more = self.read()
            assert more, "it has ended: %r" % text
            text += more
        return text

    def type(self, key):
        os.write(self.ours, key)

    def end(self):
        """Reads to the end."""
        text = b""
        while more := self.read():
            text += more
        code = self.proc.wait()
        assert code == 0, (code, text)
        return text

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.proc.kill()
        self.proc.wait()
        os.close(self.ours)


def own_terminal():
    """The child's standard input becomes its terminal, so that it hears of another size."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
