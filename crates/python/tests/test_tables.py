"""Scans, transactions, numbers, the server and fragments."""

import concurrent.futures
import datetime
import multiprocessing
import pickle
import threading

import onlap
import psycopg
import pyarrow as pa
import pytest


@pytest.fixture
def events(db):
    db.script("""
        CREATE TABLE events (id int8 PRIMARY KEY, device text, at int8, value int);
        CREATE INDEX by_device ON events (device, at DESC);
    """)
    table = db.table("events")
    table.insert(pa.table({
        "id": range(100), "device": [f"d{at % 7}" for at in range(100)], "at": [at * 37 % 100 for at in range(100)],
        "value": range(100),
    }))  # fmt: skip
    return table


def test_scan(db, events):
    assert events.scan().rowcount == 100
    assert sorted(events.scan("device = $1 AND value < $2", ["d3", 20], columns=["id"])) == [(3,), (10,), (17,)]
    got = events.scan(index="by_device", columns=["device", "at"], limit=5).fetchall()
    assert got == db.sql("SELECT device, at FROM events ORDER BY device, at DESC LIMIT 5").fetchall()
    back = events.scan(index="by_device", columns=["device", "at"], descending=True).fetchall()
    assert back == events.scan(index="by_device", columns=["device", "at"]).fetchall()[::-1]
    with pytest.raises(onlap.ProgrammingError, match="no index"):
        events.scan(index="absent")


def test_last_per_of_what_a_condition_holds_for(events):
    got = events.last_per("device", order="at", columns=["device", "at"], where="device = $1", params=["d3"]).fetchall()
    assert [device for device, _ in got] == ["d3"]
    with pytest.raises(TypeError):
        events.last_per(order="at")


def test_a_condition_is_one_whatever_is_in_it(db, events):
    rows = events.scan("value < 50 -- not all", columns=["id"], index="events_pkey", limit=2).fetchall()
    assert rows == [(0,), (1,)]
    assert events.scan("value < 2 OR value > 97", columns=["id"], index="events_pkey").fetchall() == [(0,), (1,), (98,), (99,)]
    with db.serve():
        parts = events.fragments(3, columns=["id"], where="value < 5 OR value > 97 -- few")
        assert sorted(row[0] for part in parts for row in part.rows()) == [0, 1, 2, 3, 4, 98, 99]


def test_rows_without_an_order_are_never_last(db, events):
    db.sql("INSERT INTO events VALUES (1000, 'd3', NULL, 0), (1001, 'nowhere', NULL, 0), (1002, NULL, 7, 0)")
    got = dict(events.last_per("device", order="at", columns=["device", "at"]).fetchall())
    assert "nowhere" not in got and got[None] == 7 and got["d3"] is not None
    last = events.last_per("device", order="at", columns=["device", "at"], where="at < 50 OR at IS NULL -- old").fetchall()
    assert last and all(at is not None and at < 50 for _, at in last)


def test_last_per(db, events):
    got = events.last_per("device", order="at", columns=["device", "at"]).fetchall()
    assert sorted(got) == db.sql("SELECT device, max(at) FROM events GROUP BY device ORDER BY device").fetchall()


@pytest.mark.parametrize("name", ['quo"te', "semi;colon", "x' --", "Capital", "with space", "ü"])
def test_names_are_names(db, name):
    quoted = '"' + name.replace('"', '""') + '"'
    db.sql(f"CREATE TABLE {quoted} ({quoted} int PRIMARY KEY)")
    table = db.table((name,))
    assert table.insert(pa.table({name: [1, 2]})) == 2
    assert table.upsert(pa.table({name: [2, 3]})) == 2
    assert table.scan(columns=[name], index=f"{name}_pkey").fetchall() == [(1,), (2,), (3,)]
    assert table.columns() == [name]
    with pytest.raises(onlap.ProgrammingError):
        db.table("a\x00b")
    assert db.stats.indexes(name)[0].name == f"{name}_pkey"


def test_schemas(db):
    db.script("CREATE SCHEMA s; CREATE TABLE s.t (a int)")
    assert db.table("s.t").insert(pa.table({"a": [1]})) == 1
    assert db.table(("s", "t")).count() == 1


