#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of the server: what is taken, and how what is wrong is refused: one line
that names the key, the value and what is allowed."""

import os
import re
import subprocess
import tempfile
import time

from flashemu_server import Ctl, NBDKIT, PLUGIN, Server, has_all, refused, run, run_nbdkit

PARAMETERS = ["profile", "size", "clock", "time-scale", "transport-overhead", "delay", "spin",
              "seed", "control", "file", "sync", "trace", "extents", "flush", "exports"]


MAN = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                   "../../docs/man/nbdkit-flashemu-plugin.1")


def manual(section):
    """The lines of a section of the plugin's manual page."""
    with open(MAN) as f:
        text = f.read()
    return text.split("\n.Sh %s\n" % section)[1].split("\n.Sh ")[0]


def test_debug_layers_are_documented():
    """nbdkit finds a layer by the name of its variable in the plugin."""
    with open(PLUGIN, "rb") as f:
        there = set(re.findall(rb"\0flashemu_debug_([a-z_]+)(?=\0)", f.read()))
    documented = set(re.findall(r"\n\.It Cm flashemu\.([a-z_]+)", manual("DEBUGGING")))
    assert documented == {name.decode() for name in there} != set(), (documented, there)
    for layer, line in (("request", "request: read offset 0 len 512 "), ("nand", "nand: prog ppn "),
                        ("control", 'control: request {"cmd": "stats"}')):
        documented.remove(layer)
        with Server("ssd-page", options=("-v", "-D", "flashemu.%s=1" % layer)) as s:
            h = s.connect()
            h.pwrite(bytes(4096), 0)
            h.pread(512, 0)
            s.stats()
            assert line in s.text(), (layer, s.text())
    assert not documented # each of them was tried


def test_the_wire_form_is_documented():
    text = manual("CONTROL SOCKET")
    words = set(re.findall(r"[a-z_-]+", text))
    with Server("ideal") as s:
        commands = s.ctl("nosuch")["error"].split("there are: ")[1].split()
        missing = set(commands + list(s.stats())) - words
        assert len(commands) > 10 and not missing, missing
    for number in ("65536 bytes", "64 clients", "1024 events", "at most 8"):
        assert number in text.replace("\n", " "), number


def test_profile_is_required_and_the_message_lists_them():
    has_all(refused(), "profile=", "required", "ideal", "ssd-page")


def test_unknown_profile():
    has_all(refused("nosuchstick"), "nosuchstick", "ideal")


def test_what_was_meant():
    """Of a parameter, and of those values that are words."""
    for words, meant in ((["clokc=real"], "clock"), (["timescale=1"], "time-scale"),
                         (["clock=rael"], "real"), (["extents=noo"], "no"),
                         (["delay=nanoslep"], "nanosleep"), (["flush=alwys"], "always"),
                         (["exports=onw"], "own"), (["file=x", "sync=flsh"], "flush")):
        has_all(refused("ideal", *words), re.escape("did you mean %s?" % meant))
    assert "did you mean" not in refused("ideal", "clock=x")
    with Server("ideal") as s:
        for words, meant in ((["stast"], "stats"), (["poweron"], "power-on"),
                             (["get", "clokc"], "clock"), (["set", "timescale", "1"], "time-scale"),
                             (["get", "ftl.tpye"], "ftl.type"),
                             (["set", "faults.lie", "flush-lat"], "flush-late")):
            error = s.ctl(*words)["error"]
            assert "did you mean %s?" % meant in error, error
        for words in (["xyzzy"], ["get", "xyzzy"], ["set", "clock", "virtual"]):
            error = s.ctl(*words)["error"]
            assert "did you mean" not in error, error


