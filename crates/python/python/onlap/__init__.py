"""Onlap inside a Python process: tables whose inserts do not slow down for indexes.

>>> import onlap, tempfile
>>> db = onlap.open(tempfile.mkdtemp())
>>> _ = db.sql("CREATE TABLE cities (name text PRIMARY KEY, people int)")
>>> _ = db.sql("INSERT INTO cities VALUES ($1, $2)", ["Ulm", 126_000])
>>> db.sql("SELECT * FROM cities").fetchall()
[('Ulm', 126000)]
>>> db.close()
"""

try:
    from . import _onlap as _library
except ImportError as error:
    import platform

    raise ImportError(
        f"onlap has no library here for {platform.python_implementation()} {platform.python_version()} on "
        f"{platform.system()} {platform.machine()}: its wheels are for CPython 3.10 or newer on Linux, x86-64 and arm64 "
        f"({error})"
    ) from error

from ._changes import Change, Changes
from ._database import Database, Server, Transaction, open
from ._errors import (
    BusyError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    RetryError,
)
from ._fragments import Fragment
from ._onlap import __version__
from ._result import Notice, Result
from ._stats import IndexStats, Ledger, Stats
from ._table import Table

__all__ = [
    "BusyError",
    "Change",
    "Changes",
    "DataError",
    "Database",
    "Error",
    "Fragment",
    "IndexStats",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "Ledger",
    "Notice",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Result",
    "RetryError",
    "Server",
    "Stats",
    "Table",
    "Transaction",
    "__version__",
    "open",
]
