//! Are faults in column changes and folded segments found? Each is planted as a finished file that the
//! manifest names, with right checksums: only its meaning is wrong.

use std::sync::Arc;

use onlap_base::{ColumnId, Csn, RowId};
use onlap_format::changes::{Change, ChangeOp, Scalar};
use onlap_format::manifest::Edit;
use onlap_format::{
    Batch, BytesVec, Column, DataType, Physical, TableSchema, Value, Vector, entries,
};
use onlap_storage::marks::{MarkRunSpec, MarkRunWriter};
use onlap_storage::segment::{SegmentSpec, SegmentWriter};
use onlap_storage::version::RunEntry;
use onlap_storage::written::Purpose;
use onlap_vfs::{Fs, MemFs};

use super::{CheckOptions, check, check_with};
use crate::database::{Database, Table};
use crate::derive::{Formula, Formulas};
use crate::flush;
use crate::options::{Options, SyncMode};
use crate::spec::{DerivedSpec, IndexSpec, TableSpec};
use onlap_memtable::{DeadRows, Memtable};

const DIR: &str = "/db";

fn filled() -> (Options, Database, Table) {
    let mut options = Options::default().sync(SyncMode::Os).memory_limit(64 << 20);
    let fs: Arc<dyn Fs> = Arc::new(MemFs::new());
    options.fs = fs;
    // No task folds or merges what is planted before it is checked.
    let db = Database::open_still(DIR.as_ref(), options.clone()).unwrap();
    let spec = TableSpec::new("t").column("id", DataType::Int8).column("b", DataType::Int4);
    let table = db.create_table(spec.primary_key(["id"])).unwrap();
    table.insert_many((0..500).map(|id| [Value::Int(id), Value::Int(id)])).unwrap();
    db.flush().unwrap();
    (options, db, table)
}

/// What a check finds after edits of the manifest.
fn findings(options: Options, db: Database, table: Table, edits: &[Edit]) -> Vec<String> {
    db.shared().commit_edits(edits, |_| ()).unwrap();
    drop(table);
    drop(db);
    let report = check(DIR, &CheckOptions { options }).unwrap();
    report.findings.into_iter().map(|f| f.text).collect()
}

/// A mark run with one change of column b.
fn changed(db: &Database, table: &Table, row: RowId, csn: Csn, op: ChangeOp) -> Edit {
    let id = table.schema().id;
    let spec = MarkRunSpec { table: id, rows: row..row + 1, csns: csn..csn + 1 };
    let mut writer = MarkRunWriter::create(&db.shared().storage, spec).unwrap();
    let column = table.schema().columns[1].id;
    writer.begin_column(column, Physical::Int).unwrap();
    writer.push_changes(&[Change { first: row, len: 1, csn, op }]).unwrap();
    Edit::AddMarks(id, writer.finish().unwrap())
}

#[test]
fn changes_that_no_statement_could_have_made_are_found() {
    let set = |v| ChangeOp::Set(Scalar::Int(v));
    let faults = [
        (7, 1, set(5), None),
        (7, 1, ChangeOp::Set(Scalar::Null), Some("does not take")),
        (7, 1, set(1 << 40), Some("leaves its type")),
        (700, 1, set(5), Some("out of range")),
        (7, 1 << 30, set(5), Some("out of range")),
    ];
    for (row, csn, op, text) in faults {
        let (options, db, table) = filled();
        // The table was created by a commit of its own before the rows came.
        let csn = csn + db.shared().snapshots.published() - 1;
        let edit = changed(&db, &table, row, csn, op.clone());
        let found = findings(options, db, table, &[edit]);
        match text {
            None => assert!(found.is_empty(), "{op:?}: {found:?}"),
            Some(text) => assert!(found.iter().any(|f| f.contains(text)), "{op:?}: {found:?}"),
        }
    }
}

