//! How long does it take to read a statement? Prints microseconds, the median of eleven rounds:
//! `cargo run --release -p onlap-pg --example grammar`

#![allow(clippy::disallowed_methods, reason = "it measures time")]

use std::time::{Duration, Instant};

fn main() {
    let two_tables = "SELECT o.id, o.total, c.name FROM orders o JOIN customers c ON c.id = o.customer_id \
                      WHERE o.status = 'open' AND o.created > '2024-01-01' ORDER BY o.created DESC LIMIT 20";
    let terms: Vec<String> =
        (0..60).map(|i| format!("(column_{i} = {i} OR other_{i} LIKE 'x%')")).collect();
    let long_where = format!("SELECT * FROM t WHERE {}", terms.join(" AND "));
    let rows: Vec<String> = (0..1000)
        .map(|i| format!("({i}, 'name {i}', {i}.5, '2024-01-01'::date, upper('x'))"))
        .collect();
    let insert = format!("INSERT INTO t (a, b, c, d, e) VALUES {}", rows.join(", "));
    let list: Vec<String> = (0..100_000).map(|i| i.to_string()).collect();
    let long_list = format!("SELECT 1 FROM t WHERE id IN ({})", list.join(","));
    for (name, text) in [
        ("two tables", two_tables),
        ("WHERE of 60 terms", &long_where),
        ("INSERT of 1,000 rows", &insert),
        ("IN of 100,000 numbers", &long_list),
    ] {
        let mut rounds: Vec<Duration> = (0..11).map(|_| round(text)).collect();
        rounds.sort();
        let micros = rounds[rounds.len() / 2].as_secs_f64() * 1e6;
        println!("{name}: {micros:.1} µs, {} bytes", text.len());
    }
}

/// How long one reading takes, of as many as take some milliseconds.
fn round(text: &str) -> Duration {
    let times = (200_000 / text.len()).max(1) as u32;
    let began = Instant::now();
    for _ in 0..times {
        let tree = onlap_pg::grammar::parse(std::hint::black_box(text)).expect("it is read");
        std::hint::black_box(tree);
    }
    began.elapsed() / times
}
