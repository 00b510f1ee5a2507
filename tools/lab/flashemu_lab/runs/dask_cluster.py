# SPDX-License-Identifier: BSD-3-Clause
"""Runs on many machines, by Dask.

    this machine            scheduler             workers
    dask_cluster --text-->  (hands out)  --text-->  worker.py  -->  a process for each run
    store        <------------------ results come home

Dask promises nothing about how often a task is executed, and need not: the store has one result
for each key.  A few tasks more than the workers have threads are on their way at any time.  A task
that got lost is sent again.

  A worker dies          Dask gives its tasks to another worker.  When it gives up, the task is
                         sent again, up to a limit, because a run may kill each of its workers.
  The scheduler dies     All tasks are forgotten.  The client looks for the scheduler for a while,
                         and then sends the tasks again or ends with a line.
  The client dies        What has come home is stored.  The same command does the rest.

Dask's own messages are switched off, because they are about Dask.
"""

from __future__ import annotations

import asyncio
import base64
import concurrent.futures
import hashlib
import importlib
import inspect
import json
import logging
import os
import queue
import re
import sys
import time
import uuid
import warnings
from dataclasses import dataclass, field
from typing import Any, Iterable, Iterator

from ..core.errors import LabError, module
from . import worker
from .local import Outcomes
from .program import Outcome, Tool, check_unchanged, outcome
from .run import Run

# How long a scheduler that is gone is looked for, and how long a scheduler may take to answer.
PATIENCE_S = 30.0
_ANSWER_S = 5.0
# How many workers may die under a run before it counts as lost, times Dask's own limit of 4.
_MOST_DEATHS = 5
# How often workers may give a run back, because they lack a file or their session is over.
_MOST_RETURNS = 20
# Larger files are not sent to workers.
_MOST_BYTES = 64 << 20

_ADDRESS = re.compile(r"(?:tcp|tls)://[^/\s]+:\d{1,5}")
# What Dask's functions raise when the scheduler has gone.
_GONE = (OSError, TimeoutError, RuntimeError, asyncio.TimeoutError, asyncio.CancelledError,
         concurrent.futures.CancelledError)

# A task is a call of Python's own eval with these texts.  The module is made once in each worker.
_EXPRESSION = "exec(boot) or answer"
_BOOT = """
import sys, types
if name not in sys.modules:
    module = types.ModuleType(name)
    exec(source, module.__dict__)
    sys.modules.setdefault(name, module)
answer = getattr(sys.modules[name], function)(text)
"""


