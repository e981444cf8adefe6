# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run live without a guest: screens, actions, plans, pages."""

from __future__ import annotations

import argparse
import contextlib
import struct
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy
import pytest

from bench import cli
from bench.common.errors import BenchError
from bench.lab import links
from bench.measure.steal import StealTime
from bench.measure.validity import STOLEN_LIMIT
from bench.runs import store
from bench.runs.libraries import Library
from bench.runs.runner import Outcome
from bench.runs.store import Case, Run, Store
from guest import qemu
from guest.initrd import Made
from guest.picture import Pixels
from guest.qemu import Hardware, Qemu
from live import cell, command, desktop, guests, page, scenarios, sessions, sets, tiles, user, ways, web
from live.tiles import Log
from live.user import AtRest, User
from live.viewers import KEYS, Viewer


def _screen(shade: int = 0, width: int = 40, height: int = 24) -> Pixels:
    return numpy.full((height, width, 3), shade, numpy.uint8)


# --- screens ---

def test_a_mean_weighs_colours_and_counts_only_what_is_inside() -> None:
    screen = _screen()
    screen[:8, :8] = (80, 160, 8)       # (2 * 80 + 5 * 160 + 8) / 8
    screen[:, 32:] = 255                # half of the third column of tiles
    found = tiles.means_of(screen)
    assert found.shape == (4, 6)
    assert found[0].tolist() == [121, 0, 0, 0, 255, 0]
    assert found[3].tolist() == [0] * 6


def _record(when: int, tile: int, means: int) -> bytes:
    return struct.pack("=qII", when, tile, means)


def test_a_log_is_read_while_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "log"
    log = Log(file, 40, 24)
    assert not log.follow()
    whole = _record(5, 0, 0x04030201) + _record(5, 512, 0) + _record(9, 0, 0xFF)
    file.write_bytes(whole[:20])
    assert log.follow() and log.last == 5
    assert log.means[:2, :2].tolist() == [[1, 2], [3, 4]]
    file.write_bytes(whole)
    assert log.follow() and [look.when for look in log.looks] == [5, 9]
    assert log.means[:2, :2].tolist() == [[255, 0], [0, 0]]
    assert log.means[2, 0] == 0 and log.means[2, 2] == -1       # never seen
    log.forget()
    assert log.last == 0 and not log.follow()