def test_transactions(db):
    db.sql("CREATE TABLE t (a int PRIMARY KEY)")
    with db.transaction():
        db.sql("INSERT INTO t VALUES (1)")
        db.table("t").insert(pa.table({"a": [2]}))
    assert db.table("t").count() == 2
    with pytest.raises(RuntimeError), db.transaction():
        db.sql("INSERT INTO t VALUES (3)")
        raise RuntimeError
    assert db.table("t").count() == 2
    with db.transaction() as tx:
        db.sql("INSERT INTO t VALUES (4)")
        tx.rollback()
        tx.sql("INSERT INTO t VALUES (5)")
    assert [row[0] for row in db.table("t").scan(index="t_pkey")] == [1, 2, 5]
    # An error within ends it, even where it is caught.
    with pytest.raises(onlap.OperationalError, match="rolled back"), db.transaction():
        db.sql("INSERT INTO t VALUES (6)")
        with pytest.raises(onlap.IntegrityError):
            db.sql("INSERT INTO t VALUES (1)")
    assert db.table("t").count() == 3
    with pytest.raises(onlap.OperationalError):
        tx.sql("SELECT 1")
    with db.transaction(), pytest.raises(onlap.ProgrammingError), db.transaction():
        pass


def test_transactions_are_of_their_thread_and_apart(db):
    db.sql("CREATE TABLE t (a int)")
    with db.transaction(isolation="repeatable read", read_only=True):
        before = db.table("t").count()
        thread = threading.Thread(target=lambda: db.sql("INSERT INTO t VALUES (1)"))
        thread.start()
        thread.join()
        assert db.table("t").count() == before == 0
        with pytest.raises(onlap.OperationalError):
            db.sql("INSERT INTO t VALUES (2)")
        with pytest.raises(onlap.OperationalError):
            db.sql("SELECT 1")
        db._current.get().rollback()
    assert db.table("t").count() == 1
    with pytest.raises(ValueError, match="isolation"):
        db.transaction(isolation="none; DROP TABLE t")


def test_several_answers_are_open_in_a_transaction(db):
    db.sql("CREATE TABLE t AS SELECT generate_series(1, 400000) AS a, repeat('x', 50) AS b")
    with db.transaction():
        first, second = db.sql("SELECT a, b FROM t"), db.sql("SELECT b, a FROM t")
        assert first.arrow().num_rows == second.arrow().num_rows == 400_000
        late = db.sql("SELECT a, b FROM t")
    with pytest.raises(onlap.Error):
        late.arrow()


def test_numbers_of_indexes(db, events):
    ledger = db.stats.indexes()
    assert [(one.table, one.name) for one in ledger] == [("events", "events_pkey"), ("events", "by_device")]
    assert ledger[1].p50_ms is None
    db.sql("SELECT * FROM events WHERE device = 'd3'").fetchall()
    by_device = db.stats.indexes("events")[1]
    assert by_device.p50_ms is not None and by_device.p50_ms > 0
    assert by_device.cached_bytes >= 0
    assert (by_device.scans, by_device.entries_read) == (1, 14)
    assert by_device.rows_not_read == 100 - 14
    now = datetime.datetime.now(datetime.timezone.utc)
    assert by_device.last_use is not None and now - by_device.last_use < datetime.timedelta(hours=1)
    assert ledger[1].last_use is None and ledger[1].scans == 0
    assert db.stats.indexes("absent") == []
    assert db.stats.database()["csn"] > 0


def test_a_server_in_the_process(db, events):
    with db.serve() as server:
        with psycopg.connect(server.url) as client:
            assert client.execute("SELECT count(*) FROM events").fetchone() == (100,)
        with pytest.raises(onlap.BusyError):
            db.serve()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(server.url, connect_timeout=2)
    # The database is still there, and may be served again.
    assert events.count() == 100
    with db.serve() as server, psycopg.connect(server.url) as client:
        assert client.execute("SELECT 1").fetchone() == (1,)
    with pytest.raises(onlap.Error):
        db.serve("192.0.2.1")


def _read(fragment):
    return fragment.arrow().to_pydict()


def test_fragments_are_read_by_other_processes(db, events):
    with pytest.raises(onlap.OperationalError, match="serve"):
        events.fragments(2)
    with db.serve():
        parts = events.fragments(4, columns=["id", "device"], where="value >= 10")
        assert len(parts) == 4
        assert pickle.loads(pickle.dumps(parts)) == parts
        with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
            found = list(pool.map(_read, parts))
        ids = [at for part in found for at in part["id"]]
        assert sorted(ids) == list(range(10, 100))
        # NULLs, few values, and texts that are quotes.
        db.sql("CREATE TABLE few (a text)")
        db.sql("INSERT INTO few VALUES (NULL), ('x'), ('x'), ('it''s \\ '), (NULL), ('z')")
        rows = [row for part in db.table("few").fragments(5, by="a") for row in part.rows()]
        assert sorted(str(row[0]) for row in rows) == sorted(["None", "None", "x", "x", "it's \\ ", "z"])
