# SPDX-License-Identifier: BSD-3-Clause
"""Cuts the power under filesystems, and looks at what is left.

A cut is a value with an id:

    transcend8g:ext4:files:1:7     profile, filesystem, workload, seed, number

Seed and number decide after how many writes to the device the power fails.  Each cut has a device
of its own, as the profile says.  The machine boots once for all cuts: when the guest has looked at
what is left, it ends the server, and the next server takes its place at the same port.

A kernel decides when it writes what, and it does so by the time of this machine.  So a cut that is
done again hits the same number of writes, but not always the same moment of the workload.  What is
counted is nevertheless a fact about this cut: files that fsync has confirmed are whole or not.
"""

from __future__ import annotations

import random
import re
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Generator, Iterable

from ..core.errors import LabError
from ..core.units import in_bytes, quantity, whole
from ..kernel import machine
from ..runs.expression import parse_profile
from ..runs.program import Outcome, Tool
from ..runs.run import Json, key_of
from ..runs.worker import digest
from .choices import FILESYSTEMS, WORKLOADS, among, choose

# What fsync promises: all of these sync the folder's entry of a new file together with the file.
PROMISE = ("ext4", "f2fs", "xfs")
# Counts of a result, in this order: of what was synced, and of what was not.
COUNTS = ("synced", "lost", "wrong", "unsynced", "whole", "part", "gone", "bad")


@dataclass(frozen=True)
class Cut:
    """One power cut.

    profile    a name or a path; `canonical` is the whole of it, with `settings` ("KEY=VALUE") and
               `size` (bytes, 0 for all of the device)
    writes     after how many writes to the device, counted from the mount, the power fails;
               drawn from 1 to `within`
    program    version and build of the C program; `plugin` is a digest, and `machine` stands for
               the kernel, the programs and the scripts of the guest
    """

    profile: str
    filesystem: str
    workload: str
    seed: int
    number: int
    writes: int
    within: int
    settings: tuple[str, ...]
    size: int
    canonical: str
    program: str
    plugin: str
    machine: str

    @property
    def id(self) -> str:
        """Such as "transcend8g:ext4:files:1:7"."""
        return f"{self.profile}:{self.filesystem}:{self.workload}:{self.seed}:{self.number}"

    def identity(self) -> Json:
        """Everything that decides about the result, except the machine's time."""
        return {"kind": "crash", "program": self.program, "plugin": self.plugin,
                "machine": self.machine, "profile": self.canonical, "size": self.size,
                "filesystem": self.filesystem, "workload": self.workload, "seed": self.seed,
                "number": self.number, "writes": self.writes}

    def key(self) -> str:
        """64 hexadecimal digits."""
        return key_of(self.identity())

    def command(self) -> str:
        """The line that does this cut alone, once more."""
        return shlex.join(["flashemu-lab", "crash", *self.settings, "--size",
                           str(self.size or "16T"), "--within", str(self.within), "--again",
                           "--cut", self.id])


def parse_id(text: str) -> tuple[str, str, str, int, int]:
    """Profile, filesystem, workload, seed and number of an id; LabError if it is none."""
    parts = text.rsplit(":", 4)
    if len(parts) != 5 or any(whole(word) is None for word in parts[3:]):
        raise LabError(f"--cut {text}: expected PROFILE:FILESYSTEM:WORKLOAD:SEED:NUMBER, such as "
                       "transcend8g:ext4:files:1:7")
    among("--cut", parts[1], FILESYSTEMS)
    among("--cut", parts[2], WORKLOADS)
    return parts[0], parts[1], parts[2], int(parts[3]), int(parts[4])


class Planner:
    """Makes cuts of one device size and one range of writes."""

    def __init__(self, tool: Tool, settings: tuple[str, ...], size: int, within: int) -> None:
        self._tool = tool
        self._settings = settings
        self._size = size
        self._within = within
        self._machines: dict[str, str] = {}  # by what of run's options decides about the engine
        self._plugin = machine.find_plugin(tool)

    def _machine(self, filesystem: str) -> str:
        needs = " ".join(machine.needed([filesystem]))
        if needs not in self._machines:
            self._machines[needs] = machine.identity(machine.find_scripts("crash.sh"), [filesystem])
        return self._machines[needs]

    def cut(self, profile: str, filesystem: str, workload: str, seed: int, number: int) -> Cut:
        """A cut.  LabError if there is no such profile."""
        canonical = self._tool.canonical(profile, self._settings)
        capacity = quantity(parse_profile(canonical)["device.capacity"]) or 0
        size = 0 if capacity <= self._size else self._size
        draw = random.Random(f"{filesystem}:{workload}:{seed}:{number}:{self._within}")
        plugin = digest(self._plugin) if "/" in self._plugin else self._tool.version
        return Cut(profile, filesystem, workload, seed, number, draw.randint(1, self._within),
                   self._within, self._settings, size, canonical, self._tool.program,
                   plugin, self._machine(filesystem))


