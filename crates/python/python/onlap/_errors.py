"""What goes wrong, as classes with PostgreSQL's SQLSTATE."""

from __future__ import annotations

from collections.abc import Iterable


class Error(Exception):
    """Anything that the database refuses.

    ``sqlstate`` has PostgreSQL's five characters; ``detail``, ``hint``, ``position`` (in characters from 1),
    ``context``, ``schema``, ``table``, ``column`` and ``constraint`` are ``None`` where there is nothing to say.
    """

    sqlstate: str
    detail: str | None
    hint: str | None
    position: int | None
    context: str | None
    schema: str | None
    table: str | None
    column: str | None
    constraint: str | None

    def __init__(self, message: str, sqlstate: str = "XX000", **fields: object) -> None:
        super().__init__(message)
        self.message = message
        self.sqlstate = sqlstate
        for name in ("detail", "hint", "position", "context", "schema", "table", "column", "constraint"):
            setattr(self, name, fields.get(name))

    def __str__(self) -> str:
        lines = [self.message]
        if self.detail:
            lines.append(f"DETAIL: {self.detail}")
        if self.hint:
            lines.append(f"HINT: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return (_again, (type(self), self.message, self.sqlstate, self.__dict__.copy()))


def _again(kind: type[Error], message: str, sqlstate: str, fields: dict[str, object]) -> Error:
    error = kind(message, sqlstate)
    error.__dict__.update(fields)
    return error


class ProgrammingError(Error):
    """The statement is wrong: its syntax, or what it names (classes 42, 3D, 3F, 26, 34)."""


class DataError(Error):
    """A value is none of its type (classes 21, 22)."""


class IntegrityError(Error):
    """A rule of a table would be broken: keys, NOT NULL, checks (classes 23, 44)."""


class OperationalError(Error):
    """The database or the machine cannot do it now: memory, disk, cancelled, closed (classes 08, 25, 53 to 58)."""


class BusyError(OperationalError):
    """Another process has the directory open; the text names its process id."""


class RetryError(OperationalError):
    """Transactions were in each other's way; run this one again (class 40)."""


class NotSupportedError(Error):
    """PostgreSQL does it, and Onlap does not (class 0A)."""


class InterfaceError(Error):
    """An answer was used in a way it cannot be (class 24)."""


class InternalError(Error):
    """A mistake of Onlap's (class XX)."""


_BY_STATE: dict[str, type[Error]] = {"55006": BusyError, "57014": OperationalError}
_BY_CLASS: dict[str, type[Error]] = {
    "0A": NotSupportedError,
    "21": DataError,
    "22": DataError,
    "23": IntegrityError,
    "24": InterfaceError,
    "26": ProgrammingError,
    "34": ProgrammingError,
    "3D": ProgrammingError,
    "3F": ProgrammingError,
    "40": RetryError,
    "42": ProgrammingError,
    "44": IntegrityError,
    "XX": InternalError,
}

_NAMES = {
    "D": "detail",
    "H": "hint",
    "W": "context",
    "s": "schema",
    "t": "table",
    "c": "column",
    "n": "constraint",
}


def of_fields(fields: Iterable[tuple[str, str]]) -> Error:
    """The exception of an error message, whose fields have PostgreSQL's letters."""
    known = dict(fields)
    state = known.get("C", "XX000")
    kind = _BY_STATE.get(state) or _BY_CLASS.get(state[:2]) or OperationalError
    named: dict[str, object] = {name: known[key] for key, name in _NAMES.items() if key in known}
    if "P" in known:
        named["position"] = int(known["P"])
    return kind(known.get("M", ""), state, **named)
