"""What commits changed."""

import random

import onlap
import pytest

TABLE = "CREATE TABLE parts (id int8 PRIMARY KEY, name text, n int8) WITH (history = '1 hour')"


def follow(rows, changes):
    """Carries out what is said to have changed on rows that a reader has by their keys."""
    for change in changes:
        for row in change.rows:
            if change.kind == "delete":
                assert rows.pop(row[0]) == row
            else:
                assert row[0] not in rows
                rows[row[0]] = row


def held(db):
    return {row[0]: row for row in db.table("parts").scan()}


def test_a_reader_that_follows_has_what_the_table_has(db):
    db.sql(TABLE)
    seen, rows, rng, made = db.commit, {}, random.Random(7), 0
    for _ in range(12):
        for _ in range(rng.randrange(6)):
            with db.transaction():
                for _ in range(rng.randrange(1, 60)):
                    made += 1
                    db.sql("INSERT INTO parts VALUES ($1, $2, 0)", [made, f"part {made}"])
                db.sql("DELETE FROM parts WHERE id % 11 = $1", [rng.randrange(11)])
                db.sql("UPDATE parts SET n = n + 1 WHERE id % 5 = $1", [rng.randrange(5)])
                db.sql("UPDATE parts SET id = -id WHERE id % 17 = $1", [rng.randrange(17)])
        changes = db.changes("parts", since=seen)
        # What comes later is not in it.
        db.sql("INSERT INTO parts VALUES ($1, 'later', 0)", [made + 1])
        made += 1
        follow(rows, changes)
        seen = changes.upto
    follow(rows, db.changes("parts", since=seen))
    assert rows == held(db)
    assert len(rows) > 20


def test_each_pass_reads_the_same(db):
    db.sql(TABLE)
    before = db.commit
    db.sql("INSERT INTO parts SELECT i, 'part', i FROM generate_series(1, 3000) i")
    middle = db.commit
    db.sql("DELETE FROM parts WHERE id % 3 = 0")
    first, second = db.changes("parts", since=before), db.changes("parts", since=middle)
    db.sql("DELETE FROM parts")
    for _ in range(2):
        assert [(c.kind, c.rows.rowcount) for c in first] == [("insert", 2000)]
        assert [(c.kind, c.rows.rowcount) for c in second] == [("delete", 1000)]
    nothing = db.changes("parts", since=db.commit)
    assert list(nothing) == [] and nothing.upto == db.commit


def test_what_cannot_be_told_is_refused(db):
    db.sql(TABLE)
    db.sql("CREATE TABLE plain (id int8)")
    start = db.commit
    db.sql("INSERT INTO plain VALUES (1)")
    db.sql("INSERT INTO parts VALUES (1, 'part', 1)")
    with pytest.raises(onlap.Error, match="history"):
        db.changes("plain", since=start)
    with pytest.raises(onlap.ProgrammingError):
        db.changes("absent", since=start)
    with pytest.raises(onlap.Error):
        db.changes("parts", since=-1)
    with pytest.raises(onlap.Error):
        db.changes("parts", since=db.commit + 100)
    db.sql("TRUNCATE parts")
    with pytest.raises(onlap.Error):
        db.changes("parts", since=start)
