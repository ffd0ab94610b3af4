//! Stories in `testdata/visibility`: who sees which rows, told command by command.
//!
//! | command | does |
//! |---|---|
//! | `create` | a database with table `t`; the input lists columns `name type` and indexes `index name [unique] (a, b desc) [include (c)]`; the first column is the primary key |
//! | `begin tx=a` | a transaction |
//! | `insert`, `delete id=1`, `update id=1 set=(a,5)` | in transaction `tx=a`, or in one of their own; `-` is NULL |
//! | `commit tx=a`, `rollback tx=a` | ends it |
//! | `snapshot name=s`, `release name=s` | holds a snapshot, lets it go |
//! | `scan`, `count`, `index name=i from= to= back`, `get id=1` | of the newest commit, or `at=s`; `get` also `tx=a` |
//! | `flush`, `settle`, `reopen`, `reopen lost` | the last one without closing first |
//! | `files` | rows, marks and entries in files |
//!
//! Everything runs under `SimTasks`, so that background work happens at the same moments each time.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use datadriven::TestCase;
use onlap::convert::{format_text, parse_text};
use onlap::{
    Csn, DataType, Database, IndexSpec, KeyRange, Options, Result, Rows, Scan, Snapshot, SyncMode,
    Table, TableSpec, Transaction, TransactionOptions, Value,
};
use onlap_base::tasks::SimTasks;
use onlap_vfs::MemFs;

struct Story {
    options: Options,
    db: Option<Database>,
    transactions: HashMap<String, Transaction>,
    snapshots: HashMap<String, Snapshot>,
}

impl Default for Story {
    fn default() -> Story {
        let tasks = SimTasks::new(1);
        let mut options = Options::default().sync(SyncMode::Fsync).memory_limit(32 << 20);
        options.tuning.merge_fan_in = 4;
        options.tuning.log_file_bytes = 64 << 10;
        options.log_limit = 256 << 10;
        options.clock = Arc::new(tasks.clone());
        options.tasks = Arc::new(tasks);
        Story { options, db: None, transactions: HashMap::new(), snapshots: HashMap::new() }
    }
}

fn spec(input: &str) -> TableSpec {
    let mut spec = TableSpec::new("t");
    let list = |text: &str| text.split(',').map(|c| c.trim().to_owned()).collect::<Vec<_>>();
    for (i, line) in input.lines().enumerate() {
        if let Some(index) = line.strip_prefix("index ") {
            let (head, rest) = index.split_once('(').expect("a key in brackets");
            let (key, include) = rest.split_once(')').expect("a key in brackets");
            let mut words = head.split_whitespace();
            let parts = list(key);
            let names = parts.iter().map(|p| p.trim_end_matches(" desc"));
            let mut index = IndexSpec::new(words.next().expect("a name"), names);
            for part in parts.iter().filter_map(|p| p.strip_suffix(" desc")) {
                index = index.descending(part);
            }
            if words.next() == Some("unique") {
                index = index.unique();
            }
            if let Some(columns) = include.trim().strip_prefix("include (") {
                index = index.include(list(columns.trim_end_matches(')')));
            }
            spec = spec.index(index);
            continue;
        }
        let (name, ty) = line.split_once(' ').expect("name and type");
        let ty = match ty {
            "int" => DataType::Int8,
            "text" => DataType::Text,
            other => panic!("unknown type {other}"),
        };
        spec = match i {
            0 => spec.column(name, ty).primary_key([name]),
            _ => spec.nullable_column(name, ty),
        };
    }
    spec
}

fn value(ty: DataType, text: &str) -> Value {
    if text == "-" { Value::Null } else { parse_text(ty, text).expect("a value of the type") }
}

fn show(row: &[Value], types: &[DataType]) -> String {
    let cell = |(value, ty): (&Value, &DataType)| {
        let mut out = String::new();
        match value {
            Value::Null => out.push('-'),
            value => format_text(*ty, value, &mut out),
        }
        out
    };
    row.iter().zip(types).map(cell).collect::<Vec<_>>().join(" ")
}

