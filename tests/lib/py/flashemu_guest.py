# SPDX-License-Identifier: BSD-3-Clause
"""A guest that is no kernel: it speaks vhost-user and the protocol of time travel, one step at a time.

What a kernel would do by itself, the test does on purpose: late, twice, wrong, or not at all.
"""

import json
import mmap
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

from flashemu_script import from_env

VHOST = from_env("FLASHEMU_VHOST")
HANG_S = 60

GET_FEATURES, SET_FEATURES, SET_OWNER, SET_MEM_TABLE = 1, 2, 3, 5
SET_NUM, SET_ADDR, SET_BASE, GET_BASE, SET_KICK, SET_CALL = 8, 9, 10, 11, 12, 13
GET_PROTOCOL, SET_PROTOCOL, GET_QUEUE_NUM, SET_ENABLE = 15, 16, 17, 18
SET_BACKEND, GET_CONFIG, SET_CONFIG, KICK = 21, 24, 25, 35
VERSION, REPLY, NEED_REPLY = 1, 4, 8
IN, OUT, FLUSH, GET_ID, DISCARD, ZEROES = 0, 1, 4, 8, 11, 13
OK, IOERR, UNSUPP = 0, 1, 2
NEXT, WRITE, INDIRECT = 1, 2, 4
PROTOCOL = 1 << 0 | 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14
ACK, START, REQUEST, WAIT, GET, UPDATE, RUN, FREE_UNTIL, GET_TOD, BROADCAST = range(10)
NUM = 64            # descriptors of a ring
RING = 0x4000       # bytes of a ring in memory
DATA = 0x40000      # where data lie
SIZE = 0x400000     # of memory
GUEST = 0x100000    # its first address, for descriptors; for the process it is 0
NEVER = 2**63 - 1


class Device:
    """flashemu-vhost, and the folder of its sockets."""

    def __init__(self, *params, time_travel=False):
        self.folder = tempfile.mkdtemp(prefix="fe")
        self.path = {name: os.path.join(self.folder, name) for name in ("dev", "time", "ctl")}
        argv = [VHOST, *params, "socket=" + self.path["dev"], "control=" + self.path["ctl"]]
        if time_travel:
            argv.append("time=" + self.path["time"])
        self.log = open(os.path.join(self.folder, "log"), "w+")
        self.proc = subprocess.Popen(argv, stderr=self.log, stdin=subprocess.DEVNULL)
        end = time.monotonic() + HANG_S
        while not os.path.exists(self.path["ctl"]):
            if self.proc.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the device did not start: " + self.text())
            time.sleep(0.005)

    def text(self):
        with open(self.log.name) as f:
            return f.read()

    def ask(self, cmd, *args):
        """The answer of its control socket."""
        with self.connect("ctl") as s, s.makefile() as lines:
            s.sendall(json.dumps({"cmd": cmd, "args": args}).encode() + b"\n")
            return json.loads(lines.readline())

    def stats(self):
        return self.ask("stats")

    def connect(self, name):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(HANG_S)
        s.connect(self.path[name])
        return s

    def end(self):
        """Its exit code, after SIGTERM."""
        self.proc.send_signal(signal.SIGTERM)
        return self.proc.wait(timeout=HANG_S)

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        code = self.end() if self.proc.poll() is None else 0
        said = self.text()
        self.log.close()
        shutil.rmtree(self.folder)
        assert failed or code == 0, (code, said)  # a sanitizer tells at the end what it has found


def exactly(s, n):
    data = b""
    while len(data) < n:
        more = s.recv(n - len(data))
        if not more:
            raise EOFError
        data += more
    return data


