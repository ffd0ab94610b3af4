//! How is Onlap driven?
//!
//! Through the embedded API, as any program would: one transaction per commit, a batch or row by row.

use std::collections::BTreeMap;
use std::sync::RwLock;

use onlap::{Batch, Change, Row, Value};
use onlap::{Database, IndexSpec, KeyRange, KeysKept, Options, Scan, Table, TableSpec};
use onlap_base::{Error, ErrorKind, Result};

use crate::engine::{Client, Engine, EngineOptions, ROWS, Start, Written};
use crate::generate::{IndexShape, TableShape};

/// Opens or creates a database; `keys` is what its indexes keep of theirs.
pub(super) fn open(options: &EngineOptions, keys: KeysKept) -> Result<Box<dyn Engine>> {
    let settings = Options::default().memory_limit(options.memory).sync(options.sync);
    let db = Database::open(&options.dir, settings)?;
    Ok(Box::new(Onlap { db, keys, table: RwLock::default() }))
}

struct Onlap {
    db: Database,
    keys: KeysKept,
    table: RwLock<Option<(Table, &'static TableShape)>>,
}

impl Onlap {
    fn table(&self) -> Result<(Table, &'static TableShape)> {
        let none = || Error::new(ErrorKind::UnknownTable, "no table was created");
        self.table.read().expect("no holder panics").clone().ok_or_else(none)
    }
}

pub(crate) fn index_spec(shape: &TableShape, index: &IndexShape) -> IndexSpec {
    IndexSpec::new(index.name, index.columns.iter().map(|c| shape.columns[*c].0))
}

/// Creates a workload's table with its first `indexes` secondary indexes.
pub(crate) fn create_table(db: &Database, shape: &TableShape, indexes: usize) -> Result<Table> {
    db.create_table(spec(shape, indexes))
}

/// A workload's table with its first `indexes` secondary indexes.
pub(crate) fn spec(shape: &TableShape, indexes: usize) -> TableSpec {
    let (key, _) = shape.columns[0];
    let mut spec = TableSpec::new(shape.name).serial(key);
    for (name, ty) in &shape.columns[1..] {
        spec = spec.column(*name, *ty);
    }
    spec = spec.primary_key([key]);
    for index in &shape.indexes[..indexes] {
        spec = spec.index(index_spec(shape, index));
    }
    spec
}

impl Engine for Onlap {
    fn create_table(&self, shape: &'static TableShape, indexes: usize) -> Result<()> {
        let mut spec = spec(shape, 0);
        for index in &shape.indexes[..indexes] {
            spec = spec.index(index_spec(shape, index).keys(self.keys));
        }
        let table = self.db.create_table(spec)?;
        *self.table.write().expect("no holder panics") = Some((table, shape));
        Ok(())
    }

    fn use_table(&self, shape: &'static TableShape, _indexes: usize) -> Result<()> {
        let table = self.db.table(shape.name)?;
        *self.table.write().expect("no holder panics") = Some((table, shape));
        Ok(())
    }

    fn create_index(&self, index: &'static IndexShape) -> Result<()> {
        let (table, shape) = self.table()?;
        let spec = index_spec(shape, index).keys(self.keys);
        self.db.create_index(&table.name(), spec)
    }

    fn client(&self) -> Result<Box<dyn Client + '_>> {
        let (table, shape) = self.table()?;
        Ok(Box::new(OnlapClient { db: &self.db, table, shape }))
    }

    fn flush(&self) -> Result<()> {
        self.db.flush()
    }

    fn settle(&self) -> Result<()> {
        self.db.settle()
    }

    fn written(&self) -> Result<Written> {
        let stats = self.db.stats()?;
        let indexes = stats.tables.into_iter().flat_map(|t| t.indexes);
        Ok(Written {
            log: Some(stats.written.log),
            rows: Some(stats.written.segments + stats.written.compaction),
            indexes: indexes.map(|i| (i.name, i.written.flushed + i.written.merged)).collect(),
            total: Some(stats.written.total()),
        })
    }

    fn sizes(&self) -> Result<BTreeMap<String, u64>> {
        let (table, _) = self.table()?;
        let stats = self.db.stats()?;
        let of = stats.tables.iter().find(|t| t.name == table.name());
        let mut sizes = BTreeMap::new();
        if let Some(stats) = of {
            sizes.insert(ROWS.to_owned(), stats.segment_bytes + stats.mark_bytes);
            sizes.extend(stats.indexes.iter().map(|i| (i.name.clone(), i.bytes)));
        }
        Ok(sizes)
    }

