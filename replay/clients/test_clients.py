# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run clients, without QEMU and without a client."""

from __future__ import annotations

import collections
import socket
import struct
import subprocess
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from bench.common import paths
from bench.common.errors import BenchError
from clients import agent, command, installed, machine, migration, packages, plans, proxies, table, target, webdav, wire
from clients.drivers.gtk import SpiceGtk
from clients.drivers.remote_viewer import RemoteViewer
from clients.table import BAD, GOOD, NOT_RUN, Cell
from guest import initrd
from guest.errors import Failed


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


def _cell(mode: str, outcome: str, row: str = "a", says: str = "") -> Cell:
    return Cell(row, "plain", mode, "draw", outcome, says)


def test_worse_is_what_stock_does_not_share() -> None:
    cells = [
        _cell("stock", GOOD),
        _cell("flow", BAD),
        _cell("stock", BAD, "b"),
        _cell("flow", BAD, "b"),
        _cell("flow", BAD, "c"),
    ]
    assert [cell.row for cell in table.worse_than("stock", cells)] == ["a", "c"]


def test_a_cell_is_replaced_by_one_that_was_run() -> None:
    old = [_cell("flow", GOOD, says="before"), _cell("stock", NOT_RUN)]
    new = [_cell("flow", NOT_RUN), _cell("stock", GOOD, says="now")]
    assert [cell.says for cell in table.merged(old, new)] == ["before", "now"]


def test_bad_runs_that_were_repeated_are_counted() -> None:
    first, again = [_cell("flow", BAD), _cell("stock", BAD)], [_cell("flow", BAD), replace(_cell("stock", GOOD), library="newer")]
    for new in (again[:1], again):      # as the cells of a command grow, from the same old ones
        found = table.merged(first, new)
    assert [cell.was_bad for cell in found] == [1, 0]       # a newer library's run is no repeat
    found = table.merged(found, [_cell("flow", GOOD)])
    assert [(cell.outcome, cell.was_bad) for cell in found] == [(GOOD, 2), (GOOD, 0)]
    facts = {"date": "d", "qemu": "q", "release": "r", "guest": "g", "versions": {}}
    moved = [replace(cell, mode="stock>flow") for cell in found]
    for page in (command.page(found, facts), migration.page(moved, facts)):
        assert "a repeat with the same library replaced, since 29 November 2026: 2." in page


def test_results_are_kept(tmp_path: Path) -> None:
    cells = [_cell("flow", BAD, says="why"), _cell("stock", GOOD)]
    table.save(tmp_path, "x", cells, {"date": "d"})
    assert table.load(tmp_path, "x") == (cells, {"date": "d"})
    for damaged in ("{", "{}", '{"cells": [{}], "facts": {}}'):
        (tmp_path / "x.json").write_text(damaged)
        with pytest.raises(BenchError, match="x.json is damaged: remove it"):
            table.load(tmp_path, "x")
    shown = table.markdown(cells, ["stock", "flow"], ["draw"], "client")
    assert "| a | plain | stock, flow | good: stock; bad: flow |" in shown
    assert table.reasons(cells, BAD) == "- a: why: draw (plain, flow)\n"


def test_pages_write_modes_as_the_command_line_does() -> None:
    facts = {"date": "d", "qemu": "q", "release": "r", "guest": "g", "versions": {}}
    shown = command.page([_cell("flow", GOOD), _cell("flow,ktls=on", BAD, says="why")], facts)
    assert "| a | plain | flow, flow:ktls=on | good: flow; bad: flow:ktls=on |" in shown and "draw (plain, flow:ktls=on)" in shown
    assert "| stock > flow:hold=0@0.16.0 | good |" in migration.page([_cell("stock>flow,hold=0@0.16.0", GOOD)], facts)


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

    plan = plans.Plan(SpiceGtk, target.PLAIN, "draw")
    monkeypatch.setattr(SpiceGtk, "version", lambda: "1")
    monkeypatch.setattr(command, "library_of", lambda: "")
    monkeypatch.setattr(plans, "scenario", lambda _: breaks)
    player = command.Player(cast(Any, None), tmp_path, tmp_path, lambda _: None)
    monkeypatch.setattr(player, "_world", lambda *_: types.SimpleNamespace(figures={}, nobody=lambda: None))
    cell = player.play(plan, machine.Library(tmp_path, "flow"))
    assert cell.outcome == BAD and "why" in cell.says
    monkeypatch.setattr(migration, "library_of", lambda: "")
    monkeypatch.setattr(migration, "move", breaks)
    each, found = migration.pair("stock>flow"), collections.defaultdict(lambda: cast(Any, None))
    cell = migration._cell(cast(Any, None), tmp_path, found, each, migration.SEAMLESS, SpiceGtk, target.PLAIN)
    assert cell.outcome == BAD and "why" in cell.says


