# SPDX-License-Identifier: LGPL-2.1-or-later
import configparser
import os
import subprocess
from pathlib import Path

import pytest

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.source import debsource, upstream

OLD = 1_000_000_000


def wrap() -> configparser.SectionProxy:
    """As meson reads it."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(paths.ROOT / "subprojects" / "spice.wrap")
    return parser["wrap-file"]


def wrapped() -> list[str]:
    return [name.strip() for name in wrap()["diff_files"].split(",")]


def test_the_wrap_names_the_default_release_and_the_series() -> None:
    release = upstream.release(upstream.DEFAULT)
    assert wrap()["source_url"] == release.url
    assert wrap()["source_hash"] == release.sha256
    assert wrap()["source_filename"] == release.tarball.name
    assert wrap()["directory"] == f"spice-{release.version}"
    assert wrapped() == [str(patch.relative_to(paths.ROOT)) for patch in upstream.series(of=upstream.built()) if upstream.changes_files(patch)], \
        "run ./run setup and commit subprojects/spice.wrap"


def test_every_patch_and_every_variant_is_in_the_series() -> None:
    folder = paths.ROOT / "patches"
    named = set(upstream.series())
    assert set(folder.glob("*/*.patch")) == named and {file.parent.name for file in folder.glob("*/README.md")} <= set(upstream.names())
    for variant in folder.glob("*/*/*"):
        assert variant.parents[1] / variant.name in named, variant
        assert variant.parent.name in set(upstream.RELEASES) - {upstream.DEFAULT}, variant


def test_the_wrap_is_made_from_the_series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    diff = "\ndiff --git a/a b/a\n"
    tree(tmp_path, {"patches/series": "# why\none # first\ntwo\nempty\nthree optional\n", "patches/three/0001-a.patch": diff,
                    "patches/one/0001-a.patch": diff, "patches/two/0001-a.patch": diff,
                    "patches/two/0002-b.patch": "no diff", "patches/two/0003-c.patch": diff,
                    "patches/two/0.16.0/0003-c.patch": diff,
                    "subprojects/spice.wrap": "[wrap-file]\ndiff_files = patches/one/0001-a.patch,\n  patches/0004-d.patch\n"})
    assert upstream.sync_wrap()
    assert wrapped() == [f"patches/{name}" for name in ("one/0001-a.patch", "two/0001-a.patch", "two/0003-c.patch")]
    assert not upstream.sync_wrap()
    assert upstream.series("0.16.0")[3] == tmp_path / "patches/two/0.16.0/0003-c.patch"
    assert upstream.below("two") == ["one", "two"] and upstream.built() == ["one", "two", "empty"]
    assert [patch.name for patch in upstream.series(of=["two"])] == ["0001-a.patch", "0002-b.patch", "0003-c.patch"]
    with pytest.raises(BenchError, match="unknown series four: choose one of one, two, empty, three"):
        upstream.below("four")


def tree(target: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text)
        os.utime(target / name, (OLD, OLD))


def test_refresh_touches_what_changed_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "tree"

    def times() -> dict[str, int]:
        return {file.name: file.stat().st_mtime_ns for file in target.iterdir() if not file.name.startswith(".")}

    assert upstream.refresh(target, "1", lambda made: tree(made, {"a": "1", "b": "1", "c": "1"}))
    first = times()
    assert not upstream.refresh(target, "1", lambda _: pytest.fail("made again"))
    assert upstream.refresh(target, "2", lambda made: tree(made, {"a": "1", "b": "2", "d": "1"}))
    second = times()
    assert second.keys() == {"a", "b", "d"}
    assert second["a"] == first["a"]
    assert second["b"] > first["b"]
    assert upstream.refresh(target, "1", lambda made: tree(made, {"a": "1", "b": "1", "c": "1"}))
    assert times()["b"] > second["b"], "a change taken back is a change"


def test_refresh_survives_an_interruption(tmp_path: Path) -> None:
    target = tmp_path / "tree"
    upstream.refresh(target, "1", lambda made: tree(made, {"a": "1"}))
    before = (target / "a").stat().st_mtime_ns

    def interrupted(made: Path) -> None:
        tree(made, {"half": ""})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        upstream.refresh(target, "2", interrupted)
    assert not (target / "half").exists(), "nothing is compiled from half a tree"
    assert upstream.refresh(target, "2", lambda made: tree(made, {"a": "1"}))
    assert not (target / "half").exists()
    assert (target / "a").stat().st_mtime_ns == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["tree"]


@pytest.fixture
def no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setenv("SPICE_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(debsource, "machine_sources", lambda: [])
    monkeypatch.setattr(upstream, "_URL", f"file://{tmp_path}/release-{{version}}")
    return tmp_path


def test_no_network_is_one_line_that_says_what_to_do(no_network: Path) -> None:
    with pytest.raises(BenchError, match=r"spice 0\.15\.2: .* put spice-0\.15\.2\.tar\.bz2 into .* by hand$") as raised:
        upstream.fetch("0.15.2", Steps(no_network / "log"))
    assert "\n" not in str(raised.value)
    assert list((no_network / "subprojects/packagecache").iterdir()) == []


def test_a_file_that_is_not_the_release_is_refused(no_network: Path) -> None:
    (no_network / "release-0.15.2").write_text("something else")
    with pytest.raises(BenchError, match="sha256 differs"):
        upstream.fetch("0.15.2", Steps(no_network / "log"))
    assert list((no_network / "subprojects/packagecache").iterdir()) == []


def test_an_unknown_release_is_named() -> None:
    with pytest.raises(BenchError, match="unknown release 0.14.3: choose one of 0.15.1, 0.15.2, 0.16.0"):
        upstream.release("0.14.3")


def test_protocol_headers_are_found_where_the_tree_is_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree that was moved, or a cache that was copied."""
    monkeypatch.setattr(paths, "cache_dir", lambda: tmp_path)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 1))    # the system's are too old
    prefix = tmp_path / f"spice-protocol-{upstream.release('0.16.0').protocol}"
    description = prefix / "usr/share/pkgconfig/spice-protocol.pc"
    description.parent.mkdir(parents=True)
    description.write_text("prefix=/elsewhere/usr\nName: spice-protocol\n")
    found = upstream.protocol_environment("0.16.0", Steps(tmp_path / "log"))
    assert found == {"PKG_CONFIG_PATH": str(description.parent)}
    assert description.read_text() == f"prefix={prefix}/usr\nName: spice-protocol\n"
