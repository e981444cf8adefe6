# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run clients, without QEMU and without a client."""

from __future__ import annotations

import socket
import struct
import subprocess
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from bench import cli
from bench.common import lists, paths
from bench.common.errors import BenchError
from bench.runs import store
from bench.runs.runner import Outcome
from bench.runs.store import Case, Run, Store
from clients import agent, command, installed, machine, migration, packages, plans, proxies, table, target, webdav, wire
from clients.drivers.gtk import SpiceGtk
from clients.drivers.remote_viewer import RemoteViewer
from clients.table import BAD, GOOD, NOT_RUN
from guest import initrd, qemu
from guest.errors import Failed, GuestLost, NotRun


def _acks(style: str, windows: dict[int, int], messages: int) -> list[int]:
    counting, acks = wire.STYLES[style](), []
    for number in range(messages):
        if number in windows:
            counting.set_window(windows[number])
        if counting.due():
            acks.append(number)
    return acks


def test_clients_count_each_in_its_own_way() -> None:
    same = {style: _acks(style, {0: 20}, 100) for style in wire.STYLES}
    assert same == {style: [19, 39, 59, 79, 99] for style in wire.STYLES}
    smaller = {0: 20, 30: 5}  # 10 are counted when the window becomes 5
    assert _acks("spice-gtk", smaller, 50) == [19, 34, 39, 44, 49]
    assert _acks("ryll", smaller, 50) == [19, 30, 35, 40, 45]
    assert _acks("PureSpice", smaller, 50) == [19]


def _cell(mode: str, outcome: str, row: str = "a", says: str = "", library: str | None = "", date: str = "", scenario: str = "draw",
          transport: str = "plain") -> Run:
    return Run(Case((row, scenario), mode, transport), {"says": says} if outcome != NOT_RUN else {}, says if outcome == NOT_RUN else None, outcome == BAD,
               library if mode != "stock" else None, date, environment={"qemu": "q", "release": "r"})


def test_worse_is_what_stock_does_not_share() -> None:
    cells = [
        _cell("stock", GOOD),
        _cell("flow", BAD),
        _cell("stock", BAD, "b"),
        _cell("flow", BAD, "b"),
        _cell("flow", BAD, "c"),
    ]
    assert [cell.case.what[0] for cell in table.worse_than_stock(cells)] == ["a", "c"]


def test_a_cell_is_replaced_by_one_that_was_run() -> None:
    old = [_cell("flow", GOOD, says="before"), _cell("stock", NOT_RUN, says="not here")]
    new = [_cell("flow", NOT_RUN, says="not here"), _cell("stock", GOOD, says="now")]
    again = replace(new[1], case=replace(new[1].case, repeat=2))
    for runs in ([*old, *new], [*old, again]):
        assert [cell.figures["says"] for cell in store.latest(table.kept(runs))] == ["before", "now"]


def test_bad_runs_that_were_repeated_are_counted() -> None:
    runs = [_cell("flow", BAD), _cell("batch", BAD), _cell("flow", BAD), _cell("batch", GOOD, library="newer")]
    assert "29 November 2026: 1." in table.repeated(table.kept(runs))       # a newer library's run is no repeat
    runs.append(_cell("flow", GOOD))
    assert [table.outcome_of(cell) for cell in store.latest(table.kept(runs))] == [GOOD, GOOD]
    moved = [replace(run, case=replace(run.case, mode=f"stock>{run.case.mode}")) for run in runs]
    for page in (command.page(runs + moved), migration.page(runs + moved)):
        assert "a repeat with the same library replaced, since 29 November 2026: 2." in page


def test_a_cell_is_shown() -> None:
    cells = [_cell("flow", BAD, says="why"), _cell("stock", GOOD)]
    shown = table.markdown(cells, ["stock", "flow"], ["draw"], "client")
    assert "| a | plain | stock, flow | good: stock; bad: flow |" in shown
    assert table.reasons(cells, BAD) == "- a: why: draw (plain, flow)\n"


def test_pages_write_modes_as_the_command_line_does() -> None:
    shown = command.page([_cell("flow", GOOD), _cell("flow:ktls=on", BAD, says="why")])
    assert "| a | plain | flow, flow:ktls=on | good: flow; bad: flow:ktls=on |" in shown and "draw (plain, flow:ktls=on)" in shown
    assert "| stock > flow:hold=0@0.16.0 | good |" in migration.page([_cell("stock>flow:hold=0@0.16.0", GOOD)])


