"""What the tests share: a database of their own."""

import signal

import onlap
import pytest

# What a shell starts in the background ignores SIGINT, and Python then raises nothing at it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def db(tmp_path):
    with onlap.open(tmp_path / "data", memory="64MB", sync="os") as database:
        yield database