def test_shown_is_when_it_became_the_picture_and_stayed_so(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(b"".join(_record(at, 0, means) for at, means in ((1, 0), (2, 0x50505050), (3, 0), (4, 0x50505052), (5, 0x50505051))))
    log = Log(file, 16, 16)
    log.follow()
    wanted = numpy.full((2, 2), 0x50, numpy.int16)
    assert tiles.shown_at(log.base, log.looks, wanted) == 4         # 2 was not to stay; a shade is no other picture
    assert tiles.shown_at(log.base, log.looks[:3], wanted) is None
    assert tiles.shown_at(wanted, [], wanted) == 0
    masked = numpy.ones((2, 2), bool)
    assert tiles.shown_at(log.base, log.looks[:1], wanted, masked) == 0


# --- the person ---

class _World:
    """A guest and a client of two pixels' worth of state: what the guest shows comes to the client `late` looks later."""

    def __init__(self, folder: Path, late: int = 3) -> None:
        self.log, self.late = Log(folder / "log", 16, 16), late
        self.log.path.write_bytes(b"")
        self.shade, self.coming = 10, [10]

    def screen(self) -> Pixels:
        return _screen(self.shade, 16, 16)

    def draw(self, shade: int) -> None:
        self.coming += [self.log.means[0, 0]] * self.late + [shade]
        self.shade = shade

    def follow(self) -> bool:
        if self.coming:
            shade = int(self.coming.pop(0))
            with self.log.path.open("ab") as file:
                file.write(_record(time.monotonic_ns(), 0, shade * 0x01010101))
        return self.log.follow()


@pytest.fixture(name="hurry")
def fixture_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LIMIT", 0.5), ("THINK", 0.01), ("_STEP", 0.001), ("_QUIET", 0.002), ("_BLINKING", 0.01)):
        monkeypatch.setattr(user, name, value)


def _user(world: _World) -> User:
    return User(cast(Qemu, world), cast(Viewer, world))


@pytest.mark.usefixtures("hurry")
def test_an_action_ends_when_the_client_shows_what_the_guest_does(tmp_path: Path) -> None:
    world = _World(tmp_path)
    person = _user(world)
    began = time.monotonic()
    took = person.act(lambda: world.draw(200))
    assert 0 < took <= time.monotonic() - began
    assert not world.coming and world.log.means[0, 0] == 200


@pytest.mark.usefixtures("hurry")
def test_what_is_never_shown_is_said_and_so_is_what_never_happens(tmp_path: Path) -> None:
    world = _World(tmp_path, late=10**6)
    person = _user(world)
    with pytest.raises(AtRest, match="nothing changed"):
        person.act(lambda: None)
    with pytest.raises(AtRest, match="does not show"):
        person.act(lambda: world.draw(99))


# --- plans, records, pages ---

def _arguments(*given: str, of: ModuleType = command) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    of.configure(parser)
    return parser.parse_args(given)


def test_a_set_is_what_the_options_leave_of_it() -> None:
    plans = sets.planned(_arguments("--links", "2M100ms", "--modes", "flow,vnc", "--repeat", "2"))
    assert {str(case): case.count for case in plans} == {
        f"text-std/{scenario}/2M100ms/{way}{repeat}": count for repeat in ("", " run 2")
        for scenario, count in (("scroll", 6), ("page", 20)) for way in ("flow", "vnc")}
    assert list(plans)[-1].repeat == 2
    assert {case.count for case in sets.planned(_arguments("main", "--count", "7"))} == {7}


def test_kvm_is_named_in_the_record_and_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu, "accelerator", lambda name: name)
    given = ("--scenarios", "page", "--links", "lan", "--modes", "flow")
    plans = [next(iter(sets.planned(_arguments(*given, *more)))) for more in ((), ("--accel", "kvm"))]
    assert [case.what[0] for case in plans] == ["text-std", "text-std+kvm"] and plans[0] != plans[1]
    assert sets._guess(plans[0]) == sets._guess(plans[1])
    hardware = Hardware(Made(Path("kernel"), Path("initrd")), "VGA")
    assert hardware.arguments()[2:4] == ["-accel", "tcg"] and replace(hardware, accel="kvm").arguments()[2:4] == ["-accel", "kvm"]
    text = page.page([_run("flow", scenario="page", guest=case.what[0]) for case in plans])
    assert "\n## text-std, page\n" in text and "\n## text-std+kvm, page\n" in text
    for wrong in ("text-std+xen", "+kvm"):
        with pytest.raises(BenchError, match="unknown guest"):
            guests.kind_of(wrong)


def test_parts_of_a_set_that_overlap_are_one() -> None:
    plans = sets.planned(_arguments("main", "--guests", "text-std", "--scenarios", "page", "--links", "lan"))
    assert {case.mode: case.count for case in plans} == {**dict.fromkeys(("stock", "flow", "vnc"), 100), **dict.fromkeys(ways.BROWSERS, 30)}


def test_main_begins_with_front_and_ways_has_the_rest() -> None:
    front, everything, rest = (sets.planned(_arguments(name)) for name in ("front", "main", "ways"))
    assert list(everything)[:len(front)] == list(front) and not everything.keys() & rest.keys()
    assert {(case.what, case.link) for case in rest} < {(case.what, case.link) for case in everything}
    enough = {case.link for case in everything if case.count == 100}
    assert enough == {case.link for case in everything} == {case.link for case in rest}


@pytest.mark.parametrize(("name", "minutes"), [("quick", 11), ("front", 60), ("main", 150), ("ways", 60)])
def test_a_set_takes_no_longer_than_is_said_of_it(name: str, minutes: int) -> None:
    assert sum(sets.planned(_arguments(name)).values()) < 60 * minutes


def test_how_long_it_takes_is_known_from_runs() -> None:
    plans = sets.planned(_arguments("--scenarios", "page", "--links", "2M100ms", "--modes", "stock", "--count", "10"))
    known = replace(_run("stock", scenario="page", link="2M100ms", count=25), seconds=61.0)
    assert sum(store.expected(plans, [known]).values()) == pytest.approx(11 + 10 * 2)


@pytest.mark.parametrize("wrong", [("--guests", "dos"), ("--scenarios", "sleep"), ("--links", "string"), ("--repeat", "0"),
                                   ("--count", "0"), ("--modes", "rdp"), ("--modes", "flow:catchup=of")])
def test_what_there_is_not_is_refused(wrong: tuple[str, str]) -> None:
    with pytest.raises(BenchError):
        sets.planned(_arguments(*wrong))


