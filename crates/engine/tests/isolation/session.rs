//! What does a session do with a statement?
//!
//! | statement | by |
//! |---|---|
//! | `begin [LEVEL] [readonly] [timeout MS]`, `commit`, `rollback` | |
//! | `savepoint NAME`, `rollback to NAME` | |
//! | `insert [TABLE] 3 30, 4 40` | |
//! | `insert [TABLE] select id + 10 [where …]` | rows of the table with another primary key, one by one as they are read |
//! | `select [TABLE] [where …] [for update, share, key share, no key update [nowait, skip locked] [limit 1]]` | |
//! | `open NAME [TABLE] [where …]`, `read NAME` | a scan that is begun now and read later |
//! | `update [TABLE] set value = 5, u = u + 1 [where …]` | |
//! | `walk [TABLE] set … where …` | an update of each row as the scan comes to it |
//! | `delete [TABLE] [where …]` | |
//!
//! Conditions are `c = 1`, `c in (1, 2)`, `c % 3 = 0` and comparisons, joined by `and`. One for the
//! primary key alone is answered by the calls for one key. Otherwise the first one on a column that
//! leads an index goes through the index, where none is the table is scanned; rows to change are
//! locked, and checked again where somebody changed them meanwhile.

use std::collections::HashMap;
use std::time::Duration;

use onlap::{
    Database, ErrorKind, Isolation, KeyRange, LockWait, Result, Row, RowId, RowLock, Rows,
    Savepoint, Scan, Table, TableSchema, Transaction, TransactionOptions, Value,
};

use crate::words::{Change, Condition, Is, Words};

/// A client with at most one transaction.
pub struct Session {
    db: Database,
    level: Isolation,
    tx: Option<Transaction>,
    /// A statement failed, and the transaction does no more.
    failed: bool,
    savepoints: HashMap<String, Savepoint>,
    scans: HashMap<String, (Rows, Condition)>,
}

impl Session {
    pub fn new(db: Database, level: Isolation) -> Session {
        let (savepoints, scans) = (HashMap::new(), HashMap::new());
        Session { db, level, tx: None, failed: false, savepoints, scans }
    }

    /// Runs a statement and says what came of it.
    pub fn run(&mut self, step: &str) -> String {
        let mut words = Words::of(step);
        match words.next().as_str() {
            "begin" => self.begin(&mut words),
            "commit" => self.commit(),
            "rollback" => self.rollback(&mut words),
            _ if self.failed => "the transaction has failed".to_owned(),
            "savepoint" => {
                let savepoint = self.tx.as_mut().expect("a transaction").savepoint();
                self.savepoints.insert(words.next(), savepoint);
                String::new()
            }
            "read" => {
                let (rows, condition) = self.scans.remove(&words.next()).expect("an open scan");
                rows.rows().map_or_else(told, |rows| {
                    show(rows.into_iter().filter(|row| condition.holds(row)))
                })
            }
            what => self.statement(what, &mut words),
        }
    }

    fn begin(&mut self, words: &mut Words) -> String {
        let mut options = TransactionOptions::at(words.level().unwrap_or(self.level));
        if words.take("readonly") {
            options = options.read_only();
        }
        if words.take("timeout") {
            let ms = u64::try_from(words.number()).expect("a time");
            options = options.lock_timeout(Duration::from_millis(ms));
        }
        assert!(self.tx.is_none(), "one transaction at a time");
        self.tx = Some(self.db.begin_with(options).unwrap());
        String::new()
    }

    fn commit(&mut self) -> String {
        let tx = self.tx.take().expect("a transaction");
        if std::mem::take(&mut self.failed) {
            tx.rollback();
            return "rolled back".to_owned();
        }
        tx.commit().map_or_else(told, |_| "committed".to_owned())
    }

    fn rollback(&mut self, words: &mut Words) -> String {
        if words.take("to") {
            let savepoint = &self.savepoints[&words.next()];
            self.failed = false;
            let done = self.tx.as_mut().expect("a transaction").rollback_to(savepoint);
            return done.map_or_else(told, |()| String::new());
        }
        self.failed = false;
        self.tx.take().expect("a transaction").rollback();
        String::new()
    }

    fn statement(&mut self, what: &str, words: &mut Words) -> String {
        let scan = (what == "open").then(|| words.next());
        let table = self.table(words);
        let (mut tx, alone) = match self.tx.take() {
            Some(tx) => (tx, false),
            None => (self.db.begin_with(TransactionOptions::at(self.level)).unwrap(), true),
        };
        let schema = table.schema();
        let mut statement = Statement { tx: &mut tx, table: &table, schema: &schema };
        let out = match what {
            "insert" => statement.insert(words),
            "select" => statement.select(words),
            "open" => {
                let condition = words.condition(&schema);
                let rows = statement.scan(&condition);
                rows.map(|rows| {
                    self.scans.insert(scan.expect("its name"), (rows, condition));
                    String::new()
                })
            }
            "update" => statement.update(words),
            "walk" => statement.walk(words),
            "delete" => statement.delete(words),
            other => panic!("unknown statement {other}"),
        };
        let failed = out.is_err();
        if out.is_ok() {
            words.end();
        }
        let mut out = out.unwrap_or_else(told);
        if !alone {
            self.failed = failed;
            self.tx = Some(tx);
        } else if !failed && let Err(e) = tx.commit() {
            out = told(e);
        }
        out
    }

