"""The answer of a statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from . import _html
from ._errors import InterfaceError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ._onlap import Rows

T = TypeVar("T")

# Rows that a notebook shows.
_SHOWN = 20

_NUMBERS = ("smallint", "integer", "bigint", "real", "double precision", "numeric", "oid", "money")


@dataclass(frozen=True)
class Notice:
    """What the database had to say besides."""

    severity: str
    message: str
    sqlstate: str


class Result:
    """What a statement gave: rows, or only what was done.

    It has Arrow's C stream, so anything that reads Arrow takes it: ``polars.DataFrame(result)``,
    ``pyarrow.table(result)``, ``duckdb.sql("FROM result")``. The first 16 MiB come at once; a longer answer comes as
    it is read, once, and holds its place in the database until it is read or closed.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    @property
    def status(self) -> str | None:
        """What was done, as PostgreSQL says it: ``INSERT 0 2``. None while rows of a long answer are to come."""
        return self._rows.tag

    @property
    def rowcount(self) -> int | None:
        """The number in :attr:`status`: rows given or changed; None where there is none, or not yet."""
        last = (self._rows.tag or "").rpartition(" ")[2]
        return int(last) if last.isdigit() else None

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [name for name, _ in self._rows.columns]

    @property
    def types(self) -> list[str]:
        """Their types, as PostgreSQL writes them."""
        return [kind for _, kind in self._rows.columns]

    @property
    def notices(self) -> list[Notice]:
        """Notices and warnings of the statement."""
        found = (dict(fields) for fields in self._rows.notices)
        return [Notice(one.get("S", ""), one.get("M", ""), one.get("C", "")) for one in found]

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows, as tuples of Python's values."""
        return self._rows.fetchall()

    def fetchone(self) -> tuple[Any, ...] | None:
        """The first row, or None; of those that come at once."""
        rows = self._rows.head(1)
        return rows[0] if rows else None

    def scalar(self) -> Any:
        """The first value of the first row, or None."""
        row = self.fetchone()
        return row[0] if row else None

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.fetchall())

    def arrow(self) -> pyarrow.Table:
        """All rows as a PyArrow table."""
        import pyarrow

        return self._read(lambda: pyarrow.table(self._rows))

    def pl(self) -> polars.DataFrame:
        """All rows as a Polars frame."""
        import polars

        return self._read(lambda: polars.DataFrame(self._rows))

    def df(self) -> pandas.DataFrame:
        """All rows as a pandas frame; PyArrow carries them there."""
        return self.arrow().to_pandas()

    def _read(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except BaseException as e:
            failure = self._rows.failure
            if failure is not None:
                # Readers of Arrow say it in words of their own.
                raise failure from e
            raise

    def close(self) -> None:
        """Ends a long answer that nobody reads to its end."""
        self._rows.close()

    def __enter__(self) -> Result:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __arrow_c_schema__(self) -> object:
        return self._rows.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        columns = ", ".join(f"{name} {kind}" for name, kind in self._rows.columns)
        status = self.status if self.status is not None else f"more than {self._rows.ready()} rows"
        return f"<onlap.Result {status} ({columns})>" if columns else f"<onlap.Result {status}>"

    def _repr_html_(self) -> str:
        columns = self._rows.columns
        if not columns:
            return f"<p>{_html.shown(self.status)}</p>"
        try:
            rows = self._rows.head(_SHOWN)
        except (OverflowError, InterfaceError) as e:
            return f"<p>{_html.shown(repr(self))}: {_html.shown(e)}</p>"
        ready = self._rows.ready()
        if self._rows.complete:
            foot = f"{ready} rows" if ready <= len(rows) else f"{len(rows)} of {ready} rows"
        else:
            foot = f"{len(rows)} rows of more"
        numbers = [kind.startswith(_NUMBERS) and not kind.endswith("]") for _, kind in columns]
        return _html.table(columns, rows, foot, numbers)
