# SPDX-License-Identifier: LGPL-2.1-or-later
"""spice-drain against a server whose picture the test can compute. ../player/test_channels.py tests the other
channels."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import pytest
from PIL import Image

from bench.common import paths
from bench.lab import certs
from bench.lab.lab import free_port
from live import tiles

# For a build with AddressSanitizer. lsan.supp needs complete stacks.
SANITIZER = {"ASAN_OPTIONS": "fast_unwind_on_malloc=0",
             "LSAN_OPTIONS": f"print_suppressions=0:suppressions={Path(__file__).with_name('lsan.supp')}"}
# Its warning about the client library's coroutines.
COROUTINE_WARNINGS = ("ASan doesn't fully support makecontext", "ASan is ignoring requested __asan_handle_no_return",
                      "False positive error reports may follow", "For details see https://github.com/google/sanitizers")

WIDTH, HEIGHT = 320, 240
PIXEL_BYTES = 4


@dataclass
class Outcome:
    """Output and exit status of a spice-drain."""
    status: int
    events: list[dict[str, Any]]
    complaint: str

    @property
    def done(self) -> dict[str, Any]:
        assert self.events and self.events[-1]["event"] == "done", (self.events, self.complaint)
        return self.events[-1]

    @property
    def names(self) -> list[str]:
        return [event["event"] for event in self.events]


class Drain:
    """A running spice-drain."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.process = subprocess.Popen([paths.client(), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env={**os.environ, **SANITIZER, "LC_ALL": "C", **environment})

    def wait_for(self, *names: str) -> None:
        """The first event of each kind, in any order. Events before, and those read together with the last, are missing in
        end()."""
        assert self.process.stdout is not None
        missing = set(names)
        while missing:
            line = self.process.stdout.readline()
            assert line, self.end().complaint
            missing.discard(json.loads(line)["event"])

    def end(self, limit: float = 60) -> Outcome:
        try:
            output, complaint = self.process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        complaint = "".join(line for line in complaint.splitlines(keepends=True)
                            if not any(warning in line for warning in COROUTINE_WARNINGS))
        return Outcome(self.process.returncode, [json.loads(line) for line in output.splitlines()], complaint)


def drain(*arguments: str, **environment: str) -> Outcome:
    return Drain(*arguments, **environment).end()


@dataclass
class Server:
    """drain-test-server."""
    process: subprocess.Popen[str]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=10)


@contextlib.contextmanager
def serving(*arguments: str, **environment: str) -> Iterator[Server]:
    process = subprocess.Popen([paths.tool("drain", "drain-test-server"), *arguments], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, env={**os.environ, **SANITIZER, **environment})
    assert process.stdout is not None
    server = Server(process)
    try:
        assert process.stdout.readline() == "listening\n"
        yield server
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@dataclass(frozen=True)
class Certificates:
    """A CA, its server certificate for 127.0.0.1 only, and a CA that signed nothing."""
    folder: Path
    made: certs.Certificates
    other_ca: str

    @property
    def ca(self) -> str:
        return str(self.made.ca)

    @property
    def server_options(self) -> list[str]:
        return ["--tls-cert", str(self.made.certificate), "--tls-key", str(self.made.key), "--tls-ca", self.ca]

    def openssl_conf(self, version: str) -> str:
        """A file for OPENSSL_CONF that allows only this version of TLS ("1.2", "1.3")."""
        path = self.folder / f"tls{version}.cnf"
        path.write_text("openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = limits\n"
                        f"[limits]\nMinProtocol = TLSv{version}\nMaxProtocol = TLSv{version}\n")
        return str(path)


def make_certificates(folder: Path) -> Certificates:
    for name in "ours", "others":
        (folder / name).mkdir()
    others = certs.make(folder / "others", "127.0.0.1")
    return Certificates(folder, certs.make(folder / "ours", "127.0.0.1"), str(others.ca))


