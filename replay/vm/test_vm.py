# SPDX-License-Identifier: LGPL-2.1-or-later
"""The machine: what goes into the machine, what is said where there can be none, and a machine of each kernel."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.common import paths, proc
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.series import optional
from vm import kernels, machine

needs_machine = pytest.mark.skipif(machine.missing() is not None, reason=str(machine.missing()))

# What the machine must have that this one may lack; each line of output is compared.
_LOOK_AROUND = r"""
set -e
echo "words: $*"
pwd
echo "variable: $SPICE_VM_TEST"
id -u
echo complaint >&2
echo new > "$1/written" && cat "$1/written" "$1/there"
ip link add one type veth peer name two netns $(unshare --net sh -c 'sleep 60 >/dev/null 2>&1 & echo $!')
tc qdisc add dev one root netem delay 20ms && tc qdisc show dev one | grep -o 'netem.*delay 20ms' | grep -o netem
python3 - <<'EOF'
import socket
with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_connection(listening.getsockname()) as stream:
    stream.setsockopt(socket.IPPROTO_TCP, 31, b"tls")   # TCP_ULP
    print("tls.ko")
EOF
uname -r
"$0" | grep -E '^(not )?ok|^# the kernel'
"${0%-ktls}-sockets" -p /server/stream/sockets/ktls | grep -E '^(not )?ok'
"${0%-ktls}-timestamps" | grep -E '^(not )?ok'
unshare --net sleep 600 >/dev/null 2>&1 & other=$!
while [ /proc/$other/ns/net -ef /proc/self/ns/net ]; do sleep 0.1; done
ip link set eth1 netns "$other"
ip addr add 10.9.8.1/24 dev eth0
ip link set eth0 up
nsenter --target "$other" --net sh -c 'ip addr add 10.9.8.2/24 dev eth1; ip link set eth1 up'
export SPICE_TEST_NETNS=/proc/$other/ns/net SPICE_TEST_ADDRESS=10.9.8.1
"${0%-ktls}-sockets" -p /server/stream/sockets/zerocopy/exact | grep -E '^(not )?ok'
"${0%-ktls}-zerocopy" $(for name in loop disconnect disconnect-in-time wait; do
    echo -p "/server/stream-zerocopy/$name"; done) | grep -E '^(not )?ok'
