"""Arrow in and out, with the libraries that people use."""

import contextlib
import datetime as dt
import decimal

import duckdb
import onlap
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

ROWS = {"id": [1, 2, 3], "name": ["a", None, "ü"], "score": [1.5, None, -2.0]}


@pytest.fixture
def table(db):
    db.sql("CREATE TABLE t (id int8 PRIMARY KEY, name text, score float8, made int DEFAULT 7)")
    return db.table("t")


@pytest.mark.parametrize(
    "data",
    [
        pa.table(ROWS),
        pa.RecordBatch.from_pydict(ROWS),
        pa.RecordBatchReader.from_batches(pa.table(ROWS).schema, pa.table(ROWS).to_batches(1)),
        pl.DataFrame(ROWS),
        pl.DataFrame(ROWS).with_columns(pl.col("name").cast(pl.Categorical)),
        pd.DataFrame(ROWS),
        duckdb.sql("SELECT * FROM (VALUES (1, 'a', 1.5::double), (2, NULL, NULL), (3, 'ü', -2.0)) v(id, name, score)"),
        pa.chunked_array([pa.array([{key: ROWS[key][at] for key in ROWS} for at in range(3)])]),
    ],
    ids=["table", "batch", "reader", "polars", "categorical", "pandas", "duckdb", "structs"],
)
def test_insert_takes_anything_with_a_stream(db, table, data):
    if isinstance(data, pa.ChunkedArray):
        data = pa.Table.from_struct_array(data)
    assert table.insert(data) == 3
    assert db.sql("SELECT * FROM t ORDER BY id").fetchall() == [(1, "a", 1.5, 7), (2, None, None, 7), (3, "ü", -2.0, 7)]


def test_answers_go_to_all_of_them(db, table):
    table.insert(pa.table(ROWS))
    result = db.sql("SELECT id, name, score FROM t ORDER BY id")
    assert result.arrow().to_pydict() == ROWS
    assert result.pl().to_dict(as_series=False) == ROWS
    assert result.df()["id"].tolist() == [1, 2, 3]
    assert duckdb.sql("SELECT sum(id) FROM result").fetchall() == [(6,)]
    assert pa.schema(result).names == ["id", "name", "score"]
    # A short answer is read as often as one likes.
    assert result.fetchall() == [(1, "a", 1.5), (2, None, None), (3, "ü", -2.0)]


EVERY = [
    ("bool", pa.array([True, False, None])),
    ("int2", pa.array([-32768, 32767, None], pa.int16())),
    ("int4", pa.array([-(2**31), 2**31 - 1, None], pa.int32())),
    ("int8", pa.array([-(2**63), 2**63 - 1, None], pa.int64())),
    ("float4", pa.array([1.5, float("-inf"), None], pa.float32())),
    ("float8", pa.array([0.1, float("inf"), None], pa.float64())),
    ("text", pa.array(["", "ü€𝄞" * 1000, None])),
    ("varchar(5)", pa.array(["", "12345", None])),
    ("char(3)", pa.array(["abc", "x  ", None])),
    ("bytea", pa.array([b"", bytes(range(256)), None])),
    ("date", pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None])),
    ("time", pa.array([dt.time(0), dt.time(23, 59, 59, 999_999), None])),
    ("timestamp", pa.array([dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999), None])),
    ("timestamptz", pa.array([dt.datetime(1970, 1, 1), None, None], pa.timestamp("us", "UTC"))),
    ("numeric(38,4)", pa.array([decimal.Decimal("1." + "0" * 4), decimal.Decimal(-(10**33)), None], pa.decimal128(38, 4))),
    ("int[]", pa.array([[1, None], [], None], pa.list_(pa.int32()))),
    ("text[]", pa.array([["a,b", 'c"\\', None, "NULL"], [], None])),
    ("timestamptz[]", pa.array([[dt.datetime(2024, 1, 1)], [], None], pa.list_(pa.timestamp("us", "UTC")))),
]


