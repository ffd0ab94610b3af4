//! The standard history, and what its client knows.
//!
//! Every commit inserts a row that says its number into one table and does something to others, so that a look
//! tells which commits are there; replayed, they say what else must be. A refused commit may be there after a
//! reopen, except for one that found the disk full: nothing of it landed.

use std::collections::{BTreeMap, BTreeSet};

use onlap::{
    Change, DataType, Database, Error, ErrorKind, IndexSpec, Options, Result, TableChanges,
    TableSpec, Transaction, TransactionOptions, Value,
};
use onlap_base::rng::Rng;

use super::DIR;
use crate::rows::{agreed, int};

/// Steps of the history.
const STEPS: i64 = 34;
const NUMBERS: &str = "numbers";
const ROWS: &str = "rows";
const BLIND: &str = "blind";

/// Rows of `rows` by id: `a` and `n`.
type Model = BTreeMap<i64, (i64, i64)>;

/// A change that a commit makes next to noting its number.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Insert(i64, i64),
    Delete(i64),
    /// `a` gets a value, which moves the row in an index.
    Update(i64, i64),
    /// A number is added to `n`, which reads no row.
    Add(i64, i64),
    Upsert(i64, i64),
}

pub(super) struct Client {
    lots: u64,
    /// Deeds of the commits that were asked for, by number.
    asked: BTreeMap<i64, Vec<Deed>>,
    acknowledged: BTreeSet<i64>,
    pub(super) refused: BTreeMap<i64, Error>,
    /// Whether the extra index must be there; `None` when nobody knows.
    index: Option<bool>,
    /// The handle has been opened since a commit was refused, and nobody has looked.
    unsure: bool,
}

impl Client {
    pub(super) fn new(lots: u64) -> Client {
        let (asked, acknowledged, refused) = Default::default();
        Client { lots, asked, acknowledged, refused, index: Some(false), unsure: false }
    }

    /// Lives the history, whatever fails; gives the database if it is open at the end. `struck` tells
    /// whether a fault is to blame.
    ///
    /// # Panics
    /// When something fails without a fault.
    pub(super) fn live(
        &mut self,
        options: &Options,
        struck: &dyn Fn() -> bool,
    ) -> Option<Database> {
        let may = |e: Error| assert!(struck(), "with a disk that is well: {e:?}");
        let mut rng = Rng::new(self.lots);
        let mut db = Database::open(DIR, options.clone()).map_err(may).ok()?;
        make_tables(&db).map_err(may).ok();
        for number in 1..=STEPS {
            let deeds = self.draw(&mut rng, number);
            let larger = number % 11 == 5;
            self.commit(&db, number, deeds, larger, struck);
            match number {
                6 | 18 => db.flush().unwrap_or_else(may),
                12 => db.settle().unwrap_or_else(may),
                9 | 27 => self.toggle_index(&db, struck),
                15 => {
                    let changes = TableChanges::new().add_column("more", DataType::Int4, None);
                    db.alter_table(ROWS, &changes).unwrap_or_else(may);
                }
                23 => {
                    let closed = db.close();
                    closed.unwrap_or_else(may);
                    db = Database::open(DIR, options.clone()).map_err(may).ok()?;
                    self.learn(&db);
                }
                30 => drop(look(&db).map_err(may)),
                _ => {}
            }
        }
        Some(db)
    }

    /// After an open everybody knows what became of commits that were refused.
    fn learn(&mut self, db: &Database) {
        self.unsure = match look(db) {
            Ok(Ok(seen)) => {
                let there: Vec<i64> =
                    self.refused.keys().copied().filter(|n| seen.numbers.contains(n)).collect();
                // One that found the disk full stays, and will be found.
                for number in there {
                    if self.refused[&number].kind() != ErrorKind::DiskFull {
                        self.refused.remove(&number);
                        self.acknowledged.insert(number);
                    }
                }
                false
            }
            _ => !self.refused.is_empty(),
        };
    }

    /// Deeds that the commits before allow if all of them happened; others do nothing.
    fn draw(&self, rng: &mut Rng, number: i64) -> Vec<Deed> {
        let mut deeds = vec![Deed::Insert(number * 100, rng.range(0..9))];
        for i in 1..=rng.range(1..5) {
            let old = rng.range(1..number + 1) * 100;
            deeds.push(match rng.below(5) {
                0 => Deed::Insert(number * 100 + i, rng.range(0..9)),
                1 if number > 3 => Deed::Delete(old),
                2 => Deed::Update(old, rng.range(0..9)),
                3 => Deed::Add(old, i),
                _ => Deed::Upsert(rng.range(0..12), number),
            });
        }
        deeds
    }

