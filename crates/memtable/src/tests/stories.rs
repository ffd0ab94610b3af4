//! Stories in `testdata/memtable`: what happens to rows, told command by command.
//!
//! | command | does |
//! |---|---|
//! | `create piece=4 chunk=8 fan_in=2 first=0` | a memtable; the input lists columns `name type` and indexes `index name [unique] (a, b desc) [include (c)]` |
//! | `append csn=1` | appends the input's rows, one a line, `-` for NULL |
//! | `mark csn=2` | marks the input's rows, `row` or `row -> successor` |
//! | `work` | does all background work, or `one` piece of it |
//! | `groups` | the sources that readers meet |
//! | `scan index=i` | entries, with `from= after= to= before= back upto= csn=` |
//! | `rows csn=1` | rows visible at a commit |
//! | `find index=i key=1` | versions of a key, newest first |
//! | `commits`, `marks` | what commits brought and ended |
//! | `buffer` | a private buffer of the same table takes the place; `commit csn=3` adopts it |
//! | `flush horizon=2` | freezes, then rows and entries as a flush takes them |

use std::fmt::Write;
use std::sync::Arc;

use datadriven::TestCase;
use onlap_base::{ColumnId, Csn, IndexId, PROVISIONAL_BASE, RowId, TableId};
use onlap_format::convert::{format_text, parse_text, push_value, read_value};
use onlap_format::key::{ColumnStats, KeyDef, Packing};
use onlap_format::{Batch, ColumnSchema, DataType, IndexSchema, KeyPart, TableSchema, Value};
use onlap_storage::entry::{Direction, EntryBatch, EntryWants, KeyBounds};

use crate::order::Order;
use crate::{DeadRows, Memtable, Tuning};

#[derive(Default)]
struct Story {
    table: Option<Memtable>,
    buffer: Option<Memtable>,
}

fn ty(name: &str) -> DataType {
    match name {
        "int" => DataType::Int8,
        "float" => DataType::Float8,
        "text" => DataType::Text,
        "numeric" => DataType::Numeric(None),
        _ => panic!("unknown type {name}"),
    }
}

fn parse_schema(input: &str) -> TableSchema {
    let mut schema =
        TableSchema { id: TableId(1), name: "t".into(), version: 1, ..TableSchema::default() };
    for line in input.lines() {
        let Some(index) = line.strip_prefix("index ") else {
            let (name, kind) = line.split_once(' ').unwrap();
            let id = ColumnId(schema.columns.len() as u32);
            schema.columns.push(ColumnSchema::new(id, name, ty(kind), true));
            continue;
        };
        let (head, rest) = index.split_once('(').unwrap();
        let (key, include) = rest.split_once(')').unwrap();
        let include = include.trim().trim_start_matches("include (").trim_end_matches(')');
        let column = |name: &str| {
            schema.columns.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("{name}")).id
        };
        let part = |p: &str| {
            let name = p.trim().trim_end_matches(" desc");
            KeyPart { column: column(name), descending: p.ends_with(" desc") }
        };
        let mut words = head.split_whitespace();
        let index = IndexSchema {
            id: IndexId(schema.indexes.len() as u32),
            name: words.next().unwrap().to_owned(),
            unique: words.next() == Some("unique"),
            primary: false,
            judged: None,
            fences_only: false,
            since: 0,
            filter: None,
            multi_entry: false,
            keys: onlap_format::KeysKept::Full,
            only_since: false,
            ready: true,
            key: key.split(',').map(part).collect(),
            include: include
                .split(',')
                .map(str::trim)
                .filter(|s| !s.is_empty())
                .map(column)
                .collect(),
        };
        schema.indexes.push(index);
    }
    schema
}

fn value(ty: DataType, text: &str) -> Value {
    if text == "-" { Value::Null } else { parse_text(ty, text).unwrap() }
}

fn show(value: &Value, ty: DataType) -> String {
    let mut out = String::new();
    match value {
        Value::Null => out.push('-'),
        value => format_text(ty, value, &mut out),
    }
    out
}

fn show_row(schema: &TableSchema, rows: &Batch, i: usize) -> String {
    let cell = |(c, column): (&ColumnSchema, _)| show(&read_value(c.ty, column, i), c.ty);
    schema.columns.iter().zip(&rows.columns).map(cell).collect::<Vec<_>>().join(" ")
}