def picture(fills: int = 20, display: int = 0) -> bytes:
    """The picture of a display of drain-test-server, in memory order, as spice-drain hashes it."""
    pixels = bytearray(WIDTH * HEIGHT * PIXEL_BYTES)
    for i in range(fills):
        left, top = i * 37 % (WIDTH - 40), i * 23 % (HEIGHT - 30)
        row = (0x01020304 * (i + 1 + display) & 0xffffff).to_bytes(PIXEL_BYTES, "little") * 40
        for y in range(top, top + 30):
            at = (y * WIDTH + left) * PIXEL_BYTES
            pixels[at:at + len(row)] = row
    return bytes(pixels)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


BASIC_CHANNELS = {"main", "display-0", "cursor-0", "inputs-0"}


@pytest.fixture(name="port")
def fixture_port() -> str:
    return str(free_port())


@pytest.fixture(name="certificates", scope="session")
def fixture_certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def assert_whole(outcome: Outcome, fills: int = 20) -> None:
    """The session ran to its end and showed the whole picture."""
    assert (outcome.status, outcome.complaint) == (0, "")
    assert outcome.names == ["connected", "done"]
    done = outcome.done
    assert done["end"] == "marker"
    assert (done["width"], done["height"], done["sha256"]) == (WIDTH, HEIGHT, sha256(picture(fills)))
    assert done["updates"] >= fills
    assert done["total_bytes"] == sum(done["bytes"].values())
    assert all(done["bytes"].values())
    assert done["started_ns"] < done["end_ns"]
    assert done["seconds"] == pytest.approx((done["end_ns"] - done["started_ns"]) / 1e9, abs=1e-5)


def assert_refused(outcome: Outcome, *words: str) -> None:
    """No session: status 1, nothing on stdout, one line that says why."""
    assert outcome.status == 1
    assert outcome.events == []
    assert outcome.complaint.startswith("spice-drain: ")
    assert outcome.complaint.count("\n") == 1 and outcome.complaint.endswith("\n")
    for word in words:
        assert word in outcome.complaint


def means(pixels: bytes, side: int = 32) -> bytes:
    """Of red, green and blue in each square, a picture of xRGB given."""
    return b"".join(bytes(sum(block) // len(block) for block in (
        [pixels[(y * WIDTH + x) * PIXEL_BYTES + channel] for y in range(top, min(top + side, HEIGHT))
         for x in range(left, min(left + side, WIDTH))] for channel in (2, 1, 0)))
        for top in range(0, HEIGHT, side) for left in range(0, WIDTH, side))


# --- connecting ---

def test_plain(port: str) -> None:
    with serving("--port", port):
        outcome = drain("--port", port)
    assert_whole(outcome)
    assert set(outcome.done["bytes"]) == BASIC_CHANNELS
    assert outcome.done["audio"] is None and outcome.done["ports"] == {}


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_tls(port: str, certificates: Certificates, version: str) -> None:
    limited = certificates.openssl_conf(version)
    with serving("--tls-port", port, *certificates.server_options, OPENSSL_CONF=limited):
        assert_whole(drain("--tls-port", port, "--ca", certificates.ca))


def test_same_in_every_transport(certificates: Certificates, tmp_path: Path) -> None:
    """Bytes are counted before TLS, whose records would add a thousand to the display channel."""
    plain, tls, path = str(free_port()), str(free_port()), str(tmp_path / "spice.sock")
    with serving("--port", plain):
        runs = [drain("--port", plain).done]
    with serving("--tls-port", tls, *certificates.server_options):
        runs.append(drain("--tls-port", tls, "--ca", certificates.ca).done)
    with serving("--unix", path):
        runs.append(drain("--unix", path).done)
    assert {run["sha256"] for run in runs} == {sha256(picture())}
    assert len({run["updates"] for run in runs}) == 1
    counts = [run["bytes"]["display-0"] for run in runs]
    assert max(counts) - min(counts) < 200


# --- one clear line each ---

def test_refused_connection(port: str) -> None:
    assert_refused(drain("--port", port), f"127.0.0.1:{port}", "Connection refused")


def test_no_such_socket(tmp_path: Path) -> None:
    assert_refused(drain("--unix", str(tmp_path / "none")), "No such file or directory")


def test_unknown_host(port: str) -> None:
    assert_refused(drain("--host", "no-such-host.invalid", "--port", port), "no-such-host.invalid")


def test_unknown_ca(port: str, certificates: Certificates) -> None:
    with serving("--tls-port", port, *certificates.server_options):
        assert_refused(drain("--tls-port", port, "--ca", certificates.other_ca), "TLS failed", "certificate")