fn show_rows(rows: Result<Rows>) -> String {
    let mut out = String::new();
    for batch in rows.expect("a read") {
        let batch = batch.expect("a batch");
        for i in 0..batch.len() {
            writeln!(out, "{}: {}", batch.row_ids[i], show(&batch.row(i), batch.types())).unwrap();
        }
    }
    if out.is_empty() { "nothing\n".into() } else { out }
}

fn ended(result: Result<Csn>) -> String {
    match result {
        Ok(csn) => format!("commit {csn}\n"),
        Err(e) => format!("{:?}\n", e.kind()),
    }
}

impl Story {
    fn db(&self) -> &Database {
        self.db.as_ref().expect("a story begins with create")
    }

    fn table(&self) -> Table {
        self.db().table("t").unwrap()
    }

    fn types(&self) -> Vec<DataType> {
        self.table().schema().columns.iter().map(|c| c.ty).collect()
    }

    fn id(&self, test: &mut TestCase) -> [Value; 1] {
        [value(self.types()[0], &test.take_arg::<String>("id").unwrap())]
    }

    /// The snapshot that a command names, or a new one.
    fn at(&self, test: &mut TestCase) -> Snapshot {
        match test.try_take_arg::<String>("at").unwrap() {
            Some(name) => self.snapshots[&name].clone(),
            None => self.db().snapshot().unwrap(),
        }
    }

    fn run(&mut self, test: &mut TestCase) -> String {
        match test.directive.as_str() {
            "create" => {
                *self = Story::default();
                self.options.fs = Arc::new(MemFs::new());
                self.db = Some(Database::open("/db", self.options.clone()).unwrap());
                self.db().create_table(spec(&test.input)).unwrap();
                String::new()
            }
            "begin" => {
                // Nobody else goes on while a command waits.
                let options = TransactionOptions::default().lock_timeout(Duration::ZERO);
                let tx = self.db().begin_with(options).unwrap();
                self.transactions.insert(test.take_arg("tx").unwrap(), tx);
                String::new()
            }
            "insert" | "delete" | "update" => self.change(test),
            "commit" => ended(self.transaction(test).expect("its name").1.commit()),
            "rollback" => {
                self.transaction(test).expect("its name").1.rollback();
                String::new()
            }
            "snapshot" => {
                let snapshot = self.db().snapshot().unwrap();
                let csn = snapshot.csn();
                self.snapshots.insert(test.take_arg("name").unwrap(), snapshot);
                format!("at commit {csn}\n")
            }
            "release" => {
                self.snapshots.remove(&test.take_arg::<String>("name").unwrap()).expect("held");
                String::new()
            }
            "scan" => show_rows(self.at(test).scan(&self.table(), Scan::all())),
            "count" => format!("{}\n", self.at(test).count(&self.table()).unwrap()),
            "index" => self.index(test),
            "get" => self.get(test),
            "flush" => self.db().flush().map(|()| String::new()).unwrap(),
            "settle" => self.db().settle().map(|()| String::new()).unwrap(),
            "reopen" => {
                self.snapshots.clear();
                self.transactions.clear();
                let db = self.db.take().unwrap();
                if test.take_flag("lost").unwrap() {
                    drop(db)
                } else {
                    db.close().unwrap()
                }
                self.db = Some(Database::open("/db", self.options.clone()).unwrap());
                String::new()
            }
            "files" => self.files(),
            other => panic!("unknown command {other}"),
        }
    }

    /// Takes the transaction that a command names.
    fn transaction(&mut self, test: &mut TestCase) -> Option<(String, Transaction)> {
        let name = test.try_take_arg::<String>("tx").unwrap()?;
        self.transactions.remove_entry(&name).or_else(|| panic!("no transaction {name}"))
    }

