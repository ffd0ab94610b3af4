//! Stories in `testdata/rules`: which rows does a table take, and what becomes of their children?
//!
//! | command | does |
//! |---|---|
//! | `create t` | a table; the input lists columns `name type [not null] [serial] [always] [default v] [nextval s]`, `primary (a, b)`, `[unique] name (a, b)`, `check name expression` and `foreign name (a) parent (x) [delete cascade] [update set-null]` |
//! | `add t`, `drop t name=c` | checks and foreign keys, written as above |
//! | `sequence s start= by= min= max= cycle`, `drop-sequence s`, `next s` | sequences |
//! | `begin a [level=committed]`, `commit a`, `rollback a` | transactions |
//! | `insert t [columns=(a,b)] [tx=a]` | one row per line; `-` is NULL |
//! | `update t key=(1) set=(a,5) [tx=a]`, `delete t key=(1) [tx=a]` | by primary key |
//! | `scan t [tx=a]` | all rows |
//! | `default t column=a` | what a statement that says DEFAULT gets |
//! | `drop-table t`, `reopen` | |
//!
//! Expressions are in prefix form: `(and (> a 0) (like t 'a%'))`. Commands of one line that change rows
//! commit unless they name a transaction. Everything runs under `SimTasks`; locks time out at once.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use datadriven::TestCase;
use onlap::convert::{format_text, parse_text};
use onlap::{
    Action, DataType, Database, Expr, ForeignKeySpec, IndexSpec, Isolation, Options, Result, Scan,
    SequenceSpec, SyncMode, Table, TableSpec, Transaction, TransactionOptions, Value,
};
use onlap_base::tasks::SimTasks;
use onlap_vfs::MemFs;

struct Story {
    options: Options,
    db: Option<Database>,
    transactions: HashMap<String, Transaction>,
}

impl Story {
    fn new() -> Story {
        let tasks = SimTasks::new(1);
        let mut options = Options::default().sync(SyncMode::Fsync).memory_limit(32 << 20);
        options.tuning.log_file_bytes = 64 << 10;
        options.clock = Arc::new(tasks.clone());
        options.tasks = Arc::new(tasks);
        options.fs = Arc::new(MemFs::new());
        let db = Some(Database::open("/db", options.clone()).unwrap());
        Story { options, db, transactions: HashMap::new() }
    }
}

fn ty(name: &str) -> DataType {
    match name {
        "int2" => DataType::Int2,
        "int4" => DataType::Int4,
        "int" => DataType::Int8,
        "text" => DataType::Text,
        "char3" => DataType::Char(3),
        "numeric" => DataType::Numeric(None),
        "money" => DataType::Numeric(Some((10, 2))),
        "date" => DataType::Date,
        "bool" => DataType::Bool,
        _ => panic!("unknown type {name}"),
    }
}

fn value(ty: DataType, text: &str) -> Value {
    if text == "-" { Value::Null } else { parse_text(ty, text).expect("a value of the type") }
}

/// What stands in the first brackets, and what stands behind them.
fn brackets(text: &str) -> (Vec<String>, &str) {
    let (_, rest) = text.split_once('(').expect("brackets");
    let (list, rest) = rest.split_once(')').expect("brackets");
    (list.split(',').map(|c| c.trim().to_owned()).collect(), rest)
}

fn column(mut spec: TableSpec, line: &str) -> TableSpec {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, kind) = (words[0], words[1]);
    if words.contains(&"serial") {
        return spec.serial(name);
    }
    if words.contains(&"always") {
        return spec.identity_always(name);
    }
    spec = match line.contains("not null") {
        true => spec.column(name, ty(kind)),
        false => spec.nullable_column(name, ty(kind)),
    };
    let behind = |word| words.iter().position(|w| *w == word).map(|i| words[i + 1]);
    if let Some(text) = behind("default") {
        let constant = parse_text(ty(kind), text).unwrap_or(Value::Text(text.into()));
        spec = spec.default(name, constant);
    }
    match behind("nextval") {
        Some(sequence) => spec.default_sequence(name, sequence),
        None => spec,
    }
}

