"""An open database."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any

from . import _onlap
from ._changes import Changes
from ._errors import OperationalError, ProgrammingError
from ._result import Result
from ._stats import Stats
from ._table import Table

if TYPE_CHECKING:
    from ._onlap import Core, Session

_UNITS = {"": 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


def _bytes(size: int | str | None) -> int | None:
    if size is None or isinstance(size, int):
        return size
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", size)
    unit = _UNITS.get(found.group(2).upper().replace("IB", "B")) if found else None
    if found is None or unit is None:
        raise ValueError(f"{size!r} is no size: write 512MB or 2GB")
    return int(float(found.group(1)) * unit)


def open(
    path: str | os.PathLike[str],
    *,
    memory: int | str | None = None,
    sync: str = "fsync",
    create: bool = True,
) -> Database:
    """Opens the database in a directory, and creates it where there is none.

    ``memory`` is a number of bytes or a text like ``"512MB"``, for memtables, cache and merges together; by default a
    quarter of the machine's. ``sync`` says when a commit is acknowledged: ``"fsync"``, ``"interval:100"`` (the log is
    synced every 100 ms) or ``"os"``. One process has a directory open; :class:`BusyError` names the other.
    """
    return Database(_onlap.Core.open(os.fspath(path), _bytes(memory), sync, create), os.fspath(path))


class Database:
    """An open database; see :func:`open`. May be used by many threads."""

    def __init__(self, core: Core, path: str) -> None:
        self._core = core
        self._path = path
        self._current: ContextVar[Transaction | None] = ContextVar("onlap.transaction", default=None)
        self._server: Server | None = None

    @property
    def path(self) -> str:
        """The directory."""
        return self._path

    @property
    def stats(self) -> Stats:
        """Numbers about tables and indexes."""
        return Stats(self._core)

    def sql(self, query: str, params: Sequence[Any] | None = None) -> Result:
        """Runs one statement, with ``$1`` for the first of ``params``. Outside of :meth:`transaction` it commits."""
        values = _values(params)
        transaction = self._current.get()
        if transaction is None:
            return Result(self._core.run(query, values))
        return Result(transaction._session.run(query, values))

    def script(self, text: str) -> list[str]:
        """Runs all statements of a text, without parameters, as one transaction unless it says otherwise; what each
        has done, as PostgreSQL says it. Rows are left out.
        """
        transaction = self._current.get()
        if transaction is not None:
            return transaction._session.script(text)
        session = self._core.session()
        try:
            return session.script(text)
        finally:
            session.end()

    def table(self, name: str | tuple[str, ...]) -> Table:
        """A table by name, ``"events"`` or ``"schema.events"``; a tuple where the parts have dots. Nothing in a name
        is SQL: ``"Events"`` is not ``"events"``.
        """
        return Table(self, name)

    @property
    def commit(self) -> int:
        """The number of the newest commit."""
        return self.sql("SELECT commit_number FROM onlap_stat.commits").fetchall()[0][0]

    def changes(self, table: str | tuple[str, ...], *, since: int) -> Changes:
        """What commits after ``since`` changed in a table that keeps a history (``WITH (history = '1 day')``)::

            changes = db.changes("events", since=seen)
            for change in changes:
                print(change.kind, change.rows.fetchall())
            seen = changes.upto

        It costs as much as was changed, not as much as the table holds.
        """
        return Changes(self, table, since)

    def transaction(self, *, isolation: str | None = None, read_only: bool = False) -> Transaction:
        """A block whose statements commit together at its end, and not at all where an exception leaves it::

            with db.transaction():
                db.sql("UPDATE accounts SET money = money - 10 WHERE id = 1")
                db.sql("UPDATE accounts SET money = money + 10 WHERE id = 2")

        Whatever this thread (or task) asks of the database within the block belongs to it.
        """
        return Transaction(self, isolation, read_only)

    def serve(self, host: str = "127.0.0.1", port: int = 0) -> Server:
        """Listens for PostgreSQL's clients, in this process; ``port`` 0 takes a free one."""
        host, port = self._core.serve(host, port)
        self._server = Server(self, host, port)
        return self._server

    def close(self) -> None:
        """Flushes and closes; sessions of clients end. What is committed is safe without it, too."""
        self._core.close()
        self._server = None

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<onlap.Database {self._path}>"

    @contextmanager
    def _session(self) -> Iterator[Session]:
        """The session of the transaction, or one whose transaction ends with the block."""
        transaction = self._current.get()
        if transaction is not None:
            yield transaction._session
            return
        session = self._core.session()
        try:
            session.script("BEGIN")
            yield session
            session.script("COMMIT")
        finally:
            session.end()


def _values(params: Sequence[Any] | None) -> list[Any]:
    if params is None:
        return []
    if isinstance(params, (str, bytes, Mapping)) or not isinstance(params, Sequence):
        raise TypeError("params is a list or tuple, for $1, $2, …")
    return list(params)


class Transaction:
    """A transaction, from ``with`` to the end of the block; see :meth:`Database.transaction`."""

    def __init__(self, database: Database, isolation: str | None, read_only: bool) -> None:
        self._database = database
        self._begin = "BEGIN"
        if isolation is not None:
            level = isolation.upper()
            if level not in ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"):
                raise ValueError(f"{isolation!r} is no isolation level")
            self._begin += f" ISOLATION LEVEL {level}"
        if read_only:
            self._begin += " READ ONLY"
        self._open: Session | None = None
        self._token: Token[Transaction | None] | None = None

    @property
    def _session(self) -> Session:
        if self._open is None:
            raise OperationalError("the transaction has ended", "25P01")
        return self._open

    def sql(self, query: str, params: Sequence[Any] | None = None) -> Result:
        """As :meth:`Database.sql`, in this transaction."""
        return Result(self._session.run(query, _values(params)))

    def rollback(self) -> None:
        """Undoes what was done; the block goes on in a new transaction."""
        self._session.script("ROLLBACK")
        self._session.script(self._begin)

    def __enter__(self) -> Transaction:
        if self._database._current.get() is not None:
            raise ProgrammingError("a transaction is under way; SAVEPOINT divides one", "25001")
        session = self._database._core.session()
        try:
            session.script(self._begin)
        except BaseException:
            session.end()
            raise
        self._open = session
        self._token = self._database._current.set(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        session, self._open = self._session, None
        if self._token is not None:
            self._database._current.reset(self._token)
        try:
            if kind is None:
                if session.status() == "E":
                    # COMMIT would say nothing of it.
                    raise OperationalError("the transaction has failed before, and was rolled back", "25P02")
                session.script("COMMIT")
        finally:
            # Rolls back what is still under way.
            session.end()


class Server:
    """A database as PostgreSQL's clients see it; see :meth:`Database.serve`."""

    def __init__(self, database: Database, host: str, port: int) -> None:
        self._database = database
        self.host = host
        self.port = port

    @property
    def url(self) -> str:
        """What clients connect to: psycopg, ADBC, psql, SQLAlchemy."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"postgresql://postgres@{host}:{self.port}/postgres"

    def stop(self) -> None:
        """Ends the sessions of clients; the database stays open."""
        self._database._core.stop_serving()
        self._database._server = None

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __str__(self) -> str:
        return self.url

    def __repr__(self) -> str:
        return f"<onlap.Server {self.url}>"
