//! Is what a recovery shows what it may show?

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use onlap::{Csn, Database, ErrorKind, Options, Row, SyncMode, Table, TransactionOptions, Value};
use onlap_base::rng::Rng;
use onlap_base::tasks::SimTasks;
use onlap_testkit::slow;
use onlap_vfs::{FaultFs, MemFs};

use super::clients::{BLIND, FIRST};
use super::keeper::SIDE;
use super::model::{Noted, Op, Side, State};
use super::{DIR, changes_disk, crashed, tables};
use crate::Counts;
use crate::letters;
use crate::options::simulated;
use crate::rows::{Rows, agreed, int};

/// Crashes within crashes.
const DEPTH: u32 = 3;

pub(super) struct Judge<'a> {
    pub(super) options: &'a Options,
}

/// Crashes during one recovery or of what came after it, and what was promised by then once it was open.
type Again = Arc<Mutex<Vec<(MemFs, Option<Known>)>>>;

/// What somebody knows since the open, and so must survive: commits and tables.
#[derive(Clone, Copy, Debug)]
struct Known {
    promised: Csn,
    tables_promised: usize,
}

type Seen = Arc<Mutex<Option<Known>>>;

fn see(seen: &Seen, noted: &Noted) {
    let known = Known { promised: noted.promised, tables_promised: noted.tables_promised };
    *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
}

fn told<T>(what: &str, done: onlap::Result<T>) -> Result<T, String> {
    done.map_err(|e| format!("{what}: {:?}: {e}", e.kind()))
}

impl Judge<'_> {
    /// Opens what a crash left, compares it, and sometimes goes on.
    pub(super) fn recover(
        &self,
        image: &MemFs,
        noted: &Noted,
        rng: &mut Rng,
        depth: u32,
        counts: &mut Counts,
    ) -> Result<(), String> {
        counts.add("recoveries", 1);
        if depth > 0 {
            counts.add("crashes during recovery", 1);
        }
        let fs = FaultFs::new(Arc::new(image.clone()));
        let again = Again::default();
        let seen = Seen::default();
        let deeper = depth < DEPTH && rng.below(24) == 0;
        if deeper {
            crash_again(&fs, image, rng.fork(), &again, &seen);
        }
        let tasks = SimTasks::new(rng.next_u64());
        let slow = slow::disk(Arc::new(fs), tasks.clone());
        let options = simulated(self.options, Arc::new(slow), &tasks);
        let db = told("open", letters::open(DIR, options.clone()))?;
        let mut now = self.compare(&db, noted)?;
        see(&seen, &now);
        if deeper || rng.below(8) == 0 {
            self.go_on(&db, &mut now, rng, &seen)?;
        }
        if rng.chance(0.5) {
            told("close", db.close())?
        } else {
            drop(db)
        }
        let report = told("check", letters::check(DIR, options))?;
        if let Some(finding) = report.findings.first() {
            return Err(format!("check: {finding:?}"));
        }
        let again = std::mem::take(&mut *again.lock().unwrap_or_else(PoisonError::into_inner));
        for (image, promised) in again {
            // Until the open was done only what came before is promised.
            let noted = match promised {
                None => noted.clone(),
                Some(Known { promised, tables_promised }) => {
                    Noted { promised, tables_promised, ..now.clone() }
                }
            };
            self.recover(&image, &noted, rng, depth + 1, counts)
                .map_err(|finding| format!("crashed again: {finding}"))?;
        }
        Ok(())
    }

    /// Which commits there are, after everything else was found to follow from them.
    fn compare(&self, db: &Database, noted: &Noted) -> Result<Noted, String> {
        let snapshot = told("snapshot", db.snapshot())?;
        let csn = snapshot.csn();
        let fsync = self.options.sync == SyncMode::Fsync;
        if csn < noted.promised {
            return Err(format!("commits up to {csn} are there, {} were promised", noted.promised));
        }
        let must = fsync && noted.tables_promised == 2;
        let first = self.rows(db, FIRST, must)?.unwrap_or_default();
        let blind = self.rows(db, BLIND, must)?.unwrap_or_default();
        // In the other modes the manifest may know of a commit that the log has lost, and its number is not
        // given again.
        let least = if fsync { csn } else { noted.promised };
        let same = (least..=csn).rev().find(|at| differs(&noted.at(*at), &first, &blind).is_none());
        let Some(csn) = same else {
            let text = differs(&noted.at(csn), &first, &blind).unwrap_or_default();
            return Err(format!("commit {csn}: {text}"));
        };
        let mut now = noted.clone();
        if fsync {
            let side = self.side(db)?;
            let from = noted.sides_promised.saturating_sub(1);
            let none = [Side::default()];
            let may = if noted.sides_promised == 0 { &none[..] } else { &[] };
            if !may.iter().chain(&noted.sides[from..]).any(|state| *state == side) {
                return Err(format!("side table: {side:?} is none of {:?}", &noted.sides[from..]));
            }
            (now.sides, now.sides_promised) = (vec![side], 1);
        } else {
            self.rows(db, SIDE, false)?;
        }
        (now.promised, now.newest) = (if fsync { csn } else { noted.promised }, csn);
        Ok(now)
    }

    fn rows(&self, db: &Database, name: &str, must: bool) -> Result<Option<Rows>, String> {
        match db.table(name) {
            Err(e) if e.kind() == ErrorKind::UnknownTable && !must => Ok(None),
            table => {
                let (table, snapshot) = (told(name, table)?, told(name, db.snapshot())?);
                told(name, agreed(&snapshot, &table))?.map(Some)
            }
        }
    }

    fn side(&self, db: &Database) -> Result<Side, String> {
        let Some(rows) = self.rows(db, SIDE, false)? else { return Ok(Side::default()) };
        let schema = told(SIDE, db.table(SIDE))?.schema();
        let names = schema.indexes.iter().map(|index| index.name.clone());
        Ok(Side {
            columns: schema.columns.iter().map(|column| column.name.clone()).collect(),
            rows: rows.into_iter().map(|(_, row)| (int(&row[0]), row)).collect(),
            indexes: names.filter(|name| *name != format!("{SIDE}_pkey")).collect(),
        })
    }

    /// Life after a recovery: commits, flushes and merges, noted as before.
    fn go_on(
        &self,
        db: &Database,
        now: &mut Noted,
        rng: &mut Rng,
        seen: &Seen,
    ) -> Result<(), String> {
        let [first, blind] = told("tables", tables(db))?;
        now.tables_promised = 2;
        // What the history committed later than the crash has given its numbers up.
        Arc::make_mut(&mut now.commits).split_off(&(now.newest + 1));
        for _ in 0..1 + rng.below(4) {
            let (csn, ops) = told("commit", commit(db, &first, &blind, rng))?;
            now.commit(csn, ops);
            if self.options.sync == SyncMode::Fsync {
                now.promised = csn;
            }
            see(seen, now);
        }
        match rng.below(3) {
            0 => told("flush", db.flush())?,
            1 => told("settle", db.settle())?,
            _ => {}
        }
        self.compare(db, now).map(drop).map_err(|finding| format!("worked on: {finding}"))
    }
}

