# SPDX-License-Identifier: BSD-3-Clause
"""Makes recordings with a real kernel.

With a kernel that lives in the time of the device (timed.py) each recording is a life of its own,
without pauses other than the kernel's.  Else the machine of tools/vm boots once, and again if it
dies.  Each recording has a device of its own, as it leaves the factory or as its profile says: when
the script in the machine is done with one, it ends the server, and the next server takes its place
at the same port.

    guest   partition, mkfs, mount, work      "phase write 1204 104857600"
       |                                                 |
    server  trace of all requests  ----+                 |
                                       +--> NAME.trace.gz with its phases

The server takes one request at a time.  So the time from the end of a request to the arrival of the
next one is what the host needs in between: its think time.  It is kept in seconds of this machine,
whatever the server's time-scale.

A kernel sends flushes, and writes with FUA, only to a device that offers them.  So that every
recording has them, its device is kept in an image: then the server offers both, whatever cache the
profile has, and the device takes the same time.  A replay leaves them out on a device that does not
offer them.
"""

from __future__ import annotations

import gzip
import json
import shlex
import subprocess
import tempfile
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import IO, Callable, Generator, Iterable, Iterator

from ..core.errors import LabError
from ..core.files import write_whole
from ..recording import recordings
from ..recording.recipes import Recipe
from ..recording.recordings import HEAD, SUFFIX
from ..runs.program import Tool
from ..runs.run import Json
from . import machine
from .timed import Life, Timed, chosen

# What the server of a recording offers, in the words of its comment.
OFFERS = "flush fua"
# The comment of a recording that has think times: of which host they are.
THINK = "of the host, emulated"
_TIMED_THINK = "of the kernel's own timers, in the device's time"
# Think times keep so many digits: no two runs of a host agree in more, and files stay small.
_DIGITS = 2

# What is told while it works: the recording, and what has become of it.
Tell = Callable[[str, str], None]


@dataclass(frozen=True)
class Job:
    """What the guest does with one device.

    server  the parameters of the device's server, without the clock's
    full    whether the statistics of each phase are wanted instead of a recording
    """

    recipe: Recipe
    server: tuple[str, ...]
    full: bool = False


@dataclass
class Heard:
    """What the guest has said about one job.

    phases   of each phase its name, the requests so far, and the bytes of files
    results  of each phase the server's statistics, and "user_bytes"
    """

    phases: list[tuple[str, int, int]] = field(default_factory=list)
    results: dict[str, Json] = field(default_factory=dict)
    capacity: str = ""
    limit: str = ""


@dataclass(frozen=True)
class Machine:
    """Where the scripts and the plugin are.

    timed  the kernel that is taken instead of a machine, if there is one
    """

    scripts: Path
    plugin: str
    timed: Timed | None


def find_machine(tool: Tool, kernel: str = "") -> Machine:
    """The one that is chosen by this word of choices.KERNELS.  LabError if something is missing."""
    timed = chosen(tool, kernel)
    found = Machine(machine.find_scripts("record.sh"), machine.find_plugin(tool), timed)
    if not timed:
        machine.check_programs()
    return found


def record(recipes: list[Recipe], folder: Path, tool: Tool, command: str, tell: Tell,
           limit: str = "", kernel: str = "") -> Iterator[Path]:
    """Makes these recordings, and yields each file as soon as it is written.

    command  makes a recording again, with the kernel and its name behind it
    limit    the longest request of the host, such as "64K"; "" is that of the recipe's device
    kernel   of choices.KERNELS

    LabError if the machine lacks something, or if the guest fails; what was written stays.
    """
    found = find_machine(tool, kernel)
    command += f" --kernel {'timed' if found.timed else 'vm'}"
    longest = (f"link.max_transfer={limit}",) if limit else ()
    if found.timed:
        recipes = [replace(r, scale=1.0) for r in recipes]
    jobs = [Job(r, (f"profile={r.profile}", *longest)) for r in recipes]
    folder = folder / limit
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise LabError(f"{folder}: {e.strerror}") from None
    with closing(perform(found, jobs, tell)) as done:
        for job, heard, versions, trace in done:
            think = _TIMED_THINK if found.timed else THINK
            text = _text(job.recipe, heard, {**versions, "think": think}, trace, command)
            path = folder / (job.recipe.name + SUFFIX)
            recordings.parse(text, path)
            write_whole(path, gzip.compress(text.encode(), 9, mtime=0))
            yield path