def test_what_cannot_be_shown_so_is_not_planned_and_the_page_says_why() -> None:
    plans = sets.planned(_arguments("--guests", "sound-std", "--scenarios", "sound", "--links", "lan", "--modes", "stock,html5,vnc"))
    assert [case.mode for case in plans] == ["stock"]
    with pytest.raises(BenchError, match="nothing to measure"):
        sets.planned(_arguments("--guests", "sound-std", "--scenarios", "sound", "--modes", "vnc"))
    assert "Not run by vnc: TigerVNC's viewer plays no sound." in page.page([_run("stock", scenario="sound")])


@pytest.mark.parametrize("package", ["spice-html5", "novnc"])
def test_a_browser_is_led_to_where_its_page_came_from(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "source").mkdir()
    monkeypatch.setitem(web.SOURCES, package, (tmp_path / "source", web.SOURCES[package][1]))
    text = (web.site(package, tmp_path, "10.83.0.1:6080") / "session.html").read_text()
    assert "'wss://10.83.0.1:6080/" in text and "{{" not in text
    monkeypatch.setitem(web.SOURCES, package, (tmp_path / "nothing", ""))
    with pytest.raises(BenchError, match=f"install the package {package}"):
        web.site(package, tmp_path, "")


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(BenchError, match="unknown mode 'rdp'"):
        ways.find("rdp")


def test_frames_are_counted_with_their_headers() -> None:
    text = "head\n spice0: 1000 10 0 0 0 0 0 0 5000 20 0 0 0 0 0 0\n"
    assert cell.wire(text, "spice0", True) == (5000, 1000)
    assert cell.wire(text, "spice0", False) == (5280, 1140)


def test_a_run_does_not_count_if_the_host_took_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stat, ticks = tmp_path / "stat", iter((0, 0, 0, 9999))

    def play(*_: object) -> cell.Record:
        stat.write_text(f"cpu  1 2 3 4 5 6 7 {next(ticks)} 9 10\n")
        return {}

    play()
    for name, value in (("StealTime", lambda: StealTime(stat)), ("_play", play)):
        monkeypatch.setattr(cell, name, value)
    monkeypatch.setattr(cell.linktest, "check", lambda _: None)
    monkeypatch.setattr(cell.labs, "connect", lambda *_, **__: contextlib.nullcontext())
    case, guest, scroll = Case(("text-std", "scroll"), "flow", "lan"), cast(guests.Guest, None), scenarios.SCENARIOS["scroll"]
    runs = [cell.run(case, guest, scroll, ways.Way("flow", None), links.find("lan")) for _ in range(3)]
    assert [run.figures["stolen"] for run in runs[:2]] == [0, 0] and [run.invalid for run in runs[:2]] == [None, None]
    assert "of the processors" in (runs[2].invalid or "")


ENVIRONMENT = {"qemu": "QEMU", "release": "0.15.2", "machine": "m", "processors": 2, "commit": "t"}


def _run(way: str, invalid: str | None = None, library: str | None = None, commit: str = "t", **other: Any) -> Run:
    case = Case((other.pop("guest", "text-std"), other.pop("scenario", "scroll")), way, other.pop("link", "lan"), repeat=other.pop("repeat", 1),
                count=other.pop("count", 20))
    figures = {"figure": "lag", "responses": [], "lags": [0.5] * 20, "lines": 100, "drawing": 10.0, "changes": 50, "bytes": 1_000_000, "bytes_up": 1,
               "cpu": {"guest": 9.0, "worker": 0.1, "rest": 0.2}, "inexact": 0.0, "load": [1.0, 3.0], **other}
    return Run(case, figures, invalid, library=library, date="2026-11-30 08:00", environment={**ENVIRONMENT, "commit": commit})


def test_a_row_takes_repeats_together() -> None:
    one = page.row([_run("flow"), _run("flow", repeat=2, lags=[1.5, None], inexact=0.01)])
    assert (one.waits, one.failed, one.median, one.inexact) == (22, 1, 0.5, 0.01)
    assert (one.wire, one.per_line, one.changes, one.lines) == (100_000, 10_000, 5, 10)
    assert (one.worker, one.qemu) == (pytest.approx(10), pytest.approx(30))
    assert page.row([_run("flow", lags=[0.5] * 19)]).p95 is None


