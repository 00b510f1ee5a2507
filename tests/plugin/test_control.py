#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The control socket: its file, its protocol, its commands, its clients' manners."""

import errno
import json
import os
import socket
import stat
import tempfile
import threading
import time

from flashemu_server import Ctl, Server, fails, has_all, refused, run
from flashemu_tool import call

REPLY_KEYS = ["ok", "profile", "clock", "device_ns", "busy_ns", "host", "nand", "ftl", "wear",
              "bad_blocks", "ecc", "power", "state", "reason", "latency_ns", "lateness_ns",
              "version", "command", "overrides", "seed"]
HIST_KEYS = ["count", "mean", "p50", "p99", "p999", "max"]


# ---- the file ----

def test_mode_whatever_the_umask():
    for umask in (0, 0o022, 0o777):
        with Server("ideal", umask=umask) as s:
            mode = os.stat(s.control).st_mode
            assert stat.S_IMODE(mode) == 0o600, oct(mode)
            assert stat.S_ISSOCK(mode)


def test_removed_at_the_end():
    with Server("ideal") as s:
        assert os.path.exists(s.control)
        assert s.terminate() == 0
        assert not os.path.exists(s.control)


def test_not_removed_if_it_is_another_one_by_then():
    with Server("ideal") as s:
        os.unlink(s.control)
        with open(s.control, "w") as f:
            f.write("mine")
        assert s.terminate() == 0
        with open(s.control) as f:
            assert f.read() == "mine"


def test_a_live_socket_is_refused_and_stays():
    with Server("ideal") as s:
        line = refused("ideal", "control=" + s.control)
        has_all(line, "^control=", "listens", "allowed")
        assert s.stats()["ok"]


def test_a_stale_socket_is_replaced():
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(os.path.join(folder, "ctl"))
            stale.listen()
        with Server("ideal", folder=folder) as s:
            assert s.stats()["ok"]
            assert stat.S_IMODE(os.stat(s.control).st_mode) == 0o600


def test_other_files_are_refused_and_stay():
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        path = os.path.join(folder, "file")
        with open(path, "w") as f:
            f.write("precious")
        link = os.path.join(folder, "link")
        os.symlink(path, link)
        for p in (path, link, folder):
            has_all(refused("ideal", "control=" + p), "^control=", "not a socket", "allowed")
        with open(path) as f:
            assert f.read() == "precious"
        has_all(refused("ideal", "control=" + folder + "/none/ctl"), "No such file",
                "the folder must exist")


def test_too_long_a_path_is_refused():
    line = refused("ideal", "control=/tmp/" + "x" * 200)
    has_all(line, "^control=", "205 bytes", "at most 107")


def test_a_refused_start_leaves_no_socket():
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        refused("transcend8g", "size=1T", "control=" + folder + "/ctl")
        assert os.listdir(folder) == []


# ---- the commands ----

def test_stats_say_what_they_are():
    with Server("ideal", "size=4M", "ftl.op=20%", "seed=7", "clock=virtual") as s:
        o = s.stats()
        assert o["profile"] == "ideal" and o["seed"] == 7, o
        assert o["overrides"] == ["ftl.op=20%", "device.capacity=4M"], o
        assert "nbdkit" in o["command"] and "ftl.op=20%" in o["command"], o
        assert o["version"] and "image" not in o, o


def test_a_device_that_cannot_be_built_names_the_key():
    has_all(refused("ideal", "ftl.unit_size=3000K", "ftl.type=block", "device.discard=no"),
            "ftl.unit_size=3000K: must be a multiple of the erase block")


