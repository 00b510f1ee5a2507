# SPDX-License-Identifier: BSD-3-Clause
"""What the options of an fio job mean for what was measured.

Every option of fio is of one of three kinds: it is understood and becomes a parameter, or it does
not change what the device has to do, or its job is refused.  So an option of a later fio that
nobody here knows refuses its job instead of being lost.

Numbers are those of fio's parse.c.  With kb_base=1024, its default, k, kb and ki mean 1024, and kib
means 1000; with kb_base=1000, k, kb and ki mean 1000, and kib means 1024.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Mapping

from ..schema import Scalar

OPS = ("read", "write", "trim")
# rw= of fio, without what follows a colon: its directions, and whether the offsets are random.
PATTERNS: Mapping[str, tuple[tuple[str, ...], bool]] = {
    "read": (("read",), False), "write": (("write",), False), "trim": (("trim",), False),
    "rw": (("read", "write"), False), "readwrite": (("read", "write"), False),
    "randread": (("read",), True), "randwrite": (("write",), True), "randtrim": (("trim",), True),
    "randrw": (("read", "write"), True), "trimwrite": (("trim", "write"), False),
    "randtrimwrite": (("trim", "write"), True)}

_ALIASES = {"readwrite": "rw", "blocksize": "bs", "blocksize_range": "bsrange",
            "bs_range": "bsrange", "blocksize_unaligned": "bs_unaligned", "blockalign": "ba",
            "io_limit": "io_size", "timeout": "runtime", "start_delay": "startdelay",
            "iodepth_batch_submit": "iodepth_batch", "wait_for_previous": "stonewall",
            "nr_files": "nrfiles", "rwmixcycle": "rwmixread", "fill_fs": "fill_device"}

# One request after the other, whatever iodepth says (FIO_SYNCIO); the last ones map files.
_ONE_BY_ONE = ("sync", "psync", "vsync", "pvsync", "pvsync2", "splice", "mmap")
MAPPED = ("splice", "mmap")
_IN_FLIGHT = ("libaio", "io_uring", "io_uring_cmd", "posixaio", "windowsaio", "solarisaio", "sg",
              "nbd", "xnvme", "libblkio", "guasi")

_UNDERSTOOD = frozenset(
    "rw bs bsrange bssplit ioengine iodepth direct buffered size filesize io_size number_ios "
    "offset fsync fdatasync sync end_fsync fsync_on_close rate rate_iops numjobs filename "
    "random_distribution percentage_random kb_base nrfiles offset_increment thinktime verify "
    "do_verify stonewall wait_for startdelay ba latency_target iodepth_batch "
    "iodepth_batch_complete_min iodepth_batch_complete_max iodepth_low rw_sequencer zonemode "
    "sync_file_range unified_rw_reporting write_barrier flow read_iolog".split())

# What these say does not reach the device, or only before or behind what is measured.
_HARMLESS = frozenset(
    "description name lockfile directory filename_format unique_filename opendir randrepeat "
    "allrandrepeat randseed norandommap softrandommap ignore_error random_generator "
    "file_service_type openfiles fallocate fadvise_hint fadvise overwrite loops runtime time_based "
    "ramp_time clocksource mem iomem mem_align iomem_align write_iolog exec_prerun exec_postrun "
    "ioscheduler lockmem rwmixread rwmixwrite nice prio prioclass priolevel cmdprio_percentage "
    "cmdprio_class cmdprio rate_min rate_iops_min rate_process rate_cycle max_latency "
    "latency_window latency_percentile latency_run invalidate write_hint create_serialize "
    "create_fsync create_on_open create_only allow_file_create allow_mounted_write pre_read "
    "cpumask cpus_allowed cpus_allowed_policy numa_cpu_nodes numa_mem_policy unlink "
    "unlink_each_loop exitall exit_what exitall_on_error new_group thread per_job_logs "
    "write_bw_log bwavgtime write_lat_log write_iops_log iopsavgtime log_entries log_avg_msec "
    "log_hist_msec log_hist_coarseness write_hist_log log_max_value log_offset log_prio "
    "log_compression log_compression_cpus log_store_compressed log_unix_epoch "
    "log_alternate_epoch log_alternate_epoch_clock_id log_window_value log_issue_time "
    "block_error_percentiles group_reporting stats zero_buffers refill_buffers scramble_buffers "
    "buffer_pattern buffer_compress_percentage buffer_compress_chunk dedupe_percentage "
    "dedupe_mode dedupe_working_set_percentage dedupe_global clat_percentiles lat_percentiles "
    "slat_percentiles percentile_list significant_figures disk_util gtod_reduce disable_lat "
    "disable_clat disable_slat disable_bw_measurement disable_bw gtod_cpu continue_on_error "
    "error_dump uid gid unit_base hugepage-size steadystate steadystate_duration "
    "steadystate_ramp_time steadystate_check_interval ss ss_dur ss_ramp offset_align fill_device "
    "hipri hipri_percentage fixedbufs registerfiles nonvectored sqthread_poll sqthread_poll_cpu "
    "uncached nowait force_async userspace_reap libaio_vectored uri readonly thinktime_spin "
    "thinktime_blocks thinktime_blocks_type thinktime_iotime rate_ignore_thinktime "
    "verify_fatal verify_dump verify_async verify_backlog verify_backlog_batch verify_interval "
    "verify_offset verify_pattern verify_state_save verify_state_load experimental_verify "
    "cgroup cgroup_weight cgroup_nodelete serialize_overlap norandommap "
    "output output-format eta eta-newline eta-interval minimal terse-version aux-path "
    "status-interval max-jobs bandwidth-log append-terse warnings-fatal showcmd idle-prof "
    "daemonize trigger-file inflate-log alloc-size cpuclock-test client".split())
KNOWN = _UNDERSTOOD | _HARMLESS | frozenset(_ALIASES)


class Refused(Exception):
    """The job is left out; the text says why."""


def fio_size(text: str, kb_base: int = 1024) -> int | None:
    """What fio takes a size for; None for anything that is no whole number with a suffix."""
    match = re.fullmatch(r"\s*(\d{1,18}|0[xX][0-9a-fA-F]{1,15})\s*"
                         r"(?:([kmgtp])(i?b?)?|b)?\s*", text, re.I)
    if not match:
        return None
    other = 2024 - kb_base      # 1000 for 1024, and 1024 for 1000
    base = other if (match[3] or "").lower() == "ib" else kb_base
    power = " kmgtp".index(match[2].lower()) if match[2] else 0
    value = int(match[1], 16 if match[1][:2].lower() == "0x" else 10) * base**power
    return value if value < 1 << 62 else None


@dataclass(frozen=True)
class Load:
    """What a job does.

    rw           "read", "write", "trim", "rw" ..., without what follows a colon
    how          parameters that all directions have
    sizes        for each of OPS {"bs": bytes} or {"sizes": a mix}
    rates        for each of OPS the limit in bytes a second, 0 for none
    limit        the options that say so
    processes    numjobs
    alone        the job waits for others or starts later, so its group does not run together
    """

    rw: str
    how: tuple[tuple[str, Scalar], ...]
    sizes: tuple[tuple[str, Scalar], ...]
    rates: tuple[float, ...]
    processes: int
    alone: bool
    limit: str = ""

    @property
    def ops(self) -> tuple[str, ...]:
        return PATTERNS[self.rw][0]


class _Options:
    """Options by their names; a method for each sort of value."""

    def __init__(self, said: Mapping[str, str]) -> None:
        self.said: dict[str, str] = {}
        for key, value in said.items():
            key = _ALIASES.get(key, key)
            if key == "buffered":
                key, value = "direct", "0" if _flag(value) else "1"
            self.said.pop(key, None)
            self.said[key] = value
        self.base = 1000 if self.said.get("kb_base") == "1000" else 1024

    def text(self, key: str, usual: str = "") -> str:
        return self.said.get(key, usual).strip()

    def wrong(self, key: str, why: str = "has no meaning that is known here") -> Refused:
        return Refused(f"{key}={self.said.get(key, '')} {why}")

    def size(self, key: str, usual: int) -> int:
        """A number that is no percentage."""
        text = self.text(key)
        value = fio_size(text, self.base) if text else usual
        if value is None:
            raise self.wrong(key)
        return value

    def each(self, key: str) -> list[str]:
        """A text for reads, writes and TRIMs; one behind the last comma holds for the rest."""
        parts = [part.strip() for part in self.text(key).split(",")]
        return parts + parts[-1:] * (len(OPS) - len(parts))


def _flag(text: str) -> bool:
    return text.strip().lower() not in ("0", "false", "no", "n")


def understood(said: Mapping[str, str]) -> Load:
    """What the options of a job mean; Refused if it cannot be said in a measurement."""
    o = _Options(said)
    for key, value in o.said.items():
        if "$" in value and key in _UNDERSTOOD:
            raise o.wrong(key, "is a variable")
        if key not in _UNDERSTOOD and key not in _HARMLESS:
            raise o.wrong(key, "may change the load, and nothing here knows how")
    _refuse(o)
    rw, _, more = o.text("rw", "read").partition(":")
    if rw not in PATTERNS:
        raise o.wrong("rw")
    how: dict[str, Scalar] = {"pattern": "random" if PATTERNS[rw][1] else "sequential"}
    how.update(_flight(o))
    how.update(_place(o, rw, more))
    if "write" in PATTERNS[rw][0]:
        how.update(_syncs(o))
    sizes = tuple(_sizes(o, i) for i in range(len(OPS)))
    return Load(rw, tuple(how.items()), sizes, _rates(o, sizes), max(o.size("numjobs", 1), 1),
                any(o.text(key, "0") != "0" for key in ("wait_for", "startdelay")),
                " ".join(f"{key}={o.text(key)}" for key in ("rate", "rate_iops") if o.text(key)))


def _refuse(o: _Options) -> None:
    """Refused for options that change the load in a way that no parameter says."""
    usual = {"thinktime": "0", "verify": "0", "iodepth_batch": "1", "iodepth_low": "0",
             "iodepth_batch_complete_min": "1", "iodepth_batch_complete_max": "1",
             "latency_target": "0", "zonemode": "none", "sync_file_range": "0", "nrfiles": "1",
             "unified_rw_reporting": "0", "percentage_random": "100", "read_iolog": "",
             "write_barrier": "", "flow": "0", "rw_sequencer": "sequential"}
    why = {"thinktime": "waits between requests", "verify": "reads back what was written",
           "nrfiles": "is of several files", "unified_rw_reporting": "mixes reads and writes",
           "latency_target": "changes the depth while it runs",
           "zonemode": "leaves out parts of the region",
           "percentage_random": "mixes random and sequential requests",
           "read_iolog": "repeats a log", "sync_file_range": "writes back at its own times"}
    for key, value in usual.items():
        if key in o.said and o.text(key) not in (value, "none" if value == "0" else value):
            if key == "iodepth_batch" and o.text("iodepth", "1") == "1":
                continue
            raise o.wrong(key, why.get(key, "gathers requests before it sends them"))
    if o.text("ba") not in ("", o.text("bs", "4096")):
        raise o.wrong("ba", "moves the requests to other places")
    if o.text("offset_increment", "0") != "0" and o.size("numjobs", 1) > 1:
        raise o.wrong("offset_increment", "gives each process another place")
    if re.search(r"(?<!\\):(?!\\)", o.text("filename")):
        raise o.wrong("filename", "is several files")


def _flight(o: _Options) -> dict[str, Scalar]:
    """How many requests are in flight, and whether past the page cache."""
    windows = "\\\\" in o.text("filename") or re.match(r"[A-Za-z]\\?:\\", o.text("filename"))
    engine = o.text("ioengine", "windowsaio" if windows else "psync").partition(":")[0]
    if engine not in _ONE_BY_ONE + _IN_FLIGHT:
        raise o.wrong("ioengine", "sends no requests to a disk")
    depth = 1 if engine in _ONE_BY_ONE else max(o.size("iodepth", 1), 1)
    direct = "direct" in o.said and _flag(o.text("direct")) and engine not in MAPPED
    return {"depth": depth, "direct": direct}


def _place(o: _Options, rw: str, more: str) -> dict[str, Scalar]:
    """Which part of the device, and which requests of it."""
    how: dict[str, Scalar] = {}
    text = o.text("size") or o.text("filesize")
    if match := re.fullmatch(r"(\d{1,3})(?:\.0*)?%", text):
        if not 0 < int(match[1]) < 100:
            text = ""
        else:
            how["percent"] = int(match[1])
    elif text:
        whole = o.size("size" if o.text("size") else "filesize", 0)
        less = [o.size(key, whole) for key in ("io_size",) if o.text(key, "0") != "0"]
        if not PATTERNS[rw][1]:
            whole = min([whole, *less])
        if whole:
            how["size"] = whole
    if o.text("offset", "0") not in ("0", "0%"):
        if "%" in o.text("offset"):
            raise o.wrong("offset", "is a place on a device whose size is not said")
        how["offset"] = o.size("offset", 0)
    if o.text("filename") and o.size("numjobs", 1) > 1:
        how["shared"] = True
    distribution = o.text("random_distribution", "random")
    if PATTERNS[rw][1] and distribution != "random":
        how["distribution"] = distribution
    if more:
        steps = fio_size(more, o.base)
        if steps is None or (PATTERNS[rw][1] and steps != 1):
            raise o.wrong("rw", "sends some requests in order before each jump")
        if not PATTERNS[rw][1] and steps:
            how["gap"] = steps
    return how


def _syncs(o: _Options) -> dict[str, Scalar]:
    how: dict[str, Scalar] = {}
    for key in ("fsync", "fdatasync"):
        if every := o.size(key, 0):
            how[key] = every
    word = o.text("sync", "0").lower()
    if word not in ("0", "none", "1", "sync", "dsync"):
        raise o.wrong("sync")
    if word not in ("0", "none"):
        how["sync"] = "dsync" if word == "dsync" else "sync"
    if any(key in o.said and _flag(o.text(key)) for key in ("end_fsync", "fsync_on_close")):
        how["end_fsync"] = True
    return how


def _sizes(o: _Options, i: int) -> tuple[str, Scalar]:
    """The size of a direction's requests, or the mix of them."""
    if o.text("bssplit"):
        return _split(o, o.each("bssplit")[i])
    if o.text("bsrange"):
        ends = [fio_size(end, o.base) for end in re.split("[-:]", o.each("bsrange")[i])]
        if len(ends) != 2 or not all(ends):
            raise o.wrong("bsrange")
        if ends[0] == ends[1]:
            return "bs", ends[0] or 0
        return "sizes", f"{ends[0]}-{ends[1]}"
    text = o.each("bs")[i] or "4096"
    bs = fio_size(text, o.base)
    if not bs:
        raise o.wrong("bs")
    return "bs", bs