@pytest.mark.parametrize(("kind", "values"), EVERY, ids=[kind for kind, _ in EVERY])
@pytest.mark.parametrize("offset", [0, 1])
def test_every_type_comes_back_bit_for_bit(db, kind, values, offset):
    db.sql(f"CREATE TABLE t (row int PRIMARY KEY, v {kind})")
    given = pa.table({"row": list(range(3)), "v": values}).slice(offset)
    db.table("t").insert(given)
    got = db.sql("SELECT v FROM t ORDER BY row").arrow()["v"].combine_chunks()
    wanted = given["v"].combine_chunks()
    assert got.to_pylist() == wanted.to_pylist()
    if kind != "text":
        assert got.type == wanted.type


def test_nulls_of_any_number_of_rows_lie_where_they_were(db):
    db.sql("CREATE TABLE t (row int PRIMARY KEY, n int8, s text)")
    rows = 70_001
    numbers = [None if at % 3 == 0 else at for at in range(rows)]
    texts = [None if at % 5 == 0 else str(at) for at in range(rows)]
    data = pa.table({"row": range(rows), "n": numbers, "s": texts})
    assert db.table("t").insert(data.slice(13, rows - 13 - 7)) == rows - 20
    got = db.sql("SELECT n, s FROM t ORDER BY row").arrow()
    assert got["n"].to_pylist() == numbers[13:-7]
    assert got["s"].to_pylist() == texts[13:-7]


@pytest.mark.parametrize(
    ("kind", "values", "wanted"),
    [
        ("int4", pa.array([1, 2], pa.uint64()), [1, 2]),
        ("int4", pa.array([1.0, 2.0]), [1, 2]),
        ("float8", pa.array([1, 2], pa.int8()), [1.0, 2.0]),
        ("numeric", pa.array([1, 2**63], pa.uint64()), [1, 2**63]),
        ("numeric", pa.array([0.5, 2.0]), [decimal.Decimal("0.5"), 2]),
        ("int4", pa.array(["1", " 2 "]), [1, 2]),
        ("text", pa.array([1, 2]), ["1", "2"]),
        ("uuid", pa.array(["00000000-0000-0000-0000-000000000001", None]), ["00000000-0000-0000-0000-000000000001", None]),
        ("uuid", pa.array([bytes(15) + b"\x01", None], pa.binary(16)), ["00000000-0000-0000-0000-000000000001", None]),
        ("jsonb", pa.array(['{"b":1, "a":2}', None]), [{"a": 2, "b": 1}, None]),
        ("mood", pa.array(["sad", "happy"]), ["sad", "happy"]),
        ("mood", pa.array(["sad", "happy"]).dictionary_encode(), ["sad", "happy"]),
        ("interval", pa.array(["1 day", "2 h"]), ["1 day", "02:00:00"]),
        ("int4range", pa.array(["[1,3)", None]), ["[1,3)", None]),
        ("timestamptz", pa.array([0, 1_500_000_000], pa.timestamp("ns", "UTC")), None),
        ("date", pa.array([0, 86_400_000], pa.date64()), [dt.date(1970, 1, 1), dt.date(1970, 1, 2)]),
        ("time", pa.array([1], pa.time32("s")), [dt.time(0, 0, 1)]),
        ("int[]", pa.array([[1, 2]], pa.list_(pa.int8(), 2)), [[1, 2]]),
        ("text", pa.array([None, None], pa.null()), [None, None]),
    ],
)
def test_other_types_are_converted(db, kind, values, wanted):
    db.sql("CREATE TYPE mood AS ENUM ('sad', 'happy')")
    db.sql(f"CREATE TABLE t (row int PRIMARY KEY, v {kind})")
    db.table("t").insert(pa.table({"row": range(len(values)), "v": values}))
    got = [row[0] for row in db.sql("SELECT v FROM t ORDER BY row").fetchall()]
    if kind == "uuid":
        got = [None if value is None else str(value) for value in got]
    if wanted is None:
        utc = dt.timezone.utc
        wanted = [dt.datetime(1970, 1, 1, tzinfo=utc), dt.datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=utc)]
    assert got == wanted