fn foreign(line: &str) -> ForeignKeySpec {
    let name = line.split_whitespace().next().expect("a name");
    let (columns, rest) = brackets(line);
    let parent = rest.trim().split([' ', '(']).next().unwrap();
    let mut key = ForeignKeySpec::new(name, columns, parent);
    let mut rest = &rest.trim()[parent.len()..];
    if rest.contains('(') {
        let (columns, behind) = brackets(rest);
        (key, rest) = (key.parent_columns(columns), behind);
    }
    let words: Vec<&str> = rest.split_whitespace().collect();
    for pair in words.chunks(2) {
        let action = match pair[1] {
            "cascade" => Action::Cascade,
            "set-null" => Action::SetNull,
            _ => Action::NoAction,
        };
        key = if pair[0] == "delete" { key.on_delete(action) } else { key.on_update(action) };
    }
    key
}

fn table(name: &str, input: &str) -> TableSpec {
    let mut spec = TableSpec::new(name);
    for line in input.lines() {
        let (word, rest) = line.split_once(' ').expect("two words");
        spec = match word {
            "primary" => spec.primary_key(brackets(rest).0),
            "check" => {
                let (name, text) = rest.split_once(' ').unwrap();
                spec.check(name, expression(text))
            }
            "foreign" => spec.foreign_key(foreign(rest)),
            "unique" => {
                let name = rest.split_whitespace().next().unwrap();
                spec.index(IndexSpec::new(name, brackets(rest).0).unique())
            }
            "index" => {
                let name = rest.split_whitespace().next().unwrap();
                spec.index(IndexSpec::new(name, brackets(rest).0))
            }
            _ => column(spec, line),
        };
    }
    spec
}

/// Reads an expression in prefix form.
fn expression(text: &str) -> Expr<String> {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    part(&mut words)
}

fn part<'a>(words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> Expr<String> {
    let word = words.next().expect("an expression goes on");
    if word != "(" {
        return atom(word);
    }
    let how = words.next().expect("an operator");
    let mut parts = Vec::new();
    while *words.peek().expect("a closing bracket") != ")" {
        parts.push(part(words));
    }
    words.next();
    let mut parts = parts.into_iter();
    let mut next = || parts.next().expect("an operand");
    match how {
        "and" => Expr::And(parts.collect()),
        "or" => Expr::Or(parts.collect()),
        "not" => next().negated(),
        "null" => next().is_null(),
        "=" => next().equal(next()),
        "<>" => next().not_equal(next()),
        "<" => next().less(next()),
        "<=" => next().less_or_equal(next()),
        ">" => next().greater(next()),
        ">=" => next().greater_or_equal(next()),
        "+" => next().plus(next()),
        "-" => next().minus(next()),
        "*" => next().times(next()),
        "/" => next().divided_by(next()),
        "%" => next().remainder(next()),
        "length" => next().length(),
        "between" => next().between(next(), next()),
        "in" => next().one_of(parts),
        "like" => {
            let text = next();
            let Expr::Constant(Value::Text(pattern)) = next() else { panic!("a pattern") };
            text.like(pattern)
        }
        other => panic!("unknown operator {other}"),
    }
}

fn atom(word: &str) -> Expr<String> {
    if let Some(text) = word.strip_prefix('\'') {
        return Expr::Constant(Value::Text(text.trim_end_matches('\'').to_owned()));
    }
    match word.parse::<i64>() {
        Ok(v) => Expr::Constant(Value::Int(v)),
        Err(_) if word == "null" => Expr::Constant(Value::Null),
        Err(_) => Expr::column(word),
    }
}

fn told<T>(result: Result<T>) -> String {
    match result {
        Ok(_) => String::new(),
        Err(e) => format!("{} {}\n", e.kind().sqlstate(), e.message()),
    }
}