def test_a_p95_of_few_is_in_brackets_and_a_guest_that_waits_is_held_up() -> None:
    found = page.rows([_run("stock", lags=[0.5] * 100, lines=60), _run("flow", lags=[0.1] * 99), _run("vnc", lines=95)])
    told = {cells[1]: cells for line in page.table(found, True).splitlines()[2:] for cells in [[cell.strip() for cell in line.strip("|").split("|")]]}
    assert [told[way][5] for way in ("stock", "flow")] == ["0.50", "(0.10)"]
    assert [told[way][8] for way in ("stock", "flow", "vnc")] == ["to 60%", "no", "no"]
    assert page.held_up(page.row([_run("flow", lines=0)]), None) == "–"


def test_runs_are_kept_and_shown(tmp_path: Path) -> None:
    runs = [_run("flow", bytes=500_000, library="a"), _run("stock"), _run("vnc", invalid="the host took 9% of the processors")]
    kept = Store(tmp_path / "live.jsonl")
    for run in runs:
        kept.add(run)
    assert Store(kept.file).runs == runs
    text = page.page(runs)
    assert "| lan | stock | 20 | 0 | 0.50 | (0.50) | 5 | 10.0 | no | 100 | 10.0 | 1.00 | 10.0 | 30.0 | yes |" in text
    assert text.index("| lan | stock ") < text.index("| lan | flow ") and "| 0.50 | 10.0 | 30.0 |" in text
    assert "- text-std/scroll/lan/vnc: the host took 9%" in text and "| lan | vnc " not in text


def test_a_page_without_a_run_that_counts_says_why() -> None:
    assert "- text-std/scroll/lan/flow: no link\n" in page.page([_run("flow", invalid="no link")])
    assert "- sessions/1/flow: no link\n" in sessions.page([_sessions("flow", 1, 0.1, invalid="no link")])


def test_another_state_of_the_library_is_measured_again_and_what_does_not_use_it_is_kept(tmp_path: Path) -> None:
    kept, cases = Store(tmp_path / "live.jsonl"), []
    for way in ("stock", "vnc", "flow (DIR)", "html5-stock", "novnc", "flow", "flow:catchup=off", "html5"):
        made = _run(way, library="a" if ways.of_tree(way) else None)
        cases.append(replace(made.case, ours=ways.of_tree(way)))
        kept.add(made)
    assert not kept.left(cases, "a")
    assert [case.mode for case in kept.left(cases, "b")] == ["flow", "flow:catchup=off", "html5"]


def test_a_page_of_several_libraries_says_so_in_each_row() -> None:
    runs = [_run("stock"), _run("vnc"), _run("flow", library="aaa")]
    text = page.page(runs)
    assert "All rows of this library (`flow`) are of aaa" in text and "this library |\n" not in text and "measured with" not in text
    runs += [_run(way, link="2M100ms", **more) for way, more in (("stock", {}), ("vnc", {}), ("flow", {"library": "commit c0ffee"}))]
    text = page.page(runs)
    assert "are of 2 states of it" in text
    said = {(cells[0], cells[1]): cells[-1] for line in text.splitlines() if line.startswith(("| lan", "| 2M100ms"))
            for cells in [[cell.strip() for cell in line.strip("|").split("|")]]}
    assert said == {("lan", "stock"): "–", ("lan", "flow"): "aaa", ("lan", "vnc"): "–",
                    ("2M100ms", "stock"): "–", ("2M100ms", "flow"): "commit c0ffee", ("2M100ms", "vnc"): "–"}
    in_short = text.partition("## In short")[2].partition("## text-std")[0]
    assert [line.strip("| ").rpartition(" | ")[2].strip() for line in in_short.splitlines() if line.startswith("| text-std")] == ["aaa", "commit c0ffee"]


def test_a_library_of_another_directory_has_its_name() -> None:
    assert [ways.title(name, Library("/x/DIR", Path("/x/DIR"), True)) for name in ("stock", "vnc", "novnc", "html5-stock", "html5", "flow")] == [
        "stock", "vnc", "novnc", "html5-stock", "html5 (DIR)", "flow (DIR)"]
    assert ways.title("flow:catchup=off") == "flow:catchup=off" and not ways.of_tree("flow (DIR)")


def test_what_readme_shows_has_100_actions_or_20_stops() -> None:
    plans = sets.planned(_arguments("front"))
    assert {(case.what[1], case.count) for case in plans if case.link == "20M40ms"} == {
        *((name, 100) for name in ("page", "type", "web", "editor", "drag")), ("scroll", 20), ("video", 20)}
    assert [case.link for case in plans][:21] == ["20M40ms"] * 21