def _split(o: _Options, text: str) -> tuple[str, Scalar]:
    """Such as "4k/60:64k/40"; without numbers all are equally frequent."""
    parts = []
    for part in text.split(":"):
        size, _, share = part.partition("/")
        bs = fio_size(size, o.base)
        if not bs or not re.fullmatch(r"\d{0,3}", share):
            raise o.wrong("bssplit")
        parts.append(f"{bs}/{share}" if share else str(bs))
    alone = parts[0].partition("/")[0]
    if len(parts) == 1:
        return "bs", int(alone)
    return "sizes", ":".join(parts)


def _rates(o: _Options, sizes: tuple[tuple[str, Scalar], ...]) -> tuple[float, ...]:
    """The limits in bytes a second; -1 if a number of requests a second limits a mix of sizes."""
    found = []
    for i in range(len(OPS)):
        limit = 0.0
        if o.text("rate"):
            text = o.each("rate")[i]
            limit = float(fio_size(text, o.base) or 0) if text else 0.0
            if text and fio_size(text, o.base) is None:
                raise o.wrong("rate")
        if o.text("rate_iops") and o.each("rate_iops")[i]:
            key, bs = sizes[i]
            count = fio_size(o.each("rate_iops")[i], o.base)
            if count is None:
                raise o.wrong("rate_iops")
            limit = count * float(bs) if key == "bs" else -1.0 if count else limit
        found.append(limit)
    return tuple(found)