def test_other_names():
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "t")
        with Server("ssd-page", "clock=real", "time_scale=0.5", "transport_overhead=1us",
                    "record=" + trace, "record_data=" + trace + ".data",
                    "ftl.gc-policy=fifo") as s:
            assert s.ctl("get", "time-scale")["value"] == s.ctl("get", "time_scale")["value"] == "0.5"
            assert s.ctl("get", "ftl.gc_policy")["value"] == "fifo"
            assert s.ctl("power_cut")["ok"] and s.ctl("power-on")["ok"]
            assert s.stats()["trace"]["file"] == trace and os.path.exists(trace + ".data")
        has_all(refused("ideal", "trace=" + trace, "record=" + trace), "given twice, allowed once")
        has_all(refused("ideal", "ftl.gc-policy=fifo", "ftl.gc_policy=fifo"), "given twice")


def test_profile_is_the_magic_key():
    for param in ("ideal", "profile=ideal"):
        with Server(param) as s:
            assert s.stats()["profile"] == "ideal"


def test_duplicates():
    good = {"profile": "ideal", "size": "1M", "clock": "real", "time-scale": "1",
            "transport-overhead": "0", "delay": "auto", "spin": "auto", "seed": "1",
            "control": "/nonexistent/socket", "file": "/nonexistent/image", "sync": "flush",
            "trace": "/nonexistent/trace", "extents": "no", "flush": "always", "exports": "own"}
    assert set(good) == set(PARAMETERS)
    for key, value in good.items():
        twice = ["%s=%s" % (key, value)] * 2
        has_all(refused(*(["ideal"] if key != "profile" else []), *twice),
                "^" + key + "=", "twice")
    has_all(refused("ideal", "ftl.op=7%", "ftl.op=8%"), "^ftl.op=8%", "twice")
    has_all(refused("ideal", "size=1M", "device.capacity=1M"), "^size=1M", "device.capacity")


