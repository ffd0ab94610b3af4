//! What do readers pay where a table owes as much as it may?
//!
//! A table is brought to the limit of one debt and read in four ways; then it is settled and read again.
//! A read that pays a debt off (blind rows) is measured as the first one that meets it, and again when
//! it is paid.

use std::time::Instant;

use onlap::{Change, Column, Database, KeyRange, Scan, Snapshot, Table, Value, Vector};
use onlap_base::Result;
use onlap_base::rng::Rng;

use super::{COMMIT_ROWS, ROOMY_MEMORY, Stage, figure, sales};
use crate::drivers;
use crate::figures::{Better, Figure};
use crate::generate::{Generator, Workload};
use crate::report::median;

/// Of the rows of other trials, one in so many.
const SHARE: u64 = 10;
/// Of so many rows of a table that is read, one is pending when the background begins to resolve them.
const PENDING_SHARE: u64 = 400;
/// Reads that nothing is paid off by, of which the median counts: the first one warms what can be warm.
const WARM: usize = 3;
/// Short ranges of which the mean counts.
const RANGES: u64 = 300;
const RANGE_ROWS: usize = 10;
/// Columns of an index, and some that it does not have.
const COVERED: [&str; 2] = ["productid", "customerid"];
const OF_ROWS: [&str; 2] = ["productid", "quantity"];
/// Columns of a full scan.
const SCANNED: [&str; 3] = ["customerid", "price", "quantity"];

const KINDS: [&str; 4] = ["short range, covered", "short range, rows", "index", "table"];

/// What is owed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Debt {
    BlindRows,
    Changes,
    DeadRows,
}

pub(super) fn run(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    [
        (Debt::BlindRows, "unresolved blind rows"),
        (Debt::Changes, "pending column changes"),
        (Debt::DeadRows, "dead rows and entries"),
    ]
    .into_iter()
    .map(|(debt, name)| {
        let Owing { mut ratios, owed, rows } = measure(stage, debt)?;
        let medians: Vec<f64> = ratios.iter_mut().map(|r| median(r)).collect();
        let worst = medians.iter().copied().fold(0.0, f64::max);
        let each = KINDS.iter().zip(&medians).map(|(kind, ratio)| format!("{kind} {ratio:.2}"));
        let each: Vec<String> = each.collect();
        let work = format!("a read at the limit of {name} / of the clean table, the worst");
        let note = format!(
            "{}; {} owed in {} rows",
            each.join(", "),
            crate::units::grouped(owed),
            crate::units::grouped(rows)
        );
        Ok(figure(&work, worst, (2.0, 1.5), Better::Lower, "x").noting(note))
    })
    .collect()
}

struct Owing {
    /// Per kind of read those of all rounds.
    ratios: [Vec<f64>; KINDS.len()],
    owed: u64,
    rows: u64,
}

fn measure(stage: &Stage<'_>, debt: Debt) -> Result<Owing> {
    let rows = stage.plan.rows / SHARE;
    let name = format!("readers{}", debt as u8);
    let db = stage.open(&name, ROOMY_MEMORY)?;
    let mut spec = drivers::onlap_spec(&sales::SALES, sales::SALES.indexes.len());
    if debt == Debt::BlindRows {
        spec = spec.blind_writes();
    }
    let table = db.create_table(spec)?;
    sales::load(stage, rows, &mut |batch| table.insert_batch(batch).map(drop))?;
    db.settle()?;
    let mut keys = Keys { rng: Rng::new(5), live: (1..=rows as i64).collect() };
    let mut found = Owing { ratios: Default::default(), owed: 0, rows };
    for _ in 0..stage.plan.repeat {
        let mut owing = [0.0; KINDS.len()];
        let mut old = None;
        for (kind, time) in owing.iter_mut().enumerate() {
            stage.check()?;
            if kind == 0 || debt == Debt::BlindRows {
                (found.owed, old) = bring_to_limit(stage, &db, &table, debt, &mut keys)?;
            }
            if debt != Debt::BlindRows {
                *time = time_of(&db, &table, kind, WARM)?;
                continue;
            }
            // Who meets blind rows pays for them; with the rows all marked, the table is clean.
            let pays = time_of(&db, &table, kind, if kind < 2 { WARM } else { 1 })?;
            db.snapshot()?.count(&table)?;
            found.ratios[kind].push(pays / time_of(&db, &table, kind, WARM)?);
        }
        drop(old);
        db.settle()?;
        for (kind, time) in owing.into_iter().enumerate() {
            if debt == Debt::BlindRows {
                break;
            }
            found.ratios[kind].push(time / time_of(&db, &table, kind, WARM)?);
        }
    }
    db.close()?;
    Ok(found)
}