def test_a_page_says_which_versions_were_tested() -> None:
    runs = [replace(_cell("flow", GOOD, transport="ssh-L"), environment={"qemu": "q", "release": "r", "client": "0.42", "relay": "9.2"}),
            _cell("stock", NOT_RUN, "b", "not here")]
    assert "\n- a: 0.42\n- ssh: 9.2\n" in command.page(runs) and "- b: not here: draw" in command.page(runs)


def test_every_scenario_and_client_is_there() -> None:
    for name in plans.SCENARIOS:
        assert plans.scenario(name).__name__ == "run"
    assert len({driver.name for driver in plans.DRIVERS}) == len(plans.DRIVERS)
    for driver in plans.DRIVERS:
        assert driver.transports <= set(target.TRANSPORTS) and driver.transports


@pytest.mark.parametrize("error", [
    Failed("why"), TimeoutError("why"), subprocess.CalledProcessError(1, "why"), subprocess.TimeoutExpired("why", 1)])
def test_a_run_that_breaks_is_bad_and_the_others_go_on(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> str:
        raise error

    monkeypatch.setattr(SpiceGtk, "version", lambda: "1")
    monkeypatch.setattr(plans, "scenario", lambda _: breaks)
    player = command.Player(cast(Any, None), tmp_path, tmp_path)
    monkeypatch.setattr(player, "_world", lambda *_: types.SimpleNamespace(figures={"lines": 1}, nobody=lambda: None))
    done = player.play(Case((SpiceGtk.name, "draw"), "flow", target.PLAIN), {"SPICE_STREAM": "flow"}, 1)
    assert done.failed and "why" in done.figures["says"] and done.figures["lines"] == 1 and done.about == {"client": "1"}
    monkeypatch.setattr(migration, "move", breaks)
    nothing = cast(Any, None)
    done = migration._migrated(nothing, tmp_path, nothing, nothing, Case((SpiceGtk.name, migration.SEAMLESS), "stock>flow", target.PLAIN), 1)
    assert done.failed and "why" in done.figures["says"]


def test_a_guest_that_is_lost_is_tried_again_and_bad_the_second_time() -> None:
    def lost() -> str:
        raise GuestLost("stands still")

    first, second = (table.outcome(lost, attempt) for attempt in (1, 2))
    assert first.invalid == "the guest was lost: stands still" and first.again and not first.failed
    assert second.failed and second.invalid is None and second.figures == {"says": "stands still, 2 times"}
    runs = [replace(_cell("stock>flow", GOOD), invalid=first.invalid), _cell("stock>flow", GOOD)]
    assert "repeated once: 1 of these 1 were" in migration.page(runs)
    runs = [replace(run, case=replace(run.case, mode="flow")) for run in runs]
    assert ": none. 1 more were repeated as the guest was lost.\n" in command.page(runs) and "guest was lost" not in command.page(runs[1:])


def test_what_is_not_here_is_not_run_and_not_tried_again() -> None:
    def missing() -> str:
        raise NotRun("not installed")

    assert table.outcome(missing, 1) == Outcome(invalid="not installed", again=False)


def test_a_wrong_name_is_one_line() -> None:
    with pytest.raises(BenchError, match="^unknown client 'x': choose one of a, b$"):
        lists.read("a,x", [], "client", ["a", "b"])
    with pytest.raises(BenchError, match="no client given"):
        lists.read(" ,", ["a"], "client")
    assert lists.read("b, a,b", [], "client", ["a", "b"]) == ["b", "a"] and lists.read(None, ("a",), "client") == ["a"]


def test_a_pair_names_modes_and_releases() -> None:
    assert migration.pair("stock>flow").name == "stock@0.15.2>flow@0.15.2"
    assert migration.pair("stock@0.15.1>batch:window=400@0.16.0").sink == ("batch:window=400", "0.16.0")
    for wrong in ("flow", ">flow", "stock>flow>batch"):
        with pytest.raises(BenchError, match="is not a pair"):
            migration.pair(wrong)
    with pytest.raises(BenchError, match="unknown release 0.1"):
        migration.pair("stock>flow@0.1")


def test_what_versions_sent_is_shown_a_line() -> None:
    def sent(version: str, packets: int) -> Run:
        return Run(Case(("draw",), version, "tls"), {"lines": 4, "packets": packets, "wire_bytes": 900, "client_packets": 2})

    told = installed.page([sent("1", 99), sent("2", 8), sent("1", 10)]).splitlines()
    assert told[2:] == ["| 2 | tls | 2.00 | 225 | 0.50 | 4 |", "| 1 | tls | 2.50 | 225 | 0.50 | 4 |"]


def _by_pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def test_the_agents_messages_come_out_of_their_chunks() -> None:
    long = bytes(range(256)) * 20
    wire_bytes = agent.packed(agent.CLIPBOARD, long) + agent.packed(agent.GRAB, b"x")
    messages = agent.Messages()
    found = [message for piece in _by_pieces(wire_bytes, 7) for message in messages.take(piece)]
    assert found == [(agent.CLIPBOARD, long), (agent.GRAB, b"x")]


def test_a_clipboard_goes_both_ways_through_the_agent() -> None:
    ours, its = socket.socketpair()
    made, messages, got = agent.Agent(its), agent.Messages(), []

    def until(kind: int) -> bytes:
        while all(each != kind for each, _ in got):
            got.extend(messages.take(ours.recv(1 << 16)))
        return next(body for each, body in got if each == kind)

    with ours:
        ours.sendall(agent.packed(agent.CAPABILITIES, struct.pack("<II", 1, 0)))
        made.met(5)
        ours.sendall(agent.packed(agent.GRAB, bytes(4) + struct.pack("<I", agent.UTF8)))
        assert until(agent.REQUEST) == bytes(4) + struct.pack("<I", agent.UTF8)
        ours.sendall(agent.packed(agent.CLIPBOARD, bytes(4) + struct.pack("<I", agent.UTF8) + "ä€".encode()))
        assert made.taken(5) == "ä€"
        made.offer("ö" * 5000)
        until(agent.GRAB)
        ours.sendall(agent.packed(agent.REQUEST, bytes(4) + struct.pack("<I", agent.UTF8)))
        assert until(agent.CLIPBOARD)[8:].decode() == "ö" * 5000
        made.close()


def test_a_file_is_read_from_frames_of_any_size() -> None:
    ours, its = socket.socketpair()
    body = bytes(range(256)) * 300
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    with ours, its:
        for piece in _by_pieces(answer, 9000):
            ours.sendall(webdav.framed(7, b"of somebody else") + webdav.framed(1, piece))
        files = webdav.Files(its)
        assert files.get("x") == body
        ours.sendall(webdav.framed(2, b"HTTP/1.1 404 Not Found\r\n\r\n"))
        with pytest.raises(Failed, match="404"):
            files.get("y")


def test_a_cell_says_of_which_library_it_is() -> None:
    cells = [_cell("flow", GOOD, library="e457afe508a8", date="d"), _cell("cork", GOOD), _cell("stock", GOOD, date="c")]
    assert table.libraries([*cells, _cell("batch", NOT_RUN, says="not here")]).splitlines() == [
        "- library e457afe508a8: 1 run, d UTC",
        "- stock: 1 run, c UTC",
        "- an older library: 1 run, date not recorded",
    ]


def test_migrations_of_an_older_library_are_marked() -> None:
    old, new = (_cell(mode, GOOD, scenario="seamless", library=library) for mode, library in (("stock>flow", ""), ("flow>flow", "new")))
    stock = replace(_cell("stock>stock", GOOD, scenario="seamless"), library=None)
    shown = migration.page([stock, old, new])
    assert "| stock > flow | good\\* |" in shown and "| flow > flow | good |" in shown and "**1 of these 3 runs" in shown
    assert "| stock > stock | good |" in shown and "\\*" not in migration.page([stock, new])


def test_on_a_host_no_browser_is_needed() -> None:
    few = packages.wanted(few=True)
    of_run = {line.split("#")[0].strip() for line in (paths.ROOT / "packages.txt").read_text().splitlines()}
    assert {"busybox-static", "python3-gi", "tcpdump"} <= set(few) < set(packages.wanted()) | of_run
    assert not {"chromium", "xvfb"} & set(few)


def test_only_live_installs_packages_and_only_if_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Any] = []
    steps = types.SimpleNamespace(run=lambda _title, argv, **_: ran.append(argv))
    monkeypatch.setattr(packages, "missing", lambda few=False: [] if ran else ["xvfb"])
    monkeypatch.setattr(packages.shutil, "which", lambda _: "/usr/bin/dpkg-query")
    monkeypatch.setattr(packages.os, "geteuid", lambda: 0)
    monkeypatch.setenv("RUN_NO_PACKAGES", "1")
    for refuses in (packages.require, lambda: packages.install(steps)):
        with pytest.raises(BenchError, match="^packages are missing; as root: apt-get install --no-install-recommends xvfb$"):
            refuses()
    assert ran == []
    monkeypatch.delenv("RUN_NO_PACKAGES")
    packages.install(steps)
    assert ran[-1] == ["apt-get", "install", "--no-install-recommends", "-q", "-y", "xvfb"]


