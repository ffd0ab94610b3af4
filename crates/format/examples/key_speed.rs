//! How long do packing, sorting, encoding and reading index entries take?
//!
//! `cargo run --release -p onlap-format --example key_speed [entries]` prints nanoseconds per entry for
//! the insert benchmark's three-column key and for a pair of UUID texts.
#![allow(clippy::disallowed_methods, reason = "reads the clock of its thread")]

use std::hint::black_box;
use std::sync::Arc;

use onlap_base::rng::Rng;
use onlap_format::key::{ColumnStats, Entries, KeyColumn, KeyDef, Packing, sort_permutation};
use onlap_format::run_block::{RunBlock, encode_run_block};
use onlap_format::{Batch, BytesVec, Column, DataType, Vector};

/// CPU time of this thread: other work on the machine does not count.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    text.split(' ').next().and_then(|t| t.parse().ok()).expect("a number of nanoseconds")
}

fn timed<T>(name: &str, n: usize, f: impl FnOnce() -> T) -> T {
    let start = cpu_ns();
    let out = f();
    let ns = (cpu_ns() - start) as f64 / n as f64;
    println!("  {name:<40} {ns:8.1} ns");
    out
}

fn ints(rng: &mut Rng, n: usize, below: u64) -> Column {
    let v = (0..n).map(|_| rng.below(below) as i64).collect();
    Column { data: Vector::Int(v), nulls: None }
}

fn uuids(rng: &mut Rng, n: usize) -> Column {
    let mut v = BytesVec::default();
    for _ in 0..n {
        let h = format!("{:016x}{:016x}", rng.next_u64(), rng.next_u64());
        let text =
            format!("{}-{}-4{}-a{}-{}", &h[..8], &h[8..12], &h[13..16], &h[17..20], &h[20..]);
        v.push(text.as_bytes());
    }
    Column { data: Vector::Bytes(v), nulls: None }
}

