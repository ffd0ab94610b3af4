"""Ctrl-C, and the interpreter that others use meanwhile."""

import os
import signal
import subprocess
import sys
import threading
import time

import onlap
import pyarrow as pa
import pytest

# A query that goes on for hours.
ENDLESS = "SELECT count(*) FROM generate_series(1, 100000000) a, generate_series(1, 100000) b"


def interrupt_soon(after=0.3):
    threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


def test_a_query_is_interrupted(db):
    began = time.monotonic()
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        db.sql(ENDLESS)
    assert time.monotonic() - began < 10
    assert db.sql("SELECT 1").scalar() == 1


def test_a_transaction_is_interrupted_and_rolled_back(db):
    db.sql("CREATE TABLE t (a int)")
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt), db.transaction():
        db.sql("INSERT INTO t VALUES (1)")
        db.sql(ENDLESS)
    assert db.table("t").count() == 0


def test_reading_a_long_answer_is_interrupted(db):
    result = db.sql("SELECT a, repeat('x', 1000) FROM generate_series(1, 1000000000) a")
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        result.arrow()
    assert db.sql("SELECT 1").scalar() == 1


@pytest.mark.parametrize("method", ["insert", "upsert"])
def test_a_write_is_interrupted_and_nothing_is_kept(db, method):
    db.sql("CREATE TABLE t (a int8 PRIMARY KEY)")

    def batches():
        for first in range(0, 10**9, 1000):
            yield pa.RecordBatch.from_pydict({"a": range(first, first + 1000)})

    reader = pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int64()}), batches())
    interrupt_soon(0.5)
    with pytest.raises(KeyboardInterrupt):
        getattr(db.table("t"), method)(reader)
    assert db.table("t").count() == 0


def test_others_run_while_a_statement_does(db):
    turns = 0
    done = threading.Event()

    def work():
        nonlocal turns
        while not done.is_set():
            turns += 1
            time.sleep(0.001)

    thread = threading.Thread(target=work)
    thread.start()
    db.sql("SELECT pg_sleep(0.5)")
    done.set()
    thread.join()
    assert turns > 50


def test_a_statement_that_waits_for_a_lock_is_interrupted(db):
    db.sql("CREATE TABLE t (a int PRIMARY KEY)")
    db.sql("INSERT INTO t VALUES (1)")
    locked, go_on = threading.Event(), threading.Event()

    def hold():
        with db.transaction():
            db.sql("UPDATE t SET a = 2")
            locked.set()
            go_on.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    locked.wait()
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        db.sql("UPDATE t SET a = 3")
    go_on.set()
    thread.join()
    assert db.sql("SELECT a FROM t").fetchall() == [(2,)]


def test_the_process_ends_with_a_database_open(tmp_path):
    script = """
import onlap, sys
db = onlap.open(sys.argv[1], memory="64MB")
db.sql("CREATE TABLE t AS SELECT generate_series(1, 1000) AS a")
result = db.sql("SELECT a, repeat('x', 1000) FROM t, generate_series(1, 100) b")
tx = db.transaction().__enter__()
db.sql("DELETE FROM t")
"""
    command = [sys.executable, "-c", script, str(tmp_path / "data")]
    done = subprocess.run(command, timeout=60, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    with onlap.open(tmp_path / "data", memory="64MB") as db:
        assert db.table("t").count() == 1000
