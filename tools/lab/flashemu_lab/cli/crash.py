# SPDX-License-Identifier: BSD-3-Clause
"""The command `crash`: five cuts under filesystems, or all cuts of what is recorded once: --run,
--check, --fs and --state."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
import shutil
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from ..core.errors import LabError
from ..core.files import can_write, make_folder, write_whole
from ..core.progress import Note, Progress
from ..core.text import meant
from ..core.units import in_bytes, quantity
from ..crash import broken, checks, choices, mounted, plain, power_cuts, results, states, work
from ..runs.expression import parse_profile
from ..runs.program import Outcome, Tool
from ..runs.store import default_folder
from . import engines, outputs
from .run import say_stopped

# What names a work of which every cut is judged; what goes with that alone; and what goes with some
# cuts alone.  --fs goes with both, and with nothing else it names a work.
_NAMES = ("run", "trace", "work", "state")
_EVERY = ("check", "behind", "mount", "file", "kernel", "junit", "bisect", "judge", "subsets",
          "strict")
_SOME = ("filesystem", "workload", "within", "cut", "again")
# Options of a work on a filesystem.
_MOUNTED = ("mount", "file", "kernel")


def _is_every_cut(arguments: argparse.Namespace) -> bool:
    """Whether every cut of one work is meant, and not some cuts, each in a work of its own.
    LabError if both are."""
    named, extra, some = ([name for name in names if getattr(arguments, name)]
                          for names in (_NAMES, _EVERY, _SOME))
    if arguments.fs and arguments.filesystem:
        raise LabError("--filesystem is the older name of --fs: give one of them")
    if named and some:
        raise LabError(f"--{some[0]} is for some cuts under a filesystem, and not for --run, "
                       "--trace, --work and --state")
    is_every = bool(named or arguments.fs and not some)
    if extra and not is_every:
        raise LabError(f"--{extra[0]} needs --fs NAME" if extra[0] in _MOUNTED else
                       f"--{extra[0]} needs --run CMD, --trace FILE, --work NAME, --fs NAME, or "
                       "--state ID")
    return is_every


def _take_size(arguments: argparse.Namespace) -> None:
    """The word size=SIZE is another way to say --size SIZE.  LabError if there are two."""
    words = [word for word in arguments.operands if word.startswith("size=")]
    if len(words) + bool(arguments.size) > 1:
        raise LabError(f"{words[-1]}: given twice, allowed once")
    for word in words:
        arguments.size = word.removeprefix("size=")
        arguments.operands.remove(word)


def _every_cut(arguments: argparse.Namespace) -> int:
    """Records, cuts and judges; the exit code."""
    if arguments.strict and not arguments.subsets:
        raise LabError("--strict needs --subsets N")
    if arguments.bisect and (arguments.run or arguments.trace) and \
            not (arguments.check or arguments.fs or arguments.work):
        raise LabError("--bisect needs a judge: --check CMD")
    if arguments.junit:
        outputs.check_junit(arguments.junit, arguments.force)
        can_write(arguments.junit)
    try:
        return _again(arguments) if arguments.state else _record(arguments)
    except OSError as e:  # such as a full disk, which says nothing about what was judged
        raise LabError(f"{e.filename or tempfile.gettempdir()}: {e.strerror}") from None


def _kept_in(arguments: argparse.Namespace) -> Path:
    return Path(arguments.store or default_folder()) / "crash"


def _works(arguments: argparse.Namespace, tool: Tool) -> dict[str, work.Work]:
    """What the command line asks for, by name: each device, and on it each filesystem."""
    settings = tuple(word for word in arguments.operands if "=" in word)
    settings += (f"size={arguments.size}",) if arguments.size else ()
    profiles = [str(Path(word).absolute()) if "/" in word or word.endswith(".ini") else word
                for word in arguments.operands if "=" not in word]
    if not profiles:
        raise LabError("a recording needs one device at least: a profile such as transcend8g")
    if len(set(profiles)) < len(profiles):
        raise LabError("a device is named twice")
    systems = [""]
    if arguments.fs:
        systems = choices.choose("--fs", arguments.fs, tuple(choices.RECORDED))
    mounts = choices.mounts_of(arguments.mount, systems)
    made = {}
    for profile in profiles:
        for fs in systems:
            words = [fs] * bool(fs) + [Path(profile).stem] * (len(profiles) > 1 or not fs)
            name = "-on-".join(words)
            if name in made:
                raise LabError(f"{profile}: another device has this name, too")
            made[name] = _work(arguments, tool, profile, settings, fs, mounts.get(fs, ""))
    return made


def _work(arguments: argparse.Namespace, tool: Tool, profile: str, settings: tuple[str, ...],
          fs: str, mount: str) -> work.Work:
    if not fs:
        for name in _MOUNTED:
            if getattr(arguments, name):
                raise LabError(f"--{name} needs --fs NAME")
        run, check = _commands(arguments, "log", plain.named(), plain.commands_of)
        return work.Work(profile, settings, arguments.seed, run, check, trace=_trace(arguments))
    keys = {word.split("=")[0] for word in settings}
    if not keys & {"size", "device.capacity"}:
        size = choices.RECORDED[fs]
        there = quantity(parse_profile(tool.canonical(profile, settings))["device.capacity"])
        if not there or there > (in_bytes(size) or 0):  # 0: it follows from the chip
            settings += (f"size={size}",)
    files = tuple(str(Path(name).absolute()) for name in arguments.file)
    run, check = _commands(arguments, "files", mounted.named_works(), mounted.commands_of)
    return work.Work(profile, settings, arguments.seed, run, check, fs, mount, files,
                     _trace(arguments))


def _trace(arguments: argparse.Namespace) -> str:
    return str(Path(arguments.trace).absolute()) if arguments.trace else ""


def _commands(arguments: argparse.Namespace, usual: str, known: dict[str, str],
              commands_of: Callable[[str], tuple[str, str]]) -> tuple[str, str]:
    """What runs the work and what checks it; `known` has those that come with the program."""
    if arguments.kernel and arguments.trace:
        raise LabError("--kernel is for what is recorded here, and not for --trace")
    if arguments.run and (arguments.work or arguments.trace):
        raise LabError(f"--run and --{'work' if arguments.work else 'trace'} are two works")
    if arguments.run or arguments.trace and not arguments.work:
        return arguments.run, arguments.check
    name = arguments.work or usual
    if name not in known:
        raise LabError(f"--work {name}: allowed: {', '.join(known)}{meant(name, known)}")
    run, check = commands_of(name)
    return "" if arguments.trace else run, arguments.check or check


@dataclass(frozen=True)
class _Told:
    """What has come of one work, and its exit code."""

    judged: broken.Judged
    code: int


def _record(arguments: argparse.Namespace) -> int:
    """All works; several have folders of their own in the one that the user names."""
    tool = Tool()
    works = _works(arguments, tool)
    told: dict[str, _Told] = {}
    for name, made in works.items():
        folder = arguments.output and arguments.output / name if len(works) > 1 else \
            arguments.output
        try:
            told[name] = _record_one(arguments, tool, made, folder)
        except LabError as e:
            raise LabError(f"{name}: {e}" if len(works) > 1 else str(e)) from None
        if not arguments.json:
            sys.stdout.write(f"{name}\n" * (len(works) > 1) + broken.to_text(told[name].judged))
            print(f"{told[name].judged.recording.folder / 'index.html'}", flush=True)
    all_judged = {name: one.judged for name, one in told.items()}
    if arguments.json:
        sys.stdout.write(broken.to_json(*all_judged.values()))
    if arguments.junit:
        write_whole(arguments.junit, broken.to_junit(all_judged))
    if arguments.output and len(works) > 1:
        write_whole(arguments.output / "index.html", broken.to_overview(all_judged))
    unjudged = [name for name, one in told.items() if one.code == 2]
    if unjudged and not any(one.code == 1 for one in told.values()):
        why = "the check could judge no state" if told[unjudged[0]].judged.verdicts else \
            "no state is left to judge"
        raise LabError(f"{unjudged[0]}: {why}" if len(works) > 1 else why)
    return max(one.code % 2 for one in told.values())


def _record_one(arguments: argparse.Namespace, tool: Tool, made: work.Work,
                output: Path | None) -> _Told:
    """In this folder, or in one that has the name of the recording."""
    kept = _kept_in(arguments)
    make_folder(output or kept)
    folder = output or Path(tempfile.mkdtemp(prefix="new-", dir=kept))
    try:
        recording = _recorded(arguments, tool, made, folder)
        requests, marks = work.read_trace(recording.trace)
        if not any(r.op in ("write", "trim") for r in requests):
            raise LabError(f"{made.name}: has written nothing, so nothing can be judged")
        behind = _behind(arguments, made, marks)
        with tempfile.TemporaryDirectory(prefix="flashemu-crash.") as name:
            found = _enumerated(arguments, tool, recording, Path(name), behind)
            if not output:
                place = kept / found.numbers["recording"]
                shutil.rmtree(place, ignore_errors=True)
                recording = work.Recording(folder.rename(place), made, recording.kernel)
            return _tell(arguments, tool, _judge(arguments, tool, recording, found))
    finally:
        if not output:
            shutil.rmtree(folder, ignore_errors=True)


def _enumerated(arguments: argparse.Namespace, tool: Tool, recording: work.Recording, folder: Path,
                behind: int) -> states.Enumerated:
    note = Note()
    try:
        return states.enumerate_states(recording, tool, folder, str(arguments.cuts or "all"),
                                       arguments.second, behind, arguments.subsets,
                                       arguments.judge, lambda text: note.show("crash", text))
    finally:
        note.end()


def _behind(arguments: argparse.Namespace, made: work.Work, marks: list[work.Mark]) -> int:
    """How many marks stand in front of the first cut."""
    text = arguments.behind or (mounted.MOUNTED if made.fs else "")
    if not text:
        return 0
    for number, mark in enumerate(marks, 1):
        if mark.text == text:
            return number
    if arguments.behind:
        raise LabError(f"--behind {text}: there is no such mark"
                       f"{meant(text, [m.text for m in marks])}")
    raise LabError(f"{made.name}: needs --behind MARK, a mark behind which the device has a "
                   "filesystem")


def _recorded(arguments: argparse.Namespace, tool: Tool, made: work.Work,
              folder: Path) -> work.Recording:
    if made.trace:
        return work.record_trace(made, folder, tool)
    if made.fs:
        return mounted.record_mounted(made, folder, tool, 10 * arguments.timeout, arguments.kernel)
    return work.record_work(made, folder, tool, 10 * arguments.timeout)


def _judge_of(arguments: argparse.Namespace, tool: Tool, made: work.Work, folder: Path,
              marks: list[work.Mark], capacity: int, number: int = 0) -> checks.Judge:
    folder.mkdir()
    if made.fs:
        return mounted.Mounted(folder, made, marks, capacity, arguments.timeout, number)
    return checks.Check(made.check, tool, arguments.timeout, bool(arguments.state))


def _judge(arguments: argparse.Namespace, tool: Tool, recording: work.Recording,
           found: states.Enumerated) -> broken.Judged:
    """The verdicts about all states; none if nobody can judge them."""
    made, capacity = recording.work, found.numbers["capacity"]
    judged = broken.Judged(tool.program, recording, found, [], None)
    if not made.check and not made.fs:
        return judged
    _, marks = work.read_trace(recording.trace)
    with mounted.scratch(capacity, 2 * arguments.jobs) as scratch:
        def make(number: int) -> checks.Checker:
            folder = scratch / str(number)
            judge = _judge_of(arguments, tool, made, folder, marks, capacity, number)
            return checks.Checker(folder, judge, recording, found)
        uncut = _judge_whole(arguments, tool, make(-1), recording, found, scratch / "honest")
        note = Note()
        try:
            verdicts = checks.judge_all(
                make, found, arguments.jobs,
                lambda done, bad: note.show("crash", f"{done} of {len(found.states)} states, "
                                            f"{bad} broken"))
        finally:
            note.end()
    return dataclasses.replace(judged, uncut=uncut,
                               verdicts=[v for v in verdicts if not v.state.any_device],
                               any_device=[v for v in verdicts if v.state.any_device])


def _judge_whole(arguments: argparse.Namespace, tool: Tool, whole: checks.Checker,
                 recording: work.Recording, found: states.Enumerated, folder: Path) -> str:
    """What is broken without a power cut, because the device lies; "" if nothing is.  LabError if
    the check is wrong itself: if it finds something where the same device has not lied."""
    try:
        whole.judge_whole()
        return ""
    except checks.BrokenUncut as e:
        made, reason = recording.work.honest(tool), e
        if not made:
            raise
    finally:
        whole.close()
    with tempfile.TemporaryDirectory(prefix="flashemu-crash.") as name:
        honest = _recorded(arguments, tool, made, Path(name))
        _, marks = work.read_trace(honest.trace)
        judge = _judge_of(arguments, tool, made, folder, marks, found.numbers["capacity"])
        checker = checks.Checker(folder, judge, honest, found)
        try:
            checker.judge_whole()
        finally:
            checker.close()
    return reason.why


def _tell(arguments: argparse.Namespace, tool: Tool, judged: broken.Judged) -> _Told:
    """Writes what has come out into the folder; the code is 2 if nothing could be judged."""
    recording = judged.recording
    if judged.broken:
        judged = dataclasses.replace(judged, image=recording.folder / "broken.img",
                                     missing=broken.missing_of(judged))
        recording.make_image(judged.broken[0].state.id, recording.folder / "broken.img", tool)
    write_whole(recording.folder / "results.json", broken.to_json(judged))
    write_whole(recording.folder / "index.html", broken.to_page(judged))
    strictly = arguments.strict and any(v.word == "broken" for v in judged.any_device)
    if judged.uncut or judged.broken or judged.found.numbers["failed"] or strictly:
        return _Told(judged, 1)
    is_judged = bool(recording.work.check or recording.work.fs)
    return _Told(judged, 2 if is_judged and not judged.of("kept") else 0)


def _again(arguments: argparse.Namespace) -> int:
    """Judges one state of a recording that was kept, with its check or another one."""
    if arguments.operands or arguments.run or arguments.trace or arguments.fs or \
            arguments.work or arguments.kernel:
        raise LabError("--state names a recording already: no device, no --run, no --trace, no "
                       "--work, no --kernel and no --fs")
    hash_, tool = arguments.state.split(":")[0], Tool()
    recording = work.Recording.load(arguments.output or _kept_in(arguments) / hash_)
    made = dataclasses.replace(recording.work, check=arguments.check or recording.work.check)
    with tempfile.TemporaryDirectory(prefix="flashemu-crash.") as name:
        image = Path(name) / "image"
        state = recording.make_image(arguments.state, image, tool)
        _, marks = work.read_trace(recording.trace)
        if not made.check and not made.fs:
            raise LabError("there is no check; --check CMD judges the state")
        unreadable = tuple((a, n) for a, n in state["unreadable"])
        judge = _judge_of(arguments, tool, made, Path(name) / "judge", marks, image.stat().st_size)
        try:
            told = judge.run(Path(name), image, marks[:state["marks"]], unreadable)
        finally:
            judge.close()
    if arguments.check and told.kind == "check":
        checks.check_program(f"--check {shlex.quote(made.check)}", told)
    word = checks.word_of(told.code)
    if arguments.json:
        print(json.dumps({**state, "verdict": word, "code": told.code, "notes": told.notes}))
    else:
        why = "" if word == "kept" else f", {told.reason()}"
        print(f"{arguments.state}: {word}{why}")
    if word == "unknown":
        raise LabError(f"{arguments.state}: the check could not judge it")
    return int(word == "broken")


def crash(arguments: argparse.Namespace) -> int:
    """Every cut of one work, or some cuts; the exit code."""
    _take_size(arguments)
    return (_every_cut if _is_every_cut(arguments) else _some_cuts)(arguments)


def _some_cuts(arguments: argparse.Namespace) -> int:
    """Does the cuts that are missing, and prints and writes the result."""
    tool, store = Tool(), engines.store_of(arguments)
    cuts = {cut.key(): cut for cut in power_cuts.plan(
        tool, arguments.operands, arguments.fs or arguments.filesystem or choices.USUAL,
        arguments.workload or "files", arguments.cuts or 5, arguments.seed,
        arguments.within or 300, arguments.size or "512M", arguments.cut)}
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
