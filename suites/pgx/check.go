// pgx: types in binary and text, modes of preparing, batches and pipelines, COPY, errors in transactions, LISTEN, pools.
package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

var ctx = context.Background()

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func connect(options string) *pgx.Conn {
	conn, err := pgx.Connect(ctx, options)
	must(err)
	return conn
}

// All rows of a query.
func rows(conn interface {
	Query(context.Context, string, ...any) (pgx.Rows, error)
}, sql string, arguments ...any) (any, error) {
	found, err := conn.Query(ctx, sql, arguments...)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(found, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
	return all, err
}

func main() {
	conn := connect("")
	defer conn.Close(ctx)
	for _, sql := range []string{
		"CREATE TYPE mood AS ENUM ('sad', 'happy')", "CREATE TYPE pair AS (a int, b text)", "CREATE DOMAIN positive AS int CHECK (VALUE > 0)", "CREATE EXTENSION hstore", "CREATE EXTENSION citext",
		"CREATE TABLE t (id serial PRIMARY KEY, a int, b text, c numeric(12, 2), d timestamptz, e text[], f jsonb, g uuid)", "CREATE UNIQUE INDEX t_a ON t (a) WHERE b = 'once'",
	} {
		_, err := conn.Exec(ctx, sql)
		must(err)
	}
	types(conn)
	modes()
	scanning(conn)
	batches(conn)
	copies(conn)
	transactions(conn)
	failures(conn)
	notifications()
	pools()
}

// -- types

func types(conn *pgx.Conn) {
	for _, name := range []string{"mood", "_mood", "pair", "_pair", "positive"} {
		check("load "+name, func() (any, error) {
			loaded, err := conn.LoadType(ctx, name)
			if err != nil {
				return nil, err
			}
			conn.TypeMap().RegisterType(loaded)
			return fmt.Sprintf("%s %T", loaded.Name, loaded.Codec), nil
		})
	}
	moment := time.Date(2024, 2, 29, 23, 59, 59, 123456000, time.UTC)
	values := []struct {
		name  string
		value any
	}{
		{"bool", true}, {"int2", int16(-3)}, {"int4", int32(1 << 30)}, {"int8", int64(-1 << 63)}, {"float4", float32(0.5)}, {"float8", 1e300}, {"numeric", pgtype.Numeric{Int: big.NewInt(-12345678900), Exp: -6, Valid: true}}, {"text", "Zoë\n'\\"}, {"varchar(9)", "v"},
		{"char(5)", "ab"}, {`"char"`, "c"}, {"name", "n"}, {"bytea", []byte{0, 255}}, {"uuid", [16]byte{15: 9}}, {"date", moment.Truncate(24 * time.Hour)}, {"time", pgtype.Time{Microseconds: 3_723_000_004, Valid: true}}, {"timestamp", moment}, {"timestamptz", moment},
		{"interval", pgtype.Interval{Microseconds: -5, Days: 40, Months: 13, Valid: true}}, {"json", map[string]any{"a": 1}}, {"jsonb", []any{1, nil, "x"}}, {"inet", netip.MustParsePrefix("10.1.2.3/8")}, {"cidr", netip.MustParsePrefix("10.0.0.0/8")}, {"macaddr", "08:00:2b:01:02:03"},
		{"bit(3)", pgtype.Bits{Bytes: []byte{0xa0}, Len: 3, Valid: true}}, {"varbit", pgtype.Bits{Bytes: []byte{0x80}, Len: 1, Valid: true}}, {"int4[]", []int32{1, -3}}, {"text[]", []string{"a", `b"`, ""}}, {"int4[]", [][]int32{{1, 2}, {3, 4}}}, {"timestamptz[]", []time.Time{moment}},
		{"uuid[]", []pgtype.UUID{{Bytes: [16]byte{1}, Valid: true}, {}}}, {"int4range", pgtype.Range[pgtype.Int4]{Lower: pgtype.Int4{Int32: 1, Valid: true}, Upper: pgtype.Int4{Int32: 5, Valid: true}, LowerType: pgtype.Inclusive, UpperType: pgtype.Exclusive, Valid: true}},
		{"tstzrange", pgtype.Range[pgtype.Timestamptz]{Upper: pgtype.Timestamptz{Time: moment, Valid: true}, LowerType: pgtype.Unbounded, UpperType: pgtype.Inclusive, Valid: true}}, {"numrange", pgtype.Range[pgtype.Numeric]{LowerType: pgtype.Empty, UpperType: pgtype.Empty, Valid: true}},
		{"int4multirange", pgtype.Multirange[pgtype.Range[pgtype.Int4]]{{Lower: pgtype.Int4{Int32: 1, Valid: true}, Upper: pgtype.Int4{Int32: 2, Valid: true}, LowerType: pgtype.Inclusive, UpperType: pgtype.Exclusive, Valid: true}}}, {"point", pgtype.Point{P: pgtype.Vec2{X: 1, Y: 2.5}, Valid: true}},
		{"box", pgtype.Box{P: [2]pgtype.Vec2{{X: 3, Y: 4}, {X: 1, Y: 2}}, Valid: true}}, {"circle", pgtype.Circle{P: pgtype.Vec2{X: 1, Y: 2}, R: 3, Valid: true}}, {"path", pgtype.Path{P: []pgtype.Vec2{{X: 1, Y: 2}, {X: 3, Y: 4}}, Closed: true, Valid: true}}, {"oid", uint32(77)}, {"xid", uint32(4)},
		{"tid", pgtype.TID{BlockNumber: 1, OffsetNumber: 2, Valid: true}}, {"mood", "happy"}, {"mood[]", []string{"sad", "happy"}}, {"pair", pgtype.CompositeFields{int32(1), "x"}}, {"positive", int32(5)}, {"hstore", pgtype.Hstore{"a": nil}}, {"citext", "Ab"}, {"jsonpath", `$."a"`},
	}
	for _, each := range values {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeExec} {
			found, err := rows(conn, fmt.Sprintf("SELECT $1::%s, $1::%s::text", each.name, each.name), mode, each.value)
			if err != nil {
				// Some values cannot be encoded before a server has told the type.
				found = told(err)
			}
			show(fmt.Sprintf("type %s, %s", each.name, mode), found)
		}
		check("null of "+each.name, func() (any, error) { return rows(conn, "SELECT $1::"+each.name, nil) })
		check("text of "+each.name, func() (any, error) {
			return rows(conn, "SELECT $1::"+each.name, pgx.QueryResultFormats{pgx.TextFormatCode}, each.value)
		})
	}
}

