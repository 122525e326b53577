#!/usr/bin/env python3
"""A disk that forgets what was not flushed: an NBD server over a unix socket, for one machine of powercut.py.

usage: powercut_disk.py SOCKET IMAGE      commands are lines of standard input, answers are lines of JSON

Writes are answered at once and only kept in memory; a flush makes those before it durable. So a disk with a write cache does. At a cut
each write since the last flush may be there, be missing or be torn between any two of its sectors of 512 bytes, whatever came after it: WAYS.
Between two requests, so what was answered is known.

    stop WRITES          after so many more writes nothing is answered any more, until the next command (or after WAIT_S without so many)
    peek SEED WAY FILE   what a cut now would leave is written to FILE; the machine goes on
    cut SEED WAY FILE    the same, and that is what the disk has from now on; the connection ends
    go                   it answers again
    lie                  from now on flushes are answered and do nothing
"""

import json
import random
import select
import socket
import struct
import sys
import time

SECTOR = 512
SUPERBLOCK_END = 4096  # ext4 mounts nothing whose superblock is torn: the one place that is written as a whole
# Of the protocol: https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md
MAGIC, OPTION_MAGIC, OPTION_REPLY_MAGIC = 0x4E42444D41474943, 0x49484156454F5054, 0x3E889045565A9
FIXED_NEWSTYLE, NO_ZEROES = 1, 2
OPTION_EXPORT_NAME, OPTION_ABORT, OPTION_GO = 1, 2, 7
REPLY_ACK, REPLY_INFO, REPLY_UNSUPPORTED = 1, 3, (1 << 31) + 1
HAS_FLAGS, SEND_FLUSH, SEND_FUA = 1, 4, 8
REQUEST, REPLY = 0x25609513, 0x67446698
READ, WRITE, DISCONNECT, FLUSH = 0, 1, 2, 3
FUA = 1
EINVAL = 22
WAIT_S = 0.5


def pieces(at, data):
    """[(at, data)] of what is written at once."""
    end = at + len(data)
    whole = min(max(SUPERBLOCK_END - at, 0), len(data))
    starts = ([at] if whole else []) + list(range(at + whole, end, SECTOR))
    return [(begin, data[begin - at:until - at]) for begin, until in zip(starts, [*starts[1:], end])]


def kept_some(pending, rng):
    """Whole writes, any of them."""
    share = rng.choice([0.1, 0.5, 0.9])
    return [(at, data) for at, data in pending if rng.random() < share]


def kept_prefix(pending, rng):
    """What came first, and part of the next."""
    count = rng.randrange(len(pending) + 1)
    kept = pending[:count]
    if count < len(pending):
        at, data = pending[count]
        parts = pieces(at, data)
        kept += parts[:rng.randrange(len(parts) + 1)]
    return kept


def kept_suffix(pending, rng):
    """Only what came last."""
    return pending[rng.randrange(len(pending) + 1):]


def kept_sectors(pending, rng):
    """Any sectors of any writes."""
    share = rng.choice([0.1, 0.5, 0.9])
    return [piece for at, data in pending for piece in pieces(at, data) if rng.random() < share]


def kept_shuffled(pending, rng):
    """Any sectors of any writes, older ones over newer ones."""
    kept = kept_sectors(pending, rng)
    rng.shuffle(kept)
    return kept


WAYS = {
    "nothing": lambda pending, rng: [],
    "all": lambda pending, rng: pending,
    "some": kept_some,
    "prefix": kept_prefix,
    "suffix": kept_suffix,
    "sectors": kept_sectors,
    "shuffled": kept_shuffled,
}


def persist(sectors, writes):
    for at, data in writes:
        sectors[at:at + len(data)] = data


class Disk:
    def __init__(self, image):
        with open(image, "rb") as file:
            self.durable = bytearray(file.read())
        self.seen = bytearray(self.durable)  # what a read gives
        self.pending = []
        self.lies = False
        self.stop_at = None  # at so many writes
        self.flushes = self.writes = 0

    def write(self, at, data):
        self.seen[at:at + len(data)] = data
        self.pending.append((at, data))
        self.writes += 1

    def flush(self):
        self.flushes += 1
        if not self.lies:
            persist(self.durable, self.pending)
            self.pending = []

    def left(self, seed, way):
        """What a cut leaves, and what there was to lose."""
        kept = WAYS[way](self.pending, random.Random(seed))
        left = bytearray(self.durable)
        persist(left, kept)
        return left, {"way": way, "pending": sum(len(data) for _, data in self.pending), "kept": sum(len(data) for _, data in kept),
                      "flushes": self.flushes, "writes": self.writes}

    def cut(self, left):
        self.durable, self.seen, self.pending = left, bytearray(left), []