@pytest.mark.parametrize(
    ("kind", "values", "error"),
    [
        ("int2", pa.array([40_000]), onlap.DataError),
        ("int8", pa.array([2**63], pa.uint64()), onlap.DataError),
        ("int4", pa.array([1.5]), onlap.DataError),
        ("int4", pa.array(["x"]), onlap.DataError),
        ("varchar(2)", pa.array(["abc"]), onlap.DataError),
        ("text", pa.array(["a\x00b"]), onlap.DataError),
        ("json", pa.array(["{"]), onlap.DataError),
        ("bool", pa.array([dt.date(2024, 1, 1)]), onlap.DataError),
        ("time", pa.array([86_400_000_001], pa.time64("us")), onlap.Error),
        ("int4", pa.array([{"a": 1}]), onlap.Error),
        ("positive", pa.array([-1]), onlap.IntegrityError),
        ("int4 NOT NULL", pa.array([None], pa.int32()), onlap.IntegrityError),
        ("mood", pa.array(["angry"]), onlap.DataError),
        ("timestamp", pa.array([-(2**62)], pa.timestamp("us")), onlap.DataError),
        ("date", pa.array([-(2**31) + 1], pa.date32()), onlap.DataError),
        ("timestamp", pa.array([2**62], pa.timestamp("s")), onlap.Error),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_kept(db, kind, values, error):
    db.sql("CREATE TYPE mood AS ENUM ('sad', 'happy')")
    db.sql("CREATE DOMAIN positive AS int CHECK (VALUE > 0)")
    db.sql(f"CREATE TABLE t (row int PRIMARY KEY, v {kind})")
    table = db.table("t")
    with pytest.raises(error):
        table.insert(pa.table({"row": [1], "v": values}))
    assert table.count() == 0
    with pytest.raises(onlap.ProgrammingError):
        table.insert(pa.table({"row": [1], "absent": [1]}))
    with pytest.raises(TypeError, match="Arrow C stream"):
        table.insert([(1, 2)])


def test_an_insert_is_all_or_nothing(db, table):
    table.insert(pa.table(ROWS))
    batches = [pa.RecordBatch.from_pydict({"id": [10 + at]}) for at in range(3)]
    batches.append(pa.RecordBatch.from_pydict({"id": [1]}))
    with pytest.raises(onlap.IntegrityError):
        table.insert(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
    assert table.count() == 3


def test_an_exception_of_the_data_leaves_the_handle_usable(db, table):
    def batches():
        yield pa.RecordBatch.from_pydict({"id": [1]})
        raise RuntimeError("the source broke")

    schema = pa.schema({"id": pa.int64()})
    for _ in range(3):
        with pytest.raises(onlap.Error, match="the source broke"):
            table.insert(pa.RecordBatchReader.from_batches(schema, batches()))
        with pytest.raises(onlap.Error, match="the source broke"):
            table.upsert(pa.RecordBatchReader.from_batches(schema, batches()))
    assert table.count() == 0
    assert table.insert(pa.table(ROWS)) == 3


def test_upsert(db, table):
    table.insert(pa.table(ROWS))
    assert table.upsert(pl.DataFrame({"id": [2, 4], "name": ["new", "four"]})) == 2
    # Columns that are left out keep their values.
    assert db.sql("SELECT id, name, score FROM t ORDER BY id").fetchall() == [
        (1, "a", 1.5), (2, "new", None), (3, "ü", -2.0), (4, "four", None),
    ]  # fmt: skip
    assert table.upsert(pa.table({"id": [4, 5]})) == 2
    with pytest.raises(onlap.DataError):
        table.upsert(pa.table({"id": ["6", "x"]}))
    assert table.count() == 5
    db.sql("CREATE TABLE plain (a int)")
    with pytest.raises(onlap.ProgrammingError, match="no primary key"):
        db.table("plain").upsert(pa.table({"a": [1]}))
    db.sql("CREATE UNIQUE INDEX ON plain (a)")
    assert db.table("plain").upsert(pa.table({"a": [1, 1, 2]}), key=["a"]) == 3
    assert db.table("plain").count() == 2


def test_triggers_partitions_and_generated_columns_see_the_rows(db):
    db.script("""
        CREATE TABLE log (a int);
        CREATE TABLE t (a int, b int GENERATED ALWAYS AS (a * 2) STORED) PARTITION BY RANGE (a);
        CREATE TABLE low PARTITION OF t FOR VALUES FROM (0) TO (10);
        CREATE TABLE high PARTITION OF t FOR VALUES FROM (10) TO (20);
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO log VALUES (NEW.a); RETURN NEW; END $$;
        CREATE TRIGGER note AFTER INSERT ON high FOR EACH ROW EXECUTE FUNCTION note();
    """)
    assert db.table("t").insert(pa.table({"a": [1, 11]})) == 2
    assert db.sql("SELECT a, b FROM low").fetchall() == [(1, 2)]
    assert db.sql("SELECT a, b FROM high").fetchall() == [(11, 22)]
    assert db.sql("SELECT a FROM log").fetchall() == [(11,)]
    with pytest.raises(onlap.IntegrityError):
        db.table("t").insert(pa.table({"a": [2, 99]}))
    assert db.table("t").count() == 2


def test_a_long_answer_comes_as_it_is_read(db):
    db.sql("CREATE TABLE t (a int8 PRIMARY KEY, b text)")
    rows = 400_000
    db.table("t").insert(pa.table({"a": range(rows), "b": ["x" * 50] * rows}))
    result = db.sql("SELECT * FROM t")
    assert result.status is None and not result._rows.complete
    # Others go on meanwhile.
    assert db.sql("SELECT 1").scalar() == 1
    seen = 0
    for batch in pa.RecordBatchReader.from_stream(result):
        seen += batch.num_rows
    assert seen == rows
    assert result.rowcount == rows
    with pytest.raises(onlap.InterfaceError):
        result.fetchall()
    # One that is left alone gives back what it has.
    abandoned = db.sql("SELECT * FROM t")
    abandoned.close()
    assert abandoned.fetchone() is None
    del abandoned
    db.sql("DROP TABLE t")


def test_an_error_in_the_midst_of_an_answer(db):
    db.sql("CREATE TABLE t AS SELECT generate_series(1, 600000) AS a, repeat('x', 50) AS b")
    result = db.sql("SELECT b, 1 / (a - 599999) FROM t")
    with pytest.raises(onlap.DataError, match="division by zero"):
        result.arrow()
    assert db.sql("SELECT 1").scalar() == 1


@pytest.mark.parametrize("within", [False, True])
def test_a_late_value_that_arrow_has_no_place_for(db, within):
    db.sql("CREATE TABLE t (a int8 PRIMARY KEY, b text, c numeric(10, 2))")
    db.sql("INSERT INTO t SELECT g, repeat('x', 50), 1 FROM generate_series(1, 400000) g")
    db.sql("UPDATE t SET c = 'NaN' WHERE a = 400000")
    scope = db.transaction() if within else contextlib.nullcontext()
    with pytest.raises(onlap.DataError, match="no decimal of 10 digits"), scope:
        result = db.sql("SELECT * FROM t")
        assert not result._rows.complete
        result.arrow()
    # The session goes on.
    assert db.sql("SELECT count(*) FROM t").scalar() == 400_000


def test_an_answer_is_data(db):
    db.sql("CREATE TABLE a AS SELECT generate_series(1, 400000) AS x, repeat('y', 50) AS y")
    db.sql("CREATE TABLE b (x int, y text)")
    assert db.table("b").insert(db.sql("SELECT * FROM a")) == 400_000
    # Within one transaction a long answer would wait for itself.
    with pytest.raises(onlap.Error, match="own transaction"), db.transaction():
        db.table("b").insert(db.sql("SELECT * FROM a"))
    with db.transaction():
        db.table("b").insert(db.sql("SELECT * FROM a LIMIT 5"))
    assert db.table("b").count() == 400_005
