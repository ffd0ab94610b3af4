//! What does encoding and decoding cost, per row and per value?
//!
//! `cargo run --release -p onlap-format --example encode_speed`

#![expect(clippy::disallowed_methods, reason = "an example measures wall time; it runs no engine")]

use std::hint::black_box;
use std::time::Instant;

use onlap_base::rng::Rng;
use onlap_format::block::{Block, BlockEncoder, RowIds};
use onlap_format::encode::{ColumnEncoder, ColumnView, Effort, encode_column};
use onlap_format::zone::Zone;
use onlap_format::{Batch, BytesVec, Column, Vector};

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const NAMES: [&str; 7] =
    ["serial", "timestamp", "register", "customer", "product", "price", "data"];

/// Rows of the insert benchmark.
fn rows(n: usize, first: i64, rng: &mut Rng) -> Batch {
    let int = |v: Vec<i64>| Column { data: Vector::Int(v), nulls: None };
    let mut below = |max: u64| int((0..n).map(|_| rng.below(max) as i64).collect());
    let (register, customer, product, price) =
        (below(1000), below(100_000), below(10_000), below(500));
    let mut data = BytesVec::default();
    for _ in 0..n {
        let len = 10 + rng.below(11) as usize;
        let mut s = vec![b'a' + rng.below(26) as u8; len];
        s[..(len * 3 + 4) / 8].iter_mut().for_each(|b| *b = BASE64[rng.below(64) as usize]);
        data.push(&s);
    }
    let columns = vec![
        int((first..first + n as i64).collect()),
        int(vec![1_700_000_000_000_000 + first / 50_000 * 1_000_000; n]),
        register,
        customer,
        product,
        price,
        Column { data: Vector::Bytes(data), nulls: None },
    ];
    Batch { columns, rows: n }
}

/// Nanoseconds per unit of the best of several rounds; rounds are short, so that other work on the
/// machine leaves some of them alone.
fn best(units: usize, mut work: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..30 {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_nanos() as f64 / units as f64);
    }
    best
}

fn main() {
    let rng = &mut Rng::new(1);
    for (effort, per_batch) in [(Effort::Fast, 100), (Effort::Small, 100), (Effort::Small, 1000)] {
        let count = 20_000 / per_batch;
        let batches: Vec<Batch> =
            (0..count).map(|i| rows(per_batch, (i * per_batch) as i64, rng)).collect();
        let mut out = Vec::with_capacity(1 << 20);
        let mut total = 0.0;
        for (k, name) in NAMES.iter().enumerate() {
            let ns = best(20_000, || {
                out.clear();
                for batch in &batches {
                    encode_column(black_box(&batch.columns[k]), 0..per_batch, effort, &mut out);
                }
            });
            total += ns;
            println!(
                "{effort:?} {per_batch:5} rows  {name:10} {ns:6.2} ns/row  {:6.2} bytes/row",
                out.len() as f64 / 20_000.0
            );
        }
        println!("{effort:?} {per_batch:5} rows  all        {total:6.2} ns/row");
    }
    decode(rng);
    texts(rng);
    blocks(rng);
}

fn decode(rng: &mut Rng) {
    let batch = rows(4096, 0, rng);
    for (k, name) in NAMES.iter().enumerate() {
        let mut bytes = Vec::new();
        encode_column(&batch.columns[k], 0..4096, Effort::Small, &mut bytes);
        let view = ColumnView::parse(&bytes, 4096).expect("just encoded");
        let mut out = Column::new(view.physical());
        let bulk = best(4096, || {
            out.truncate(0);
            black_box(view).append_to(0..4096, &mut out).expect("just encoded");
        });
        let selected: Vec<u32> = (0..1000).map(|_| rng.below(4096) as u32).collect();
        let single = best(1000, || {
            out.truncate(0);
            black_box(view).append_selected(&selected, &mut out).expect("just encoded");
        });
        println!(
            "decode {name:10} bulk {bulk:6.2} ns/value ({:5.0} M/s)  single {single:6.2} ns/value",
            1000.0 / bulk
        );
    }
}