// -- modes

func modes() {
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		config, err := pgx.ParseConfig("default_query_exec_mode=" + mode + " statement_cache_capacity=2")
		must(err)
		conn, err := pgx.ConnectConfig(ctx, config)
		must(err)
		one := func(name, sql string, arguments ...any) {
			check(mode+" "+name, func() (any, error) { return rows(conn, sql, arguments...) })
		}
		one("values", "SELECT $1::int + 1, $2::text || 'x', $3::timestamptz, $4::bool, $5::float8", 41, "it's \\", time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC), true, 1.5)
		one("list", "SELECT n FROM generate_series(1, 9) n WHERE n = ANY($1) ORDER BY n", []int32{3, 5})
		one("named", "SELECT @a::int, @b::text", pgx.NamedArgs{"a": 1, "b": "two"})
		for n := 0; n < 4; n++ {
			one(fmt.Sprintf("again %d", n), fmt.Sprintf("SELECT %d + $1::int", n%3), n)
		}
		check(mode+" table changed", func() (any, error) {
			_, err := conn.Exec(ctx, "DROP TABLE IF EXISTS changing; CREATE TABLE changing (a int); INSERT INTO changing VALUES (1)")
			if err != nil {
				return nil, err
			}
			first, err := rows(conn, "SELECT * FROM changing WHERE a > $1", 0)
			if err != nil {
				return nil, err
			}
			_, err = conn.Exec(ctx, "ALTER TABLE changing ADD COLUMN b text DEFAULT 'b'")
			if err != nil {
				return nil, err
			}
			_, second := rows(conn, "SELECT * FROM changing WHERE a > $1", 0)
			third, err := rows(conn, "SELECT * FROM changing WHERE a > $1", 0)
			return []any{first, second != nil, third}, err
		})
		check(mode+" empty", func() (any, error) {
			tag, err := conn.Exec(ctx, "")
			return tag.String(), err
		})
		check("error in mode "+mode, func() (any, error) { return rows(conn, "SELECT 1 / $1::int", 0) })
		check(mode+" after it", func() (any, error) { return rows(conn, "SELECT $1::int", 7) })
		must(conn.Close(ctx))
	}
}