/// Keys of living rows.
struct Keys {
    rng: Rng,
    live: Vec<i64>,
}

impl Keys {
    fn some(&mut self, n: usize) -> Vec<i64> {
        let mut keys: Vec<i64> =
            (0..n).map(|_| self.live[self.rng.index(self.live.len())]).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

/// Adds to a debt until it is as large as it may be. An old snapshot keeps the work of others from paying
/// it meanwhile; blind rows are paid by whoever meets them.
fn bring_to_limit(
    stage: &Stage<'_>,
    db: &Database,
    table: &Table,
    debt: Debt,
    keys: &mut Keys,
) -> Result<(u64, Option<Snapshot>)> {
    let debts = db.stats()?.tables[0].debts;
    match debt {
        Debt::BlindRows => {
            let mut generator = Workload::Ibench.generator(1, 9);
            loop {
                stage.check()?;
                let table_stats = &db.stats()?.tables[0];
                let most = keys.live.len() as u64 / PENDING_SHARE;
                let room = most.saturating_sub(table_stats.pending_rows);
                if room < COMMIT_ROWS as u64 {
                    db.flush()?;
                    return Ok((table_stats.pending_rows, None));
                }
                for _ in 0..room.div_ceil(COMMIT_ROWS as u64) {
                    upsert(table, &mut *generator, keys.some(COMMIT_ROWS))?;
                }
            }
        }
        Debt::Changes => {
            let old = db.snapshot()?;
            let mut done = 0;
            while done < debts.pending_changes_limit {
                stage.check()?;
                let mut tx = db.begin()?;
                for key in keys.some(COMMIT_ROWS) {
                    let change = [("quantity", Change::Add(Value::Int(1)))];
                    tx.change(table, &[Value::Int(key)], &change)?;
                    done += 1;
                }
                tx.commit()?;
            }
            db.flush()?;
            Ok((done, Some(old)))
        }
        Debt::DeadRows => {
            let old = db.snapshot()?;
            for _ in 0..debts.dead_rows_limit {
                stage.check()?;
                let at = keys.rng.index(keys.live.len());
                table.delete(&[Value::Int(keys.live.swap_remove(at))])?;
            }
            db.flush()?;
            Ok((debts.dead_rows_limit, Some(old)))
        }
    }
}

fn upsert(table: &Table, generator: &mut dyn Generator, keys: Vec<i64>) -> Result<()> {
    let mut batch = generator.batch(keys.len(), 1_700_000_000_000_000);
    batch.columns.push(Column { data: Vector::Int(vec![1; keys.len()]), nulls: None });
    batch.columns[0] = Column { data: Vector::Int(keys), nulls: None };
    table.upsert_batch(batch).map(drop)
}

/// Seconds of a read of one kind, the median of some.
fn time_of(db: &Database, table: &Table, kind: usize, times: usize) -> Result<f64> {
    let mut found = Vec::with_capacity(times);
    for _ in 0..times {
        found.push(read(db, table, kind)?);
    }
    Ok(median(&mut found))
}

/// Seconds of a read of one kind.
fn read(db: &Database, table: &Table, kind: usize) -> Result<f64> {
    let snapshot = db.snapshot()?;
    let mut rng = Rng::new(11);
    let began = Instant::now();
    match kind {
        0 | 1 => {
            for _ in 0..RANGES {
                let from = KeyRange::from([Value::Int(rng.below(10_000) as i64)]);
                let columns = if kind == 0 { COVERED } else { OF_ROWS };
                let scan = Scan::all().columns(columns).limit(RANGE_ROWS);
                let rows = snapshot.index_scan(table, "marketsegment", from, scan)?;
                drain(rows)?;
            }
        }
        2 => {
            let scan = Scan::all().columns(COVERED);
            drain(snapshot.index_scan(table, "marketsegment", KeyRange::all(), scan)?)?;
        }
        _ => drain(snapshot.scan(table, Scan::all().columns(SCANNED))?)?,
    }
    Ok(began.elapsed().as_secs_f64())
}

fn drain(rows: onlap::Rows) -> Result<()> {
    for batch in rows {
        batch?;
    }
    Ok(())
}
