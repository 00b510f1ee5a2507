# SPDX-License-Identifier: BSD-3-Clause
"""Filesystems, through a real kernel: records a work on one, and judges states that cuts leave.

One boot of the machine judges hundreds of states.  Its disk is a file, which becomes the next state
while the guest has it closed:

    image  ----states.Image---- state 7 ---- state 8 ----           the host's
              copied where it differs  |         |
    disk   -------------------------- 7 . . . . 8 . . . .           the guest's, which recovers it

So what the guest has written needs no undoing.  A guest that is too slow costs one state, and the
next state boots another one.  One that dies gets the same state once more, in another machine: User
Mode Linux dies now and then of its host's doings.  So a state that crashes a kernel costs two
boots, and one that has crashed it once is told as a note.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Iterator

from ..core.errors import LabError
from ..core.files import make_folder
from ..kernel import machine
from ..kernel.timed import Life, Timed, chosen
from ..runs.program import Tool
from .checks import CANNOT_TELL, Told, reason_of
from .work import Mark, Recording, Work, how_ended

MOUNTED = "flashemu: mounted"
_BLOCK, _CHUNK = 4096, 1 << 18  # a chunk and its copy stay in the processor's cache
_SECTOR = 512
_BOOT_S = 300.0
_MIB = "512"  # of a guest's memory
_LEAST_ROOM = 1 << 20


def named_works() -> dict[str, str]:
    """The works that come with the machine, by name, each in a sentence."""
    script = machine.find_scripts("works.sh") / "works.sh"
    return dict(re.findall(r"^#   ([a-z-]+)  +([a-z].*)$", script.read_text(encoding="utf-8"),
                           re.MULTILINE))


def commands_of(name: str) -> tuple[str, str]:
    """What runs a work, and what checks it."""
    return f"bash ~/works.sh run {name}", f"bash ~/works.sh check {name}"


def _options(work: Work) -> list[str]:
    """What `run` takes for this work."""
    return [*machine.needed([work.fs]), "--mem", _MIB,
            *(word for path in work.files for word in ("--file", path))]


def record_mounted(work: Work, folder: Path, tool: Tool, timeout_s: float,
                   kernel: str = "") -> Recording:
    """Makes a filesystem on a new device, lets the command work on it, and leaves the recording in
    the folder.  The kernel is chosen by this word of its choices.  LabError if the command fails,
    or takes longer."""
    make_folder(folder)
    recording = Recording(folder, work)
    scripts = machine.find_scripts("cuts.sh")
    timed = chosen(tool, kernel)
    tool.canonical(work.profile, work.keys())
    if timed:
        code, last = _record_timed(recording, scripts, timed, timeout_s)
    else:
        machine.check_programs()
        code, last = _record_often(recording, scripts, tool, timeout_s)
    if code:
        raise LabError(f"the work on {work.fs} was not recorded: {last}")
    recording.save()
    return recording


def _record_timed(recording: Recording, scripts: Path, timed: Timed,
                  timeout_s: float) -> tuple[int, str]:
    """The same with a kernel in the device's time, whose timers have their real values."""
    work = recording.work
    script = ("export BASH_ENV=/root/functions.sh NBD_PORT=0 "
              f"RUN={shlex.quote(work.run)} FLASHEMU_SEED={work.seed}\n"
              f"exec bash /root/cuts.sh record {work.fs} {shlex.quote(work.mount)}\n")
    files = (*(scripts / name for name in ("guest.sh", "cuts.sh", "works.sh",
                                           "timed/functions.sh")), *map(Path, work.files))
    others = tuple(word for word in work.settings if word not in work.keys())
    life = Life(work.profile, work.keys(), script, files, filesystem="none", seed=work.seed,
                limit_s=timeout_s, server=("flush=always", *others,
                                           f"trace-data={recording.data.absolute()}"))
    with tempfile.TemporaryDirectory(prefix="flashemu-crash.") as name:
        lived = timed.live(life, Path(name))
        shutil.move(lived.trace, recording.trace)
        recording.check_end((Path(name) / "log").read_text(encoding="utf-8", errors="replace"))
    return lived.code, _heard(recording, lived.output.splitlines(), lived.code,
                              ", in the device's time")


def _record_often(recording: Recording, scripts: Path, tool: Tool,
                  timeout_s: float) -> tuple[int, str]:
    """Boots again if the kernel dies, which says nothing about the work."""
    code, last = machine.DIED, ""
    for _ in range(machine.BOOTS):
        if code == machine.DIED:
            code, last = _record_once(recording, scripts, tool, timeout_s)
    return code, last


def _heard(recording: Recording, lines: list[str], code: int, where: str = "") -> str:
    """Keeps which kernel it was, and returns the last words."""
    versions = [line for line in lines if line.startswith("kernel ")]
    if versions:
        recording.kernel = versions[0].removeprefix("kernel ") + where
        lines.remove(versions[0])
    return lines[-1].removeprefix("FAIL: ") if lines else \
        f"the command {how_ended(code)}"


