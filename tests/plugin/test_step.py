#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""generic32m as a client of the server sees it, against the published schedule.

The schedule is tools/figures.py's own reading of what was published, in closed form; the
pictures in docs/figures are drawn from the same points.
"""

import os
import subprocess
import sys
import xml.dom.minidom

from flashemu_server import PLUGIN, Server, run
from flashemu_tool import good

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tools"))
import figures  # noqa: E402 (after the path to it)

STEP = figures.step_times(good("show", "generic32m"))
CURVES = figures.CURVES
ONE_MS = 1000000


class Client(figures.Served):
    """The same, on the tests' own server."""

    def __init__(self, server):
        self.server, self.nbd = server, server.connect()

    def device_ns(self):
        return self.server.stats()["busy_ns"]


def test_schedule_is_the_published_one():
    """Numbers of the sentences in published.csv, by hand."""
    step = {"read_random": 1, "read_spike": 10,
            "write_random": 50, "write_step": 1, "write_spike": 1000}
    for n, want in [(1, 1), (31, 1), (32, 11), (95, 11), (96, 21), (224, 31), (480, 41), (735, 41),
                    (736, 51), (992, 61)]:
        assert figures.scheduled(step, "read", n) == want, n
    for n, want in [(1, 50), (51, 50), (52, 51), (194, 193), (195, 1194), (450, 1449), (451, 2450),
                    (707, 3706)]:
        assert figures.scheduled(step, "write", n) == want, n


def test_virtual_time_is_the_schedule():
    with Server("clock=virtual", "generic32m") as server:
        client = Client(server)
        for op, order in CURVES:
            points = figures.curve(client, STEP, op, order)
            assert len(points) > 15
            for n, want, device, _ in points:
                assert abs(device - want) < ONE_MS, (op, order, n, want, device)
                assert device == want, (op, order, n, want, device)


def test_served_in_time_it_is_the_schedule_too():
    """The device's time does not depend on the clock; the client never hears too early."""
    with Server("time-scale=0.02", "generic32m") as server:
        client = Client(server)
        for op, order in CURVES:
            for n, want, device, elapsed in figures.curve(client, STEP, op, order)[::4]:
                assert abs(device - want) < ONE_MS, (op, order, n, want, device)
                assert elapsed >= want // 50, (op, order, n, want, elapsed)


def test_figures_are_pictures():
    out = os.path.join(os.environ.get("TMPDIR", "/tmp"), "fe-figures-%d" % os.getpid())
    try:
        subprocess.run([sys.executable, figures.__file__, "-o", out, "--clock", "virtual",
                        "--build", os.path.dirname(os.path.dirname(PLUGIN))], check=True)
        for name, shape, at, least in [("generic32m", "circle", "cx cy", 100),
                                       ("flashfx4m", "circle", "cx cy", 100),
                                       ("align", "circle", "cx cy", 4 * 17),
                                       ("wear-static", "rect", "x y", 1024),
                                       ("wear-off", "rect", "x y", 1024)]:
            picture = xml.dom.minidom.parse(os.path.join(out, name + ".svg"))
            root = picture.documentElement
            drawn = [point for point in picture.getElementsByTagName(shape)
                     if point.hasAttribute(at.split()[0])]
            assert len(drawn) >= least, name
            for key, side in zip(at.split(), ("width", "height")):
                size = float(root.getAttribute(side))
                assert all(0 < float(point.getAttribute(key)) < size for point in drawn), name
    finally:
        for name in os.listdir(out) if os.path.isdir(out) else []:
            os.unlink(os.path.join(out, name))
        if os.path.isdir(out):
            os.rmdir(out)


run(globals())
