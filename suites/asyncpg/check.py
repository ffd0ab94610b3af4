"""asyncpg: pools, prepared statements, binary values of all types, COPY, cursors, notices, cancelling."""

import asyncio
import datetime as dt
import decimal
import io
import ipaddress
import os
import uuid

import asyncpg

from checks import check_async as check
from checks import show

D = decimal.Decimal
TYPES = {
    "bool": True, "int2": -3, "int4": 2**31 - 1, "int8": -(2**63), "float4": 0.5, "float8": 1e300, "numeric": D("-12345.678900"), "text": "Zoë\n\t'\\", "varchar(9)": "v", "char(5)": "ab   ", "bytea": b"\x00\xff", "uuid": uuid.UUID(int=9),
    "date": dt.date(2024, 2, 29), "time": dt.time(1, 2, 3, 4), "timetz": dt.time(1, 2, 3, tzinfo=dt.timezone(dt.timedelta(hours=2))), "timestamp": dt.datetime(1999, 12, 31, 23, 59, 59, 999999), "timestamptz": dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc),
    "interval": dt.timedelta(days=40, seconds=7, microseconds=5), "json": '{"a": 1}', "jsonb": '{"a": [1, null]}', "inet": ipaddress.ip_interface("10.1.2.3/8"), "cidr": ipaddress.ip_network("10.0.0.0/8"), "macaddr": "08:00:2b:01:02:03", "bit(3)": asyncpg.BitString("101"),
    "varbit": asyncpg.BitString("1"), "int4[]": [1, None, 3], "text[]": ["a", 'b"', None], "int4[][]": [[1, 2], [3, 4]], "timestamptz[]": [dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)], "numeric[]": [D("1.5")], "uuid[]": [uuid.UUID(int=1)],
    "int4range": asyncpg.Range(1, 5), "tstzrange": asyncpg.Range(None, dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc), upper_inc=True), "numrange": asyncpg.Range(empty=True), "int4multirange": [asyncpg.Range(1, 2), asyncpg.Range(5, 8)], "point": asyncpg.Point(1, 2.5),
    "box": asyncpg.Box((3, 4), (1, 2)), "oid": 77, "name": "n", '"char"': b"c", "money": "$1.00", "mood": "happy", "pair": (1, "x"), "pair[]": [(1, "x"), None], "positive": 5, "xid": 4, "tid": (1, 2), "regclass": None, "jsonpath": '$."a"', "hstore": None, "void": None,
}


async def fails(name, awaitable):
    async def run():
        return await awaitable
    await check(f"error {name}", run)


async def main():
    connection = await asyncpg.connect()
    await connection.execute("CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TYPE pair AS (a int, b text); CREATE DOMAIN positive AS int CHECK (VALUE > 0)")
    for name, value in TYPES.items():
        if name in ("void", "hstore"):
            continue
        await check(f"type {name}", lambda: connection.fetchval(f"SELECT $1::{name}", value))
        await check(f"null of {name}", lambda: connection.fetchval(f"SELECT $1::{name}", None))
    await connection.execute("CREATE TABLE t (id serial PRIMARY KEY, a int, b text, c numeric, d timestamptz DEFAULT '2024-01-01 00:00+00', e text[], f jsonb)")
    await prepared(connection)
    await copies(connection)
    await transactions(connection)
    await errors(connection)
    await introspection(connection)
    await notifications(connection)
    await connection.close()
    await pools()


