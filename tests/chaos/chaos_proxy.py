"""A proxy between daemons that damages one piece of what passes: flips a bit, leaves bytes out, or cuts the connection."""

import selectors
import socket
import threading

from daemons import HOME

PIECE = 65536


class Proxy:
    """ports: {where it listens: where that leads}. Runs in a thread of its own from start to stop."""

    def __init__(self, ports):
        self.ports, self.others, self.lock = ports, {}, threading.Lock()
        self.wish, self.done = None, []
        self.selector = selectors.DefaultSelector()
        self.wake, waker = socket.socketpair()
        self.selector.register(waker, selectors.EVENT_READ, None)
        for port in ports:
            listener = socket.create_server((HOME, port), backlog=64)
            self.selector.register(listener, selectors.EVENT_READ, port)
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.wake.send(b"x")
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()

    def damage(self, how, rng, upward=None):
        """The next piece of at least 16 bytes, of those to the listening side (upward) or back, or of either."""
        with self.lock:
            self.wish = (how, rng, upward)

    def _accept(self, listener, port):
        near, _ = listener.accept()
        far = socket.socket()
        try:
            far.connect((HOME, self.ports[port]))
        except OSError:
            near.close()
            far.close()
            return
        for one, other, upward in ((near, far, True), (far, near, False)):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.others[one] = other
            self.selector.register(one, selectors.EVENT_READ, (port, upward))

    def _close(self, one):
        for end in (one, self.others.get(one)):
            if end in self.others:
                self.selector.unregister(end)
                del self.others[end]
                end.close()

    def _damaged(self, piece, port, upward):
        """What is sent on, and whether the connection ends then."""
        with self.lock:
            if self.wish is None or len(piece) < 16 or self.wish[2] not in (None, upward):
                return piece, False
            how, rng, _ = self.wish
            self.wish = None
        at = rng.randrange(len(piece))
        self.done.append(f"{how} at byte {at} of {len(piece)} {'to' if upward else 'from'} port {self.ports[port]}")
        if how == "flip":
            return piece[:at] + bytes([piece[at] ^ 1 << rng.randrange(8)]) + piece[at + 1:], False
        if how == "leave out":
            return piece[:at] + piece[at + 1 + rng.randrange(8):], False
        return piece[:at], True

    def _pass(self, one, port, upward):
        try:
            piece = one.recv(PIECE)
            if piece:
                piece, ends = self._damaged(piece, port, upward)
                other = self.others[one]
                other.settimeout(5)
                other.sendall(piece)
                if not ends:
                    return
        except OSError:
            pass
        self._close(one)

    def _run(self):
        while True:
            for key, _ in self.selector.select():
                if key.data is None:
                    return
                if isinstance(key.data, int):
                    self._accept(key.fileobj, key.data)
                elif key.fileobj in self.others:
                    self._pass(key.fileobj, *key.data)