def test_a_path_belongs_to_one_parameter():
    """Nothing is made before that is known."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x")
        for first, second in (("file", "trace"), ("trace", "trace-data"), ("trace", "control"),
                              ("file", "control")):
            more = [f"trace={path}2"] if second == "trace-data" and first != "trace" else []
            has_all(refused("ideal", f"{second}={path}", f"{first}={path}", *more),
                    f"^{second}={re.escape(path)}: is {first}= as well; allowed: a path of its own$")
        assert os.listdir(folder) == []


def test_parameters_that_do_nothing_are_named():
    with Server("ideal", "clock=virtual", "spin=off", "time-scale=2", "sync=none", "delay=auto",
                "transport-overhead=1us", "trace-data=no") as s:
        virtual = ["%s does nothing with clock=virtual" % key
                   for key in ("time-scale", "transport-overhead", "delay", "spin")]
        has_all(s.text(), "note: " + ", ".join(virtual) + ", sync does nothing with no file=PATH, "
                "trace-data does nothing with no trace=FILE\n")
        assert s.text().count("note: ") == 1
    with Server("ideal", "spin=off", "time-scale=2", "transport-overhead=1us") as s:
        assert "note: " not in s.text()


def test_unknown_parameters():
    for key in ("traces", "nosuch", "Profile"):
        has_all(refused("ideal", key + "=x"), "^%s=x" % key, "unknown", *PARAMETERS)


def test_wrong_values():
    for param, *allowed in (
            ("file=", "path"), ("sync=", "flush or none"), ("sync=yes", "flush or none"),
            ("clock=", "real", "virtual"), ("clock=Real", "real", "virtual"),
            ("time-scale=", "0.0001", "10000"), ("time-scale=0", "0.0001", "10000"),
            ("time-scale=-1", "10000"), ("time-scale=1e3", "10000"), ("time-scale=1.", "10000"),
            ("time-scale=.", "10000"), ("time-scale=10000.1", "10000"), ("time-scale=0,5", "10000"),
            ("time-scale=0.00009", "10000"), ("time-scale=1.0000000001", "10000"),
            ("time-scale=nan", "10000"), ("time-scale= 1", "10000"),
            ("time-scale=99999999999999999999999", "10000"),
            ("transport-overhead=5", "ns us ms s", "0 to 1s"),
            ("transport-overhead=2s", "0 to 1s"), ("transport-overhead=-1us", "0 to 1s"),
            ("transport-overhead=", "0 to 1s"),
            ("delay=uring", "auto", "io_uring", "nanosleep"),
            ("spin=yes", "auto", "off", "100ms"), ("spin=1s", "auto", "off", "100ms"),
            ("seed=", "2.64"), ("seed=-1", "2.64"), ("seed=x", "2.64"),
            ("seed=18446744073709551616", "2.64"),
            ("size=", "8G"), ("size=x", "8G"), ("size=-1", "8G"), ("size=0", "sector"),
            ("size=1000", "device.sector_size", "512"), ("size=99999999999999999999", "8G"),
            ("control=", "Unix socket"), ("trace=", "path of the trace")):
        key, value = param.split("=", 1)
        has_all(refused("ideal", param), "^%s=%s" % (key, value.replace("+", ".")), *allowed)


def test_size_beyond_the_chip():
    has_all(refused("transcend8g", "size=1T"), "^size=1T: ", "offer at most [0-9]+")


def test_long_and_hostile_values_stay_on_one_line():
    line = refused("ideal", "clock=" + "x" * 5000)
    assert len(line) < 400
    has_all(line, "^clock=xxx", "real or virtual")
    has_all(refused("ideal", "clock=a\nb\x1b[31m"), "^clock=a.b", "real or virtual")
    has_all(refused("ideal", "clock=\xff"), "real or virtual")


def test_overrides_are_judged_by_the_option_table():
    has_all(refused("ideal", "nosuch.key=1"), "nosuch.key")
    has_all(refused("ideal", "nand.nosuch=1"), "nand.nosuch=1")
    has_all(refused("ideal", "nand.tPROG=5"), "nand.tPROG=5", "ns, us, ms or s")
    has_all(refused("ideal", "ftl.type=magic"), "ftl.type=magic", "page")


def test_keys_that_the_strategy_does_not_use():
    has_all(refused("ideal", "ftl.type=segment", "device.discard=no", "ftl.gc_d=5"),
            "^ftl.gc_d=5: has no effect with ftl.type=segment; used by: page")
    with Server("transcend8g", "ftl.type=page", "clock=virtual") as s:
        has_all(s.text(), "note: ftl.type=page does not use these keys of profile transcend8g: "
                "ftl.copy_buffer .*ftl.open_linear")
        assert s.text().count("note: ") == 1
        has_all(s.ctl("set", "ftl.unit_read", "1ms")["error"],
                "^ftl.unit_read=1ms: has no effect with ftl.type=page; used by: segment")


def test_overrides_come_after_the_profile_in_any_order():
    for params in (("nand.tPROG=123us", "ideal"), ("ideal", "nand.tPROG=123us")):
        with Server(*params) as s:
            assert s.ctl("get", "nand.tPROG")["value"] == "123us"


def test_profile_from_a_file_and_from_the_search_path():
    text = run_nbdkit(PLUGIN, "--dump-plugin")[1]
    assert "flashemu_profile=ideal\n" in text
    ini = ("[device]\ncapacity = 4M\n[nand]\ncell = slc\npages_per_block = 32\npage_size = 2K\n"
           "tR = 0\ntPROG = 0\ntBERS = 0\n[ftl]\ntype = page\n")
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        path = os.path.join(folder, "mine.ini")
        with open(path, "w") as f:
            f.write(ini)
        with Server("profile=" + path, control=False) as s:
            assert s.connect().get_size() == 4 << 20
        os.environ["FLASHEMU_PATH"] = "/nonexistent:" + folder
        try:
            with Server("mine", control=False) as s:
                assert s.connect().get_size() == 4 << 20
        finally:
            del os.environ["FLASHEMU_PATH"]
        with open(path, "a") as f:
            f.write("tipe = page\n")
        has_all(refused(path), "mine.ini:12: ", "tipe")
        has_all(refused(folder + "/none.ini"), "none.ini", "No such file")


def test_relative_paths_survive_going_into_the_background():
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        pid_file = os.path.join(folder, "pid")
        subprocess.run([NBDKIT, "-U", "nbd", "-P", pid_file, PLUGIN, "transcend8g", "control=ctl"],
                       cwd=folder, check=True, stdin=subprocess.DEVNULL)
        pid = read_pid(pid_file) # the server writes it after it has gone
        try:
            assert os.path.exists(os.path.join(folder, "ctl"))
            with Ctl(os.path.join(folder, "ctl")) as c:
                assert c.ask("stats")["ok"]
                assert c.ask("quit")["ok"]
            pid_gone(pid)
            assert not os.path.exists(os.path.join(folder, "ctl"))
        finally:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass


def read_pid(path):
    for _ in range(1000):
        if os.path.exists(path):
            with open(path) as f:
                text = f.read()
            if text.endswith("\n"):
                return int(text)
        time.sleep(0.01)
    raise AssertionError("no file with the process id")


def pid_gone(pid):
    for _ in range(1000):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        with open("/proc/%d/stat" % pid) as f:
            if f.read().rsplit(")", 1)[1].split()[0] == "Z":
                return
        time.sleep(0.01)
    raise AssertionError("still running")


def test_good_values():
    with Server("ideal", "size=1M", "clock=real", "time-scale=0.5", "transport-overhead=85us",
                "delay=nanosleep", "spin=10us", "seed=18446744073709551615") as s:
        assert s.connect().get_size() == 1 << 20
        assert s.ctl("get", "time-scale")["value"] == "0.5"
        assert s.ctl("get", "transport-overhead")["value"] == "85us"
        assert s.ctl("get", "clock")["value"] == "real"
        assert s.ctl("get", "device.capacity")["value"] == "1M"
    for params in (["spin=off"], ["spin=auto", "delay=auto"], ["clock=virtual"],
                   ["time-scale=10000"], ["time-scale=0.0001"]):
        with Server("ideal", *params) as s:
            s.connect().pwrite(bytes(4096), 0)


def test_dump_plugin():
    code, out, err = run_nbdkit(PLUGIN, "--dump-plugin")
    assert code == 0 and err == "", err
    lines = out.split("\n")
    for line in ("name=flashemu", "magic_config_key=profile", "max_thread_model=parallel",
                 "thread_model=parallel", "flashemu_profile=ideal", "flashemu_profile=ssd-page",
                 "flashemu_delay=nanosleep"):
        assert line in lines, line
    assert [x for x in lines if x.startswith("flashemu_version=")], out
    assert [x for x in lines if x.startswith("flashemu_features=")], out


def test_help():
    code, out, err = run_nbdkit(PLUGIN, "--help")
    assert code == 0 and err == "", err
    for key in PARAMETERS + ["SECTION.KEY"]:
        assert "\n" + key + "=" in out, key


def test_debug_layers():
    with Server("ideal", options=["-v", "-D", "flashemu.request=1", "-D", "flashemu.nand=1",
                                  "-D", "flashemu.control=1"]) as s:
        s.connect().pwrite(bytes(4096), 8192)
        s.stats()
        has_all(s.text(), "request: write offset 8192 len 4096", "nand: prog ppn",
                "control: request", "control: reply")


def test_debug_lines_tell_times():
    """In virtual time a request arrives when the one before it has ended."""
    with Server("ideal", "clock=virtual", "link.command_overhead=3us",
                options=["-v", "-D", "flashemu.request=1"]) as s:
        h = s.connect()
        for _ in range(3):
            h.pwrite(bytes(4096), 0)
        text = s.text()
    found = re.findall("write offset 0 len 4096 arrival (\\d+) complete (\\d+) status 0 late 0 ns",
                       text)
    assert found == [("0", "3000"), ("3000", "6000"), ("6000", "9000")], text


run(globals())
