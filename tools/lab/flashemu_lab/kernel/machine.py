# SPDX-License-Identifier: BSD-3-Clause
"""The virtual machine of tools/vm: where its scripts and the plugin are, and servers for it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Iterable

from ..core.errors import LabError
from ..runs.program import Tool
from ..runs.run import key_of
from ..runs.worker import digest


def find_scripts(name: str) -> Path:
    """The folder with this script: $FLASHEMU_SCRIPTS, tools/vm of the source tree, or where it is
    installed.  LabError if it is nowhere."""
    told = os.environ.get("FLASHEMU_SCRIPTS")
    here = Path(__file__).resolve()
    places = [Path(told)] if told else [
        here.parents[3] / "vm", here.parents[5] / "libexec/flashemu/vm"]
    for place in places:
        if (place / name).is_file():
            return place
    raise LabError(f"there is no {name} in {' or '.join(map(str, places))}; set "
                   "FLASHEMU_SCRIPTS to the folder tools/vm")


def find_plugin(tool: Tool) -> str:
    """$FLASHEMU_PLUGIN, the plugin that was built with the program, or the name by which nbdkit
    finds an installed one."""
    told = os.environ.get("FLASHEMU_PLUGIN")
    if told:
        return told
    built = tool.path.resolve().parents[1] / "plugin/nbdkit-flashemu-plugin.so"
    return str(built) if built.is_file() else "flashemu"


def check_programs() -> None:
    """LabError if a program is missing."""
    for program, package in (("nbdkit", "nbdkit"), ("qemu-system-x86_64", "qemu-system-x86")):
        if not shutil.which(program):
            raise LabError(f"there is no program {program}: apt-get install {package}")


# What `run` ends with when the kernel did not boot or died, and how often that is tried again.
DIED, BOOTS = 125, 3
# The kernels of a machine that has been prepared, by the engine that runs them.
_KERNELS = {"tcg": "vmlinux", "uml": "linux.uml"}


def _prepare(scripts: Path, what: str) -> str:
    """What `prepare` prints.  LabError, with its last line, if it fails."""
    done = subprocess.run([scripts / "prepare", what], stdin=subprocess.DEVNULL,
                          encoding="utf-8", errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        lines = done.stderr.splitlines() or ["it cannot be made"]
        raise LabError(f"the virtual machine: {lines[-1]}")
    return done.stdout.strip()


def identity(scripts: Path, needs: Iterable[str] = ()) -> str:
    """What decides about what the machine does with a device, as a SHA-256: the scripts of this
    folder, the engine, and the kernel, modules and programs of the guest.

    needs  filesystems that the kernel must have, as in `needed`

    LabError if the machine cannot be made here.  The first call may make it, which takes a minute.
    """
    check_programs()
    base = Path(_prepare(scripts, "--path"))
    engine = _prepare(scripts, "--engine").split(" ")[0]
    try:
        if engine == "uml" and set(needs) & set((base / "uml.lacks").read_text().split()):
            engine = "tcg"
        others = {name for key, name in _KERNELS.items() if key != engine}
        files = [path for folder in (scripts, base) for path in sorted(folder.iterdir())
                 if path.is_file() and path.name not in others]
        return key_of({"files": [[path.name, digest(str(path))] for path in files],
                       "engine": engine})
    except OSError as e:
        raise LabError(f"the virtual machine: {e.filename}: {e.strerror}") from None


def needed(filesystems: Iterable[str]) -> list[str]:
    """The options of `run` for a kernel that has these filesystems; those that every kernel has
    matter to no engine.  Each may be any text that names one, such as "mount -t exfat"."""
    texts = list(filesystems)
    return [word for name in ("exfat", "ntfs3") if any(name in text for text in texts)
            for word in ("--needs", name)]


# In front of a program that must not outlive the thread that starts it, even if that is killed.
LAST = ["setpriv", "--pdeathsig", "TERM", "--"]


def end(process: subprocess.Popen[bytes] | subprocess.Popen[str] | None) -> None:
    """Ends a process that may have ended; it cleans up after SIGTERM, or is killed."""
    if process and process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()
        process.wait()


class Server:
    """One server after the other, always at the same port of 127.0.0.1, with files in a folder:
    `ctl` is the control socket, and `trace` and `image` are what the parameters ask for there.
    Each server has new ones.

    threads  requests that the server works on simultaneously; with 1 they stay in the order in
             which the kernel has sent them
    """

    def __init__(self, plugin: str, folder: Path, threads: int) -> None:
        self._threads = threads
        self._plugin = plugin
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]

    def start(self, parameters: list[str]) -> None:
        """Starts a server when the last one has ended; returns when it listens.  LabError with
        the server's message if it refuses."""
        self.end()
        for name in ("pid", "ctl", "trace", "image"):
            (self._folder / name).unlink(missing_ok=True)
        log = self._folder / "log"
        text = ""
        for _ in range(50):  # the port of the last server may need a moment
            with log.open("wb") as out:
                self._process = subprocess.Popen(
                    [*LAST, "nbdkit", "-f", "-i", "127.0.0.1", "-p", str(self.port), "-t",
                     str(self._threads), "-P", f"{self._folder}/pid", self._plugin,
                     f"control={self._folder}/ctl", *parameters],
                    stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            while self._process.poll() is None:
                pid = self._folder / "pid"
                if pid.is_file() and pid.stat().st_size:
                    return
                time.sleep(0.02)
            if self._process.returncode == 0:
                return  # a quick guest has ended it already
            text = log.read_text(errors="replace")
            if "Address already in use" not in text:
                break
            time.sleep(0.1)
        raise LabError((text.splitlines() or ["nbdkit has ended"])[-1]
                       .removeprefix("nbdkit: ").removeprefix("error: "))

    def wait(self) -> None:
        """Returns when the server has ended by itself."""
        if self._process:
            self._process.wait()

    def end(self) -> None:
        """Ends the server."""
        end(self._process)
