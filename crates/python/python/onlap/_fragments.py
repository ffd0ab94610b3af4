"""Parts of a table that other processes read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._errors import OperationalError, ProgrammingError
from ._table import quoted

if TYPE_CHECKING:
    import pyarrow

    from ._database import Database
    from ._table import Table


@dataclass(frozen=True)
class Fragment:
    """A part of a table: a statement, and the server that answers it. It pickles, and a worker of Spark, Dask or Ray
    reads it with psycopg. The database has to be served (:meth:`Database.serve`) for as long; what is read is the state
    of that moment, not one for all parts.
    """

    url: str
    query: str
    columns: tuple[str, ...]
    types: tuple[str, ...]

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows, as tuples of Python's values."""
        import psycopg

        with psycopg.connect(self.url) as connection:
            return connection.execute(self.query).fetchall()  # type: ignore[arg-type]

    def arrow(self) -> pyarrow.Table:
        """All rows, as a PyArrow table."""
        import pyarrow

        rows = self.rows()
        found = list(zip(*rows, strict=True)) if rows else [() for _ in self.columns]
        kinds = [_KINDS.get(kind) for kind in self.types]
        arrays = [
            pyarrow.array(list(values), pyarrow.type_for_alias(kind) if kind else None)
            for values, kind in zip(found, kinds, strict=True)
        ]
        return pyarrow.table(arrays, names=list(self.columns))


# Types whose values say less than they do; the others follow from their values.
_KINDS = {
    "boolean": "bool",
    "smallint": "int16",
    "integer": "int32",
    "bigint": "int64",
    "real": "float",
    "double precision": "double",
    "text": "string",
    "bytea": "binary",
    "date": "date32",
    "timestamp without time zone": "timestamp[us]",
}


def fragments(
    database: Database,
    table: Table,
    n: int,
    columns: Sequence[str] | None,
    where: str | None,
    by: str | None,
) -> list[Fragment]:
    """Divides a table by a column: each value is in one part, and NULLs are in the last."""
    if n < 1:
        raise ValueError("there is at least one part")
    server = database._server
    if server is None:
        raise OperationalError("other processes read from a server: call serve() first", "55000")
    by = by or _first_of_key(database, table)
    column = quoted(by)
    relation = table._relation
    shape = database.sql(f"SELECT {_listed(columns)} FROM {relation} LIMIT 0")
    kind = database.sql(f"SELECT {column} FROM {relation} LIMIT 0").types[0]
    bounds = _bounds(database, relation, column, n)
    pieces = []
    for low, high in zip([None, *bounds], [*bounds, None], strict=True):
        parts = [f"({where}\n)"] if where is not None else []
        if low is not None:
            parts.append(f"({column} >= {_literal(low)}::{kind}{'' if high is not None else f' OR {column} IS NULL'})")
        if high is not None:
            parts.append(f"{column} < {_literal(high)}::{kind}")
        condition = f" WHERE {' AND '.join(parts)}" if parts else ""
        pieces.append(f"SELECT {_listed(columns)} FROM {relation}{condition}")
    return [Fragment(server.url, query, tuple(shape.columns), tuple(shape.types)) for query in pieces]


def _listed(columns: Sequence[str] | None) -> str:
    return "*" if columns is None else ", ".join(map(quoted, columns))


def _first_of_key(database: Database, table: Table) -> str:
    query = """
        SELECT a.attname::text FROM pg_index i
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        WHERE i.indrelid = $1::text::regclass AND i.indisprimary
    """
    row = database.sql(query, [table._relation]).fetchone()
    if row is None:
        raise ProgrammingError(f"table {table.name} has no primary key; say by which column it is divided", "42P10")
    return row[0]


def _bounds(database: Database, relation: str, column: str, n: int) -> list[str]:
    """Values between the parts, as texts, each once."""
    if n == 1:
        return []
    share = f"SELECT {column} AS value, ntile({int(n)}) OVER (ORDER BY {column}) AS part FROM {relation}"
    query = f"SELECT min(value)::text FROM ({share} WHERE {column} IS NOT NULL) parts GROUP BY part ORDER BY part"
    found = [row[0] for row in database.sql(query).fetchall()]
    bounds: list[str] = []
    for value in found[1:]:
        if value not in bounds and value != found[0]:
            bounds.append(value)
    return bounds


def _literal(text: str) -> str:
    if "\x00" in text:
        raise ProgrammingError("a text has a zero byte", "22021")
    escaped = text.replace("'", "''")
    if "\\" in escaped:
        return " E'" + escaped.replace("\\", "\\\\") + "'"
    return f"'{escaped}'"
