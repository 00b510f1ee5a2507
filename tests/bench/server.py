# SPDX-License-Identifier: BSD-3-Clause
"""A server that is measured through a real client, tests/bench/plugin_load.c."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time


def skip_without_server():
    """Ends with 77 if this machine lacks something.  Wants FLASHEMU_PLUGIN and FLASHEMU_LOAD."""
    for name in ("FLASHEMU_PLUGIN", "FLASHEMU_LOAD"):
        if name not in os.environ:
            print("SKIP: %s is not set" % name)
            sys.exit(77)
    if not shutil.which("nbdkit"):
        print("SKIP: no nbdkit")
        sys.exit(77)


class Server:
    def __init__(self, folder, name, argv):
        self.name = name
        self.socket = os.path.join(folder, name)
        self.control = self.socket + ".control"
        ready = self.socket + ".pid"  # the socket is there before the server listens
        self.proc = subprocess.Popen(["nbdkit", "-f", "-P", ready, "-U", self.socket, *argv],
                                     stdin=subprocess.DEVNULL)
        while not os.path.exists(ready):
            if self.proc.poll() is not None:
                sys.exit("no server: " + name)
            time.sleep(0.01)

    def load(self, op, pattern, block, depth, seconds):
        """Operations a second."""
        order = "random" if pattern == "random" else "sequential"
        out = subprocess.run([os.environ["FLASHEMU_LOAD"], self.socket, op, order, str(block),
                              str(depth), str(seconds)], check=True, stdout=subprocess.PIPE)
        return float(out.stdout)

    def cpu_s(self):
        """Processor time so far, its children's not counted."""
        with open("/proc/%d/stat" % self.proc.pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mib(self):
        """What the server holds of the machine's memory."""
        with open("/proc/%d/status" % self.proc.pid) as f:
            return int(next(line for line in f if line.startswith("VmRSS:")).split()[1]) / 1024

    def ask(self, command):
        """The reply of the control socket, which the server must have."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.control)
            s.sendall(b'{"cmd":"%s"}\n' % command.encode())
            with s.makefile() as reply:
                return json.loads(reply.readline())

    def close(self):
        self.proc.terminate()
        self.proc.wait()


BLOCK = 4096  # of the loads of these servers


def queues(folder, depth, us):
    """Two servers of a device whose wire is taken for `us` by each request of BLOCK bytes: one with a
    queue of one, and one whose queue holds all of `depth` requests, so that none waits in the
    host's.  Either device answers the same number of requests a second."""
    rate = "%dB/s" % (BLOCK * 1000000 // us) if us else "unlimited"
    made = []
    for slots in (1, depth):
        name = "%d-%d-%d" % (us, depth, slots)
        made.append(Server(folder, name, [
            os.environ["FLASHEMU_PLUGIN"], "ideal", "size=64M", "link.queue_depth=%d" % slots,
            "link.bandwidth=" + rate, "control=" + os.path.join(folder, name + ".control")]))
    return made
