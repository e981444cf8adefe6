# SPDX-License-Identifier: LGPL-2.1-or-later
"""The documents that the desktop guest shows: a web page and a PDF, made of licence texts and photos."""
from __future__ import annotations

import html
import math

_COLOURS = ("#204a87", "#4e9a06", "#a40000", "#ce5c00", "#5c3566", "#8f5902")
_STYLE = ("body{font-family:sans-serif;margin:0;background:#eeeeec}h1{background:#204a87;color:#fff;padding:16px;margin:0}"
          ".story{background:#fff;margin:12px;padding:12px;border:1px solid #bbb}h2{margin:0 0 8px 0}"
          "img{float:left;margin:0 12px 8px 0}td{border:1px solid #999;padding:3px;color:#fff}.end{clear:both}")
_STORIES = 60
_LINES_A_PAGE, _PAGES = 46, 12


def web_page(pictures: list[str], text: str) -> str:
    """Like a newspaper's: stories, every second with a photograph, every fifth with a coloured table."""
    paragraphs = [part.strip() for part in text.split("\n\n") if len(part.strip()) > 200][:_STORIES]
    parts = [f"<html><head><title>Daily page</title><style>{_STYLE}</style></head><body><h1>The Daily Page</h1>"]
    for at, paragraph in enumerate(paragraphs):
        parts.append(f'<div class="story"><h2 style="color:{_COLOURS[at % 6]}">Story {at + 1}</h2>')
        if at % 2 == 0:
            parts.append(f'<img src="{pictures[at // 2 % len(pictures)]}" width="320">')
        parts += [f"<p>{html.escape(each)}</p>" for each in (paragraph, paragraphs[(at * 7 + 3) % len(paragraphs)])]
        if at % 5 == 4:
            rows = ("".join(f'<td style="background:{_COLOURS[(row + column) % 6]}">{row * column * 37 % 101}</td>'
                            for column in range(10)) for row in range(5))
            parts.append("<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>")
        parts.append('<div class="end"></div></div>')
    return "\n".join([*parts, "</body></html>"])


def _page_content(number: int, lines: list[str]) -> bytes:
    """A heading, the lines, a bar chart in the page's own colour."""
    escaped = [line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in lines]
    parts = [f"BT /F2 18 Tf 60 760 Td (Chapter {number + 1}) Tj ET", "BT /F1 11 Tf 60 735 Td 13 TL"]
    parts += [f"({line}) Tj T*" for line in escaped]
    parts += ["ET", f"{0.2 + 0.06 * number:.2f} 0.4 {0.9 - 0.06 * number:.2f} rg"]
    parts += [f"{80 + bar * 38} 50 26 {20 + 40 * abs(math.sin(number + bar * 0.7)):.1f} re f" for bar in range(12)]
    return "\n".join(parts).encode("latin-1", "replace")


def pdf(text: str) -> bytes:
    """A book of a dozen pages, with the fonts every reader has."""
    lines = text.split("\n")
    starts = range(0, min(len(lines), _LINES_A_PAGE * _PAGES), _LINES_A_PAGE)
    pages = [_page_content(at, lines[start:start + _LINES_A_PAGE]) for at, start in enumerate(starts)]
    tree = 3 + 2 * len(pages)
    objects = [b"<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman >>",
               b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>"]
    for content in pages:
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        objects.append(b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 595 842] /Contents %d 0 R "
                       b"/Resources << /Font << /F1 1 0 R /F2 2 0 R >> >> >>" % (tree, len(objects)))
    kids = b" ".join(b"%d 0 R" % number for number in range(4, tree, 2))
    objects.append(b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(pages), kids))
    objects.append(b"<< /Type /Catalog /Pages %d 0 R >>" % tree)
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return out + (b"xref\n0 %d\n0000000000 65535 f \n%strailer << /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF\n"
                  % (len(objects) + 1, table, len(objects) + 1, len(objects), len(out)))