impl Story {
    fn db(&self) -> &Database {
        self.db.as_ref().expect("open")
    }

    fn run(&mut self, test: &mut TestCase) -> String {
        let bare = test.args.iter().find(|(word, values)| values.is_empty() && *word != "cycle");
        let name = bare.map(|(word, _)| word.clone()).unwrap_or_default();
        test.args.remove(&name);
        match test.directive.as_str() {
            "create" => told(self.db().create_table(table(&name, &test.input))),
            "add" => self.add(&name, &test.input),
            "drop" => {
                let rule: String = test.take_arg("name").unwrap();
                told(self.db().drop_constraint(&name, &rule))
            }
            "default" => {
                let column: String = test.take_arg("column").unwrap();
                match self.db().table(&name).and_then(|t| t.default_value(&column)) {
                    Ok(value) => format!("{value:?}\n"),
                    Err(e) => told::<()>(Err(e)),
                }
            }
            "drop-table" => told(self.db().drop_table(&name)),
            "sequence" => self.sequence(&name, test),
            "drop-sequence" => told(self.db().drop_sequence(&name)),
            "next" => match self.db().sequence(&name).and_then(|s| s.next_value()) {
                Ok(v) => format!("{v}\n"),
                Err(e) => told::<()>(Err(e)),
            },
            "begin" => {
                let level = match test.try_take_arg::<String>("level").unwrap().as_deref() {
                    Some("committed") => Isolation::ReadCommitted,
                    Some("serializable") => Isolation::Serializable,
                    _ => Isolation::RepeatableRead,
                };
                let tx = self.transaction(level);
                self.transactions.insert(name, tx);
                String::new()
            }
            "commit" => told(self.transactions.remove(&name).expect("begun").commit()),
            "rollback" => {
                self.transactions.remove(&name).expect("begun").rollback();
                String::new()
            }
            "insert" | "update" | "delete" => self.change(&name, test),
            "scan" => self.scan(&name, test),
            "reopen" => {
                self.transactions.clear();
                self.db.take().unwrap().close().unwrap();
                self.db = Some(Database::open("/db", self.options.clone()).unwrap());
                String::new()
            }
            other => panic!("unknown command {other}"),
        }
    }

    /// Nobody else goes on while a command waits, so none waits.
    fn transaction(&self, level: Isolation) -> Transaction {
        let options = TransactionOptions::at(level).lock_timeout(Duration::ZERO);
        self.db().begin_with(options).unwrap()
    }

    fn add(&self, table: &str, input: &str) -> String {
        let mut out = String::new();
        for line in input.lines() {
            let (word, rest) = line.split_once(' ').expect("two words");
            out += &told(match word {
                "check" => {
                    let (name, text) = rest.split_once(' ').unwrap();
                    self.db().add_check(table, name, &expression(text))
                }
                _ => self.db().add_foreign_key(table, &foreign(rest)),
            });
        }
        out
    }

    fn sequence(&self, name: &str, test: &mut TestCase) -> String {
        let mut spec = SequenceSpec::new(name);
        let mut number = |key| test.try_take_arg::<i64>(key).unwrap();
        for (set, key) in [
            (SequenceSpec::start as fn(SequenceSpec, i64) -> SequenceSpec, "start"),
            (SequenceSpec::increment, "by"),
            (SequenceSpec::min, "min"),
            (SequenceSpec::max, "max"),
        ] {
            spec = number(key).map_or(spec.clone(), |v| set(spec, v));
        }
        if test.take_flag("cycle").unwrap() {
            spec = spec.cycle();
        }
        told(self.db().create_sequence(spec))
    }

