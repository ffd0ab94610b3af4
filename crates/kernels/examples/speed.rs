//! How long does a row take?
//!
//! `cargo run --release -p onlap-kernels --example speed` prints nanoseconds per row of kernels and aggregates over columns of
//! 8,192 rows, the best of many rounds: columns with columns, a column with a constant, and a column in which every tenth row
//! is NULL.

use std::sync::Arc;

use arrow_array::ArrayRef;
use onlap_base::clock::{Clock, SystemClock};
use onlap_kernels::{
    Col, Cx, Datum, Kernel, Repr, Session, Timestamp, TypeRef, Types, find, find_aggregate, repr,
    signature, test_texts, test2,
};
use onlap_pg::catalog::Catalog;
use onlap_pg::value::Settings;
use onlap_pg::value::numeric::Numeric;
use onlap_pg::{Error, Oid, Result};

const ROWS: usize = 8192;
const ROUNDS: usize = 200;

/// A session that knows nothing.
struct Quiet;

impl Session for Quiet {
    fn room(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn call(&self, _: Oid, _: &[Datum<'_>]) -> Result<Datum<'static>> {
        Err(Error::new("0A000", "it is not asked"))
    }
    fn clock(&self) -> i64 {
        0
    }
    fn statement_began(&self) -> i64 {
        0
    }
    fn random(&self) -> u64 {
        0
    }
}

/// A value of a type by a number.
fn value(oid: Oid, n: usize) -> Datum<'static> {
    let n = n * 7919 % 100_003;
    match oid {
        21 => Datum::Int2(n as i16 % 1000),
        23 => Datum::Int4(n as i32),
        20 | 1114 => Datum::Int8(n as i64 * 10_007),
        701 => Datum::Float8(n as f64 * 0.25 + 1.0),
        1700 => {
            let text = format!("{}.{:02}", n * 31, n % 100);
            let mut bytes = Vec::new();
            Numeric::parse(&text).expect("a numeric").store(&mut bytes);
            Datum::bytes(bytes)
        }
        _ => Datum::text(format!("customer {n:06}")),
    }
}

fn column(catalog: &Catalog, oid: Oid, from: usize, nulls: bool) -> ArrayRef {
    let values: Vec<Datum<'_>> = (0..ROWS)
        .map(|n| if nulls && n % 10 == 0 { Datum::Null } else { value(oid, n + from) })
        .collect();
    let repr: Repr = repr(catalog, oid).expect("it has values");
    Datum::column(repr, values.iter()).expect("they fit")
}

/// Nanoseconds per row, the best of many rounds.
fn best(mut run: impl FnMut()) -> f64 {
    let mut best = u64::MAX;
    for _ in 0..ROUNDS {
        let start = SystemClock.monotonic_ns();
        run();
        best = best.min(SystemClock.monotonic_ns() - start);
    }
    best as f64 / ROWS as f64
}

fn kernel(cx: &mut Cx<'_>, name: &str, kernel: &dyn Kernel, args: &[Oid]) {
    let catalog = cx.catalog;
    let plain: Vec<Col> = args
        .iter()
        .enumerate()
        .map(|(at, oid)| Col::new(column(catalog, *oid, at, false)))
        .collect();
    let mut same = plain.clone();
    if let Some(last) = same.get_mut(1) {
        *last = Col::constant(last.array.slice(17, 1));
    }
    let nulls: Vec<Col> = args
        .iter()
        .enumerate()
        .map(|(at, oid)| Col::new(column(catalog, *oid, at, at == 0)))
        .collect();
    let mut times = [&plain, &same, &nulls].into_iter().map(|args| {
        best(|| {
            kernel.eval(args, ROWS, cx).expect("it has results");
        })
    });
    let mut next = || times.next().expect("there are three");
    println!("{name:34} {:8.2} {:8.2} {:8.2}", next(), next(), next());
}

fn main() {
    let (catalog, settings) = (Arc::new(Catalog::new()), Settings::default());
    let mut cx = Cx { catalog: &catalog, settings: &settings, session: &Quiet };
    println!("{:34} {:>8} {:>8} {:>8}", "ns per row", "columns", "constant", "NULLs");
    let find_proc = |name: &str| {
        let proc = catalog.procs().iter().find(|proc| signature(&catalog, proc) == name);
        proc.expect("it is a function")
    };
    for name in [
        "int4pl(int4,int4)",
        "int8mul(int8,int8)",
        "int4lt(int4,int4)",
        "int4eq(int4,int4)",
        "float8mul(float8,float8)",
        "float8lt(float8,float8)",
        "float8(int4)",
        "int4(float8)",
        "numeric_add(numeric,numeric)",
        "numeric_mul(numeric,numeric)",
        "numeric_div(numeric,numeric)",
        "numeric_lt(numeric,numeric)",
        "numeric(int4)",
        "float8(numeric)",
        "texteq(text,text)",
    ] {
        let proc = find_proc(name);
        let types = Types {
            args: proc.arguments.iter().map(|oid| TypeRef::new(*oid)).collect(),
            result: TypeRef::new(proc.result),
            catalog: Arc::clone(&catalog),
        };
        let made = find(proc.oid).expect("it has a kernel")(&types);
        kernel(&mut cx, name, &*made, &proc.arguments);
    }
    kernel(&mut cx, "text = text, tight", &*test_texts(|a, b| a == b), &[25, 25]);
    let timestamps = test2::<Timestamp, Timestamp, _>(|a, b| a < b);
    kernel(&mut cx, "timestamp < timestamp, tight", &*timestamps, &[1114, 1114]);
    println!("{:34} {:>8} {:>8} {:>8}", "", "1 group", "1000", "NULLs");
    for name in [
        "count()",
        "sum(int4)",
        "sum(int8)",
        "sum(float8)",
        "avg(float8)",
        "stddev(float8)",
        "sum(numeric)",
        "avg(numeric)",
        "max(int4)",
        "max(numeric)",
    ] {
        let proc = find_proc(name);
        let types = Types {
            args: proc.arguments.iter().map(|oid| TypeRef::new(*oid)).collect(),
            result: TypeRef::new(proc.result),
            catalog: Arc::clone(&catalog),
        };
        let time = |groups: usize, nulls: bool, cx: &mut Cx<'_>| {
            let columns: Vec<Col> = proc
                .arguments
                .iter()
                .map(|oid| Col::new(column(&catalog, *oid, 0, nulls)))
                .collect();
            let numbers: Vec<usize> = (0..ROWS).map(|row| row * 31 % groups).collect();
            let mut aggregate = find_aggregate(proc.oid).expect("it is there")(&types);
            aggregate.grow(groups);
            best(|| aggregate.update(&columns, &numbers, cx).expect("they are summed"))
        };
        let times = [time(1, false, &mut cx), time(1000, false, &mut cx), time(1, true, &mut cx)];
        println!("{name:34} {:8.2} {:8.2} {:8.2}", times[0], times[1], times[2]);
    }
}