# --- scenarios and guests ---

class _Hands:
    def __init__(self) -> None:
        self.viewer = self
        self.did: list[tuple[Any, ...]] = []

    def tap(self, key: str) -> None:
        self.did.append((key,))

    def move(self, x: int, y: int) -> None:
        self.did.append((x, y))

    def act(self, what: Any) -> float:
        what()
        return 0.1


def _hands(play: scenarios.Play, count: int) -> list[tuple[Any, ...]]:
    hands = _Hands()
    done = play(cast(User, hands), cast(Qemu, None), count)
    assert done.responses == [0.1] * count
    return hands.did


def test_a_window_comes_back_and_no_step_is_none() -> None:
    steps = _hands(scenarios.SCENARIOS["drag"].play, 41)
    assert all(one != other for one, other in zip(steps, steps[1:]))
    assert steps[0] == steps[20] == steps[40] and steps[19] == (440, 208) and max(steps) == (640, 328)


def test_what_is_scrolled_is_scrolled_back() -> None:
    assert _hands(scenarios.SCENARIOS["terminal"].play, 101) == [("down",)] * 50 + [("up",)] * 50 + [("down",)]


def test_every_key_of_the_echo_shows_something() -> None:
    assert _hands(scenarios.SCENARIOS["type"].play, 100) == [("a",)] * 100      # the guest shows nothing for Enter


def test_a_person_gives_up() -> None:
    class Never(_Hands):
        def act(self, what: Any) -> float:
            raise AtRest("not shown")

    done = scenarios.SCENARIOS["line"].play(cast(User, Never()), cast(Qemu, None), 100)
    assert (done.responses, done.why) == ([None] * 4, "not shown")


def test_every_scenario_has_its_guest_and_every_key_its_code() -> None:
    assert {scenario.guest for scenario in scenarios.SCENARIOS.values()} == {guests.kind_of(name) for name in guests.NAMES}
    assert all(code for code, _ in KEYS.values()) and {"a", "b", "down", "space", "enter"} <= KEYS.keys()


def test_the_desktop_is_made_anew_when_what_is_in_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = desktop.fingerprint()
    assert "xterm" in desktop.packages() and not [name for name in desktop.packages() if " " in name]
    (tmp_path / "desktop" / "start").parent.mkdir()
    for name in ("packages.txt", "start"):
        (tmp_path / "desktop" / name).write_text("other")
    monkeypatch.setattr(desktop, "_FILES", tmp_path / "desktop")
    assert desktop.fingerprint() != before


def test_the_documents_of_the_desktop_are_well_formed() -> None:
    text = "\n\n".join(f"Paragraph {number} " + "with (many) words & <signs> \\ " * 10 for number in range(70))
    page = desktop.web_page("a.jpg", text)
    assert page.count("<h2") == 60 and page.count("<img") == 30 and "&lt;signs&gt;" in page
    book = (desktop._FILES / "book.pdf").read_bytes()
    assert book.startswith(b"%PDF-1.4") and book.endswith(b"%%EOF\n") and b"/Type /Pages /Count 12" in book
    start = int(book.rsplit(b"startxref\n", 1)[1].split()[0])
    assert book[start:].startswith(b"xref")
    offsets = [int(line[:10]) for line in book[start:].splitlines() if line.endswith(b" n ")]
    assert len(offsets) == 28 and all(book[offset:].startswith(b"%d 0 obj" % number) for number, offset in enumerate(offsets, 1))


# --- many sessions ---

def test_what_a_process_has_used_is_read_of_it() -> None:
    found = sessions.used(Path("/proc/self"))
    assert found.cpu > 0 and found.memory > 1 << 20


def test_sessions_are_numbers_and_not_of_vnc() -> None:
    assert list(map(str, sessions.planned(_arguments("1", "8", "--modes", "flow", of=sessions)))) == ["sessions/1/flow", "sessions/8/flow"]
    assert [case.what[1] for case in sessions.planned(_arguments("--modes", "flow", of=sessions))] == ["1", "8", "32"]
    for wrong, complaint in ((("0",), "from 1 to 64"), (("1", "65"), "from 1 to 64"), (("1", "--modes", "vnc"), "leave them out of --modes"),
                             (("1", "--modes", "rdp"), "unknown mode")):
        with pytest.raises(BenchError, match=complaint):
            sessions.planned(_arguments(*wrong, of=sessions))