def test_only_relays_have_the_scenario_idle() -> None:
    wanted = plans.cases(plans.DRIVERS, target.TRANSPORTS, ["stock", "flow"], plans.SCENARIOS)
    assert {case.link for case in wanted if case.what[1] == plans.IDLE} == target.PROXIES
    assert not {case.link for case in wanted if case.what[1] != plans.IDLE} & target.PROXIES


def test_cells_that_share_a_qemu_follow_each_other() -> None:
    wanted = plans.cases([SpiceGtk], target.TRANSPORTS, ["stock", "flow"], ["draw", "keys"])
    of = [(case.mode, machine.WAY.get(case.link, machine.OPEN)) for case in wanted]
    assert len([one for one, before in zip(of, [None, *of]) if one != before]) == len(set(of)) and of[0] == ("stock", machine.OPEN)
    assert [case.ours for case in wanted] == [case.mode == "flow" for case in wanted]


def test_targets() -> None:
    assert target.Target(target.NGINX, 1).framed and not target.Target(target.HAPROXY, 1).framed
    assert target.Target(target.SQUID, 5900, proxy="http://127.0.0.1:1").environment == {"SPICE_PROXY": "http://127.0.0.1:1"}


def test_a_client_goes_to_the_machines_address() -> None:
    assert target.Target(target.TLS, 1, host="10.83.0.1").uri == "spice://10.83.0.1?tls-port=1"
    assert target.Target(target.PLAIN, 1).uri == "spice://127.0.0.1?port=1"


