# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line without arguments, with --help and with errors."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from bench import cli
from bench.common import paths

_MOST_OPTIONS = 35      # of all commands, each name once


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_shows_how_it_is_called(name: str) -> None:
    done = subprocess.run([sys.executable, "-m", "bench", *name.split(), "--help"], capture_output=True, text=True, check=False,
                          cwd=paths.ROOT / "replay")
    assert done.returncode == 0, done.stderr
    assert "xample" in done.stdout and f"./run {name.split()[0]}" in done.stdout


def test_examples_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["compare", "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == ["usage: ./run compare [RECORDING ...] [OPTION ...]", "", "examples:", "  ./run compare"]


@pytest.mark.parametrize("words", [[], ["patches"]])
def test_examples_come_first_in_the_list_of_commands(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*words, "--help"]) == 0
    assert capsys.readouterr().out.splitlines()[1:3] == ["", "examples:"]


def _parser(name: str) -> cli._Parser:
    parser = cli._Parser(name)
    cli._module(name).configure(parser)
    return parser


def test_a_new_option_takes_the_place_of_another() -> None:
    options = {action.option_strings[-1] for name in cli.COMMANDS for action in _parser(name)._actions
               if action.option_strings and action.dest != "help"}
    assert len(options) <= _MOST_OPTIONS, options


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_each_help_fits_on_one_screen_and_says_what_it_needs_writes_and_takes(name: str) -> None:
    lines = _parser(name).format_help().splitlines()
    assert len(lines) <= 36 and max(map(len, lines)) <= 140
    assert re.search(r"Needs: \S.*\. Writes: \S.*\. Takes: \S.*\.", " ".join(lines))


def test_all_commands_fit_on_one_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    told = capsys.readouterr().out
    assert len(re.findall(r"^  [a-z]+  ", told, re.MULTILINE)) <= 12 and len(told.splitlines()) <= 24


def test_the_second_word_of_a_command_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["patches", "tree", "--help"], ["tree", "--help"]):
        with pytest.raises(SystemExit):
            cli.main(arguments)
        assert "usage: ./run patches tree " in capsys.readouterr().out
    assert cli.main(["patches", "--help"]) == 0
    assert "\n  refresh  write the patches from such a tree" in capsys.readouterr().out


@pytest.mark.parametrize(("arguments", "said"), [
    (["moon"], "unknown command 'moon': choose one of setup, compare, "),
    (["patches", "moon"], "unknown command 'patches moon': write patches and one of tree, refresh, "),
    (["diff"], "the following arguments are required: A (see ./run diff --help)"),
    (["results", "--repeat", "x"], "invalid int value: 'x' (see ./run results --help)")])
def test_a_complaint_is_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(arguments) == 2
    complaint = capsys.readouterr().err
    assert said in complaint and complaint.startswith("bench: ") and complaint.count("\n") == 1
