# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

import base64
from typing import Any

import numpy
import pytest

from bench.measure import pictures


def run(mode: str, last: str, *between: str, link: str = "lan", colours: tuple[int, ...] = (10, 20, 30),
        tiles: bytes | None = None) -> dict[str, Any]:
    """colours: the means of the blocks of every picture in between; of its tiles, too, unless others are given."""
    blocks = base64.b64encode(bytes(colours)).decode()
    tile_means = blocks if tiles is None else base64.b64encode(tiles).decode()
    return {"recording": "r", "library": "patched", "mode": mode, "link": link, "valid": True, "invalid_reason": None,
            "picture_sha256": last, "pauses": [{"command": 10 * number, "sha256": shown, "blocks": blocks, "tiles": tile_means}
                                               for number, shown in enumerate(between, 1)]}


def judged(runs: list[dict[str, Any]], reference: str | None = None, **between: str) -> list[tuple[bool, bool]]:
    """between: what is known after command 10 as c10."""
    known = {int(command[1:]): shown for command, shown in between.items()}
    pictures.compare(runs, {"r": {**known, **({pictures.END: reference} if reference else {})}})
    return [(one["valid"], one["lossy"]) for one in runs]


GOOD, LOSSY, BAD = (True, False), (True, True), (False, True)


def test_the_final_picture_must_be_the_reference() -> None:
    runs = [run("cork", "a"), run("batch", "a"), run("flow", "b")]
    assert judged(runs, "b") == [BAD, BAD, GOOD]
    assert runs[0]["invalid_reason"] == "the final picture is not the reference picture"


def test_a_run_that_fails_otherwise_has_no_wrong_picture() -> None:
    runs = [run("cork", "a"), run("flow", "b"), {**run("batch", "b"), "valid": False, "lossy": None}]
    pictures.compare(runs, {"r": {pictures.END: "b"}})
    assert list(map(pictures.is_wrong, runs)) == [True, False, False]


def test_without_a_reference_the_majority_is_it() -> None:
    assert judged([run("cork", "a"), run("batch", "b"), run("flow", "a")]) == [GOOD, BAD, GOOD]


def test_without_a_reference_stock_is_it() -> None:
    """Of one's own recording: however many patched modes show something else, they are what is tried."""
    assert judged([run("batch", "b"), run("stock", "a"), run("flow", "b")]) == [BAD, GOOD, BAD]


def test_pictures_in_between_must_agree() -> None:
    runs = [run("cork", "a", "w", "x"), run("batch", "a", "w", "y"), run("flow", "a", "w", "x")]
    assert judged(runs, "a") == [GOOD, BAD, GOOD]
    assert runs[1]["invalid_reason"] == "the picture after command 20 is not the reference picture or that of the other runs"


def test_one_mode_alone_is_not_its_own_judge() -> None:
    assert judged([run("flow", "a", "w", "x") for _ in range(3)], "a") == [GOOD] * 3      # nobody knows better
    alone = [run("flow", "a", "w", "x") for _ in range(3)]
    assert judged(alone, "a", c10="w", c20="y") == [BAD] * 3
    assert alone[0]["invalid_reason"] == "the picture after command 20 is not the reference picture or that of the other runs"
    assert judged([run("flow", "a", "w", "y")], "a", c10="w", c20="y") == [GOOD]
    # over slow links alone nobody has what JPEG may be compared with
    assert judged([run("flow", "a", "jpeg", "x", link="2M100ms") for _ in range(2)], "a", c10="w", c20="y") == [GOOD] * 2
    far = run("flow", "a", "jpeg", "y", link="2M100ms")
    assert judged([run("stock", "a", "w", "y"), far], "a", c10="w", c20="y") == [GOOD, LOSSY]
    streamed = {**run("flow", "a", "w", "x"), "pace": "recorded"}      # a moment of a video is what it is
    assert judged([streamed], "a", c10="w", c20="y") == [GOOD]