// -- rows into values

type person struct {
	Name string
	Age  *int32
	Tags []string
	More map[string]any
}

func scanning(conn *pgx.Conn) {
	check("structs", func() (any, error) {
		found, err := conn.Query(ctx, `SELECT 'Ada' AS name, 36 AS age, ARRAY['x', 'y'] AS tags, '{"k": [1]}'::jsonb AS more UNION ALL SELECT 'Bea', NULL, '{}', NULL`)
		if err != nil {
			return nil, err
		}
		people, err := pgx.CollectRows(found, pgx.RowToStructByName[person])
		if err != nil {
			return nil, err
		}
		return fmt.Sprint(len(people), people[0].Name, *people[0].Age, people[0].Tags, people[0].More, people[1].Age == nil, people[1].Tags), nil
	})
	check("fields", func() (any, error) {
		found, err := conn.Query(ctx, "SELECT id, a, b, c, d, e, f, g, 1 AS one, now(), 'x', NULL, ROW(1, 'a'), '{1}'::int[] FROM t LIMIT 0")
		if err != nil {
			return nil, err
		}
		defer found.Close()
		var text []string
		for _, each := range found.FieldDescriptions() {
			text = append(text, fmt.Sprintf("%s %d %d %d %d %v", each.Name, each.DataTypeOID, each.DataTypeSize, each.TypeModifier, each.TableAttributeNumber, each.TableOID != 0))
		}
		return strings.Join(text, ", "), nil
	})
	check("description", func() (any, error) {
		described, err := conn.Prepare(ctx, "described", "INSERT INTO t (a, b, d) VALUES ($1, $2, $3) RETURNING id")
		if err != nil {
			return nil, err
		}
		return fmt.Sprint(described.ParamOIDs, len(described.Fields)), nil
	})
	check("no rows", func() (any, error) {
		var n int
		err := conn.QueryRow(ctx, "SELECT 1 WHERE false").Scan(&n)
		return errors.Is(err, pgx.ErrNoRows), nil
	})
	check("large values", func() (any, error) {
		var n, m int
		var back string
		err := conn.QueryRow(ctx, "SELECT length($1), octet_length($2::bytea), $3::text", strings.Repeat("ä", 2_000_000), make([]byte, 5_000_000), strings.Repeat("x", 3_000_000)).Scan(&n, &m, &back)
		return []any{n, m, len(back)}, err
	})
	check("many rows", func() (any, error) {
		found, err := conn.Query(ctx, "SELECT g, repeat('x', g % 50) FROM generate_series(1, 20000) g")
		if err != nil {
			return nil, err
		}
		var sum, length int
		var g int
		var text string
		tag, err := pgx.ForEachRow(found, []any{&g, &text}, func() error { sum += g; length += len(text); return nil })
		return []any{sum, length, tag.String()}, err
	})
	check("rows closed early", func() (any, error) {
		found, err := conn.Query(ctx, "SELECT g FROM generate_series(1, 100000) g")
		if err != nil {
			return nil, err
		}
		found.Next()
		found.Close()
		return rows(conn, "SELECT 'next'")
	})
	check("simple script", func() (any, error) {
		results, err := conn.PgConn().Exec(ctx, "SELECT 1; SELECT 'a' WHERE false; SET work_mem = '8MB'; SELECT 2, 3").ReadAll()
		text := []any{}
		for _, result := range results {
			text = append(text, result.CommandTag.String(), len(result.Rows))
		}
		return text, err
	})
}

