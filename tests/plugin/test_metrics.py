#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The OpenMetrics text of the control socket: what Prometheus reads is what `stats` says."""

import os
import random
import tempfile

from flashemu_server import Server, run
from flashemu_tool import call

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
except ImportError:
    print("python3-prometheus-client is missing")
    raise SystemExit(77) from None

KIB = 1024


def metrics(server):
    """The text as it comes."""
    code, out, err = call("ctl", server.control, "metrics")
    assert code == 0 and err == "", err
    assert out.endswith("# EOF\n"), out[-80:]
    return out


def samples(text):
    """{(sample's name, frozen labels): value}; the parser refuses what is no OpenMetrics."""
    found = {}
    for family in parse(text):
        assert family.name.startswith("flashemu_") and family.documentation, family
        for s in family.samples:
            key = (s.name.removeprefix("flashemu_"), frozenset(s.labels.items()))
            assert key not in found, key
            found[key] = s.value
    return found


def get(found, name, **labels):
    return found[name, frozenset(labels.items())]


def work(server):
    h = server.connect()
    for i in range(40):
        h.pwrite(bytes(4 * KIB), i * 1024 * KIB)
    h.pwrite(bytes(256 * KIB), 0)
    h.pread(64 * KIB, 0)
    h.flush()


def test_the_numbers_are_those_of_stats():
    with Server("transcend8g", "cache.size=64K", "cache.volatile=yes", "clock=virtual", "seed=7") as s:
        work(s)
        stats, found = s.stats(), samples(metrics(s))
        host, nand, ftl = stats["host"], stats["nand"], stats["ftl"]
        for kind in ("read", "write", "trim", "flush"):
            assert get(found, "host_requests_total", type=kind) == host[kind]["ops"], kind
        for kind in ("read", "write", "trim"):
            assert get(found, "host_bytes_total", type=kind) == host[kind]["bytes"], kind
        assert host["write"]["ops"] == 41 and host["read"]["bytes"] == 64 * KIB
        for name, key in (("page_read", "page_reads"), ("page_program", "page_programs"),
                          ("block_erase", "block_erases")):
            assert get(found, "nand_operations_total", operation=name) == nand[key] > 0, name
        assert get(found, "nand_programmed_bytes_total") == nand["bytes_programmed"]
        assert abs(get(found, "write_amplification_ratio") - ftl["waf"]) < 1e-6
        for kind in ("switch", "partial", "full"):
            assert get(found, "ftl_merges_total", kind=kind) == ftl["merges"][kind], kind
        assert sum(ftl["merges"].values()) > 0
        assert get(found, "ftl_copied_pages_total") == ftl["pages_copied"] > 0
        assert get(found, "ftl_free_blocks") == ftl["free_blocks"]
        for name in ("min", "mean", "max", "stddev"):
            assert abs(get(found, "wear_cycles", statistic=name) - stats["wear"][name]) < 1e-6
        assert abs(get(found, "device_time_seconds_total") * 1e9 - stats["device_ns"]) < 100
        assert abs(get(found, "busy_time_seconds_total") * 1e9 - stats["busy_ns"]) < 100
        assert get(found, "server_info", version=stats["version"], profile="transcend8g",
                   clock="virtual", seed="7") == 1


def test_the_enhanced_area():
    chip = ("ssd-page", "nand.cell=mlc", "nand.tPROG=300us/900us", "nand.blocks_per_plane=16",
            "ftl.op=60%", "clock=virtual")
    with Server(*chip, "ftl.enhanced_size=64K") as s:
        h = s.connect()
        for i in range(3000):
            h.pwrite(bytes(4096), 4096 * (i % 16))
        stats, found = s.stats()["wear"]["enhanced"], samples(metrics(s))
        assert stats["max"] > 0
        for name in ("min", "mean", "max", "stddev"):
            is_ = get(found, "enhanced_wear_cycles", statistic=name)
            assert abs(is_ - stats[name]) < 1e-6, name
    with Server(*chip) as s:
        assert "enhanced" not in s.stats()["wear"]
        assert "enhanced" not in metrics(s)


