"""Statements, parameters, values and errors."""

import datetime as dt
import decimal
import pickle
import uuid

import onlap
import pytest


def test_values_come_back_as_pythons(db):
    query = """SELECT true, 1::int2, 2, 3::int8, 1.5::float4, 2.5, 1.50::numeric(5,2), 'x', 'ab'::bytea,
        '2024-02-29'::date, '12:30:00.5'::time, '2024-02-29 12:30:00.000001'::timestamp,
        '2024-02-29 12:30:00+02'::timestamptz, '00112233-4455-6677-8899-aabbccddeeff'::uuid,
        '{"a": [1]}'::json, '{"b": null}'::jsonb, ARRAY[1, NULL, 3], ARRAY['a b', 'c"'], NULL,
        ARRAY['00112233-4455-6677-8899-aabbccddeeff'::uuid], '1 day'::interval, '2000-01-01'::date"""
    utc = dt.timezone.utc
    one = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
    assert db.sql(query).fetchall() == [
        (
            True, 1, 2, 3, 1.5, decimal.Decimal("2.5"), decimal.Decimal("1.50"), "x", b"ab",
            dt.date(2024, 2, 29), dt.time(12, 30, 0, 500_000), dt.datetime(2024, 2, 29, 12, 30, 0, 1),
            dt.datetime(2024, 2, 29, 10, 30, tzinfo=utc), one, {"a": [1]}, {"b": None}, [1, None, 3], ["a b", 'c"'],
            None, [one], "1 day", dt.date(2000, 1, 1),
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, -(2**31), 2**31, -(2**63), 2**63 - 1, 10**30, 1.5, float("inf"), "", "it's \\ \"x\"",
        "ü€𝄞", b"", b"\x00\xff", decimal.Decimal("12345678901234567890.123456789"), dt.date(1, 1, 1),
        dt.date(9999, 12, 31), dt.time(23, 59, 59, 999_999), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
        dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc), uuid.UUID(int=2**128 - 1),
    ],
)  # fmt: skip
def test_parameters_come_back_the_same(db, value):
    assert db.sql("SELECT $1", [value]).scalar() == value


def test_lists_and_dicts_mean_what_the_statement_says(db):
    nested = ["a", None, 'q"\\', "NULL", "{}"]
    assert db.sql("SELECT $1::text[]", [nested]).scalar() == nested
    assert db.sql("SELECT $1::int[]", [[1, 2]]).scalar() == [1, 2]
    assert db.sql("SELECT $1::jsonb", [{"a": [1, "x"]}]).scalar() == {"a": [1, "x"]}
    assert db.sql("SELECT $1::interval", [dt.timedelta(days=1, seconds=90, microseconds=7)]).scalar() == "1 day 00:01:30.000007"
    assert db.sql("SELECT $1 + 1", [1]).scalar() == 2


def test_parameters_are_values_and_nothing_else(db):
    db.sql("CREATE TABLE t (a text)")
    hostile = "x'); DROP TABLE t; --"
    db.sql("INSERT INTO t VALUES ($1)", [hostile])
    assert db.sql("SELECT a FROM t WHERE a = $1", [hostile]).fetchall() == [(hostile,)]
    with pytest.raises(TypeError):
        db.sql("SELECT $1", "text")
    with pytest.raises(TypeError):
        db.sql("SELECT $1", [object()])


def test_what_was_done(db):
    assert db.sql("CREATE TABLE t (a int)").status == "CREATE TABLE"
    inserted = db.sql("INSERT INTO t VALUES (1), (2)")
    assert (inserted.status, inserted.rowcount, inserted.columns) == ("INSERT 0 2", 2, [])
    changed = db.sql("UPDATE t SET a = a + 1 RETURNING a")
    assert (changed.rowcount, sorted(changed.fetchall())) == (2, [(2,), (3,)])
    assert db.sql("SELECT a FROM t ORDER BY a").types == ["integer"]
    assert db.sql("").status == ""
    assert db.script("INSERT INTO t VALUES (9); DELETE FROM t WHERE a < 9") == ["INSERT 0 1", "DELETE 2"]
    assert db.sql("DROP TABLE IF EXISTS absent").notices[0].message.startswith('table "absent" does not exist')