def test_stats_has_every_field_in_order():
    for params in (["ideal"], ["transcend8g"], ["ssd-page", "clock=virtual"]):
        with Server(*params) as s:
            h = s.connect()
            st = s.stats()
            assert list(st) == REPLY_KEYS, list(st)
            assert st["profile"] == params[0]
            assert st["clock"] == ("virtual" if len(params) > 1 else "real")
            assert list(st["host"]) == ["read", "write", "trim", "flush"]
            assert st["ftl"]["waf"] is None
            assert list(st["ftl"]) == ["waf", "gc_runs", "pages_copied", "merges", "slc_folds",
                                       "wear_moves", "map", "free_blocks"]
            assert list(st["ftl"]["map"]) == ["hits", "misses", "reads", "writes", "evictions"]
            assert list(st["ftl"]["merges"]) == ["switch", "partial", "full"]
            assert list(st["nand"]) == ["page_reads", "page_programs", "block_erases",
                                        "bytes_programmed"]
            assert list(st["wear"]) == ["min", "mean", "max", "stddev"]
            assert list(st["bad_blocks"]) == ["factory", "grown"]
            assert list(st["ecc"]) == ["corrected", "uncorrectable"]
            for kind in ("read", "write", "flush", "commit"):
                assert list(st["latency_ns"][kind]) == HIST_KEYS
            assert list(st["lateness_ns"]) == [k for k in HIST_KEYS if k != "mean"] + ["late"]
            h.pwrite(bytes(8192), 0)
            h.pread(4096, 0)
            st = s.stats()
            assert st["host"]["write"] == {"ops": 1, "bytes": 8192}
            assert st["host"]["read"] == {"ops": 1, "bytes": 4096}
            assert st["ftl"]["waf"] >= 1
            assert st["latency_ns"]["write"]["count"] == 1
            assert st["lateness_ns"]["count"] == (0 if st["clock"] == "virtual" else 2)


def test_reset_keeps_state_and_clock():
    with Server("ssd-page", "time-scale=0.1") as s:
        h = s.connect()
        h.pwrite(b"\7" * 8192, 0)
        before = s.stats()
        assert s.ctl("reset") == {"ok": True}
        st = s.stats()
        assert st["host"]["write"] == {"ops": 0, "bytes": 0} and st["ftl"]["waf"] is None
        assert st["latency_ns"]["write"]["count"] == st["lateness_ns"]["count"] == 0
        assert st["busy_ns"] == 0 and st["device_ns"] >= before["device_ns"]
        assert st["nand"]["page_programs"] == 0
        assert h.pread(8192, 0) == b"\7" * 8192


def test_set_and_get():
    with Server("ideal") as s:
        for key, value, canonical in (("time-scale", "0.50", "0.5"), ("time-scale", "010", "10"),
                                      ("transport-overhead", "1000us", "1ms"),
                                      ("nand.tPROG", "2000us", "2ms"),
                                      ("link.command_overhead", "1ms", "1ms")):
            want = {"ok": True, "key": key, "value": canonical}
            assert s.ctl("set", key, value) == want, (key, s.ctl("get", key))
            assert s.ctl("get", key) == want
        for key, value in (("transport-overhead", "1ms"), ("time-scale", "10")):
            assert not s.ctl("set", key, "x")["ok"]  # and then it is as before
            assert s.ctl("get", key)["value"] == value
        assert s.ctl("set", "time-scale", 0.25)["value"] == "0.25" # a number counts as its text
        assert s.ctl("set", "time-scale", 2)["value"] == "2"
        assert s.ctl("get", "clock")["value"] == "real"
        assert s.ctl("get", "ftl.type")["value"] == "page"
        for args, *parts in ((("time-scale", "0"), "^time-scale=0: ", "10000"),
                             (("transport-overhead", "1h"), "^transport-overhead=1h: ", "0 to 1s"),
                             (("nand.tPROG", "7"), "nand.tPROG", "ns"),
                             (("nand.page_size", "4K"), "nand.page_size"),
                             (("nosuch.key", "1"), "nosuch.key")):
            reply = s.ctl("set", *args)
            assert not reply["ok"], reply
            has_all(reply["error"], *parts)
        has_all(s.ctl("get", "nosuch.key")["error"], "nosuch.key")
        assert s.ctl("get", "time-scale")["value"] == "2"


def test_set_takes_effect():
    with Server("ideal", "link.queue_depth=1") as s:
        h = s.connect()
        assert s.ctl("set", "link.command_overhead", "50ms")["ok"]
        start = time.monotonic_ns()
        h.pread(512, 0)
        assert time.monotonic_ns() - start >= 50000000


