# SPDX-License-Identifier: LGPL-2.1-or-later
"""The guests, named KIND-DISPLAY or KIND-DISPLAY-SIZE. text-std is the VGA console, sound-std the same with a sound card; the
others use the display's kernel driver and a frame buffer. With +kvm behind its name a guest runs under KVM, else under TCG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.runs import libraries
from clients import guest
from live import desktop, qemu
from live.ways import Way

_INIT = Path(__file__).with_name("guest") / "init"
_MODULES = ("virtio_pci", "virtio_input", "evdev", "virtio_blk", "crc32c_generic", "ext4", "qxl", "bochs", "virtio_gpu")
_SOUND_MODULES = ("virtio_pci", "virtio_input", "evdev", "snd_hda_intel", "snd_hda_codec_generic", "snd_pcm_oss")

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
    hardware: qemu.Hardware
    state: str      # for Qemu(incoming=)


def named(name: str, accel: str) -> str:
    return name if accel == guest.TCG else f"{name}+{accel}"


def kind_of(name: str) -> str:
    if name.removesuffix(f"+{guest.KVM}") not in (*NAMES, *LARGE):
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
    made = guest.prepare(steps, _INIT, _SOUND_MODULES if kind == SOUND else _MODULES)
    hardware = qemu.Hardware(made.kernel, made.initrd, f"live={kind}", device, memory,
                             desktop.image(steps) if kind == DESKTOP else None, kind == SOUND, second, accel or guest.TCG)
    orders: Sequence[str] = () if kind == DESKTOP or plain in ("text-std", "sound-std") else (f"graphics {module}",)
    steps.say(f"booting the guest {name}, once")
    stock = Way(libraries.STOCK, libraries.find(libraries.STOCK))
    return Guest(name, kind, hardware, qemu.state(hardware, stock, paths.cache_dir() / "live", orders))
