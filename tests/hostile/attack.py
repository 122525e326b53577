#!/usr/bin/env python3
"""One attack on the ports of a run, as fast as it goes. Started by hostile.py, by a process of its own so that it can be niced.

usage: attack.py SPEC      SPEC: JSON; keys: see class Attack

Prints one JSON object when it is done: what was tried, and what came of it. Everything here is written against docs/internals/wire.md and
the SP mapping alone: nothing of Octet is used.
"""

import contextlib
import json
import os
import resource
import selectors
import socket
import ssl
import struct
import sys
import threading
import time

# SP's numbers of who connects there: REQ, SUB, REQ, PUSH, PAIR1.
PROTOCOL = {"learner": 0x30, "policies": 0x21, "replay": 0x30, "batches": 0x50, "acks": 0x11}
LEARNER, REPLAY = 1, 2
REGISTER, GET_POLICY, REPORT, STATUS, CHECKPOINT, STOP = range(6)
CONFIGURE, SAMPLE, PRIORITIES = range(3)
PATIENCE_S = 5
VERSION = 4  # of the wire protocol
# The begin of a TLS ClientHello: a record of 512 bytes, a handshake message of 508.
HELLO = bytes([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]) + bytes(range(32)) + bytes([0])


def header(protocol):
    return b"\0SP\0" + struct.pack(">HH", protocol, 0)


def message(body):
    return struct.pack(">Q", len(body)) + body


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """One field of Protocol Buffers: int, bytes, or 8 bytes of a fixed64 (a tuple)."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, tuple):
        return varint(number << 3 | 1) + value[0]
    return varint(number << 3 | 2) + varint(len(value)) + value


def frame(kind, code, payload):
    return b"OCT" + kind + struct.pack("<HHI", VERSION, code, 0) + payload


def forged_batch(count=20):
    """A batch as good as an actor's of CartPole, of a session that nobody registered."""
    return frame(b"B", 0, field(1, 1 + os.urandom(1)[0] % 100) + field(2, (os.urandom(8),)) + field(3, 1) + field(4, 1) +
                 # One run: count rows of stream 0 from row 5 on, of version 1.
                 field(6, b"\0") + field(7, b"\5") + field(8, bytes([count])) + field(9, b"\1") +
                 field(10, count) + field(11, 16) + field(12, bytes(16 * count)) + field(13, 4) +
                 field(14, bytes(4 * count)) + field(15, struct.pack("<f", 1e6) * count) +
                 field(16, bytes(count)) + field(19, os.urandom(16)))


def ask(actor, session=None, token=None):
    """For the acknowledgements of an actor, with a session and a token that are made up unless given. PAIR1 begins with its
    count of hops."""
    return message(struct.pack(">I", 1) + b"OCTA" + struct.pack("<HHI", VERSION, 0, actor) + field(1, actor) +
                   field(2, (session or os.urandom(8),)) + field(19, token or os.urandom(16)))


def relay_name():
    """For the acknowledgements of what a relay brings, whose number is made up."""
    return message(struct.pack(">I", 1) + frame(b"G", 0, field(1, (os.urandom(8),))))


def request(service, method, payload=b"", number=1):
    return message(struct.pack(">I", 0x80000000 | number) + frame(b"Q", service << 8 | method, payload))


def registration(role=1, label=None, observed=4):
    """As an actor's of CartPole; Gymnasium's bounds are those of the environment. observed: numbers in an observation."""
    return (field(1, role) + field(18, (label or os.urandom(8),)) + field(3, b"stranger") + field(4, 1) + field(5, 1) +
            field(6, b"CartPole-v1") + field(7, 1) + field(8, observed) + field(9, 1) + field(10, 2) +
            field(13, 500) + varint(14 << 3 | 1) + struct.pack("<d", 475) + field(15, bytes([observed])))


