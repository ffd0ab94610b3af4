//! Stories in `testdata/run_forms`: which form entries get, and what is found in it.
//!
//! | command | does |
//! |---|---|
//! | `write key=(int,text) at_most=2` | writes the input's entries and tells the form of each file; more bytes per entry than `at_most` are told too. Also `desc=N` (column N descends), `unique`, `fences_only`, `block=` and `file=` bytes |
//! | `probe` | row ids of each key of the input |
//! | `range from= after= to= before= back` | entries, the first and last few of many |
//! | `stretches from= to=` | row ids that a fences-only run names |
//!
//! An entry is `key -> row`, its columns apart by spaces and `-` for NULL. `x 100` behind it adds 99
//! more, whose last column and row id rise by 1, or by `by 3` and `rows by 2`.

use std::fmt::Write;

use datadriven::{TestCase, walk};
use onlap_format::Value;
use onlap_format::convert::{format_text, parse_text, push_value, read_value};
use onlap_format::manifest::RunFileMeta;

use super::*;

/// Entries shown at either end of many.
const SHOWN: usize = 3;

#[derive(Default)]
struct Story {
    run: Option<Arc<Run>>,
}

fn value(column: &KeyColumn, text: &str) -> Value {
    if text == "-" { Value::Null } else { parse_text(column.ty, text).expect("a value") }
}

/// The number behind a word of a line, if the word is there.
fn behind(line: &str, word: &str) -> Option<i64> {
    let (_, rest) = line.split_once(word)?;
    Some(rest.split_whitespace().next()?.parse().expect("a number"))
}

fn parse_entries(columns: &[KeyColumn], input: &str) -> (Vec<Column>, Vec<RowId>) {
    let mut keys: Vec<Column> = columns.iter().map(|c| Column::new(c.ty.physical())).collect();
    let mut rows = Vec::new();
    for line in input.lines() {
        let (key, rest) = line.split_once("->").expect("key -> row");
        let values: Vec<Value> =
            key.split_whitespace().zip(columns).map(|(text, c)| value(c, text)).collect();
        let first: RowId =
            rest.split_whitespace().next().and_then(|r| r.parse().ok()).expect("row");
        let (head, row_step) = (rest.split(" rows by ").next(), behind(rest, " rows by "));
        let step = head.and_then(|head| behind(head, " by ")).unwrap_or(1);
        for i in 0..behind(rest, " x ").unwrap_or(1) {
            for (at, (column, v)) in keys.iter_mut().zip(&values).enumerate() {
                let v = match v {
                    Value::Int(v) if at + 1 == columns.len() => Value::Int(v + i * step),
                    v => v.clone(),
                };
                push_value(columns[at].ty, &v, column, "key").expect("a value of the type");
            }
            rows.push(first + (i * row_step.unwrap_or(1)) as RowId);
        }
    }
    (keys, rows)
}

impl Story {
    fn run(&self) -> &Arc<Run> {
        self.run.as_ref().expect("a story begins with write")
    }

    fn write(&mut self, test: &mut TestCase) -> String {
        let names: Vec<String> = test.take_args("key").unwrap();
        let descending: Vec<usize> = test.try_take_args("desc").unwrap().unwrap_or_default();
        let ty = |name: &String| match name.as_str() {
            "int" => DataType::Int8,
            "text" => DataType::Text,
            other => panic!("unknown type {other}"),
        };
        let key: Vec<(DataType, bool)> =
            names.iter().enumerate().map(|(i, n)| (ty(n), descending.contains(&i))).collect();
        let shape = shape(&key, &[], test.take_flag("unique").unwrap());
        let (columns, rows) = parse_entries(&shape.key.columns, &test.input);
        let model = Model::new(shape.clone(), columns, rows);
        let (packing, entries) = model.entries();
        let mut spec = model.spec(packing);
        spec.fences_only = test.take_flag("fences_only").unwrap();
        spec.rows = model.row_ids.iter().min().map_or(0, |r| *r)
            ..model.row_ids.iter().max().map_or(0, |r| *r + 1);
        spec.block_bytes = test.try_take_arg("block").unwrap().unwrap_or(spec.block_bytes);
        spec.file_bytes = test.try_take_arg("file").unwrap().unwrap_or(spec.file_bytes);
        let context = memory(32 << 20);
        let mut writer = RunWriter::new(&context, spec);
        writer.push(&entries).unwrap();
        let metas = writer.finish().unwrap();
        let open = |m: &RunFileMeta| Arc::new(RunFile::open(&context, &shape, m.file, 0).unwrap());
        let run = Run::new(shape.clone(), metas.iter().map(open).collect(), None);
        let mut out = String::new();
        for file in run.files() {
            writeln!(out, "{}: {} entries", file.form(), file.entries()).unwrap();
        }
        let bytes = metas.iter().map(|m| m.bytes).sum::<u64>() as f64 / model.len() as f64;
        let at_most: f64 = test.take_arg("at_most").unwrap();
        if bytes > at_most {
            writeln!(out, "{bytes:.2} bytes per entry").unwrap();
        }
        self.run = Some(Arc::new(run));
        out
    }

