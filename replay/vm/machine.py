# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs one command under another kernel: QEMU with this machine's files, read-only, and memory over them for what
is written."""

from __future__ import annotations

import contextlib
import io
import os
import re
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from bench.common import paths, proc
from bench.common.errors import BenchError
from vm import kernels
from vm.kernels import Kernel

_QEMU = ("qemu-system-x86_64", "qemu-system-x86")
_PLACES = "/usr/lib/qemu", "/usr/libexec"       # where distributions put virtiofsd
_PORTS = "out", "err", "status"                 # in the order in which init.c knows them
_LAST_LINES = 3
_PATIENCE = 5.0      # seconds for a machine whose files have gone to end by itself
# Two network cards on one wire, eth0 and eth1: unlike loopback and veth they read what they send from where it is.
_WIRE = [part for number in range(2) for part in (
    "-netdev", f"hubport,id=wire{number},hubid=0", "-device", f"virtio-net-pci,netdev=wire{number}")]


def accelerated() -> bool:
    """Whether there is a KVM that can be used. There are some without the processor's help (PVM, in a virtual machine);
    they take no kernel but their own."""
    flags = re.search(r"^flags\b.* (vmx|svm)\b", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return flags is not None and os.access("/dev/kvm", os.R_OK | os.W_OK)


def _virtiofsd() -> str:
    found = next((path for folder in _PLACES if (path := shutil.which("virtiofsd", path=folder))), None)
    return found or proc.require("virtiofsd", "virtiofsd (Debian 12: qemu-system-common)")


def missing() -> str | None:
    """What keeps a machine from being made here, in one line."""
    try:
        proc.require(*_QEMU)
        _virtiofsd()
        paths.tool("vm", "vm-init")
    except BenchError as error:
        return str(error)
    if os.geteuid():
        return "python3 -m vm needs root: virtiofsd gives away the files of the whole machine"
    return None if root_is_mounted() else "python3 -m vm needs a root that is a mount point, which a plain chroot is not"


def root_is_mounted(mounts: str | None = None) -> bool:
    """Whether / can be mounted again, read-only. mounts is what /proc/self/mountinfo says: in a chroot into a folder nothing
    of /."""
    lines = (Path("/proc/self/mountinfo").read_text() if mounts is None else mounts).splitlines()
    return any(line.split()[4] == "/" for line in lines)


def run(kernel: Kernel, command: Sequence[str], *, cpus: int = 2, memory: int = 1024,
        out: BinaryIO = sys.stdout.buffer, err: BinaryIO = sys.stderr.buffer) -> int:
    """The command's exit status; what it prints goes to out and err as it comes. memory is in MiB."""
    reason = missing()
    if reason:
        raise BenchError(reason)
    with tempfile.TemporaryDirectory(prefix="spice-vm-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        _write_initramfs(kernel, command, folder / "initramfs")
        files, server = stack.enter_context(_files(folder))
        pipes = {port: os.pipe() for port in _PORTS}
        ports = [ends[1] for ends in pipes.values()]
        machine = subprocess.Popen(
            proc.inside(None, [*_arguments(kernel, folder, files, ports, memory), *_processors(cpus)]),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=(folder / "qemu").open("wb"),
            pass_fds=ports)
        stack.callback(machine.wait)
        stack.callback(machine.kill)
        for _, write_end in pipes.values():
            os.close(write_end)
        # without its files the machine waits for ever
        threading.Thread(target=_end_with, args=(server, machine), daemon=True).start()
        return _follow({port: ends[0] for port, ends in pipes.items()}, {"out": out, "err": err}, folder)


def _end_with(server: subprocess.Popen[bytes], machine: subprocess.Popen[bytes]) -> None:
    """The server ends by itself, too, when the machine has closed its socket; what the machine told is told then."""
    server.wait()
    with contextlib.suppress(subprocess.TimeoutExpired):
        machine.wait(_PATIENCE)
    machine.kill()


def _write_initramfs(kernel: Kernel, command: Sequence[str], target: Path) -> None:
    """The modules, and behind them what is new for each run."""
    archive = io.BytesIO()
    kernels.write_cpio(archive, [
        ("init", 0o100755, paths.tool("vm", "vm-init").read_bytes()),
        ("command", 0o100644, _strings(command)),
        ("environment", 0o100644, _strings([f"{name}={value}" for name, value in os.environ.items()])),
        ("folder", 0o100644, _strings([os.getcwd()]))])
    target.write_bytes(kernel.modules.read_bytes() + archive.getvalue())


def _strings(strings: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(string) + b"\0" for string in strings)


@contextlib.contextmanager
def _files(folder: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """Serves this machine's files; yields the socket and the server. The root file system is read-only for the server
    itself, whatever the machine asks for."""
    path = folder / "files"
    with socket.socket(socket.AF_UNIX) as listening, (folder / "virtiofsd").open("wb") as log:
        listening.bind(str(path))
        listening.listen(1)
        server = subprocess.Popen(
            proc.inside(None, [proc.require("unshare", "util-linux"), "--mount", "sh", "-c",
                               'mount -o remount,bind,ro / && exec "$@"', "sh",
                               _virtiofsd(), f"--fd={listening.fileno()}",
                               "-o", "source=/", "-o", "cache=always", "-o", "sandbox=chroot"]),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[listening.fileno()])
        try:
            yield path, server
        finally:
            server.kill()
            server.wait()


def _processors(cpus: int) -> list[str]:
    # One thread for all processors: with one each, a processor may run into the breakpoint by which the kernel changes
    # its code on another one, and not find it known any more (seen with 7.3 at boot, one in fifty under load).
    return ["-accel", "kvm" if accelerated() else "tcg,thread=single", "-smp", str(cpus)]


def _arguments(kernel: Kernel, folder: Path, files: Path, ports: list[int], memory: int) -> list[str]:
    devices = ["-device", "virtio-serial,max_ports=4"]
    for number, fd in enumerate(ports, 1):
        devices += ["-chardev", f"file,id=port{number},path=/proc/self/fd/{fd}",
                    "-device", f"virtserialport,nr={number},chardev=port{number}"]
    return [
        proc.require(*_QEMU), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-nic", "none",
        "-machine", "q35,memory-backend=memory", "-cpu", "max",
        "-m", f"{memory}M", "-object", f"memory-backend-memfd,id=memory,size={memory}M,share=on",
        "-kernel", str(kernel.image), "-initrd", str(folder / "initramfs"),
        "-append", "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable no_timer_check",
        "-chardev", f"file,id=console,path={folder / 'console'}", "-serial", "chardev:console",
        "-chardev", f"socket,id=files,path={files}", "-device", "vhost-user-fs-pci,chardev=files,tag=host",
        "-device", "virtio-rng-pci", *_WIRE, *devices]


def _follow(pipes: dict[str, int], sinks: dict[str, BinaryIO], folder: Path) -> int:
    """Passes on what comes until the machine has ended; the status it told."""
    told = b""
    with selectors.DefaultSelector() as selector:
        for port, fd in pipes.items():
            selector.register(fd, selectors.EVENT_READ, port)
        while selector.get_map():
            for key, _ in selector.select():
                data = os.read(key.fd, 1 << 16)
                if not data:
                    selector.unregister(key.fd)
                    os.close(key.fd)
                elif key.data == "status":
                    told += data
                else:
                    sinks[key.data].write(data)
                    sinks[key.data].flush()
    word, _, rest = told.decode(errors="replace").strip().partition(" ")
    if word == "status":
        return int(rest)
    raise BenchError(f"the machine did not run the command: {rest or _last_words(folder)}")


def _last_words(folder: Path) -> str:
    """Of all three: QEMU warns of cards on a wire of their own each time, so its log is never empty."""
    said = []
    for name in ("console", "virtiofsd", "qemu"):
        file = folder / name
        lines = file.read_text(errors="replace").strip().splitlines() if file.exists() else []
        words = [line.strip() for line in lines if ": warning: hub" not in line]
        if words:
            said.append(f"{name}: " + "; ".join(words[-_LAST_LINES:]))
    return " | ".join(said) or "it said nothing"
