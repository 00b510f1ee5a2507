# SPDX-License-Identifier: BSD-3-Clause
"""A work that is recorded: what a command has asked of a device, has written and promised.

A recording is a folder:

    trace, data    what the server has recorded (flashemu-trace(5))
    work.json      the device and the command

The command runs with these variables:

    FLASHEMU_URI       the device, for a client of NBD
    FLASHEMU_CONTROL   for `flashemu ctl "$FLASHEMU_CONTROL" mark TEXT`
    FLASHEMU           the program
    FLASHEMU_SEED      of --seed, for works that draw
"""

from __future__ import annotations

import errno
import json
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Iterator
from urllib.parse import quote

from ..core.errors import LabError
from ..core.files import make_folder, write_whole
from ..core.json_text import loads, record, shown
from ..core.text import lines_of
from ..kernel.machine import find_plugin
from ..runs.program import Tool
from ..runs.run import Json

_FORMAT = 1
_END = b"\n# end\n"
_MOST_MS = 1 << 30  # that poll(2) takes

@dataclass(frozen=True)
class Work:
    """What is recorded.

    profile    a name or a path
    settings   "SECTION.KEY=VALUE" and "size=SIZE" of the device
    run        the command, as a shell takes it; "" for a trace
    check      the command that judges a state; "" for none
    fs         the filesystem on which both commands work, in the virtual machine, with the options
               `mount`; "" if they work with the device themselves
    files      what the machine gets besides
    trace      what was recorded elsewhere, instead of `run`
    """

    profile: str
    settings: tuple[str, ...]
    seed: int
    run: str
    check: str
    fs: str = ""
    mount: str = ""
    files: tuple[str, ...] = ()
    trace: str = ""

    @property
    def name(self) -> str:
        """What people have typed."""
        return f"--trace {self.trace}" if self.trace else f"--run {shlex.quote(self.run)}"

    def words(self) -> list[str]:
        """The device, as `flashemu` and nbdkit take it behind the profile."""
        return [*self.settings, f"seed={self.seed}"]

    def keys(self) -> tuple[str, ...]:
        """The settings that are keys of a profile."""
        return tuple(word for word in self.settings if not word.startswith("size="))

    def honest(self, tool: Tool) -> Work | None:
        """The same on a device that does not lie; None if this one does not."""
        told = dict(line.partition(" = ")[::2]
                    for line in lines_of(tool.ask("show", self.profile, *self.keys())))
        if told["lie"] == "none":
            return None
        kept = tuple(word for word in self.settings if not word.startswith("faults.lie="))
        return replace(self, settings=(*kept, "faults.lie=none"))


class Recording:
    """A recording that is in a folder.

    kernel  which one had the filesystem; "" if there is none
    """

    def __init__(self, folder: Path, work: Work, kernel: str = "") -> None:
        self.folder, self.work, self.kernel = folder, work, kernel
        self.trace, self.data = folder / "trace", folder / "data"

    @staticmethod
    def load(folder: Path) -> Recording:
        """The recording in this folder; LabError if there is none."""
        path = folder / "work.json"
        try:
            members = loads(path.read_text(encoding="utf-8"), str(path))
            form = members.pop("format", None) if isinstance(members, dict) else None
        except (OSError, UnicodeDecodeError) as e:
            reason = e.strerror if isinstance(e, OSError) else "is no UTF-8"
            raise LabError(f"{path}: {reason}; a recording is made with --run CMD") from None
        if form != _FORMAT:
            raise LabError(f"{path}: format is {shown(form)}; allowed: {_FORMAT}")
        kernel = members.pop("kernel", "")
        if not isinstance(kernel, str):
            raise LabError(f"{path}: kernel is {shown(kernel)}; allowed: a text")
        return Recording(folder, record(Work, members, str(path)), kernel)

    def save(self) -> None:
        """Writes what says which device and command it was."""
        write_whole(self.folder / "work.json",
                    json.dumps({"format": _FORMAT, "kernel": self.kernel, **asdict(self.work)},
                               indent=1) + "\n")

    def check_end(self, said: str) -> None:
        """LabError, with the server's message in what it has said, if requests are missing at the
        end of the trace, as on a full disk."""
        try:
            with self.trace.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - len(_END)))
                if file.read() == _END:
                    return
        except OSError as e:
            raise LabError(f"{e.filename}: {e.strerror}") from None
        told = [line[line.index("trace"):] for line in said.splitlines() if "trace" in line]
        raise LabError(f"{(told or [str(self.trace)])[-1]}: requests are missing at the end "
                       "of the recording")

    def make_image(self, cut: str, path: Path, tool: Tool) -> Json:
        """Writes the state of a cut to a file, and returns what the program says of it.  LabError
        if this recording has no such cut."""
        work = self.work
        answer: Json = json.loads(tool.ask(
            "cuts", work.profile, str(self.trace), *work.words(), "--timed", "--data",
            str(self.data), "--json", "--state", cut, "-o", str(path)))
        return answer


