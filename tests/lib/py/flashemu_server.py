# SPDX-License-Identifier: BSD-3-Clause
"""The server as its tests use it: starting it, asking it, ending it.

Every server has its sockets in a folder of its own and is killed at the end, whatever happens.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import weakref

from flashemu_script import ended, from_env, need, run, skip # noqa: F401 - run is for the tests

try:
    import nbd
except ImportError:
    skip("no Python module nbd (python3-libnbd)")

# How long an answer of the server may take before it counts as hung.  Generous, too.
HANG_S = 60
# How long a server may take to end and write its coverage counters before it is killed.
COVERAGE_EXIT_S = 5

NBDKIT = shutil.which("nbdkit") or skip("no nbdkit")
PLUGIN = from_env("FLASHEMU_PLUGIN")


class Server:
    """nbdkit with the plugin, in the foreground, on a Unix socket; `before` is what starts it."""

    def __init__(self, *params, options=(), control=True, folder=None, umask=0o022, before=()):
        self.folder = tempfile.mkdtemp(prefix="fe")
        self.socket = os.path.join(self.folder, "nbd")
        self.control = os.path.join(folder or self.folder, "ctl")
        self.handles = weakref.WeakSet()
        self.uri = "nbd+unix:///?socket=" + self.socket
        argv = [*before, NBDKIT, "-f", "-U", self.socket, *options, PLUGIN, *params]
        if control:
            argv.append("control=" + self.control)
        self.log = open(os.path.join(self.folder, "log"), "w+")
        self.proc = subprocess.Popen(argv, stdout=self.log, stderr=subprocess.STDOUT,
                                     stdin=subprocess.DEVNULL, umask=umask)
        end = time.monotonic() + HANG_S
        while not self.is_up():
            if self.proc.poll() is not None or time.monotonic() > end:
                text = self.text()
                self.close()
                raise RuntimeError("the server did not start: " + text)
            time.sleep(0.01)

    def is_up(self):
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(self.socket)
                return True
        except OSError:
            return False

    def text(self):
        self.log.flush()
        with open(self.log.name, errors="replace") as f:
            return f.read()

    def connect(self):
        h = nbd.NBD()
        h.connect_unix(self.socket)
        self.handles.add(h)
        return h

    def ctl(self, cmd, *args):
        """The reply to one command, as a dictionary."""
        with Ctl(self.control) as c:
            return c.ask(cmd, *args)

    def stats(self):
        reply = self.ctl("stats")
        assert reply["ok"], reply
        return reply

    def hang_up(self):
        """The server waits for its clients.  A handle may live longer than its function, for
        example in the traceback of a request that failed."""
        for h in list(self.handles):
            try:
                with socket.socket(fileno=os.dup(h.aio_get_fd())) as s:
                    s.shutdown(socket.SHUT_RDWR)
            except (nbd.Error, OSError):
                pass  # it is closed already

    def wait(self):
        """The exit code, once the server has ended by itself."""
        self.hang_up()
        return self.proc.wait(timeout=HANG_S)

    def terminate(self):
        self.proc.send_signal(signal.SIGTERM)
        return self.wait()

    def exit(self):
        """Lets the server write its coverage counters, which a killed server does not."""
        self.proc.terminate()
        self.hang_up()
        try:
            self.proc.wait(timeout=COVERAGE_EXIT_S)
        except subprocess.TimeoutExpired:
            pass

    def close(self):
        if self.proc.poll() is None and "FLASHEMU_COVERAGE" in os.environ:
            self.exit()
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if exc[0]:
            print("--- log of the server\n" + self.text())
        self.close()


class Ctl:
    """A connection to a control socket."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(HANG_S)
        self.sock.connect(path)
        self.rest = b""

    def send(self, data):
        self.sock.sendall(data)

    def line(self):
        """The next line as an object; None at the end of the connection."""
        while b"\n" not in self.rest:
            data = self.sock.recv(65536)
            if not data:
                assert not self.rest, self.rest
                return None
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def ask(self, cmd, *args):
        request = {"cmd": cmd}
        if args:
            request["args"] = list(args)
        self.send(json.dumps(request).encode() + b"\n")
        return self.line()

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


def run_nbdkit(*argv, **kw):
    """nbdkit until it ends by itself: exit code, standard output, standard error."""
    return ended([NBDKIT, *argv], **kw)


def refused(*params):
    """The one line with which the server refuses to start with these parameters.  One that starts all
    the same ends at once, with code 0."""
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        code, out, err = run_nbdkit("-f", "-U", os.path.join(folder, "nbd"), "--run", ":", PLUGIN,
                                    *params)
    lines = err.strip().split("\n")
    assert code == 1, (params, code, err)
    assert len(lines) == 1 and lines[0].startswith("nbdkit: error: "), (params, err)
    return lines[0][len("nbdkit: error: "):]


def has_all(text, *parts):
    missing = [p for p in parts if not re.search(p, text)]
    assert not missing, "%r lacks %r" % (text, missing)


@contextlib.contextmanager
def fails(errno):
    """The block must end in an nbd.Error with this errno."""
    try:
        yield
    except nbd.Error as e:
        assert e.errnum == errno, e
    else:
        raise AssertionError("no error, expected errno %d" % errno)


def need_attached():
    """Skips where attached() cannot work."""
    need("nbdfuse", "losetup", "fusermount3")
    if os.geteuid() != 0:
        skip("needs root")
    if not os.access("/dev/fuse", os.W_OK) or not os.access("/dev/loop-control", os.W_OK):
        skip("no FUSE or no loop devices here")


def uncut(device):
    """A loop device keeps the limit that whoever had it before has set."""
    queue = os.path.join("/sys/block", os.path.basename(device), "queue")
    with open(os.path.join(queue, "max_hw_sectors_kb")) as f:
        most = int(f.read())
    with open(os.path.join(queue, "max_sectors_kb"), "w") as f:
        f.write(str(min(most, 1024)))


@contextlib.contextmanager
def attached(server):
    """A block device in front of the server: a loop device over nbdfuse, which the kernel cuts
    no requests for up to a megabyte."""
    folder = tempfile.mkdtemp(prefix="fefuse")
    fuse = subprocess.Popen(["nbdfuse", folder, "--unix", server.socket])
    path = os.path.join(folder, "nbd")
    loop = None
    try:
        end = time.monotonic() + HANG_S
        while not os.path.exists(path):
            assert fuse.poll() is None and time.monotonic() < end, "nbdfuse"
            time.sleep(0.02)
        attach = subprocess.run(["losetup", "-f", "--show", "--direct-io=on", path],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if attach.returncode:
            skip("losetup: " + attach.stderr.strip())
        loop = attach.stdout.strip()
        uncut(loop)
        yield loop
    finally:
        if loop:
            subprocess.run(["losetup", "-d", loop], check=True)
        # somebody else who looks at the loop device, such as losetup -a, holds it a little longer
        end = time.monotonic() + HANG_S
        while subprocess.run(["fusermount3", "-u", folder], stderr=subprocess.DEVNULL).returncode:
            assert time.monotonic() < end, "fusermount3"
            time.sleep(0.02)
        fuse.wait(HANG_S)
        shutil.rmtree(folder)