async def prepared(connection):
    statement = await connection.prepare("SELECT id, a, b FROM t WHERE a = $1 OR b = any($2::text[]) ORDER BY id")
    show("parameters", [p.name for p in statement.get_parameters()])
    show("attributes", [(a.name, a.type.name, a.type.kind, a.type.schema) for a in statement.get_attributes()])
    await check("executemany", lambda: connection.executemany("INSERT INTO t (a, b, c, e) VALUES ($1, $2, $3, $4)", [(n, f"b{n}", D(n) / 4, [str(n), None]) for n in range(50)]))
    await check("prepared", lambda: statement.fetch(3, ["b7", "b8"]))
    await check("fetchmany", lambda: connection.fetchmany("INSERT INTO t (a) VALUES ($1) RETURNING id, a", [(100,), (101,)]))
    await check("fetchrow", lambda: connection.fetchrow("SELECT * FROM t WHERE id = 5"))
    await check("tag", lambda: connection.execute("UPDATE t SET a = a + 1 WHERE id < 4"))
    await check("script", lambda: connection.execute("INSERT INTO t (a) VALUES (1); DELETE FROM t WHERE a = 101"))
    await check("explain", lambda: statement_explains(statement))
    await check("changed table", lambda: changed(connection))
    await check("many parameters", lambda: connection.fetchval(f"SELECT sum(n) FROM (VALUES {', '.join(f'(${n}::int)' for n in range(1, 2001))}) v (n)", *range(2000)))
    await check("large value", lambda: connection.fetchval("SELECT length($1::text)", "x" * 3_000_000))
    await check("many rows", lambda: many(connection))
    await check("statusmsg", lambda: status(connection))


async def statement_explains(statement):
    return bool(await statement.explain(3, [], analyze=True))


async def changed(connection):
    await connection.fetch("SELECT * FROM t WHERE id = $1", 1)
    await connection.execute("ALTER TABLE t ADD COLUMN g int DEFAULT 3")
    return await connection.fetch("SELECT * FROM t WHERE id = $1", 1)


async def many(connection):
    rows = await connection.fetch("SELECT g, repeat('x', 10) FROM generate_series(1, 20000) g")
    return len(rows), sum(row[0] for row in rows)


async def status(connection):
    statement = await connection.prepare("SELECT 1")
    await statement.fetch()
    return statement.get_statusmsg(), connection.get_server_version().major, connection.get_settings().client_encoding


async def copies(connection):
    records = [(n, f"c{n}", D(n), [f"x{n}"]) for n in range(1000)]
    await check("copy records", lambda: connection.copy_records_to_table("t", records=records, columns=["a", "b", "c", "e"]))

    async def out(**options):
        into = io.BytesIO()
        tag = await connection.copy_from_query("SELECT a, b, c, e FROM t WHERE b LIKE 'c99%' ORDER BY a", output=into, **options)
        return tag, into.getvalue()

    await check("copy out text", out)
    await check("copy out csv", lambda: out(format="csv", header=True, delimiter=";"))
    await check("copy out binary", lambda: out(format="binary"))
    await check("copy in csv", lambda: connection.copy_to_table("t", source=io.BytesIO(b'a;b\n1;"x;""y"\n2;\n'), columns=["a", "b"], format="csv", delimiter=";", header=True))
    await check("copied", lambda: connection.fetch("SELECT a, b FROM t ORDER BY id DESC LIMIT 3"))
    await fails("copy", connection.copy_to_table("t", source=io.BytesIO(b"x\n"), columns=["a"]))
    await fails("copy of a wrong value", connection.copy_records_to_table("t", records=[("x",)], columns=["a"]))
    await check("copy where", lambda: connection.copy_records_to_table("t", records=[(1, "w"), (2, "w")], columns=["a", "b"], where="a > 1"))

    async def table():
        into = io.BytesIO()
        return await connection.copy_from_table("t", output=into, columns=["id"]), len(into.getvalue())
    await check("copy a table", table)


