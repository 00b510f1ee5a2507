#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu serve: a device that is there until whoever asked for it is gone.

What each way serves is used as a person would use it.  Then the program is ended, and nothing may
be left: no process, no file, no mount, no loop device.
"""

import contextlib
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import nbd

from flashemu_server import HANG_S, has_all, need, need_attached, run, skip
from flashemu_tool import TOOL, bad


SCRIPTS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tools/vm")


class Stick:
    """flashemu serve in a folder of its own, which must be empty again afterwards."""

    def __init__(self, *words, profile="ideal", env=(), **more):
        self.folder = tempfile.mkdtemp(prefix="fe%41") # URIs of the sockets say %2541
        self.ours, theirs = pty.openpty() if more.pop("terminal", False) else (None, None)
        argv = [TOOL, "serve", profile, "clock=virtual", "size=64M", *words]
        if more.pop("shell", False):
            argv = ["sh", "-c", '"$@"; true', "sh", *argv]
        self.process = subprocess.Popen(
            argv, stdin=theirs or subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True, **more,
            env=dict(os.environ, TMPDIR=self.folder, **dict(env)), cwd=self.folder,
            preexec_fn=(lambda: os.close(os.open(os.ttyname(0), os.O_RDWR))) if theirs else None)
        if theirs:
            os.close(theirs)
        self.text = ""
        for line in self.process.stdout:
            self.text += line
            if "what it does" in line or "writes an image" in line and "--each-client" in words \
                    or "begun" in line:
                break

    def mine(self):
        """Processes that have to do with this folder."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    words = f.read().replace(b"\0", b" ").decode(errors="replace")
                with open("/proc/%s/environ" % pid, "rb") as f:
                    here = ("TMPDIR=" + self.folder).encode() in f.read().split(b"\0")
                if int(pid) != os.getpid() and here:
                    found.append(words)
        return found

    def left(self):
        with open("/proc/self/mounts") as f:
            mounts = [line for line in f if self.folder in line]
        return self.mine() + os.listdir(self.folder) + mounts + loops(self.folder)

    def nothing_is_left(self):
        end = time.monotonic() + HANG_S
        while self.left() and time.monotonic() < end:
            time.sleep(0.02)
        assert not self.left(), (self.left(), self.text)
        os.rmdir(self.folder)

    def end(self, how):
        """Ends it in one of the ways in which such a program ends."""
        if how == "terminal":
            os.close(self.ours)
        elif how == "Ctrl-C":
            os.killpg(self.process.pid, signal.SIGINT)
        else:
            self.process.send_signal(how)
        code = self.process.wait(timeout=HANG_S)
        self.text += self.process.stdout.read()
        self.nothing_is_left()
        return code

    def uri(self, name=""):
        return "nbd+unix:///%s?socket=%s" % (name, re.search(r"socket=([^']*)'", self.text)[1])


def loops(folder):
    found = []
    for name in os.listdir("/sys/block"):
        with contextlib.suppress(OSError), open("/sys/block/%s/loop/backing_file" % name) as f:
            found += [f.read()] if folder in f.read() else []
    return found


def client(uri):
    h = nbd.NBD()
    h.connect_uri(uri)
    return h


def test_what_it_says_works():
    stick = Stick()
    h = client(stick.uri())
    assert h.get_size() == 64 << 20
    h.pwrite(b"one" + bytes(509), 4096)
    ran = []
    for command in re.findall(r"^  (\S.*)\n      ", stick.text, re.M):
        if command.startswith(("nbdinfo", TOOL)):
            ran.append(command)
            done = subprocess.run(command + " --count 1" * (" top " in command), shell=True,
                                  capture_output=True, text=True, timeout=HANG_S)
            assert done.returncode == 0, (command, done)
    assert stick.text.count("\n      ") == 4 and len(ran) > 1, (stick.text, ran)
    h.shutdown()
    assert stick.end("Ctrl-C") == 0


def test_each_end_leaves_nothing():
    for how in signal.SIGTERM, signal.SIGHUP, signal.SIGKILL:
        stick = Stick()
        stays = client(stick.uri()) if how == signal.SIGKILL else None
        assert stick.end(how) in (0, -signal.SIGKILL)
        del stays
    stick = Stick(terminal=True)
    assert stick.end("terminal") == 0
    stick = Stick(shell=True)
    stick.end(signal.SIGKILL)  # of the shell that started it


