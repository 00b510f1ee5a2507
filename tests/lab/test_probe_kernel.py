#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab probe through the kernel, as on a real stick: a loop device over nbdfuse has the
same structure as the server that is asked through libnbd.

The kernel sends reads of its own when a device appears, and it decides whether a request is cut and
when a flush is sent.  Times are those of the emulated device, so what the way costs does not count.
"""

import json
import os

from flashemu_lab_bench import lab
from flashemu_server import Server, attached, need_attached, run

# What follows from the measurement; the other keys are about the run.
STRUCTURE = ("unit", "page", "granule", "open_linear", "open_random", "small_write", "cache", "slc",
             "real_capacity", "zone")
STICK = ("profile=transcend8g", "device.capacity=192M", "ftl.unit_size=1536K",
         "ftl.open_linear=2", "ftl.open_random=3", "clock=virtual")


def probed(way, server, capacity):
    """What probe finds, and its points; the device has not been used before."""
    code, out, err = lab("probe", way, "-o", "my.json", "--device-time", server.control, "--json",
                         "--destroy", str(capacity))
    assert code == 0, err
    with open("my.json", encoding="utf-8") as f:
        points = json.load(f)["points"]
    with open("my.html", encoding="utf-8") as f:
        page = f.read()
    for name in ("my.json", "my.html"):     # or the next probe would go on with them
        os.remove(name)
    return json.loads(out), points, page


def size_of(server):
    client = server.connect()
    capacity = client.get_size()
    client.shutdown()
    return capacity


def test_the_way_does_not_matter():
    with Server(*STICK, options=("-t", "1")) as server:
        capacity = size_of(server)
        direct, points, _ = probed(server.uri, server, capacity)
    with Server(*STICK, options=("-t", "1")) as server, attached(server) as device:
        kernel, kernel_points, page = probed(device, server, capacity)
    for name in STRUCTURE:
        assert direct[name] == kernel[name], (name, direct[name], kernel[name])
    assert (direct["unit"], direct["page"], direct["open_random"]) == (1536 << 10, 4096, 3), direct
    assert kernel["failure"] is None and kernel["left"] == []
    # the kernel offers TRIM on every loop device, and what is below does not have it
    assert kernel["refused"] == ["TRIM"] and direct["refused"] == [], (kernel, direct)
    assert "The device offers TRIM and does not do it, so TRIM is missing." in page
    # the same requests, and not only the same conclusions
    assert [(p["procedure"], p["parameters"]) for p in points] == \
        [(p["procedure"], p["parameters"]) for p in kernel_points]
    # a command that the kernel cuts costs another overhead; and on a busy machine a request may
    # wait for a read of the kernel's own: one took 50 us longer, as long as a page is read
    other = []
    for a, b in zip(points, kernel_points):
        off = abs(a["values"][0] / b["values"][0] - 1)
        assert off < 0.05, (a, b)
        how = a["parameters"]
        if max(how.get("bs", 0), how.get("chunk", 0)) <= 512 << 10 and off > 1e-6:
            other.append((a, b))
    assert len(other) <= len(points) // 100, other


need_attached()
run(globals())