async def transactions(connection):
    async def cursor():
        found = []
        async with connection.transaction():
            async for row in connection.cursor("SELECT id FROM t ORDER BY id", prefetch=10):
                found.append(row[0])
                if len(found) == 25:
                    break
            each = await connection.cursor("SELECT id FROM t WHERE id > $1 ORDER BY id", 10)
            found += [await each.forward(3), (await each.fetchrow())[0], [r[0] for r in await each.fetch(2)]]
        return found

    async def nested():
        async with connection.transaction(isolation="serializable", readonly=False, deferrable=True):
            await connection.execute("DELETE FROM t WHERE id = 6")
            try:
                async with connection.transaction():
                    await connection.execute("DELETE FROM t WHERE id = 7")
                    await connection.execute("SELECT 1/0")
            except asyncpg.DivisionByZeroError:
                pass
        return await connection.fetch("SELECT id FROM t WHERE id IN (6, 7)")

    await check("cursor", cursor)
    await check("nested", nested)

    async def read_only():
        async with connection.transaction(readonly=True):
            await connection.execute("DELETE FROM t")
    await check("error of read only", read_only)

    async def serializable():
        other = await asyncpg.connect()
        try:
            async with connection.transaction(isolation="serializable"):
                total = await connection.fetchval("SELECT sum(a) FROM t WHERE id < 20")
                async with other.transaction(isolation="serializable"):
                    await other.fetchval("SELECT sum(a) FROM t WHERE id < 20")
                    await other.execute("UPDATE t SET a = 0 WHERE id = 12")
                await connection.execute("UPDATE t SET a = $1 WHERE id = 13", total)
        finally:
            await other.close()
    await check("error of write skew", serializable)

    async def deadlock():
        others = [await asyncpg.connect() for _ in range(2)]

        async def both(each, first, second):
            try:
                async with each.transaction():
                    await each.execute("UPDATE t SET a = 1 WHERE id = $1", first)
                    await asyncio.sleep(0.3)
                    await each.execute("UPDATE t SET a = 1 WHERE id = $1", second)
                    return "done"
            except asyncpg.PostgresError as error:
                return error.sqlstate
        try:
            return sorted(await asyncio.gather(both(others[0], 20, 21), both(others[1], 21, 20)))
        finally:
            for each in others:
                await each.close()
    await check("deadlock", deadlock)


async def errors(connection):
    for name, statement in {"syntax": "SELEC", "table": "SELECT * FROM nowhere", "column": "SELECT x FROM t", "function": "SELECT nothing(1)", "zero": "SELECT 1/0", "value": "SELECT 'x'::int", "unique": "INSERT INTO t (id) VALUES (1)", "null": "INSERT INTO t (id) VALUES (NULL)",
                            "domain": "SELECT (-1)::positive", "json": "SELECT '{'::json", "twice": "CREATE TABLE t ()", "range": "SELECT int4range(5, 1)", "length": "SELECT 'abc'::varchar(2)::char(1)::bit(3)", "encoding": r"SELECT '\xff'::bytea::text::int"}.items():
        await fails(name, connection.execute(statement))

    async def told():
        try:
            await connection.execute("INSERT INTO t (id) VALUES (1)")
        except asyncpg.UniqueViolationError as error:
            return {key: value for key, value in error.as_dict().items() if not key.startswith("server_source")}
    await check("fields of an error", told)
    await fails("too few arguments", connection.fetch("SELECT $1::int"))
    await fails("a wrong argument", connection.fetch("SELECT $1::int", "x"))
    await fails("timeout", connection.fetch("SELECT pg_sleep(5)", timeout=0.2))
    await check("after the timeout", lambda: connection.fetchval("SELECT 1"))

    async def cancelled():
        task = asyncio.ensure_future(connection.fetch("SELECT pg_sleep(5)"))
        await asyncio.sleep(0.2)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled", await connection.fetchval("SELECT 2")
    await check("cancel", cancelled)
    await fails("statement_timeout", connection.execute("SET statement_timeout = 100; SELECT pg_sleep(3)"))
    await connection.execute("RESET statement_timeout")
    await fails("a password", asyncpg.connect(user="nobody_there"))
    await fails("a database", asyncpg.connect(database="nowhere"))


async def introspection(connection):
    await check("extension types", lambda: connection.execute("CREATE EXTENSION hstore"))
    await check("builtin codec", lambda: connection.set_builtin_type_codec("hstore", codec_name="pg_contrib.hstore"))
    await check("hstore", lambda: connection.fetchval("SELECT 'a=>1,b=>NULL'::hstore"))
    await check("json codec", lambda: connection.set_type_codec("jsonb", encoder=str, decoder=lambda text: ("decoded", text), schema="pg_catalog"))
    await check("decoded", lambda: connection.fetchval("SELECT '[1]'::jsonb"))
    await check("reload", lambda: connection.reload_schema_state())
    await check("records", lambda: connection.fetch("SELECT t, ROW(1, 'x'::text), ARRAY[ROW(1, 'y')::pair] FROM (SELECT id, b FROM t ORDER BY id LIMIT 1) t"))
    await check("reset", lambda: connection.reset())


