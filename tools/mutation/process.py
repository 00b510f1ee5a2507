# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs under limits, and leaves none of their children behind.

A mutant may loop forever, take all memory, or leave a server running. So every program runs in
a session of its own, with a limit on processor time, memory and elapsed time. Every program
also gets an environment variable of its own, which its children inherit: whoever still has the
variable when the program has ended is killed.

Memory is what the session has touched. The kernel has limits only for what a process maps, and
devices in memory map much more than they touch.
"""

import math
import os
import signal
import subprocess
import threading
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping, Sequence

MARK = "MUTATE_RUN"
MEMORY_BYTES = 4 << 30  # of a session
LOOK_S = 0.2  # how often it is asked how much it has
LIMITED = 'ulimit -c 0; ulimit -St "$0"; exec "$@"'


class Stopped(Exception):
    """The user has stopped the run."""


@dataclass(frozen=True)
class Outcome:
    code: int  # negative: the signal that ended the program
    hang: bool
    seconds: float


class Runner:
    """Starts programs from any thread; stop() ends all of them and refuses new ones."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.live: set[str] = set()
        self.stopped = False

    def run(self, command: Sequence[str], cwd: Path, *, env: Mapping[str, str] | None = None,
            wall_s: float | None = None, cpu_s: int | None = None,
            log: Path | None = None) -> Outcome:
        """Runs a program to its end, or to the end of its time. The output goes to `log`."""
        mark = uuid.uuid4().hex
        if cpu_s is not None:
            command = ["sh", "-c", LIMITED, str(cpu_s), *command]
        begin = time.monotonic()
        with open(log or os.devnull, "wb") as out:
            with self.lock:
                if self.stopped:
                    raise Stopped
                child = subprocess.Popen(
                    command, cwd=cwd, env={**os.environ, **(env or {}), MARK: mark},
                    stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                    start_new_session=True)
                self.live.add(mark)
                keep_nice(child.pid)
            try:
                code, late = _wait(child, begin + wall_s if wall_s is not None else math.inf,
                                   MEMORY_BYTES if cpu_s is not None else math.inf)
            finally:
                with self.lock:
                    self.live.remove(mark)
                kill_marked({mark})
                child.wait()
        if self.stopped:
            raise Stopped
        return Outcome(code, late or code == -signal.SIGXCPU, time.monotonic() - begin)

    def stop(self) -> None:
        with self.lock:
            self.stopped = True
            kill_marked(set(self.live))


def _wait(child: "subprocess.Popen[bytes]", end: float, most: float) -> tuple[int, bool]:
    """The exit code, and whether that time came first. What has more than `most` bytes in memory
    counts as killed; the caller kills what is left in any case."""
    while True:
        try:
            return child.wait(max(min(LOOK_S, end - time.monotonic()), 0)), False
        except subprocess.TimeoutExpired:
            if time.monotonic() >= end:
                return -signal.SIGKILL, True
            if most < math.inf and _touched(child.pid) > most:
                return -signal.SIGKILL, False


def _touched(session: int) -> int:
    """Bytes that the processes of a session have in memory."""
    pages = 0
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            text = Path(f"/proc/{entry}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # it has just ended
        fields = text.rpartition(")")[2].split()  # a name may have blanks
        if int(fields[3]) == session:
            pages += int(fields[21])
    return pages * os.sysconf("SC_PAGE_SIZE")


def keep_nice(pid: int) -> None:
    """Gives a new session the niceness of this program.

    The kernel may schedule each session as one group. Then the niceness of a process counts only
    within its session, and `nice tools/mutate` would have no effect on the tests.
    """
    try:
        Path(f"/proc/{pid}/autogroup").write_text(str(os.nice(0)), encoding="utf-8")
    except OSError:
        pass  # a kernel without such groups


def kill_marked(marks: set[str]) -> None:
    """Kills every process that one of our programs has started, until there is none."""
    needles = [f"{MARK}={mark}".encode() for mark in marks]
    while needles:
        found = False
        for entry in os.listdir("/proc"):
            if entry.isdigit() and _has_mark(entry, needles):
                found = True
                try:
                    os.kill(int(entry), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        if not found:
            return
        time.sleep(0.01)


def _has_mark(pid: str, needles: Sequence[bytes]) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as f:
            words = f.read().split(b"\0")
    except OSError:
        return False  # another user's, or it has just ended
    return any(needle in words for needle in needles)
