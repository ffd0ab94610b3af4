"""What psycopg 3 sends and reads: the extended protocol in both formats, pipelines, COPY, cursors.

Prints one line per result, the same at every server.
"""

import datetime
import decimal
import uuid

import psycopg
from psycopg.rows import dict_row, namedtuple_row

connection = psycopg.connect("", prepare_threshold=2)
connection.execute(
    """create table item (id serial primary key, label text not null, price numeric(10, 2),
    made date, seen timestamptz, at timestamp, ok boolean, ratio float8, raw bytea, key uuid,
    doc json, small int2, plain int4, big int8, code varchar(5), single float4, hour time)"""
)
connection.commit()
KEY = uuid.UUID("12345678-1234-5678-1234-567812345678")
ROW = {
    "label": "a 'quoted' % \\ word",
    "price": decimal.Decimal("12.50"),
    "made": datetime.date(2024, 2, 29),
    "seen": datetime.datetime(2024, 2, 29, 12, 30, 0, 250000, datetime.timezone.utc),
    "at": datetime.datetime(1999, 12, 31, 23, 59, 59),
    "ok": True,
    "ratio": 0.1,
    "raw": b"\x00\xff'\\",
    "key": KEY,
    "doc": psycopg.types.json.Json({"a": [1, None]}),
    "small": -3,
    "plain": 70000,
    "big": 1 << 62,
    "code": "abc",
    "single": 1.5,
    "hour": datetime.time(23, 59, 1),
}
names = ", ".join(ROW)
values = ", ".join(f"%({name})s" for name in ROW)
cursor = connection.execute(f"insert into item ({names}) values ({values}) returning id, big", ROW)
print("returned", cursor.fetchone(), cursor.rowcount, cursor.statusmessage)
binary = ", ".join(f"%({name})b" for name in ROW)
connection.execute(f"insert into item ({names}) values ({binary})", ROW)
connection.execute("insert into item (label) values ('empty')")
connection.commit()
for form in (False, True):
    cursor = connection.cursor(binary=form)
    cursor.execute(f"select id, {names} from item order by id")
    print("columns", [(c.name, c.type_code, c.precision, c.scale) for c in cursor.description])
    for row in cursor:
        print("row", row)

print("prepared")
for i in range(5):
    row = connection.execute("select label, price from item where id = %s", (i,)).fetchone()
    print(row, connection.execute("select %s::int8 + 1", (i,), prepare=True).fetchone())
for i in range(4):
    connection.execute("update item set price = price + %s where id = %s", (decimal.Decimal("0.25"), 1))
print(connection.execute("select price from item where id = 1").fetchone())
connection.commit()

print("ranges")
from psycopg.types.multirange import Multirange, MultirangeInfo
from psycopg.types.range import Range, RangeInfo

for info in (RangeInfo.fetch(connection, "int4range"), MultirangeInfo.fetch(connection, "tsmultirange")):
    print(info.name, info.oid, info.array_oid, info.subtype_oid)
for binary in (False, True):
    cursor = connection.cursor(binary=binary)
    values = (Range(1, 5, "[]"), Range(decimal.Decimal("1.50"), None), Multirange([Range(1, 3), Range(7, 9)]), Range(empty=True))
    cursor.execute("select %b::int4range, %t::numrange, %b::int4multirange, %s::daterange, array[%b::int8range]", values + (Range(1, 2),))
    print(cursor.fetchone())
    cursor.execute("select lower(%b::int8range), %b::int4range @> %b::int4", (Range(5, 9), Range(1, 9), 4))
    print(cursor.fetchone())
connection.commit()

print("many")
cursor = connection.cursor()
cursor.executemany("insert into item (label, plain) values (%s, %s)", [("m", i) for i in range(20)])
print(cursor.rowcount)
cursor.executemany(
    "insert into item (label, plain) values (%s, %s) returning plain",
    [("r", i) for i in range(3)],
    returning=True,
)
returned = []
while True:
    returned.append(cursor.fetchone())
    if not cursor.nextset():
        break
print(returned)
connection.commit()

print("pipeline", psycopg.Pipeline.is_supported())
with connection.pipeline() as pipeline:
    first = connection.execute("insert into item (label) values ('p1') returning label")
    second = connection.execute("select count(*) from item where label like 'p%%'")
    pipeline.sync()
    third = connection.execute("select %s::text", ("x",))
    print(first.fetchone(), second.fetchone(), third.fetchone())
connection.commit()
try:
    with connection.pipeline():
        connection.execute("insert into item (label) values ('lost')")
        connection.execute("select 1 / 0")
        connection.execute("insert into item (label) values ('never')")
except psycopg.Error as error:
    print(type(error).__name__, error.sqlstate)
connection.rollback()
print(connection.execute("select count(*) from item where label in ('lost', 'never')").fetchone())

print("errors")
for statement in (
    "insert into item (id, label) values (1, 'again')",
    "insert into item (label) values (null)",
    "select * from nothing",
    "insert into item (label, code) values ('x', 'too long')",
    "insert into item (label, small) values ('x', 100000)",
):
    try:
        connection.execute(statement)
    except psycopg.Error as error:
        d = error.diag
        print(type(error).__name__, error.sqlstate, d.table_name, d.column_name, d.constraint_name)
    print(connection.info.transaction_status.name)
    connection.rollback()
try:
    with connection.transaction():
        connection.execute("insert into item (label) values ('outer')")
        try:
            with connection.transaction():
                connection.execute("insert into item (label) values ('inner')")
                connection.execute("select 1 / 0")
        except psycopg.errors.DivisionByZero:
            print("inner rolled back")
finally:
    query = "select label from item where label in ('inner', 'outer')"
    print(connection.execute(query).fetchall())
connection.commit()

print("copy")
connection.execute("create table line (id int4, word text, sum numeric(8, 2), day date)")
rows = [(1, "one", decimal.Decimal("1.10"), datetime.date(2000, 1, 1)), (2, None, None, None)]
with connection.cursor().copy("copy line from stdin") as copy:
    for row in rows:
        copy.write_row(row)
with connection.cursor().copy("copy line from stdin (format binary)") as copy:
    copy.set_types(["int4", "text", "numeric", "date"])
    for row in rows:
        copy.write_row(row)
with connection.cursor().copy("copy (select * from line order by id, word) to stdout") as copy:
    for row in copy.rows():
        print(row)
with connection.cursor().copy("copy (select * from line order by id) to stdout (format binary)") as copy:
    copy.set_types(["int4", "text", "numeric", "date"])
    for row in copy.rows():
        print(row)
with connection.cursor().copy("copy line to stdout (format binary)") as copy:
    print(b"".join(bytes(block) for block in copy)[:19])
connection.commit()

print("server cursor")
with connection.cursor("reader") as reader:
    reader.itersize = 7
    reader.execute("select id from item where label = %s order by id", ("m",))
    print(len(reader.fetchall()))
with connection.cursor("binary", binary=True) as reader:
    reader.execute("select plain, price from item order by id")
    print(reader.fetchmany(2), reader.fetchone())
print("rows")
with connection.cursor(row_factory=dict_row) as cursor:
    print(cursor.execute("select 1 as one, null as nothing").fetchone())
with connection.cursor(row_factory=namedtuple_row) as cursor:
    print(cursor.execute("select 'x' as letter, 2.5 as number").fetchone())
for row in connection.cursor().stream("select id from item order by id limit 3"):
    print(row)
print(connection.execute("select id from item where id = any(%s) order by id", ([1, 3],)).fetchall())
print(connection.info.encoding, connection.info.server_version // 10000)
connection.close()