async def notifications(connection):
    heard, said, other = asyncio.Queue(), [], await asyncpg.connect()
    await connection.add_listener("news", lambda _c, _pid, channel, payload: heard.put_nowait((channel, payload)))
    connection.add_log_listener(lambda _c, message: said.append((message.severity, message.sqlstate, message.message)))

    async def hear():
        await other.execute("NOTIFY news, 'one'")
        async with other.transaction():
            await other.execute("SELECT pg_notify('news', 'two')")
            await other.execute("NOTIFY news, 'two'")
        return [await asyncio.wait_for(heard.get(), 10) for _ in range(2)], heard.qsize()
    await check("notifications", hear)

    async def notices():
        await connection.execute("DO $$ BEGIN RAISE NOTICE 'hello %', 5; RAISE WARNING 'careful'; END $$; DROP TABLE IF EXISTS nothing")
        await asyncio.sleep(0.1)
        return said
    await check("notices", notices)
    await check("advisory locks", lambda: locks(connection, other))

    async def ended():
        pid = connection.get_server_pid()
        done = await other.fetchval("SELECT pg_terminate_backend($1)", pid)
        await asyncio.sleep(0.3)
        return done, connection.is_closed()
    await other.close()
    another = await asyncpg.connect()
    connection, other = another, await asyncpg.connect()
    await check("ended", ended)
    await other.close()


async def locks(connection, other):
    return [await connection.fetchval("SELECT pg_try_advisory_lock(7)"), await other.fetchval("SELECT pg_try_advisory_lock(7)"), await connection.fetchval("SELECT pg_advisory_unlock(7)"), await other.fetchval("SELECT pg_try_advisory_lock(7)")]


async def pools():
    async with asyncpg.create_pool(min_size=2, max_size=5, max_queries=50, setup=lambda c: c.execute("SET application_name = 'pooled'")) as pool:
        async def work(n):
            async with pool.acquire() as connection, connection.transaction():
                await connection.execute("INSERT INTO t (a, b) VALUES ($1, 'pool')", n)
                return await connection.fetchval("SELECT $1::int * 2", n)

        async def run():
            done = await asyncio.gather(*(work(n) for n in range(1000 if os.environ["LONG"] else 200)))
            return sum(done), await pool.fetchval("SELECT count(*) FROM t WHERE b = 'pool'"), pool.get_max_size()

        async def broken():
            results = await asyncio.gather(*(pool.fetchval("SELECT 1 / ($1::int % 3)", n) for n in range(12)), return_exceptions=True)
            return [getattr(result, "sqlstate", result) for result in results]

        async def reset():
            async with pool.acquire() as connection:
                await connection.execute("SET search_path = nowhere; CREATE TEMP TABLE own (a int); LISTEN x")
            async with pool.acquire() as connection:
                return await connection.fetchval("SHOW search_path")

        async def queue():
            """Takes jobs with SKIP LOCKED; each is taken once."""
            await pool.execute("CREATE TABLE job (id int PRIMARY KEY, taken int DEFAULT 0)")
            await pool.execute("INSERT INTO job SELECT generate_series(1, 60)")

            async def worker():
                mine = 0
                while True:
                    async with pool.acquire() as connection, connection.transaction():
                        job = await connection.fetchval("SELECT id FROM job WHERE taken = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED")
                        if job is None:
                            return mine
                        await connection.execute("UPDATE job SET taken = taken + 1 WHERE id = $1", job)
                        mine += 1
            done = await asyncio.gather(*(worker() for _ in range(4)))
            return sum(done), await pool.fetchrow("SELECT min(taken), max(taken) FROM job")
        await check("pool", run)
        await check("errors in a pool", broken)
        await check("a pool resets", reset)
        await check("queue", queue)


asyncio.run(main())