def test_it_ends_with_its_server():
    stick = Stick()
    control = re.search(r"top (\S+)", stick.text)[1]
    subprocess.run([TOOL, "ctl", control, "quit"], check=True, capture_output=True)
    assert stick.process.wait(timeout=HANG_S) == 0
    assert "the server has ended" in stick.process.stdout.read()
    stick.nothing_is_left()


def test_each_name_has_a_device():
    stick = Stick("--each-client")
    assert "device of its own" in stick.text and "serve --attach" not in stick.text
    assert "-b 512 -N student1\n" in stick.text, stick.text
    names = ["student1", "student2", ""]
    for name in names:
        h = client(stick.uri(name))
        assert h.pread(512, 0) == bytes(512), name
        h.pwrite(name.ljust(512).encode(), 0)
        h.shutdown()
    again = [client(stick.uri(name)) for name in names]
    assert [h.pread(512, 0).decode().rstrip() for h in again] == names
    twin = client(stick.uri("student2"))
    twin.pwrite(b"x" * 512, 512)
    assert again[1].pread(512, 512) == b"x" * 512
    assert again[0].pread(512, 512) == bytes(512) == again[2].pread(512, 512)
    assert stick.end("Ctrl-C") == 0


def test_names_have_an_end():
    """64 besides the one of the start; the next one is told why."""
    stick = Stick("--each-client")
    for i in range(64):
        client(stick.uri("s%d" % i)).shutdown()
    try:
        client(stick.uri("one-more"))
        raise AssertionError("one more")
    except nbd.Error:
        pass
    client(stick.uri("s63")).shutdown()
    assert stick.end("Ctrl-C") == 0


def test_without_each_client_names_are_nothing():
    stick = Stick()
    client(stick.uri("a")).pwrite(b"y" * 512, 0)
    assert client(stick.uri("b")).pread(512, 0) == b"y" * 512
    stick.end("Ctrl-C")


def test_a_port():
    port = 20000 + os.getpid() % 20000
    stick = Stick("--port", str(port))
    assert client("nbd://127.0.0.1:%d/" % port).get_size() == 64 << 20
    assert ":%d/'" % port in stick.text
    bad("--port %d: another server listens there" % port, "serve", "ideal", "--port", str(port))
    assert stick.end("Ctrl-C") == 0
    with socket.create_server(("127.0.0.1", 0)) as other:  # with IPv4 alone
        port = other.getsockname()[1]
        bad("--port %d: another server listens there" % port, "serve", "ideal", "--port", str(port))


def test_mount():
    if not os.access("/dev/fuse", os.W_OK):
        return
    for how in "Ctrl-C", signal.SIGKILL:
        stick = Stick("--mount", "here")
        path = os.path.join(stick.folder, "here/ideal")
        assert os.path.getsize(path) == 64 << 20
        with open(path, "r+b") as f:
            f.write(b"z" * 4096)
        with open(path, "rb") as f:
            assert f.read(4096) == b"z" * 4096
        stick.end(how)
    stick = Stick("--mount", ".")
    assert stick.process.wait() == 2 and "is not empty" in stick.text, stick.text
    stick.nothing_is_left()


def test_the_small_machine_ends_with_all_that_it_does():
    """The first time it makes what it boots from, which a script stands for here, with a program that
    takes long."""
    with tempfile.TemporaryDirectory(prefix="fe") as scripts:
        for name in "stick", "tidy.sh", "serve", "on-host":
            shutil.copy(os.path.join(SCRIPTS, name), scripts)
        with open(os.path.join(scripts, "run"), "w") as f:
            f.write("#!/bin/sh\nsleep 9999 & echo begun; sleep 9999; wait\n")
        os.chmod(f.name, 0o755)
        for how, parent in (("Ctrl-C", False), (signal.SIGKILL, False), (signal.SIGKILL, True)):
            stick = Stick("--vm", env={"FLASHEMU_SCRIPTS": scripts}, shell=parent)
            assert "begun" in stick.text, stick.text
            stick.end(how)
        without = os.path.join(scripts, "bin")
        os.mkdir(without)
        for name in os.listdir("/usr/bin"):
            if name != "socat":
                os.symlink(os.path.join("/usr/bin", name), os.path.join(without, name))
        stick = Stick("--vm", env={"FLASHEMU_SCRIPTS": scripts, "PATH": without})
        assert stick.process.wait(timeout=HANG_S) == 2, stick.text
        assert stick.text.splitlines()[-1] == "flashemu: serve: --vm takes socat (package socat)", stick.text
        stick.nothing_is_left()


