# SPDX-License-Identifier: LGPL-2.1-or-later
"""Debian's cloud kernels, fetched once, unpacked and never installed, each with an initramfs.

The initramfs holds the modules in the order in which they are to be loaded: what is not in it is never loaded."""

from __future__ import annotations

import fcntl
import io
import lzma
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.build.debsource import Mirror
from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps

# Named by the suite they are from: 6.1, the default suite's 6.12, and the newest there is.
KERNELS = ("bookworm", "trixie", "trixie-backports")
DEFAULT = "trixie"
_META = "linux-image-cloud-amd64"
_PARTS = re.compile(r"linux-(base|image|binary|modules)-\d")
# What the machine is made of, what runs in it wants (ss its tcp_diag), and what tls.ko would have the kernel look for.
_MODULES = ("virtio_pci", "virtio_console", "virtio_rng", "virtiofs", "overlay", "af_packet", "virtio_net",
            "veth", "tun",
            "sch_netem", "sch_fq", "sch_fq_codel", "sch_tbf", "sch_prio", "tcp_bbr", "aesni_intel",
            "ghash_clmulni_intel",
            "gcm", "ccm", "chacha20poly1305", "chacha_generic", "poly1305_generic", "tls", "tcp_diag")
# Kernels have these in one module or another.
_MAY_LACK = frozenset({"ghash_clmulni_intel", "chacha_generic", "poly1305_generic", "chacha20poly1305"})
_FORMAT = "3"       # of what is unpacked and of the initramfs; another one has them made anew


@dataclass(frozen=True)
class Kernel:
    suite: str
    release: str        # as uname -r says it
    image: Path
    modules: Path       # an initramfs with them, without a first process


def fetch(suite: str, steps: Steps) -> Kernel:
    """The kernel of a suite; downloads 30 MB the first time."""
    if platform.machine() != "x86_64":
        raise BenchError(f"there are kernels for x86_64 only, and this is {platform.machine()}")
    folder = paths.cache_dir() / "kernels" / suite
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / f"complete-{_FORMAT}").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _unpack(suite, folder, steps)
            (folder / f"complete-{_FORMAT}").touch()
    image = next(folder.glob("boot/vmlinuz-*"))
    return Kernel(suite, image.name.removeprefix("vmlinuz-"), image, folder / "modules.cpio")


def _unpack(suite: str, folder: Path, steps: Steps) -> None:
    if not Mirror(paths.cache_dir() / "apt", steps).packages(_META, _PARTS, suite, folder):
        raise BenchError(f"no kernel of {suite}: {_META} could not be downloaded (log: {steps.log})")
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)
        package.unlink()
    image = next(folder.glob("boot/vmlinuz-*"), None) or next(folder.glob("usr/lib/modules/*/vmlinuz"), None)
    if image is None:
        raise BenchError(f"the kernel of {suite} has no image where one was looked for")
    if image.parent.name != "boot":
        (folder / "boot").mkdir(exist_ok=True)
        image = shutil.copy(image, folder / "boot" / f"vmlinuz-{image.parent.name}")
    tree = next((found for top in ("lib", "usr/lib") for found in folder.glob(f"{top}/modules/*/kernel")), folder)
    archive = io.BytesIO()
    write_cpio(archive, _module_files(tree.parent))
    (folder / "modules.cpio").write_bytes(archive.getvalue())
    for rest in ("lib", "usr"):
        shutil.rmtree(folder / rest, ignore_errors=True)


def _name(file: str) -> str:
    return re.sub(r"\.ko(\.xz|\.zst)?$", "", Path(file).name).replace("-", "_")


def _plain(path: Path) -> bytes:
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout
    return lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()


def _module_files(tree: Path) -> Iterator[tuple[str, int, bytes]]:
    """The entries of the initramfs: each module behind those it needs."""
    files = {_name(str(path)): path for path in (tree / "kernel").rglob("*.ko*")}
    builtin = {_name(line) for line in (tree / "modules.builtin").read_text().splitlines()}
    placed: dict[str, bytes] = {}

    def place(name: str) -> None:
        if name in placed or name in builtin:
            return
        if name not in files:
            if name in _MAY_LACK:
                return
            raise BenchError(f"the kernel in {tree} has no module {name}")
        data = _plain(files[name])
        needs = re.search(rb"\0depends=([^\0]*)\0", data)
        for need in (needs[1].decode().split(",") if needs else []):
            if need:
                place(need.replace("-", "_"))
        placed[name] = data

    for name in _MODULES:
        place(name)
    yield "modules", 0o040755, b""
    for number, (name, data) in enumerate(placed.items()):
        yield f"modules/{number:02}-{name}.ko", 0o100644, data


def write_cpio(archive: io.BytesIO, entries: Iterable[tuple[str, int, bytes]]) -> None:
    """Entries (name, mode, content) in the format of an initramfs; one archive may follow another."""
    for number, (name, mode, data) in enumerate((*entries, ("TRAILER!!!", 0, b"")), 1):
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        archive.write(b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0")
        archive.write(b"\0" * (-archive.tell() % 4))
        archive.write(data + b"\0" * (-len(data) % 4))