def test_a_slow_link_may_lose_a_little() -> None:
    near = [run("stock", "a", "x"), run("batch", "a", "x")]
    far = [run(mode, "a", shown, link="2M100ms", colours=(10, 22, 27))
           for mode, shown in (("stock", "jpeg"), ("batch", "jpeg"), ("flow", "some of it jpeg"))]
    assert judged([*near, *far], "a") == [GOOD] * 2 + [LOSSY] * 3
    assert [pause["off_by"] for one in far for pause in one["pauses"]] == [3] * 3
    kept = [one for one in (*near, *far) for pause in one["pauses"] if {"blocks", "tiles"} & pause.keys()]
    assert kept == near[:1]


@pytest.mark.parametrize("wrong", [
    run("flow", "a", "jpeg"),                                                       # on a lan nothing may be lost
    run("flow", "a", "wrong", link="2M100ms", colours=(10, 20, 36)),                # one block is another
    run("flow", "a", "small", link="2M100ms", colours=(10, 20)),
])
def test_what_is_more_than_a_little(wrong: dict[str, Any]) -> None:
    good = [run(mode, "a", "x") for mode in ("stock", "batch")]
    assert judged([*good, wrong, {**wrong, "mode": "cork"}], "a") == [GOOD] * 2 + [BAD] * 2


def test_runs_are_added_to_those_that_were_compared() -> None:
    """Of which only the verdicts are left, and the reference."""
    first = [run("stock", "a", "x"), run("flow", "a", "jpeg", link="2M100ms", colours=(10, 22, 27))]
    assert judged(first, "a") == [GOOD, LOSSY]
    more = [run("stock", "a", "x"), run("flow", "a", "another jpeg", link="2M100ms", colours=(10, 21, 30)),
            run("flow", "a", "wrong", link="2M100ms", colours=(10, 20, 36))]
    assert judged([*first, *more[1:]], "a") == [GOOD, LOSSY, LOSSY, BAD]
    assert judged([*first, *more], "a") == [GOOD, LOSSY, GOOD, LOSSY, BAD]


def test_jpeg_on_request_is_no_wrong_picture() -> None:
    runs = [run("stock", "a", "jpeg"), run("flow", "a", "another", colours=(10, 22, 27)), run("batch", "a", "wrong", colours=(10, 20, 36))]
    pictures.compare(runs, {"r": {pictures.END: "a"}}, jpeg=True)
    assert [(one["valid"], one["lossy"]) for one in runs] == [GOOD, LOSSY, BAD]


@pytest.mark.parametrize("known", ["a", None])
def test_a_session_may_end_with_what_jpeg_left(known: str | None) -> None:
    """In a recording of one's own no picture is known."""
    def ended(mode: str, last: str, link: str = "2M100ms", colours: tuple[int, ...] = (10, 22, 27)) -> dict[str, Any]:
        blocks = base64.b64encode(bytes(colours)).decode()
        return {**run(mode, last, link=link), "picture_blocks": blocks, "picture_tiles": blocks}

    def verdicts(*runs: dict[str, Any]) -> list[tuple[bool, bool]]:
        found = judged(list(runs), known)
        assert sum("picture_blocks" in one for one in runs) == any(one["link"] != "lan" for one in runs)
        return found

    def near(link: str = "20M40ms") -> dict[str, Any]:
        return ended("stock", "a", link, (10, 20, 30))

    far = [ended(mode, "jpeg") for mode in ("batch", "flow")]
    assert verdicts(near(), near(), near(), *far) == [GOOD] * 3 + [LOSSY] * 2
    assert [one["picture_off_by"] for one in far] == [3] * 2
    assert verdicts(near(), near(), ended("flow", "wrong", colours=(10, 22, 36))) == [GOOD, GOOD, BAD]
    assert verdicts(near("lan"), near("lan"), ended("flow", "jpeg", "lan")) == [GOOD, GOOD, BAD]
    # nobody has the blocks of what may be known
    assert verdicts(ended("stock", "jpeg"), ended("flow", "jpeg"), ended("flow", "another", colours=(10, 22, 28))) == [GOOD, GOOD, LOSSY]


@pytest.mark.parametrize("what", ["blocks", "tiles"])
def test_a_client_that_says_less_is_not_believed(what: str) -> None:
    far = run("flow", "a", "jpeg", link="2M100ms")
    del far["pauses"][0][what]
    assert judged([run("stock", "a", "x"), far], "a") == [GOOD, BAD]