fn run(name: &str, types: &[DataType], columns: &[Column], n: usize, rng: &mut Rng) {
    println!("{name}, {n} entries");
    let column = |&ty| KeyColumn { ty, descending: false };
    let def = KeyDef::new(types.iter().map(column).collect());
    let refs: Vec<&Column> = columns.iter().collect();
    let stats = timed("stats", n, || {
        let of = |(ty, c): (&DataType, &Column)| {
            let mut s = ColumnStats::new(*ty);
            s.observe(c, 0..n);
            s
        };
        types.iter().zip(columns).map(of).collect::<Vec<_>>()
    });
    let packing = Arc::new(Packing::fit(&def, &stats));
    println!("  packed: {:?}, {} bits", packing.form(), packing.bits());
    let mut entries = Entries::new(packing.new_keys(), Batch::default());
    timed("pack", n, || assert!(packing.pack(&refs, 0..n, &mut entries.keys)));
    entries.row_ids.extend(0..n as u64);
    entries.include.rows = n;
    let order = timed("sort", n, || sort_permutation(&entries.keys));
    for piece in [1024, 16 * 1024, 128 * 1024] {
        let mut joined = packing.new_keys();
        for start in (0..n).step_by(piece) {
            let end = n.min(start + piece);
            let mut part = packing.new_keys();
            part.extend_range(&entries.keys, start..end);
            joined.extend_selected(&part, &sort_permutation(&part));
        }
        timed(&format!("sort of sorted pieces of {piece}"), n, || sort_permutation(&joined));
    }
    let mut sorted = Entries::new(packing.new_keys(), Batch::default());
    timed("gather", n, || sorted.extend_selected(&entries, &order));
    let mut blocks = Vec::new();
    timed("encode", n, || {
        let mut at = 0;
        while at < n {
            let mut bytes = Vec::with_capacity(20_000);
            at += encode_run_block(&packing, &sorted, at..n, 16 * 1024, &mut bytes);
            blocks.push(bytes);
        }
    });
    let size: usize = blocks.iter().map(Vec::len).sum();
    println!(
        "  {:.3} bytes per entry, {} blocks, {} largest",
        size as f64 / n as f64,
        blocks.len(),
        blocks.iter().map(Vec::len).max().unwrap_or(0)
    );
    let blocks: Vec<RunBlock> = timed("parse", n, || {
        blocks.into_iter().map(|b| RunBlock::parse(b.into(), &packing).unwrap()).collect()
    });
    let (mut keys, mut rows) = (packing.new_keys(), Vec::new());
    timed("decode keys and row ids", n, || {
        for block in &blocks {
            keys.clear();
            rows.clear();
            block.keys_and_row_ids(0..block.len(), &mut keys, &mut rows).unwrap();
            black_box((&keys, &rows));
        }
    });
    let mut out = packing.new_columns();
    timed("decode key columns and row ids", n, || {
        let which: Vec<usize> = (0..types.len()).collect();
        for block in &blocks {
            out.iter_mut().for_each(|c| c.truncate(0));
            rows.clear();
            block.key_columns(0..block.len(), &which, &mut out).unwrap();
            block.row_ids(0..block.len(), &mut rows).unwrap();
            black_box((&out, &rows));
        }
    });
    timed("stats of runs", n, || {
        let mut stats = onlap_format::run::KeyStats::new(&def);
        for at in (0..n).step_by(4096) {
            stats.observe(&packing, &sorted.keys, at..n.min(at + 4096)).unwrap();
        }
        black_box(stats);
    });
    let few = &blocks[..blocks.len().min(8)];
    let mut prefixes = Vec::new();
    for _ in 0..200_000 {
        let block = &few[rng.index(few.len())];
        let mut one = BytesVec::default();
        let i = rng.index(block.len());
        block.key_bytes(i..i + 1, &mut one).unwrap();
        prefixes.push((block, one.get(0).to_vec()));
    }
    let mut key_bytes = BytesVec::default();
    timed("lower bound and 10 entries", prefixes.len(), || {
        for (block, prefix) in &prefixes {
            let at = block.lower_bound(&packing.bound(prefix, false)).unwrap();
            rows.clear();
            keys.clear();
            let end = block.len().min(at + 10);
            block.keys_and_row_ids(at..end, &mut keys, &mut rows).unwrap();
            black_box((&keys, &rows));
        }
    });
    timed("the same with key bytes", prefixes.len(), || {
        for (block, prefix) in &prefixes {
            let at = block.lower_bound(&packing.bound(prefix, false)).unwrap();
            rows.clear();
            key_bytes.clear();
            let end = block.len().min(at + 10);
            block.key_bytes_and_row_ids(at..end, &mut key_bytes, &mut rows).unwrap();
            black_box((&key_bytes, &rows));
        }
    });
}

fn main() {
    let n = std::env::args().nth(1).map_or(1_000_000, |a| a.parse().expect("a number"));
    let mut rng = Rng::new(1);
    let three = [ints(&mut rng, n, 10_000), ints(&mut rng, n, 100_000), ints(&mut rng, n, 500)];
    run("three ints", &[DataType::Int4; 3], &three, n, &mut rng);
    let time = (0..n).map(|i| 1_700_000_000_000_000 + (i / 100_000) as i64 * 1_000_000).collect();
    let pdc = [
        ints(&mut rng, n, 500),
        Column { data: Vector::Int(time), nulls: None },
        ints(&mut rng, n, 100_000),
    ];
    let types = [DataType::Int4, DataType::Timestamp, DataType::Int4];
    run("price, time, customer", &types, &pdc, n, &mut rng);
    let few = [ints(&mut rng, n, 500)];
    run("one int of 500 values", &[DataType::Int4], &few, n, &mut rng);
    let wide = [ints(&mut rng, n, 1 << 40), ints(&mut rng, n, 1 << 40)];
    run("two wide ints", &[DataType::Int8; 2], &wide, n, &mut rng);
    let m = n / 4;
    let pair = [uuids(&mut rng, m), uuids(&mut rng, m)];
    run("two uuid texts", &[DataType::Char(36); 2], &pair, m, &mut rng);
}