    fn commit(
        &mut self,
        db: &Database,
        number: i64,
        mut deeds: Vec<Deed>,
        larger: bool,
        struck: &dyn Fn() -> bool,
    ) {
        if larger {
            // More rows than its memory holds, and none that is blind.
            deeds.retain(|deed| !matches!(deed, Deed::Upsert(..)));
            deeds.extend((10..90).map(|i| Deed::Insert(number * 100 + i, i % 9)));
        }
        self.asked.insert(number, deeds);
        match attempt(db, number, &self.asked[&number]) {
            Ok(()) => drop(self.acknowledged.insert(number)),
            Err(e) => {
                assert!(struck(), "with a disk that is well: {e:?}");
                self.refused.insert(number, e);
            }
        }
    }

    fn toggle_index(&mut self, db: &Database, struck: &dyn Fn() -> bool) {
        let there = self.index == Some(true);
        let done = match there {
            true => db.drop_index(ROWS, "extra"),
            false => db.create_index(ROWS, IndexSpec::new("extra", ["n", "a"])),
        };
        match done {
            Ok(()) => self.index = self.index.map(|there| !there),
            Err(e) => {
                assert!(struck(), "with a disk that is well: {e:?}");
                self.index = None;
            }
        }
    }

    fn expected(&self, there: &BTreeSet<i64>) -> (Model, BTreeMap<i64, i64>) {
        let (mut rows, mut blind) = (Model::new(), BTreeMap::new());
        for deed in there.iter().flat_map(|number| &self.asked[number]) {
            match *deed {
                Deed::Insert(id, a) => drop(rows.insert(id, (a, 0))),
                Deed::Delete(id) => drop(rows.remove(&id)),
                Deed::Update(id, a) => {
                    rows.entry(id).and_modify(|row| row.0 = a);
                }
                Deed::Add(id, n) => {
                    rows.entry(id).and_modify(|row| row.1 += n);
                }
                Deed::Upsert(id, number) => drop(blind.insert(id, number)),
            }
        }
        (rows, blind)
    }

    /// The handle that lived through the fault, on a disk that is well.
    pub(super) fn judge_open(
        &mut self,
        db: &Database,
        nothing_landed: bool,
    ) -> std::result::Result<(), String> {
        let seen = look(db).map_err(|e| format!("the handle does not read: {e:?}"))??;
        if let Some(number) = seen.numbers.iter().find(|n| !self.acknowledged.contains(n))
            && !self.unsure
        {
            return Err(format!(
                "commit {number} was refused and is there: {:?}",
                self.refused.get(number)
            ));
        }
        self.compare(&seen)?;
        let number = STEPS + 1;
        self.asked.insert(number, vec![Deed::Insert(number * 100, 1)]);
        match attempt(db, number, &self.asked[&number]) {
            Ok(()) => drop(self.acknowledged.insert(number)),
            Err(e) if e.kind() == ErrorKind::ReadOnly && !nothing_landed => {
                self.refused.insert(number, e);
            }
            // Tables that could not be made are not there.
            Err(e) if e.kind() == ErrorKind::UnknownTable && seen.numbers.is_empty() => {
                self.asked.remove(&number);
            }
            Err(e) => return Err(format!("the handle does not write: {e:?}")),
        }
        Ok(())
    }

    pub(super) fn judge_reopened(&self, db: &Database) -> std::result::Result<(), String> {
        let seen =
            look(db).map_err(|e| format!("the reopened database does not read: {e:?}"))??;
        self.compare(&seen)?;
        let full = |n: &&i64| self.refused.get(n).is_some_and(|e| e.kind() == ErrorKind::DiskFull);
        if let Some(number) = seen.numbers.iter().find(full) {
            return Err(format!("commit {number} found the disk full and is there"));
        }
        if let (Some(index), Some(table)) = (self.index, seen.has_index)
            && index != table
        {
            return Err(format!("the index is there: {table}; should be: {index}"));
        }
        Ok(())
    }