# A job that is done, what the guest said, the versions, and the trace of the server.
Done = Generator[tuple[Job, Heard, dict[str, str], Path], None, None]


def perform(place: Machine, jobs: list[Job], tell: Tell) -> Done:
    """Does these jobs; closing the generator ends what is running.

    A machine that dies is started again for what is left, machine.BOOTS times for one job.
    LabError if the guest fails.
    """
    if place.timed:
        yield from _lives(place.timed, place.scripts, jobs, tell)
        return
    boots = 0
    while jobs:
        with tempfile.TemporaryDirectory(prefix="flashemu-record.") as name:
            session = _Session(place, jobs, Path(name), tell)
            try:
                for done in session.run():
                    jobs, boots = jobs[1:], 0
                    yield done
            except _MachineDied:
                boots += 1
                if boots == machine.BOOTS:
                    raise
            finally:
                session.end()


class _MachineDied(LabError):
    """The kernel crashed: this says nothing about the job, which begins again on a new device."""


class _Session:
    def __init__(self, place: Machine, jobs: list[Job], tmp: Path, tell: Tell) -> None:
        self._scripts = place.scripts
        self._jobs = jobs
        self._tmp = tmp
        self._tell = tell
        self._server = machine.Server(place.plugin, tmp, 1)
        self._guest: subprocess.Popen[str] | None = None
        self._ear = _Ear(tell)

    def run(self) -> Done:
        with (self._tmp / "errors").open("w+b") as errors:
            for job in self._jobs:
                self._start_server(job)
                guest = self._guest or self._start_guest(errors)  # it wants to see the socket
                assert guest.stdout
                heard = self._ear.listen(guest.stdout, job)
                if heard is None:
                    code = guest.wait()
                    errors.seek(0)
                    text = errors.read().decode(errors="replace")
                    text = "".join(self._ear.other) + text
                    error = _MachineDied if code == machine.DIED else LabError
                    raise error(_last_words(job.recipe, code, text))
                self._server.wait()
                yield job, heard, self._ear.versions, self._tmp / "trace"
            guest.wait()

    def end(self) -> None:
        """Ends what is running."""
        machine.end(self._guest)
        self._server.end()

    def _start_guest(self, errors: IO[bytes]) -> subprocess.Popen[str]:
        scripts = self._scripts
        recipes = [job.recipe for job in self._jobs]
        self._guest = subprocess.Popen(
            [*machine.LAST, str(scripts / "run"), "--timeout",
             str(300 + sum(r.seconds for r in recipes)),
             "--mem", str(max(r.memory for r in recipes)),
             *machine.needed(r.mount for r in recipes),
             "--file", f"{scripts}/story.sh:/vm/script/story.sh",
             "--forward-unix", f"{self._tmp}/ctl:7000",
             "--env", f"NBD_PORT={self._server.port}", "--env", "CTL_PORT=7000",
             str(scripts / "record.sh"), *(j.recipe.line(j.full) for j in self._jobs)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
            encoding="utf-8", errors="replace")
        return self._guest

    def _start_server(self, job: Job) -> None:
        """Starts a server for this job; returns when it listens."""
        kept = () if job.full else (f"file={self._tmp}/image", "sync=none")
        try:
            self._server.start([*job.server, f"time-scale={job.recipe.scale}", *kept,
                                f"trace={self._tmp}/trace"])
        except LabError as e:
            raise LabError(f"{job.recipe.name}: {e}") from None


def _lives(timed: Timed, scripts: Path, jobs: list[Job], tell: Tell) -> Done:
    """The same with a kernel in the device's time: a life for each job."""
    for job in jobs:
        with tempfile.TemporaryDirectory(prefix="flashemu-record.") as name:
            folder, ear = Path(name), _Ear(tell)
            try:
                lived = timed.live(_life(scripts, job), folder)
            except LabError as e:
                raise LabError(f"{job.recipe.name}: {e}") from None
            heard = ear.listen(iter(lived.output.splitlines(True)), job)
            if heard is None or lived.code:
                raise LabError(_last_words(job.recipe, lived.code, "".join(ear.other)))
            kernel = f"{ear.versions['kernel']}, in the device's time"
            yield job, heard, {**ear.versions, "kernel": kernel}, lived.trace


def _life(scripts: Path, job: Job) -> Life:
    keys = dict(word.split("=", 1) for word in job.server)
    profile, seed = keys.pop("profile"), int(keys.pop("seed", "1"))
    kept = () if job.full else ("file=image", "sync=none")
    recipe = job.recipe
    script = ("export BASH_ENV=/root/functions.sh NBD_PORT=0 CTL_PORT=0 TIMERS=real\n"
              f"exec bash /root/record.sh {shlex.quote(recipe.line(job.full))}\n")
    return Life(str(Path(profile).absolute()) if "/" in profile else profile,
                tuple(f"{key}={value}" for key, value in keys.items()), script,
                tuple(scripts / file for file in ("guest.sh", "story.sh", "record.sh",
                                                  "timed/functions.sh")),
                filesystem="none", seed=seed, limit_s=300.0 + recipe.seconds, server=kept,
                memory_mib=recipe.memory)


class _Ear:
    """What a guest says: of each job, of itself, and to people."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self.other: list[str] = []
        self.versions = {"kernel": "", "tools": ""}

    def listen(self, lines: Iterable[str], job: Job) -> Heard | None:
        """What the guest says until the end of this job; None if it ends before."""
        heard = Heard()
        for line in lines:
            word, _, rest = line.rstrip("\n").partition(" ")
            if word in self.versions:
                self.versions[word] = rest
            elif word == "begin":
                _, heard.capacity, heard.limit = rest.split()
            elif word == "phase":
                name, requests, size = rest.split()
                heard.phases.append((name, int(requests), int(size)))
                self._tell(job.recipe.name, name)
            elif word == "result":
                name, size, text = rest.split(" ", 2)
                heard.results[name] = {**json.loads(text), "user_bytes": int(size) or None}
                self._tell(job.recipe.name, name)
            elif word == "end":
                return heard
            else:
                self.other.append(line)
        return None


def _text(recipe: Recipe, heard: Heard, versions: dict[str, str], trace: Path,
          command: str) -> str:
    """A recording: its comments, and the requests without what came behind the last phase."""
    lines = [HEAD, f"# filesystem: {recipe.filesystem}", f"# work: {recipe.work}",
             f"# mkfs: {recipe.mkfs}", f"# mount: {recipe.mount}",
             *(f"# {key}: {text}" for key, text in versions.items()),
             f"# limit: {heard.limit}", f"# scale: {recipe.scale}", f"# offers: {OFFERS}",
             f"# machine: {recipe.seconds} {recipe.memory}",
             f"# command: {command} {recipe.name}", f"# capacity: {heard.capacity}",
             f"# partition: {recipe.start} {recipe.sectors}",
             *(f"# phase: {name} {requests} {size}" for name, requests, size in heard.phases)]
    return "\n".join([*lines, *_requests(trace, heard.phases[-1][1], recipe.scale)]) + "\n"


def _requests(path: Path, count: int, scale: float) -> list[str]:
    """The first requests of a trace, with the host's think times instead of the device's times, and
    without what the device answered."""
    found: list[str] = []
    for words, ns in zip(_words(path, count), think_times(path, count)):
        _, operation, offset, length, *more = words
        think = _rounded(ns * scale)
        found.append(" ".join(["0", operation, offset, length, *(w for w in more if w == "fua"),
                               *([f"think={think}"] if think else [])]))
    return found


def _words(path: Path, count: int) -> Iterator[list[str]]:
    """The words of the first `count` requests of a trace, or of all if there are less."""
    with path.open(encoding="utf-8") as file:
        yield from islice((line.split() for line in file if not line.startswith("#")), count)


def think_times(path: Path, count: int) -> list[int]:
    """Of the first `count` requests of a server's trace, how long the device had waited for each,
    with nothing to do, in ns of the device's time.  LabError if there are less."""
    found: list[int] = []
    idle: int | None = None  # from then on, as far as the requests before tell
    for words in _words(path, count):
        arrival = int(words[0])
        found.append(0 if idle is None else max(0, arrival - idle))
        done = next((int(w[5:]) for w in words if w.startswith("done=")), arrival)
        idle = max(idle or 0, done)
    if len(found) < count:
        raise LabError(f"the trace has {len(found)} of {count} requests")
    return found


def _rounded(ns: float) -> int:
    """Whole microseconds with so few digits that a file stays small."""
    us = round(ns / 1000)
    return 1000 * round(us, min(0, _DIGITS - len(str(us))))


def _last_words(recipe: Recipe, code: int, text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return f"{recipe.name}: {lines[-1] if lines else f'the guest has ended with code {code}'}"
