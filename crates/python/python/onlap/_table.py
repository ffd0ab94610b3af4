"""A table: rows in bulk, and the reads that need no SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ._errors import ProgrammingError

if TYPE_CHECKING:
    from ._database import Database
    from ._fragments import Fragment
    from ._result import Result


class ArrowStream(Protocol):
    """Anything with Arrow's C stream: frames of Polars and pandas, tables of PyArrow, relations of DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


def quoted(name: str) -> str:
    """A name as SQL has it, whatever is in it."""
    if "\x00" in name:
        raise ProgrammingError("a name has a zero byte", "42602")
    return '"' + name.replace('"', '""') + '"'


def relation(name: str | tuple[str, ...]) -> str:
    """A table's name as SQL has it: its parts are those of a tuple, or what dots divide."""
    parts = name if isinstance(name, tuple) else tuple(name.split("."))
    return ".".join(quoted(part) for part in parts)


def names_of(data: object) -> list[str]:
    """The columns of Arrow's data, by whatever tells them without reading."""
    for attribute in ("column_names", "columns"):
        found = getattr(data, attribute, None)
        if found is not None and not callable(found):
            names = [getattr(name, "name", name) for name in found]
            if all(isinstance(name, str) for name in names):
                return names
    schema = getattr(data, "schema", None)
    names = getattr(schema, "names", None)
    if callable(names):
        names = names()
    if names is not None:
        return [str(name) for name in names]
    raise TypeError(f"{type(data).__name__} does not tell its columns")


class Table:
    """A table of a database, by name."""

    def __init__(self, database: Database, name: str | tuple[str, ...]) -> None:
        self._database = database
        self._name = name
        self._relation = relation(name)

    @property
    def name(self) -> str:
        """The name, as it was given."""
        return self._name if isinstance(self._name, str) else ".".join(self._name)

    def __repr__(self) -> str:
        return f"<onlap.Table {self.name}>"

    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._database.sql(f"SELECT * FROM {self._relation} LIMIT 0").columns

    def insert(self, data: ArrowStream) -> int:
        """Adds rows, all or none; how many there were. Columns are found by name, and those that are left out get
        their defaults. Values are converted where nothing is lost: a number that does not fit is refused.
        """
        data, columns = _stream(data)
        listed = ", ".join(map(quoted, columns))
        with self._database._session() as session:
            return session.copy(f"COPY {self._relation} ({listed}) FROM STDIN", data)

    def upsert(self, data: ArrowStream, key: Sequence[str] | None = None) -> int:
        """Adds rows, or changes those that have the same key: the primary key, or that of another unique index. All or
        none; how many there were. Columns that are left out keep their values.
        """
        data, columns = _stream(data)
        with self._database._session() as session:
            if key is None:
                key = [row[0] for row in session.run(_KEY, [self._relation]).fetchall()]
                if not key:
                    raise ProgrammingError(f"table {self.name} has no primary key; name the columns of another", "42P10")
            session_sql = _upsert(self._relation, columns, list(key))
            return session.each(session_sql, data)

    def scan(
        self,
        where: str | None = None,
        params: Sequence[Any] | None = None,
        *,
        columns: Sequence[str] | None = None,
        index: str | None = None,
        descending: bool = False,
        limit: int | None = None,
    ) -> Result:
        """Rows that a condition holds for, all of them without one. ``where`` is SQL, with ``$1`` for the first of
        ``params``. With ``index`` they come in the order of that index.
        """
        listed = "*" if columns is None else ", ".join(map(quoted, columns))
        query = f"SELECT {listed} FROM {self._relation}"
        query += _condition(where)
        if index is not None:
            query += " ORDER BY " + self._order(index, descending)
        if limit is not None:
            query += f" LIMIT {int(limit)}"
        return self._database.sql(query, params)

    def last_per(
        self,
        *by: str,
        order: str,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        params: Sequence[Any] | None = None,
    ) -> Result:
        """The last row of each value of some columns: the one that is highest by ``order``. Rows without a value of
        ``order`` are none. An index on these columns and ``order`` has them in that order.
        """
        if not by:
            raise TypeError("last_per needs a column")
        groups = ", ".join(map(quoted, by))
        listed = "*" if columns is None else ", ".join(map(quoted, columns))
        condition = _condition(where, f"{quoted(order)} IS NOT NULL")
        # The same order backwards is that of an index on the columns as they are.
        order_by = ", ".join(f"{quoted(name)} DESC" for name in (*by, order))
        return self._database.sql(
            f"SELECT DISTINCT ON ({groups}) {listed} FROM {self._relation}{condition} ORDER BY {order_by}", params
        )

    def count(self) -> int:
        """How many rows there are."""
        return self._database.sql(f"SELECT count(*) FROM {self._relation}").scalar()

    def fragments(
        self, n: int, *, columns: Sequence[str] | None = None, where: str | None = None, by: str | None = None
    ) -> list[Fragment]:
        """At most ``n`` parts of the table that other processes read: see :class:`Fragment`."""
        from ._fragments import fragments

        return fragments(self._database, self, n, columns, where, by)

    def _order(self, index: str, descending: bool) -> str:
        rows = self._database.sql(_INDEX_ORDER, [self._relation, index]).fetchall()
        if not rows:
            raise ProgrammingError(f"table {self.name} has no index {index!r}", "42704")
        # What is descending in the index is ascending backwards.
        return ", ".join(f"{column} {'DESC' if down != descending else 'ASC'}" for column, down in rows)


def _condition(where: str | None, *more: str) -> str:
    # On a line of its own: a comment ends with it.
    parts = [*more, f"({where}\n)"] if where is not None else list(more)
    return f" WHERE {' AND '.join(parts)}" if parts else ""


def _stream(data: Any) -> tuple[Any, list[str]]:
    if not hasattr(data, "__arrow_c_stream__"):
        kind = type(data).__name__
        raise TypeError(
            f"{kind} has no Arrow C stream; give a frame of Polars or pandas, a table of PyArrow or a relation of DuckDB"
        )
    return data, names_of(data)


def _upsert(table: str, columns: list[str], key: list[str]) -> str:
    names = ", ".join(map(quoted, columns))
    places = ", ".join(f"${at}" for at in range(1, len(columns) + 1))
    keys = ", ".join(map(quoted, key))
    changed = [name for name in columns if name not in key]
    if changed:
        action = "UPDATE SET " + ", ".join(f"{quoted(name)} = excluded.{quoted(name)}" for name in changed)
    else:
        action = "NOTHING"
    return f"INSERT INTO {table} ({names}) VALUES ({places}) ON CONFLICT ({keys}) DO {action}"


_KEY = """
SELECT a.attname::text FROM pg_index i
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
WHERE i.indrelid = $1::text::regclass AND i.indisprimary AND a.attnum > 0 ORDER BY a.attnum
"""

_INDEX_ORDER = """
SELECT pg_get_indexdef(i.indexrelid, n, true), (i.indoption[n - 1] & 1) = 1
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid, generate_series(1, i.indnkeyatts) n
WHERE i.indrelid = $1::text::regclass AND c.relname = $2 ORDER BY n
"""
