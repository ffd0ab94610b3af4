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
    let (fresh, changed) = (loaded(stage, "fresh")?, loaded(stage, "changed")?);
    let mut tx = changed.0.begin()?;
    let change = [("quantity", Change::Add(Value::Int(1)))];
    let n = tx.update_where(&changed.1, &Predicate::All, &change)?;
    assert_eq!(n, rows, "every row is changed");
    tx.commit()?;
    let before = compare(stage, &fresh, &changed)?;
    changed.0.settle()?;
    let after = compare(stage, &fresh, &changed)?;
    let one = |what: &str, when: &str, (ratio, time): (f64, f64), bound: f64| {
        let work = format!("{what} after b of every row was changed, {when} folding / fresh");
        figure(&work, ratio, (bound, bound), Better::Lower, "x").noting(format!("{time:.2} s"))
    };
    Ok(vec![
        one("full scan", "before", before.scan, 1.5),
        one("covered read", "before", before.covered, 1.5),
        one("full scan", "after", after.scan, 1.05),
        one("covered read", "after", after.covered, 1.05),
    ])
}

fn loaded(stage: &Stage<'_>, name: &str) -> Result<(Database, Table)> {
    let db = stage.open(name, stage.scarce_memory())?;
    let table = sales::create(&db)?;
    sales::load(stage, stage.plan.rows, &mut |batch| table.insert_batch(batch).map(drop))?;
    db.settle()?;
    Ok((db, table))
}

/// Medians of ratios, and of seconds for the changed table.
struct Compared {
    scan: (f64, f64),
    covered: (f64, f64),
}

/// Reads both tables in turns, as the machine is not the same from one second to the next.
fn compare(
    stage: &Stage<'_>,
    fresh: &(Database, Table),
    changed: &(Database, Table),
) -> Result<Compared> {
    let (mut scans, mut covered) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    // The first round warms what can be warm.
    for round in 0..=3 * stage.plan.repeat {
        let plain = read(stage, fresh)?;
        let other = read(stage, changed)?;
        if round > 0 {
            scans.0.push(other.scan / plain.scan);
            scans.1.push(other.scan);
            covered.0.push(other.covered / plain.covered);
            covered.1.push(other.covered);
        }
    }
    let both = |mut of: (Vec<f64>, Vec<f64>)| (median(&mut of.0), median(&mut of.1));
    Ok(Compared { scan: both(scans), covered: both(covered) })
}

fn read(stage: &Stage<'_>, (db, table): &(Database, Table)) -> Result<Reads> {
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
    Ok(Reads { scan, covered: began.elapsed().as_secs_f64() })
}
