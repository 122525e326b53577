"""A virtual machine that can be cut off its power: kernel, programs and disks are made here, qemu and powercut_disk.py run it."""

import contextlib
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
from daemons import PATIENCE, wait_for  # noqa: E402

KERNELS = ROOT / "build/tools/debian/kernel"  # script/setup test puts it there
MODULES = ("virtio_pci", "virtio_blk", "virtio_net")
BOOT_S = 150
MIB = 1 << 20
REGULAR, FOLDER = 0o100755, 0o040755


def kernel():
    """The folder of the newest kernel that was fetched; None: there is none."""
    found = sorted(KERNELS.glob("boot/vmlinuz-*"), key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)])
    return found[-1] if found else None


def missing():
    """What keeps a machine from running here; "": nothing."""
    for program, package in (("qemu-system-x86_64", "qemu-system-x86"), ("busybox", "busybox-static"), ("mke2fs", "e2fsprogs")):
        if not shutil.which(program):
            return f"{package} is not installed; script/setup test installs it"
    if kernel() is None:
        return f"there is no kernel in {KERNELS.relative_to(ROOT)}; script/setup test fetches it"
    return ""


def accelerator():
    """KVM where the processor itself has it; other kinds of it run no kernel of a distribution. Else qemu translates, ten times slower."""
    has_module = any((pathlib.Path("/sys/module") / name).exists() for name in ("kvm_intel", "kvm_amd"))
    return "kvm" if has_module and os.access("/dev/kvm", os.R_OK | os.W_OK) else "tcg"


# ---- what a machine starts with

def module_bytes(path):
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def modules(version):
    """[(name, bytes)] of MODULES and all that they need, in the order to load them; what the kernel has inside is left out."""
    there = {path.name.split(".")[0].replace("-", "_"): path for path in (KERNELS / "lib/modules" / version).rglob("*.ko*")}
    order = {}

    def add(name):
        if name in order or name not in there:
            return
        data = module_bytes(there[name])
        depends = re.search(rb"\0depends=([^\0]*)\0", data)
        for other in depends[1].decode().split(",") if depends else ():
            add(other.replace("-", "_"))
        order[name] = data
    for name in MODULES:
        add(name)
    return list(order.items())


def archive(entries):
    """Bytes of a cpio archive (newc) of [(path, mode, data)]."""
    out = bytearray()
    for inode, (path, mode, data) in enumerate([*entries, ("TRAILER!!!", 0, b"")], 1):
        name = path.encode() + b"\0"
        fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        for piece in (b"070701" + b"".join(b"%08X" % field for field in fields) + name, data):
            out += piece + bytes(-len(piece) % 4)
    return bytes(out)


