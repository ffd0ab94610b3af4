//! What do readers pay for changes, before they are folded into the rows and after?

use std::time::Instant;

use onlap::{Change, Database, KeyRange, Predicate, Scan, Table, Value};
use onlap_base::Result;

use super::{Stage, figure, sales};
use crate::figures::{Better, Figure};
use crate::report::median;

/// Two columns of a scan: the one that is changed and one that is not.
const SCANNED: [&str; 2] = ["quantity", "price"];
/// Columns of an index, and a prefix of it.
const COVERED: [&str; 2] = ["productid", "customerid"];

/// Seconds of a full scan and of a covered read of an index.
struct Reads {
    scan: f64,
    covered: f64,
}

pub(super) fn run(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let rows = stage.plan.rows;
    let db = stage.open("changed", stage.scarce_memory())?;
    let table = sales::create(&db)?;
    sales::load(stage, rows, &mut |batch| table.insert_batch(batch).map(drop))?;
    db.settle()?;
    let fresh = read(stage, &db, &table)?;
    let mut tx = db.begin()?;
    let change = [("quantity", Change::Add(Value::Int(1)))];
    assert_eq!(tx.update_where(&table, &Predicate::All, &change)?, rows, "every row is changed");
    tx.commit()?;
    let before = read(stage, &db, &table)?;
    db.settle()?;
    let after = read(stage, &db, &table)?;
    let one = |what: &str, when: &str, time: f64, fresh: f64, bound: f64| {
        let work = format!("{what} after b of every row was changed, {when} folding / fresh");
        figure(&work, time / fresh, (bound, bound), Better::Lower, "x")
            .noting(format!("{time:.2} against {fresh:.2} s"))
    };
    Ok(vec![
        one("full scan", "before", before.scan, fresh.scan, 1.5),
        one("covered read", "before", before.covered, fresh.covered, 1.5),
        one("full scan", "after", after.scan, fresh.scan, 1.05),
        one("covered read", "after", after.covered, fresh.covered, 1.05),
    ])
}

fn read(stage: &Stage<'_>, db: &Database, table: &Table) -> Result<Reads> {
    let (mut scans, mut covered) = (Vec::new(), Vec::new());
    // The first run of each warms what can be warm.
    for round in 0..=stage.plan.repeat {
        stage.check()?;
        let snapshot = db.snapshot()?;
        let began = Instant::now();
        let mut found = 0;
        for batch in snapshot.scan(table, Scan::all().columns(SCANNED))? {
            found += batch?.len() as u64;
        }
        let scan = began.elapsed().as_secs_f64();
        assert_eq!(found, stage.plan.rows, "a scan finds every row");
        let began = Instant::now();
        let scan_of_index = Scan::all().columns(COVERED);
        let mut found = 0;
        for batch in snapshot.index_scan(table, "marketsegment", KeyRange::all(), scan_of_index)? {
            found += batch?.len() as u64;
        }
        assert_eq!(found, stage.plan.rows, "an index has every row");
        if round > 0 {
            scans.push(scan);
            covered.push(began.elapsed().as_secs_f64());
        }
    }
    Ok(Reads { scan: median(&mut scans), covered: median(&mut covered) })
}