/// Draws some crashes of what comes now.
fn crash_again(fs: &FaultFs, image: &MemFs, rng: Rng, again: &Again, seen: &Seen) {
    let (image, again, seen) = (image.clone(), Arc::clone(again), Arc::clone(seen));
    let (lots, first) = (Mutex::new(rng), AtomicBool::new(true));
    fs.watch(Arc::new(move |operation, _: &Path| {
        let mut lots = lots.lock().unwrap_or_else(PoisonError::into_inner);
        if changes_disk(operation) && (first.load(Ordering::Relaxed) || lots.chance(0.08)) {
            first.store(lots.chance(0.5), Ordering::Relaxed);
            let mut again = again.lock().unwrap_or_else(PoisonError::into_inner);
            if again.len() < 6 {
                again.push((
                    crashed(&image, &mut lots),
                    *seen.lock().unwrap_or_else(PoisonError::into_inner),
                ));
            }
        }
    }));
}

/// A commit to both tables whose rows are none of those before.
fn commit(
    db: &Database,
    first: &Table,
    blind: &Table,
    rng: &mut Rng,
) -> onlap::Result<(Csn, Vec<Op>)> {
    let level = onlap::Isolation::ReadCommitted;
    let mut tx = db.begin_with(TransactionOptions::at(level))?;
    let mut ops = Vec::new();
    for _ in 0..1 + rng.below(5) {
        let id = (1 << 40) + (rng.next_u64() >> 24) as i64;
        let (a, text) = (Value::Int(id % 10), Value::Text("later".into()));
        let row: Row = vec![Value::Int(id), a, text.clone(), Value::Int(-id), Value::Int(0), text];
        tx.insert(first, &row)?;
        tx.upsert(blind, &[Value::Int(id), Value::Int(3)])?;
        ops.extend([Op::Insert(row), Op::Upsert(id, 3)]);
    }
    Ok((tx.commit()?, ops))
}

/// What the tables show that they should not. A transaction larger than its memory gives ids to rows that it
/// takes away again, too, so that ids have gaps which are not noted; their order is that of commits all the same.
fn differs(state: &State, first: &Rows, blind: &Rows) -> Option<String> {
    let expected = &state.rows;
    if !first.iter().map(|(_, row)| row).eq(expected.values()) {
        let more = first.iter().find(|(_, row)| !expected.values().any(|r| r == row));
        let less = expected.values().find(|row| !first.iter().any(|(_, r)| r == *row));
        let (n, wanted) = (first.len(), expected.len());
        return Some(format!(
            "{n} rows where {wanted} should be; for one {more:?} should not be, {less:?} should"
        ));
    }
    let found: BTreeMap<i64, i64> =
        blind.iter().map(|(_, row)| (int(&row[0]), int(&row[1]))).collect();
    if found == state.blind && blind.len() == found.len() {
        return None;
    }
    let lost = state.blind.iter().find(|(id, a)| found.get(id) != Some(a));
    let more = found.iter().find(|(id, a)| state.blind.get(id) != Some(a));
    Some(format!("{BLIND} lacks {lost:?}, shows {more:?}"))
}
