//! Do random values of each type come out of a table as they went in, in the order that PostgreSQL gives them?
//!
//! The same rows go into a table here and into one of a private PostgreSQL 15 (a Debian package); an index is there where
//! the type has one. Both are read by order, by equality and by range, here once more after the database was opened again.
//! `ONLAP_SEED` replays a run.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use onlap::{Database, Options, SyncMode};
use onlap_base::rng::Rng;
use onlap_sql::Instance;
use onlap_testkit::postgres::Postgres;
use onlap_testkit::simple::SimpleClient;
use support::{Fixture, Talk};

/// A type, whether it has indexes, and what makes a text of it.
type Case = (&'static str, bool, fn(&mut Rng) -> String);

const CASES: &[Case] = &[
    ("interval", false, interval),
    ("interval hour to second(2)", false, interval),
    ("timetz", true, timetz),
    ("timetz(2)", true, timetz),
    ("time(1)", true, |rng| clock(rng)),
    ("timestamp(2)", true, moment),
    ("timestamptz(0)", true, moment),
    ("pg_lsn", true, |rng| {
        format!("{:X}/{:X}", rng.below(3), rng.next_u64() as u32 >> rng.below(32))
    }),
    ("bit varying", true, |rng| bits(rng, 20)),
    ("bit(5)", true, |rng| bits(rng, 0)),
    ("numeric", true, any_number),
    ("numeric(60,5)", true, |rng| number(rng, 54)),
    ("numeric(8,-3)", true, |rng| number(rng, 9)),
    ("numeric(4,6)", true, |rng| format!("0.00{}", rng.below(10_000))),
    ("int2[]", true, |rng| array(rng, |rng| rng.range(-3..4).to_string())),
    ("int8[]", true, |rng| array(rng, |rng| (rng.next_u64() as i64).to_string())),
    ("text[]", true, |rng| array(rng, word)),
    ("varchar(4)[]", true, |rng| array(rng, word)),
    ("bool[]", true, |rng| array(rng, |rng| rng.pick(&["t", "f"]).to_string())),
    ("date[]", true, |rng| array(rng, |rng| format!("20{:02}-01-01", rng.below(40)))),
    ("numeric[]", false, |rng| array(rng, |rng| number(rng, 3))),
    ("float8[]", false, |rng| array(rng, |rng| rng.pick(&["0", "-0", "NaN", "1.5"]).to_string())),
    ("jsonb", false, json),
    ("name", true, word),
    ("oid", true, |rng| rng.next_u32().to_string()),
    ("\"char\"", true, |rng| rng.pick(&["a", "b", "Z", ""]).to_string()),
    ("money", true, |rng| number(rng, 4)),
    ("varchar", true, word),
    ("mood", true, |rng| rng.pick(&["sad", "ok", "happy", "new"]).to_string()),
    ("mood[]", true, |rng| array(rng, |rng| rng.pick(&["sad", "new"]).to_string())),
];

fn interval(rng: &mut Rng) -> String {
    // Few different wholes, so that there are ties.
    let months = rng.range(-2..3);
    let days = rng.range(-31..32) / 10 * 10;
    format!("{months} mons {days} days {} hours {} us", rng.range(-1..2) * 24, rng.range(-1..2))
}

fn clock(rng: &mut Rng) -> String {
    format!("{:02}:{:02}:00.{:06}", rng.below(24), rng.below(3), rng.below(1_000_000))
}

fn timetz(rng: &mut Rng) -> String {
    format!("{}{:+03}", clock(rng), rng.range(-3..4))
}

fn moment(rng: &mut Rng) -> String {
    match rng.below(20) {
        0 => "infinity".into(),
        1 => "-infinity".into(),
        _ => format!("{}-02-03 {}", 1900 + rng.below(200), clock(rng)),
    }
}

/// Up to `most` bits; five where that is 0.
fn bits(rng: &mut Rng, most: u64) -> String {
    let length = if most == 0 { 5 } else { rng.below(most + 1) };
    (0..length).map(|_| if rng.chance(0.3) { '1' } else { '0' }).collect()
}

fn number(rng: &mut Rng, digits: u64) -> String {
    let sign = if rng.chance(0.5) { "-" } else { "" };
    let whole: String = (0..=rng.below(digits)).map(|_| rng.below(10).to_string()).collect();
    match rng.below(3) {
        0 => format!("{sign}{whole}"),
        1 => format!("{sign}{whole}.{}", rng.below(1000)),
        _ => format!("{sign}{whole}.500"),
    }
}

/// A number that the engine has, or what is none.
fn any_number(rng: &mut Rng) -> String {
    match rng.below(6) {
        0 => rng.pick(&["Infinity", "-Infinity", "NaN", "0.00"]).to_string(),
        _ => number(rng, 20),
    }
}

fn word(rng: &mut Rng) -> String {
    let letters = ["a", "b", "Z", "é", " ", "\u{1}"];
    (0..rng.below(5)).map(|_| *rng.pick(&letters)).collect()
}

fn array(rng: &mut Rng, item: fn(&mut Rng) -> String) -> String {
    let one = |rng: &mut Rng| match rng.below(6) {
        0 => "NULL".to_string(),
        _ => format!("\"{}\"", item(rng)),
    };
    let row = |rng: &mut Rng, n: u64| {
        let items: Vec<String> = (0..n).map(|_| one(rng)).collect();
        format!("{{{}}}", items.join(","))
    };
    match rng.below(8) {
        0 => format!("{{{},{}}}", row(rng, 2), row(rng, 2)),
        1 => format!("[0:1]={}", row(rng, 2)),
        _ => {
            let n = rng.below(4);
            row(rng, n)
        }
    }
}

fn json(rng: &mut Rng) -> String {
    match rng.below(6) {
        0 => "null".into(),
        1 => rng.pick(&["1", "1.0", "-2e3", "1.00"]).to_string(),
        2 => format!("\"{}\"", rng.pick(&["a", "b", "é"])),
        3 => format!("[{}, true]", rng.below(3)),
        4 => format!("{{\"b\": {}, \"a\": []}}", rng.below(3)),
        _ => "[]".into(),
    }
}

const ROWS: usize = 120;

/// What is asked of a table.
fn questions(table: usize, values: &[String]) -> Vec<String> {
    let mut all = vec![
        format!("select id, v from t{table} order by v, id"),
        format!("select id from t{table} order by v desc nulls last, id limit 20"),
        format!("select count(distinct v) from t{table}"),
    ];
    for value in values.iter().take(12) {
        let value = value.replace('\'', "''");
        for op in ["=", "<", ">="] {
            all.push(format!("select id from t{table} where v {op} '{value}' order by id"));
        }
    }
    all
}

fn compare(talk: &mut Talk, client: &mut SimpleClient, asked: &[String], seed: u64) {
    for question in asked {
        let (ours, theirs) = (talk.run(question), client.run(question).expect("it answers"));
        let state = |error: &Option<(String, String)>| error.as_ref().map(|e| e.0.clone());
        assert_eq!(
            (state(&ours.error), &ours.rows),
            (state(&theirs.error), &theirs.rows),
            "ONLAP_SEED={seed}: {question}: {:?}",
            ours.error
        );
    }
}

#[test]
fn values_come_out_in_postgresqls_order() {
    let seed = std::env::var("ONLAP_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("ONLAP_SEED={seed}");
    let mut rng = Rng::new(seed);
    let postgres = Postgres::start();
    let mut client =
        SimpleClient::connect(postgres.port(), "postgres", "postgres").expect("it is there");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let open = || {
        let mut options = Options::default().sync(SyncMode::Os).memory_limit(256 << 20);
        options.tuning.memtable_bytes = Some(16 << 10);
        let db = Database::open(dir.path(), options).expect("the database opens");
        Fixture::of(Instance::open(db).expect("its catalog is whole"))
    };
    let mut asked = vec!["select enum_range(null::mood)".to_string()];
    {
        let fixture = open();
        let mut talk = fixture.session();
        let mut both = |sql: &str| {
            talk.rows(sql);
            let outcome = client.run(sql).expect("it answers");
            assert_eq!(outcome.error, None, "ONLAP_SEED={seed}: {sql}");
        };
        both("set timezone = 'UTC'");
        both("create type mood as enum ('happy', 'sad', 'ok')");
        both("alter type mood add value 'new' before 'sad'");
        for (at, (ty, indexed, make)) in CASES.iter().enumerate() {
            both(&format!("create table t{at} (id int primary key, v {ty})"));
            let mut values = Vec::new();
            for id in 0..ROWS {
                let value = make(&mut rng);
                let shown = match rng.below(15) {
                    0 => "null".to_string(),
                    _ => format!("'{}'", value.replace('\'', "''")),
                };
                // varchar(4)[] has a length; what is too long is refused by both.
                both(&format!("insert into t{at} values ({id}, {shown})"));
                values.push(value);
            }
            if *indexed {
                both(&format!("create index on t{at} (v)"));
            }
            asked.extend(questions(at, &values));
        }
        compare(&mut talk, &mut client, &asked, seed);
    }
    let fixture = open();
    let mut talk = fixture.session();
    talk.rows("set timezone = 'UTC'");
    compare(&mut talk, &mut client, &asked, seed);
}

#[test]
fn labels_keep_their_places() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let open = || {
        let options = Options::default().sync(SyncMode::Os).memory_limit(256 << 20);
        let db = Database::open(dir.path(), options).expect("the database opens");
        Fixture::of(Instance::open(db).expect("its catalog is whole"))
    };
    let labels: Vec<String> = (0..25).map(|n| format!("l{n}")).collect();
    {
        let fixture = open();
        let mut talk = fixture.session();
        talk.rows("create type steps as enum ('first', 'last')");
        talk.rows("create table t (s steps primary key)");
        for label in &labels {
            talk.rows(&format!("alter type steps add value '{label}' before 'last'"));
            talk.rows(&format!("insert into t values ('{label}')"));
        }
    }
    let fixture = open();
    let mut talk = fixture.session();
    let rows = talk.rows("select s from t order by s");
    let found: Vec<&str> = rows.iter().filter_map(|row| row[0].as_deref()).collect();
    assert_eq!(found, labels);
    for label in &labels {
        let count = talk.rows(&format!("select count(*) from t where s = '{label}'"));
        assert_eq!(count, [[Some("1".to_string())]], "{label}");
    }
}

#[test]
fn two_changes_of_a_type_lose_no_label() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create type mood as enum ('a')");
    talk.rows("begin");
    talk.rows("alter type mood add value 'b'");
    let other = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut talk = fixture.session();
            talk.run("alter type mood add value 'c'").error
        });
        std::thread::sleep(std::time::Duration::from_millis(300));
        talk.rows("commit");
        other.join().expect("it answers")
    });
    // One that begins late sees the label of the first.
    let expected = match other {
        None => "{a,b,c}",
        Some((state, message)) => {
            assert_eq!(state, "40001", "{message}");
            "{a,b}"
        }
    };
    let all = talk.rows("select enum_range(null::mood)");
    assert_eq!(all, [[Some(expected.to_string())]]);
}

#[test]
fn details_show_values_and_not_what_is_kept() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create type mood as enum ('sad', 'happy')");
    talk.rows("create table t (a mood, b \"char\", c money, d varbit, unique (a, b, c, d))");
    talk.rows("insert into t values ('happy', 'x', '1.5', '101')");
    let outcome = talk.run("insert into t values ('happy', 'x', '1.5', '101')");
    let expected = "Key (a, b, c, d)=(happy, x, $1.50, 101) already exists.";
    assert_eq!(outcome.detail, expected);
}