@contextmanager
def _serving(words: list[str], place: Path, errors: IO[str]) -> Iterator[str]:
    """The URI of a server with these words behind `nbdkit`, which ends in order, or with this
    program, and writes its messages to `errors`.  LabError, with its message, if it does not start,
    if it fails at its end, or if it had no room on its disk."""
    nbdkit = shutil.which("nbdkit")
    if not nbdkit:
        raise LabError("there is no program nbdkit: apt-get install nbdkit")

    def fail() -> LabError:
        lines = said_in(errors).splitlines() or [f"nbdkit: exit code {process.returncode}"]
        return LabError(lines[0].removeprefix("nbdkit: error: "))
    process = subprocess.Popen(
        [nbdkit, "-f", "--exit-with-parent", "-U", str(place / "nbd"), "-P",
         str(place / "pid"), *words], stdin=subprocess.DEVNULL, stderr=errors)
    try:
        while not (place / "pid").exists():
            if process.poll() is not None:
                raise fail()
            time.sleep(0.001)
        yield f"nbd+unix:///?socket={quote(str(place / 'nbd'))}"
        process.terminate()
        if process.wait() != 0 or _is_full(said_in(errors)):
            raise fail()
    finally:
        process.kill()
        process.wait()


def messages() -> IO[str]:
    """A file for the messages of a server, in memory, because a disk may be full."""
    return open(os.memfd_create("messages"), "w+", encoding="utf-8", errors="replace")


def said_in(errors: IO[str]) -> str:
    """What is in such a file."""
    errors.seek(0)
    return errors.read()


def _is_full(said: str) -> bool:
    """Whether nbdkit's own server of a file says that the host's disk is full; then its device is
    no device."""
    return any(line.startswith("nbdkit: file") and os.strerror(errno.ENOSPC) in line
               for line in said.splitlines())


def how_ended(code: int) -> str:
    """How a command has ended that did not do its work.  -N is signal N, and so is 128 + N, since
    a shell says it like this of what it has started; where there is no such signal, it is a code
    like any other."""
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-code if code < 0 else code - 128).name}"
    return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"


def _has_ended(pid: int, timeout_s: float) -> bool:
    """Whether a child ends within this time.  subprocess.wait() looks again after 1, 2, 4 ... ms,
    so a check of 10 ms takes 15 with it."""
    descriptor, until = os.pidfd_open(pid), time.monotonic() + timeout_s
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while (left_s := until - time.monotonic()) > 0:
            if poll.poll(min(left_s * 1000, _MOST_MS)):
                return True
        return False
    finally:
        os.close(descriptor)


