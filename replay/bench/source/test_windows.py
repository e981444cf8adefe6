# SPDX-License-Identifier: LGPL-2.1-or-later
"""The new files and the portable tests compile for Windows.

They are compiled only, not linked and not run: in CI (packages-ci.txt), and where the cross compiler is installed.
Debian has no libraries for it, so the headers of GLib, OpenSSL, pixman and libjpeg are this machine's, with their
type sizes corrected, and config.h is a few lines.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bench.common.steps import Steps
from bench.source import brings, newfiles, upstream

_COMPILER = shutil.which("x86_64-w64-mingw32-g++")
_CONFIG = """#define PACKAGE_VERSION "0"
#define GETTEXT_PACKAGE "spice-server"
#define HAVE_WINSOCK2_H 1
"""
# a long has 32 bits there
_GLIB = (("#define G_OS_UNIX", "#define G_OS_WIN32"), ("typedef int GPid;", "typedef void *GPid;"),
         (" long g", " long long g"), ("(glong) (", "(gint64) ("), ("(gulong) (", "(guint64) ("))
_VERSION = """#define SPICE_SERVER_VERSION 0xff0000
"""
_OPENED_FOR_EXEC = re.compile(r'fopen\s*\([^;]*"[rwab+]*e[rwab+]*"')

pytestmark = pytest.mark.skipif(not _COMPILER, reason="there is no x86_64-w64-mingw32-g++: apt-get install "
                                "--no-install-recommends g++-mingw-w64-x86-64-posix (350 MB)")


def _flags(*packages: str) -> list[Path]:
    said = subprocess.run(["pkg-config", "--cflags-only-I", *packages], capture_output=True, text=True, check=True)
    return [Path(flag.removeprefix("-I")) for flag in said.stdout.split()]


def _host_headers(folder: Path) -> None:
    """Of the host's own folders only what is asked for: the rest of them is not for Windows."""
    host = [Path("/usr/include"), *Path("/usr/include").glob("*-linux-gnu")]
    (folder / "openssl").mkdir(parents=True)
    for place in host:
        for header in [*place.glob("openssl/*.h"), *place.glob("jpeglib.h"), *place.glob("jmorecfg.h"),
                       *place.glob("jconfig.h")]:
            (folder / header.relative_to(place)).symlink_to(header)


@pytest.fixture(scope="module", name="tree")
def _tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release with what is built."""
    home = tmp_path_factory.mktemp("windows")
    upstream.fetch(upstream.DEFAULT, Steps(home / "fetch.log"))
    upstream.make_tree(upstream.DEFAULT, home / "tree", upstream.built())
    return home / "tree"


@pytest.fixture(scope="module", name="compiler")
def _compiler(tree: Path) -> list[str | Path]:
    """The command that checks a file, which is to be named last; run in the tree's server/."""
    stubs = tree.parent / "stubs"
    _host_headers(stubs)
    (stubs / "config.h").write_text(_CONFIG)
    (stubs / "spice-version.h").write_text(_VERSION)
    folders = _flags("glib-2.0", "spice-protocol", "pixman-1")
    config = next(folder / "glibconfig.h" for folder in folders if (folder / "glibconfig.h").is_file())
    text = config.read_text()
    for unix, windows in _GLIB:
        assert unix in text, f"{config} has changed"
        text = text.replace(unix, windows)
    (stubs / "glibconfig.h").write_text(text)
    wanted = [stubs, tree / "server", tree / "server/tests", tree / "subprojects/spice-common",
              *(folder for folder in folders if folder != config.parent)]
    return [str(_COMPILER), "-std=gnu++11", *(f"-I{folder}" for folder in wanted)]


def _checked(compiler: list[str | Path], file: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*compiler, *more, file], capture_output=True, text=True, check=False)


def _files() -> list[Path]:
    portable = {entry.file for entries in brings.by_patch().values() for entry in entries if entry.is_test and not entry.unix}
    return [file for file in newfiles.sources(upstream.built()) if file.suffix == ".cpp" and (file.parent == Path("server") or file in portable)]


@pytest.mark.parametrize("file", _files(), ids=lambda file: file.stem)
def test_a_new_file_compiles(compiler: list[str | Path], tree: Path, file: Path) -> None:
    patched = tree / file
    done = _checked(compiler, patched, "-fsyntax-only")
    assert done.returncode == 0, done.stderr
    if file.parent == Path("server"):
        text = _checked(compiler, patched, "-E", "-P").stdout
        assert not _OPENED_FOR_EXEC.search(text), 'the C library there has no mode "e"'


@pytest.mark.parametrize("line", [
    'static struct iovec wrong(void *data, size_t size) { return { data, size }; }',
    'static ssize_t wrong(int fd, struct msghdr *message) { return sendmsg(fd, message, 0); }',
])
def test_what_is_for_unix_alone_does_not(compiler: list[str | Path], tmp_path: Path, line: str) -> None:
    right, wrong = tmp_path / "right.cpp", tmp_path / "wrong.cpp"
    right.write_text('#include <config.h>\n#include "red-stream-socket.h"\n')
    wrong.write_text(right.read_text() + line + "\n")
    assert _checked(compiler, right, "-fsyntax-only").returncode == 0
    assert _checked(compiler, wrong, "-fsyntax-only").returncode != 0


def test_a_mode_for_exec_is_found() -> None:
    assert _OPENED_FOR_EXEC.search('FILE *file = fopen(name, "ae");')
    assert not _OPENED_FOR_EXEC.search('FILE *file = fopen(name, "a"); puts("e");')