def _distributed() -> Any:
    found = module("distributed", "python3-distributed", "--engine dask")
    for name in [*logging.root.manager.loggerDict, "distributed", "asyncio", "tornado"]:
        if name.split(".")[0] in ("distributed", "asyncio", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    warnings.filterwarnings("ignore", module="distributed")
    importlib.import_module("dask.config").set({"distributed.comm.timeouts.connect": _ANSWER_S})
    return found


@dataclass
class _Job:
    """A run on its way."""

    run: Run
    deaths: int = 0
    returns: int = 0  # how often a worker gave it back undone
    send: list[str] = field(default_factory=list)  # SHA-256 of the files that go along


class _Lost(Exception):
    """The scheduler has gone or has forgotten what it was told."""


class _Link:
    """A connection to a scheduler, and the jobs that are on their way over it."""

    def __init__(self, distributed: Any, tool: Tool, address: str) -> None:
        self.flying: dict[str, tuple[Any, _Job]] = {}
        self._distributed = distributed
        self._tool = tool
        self._session = uuid.uuid4().hex
        self._source = inspect.getsource(worker)
        self._name = "flashemu_lab_" + hashlib.sha256(self._source.encode()).hexdigest()
        self._ended: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._threads = 0
        self._asked = 0.0
        self._client = distributed.Client(address, timeout=_ANSWER_S, set_as_default=False)

    def room(self) -> bool:
        """Whether another job should be on its way.  _Lost if the scheduler does not answer."""
        if not self._asked or time.monotonic() - self._asked > 1:
            if self._client.status != "running":
                raise _Lost
            try:
                self._threads = sum(self._client.nthreads().values())
            except _GONE:
                raise _Lost from None
            self._asked = time.monotonic()
        return len(self.flying) < max(8, 3 * self._threads)

    @property
    def idle(self) -> bool:
        """Whether there is no worker."""
        return self._threads == 0

    def submit(self, job: _Job) -> None:
        """Sends a job."""
        try:
            future = self._client.submit(eval, _EXPRESSION, self._call("perform", self._task(job)),
                                         pure=False)
            self.flying[future.key] = future, job
            future.add_done_callback(lambda f: self._ended.put(f.key))
        except _GONE:
            raise _Lost from None

    def ended(self) -> tuple[_Job, dict[str, Any] | BaseException] | None:
        """A job that has ended, with its answer or with what Dask says; None if there is none
        within a second.  _Lost if jobs were forgotten."""
        try:
            key = self._ended.get(timeout=1)
        except queue.Empty:
            if self._client.status != "running":
                raise _Lost from None
            return None
        future, job = self.flying[key]
        found: dict[str, Any] | BaseException
        try:
            found = json.loads(future.result(timeout=PATIENCE_S))
        except (Exception, asyncio.CancelledError) as e:
            if future.status != "error" and isinstance(e, _GONE):
                raise _Lost from None
            found = e  # of the task, which can be anything, also of a kind that is in _GONE
        del self.flying[key]
        return job, found

    def close(self, stop: bool) -> None:
        """Ends the connection; with `stop` also what is still running on workers."""
        try:
            if stop and self.flying and self._client.status == "running":
                self._client.cancel([future for future, _ in self.flying.values()])
                self._client.run(eval, _EXPRESSION, self._call("stop", self._session),
                                 on_error="ignore")
        except _GONE:
            pass  # then the workers end, too, and with them what they run
        finally:
            self.flying.clear()
            try:
                self._client.close(timeout=_ANSWER_S)
            except _GONE:
                pass

    def _call(self, function: str, text: str) -> dict[str, str]:
        return {"boot": _BOOT, "name": self._name, "source": self._source, "function": function,
                "text": text}

    def _task(self, job: _Job) -> str:
        files = [file for file in job.run.inputs() if file.word]
        check_unchanged(files)
        return json.dumps({
            "session": self._session, "program": job.run.program,
            "paths": [os.path.abspath(self._tool.path)],
            "arguments": [*job.run.arguments(), "--json"], "folder": os.getcwd(),
            "files": {file.word: [file.path, file.sha256] for file in files},
            "contents": {f.sha256: _content(f.path) for f in files if f.sha256 in job.send}})


def _content(path: str) -> str:
    if os.path.getsize(path) > _MOST_BYTES:
        raise LabError(f"{path}: has {os.path.getsize(path)} bytes, and a worker does not have the "
                       f"file; allowed: up to {_MOST_BYTES} bytes; put it into a folder that all "
                       "machines share")
    with open(path, "rb") as file:
        return base64.b64encode(file.read()).decode()


class DaskEngine:
    """The workers of a Dask scheduler, such as "tcp://10.0.0.1:8786".

    LabError if Dask is missing, if no scheduler answers at the address, or if a worker has another
    build of the program.
    """

    def __init__(self, tool: Tool, address: str) -> None:
        if not _ADDRESS.fullmatch(address):
            raise LabError(f"--scheduler {address}: allowed: tcp://HOST:PORT or tls://HOST:PORT, "
                           "as the scheduler prints it")
        self._tool = tool
        self._address = address
        self._distributed = _distributed()
        self._busy = time.monotonic()  # when there was a worker
        self._told = False

    def perform(self, runs: Iterable[Run]) -> Outcomes:
        """As Engine says."""
        fresh: Iterator[_Job] = (_Job(run) for run in runs)
        again: list[_Job] = []
        link: _Link | None = None
        before = False
        try:
            while True:
                try:
                    link = link or self._connect(before)
                    before = True
                    more = self._fill(link, fresh, again)
                    if not more and not link.flying:
                        return
                    self._tell(link)
                    found = link.ended()
                except _Lost:
                    if link:
                        again += [job for _, job in link.flying.values()]
                        link.close(stop=False)
                    link = None
                    continue
                if found:
                    ended = self._judge(*found)
                    if ended:
                        yield found[0].run, ended
                    else:
                        again.append(found[0])
        finally:
            if link:
                link.close(stop=True)

    def _connect(self, before: bool) -> _Link:
        """A link; `before` says that there was one, so that the scheduler may come back."""
        end = time.monotonic() + (PATIENCE_S if before else 0)
        while True:
            try:
                return _Link(self._distributed, self._tool, self._address)
            except _GONE as e:
                if time.monotonic() < end:
                    time.sleep(0.5)
                    continue
                if before:
                    raise LabError(
                        f"the scheduler {self._address} is gone; what has ended is stored, and "
                        "the same command continues") from None
                raise LabError(f"--scheduler {self._address}: no scheduler answers there: "
                               f"{str(e).splitlines()[0] if str(e) else type(e).__name__}"
                               ) from None

    def _fill(self, link: _Link, fresh: Iterator[_Job], again: list[_Job]) -> bool:
        """Sends jobs while there is room; whether there are jobs left to send."""
        while link.room():
            job: _Job | None
            if again:
                job = again.pop()
            else:
                job = next(fresh, None)
            if job is None:
                return False
            try:
                link.submit(job)
            except _Lost:
                again.append(job)
                raise
        return True

    def _tell(self, link: _Link) -> None:
        """Says why nothing has happened for some seconds, once."""
        now = time.monotonic()
        self._busy = self._busy if link.idle else now
        if now - self._busy > _ANSWER_S and not self._told:
            self._told = True
            print(f"flashemu-lab: the scheduler {self._address} has no worker; waiting for one",
                  file=sys.stderr)

    def _judge(self, job: _Job, answer: dict[str, Any] | BaseException) -> Outcome | None:
        """The outcome of a job that has ended; None if it must be sent again."""
        if isinstance(answer, BaseException):
            job.deaths += 1
            if type(answer).__name__ == "KilledWorker" and job.deaths < _MOST_DEATHS:
                return None
            return Outcome("lost", message="the run ended on a worker by "
                           f"{type(answer).__name__}: {answer}".split("\n")[0])
        if "refused" in answer:
            raise LabError(answer["refused"])
        if "need" in answer or "stopped" in answer:
            job.send = answer.get("need", job.send)
            job.returns += 1
            if job.returns <= _MOST_RETURNS:
                return None
            return Outcome("lost", message="workers have given the run back "
                           f"{job.returns} times")
        if "lost" in answer:
            return Outcome("lost", message=answer["lost"])
        return outcome(answer["code"], answer["output"].encode(), answer["errors"].encode())