    fn change(&mut self, name: &str, test: &mut TestCase) -> String {
        let table = match self.db().table(name) {
            Ok(table) => table,
            Err(e) => return told::<()>(Err(e)),
        };
        let named = test.try_take_arg::<String>("tx").unwrap();
        let mut tx = match &named {
            Some(name) => self.transactions.remove(name).expect("begun"),
            None => self.transaction(Isolation::RepeatableRead),
        };
        let mut out = String::new();
        let done = match test.directive.as_str() {
            "insert" => insert(&mut tx, &table, test),
            _ => match by_key(&mut tx, &table, test) {
                Ok(true) => Ok(()),
                Ok(false) => {
                    out.push_str("no such row\n");
                    Ok(())
                }
                Err(e) => Err(e),
            },
        };
        let failed = done.is_err();
        out += &told(done);
        match named {
            Some(name) => drop(self.transactions.insert(name, tx)),
            None if failed => {}
            None => out += &told(tx.commit()),
        }
        out
    }

    fn scan(&mut self, name: &str, test: &mut TestCase) -> String {
        let table = self.db().table(name).unwrap();
        let rows = match test.try_take_arg::<String>("tx").unwrap() {
            Some(tx) => {
                let tx = self.transactions.get_mut(&tx).expect("begun");
                tx.scan(&table, Scan::all()).unwrap()
            }
            None => self.db().snapshot().unwrap().scan(&table, Scan::all()).unwrap(),
        };
        let mut out = String::new();
        for batch in rows {
            let batch = batch.unwrap();
            for i in 0..batch.len() {
                for (j, (value, ty)) in batch.row(i).iter().zip(batch.types()).enumerate() {
                    out.push_str(if j > 0 { " " } else { "" });
                    match value {
                        Value::Null => out.push('-'),
                        value => format_text(*ty, value, &mut out),
                    }
                }
                out.truncate(out.trim_end().len());
                writeln!(out).unwrap();
            }
        }
        if out.is_empty() { "nothing\n".into() } else { out }
    }
}

fn insert(tx: &mut Transaction, table: &Table, test: &mut TestCase) -> Result<()> {
    let schema = table.schema();
    let columns: Option<Vec<String>> = test.try_take_args("columns").unwrap();
    let all = || schema.columns.iter().map(|c| c.name.clone()).collect();
    let names: Vec<String> = columns.clone().unwrap_or_else(all);
    let ty = |name: &String| schema.position_by_name(name).map(|at| schema.columns[at].ty);
    for line in test.input.lines() {
        let cells = line.split_whitespace().zip(&names);
        let row: Vec<Value> =
            cells.map(|(text, name)| value(ty(name).unwrap_or(DataType::Int8), text)).collect();
        match &columns {
            None => tx.insert(table, &row)?,
            Some(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                tx.insert_columns(table, &names, &row)?;
            }
        }
    }
    Ok(())
}

fn by_key(tx: &mut Transaction, table: &Table, test: &mut TestCase) -> Result<bool> {
    let schema = table.schema();
    let types = schema.primary().unwrap().key.iter();
    let types = types.map(|part| schema.columns[schema.position(part.column).unwrap()].ty);
    let key: Vec<String> = test.take_args("key").unwrap();
    let key: Vec<Value> = types.zip(&key).map(|(ty, text)| value(ty, text)).collect();
    if test.directive == "delete" {
        return tx.delete(table, &key);
    }
    let set: Vec<String> = test.take_args("set").unwrap();
    let change = |pair: &[String]| {
        let at = schema.position_by_name(&pair[0]).expect("a column");
        (schema.columns[at].name.clone(), value(schema.columns[at].ty, &pair[1]))
    };
    let changes: Vec<(String, Value)> = set.chunks(2).map(change).collect();
    let changes: Vec<(&str, Value)> =
        changes.iter().map(|(name, v)| (name.as_str(), v.clone())).collect();
    tx.update(table, &key, &changes)
}

#[test]
fn stories_come_out_as_told() {
    datadriven::walk("testdata/rules", |file| {
        let mut story = Story::new();
        file.run(|test| {
            let out = story.run(test);
            test.expect_empty().unwrap();
            out
        });
    });
}