    /// The table that a statement names, or the only one.
    fn table(&self, words: &mut Words) -> Table {
        let names = self.db.tables();
        let named = names.iter().find(|table| words.take(&table.name()));
        let table = named.unwrap_or_else(|| {
            assert_eq!(names.len(), 1, "the step names a table");
            &names[0]
        });
        table.clone()
    }
}

/// Wanted rows and where they are.
type Found = Vec<(RowId, Row)>;

struct Statement<'a> {
    tx: &'a mut Transaction,
    table: &'a Table,
    schema: &'a TableSchema,
}

impl Statement<'_> {
    fn insert(&mut self, words: &mut Words) -> Result<String> {
        if words.take("select") {
            return self.insert_select(words);
        }
        loop {
            let row: Vec<Value> = self.schema.columns.iter().map(|_| words.value()).collect();
            self.tx.insert(self.table, &row)?;
            if !words.take(",") {
                return Ok(String::new());
            }
        }
    }

    fn insert_select(&mut self, words: &mut Words) -> Result<String> {
        words.expect(&self.schema.columns[0].name);
        words.expect("+");
        let more = words.number();
        let condition = words.condition(self.schema);
        let mut n = 0;
        for batch in self.scan(&condition)? {
            let batch = batch?;
            for mut row in (0..batch.len()).map(|i| batch.row(i)).filter(|r| condition.holds(r)) {
                let Value::Int(id) = row[0] else { panic!("a key is an integer") };
                row[0] = Value::Int(id + more);
                self.tx.insert(self.table, &row)?;
                n += 1;
            }
        }
        Ok(rows(n))
    }

    fn select(&mut self, words: &mut Words) -> Result<String> {
        let condition = words.condition(self.schema);
        let lock = words.take("for").then(|| words.lock());
        let wait = if words.take("nowait") {
            LockWait::NoWait
        } else if words.take("skip") {
            words.expect("locked");
            LockWait::SkipLocked
        } else {
            LockWait::Block
        };
        let limit = if words.take("limit") { words.number() as usize } else { usize::MAX };
        if let Some(lock) = lock {
            return self.select_locked(&condition, lock, wait, limit);
        }
        if let Some(key) = condition.key() {
            return Ok(show(self.tx.get(self.table, &[Value::Int(key)])?));
        }
        Ok(show(self.find(&condition)?.into_iter().map(|(_, row)| row)))
    }

    /// Locks rows one by one, so that none beyond the limit is locked.
    fn select_locked(
        &mut self,
        condition: &Condition,
        lock: RowLock,
        wait: LockWait,
        limit: usize,
    ) -> Result<String> {
        let mut locked = Vec::new();
        for (row, _) in self.find(condition)? {
            if locked.len() == limit {
                break;
            }
            let mut again = |_: RowId, row: &Row| Ok(condition.holds(row));
            locked.extend(self.tx.lock_rows(self.table, &[row], lock, wait, &mut again)?);
        }
        let batch = self.tx.fetch(self.table, &locked, None)?;
        Ok(show((0..batch.len()).map(|i| batch.row(i))))
    }

    fn update(&mut self, words: &mut Words) -> Result<String> {
        words.expect("set");
        let changes = words.changes(self.schema);
        let condition = words.condition(self.schema);
        if let Some(key) = condition.key() {
            return self.update_key(key, &changes).map(|found| rows(found.into()));
        }
        let found = self.lock(&condition, self.lock_mode(&changes))?;
        if let Some(constants) = changes.iter().map(|c| c.constant()).collect::<Option<Vec<_>>>() {
            let named = changes.iter().zip(constants);
            let set: Vec<(&str, Value)> =
                named.map(|(change, value)| (name(self.schema, change), value.clone())).collect();
            return Ok(rows(self.tx.update_rows(self.table, &found, &set)?));
        }
        let mut n = 0;
        for id in found {
            let batch = self.tx.fetch(self.table, &[id], None)?;
            let row = batch.row(0);
            let set: Vec<(&str, Value)> =
                changes.iter().map(|change| (name(self.schema, change), change.of(&row))).collect();
            n += self.tx.update_rows(self.table, &[id], &set)?;
        }
        Ok(rows(n))
    }

    fn walk(&mut self, words: &mut Words) -> Result<String> {
        words.expect("set");
        let changes = words.changes(self.schema);
        let condition = words.condition(self.schema);
        let mut n = 0;
        for batch in self.scan(&condition)? {
            let batch = batch?;
            for row in (0..batch.len()).map(|i| batch.row(i)).filter(|r| condition.holds(r)) {
                let Value::Int(key) = row[0] else { panic!("a key is an integer") };
                n += u64::from(self.update_key(key, &changes)?);
            }
        }
        Ok(rows(n))
    }

    fn delete(&mut self, words: &mut Words) -> Result<String> {
        let condition = words.condition(self.schema);
        if let Some(key) = condition.key() {
            return Ok(rows(self.tx.delete(self.table, &[Value::Int(key)])?.into()));
        }
        let found = self.lock(&condition, RowLock::Update)?;
        Ok(rows(self.tx.delete_rows(self.table, &found)?))
    }

    fn update_key(&mut self, key: i64, changes: &[Change]) -> Result<bool> {
        let names: Vec<&str> = changes.iter().map(|change| name(self.schema, change)).collect();
        self.tx.update_with(self.table, &[Value::Int(key)], &names, |row| {
            let values: Vec<Value> = changes.iter().map(|change| change.of(row)).collect();
            changes.iter().zip(values).for_each(|(change, value)| row[change.column] = value);
            Ok(())
        })
    }

    /// A change of a unique key locks the row like a delete does.
    fn lock_mode(&self, changes: &[Change]) -> RowLock {
        let unique = self.schema.indexes.iter().filter(|i| i.unique).flat_map(|i| &i.key);
        let keys: Vec<_> = unique.map(|part| part.column).collect();
        let in_key = |change: &Change| keys.contains(&self.schema.columns[change.column].id);
        if changes.iter().any(in_key) { RowLock::Update } else { RowLock::NoKeyUpdate }
    }

    /// Locks wanted rows, in the versions that are wanted once they are locked.
    fn lock(&mut self, condition: &Condition, lock: RowLock) -> Result<Vec<RowId>> {
        let found: Vec<RowId> = self.find(condition)?.into_iter().map(|(id, _)| id).collect();
        let mut again = |_: RowId, row: &Row| Ok(condition.holds(row));
        self.tx.lock_rows(self.table, &found, lock, LockWait::Block, &mut again)
    }

    fn find(&mut self, condition: &Condition) -> Result<Found> {
        let mut found = Found::new();
        for batch in self.scan(condition)? {
            let batch = batch?;
            found.extend((0..batch.len()).map(|i| (batch.row_ids[i], batch.row(i))));
        }
        found.retain(|(_, row)| condition.holds(row));
        Ok(found)
    }

    /// A scan that meets every row for which the condition holds.
    fn scan(&mut self, condition: &Condition) -> Result<Rows> {
        for test in &condition.0 {
            let column = self.schema.columns[test.column].id;
            let index = self.schema.indexes.iter().find(|i| i.key[0].column == column);
            let (low, high) = match &test.is {
                Is::Equal(values) => (values.iter().min(), values.iter().max()),
                Is::Within(from, to) => (Some(from), Some(to)),
                Is::Rest(..) => continue,
            };
            let ends = [low, high].map(|end| Value::Int(*end.expect("a value")));
            let [low, high] = ends.map(|end| [end]);
            let range = KeyRange::between(low, high);
            if let Some(index) = index {
                return self.tx.index_scan(self.table, &index.name, range, Scan::all());
            }
        }
        self.tx.scan(self.table, Scan::all())
    }
}

fn name<'a>(schema: &'a TableSchema, change: &Change) -> &'a str {
    &schema.columns[change.column].name
}

fn rows(n: u64) -> String {
    if n == 1 { "1 row".to_owned() } else { format!("{n} rows") }
}

fn told(e: onlap::Error) -> String {
    let known = [
        ErrorKind::Conflict,
        ErrorKind::DuplicateKey,
        ErrorKind::Deadlock,
        ErrorKind::LockNotAvailable,
        ErrorKind::ForeignKeyViolation,
        ErrorKind::ReadOnlyTransaction,
    ];
    assert!(known.contains(&e.kind()), "{e}");
    format!("{} {:?}", e.kind().sqlstate(), e.kind())
}

/// Rows as text, in the order given.
pub fn show(rows: impl IntoIterator<Item = Row>) -> String {
    let cell = |value: &Value| match value {
        Value::Int(v) => v.to_string(),
        Value::Null => "null".to_owned(),
        other => panic!("{other:?} is no integer"),
    };
    let row = |row: Row| row.iter().map(cell).collect::<Vec<_>>().join(" ");
    let all: Vec<String> = rows.into_iter().map(row).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}
