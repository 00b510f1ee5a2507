# SPDX-License-Identifier: BSD-3-Clause
"""Results by key, each of them once.

    FOLDER/ab/abcdef....json     a result, whole from the moment that it has this name
    FOLDER/tmp/RANDOM            what a writer is writing; the writer holds a lock on the file

A writer writes a file of its own in tmp, makes it durable, and links it to the key.  The link
fails if the key is there, so whichever writer is first has the key, on one machine or on several
that share the folder.  kill -9 and a full disk leave a file in tmp and nothing else.  The next
one that opens the store removes the file, because nobody holds its lock any more.

The program is deterministic.  So a second result under a key must equal the first, and if it does
not, that is an error that is shown.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import uuid
from pathlib import Path
from typing import Any, Iterator

from ..core.errors import LabError
from ..core.json_text import loads, member
from ..core.signals import hold
from .program import Outcome
from .run import Json, Keyed, canonical_json

_FORMAT = 1


def default_folder() -> Path:
    """$FLASHEMU_LAB_STORE, or flashemu-lab in the user's folder for caches."""
    told = os.environ.get("FLASHEMU_LAB_STORE")
    if told:
        return Path(told)
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache) / "flashemu-lab"


class Store:
    """The results in one folder, which is made if it is not there.  LabError if that fails."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tmp = folder / "tmp"
        with self._host_errors("open the store", " (--store or FLASHEMU_LAB_STORE names another)"):
            self._tmp.mkdir(parents=True, exist_ok=True)
            self._sweep()

    def get(self, run: Keyed) -> Outcome | None:
        """What is stored for this run, or None.  LabError if the file is not what was stored."""
        path = self._path(run.key())
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as e:
            raise LabError(f"{path}: cannot be read: {e}") from None
        found = _outcome(text, run)
        if not found:
            raise LabError(f"{path}: is damaged or belongs to another run; remove the file")
        return found

    def put(self, run: Keyed, outcome: Outcome) -> None:
        """Stores an outcome, unless an equal one is there.

        LabError if a different one is there, with exit code 1, or if the host cannot write.
        """
        assert outcome.status != "lost"
        text = canonical_json(self._record(run, outcome)) + "\n"
        path = self._path(run.key())
        with self._host_errors(f"store {run.key()}"):
            path.parent.mkdir(exist_ok=True)
            with hold():
                while not self._link(text, path):
                    pass
        stored = self.get(run)
        if stored != outcome:
            difference = _difference(stored, outcome)
            raise LabError(f"two runs under the key {run.key()} differ{difference}; the "
                           f"stored result is {path}; the command is: {run.command()}", 1)

    def forget(self, run: Keyed) -> None:
        """Removes what is stored for this run, if there is something."""
        with self._host_errors(f"remove {run.key()}"):
            self._path(run.key()).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / (key + ".json")

    @staticmethod
    def _record(run: Keyed, outcome: Outcome) -> Json:
        return {"format": _FORMAT, "identity": run.identity(), "status": outcome.status,
                "result": outcome.result, "message": outcome.message}

    def _link(self, text: str, path: Path) -> bool:
        """Writes and links; false if the file was removed as a leftover before it was locked."""
        name = self._tmp / uuid.uuid4().hex  # two containers may have the same process numbers
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            with open(fd, "w", encoding="utf-8") as file:
                fcntl.flock(fd, fcntl.LOCK_EX)
                file.write(text)
                file.flush()
                os.fsync(fd)
                try:
                    os.link(name, path)
                except FileExistsError:
                    pass
                except FileNotFoundError:
                    return False
            return True
        finally:
            with contextlib.suppress(FileNotFoundError):
                name.unlink()

    def _sweep(self) -> None:
        """Removes what killed writers left."""
        for name in list(self._tmp.iterdir()):
            try:
                fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                name.unlink(missing_ok=True)
            except BlockingIOError:
                pass  # its writer lives
            finally:
                os.close(fd)

    @contextlib.contextmanager
    def _host_errors(self, what: str, cure: str = "") -> Iterator[None]:
        try:
            yield
        except OSError as e:
            raise LabError(f"{self.folder}: cannot {what}: {e.strerror}{cure}") from None


def _outcome(text: str, run: Keyed) -> Outcome | None:
    """What a file has that was stored for this run; None for any other file."""
    try:
        record = loads(text, "")
        if record["format"] != _FORMAT or record["identity"] != run.identity():
            return None
        found = Outcome(member(str, record["status"], ""),
                        member(dict[str, Any] | None, record["result"], ""),
                        member(str, record["message"], ""))
    except (LabError, KeyError, TypeError):
        return None
    return found if found.status == ("failed" if found.result is None else "done") else None


def _difference(a: Outcome | None, b: Outcome) -> str:
    """The first member in which two outcomes differ."""
    if a is None or a.status != b.status or a.result is None or b.result is None:
        return f": one is {a.status if a else 'gone'}, the other is {b.status}"
    for name in sorted({*a.result, *b.result}):
        one, other = a.result.get(name), b.result.get(name)
        if one != other:
            return f" in {name}: {canonical_json(one)} and {canonical_json(other)}"
    return ""