// -- batches and pipelines

func batches(conn *pgx.Conn) {
	check("batch", func() (any, error) {
		batch := &pgx.Batch{}
		found := []any{}
		for n := 0; n < 50; n++ {
			batch.Queue("INSERT INTO t (a, b) VALUES ($1, $2)", n, fmt.Sprint("b", n)).Exec(func(tag pgconn.CommandTag) error { found = append(found, tag.RowsAffected()); return nil })
		}
		batch.Queue("SELECT count(*), sum(a) FROM t").QueryRow(func(row pgx.Row) error {
			var count, sum int
			err := row.Scan(&count, &sum)
			found = append(found, count, sum)
			return err
		})
		batch.Queue("UPDATE t SET a = a + 1 WHERE a < $1 RETURNING a", 3).Query(func(returned pgx.Rows) error {
			for returned.Next() {
				values, err := returned.Values()
				if err != nil {
					return err
				}
				found = append(found, values)
			}
			return returned.Err()
		})
		err := conn.SendBatch(ctx, batch).Close()
		return found[50:], err
	})
	check("error in a batch", func() (any, error) {
		batch := &pgx.Batch{}
		batch.Queue("INSERT INTO t (a, b) VALUES (1000, 'gone')")
		batch.Queue("SELECT 1 / $1::int", 0)
		batch.Queue("INSERT INTO t (a, b) VALUES (1001, 'gone')")
		return nil, conn.SendBatch(ctx, batch).Close()
	})
	check("after it", func() (any, error) { return rows(conn, "SELECT count(*) FROM t WHERE b = 'gone'") })
	check("pipeline", func() (any, error) {
		pipeline := conn.PgConn().StartPipeline(ctx)
		pipeline.SendPrepare("p1", "SELECT $1::int + 1", nil)
		pipeline.SendQueryPrepared("p1", [][]byte{[]byte("5")}, nil, nil)
		must(pipeline.Sync())
		pipeline.SendQueryParams("SELECT nothing", nil, nil, nil, nil)
		pipeline.SendQueryParams("SELECT 'not reached'", nil, nil, nil, nil)
		must(pipeline.Sync())
		pipeline.SendQueryParams("SELECT 'reached'", nil, nil, nil, nil)
		must(pipeline.Sync())
		found := []any{}
		for syncs := 0; syncs < 3; {
			results, err := pipeline.GetResults()
			switch result := results.(type) {
			case *pgconn.StatementDescription:
				found = append(found, "description")
			case *pgconn.ResultReader:
				read := result.Read()
				for _, row := range read.Rows {
					found = append(found, string(row[0]))
				}
			case *pgconn.PipelineSync:
				syncs++
				found = append(found, "sync")
			}
			if err != nil {
				found = append(found, told(err))
			}
		}
		return found, pipeline.Close()
	})
}

// -- COPY

