#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu ctl: what it sends, prints and exits with."""

import json
import os
import socket
import tempfile
import threading
import time

from flashemu_server import Server, has_all, run
from flashemu_tool import call



def ctl(*args):
    return call("ctl", *args)


def no_answer(*args):
    """Exit code 2, one line on standard error, nothing on standard output."""
    code, out, err = ctl(*args)
    assert code == 2 and out == "" and err.count("\n") == 1, (code, out, err)
    return err


def test_pretty_and_raw():
    with Server("ideal") as s:
        code, out, err = ctl(s.control, "stats")
        assert code == 0 and err == "", err
        assert out.startswith('{\n  "ok": true,\n  "profile": "ideal",\n'), out
        code, raw, err = ctl("--raw", s.control, "stats")
        assert code == 0 and raw.count("\n") == 1 and raw.startswith('{"ok":true,'), raw
        a, b = json.loads(out), json.loads(raw)
        assert list(a) == list(b) and a["host"] == b["host"]
        assert ctl(s.control, "reset", "--raw") == (0, '{"ok":true}\n', "")


def test_arguments():
    with Server("ideal") as s:
        code, out, err = ctl(s.control, "set", "time-scale", "0.5")
        assert code == 0 and json.loads(out)["value"] == "0.5"
        assert json.loads(ctl(s.control, "get", "time-scale")[1])["value"] == "0.5"
        assert ctl(s.control, "idle", "1s")[0] == 0


def test_no_is_1():
    with Server("ideal") as s:
        for args in (["set", "time-scale", "0"], ["nosuch"], ["set", "x"],
                     ["set", "a", "--", "-1"], ["power-cut", "after", "0", "writes"]):
            code, out, err = ctl(s.control, *args)
            assert code == 1 and err == "" and json.loads(out)["ok"] is False, (args, out, err)


def test_wrong_use_is_2():
    has_all(no_answer(), "SOCKET COMMAND")
    has_all(no_answer("/tmp/x"), "SOCKET COMMAND")
    has_all(no_answer("/tmp/x", "get", ""), "argument 3 is empty")
    has_all(no_answer("--nosuch", "/tmp/x", "stats"), "--nosuch")
    has_all(no_answer("--timeout", "5", "/tmp/x", "stats"), "--timeout 5", "ns")
    has_all(no_answer("/tmp/" + "x" * 200, "stats"), "too long")
    with Server("ideal") as s:
        has_all(no_answer(s.control, b"\xff"), "UTF-8")


def test_no_server_is_2():
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        has_all(no_answer(folder + "/none", "stats"), "none: No such file", "control=PATH makes it")
        path = folder + "/stale"
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(path)
        has_all(no_answer(path, "stats"), "no server listens")


def other_server(path, reply):
    """A server that takes one client and answers with these bytes, or hangs up."""
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(path)
    sock.listen()

    def serve():
        c, _ = sock.accept()
        c.recv(65536)
        if reply is not None:
            c.sendall(reply)
            c.close()
        else:
            time.sleep(1)
            c.close()
        sock.close()

    threading.Thread(target=serve, daemon=True).start()


def test_servers_that_are_none():
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        for i, (reply, part) in enumerate(((b"", "closed"), (b"hello", "closed"),
                                           (b"hello\n", "no reply"), (b"{}\n", "no reply"),
                                           (b'{"ok":3}\n', "no reply"), (b"[1]\n", "no reply"))):
            path = os.path.join(folder, str(i))
            other_server(path, reply)
            has_all(no_answer(path, "stats"), part)
        path = os.path.join(folder, "silent")
        other_server(path, None)
        has_all(no_answer("--timeout", "100ms", path, "stats"), "does not answer")


def test_help():
    code, out, err = ctl("--help")
    assert code == 0 and err == "" and "usage: flashemu ctl" in out


def test_quit():
    with Server("ideal") as s:
        assert ctl("--raw", s.control, "quit") == (0, '{"ok":true}\n', "")
        assert s.wait() == 0


def test_quit_returns_when_the_trace_is_complete():
    """The trace goes into a pipe that is full, and nobody reads."""
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        os.mkfifo(trace)
        reader = os.open(trace, os.O_RDONLY | os.O_NONBLOCK)
        with Server("ideal", f"trace={trace}") as s:
            h = s.connect()
            for i in range(3000):
                h.pwrite(b"x" * 512, 512 * i)
            del h
            s.hang_up()
            code, _, err = ctl("--timeout", "200ms", s.control, "quit")
            assert code == 0 and "has not ended yet" in err, err
            os.set_blocking(reader, True)
            size = 0
            while part := os.read(reader, 65536):
                size += len(part)
            assert size > 65536 and s.wait() == 0
        os.close(reader)


def test_quit_says_that_a_client_stays():
    with Server("ideal") as s:
        h = s.connect()
        code, out, err = ctl("--timeout", "100ms", s.control, "quit")
        assert code == 0 and "has not ended yet" in err, err
        del h
        s.hang_up()
        assert s.wait() == 0


run(globals())