def test_no_room():
    """A full disk is one line; the server cannot say where it is, and nobody waits for it."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        return
    script = 'mount -t tmpfs -o size=8k none "$0" && head -c 8192 /dev/zero >"$0/full"; exec "$@"'
    for way in [], ["--mount", "/mnt"], ["--port", "21999"]:
        with tempfile.TemporaryDirectory(prefix="fe") as folder:
            done = subprocess.run(
                ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                 script, folder, TOOL, "serve", "ideal", "clock=virtual", *way],
                env=dict(os.environ, TMPDIR=folder), capture_output=True, text=True, timeout=HANG_S)
            if "unshare failed" in done.stderr or "mount:" in done.stderr:
                return
            assert (done.returncode, done.stdout) == (2, ""), done
            assert done.stderr == "flashemu: serve: there is no room left in %s\n" % folder, done


def test_attach():
    if os.geteuid() != 0:
        has_all(bad("needs root: sudo ", "serve", "--attach", "ideal", "ftl.op=7%"),
                "serve --attach ideal ftl.op=7%\n")
        return
    with contextlib.suppress(SystemExit):
        need_attached()
        attach_and_end()


def attach_and_end():
    for how in "Ctrl-C", signal.SIGKILL:
        stick = Stick("--attach")
        device = re.search(r"(/dev/\S+) is the device", stick.text)[1]
        at = os.path.join(stick.folder, "at")
        os.mkdir(at)
        subprocess.run(["mkfs.ext4", "-q", device], check=True)
        subprocess.run(["mount", device, at], check=True)
        # in one of the two cases somebody is still writing
        busy = open(os.path.join(at, "busy"), "w") if how == "Ctrl-C" else open("/dev/null")
        folder, stick.folder = stick.folder, at
        stick.process.send_signal(signal.SIGINT if how == "Ctrl-C" else how)
        stick.process.wait(timeout=HANG_S)
        end = time.monotonic() + HANG_S
        while os.path.ismount(at) and time.monotonic() < end:
            time.sleep(0.05)
        assert not os.path.ismount(at)
        busy.close()
        stick.folder = folder
        os.rmdir(at)
        stick.nothing_is_left()
        with open("/proc/self/mounts") as f:
            assert device not in f.read()
        pulled = "as if the stick had been pulled out" in stick.process.stdout.read()
        assert pulled == (how == "Ctrl-C")


def test_wrong_use():
    for words, message in (
            (["ideal", "--attach", "--vm"], "one of them at a time"),
            (["ideal", "--each-client", "--vm"], "without --mount, --attach and --vm"),
            (["ideal", "--port", "0"], "--port 0: expected a number from 1 to 65535"),
            (["ideal", "nonsense"], "nonsense: is not KEY=VALUE"),
            (["ideal", "ftl.opp=7%"], "did you mean ftl.op?"),
            (["idael"], "did you mean ideal?"),
            (["ideal", "--atach"], "there is no option --atach; did you mean --attach?"),
            (["ideal", "clok=real"], "clok=real: unknown parameter; did you mean clock?"),
            (["ideal", "--each-client", "file=x"], "file=x: is for one device"),
            (["ideal", "exports=both"], "exports=both: must be same or own"),
            (["ideal", "--mount", "/proc/x/y"], "--mount /proc/x/y: cannot make this folder")):
        bad(message, "serve", *words)


need("bash")
try:
    subprocess.run(["setpriv", "--version"], capture_output=True, check=True)
except OSError:
    skip("no setpriv")
run(globals())