#[test]
fn a_segment_that_claims_changes_which_were_never_flushed_is_found() {
    for (folded_csn, wrong) in [(0, false), (1 << 40, true)] {
        let (options, db, table) = filled();
        let id = table.schema().id;
        let version = db.shared().versions.table(id).unwrap();
        let old = version.segments[0].meta.clone();
        let columns: Vec<(ColumnId, Physical)> =
            table.schema().columns.iter().map(|c| (c.id, c.ty.physical())).collect();
        let spec = SegmentSpec {
            table: id,
            schema_version: table.schema().version,
            columns: columns.clone(),
            row_ids: old.rows.clone(),
            folded_csn,
            compress: false,
            block_rows: 64,
            purpose: Purpose::Compaction,
            cache: false,
        };
        let mut writer = SegmentWriter::create(&db.shared().storage, spec).unwrap();
        let ids: Vec<RowId> = old.rows.clone().collect();
        let mut batch = Batch::new(columns.iter().map(|c| c.1));
        let projection: Vec<ColumnId> = columns.iter().map(|c| c.0).collect();
        version.read_rows(&ids, &projection, &mut batch, &mut Vec::new()).unwrap();
        writer.push(&batch, &ids).unwrap();
        let commits = version.segments[0].segment.footer().commits.iter().collect::<Vec<_>>();
        writer.push_commits(&commits);
        let new = writer.finish().unwrap();
        drop(version);
        let edits = [Edit::RemoveSegment(id, old.file), Edit::AddSegment(id, new)];
        let found = findings(options, db, table, &edits);
        assert_eq!(found.iter().any(|f| f.contains("was not flushed")), wrong, "{found:?}");
    }
}

/// A run of index `at` in the place of those that a table has, or next to them, made from other rows than its own.
fn planted(db: &Database, table: &Table, at: usize, rows: &[[i64; 2]], beside: bool) -> Vec<Edit> {
    let schema = table.schema();
    let index = &schema.indexes[at];
    let memtable = Memtable::new(Arc::clone(&schema), 0, onlap_memtable::Tuning::default());
    for [id, b] in rows {
        let ints = |v: i64| Column { data: Vector::Int(vec![v]), nulls: None };
        memtable.append(&Batch { columns: vec![ints(*id), ints(*b)], rows: 1 }, 1);
    }
    planted_run(db, &schema, index, &memtable, beside)
}

/// Edits that put a run of a memtable's entries next to an index's runs, or in their place.
fn planted_run(
    db: &Database,
    schema: &TableSchema,
    index: &onlap_format::IndexSchema,
    memtable: &Memtable,
    beside: bool,
) -> Vec<Edit> {
    memtable.freeze();
    let (none, shared) = (DeadRows::none(), db.shared());
    let run = flush::write_index(shared, schema, index, memtable, &none, false, &|_| ()).unwrap();
    let version = shared.versions.table(schema.id).unwrap();
    let known = &version.index(index.id).unwrap().runs;
    let remove = |r: &Arc<RunEntry>| Edit::RemoveRun(schema.id, index.id, r.meta.id);
    let mut edits: Vec<Edit> = if beside { Vec::new() } else { known.iter().map(remove).collect() };
    edits.push(Edit::AddRun(schema.id, index.id, run));
    edits
}

#[test]
fn indexes_that_do_not_hold_what_their_table_does_are_found() {
    let right = |id: i64| [id, id];
    let rows: Vec<[i64; 2]> = (0..500).map(right).collect();
    let mut other = rows.clone();
    other[7][1] = 9;
    let mut twice = rows.clone();
    twice[7][0] = 8;
    let differ = "other keys than the rows'";
    // Index 0 is the primary key, 1 that of b.
    let faults: [(usize, &[[i64; 2]], bool, Option<&str>); 7] = [
        (1, &rows, false, None),
        (0, &rows, false, None),
        (1, &other, false, Some(differ)),
        (1, &rows[..499], false, Some("499 live entries for 500 live rows")),
        (0, &twice, false, Some("rows 7 and 8 have the same key")),
        (0, &twice[7..8], true, Some("have the same key")),
        (1, &rows[..1], true, Some("501 live entries for 500 live rows")),
    ];
    for (at, rows, beside, text) in faults {
        let (options, db, table) = filled();
        db.create_index("t", IndexSpec::new("by_b", ["b"])).unwrap();
        let edits = planted(&db, &table, at, rows, beside);
        let found = findings(options, db, table, &edits);
        match text {
            None => assert!(found.is_empty(), "{found:?}"),
            Some(text) => assert!(found.iter().any(|f| f.contains(text)), "{text}: {found:?}"),
        }
    }
}