class Guest:
    """One guest, with `queues` rings; with a calendar it lives in the device's time."""

    def __init__(self, device, queues=1, time_travel=False, protocol=PROTOCOL, late_s=0.0):
        self.late_s = late_s
        self.now, self.free_until, self.runs, self.calls, self.seq = 0, 0, [], [], 0
        self.time = device.connect("time") if time_travel else None
        if time_travel:
            self.start()
        self.sock = device.connect("dev")
        self.fd = os.memfd_create("guest")
        os.ftruncate(self.fd, SIZE)
        self.mem = mmap.mmap(self.fd, SIZE)
        self.ask(SET_OWNER)
        self.features = self.ask(GET_FEATURES, reply="Q")[0]
        assert self.ask(GET_PROTOCOL, reply="Q")[0] & protocol == protocol
        self.protocol = 0
        self.ask(SET_PROTOCOL, struct.pack("Q", protocol))
        self.protocol = protocol
        self.ours, theirs = socket.socketpair()
        self.ours.settimeout(HANG_S)
        self.ask(SET_BACKEND, fds=[theirs.fileno()])
        theirs.close()
        self.ask(SET_FEATURES, struct.pack("Q", self.features))
        self.ask(SET_MEM_TABLE, struct.pack("IIQQQQ", 1, 0, GUEST, SIZE, 0, 0), fds=[self.fd])
        self.rings = [Ring(self, i) for i in range(queues)]

    # ---- the connection ----

    def ask(self, request, payload=b"", fds=(), reply=""):
        flags = VERSION | (NEED_REPLY if not reply and self.replies() else 0)
        data = struct.pack("III", request, flags, len(payload)) + payload
        socket.send_fds(self.sock, [data], list(fds))
        if not reply and not self.replies():
            return None
        self.serve_time_until(self.sock)
        kind, got, size = struct.unpack("III", exactly(self.sock, 12))
        answer = exactly(self.sock, size)
        assert (kind, got) == (request, VERSION | REPLY), (kind, got)
        if not reply:
            assert answer == bytes(8), answer
        return struct.unpack(reply, answer) if reply else None

    def replies(self):
        return getattr(self, "protocol", 0) & 1 << 3

    def config(self, size=60):
        head = struct.pack("III", 0, size, 0)
        return bytes(self.ask(GET_CONFIG, head + bytes(size), reply=f"12x{size}s")[0])

    def take_call(self):
        """A call in the band: the ring's number."""
        kind, flags, size, index, _ = struct.unpack("IIIII", exactly(self.ours, 20))
        assert (kind, size) == (4, 8)
        if flags & NEED_REPLY:
            if self.time:
                self.now = self.tell(GET)
                self.tell(REQUEST, self.now)
            time.sleep(self.late_s)
            self.ours.sendall(struct.pack("=IIIQ", kind, VERSION | REPLY, 8, 0))
        self.calls.append((self.now, index))
        return index

    # ---- time ----

    def start(self):
        self.seq += 1
        self.time.sendall(struct.pack("IIQ", START, self.seq, 0))
        data, fds, _, _ = socket.recv_fds(self.time, 16, 4)
        assert struct.unpack("IIQ", data) == (ACK, self.seq, 0)
        assert len(fds) == 2 # else a kernel closes descriptors of its own
        for fd in fds:
            os.close(fd)

    def message(self):
        op, seq, at = struct.unpack("IIQ", exactly(self.time, 16))
        if op == ACK:
            return op, seq, at
        if op == RUN:
            assert at >= self.now, (at, self.now)
            self.now = at
            self.runs.append(at)
        elif op == FREE_UNTIL:
            self.free_until = at
        time.sleep(self.late_s)
        self.time.sendall(struct.pack("IIQ", ACK, seq, 0))
        return op, seq, at

    def tell(self, op, at=0):
        """Sends a message, and returns what its acknowledgement says."""
        self.seq += 1
        self.time.sendall(struct.pack("IIQ", op, self.seq, at))
        while (answer := self.message())[0] != ACK:
            pass
        assert answer[1] == self.seq
        return answer[2]

    def serve_time_until(self, sock):
        """Answers the calendar until there is something to read."""
        while self.time and not readable(sock, self.time)[0]:
            self.message()

    def wait(self, until=NEVER):
        """Stands still until it runs: at `until`, or after a call."""
        self.tell(REQUEST, until)
        self.tell(WAIT)
        while True:
            call, clock = readable(self.ours, self.time)
            if call:
                self.take_call()
            elif clock and self.message()[0] == RUN:
                return self.now

    def pass_to(self, at):
        """Its time goes on while it runs, as it may until free_until."""
        self.now = at
        self.tell(UPDATE, at)

    def leave(self):
        for s in (self.sock, self.time, self.ours):
            if s:
                s.close()


