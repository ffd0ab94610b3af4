"""What psycopg 2 sends and reads: types, errors, COPY, named cursors, two sessions, cancel.

Prints one line per result, the same at every server; asserts what does not need a comparison.
"""

import datetime
import decimal
import io
import uuid

import psycopg2
import psycopg2.errorcodes
import psycopg2.extras

psycopg2.extras.register_uuid()
connection = psycopg2.connect("")
cursor = connection.cursor()
cursor.execute(
    """create table item (id serial primary key, label text not null, price numeric(10, 2),
    made date, seen timestamptz, at timestamp, ok boolean, ratio float8, raw bytea, key uuid,
    doc json, small int2, big int8)"""
)
connection.commit()

KEY = uuid.UUID("12345678-1234-5678-1234-567812345678")
ZONE = datetime.timezone.utc
ROW = (
    "a 'quoted' % \\ word",
    decimal.Decimal("12.50"),
    datetime.date(2024, 2, 29),
    datetime.datetime(2024, 2, 29, 12, 30, 0, 250000, ZONE),
    datetime.datetime(1999, 12, 31, 23, 59, 59),
    True,
    0.1,
    psycopg2.Binary(b"\x00\xff'\\"),
    KEY,
    psycopg2.extras.Json({"a": [1, None]}),
    -3,
    1 << 62,
)
INSERT = """insert into item (label, price, made, seen, at, ok, ratio, raw, key, doc, small, big)
    values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) returning id"""
cursor.execute(INSERT, ROW)
print("returned", cursor.fetchone(), cursor.rowcount, cursor.statusmessage)
cursor.execute(INSERT, ("empty",) + (None,) * 11)
connection.commit()
cursor.execute("select * from item order by id")
print("columns", [(c.name, c.type_code) for c in cursor.description])
for row in cursor.fetchall():
    print("row", [bytes(v) if isinstance(v, memoryview) else v for v in row])

print("many")
cursor.executemany("insert into item (label, small) values (%s, %s)", [("m", i) for i in range(5)])
psycopg2.extras.execute_values(
    cursor, "insert into item (label, big) values %s", [("v", i) for i in range(7)], page_size=3
)
psycopg2.extras.execute_batch(
    cursor, "update item set price = %s where small = %s", [(i * 2, i) for i in range(5)]
)
cursor.execute("select label, count(*), sum(price), min(big) from item group by label order by label")
print(cursor.fetchall())
connection.commit()

print("errors")


def fails(statement, values=None):
    """A statement that fails: what programs look at."""
    try:
        cursor.execute(statement, values)
    except psycopg2.Error as error:
        d = error.diag
        named = (d.schema_name, d.table_name, d.column_name, d.constraint_name)
        print(type(error).__name__, error.pgcode, named)
    else:
        raise AssertionError(f"{statement} does not fail")
    print(connection.get_transaction_status())
    connection.rollback()


fails("insert into item (id, label) values (1, 'again')")
fails("insert into item (label) values (null)")
fails("select * from nothing")
fails("select nothing from item")
fails("selec 1")
fails("select 1 / 0")
fails("insert into item (label, small) values ('x', 100000)")
fails("select %s::int", ("word",))
cursor.execute("create table child (id int primary key, item int references item (id), check (id > 0))")
connection.commit()
fails("insert into child values (1, 999)")
fails("insert into child values (-1, 1)")
cursor.execute("insert into child values (1, 1)")
connection.commit()
fails("delete from item where id = 1")
cursor.execute("drop table child")

print("savepoints")
cursor.execute("savepoint a")
cursor.execute("insert into item (label) values ('gone')")
cursor.execute("rollback to savepoint a")
cursor.execute("release savepoint a")
cursor.execute("select count(*) from item where label = 'gone'")
print(cursor.fetchone())
connection.commit()

print("named cursor")
with connection.cursor("reader") as reader:
    reader.itersize = 3
    reader.execute("select id from item order by id")
    print([row[0] for row in reader])
with connection.cursor("hold", withhold=True) as reader:
    reader.execute("select id, label from item order by id")
    print(reader.fetchmany(2))
    connection.commit()
    print(reader.fetchone())
connection.commit()

print("copy")
cursor.execute("create table line (id int, word text)")
cursor.copy_from(io.StringIO("1\tone\n2\t\\N\n3\tth\\tree\n"), "line")
cursor.copy_expert("copy line from stdin with (format csv)", io.StringIO('4,"fo,ur"\n5,\n'))
out = io.StringIO()
cursor.copy_to(out, "line")
print(repr(out.getvalue()), cursor.rowcount)
out = io.StringIO()
cursor.copy_expert("copy (select word from line where id > 3 order by id) to stdout csv header", out)
print(repr(out.getvalue()))
try:
    cursor.copy_from(io.StringIO("x\tone\n"), "line")
except psycopg2.Error as error:
    print(type(error).__name__, error.pgcode)
connection.rollback()

print("rows by name")
with connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as named:
    named.execute("select 1 as one, 'x' as letter, null as nothing")
    print([dict(row) for row in named])
print("levels")
connection.commit()
connection.set_session(isolation_level="SERIALIZABLE", readonly=True)
cursor.execute("show transaction isolation level")
print(cursor.fetchone())
fails("insert into item (label) values ('read only')")
connection.commit()
connection.set_session(isolation_level="DEFAULT", readonly=False, autocommit=True)
cursor.execute("prepare by_id (int) as select label from item where id = $1")
cursor.execute("execute by_id (2)")
print(cursor.fetchall())
cursor.execute("select id from item where id = any(%s) order by id", ([1, 3, 99],))
print(cursor.fetchall())
cursor.execute("select 1; select 2")
print(cursor.fetchall())
cursor.execute("select 1 where false")
print(cursor.fetchall())

print("two sessions")
other = psycopg2.connect("")
one, two = connection.cursor(), other.cursor()
connection.autocommit = False
one.execute("update item set label = 'held' where id = 1")
two.execute("set lock_timeout = 100")
try:
    two.execute("update item set label = 'waited' where id = 1")
except psycopg2.Error as error:
    print(type(error).__name__, error.pgcode)
other.rollback()
connection.rollback()
other.close()
connection.close()
