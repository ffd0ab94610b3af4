"""What clients of a pool in transaction mode do; each line is what came of it."""

import threading
import time

import psycopg2
from psycopg2 import errors


def connect(**more):
    connection = psycopg2.connect("", **more)
    connection.autocommit = True
    return connection


def ask(connection, sql, values=None):
    with connection.cursor() as cursor:
        try:
            cursor.execute(sql, values)
            rows = cursor.fetchall() if cursor.description else None
            return cursor.statusmessage, rows
        except psycopg2.Error as error:
            return error.pgcode, error.diag.message_primary


one, two, three = connect(), connect(), connect(application_name="third")
print(ask(one, "drop table if exists pooled"))
print(ask(one, "create table pooled (id int primary key, who text)"))

# Settings of one client's session are not another's: each statement may have another session.
print(ask(one, "set search_path = pg_catalog, public"))
for client in (one, two, three):
    print(ask(client, "show search_path"))
print(ask(three, "show application_name"))
print(ask(one, "begin"), ask(one, "set local work_mem = '5MB'"), ask(one, "show work_mem"))
print(ask(one, "commit"), ask(two, "show work_mem"))

# Two clients within transactions hold both sessions; the third waits for one.
print(ask(one, "begin"), ask(one, "insert into pooled values (1, 'one')"))
print(ask(two, "begin"), ask(two, "insert into pooled values (2, 'two')"))
waited = []


def third():
    began = time.monotonic()
    waited.append(ask(three, "select count(*) from pooled"))
    waited.append(time.monotonic() - began > 0.2)


thread = threading.Thread(target=third)
thread.start()
time.sleep(0.3)
print(ask(one, "commit"))
thread.join()
print(waited)
print(ask(two, "rollback"))
print(ask(three, "select * from pooled order by id"))

# What a session has made of its own is gone with the transaction, as soon as the pool has cleared it.
for mine, theirs in (
    ("prepare kept as select 1", "execute kept"),
    ("create temporary table passing (id int)", "select count(*) from pg_class where relname = 'passing'"),
    ("listen news", "select count(*) from pg_listening_channels()"),
    ("select pg_advisory_lock(7)", "select pg_try_advisory_lock(7)"),
    ("declare c cursor with hold for select 1", "fetch 1 from c"),
    ("set statement_timeout = 1", "show statement_timeout"),
):
    print(ask(one, mine))
    time.sleep(0.3)
    print(ask(two, theirs))

# Errors leave a session that others can use.
print(ask(one, "begin"), ask(one, "select 1 / 0"), ask(one, "select 1"), ask(one, "rollback"))
print(ask(two, "select 'well'"))

# A client that goes away within a transaction takes its rows along.
lost = connect()
print(ask(lost, "begin"), ask(lost, "insert into pooled values (3, 'lost')"))
lost.close()
time.sleep(0.2)
print(ask(one, "select count(*) from pooled where id = 3"))

# A cancel goes through the pool to the session that is at work.
timer = threading.Timer(0.3, two.cancel)
timer.start()
began = time.monotonic()
print(ask(two, "select pg_sleep(30)"), time.monotonic() - began < 20)
print(ask(two, "select 'again'"))
with one.cursor() as cursor:
    cursor.copy_expert("copy pooled to stdout", open("/dev/stdout", "w"))
print(ask(one, "drop table pooled"))