    fn key(&self, texts: &[String]) -> Vec<u8> {
        let def = &self.run().shape().key;
        let values = texts.iter().zip(&def.columns).map(|(text, c)| value(c, text));
        def.encode_values(&values.collect::<Vec<_>>()).unwrap()
    }

    fn bounds(&self, test: &mut TestCase) -> KeyBounds {
        let mut bound = |name: &str, inclusive: bool| {
            let texts: Option<Vec<String>> = test.try_take_args(name).unwrap();
            texts.map(|texts| (self.key(&texts), inclusive))
        };
        KeyBounds {
            lower: bound("from", true).or(bound("after", false)),
            upper: bound("to", true).or(bound("before", false)),
        }
    }

    fn probe(&self, test: &TestCase) -> String {
        let mut out = String::new();
        for line in test.input.lines() {
            let mut rows = Vec::new();
            let texts: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            self.run().probe(&self.key(&texts), &mut rows).unwrap();
            writeln!(out, "{line}: {rows:?}").unwrap();
        }
        out
    }

    fn range(&self, test: &mut TestCase) -> String {
        let (run, bounds) = (self.run(), self.bounds(test));
        let back = test.take_flag("back").unwrap();
        let direction = if back { Direction::Backward } else { Direction::Forward };
        let columns = &run.shape().key.columns;
        let wants = EntryWants {
            keys: false,
            key_columns: (0..columns.len()).collect(),
            include: vec![],
            ..EntryWants::default()
        };
        let mut cursor = run.cursor(bounds, direction, wants);
        let (mut batch, mut lines) = (EntryBatch::default(), Vec::new());
        while cursor.next(7, &mut batch).unwrap() {
            for i in 0..batch.len() {
                let mut line = String::new();
                for (c, column) in columns.iter().zip(&batch.columns.columns) {
                    match read_value(c.ty, column, i) {
                        Value::Null => line.push('-'),
                        value => format_text(c.ty, &value, &mut line),
                    }
                    line.push(' ');
                }
                lines.push(format!("{line}-> {}\n", batch.row_ids[i]));
            }
        }
        match lines.len() {
            0 => "nothing\n".to_owned(),
            n if n <= 3 * SHOWN => lines.concat(),
            n => {
                let (head, tail) = (lines[..SHOWN].concat(), lines[n - SHOWN..].concat());
                format!("{head}... {} more\n{tail}", n - 2 * SHOWN)
            }
        }
    }
}

#[test]
fn forms_come_out_as_told() {
    walk("testdata/run_forms", |file| {
        let mut story = Story::default();
        file.run(|test| {
            let out = match test.directive.as_str() {
                "write" => story.write(test),
                "probe" => story.probe(test),
                "range" => story.range(test),
                "stretches" => {
                    let stretches = story.run().stretches(&story.bounds(test));
                    format!("{:?}\n", stretches.expect("a fences-only run"))
                }
                other => panic!("unknown command {other}"),
            };
            test.expect_empty().unwrap();
            out
        });
    });
}
