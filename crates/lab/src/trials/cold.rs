//! `update set b = 5 where a = ?` of a hundred rows that are in no cache: which blocks of rows are read?

use std::time::Instant;

use onlap::{Change, KeyRange, Predicate, Value};
use onlap_base::Result;
use onlap_base::rng::Rng;

use super::{Stage, figure, sales};
use crate::figures::{Better, Figure};
use crate::generate::{CUSTOMERS, PRODUCTS};
use crate::report::median;

const STATEMENTS: usize = 20;
/// Rows that a statement is to match.
const MATCHES: u64 = 100;

pub(super) fn run(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let memory = stage.scarce_memory();
    let db = stage.open("cold", memory)?;
    let table = sales::create(&db)?;
    sales::load(stage, stage.plan.rows, &mut |batch| table.insert_batch(batch).map(drop))?;
    db.settle()?;
    drop(table);
    db.close()?;
    // So many customers have that many rows of one product.
    let rows_of_product = (stage.plan.rows / u64::from(PRODUCTS)).max(1);
    let customers = (MATCHES * u64::from(CUSTOMERS) / rows_of_product).min(CUSTOMERS.into());
    let (mut blocks, mut changed, mut took) = (0, 0, Vec::new());
    let mut rng = Rng::new(1);
    let db = stage.open("cold", memory)?;
    let table = db.table(sales::SALES.name)?;
    for _ in 0..STATEMENTS {
        let product = Value::Int(rng.below(PRODUCTS.into()) as i64);
        let range = KeyRange::from([product.clone()])
            .and(KeyRange::before([product, Value::Int(customers as i64)]));
        let wanted = Predicate::index("marketsegment", range);
        let began = Instant::now();
        let mut tx = db.begin()?;
        changed += tx.update_where(&table, &wanted, &[("quantity", Change::Set(Value::Int(5)))])?;
        blocks += tx.statement_counters().blocks_read;
        tx.commit()?;
        took.push(began.elapsed().as_secs_f64() * 1e6);
    }
    let work =
        format!("b = 5 of {} cold rows by an index: base blocks read", changed / STATEMENTS as u64);
    let note = format!("{STATEMENTS} statements, {:.0} µs each", median(&mut took));
    Ok(vec![figure(&work, blocks as f64, (0.0, 0.0), Better::Lower, "").noting(note)])
}
