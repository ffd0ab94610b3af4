//! What do indexes with several entries of a row cost, and what do they find?
//!
//! Documents of about 1 KB with three indexes of gin: of a jsonb, of an array of texts, and of the trigrams of a text. Inserts,
//! each server by itself, PostgreSQL with its pending list and without; then queries, in turn. PostgreSQL's words for both.

use std::time::Instant;

use onlap::SyncMode;
use onlap_base::{Result, Rng};

use super::{Memory, start};
use crate::figures::{Better, Figure};
use crate::report::median;
use crate::trials::{Stage, figure};
use crate::wire::{Kind, Server, of_client};

/// Words of documents: a few are in many, most in few.
const WORDS: u64 = 20_000;
/// Words of a text.
const TEXT_WORDS: usize = 90;
/// Documents of a statement.
const EACH: u64 = 20;
/// How often a query runs.
const TIMES: usize = 25;
const MIB: f64 = (1 << 20) as f64;

/// The indexes, with what PostgreSQL is told of its pending list.
const INDEXES: [(&str, &str); 3] =
    [("by_data", "data"), ("by_tags", "tags"), ("by_body", "body gin_trgm_ops")];

/// What came of one server.
struct Done {
    /// Documents per second.
    rate: f64,
    /// Seconds of the slowest statement of a hundred.
    p99: f64,
    /// Bytes of the three indexes, settled.
    bytes: f64,
    /// Median seconds of each query.
    queries: Vec<f64>,
}

/// Inserts, sizes and queries, over PostgreSQL's.
pub(in super::super) fn documents(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let memory = Memory::scarce(stage, 3000);
    let variants =
        [(Kind::Onlap, ""), (Kind::Postgres, ""), (Kind::Postgres, " WITH (fastupdate = off)")];
    let mut all: [Vec<Done>; 3] = Default::default();
    for run in 0..stage.plan.repeat {
        for (i, (kind, with)) in variants.into_iter().enumerate() {
            let server = start(stage, kind, &format!("documents{run}-{i}"), memory, SyncMode::Os)?;
            all[i].push(of_server(stage, &server, with)?);
            server.stop()?;
        }
    }
    let of =
        |i: usize, f: &dyn Fn(&Done) -> f64| median(&mut all[i].iter().map(f).collect::<Vec<_>>());
    let (ours, pending, direct) = (of(0, &|d| d.rate), of(1, &|d| d.rate), of(2, &|d| d.rate));
    let theirs = pending.max(direct);
    let bytes = [of(0, &|d| d.bytes), of(1, &|d| d.bytes).min(of(2, &|d| d.bytes))];
    let note = format!(
        "{ours:.0} against {pending:.0} and, without a pending list, {direct:.0} rows/s; {} rows, {}",
        stage.plan.rows,
        memory.text()
    );
    let mut figures = vec![
        figure(
            "inserts of documents with gin indexes of jsonb, array and trigrams / PostgreSQL",
            ours / theirs,
            (10.0, 30.0),
            Better::Higher,
            "x",
        )
        .noting(note),
        figure(
            "p99 of their statements",
            of(0, &|d| d.p99) * 1e3,
            (50.0, 10.0),
            Better::Lower,
            "ms",
        )
        .noting(format!("{EACH} rows each; PostgreSQL {:.1}", of(1, &|d| d.p99) * 1e3)),
        figure(
            "bytes of these indexes / PostgreSQL",
            bytes[0] / bytes[1],
            (0.6, 0.35),
            Better::Lower,
            "x",
        )
        .noting(format!("{:.1} against {:.1} MiB", bytes[0] / MIB, bytes[1] / MIB)),
    ];
    for (n, (what, _)) in QUERIES.iter().enumerate() {
        let (a, b) =
            (of(0, &|d| d.queries[n]), of(1, &|d| d.queries[n]).min(of(2, &|d| d.queries[n])));
        let (floor, target) = if n < 4 { (1.0, 3.0) } else { (1.5, 5.0) };
        let note = format!("{:.2} against {:.2} ms", a * 1e3, b * 1e3);
        let work = format!("{what}: rate / PostgreSQL");
        figures.push(figure(&work, b / a, (floor, target), Better::Higher, "x").noting(note));
    }
    Ok(figures)
}