    fn change(&mut self, test: &mut TestCase) -> String {
        let (table, types) = (self.table(), self.types());
        let named = self.transaction(test);
        let (name, mut tx) = match named {
            Some((name, tx)) => (Some(name), tx),
            None => (None, self.db().begin().unwrap()),
        };
        let mut found = Ok(true);
        match test.directive.as_str() {
            "insert" => {
                for line in test.input.lines() {
                    let cells = types.iter().zip(line.split_whitespace());
                    let row: Vec<Value> = cells.map(|(ty, text)| value(*ty, text)).collect();
                    found = found.and_then(|_| tx.insert(&table, &row)).map(|()| true);
                }
            }
            "delete" => found = tx.delete(&table, &self.id(test)),
            _ => {
                let set: Vec<String> = test.take_args("set").unwrap();
                let schema = table.schema();
                let change = |pair: &[String]| {
                    let at = schema.position_by_name(&pair[0]).expect("a column");
                    (schema.columns[at].name.clone(), value(types[at], &pair[1]))
                };
                let changes: Vec<(String, Value)> = set.chunks(2).map(change).collect();
                let changes: Vec<(&str, Value)> =
                    changes.iter().map(|(name, v)| (name.as_str(), v.clone())).collect();
                found = tx.update(&table, &self.id(test), &changes);
            }
        }
        let mut out = match &found {
            Ok(true) => String::new(),
            Ok(false) => "no such row\n".to_owned(),
            Err(e) => format!("{:?}\n", e.kind()),
        };
        match name {
            Some(name) => drop(self.transactions.insert(name, tx)),
            None if matches!(found, Ok(true)) => out += &ended(tx.commit()),
            None => {}
        }
        out
    }

    fn index(&self, test: &mut TestCase) -> String {
        let (table, snapshot) = (self.table(), self.at(test));
        let name: String = test.take_arg("name").unwrap();
        let schema = table.schema();
        let column = schema.index_by_name(&name).expect("an index").key[0].column;
        let ty = schema.columns[schema.position(column).expect("a column")].ty;
        let mut range = KeyRange::all();
        if let Some(from) = test.try_take_arg::<String>("from").unwrap() {
            range = range.and(KeyRange::from([value(ty, &from)]));
        }
        if let Some(to) = test.try_take_arg::<String>("to").unwrap() {
            range = range.and(KeyRange::to([value(ty, &to)]));
        }
        let scan =
            if test.take_flag("back").unwrap() { Scan::all().reverse() } else { Scan::all() };
        let count = snapshot.index_count(&table, &name, range.clone()).unwrap();
        let rows = show_rows(snapshot.index_scan(&table, &name, range, scan));
        assert_eq!(count as usize, rows.lines().filter(|l| *l != "nothing").count());
        rows
    }

    fn get(&mut self, test: &mut TestCase) -> String {
        let (table, id, types) = (self.table(), self.id(test), self.types());
        let row = match self.transaction(test) {
            Some((name, mut tx)) => {
                let row = tx.get(&table, &id).unwrap();
                self.transactions.insert(name, tx);
                row
            }
            None => self.at(test).get(&table, &id, None).unwrap(),
        };
        row.map_or("nothing\n".into(), |row| show(&row, &types) + "\n")
    }

    fn files(&self) -> String {
        let stats = self.db().stats().unwrap();
        let t = &stats.tables[0];
        let mut out = format!(
            "{} rows in {} segment(s), {} marks, {} rows in memory\n",
            t.segment_rows, t.segments, t.marks, t.unflushed_rows
        );
        for index in &t.indexes {
            let runs = index.runs.len();
            writeln!(out, "{}: {} entries in {runs} run(s)", index.name, index.entries).unwrap();
        }
        out
    }
}

#[test]
fn stories_come_out_as_told() {
    datadriven::walk("testdata/visibility", |file| {
        let mut story = Story::default();
        file.run(|test| {
            let out = story.run(test);
            test.expect_empty().unwrap();
            out
        });
    });
}
