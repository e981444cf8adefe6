# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from bench import test_samples as samples
from bench.common.errors import BenchError
from bench.runs import results


def test_each_run_is_a_line(tmp_path: Path) -> None:
    result = samples.result(["stock", "batch"], repeats=3)
    file = tmp_path / "compare.json"
    results.save(result, file)
    text = file.read_text()
    assert json.loads(text) == result == results.load(file)
    runs = text.split('"runs": [\n')[1].splitlines()
    assert [json.loads(line.removesuffix(",")) for line in runs[:-2]] == result["runs"]


def test_nothing_has_been_measured_yet(tmp_path: Path) -> None:
    result = {**samples.result(["stock"], repeats=1), "complete": False, "runs": []}
    results.save(result, tmp_path / "compare.json")
    assert results.load(tmp_path / "compare.json") == result


def test_a_packed_file(tmp_path: Path) -> None:
    result = samples.result(["stock"], repeats=2)
    packed = lzma.compress(json.dumps(result).encode())
    file = tmp_path / "compare.json.xz"
    file.write_bytes(packed)
    assert results.load(file) == result
    file.write_bytes(packed[:-20])
    with pytest.raises(BenchError, match="compare.json.xz is damaged: ") as caught:
        results.load(file)
    assert caught.value.status == 2


@pytest.mark.parametrize("change", [
    {"environment": {}}, {"environment": {"kernel": "6.1", "cpu": {}, "packages": {}, "libraries": {}}}, {"command": [1, 2]},
    {"environment": {"kernel": "6.1", "cpu": {}, "packages": {}, "recordings": {}, "libraries": {"stock": {}}}},
    {"runs": [{**samples.run("stock", "tls", 1), "link": 5}]}, {"runs": [{**samples.run("stock", "tls", 1), "server": None}]}])
def test_damage_is_said_before_a_figure_is_wanted(change: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "compare.json"
    file.write_text(json.dumps({**samples.result(["stock"], repeats=1), **change}))
    with pytest.raises(BenchError, match="compare.json is damaged: ") as caught:
        results.load(file)
    assert caught.value.status == 2


def test_what_is_nested_too_deeply_is_no_result(tmp_path: Path) -> None:
    file = tmp_path / "compare.json"
    file.write_text("[" * 100_000)
    with pytest.raises(BenchError, match="is not JSON"):
        results.load(file)