func copies(conn *pgx.Conn) {
	check("copy", func() (any, error) {
		many := 2000
		if os.Getenv("LONG") != "" {
			many = 200_000
		}
		return conn.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a", "b", "c", "d", "e", "f", "g"}, pgx.CopyFromSlice(many, func(n int) ([]any, error) {
			return []any{n, "copy", pgtype.Numeric{Int: big.NewInt(int64(n)), Exp: -2, Valid: true}, time.Unix(int64(n), 0), []string{"x", fmt.Sprint(n)}, map[string]any{"n": n}, [16]byte{1, 2}}, nil
		}))
	})
	check("copied", func() (any, error) {
		return rows(conn, "SELECT a, c::text, d, e, f, g FROM t WHERE b = 'copy' ORDER BY a LIMIT 3")
	})
	check("error of a copied value", func() (any, error) {
		return conn.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"id", "b"}, pgx.CopyFromRows([][]any{{9_000_001, "fine"}, {1, "twice"}}))
	})
	check("error of the source", func() (any, error) {
		return conn.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"b"}, pgx.CopyFromSlice(3, func(n int) ([]any, error) {
			if n == 2 {
				return nil, errors.New("no more")
			}
			return []any{"gone"}, nil
		}))
	})
	check("error of a table", func() (any, error) {
		return conn.CopyFrom(ctx, pgx.Identifier{"nowhere"}, []string{"b"}, pgx.CopyFromRows([][]any{{"x"}}))
	})
	check("copy out", func() (any, error) {
		var text strings.Builder
		tag, err := conn.PgConn().CopyTo(ctx, &text, "COPY (SELECT a, b, e FROM t WHERE b = 'copy' ORDER BY a LIMIT 3) TO STDOUT WITH (FORMAT csv, HEADER)")
		return []any{tag.String(), text.String()}, err
	})
	check("copy in text", func() (any, error) {
		tag, err := conn.PgConn().CopyFrom(ctx, strings.NewReader("1\tcsv\n2\t\\N\n"), "COPY t (a, b) FROM STDIN")
		return tag.String(), err
	})
	check("after copies", func() (any, error) { return rows(conn, "SELECT count(*) FROM t WHERE b IN ('gone', 'fine')") })
}

// -- transactions

func transactions(conn *pgx.Conn) {
	check("nested", func() (any, error) {
		return nil, pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO t (b) VALUES ('outer')"); err != nil {
				return err
			}
			err := pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error {
				if _, err := inner.Exec(ctx, "INSERT INTO t (b) VALUES ('inner')"); err != nil {
					return err
				}
				_, err := inner.Exec(ctx, "SELECT 1 / 0")
				return err
			})
			show("of the inner", told(err))
			found, err := rows(tx, "SELECT b FROM t WHERE b IN ('outer', 'inner') ORDER BY 1")
			show("within", found)
			return err
		})
	})
	check("error of an aborted transaction", func() (any, error) {
		tx, err := conn.Begin(ctx)
		must(err)
		defer tx.Rollback(ctx)
		_, err = tx.Exec(ctx, "INSERT INTO nowhere VALUES (1)")
		show("first", told(err))
		show("status", string(conn.PgConn().TxStatus()))
		return rows(tx, "SELECT 1")
	})
	check("commit of an aborted transaction", func() (any, error) {
		tx, err := conn.Begin(ctx)
		must(err)
		_, _ = tx.Exec(ctx, "SELECT 1 / 0")
		return errors.Is(tx.Commit(ctx), pgx.ErrTxCommitRollback), nil
	})
	for _, level := range []pgx.TxIsoLevel{pgx.ReadUncommitted, pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		check("level "+string(level), func() (any, error) {
			tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: level, AccessMode: pgx.ReadOnly, DeferrableMode: pgx.Deferrable})
			must(err)
			defer tx.Rollback(ctx)
			found, err := rows(tx, "SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only'), current_setting('transaction_deferrable')")
			if err != nil {
				return nil, err
			}
			_, err = tx.Exec(ctx, "DELETE FROM t")
			return []any{found, told(err)}, nil
		})
	}
	check("error of a repeatable read", func() (any, error) {
		other := connect("")
		defer other.Close(ctx)
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		must(err)
		defer tx.Rollback(ctx)
		_, err = rows(tx, "SELECT count(*) FROM t")
		must(err)
		_, err = other.Exec(ctx, "UPDATE t SET c = 1 WHERE id = 1")
		must(err)
		_, err = tx.Exec(ctx, "UPDATE t SET c = 2 WHERE id = 1")
		return nil, err
	})
	check("cursor", func() (any, error) {
		tx, err := conn.Begin(ctx)
		must(err)
		defer tx.Rollback(ctx)
		_, err = tx.Exec(ctx, "DECLARE c SCROLL CURSOR FOR SELECT g FROM generate_series(1, 10) g")
		must(err)
		first, err := rows(tx, "FETCH 3 FROM c")
		must(err)
		last, err := rows(tx, "FETCH LAST FROM c")
		must(err)
		back, err := rows(tx, "FETCH BACKWARD 2 FROM c")
		return []any{first, last, back}, err
	})
}

