"""What a database says of itself."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _html

if TYPE_CHECKING:
    from ._onlap import Core


@dataclass(frozen=True)
class IndexStats:
    """An index in numbers; sizes are bytes."""

    table: str
    name: str
    entries: int
    bytes: int
    runs: int
    pattern: str
    flushed_bytes: int
    merged_bytes: int
    distinct: int | None
    cached_bytes: int
    p50_ms: float | None
    cpu_ns_per_row: float | None
    bytes_per_row: float | None
    scans: int
    entries_read: int
    rows_not_read: int
    last_use: datetime.datetime | None

    @property
    def bytes_per_entry(self) -> float | None:
        """What an entry takes on disk."""
        return self.bytes / self.entries if self.entries else None


class Ledger(list[IndexStats]):
    """What each index holds, and what it has cost; a table in notebooks."""

    def _repr_html_(self) -> str:
        head = [
            ("table", ""),
            ("index", ""),
            ("entries", "in files; rows in memory come on top"),
            ("bytes", "of its files"),
            ("bytes/entry", "of its files"),
            ("runs", "sorted pieces that a lookup asks"),
            ("CPU ns/row", "processor time for each row of the table, since the database was opened"),
            ("written/row", "bytes written for each row of the table, since the database was opened"),
            ("reads", "of the index, since the database was opened"),
            ("rows not read", "that reads of the whole table would have read besides"),
            ("cached", "bytes of its files in memory"),
            ("median", "ms of the statements that read by it"),
            ("written", "bytes flushed and merged since the index was created"),
            ("keys arrive", "the order of the newest ones"),
        ]
        rows = [
            (
                one.table,
                one.name,
                f"{one.entries:,}",
                f"{one.bytes:,}",
                None if one.bytes_per_entry is None else f"{one.bytes_per_entry:.1f}",
                one.runs,
                None if one.cpu_ns_per_row is None else f"{one.cpu_ns_per_row:,.0f}",
                None if one.bytes_per_row is None else f"{one.bytes_per_row:,.1f}",
                f"{one.scans:,}",
                f"{one.rows_not_read:,}",
                f"{one.cached_bytes:,}",
                None if one.p50_ms is None else f"{one.p50_ms:,.3f}",
                f"{one.flushed_bytes + one.merged_bytes:,}",
                one.pattern,
            )
            for one in self
        ]
        total = sum(one.bytes for one in self)
        numbers = [False, False, *[True] * 11, False]
        return _html.table(head, rows, f"{len(self)} indexes, {total:,} bytes", numbers)


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
# Where SQL keeps what the engine does not know.
_OWN = "onlap_objects"


def sql_name(name: str) -> str | None:
    """What SQL calls a table of the engine; None for one that is not the user's."""
    database, slash, rest = name.rpartition("/")
    if name == _OWN:
        return None
    plain = ".".join(bare(part) for part in rest.split("."))
    return f"{bare(database)}/{plain}" if slash else plain


def bare(part: str) -> str:
    """A part of a name without the engine's escapes."""
    return part.replace("%2F", "/").replace("%2E", ".").replace("%25", "%")


def _moment(us: int | None) -> datetime.datetime | None:
    return None if us is None else _EPOCH + datetime.timedelta(microseconds=us)


class Stats:
    """Numbers about a database, asked for anew each time."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def database(self) -> dict[str, Any]:
        """Everything, as dicts and lists."""
        return self._core.stats()

    def indexes(self, table: str | None = None) -> Ledger:
        """The indexes of a table, or of all."""
        ledger = Ledger()
        for one in self._core.stats()["tables"]:
            name = sql_name(one["name"])
            if name is None or table not in (None, name):
                continue
            for index in one["indexes"]:
                fields = {key: value for key, value in index.items() if key not in ("quantiles", "last_use_us")}
                fields["last_use"] = _moment(index["last_use_us"])
                fields["name"] = bare(index["name"])
                ledger.append(IndexStats(table=name, **fields))
        return ledger
