"""Prints one line per check, `name: result`, the same wherever values are the same."""

import contextlib
import sys
import traceback


def state_of(error):
    """SQLSTATE and constraint of what a driver raised, however deep it is wrapped."""
    while error is not None:
        for each in (error, getattr(error, "orig", None)):
            state = getattr(each, "sqlstate", None) or getattr(each, "pgcode", None)
            if state:
                diag = getattr(each, "diag", each)
                constraint = getattr(diag, "constraint_name", None)
                return f"{state} {constraint}" if constraint else state
        error = error.__cause__ or error.__context__
    return "no SQLSTATE"


def told(error):
    return f"{type(error).__name__} {state_of(error)}"


def show(name, value):
    print(f"{name}: {value!r}", flush=True)


def check(name, function):
    """Shows what a function gives, or what it raised; says whether it gave something."""
    try:
        value = function()
    except Exception as error:  # What is raised is the result.
        failed(name, error)
        return False
    show(name, value)
    return True


async def check_async(name, function):
    try:
        value = await function()
    except Exception as error:  # As above.
        failed(name, error)
        return False
    show(name, value)
    return True


def failed(name, error):
    print(f"{name}: error {told(error)}", flush=True)
    cause = error.__cause__ or error.__context__
    print(f"{name}: {error}", *([f"  because of {cause!r}"] if cause else []), sep="\n", file=sys.stderr)
    if state_of(error) == "no SQLSTATE":
        traceback.print_exception(error)


@contextlib.contextmanager
def section(name):
    """What fails within is one check's result, and the program goes on behind it."""
    try:
        yield
    except Exception as error:  # As above.
        failed(name, error)