// -- errors

func failures(conn *pgx.Conn) {
	statements := [][2]string{
		{"syntax", "SELEC"}, {"table", "SELECT * FROM nowhere"}, {"column", "SELECT x FROM t"}, {"function", "SELECT nothing(1)"}, {"unique", "INSERT INTO t (id) VALUES (1)"}, {"partial unique", "INSERT INTO t (a, b) VALUES (1, 'once'), (1, 'once')"}, {"null", "INSERT INTO t (id) VALUES (NULL)"},
		{"domain", "SELECT (-1)::positive"}, {"enum", "SELECT 'angry'::mood"}, {"json", "SELECT '{'::json"}, {"numeric", "INSERT INTO t (c) VALUES (1e11)"}, {"parameters", "SELECT $1 + $2"}, {"ambiguous", "SELECT a FROM t x, t y"}, {"statement", "SELECT 1; SELECT 2"},
	}
	for _, each := range statements {
		check("error "+each[0], func() (any, error) { return rows(conn, each[1]) })
	}
	check("whole error", func() (any, error) {
		_, err := conn.Exec(ctx, "INSERT INTO t (id, b) VALUES ($1, 'x')", 1)
		var e *pgconn.PgError
		if !errors.As(err, &e) {
			return nil, err
		}
		return []any{e.Severity, e.Code, e.Message, e.Detail, e.Hint, e.Position, e.SchemaName, e.TableName, e.ColumnName, e.DataTypeName, e.ConstraintName}, nil
	})
	check("position", func() (any, error) {
		_, err := conn.Exec(ctx, "SELECT 1 +\n  nothing_here")
		var e *pgconn.PgError
		errors.As(err, &e)
		return []any{e.Message, e.Position}, nil
	})
	check("a context ends", func() (any, error) {
		own := connect("")
		short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		_, err := own.Exec(short, "SELECT pg_sleep(10)")
		return []any{pgconn.Timeout(err), own.IsClosed()}, nil
	})
	check("a request to cancel", func() (any, error) {
		own := connect("")
		defer own.Close(ctx)
		time.AfterFunc(200*time.Millisecond, func() { _ = own.PgConn().CancelRequest(ctx) })
		_, err := own.Exec(ctx, "SELECT pg_sleep(10)")
		again, _ := rows(own, "SELECT 'alive'")
		return []any{told(err), again}, nil
	})
	for name, options := range map[string]string{"database": "dbname=nowhere", "user": "user=nothing_there", "option": "options=-cnothing=1"} {
		_, err := pgx.Connect(ctx, options)
		show("connection with a wrong "+name, told(err))
	}
	check("run-time parameters", func() (any, error) {
		own := connect("application_name=here search_path=pg_catalog timezone=America/Chicago options='-c statement_timeout=5s'")
		defer own.Close(ctx)
		return rows(own, "SELECT current_setting('application_name'), current_setting('search_path'), current_setting('TimeZone'), current_setting('statement_timeout'), '2024-07-01 12:00+00'::timestamptz::text")
	})
}

// -- LISTEN

