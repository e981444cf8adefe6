# SPDX-License-Identifier: LGPL-2.1-or-later
"""Guests without QEMU: what it is told, and what is read from it."""

from __future__ import annotations

import lzma
import struct
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from bench import cli
from guest import initrd, picture, qemu
from guest.errors import Failed
from guest.initrd import Made
from guest.picture import Pixels
from guest.qemu import Hardware, Listener, Qemu

_HARDWARE = Hardware(Made(Path("kernel"), Path("initrd")), "VGA")


# --- pictures ---

def _picture(width: int, height: int, first: int = 0) -> Pixels:
    return ((first + numpy.arange(width * height * 3)) % 251).astype(numpy.uint8).reshape(height, width, 3)


def test_a_picture_is_found_within_a_larger_one() -> None:
    small = _picture(5, 4, 7)
    large = numpy.zeros((8, 9, 3), numpy.uint8)
    large[2:6, 3:8] = small
    assert picture.shows(large, small)
    assert not picture.shows(large, _picture(5, 4, 8))
    assert not picture.shows(small, large)
    large[5, 7, 0] ^= 1  # its last pixel
    assert not picture.shows(large, small)


def test_a_picture_of_one_colour_is_found_too_and_is_blank() -> None:
    large, small = _picture(9, 8), numpy.full((2, 3, 3), 9, numpy.uint8)
    assert picture.blank(small) and not picture.blank(large) and not picture.shows(large, small)
    large[6:, 6:] = 9
    assert picture.shows(large, small)


def test_what_differs_is_told_and_saved(tmp_path: Path) -> None:
    one, other = _picture(5, 4), _picture(5, 4)
    other[3, 4] = 0
    assert picture.differing(one, other) == "1 of 20 pixels differ" and picture.differing(one, picture.none()) == "5x4, not 1x1"
    picture.save(one, tmp_path / "file")
    assert numpy.array_equal(picture.from_ppm((tmp_path / "file").read_bytes()), one)


def test_pictures_of_every_kind_are_the_same_one() -> None:
    wanted = [[[1, 2, 3], [4, 5, 6]]]
    assert picture.from_ppm(b"P6\n2 1\n255\n\1\2\3\4\5\6").tolist() == wanted
    assert picture.from_ppm(b"P6\n2 1\n255\n\1\2\3\4\5\6\0\0").tolist() == wanted     # lines as QEMU pads them
    assert picture.from_rgba(2, 1, bytes((1, 2, 3, 255, 4, 5, 6, 255))).tolist() == wanted
    assert picture.from_bgrx(2, 1, 12, bytes((3, 2, 1, 0, 6, 5, 4, 0, 9, 9, 9, 9))).tolist() == wanted
    header = [100 + 3, 7, 2, 24, 2, 1, 0, 0, 32, 0, 32, 32, 8, 0, 0, 0, 0, 0, 256, 1, 0, 0, 0, 0, 0]
    xwd = struct.pack(">25I", *header) + b"xwd" + bytes(12) + bytes((3, 2, 1, 0, 6, 5, 4, 0))
    assert picture.from_xwd(xwd).tolist() == wanted
    for damaged, told in ((b"P6\n2 1\n255\n\1\2\3", "half a picture"), (b"P6\n2 1\n65535\n" + bytes(12), "8 bits")):
        with pytest.raises(Failed, match=told):
            picture.from_ppm(damaged)
    for half in (lambda: picture.from_rgba(2, 1, bytes(7)), lambda: picture.from_bgrx(2, 1, 12, bytes(11)), lambda: picture.from_xwd(xwd[:-1])):
        with pytest.raises(Failed, match="half a picture"):
            half()


def test_a_screendump_is_a_picture(tmp_path: Path) -> None:
    asked = []
    host = object.__new__(Qemu)
    (tmp_path / "screen.ppm").write_bytes(b"P6\n2 1\n255\n\1\2\3\4\5\6")
    host.__dict__.update(_folder=tmp_path, qmp=lambda *_, **more: asked.append(more))
    assert host.screen().tolist() == host.screen(1).tolist() == [[[1, 2, 3], [4, 5, 6]]]
    assert [each.get("device") for each in asked] == [None, "second"]


# --- the guest's files ---