def test_idle_lets_device_time_pass():
    for clock in ("virtual", "real"):
        with Server("ssd-page", "clock=" + clock, "cache.size=64K") as s:
            h = s.connect()
            h.pwrite(bytes(4096), 0)
            before = s.stats()
            reply = s.ctl("idle", "3600s")
            after = s.stats()
            assert reply["ok"] and reply["device_ns"] >= before["device_ns"] + 3600 * 10**9
            assert after["device_ns"] >= reply["device_ns"]
            assert after["nand"]["page_programs"] == 1, after # the cache was written out in it
            assert after["busy_ns"] < 10**9 # idle is not busy
            h.pread(4096, 0)
            last = s.stats()
            assert last["device_ns"] >= after["device_ns"]
            assert last["latency_ns"]["read"]["max"] < 10**9, last
            for bad in ("", "5", "-1s", "x", "1h", "500000000000s"):
                assert not s.ctl("idle", bad)["ok"], bad
            while s.ctl("idle", "1000000000s")["ok"]:
                pass # the clock has an end, and says so
            h.pread(4096, 0)


def test_faults_on_purpose():
    # ssd-page has SLC with one bit in 512 bytes, 64 pages a block, and one spare a die here
    with Server("ssd-page", "clock=virtual", "faults.spare_blocks=4") as s:
        h = s.connect()
        h.pwrite(b"a" * 4096, 0)
        page = next(p for p in (0, 64, 128, 192) if s.ctl("flip", str(p), "1")["ok"])
        assert h.pread(4096, 0) == b"a" * 4096
        stats = s.stats()
        assert stats["ecc"] == {"corrected": 2, "uncorrectable": 0}  # read, and refreshed
        # the block has moved, and is a spare
        has_all(s.ctl("flip", str(page), "2")["error"], "is erased")
        assert s.ctl("mark-bad", "7")["ok"]
        has_all(s.ctl("mark-bad", "7")["error"], "block 7: is bad already")
        for words, last in ((["mark-bad", "4096"], 4095), (["mark-bad", "4294967295"], 4095),
                            (["wear", "4096", "1"], 4095), (["flip", "262144", "1"], 262143)):
            has_all(s.ctl(*words)["error"],
                    "^%s: %s: is out of range; allowed: 0 to %d$" % (*words[:2], last))
        has_all(s.ctl("mark-bad", "x")["error"], "^mark-bad: x:")
        code, out, err = call("ctl", s.control, "mark-bad", "-7")
        assert code == 1 and err == "", (code, out, err)
        has_all(out, "mark-bad: -7:")
        assert s.stats()["bad_blocks"] == {"factory": 0, "grown": 1}
        has_all(s.ctl("flip", "0", "0")["error"], "^flip: 0: is out of range; allowed: 1 to 65533$")
        for command in ("hang", "disconnect"):
            has_all(s.ctl(command, "0")["error"],
                    "^%s 0: changes nothing; allowed: 1ns and more" % command)
            has_all(s.ctl(command, str(2**62 + 1) + "ns")["error"],
                    "^%s %dns: is longer than 146 years$" % (command, 2**62 + 1))
        assert s.ctl("wear", "9", "123")["ok"]
        assert s.stats()["wear"]["max"] == 123
        before = s.stats()["device_ns"]
        assert s.ctl("hang", "30s")["ok"]
        h.pread(4096, 0)
        assert s.stats()["device_ns"] - before >= 30 * 10**9
        # several long hangs must not carry the clock past what a reply can say
        for i in range(2):
            assert s.ctl("hang", "1200000000s")["ok"] == (i == 0)
            h.pread(4096, 0)
        has_all(s.ctl("hang", "2400000000s")["error"], "the device's clock would pass 73 years")
        assert 0 < s.stats()["device_ns"] < 2**62
        assert s.ctl("disconnect")["ok"] # without a time: until `connect`
        assert s.ctl("idle", "1s")["ok"]
        with fails(errno.ESHUTDOWN):
            h.pread(4096, 0)
        assert s.ctl("connect")["ok"]
        assert h.pread(4096, 0) == b"a" * 4096


def test_unknown_commands_and_wrong_arguments():
    with Server("ideal") as s:
        for cmd, args, *parts in (("nosuch", [], "nosuch", "stats metrics health map reset set get idle quit"),
                                  ("set", ["a"], "got 1 arg", "usage: set KEY VALUE"),
                                  ("stats", ["x"], "got 1 arg"), ("get", [], "get KEY"),
                                  ("idle", ["1s", "2s"], "idle TIME")):
            reply = s.ctl(cmd, *args)
            assert not reply["ok"]
            has_all(reply["error"], *parts)