func notifications() {
	listener, speaker := connect(""), connect("")
	defer listener.Close(ctx)
	defer speaker.Close(ctx)
	check("notifications", func() (any, error) {
		if _, err := listener.Exec(ctx, "LISTEN news; LISTEN \"Other\""); err != nil {
			return nil, err
		}
		err := pgx.BeginFunc(ctx, speaker, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT pg_notify('news', n::text) FROM generate_series(1, 3) n")
			if err == nil {
				_, err = tx.Exec(ctx, "NOTIFY \"Other\"")
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		heard := []any{}
		for n := 0; n < 4; n++ {
			limited, cancel := context.WithTimeout(ctx, 10*time.Second)
			one, err := listener.WaitForNotification(limited)
			cancel()
			if err != nil {
				return nil, err
			}
			heard = append(heard, one.Channel+" "+one.Payload)
		}
		return heard, nil
	})
	check("notices", func() (any, error) {
		config, err := pgx.ParseConfig("")
		must(err)
		said := []any{}
		config.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) {
			said = append(said, notice.Severity+" "+notice.Code+" "+notice.Message)
		}
		own, err := pgx.ConnectConfig(ctx, config)
		must(err)
		defer own.Close(ctx)
		_, err = own.Exec(ctx, "DO $$ BEGIN RAISE NOTICE 'hello %', 5; RAISE WARNING 'careful'; END $$; DROP TABLE IF EXISTS nothing")
		return said, err
	})
}

// -- pools

func pools() {
	config, err := pgxpool.ParseConfig("pool_max_conns=4 pool_min_conns=1")
	must(err)
	var made atomic.Int32
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		made.Add(1)
		loaded, err := conn.LoadType(ctx, "mood")
		if err == nil {
			conn.TypeMap().RegisterType(loaded)
		}
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	must(err)
	defer pool.Close()
	together := func(many int, work func(n int) error) []any {
		var wait sync.WaitGroup
		results := make([]any, many)
		for n := 0; n < many; n++ {
			n := n
			wait.Add(1)
			go func() {
				defer wait.Done()
				results[n] = "fine"
				if err := work(n); err != nil {
					results[n] = told(err)
				}
			}()
		}
		wait.Wait()
		return results
	}
	check("pool", func() (any, error) {
		results := together(200, func(n int) error {
			_, err := pool.Exec(ctx, "INSERT INTO t (a, b) VALUES ($1, 'pool')", n)
			return err
		})
		found, err := rows(pool, "SELECT count(*), sum(a) FROM t WHERE b = 'pool'")
		return []any{results[199], found, pool.Stat().TotalConns() <= 4, made.Load() <= 4}, err
	})
	check("errors in a pool", func() (any, error) {
		return together(9, func(n int) error {
			_, err := pool.Exec(ctx, "SELECT 1 / ($1::int % 3)", n)
			return err
		}), nil
	})
	check("transactions in a pool", func() (any, error) {
		results := together(40, func(n int) error {
			return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, "UPDATE t SET c = coalesce(c, 0) + 1 WHERE id = 2"); err != nil {
					return err
				}
				if n%4 == 0 {
					return errors.New("given up")
				}
				return nil
			})
		})
		found, err := rows(pool, "SELECT c::text FROM t WHERE id = 2")
		return []any{len(results), found}, err
	})
	check("a broken connection", func() (any, error) {
		held, err := pool.Acquire(ctx)
		must(err)
		other := connect("")
		defer other.Close(ctx)
		_, err = other.Exec(ctx, "SELECT pg_terminate_backend($1)", held.Conn().PgConn().PID())
		must(err)
		_, err = held.Exec(ctx, "SELECT 1")
		held.Release()
		again, _ := rows(pool, "SELECT 'alive'")
		return []any{told(err), again}, nil
	})
	check("reset", func() (any, error) {
		pool.Reset()
		return rows(pool, "SELECT 'happy'::mood")
	})
	check("queue", func() (any, error) {
		_, err := pool.Exec(ctx, "CREATE TABLE job (id int PRIMARY KEY, taken int DEFAULT 0); INSERT INTO job SELECT generate_series(1, 60)")
		must(err)
		var done atomic.Int32
		together(4, func(int) error {
			for {
				more := false
				err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
					var id int
					err := tx.QueryRow(ctx, "SELECT id FROM job WHERE taken = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED").Scan(&id)
					if errors.Is(err, pgx.ErrNoRows) {
						return nil
					} else if err != nil {
						return err
					}
					more = true
					done.Add(1)
					_, err = tx.Exec(ctx, "UPDATE job SET taken = taken + 1 WHERE id = $1", id)
					return err
				})
				if err != nil || !more {
					return err
				}
			}
		})
		found, err := rows(pool, "SELECT min(taken), max(taken) FROM job")
		return []any{int(done.Load()), found}, err
	})
}