    fn compare(&self, seen: &Seen) -> std::result::Result<(), String> {
        if let Some(lost) = self.acknowledged.iter().find(|n| !seen.numbers.contains(n)) {
            return Err(format!("commit {lost} was acknowledged and is gone"));
        }
        if let Some(more) = seen.numbers.iter().find(|n| !self.asked.contains_key(n)) {
            return Err(format!("commit {more} was never asked for"));
        }
        let (rows, blind) = self.expected(&seen.numbers);
        if rows != seen.rows {
            let lost = rows.iter().find(|(id, row)| seen.rows.get(id) != Some(row));
            let more = seen.rows.iter().find(|(id, row)| rows.get(id) != Some(row));
            return Err(format!("rows: {lost:?} should be there, {more:?} is"));
        }
        if blind != seen.blind {
            return Err(format!("blind: {blind:?} should be there, {:?} is", seen.blind));
        }
        Ok(())
    }
}

fn make_tables(db: &Database) -> Result<()> {
    let numbers = TableSpec::new(NUMBERS).column("number", DataType::Int8).primary_key(["number"]);
    let rows = TableSpec::new(ROWS).column("id", DataType::Int8).column("a", DataType::Int8);
    let rows = rows.column("n", DataType::Int8).primary_key(["id"]);
    let rows = rows.index(IndexSpec::new("by_a", ["a"]));
    let blind = TableSpec::new(BLIND).column("id", DataType::Int8).column("number", DataType::Int8);
    let blind = blind.primary_key(["id"]).index(IndexSpec::new("by_number", ["number"]));
    // In one transaction, so that there are all or none.
    let mut tx = db.begin()?;
    for spec in [numbers, rows, blind.blind_writes()] {
        tx.create_table(spec)?;
    }
    tx.commit().map(drop)
}

fn attempt(db: &Database, number: i64, deeds: &[Deed]) -> Result<()> {
    let level = onlap::Isolation::ReadCommitted;
    let mut tx = db.begin_with(TransactionOptions::at(level))?;
    tx.insert(&db.table(NUMBERS)?, &[Value::Int(number)])?;
    for deed in deeds {
        perform(db, &mut tx, *deed)?;
    }
    tx.commit().map(drop)
}

fn perform(db: &Database, tx: &mut Transaction, deed: Deed) -> Result<()> {
    let rows = db.table(ROWS)?;
    let key = |id| [Value::Int(id)];
    match deed {
        Deed::Insert(id, a) => {
            let mut row = vec![Value::Int(id), Value::Int(a), Value::Int(0)];
            row.resize(rows.schema().columns.len(), Value::Null);
            tx.insert(&rows, &row)
        }
        Deed::Delete(id) => tx.delete(&rows, &key(id)).map(drop),
        Deed::Update(id, a) => tx.update(&rows, &key(id), &[("a", Value::Int(a))]).map(drop),
        Deed::Add(id, n) => {
            tx.change(&rows, &key(id), &[("n", Change::Add(Value::Int(n)))]).map(drop)
        }
        Deed::Upsert(id, number) => {
            tx.upsert(&db.table(BLIND)?, &[Value::Int(id), Value::Int(number)])
        }
    }
}

/// What a database shows.
struct Seen {
    numbers: BTreeSet<i64>,
    rows: Model,
    blind: BTreeMap<i64, i64>,
    /// Whether the extra index is there, if its table is.
    has_index: Option<bool>,
}

fn look(db: &Database) -> Result<std::result::Result<Seen, String>> {
    let snapshot = db.snapshot()?;
    let mut all = Vec::new();
    for name in [NUMBERS, ROWS, BLIND] {
        let rows = match db.table(name) {
            Err(e) if e.kind() == ErrorKind::UnknownTable => Vec::new(),
            table => match agreed(&snapshot, &table?)? {
                Ok(rows) => rows,
                Err(finding) => return Ok(Err(finding)),
            },
        };
        all.push(rows.into_iter().map(|(_, row)| row).collect::<Vec<_>>());
    }
    let has_index = db.table(ROWS).ok();
    let has_index =
        has_index.map(|table| table.schema().indexes.iter().any(|index| index.name == "extra"));
    let rows = |row: &onlap::Row| (int(&row[0]), (int(&row[1]), int(&row[2])));
    Ok(Ok(Seen {
        numbers: all[0].iter().map(|row| int(&row[0])).collect(),
        rows: all[1].iter().map(rows).collect(),
        blind: all[2].iter().map(|row| (int(&row[0]), int(&row[1]))).collect(),
        has_index,
    }))
}
