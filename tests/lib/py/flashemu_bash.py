# SPDX-License-Identifier: BSD-3-Clause
"""An interactive bash, which says for sure what the tabulator does."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

HANG_S = 60  # no measurement: how long an answer may take before it counts as none


class Bash:
    """An interactive shell on a terminal of its own."""

    def __init__(self, path, command=("bash", "--norc", "--noprofile", "-i"), **env):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
        self.process = subprocess.Popen(
            list(command), stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True, env=dict(os.environ, PATH=path, PS1="$ ", TERM="xterm", **env))
        os.close(theirs)

    def shows(self, keys, words):
        """Types the keys, and waits until these words are on the screen."""
        os.write(self.ours, keys.encode())
        shown, end = "", time.monotonic() + HANG_S
        while words not in shown and time.monotonic() < end:
            if select.select([self.ours], [], [], 0.1)[0]:
                shown += os.read(self.ours, 65536).decode(errors="replace")
        assert words in shown, (keys, shown)

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.ours)