/// Provisional ids are written `p0`, `p1` and so on.
fn show_id(row: RowId) -> String {
    match row.checked_sub(PROVISIONAL_BASE) {
        Some(ordinal) => format!("p{ordinal}"),
        None => row.to_string(),
    }
}

fn parse_id(text: &str) -> RowId {
    match text.trim().strip_prefix('p') {
        Some(ordinal) => PROVISIONAL_BASE + ordinal.parse::<RowId>().unwrap(),
        None => text.trim().parse().unwrap(),
    }
}

impl Story {
    fn memtable(&self) -> &Memtable {
        self.buffer.as_ref().or(self.table.as_ref()).expect("a story begins with create")
    }

    fn index(&self, test: &mut TestCase) -> IndexSchema {
        let name: String = test.take_arg("index").unwrap();
        let schema = self.memtable().schema();
        schema.index_by_name(&name).unwrap_or_else(|| panic!("no index {name}")).clone()
    }

    fn run(&mut self, test: &mut TestCase) -> String {
        match test.directive.as_str() {
            "create" => self.create(test),
            "append" => self.append(test),
            "mark" => self.mark(test),
            "work" => self.work(test),
            "groups" => self.groups(),
            "scan" => self.scan(test),
            "rows" => self.rows(test),
            "find" => self.find(test),
            "commits" => {
                let list = self.memtable().commit_map();
                list.iter().fold(String::new(), |mut out, (end, csn)| {
                    let _ = writeln!(out, "below {} by {csn}", show_id(*end));
                    out
                })
            }
            "marks" => self.marks(),
            "buffer" => {
                let table = self.table.as_ref().unwrap();
                let tuning = table.shared.tuning;
                self.buffer = Some(Memtable::new(table.schema().clone(), PROVISIONAL_BASE, tuning));
                String::new()
            }
            "savepoint" => self.rollback(test),
            "commit" => self.commit(test),
            "flush" => self.flush(test),
            other => panic!("unknown command {other}"),
        }
    }

    fn create(&mut self, test: &mut TestCase) -> String {
        let mut size = |name: &str, default| test.try_take_arg(name).unwrap().unwrap_or(default);
        let tuning = Tuning {
            piece_rows: size("piece", 4),
            tail_rows: 2,
            chunk_rows: size("chunk", 8),
            chunk_bytes: 1 << 20,
            fan_in: size("fan_in", 2),
            span_rows: 1 << 10,
            flush_rows: size("step", 100),
        };
        let first = test.try_take_arg("first").unwrap().unwrap_or(0);
        let schema = Arc::new(parse_schema(&test.input));
        self.table = Some(Memtable::new(schema, first, tuning));
        self.buffer = None;
        String::new()
    }

    fn append(&mut self, test: &mut TestCase) -> String {
        let memtable = self.memtable();
        let schema = memtable.schema();
        let mut batch = Batch::new(schema.columns.iter().map(|c| c.ty.physical()));
        for line in test.input.lines() {
            let cells = schema.columns.iter().zip(line.split_whitespace());
            for ((c, text), out) in cells.zip(&mut batch.columns) {
                push_value(c.ty, &value(c.ty, text), out, &c.name).unwrap();
            }
            batch.rows += 1;
        }
        let first = memtable.append(&batch, test.take_arg("csn").unwrap());
        format!("rows {}..{}\n", show_id(first), show_id(first + batch.rows as RowId))
    }

    fn mark(&mut self, test: &mut TestCase) -> String {
        let csn: Csn = test.take_arg("csn").unwrap();
        for line in test.input.lines() {
            match line.split_once("->") {
                Some((row, next)) => {
                    self.memtable().mark(parse_id(row), csn, Some(parse_id(next)));
                }
                None => self.memtable().mark(parse_id(line), csn, None),
            }
        }
        String::new()
    }

    fn work(&mut self, test: &mut TestCase) -> String {
        let one = test.take_flag("one").unwrap();
        let mut count = 0;
        while let Some(work) = self.memtable().pending_work() {
            work.run();
            count += 1;
            if one {
                break;
            }
        }
        format!("{count} done\n")
    }