def libraries(program):
    """Paths of the shared objects that it is linked with."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", listed)


def image_make(path, size, kind="ext4", folder=None):
    """A file with a new file system in it, of what is in a folder; no work is left for later."""
    with open(path, "wb") as file:
        file.truncate(size)
    subprocess.run(["mke2fs", "-q", "-t", kind, "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0",
                    *(["-d", folder] if folder else []), path], check=True, capture_output=True)


class Programs:
    """Image and initramfs that all machines of a test share, in a folder."""

    def __init__(self, folder, programs, files, job):
        """programs: [path] that go to /octet by their names, with their libraries; files: [path], to /octet as well; job: a script."""
        self.kernel = kernel()
        self.initramfs, self.image = folder / "initramfs", folder / "programs"
        busybox = shutil.which("busybox")
        begin = [("bin", FOLDER, b""), ("bin/busybox", REGULAR, pathlib.Path(busybox).read_bytes()),
                 ("init", REGULAR, (HERE / "powercut_init").read_bytes()),
                 *((name, FOLDER, b"") for name in ("programs", "modules"))]
        version = self.kernel.name.split("-", 1)[1]
        for place, (name, data) in enumerate(modules(version)):
            begin.append((f"modules/{place:02}-{name}.ko", REGULAR, data))
        self.initramfs.write_bytes(archive(begin))
        tree = folder / "tree"
        for name in ("bin", "proc", "dev", "tmp", "disk", "octet", "jobs", "etc"):
            (tree / name).mkdir(parents=True)
        (tree / "etc/passwd").write_text("root:x:0:0:root:/:/bin/sh\n", encoding="ascii")
        shutil.copy(busybox, tree / "bin/busybox")
        for name in subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split():
            if not (tree / "bin" / name).exists():
                (tree / "bin" / name).symlink_to("busybox")
        for program in (*programs, *files):
            shutil.copy(program, tree / "octet")
        for library in sorted({path for program in (*programs, *files) for path in libraries(program)}):
            (tree / library[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, tree / library[1:])
        (tree / "jobs/run").write_text(job, encoding="utf-8")
        used = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
        image_make(self.image, (used * 5 // 4 // MIB + 16) * MIB, folder=tree)
        shutil.rmtree(tree)


class Machine:
    """One disk, and a machine that is switched on, cut off, and switched on again."""

    def __init__(self, programs, folder, disk_mib, system="ext4", memory_mib=512, ports=()):
        self.programs, self.folder, self.memory_mib, self.ports = programs, folder, memory_mib, ports
        self.socket, self.disk_image = folder / "disk.sock", folder / "disk.img"
        image_make(self.disk_image, disk_mib * MIB, system)
        self.disk = subprocess.Popen([sys.executable, HERE / "powercut_disk.py", self.socket, self.disk_image],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answer()
        self.process, self.boots, self.is_stopping = None, 0, False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (self.process, self.disk):
            if process and process.poll() is None:
                process.kill()
                process.wait()

    def answer(self):
        line = self.disk.stdout.readline()
        assert line, "the disk's server has ended"
        return json.loads(line)

    def ask(self, command):
        self.disk.stdin.write(command + "\n")
        self.disk.stdin.flush()
        return self.answer()

    def boot(self, words=""):
        """words: for the job, on the kernel's command line."""
        self.boots += 1
        accel = accelerator()
        forward = "".join(f",hostfwd=tcp:127.0.0.1:{port}-:{port}" for port in self.ports)
        command = ["qemu-system-x86_64", "-M", f"pc,accel={accel}", "-cpu", "host" if accel == "kvm" else "max", "-m", str(self.memory_mib), "-smp", "1",
                   "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", f"file:{self.console()}",
                   "-kernel", self.programs.kernel, "-initrd", self.programs.initramfs,
                   "-append", f"console=ttyS0 quiet panic=-1 no_timer_check random.trust_cpu=on {words}",
                   "-drive", f"file={self.programs.image},if=virtio,format=raw,readonly=on",
                   "-drive", f"file=nbd+unix:///?socket={self.socket},if=virtio,format=raw,cache=none",
                   "-netdev", f"user,id=net{forward}", "-device", "virtio-net-pci,netdev=net,romfile="]
        with open(self.folder / "qemu.log", "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self.process

    def console(self, boot=None):
        return self.folder / f"console.{boot or self.boots}"

    def said(self):
        """Lines of this boot that are whole."""
        with contextlib.suppress(OSError):
            return self.console().read_text(encoding="utf-8", errors="replace").replace("\r", "").split("\n")[:-1]
        return []

    def wait_said(self, text, deadline_s=BOOT_S):
        """The first line that has it."""
        def found():
            lines = self.said()
            assert self.process.poll() is None or any(text in line for line in lines), \
                "the machine has ended:\n" + "\n".join(lines[-20:]) + (self.folder / "qemu.log").read_text(errors="replace")
            return next((line for line in lines if text in line), None)
        return wait_for(f'the machine to say "{text}"', found, deadline_s, numbers=lambda: "\n".join(self.said()[-20:]))

    def stop_after(self, writes):
        """The disk answers nothing after so many more writes, until peek or cut."""
        self.disk.stdin.write(f"stop {writes}\n")
        self.disk.stdin.flush()
        self.is_stopping = True

    def wait_stopped(self):
        self.answer()
        self.is_stopping = False

    def release(self):
        """The disk answers, whatever was asked."""
        if self.is_stopping:
            self.wait_stopped()
            self.ask("go")

    def peek(self, seed, way, image):
        """The machine goes on; image is what would be on the disk if it did not."""
        return self.ask(f"peek {seed} {way} {image}")

    def cut(self, seed, way, image):
        """No power: what the disk has then is what is there at the next boot, and in image."""
        report = self.ask(f"cut {seed} {way} {image}")
        self.process.kill()
        self.process.wait()
        return report


def files_of(image, names, folder):
    """What is in an image of a disk once its journal has been replayed: these files or folders, those that are there, into folder."""
    checked = subprocess.run(["e2fsck", "-fy", image], capture_output=True, text=True, check=False)
    assert checked.returncode in (0, 1), f"the file system is damaged: {checked.stdout}{checked.stderr}"
    folder.mkdir(exist_ok=True)
    for name in names:
        subprocess.run(["debugfs", "-R", f"rdump {name} {folder}", image], capture_output=True, check=True)
    return folder