def plan(tool: Tool, operands: list[str], filesystems: str, workloads: str, count: int, seed: int,
         within: int, size: str, ids: list[str]) -> list[Cut]:
    """The cuts that a command line asks for.

    operands   profiles, and "SECTION.KEY=VALUE" for all of them; `size` is a quantity
    ids        if there are any, only these cuts

    LabError for a word that is wrong.
    """
    settings = tuple(word for word in operands if "=" in word)
    profiles = [word for word in operands if "=" not in word]
    bytes_used = in_bytes(size)
    if not bytes_used or bytes_used < 1 << 20:
        raise LabError(f"--size {size}: allowed: at least 1M")
    planner = Planner(tool, settings, int(bytes_used), within)
    if ids:
        if profiles:
            raise LabError(f"{profiles[0]}: --cut names the profile already")
        return [planner.cut(*parse_id(text)) for text in ids]
    if not profiles:
        raise LabError("a crash needs a device: a profile such as transcend8g")
    systems = choose("--fs", filesystems, FILESYSTEMS)
    works = choose("--workload", workloads, WORKLOADS)
    return [planner.cut(profile, system, work, seed, number) for profile in profiles
            for system in systems for work in works for number in range(count)]


Ended = Generator[tuple[Cut, Outcome], None, None]


def perform(cuts: Iterable[Cut], tool: Tool) -> Ended:
    """Each cut with its outcome.  Closing the generator ends the machine and the server.

    A machine is booted once for all cuts that count for it.  When it ends in a cut it boots again
    for the others, and for this cut too if its kernel has panicked: User Mode Linux dies now and
    then of its host's doings.  A cut that ends a second one is lost.  LabError if the machine
    cannot be made, or if it ends before it has done anything.
    """
    scripts = machine.find_scripts("crash.sh")
    waiting, died = list(cuts), set[str]()
    if not waiting:
        return
    while waiting:
        batch = [cut for cut in waiting if cut.machine == waiting[0].machine]
        with tempfile.TemporaryDirectory(prefix="flashemu-crash.") as name:
            session = _Session(scripts, machine.find_plugin(tool), Path(name))
            try:
                for cut, outcome in session.run(batch):
                    if "Kernel panic" in outcome.message and cut.id not in died:
                        died.add(cut.id)
                        break
                    waiting = [other for other in waiting if other is not cut]
                    yield cut, outcome
            finally:
                session.end()


class _Session:
    """One boot of the machine."""

    def __init__(self, scripts: Path, plugin: str, folder: Path) -> None:
        self._scripts = scripts
        self._folder = folder
        self._server = machine.Server(plugin, folder, 16)
        self._guest: subprocess.Popen[str] | None = None

    def run(self, cuts: list[Cut]) -> Ended:
        """The cuts up to the end of the guest, which may come early."""
        with (self._folder / "errors").open("w+b") as errors:
            for cut in cuts:
                parameters = [f"profile={cut.profile}", *cut.settings, "clock=virtual",
                              f"seed={cut.seed}"]
                self._server.start(parameters + ([f"size={cut.size}"] if cut.size else []))
                guest = self._guest or self._start(cuts, errors)  # it wants to see the socket
                assert guest.stdout
                said: list[str] = []
                found, begun = _listen(guest.stdout, cut, said)
                if found:
                    yield cut, found
                    continue
                code = guest.wait()
                errors.seek(0)
                said += errors.read().decode(errors="replace").splitlines()
                lines = [line.strip() for line in said if line.strip()]
                last = lines[-1] if lines else f"exit code {code}"
                if not begun:
                    raise LabError(f"the virtual machine has ended: {last}")
                yield cut, Outcome("lost", message=f"the virtual machine has ended: {last}")
                return

    def _start(self, cuts: list[Cut], errors: IO[bytes]) -> subprocess.Popen[str]:
        words = [f"{c.id}|{c.filesystem}|{c.workload}|{c.writes}" for c in cuts]
        self._guest = subprocess.Popen(
            [*machine.LAST, str(self._scripts / "run"), "--timeout", str(300 + 300 * len(cuts)),
             *machine.needed(c.filesystem for c in cuts),
             "--forward-unix", f"{self._folder}/ctl:7000",
             "--env", f"NBD_PORT={self._server.port}", "--env", "CTL_PORT=7000",
             str(self._scripts / "crash.sh"), *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
            encoding="utf-8", errors="replace")
        return self._guest

    def end(self) -> None:
        """Ends what is running."""
        machine.end(self._guest)
        self._server.end()


def _listen(lines: IO[str], cut: Cut, other: list[str]) -> tuple[Outcome | None, bool]:
    """What the guest says up to the end of a cut, and whether the cut has begun; no outcome if the
    guest has ended.  What the guest says to people is added to `other`."""
    begun = False
    found: Outcome | None = None
    for line in lines:
        word, _, rest = line.rstrip("\n").partition(" ")
        if not f"{rest} ".startswith(f"{cut.id} "):
            other.append(line)
            continue
        rest = rest.removeprefix(cut.id).strip()
        if word == "begin":
            begun = True
        elif word == "result":
            found = Outcome("done", _members(rest))
        elif word == "failed":
            found = Outcome("failed", message=rest)
        elif word == "end":
            return found or Outcome("lost", message="the guest has told no result"), begun
    return None, begun


def _members(text: str) -> Json:
    """NAME=VALUE..., whole numbers as such, in the order in which the store has them."""
    pairs = (word.split("=", 1) for word in text.split())
    return {name: int(value) if re.fullmatch(r"-?[0-9]{1,18}", value) else value
            for name, value in sorted(pairs)}