def test_migrations_need_a_client_that_can_show_them() -> None:
    kinds = (migration.SEAMLESS, migration.DISPLAYS, migration.RESIZED, migration.SOUNDS)
    assert migration.kinds_of(SpiceGtk, kinds) == [migration.SEAMLESS, migration.DISPLAYS, migration.SOUNDS]
    assert migration.kinds_of(RemoteViewer, kinds) == [migration.SEAMLESS, migration.RESIZED]


def test_a_relay_carries_bytes_and_is_gone_when_closed(tmp_path: Path) -> None:
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "server"))
    server.listen()
    proxy = proxies.Proxy(target.SOCAT, tmp_path / "server", tmp_path)
    try:
        with server, socket.create_connection((target.HOST, proxy.port), 20) as client, server.accept()[0] as accepted:
            client.sendall(b"there")
            assert accepted.recv(5) == b"there"
            accepted.sendall(b"back")
            assert client.recv(4) == b"back"
    finally:
        proxy.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((target.HOST, proxy.port), 20)


def test_a_relay_that_does_not_start_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxies, "_listen", lambda _: "TCP-LISTEN:none")
    with pytest.raises(Failed, match="^socat does not start: .+$"):
        proxies.Proxy(target.SOCAT, tmp_path / "server", tmp_path)


def test_a_guest_that_migrates_has_the_hardware_of_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(initrd, "prepare", lambda _: initrd.Made(Path("kernel"), Path("initrd")))
    plain, two, large = (migration._hardware(cast(Any, None), kind, "tcg").arguments()
                         for kind in (migration.SEAMLESS, migration.DISPLAYS, migration.RESIZED))
    assert [word for word in two if word not in plain] == ["qxl,id=second"]
    assert [word for word in large if word not in plain] == ["qxl-vga,xres=2162,yres=1216"]


def test_results_of_another_accelerator_stay_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    Store(tmp_path / "clients.jsonl").add(_cell("flow", GOOD))
    monkeypatch.setattr(qemu, "accelerator", lambda name: name)
    arguments = ["clients", "--clients", "ryll", "--output", str(tmp_path), "--dry-run"]
    assert cli.main(arguments) == 0 and "ryll/draw/plain/stock\n" in capsys.readouterr().out
    assert cli.main([*arguments, "--accel", "kvm"]) == 2
    assert "has results of --accel tcg: name another folder for those of kvm" in capsys.readouterr().err