def fields(payload):
    """{number: value} of a message: the last of each; bytes, or an int."""
    out, at = {}, 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = payload[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(payload):
        key = number()
        if key & 7 == 0:
            out[key >> 3] = number()
            continue
        length = {1: 8, 5: 4}.get(key & 7) or number()
        out[key >> 3] = payload[at:at + length]
        at += length
    return out


class Attack:
    """What all attacks need: where to, as whom, how long.

    kind: a method below. ports: {name: port}. tls: folder of a certificate, or null for plain TCP. source: address to come
    from; sources: several, in turn. count: connections or messages to reach, seconds: and time to last. limit_s: given up."""

    def __init__(self, spec):
        self.spec = spec
        self.ports = list(spec["ports"].items())
        self.end = time.monotonic() + spec["seconds"]
        self.limit = time.monotonic() + spec["limit_s"]
        self.sources = spec.get("sources") or [spec["source"]]
        self.done = self.answered = self.refused = 0
        self.connected = self.sent = self.held = 0  # connections that were made, bytes said on them, connections open at the end
        self.words = set()
        self.lock = threading.Lock()
        self.context = None
        if spec["tls"]:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            self.context.check_hostname = False
            self.context.verify_mode = ssl.CERT_NONE
            self.context.load_cert_chain(spec["tls"] + "/node.crt", spec["tls"] + "/node.key")

    def more(self):
        now = time.monotonic()
        return now < self.limit and (now < self.end or self.done < self.spec["count"])

    def tcp(self, port):
        peer = socket.socket()
        peer.settimeout(PATIENCE_S)
        peer.bind((self.sources[self.done % len(self.sources)], 0))
        peer.connect((self.spec["host"], port))
        with self.lock:
            self.connected += 1
        return peer

    def say(self, peer, data):
        peer.sendall(data)
        with self.lock:
            self.sent += len(data)

    def tls(self, port):
        """Through TLS, if that is spoken there."""
        peer = self.tcp(port)
        try:
            return self.context.wrap_socket(peer) if self.context else peer
        except BaseException:
            peer.close()
            raise

    def connect(self, name, port):
        """Through TLS and SP's header; OSError when it is turned away."""
        peer = self.tls(port)
        try:
            self.say(peer, header(PROTOCOL[name]))
            got = b""
            while len(got) < 8:
                part = peer.recv(8 - len(got))
                if not part:
                    raise OSError("turned away")
                got += part
            return peer
        except BaseException:
            peer.close()
            raise

    def each(self, use, threads=1):
        """use(name, port) for all ports in turn, until it is enough. What is turned away is counted."""
        def work(first):
            number = first
            while self.more():
                name, port = self.ports[number % len(self.ports)]
                number += 1
                try:
                    use(name, port)
                except OSError:
                    with self.lock:
                        self.refused += 1
                with self.lock:
                    self.done += 1
        workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def exchange(self, peer, data):
        """Sends, and reads one message."""
        self.say(peer, data)
        got = b""
        while len(got) < 8 or len(got) < 8 + struct.unpack(">Q", got[:8])[0]:
            part = peer.recv(65536)
            if not part:
                raise OSError("closed")
            got += part
        return got[8:]

    # ---- the attacks

    def garbage(self):
        """Connections that bring nonsense: six kinds in turn."""
        turn = [0]

        def use(name, port):
            with contextlib.closing(self.tcp(port)) as peer:
                turn[0] += 1
                kind = turn[0] // len(self.ports) % 6
                if kind == 0:
                    self.say(peer, os.urandom(4096))
                elif kind == 1:
                    self.say(peer, b"GET /metrics HTTP/1.1\r\nHost: octet\r\n\r\n")
                elif kind == 2:  # in clear on a TLS port; without TLS of another protocol
                    self.say(peer, header(PROTOCOL[name] if self.context else 0x70) + struct.pack(">Q", 1 << 33))
                elif kind == 3:
                    self.say(peer, HELLO)
                elif kind == 4:  # a record of 16 KiB that breaks off
                    self.say(peer, bytes([22, 3, 3, 64, 0]) + os.urandom(1000))
                else:
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.each(use)

    def silent(self):
        """So many connections at once that never get anywhere; every second one says a byte a second."""
        watched = selectors.DefaultSelector()
        held, byte, said = {}, {}, time.monotonic()
        while time.monotonic() < self.end:
            number = 0
            while len(held) < self.spec["count"] and number < 200:
                peer = socket.socket()
                peer.setblocking(False)
                peer.bind((self.sources[self.done % len(self.sources)], 0))
                peer.connect_ex((self.spec["host"], self.ports[self.done % len(self.ports)][1]))
                held[peer] = self.done
                byte[peer] = 0
                watched.register(peer, selectors.EVENT_READ)
                self.done += 1
                self.connected += 1  # or on its way
                number += 1
            for key, _ in watched.select(0.02):
                with contextlib.suppress(OSError):
                    if key.fileobj.recv(64):
                        continue  # the header of SP: without TLS they speak first
                watched.unregister(key.fileobj)
                key.fileobj.close()
                del held[key.fileobj], byte[key.fileobj]
                self.refused += 1
            if time.monotonic() - said > 1:
                said = time.monotonic()
                for peer, number in held.items():
                    if number % 2 == 0 and byte[peer] < len(HELLO):
                        with contextlib.suppress(OSError):
                            self.sent += peer.send(HELLO[byte[peer]:byte[peer] + 1] if self.context else b"\0")
                            byte[peer] += 1
        self.held = len(held)

    def handshakes(self):
        """Whole handshakes by a certificate that is not good there."""
        def use(name, port):
            self.connect(name, port).close()
            self.answered += 1
        self.each(use, threads=4)

    def forged(self):
        """Batches that look valid, of nobody; dialing again whenever it is closed."""
        frames = [message(forged_batch()) for _ in range(256)]

        def use(name, port):
            sent = 0
            with contextlib.closing(self.connect(name, port)) as peer:
                try:
                    for data in frames[os.urandom(1)[0] % 128:]:
                        self.say(peer, data)
                        sent += 1
                finally:
                    with self.lock:
                        self.answered += sent
        self.each(use, threads=2)
        self.words.add(f"batches sent: {self.answered}")

    def huge(self):
        """A message of 8 GiB announced, and begun."""
        def use(name, port):
            with contextlib.closing(self.connect(name, port)) as peer:
                self.say(peer, struct.pack(">Q", 8 << 30))
                for _ in range(64):
                    self.say(peer, bytes(1 << 16))
            self.answered += 1
        self.each(use)

    def tokens(self):
        """Registrations by the thousand, and requests in actors' names without their token."""
        registered = []

        def use(name, port):
            with contextlib.closing(self.connect(name, port)) as peer:
                for number in range(100):
                    wrong = field(1, 1 + number % 50) + field(2, 1) + field(4, os.urandom(16))
                    method, payload = (REGISTER, registration()) if number % 2 else (GET_POLICY, wrong)
                    got = self.exchange(peer, request(LEARNER, method, payload, number + 1))
                    registered.append(got[16:18] == b"\x08\x01")
                    self.done += 1
                    if method == GET_POLICY:
                        self.words.add(got[16:].decode(errors="replace")[:60])
                    elif not registered[-1]:
                        self.words.add(got[16:].decode(errors="replace")[:100])
            self.done -= 1
        self.each(use)
        self.words.add(f"registered: {sum(registered)}")

    def lies(self):
        """A registered actor reports what would end the run, if it were believed: steps, and evaluations of its own."""
        def use(name, port):
            with contextlib.closing(self.connect(name, port)) as peer:
                number = 0

                def call(method, payload):
                    nonlocal number
                    number += 1
                    self.answered += 1
                    got = self.exchange(peer, request(LEARNER, method, payload, number))[4:]
                    return struct.unpack("<H", got[6:8])[0], got[12:]
                who = fields(call(REGISTER, registration(1))[1])
                identity, token = field(1, who[4]) + field(2, (who[15],)), field(11, who[9])

                def report(words, payload):
                    code, text = call(REPORT, identity + field(3, number) + payload + token)
                    self.words.add(f"{words}: {text.decode(errors='replace')[:60] if code else 'taken'}")
                for steps in (1000, 1 << 53, 10 ** 18, 5):
                    report(f"{steps} steps", field(5, steps))
                code, got = call(GET_POLICY, field(1, who[4]) + field(2, 2) + field(4, who[9]))
                self.words.add(f"evaluation: {got.decode(errors='replace')[:60] if code else 'GIVEN'}")
                order = fields(got) if code == 0 else {}
                for ticket, episodes in [(order.get(7, 1), order.get(8, 10)), *((n, e) for n in range(1, 30) for e in (5, 20))]:
                    report("its evaluation", field(4, order.get(3, 1)) + field(6, ticket) +
                           field(7, struct.pack("<f", 1e6) * episodes) + field(8, struct.pack("<I", 1) * episodes))
        self.each(use)

    def deaf(self):
        """So many subscribers, and readers of acknowledgements, that never read."""
        peers = []
        for number in range(self.spec["count"]):
            if time.monotonic() > self.limit:
                break
            name, port = self.ports[number % len(self.ports)]
            try:
                peer = self.connect(name, port)
                if name == "acks":
                    self.say(peer, ask(1 + number % 50))
                peers.append(peer)
                self.done += 1
            except OSError:
                self.refused += 1
        begin = time.monotonic()
        while time.monotonic() < max(self.end, begin + self.spec["seconds"]):
            time.sleep(0.1)
        self.held = len(peers)

    def names(self):
        """Asks for the acknowledgements of one invented actor after the other, on the same connections."""
        def use(name, port):
            with contextlib.closing(self.connect(name, port)) as peer:
                for _ in range(20):
                    ids = struct.unpack("<500I", os.urandom(2000))
                    self.say(peer, b"".join(map(ask, ids)))
                    self.done += 500
            self.done -= 1
        self.each(use, threads=2)

    def mute(self):
        """Asks as much as it can and never reads an answer."""
        asked = b"".join(request(LEARNER, GET_POLICY, field(1, 1) + field(2, 1), n + 1) for n in range(1000))

        def use(name, port):
            peer = self.connect(name, port)
            try:
                peer.settimeout(0.5)
                while time.monotonic() < self.limit:
                    self.say(peer, asked)
                    self.answered += 1000
            except TimeoutError:
                peers.append(peer)  # held: it still counts as alive
            except OSError:
                peer.close()
        peers = []
        self.each(use, threads=4)
        self.held = len(peers)

    def partial(self):
        """Large messages that never end: so many connections, each with 60 of 63 MiB."""
        left = {}
        for _ in range(self.spec["count"]):
            try:
                peer = self.connect(*self.ports[self.done % len(self.ports)])
                self.say(peer, struct.pack(">Q", 63 << 20))
                peer.setblocking(False)  # one that has to wait keeps none of the others
                left[peer] = 60 << 20
                self.done += 1
            except OSError:
                self.refused += 1
        begin = time.monotonic()
        while time.monotonic() < min(begin + self.spec["seconds"], self.limit):
            for peer in [p for p, n in left.items() if n > 0]:
                try:
                    sent = peer.send(bytes(min(left[peer], 1 << 18)))
                    left[peer] -= sent
                    self.sent += sent
                except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    pass
                except OSError:
                    self.refused += 1
                    left[peer] = 0
            time.sleep(0.001)
        self.words.add(f"MiB sent: {self.sent >> 20}")

    def crowd(self):
        """So many good connections at once, held."""
        self.deaf()

    def methods(self):
        """What an actor must not ask for; the answers, in words."""
        asked = [("learner", LEARNER, STOP, field(1, b"by a stranger")), ("learner", LEARNER, CHECKPOINT, b""),
                 ("learner", LEARNER, STATUS, b""), ("replay", REPLAY, SAMPLE, field(2, 1) + field(3, 1)),
                 ("replay", REPLAY, CONFIGURE, b""), ("replay", REPLAY, PRIORITIES, b"")]

        def use(_, __):
            for name, service, method, payload in asked:
                text = f"{name}.{service}.{method}: "
                try:
                    with contextlib.closing(self.connect(name, dict(self.ports)[name])) as peer:
                        got = self.exchange(peer, request(service, method, payload))
                        code = struct.unpack("<H", got[10:12])[0]
                        self.words.add(text + (got[16:].decode(errors="replace") if code else "DONE"))
                except OSError:
                    self.words.add(text + "turned away")
            self.answered += len(asked)
        self.each(use)

    def spin(self):
        """No attack: only the time of a core."""
        while time.monotonic() < self.end:
            self.done += 1


def stranger(host, ports, source, certificate=None):
    """Who makes connections by hand, and is no attack."""
    return Attack(dict(host=host, ports=ports, source=source, tls=str(certificate) if certificate else None, seconds=0, limit_s=60,
                       count=1))


def main():
    spec = json.loads(sys.argv[1])
    os.nice(spec["nice"])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))
    attack = Attack(spec)
    begin = time.monotonic()
    getattr(attack, spec["kind"])()
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"done": attack.done, "answered": attack.answered, "refused": attack.refused,
                      "connected": attack.connected, "sent": attack.sent, "held": attack.held,
                      "words": sorted(attack.words)[:12], "seconds": time.monotonic() - begin,
                      "cpu_s": used.ru_utime + used.ru_stime}))


if __name__ == "__main__":
    main()
