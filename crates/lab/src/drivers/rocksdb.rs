//! How does RocksDB do the same work?
//!
//! One column family. A row's key is the byte 0 and the eight bytes of its key; an index entry's
//! key is the index's number from 1, the key columns and the row's key, its value is empty. A
//! commit is one write batch with the row and one entry per index. Columns are encoded so that
//! their bytes sort as their values do ([`codec`]).
//!
//! Settings: two background jobs, LZ4 and zstd at the bottom, bloom filters of 10 bits, direct I/O
//! for flushes, compactions and reads, log on. Of the memory budget a half is the block cache, and
//! the other half two write buffers; index and filter blocks come on top ([`handle`]).

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::Duration;

use onlap::{Batch, Column, Row, Value, Vector};
use onlap_base::{Error, ErrorKind, Result};

use crate::drivers::Updates;
use crate::engine::{Client, Engine, EngineOptions, Start, SyncMode, Written};
use crate::generate::{IndexShape, TableShape};

mod codec;
mod ffi;
mod handle;
mod transactions;

use codec::{RowCodec, index_id, put_int};
use handle::{Db, WriteBatch};
use transactions::TransactionDb;

/// Rows whose entries an index build puts into one batch.
const BUILD_ROWS: usize = 1_000;

/// Opens or creates a database.
pub(super) fn open(options: &EngineOptions) -> Result<Box<dyn Engine>> {
    let db = Db::open(&options.dir, options.memory, options.sync == SyncMode::Fsync)?;
    let db = Arc::new(db);
    let closing = Arc::new(AtomicBool::new(false));
    let syncer = match options.sync {
        SyncMode::Interval(every) => Some(spawn_syncer(db.clone(), every, closing.clone())),
        _ => None,
    };
    Ok(Box::new(RocksDb {
        db,
        closing,
        syncer,
        layout: RwLock::default(),
        next_key: AtomicI64::new(1),
        log_bytes: AtomicU64::new(0),
    }))
}

/// Syncs the log periodically, which RocksDB leaves to its user.
fn spawn_syncer(
    db: Arc<Db>,
    every: Duration,
    closing: Arc<AtomicBool>,
) -> thread::JoinHandle<Result<()>> {
    thread::spawn(move || {
        while !closing.load(Relaxed) {
            thread::sleep(every);
            db.sync_log()?;
        }
        Ok(())
    })
}

/// Opens a database with rows of a table and all its indexes, for transactions.
pub(super) fn open_for_updates(
    options: &EngineOptions,
    shape: &'static TableShape,
) -> Result<Box<dyn Updates>> {
    let sync = options.sync == SyncMode::Fsync;
    let db = TransactionDb::open(&options.dir, options.memory, sync)?;
    Ok(Box::new(RocksUpdates { db, shape }))
}

struct RocksUpdates {
    db: TransactionDb,
    shape: &'static TableShape,
}

impl Updates for RocksUpdates {
    fn transaction(&self, keys: &[i64], column: usize) -> Result<()> {
        let mut codec = RowCodec::new(self.shape);
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let transaction = self.db.begin();
        for &number in keys {
            key.clear();
            key.push(0);
            put_int(&mut key, number, 8);
            if !transaction.get_for_update(&key, &mut value)? {
                continue;
            }
            let indexes = self.shape.indexes.iter().enumerate();
            let over = indexes.filter(|(_, index)| index.columns.contains(&column));
            codec.load(&key[1..], &value);
            for (n, index) in over.clone() {
                transaction.delete(codec.entry(index_id(n), index.columns))?;
            }
            codec.increment(column);
            transaction.put(codec.key(), codec.value())?;
            for (n, index) in over {
                transaction.put(codec.entry(index_id(n), index.columns), &[])?;
            }
        }
        transaction.commit()
    }
}

struct RocksDb {
    db: Arc<Db>,
    closing: Arc<AtomicBool>,
    syncer: Option<thread::JoinHandle<Result<()>>>,
    /// The table and how many of its indexes exist.
    layout: RwLock<(Option<&'static TableShape>, usize)>,
    next_key: AtomicI64,
    log_bytes: AtomicU64,
}

impl RocksDb {
    fn layout(&self) -> Result<(&'static TableShape, usize)> {
        let (shape, indexes) = *self.layout.read().expect("no holder panics");
        let none = || Error::new(ErrorKind::UnknownTable, "no table was created");
        Ok((shape.ok_or_else(none)?, indexes))
    }