def test_the_mapping_cache():
    with Server("ssd-page", "ftl.type=dftl", "ftl.map_cache=512", "nand.blocks_per_plane=16",
                "size=9M", "clock=virtual") as s:
        h, draw = s.connect(), random.Random(1)
        for _ in range(5000):  # cleaning writes parts of the table, too
            h.pwrite(bytes(4096), 4096 * draw.randrange(2300))
        stats, found = s.stats()["ftl"]["map"], samples(metrics(s))
        assert stats["writes"] > stats["evictions"] > 0 < stats["reads"], stats
        for result, key in ("hit", "hits"), ("miss", "misses"):
            assert get(found, "ftl_map_lookups_total", result=result) == stats[key], key
        for operation, key in ("read", "reads"), ("write", "writes"), ("evict", "evictions"):
            assert get(found, "ftl_map_pages_total", operation=operation) == stats[key], key


def test_histograms():
    with Server("transcend8g", "cache.size=64K", "cache.volatile=yes", "clock=virtual") as s:
        work(s)
        stats, found = s.stats()["latency_ns"], samples(metrics(s))
        for kind in ("read", "write", "flush"):
            buckets = sorted((float(dict(k[1])["le"]), v) for k, v in found.items()
                             if k[0] == "request_duration_seconds_bucket"
                             and dict(k[1])["type"] == kind)
            assert buckets[-1] == (float("inf"), stats[kind]["count"]), kind
            assert [v for _, v in buckets] == sorted(v for _, v in buckets)
            below = max((le for le, v in buckets if v < stats[kind]["count"]), default=0)
            top = min(le for le, v in buckets if v == stats[kind]["count"])
            assert below * 1e9 < stats[kind]["max"] <= top * 1e9 + 1, (kind, below, top)
            total = get(found, "request_duration_seconds_sum", type=kind)
            assert abs(total * 1e9 - stats[kind]["mean"] * stats[kind]["count"]) < 1e4, kind
        assert get(found, "commit_duration_seconds_count") == stats["commit"]["count"] > 0
        total = get(found, "commit_duration_seconds_sum")
        assert abs(total * 1e9 - stats["commit"]["mean"] * stats["commit"]["count"]) < 1e4
        assert get(found, "lateness_seconds_count") == s.stats()["lateness_ns"]["count"]
        assert get(found, "late") == 0 # not 1000 requests yet


def test_before_the_first_write():
    with Server("ideal") as s:
        found = samples(metrics(s))
        assert not any(name == "write_amplification_ratio" for name, _ in found)


def test_states():
    with Server("transcend8g", "clock=virtual") as s:
        def states():
            return {dict(k[1])["flashemu_state"]: v for k, v in samples(metrics(s)).items()
                    if k[0] == "state"}
        assert [k for k, v in states().items() if v] == ["alive"] and len(states()) == 6
        assert call("ctl", s.control, "power-cut")[0] == 0
        assert [k for k, v in states().items() if v] == ["no-power"]
        assert get(samples(metrics(s)), "power_on") == 0
        assert get(samples(metrics(s)), "power_cuts_total") == 1


def test_a_profile_with_an_odd_name():
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        path = os.path.join(folder, 'a"b\\c.ini')
        code, text, err = call("show", "ideal")
        assert code == 0, err
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        with Server("profile=" + path) as s:
            info = [dict(k[1]) for k in samples(metrics(s)) if k[0] == "server_info"]
            assert info[0]["profile"] == s.stats()["profile"], info
            assert '"' in info[0]["profile"] and "\\" in info[0]["profile"], info
            assert 'profile="a\\"b\\\\c"' in metrics(s)


def test_another_locale():
    os.environ["LC_ALL"] = "de_DE.UTF-8"
    try:
        with Server("ssd-page", "clock=virtual") as s:
            s.connect().pwrite(bytes(512), 0)
            assert get(samples(metrics(s)), "write_amplification_ratio") == 8
    finally:
        del os.environ["LC_ALL"]


def test_raw_is_a_line_of_json():
    with Server("ideal") as s:
        code, out, err = call("ctl", "--raw", s.control, "metrics")
        assert code == 0 and out.count("\n") == 1 and out.startswith('{"ok":true,"text":"# TYPE')


run(globals())