def test_quit():
    with Server("ideal") as s:
        assert s.ctl("quit") == {"ok": True}
        assert s.wait() == 0
        assert not os.path.exists(s.control)


def test_quit_without_waiting_for_the_reply():
    with Server("ideal") as s:
        with Ctl(s.control) as c:
            c.send(b'{"cmd":"quit"}\n')
        assert s.wait() == 0


# ---- manners ----

def test_garbage_gets_an_answer_and_the_connection_lives():
    garbage = [b"", b"garbage", b"{", b"[]", b"3", b"null", b"{}", b'{"cmd":3}', b'{"cmd":null}',
               b'{"cmd":"stats","cmd":"stats"}', b'{"cmd":"get","args":"x"}',
               b'{"cmd":"get","args":[null]}', b'{"cmd":"get","args":[["x"]]}',
               b'{"cmd":"get","args":[1,2,3,4,5,6,7,8,9]}', b'{"cmd":"stats","more":1}',
               b'{"cmd":"a\\u0000b"}', b"\xff\xfe\x00", b'{"cmd":"\xff"}', b"\0" * 100,
               b"[" * 30000, b'{"cmd":"' + b"x" * 60000 + b'"}', b'{"cmd":"\\ud83d"}',
               b'{"cmd":"' + "\u00e9".encode() * 1000 + b'"}', b"\r"]
    with Server("ideal") as s, Ctl(s.control) as c:
        for g in garbage:
            c.send(g + b"\n")
            reply = c.line()
            assert reply["ok"] is False and reply["error"], (g[:40], reply)
            assert len(reply["error"]) < 500
        assert c.ask("stats")["ok"]


def test_line_of_the_largest_length_and_one_more():
    with Server("ideal") as s:
        with Ctl(s.control) as c:
            line = b'{"cmd":"stats"}'
            c.send(line + b" " * (65536 - len(line)) + b"\n")
            assert c.line()["ok"]
            c.send(b" " * 65537 + b"\n")
            reply = c.line()
            assert not reply["ok"]
            has_all(reply["error"], "too long", "65536")
            assert c.line() is None # and the end
        with Ctl(s.control) as c: # without end, and far too long
            try:
                for _ in range(100):
                    c.send(b"x" * 65536)
            except (BrokenPipeError, ConnectionResetError):
                pass
        assert s.stats()["ok"]


def test_lines_in_pieces_and_several_at_once():
    with Server("ideal") as s, Ctl(s.control) as c:
        for byte in b'{"cmd":"get","args":["clock"]}\n':
            c.send(bytes([byte]))
        assert c.line()["value"] == "real"
        c.send(b'{"cmd":"get","args":["clock"]}\n' * 500 + b'{"cmd":"reset"}')
        for _ in range(500):
            assert c.line()["value"] == "real"
        c.sock.shutdown(socket.SHUT_WR) # the last line lacks its newline
        assert c.line() == {"ok": True}
        assert c.line() is None


def test_many_clients():
    with Server("ideal") as s:
        clients = [Ctl(s.control) for _ in range(40)]
        for c in clients:
            c.send(b'{"cmd":"stats"}\n')
        for c in reversed(clients):
            assert c.line()["ok"]
        for c in clients:
            c.close()
        assert s.stats()["ok"]


def test_too_many_clients_are_told():
    with Server("ideal") as s:
        clients = [Ctl(s.control) for _ in range(64)]
        for c in clients:
            assert c.ask("reset")["ok"]
        with Ctl(s.control) as c:
            has_all(c.line()["error"], "^too many clients; allowed: 64$")
            assert c.line() is None
        waiting = []
        for _ in range(100): # more than there are places, and they have said something already
            c = Ctl(s.control)
            c.send(b'{"cmd":"reset"}\n')
            has_all(c.line()["error"], "too many clients")
            assert c.line() is None
            waiting.append(c)
        code, out, err = call("ctl", s.control, "stats")
        assert code == 1 and err == "" and "too many clients" in out, (code, out, err)
        for c in waiting:
            c.close()
        clients.pop().close()
        end = time.monotonic() + 60
        while True: # the freed place is found in the server's next round
            with Ctl(s.control) as c:
                try:
                    if c.ask("reset")["ok"]:
                        break
                except (BrokenPipeError, ConnectionResetError):
                    pass
            assert time.monotonic() < end
        for c in clients:
            c.close()