# Two letters of 8 x 16 pixels that differ in few of them.
_C = "........ ........ ........ ........ ........ .#####.. ##...##. ##...... ##...... ##...... ##...##. .#####.."
_E = _C.replace("##...... ##...... ##......", "#######. ##...... ##......")
Picture = numpy.ndarray[Any, numpy.dtype[numpy.float64]]


def _written(letters: list[str], at: int) -> Picture:
    """Black on white, so many pixels from the left and from the top."""
    picture = numpy.full((48, 96), 255.0)
    for number, letter in enumerate(letters):
        for y, row in enumerate(letter.split()):
            for x, pixel in enumerate(row):
                picture[at + y, at + 8 * number + x] = 0 if pixel == "#" else 255
    return picture


# Of JPEG at quality 85, the table of its annex K for brightness scaled as libjpeg does.
_STEPS = (numpy.array([int(step) for step in """16 11 10 16 24 40 51 61 12 12 14 19 26 58 60 55 14 13 16 24 40 57 69 56 14 17 22 29 51 87 80 62
18 22 37 56 68 109 103 77 24 35 55 64 81 104 113 92 49 64 78 87 103 121 120 101 72 92 95 98 112 100 103 99""".split()]).reshape(8, 8)
          * 30 + 50) // 100
_WAVES = numpy.array([[numpy.cos((2 * x + 1) * u * numpy.pi / 16) * (0.5 if u else 0.125 ** 0.5) for x in range(8)] for u in range(8)])


def _as_jpeg(picture: Picture) -> Picture:
    lossy = numpy.empty_like(picture)
    for y in range(0, picture.shape[0], 8):
        for x in range(0, picture.shape[1], 8):
            kept = numpy.round(_WAVES @ (picture[y:y + 8, x:x + 8] - 128) @ _WAVES.T / _STEPS) * _STEPS
            lossy[y:y + 8, x:x + 8] = numpy.clip(numpy.round(_WAVES.T @ kept @ _WAVES + 128), 0, 255)
    return lossy


def _squares(picture: Picture, side: int) -> bytes:
    """As picture_blocks() of the client: means, for each of three equal channels."""
    return bytes(int(picture[y:y + side, x:x + side].mean()) for y in range(0, picture.shape[0], side)
                 for x in range(0, picture.shape[1], side) for _ in range(3))


@pytest.mark.parametrize("at", range(8))
def test_a_wrong_letter_is_noticed_and_jpeg_is_not(at: int) -> None:
    """Wherever the letters lie, tiles have nothing to do with them, nor with the blocks of JPEG. Blocks of 32 x 32 hardly tell."""
    def shown(name: str, picture: Picture, link: str = "2M100ms") -> dict[str, Any]:
        return run("flow", "a", name, link=link, colours=tuple(_squares(picture, 32)), tiles=_squares(picture, 8))

    text = [_E, _C, _E, _E, _C]
    right, wrong = _written(text, at), _written([*text[:2], _C, *text[3:]], at)
    shift = (3, 5)
    lossy = numpy.roll(_as_jpeg(numpy.roll(right, shift, (0, 1))), (-3, -5), (0, 1))
    runs = [shown("right", right, "lan"), shown("jpeg", _as_jpeg(right)), shown("jpeg of an area", lossy), shown("wrong", wrong)]
    assert judged(runs, "a", c10="right") == [GOOD, LOSSY, LOSSY, BAD]
    assert [one["pauses"][0]["off_by"] <= 4 for one in runs[1:]] == [True] * 3


def test_runs_without_pauses_are_compared_with_each_other() -> None:
    assert judged([run("stock", "a", "x"), run("batch", "a"), run("stock", "a"), run("flow", "b")]) == [GOOD, GOOD, GOOD, BAD]


def test_runs_that_do_not_count_have_no_say() -> None:
    bad = [{**run("stock", "b"), "valid": False} for _ in range(3)]
    good = [run("stock", "a"), run("flow", "a")]
    pictures.compare([*bad, *good], {})
    assert all(one["valid"] for one in good)
