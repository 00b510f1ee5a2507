#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""probe_truth.py [--devices N] [--only N,N] [--seed N] [--keep FOLDER] [--nbd] [--cards]: devices
told by `probe`.

Each device is drawn by the seed: all strategies that sticks use (segment, block, bast, fast,
page); units of 128 KiB to 24 MiB, also 1.5, 3, 5, 6, 7, 12 MiB; pages of 2 to 32 KiB; 0 to 64 open
units; a log for small writes; a write
cache; several dies with a queue; an SLC cache.  It is measured by the tests of `probe` in virtual
time, without a look inside, and what follows from the points is compared with what was drawn.
Prints a line of JSON for each device, and how often each finding was right, did not show or was
wrong; and of the devices with a miss, how many have something that explains it (`hides`).

With --keep, the points of each device are a file of the folder.  A device that has one is not
measured, but judged again from these points: so a run that was ended goes on, and a rule that draws
another conclusion from the same points is tried in a second.  A rule that asks for other tests needs
another folder.

With --cards, the same devices hold the map of a region only, as many cards do, and those without a
cache gather a page and write it while the next data arrive.

With --nbd, each device is the disk of an nbdkit server with the plugin $FLASHEMU_PLUGIN, and
`probe` measures it through libnbd, with times of the device's virtual clock.  Requests are answered
one by one then, so nothing is asked about several in flight.
"""

import argparse
import json
import os
import random
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import dropwhile, islice
from pathlib import Path

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../tools/lab"), os.path.join(HERE, "../lib/py")]

from flashemu_lab.fit import compare  # noqa: E402
from flashemu_lab.probe import conversation, findings, session  # noqa: E402
from flashemu_lab.probe.budget import Budget  # noqa: E402
from flashemu_lab.probe.tests import behaviour  # noqa: E402
from flashemu_lab.probe.datasheet import to_json  # noqa: E402
from flashemu_lab.probe.findings import Found, Wishes  # noqa: E402
from flashemu_lab.measurement.schema import Measurement, Point, load, make_point, save  # noqa: E402
from flashemu_lab.probe.target import DeviceClock, NbdTarget  # noqa: E402
from flashemu_lab.runs.program import Tool  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
STRATEGIES = ("segment", "segment", "page", "block", "bast", "fast")
UNITS = (512 * KIB, MIB, 3 * MIB // 2, 2 * MIB, 3 * MIB, 4 * MIB, 5 * MIB, 6 * MIB, 7 * MIB,
         8 * MIB, 12 * MIB, 16 * MIB, 24 * MIB)
SMALL_UNITS = (128 * KIB, 192 * KIB, 256 * KIB, 512 * KIB, 768 * KIB, MIB)
# How many tests are run beyond those that are asked for, so that a device is not run for each.
AHEAD = 14
BURST = 32 * KIB    # bytes of a write of the test that fills a cache


# --- devices ---

def between(d, low, high):
    return low * (high / low) ** d.random()


def times(d, page):
    """Keys that every device has."""
    return {"link.command_overhead": "%dns" % between(d, 5e4, 4e5),
            "link.bandwidth": "%dKB/s" % between(d, 2e4, 8e4), "link.type": "sd-hs",
            "link.max_transfer": str(d.choice([64, 120, 512]) * KIB), "link.queue_depth": "1",
            "nand.cell": "mlc", "nand.page_size": str(page),
            "nand.tPROG": "%dns" % (page / KIB * between(d, 6e4, 2.5e5)),
            "nand.bus_rate": "%dKB/s" % between(d, 4e4, 2e5),
            "nand.tR": "%dns" % between(d, 2.5e4, 3e5), "nand.tBERS": "%dns" % between(d, 1e6, 6e6)}


def few_or_many(d, least):
    """How many units are open: mostly few, and up to 64."""
    return d.choice([d.randint(least, 8), d.randint(least, 8), d.randint(9, 64)])


def by_units(d, strategy, page, capacity):
    """A stick: keys, and what has to be found."""
    unit = d.choice(UNITS if strategy == "segment" else SMALL_UNITS)
    while unit < 4 * page:
        unit *= 2
    keys = {"ftl.unit_size": str(unit)}
    truth = {"unit": unit}
    spare = 8
    if strategy == "segment":
        linear, in_random = few_or_many(d, 1), few_or_many(d, 0)
        # a device is large in comparison with what it keeps open
        capacity = max(capacity, 8 * max(linear, in_random) * unit, 100 * unit)
        keys |= {"ftl.open_linear": str(linear), "ftl.open_random": str(in_random)}
        truth |= {"open_linear": linear, "open_random": in_random, "small_write": None}
        spare += linear + in_random
        if d.random() < 0.25:
            small = d.choice([4, 8, 16]) * KIB
            # half of them empty the log gradually; a draw for that would change all other numbers
            keys |= {"ftl.small_log": "4", "ftl.small_write": str(small),
                     "ftl.small_pace": "1" if linear % 2 else "at-once"}
            truth["small_write"] = small
            spare += 4
    elif strategy == "block":
        truth |= {"open_linear": 0, "open_random": 0, "small_write": None}
    else:
        logs = d.randint(4, 12)
        keys["ftl.log_blocks"] = str(logs)
        spare += logs
        if strategy == "bast":
            truth |= {"open_linear": logs, "open_random": logs}
    capacity = capacity // unit * unit
    pages = unit // page
    blocks = max(1, pages // 512)
    while pages % blocks:
        blocks += 1
    keys |= {"nand.pages_per_block": str(pages // blocks), "device.capacity": str(capacity),
             "device.used": str(capacity),
             "nand.blocks_per_plane": str((capacity // unit + spare) * blocks)}
    return keys, {**truth, "page": page}


def by_pages(d, page, capacity):
    """A drive: keys, and what has to be found."""
    dies = d.choice([1, 1, 2, 4])
    depth = d.choice([1, 32])
    pages = 128
    blocks = -(-capacity * 115 // 100 // (page * pages * dies)) + 16
    keys = {"nand.channels": str(dies), "nand.pages_per_block": str(pages),
            "nand.blocks_per_plane": str(blocks), "device.capacity": str(capacity),
            "link.queue_depth": str(depth), "device.discard": "yes"}
    truth = {"unit": None}
    if dies == 1 and depth == 1 or dies > 1 and depth > 1:  # else link and flash may overlap
        truth["reads_in_flight"] = depth > 1
    if d.random() < 0.4:
        slc = max(blocks * dies // 20, 1)
        keys |= {"ftl.slc_mode": "static", "ftl.slc_blocks": str(slc),
                 "nand.slc_tPROG": "%dns" % (page / KIB * 2e4)}
        truth["slc"] = True
    else:
        truth["granule"] = page
    return keys, truth


def draw(number, seed):
    """(strategy, keys of the profile, what has to be found)."""
    d = random.Random(f"{seed} {number}")
    strategy = STRATEGIES[number % len(STRATEGIES)]
    page = d.choice([2, 4, 8, 16, 32]) * KIB
    capacity = d.choice([480, 768, 960]) * MIB
    keys, truth = by_pages(d, page, capacity) if strategy == "page" else \
        by_units(d, strategy, page, capacity)
    keys = {**times(d, page), **keys, "ftl.type": strategy}
    overhead = int(keys["link.command_overhead"].removesuffix("ns"))
    rate = int(keys["link.bandwidth"].removesuffix("KB/s")) * 1000
    if strategy == "page":      # what was never written is not read from the flash
        truth |= {"overhead_ns": overhead, "bytes_per_s": rate}
    else:
        truth["overhead_ns"] = overhead + int(keys["nand.tR"].removesuffix("ns"))
    truth["cache"] = None
    if d.random() < 0.3:
        truth["cache"] = d.choice([512, 1024, 2048, 4096]) * KIB
        keys |= {"cache.size": str(truth["cache"]),
                 "cache.volatile": d.choice(["yes", "no"])}
        truth["flush"] = keys["cache.volatile"] == "yes"
        truth["cache_rate"] = BURST / (overhead / 1e9 + BURST / rate)
    return strategy, keys, truth


def draw_card(number, seed):
    """The same device with what cards have."""
    strategy, keys, truth = draw(number, seed)
    d = random.Random(f"card {seed} {number}")
    if strategy in ("page", "segment"):
        map_read = round(d.choice([0, between(d, 5e4, 5e5)]))
        keys |= {"ftl.map_region": str(d.choice([256, 1024, 4096]) * KIB),
                 "ftl.map_switch": "%dns" % between(d, 3e5, 3e6), "ftl.map_read": f"{map_read}ns"}
        truth["overhead_ns"] += map_read    # of reads that are far from each other
    if "cache.size" not in keys:
        page = int(keys["nand.page_size"])
        keys |= {"cache.size": str(page), "cache.write_behind": str(2 * page)}
        del truth["cache"]      # three pages may show as one, or not
    return strategy, keys, truth


# --- measuring ---

class Device:
    """A device in virtual time that is measured as `probe` does."""

    def __init__(self, tool, strategy, keys):
        self.tool, self.strategy = tool, strategy
        self.changes = tuple(f"{k}={v}" for k, v in keys.items())
        self.wishes = Wishes(int(keys["device.capacity"]), False,
                             keys.get("device.discard") == "yes", True)
        self.known = []     # (keys of a test, its points)
        self.found = Found()

    def probe(self):
        """The findings; ValueError if there is no such device."""
        done = []
        for test in findings.tests(self.tool, self.wishes, self.found, lambda: self._judge(done)):
            done.append(test)
        self._judge(done)
        return self.found

    def _judge(self, done):
        if [t.keys for t in done] != [keys for keys, _ in self.known[:len(done)]]:
            plan = findings.tests(self.tool, self.wishes, replace(self.found), lambda: None)
            behind = dropwhile(lambda t: t.name != done[-1].name, plan)
            self.known = self._run([*done, *islice(behind, 1, 1 + AHEAD)])
        self.found.points = [p for _, points in self.known[:len(done)] for p in points]
        findings.judge(self.found)

    def _run(self, tests):
        """The tests on a new device, one after the other."""
        points = tuple(make_point(procedure, [1.0], **how)
                       for t in tests for procedure, how in t.keys)
        m = Measurement(points, "drawn", self.wishes.capacity)
        with compare.Comparer(self.tool, m, 1) as comparer:
            answer = comparer.ask([compare.Question(self.strategy, self.changes)])[0]
        if answer.state != "done":
            raise ValueError(answer.message)
        measured = iter(zip(points, answer.measured))
        known = []
        for t in tests:
            mine = [next(measured) for _ in t.keys]
            known.append((t.keys, [Point(p.procedure, p.parameters, (v,)) for p, v in mine if v]))
        return known


def through_nbd(tool, *words, trace=None):
    """What `probe` finds on a server with these words, why it ended early, and the capacity.  What
    it asks goes to the file `trace`."""
    from flashemu_server import Server  # wants a plugin, which the rest does not
    with Server(*words, "clock=virtual", options=("-t", "1")) as server:
        target = NbdTarget(server.uri, True)
        heard = trace and conversation.begun(trace, tool.version, server.uri, target.capacity)
        run = session.Probe(tool, target, DeviceClock(server.control),
                          Wishes(target.capacity, False, target.can_trim, False),
                          Budget(), lambda found: None, lambda place, what: None, Found(), heard)
        run.run()
        target.close()
        if heard:
            heard.end()
    findings.judge(run.found)
    return run.found, run.failure, target.capacity


def served(tool, strategy, keys):
    """The same through a server."""
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "device.ini"
        profile.write_text(compare.BASE.format(strategy=strategy))
        words = [f"{k}={v}" for k, v in keys.items() if k != "ftl.type"]
        found, failure, _ = through_nbd(tool, f"profile={profile}", *words)
    return found, failure


def near(wanted, got):
    """(wanted, wanted) if the number is within 5 %."""
    return wanted, wanted if wanted and got and abs(got / wanted - 1) < 0.05 else got


def judged(found, truth):
    """Each finding: (what has to be found, what was)."""
    told = to_json(found)
    pairs = {name: (truth[name], told[name]) for name in
             ("unit", "page", "granule", "open_linear", "open_random", "small_write")
             if name in truth}
    if "slc" in truth:      # it shows as a cache, too
        return {**pairs, "slc": (True, bool(told["slc"] or told["cache"]))}
    cache = behaviour.cache_from(found.points)
    if "cache" in truth:
        pairs["cache"] = near(truth["cache"], cache and cache[0])
    if truth.get("cache"):
        pairs["cache_rate"] = near(truth["cache_rate"], cache and cache[1])
    for name in ("overhead_ns", "bytes_per_s"):
        if name in truth:
            pairs[name] = near(truth[name], told[name])
    if "flush" in truth:
        pairs["flush"] = (truth["flush"], (told["flush_ns"] or 0) > 2e5)
    if "reads_in_flight" in truth and told["reads_in_flight"]:
        pairs["reads_in_flight"] = (truth["reads_in_flight"], told["reads_in_flight"]["depth"] > 1)
    return pairs


def hides(keys, failure):
    """What makes a device tell less than others, or None.

    A cache that no flush empties gives its data to the flash in an order of its own, when more data
    push them out, and these open and close units themselves.  Where no unit is open in random
    order, a write copies all that is in front of it in the unit, so its time depends on more than
    on how many units it touches."""
    if failure:     # such as a request that takes longer than Linux waits
        return "it ended early"
    if keys.get("cache.volatile") == "no":
        return "a cache that no flush empties"
    if keys.get("ftl.open_random") == "0":
        return "no unit is open in random order"
    return None


def told(name, drawn, tool, folder, by_nbd):
    """The findings about a device, from its file in the folder if that is there, and why they ended
    early, or ""; ValueError if there is no such device."""
    strategy, keys, _ = drawn
    path = folder and folder / f"{name}{'-nbd' if by_nbd else ''}.json"
    if path and path.exists():
        found = Found(list(load(path).points))
        findings.judge(found)
        return found, ""
    found, failure = served(tool, strategy, keys) if by_nbd else (
        Device(tool, strategy, keys).probe(), "")
    if path and not failure:
        save(Measurement(tuple(found.points), path.stem, int(keys["device.capacity"])), path)
    return found, failure


def device(number, seed, tool, folder=None, by_nbd=False, cards=False):
    """One line."""
    drawn = (draw_card if cards else draw)(number, seed)
    strategy, keys, truth = drawn
    name = f"{seed}-{number}{'-card' if cards else ''}"
    try:
        found, failure = told(name, drawn, tool, folder, by_nbd)
    except ValueError as e:
        return {"device": number, "impossible": str(e)}
    pairs = judged(found, truth)
    off = {name: f"{got} for {want}" for name, (want, got) in pairs.items() if want != got}
    hidden = [name for name, (want, got) in pairs.items()
              if (got is None or got is False) and want != got]
    return {"device": number, "strategy": strategy, "asked": sorted(pairs),
            "hidden": hidden, "wrong": {k: v for k, v in off.items() if k not in hidden},
            "hides": hides(keys, failure) if off else None, "ended": failure or None,
            "points": len(found.points)}


def summed(lines):
    """How often each finding was right, did not show, or was wrong."""
    counts = {word: Counter(name for line in lines for name in line[word])
              for word in ("asked", "hidden", "wrong")}
    return {"devices": len(lines),
            "all_right": sum(not line["wrong"] and not line["hidden"] for line in lines),
            "nothing_wrong": sum(not line["wrong"] for line in lines),
            "missed": Counter(line["hides"] or "nothing explains it" for line in lines
                              if line["wrong"] or line["hidden"]),
            "findings": {name: {"asked": n, "not shown": counts["hidden"][name],
                                "wrong": counts["wrong"][name]}
                         for name, n in sorted(counts["asked"].items())}}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=100)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--only", type=lambda text: [int(n) for n in text.split(",")],
                        metavar="N,N", help="these devices instead")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="of the points")
    parser.add_argument("--nbd", action="store_true", help="through nbdkit and libnbd")
    parser.add_argument("--cards", action="store_true",
                        help="with maps in parts, and writing behind")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--demand", type=float, default=0, metavar="PERCENT",
                        help="exit code 1 if in fewer devices nothing is wrong")
    arguments = parser.parse_args()
    tool = Tool()
    done = []
    numbers = arguments.only or range(arguments.first, arguments.first + arguments.devices)
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(arguments.jobs) as threads:
        for line in threads.map(
                lambda n: device(n, arguments.seed, tool, arguments.keep, arguments.nbd,
                                 arguments.cards), numbers):
            print(json.dumps(line), flush=True)
            if "impossible" not in line:
                done.append(line)
    total = summed(done)
    print(json.dumps(total))
    sys.exit(100 * total["nothing_wrong"] < arguments.demand * len(done))


if __name__ == "__main__":
    main()