/// What is asked: `{}` is a word of documents.
const QUERIES: [(&str, &str); 5] = [
    ("data @> a value", r#"data @> '{"owner": "{}"}'"#),
    ("tags && two tags", "tags && array['{}', '{}']"),
    ("body ILIKE a word", "body ILIKE '%{}%'"),
    ("data @@ a path", r#"data @@ '$.owner == "{}"'"#),
    (
        "two of them and a number",
        r#"data ? 'kind' AND tags @> array['{}'] AND body ILIKE '%{}%' AND id > 1000"#,
    ),
];

fn of_server(stage: &Stage<'_>, server: &Server, with: &str) -> Result<Done> {
    let mut client = server.connect()?;
    let mut run = |sql: &str| client.batch_execute(sql).map_err(|e| of_client(&e));
    run("CREATE EXTENSION pg_trgm")?;
    run("CREATE TABLE documents (id bigint PRIMARY KEY, data jsonb, tags text[], body text)")?;
    for (name, key) in INDEXES {
        run(&format!("CREATE INDEX {name} ON documents USING gin ({key}){with}"))?;
    }
    let (mut rng, mut took, mut text) = (Rng::new(11), Vec::new(), String::new());
    let (mut id, mut seconds) = (0, 0.0);
    while id < stage.plan.rows {
        stage.check()?;
        text.clear();
        text += "INSERT INTO documents VALUES ";
        for row in 0..EACH {
            text += if row == 0 { "" } else { ", " };
            document(&mut rng, id + row, &mut text);
        }
        id += EACH;
        let began = Instant::now();
        run(&text)?;
        let one = began.elapsed().as_secs_f64();
        seconds += one;
        took.push(one);
    }
    run(if server.kind() == Kind::Postgres { "VACUUM ANALYZE" } else { "CHECKPOINT" })?;
    took.sort_by(f64::total_cmp);
    let p99 = took[took.len() * 99 / 100];
    let sizes = INDEXES.map(|(name, _)| format!("pg_relation_size('{name}')")).join(" + ");
    let size = client.query_one(&format!("SELECT ({sizes})::float8"), &[]);
    let bytes: f64 = size.map_err(|e| of_client(&e))?.get(0);
    let queries = QUERIES.iter().map(|(_, asked)| query(stage, &mut client, asked));
    let queries = queries.collect::<Result<Vec<f64>>>()?;
    Ok(Done { rate: id as f64 / seconds, p99, bytes, queries })
}

/// Median seconds of a query, each time with other words.
fn query(stage: &Stage<'_>, client: &mut postgres::Client, asked: &str) -> Result<f64> {
    let (mut rng, mut took) = (Rng::new(5), Vec::new());
    for n in 0..=TIMES {
        stage.check()?;
        let mut text = format!("SELECT count(*) FROM documents WHERE {asked}");
        while text.contains("{}") {
            text = text.replacen("{}", &word(&mut rng), 1);
        }
        let began = Instant::now();
        client.simple_query(&text).map_err(|e| of_client(&e))?;
        // The first one warms caches.
        if n > 0 {
            took.push(began.elapsed().as_secs_f64());
        }
    }
    Ok(median(&mut took))
}

/// A word: small numbers are drawn more often.
fn word(rng: &mut Rng) -> String {
    let share = rng.below(1 << 20) as f64 / (1 << 20) as f64;
    let mut number = (share * share * share * WORDS as f64) as u64 * 2_654_435_761 % (1 << 32);
    let mut word = String::new();
    for _ in 0..3 {
        word.push(b"bcdfghklmnprstvw"[(number & 15) as usize] as char);
        word.push(b"aeio"[(number >> 4 & 3) as usize] as char);
        number >>= 6;
    }
    word.push(b"bcdfghklmnprstvw"[(number & 15) as usize] as char);
    word
}

/// The values of a row.
fn document(rng: &mut Rng, id: u64, out: &mut String) {
    let [owner, city, note] = std::array::from_fn(|_| word(rng));
    let (kind, cents) = (rng.below(12), rng.below(100_000));
    let tags: Vec<String> = (0..5).map(|_| word(rng)).collect();
    let body: Vec<String> = (0..TEXT_WORDS).map(|_| word(rng)).collect();
    *out += &format!(
        r#"({id}, '{{"owner": "{owner}", "kind": {kind}, "cents": {cents}, "at": {{"city": "{city}"}}, "notes": ["{note}"]}}', '{{{}}}', '{}')"#,
        tags.join(","),
        body.join(" ")
    );
}
