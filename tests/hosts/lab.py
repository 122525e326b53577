"""Several hosts on one machine: network namespaces around a router, whose lines can be long, narrow, lossy or cut.

Needs root, iproute2, iptables and, for delay, build/…/tests/hosts/host_delay. Every host is a namespace of its own with one
interface, eth0, in a subnet of its own; the router is one more namespace. Nothing is made outside of them, all names
bear this process's number, so two runs do not meet. Names of hosts resolve by /etc/netns/NAME/hosts, which
ip netns exec puts in the place of /etc/hosts.

    lab = Lab(build, folder, ["learner", "replay", "a0"])
    lab.shape("a0", delay_ms=50, loss=0.01, mbit=10)
    lab.start("replay", "replay", [build / "replay/octet-replay", …])     log in folder/log/replay.log
    lab.cut("a0"); lab.heal("a0"); lab.move("replay"); lab.power_cut("a0"); lab.power_on("a0")
    lab.close()

All shaping is done on the router or on the host's interface, none of it by what is tested: TCP connections stay whole, a
lost packet is lost, and a cut line answers nothing.
"""

import datetime
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

OFFLOADS_OFF = ["gso_max_segs", "1"]  # packets as long as a wire's, or 1 % loss would be of 64 KiB each
TBF = ["burst", "16kb", "latency", "100ms"]


class LabError(RuntimeError):
    pass


def run(*command):
    command = [str(c) for c in command]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise LabError(f"{' '.join(command)}: exit {result.returncode}: {result.stderr.strip()}")
    return result.stdout


