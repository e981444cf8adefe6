# SPDX-License-Identifier: LGPL-2.1-or-later
"""A client on another machine, here a second network namespace that a fake ssh enters."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.common import proc
from bench.conftest import Bench
from bench.lab import lab, links
from bench.lab.lab import CLIENT_ADDRESS, Lab, SERVER_ADDRESS
from bench.lab.links import LINKS

pytestmark = [pytest.mark.usefixtures("nothing_left"),
              pytest.mark.skipif(os.geteuid() != 0, reason="capturing on a network of one's own takes root")]


@pytest.fixture
def machines(fake_tree: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """Two machines on a network; ssh from the first to the second."""
    with lab.connect(LINKS["lan"]) as where:
        ssh = fake_tree / "ssh"
        ssh.write_text(f"#!/bin/sh\n[ \"$1\" = user@there ] || {{ echo 'ssh: no such host' >&2; exit 255; }}\n"
                       f"export SSH_CONNECTION='{SERVER_ADDRESS} 1000 {CLIENT_ADDRESS} 22'\n"
                       f"exec nsenter --net={where.client} sh -c \"$2\"\n")
        ssh.chmod(0o755)
        monkeypatch.setenv("SPICE_BENCH_SSH", str(ssh))
        yield where


def compare(bench: Bench, where: Lab, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = bench.command("compare", str(bench.folder / "tiny.rec"), "--output", str(bench.output), "--modes", "gather",
                            "--repeat", "1", *arguments)
    return subprocess.run(proc.inside(where.server, command), env=bench.environment(), cwd=bench.folder, capture_output=True,
                          text=True, timeout=100, check=False)


def test_the_client_runs_there(bench: Bench, machines: Lab) -> None:
    done = compare(bench, machines, "--links", "host:user@there")
    assert done.returncode == 0, done.stderr
    runs = json.loads((bench.output / "compare.json").read_text())["runs"]
    assert [run["valid"] for run in runs] == [True, True]
    assert {run["link"] for run in runs} == {"host:user@there"}
    # two machines have two clocks
    assert all(run["latency"] is None and run["wall_seconds"] > 0 for run in runs)
    assert not list(Path("/tmp").glob("spice-bench-client.*"))


def test_a_network_with_offloads_is_left_alone(bench: Bench, machines: Lab) -> None:
    proc.call(["ethtool", "-K", machines.device, "tso", "on"], machines.server)
    done = compare(bench, machines, "--links", "host:user@there")
    assert done.returncode == 1
    assert f"first run ethtool -K {machines.device} tso off" in done.stderr


def test_what_is_wrong_there_is_one_line(bench: Bench, machines: Lab, fake_tree: Path) -> None:
    done = compare(bench, machines, "--links", "host:user@nowhere")
    assert done.returncode == 1 and "bench: user@nowhere: ssh: no such host" in done.stderr
    (fake_tree / "build/replay/drain/spice-drain").write_text("#!/bin/sh\necho 'glib: not found' >&2; exit 1\n")
    done = compare(bench, machines, "--links", "host:user@there")
    assert done.returncode == 1 and "glib: not found (the client needs there: libspice-client-glib" in done.stderr


def test_such_a_link_has_a_name_in_reports() -> None:
    assert links.find("host:user@there").says == "another machine"
    assert links.find("host:user@there").may_be_slow