    fn write(&self, batch: &WriteBatch) -> Result<()> {
        let bytes = self.db.write(batch)?;
        self.log_bytes.fetch_add(bytes, Relaxed);
        batch.clear();
        Ok(())
    }

    /// Calls `visit` with the key and value of every row.
    fn for_each_row(&self, mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        let mut it = self.db.seek(&[0]);
        while let Some((key, value)) = it.entry().filter(|(key, _)| key[0] == 0) {
            visit(key, value)?;
            it.advance();
        }
        it.status()
    }
}

impl Engine for RocksDb {
    fn create_table(&self, shape: &'static TableShape, indexes: usize) -> Result<()> {
        *self.layout.write().expect("no holder panics") = (Some(shape), indexes);
        Ok(())
    }

    fn use_table(&self, shape: &'static TableShape, indexes: usize) -> Result<()> {
        self.create_table(shape, indexes)?;
        self.next_key.store(1 + self.count()? as i64, Relaxed);
        Ok(())
    }

    fn create_index(&self, index: &'static IndexShape) -> Result<()> {
        let (shape, number) = self.layout()?;
        let mut codec = RowCodec::new(shape);
        let batch = WriteBatch::new();
        let mut rows = 0;
        self.for_each_row(|key, value| {
            codec.load(&key[1..], value);
            batch.put(codec.entry(index_id(number), index.columns), &[]);
            rows += 1;
            if rows % BUILD_ROWS == 0 { self.write(&batch) } else { Ok(()) }
        })?;
        self.write(&batch)?;
        self.layout.write().expect("no holder panics").1 += 1;
        Ok(())
    }

    fn client(&self) -> Result<Box<dyn Client + '_>> {
        let codec = RowCodec::new(self.layout()?.0);
        Ok(Box::new(RocksClient {
            engine: self,
            codec,
            batch: WriteBatch::new(),
            key: Vec::new(),
            value: Vec::new(),
        }))
    }

    fn flush(&self) -> Result<()> {
        self.db.flush()
    }

    fn settle(&self) -> Result<()> {
        self.flush()?;
        let busy = [
            c"rocksdb.mem-table-flush-pending",
            c"rocksdb.num-running-flushes",
            c"rocksdb.compaction-pending",
            c"rocksdb.num-running-compactions",
        ];
        // Between two compactions nothing may be running for a moment.
        let mut quiet = 0;
        while quiet < 5 {
            quiet = if busy.iter().all(|p| self.db.property(p) == 0) { quiet + 1 } else { 0 };
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn written(&self) -> Result<Written> {
        Ok(Written { log: Some(self.log_bytes.load(Relaxed)), ..Written::default() })
    }

    fn merge_debt_bytes(&self) -> Result<u64> {
        Ok(self.db.property(c"rocksdb.estimate-pending-compaction-bytes"))
    }

    fn count(&self) -> Result<u64> {
        let mut rows = 0;
        self.for_each_row(|_, _| {
            rows += 1;
            Ok(())
        })?;
        Ok(rows)
    }

    fn close(mut self: Box<Self>) -> Result<()> {
        self.closing.store(true, Relaxed);
        match self.syncer.take() {
            Some(syncer) => syncer.join().expect("the syncer does not panic"),
            None => Ok(()),
        }
    }
}

struct RocksClient<'a> {
    engine: &'a RocksDb,
    codec: RowCodec,
    batch: WriteBatch,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl RocksClient<'_> {
    fn row_key(&mut self, key: i64) {
        self.key.clear();
        self.key.push(0);
        put_int(&mut self.key, key, 8);
    }

    fn put_encoded(&mut self, shape: &TableShape, indexes: usize) {
        self.batch.put(self.codec.key(), self.codec.value());
        for (number, index) in shape.indexes[..indexes].iter().enumerate() {
            self.batch.put(self.codec.entry(index_id(number), index.columns), &[]);
        }
    }
}

impl Client for RocksClient<'_> {
    fn insert_batch(&mut self, rows: Batch) -> Result<()> {
        let (shape, indexes) = self.engine.layout()?;
        let first = self.engine.next_key.fetch_add(rows.rows as i64, Relaxed);
        for i in 0..rows.rows {
            let key = match &rows.columns[0] {
                column if column.is_null(i) => first + i as i64,
                Column { data: Vector::Int(keys), .. } => keys[i],
                _ => unreachable!("the key column is a bigserial"),
            };
            self.codec.encode_batch_row(key, &rows, i);
            self.put_encoded(shape, indexes);
        }
        self.engine.write(&self.batch)
    }

