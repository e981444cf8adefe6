# SPDX-License-Identifier: LGPL-2.1-or-later
"""What every guest boots: Debian's kernel, and busybox with one shell script (init)."""

from __future__ import annotations

import hashlib
import lzma
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps

HOME = paths.cache_dir() / "guest"
_INIT = Path(__file__).with_name("init")
# what the guest loads; what these need comes with them
_MODULES = ("virtio_pci", "virtio_input", "evdev", "virtio_blk", "crc32c_generic", "ext4", "virtio_console", "xhci_pci", "usb_storage", "sr_mod",
            "sd_mod", "snd_hda_intel", "snd_hda_codec_generic", "snd_pcm_oss", "bochs", "qxl", "virtio_gpu")


@dataclass(frozen=True)
class Made:
    kernel: Path
    initrd: Path


def prepare(steps: Steps) -> Made:
    """Made once; made again when the init, the modules or the newest kernel of the distribution changed."""
    if platform.machine() != "x86_64":
        raise BenchError(f"the test guest needs an x86_64 machine; this is {platform.machine()}")
    HOME.mkdir(parents=True, exist_ok=True)
    package = _kernel_package()
    modules = hashlib.sha256(" ".join(_MODULES).encode()).hexdigest()[:8]
    kernel = once(HOME / f"{package}-{modules}", lambda folder: _make_kernel(folder, package, steps))
    script = hashlib.sha256(_INIT.read_bytes()).hexdigest()[:8]
    initrd = once(HOME / f"initrd-{package}-{modules}-{script}", lambda folder: _make_initrd(folder, kernel, steps))
    return Made(kernel / "vmlinuz", initrd / "initrd")


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
    told = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"Depends: (linux-image-\S+)", told)
    if not found:
        raise BenchError("apt has no linux-image-amd64, the guest's kernel: run apt-get update")
    return found[1]


def _make_kernel(made: Path, package: str, steps: Steps) -> None:
    """vmlinuz, and lib/modules with the modules, all that they need, and their index."""
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
    for module in _MODULES:
        told = subprocess.run(["modprobe", "-d", str(unpacked), "-S", version, "--show-depends", module], capture_output=True,
                              text=True, check=True).stdout
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


def _make_initrd(made: Path, kernel: Path, steps: Steps) -> None:
    root = made.parent / "root"
    for name in ("bin", "dev", "proc", "sys", "run"):
        (root / name).mkdir(parents=True)
    shutil.copytree(kernel / "lib", root / "lib")
    shutil.copy("/bin/busybox", root / "bin")
    applets = subprocess.run(["/bin/busybox", "--list"], capture_output=True, text=True, check=True).stdout.split()
    for applet in applets:
        if applet != "busybox":
            (root / "bin" / applet).symlink_to("busybox")
    shutil.copy(_INIT, root / "init")
    (root / "init").chmod(0o755)
    steps.run(
        "packing the guest",
        ["sh", "-c", 'cd "$1" && find . | cpio -o -H newc -R 0:0 --quiet | gzip -1 >"$2"', "sh", root, made / "initrd"],
    )
