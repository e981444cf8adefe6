# SPDX-License-Identifier: LGPL-2.1-or-later
"""The report as one HTML file that needs nothing else: what report.markdown writes, with the plots in it.

Not a Markdown reader: it knows what our own reports use, headings, tables, paragraphs, lists, pictures, emphasis, code."""

from __future__ import annotations

import html
import re
from pathlib import Path

_STYLE = """
:root { color-scheme: light dark; --line: #ccc; --soft: #f4f4f4; --text: #222; --ground: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --line: #444; --soft: #262626; --text: #ddd; --ground: #181818; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--ground); max-width: 75rem;
  margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: left; }
th { background: var(--soft); } .number { text-align: right; }
figure { display: inline-block; vertical-align: top; margin: .5rem .5rem .5rem 0; padding: .5rem; background: #fff;
  border: 1px solid var(--line); border-radius: 4px; max-width: 100%; box-sizing: border-box; }
figure svg { display: block; max-width: 100%; height: auto; }
code { background: var(--soft); padding: 0 .2rem; overflow-wrap: anywhere; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
"""


def _inline(text: str) -> str:
    """Code first: nothing in it is emphasis."""
    parts = re.split(r"(`[^`]*`)", text)
    for number, part in enumerate(parts):
        if number % 2:
            parts[number] = f"<code>{html.escape(part[1:-1])}</code>"
        else:
            part = html.escape(part, quote=False)
            part = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", part, flags=re.DOTALL)
            part = re.sub(r"(?<!\w)\*(.+?)\*(?!\w)", r"<em>\1</em>", part, flags=re.DOTALL)
            parts[number] = part.replace("  \n", "<br>\n")
    return "".join(parts)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _table(lines: list[str]) -> str:
    numbers = [cell.endswith(":") for cell in _cells(lines[1])]

    def row(line: str, tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}{' class=number' if number else ''}>{_inline(cell)}</{tag}>"
                                for cell, number in zip(_cells(line), numbers, strict=True)) + "</tr>"

    body = "\n".join(row(line, "td") for line in lines[2:])
    return f"<div class=wide><table>\n<thead>{row(lines[0], 'th')}</thead>\n<tbody>\n{body}\n</tbody></table></div>"


def _picture(title: str, name: str, folder: Path, number: int) -> str:
    """The SVG beside the PNG, inside the page; its ids made its own, as one page holds many."""
    svg = (folder / name).with_suffix(".svg").read_text()
    svg = svg[svg.index("<svg"):]
    for known in set(re.findall(r'\bid="([^"]+)"', svg)):
        svg = svg.replace(f'id="{known}"', f'id="p{number}-{known}"').replace(f"#{known})", f"#p{number}-{known})") \
                 .replace(f'"#{known}"', f'"#p{number}-{known}"')
    return f"<figure role=img aria-label=\"{html.escape(title)}\">{svg}</figure>"


def _block(block: str, folder: Path, number: int) -> str:
    lines = block.splitlines()
    heading = re.fullmatch(r"(#{1,3}) (.+)", block)
    picture = re.fullmatch(r"!\[(.*)\]\((.+)\)", block)
    if heading:
        level = len(heading[1])
        return f"<h{level}>{_inline(heading[2])}</h{level}>"
    if picture:
        return _picture(picture[1], picture[2], folder, number)
    if lines[0].startswith("|"):
        return _table(lines)
    if lines[0].startswith("- "):
        return "<ul>\n" + "\n".join(f"<li>{_inline(line[2:])}</li>" for line in lines) + "\n</ul>"
    return f"<p>{_inline(block)}</p>"


def page(markdown: str, folder: Path, title: str = "spice-server: comparison of modes") -> str:
    """folder: where the pictures that the text names are."""
    blocks = [block for block in re.split(r"\n{2,}", markdown.strip()) if block]
    body = "\n".join(_block(block, folder, number) for number, block in enumerate(blocks))
    return (f"<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
            f"<meta name=viewport content=\"width=device-width, initial-scale=1\">\n<title>{html.escape(title)}</title>\n"
            f"<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n")