    fn insert_rows(&mut self, rows: &[Row]) -> Result<()> {
        let (shape, indexes) = self.engine.layout()?;
        let first = self.engine.next_key.fetch_add(rows.len() as i64, Relaxed);
        for (next, row) in (first..).zip(rows) {
            let key = if let Value::Int(key) = row[0] { key } else { next };
            self.codec.encode_row(key, row);
            self.put_encoded(shape, indexes);
        }
        self.engine.write(&self.batch)
    }

    fn get(&mut self, key: i64) -> Result<bool> {
        self.row_key(key);
        self.engine.db.get(&self.key, &mut self.value)
    }

    fn increment(&mut self, key: i64, column: usize) -> Result<bool> {
        if !self.get(key)? {
            return Ok(false);
        }
        self.codec.load(&self.key[1..], &self.value);
        self.codec.increment(column);
        self.batch.put(self.codec.key(), self.codec.value());
        self.engine.write(&self.batch)?;
        Ok(true)
    }

    fn delete(&mut self, keys: &[i64]) -> Result<u64> {
        let (shape, indexes) = self.engine.layout()?;
        let mut deleted = 0;
        for &key in keys {
            // Entries are found by what the row says.
            if !self.get(key)? {
                continue;
            }
            self.codec.load(&self.key[1..], &self.value);
            self.batch.delete(self.codec.key());
            for (number, index) in shape.indexes[..indexes].iter().enumerate() {
                self.batch.delete(self.codec.entry(index_id(number), index.columns));
            }
            deleted += 1;
        }
        self.engine.write(&self.batch)?;
        Ok(deleted)
    }

    fn add(&mut self, keys: &[i64], column: usize) -> Result<u64> {
        let mut changed = 0;
        for &key in keys {
            if self.get(key)? {
                self.codec.load(&self.key[1..], &self.value);
                self.codec.increment(column);
                self.batch.put(self.codec.key(), self.codec.value());
                changed += 1;
            }
        }
        self.engine.write(&self.batch)?;
        Ok(changed)
    }

    fn range(&mut self, index: usize, from: &Start, limit: usize) -> Result<usize> {
        let (shape, _) = self.engine.layout()?;
        let id = index_id(index);
        self.key.clear();
        self.key.push(id);
        let bytes = self.codec.int_bytes(shape.indexes[index].columns[0]);
        match from {
            Start::At(Value::Int(v) | Value::Timestamp(v)) => put_int(&mut self.key, *v, bytes),
            Start::After(Value::Int(v) | Value::Timestamp(v)) => {
                put_int(&mut self.key, *v + 1, bytes);
            }
            Start::At(Value::Text(v)) => self.key.extend_from_slice(v.as_bytes()),
            _ => unreachable!("workloads ask for integers, times and texts only"),
        }
        let mut it = self.engine.db.seek(&self.key);
        let mut found = 0;
        while found < limit && it.entry().is_some_and(|(key, _)| key[0] == id) {
            found += 1;
            it.advance();
        }
        it.status()?;
        Ok(found)
    }

    fn count_index(&mut self, index: usize) -> Result<u64> {
        let id = index_id(index);
        let mut it = self.engine.db.seek(&[id]);
        let mut found = 0;
        while it.entry().is_some_and(|(key, _)| key[0] == id) {
            found += 1;
            it.advance();
        }
        it.status()?;
        Ok(found)
    }

    /// Every row is read whole: its columns lie together.
    fn scan(&mut self, _columns: &[usize]) -> Result<u64> {
        self.engine.count()
    }
}