@pytest.mark.parametrize(
    ("query", "kind", "state"),
    [
        ("SELEC 1", onlap.ProgrammingError, "42601"),
        ("SELECT * FROM absent", onlap.ProgrammingError, "42P01"),
        ("SELECT 1 / 0", onlap.DataError, "22012"),
        ("SELECT 'x'::int", onlap.DataError, "22P02"),
        ("INSERT INTO t VALUES (1)", onlap.IntegrityError, "23505"),
        ("INSERT INTO t VALUES (NULL)", onlap.IntegrityError, "23502"),
        ("BEGIN", onlap.OperationalError, "25001"),
        ("SELECT 1; SELECT 2", onlap.ProgrammingError, "42601"),
    ],
)
def test_errors_are_classes_with_a_state(db, query, kind, state):
    db.sql("CREATE TABLE t (a int PRIMARY KEY)")
    db.sql("INSERT INTO t VALUES (1)")
    with pytest.raises(kind) as caught:
        db.sql(query)
    assert caught.value.sqlstate == state
    assert isinstance(caught.value, onlap.Error)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), again.sqlstate, str(again)) == (kind, state, str(caught.value))
    # The handle goes on.
    assert db.sql("SELECT count(*) FROM t").scalar() == 1


def test_an_error_says_where_and_what(db):
    with pytest.raises(onlap.ProgrammingError) as caught:
        db.sql("SELECT absent FROM pg_class")
    assert caught.value.position == 8
    db.sql("CREATE TABLE t (a int CONSTRAINT positive CHECK (a > 0))")
    with pytest.raises(onlap.IntegrityError) as caught:
        db.sql("INSERT INTO t VALUES (-1)")
    assert (caught.value.table, caught.value.constraint, caught.value.schema) == ("t", "positive", "public")
    db.sql("CREATE TABLE u (a int PRIMARY KEY)")
    db.sql("INSERT INTO u VALUES (1)")
    with pytest.raises(onlap.IntegrityError) as caught:
        db.sql("INSERT INTO u VALUES (1)")
    assert str(caught.value).endswith("\nDETAIL: Key (a)=(1) already exists.")
    with pytest.raises(onlap.ProgrammingError) as caught:
        db.sql("SELECT 1 + 'x'::text")
    assert "HINT: No operator matches" in str(caught.value)


def test_dates_beyond_pythons_are_refused_and_arrow_has_them(db):
    result = db.sql("SELECT 'infinity'::timestamp AS t")
    with pytest.raises(OverflowError):
        result.fetchall()
    assert result.arrow().num_rows == 1
    assert "infinity" in db.sql("SELECT 'infinity'::timestamp::text").scalar()


def test_numerics_that_are_no_decimals_are_refused(db):
    db.sql("CREATE TABLE t (a numeric(6, 2))")
    db.sql("INSERT INTO t VALUES (1234.56), (NULL), (-0.01)")
    assert [row[0] for row in db.sql("SELECT a FROM t").fetchall()] == [
        decimal.Decimal("1234.56"), None, decimal.Decimal("-0.01"),
    ]  # fmt: skip
    assert str(db.sql("SELECT a FROM t").arrow().schema.field(0).type) == "decimal128(6, 2)"
    with pytest.raises(onlap.DataError):
        db.sql("SELECT 'NaN'::numeric(6, 2)").fetchall()
    assert db.sql("SELECT 'NaN'::numeric").scalar().is_nan()
    with pytest.raises(onlap.NotSupportedError):
        db.sql("SELECT ARRAY[[1, 2], [3, 4]]").fetchall()
