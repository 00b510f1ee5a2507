# SPDX-License-Identifier: BSD-3-Clause
"""The command `crash`: under filesystems, or for programs of one's own with --run, --check and
--state."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from ..core.errors import LabError
from ..core.files import can_write, make_folder, write_whole
from ..core.progress import Note, Progress
from ..crash import broken, checks, power_cuts, results, states, work
from ..runs.program import Outcome, Tool
from ..runs.store import default_folder
from . import engines
from .run import say_stopped

# Options of the other way to crash, with their defaults.
_OTHERS = {"filesystem": "ext4,f2fs,vfat,exfat", "workload": "files", "within": 300,
           "size": "512M", "cut": [], "again": False}


def _is_own(arguments: argparse.Namespace) -> bool:
    """Whether the command line means this way.  LabError if it means both."""
    if arguments.run or arguments.state:
        for name, default in _OTHERS.items():
            if getattr(arguments, name) != default:
                raise LabError(f"--{name} is for cuts under a filesystem in a virtual machine, and "
                               "not for --run and --state")
        return True
    for name in ("check", "junit", "bisect"):
        if getattr(arguments, name):
            raise LabError(f"--{name} needs --run CMD, or --state ID")
    return False


def _crash_own(arguments: argparse.Namespace) -> int:
    """Records, cuts and judges; the exit code."""
    if arguments.jobs < 1 or arguments.second < 0 or arguments.timeout <= 0:
        raise LabError("allowed: --jobs from 1, --second from 0, --timeout of more than 0")
    if arguments.junit:
        can_write(arguments.junit)
    return _again(arguments) if arguments.state else _record(arguments)


def _kept_in(arguments: argparse.Namespace) -> Path:
    return Path(arguments.store or default_folder()) / "crash"


def _work(arguments: argparse.Namespace) -> work.Work:
    settings = tuple(word for word in arguments.operands if "=" in word)
    profiles = [word for word in arguments.operands if "=" not in word]
    if len(profiles) != 1:
        raise LabError("--run needs one device: a profile such as transcend8g")
    profile = profiles[0]
    if "/" in profile or profile.endswith(".ini"):
        profile = str(Path(profile).absolute())
    return work.Work(profile, settings, arguments.seed, arguments.run, arguments.check)


def _record(arguments: argparse.Namespace) -> int:
    """In the folder that the user names, or in one that has the name of the recording."""
    tool, made = Tool(), _work(arguments)
    kept = _kept_in(arguments)
    make_folder(arguments.output or kept)
    folder = arguments.output or Path(tempfile.mkdtemp(prefix="new-", dir=kept))
    try:
        recording = work.record_work(made, folder, tool, 10 * arguments.timeout)
        if not any(r.op in ("write", "trim") for r in work.read_trace(recording.trace)[0]):
            raise LabError(f"--run {shlex.quote(made.run)}: has written nothing, so nothing can be "
                           "judged")
        with tempfile.TemporaryDirectory(prefix="flashemu-crash.") as name:
            found = states.enumerate_states(recording, tool, Path(name),
                                            str(arguments.cuts or "all"), arguments.second)
            if not arguments.output:
                place = kept / found.numbers["recording"]
                shutil.rmtree(place, ignore_errors=True)
                recording = work.Recording(folder.rename(place), made)
            return _judge(arguments, tool, recording, found, Path(name))
    finally:
        if not arguments.output:
            shutil.rmtree(folder, ignore_errors=True)


def _judge(arguments: argparse.Namespace, tool: Tool, recording: work.Recording,
           found: states.Enumerated, scratch: Path) -> int:
    """Judges all states, and prints and writes what has come out."""
    check = checks.Check(recording.work.check, tool, arguments.timeout)
    verdicts: list[checks.Verdict] = []
    if recording.work.check:
        def make(number: int) -> checks.Checker:
            return checks.Checker(scratch / str(number), check, recording, found)
        whole = make(-1)
        try:
            whole.judge_whole()
        finally:
            whole.close()
        note = Note()
        try:
            verdicts = checks.judge_all(
                make, found, arguments.jobs,
                lambda done, bad: note.show("crash", f"{done} of {len(found.states)} states, "
                                            f"{bad} broken"))
        finally:
            note.end()
    judged = broken.Judged(tool.program, recording, found, verdicts, None)
    if judged.broken:
        judged = broken.Judged(tool.program, recording, found, verdicts,
                               recording.folder / "broken.img")
        recording.make_image(judged.broken[0].state.id, recording.folder / "broken.img", tool)
    _write(arguments, judged)
    sys.stdout.write(broken.to_json(judged) if arguments.json else broken.to_text(judged))
    if not arguments.json:
        print(f"{recording.folder / 'index.html'}")
    if judged.broken or found.numbers["failed"]:
        return 1
    if verdicts and not judged.of("kept"):
        raise LabError("the check could not tell of any state")
    return 0


def _write(arguments: argparse.Namespace, judged: broken.Judged) -> None:
    folder = judged.recording.folder
    write_whole(folder / "results.json", broken.to_json(judged))
    write_whole(folder / "index.html", broken.to_page(judged))
    if arguments.junit:
        write_whole(arguments.junit, broken.to_junit(judged))


def _again(arguments: argparse.Namespace) -> int:
    """Judges one state of a recording that was kept, with its check or another one."""
    if arguments.operands or arguments.run:
        raise LabError("--state names a recording already: no device and no --run")
    hash_, tool = arguments.state.split(":")[0], Tool()
    recording = work.Recording.load(arguments.output or _kept_in(arguments) / hash_)
    command = arguments.check or recording.work.check
    with tempfile.TemporaryDirectory(prefix="flashemu-crash.") as name:
        image = Path(name) / "image"
        state = recording.make_image(arguments.state, image, tool)
        _, marks = work.read_trace(recording.trace)
        if not command:
            raise LabError("there is no check; --check CMD judges the state")
        unreadable = tuple((a, n) for a, n in state["unreadable"])
        code = checks.Check(command, tool, arguments.timeout).run(
            Path(name), image, marks[:state["marks"]], unreadable)
    word = checks.word_of(code)
    if arguments.json:
        print(json.dumps({**state, "verdict": word, "code": code}))
    else:
        why = "" if word == "kept" else f", {checks.reason_of(code)}"
        print(f"{arguments.state}: {word}{why}")
    if word == "unknown":
        raise LabError(f"{arguments.state}: the check could not tell")
    return int(word == "broken")


def crash(arguments: argparse.Namespace) -> int:
    """Does the cuts that are missing, and prints and writes the result."""
    if _is_own(arguments):
        return _crash_own(arguments)
    tool, store = Tool(), engines.store_of(arguments)
    cuts = {cut.key(): cut for cut in power_cuts.plan(
        tool, arguments.operands, arguments.filesystem, arguments.workload, arguments.cuts or 5,
        arguments.seed, arguments.within, arguments.size, arguments.cut)}
    outcomes: dict[str, Outcome] = {}
    for key, cut in cuts.items():
        if arguments.again:
            store.forget(cut)
        found = store.get(cut)
        if found:
            outcomes[key] = found
    stored = len(outcomes)
    progress = Progress(len(cuts))
    try:
        missing = [cut for key, cut in cuts.items() if key not in outcomes]
        with closing(power_cuts.perform(missing, tool)) as ended:
            for cut, outcome in ended:
                if outcome.status != "lost":
                    store.put(cut, outcome)
                outcomes[cut.key()] = outcome
                progress.show(len(outcomes), stored)
    except KeyboardInterrupt:
        say_stopped(progress, f"{len(outcomes)} of {len(cuts)} cuts done")
        return 130
    finally:
        progress.end()
    result = results.Crashed(tool.program, [
        results.Done.of(cut, outcomes[key]) for key, cut in cuts.items()])
    if arguments.output:
        make_folder(arguments.output)
        write_whole(arguments.output / "results.json", results.to_json(result))
        write_whole(arguments.output / "index.html", results.to_page(result))
    sys.stdout.write(results.to_json(result) if arguments.json else results.to_text(result))
    if arguments.output and not arguments.json:
        print(f"\n{arguments.output / 'index.html'}")
    return 1 if result.failures else 0
