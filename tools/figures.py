#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the figures of docs/figures from measurements that it makes.

    tools/figures.py [-o FOLDER] [--build FOLDER] [--clock real|virtual] [FIGURE...]
    tools/figures.py --accuracy [--build FOLDER]

generic32m.svg   sequential and random reads and writes, time against amount: lines are the
                 published schedule; points are what a served device delivers to a client, by
                 the client's clock
flashfx4m.svg    a file that grows until the disk is full: how often a call waits for a
                 collection and for how long, against how full the disk is; and how long calls
                 take with a collection and without one
align.svg        transcend8g, written in order from some sector on: the rate against that sector
article.svg      the laboratory's experiment `article`: rate by filesystem and start
wear-static.svg, wear-off.svg
                 blocks of a small stick at the end of its life, with and without levelling

FIGURE is one of these names without the .svg; the default is all of them.

The served device needs nbdkit and python3-libnbd.  With --clock real, the default, the server
really waits.  For the client a request takes longer than the device's time, because of the way
through the socket and back.  That way is measured first, as the median of some reads, and
subtracted by transport-overhead, as in tests/bench/served.sh.  What remains is how late the
processors of this machine are.  Each amount is measured three times, and the nearest of the three
times is drawn, because other programs on the machine can only add to a time.  Then each amount is
measured once more with nothing subtracted.  All of this takes about three minutes.  With --clock
virtual the points are the device's own time; that takes a second.