def test_system_cas_do_not_know_ours(port: str, certificates: Certificates) -> None:
    with serving("--tls-port", port, *certificates.server_options):
        assert_refused(drain("--tls-port", port), "TLS failed", "certificate")


def test_certificate_for_another_host(port: str, certificates: Certificates) -> None:
    with serving("--tls-port", port, *certificates.server_options):
        assert_refused(drain("--host", "localhost", "--tls-port", port, "--ca", certificates.ca),
                       "TLS failed", "hostname 'localhost' verification failed")


def test_ca_file_without_certificate(port: str, certificates: Certificates, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing\n")
    with serving("--tls-port", port, *certificates.server_options):
        assert_refused(drain("--tls-port", port, "--ca", str(tmp_path / "empty.pem")), "--ca", "no certificate")


def test_tls_versions_do_not_meet(port: str, certificates: Certificates) -> None:
    with serving("--tls-port", port, *certificates.server_options, OPENSSL_CONF=certificates.openssl_conf("1.2")):
        assert_refused(drain("--tls-port", port, "--ca", certificates.ca,
                             OPENSSL_CONF=certificates.openssl_conf("1.3")), "TLS failed", "version")


def test_tls_to_a_plain_port(port: str, certificates: Certificates) -> None:
    with serving("--port", port):
        assert_refused(drain("--tls-port", port, "--ca", certificates.ca), "TLS failed")


def test_plain_to_a_tls_port(port: str, certificates: Certificates) -> None:
    with serving("--tls-port", port, *certificates.server_options):
        assert_refused(drain("--port", port), "no SPICE server")


def test_password_wanted(port: str) -> None:
    with serving("--port", port, "--password", "secret"):
        assert_refused(drain("--port", port), "password")


def test_no_spice_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(64)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        thread = threading.Thread(target=answer)
        thread.start()
        assert_refused(drain("--port", str(listener.getsockname()[1])), "no SPICE server")
        thread.join()


@pytest.mark.parametrize("arguments, word", [
    ([], "say where to connect"),
    (["--port", "1", "--unix", "x"], "say where to connect"),
    (["--host", "127.0.0.1"], "say where to connect"),
    (["--unix", "x", "--host", "y"], "--host"),
    (["--port", "70000"], "port"),
    (["--port", "x"], "x"),
    (["--port", "1", "--slow", "0.5"], "--slow"),
    (["--port", "1", "--slow", "nan"], "--slow"),
    (["--port", "1", "--idle", "0"], "--idle"),
    (["--port", "1", "--settle", "-1"], "--settle"),
    (["--port", "1", "--settle", "1000", "--idle", "1"], "--settle"),
    (["--port", "1", "--settle-end", "-1"], "--settle-end"),
    (["--port", "1", "--settle-end", "1000", "--idle", "1"], "--settle-end"),
    (["--port", "1", "extra"], "extra"),
    (["--port", "1", "--no-such-option"], "no-such-option"),
    (["--tls-port", "1", "--ca", "/no/such/file"], "/no/such/file"),
])
def test_usage(arguments: list[str], word: str) -> None:
    assert_refused(drain(*arguments), word)


# --- the picture ---

def test_png(port: str, tmp_path: Path) -> None:
    """Of a surface of 32 bits; test-picture has the others."""
    file = tmp_path / "picture.png"
    with serving("--port", port):
        drain("--port", port, "--png", str(file))
    png = Image.open(file)
    assert png.size == (WIDTH, HEIGHT) and png.tobytes() == png_pixels(picture())


def png_pixels(pixels: bytes) -> bytes:
    """Red, green and blue of each pixel."""
    return b"".join(pixels[i:i + 3][::-1] for i in range(0, len(pixels), PIXEL_BYTES))


def test_png_cannot_be_written(port: str, tmp_path: Path) -> None:
    with serving("--port", port):
        outcome = drain("--port", port, "--png", str(tmp_path / "no" / "folder.png"))
    assert outcome.status == 1
    assert outcome.done["end"] == "marker"
    assert "No such file or directory" in outcome.complaint


def test_png_on_a_full_disk(port: str) -> None:
    with serving("--port", port):
        outcome = drain("--port", port, "--png", "/dev/full")
    assert outcome.status == 1
    assert outcome.complaint == "spice-drain: cannot save /dev/full: write error\n"


def test_several_displays(port: str) -> None:
    with serving("--port", port, "--displays", "3", "--end-after", "500"):
        done = drain("--port", port).done
    assert set(done["bytes"]) == BASIC_CHANNELS | {"display-1", "display-2", "cursor-1", "cursor-2"}
    assert done["sha256"] == sha256(picture())


# --- markers ---

def test_probes(port: str) -> None:
    """Numbers beyond the first digit, in order, and none of them an update or a change of the picture."""
    with serving("--port", port, "--fills", "130", "--probes"):
        outcome = drain("--port", port)
    with serving("--port", port, "--fills", "130"):
        without = drain("--port", port)
    assert_whole(outcome, 130)
    probes = outcome.done["probes"]
    assert [number for number, _ in probes] == list(range(130))
    times = [now for _, now in probes]
    assert times == sorted(times) and times[-1] < outcome.done["end_ns"]
    assert outcome.done["updates"] == without.done["updates"]
    assert without.done["probes"] == []


def test_pause(port: str) -> None:
    """A pause reports the picture as the commands before it left it."""
    with serving("--port", port, "--pause-at", "6"):
        outcome = drain("--port", port)
    half = picture(7)
    assert outcome.names in (["connected", "pause", "done"], ["pause", "connected", "done"])
    pauses = [event for event in outcome.events if event["event"] == "pause"]
    assert [base64.b64decode(event.pop("blocks")) for event in pauses] == [means(half)]
    assert [base64.b64decode(event.pop("tiles")) for event in pauses] == [means(half, 8)]
    assert all(event.pop("time_ns") > 0 for event in pauses)
    assert pauses == [{"event": "pause", "n": 6, "missed": 0, "sha256": sha256(picture(7))}]
    assert (outcome.done["sha256"], base64.b64decode(outcome.done["blocks"])) == (sha256(picture(20)), means(picture(20)))


def test_a_pause_waits_for_the_picture_that_is_expected(port: str, tmp_path: Path) -> None:
    """The test's server draws on: what comes last is there after the marker."""
    expected = tmp_path / "expected"
    expected.write_bytes(base64.b64encode(means(picture())) + b"\n")
    with serving("--port", port, "--pause-at", "6", "--end-after", "500"):
        outcome = drain("--port", port, "--expect", str(expected))
    pauses = [event for event in outcome.events if event["event"] == "pause"]
    assert [(event["missed"], event["sha256"]) for event in pauses] == [(0, sha256(picture()))]


@pytest.mark.parametrize("text", [None, ""])
def test_no_expected_pictures(port: str, tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "expected").write_text(text)
    outcome = drain("--port", port, "--expect", str(tmp_path / "expected"))
    assert outcome.status != 0 and outcome.complaint.count("\n") == 1 and "expected" in outcome.complaint


def test_settle(port: str) -> None:
    """The picture waits until the display is quiet; what is measured ends at the marker. A pause that is overtaken by
    the end (a player would wait) is told first."""
    with serving("--port", port, "--pause-at", "6", "--end-after", "200"):
        outcome = drain("--port", port, "--settle", "800")
        ended = time.monotonic_ns()
    assert outcome.names == ["connected", "pause", "done"]
    assert outcome.events[1]["sha256"] == outcome.done["sha256"] == sha256(picture())
    assert outcome.status == 0 and outcome.done["end"] == "marker"
    assert ended - outcome.done["end_ns"] > 0.8e9


@pytest.mark.parametrize("quiet", [("--settle", "400"), ("--settle", "10", "--settle-end", "400"), ("--settle-end", "400")])
def test_settle_waits_for_the_pointer_at_the_end(port: str, quiet: tuple[str, ...]) -> None:
    """Over a slow link what the other channel carries comes after the end of the display."""
    with serving("--port", port, "--moves", "15", "--moves-every", "100"):
        done = drain("--port", port, *quiet).done
    assert done["end"] == "marker" and done["cursor_moves"] == 15
    assert done["cursor_move_times"] is None


def test_settle_waits_for_what_is_not_shown_at_the_end(port: str) -> None:
    """A server may still send surfaces that nobody sees: those bytes were on the wire."""
    read = []
    for unseen in ("0", "12"):
        with serving("--port", port, "--unseen", unseen):
            done = drain("--port", port, "--settle", "10", "--settle-end", "500").done
        assert done["end"] == "marker" and done["sha256"] == sha256(picture())
        read.append(done["bytes"]["display-0"])
    assert read[1] - read[0] > 12 * 40


def test_times_are_the_machines_monotonic_clock(port: str) -> None:
    before = time.monotonic_ns()
    with serving("--port", port, "--probes"):
        done = drain("--port", port).done
    after = time.monotonic_ns()
    assert before < done["started_ns"] < done["end_ns"] < after
    assert all(before < now < after for _, now in done["probes"])


# --- other channels ---

def test_cursor_moves(port: str) -> None:
    with serving("--port", port, "--moves", "50", "--end-after", "300"):
        done = drain("--port", port, "--channels").done
    moves = done["cursor_move_times"]
    assert done["cursor_moves"] == len(moves) == 50
    assert [move[:2] for move in moves] == [[x, 7] for x in range(1, 51)]
    assert [move[2] for move in moves] == sorted(move[2] for move in moves)


def test_without_channels_nothing_is_done(port: str) -> None:
    with serving("--port", port, "--end-after", "500"):
        done = drain("--port", port).done
    assert done["inputs"] == {"motions": 0, "keys": 0, "echoes_ms": []}


# --- ends ---

def test_no_end_runs_on_until_disconnected(port: str) -> None:
    with serving("--port", port, "--pause-at", "19") as server:
        client = Drain("--port", port, "--no-end")
        client.wait_for("connected", "pause")
        with pytest.raises(Exception, match="timed out"):
            client.process.wait(timeout=0.5)
        server.kill()
        outcome = client.end()
    assert (outcome.status, outcome.complaint) == (0, "")
    assert outcome.done["end"] == "disconnected"
    assert outcome.done["sha256"] == sha256(picture())


@pytest.mark.parametrize("transport", ["plain", "tls"])
def test_server_killed_in_the_middle(port: str, certificates: Certificates, transport: str) -> None:
    options = ["--port", port] if transport == "plain" else ["--tls-port", port]
    with serving(*options, *certificates.server_options, "--no-end", "--pause-at", "19") as server:
        client = Drain(*options, "--ca", certificates.ca)
        client.wait_for("connected", "pause")
        server.kill()
        outcome = client.end()
    assert outcome.status == 3
    assert outcome.complaint == "spice-drain: the server closed the connection before the END marker\n"
    assert outcome.done["end"] == "disconnected"
    assert outcome.done["sha256"] == sha256(picture())


def test_idle(port: str) -> None:
    """Also while the library answers pings."""
    with serving("--port", port, "--no-end"):
        started = time.monotonic()
        outcome = drain("--port", port, "--idle", "1.5")
        lasted = time.monotonic() - started
    assert outcome.status == 4
    assert outcome.complaint == "spice-drain: nothing from the server for 1.5 seconds\n"
    assert outcome.done["end"] == "idle"
    assert outcome.done["sha256"] == sha256(picture())
    assert lasted >= 1.5
    assert outcome.done["seconds"] < 10


def test_server_that_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        outcome = drain("--port", str(listener.getsockname()[1]), "--idle", "1")
    assert outcome.status == 4
    assert outcome.done["end"] == "idle"
    assert outcome.done["sha256"] is None and outcome.done["started_ns"] is None


def test_busy_is_not_idle(port: str) -> None:
    with serving("--port", port, "--moves", "25", "--moves-every", "100", "--end-after", "2500"):
        assert drain("--port", port, "--idle", "1.5").status == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal(port: str, number: signal.Signals) -> None:
    with serving("--port", port, "--no-end", "--pause-at", "19") as server:
        client = Drain("--port", port)
        client.wait_for("connected", "pause")
        client.process.send_signal(number)
        outcome = client.end(20)
        assert server.process.poll() is None
    assert outcome.status == 3
    assert outcome.complaint == "spice-drain: ended by a signal\n"
    assert outcome.done["end"] == "killed"
    assert outcome.done["sha256"] == sha256(picture())


# --- speed ---

def test_slow(port: str) -> None:
    """With a brake of 5 the client is busy for one fifth of the time at most, and shows the same: all of it is sent before the end."""
    with serving("--port", port, "--fills", "5000", SPICE_STREAM="flow,catchup=off"):
        done = drain("--port", port, "--slow", "5").done
    assert done["sha256"] == sha256(picture(5000))
    busy = done["cpu_user"] + done["cpu_system"]
    assert busy / done["seconds"] < 0.25


def test_slow_costs_no_cpu(port: str) -> None:
    """A braked client that waits does not spin."""
    with serving("--port", port, "--no-end"):
        done = drain("--port", port, "--slow", "3", "--idle", "4").done
    assert done["seconds"] > 1
    assert done["cpu_user"] + done["cpu_system"] < 0.1 * done["seconds"]


def test_nothing_left_in_the_home(port: str, tmp_path: Path) -> None:
    with serving("--port", port):
        assert drain("--port", port, HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache")).status == 0
    left = [Path(folder) / name for folder, _, names in os.walk(tmp_path) for name in names]
    assert [path for path in left if "gstreamer" not in str(path)] == []


# --- orders ---

def test_a_program_in_the_place_of_a_person(tmp_path: Path, port: str) -> None:
    """Orders are obeyed or complained of; the log of what is to be seen is that of the picture, and no drawing is a marker."""
    saved = tmp_path / "picture.png"
    with serving("--port", port, "--probes"):
        client = Drain("--port", port, "--control", "--no-end", "--screen", str(tmp_path / "screen"))
        client.wait_for("connected")
        assert client.process.stdin is not None
        log = tiles.Log(tmp_path / "screen", WIDTH, HEIGHT)
        orders = f"key 30 1\nkey 30 0\nbutton 6 1\nfly\nreopen 0\npicture 0 {saved}\n"
        for _ in range(100):            # until the server has drawn all
            client.process.stdin.write(orders)
            client.process.stdin.flush()
            client.wait_for("picture")
            time.sleep(0.05)            # the log is a look behind
            log.follow()
            if not saved.exists():      # there is none yet
                continue
            with Image.open(saved) as image:
                shown = tiles.means_of(numpy.asarray(image.convert("RGB")))
            if shown.any() and tiles.alike(log.means, shown):
                break
        client.process.send_signal(signal.SIGTERM)
        outcome = client.end()
    assert outcome.complaint.splitlines()[:3] == ["spice-drain: cannot obey: button 6 1", "spice-drain: cannot obey: fly",
                                                  "spice-drain: cannot obey: reopen 0"]
    assert outcome.done["probes"] == []
    assert tiles.alike(log.means, shown)


def test_a_display_is_opened_again(tmp_path: Path, port: str) -> None:
    """It shows its picture, and the session goes on."""
    saved = tmp_path / "picture.png"
    bgrx = numpy.frombuffer(picture(display=1), numpy.uint8).reshape(HEIGHT, WIDTH, PIXEL_BYTES)
    with serving("--port", port, "--displays", "2"):
        client = Drain("--port", port, "--control", "--no-end")
        client.wait_for("connected")
        assert client.process.stdin is not None
        client.process.stdin.write("reopen 2\nreopen 1\n")
        client.process.stdin.flush()
        client.wait_for("reopened")
        for _ in range(100):            # until the server has drawn all
            client.process.stdin.write(f"picture 1 {saved}\n")
            client.process.stdin.flush()
            client.wait_for("picture")
            if saved.exists():
                with Image.open(saved) as image:
                    shown = numpy.asarray(image.convert("RGB"))
                if (shown == bgrx[:, :, 2::-1]).all():
                    break
            time.sleep(0.05)
        client.process.send_signal(signal.SIGTERM)
        outcome = client.end()
    assert (shown == bgrx[:, :, 2::-1]).all()
    assert outcome.done["sha256"] == sha256(picture())
    assert outcome.complaint.splitlines() == ["spice-drain: cannot obey: reopen 2", "spice-drain: ended by a signal"]