def run_beside(words: list[str], command: str, more: dict[str, str], timeout_s: float,
               errors: IO[str], out: IO[bytes] | None = None) -> int | None:
    """The exit code of a command, as a shell takes it, beside a server of its own, whose words are
    behind `nbdkit`; -N for signal N; None if it took longer, and was ended with what it had
    started.  What it prints goes to `out`, or to the standard error; what the server says, to
    `errors` (`messages`).  LabError if the server had no room on its disk."""
    with tempfile.TemporaryDirectory(prefix="flashemu-crash.") as name, \
            _serving(words, Path(name), errors) as uri:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "sh", "-c", command],
            env={**os.environ, **more, "FLASHEMU_URI": uri}, stdin=subprocess.DEVNULL,
            stdout=out or 2, stderr=out, start_new_session=True)
        try:
            return process.wait() if _has_ended(process.pid, timeout_s) else None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def record_work(work: Work, folder: Path, tool: Tool, timeout_s: float) -> Recording:
    """Runs the command on a new device, and leaves the recording in the folder.  LabError if the
    command fails, or takes longer."""
    make_folder(folder)
    recording = Recording(folder, work)
    tool.canonical(work.profile, work.keys())
    with tempfile.TemporaryDirectory(prefix="flashemu-crash.") as place, messages() as errors:
        control = f"{place}/control"
        server = [find_plugin(tool), f"profile={work.profile}", *work.words(), "clock=virtual",
                  "flush=always", f"control={control}", f"trace={recording.trace.absolute()}",
                  f"trace-data={recording.data.absolute()}"]
        code = run_beside(server, work.run, {
            "FLASHEMU_CONTROL": control, "FLASHEMU": str(tool.path),
            "FLASHEMU_SEED": str(work.seed)}, timeout_s, errors)
        recording.check_end(said_in(errors))
    if code is None:
        raise LabError(f"{work.name}: was ended after {timeout_s:g} s")
    if code in (126, 127):
        raise LabError(f"{work.name}: is no program that can be executed")
    if code:
        raise LabError(f"{work.name}: {how_ended(code)}, so nobody knows what it has promised")
    recording.save()
    return recording


def record_trace(work: Work, folder: Path, tool: Tool) -> Recording:
    """Lets a new device do what a trace with data says, such as a log of dm-log-writes, each
    request behind the answer to the one before, and leaves the recording in the folder.  LabError
    if the device cannot do it."""
    make_folder(folder)
    recording = Recording(folder, work)
    tool.canonical(work.profile, work.keys())
    with tempfile.TemporaryDirectory(prefix="flashemu-crash.") as name:
        told, timed = Path(name) / "told", Path(name) / "timed"
        try:
            tool.ask("trace", work.trace, "--to-data", str(recording.data), "--force", "-o",
                     str(told))
        except LabError as e:  # a recording that comes with the program has no data
            raise LabError(re.sub("; allowed: a file, .*", "", str(e))) from None
        try:
            tool.ask("replay", work.profile, str(told), *work.words(), "--record", str(timed))
        except LabError as e:  # of a file that nobody knows, and ways out that are not here
            why = re.sub(f"^{re.escape(str(told))}:[0-9]+: |; --.*", "", str(e))
            raise LabError(f"{work.name}: {why}") from None
        write_whole(recording.trace, _with_data(timed, told))
    recording.save()
    return recording


def _with_data(timed: Path, told: Path) -> bytes:
    """A replayed trace, whose writes get the places of their data from the one that was
    replayed."""
    def lines(path: Path) -> Iterator[bytes]:
        with path.open("rb") as file:
            yield from file
    places = [line[line.rindex(b" data="):].split()[0] for line in lines(told)
              if line.split()[1:2] == [b"write"]]
    found, rest = [], iter(places)
    for line in lines(timed):
        if line.split()[1:2] == [b"write"]:
            line = line.rstrip(b"\n") + b" " + next(rest) + b"\n"
        found.append(line)
    return b"".join(found)


@dataclass(frozen=True)
class Request:
    """A request of a trace, in device time in ns; `place` is that of its data."""

    number: int
    op: str
    offset: int
    length: int
    arrival: int
    done: int
    fua: bool
    place: int


@dataclass(frozen=True)
class Mark:
    """A mark, behind this many requests."""

    behind: int
    time: int
    text: str


def read_trace(path: Path) -> tuple[list[Request], list[Mark]]:
    """What is in a trace of the server.  LabError if it is none."""
    requests: list[Request] = []
    marks: list[Mark] = []
    try:
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                if line.startswith("#"):
                    continue
                time, op, rest = line.rstrip("\n").split(" ", 2)
                if op == "mark":
                    marks.append(Mark(len(requests), int(time), rest))
                    continue
                offset, length, *words = rest.split(" ")
                more = dict(word.split("=") for word in words if "=" in word)
                requests.append(Request(
                    len(requests) + 1, op, int(offset), int(length), int(time),
                    int(more.get("done", 0)), "fua" in words, int(more.get("data", 0))))
    except (OSError, ValueError) as e:
        raise LabError(f"{path}: {e}") from None
    return requests, marks