class Connection:
    """One machine's. Whatever the client does that it should not ends it."""

    def __init__(self, link, disk):
        self.link, self.disk = link, disk
        self.greet()

    def read(self, count):
        data = bytearray()
        while len(data) < count:
            piece = self.link.recv(count - len(data))
            if not piece:
                raise ConnectionError
            data += piece
        return bytes(data)

    def option_reply(self, option, kind, data=b""):
        self.link.sendall(struct.pack(">QIII", OPTION_REPLY_MAGIC, option, kind, len(data)) + data)

    def greet(self):
        self.link.sendall(struct.pack(">QQH", MAGIC, OPTION_MAGIC, FIXED_NEWSTYLE | NO_ZEROES))
        self.read(4)
        size_and_flags = struct.pack(">QH", len(self.disk.seen), HAS_FLAGS | SEND_FLUSH | SEND_FUA)
        while True:
            magic, option, length = struct.unpack(">QII", self.read(16))
            self.read(length)
            if magic != OPTION_MAGIC or option == OPTION_ABORT:
                raise ConnectionError
            if option == OPTION_EXPORT_NAME:
                self.link.sendall(size_and_flags)
                return
            if option == OPTION_GO:
                self.option_reply(option, REPLY_INFO, struct.pack(">H", 0) + size_and_flags)
                self.option_reply(option, REPLY_ACK)
                return
            self.option_reply(option, REPLY_UNSUPPORTED)

    def answer(self):
        """One request."""
        magic, flags, kind, handle, at, length = struct.unpack(">IHHQQI", self.read(28))
        if magic != REQUEST or kind == DISCONNECT:
            raise ConnectionError
        error, data = 0, b""
        if kind == WRITE:
            self.disk.write(at, self.read(length))
            if flags & FUA:
                self.disk.flush()
        elif kind == READ:
            data = self.disk.seen[at:at + length]
        elif kind == FLUSH:
            self.disk.flush()
        else:
            error = EINVAL
        self.link.sendall(struct.pack(">IIQ", REPLY, error, handle) + data)


def told(disk, line):
    """A command other than stop; gives whether the connection ends."""
    words = line.split()
    report = {}
    if words[0] == "lie":
        disk.lies = True
    elif words[0] != "go":
        left, report = disk.left(int(words[1]), words[2])
        with open(words[3], "wb") as file:
            file.write(left)
        if words[0] == "cut":
            disk.cut(left)
    print(json.dumps(report), flush=True)
    return words[0] == "cut"


def stopped(disk, limit_s):
    """Whether it is time to stop; says so."""
    if disk.stop_at is None or (disk.writes < disk.stop_at and time.monotonic() < limit_s):
        return False
    disk.stop_at = None
    print(json.dumps({}), flush=True)
    return True


def serve(listener, disk):
    connection, is_still, limit_s = None, False, 0
    while True:
        is_still = is_still or stopped(disk, limit_s)
        sockets = [] if is_still else [connection.link if connection else listener]
        ready, _, _ = select.select([sys.stdin, *sockets], [], [], WAIT_S)
        ends = False
        if sys.stdin in ready:
            line = sys.stdin.readline()
            if not line:
                return
            if line.startswith("stop"):
                disk.stop_at, limit_s = disk.writes + int(line.split()[1]), time.monotonic() + WAIT_S
            else:
                ends, is_still = told(disk, line), False
        elif ready and connection is None:
            link = listener.accept()[0]
            try:
                connection = Connection(link, disk)
            except (ConnectionError, struct.error):
                link.close()
        elif ready:
            try:
                connection.answer()
            except (ConnectionError, struct.error):
                ends = True
        if ends and connection:
            connection.link.close()
            connection = None


def main():
    path, image = sys.argv[1:]
    disk = Disk(image)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(1)
        print(json.dumps({}), flush=True)
        serve(listener, disk)


if __name__ == "__main__":
    main()
