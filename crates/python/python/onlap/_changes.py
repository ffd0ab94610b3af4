"""What commits changed in a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._table import relation

if TYPE_CHECKING:
    from ._database import Database
    from ._result import Result

# Rows of a block of ctid.
_BLOCK = 256
# Ranges of fewer rows are read by a list of places, this many in one statement.
_SHORT = 64
_LISTED = 8192


@dataclass(frozen=True)
class Change:
    """Rows of a table that commits made or took away."""

    kind: str
    """``"insert"`` or ``"delete"``. An update is one of each: rows as they were, and as they are."""
    rows: Result
    """The rows, with all columns."""


class Changes:
    """What commits after ``since`` changed in a table, up to ``upto``: deletes first, then inserts. Each pass reads the rows
    anew, and sees the same.
    """

    def __init__(self, database: Database, table: str | tuple[str, ...], since: int) -> None:
        self._database = database
        self._relation = relation(table)
        self.since = since
        """The commit after which changes count."""
        self.upto: int = database.commit
        """The last commit that was looked at: ``since`` of what asks next."""
        found = database.sql(
            f"SELECT change, first_ctid::text, last_ctid::text FROM onlap.changes($1::regclass, $2) AS OF COMMIT {self.upto}",
            [self._relation, since],
        )
        self._ranges = [(change, _place(first), _place(last)) for change, first, last in found.fetchall()]

    def __iter__(self) -> Iterator[Change]:
        for kind, commit in (("delete", self.since), ("insert", self.upto)):
            ranges = [(first, last) for change, first, last in self._ranges if change in (kind, "update")]
            for condition, values in _conditions(ranges):
                query = f"SELECT * FROM {self._relation} AS OF COMMIT {commit} WHERE {condition}"
                yield Change(kind, self._database.sql(query, values))

    def __repr__(self) -> str:
        return f"<onlap.Changes of {self._relation}, commits {self.since} to {self.upto}>"


def _place(ctid: str) -> int:
    block, place = ctid.strip("()").split(",")
    return int(block) * _BLOCK + int(place) - 1


def _ctid(row: int) -> str:
    return f"({row // _BLOCK},{row % _BLOCK + 1})"


def _conditions(ranges: list[tuple[int, int]]) -> Iterator[tuple[str, list[object]]]:
    listed: list[str] = []
    for first, last in ranges:
        if last - first >= _SHORT:
            yield "ctid BETWEEN $1::tid AND $2::tid", [_ctid(first), _ctid(last)]
            continue
        listed.extend(_ctid(row) for row in range(first, last + 1))
        if len(listed) >= _LISTED:
            yield "ctid = ANY ($1::tid[])", [listed]
            listed = []
    if listed:
        yield "ctid = ANY ($1::tid[])", [listed]