    fn groups(&self) -> String {
        let shared = &self.memtable().shared;
        let rows = shared.rows.read();
        let mut out = String::new();
        for group in rows.groups.iter() {
            let orders = shared.shape.indexes.iter().enumerate().map(|(i, index)| {
                let how = match group.known_order(i).map(|o| &**o) {
                    None => "unsorted".to_owned(),
                    Some(Order::Rising) => "rising".to_owned(),
                    Some(Order::Sorted { plan, .. }) => {
                        let exact = if plan.exact { "whole key" } else { "prefix" };
                        format!("sorted, {exact} in {} bits", plan.bits)
                    }
                };
                format!("{}: {how}", shared.shape.schema.index(index.id).unwrap().name)
            });
            let _ = writeln!(
                out,
                "rows {}..{} in {} chunk(s); {}",
                show_id(group.first()),
                show_id(group.end()),
                group.chunks.len(),
                orders.collect::<Vec<_>>().join("; ")
            );
        }
        let _ = writeln!(out, "open {}..{}", show_id(rows.open_first), show_id(rows.end()));
        out
    }

    fn scan(&self, test: &mut TestCase) -> String {
        let memtable = self.memtable();
        let index = self.index(test);
        let def = KeyDef::of_index(memtable.schema(), &index).unwrap();
        let mut bound = |name: &str, inclusive: bool| {
            let texts: Option<Vec<String>> = test.try_take_args(name).unwrap();
            texts.map(|texts| {
                let values = texts.iter().zip(&def.columns).map(|(t, c)| value(c.ty, t));
                (def.encode_values(&values.collect::<Vec<_>>()).unwrap(), inclusive)
            })
        };
        let bounds = KeyBounds {
            lower: bound("from", true).or(bound("after", false)),
            upper: bound("to", true).or(bound("before", false)),
        };
        let direction =
            if test.take_flag("back").unwrap() { Direction::Backward } else { Direction::Forward };
        let upto = test.try_take_arg("upto").unwrap().unwrap_or(RowId::MAX);
        let csn: Option<Csn> = test.try_take_arg("csn").unwrap();
        let wants = EntryWants {
            keys: true,
            key_columns: Vec::new(),
            include: (0..index.include.len()).collect(),
            ..EntryWants::default()
        };
        let mut cursor = memtable.cursor(index.id, &bounds, direction, &wants, 0..upto);
        let mut batch = EntryBatch::default();
        let mut out = String::new();
        while cursor.next(3, &mut batch).unwrap() {
            for (i, (key, &row)) in batch.keys.iter().zip(&batch.row_ids).enumerate() {
                let dead = csn.is_some_and(|csn| memtable.mark_of(row).is_some_and(|m| m.0 <= csn));
                if dead {
                    continue;
                }
                let key = def.decode(key).unwrap();
                let key = key.iter().zip(&def.columns).map(|(v, c)| show(v, c.ty));
                let mut line = key.collect::<Vec<_>>().join(" ");
                for (id, column) in index.include.iter().zip(&batch.columns.columns) {
                    let schema = memtable.schema();
                    let ty = schema.columns[schema.position(*id).unwrap()].ty;
                    let _ = write!(line, " +{}", show(&read_value(ty, column, i), ty));
                }
                let _ = writeln!(out, "{line} -> {}", show_id(row));
            }
        }
        out
    }

    fn rows(&self, test: &mut TestCase) -> String {
        let memtable = self.memtable();
        let csn: Csn = test.take_arg("csn").unwrap();
        let columns: Vec<usize> = (0..memtable.schema().columns.len()).collect();
        let mut out = String::new();
        let end = memtable.end_at(csn);
        for piece in memtable.pieces(memtable.first_row()..end, &columns) {
            let mut ids = Vec::new();
            piece.extend_ids(&mut ids);
            let mut keep = vec![true; ids.len()];
            memtable.drop_dead(&ids, csn, &mut keep);
            for (i, keep) in piece.range().zip(keep) {
                if keep {
                    let row = show_row(memtable.schema(), piece.batch(), i);
                    let _ = writeln!(out, "{}: {row}", show_id(piece.row_id(i)));
                }
            }
        }
        out
    }

