# SPDX-License-Identifier: LGPL-2.1-or-later
"""The guest: Debian's kernel, busybox, and one shell script that draws text without end (guest/init)."""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import lzma
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps

_INIT = Path(__file__).with_name("guest") / "init"
# what the guest loads; what these need comes with them
_MODULES = (
    "virtio_pci",
    "virtio_console",
    "xhci_pci",
    "usb_storage",
    "sr_mod",
    "sd_mod",
    "snd_hda_intel",
    "snd_hda_codec_generic",
    "snd_pcm_oss",
    "qxl",
)


TCG, KVM = "tcg", "kvm"
_KVM, _CREATE_VM = Path("/dev/kvm"), 0xAE01     # the ioctl of linux/kvm.h


@dataclass(frozen=True)
class Guest:
    kernel: Path
    initrd: Path
    accel: str = TCG


def accelerator(name: str) -> str:
    """The value of --accel; raises BenchError, one line, for KVM where it does not work."""
    if name == KVM:
        try:
            with _KVM.open("r+b", buffering=0) as device:
                os.close(fcntl.ioctl(device, _CREATE_VM, 0))
        except OSError as error:
            raise BenchError(f"--accel kvm: {_KVM} does not work on this machine: {error.strerror}") from None
    return name


def configure(parser: argparse.ArgumentParser) -> None:
    """The option of all commands that start guests of their own."""
    parser.add_argument("--accel", type=accelerator, choices=(TCG, KVM), default=TCG, metavar="NAME",
                        help="the guest's processor: tcg (emulated) or kvm (%(default)s)")


def prepare(steps: Steps, init: Path = _INIT, wanted: Sequence[str] = _MODULES, accel: str = TCG) -> Guest:
    """`init` is its first program, `wanted` are the modules that it may load. Made once; made again when one of these or the newest
    kernel of the distribution changed."""
    if platform.machine() != "x86_64":
        raise BenchError(f"the test guest needs an x86_64 machine; this is {platform.machine()}")
    home = paths.cache_dir() / "clients"
    home.mkdir(parents=True, exist_ok=True)
    package = _kernel_package()
    modules = hashlib.sha256(" ".join(wanted).encode()).hexdigest()[:8]
    kernel = once(home / f"{package}-{modules}", lambda folder: _make_kernel(folder, package, wanted, steps))
    script = hashlib.sha256(init.read_bytes()).hexdigest()[:8]
    guest = once(home / f"guest-{modules}-{script}", lambda folder: _make_guest(folder, kernel, init, steps))
    return Guest(kernel / "vmlinuz", guest / "initrd", accel)


def once(done: Path, make: Callable[[Path], None]) -> Path:
    """A folder that is there whole or not at all."""
    if not done.is_dir():
        with tempfile.TemporaryDirectory(prefix="new-", dir=done.parent) as name:
            made = Path(name) / "made"
            made.mkdir()
            make(made)
            made.rename(done)
    return done


def _kernel_package() -> str:
    """The kernel that Debian would install now."""
    told = subprocess.run(
        ["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True, check=False
    ).stdout
    found = re.search(r"Depends: (linux-image-\S+)", told)
    if not found:
        raise BenchError("apt has no linux-image-amd64, the guest's kernel: run apt-get update")
    return found[1]


def _make_kernel(made: Path, package: str, wanted: Sequence[str], steps: Steps) -> None:
    """vmlinuz, and lib/modules with the wanted modules, all that they need, and their index."""
    unpacked = made.parent / "unpacked"
    unpacked.mkdir()
    steps.run(f"getting the guest's kernel ({package})", ["apt-get", "-q", "download", package], cwd=unpacked.parent)
    steps.run("unpacking the guest's kernel", ["dpkg-deb", "-x", next(unpacked.parent.glob("*.deb")), unpacked])
    if not (unpacked / "lib").exists():     # Debian 13 has it below usr alone
        (unpacked / "lib").symlink_to("usr/lib")
    kernel = next((unpacked / "boot").glob("vmlinuz-*"))
    version = kernel.name.removeprefix("vmlinuz-")
    kernel.rename(made / "vmlinuz")
    steps.run("indexing the kernel's modules", ["depmod", "-b", unpacked, version])
    for module in wanted:
        told = subprocess.run(
            ["modprobe", "-d", str(unpacked), "-S", version, "--show-depends", module],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for line in told.splitlines():
            if line.startswith("insmod "):
                _copy_module(Path(line.removeprefix("insmod ").split()[0]), unpacked, made)
    for index in (unpacked / "lib" / "modules" / version).glob("modules.*"):
        shutil.copy(index, made / "lib" / "modules" / version)
    steps.run("indexing the guest's modules", ["depmod", "-b", made, version])


def _copy_module(source: Path, unpacked: Path, made: Path) -> None:
    """As busybox can load it: Debian 13 has them packed."""
    target = made / source.relative_to(unpacked)
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix == ".xz":
        target.with_suffix("").write_bytes(lzma.decompress(source.read_bytes()))
    else:
        shutil.copy(source, target)


def _make_guest(made: Path, kernel: Path, init: Path, steps: Steps) -> None:
    root = made.parent / "root"
    for name in ("bin", "dev", "proc", "sys", "run"):
        (root / name).mkdir(parents=True)
    shutil.copytree(kernel / "lib", root / "lib")
    shutil.copy("/bin/busybox", root / "bin")
    applets = subprocess.run(["/bin/busybox", "--list"], capture_output=True, text=True, check=True).stdout.split()
    for applet in applets:
        if applet != "busybox":
            (root / "bin" / applet).symlink_to("busybox")
    shutil.copy(init, root / "init")
    (root / "init").chmod(0o755)
    steps.run(
        "packing the guest",
        ["sh", "-c", 'cd "$1" && find . | cpio -o -H newc -R 0:0 --quiet | gzip -1 >"$2"', "sh", root, made / "initrd"],
    )
