#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The example for Prometheus and Grafana: what the dashboard asks for is what a device says, and the
script answers Prometheus.

    test_dashboard.py FOLDER    the folder of the example
"""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from flashemu_server import HANG_S, Server, ended, run, skip
from flashemu_tool import TOOL, call

FOLDER = os.path.abspath(sys.argv.pop(1))
LABELS = r'(\w+)(=~|!=|=)"([^"]*)"'


def said(text):
    """{name of a sample: its lists of labels}."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels = re.match(r"(\w+)(?:\{(.*?)\})? ", line).groups()
            found.setdefault(name, []).append(dict(re.findall(r'(\w+)="([^"]*)"', labels or "")))
    return found


def metrics():
    with Server("transcend8g", "clock=virtual") as s:
        h = s.connect()
        h.pwrite(bytes(65536), 0)
        h.pread(65536, 0)
        code, out, err = call("ctl", s.control, "metrics")
        assert code == 0, err
        return said(out)


def asked():
    """(title, expression, legend) of all that the dashboard shows."""
    with open(os.path.join(FOLDER, "dashboard.json"), encoding="utf-8") as f:
        board = json.load(f)
    assert len({p["id"] for p in board["panels"]}) == len(board["panels"]) > 10
    for panel in board["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"], target["legendFormat"]


def test_every_metric_and_label_exists():
    device = metrics()
    seen = set()
    for title, expr, legend in asked():
        names = re.findall(r"\bflashemu_\w+(?=\{)", expr)
        assert names, (title, expr)
        for name in names:
            assert name in device, "%s: the device does not print %s" % (title, name)
        # No metric is outside a selector, where this test would not see it.
        assert len(re.findall(r"\bflashemu_", expr)) == len(names), expr
        for name, selector in re.findall(r"(flashemu_\w+)\{([^}]*)\}", expr):
            for label, how, value in re.findall(LABELS, selector):
                if label != "instance": # which Prometheus adds
                    assert any(re.fullmatch(value, s.get(label, "")) for s in device[name]), (
                        "%s: %s has no %s%s%r" % (title, name, label, how, value))
        for label in re.findall(r"\{\{(\w+)\}\}", legend):
            assert all(label in s for s in device[names[0]]), (title, label)
        seen.update(names)
    # What a user would look for first is there.
    assert {"flashemu_state", "flashemu_host_bytes_total", "flashemu_wear_cycles",
            "flashemu_request_duration_seconds_bucket"} <= seen, seen


@contextlib.contextmanager
def answering(control, port):
    path = os.path.dirname(TOOL) + ":" + os.environ["PATH"]
    with subprocess.Popen([os.path.join(FOLDER, "serve-metrics"), control, str(port)],
                          env=dict(os.environ, PATH=path)) as p:
        try:
            end = time.monotonic() + HANG_S
            while True:
                assert p.poll() is None and time.monotonic() < end
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.02)
            yield "http://127.0.0.1:%d/metrics" % port
        finally:
            p.terminate()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_the_script_answers():
    if not shutil.which("socat"):
        print("no socat")
        return
    with Server("transcend8g", "clock=virtual") as s:
        s.connect().pwrite(bytes(4096), 0)
        with answering(s.control, free_port()) as url:
            with urllib.request.urlopen(url, timeout=HANG_S) as reply:
                assert reply.headers["Content-Type"].startswith("application/openmetrics-text")
                text = reply.read().decode()
            assert text.endswith("# EOF\n") and said(text) == said(call("ctl", s.control,
                                                                        "metrics")[1])
            assert s.ctl("quit")["ok"] and s.wait() == 0
            try:
                urllib.request.urlopen(url, timeout=HANG_S)
            except urllib.error.HTTPError as e:
                assert e.code == 503, e
            else:
                raise AssertionError("an answer without a device")


def test_without_a_socket_it_says_how():
    code, out, err = ended([os.path.join(FOLDER, "serve-metrics")])
    assert (code, out) == (2, "") and err.startswith("usage: serve-metrics SOCKET [PORT]"), err


if not os.path.isdir(FOLDER):
    skip("no " + FOLDER)
run(globals())