    fn find(&self, test: &mut TestCase) -> String {
        let memtable = self.memtable();
        let index = self.index(test);
        let def = KeyDef::of_index(memtable.schema(), &index).unwrap();
        let texts: Vec<String> = test.take_args("key").unwrap();
        let values = texts.iter().zip(&def.columns).map(|(t, c)| value(c.ty, t));
        let key = def.encode_values(&values.collect::<Vec<_>>()).unwrap();
        let mut out = String::new();
        let mut below = RowId::MAX;
        while let Some(row) = memtable.newest_with_key(index.id, &key, below) {
            let end = match memtable.mark_of(row) {
                None => "alive".to_owned(),
                Some((csn, None)) => format!("deleted by {csn}"),
                Some((csn, Some(next))) => format!("replaced by row {} in {csn}", show_id(next)),
            };
            let _ = writeln!(out, "row {}, {end}", show_id(row));
            below = row;
        }
        if out.is_empty() { "none\n".into() } else { out }
    }

    fn marks(&self) -> String {
        let mut out = String::new();
        for mark in self.memtable().mark_list().iter() {
            let next = mark.successor.map_or(String::new(), |s| format!(" -> {}", show_id(s)));
            let _ = writeln!(out, "{}{next} by {}", show_id(mark.row), mark.csn);
        }
        out
    }

    fn rollback(&self, test: &mut TestCase) -> String {
        let rows: RowId = test.take_arg("rows").unwrap();
        let buffer = self.buffer.as_ref().expect("savepoints belong to private buffers");
        buffer.truncate(PROVISIONAL_BASE + rows, test.take_arg("marks").unwrap());
        format!("{} rows, {} marks\n", buffer.rows(), buffer.marks())
    }

    fn commit(&mut self, test: &mut TestCase) -> String {
        let csn = test.take_arg("csn").unwrap();
        let buffer = self.buffer.take().expect("a transaction is open");
        let table = self.table.as_ref().unwrap();
        let (rows, numbers) = buffer.without_dead();
        let first = table.adopt(&rows, csn);
        for mark in buffer.mark_list().iter().filter(|m| m.row < PROVISIONAL_BASE) {
            let next = mark.successor.and_then(|s| numbers.map(s, first));
            table.mark(mark.row, csn, next);
        }
        format!("rows {}..{}\n", first, table.end_row())
    }

    fn flush(&self, test: &mut TestCase) -> String {
        let memtable = self.memtable();
        let schema = memtable.schema();
        memtable.freeze();
        let horizon = test.take_arg("horizon").unwrap();
        let dead = DeadRows::new(memtable.dead_rows(0..RowId::MAX, horizon));
        let mut out = String::new();
        for (batch, ids) in memtable.batches(dead.clone()) {
            let _ = writeln!(out, "{} rows", ids.len());
            for (i, id) in ids.iter().enumerate() {
                let _ = writeln!(out, "  {id}: {}", show_row(schema, &batch, i));
            }
        }
        for index in &schema.indexes {
            let def = KeyDef::of_index(schema, index).unwrap();
            let mut stats: Vec<ColumnStats> =
                def.columns.iter().map(|c| ColumnStats::new(c.ty)).collect();
            for piece in memtable.pieces(0..RowId::MAX, &[]) {
                for (stats, part) in stats.iter_mut().zip(&index.key) {
                    let column = &piece.batch().columns[schema.position(part.column).unwrap()];
                    stats.observe(column, piece.range());
                }
            }
            let packing = Packing::fit(&def, &stats);
            for entries in memtable.entries(index.id, &packing, dead.clone()) {
                let _ = writeln!(out, "{} entries of {}", entries.len(), index.name);
                for (i, row) in entries.row_ids.iter().enumerate() {
                    let mut key = Vec::new();
                    packing.key_bytes(&entries.keys, i, &mut key).unwrap();
                    let key = def.decode(&key).unwrap();
                    let key = key.iter().zip(&def.columns).map(|(v, c)| show(v, c.ty));
                    let _ = writeln!(out, "  {} -> {row}", key.collect::<Vec<_>>().join(" "));
                }
            }
        }
        out
    }
}

#[test]
fn stories_come_out_as_told() {
    datadriven::walk("testdata/memtable", |file| {
        let mut story = Story::default();
        file.run(|test| {
            let out = story.run(test);
            test.expect_empty().unwrap();
            out
        });
    });
}