#[test]
fn keys_that_read_differently_and_are_equal_are_no_findings() {
    let number = |mantissa, scale| Value::Numeric(onlap_format::Numeric { mantissa, scale });
    let text = |s: &str| Value::Text(s.into());
    let forms = [
        vec![Value::Float(0.0), number(1, 0), text("a"), Value::Bool(true)],
        vec![Value::Float(-0.0), number(100, 2), text("a  "), Value::Bool(false)],
        vec![Value::Float(f64::NAN), number(-7, 1), text(""), Value::Null],
        vec![Value::Null, number(10, 1), Value::Null, Value::Null],
        vec![Value::Float(f64::NEG_INFINITY), Value::Null, text("\u{1}b"), Value::Bool(true)],
    ];
    let mut options = Options::default().sync(SyncMode::Os).memory_limit(64 << 20);
    let fs: Arc<dyn Fs> = Arc::new(MemFs::new());
    options.fs = fs;
    let db = Database::open(DIR, options.clone()).unwrap();
    let mut spec = TableSpec::new("t").column("id", DataType::Int8);
    let columns = [
        ("f", DataType::Float8),
        ("n", DataType::Numeric(None)),
        ("c", DataType::Char(6)),
        ("y", DataType::Bool),
    ];
    for (name, ty) in columns {
        spec = spec.nullable_column(name, ty);
    }
    spec = spec.primary_key(["id"]).index(IndexSpec::new("all", ["f", "n", "c", "y"]));
    for (name, _) in columns {
        let index = IndexSpec::new(format!("by_{name}"), [name]).descending(name);
        spec = spec.index(index.include(["n", "c", "f"].into_iter().filter(|c| *c != name)));
    }
    let table = db.create_table(spec).unwrap();
    for step in 0..4 {
        let rows = (0..200).map(|i| {
            let id = step * 200 + i;
            [vec![Value::Int(id)], forms[(id * 7 % 5) as usize].clone()].concat()
        });
        table.insert_many(rows).unwrap();
        db.flush().unwrap();
        assert!(table.delete(&[Value::Int(step * 200 + 3)]).unwrap());
    }
    drop(table);
    db.close().unwrap();
    let report = check(DIR, &CheckOptions { options }).unwrap();
    assert_eq!(report.findings, []);
    assert_eq!((report.rows, report.marks > 0), (796, true));
}

/// Words between spaces, as lists of keys.
struct Words;

impl Formulas for Words {
    fn calculate(
        &self,
        _: &TableSchema,
        _: Formula<'_>,
        inputs: &[Column],
        rows: usize,
    ) -> onlap_base::Result<Column> {
        let Vector::Bytes(texts) = &inputs[0].data else { panic!("texts are bytes") };
        let mut lists = BytesVec::default();
        for row in 0..rows {
            let mut words: Vec<&[u8]> =
                texts.get(row).split(|b| *b == b' ').filter(|word| !word.is_empty()).collect();
            lists.push(&entries::pack(&mut words)?);
        }
        Ok(Column { data: Vector::Bytes(lists), nulls: None })
    }
}

fn text_of(id: i64) -> String {
    (0..id % 5).map(|i| format!("w{} ", (id * 7 + i) % 40)).collect()
}

/// A run of the index of words in the place of that which the table has, or next to it, made of rows with these texts.
fn planted_words(db: &Database, table: &Table, rows: &[(i64, String)], beside: bool) -> Vec<Edit> {
    let schema = table.schema();
    let index = schema.index_by_name("by_word").unwrap();
    let memtable = Memtable::new(Arc::clone(&schema), 0, onlap_memtable::Tuning::default());
    for (id, text) in rows {
        let mut texts = BytesVec::default();
        texts.push(text.as_bytes());
        let bytes = |v: BytesVec| Column { data: Vector::Bytes(v), nulls: None };
        let text = bytes(texts);
        let formula = Formula { column: &schema.derived[0].column, program: "" };
        let one = std::slice::from_ref(&text);
        let lists = Words.calculate(&schema, formula, one, 1).unwrap();
        let ids = Column { data: Vector::Int(vec![*id]), nulls: None };
        memtable.append(&Batch { columns: vec![ids, text, lists], rows: 1 }, 1);
    }
    planted_run(db, &schema, index, &memtable, beside)
}

