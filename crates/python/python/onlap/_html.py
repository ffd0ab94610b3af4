"""Tables for notebooks: every name and value is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

# Characters of a value that are shown.
_LONGEST = 200


def shown(value: object) -> str:
    """A value as a cell has it."""
    if value is None:
        return '<span style="opacity:.5">NULL</span>'
    text = str(value)
    if len(text) > _LONGEST:
        text = text[:_LONGEST] + "…"
    return escape(text, quote=True)


def table(
    head: Sequence[tuple[str, str]],
    rows: Iterable[Sequence[object]],
    foot: str,
    numbers: Sequence[bool],
) -> str:
    """A table of columns with a name and a title each; ``numbers`` says which stand at the right."""
    align = ["right" if number else "left" for number in numbers]
    parts = ['<table class="onlap"><thead><tr>']
    for (name, title), side in zip(head, align, strict=True):
        parts.append(f'<th title="{escape(title, quote=True)}" style="text-align:{side}">{shown(name)}</th>')
    parts.append("</tr></thead><tbody>")
    for row in rows:
        cells = (f'<td style="text-align:{side}">{shown(value)}</td>' for value, side in zip(row, align, strict=True))
        parts.append(f"<tr>{''.join(cells)}</tr>")
    parts.append(f"</tbody></table><p>{shown(foot)}</p>")
    return "".join(parts)