def _record_once(recording: Recording, scripts: Path, tool: Tool,
                 timeout_s: float) -> tuple[int, str]:
    """The exit code of the machine, and its last words."""
    work = recording.work
    with tempfile.TemporaryDirectory(prefix="flashemu-crash.") as name:
        place = Path(name)
        server = machine.Server(machine.find_plugin(tool), place, 1)
        try:
            server.start([f"profile={work.profile}", *work.words(), "clock=virtual",
                          "flush=always", f"trace={recording.trace.absolute()}",
                          f"trace-data={recording.data.absolute()}"])
            with (place / "said").open("w+b") as said:
                code = subprocess.run(
                    [*machine.LAST, str(scripts / "run"), "--timeout", f"{max(1, timeout_s):.0f}",
                     *_options(work), "--forward-unix", f"{name}/ctl:7000",
                     "--env", f"NBD_PORT={server.port}", "--env", "CTL_PORT=7000",
                     "--env", f"RUN={work.run}",
                     "--env", f"FLASHEMU_SEED={work.seed}", "--file", str(scripts / "works.sh"),
                     str(scripts / "cuts.sh"), "record", work.fs, work.mount],
                    stdin=subprocess.DEVNULL, stdout=said, stderr=said).returncode
                said.seek(0)
                lines = said.read().decode(errors="replace").splitlines()
        finally:
            server.end()
        recording.check_end((place / "log").read_text(encoding="utf-8", errors="replace"))
    return code, _heard(recording, lines, code)


# --- a file that becomes another one ---

def _chunks_of(fd: int, size: int) -> Iterator[int]:
    """The numbers of the chunks that are not wholly a hole."""
    at = 0
    while at < size:
        try:
            chunk = os.lseek(fd, at, os.SEEK_DATA) // _CHUNK
        except OSError:
            return
        yield chunk
        at = (chunk + 1) * _CHUNK


class Disk:
    """A file that becomes the same as another one of this size, in bytes."""

    def __init__(self, path: Path, size: int) -> None:
        self.path, self._size = path, size
        with path.open("wb") as file:
            file.truncate(size)
        self._ours, self._theirs = bytearray(_CHUNK), bytearray(_CHUNK)

    def become(self, image: Path) -> None:
        """Writes only blocks that differ."""
        with image.open("rb", buffering=0) as source, self.path.open("r+b", buffering=0) as target:
            chunks = {n for fd in (source.fileno(), target.fileno())
                      for n in _chunks_of(fd, self._size)}
            for n in sorted(chunks):
                self._chunk(source.fileno(), target.fileno(), n * _CHUNK)

    def _chunk(self, source: int, target: int, at: int) -> None:
        length = os.preadv(source, [self._ours], at)
        if os.preadv(target, [self._theirs], at) == length and self._ours == self._theirs:
            return
        for i in range(0, length, _BLOCK):
            ours = self._ours[i:min(i + _BLOCK, length)]
            if ours != self._theirs[i:i + len(ours)] and \
                    os.pwrite(target, ours, at + i) != len(ours):
                raise LabError(f"{self.path}: {os.strerror(errno.ENOSPC)}")


_SCRATCH, _YOUNG_S = "flashemu-judge.", 60.0


def _sweep(place: Path) -> None:
    """Removes the folders of calls that were killed, which nobody holds: in memory they would stay
    until the machine ends.  A young one may not be held yet."""
    for folder in place.glob(_SCRATCH + "*"):
        with suppress(OSError):
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if time.time() - os.fstat(held).st_mtime > _YOUNG_S:
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(held)