@pytest.mark.parametrize(("arguments", "complaint"), [
    (["sessions", "many"], "argument N: invalid int value: 'many'"),
    (["sessions", "1", "--links", "lan"], "unrecognized arguments: --links lan"), (["deployment", "--count", "3"], "unrecognized arguments"),
    (["deployment", "--links", "lan"], "unrecognized arguments"), (["reports", "--guests", "text-std"], "unrecognized arguments"),
    (["deployments"], "argument SET: invalid choice: 'deployments'")])
def test_what_a_command_does_not_have_is_refused(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["live", *arguments, "--dry-run"]) == 2
    assert complaint in capsys.readouterr().err


def _sessions(way: str, count: int, cpu: float, wakes: float = 1.0, memory: int = 1, late: float | None = None, probes: int | None = 0,
              invalid: str | None = None) -> Run:
    return Run(Case(("sessions", str(count)), way), {"cpu": cpu, "wakes": wakes, "memory": memory, "late": late, "probes": probes}, invalid,
               date="2026-11-30 08:00", environment=ENVIRONMENT)


def test_sessions_beside_a_busy_host_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = iter((None, STOLEN_LIMIT, STOLEN_LIMIT + 0.01))
    monkeypatch.setattr(StealTime, "share", lambda *_: next(shares))
    assert [cell.watched(lambda: Outcome({"cpu": 1})).invalid for _ in range(2)] == [None, None]
    reason = cell.watched(lambda: Outcome({"cpu": 1})).invalid
    assert reason == "the host took 6% of the processors"
    text = sessions.page([_sessions("flow", 1, 0.5), _sessions("flow", 8, 0.01, invalid=reason)])
    assert "## Runs that do not count\n\n- sessions/8/flow: the host took 6% of the processors\n" in text and "| flow | 8 |" not in text


def test_the_rows_of_sessions() -> None:
    row = _sessions("flow", 8, 0.01, 251.2, 63_000_000, 2.54, 150)
    assert "| flow | 8 | 10.0 | 251 | 63 | 100 | 2.5 | 150 |" in sessions.table([row])
    sent = [[number, number * 10**8, number * 10**8] for number in range(1, 4)]
    shown = [[number, when + 2 * 10**6] for number, when, _ in sent]
    assert sessions._late({"probes": sent}, {"probes": shown}) == {"late": 2.0, "probes": 3}
    assert sessions._late({}, {}) == {"late": None, "probes": 0}


def test_the_page_of_sessions_says_how_many_fit_one_core() -> None:
    rows = [_sessions(way, count, cpu) for count, way, cpu in ((32, "stock", 0.025), (32, "flow", 0.02), (1, "flow", 0.5))]
    text = sessions.page(rows)
    assert "fits one core**: 2 with flow" not in text and "40 with stock (32 at once)" in text and "50 with flow (32 at once)" in text
    assert "## What this page cannot show" in text and "| flow | 1 | 500.0 |" in text and "do not count" not in text


def test_the_short_table_has_only_what_can_be_compared() -> None:
    runs = [_run("stock"), _run("flow", bytes=50_000, lags=[0.1] * 19 + [None]), _run("vnc", lags=[0.2] * 3),
            _run("stock", link="2M100ms"), _run("flow", link="2M100ms")]
    found = page.short(runs)
    assert found is not None
    [line] = found.splitlines()[2:]
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        "text-std", "scroll", "lan", "3", "0.50 / (0.50) s", "0.10 / – s, 1 of 20 not shown", "0.20 / – s",
        "100 kB/s", "5.0 kB/s", "100 kB/s"]
    assert page.short(runs[3:]) is None


def test_sound_has_columns_where_there_was_some() -> None:
    heard = {"seconds": 60.0, "gaps": 3, "silence": 0.6, "late": 0.012}
    one = page.row([_run("flow", scenario="sound", sound=heard), _run("flow", scenario="sound", sound={**heard, "gaps": 0, "late": 0.02})])
    assert (one.gaps, one.silence, one.late) == (pytest.approx(1.5), pytest.approx(1.2 / 121.2), 0.02)
    assert page.table([one], True).endswith("| yes | 1.5 | 1.0% | 20 |")
    assert "sound" not in page.table([page.row([_run("flow")])], True)


def test_a_page_explains_what_is_on_it() -> None:
    text = page.page([_run("html5")])
    assert "noVNC in Chromium" in text and "*sound*" not in text
    assert "Chromium" not in page.page([_run("flow")])