def test_clients_that_do_not_read_block_nobody():
    with Server("ideal") as s:
        deaf = []
        for _ in range(8):
            c = Ctl(s.control)
            c.sock.setblocking(False)
            try:
                while True: # until the kernel takes no more: the server has stopped reading
                    c.send(b'{"cmd":"stats"}\n' * 100)
            except BlockingIOError:
                pass
            deaf.append(c)
        for _ in range(50):
            assert s.stats()["ok"]
        h = s.connect()
        h.pread(512, 0)
        h.shutdown() # nbdkit waits for its clients
        start = cpu_ticks(s.proc.pid)
        time.sleep(0.5)
        assert cpu_ticks(s.proc.pid) - start < 40, "the server spins" # of 50
        assert s.terminate() == 0
        for c in deaf:
            c.close()


def cpu_ticks(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def test_idle_clients_cost_nothing():
    with Server("ideal") as s:
        clients = [Ctl(s.control) for _ in range(10)]
        assert clients[0].ask("reset")["ok"]
        half = Ctl(s.control)
        half.send(b'{"cmd":"sta')
        gone = Ctl(s.control)
        gone.sock.shutdown(socket.SHUT_RD)
        start = cpu_ticks(s.proc.pid)
        time.sleep(0.5)
        assert cpu_ticks(s.proc.pid) - start < 40, "the server spins"
        for c in clients + [half, gone]:
            c.close()


def test_statistics_under_load():
    """Every reply is whole and consistent while several clients write."""
    with Server("ideal", "size=16M") as s:
        stop = threading.Event()
        def writer(i):
            h = s.connect()
            while not stop.is_set():
                h.pwrite(bytes(4096), 4096 * i)
        threads = [threading.Thread(target=writer, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        last = 0
        with Ctl(s.control) as c:
            for i in range(200):
                st = c.ask("stats")
                n = st["host"]["write"]
                assert n["bytes"] == 4096 * n["ops"] == 4096 * st["latency_ns"]["write"]["count"]
                assert n["ops"] >= last
                last = n["ops"]
                if i % 50 == 49:
                    assert c.ask("reset")["ok"]
                    last = 0
        stop.set()
        for t in threads:
            t.join()


def test_a_client_that_was_told_to_go_may_not_send_forever():
    with Server("ideal") as s:
        with Ctl(s.control) as c:
            c.sock.settimeout(10)
            sent = 0
            try:
                while sent < 64 << 20:
                    sent += c.sock.send(b"x" * 65536)
            except (BrokenPipeError, ConnectionResetError):
                pass
            assert sent < 64 << 20, sent


def test_commands_leave_nothing_behind():
    """The server's memory and files after many commands are what they were after a few."""
    commands = [["stats"], ["metrics"], ["get", "time-scale"], ["set", "time-scale", "1"],
                ["reset"], ["nosuch"], ["get", "nosuch"], ["mark-bad", "x"], ["idle", "1ns"],
                ["power-cut", "now"], ["flip", "0", "x"], ["hang", "1ns"]]

    def state(pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            data = next(int(line.split()[1]) for line in f if line.startswith("VmData:"))
        return data, len(os.listdir(f"/proc/{pid}/fd"))

    def ask(s, rounds):
        for _ in range(rounds):
            with Ctl(s.control) as c:
                for command in commands:
                    c.ask(*command)

    with Server("ideal") as s:
        ask(s, 20)
        before_kib, before_files = state(s.proc.pid)
        ask(s, 400)
        after_kib, after_files = state(s.proc.pid)
        assert after_files < before_files + 20, (before_files, after_files)
        assert after_kib - before_kib < 1024, (before_kib, after_kib)


def test_numbers_do_not_follow_the_locale():
    os.environ["LC_ALL"] = "de_DE.UTF-8"
    try:
        with Server("ssd-page", "clock=virtual") as s:
            s.connect().pwrite(bytes(512), 0)
            with Ctl(s.control) as c:
                c.send(b'{"cmd":"stats"}\n')
                data = b""
                while not data.endswith(b"\n"):
                    data += c.sock.recv(65536)
            assert json.loads(data)["ftl"]["waf"] == 8.0, data
            assert b'"waf":8.0' in data, data
    finally:
        del os.environ["LC_ALL"]


run(globals())
