"""What the tests share: a database of their own."""

import onlap
import pytest


@pytest.fixture
def db(tmp_path):
    with onlap.open(tmp_path / "data", memory="64MB", sync="os") as database:
        yield database