#[test]
fn an_index_of_words_that_does_not_hold_those_of_its_rows_is_found() {
    let rows: Vec<(i64, String)> = (0..500).map(|id| (id, text_of(id))).collect();
    let changed = |change: &dyn Fn(&mut Vec<(i64, String)>)| {
        let mut rows = rows.clone();
        change(&mut rows);
        rows
    };
    let (less, more, other) = (
        changed(&|rows| rows[9].1 = rows[9].1.split_once(' ').unwrap().1.to_owned()),
        changed(&|rows| rows[10].1.push_str("w1")),
        changed(&|rows| rows[11].1.push('x')),
    );
    let swapped = changed(&|rows| {
        let word = rows[12].1.clone();
        rows[12].1 = std::mem::replace(&mut rows[13].1, word);
    });
    let none = changed(&|rows| rows.iter_mut().for_each(|row| row.1.clear()));
    let differ = "live entries for";
    let faults: [(&[(i64, String)], bool, bool); 8] = [
        (&rows, false, false),
        (&less, false, true),
        (&more, false, true),
        (&other, false, true),
        (&swapped, false, true),
        (&none, false, true),
        (&rows[..499], false, true),
        (&rows[9..10], true, true),
    ];
    for (at, (planted, beside, wrong)) in faults.into_iter().enumerate() {
        let mut options = Options::default().sync(SyncMode::Os).memory_limit(64 << 20);
        let fs: Arc<dyn Fs> = Arc::new(MemFs::new());
        options.fs = fs;
        let db = Database::open_still(DIR.as_ref(), options.clone()).unwrap();
        db.set_formulas(Arc::new(Words));
        let words = DerivedSpec {
            name: "words".into(),
            ty: DataType::Bytea,
            reads: vec!["text".into()],
            program: "words".into(),
        };
        let spec = TableSpec::new("t").column("id", DataType::Int8).column("text", DataType::Text);
        let spec = spec.primary_key(["id"]);
        let spec = spec.index(IndexSpec::new("by_word", [] as [&str; 0]).entries(words));
        let table = db.create_table(spec).unwrap();
        let values = rows.iter().map(|(id, text)| [Value::Int(*id), Value::Text(text.clone())]);
        table.insert_many(values.collect::<Vec<_>>()).unwrap();
        db.flush().unwrap();
        let edits = planted_words(&db, &table, planted, beside);
        db.shared().commit_edits(&edits, |_| ()).unwrap();
        drop(table);
        drop(db);
        let report = check_with(DIR, &CheckOptions { options: options.clone() }, &|db| {
            db.set_formulas(Arc::new(Words));
        });
        let found: Vec<String> = report.unwrap().findings.into_iter().map(|f| f.text).collect();
        assert_eq!(found.iter().any(|f| f.contains(differ)), wrong, "fault {at}: {found:?}");
        assert_eq!(!found.is_empty(), wrong, "fault {at}: {found:?}");
        // Without formulas the check says that it did not look.
        let report = check(DIR, &CheckOptions { options }).unwrap();
        assert_eq!(report.unchecked, 1);
    }
}

/// A table of UUIDs with an index of short keys, and what a check finds after its run was replaced by one of
/// these rows.
fn short_findings(rows: &[(i64, u128)]) -> Vec<String> {
    let (options, db, old) = filled();
    drop(old);
    let spec = TableSpec::new("u")
        .column("id", DataType::Int8)
        .column("code", DataType::Uuid)
        .index(IndexSpec::new("by_code", ["code", "id"]).keys(onlap_format::KeysKept::Short));
    let table = db.create_table(spec).unwrap();
    let right = right_codes();
    let row = |(id, code): &(i64, u128)| [Value::Int(*id), Value::Uuid(code.to_be_bytes())];
    table.insert_many(right.iter().map(row)).unwrap();
    db.flush().unwrap();
    let schema = table.schema();
    let memtable = Memtable::new(Arc::clone(&schema), 0, onlap_memtable::Tuning::default());
    for (id, code) in rows {
        let id = Column { data: Vector::Int(vec![*id]), nulls: None };
        let code = Vector::Wide(vec![(code ^ 1 << 127) as i128]);
        let code = Column { data: code, nulls: None };
        memtable.append(&Batch { columns: vec![id, code], rows: 1 }, 1);
    }
    let edits = planted_run(&db, &schema, &schema.indexes[0], &memtable, false);
    findings(options, db, table, &edits)
}

fn right_codes() -> Vec<(i64, u128)> {
    (0..300)
        .map(|id| (id, (id as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_0c8d_2d51_7cc1)))
        .collect()
}

#[test]
fn short_keys_that_are_not_those_of_the_rows_are_found() {
    let right = right_codes();
    assert_eq!(short_findings(&right), Vec::<String>::new());
    let differ = "other keys than the rows'";
    let mut other = right.clone();
    other[7].1 ^= 1 << 100;
    let found = short_findings(&other);
    assert!(found.iter().any(|f| f.contains(differ)), "{found:?}");
    // What is cut off says nothing.
    let mut alike = right.clone();
    alike[7].1 ^= 1;
    assert_eq!(short_findings(&alike), Vec::<String>::new());
    let found = short_findings(&right[..299]);
    assert!(found.iter().any(|f| f.contains("299 live entries for 300 live rows")), "{found:?}");
}
