# SPDX-License-Identifier: BSD-3-Clause
"""A kernel that lives in the time of an emulated device: one life of it.

The device and the calendar are one program, flashemu-vhost, and the kernel is a User Mode Linux
(tools/vm/timed).  What programs compute takes no time, except `think` for each system call.  The
kernel's timers have their real values, and come when the device's time is theirs.

What could differ from one life to the next comes from the seed: the guest's randomness, and with it
its addresses, UUIDs and hashes.  The date is always the same, and the guest sees nothing of the
host but the programs that it runs and the folder that this module makes.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from ..core.errors import LabError
from ..core.text import lines_of
from ..runs.expression import longest_command, parse_profile
from ..runs.program import Tool
from ..runs.run import Json
from .machine import end, find_scripts

# Of the guest's clock at the device's time 0: the beginning of 2026, as flashemu-vhost has it.
DATE_NS = 1767225600 * 10**9
MEMORY_MIB = 512
# A work begins at any instant of the kernel's longest usual period, a commit of 5 s.
_PERIOD_MS = 5000
_MOST_KIB = 512  # of a request, where the link allows more
_SETTINGS = 8192  # bytes
_WAIT_S = 30  # for a server that begins to serve
TIME_IS_UP = 124  # instead of a kernel's exit code


@dataclass(frozen=True)
class Life:
    """What the guest does, on which device.  The seed says, besides all randomness, how far the
    kernel's timers are when the script begins.

    script     what bash runs in it, with /mnt mounted and the device in $DEV
    files      and folders for the guest, in /root
    filesystem of choices.FILESYSTEMS
    think_ns   what each system call costs
    limit_s    of this machine's time
    server     further parameters of the device's server; files are in the folder of the life
    memory_mib of the guest
    real       the same kernel and device in this machine's time: of the times of what has lived,
               only differences mean something then
    """

    profile: str
    overrides: tuple[str, ...]
    script: str
    files: tuple[Path, ...] = ()
    filesystem: str = "ext4"
    mkfs: str = ""
    mount: str = ""
    seed: int = 1
    think_ns: int = 0
    limit_s: float = 600.0
    server: tuple[str, ...] = ()
    memory_mib: int = MEMORY_MIB
    real: bool = False


@dataclass(frozen=True)
class Sync:
    """A call that waits for the device, by its program; times of the device in ns."""

    call: str
    program: str
    start_ns: int
    ns: int


@dataclass
class Lived:
    """What has come of it; times of the device in ns, from its time 0 on.

    code  of the script
    """

    code: int
    output: str
    start_ns: int
    script_end_ns: int
    end_ns: int
    host_s: float
    kernel: str
    stats: Json
    trace: Path
    marks: list[tuple[str, int]] = field(default_factory=list)
    syncs: list[Sync] = field(default_factory=list)


class Timed:
    """The kernel, programs and the front end of this machine.  LabError if something is missing.

    The first use of a machine may build its kernel, which takes minutes.
    """

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self._scripts = find_scripts("timed/init") / "timed"
        self._vhost = _find_vhost(tool)
        self._mark = _mark_beside(self._scripts.parent, tool)
        self._kernel = _said([str(self._scripts / "kernel")])
        self._base = Path(_said([str(self._scripts.parent / "prepare"), "--path"]))
        self.version = _said([self._kernel, "--version"])

    def live(self, life: Life, folder: Path) -> Lived:
        """One life, with its files in an empty folder, which may be removed afterwards."""
        for name in ("out", "result", "console"):
            (folder / name).touch()
        (folder / "initramfs").write_bytes(
            (self._base / "initramfs").read_bytes() + self._archive(life, folder / "tree"))
        server = self._serve(life, folder)
        began = time.monotonic()
        try:
            code = self._boot(life, folder)
            host_s = time.monotonic() - began
            stats: Json = json.loads(self._tool.ask("ctl", str(folder / "ctl"), "stats"))
        finally:
            end(server)
        complaint = (folder / "log").read_text(errors="replace").strip()
        return self._told(folder, code, life.limit_s, host_s, stats, complaint)

    def _archive(self, life: Life, tree: Path) -> bytes:
        """The guest's own files, as a second archive; the same bytes for the same contents."""
        canonical = self._tool.canonical(life.profile, life.overrides)
        kib = longest_command(canonical) >> 10
        settings = {"FS": life.filesystem, "MKFS": life.mkfs, "MOUNT": life.mount,
                    "WAIT_MS": str(random.Random(life.seed).randrange(_PERIOD_MS)),
                    "MAX_KB": str(min(kib or _MOST_KIB, _MOST_KIB)),
                    "HOST": str(tree.parent), "PROGRAMS": str(self._base),
                    "ROTATIONAL": str(int(parse_profile(canonical)["device.rotational"] == "yes"))}
        own = {"init": (self._scripts / "init").read_text(),
               # As long wherever the folder is, so that the guest's memory is the same.
               "vm/settings": "".join(f"{k}={_quoted(v)}\n"
                                      for k, v in settings.items()).ljust(_SETTINGS, "\n"),
               "vm/start": life.script,
               # A name is one line, whatever is in it.
               "vm/bin/mark": '#!/bin/sh\nname=$(printf "%s" "$*" | tr "\\n\\r" "  ")\n'
                          'printf "mark %s %s\\n" "$(/usr/bin/date +%s%N)" "$name" | '
                          'outside tee -a /host/result >/dev/null\n'}
        for name, text in own.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)
            (tree / name).chmod(0o755)
        shutil.copy(self._mark, tree / "vm/mark")
        (tree / "root").mkdir()
        for path in life.files:
            _copy(path, tree / "root" / path.name)
        names = sorted(str(p.relative_to(tree)) for p in tree.rglob("*"))
        for name in names:
            os.utime(tree / name, (DATE_NS // 10**9, DATE_NS // 10**9))
        done = subprocess.run(["cpio", "-o", "-H", "newc", "-R", "+0:+0", "--quiet",
                               "--reproducible", "--null"], cwd=tree,
                              input="\0".join(names).encode(errors="surrogateescape"),
                              stdout=subprocess.PIPE, check=False)
        if done.returncode:
            raise LabError("cpio cannot pack the guest's files")
        return done.stdout

    def _serve(self, life: Life, folder: Path) -> subprocess.Popen[bytes]:
        with open(folder / "log", "wb") as log:
            server = subprocess.Popen(
                [self._vhost, f"profile={life.profile}", *life.overrides, f"seed={life.seed}",
                 "socket=dev", *([] if life.real else ["time=clock", "commands=."]),
                 "control=ctl", "trace=trace", *life.server], cwd=folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until = time.monotonic() + _WAIT_S
        while not (folder / "ctl").exists():
            if server.poll() is not None or time.monotonic() > until:
                end(server)
                raise LabError((folder / "log").read_text(errors="replace").strip().replace(
                    "flashemu-vhost: ", "") or "the device does not start")
            time.sleep(0.005)
        return server

    def _boot(self, life: Life, folder: Path) -> int:
        """The kernel's life; its exit code, or TIME_IS_UP."""
        words = [self._kernel, f"mem={life.memory_mib}M", f"seed={life.seed}",
                 f"think={life.think_ns}", *([] if life.real else ["time-travel=ext:clock"]),
                 "virtio_uml.device=dev:2",
                 "initrd=initramfs", "uml_dir=.", "umid=guest", "con=null", "con0=null,fd:1",
                 "ssl=null", "seccomp=on", "panic=-1", "printk.time=0", "norandmaps"]
        environment = {"PATH": "/usr/bin:/bin", "HOME": "/",
                       "TMPDIR": _memory_place(folder, life.memory_mib)}
        with open(folder / "console", "wb") as console:
            kernel = subprocess.Popen(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                      stdout=console, stderr=console, start_new_session=True)
        try:
            return kernel.wait(life.limit_s)
        except subprocess.TimeoutExpired:
            return TIME_IS_UP
        finally:
            try:  # each process of the guest is one of the group
                os.killpg(kernel.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            kernel.wait()

    def _told(self, folder: Path, code: int, limit_s: float, host_s: float, stats: Json,
              complaint: str) -> Lived:
        """What guest and device have said.  LabError if the guest has not come to its end."""
        # The name of a mark may have any other bytes.
        text = (folder / "result").read_text(encoding="utf-8", errors="replace")
        said = [line.split(" ", 2) for line in lines_of(text)]
        at = {words[0]: int(words[1]) - DATE_NS for words in said}
        if "end" not in at:
            console = (folder / "console").read_text(errors="replace").splitlines()
            last = complaint or (folder / "out").read_text(errors="replace").strip() or \
                (console[-1].strip() if console else "")
            late = f" within {limit_s:g} s of this machine" if code == TIME_IS_UP else ""
            raise LabError("the guest has not come to its end" + late +
                           (f": {last.splitlines()[-1]}" if last else ""))
        codes = [int(words[2]) for words in said if words[0] == "code"]
        return Lived(
            codes[0], (folder / "out").read_text(errors="replace"), at["start"], at["code"],
            at["end"], host_s, self.version, stats, folder / "trace",
            [(words[2], int(words[1]) - DATE_NS) for words in said if words[0] == "mark"],
            [s for s in _syncs(folder / "console") if at["start"] <= s.start_ns < at["code"]])


def _copy(path: Path, to: Path) -> None:
    """A file, or a folder with all that its links lead to.  LabError if one cannot be read, or if
    something has this name already."""
    try:
        if to.exists():
            raise LabError(f"{path}: the guest has another file of this name in /root")
        if path.is_dir():
            shutil.copytree(path, to)
        else:
            shutil.copy(path, to)
    except shutil.Error as e:
        source, _, why = e.args[0][0]
        raise LabError(f"{source}: {why}") from None
    except OSError as e:
        raise LabError(f"{e.filename or path}: {e.strerror or e}") from None


def _find_vhost(tool: Tool) -> str:
    """The front end that was built beside the program, or is in PATH.  LabError if none is."""
    told = os.environ.get("FLASHEMU_VHOST")
    built = tool.path.resolve().parents[1] / "vhost/flashemu-vhost"
    found = told or (str(built) if built.is_file() else shutil.which("flashemu-vhost"))
    if not found:
        raise LabError("there is no program flashemu-vhost in PATH")
    return found


def _mark_beside(scripts: Path, tool: Tool) -> Path:
    """What makes /run/flashemu/mark, as `run` of these scripts finds it.  LabError if it is
    nowhere."""
    places = (scripts, scripts.parent, tool.path.resolve().parent)
    for place in places:
        if (place / "flashemu-mark").is_file():
            return place / "flashemu-mark"
    raise LabError(f"there is no flashemu-mark in {' or '.join(map(str, places))}")


# What a command means that leaves the choice to the environment, by $FLASHEMU_VM_ENGINE.
_MEANT = {"timed": "timed", "uml": "vm", "tcg": "vm"}


def chosen(tool: Tool, wish: str = "") -> Timed | None:
    """The kernel that lives in the device's time, or None for the one of the virtual machine.

    wish  of choices.KERNELS; auto, or "", is what $FLASHEMU_VM_ENGINE means, and without that the
          kernel in the device's time where it has been built, as `flashemu verify` chooses

    LabError if a wish for "timed" cannot be granted; it may build the kernel first.
    """
    if wish in ("", "auto"):
        wish = _MEANT.get(os.environ.get("FLASHEMU_VM_ENGINE", ""), "auto")
    if wish == "vm" or wish == "auto" and not _is_there(tool):
        return None
    return Timed(tool)


def _is_there(tool: Tool) -> bool:
    """Whether all that a life needs has been built."""
    try:
        scripts = find_scripts("timed/init")
        _find_vhost(tool)
        _mark_beside(scripts, tool)
        for program in ("timed/kernel", "prepare"):
            _said([str(scripts / program), "--check"])
    except (LabError, OSError):
        return False
    return True


def _memory_place(folder: Path, mib: int) -> str:
    """Where the guest's memory is a file without a name, which grows as the guest uses it.

    That is /dev/shm, if it has room for all of it and for a guest of each other processor;
    containers often have 64 MiB there.  Else it is this folder.  LabError if neither has room, of
    which a guest would die.
    """
    if _room("/dev/shm") >= (os.cpu_count() or 1) * mib << 20:
        return "/dev/shm"
    if _room(str(folder)) >= mib << 20:
        return str(folder)
    raise LabError(f"neither /dev/shm nor {folder.parent} has room for {mib} MiB of a guest's "
                   "memory")


def _room(folder: str) -> int:
    """The free bytes of this folder; none if nobody can write there, or run programs from there."""
    try:
        there = os.statvfs(folder)
    except OSError:
        return 0
    if there.f_flag & os.ST_NOEXEC or not os.access(folder, os.W_OK):
        return 0
    return there.f_bavail * there.f_frsize


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _said(words: list[str]) -> str:
    """What a program prints.  LabError, with its last line, if it fails."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", errors="replace", check=False)
    if done.returncode:
        lines = done.stderr.splitlines() or [f"{words[0]} has failed"]
        raise LabError(lines[-1])
    return done.stdout.strip()


def _syncs(console: Path) -> list[Sync]:
    """The kernel's lines "CALL: PROGRAM START END"; a program's name may have blanks."""
    found = []
    for line in console.read_text(errors="replace").splitlines():
        call, colon, rest = line.strip().partition(": ")
        words = rest.rsplit(" ", 2)
        if call in ("fsync", "fdatasync", "sync", "syncfs", "msync") and len(words) == 3 and \
                words[1].isdigit() and words[2].isdigit():
            start = int(words[1])
            found.append(Sync(call, words[0], start, int(words[2]) - start))
    return found
