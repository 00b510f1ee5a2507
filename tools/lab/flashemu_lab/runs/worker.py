# SPDX-License-Identifier: BSD-3-Clause
"""What a worker of a cluster does for the lab.

A worker needs Dask and the program flashemu, and nothing of the lab: the text of this file is sent
along with each run.  So it imports only Python's own modules.  What goes in and out is JSON text,
which does not depend on the versions of Python and Dask.

    {"session": "...", "program": "0.1.0+8f3a52c01d7e", "paths": ["/usr/bin/flashemu"],
     "arguments": ["replay", "x.ini", ...], "folder": "/home/a",
     "files": {"x.ini": ["x.ini", SHA-256], "rec:a": ["/usr/share/.../a.trace.gz", SHA-256]},
     "contents": {SHA-256: the file in Base64}}
        -> {"code": N, "output": "...", "errors": "..."}     the program has ended
        -> {"need": [SHA-256, ...]}                          files that the worker does not have
        -> {"refused": "..."}                                this worker can do no run
        -> {"stopped": true}                                 the session is over
        -> {"lost": "..."}                                   the program could not be started, or
                                                             a file has changed under it

`files` has the words of the arguments that name files, the whole word or what is in front of its
first comma, each with the path on the client's machine and with what the file held there.
A run is a process.  It dies with its worker, and at the end of its session.  Files that were sent
are kept in memory, so a worker that is killed leaves nothing behind.
"""

from __future__ import annotations

import base64
import errno
import functools
import hashlib
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from typing import Any

_lock = threading.Lock()
_stopped: set[str] = set()
_running: dict[str, set[subprocess.Popen[bytes]]] = {}
_received: dict[str, int] = {}  # SHA-256 -> a descriptor of the file in memory

# What tells whether somebody has written to a file or replaced it: device, inode, times of the
# last write and of the last change of any kind, which nobody can set back, and size.
Stamp = tuple[int, int, int, int, int]
_digests: dict[tuple[str, Stamp], str] = {}
# A file system's clock is no finer than this, so a younger file may be written to without a trace.
_TICK_NS = 20_000_000
_TRIES = 100


def guarded(words: list[str]) -> list[str]:
    """A command whose process is killed as soon as the thread that started it ends."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--", *words] if setpriv else words


def program_name(version: str, path: str) -> str:
    """The version and the beginning of the program's SHA-256; OSError if it cannot be read."""
    return f"{version}+{digest(path)[:12]}"


def stamp(path: str) -> Stamp:
    """The file's stamp now; OSError if there is no such file."""
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size


def fingerprint(path: str) -> tuple[Stamp, str]:
    """The stamp and the SHA-256 of a file, which belong together: whoever finds the same stamp
    later finds the same content.  A file that has not changed is read only once.

    OSError if the file cannot be read, or if somebody writes to it all the time.
    """
    for _ in range(_TRIES):
        before = stamp(path)
        if any(0 <= time.time_ns() - at < _TICK_NS for at in before[2:4]):
            time.sleep(_TICK_NS / 1e9)
        elif (path, before) in _digests:
            return before, _digests[path, before]
        else:
            with open(path, "rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if stamp(path) == before:
                _digests[path, before] = found
                return before, found
    raise BlockingIOError(errno.EAGAIN, "somebody is writing to the file", path)


def digest(path: str) -> str:
    """The SHA-256 of a file, as `fingerprint` has it."""
    return fingerprint(path)[1]


@functools.lru_cache(maxsize=None)
def _version(path: str, sha256: str) -> str:
    done = subprocess.run(guarded([path, "--version"]), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          encoding="utf-8", errors="replace")
    return (done.stdout.split() or ["?"])[-1]


def _find(wanted: str, told: list[str]) -> tuple[str | None, str]:
    """The program of this name, and otherwise the reason why there is none."""
    others = []
    for path in (os.environ.get("FLASHEMU"), shutil.which("flashemu"), *told):
        if not path or not os.access(path, os.X_OK):
            continue
        try:
            name = program_name(_version(path, digest(path)), path)
        except OSError:
            continue
        if name == wanted:
            return path, ""
        others.append(f"{path} is {name}")
    return None, (f"the worker on {socket.gethostname()} has no flashemu {wanted}"
                  f"{': ' + ', '.join(dict.fromkeys(others)) if others else ''}; install the same "
                  "build there, or set FLASHEMU for the worker")


def _local(path: str, sha256: str) -> str | None:
    """Where the file with this content is on this machine."""
    try:
        if digest(path) == sha256:
            return path
    except OSError:
        pass
    return f"/proc/self/fd/{_received[sha256]}" if sha256 in _received else None


def _receive(contents: dict[str, str]) -> None:
    """Keeps the files that came along; one that is not what its name says is left out."""
    for sha256, text in contents.items():
        data = base64.b64decode(text)
        if hashlib.sha256(data).hexdigest() != sha256:
            continue
        with _lock:
            if sha256 not in _received:
                fd = os.memfd_create(sha256[:12])
                with open(fd, "wb", closefd=False) as file:
                    file.write(data)
                _received[sha256] = fd


def _placed(word: str, places: dict[str, str]) -> str:
    """An argument with the file that it names, the whole of it or in front of the first comma."""
    name, comma, rest = word.partition(",")
    if word in places:
        return places[word]
    if name not in places:
        return word
    return f"rec:{places[name]}{comma}{rest}" if name.startswith("rec:") else word


def perform(text: str) -> str:
    """Does one run; the top of this file has the members of both texts."""
    try:
        return json.dumps(_perform(json.loads(text)))
    except OSError as e:
        return json.dumps({"lost": f"the worker on {socket.gethostname()}: {e}"})


def _perform(task: dict[str, Any]) -> dict[str, Any]:
    program, reason = _find(task["program"], task["paths"])
    if not program:
        return {"refused": reason}
    _receive(task["contents"])
    places: dict[str, str] = {}
    need = []
    for name, (path, sha256) in task["files"].items():
        place = _local(os.path.join(task["folder"], path), sha256)
        if place:
            places[name] = place
        else:
            need.append(sha256)
    if need:
        return {"need": need}
    words = [_placed(word, places) for word in task["arguments"]]
    session = task["session"]
    with _lock:
        if session in _stopped:
            return {"stopped": True}
        process = subprocess.Popen(guarded([program, *words]), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   pass_fds=tuple(_received.values()))
        _running.setdefault(session, set()).add(process)
    try:
        output, errors = process.communicate()
    finally:
        with _lock:
            _running[session].discard(process)
    for name, place in places.items():
        if not place.startswith("/proc/self/fd/") and digest(place) != task["files"][name][1]:
            return {"lost": f"the worker on {socket.gethostname()}: {place} has changed"}
    message = errors.decode(errors="replace")
    for name, place in places.items():  # as the same run says it on the client's machine
        message = message.replace(place, name)
    return {"code": process.returncode, "output": output.decode(errors="replace"),
            "errors": message}


def stop(session: str) -> str:
    """Ends the runs of a session, and lets none begin any more."""
    with _lock:
        _stopped.add(session)
        for process in _running.get(session, ()):
            process.kill()
    return ""