def test_a_guests_module_is_unpacked(tmp_path: Path) -> None:
    plain, packed = tmp_path / "lib" / "one.ko", tmp_path / "lib" / "other.ko.xz"
    plain.parent.mkdir()
    plain.write_bytes(b"one")
    packed.write_bytes(lzma.compress(b"other"))
    for module in (plain, packed):
        initrd._copy_module(module, tmp_path, tmp_path / "made")
    assert {file.name: file.read_bytes() for file in (tmp_path / "made" / "lib").iterdir()} == {"one.ko": b"one", "other.ko": b"other"}


# --- QEMU's arguments ---

def test_the_guest_is_told_what_it_has() -> None:
    def told(**more: object) -> str:
        argv = replace(_HARDWARE, **more).arguments()   # type: ignore[arg-type]
        return argv[argv.index("-append") + 1].rpartition("off ")[2]

    assert (told(), told(sound=1), told(sound=2, ports=True)) == ("guest=text", "guest=text sound", "guest=text sound ports")
    assert told(disk=Path("image")) == "guest=desktop"


def test_a_saved_state_is_of_one_kind_of_hardware() -> None:
    plain = _HARDWARE.arguments()
    for more in ({"accel": "kvm"}, {"second": "VGA"}, {"sound": 1}, {"ports": True}, {"memory": 1}, {"disk": Path("image")},
                 {"display": "qxl-vga"}):
        assert replace(_HARDWARE, **more).arguments() != plain    # type: ignore[arg-type]
    kvm = replace(_HARDWARE, accel="kvm").arguments()
    assert [word for word in kvm if word not in plain] == ["kvm"]
    assert "audiodev" not in " ".join(plain) and "virtio-tablet-pci" in plain
    assert "virtio-tablet-pci" not in replace(_HARDWARE, ports=True).arguments()


@pytest.mark.parametrize(("at", "wanted", "hears"), [
    (Listener(), "", False),
    (Listener(address="::1", ports=(5900, 5901), protocol=qemu.VNC), "-object tls-creds-anon,id=tls,endpoint=server -vnc ::1:0", False),
    (Listener(address="::1", ports=(5910, 5901), protocol=qemu.VNC_TLS),
     "-object tls-creds-anon,id=tls,endpoint=server -vnc ::1:10,tls-creds=tls", False),
    (Listener(path=Path("/s"), options=("sasl=on",)), "-spice unix=on,addr=/s,sasl=on", True)])
def test_who_is_let_in(at: Listener, wanted: str, hears: bool) -> None:
    beside = "-spice unix=on,addr=/hidden,disable-ticketing=on"
    assert " ".join(at.arguments(False, Path("/hidden"))) == wanted and at.heard == hears
    assert " ".join(at.arguments(True, Path("/hidden"))) == (wanted if hears else f"{wanted} {beside}".strip())
    assert replace(_HARDWARE, display="qxl-vga").needs_spice and replace(_HARDWARE, ports=True).needs_spice and not _HARDWARE.needs_spice


def test_nothing_of_this_shell_reaches_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SPICE_STREAM", "SPICE_STREAM_STATS", "DISPLAY"):
        monkeypatch.setenv(name, "x")
    made = qemu.environment(Path("/library"), "batch", SPICE_DEBUG_ALLOW_MC="1")
    told = {name: value for name, value in made.items() if name.startswith(("SPICE", "LD_", "DISPLAY"))}
    assert told == {"LD_LIBRARY_PATH": "/library", "SPICE_STREAM": "batch", "SPICE_DEBUG_ALLOW_MC": "1"}
    assert "SPICE_STREAM" not in qemu.environment(Path("/library"))


# --- the accelerator ---

@pytest.mark.parametrize(("device", "reason"), [("none", "No such file or directory"), ("file", "Inappropriate ioctl for device")])
def test_kvm_that_does_not_work_is_one_line(device: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(qemu, "_KVM", tmp_path / device)
    for name in ("clients", "clients migration", "clients soak", "live", "live deployment", "live reports"):
        assert cli.main([*name.split(), "--accel", "kvm"]) == 1
        assert capsys.readouterr().err == f"bench: --accel kvm: {tmp_path / device} does not work on this machine: {reason}\n"
    assert qemu.accelerator("tcg") == qemu.TCG
