# SPDX-License-Identifier: LGPL-2.1-or-later
"""Records a session: boots the guest under QEMU with a QXL device, follows it over its serial line, keeps what was recorded."""
from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.common import paths, proc
from bench.common.errors import BenchError
from recorder import surfaces, thin
from recorder.guest import Guest
from recorder.reader import HEADER, read_events

QEMU = "qemu-system-x86_64"
ACCELERATORS = ("kvm", "tcg")
PROBE_SECONDS = 20
LONGEST = 3600               # seconds a session may take before it is given up
_QUIET = "quiet loglevel=0 systemd.show_status=0 vt.global_cursor_default=0"


@dataclass(frozen=True)
class Session:
    does: str                # what guest/start.sh is told to do
    driver: str              # kms: the kernel's; ums: X's own, with surfaces; none: VGA text
    kernel: str              # more words for the kernel's command line
    seconds: int             # about so long with hardware virtualisation
    what: str
    video: tuple[int, int, int] | None = None     # width, height and number of the frames kept


SESSIONS = {
    "vga-text-boot": Session("text", "none", "nomodeset", 30, "a boot in VGA text mode, then an administrator's console"),
    "linux-boot": Session("boot", "kms", "", 30, "a boot on a framebuffer console, then the desktop coming up"),
    "linux-desktop": Session("desktop", "ums", f"nomodeset {_QUIET}", 110, "work with terminal, editor, PDF, files and windows"),
    "linux-video": Session("video", "ums", f"nomodeset {_QUIET}", 50, "a video beside a terminal in use", (320, 240, 80)),
    "linux-web": Session("web", "ums", f"nomodeset {_QUIET}", 60, "a long web page scrolled, pictures viewed"),
    "linux-idle": Session("idle", "ums", f"nomodeset {_QUIET}", 90, "a desktop at which nobody works"),
}


@cache
def accelerator() -> str:
    """How fast the guest can run here: the first of QEMU's accelerators with which a machine comes up."""
    for kind in ACCELERATORS:
        try:
            tried = subprocess.run([QEMU, "-machine", "pc", "-accel", kind, "-cpu", "max", "-m", "64", "-display", "none",
                                    "-nodefaults", "-S", "-monitor", "stdio"], input=b"quit\n", capture_output=True,
                                   timeout=PROBE_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            continue
        if tried.returncode == 0:
            return kind
    raise BenchError(f"{QEMU} starts no machine, neither with {' nor with '.join(ACCELERATORS)}")


def command(session: Session, guest: Guest, socket: Path, serial: Path) -> list[str]:
    """QEMU's command line. The image is opened so that the session changes nothing in it."""
    append = f"root=/dev/vda rw console=tty0 mitigations=off record={session.does} driver={session.driver} {session.kernel}"
    return [QEMU, "-machine", "pc", "-accel", accelerator(), "-cpu", "max", "-m", "2048",
            "-device", "qxl-vga,vgamem_mb=16,ram_size_mb=64,vram_size_mb=64", "-display", "none", "-nic", "none",
            "-spice", f"unix=on,addr={socket},disable-ticketing=on", "-monitor", "none", "-no-reboot",
            "-drive", f"file={guest.image},if=virtio,format=raw,snapshot=on", "-serial", f"file:{serial}",
            "-kernel", str(guest.kernel), "-initrd", str(guest.initrd), "-append", append.strip()]


def _steps_of(serial: Path, seen: int) -> list[str]:
    """What the guest has said since the first `seen` times."""
    if not serial.exists():
        return []
    lines = serial.read_text(errors="replace").splitlines()
    return [line.split(maxsplit=2)[2] for line in lines if line.startswith("RECORD ") and line.count(" ") >= 2][seen:]


def _client(socket: Path, until: float) -> subprocess.Popen[bytes] | None:
    """A session is recorded with somebody watching, as it would be in use; without our client, with nobody."""
    while not socket.exists() and time.monotonic() < until:
        time.sleep(0.1)
    try:
        watch = [str(paths.client()), "--unix", str(socket), "--no-end", "--idle", str(LONGEST)]
        return subprocess.Popen(proc.inside(None, watch), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
    except BenchError:
        return None


def record(name: str, guest: Guest, raw: Path, say: Callable[[str], None]) -> None:
    """Records one session into `raw`; `say` is told each step of the guest."""
    session = SESSIONS[name]
    with tempfile.TemporaryDirectory(prefix="spice-record-", dir=raw.parent) as work:
        socket, serial, log, recording = (Path(work) / name for name in ("spice", "serial", "qemu.log", "session.rec"))
        environment = {**os.environ, "SPICE_WORKER_RECORD_FILENAME": str(recording), "TMPDIR": work}
        began = time.monotonic()
        with log.open("wb") as output:
            qemu = subprocess.Popen(proc.inside(None, command(session, guest, socket, serial)),
                                    stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment)
        client = None
        try:
            client = _client(socket, began + 10) if qemu.poll() is None else None
            seen = 0
            while qemu.poll() is None:
                if time.monotonic() - began > LONGEST:
                    raise BenchError(f"{name}: not done after {LONGEST} s")
                for step in _steps_of(serial, seen):
                    say(f"{name}: {step}, after {time.monotonic() - began:.0f} s")
                    seen += 1
                time.sleep(0.5)
        finally:
            for process in (qemu, client):
                if process and process.poll() is None:
                    process.terminate()
                    process.wait()
        steps = _steps_of(serial, 0)
        if qemu.returncode or "off" not in steps:
            told = log.read_text(errors="replace").strip().splitlines() or ["no reason told"]
            reached = steps[-1] if steps else "it did not boot"
            raise BenchError(f"{name}: the guest did not come to its end ({reached}): {told[-1]}")
        recording.rename(raw)


def finish(name: str, raw: Path) -> Path:
    """What is done to a recording after the session: surfaces destroyed early, a long video thinned. Returns the result."""
    session = SESSIONS[name]
    if session.driver != "ums":
        return raw
    done = raw.with_suffix(".done")
    surfaces.destroy_early(raw, done)
    if session.video:
        with raw.open("wb") as file:
            file.write(HEADER)
            for event in thin.thinned(read_events(done), *session.video):
                file.write(event.encode())
        done.unlink()
        return raw
    return done.replace(raw)


def missing_programs() -> list[str]:
    packages = {QEMU: "qemu-system-x86 qemu-system-gui", "debootstrap": "debootstrap", "mke2fs": "e2fsprogs"}
    return [package for program, package in packages.items() if shutil.which(program) is None]
