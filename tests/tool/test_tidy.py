#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A script of tools/vm that two signals end leaves nothing behind.

An interrupt goes to a group of processes: each script hears it directly, and `run` hears it once
more from `serve`, at about the same time.  Each distance between the two, up to half a millisecond,
must leave nothing.  (With `exit` as the trap, and the signals ignored only in the function that
cleans up, one run in twenty left its folder.)
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

TIDY = Path(sys.argv.pop(1)) / "tools/vm/tidy.sh"

SCRIPT = """
set -euo pipefail
die() { echo "$*" >&2; exit 2; }
. "$1"
stop() { sleep 0.001; rm -rf "$tmp"; echo stopped; }
tidy test
trap -p TERM >"$tmp/ready"
"$2"
"""

RUNS = 150


class TestTidy(unittest.TestCase):
    def script(self, folder: str, last: str = "") -> subprocess.Popen[str]:
        """The script, which ends as its last line does: by itself, or after a signal."""
        text = SCRIPT.replace('"$2"', last or "sleep 100 & wait $!")
        return subprocess.Popen(["bash", "-c", text, "bash", str(TIDY)], text=True,
                                env={**os.environ, "TMPDIR": folder}, start_new_session=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_ends(self) -> None:
        for last, code in ("", 0), ("exit 3", 3), ("false", 1), ("die oh", 2):
            with self.subTest(last=last), tempfile.TemporaryDirectory() as folder:
                script = self.script(folder, last or ":")
                out, _ = script.communicate()
                self.assertEqual((script.returncode, out, os.listdir(folder)),
                                 (code, "stopped\n", []))

    def test_no_folder(self) -> None:
        script = self.script("/nowhere")
        out, error = script.communicate()
        self.assertEqual((script.returncode, out), (2, "stopped\n"))
        self.assertIn("cannot make a folder in /nowhere", error)

    def test_two_signals(self) -> None:
        for run in range(RUNS):
            first, second = ((signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM),
                             (signal.SIGTERM, signal.SIGHUP))[run % 3]
            with self.subTest(run=run), tempfile.TemporaryDirectory() as folder:
                script = self.script(folder)
                while not any(f.stat().st_size for f in Path(folder).glob("*/ready")):
                    self.assertIsNone(script.poll(), script.stderr)
                    time.sleep(0.001)
                script.send_signal(first)
                until = time.monotonic_ns() + run * 3_000
                while time.monotonic_ns() < until:
                    pass
                script.send_signal(second)
                os.waitid(os.P_PID, script.pid, os.WEXITED | os.WNOWAIT)
                left = os.listdir(folder)
                os.killpg(script.pid, signal.SIGKILL)  # the sleep
                out, _ = script.communicate()
                self.assertEqual((left, out), ([], "stopped\n"))
                self.assertIn(script.returncode, (130, 143))


if __name__ == "__main__":
    unittest.main()
