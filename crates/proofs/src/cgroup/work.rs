//! What do clients ask for, all at the same time?

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read as _, Write as _};
use std::time::Instant;

use onlap_base::rng::Rng;
use postgres::Client;

use crate::served;

/// Characters of a row's text, six bits of chance each.
const TEXT: usize = 700;
/// SQLSTATEs that a client has to expect: memory, open files, changes of all transactions together, conflicts,
/// waits, cancelled.
const EXPECTED: [&str; 7] = ["53200", "53000", "54000", "40001", "40P01", "55P03", "57014"];

/// What statements came to.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// How many succeeded.
    pub done: u64,
    /// How many failed, by kind and SQLSTATE.
    failed: BTreeMap<(&'static str, String), u64>,
}

impl Told {
    /// How many failed.
    pub fn refused(&self) -> u64 {
        self.failed.values().sum()
    }
    /// Adds those of another client.
    pub fn add(&mut self, other: &Told) {
        self.done += other.done;
        for (what, count) in &other.failed {
            *self.failed.entry(what.clone()).or_default() += count;
        }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} succeeded", self.done)?;
        for ((kind, state), count) in &self.failed {
            write!(f, ", {count} × {kind} {state}")?;
        }
        Ok(())
    }
}

fn text(rng: &mut Rng, length: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    (0..length).map(|_| char::from(LETTERS[rng.index(64)])).collect()
}

/// Fills the tables.
///
/// # Errors
/// A statement failed.
pub fn load(client: &mut Client, rows: u64) -> Result<u64, String> {
    let mut run = |sql: &str| client.batch_execute(sql).map_err(|e| format!("loading: {e:?}"));
    run("create table big (id bigint primary key, a int, b text)")?;
    run("create index by_a on big (a)")?;
    run("create table log (id bigserial primary key, of bigint, n int, b text)")?;
    let mut rng = Rng::new(7);
    for first in (0..rows).step_by(1000) {
        let row = |id| format!("({id}, {}, '{}')", (id * 7919) % 100_003, text(&mut rng, TEXT));
        let values: Vec<String> = (first..rows.min(first + 1000)).map(row).collect();
        run(&format!("insert into big values {}", values.join(",")))?;
    }
    Ok(rows)
}

fn list(rng: &mut Rng, most: u64, mut value: impl FnMut(&mut Rng) -> String) -> String {
    let count = 1 + rng.below(most);
    (0..count).map(|_| value(rng)).collect::<Vec<_>>().join(",")
}

/// Carries out a statement, or a transaction of some, drawn by chance.
fn ask(
    client: &mut Client,
    rng: &mut Rng,
    rows: u64,
    values: u64,
) -> (&'static str, Result<(), postgres::Error>) {
    let id = rng.below(rows);
    let mut run = |sql: &str| client.simple_query(sql).map(drop);
    match rng.below(13) {
        0 => {
            ("sort", run(&format!("select b, id from big order by b limit 3 offset {}", rows / 2)))
        }
        1 => (
            "join",
            run("select count(*), max(x.b) from big x join big y on x.a = y.a and x.id < y.id"),
        ),
        2 => ("group", run("select count(*) from (select b, count(*) from big group by b) g")),
        3 => ("distinct", run("select count(distinct b) from big")),
        4 | 5 => {
            let list = list(rng, values, |rng| rng.below(1 << 20).to_string());
            ("list of numbers", run(&format!("select count(*) from big where a in ({list})")))
        }
        6 => {
            let list = list(rng, values / 2, |rng| format!("'{}'", text(rng, 40)));
            ("list of texts", run(&format!("select max(id) from big where b in ({list})")))
        }
        7 => (
            "update",
            run(&format!("update big set a = a + 1 where id between {id} and {}", id + 500)),
        ),
        8 => {
            let insert = format!(
                "insert into log (of, n, b) select id, a, b from big where id between {id} and {}",
                id + 2000
            );
            (
                "transaction",
                run(&format!("begin; {insert}; delete from log where n % 7 = 0; commit")),
            )
        }
        9 => ("wide rows", run("select * from big where a > 50000 order by a limit 2000")),
        10 => ("copy out", copy_out(client, id)),
        11 => ("copy in", copy_in(client, rng)),
        _ => ("parameters", parameters(client, rng, values)),
    }
}

fn copy_out(client: &mut Client, id: u64) -> Result<(), postgres::Error> {
    let sql = format!("copy (select * from big where id >= {id} order by b limit 5000) to stdout");
    // An error of the server ends the stream as one of reading; the next statement tells whether it lives.
    let _ = client.copy_out(&sql)?.read_to_end(&mut Vec::new());
    Ok(())
}

fn copy_in(client: &mut Client, rng: &mut Rng) -> Result<(), postgres::Error> {
    let mut writer = client.copy_in("copy log (of, n, b) from stdin")?;
    for n in 0..2000 {
        // As above: an error comes from finish.
        let _ = writeln!(writer, "{}\t{n}\t{}", rng.below(1000), text(rng, TEXT));
    }
    writer.finish().map(drop)
}

/// A prepared statement with a large array and a large text.
fn parameters(client: &mut Client, rng: &mut Rng, values: u64) -> Result<(), postgres::Error> {
    let list: Vec<i32> = (0..values).map(|_| rng.below(1 << 20) as i32).collect();
    let long = text(rng, 256 << 10);
    let sql = "select count(*) from big where a = any($1) or b = $2";
    let statement = client.prepare(sql)?;
    client.query(&statement, &[&list, &long]).map(drop)
}

/// Asks one thing after the other; what became of them.
///
/// # Errors
/// The connection was lost, or an SQLSTATE that no client expects.
pub fn client(
    port: u16,
    seed: u64,
    rows: u64,
    values: u64,
    until: Instant,
) -> Result<Told, String> {
    let mut rng = Rng::new(seed);
    let mut client = served::connect(port, "postgres")?;
    let mut told = Told::default();
    loop {
        let (kind, outcome) = ask(&mut client, &mut rng, rows, values);
        match outcome {
            Ok(()) => told.done += 1,
            Err(error) => {
                let state = served::state(&error).ok_or_else(|| format!("{kind}: {error:?}"))?;
                if !EXPECTED.contains(&state) {
                    return Err(format!("{kind}: {error:?}"));
                }
                *told.failed.entry((kind, state.to_string())).or_default() += 1;
                client.batch_execute("rollback").map_err(|e| format!("rollback: {e:?}"))?;
            }
        }
        if Instant::now() >= until {
            return Ok(told);
        }
    }
}