    fn merge_debt_bytes(&self) -> Result<u64> {
        Ok(self.db.stats()?.merge_debt_bytes)
    }

    fn memory_parts(&self) -> BTreeMap<String, u64> {
        self.db.memory().iter().map(|p| (p.part.name().to_owned(), p.used)).collect()
    }

    fn count(&self) -> Result<u64> {
        let (table, _) = self.table()?;
        self.db.snapshot()?.count(&table)
    }

    fn sum(&self, column: usize) -> Result<Option<i64>> {
        let (table, shape) = self.table()?;
        let scan = Scan::all().columns([shape.columns[column].0]);
        let mut sum = 0;
        for batch in self.db.snapshot()?.scan(&table, scan)? {
            let batch = batch?;
            for row in 0..batch.len() {
                if let Value::Int(n) = batch.value(row, 0) {
                    sum += n;
                }
            }
        }
        Ok(Some(sum))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.db.close()
    }
}

struct OnlapClient<'a> {
    db: &'a Database,
    table: Table,
    shape: &'static TableShape,
}

impl OnlapClient<'_> {
    fn column(&self, column: usize) -> &'static str {
        self.shape.columns[column].0
    }
}

impl Client for OnlapClient<'_> {
    fn insert_batch(&mut self, rows: Batch) -> Result<()> {
        self.table.insert_batch(rows).map(drop)
    }

    fn insert_rows(&mut self, rows: &[Row]) -> Result<()> {
        let mut transaction = self.db.begin()?;
        for row in rows {
            transaction.insert(&self.table, row)?;
        }
        transaction.commit().map(drop)
    }

    fn get(&mut self, key: i64) -> Result<bool> {
        Ok(self.db.snapshot()?.get(&self.table, &[Value::Int(key)], None)?.is_some())
    }

    fn increment(&mut self, key: i64, column: usize) -> Result<bool> {
        let key = [Value::Int(key)];
        let mut transaction = self.db.begin()?;
        let Some(row) = transaction.get(&self.table, &key)? else { return Ok(false) };
        let Value::Int(old) = row[column] else { return Ok(false) };
        let change = (self.column(column), Value::Int(old + 1));
        let found = transaction.update(&self.table, &key, &[change])?;
        transaction.commit()?;
        Ok(found)
    }

    fn delete(&mut self, keys: &[i64]) -> Result<u64> {
        let mut transaction = self.db.begin()?;
        let mut deleted = 0;
        for &key in keys {
            deleted += u64::from(transaction.delete(&self.table, &[Value::Int(key)])?);
        }
        transaction.commit()?;
        Ok(deleted)
    }

    fn add(&mut self, keys: &[i64], column: usize) -> Result<u64> {
        let change = [(self.column(column), Change::Add(Value::Int(1)))];
        let mut transaction = self.db.begin()?;
        let mut changed = 0;
        for &key in keys {
            let found = transaction.change(&self.table, &[Value::Int(key)], &change)?;
            changed += u64::from(found);
        }
        transaction.commit()?;
        Ok(changed)
    }

    fn range(&mut self, index: usize, from: &Start, limit: usize) -> Result<usize> {
        let index = &self.shape.indexes[index];
        let columns = index.columns.iter().map(|c| self.column(*c));
        let scan = Scan::all().columns(columns).limit(limit);
        let range = match from {
            Start::At(value) => KeyRange::from([value.clone()]),
            Start::After(value) => KeyRange::after([value.clone()]),
        };
        let mut found = 0;
        for batch in self.db.snapshot()?.index_scan(&self.table, index.name, range, scan)? {
            found += batch?.len();
        }
        Ok(found)
    }

    fn count_index(&mut self, index: usize) -> Result<u64> {
        let name = self.shape.indexes[index].name;
        self.db.snapshot()?.index_count(&self.table, name, KeyRange::all())
    }

    fn scan(&mut self, columns: &[usize]) -> Result<u64> {
        let columns = columns.iter().map(|c| self.column(*c));
        let mut rows = self.db.snapshot()?.scan(&self.table, Scan::all().columns(columns))?;
        let Some(first) = rows.next() else { return Ok(0) };
        let mut batch = first?;
        let mut found = batch.len() as u64;
        while rows.next_into(&mut batch)? {
            found += batch.len() as u64;
        }
        Ok(found)
    }
}