fn blocks(rng: &mut Rng) {
    let batch = rows(8_000, 0, rng);
    for (k, name) in NAMES.iter().enumerate() {
        let ns = best(8_000, || {
            black_box(Zone::of(&batch.columns[k], 0..8_000));
        });
        println!("zone   {name:10} {ns:6.2} ns/row");
    }
    for compress in [false, true] {
        let mut out = Vec::new();
        let mut ends = Vec::new();
        let ns = best(batch.rows, || {
            out.clear();
            ends.clear();
            let mut encoder = BlockEncoder::new(batch.columns.len(), compress);
            let mut start = 0;
            while start < batch.rows {
                let n = encoder.rows_that_fit(&batch, start, false);
                let ids = RowIds::Dense(start as u64);
                encoder.encode(&batch, start..start + n, ids, &mut out);
                start += n;
                ends.push(out.len());
            }
        });
        fetch(&out[..ends[0]], rng);
        let mut at = 0;
        let parse = best(ends.len(), || {
            at = 0;
            for end in &ends {
                black_box(Block::parse(&out[at..*end]).expect("just encoded"));
                at = *end;
            }
        });
        println!(
            "blocks zstd {compress}: {ns:.1} ns/row, {:.2} bytes/row, {} blocks of {} bytes, parse {parse:.0} ns",
            out.len() as f64 / batch.rows as f64,
            ends.len(),
            out.len() / ends.len()
        );
    }
}

/// One row at a time out of a cached block, all columns.
fn fetch(bytes: &[u8], rng: &mut Rng) {
    let block = Block::parse(bytes).expect("just encoded");
    let mut out: Vec<Column> = (0..block.columns())
        .map(|k| Column::new(block.column(k).expect("just encoded").physical()))
        .collect();
    let ids: Vec<u64> = (0..1000).map(|_| rng.below(block.rows() as u64)).collect();
    let ns = best(ids.len(), || {
        for id in &ids {
            let row = block.position(*id).expect("ids are dense from 0") as u32;
            for (k, column) in out.iter_mut().enumerate() {
                column.truncate(0);
                block.append_selected(k, &[row], column).expect("just encoded");
            }
        }
    });
    println!("fetch one row of {} columns: {ns:.0} ns", block.columns());
}

/// Strings of other kinds through an encoder that remembers.
fn texts(rng: &mut Rng) {
    const WORDS: [&str; 12] = [
        "sediment ",
        "laid ",
        "down ",
        "in ",
        "order, ",
        "each ",
        "bed ",
        "lapping ",
        "onto ",
        "what ",
        "is ",
        "there. ",
    ];
    let kinds: [(&str, fn(&mut Rng) -> String); 4] = [
        ("words", |rng| (0..12).map(|_| WORDS[rng.index(12)]).collect()),
        ("json", |rng| {
            format!(
                "{{\"user\": {}, \"action\": \"{}\", \"ok\": {}}}",
                rng.below(100_000),
                WORDS[rng.index(12)].trim(),
                rng.below(2) == 0
            )
        }),
        ("uuid", |rng| {
            let (a, b) = (rng.next_u32(), rng.next_u64() >> 16);
            format!("{a:08x}-0f0e-4d0c-8b0a-{b:012x}")
        }),
        ("code", |rng| format!("N{}", 100 + rng.below(700))),
    ];
    for (name, make) in kinds {
        let mut v = BytesVec::default();
        (0..8000).for_each(|_| v.push(make(rng).as_bytes()));
        let raw = v.data.len();
        let column = Column { data: Vector::Bytes(v), nulls: None };
        let mut encoder = ColumnEncoder::default();
        let mut out = Vec::new();
        let ns = best(8000, || {
            out.clear();
            for start in (0..8000).step_by(500) {
                encoder.encode(&column, start..start + 500, &mut out);
            }
        });
        out.clear();
        encoder.encode(&column, 0..500, &mut out);
        let view = ColumnView::parse(&out, 500).expect("just encoded");
        let mut decoded = Column::new(view.physical());
        let bulk = best(500, || {
            decoded.truncate(0);
            view.append_to(0..500, &mut decoded).expect("just encoded");
        });
        let mut buffer = Vec::new();
        let single = best(500, || {
            for i in 0..500 {
                buffer.clear();
                view.bytes_into(i * 7 % 500, &mut buffer);
            }
        });
        println!(
            "text {name:6} {:5.1} bytes as {:5.1}: encode {ns:6.1} ns, bulk {bulk:5.1}, single {single:5.1}",
            raw as f64 / 8000.0,
            out.len() as f64 / 500.0
        );
    }
}