--accuracy draws nothing; it prints how far the client's time for an amount is from the model's.
"""
import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")

# --- the published schedule ---


def step_times(text):
    """[step] of a profile as `flashemu show` prints it, times in ns."""
    units = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
    values, section = {}, ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif section == "step" and "=" in line:
            key, value = (part.strip() for part in line.split("=", 1))
            unit = value.lstrip("0123456789")
            number = value[:len(value) - len(unit)]
            values[key] = int(number) * units[unit] if unit in units else value
    return values


def stairs(first, distances):
    """The lengths of a run at which it is delayed: `first`, then one distance after the other."""
    at = first
    while True:
        yield at
        at += next(distances)


def doubling(first, limit):
    while True:
        first = min(2 * first, limit)
        yield first


def always(distance):
    while True:
        yield distance


def scheduled(step, op, blocks):
    """ns for a number of blocks in order, after something else: published.csv, gen32-model-*.

    A staircase of reads, delayed when a run reaches 32, then 64, 128, 256, 256... blocks; a
    line of writes with a spike after 195 and then every 256, on whose first blocks the random
    delay is paid back.
    """
    if op == "read":
        thresholds = stairs(32, doubling(32, 256))
    else:
        thresholds = stairs(195, always(256))
    spikes = 0
    while next(thresholds) <= blocks:
        spikes += 1
    rest = (blocks - 1) * int(step.get(op + "_step", 0)) + spikes * int(step[op + "_spike"])
    random = int(step[op + "_random"])
    return random + rest if op == "read" else max(random, rest)


# --- the served device ---

BLOCK = 512
REQUEST = 240 * BLOCK  # the most that Linux sends to a USB stick in one request
ROUNDS = 3


class Served:
    """generic32m behind nbdkit; `nbd` is the module."""

    def __init__(self, nbd, plugin, *params):
        self.folder = tempfile.TemporaryDirectory(prefix="fe")
        path = os.path.join(self.folder.name, "nbd")
        self.control = os.path.join(self.folder.name, "ctl")
        ready = os.path.join(self.folder.name, "pid")  # sockets can be there before it listens
        self.server = subprocess.Popen(["nbdkit", "-f", "-P", ready, "-U", path, plugin,
                                        "profile=generic32m", "control=" + self.control, *params])
        self.nbd = nbd.NBD()
        for _ in range(600):
            if os.path.exists(ready):
                break
            if self.server.poll() is not None:
                sys.exit("figures: nbdkit has ended")
            time.sleep(0.1)
        self.nbd.connect_unix(path)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.nbd.shutdown()
        self.server.terminate()
        self.server.wait()
        self.folder.cleanup()

    def ask(self, cmd, *args):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.control)
            s.sendall(json.dumps({"cmd": cmd, "args": args}).encode() + b"\n")
            return json.loads(s.makefile().readline())

    def device_ns(self):
        return self.ask("stats")["busy_ns"]

    def request(self, op, offset, length):
        if op == "read":
            self.nbd.pread(length, offset)
        else:
            self.nbd.pwrite(bytes(length), offset)

    def timed(self, op, requests):
        """(device time, client's time) of the requests, in ns."""
        device, client = self.device_ns(), time.monotonic_ns()
        for offset, length in requests:
            self.request(op, offset, length)
        client = time.monotonic_ns() - client
        return self.device_ns() - device, client


def in_order(blocks):
    """dd from the first block on, as the requests that the kernel makes of it."""
    end = blocks * BLOCK
    return [(at, min(REQUEST, end - at)) for at in range(0, end, REQUEST)]


def scattered(blocks):
    """Single blocks, none of which continues where the previous one ended."""
    return [((7919 * i + 13) % 32749 * 2 * BLOCK, BLOCK) for i in range(blocks)]


def amounts(order):
    return range(24, 1297, 24) if order == "sequential" else range(4, 65, 4)


def requests_of(order, blocks):
    return in_order(blocks) if order == "sequential" else scattered(blocks)


def curve(served, step, op, order, every=1):
    """[(blocks, scheduled, device, client)] in ns, for the last one of every `every` amounts."""
    points = []
    for n in amounts(order)[every - 1::every]:
        served.request(op, 65000 * BLOCK, BLOCK)  # ends the run that dd would go on with
        want = scheduled(step, op, n) if order == "sequential" else n * int(step[op + "_random"])
        points.append((n, want, *served.timed(op, requests_of(order, n))))
    return points


CURVES = [(op, order) for order in ("sequential", "random") for op in ("read", "write")]


class RealTime:
    """Curves by the client's clock.  The rounds take turns, so that each meets different noise."""

    def __init__(self, nbd, plugin, step):
        with Served(nbd, plugin, "clock=real") as served:
            late = []
            for request in scattered(50):
                device, client = served.timed("read", [request])
                late.append(client - device)
            self.path_us = round(statistics.median(late) / 1000)
            self.plain = {key: curve(served, step, *key, every=3) for key in CURVES}
            served.ask("set", "transport-overhead", "%dus" % self.path_us)
            rounds = [{key: curve(served, step, *key, every=3) for key in CURVES}
                      for _ in range(ROUNDS)]
        self.all = {key: [point for curves in rounds for point in curves[key]] for key in CURVES}
        self.nearest = {key: [min(points, key=lambda p: abs(p[3] - p[1]))
                              for points in zip(*(curves[key] for curves in rounds))]
                        for key in CURVES}

    def notes(self):
        """How far the client's time for an amount is from the model's, a line for each curve."""
        lines = []
        for op, order in CURVES:
            mean, most = differences(self.nearest[op, order])
            n_requests = [len(requests_of(order, n)) for n, *_ in self.nearest[op, order]]
            lines.append(
                "%s %ss: off by %.2f ms in the mean, %.2f ms at most, %.2f ms a request "
                "(all rounds: %.2f ms; nothing taken off: %.2f ms)"
                % (order, op, mean, most, mean * len(n_requests) / sum(n_requests),
                   differences(self.all[op, order])[0], differences(self.plain[op, order])[0]))
        return lines + ["lines: the published schedule; points: a served device by the client's "
                        "clock, the nearest of %d rounds, %d us a request taken off for the way"
                        % (ROUNDS, self.path_us)]


def differences(points):
    """Of the client's clock and the model, in ms: (mean, largest)."""
    off = [abs(client - want) / 1e6 for _, want, _, client in points]
    return sum(off) / len(off), max(off)


# --- drawing ---

INK, MODEL, POINT, OTHER = "#222", "#1f77b4", "#d62728", "#2ca02c"


class Panel:
    """Axes with a scale of their own, in a part of the picture."""

    def __init__(self, box, x_range, y_range, title, x_label, y_label):
        self.box, self.x_range, self.y_range = box, x_range, y_range
        left, top, width, height = box
        self.out = ['<rect x="%g" y="%g" width="%g" height="%g" fill="none" stroke="%s"/>'
                    % (*box, INK)]
        self.text(left + width / 2, top - 8, title, "middle", 14)
        self.text(left + width / 2, top + height + 34, x_label, "middle")
        self.out.append('<text transform="translate(%g %g) rotate(-90)" text-anchor="middle">'
                        '%s</text>' % (left - 54, top + height / 2, y_label))
        for value in ticks(*x_range):
            self.tick(self.x(value), top + height, 0, 5)
            self.text(self.x(value), top + height + 18, "%g" % value, "middle")
        for value in ticks(*y_range):
            self.tick(left, self.y(value), -5, 0)
            self.text(left - 8, self.y(value) + 4, "%g" % value, "end")

    def x(self, value):
        low, high = self.x_range
        return self.box[0] + self.box[2] * (value - low) / (high - low)

    def y(self, value):
        low, high = self.y_range
        return self.box[1] + self.box[3] * (1 - (value - low) / (high - low))

    def text(self, x, y, text, anchor="start", size=12):
        self.out.append('<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d">%s</text>'
                        % (x, y, anchor, size, text))

    def tick(self, x, y, dx, dy):
        self.out.append('<path d="M%.1f %.1fl%d %d" stroke="%s"/>' % (x, y, dx, dy, INK))

    def line(self, points, colour=MODEL):
        path = " ".join("%.1f,%.1f" % (self.x(x), self.y(y)) for x, y in points)
        self.out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>'
                        % (path, colour))

    def points(self, points, colour=POINT, radius=2.5):
        for x, y in points:
            self.out.append('<circle cx="%.1f" cy="%.1f" r="%g" fill="none" stroke="%s"/>'
                            % (self.x(x), self.y(y), radius, colour))

    def marks(self, marks, legend, legend_y, colour=OTHER):
        """Dashed lines (from, to, y), and a line of the legend at legend_y."""
        low, high = self.x_range
        text_x = low + 0.4 * (high - low)
        for left, right, y in marks + [(low + 0.3 * (high - low), text_x, legend_y)]:
            self.out.append('<path d="M%.1f %.1fH%.1f" stroke="%s" stroke-dasharray="4 2"/>'
                            % (self.x(left), self.y(y), self.x(right), colour))
        self.text(self.x(text_x) + 6, self.y(legend_y) + 4, legend)

    def bars(self, edges, counts, colour=MODEL):
        for (low, high), count in zip(edges, counts):
            if count > 0:
                top = self.y(count)
                self.out.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>'
                                % (self.x(low), top, max(0.8, self.x(high) - self.x(low) - 0.3),
                                   self.box[1] + self.box[3] - top, colour))