def sweep():
    """Removes what runs left behind that were killed with -9."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False).stdout
    spaces = {line.split()[0] for line in listed.splitlines() if line}
    if pathlib.Path("/etc/netns").is_dir():
        spaces |= {place.name for place in pathlib.Path("/etc/netns").iterdir()}
    for space in spaces:
        found = re.fullmatch(r"oh(\d+)-\w+", space)
        if found and not pathlib.Path("/proc", found[1]).exists():
            remove(space)


def remove(space):
    subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)
    place = pathlib.Path("/etc/netns") / space
    if place.is_dir():
        for file in place.iterdir():
            file.unlink()
        place.rmdir()


class Lab:
    def __init__(self, build, folder, hosts):
        self.build = pathlib.Path(build).resolve()
        self.folder = pathlib.Path(folder)
        self.prefix = f"oh{os.getpid()}"
        self.router = f"{self.prefix}-router"
        self.hosts = list(hosts)
        self.last_byte = {host: 2 for host in hosts}
        self.daemons = {}  # name: (host, Popen)
        self.lines = {}  # host: Popen of host_delay
        (self.folder / "log").mkdir(parents=True, exist_ok=True)
        sweep()
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    # ---- names and addresses

    def namespace(self, host):
        return f"{self.prefix}-{host}"

    def subnet(self, host):
        return f"10.77.{self.hosts.index(host) + 1}"

    def address(self, host):
        return f"{self.subnet(host)}.{self.last_byte[host]}"

    def _write_names(self):
        text = "127.0.0.1 localhost\n" + "".join(f"{self.address(host)} {host}\n" for host in self.hosts)
        for host in self.hosts:
            # In place: processes that run hold this very file in their mount namespace.
            place = pathlib.Path("/etc/netns") / self.namespace(host)
            place.mkdir(parents=True, exist_ok=True)
            (place / "hosts").write_text(text, encoding="utf-8")

    # ---- making and removing

    def _make(self):
        self._write_names()
        run("ip", "netns", "add", self.router)
        self.on(self.router, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        for host in self.hosts:
            self._switch_on(host)

    def _switch_on(self, host):
        run("ip", "netns", "add", self.namespace(host))
        run("ip", "-n", self.namespace(host), "link", "set", "lo", "up")
        run("ip", "link", "add", "eth0", "netns", self.namespace(host), "type", "veth", "peer", "name", host,
            "netns", self.router)
        for space, link, last in ((self.namespace(host), "eth0", self.last_byte[host]), (self.router, host, 1)):
            run("ip", "-n", space, "link", "set", link, *OFFLOADS_OFF, "up")
            run("ip", "-n", space, "addr", "add", f"{self.subnet(host)}.{last}/24", "dev", link)
        run("ip", "-n", self.namespace(host), "route", "add", "default", "via", f"{self.subnet(host)}.1")

    def close(self):
        """Removes everything; may be called at any time, and twice."""
        for _, process in self.daemons.values():
            if process.poll() is None:
                process.kill()
                process.wait()
        for process in self.lines.values():
            process.kill()
            process.wait()
        for space in [self.namespace(host) for host in self.hosts] + [self.router]:
            remove(space)

    def on(self, space, *command):
        return run("ip", "netns", "exec", space, *command)

    # ---- daemons

    def start(self, name, host, command):
        with open(self.folder / "log" / f"{name}.log", "ab") as log:
            process = subprocess.Popen(["ip", "netns", "exec", self.namespace(host), *[str(c) for c in command]],
                                       cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.daemons[name] = (host, process)
        return process

    def process(self, name):
        return self.daemons[name][1]

    def stop(self, names=None, patience_s=60.0):
        """SIGTERM to these (all that run) at once: {name: (exit status, seconds until it was gone)}."""
        names = [n for n in (names or self.daemons) if self.process(n).poll() is None]
        begin = time.monotonic()
        for name in names:
            self.process(name).send_signal(signal.SIGTERM)
        gone = {}
        while len(gone) < len(names):
            for name in names:
                if name not in gone and self.process(name).poll() is not None:
                    gone[name] = (self.process(name).returncode, time.monotonic() - begin)
            if time.monotonic() - begin > patience_s:
                for name in names:
                    if name not in gone:
                        self.process(name).kill()
                        self.process(name).wait()
                        gone[name] = ("killed", time.monotonic() - begin)
            time.sleep(0.005)
        return gone

    # ---- lines

    def shape(self, host, delay_ms=0, loss=0.0, mbit=0):
        """The host's line, the same in both directions: delay each way, share of packets lost, bits per second."""
        rules = []
        if loss > 0:
            rules.append(["-m", "statistic", "--mode", "random", "--probability", str(loss), "-j", "DROP"])
        if delay_ms > 0:
            queue = self.hosts.index(host) + 1
            rules.append(["-j", "NFQUEUE", "--queue-num", str(queue)])
            program = self.build / "tests/hosts/host_delay"
            process = subprocess.Popen(["ip", "netns", "exec", self.router, program, str(queue), str(delay_ms)],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            self.lines[host] = process
            if process.stdout.readline().strip() != "ready":
                raise LabError("host_delay did not start")
        for rule in rules:
            for way in ("-i", "-o"):
                self.on(self.router, "iptables", "-A", "FORWARD", way, host, *rule)
        if mbit > 0:
            for space, link in ((self.namespace(host), "eth0"), (self.router, host)):
                run("tc", "-n", space, "qdisc", "add", "dev", link, "root", "tbf", "rate", f"{mbit}mbit", *TBF)

    def cut(self, host, ways=("-i", "-o")):
        """Nothing passes, and nothing says so. ways: -i what comes from the host, -o what goes there."""
        for way in ways:
            self.on(self.router, "iptables", "-I", "FORWARD", way, host, "-j", "DROP")

    def heal(self, host, ways=("-i", "-o")):
        for way in ways:
            self.on(self.router, "iptables", "-D", "FORWARD", way, host, "-j", "DROP")

    def move(self, host):
        """The host gets another address, and its name says so. The old address answers nothing more."""
        old = self.address(host)
        self.last_byte[host] += 1
        space = self.namespace(host)
        run("ip", "-n", space, "addr", "add", f"{self.address(host)}/24", "dev", "eth0")
        run("ip", "-n", space, "addr", "del", f"{old}/24", "dev", "eth0")
        # The first address was the primary one: its route has gone with it.
        run("ip", "-n", space, "addr", "replace", f"{self.address(host)}/24", "dev", "eth0")
        run("ip", "-n", space, "route", "replace", "default", "via", f"{self.subnet(host)}.1")
        # Or the router says at once that nobody is there, which is kinder than most networks.
        self.on(self.router, "iptables", "-I", "FORWARD", "-d", old, "-j", "DROP")
        self._write_names()

    def power_cut(self, host):
        """The line goes, then the processes: nobody is told by a FIN or RST. Undone by power_on."""
        run("ip", "-n", self.router, "link", "del", host)
        self.on(self.router, "iptables", "-I", "FORWARD", "-d", f"{self.subnet(host)}.0/24", "-j", "DROP")
        for where, process in self.daemons.values():
            if where == host and process.poll() is None:
                process.kill()
                process.wait()
        # With it what the kernel knew of its connections, or it would send the FINs later.
        run("ip", "netns", "del", self.namespace(host))

    def power_on(self, host):
        self.on(self.router, "iptables", "-D", "FORWARD", "-d", f"{self.subnet(host)}.0/24", "-j", "DROP")
        self._switch_on(host)

    def counters(self, host):
        """Bytes that the host's interface has sent and received."""
        base = pathlib.Path("/sys/class/net/eth0/statistics")
        return tuple(int(self.on(self.namespace(host), "cat", base / name)) for name in ("tx_bytes", "rx_bytes"))

    def lost(self, host):
        """Packets from and to the host that the line's loss has taken."""
        rules = self.on(self.router, "iptables", "-nvxL", "FORWARD").splitlines()
        return sum(int(rule.split()[0]) for rule in rules if "statistic" in rule and host in rule.split())

    def round_trip_s(self, host, other):
        """Of one packet: how long it takes until a port where nobody listens refuses (the least of three)."""
        program = ("import socket,sys,time\nleast=9\nfor _ in range(3):\n t=time.monotonic()\n"
                   " try: socket.create_connection((sys.argv[1],9),5)\n except ConnectionRefusedError: pass\n"
                   " least=min(least,time.monotonic()-t)\nprint(least)")
        return float(self.on(self.namespace(host), sys.executable, "-c", program, other))

    # ---- what the daemons said

    def said(self, name, identity):
        """[(UNIX time, {key: text})] of all lines with this id."""
        found = []
        path = self.folder / "log" / f"{name}.log"
        if not path.exists():
            return found
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            words = line.split(" ", 4)
            if len(words) >= 4 and words[3] == identity:
                when = datetime.datetime.fromisoformat(words[0].replace("Z", "+00:00")).timestamp()
                found.append((when, dict(re.findall(r'(\w+)=("[^"]*"|\S+)', line))))
        return found
