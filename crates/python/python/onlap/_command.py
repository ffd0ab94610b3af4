"""The console script ``onlap``: what the binary of that name does."""

from __future__ import annotations

import os
import sys

from . import _onlap


def main() -> None:
    """Runs the command of ``sys.argv`` and ends with its exit code."""
    sys.stdout.flush()
    code = _onlap.main(["onlap", *sys.argv[1:]])
    # Its signals are the command's by now: nothing of Python's is left to do.
    os._exit(code)
