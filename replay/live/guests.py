# SPDX-License-Identifier: LGPL-2.1-or-later
"""The guests, named KIND-DISPLAY or KIND-DISPLAY-SIZE. text-std is the VGA console, sound-std the same with a sound card; the
others use the display's kernel driver and a frame buffer. With +kvm behind its name a guest runs under KVM, else under TCG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.lab.lab import LOOPBACK, Lab
from guest import initrd, qemu
from guest.qemu import KVM, SPICE, TCG, VNC, VNC_TLS, Hardware, Listener, Qemu
from live import desktop
from live.ways import Way

# name -> QEMU's device, the guest's module
DISPLAYS = {"std": ("VGA", "bochs"), "qxl": ("qxl-vga", "qxl"), "virtio": ("virtio-vga", "virtio_gpu")}
TEXT, DESKTOP, SOUND = "text", "desktop", "sound"
_MEMORY = {TEXT: 256, SOUND: 256, DESKTOP: 768}     # MB
KMS = "kms"     # text-kms: the text console of std VGA on a frame buffer
NAMES = ("text-std", "text-kms", "text-qxl", "text-virtio", "sound-std", "desktop-std", "desktop-qxl", "desktop-virtio")
LARGE = tuple(f"text-{display}-{size}" for display in ("std", "virtio") for size in ("3840x2160", "3440x1440"))
_LARGE_MEMORY = 768     # MB: the frame buffer, its shadow, and pages to scroll


@dataclass(frozen=True)
class Guest:
    name: str
    kind: str
    hardware: Hardware
    state: Path

    def start(self, way: Way, lab: Lab, folder: Path) -> Qemu:
        """Shown in that way, at the server's end of the link."""
        at = Listener(lab.server, LOOPBACK if way.page else lab.listens_at, lab.ports, socket(way, lab, folder), lab.server_address,
                      SPICE if way.spice else VNC if way.page else VNC_TLS,
                      (*((f"streaming-video={way.video}",) if way.video else ()), "disable-ticketing=on"))
        return Qemu(self.hardware, at, folder, way.environment(), self.state)


def socket(way: Way, lab: Lab, folder: Path) -> Path | None:
    """Where SPICE listens if it is not at a port."""
    return folder / "spice" if lab.link.unix and way.spice else None


def named(name: str, accel: str) -> str:
    return name if accel == TCG else f"{name}+{accel}"


def kind_of(name: str) -> str:
    if name.removesuffix(f"+{KVM}") not in (*NAMES, *LARGE):
        raise BenchError(f"unknown guest '{name}': choose one of {', '.join((*NAMES, *LARGE))}", 2)
    return name.partition("-")[0]


def prepare(name: str, steps: Steps, second: str = "") -> Guest:
    """Built and booted once. `second`: QEMU's device of another display, for the same driver."""
    kind = kind_of(name)
    plain, _, accel = name.partition("+")
    display, _, size = plain.partition("-")[2].partition("-")
    device, module = DISPLAYS["std" if display == KMS else display]
    memory = _MEMORY[kind]
    if size:
        device += f",{'vgamem_mb=64,' if display == 'std' else ''}xres={size.replace('x', ',yres=')}"
        memory = _LARGE_MEMORY
    hardware = Hardware(initrd.prepare(steps), device, memory, desktop.image(steps) if kind == DESKTOP else None, int(kind == SOUND), second,
                        accel=accel or TCG)
    orders: Sequence[str] = () if kind == DESKTOP or plain in ("text-std", "sound-std") else (f"graphics {module}",)
    return Guest(name, kind, hardware, qemu.state(hardware, steps, orders))