def readable(*socks):
    got = select.select(socks, [], [], HANG_S)[0]
    assert got, "the device says nothing"
    return [s in got for s in socks]


class Ring:
    """A ring, and the requests in it."""

    def __init__(self, guest, index):
        self.guest, self.index, self.at = guest, index, index * RING
        self.desc, self.avail, self.used = self.at, self.at + NUM * 16, self.at + 0x2000
        self.next, self.seen, self.free = 0, 0, 0
        self.data = DATA + index * 0x80000
        self.status = {}
        g = guest
        g.ask(SET_NUM, struct.pack("II", index, NUM))
        g.ask(SET_BASE, struct.pack("II", index, 0))
        g.ask(SET_ADDR, struct.pack("IIQQQQ", index, 0, self.desc, self.used, self.avail, 0))
        g.ask(SET_ENABLE, struct.pack("II", index, 1))

    def write_desc(self, table, i, addr, size, flags, following):
        struct.pack_into("QIHH", self.guest.mem, table + 16 * i, addr, size, flags, following)

    def chain(self, pieces, indirect=False):
        """Writes descriptors for (address, length, flags); returns the first one's number."""
        head = self.free
        table, first = (self.at + 0x3000 + head * 64, 0) if indirect else (self.desc, head)
        for n, (addr, size, flags) in enumerate(pieces):
            more = NEXT if n + 1 < len(pieces) else 0
            self.write_desc(table, first + n, GUEST + addr, size, flags | more, first + n + 1)
        if indirect:
            self.write_desc(self.desc, head, GUEST + table, 16 * len(pieces), INDIRECT, 0)
        self.free = (self.free + (1 if indirect else len(pieces))) % NUM
        if self.free + 8 > NUM:
            self.free = 0
        return head

    def offer(self, head):
        struct.pack_into("H", self.guest.mem, self.avail + 4 + 2 * (self.next % NUM), head)
        self.next = (self.next + 1) & 0xffff
        struct.pack_into("H", self.guest.mem, self.avail + 2, self.next)

    def request(self, kind, sector, data=b"", read=0, cuts=(), indirect=False):
        """Offers a request whose data are cut at the given bytes; returns its head."""
        at = self.data
        size = read or len(data)
        self.guest.mem[at:at + 16] = struct.pack("IIQ", kind, 0, sector)
        self.guest.mem[at + 16:at + 16 + len(data)] = data
        edges = [0, *cuts, size] if size else []
        flags = WRITE if read else 0
        pieces = [(at, 16, 0)]
        pieces += [(at + 16 + a, b - a, flags) for a, b in zip(edges, edges[1:])]
        pieces.append((at + 16 + size, 1, WRITE))
        self.guest.mem[at + 16 + size] = 0xff
        head = self.chain(pieces, indirect)
        self.status[head] = (at + 16 + size, at + 16, read)
        self.data += (size + 32 + 4095) // 4096 * 4096
        if self.data > DATA + self.index * 0x80000 + 0x60000:
            self.data = DATA + self.index * 0x80000
        self.offer(head)
        return head

    def kick(self):
        self.guest.ask(KICK, struct.pack("II", self.index, 0))

    def done(self):
        """(head, status, data) of each request that was given back, in order."""
        got = []
        while self.seen != struct.unpack_from("H", self.guest.mem, self.used + 2)[0]:
            head, _ = struct.unpack_from("II", self.guest.mem, self.used + 4 + 8 * (self.seen % NUM))
            self.seen = (self.seen + 1) & 0xffff
            status, data, read = self.status[head]
            got.append((head, self.guest.mem[status], bytes(self.guest.mem[data:data + read])))
        return got

    def run(self, *args, **kwargs):
        """One request from its kick to its answer: status and data."""
        head = self.request(*args, **kwargs)
        self.kick()
        if self.guest.time:
            self.guest.wait()
        else:
            while self.guest.take_call() != self.index:
                pass
        (got, status, data), = self.done()
        assert got == head
        return status, data