def ticks(low, high):
    """Five to ten round numbers."""
    step = 1
    for scale in [10.0 ** e for e in range(-3, 7)]:
        for digit in (1, 2, 5):
            if (high - low) / (digit * scale) <= 8:
                step = digit * scale
                first = -(-low // step)
                return [round(k * step, 6) for k in range(int(first), int(high / step) + 1)]
    return [low, high]


def write_svg(path, width, height, panels, notes):
    lines = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" '
             'font-family="sans-serif" font-size="12" width="%d" height="%d" fill="%s">'
             % (width, height, width, height, INK),
             '<rect width="100%" height="100%" fill="#fff"/>']
    for panel in panels:
        lines += panel.out
    lines += ['<text x="%d" y="%d">%s</text>' % (20, height - 8 - 18 * i, note)
              for i, note in enumerate(reversed(notes))]
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(lines) + "\n</svg>\n")


def virtual_notes(curves):
    return ["%s %ss: device and schedule differ by %.3f ms at most"
            % (order, op, max(abs(device - want) / 1e6 for _, want, device, _ in points))
            for (op, order), points in curves.items()]


def draw_generic(path, step, curves, real, notes):
    panels = []
    for i, ((op, order), points) in enumerate(curves.items()):
        got = [(n, (client if real else device) / 1e6) for n, _, device, client in points]
        fine = range(1, points[-1][0] + 1)
        top = max(y for _, y in got) * 1.1
        panel = Panel((80 + 450 * (i % 2), 40 + 340 * (i // 2), 350, 250), (0, points[-1][0]),
                      (0, top), "%s %ss" % (order, op), "blocks of 512 bytes", "ms")
        if order == "sequential":
            panel.line([(n, scheduled(step, op, n) / 1e6) for n in fine])
        else:
            panel.line([(n, want / 1e6) for n, want, _, _ in points])
        panel.points(got)
        panels.append(panel)
    write_svg(path, 920, 800, panels, notes)
    print("\n".join(notes))


# published.csv, ffx-gc-period-* and ffx-gc-time-*: % of the disk from and to, value. That "empty"
# is the first tenth and "about 20 % full" 18 to 22 % is assumed, as in the profile's rows.
PUBLISHED_PERIODS = [(0, 10, 200), (18, 22, 25), (22, 100, 40)]
PUBLISHED_MS = [(0, 10, 1300), (20, 100, 1800)]


def draw_flashfx(path, details):
    n, slow = details["calls"], details["collections"]
    full = [100 * at / n for at, _ in slow]
    gaps = [(full[i], slow[i][0] - slow[i - 1][0]) for i in range(1, len(slow))]
    panels = [
        Panel((80, 40, 350, 250), (0, 100), (0, max(max(g for _, g in gaps), 200) * 1.1),
              "calls between collections", "% of the disk", "calls"),
        Panel((530, 40, 350, 250), (0, 100), (0, max(ms for _, ms in slow) * 1.1),
              "calls with a collection", "% of the disk", "ms"),
    ]
    panels[0].points(gaps, POINT, 1.5)
    panels[1].points([(x, ms) for x, (_, ms) in zip(full, slow)], POINT, 1.5)
    panels[0].marks(PUBLISHED_PERIODS, "published: 200, 25, up to 40", 180)
    panels[1].marks(PUBLISHED_MS, "published: 1300, 1800 ms", 750)
    width, counts = details["quiet_bin_ms"], details["quiet"]
    panels.append(Panel((80, 380, 350, 250), (0, width * len(counts)), (0, max(counts) * 1.1),
                        "calls without one", "ms", "calls"))
    panels[2].bars([(i * width, (i + 1) * width) for i in range(len(counts))], counts)
    edges = [(ms, ms + 50) for ms in range(1000, 4000, 50)]
    many = [sum(low <= ms < high for _, ms in slow) for low, high in edges]
    panels.append(Panel((530, 380, 350, 250), (1000, 4000), (0, max(many) * 1.1),
                        "calls with a collection", "ms", "calls"))
    panels[3].bars(edges, many)
    note = "%d calls of 256 bytes, %d with a collection" % (n, len(slow))
    write_svg(path, 920, 700, panels, [note + "; dashed: published; all else is the model's"])
    print(note)


# --- alignment ---

ALIGN_SIZES = ["4K", "16K", "64K", "120K"]
ALIGN_BYTES = 64 << 20
UNITS_BEFORE = 16 << 20  # of the stick, so that the first ones are not special


def rate(build, offset, size):
    """MB/s of the device."""
    result = json.loads(tool_output(
        build, "replay", "transcend8g", "--json", "gen:sequential,op=write,bs=%s,size=%d,offset=%d"
        % (size, ALIGN_BYTES // kib(size) * kib(size), UNITS_BEFORE + offset)))
    return result["host"]["write"]["bytes"] / result["busy_ns"] * 1e3


def kib(size):
    return int(size.rstrip("K")) << 10


def draw_align(path, build):
    curves = [[(at, rate(build, at * BLOCK, size)) for at in range(0, 17)] for size in ALIGN_SIZES]
    top = max(y for points in curves for _, y in points)
    panel = Panel((80, 40, 600, 300), (0, 16), (0, top * 1.1),
                  "transcend8g: sequential writes from sector N on", "N", "MB/s")
    for i, (size, points) in enumerate(zip(ALIGN_SIZES, curves)):
        colour = (POINT, OTHER, MODEL, INK)[i]
        panel.line(points, colour)
        panel.points(points, colour, 2)
        panel.out.append('<path d="M700 %dh20" stroke="%s" stroke-width="2"/>'
                         % (60 + 20 * i, colour))
        panel.text(726, 64 + 20 * i, size[:-1] + " KiB a write")
    write_svg(path, 840, 400, [panel], [])
    print("align: %s" % ", ".join("%s %.1f and %.1f MB/s" % (size, points[0][1], points[1][1])
                                  for size, points in zip(ALIGN_SIZES, curves)))


# --- wear ---

WORN = ("nand.channels=1 nand.blocks_per_plane=512 nand.pages_per_block=32 nand.page_size=2K "
        "nand.endurance=500 faults.spare_blocks=8 ftl.op=10%").split()


def draw_wear(path, build, levelling):
    """Filled once, then 5 % of it written until no spare block is left."""
    result = json.loads(tool_output(
        build, "replay", "ssd-page", "--json", "--wear-svg", path, *WORN,
        f"ftl.wear_levelling={levelling},threshold:20", "--warmup",
        "gen:sequential,op=write,bs=64K,size=55M", "gen:random,op=write,bs=2K,size=3M,count=16000000"))
    print("wear, levelling %s: %.2f GB written, WAF %.2f" % (
        levelling, result["host"]["write"]["bytes"] / 1e9, result["ftl"]["waf"]))


# --- the command ---


def tool_output(build, *args):
    return subprocess.run([os.path.join(build, "tools/flashemu"), *args], check=True,
                          stdout=subprocess.PIPE, universal_newlines=True).stdout


FIGURES = ["flashfx4m", "align", "article", "wear-static", "wear-off", "generic32m"]


def nbd_module():
    try:
        import nbd  # not for those who only import this file
    except ImportError:
        print("figures: no Python module nbd (python3-libnbd)", file=sys.stderr)
        sys.exit(77)
    return nbd


def generic(args):
    """(step, curves, notes)"""
    step = step_times(tool_output(args.build, "show", "generic32m"))
    plugin = os.path.join(args.build, "plugin/nbdkit-flashemu-plugin.so")
    if args.clock == "real":
        measured = RealTime(nbd_module(), plugin, step)
        return step, measured.nearest, measured.notes()
    with Served(nbd_module(), plugin, "clock=virtual") as served:
        curves = {key: curve(served, step, *key) for key in CURVES}
    return step, curves, virtual_notes(curves)


def draw_article(path, build):
    """The picture of buffered writes onto the used stick as mkfs formats it untold."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(TOP, "tools/lab/flashemu-lab"), "run", "article",
                        "-o", folder, "--store", os.path.join(folder, "store")], check=True,
                       stdout=subprocess.DEVNULL,
                       env=dict(os.environ, FLASHEMU=os.path.join(build, "tools/flashemu")))
        shutil.copy(os.path.join(folder, "figure-01.svg"), path)


def draw(name, args):
    path = os.path.join(args.out, name + ".svg")
    if name == "flashfx4m":
        verified = json.loads(tool_output(args.build, "verify", name, "--json",
                                          "--kernel", "none", "append-collections"))
        draw_flashfx(path, verified["details"]["append-collections"])
    elif name == "align":
        draw_align(path, args.build)
    elif name == "article":
        draw_article(path, args.build)
    elif name == "generic32m":
        step, curves, notes = generic(args)
        draw_generic(path, step, curves, args.clock == "real", notes)
    else:
        draw_wear(path, args.build, name[len("wear-"):])


def main():
    parser = argparse.ArgumentParser(description="Draws the figures of docs/figures.")
    parser.add_argument("-o", dest="out", default=os.path.join(TOP, "docs/figures"))
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--clock", choices=["virtual", "real"], default="real")
    parser.add_argument("--accuracy", action="store_true")
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(FIGURES))
    args = parser.parse_args()
    unknown = [name for name in args.figures if name not in FIGURES]
    if unknown:
        parser.error("no figure " + unknown[0])

    if args.accuracy:
        args.clock = "real"
        print("\n".join(generic(args)[2]))
        return
    os.makedirs(args.out, exist_ok=True)
    for name in args.figures or FIGURES:
        draw(name, args)


if __name__ == "__main__":
    main()