@contextmanager
def scratch(size: int, files: int) -> Iterator[Path]:
    """A folder for so many files of this size: where $TMPDIR says, else in memory if there is room,
    since the guest flushes what it writes, and nobody needs it after a crash of this machine.  What
    a call that was killed has left there goes."""
    place = None
    with suppress(OSError):
        there = os.statvfs("/dev/shm")
        has_room = there.f_bavail * there.f_frsize > 2 * size * files
        if has_room and "TMPDIR" not in os.environ and os.access("/dev/shm", os.W_OK):
            place = "/dev/shm"
    _sweep(Path(place or tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=place) as name:
        held = os.open(name, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield Path(name)
        finally:
            os.close(held)


# --- the guest that judges ---

@dataclass
class _Guest:
    process: subprocess.Popen[bytes]
    channel: socket.socket

    def ask(self, line: str, timeout_s: float) -> str | None:
        """The answer; "" if the guest has died, None if it took too long."""
        answer, until = b"", time.monotonic() + timeout_s
        try:
            self.channel.sendall(line.encode())
            while not answer.endswith(b"\n"):
                self.channel.settimeout(max(until - time.monotonic(), 0.001))
                more = self.channel.recv(65536)
                if not more:
                    return ""
                answer += more
        except TimeoutError:
            return None
        except OSError:
            return ""
        return answer.decode(errors="replace").rstrip("\n")

    def end(self) -> None:
        """Ends it."""
        self.channel.close()
        machine.end(self.process)


class Mounted:
    """Judges states by what a kernel makes of the filesystem: it mounts, which recovers it, the
    command of the work finds what was promised, and after that a look finds no fault.  Several
    work beside each other, each with a number and on a processor of its own as long as there is
    one."""

    def __init__(self, folder: Path, work: Work, marks: list[Mark], capacity: int,
                 timeout_s: float, number: int = 0) -> None:
        self.name = f"--fs {work.fs}"
        self._work, self._timeout_s, self._folder = work, timeout_s, folder
        self._scripts = machine.find_scripts("cuts.sh")
        self._disk = Disk(folder / "disk", capacity)
        self._guest: _Guest | None = None
        self._boots = 0
        there = sorted(os.sched_getaffinity(0))
        self._processor = there[number % len(there)]
        # A mark is a line of the guest's file.
        (folder / "marks").write_text("".join(f"{mark.text}\n" for mark in marks),
                                      encoding="utf-8", errors="surrogateescape")

    def _start(self) -> _Guest:
        for _ in range(machine.BOOTS):
            guest = self._boot()
            if guest:
                return guest
        raise LabError(f"the virtual machine has ended: {self._last_words()}")

    def _boot(self) -> _Guest | None:
        place = self._folder / f"boot{self._boots}"
        self._boots += 1
        place.mkdir()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(place / "orders"))
            listener.listen(1)
            listener.settimeout(0.2)
            with (place / "said").open("wb") as said:
                process = subprocess.Popen(
                    [*machine.LAST, "taskset", "-c", str(self._processor),
                     str(self._scripts / "run"), "--timeout", "1000000", *_options(self._work),
                     "--disk", str(self._disk.path), "--forward-unix", f"{place}/orders:7000",
                     "--file", str(self._folder / "marks"),
                     "--file", str(self._scripts / "works.sh"),
                     "--env", "ORDERS=7000", "--env", f"CHECK={self._work.check}",
                     str(self._scripts / "cuts.sh"), "judge", self._work.fs, self._work.mount],
                    stdin=subprocess.DEVNULL, stdout=said, stderr=said)
            until = time.monotonic() + _BOOT_S
            while time.monotonic() < until and process.poll() is None:
                with suppress(TimeoutError):
                    return _Guest(process, listener.accept()[0])
        machine.end(process)
        return None

    def _last_words(self) -> str:
        path = self._folder / f"boot{self._boots - 1}" / "said"
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        return lines[-1] if lines else "without a word"

    def run(self, _folder: Path, image: Path, marks: list[Mark],
            unreadable: tuple[tuple[int, int], ...]) -> Told:
        """What the kernel makes of an image with these marks; one that crashes has to do so twice,
        in two machines, and once is a note.  LabError if the host has no room for what the guest
        writes, which would look like a fault."""
        told = self._judged(image, marks, unreadable)
        if told.kind == "kernel":
            told = self._judged(image, marks, unreadable)
            if told.kind != "kernel":
                told = replace(told, notes=(*told.notes, "crashed-once"))
        there = os.statvfs(self._folder)
        if told.code != 0 and there.f_bavail * there.f_frsize < _LEAST_ROOM:
            raise LabError(f"{self._folder}: {os.strerror(errno.ENOSPC)}, so nobody can say what "
                           "the guest has met")
        return told

    def _judged(self, image: Path, marks: list[Mark],
                unreadable: tuple[tuple[int, int], ...]) -> Told:
        if self._guest and self._guest.process.poll() is not None:
            self.close()  # it has gone on purpose, after its answer
        self._disk.become(image)
        self._guest = self._guest or self._start()
        ranges = " ".join(f"{a // _SECTOR}+{n // _SECTOR}" for a, n in unreadable)
        answer = self._guest.ask(f"{len(marks)} {ranges}\n", self._timeout_s)
        if answer:
            word, code, kind, notes, text = answer.split(" ", 4)
            if kind == "check" and word != "kept":
                text = reason_of(int(code), text)
            return Told({"kept": 0, "unknown": CANNOT_TELL}.get(word, int(code) or 1), text,
                        () if notes == "-" else tuple(notes.split(",")), kind)
        if answer is not None:
            with suppress(subprocess.TimeoutExpired):
                self._guest.process.wait(30)  # and so it has told all that it can
        self.close()
        if answer is None:
            return Told(None, f"the kernel took more than {self._timeout_s:g} s")
        return Told(1, f"the kernel crashed: {self._last_words()}", kind="kernel")

    def close(self) -> None:
        """Ends the guest."""
        if self._guest:
            self._guest.end()
        self._guest = None