exit 7
"""
# The tests of the library that need a kernel with kernel TLS to be more than those of the TLS library.
_KTLS_TESTS = ["choice", "same-records", "segments", "key-update", "alerts", "gone"]
_KTLS_SOCKET_TESTS = ["exact", "no-wait", "gtk-reader"]
# From one network card to the other: these do not copy all, as loopback does.
_ZEROCOPY_TESTS = ["loop", "disconnect", "disconnect-in-time", "wait"]
_TIMESTAMP_TESTS = ["settings", "numbers", "blocked", "refused", "kernel", "loop", "loop-batch", "loop-cork"]


def unpacked(archive: bytes) -> dict[str, tuple[int, bytes]]:
    """Name -> mode and content, as the kernel reads them: one archive behind the other."""
    found, position = {}, 0
    while position < len(archive):
        header = archive[position:position + 110]
        assert header[:6] == b"070701"
        fields = [int(header[6 + 8 * n:14 + 8 * n], 16) for n in range(13)]
        name_at = position + 110
        data_at = name_at + fields[11] + -(name_at + fields[11]) % 4
        name = archive[name_at:name_at + fields[11] - 1].decode()
        if name != "TRAILER!!!":
            found[name] = (fields[1], archive[data_at:data_at + fields[6]])
        position = data_at + fields[6] + -fields[6] % 4
    return found


def test_an_archive_holds_what_was_put_into_it() -> None:
    archive = io.BytesIO()
    entries = [("a", 0o040755, b""), ("a/bcd", 0o100755, b"12345"), ("longer", 0o100644, b"1" * 4096)]
    kernels.write_cpio(archive, entries[:1])
    kernels.write_cpio(archive, entries[1:])
    assert unpacked(archive.getvalue()) == {name: (mode, data) for name, mode, data in entries}


def test_a_module_comes_behind_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "kernel" / "net"
    folder.mkdir(parents=True)
    for name, needs in (("over-lay.ko", "base"), ("base.ko", ""), ("other.ko", "over-lay,builtin")):
        (folder / name).write_bytes(b"ELF\0license=GPL\0depends=" + needs.encode() + b"\0rest")
    (tmp_path / "modules.builtin").write_text("kernel/lib/builtin.ko\n")
    monkeypatch.setattr(kernels, "_MODULES", ("other", "base"))
    names = [Path(name).name for name, _, _ in kernels._module_files(tmp_path)]
    assert names == ["modules", "00-base.ko", "01-over_lay.ko", "02-other.ko"]
    monkeypatch.setattr(kernels, "_MODULES", ("nowhere",))
    with pytest.raises(BenchError, match="no module nowhere"):
        list(kernels._module_files(tmp_path))


def _run_vm(*arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "vm", *arguments], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(paths.ROOT / "replay"), **extra}, timeout=300,
                          check=False)


def test_what_is_missing_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def nothing(program: str, package: str) -> str:
        raise BenchError(f"{program} is missing: install the package {package}")

    monkeypatch.setattr(proc, "require", nothing)
    assert machine.missing() == "qemu-system-x86_64 is missing: install the package qemu-system-x86"
    kernel = kernels.Kernel("bookworm", "6.1", tmp_path / "image", tmp_path / "modules")
    with pytest.raises(BenchError, match="install the package qemu-system-x86"):
        machine.run(kernel, ["true"])


def test_a_root_that_is_no_mount_point_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a chroot: its folder can't be mounted again, read-only."""
    assert machine.root_is_mounted("21 1 254:0 / / rw - ext4 /dev/vda rw\n22 21 0:5 / /proc rw - proc proc rw\n")
    assert not machine.root_is_mounted("22 21 0:5 / /proc rw - proc proc rw\n")
    monkeypatch.setattr(machine, "_virtiofsd", lambda: "virtiofsd")
    monkeypatch.setattr(proc, "require", lambda program, *_: program)
    monkeypatch.setattr(paths, "tool", lambda *_: Path("tool"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(machine, "root_is_mounted", lambda: False)
    assert machine.missing() == "python3 -m vm needs a root that is a mount point, which a plain chroot is not"


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to make a mount namespace")
def test_a_machine_without_its_files_ends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """QEMU waits for the server of files as long as that takes: here both are stand-ins."""
    qemu, server = tmp_path / "qemu", tmp_path / "virtiofsd"
    qemu.write_text("#!/bin/sh\nexec sleep 600\n")
    server.write_text("#!/bin/sh\necho no files here\nexit 1\n")
    for program in qemu, server:
        program.chmod(0o755)
    (tmp_path / "modules").touch()
    require = proc.require
    monkeypatch.setattr(proc, "require", lambda *names: str(qemu) if names == machine._QEMU else require(*names))
    monkeypatch.setattr(paths, "tool", lambda *_: qemu)
    monkeypatch.setattr(machine, "missing", lambda: None)
    monkeypatch.setattr(machine, "_virtiofsd", lambda: str(server))
    monkeypatch.setattr(machine, "_PATIENCE", 0.1)
    kernel = kernels.Kernel("bookworm", "6.1", tmp_path / "image", tmp_path / "modules")
    with pytest.raises(BenchError, match="did not run the command: virtiofsd: .*no files here"):
        machine.run(kernel, ["true"])


def test_an_unknown_kernel_is_one_line() -> None:
    done = _run_vm("--kernel", "potato", "true")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


@needs_machine
@pytest.mark.parametrize("suite", kernels.KERNELS)
def test_a_machine_runs_a_command(suite: str, tmp_path: Path) -> None:
    kernel = kernels.fetch(suite, Steps(tmp_path / "log"))
    (tmp_path / "there").write_text("old\n")
    program = optional.build("kernel", Steps(tmp_path / "log")) / "server" / "tests" / "test-stream-ktls"
    done = _run_vm("--kernel", suite, "bash", "-c", _LOOK_AROUND, str(program), str(tmp_path), "two  words",
                   SPICE_VM_TEST="a b")
    assert done.stderr == "complaint\n"
    assert done.stdout.splitlines() == [
        f"words: {tmp_path} two  words", os.getcwd(), "variable: a b", "0", "new", "old", "netem", "tls.ko",
        kernel.release, "# the kernel's own: ktls",
        *(f"ok {number} /server/stream/ktls/{name}" for number, name in enumerate(_KTLS_TESTS, 1)),
        *(f"ok {number} /server/stream/sockets/ktls/{name}" for number, name in enumerate(_KTLS_SOCKET_TESTS, 1)),
        *(f"ok {number} /server/stream-timestamps/{name}" for number, name in enumerate(_TIMESTAMP_TESTS, 1)),
        "ok 1 /server/stream/sockets/zerocopy/exact",
        *(f"ok {number} /server/stream-zerocopy/{name}" for number, name in enumerate(_ZEROCOPY_TESTS, 1))]
    assert done.returncode == 7
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "there"]      # what it wrote is gone


@needs_machine
def test_a_machine_that_ends_by_itself_is_one_line() -> None:
    done = _run_vm("sh", "-c", "echo b > /proc/sysrq-trigger; sleep 60")
    assert done.returncode == 1
    assert done.stderr.startswith("bench: the machine did not run the command") and done.stderr.count("\n") == 1