def test_a_wrong_name_is_one_line() -> None:
    with pytest.raises(BenchError, match="unknown client 'x'"):
        command.chosen("x", ["a"], "client")
    assert command.chosen("b, a", ["a", "b"], "client") == ["b", "a"]


def test_a_pair_names_modes_and_releases() -> None:
    assert migration.pair("stock>flow").name == "stock@0.15.2>flow@0.15.2"
    assert migration.pair("stock@0.15.1>batch:window=400@0.16.0").sink == ("batch,window=400", "0.16.0")
    for wrong in ("flow", ">flow", "stock>flow>batch"):
        with pytest.raises(BenchError, match="is not a pair"):
            migration.pair(wrong)
    with pytest.raises(BenchError, match="unknown release 0.1"):
        migration.pair("stock>flow@0.1")


def test_what_versions_sent_is_kept_and_shown_a_line(tmp_path: Path) -> None:
    file = tmp_path / "installed.json"
    assert installed.kept(file) == []
    file.write_text('[{"version": "1", "transport": "tls", "lines": 4, "packets": 10, "wire_bytes": 900, "client_packets": 2, "date": ""}]')
    assert "| 1 | tls | 2.50 | 225 | 0.50 | 4 |" in installed.page(installed.kept(file))
    file.write_text('[{"version": "1"}]')
    with pytest.raises(BenchError, match="damaged"):
        installed.kept(file)


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
    cells = [Cell("a", "plain", "flow", "draw", GOOD, library="20261124.0442", date="d"), _cell("stock", GOOD)]
    assert table.libraries([*cells, _cell("batch", NOT_RUN)]).splitlines() == [
        "- library 20261124.0442: 1 run, d",
        "- an older library: 1 run, date not recorded",
    ]


def test_migrations_of_an_older_library_are_marked() -> None:
    facts = {"date": "d", "qemu": "q"}
    old, new = (Cell("a", "tls", mode, "seamless", GOOD, library=library)
                for mode, library in (("stock>flow", ""), ("flow>flow", "20261128.1517")))
    shown = migration.page([old, new], facts)
    assert "| stock > flow | good\\* |" in shown and "| flow > flow | good |" in shown and "**1 of these 2 runs" in shown
    assert "\\*" not in migration.page([new], facts)


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
    wanted = plans.plans(list(plans.DRIVERS), list(target.TRANSPORTS), list(plans.SCENARIOS))
    assert {plan.transport for plan in wanted if plan.scenario == plans.IDLE} == target.PROXIES
    assert not {plan.transport for plan in wanted if plan.scenario != plans.IDLE} & target.PROXIES
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


def test_results_of_another_accelerator_stay_as_they_are(tmp_path: Path) -> None:
    assert command.cells_of(tmp_path, "kvm") == ([], {"accel": "kvm"})
    table.save(tmp_path, command.NAME, [Cell("a", "tls", "flow", "draw")], {"qemu": "QEMU"})    # as before there were two
    assert command.cells_of(tmp_path, "tcg")[1] == {"qemu": "QEMU", "accel": "tcg"}
    with pytest.raises(BenchError, match="has results of --accel tcg: name another folder for those of kvm"):
        command.cells_of(tmp_path, "kvm")
