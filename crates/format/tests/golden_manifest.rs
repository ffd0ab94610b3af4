//! Does the manifest still read and write what earlier releases did?

mod golden_files;

use onlap_base::{ColumnId, FileId, ForeignKeyId, IndexId, SequenceId, TableId};
use onlap_format::log::LogBegun;
use onlap_format::manifest::SequencePoint::{After, Next};
use onlap_format::manifest::{
    Adopted, Edit, MarkRunMeta, RunFileMeta, RunMeta, SegmentMeta, WrittenTotals, encode_header,
    encode_record, load,
};
use onlap_format::marks::MarkShift;
use onlap_format::{
    Action, CheckSchema, ColumnDefault, ColumnSchema, DERIVED_FIRST, DataType, DerivedSchema,
    Excludes, Expr, ForeignKeySchema, Identity, IndexSchema, Judged, KeyPart, Numeric,
    SequenceSchema, TableSchema, Time, Value,
};

const T: TableId = TableId(1);
const I: IndexId = IndexId(2);
const S: SequenceId = SequenceId(6);

fn schema() -> TableSchema {
    let types = [
        DataType::Bool,
        DataType::Int2,
        DataType::Int4,
        DataType::Int8,
        DataType::Float4,
        DataType::Float8,
        DataType::Numeric(None),
        DataType::Numeric(Some((12, 2))),
        DataType::Text,
        DataType::Varchar(300),
        DataType::Char(3),
        DataType::Bytea,
        DataType::Uuid,
        DataType::Date,
        DataType::Time,
        DataType::Timestamp,
        DataType::Timestamptz,
        DataType::Json,
    ];
    let column = |(i, ty): (usize, &DataType)| ColumnSchema {
        identity: if i == 3 { Identity::ByDefault } else { Identity::None },
        ..ColumnSchema::new(ColumnId(i as u32 + 1), format!("c{i}"), *ty, i > 3)
    };
    let index = |id: u32, unique: bool| IndexSchema {
        id: IndexId(id),
        name: format!("i{id}"),
        key: vec![KeyPart { column: ColumnId(4), descending: !unique }],
        include: vec![ColumnId(1)],
        unique,
        primary: unique,
        judged: None,
        fences_only: !unique,
        since: 0,
        filter: None,
        multi_entry: false,
        keys: onlap_format::KeysKept::Full,
        only_since: false,
        ready: true,
    };
    TableSchema {
        id: T,
        name: "t".into(),
        version: 3,
        columns: types.iter().enumerate().map(column).collect(),
        indexes: vec![index(1, true), index(2, false)],
        next_column: 30,
        ..TableSchema::default()
    }
}

/// The table with every kind of rule, default and missing value.
fn ruled() -> TableSchema {
    let mut schema = TableSchema { version: 4, history_us: 60_000_000, ..schema() };
    schema.columns[3].identity = Identity::Always;
    schema.columns[1].default = Some(ColumnDefault::NextVal(S));
    let values = [
        (4, Value::Float(-0.5)),
        (6, Value::Numeric(Numeric { mantissa: -1234, scale: 2 })),
        (8, Value::Text("text".into())),
        (11, Value::Bytes(vec![0, 255])),
        (12, Value::Uuid([7; 16])),
        (13, Value::Date(-3)),
        (14, Value::Time(1)),
        (15, Value::Timestamp(300)),
    ];
    for (at, value) in values {
        schema.columns[at].default = Some(ColumnDefault::Constant(value.clone()));
        schema.columns[at].missing = Some(value);
    }
    schema.columns[0].missing = Some(Value::Bool(true));
    schema.columns[9].default = Some(ColumnDefault::Constant(Value::Null));
    let c = |id: u32| Expr::Column(ColumnId(id));
    let checks = [
        c(4).greater(Value::Int(0)).and(c(9).like("a%")),
        c(9).length().between(Value::Int(1), Value::Int(5)).or(c(10).is_null()),
        c(3).one_of([Value::Int(1), Value::Int(2)]).negated(),
        c(2).plus(c(3)).minus_sign().distinct(c(4).remainder(Value::Int(2))),
    ];
    for (i, expr) in checks.into_iter().enumerate() {
        schema.checks.push(CheckSchema {
            name: format!("check{i}"),
            expr,
            unproven: false,
            own: false,
        });
    }
    schema.add_foreign_key(ForeignKeySchema {
        id: ForeignKeyId::default(),
        name: "parent".into(),
        columns: vec![ColumnId(4)],
        parent: T,
        parent_index: IndexId(1),
        on_delete: Action::Cascade,
        on_update: Action::SetNull,
        set_columns: Vec::new(),
        full: false,
        time: Time::Statement,
        unproven: false,
    });
    schema
}

fn sequence(id: SequenceId) -> SequenceSchema {
    SequenceSchema {
        id,
        name: format!("s{id}"),
        start: 5,
        increment: -2,
        min: i64::MIN,
        max: 9,
        cycle: true,
        cache: 32,
    }
}

fn file(id: u64, first: u8, last: u8) -> RunFileMeta {
    let (first_key, last_key) = (vec![first], vec![last]);
    RunFileMeta { file: FileId(id), bytes: id * 100, entries: id, first_key, last_key, base: 0 }
}

fn run(id: u64, level: u32, group: Option<u64>, files: Vec<RunFileMeta>) -> RunMeta {
    RunMeta { id, level, rows: 0..500, files, trim: None, group }
}

fn begun(file: u64) -> LogBegun {
    LogBegun { file, stamp: 0x0123_4567_89AB_CDEF, bytes: 64 << 20 }
}

/// One record per line; together every kind of edit.
fn records() -> Vec<Vec<Edit>> {
    let segment = |file: u64, start: u64| SegmentMeta {
        file: FileId(file),
        bytes: 4000,
        rows: start..start + 500,
        count: 490,
        schema: 3,
        folded_csn: 12,
        adopted: None,
    };
    let marks = |file: u64| MarkRunMeta {
        file: FileId(file),
        bytes: 77,
        rows: 3..400,
        csns: 5..9,
        marks: 6,
        level: 1,
        adopted: None,
    };
    let written =
        WrittenTotals { log: 1, segments: 200, compaction: 3, marks: 40_000, manifest: 5 };
    vec![
        vec![Edit::NextIds { file: 5, table: 1, index: 1 }, Edit::LogOldest(2), Edit::Csn(9)],
        vec![Edit::LogBegun(begun(3)), Edit::LogBegun(begun(2))],
        vec![Edit::CreateTable(schema()), Edit::Serial(T, ColumnId(4), -7)],
        vec![
            Edit::AddSegment(T, segment(10, 0)),
            Edit::AddSegment(T, segment(11, 500)),
            Edit::AddRun(T, I, run(12, 0, None, vec![file(12, 1, 5), file(13, 5, 9)])),
            Edit::AddMarks(T, marks(14)),
            Edit::AddMarks(T, marks(15)),
            Edit::Flushed(T, 1000, 33),
            Edit::Written(written),
            Edit::WrittenIndex(I, 900, 80),
        ],
        vec![
            Edit::AddRun(T, I, run(16, 1, Some(16), vec![file(16, 1, 5)])),
            Edit::JoinMerge(T, I, 12, 16),
            Edit::TrimRun(T, I, 12, vec![6]),
        ],
        vec![Edit::RemoveSegment(T, FileId(10)), Edit::RemoveMarks(T, FileId(14))],
        vec![
            Edit::CreateSequence(sequence(S)),
            Edit::CreateSequence(sequence(SequenceId(7))),
            Edit::SequenceNext(S, Some(-300)),
            Edit::SequenceNext(SequenceId(7), None),
            Edit::ChangeSequence(SequenceSchema { cycle: false, ..sequence(SequenceId(7)) }),
            Edit::NextSequence(10),
            Edit::ChangeTable(ruled()),
        ],
    ]
}

#[test]
fn manifest_file() {
    let mut bytes = encode_header(4).to_vec();
    for edits in &records() {
        bytes.extend(encode_record(4, bytes.len() as u64, edits));
    }
    golden_files::check("manifest.bin", &bytes);
    let half = load("manifest-00000004", 4, &bytes).unwrap();
    assert_eq!(half.end, bytes.len() as u64);
    assert_eq!(half.state.log_begun, Some(begun(3)));
    let table = &half.state.tables[&T];
    assert_eq!((half.state.next_file, half.state.csn, &table.schema), (17, 33, &ruled()));
    assert_eq!((half.state.sequences[&S].at, half.state.next_sequence), (Next(-300), 10));
    // Of one that had come to its end it is not known with which value.
    assert_eq!(half.state.sequences[&SequenceId(7)].at, After(i64::MIN));
    let runs = &table.indexes[&I].runs;
    assert_eq!((runs[0].id, runs[1].id, runs[1].files.len()), (16, 12, 1));
    assert_eq!((table.segments.len(), table.marks.len(), table.serials[&ColumnId(4)]), (1, 1, -7));

    // A snapshot rebuilds the same state.
    let mut snapshot = encode_header(5).to_vec();
    snapshot.extend(encode_record(5, snapshot.len() as u64, &half.state.to_edits()));
    assert_eq!(load("manifest-00000005", 5, &snapshot).unwrap().state, half.state);

    // The edits that end things.
    let ends = vec![
        Edit::ExtendRun(T, I, 16, vec![file(18, 6, 9)]),
        Edit::RemoveRun(T, I, 12),
        Edit::FinishRun(T, I, 16),
        Edit::ChangeTable(TableSchema { version: 4, ..schema() }),
        Edit::DropTable(T),
        Edit::DropSequence(S),
    ];
    let end = encode_record(4, bytes.len() as u64, &ends);
    golden_files::check("manifest-ends.bin", &end);
    bytes.extend(end);
    let state = load("manifest-00000004", 4, &bytes).unwrap().state;
    assert!(state.tables.is_empty() && state.sequences.len() == 1);
}

#[test]
fn older_versions_still_read() {
    let bytes = include_bytes!("golden/manifest-2.bin");
    let state = load("manifest-00000004", 4, bytes).unwrap().state;
    assert_eq!((&state.tables[&T].schema, state.log_begun), (&ruled(), None));

    let bytes = include_bytes!("golden/manifest-1.bin");
    let state = load("manifest-00000004", 4, bytes).unwrap().state;
    assert_eq!(state.tables[&T].schema, schema());
    assert!(state.sequences.is_empty());
}

/// Sequences that stand behind a value.
#[test]
fn taken_values() {
    let rising = SequenceSchema { increment: 3, ..sequence(SequenceId(7)) };
    let records = [
        vec![Edit::CreateSequence(sequence(S)), Edit::CreateSequence(rising.clone())],
        vec![Edit::SequenceTaken(S, -300), Edit::SequenceNext(SequenceId(7), None)],
    ];
    let mut bytes = encode_header(4).to_vec();
    for edits in &records {
        bytes.extend(encode_record(4, bytes.len() as u64, edits));
    }
    golden_files::check("manifest-taken.bin", &bytes);
    let state = load("manifest-00000004", 4, &bytes).unwrap().state;
    assert_eq!(state.sequences[&S].at, After(-300));
    assert_eq!(state.sequences[&SequenceId(7)].at, After(rising.max));
    let mut snapshot = encode_header(5).to_vec();
    snapshot.extend(encode_record(5, snapshot.len() as u64, &state.to_edits()));
    assert_eq!(load("manifest-00000005", 5, &snapshot).unwrap().state, state);
}

/// A table with blind writes.
#[test]
fn blind_tables() {
    let blind = TableSchema { blind: true, ..ruled() };
    let records = [
        vec![Edit::CreateTable(TableSchema { version: 3, ..blind.clone() })],
        vec![Edit::ChangeTable(blind.clone()), Edit::Resolved(T, 700), Edit::Resolved(T, 600)],
    ];
    let mut bytes = encode_header(4).to_vec();
    for edits in &records {
        bytes.extend(encode_record(4, bytes.len() as u64, edits));
    }
    golden_files::check("manifest-blind.bin", &bytes);
    let state = load("manifest-00000004", 4, &bytes).unwrap().state;
    let table = &state.tables[&T];
    assert_eq!((&table.schema, table.resolved), (&blind, 700));
    let mut snapshot = encode_header(5).to_vec();
    snapshot.extend(encode_record(5, snapshot.len() as u64, &state.to_edits()));
    assert_eq!(load("manifest-00000005", 5, &snapshot).unwrap().state, state);
}

/// Rules of which there is more to say.
fn more_rules() -> TableSchema {
    let mut schema = ruled();
    let judged = |nulls_equal, primary, time| {
        Some(Judged { nulls_equal, primary, time, ..Judged::default() })
    };
    schema.indexes[0].unique = false;
    schema.indexes[0].primary = false;
    schema.indexes[0].judged = judged(true, true, Time::Deferred);
    schema.checks[1].unproven = true;
    schema.checks[2].own = true;
    schema.foreign_keys[0] = ForeignKeySchema {
        on_delete: Action::SetDefault,
        on_update: Action::Restrict,
        set_columns: vec![ColumnId(4)],
        full: true,
        time: Time::Deferrable,
        unproven: true,
        ..schema.foreign_keys[0].clone()
    };
    schema
}

#[test]
fn tables_with_more_rules() {
    let records = [
        vec![Edit::CreateTable(TableSchema { version: 3, ..more_rules() })],
        vec![Edit::ChangeTable(TableSchema { blind: true, ..more_rules() })],
    ];
    let mut bytes = encode_header(4).to_vec();
    for edits in &records {
        bytes.extend(encode_record(4, bytes.len() as u64, edits));
    }
    golden_files::check("manifest-rules.bin", &bytes);
    let state = load("manifest-00000004", 4, &bytes).unwrap().state;
    assert_eq!(state.tables[&T].schema, TableSchema { blind: true, ..more_rules() });
    let mut snapshot = encode_header(5).to_vec();
    snapshot.extend(encode_record(5, snapshot.len() as u64, &state.to_edits()));
    assert_eq!(load("manifest-00000005", 5, &snapshot).unwrap().state, state);
}

/// Exclusion constraints.
#[test]
fn tables_with_exclusions() {
    let mut table = TableSchema { version: 3, ..schema() };
    let judged =
        |excludes, time| Some(Judged { excludes: Some(excludes), time, ..Judged::default() });
    for index in &mut table.indexes {
        (index.unique, index.primary, index.fences_only) = (false, false, false);
    }
    table.indexes[0].judged = judged(Excludes::Equal, Time::Deferred);
    table.indexes[1].judged = judged(Excludes::Overlapping, Time::Statement);
    let mut bytes = encode_header(4).to_vec();
    bytes.extend(encode_record(4, bytes.len() as u64, &[Edit::CreateTable(table.clone())]));
    golden_files::check("manifest-exclusions.bin", &bytes);
    assert_eq!(load("manifest-00000004", 4, &bytes).unwrap().state.tables[&T].schema, table);
}

/// A table that indexes calculate columns of.
#[test]
fn deriving_tables() {
    let derived = |id: u32, ty, only_if| DerivedSchema {
        column: ColumnSchema::new(ColumnId(DERIVED_FIRST + id), format!("d{id}"), ty, true),
        reads: vec![ColumnId(9), ColumnId(4)],
        program: format!("program {id}"),
        only_if,
        lists: false,
    };
    let filter = ColumnId(DERIVED_FIRST + 3);
    let mut table = schema();
    table.derived =
        vec![derived(3, DataType::Bool, None), derived(5, DataType::Text, Some(filter))];
    table.next_derived = 6;
    table.indexes[0].filter = Some(filter);
    table.indexes[0].since = 9;
    table.indexes[0].only_since = true;
    table.indexes[0].key.push(KeyPart { column: ColumnId(DERIVED_FIRST + 5), descending: true });
    let mut forgotten = TableSchema { version: 4, ..table.clone() };
    forgotten.indexes[0].filter = None;
    forgotten.indexes[0].key.pop();
    assert!(forgotten.forget_unused_derived() && forgotten.derived.is_empty());
    let records =
        [vec![Edit::CreateTable(table.clone())], vec![Edit::ChangeTable(forgotten.clone())]];
    let mut bytes = encode_header(4).to_vec();
    bytes.extend(encode_record(4, bytes.len() as u64, &records[0]));
    assert_eq!(load("manifest-00000004", 4, &bytes).unwrap().state.tables[&T].schema, table);
    bytes.extend(encode_record(4, bytes.len() as u64, &records[1]));
    golden_files::check("manifest-derived.bin", &bytes);
    assert_eq!(load("manifest-00000004", 4, &bytes).unwrap().state.tables[&T].schema, forgotten);

    let mut wrong = table;
    wrong.derived.remove(0);
    let mut bytes = encode_header(4).to_vec();
    bytes.extend(encode_record(4, bytes.len() as u64, &[Edit::CreateTable(wrong)]));
    assert!(load("manifest-00000004", 4, &bytes).is_err());
}

/// A table with an index that has several entries of a row.
#[test]
fn listing_tables() {
    let id = ColumnId(DERIVED_FIRST + 2);
    let lists = DerivedSchema {
        column: ColumnSchema::new(id, "lists", DataType::Bytea, true),
        reads: vec![ColumnId(9)],
        program: "words".into(),
        only_if: None,
        lists: true,
    };
    let mut table = schema();
    table.derived = vec![lists];
    table.next_derived = 3;
    table.indexes.push(IndexSchema {
        id: IndexId(7),
        name: "by_words".into(),
        key: vec![KeyPart { column: id, descending: false }],
        include: Vec::new(),
        multi_entry: true,
        unique: false,
        primary: false,
        fences_only: false,
        ..table.indexes[1].clone()
    });
    let file = |table: &TableSchema| {
        let mut bytes = encode_header(4).to_vec();
        bytes.extend(encode_record(4, bytes.len() as u64, &[Edit::CreateTable(table.clone())]));
        bytes
    };
    let bytes = file(&table);
    golden_files::check("manifest-lists.bin", &bytes);
    assert_eq!(load("manifest-00000004", 4, &bytes).unwrap().state.tables[&T].schema, table);

    let wrong = |change: &dyn Fn(&mut TableSchema)| {
        let mut wrong = table.clone();
        change(&mut wrong);
        assert!(load("manifest-00000004", 4, &file(&wrong)).is_err());
    };
    wrong(&|table| table.derived[0].lists = false);
    wrong(&|table| table.derived[0].column.ty = DataType::Text);
    wrong(&|table| table.indexes[2].key[0].column = ColumnId(9));
    wrong(&|table| table.indexes[2].key[0].descending = true);
    wrong(&|table| table.indexes[2].include.push(ColumnId(9)));
    wrong(&|table| table.indexes[2].unique = true);
    wrong(&|table| table.indexes[2].judged = Some(Judged::default()));
    wrong(&|table| table.indexes[2].fences_only = true);
    wrong(&|table| table.indexes[0].multi_entry = true);
}

/// Files that were written before their commit.
#[test]
fn adopted_files() {
    let adopted = Some(Adopted { base: 1_000_000, csn: 44 });
    let rows = 1_000_000..1_000_500;
    let segment = SegmentMeta {
        file: FileId(10),
        bytes: 4000,
        rows: rows.clone(),
        count: 490,
        schema: 3,
        folded_csn: 0,
        adopted,
    };
    let base = |f: RunFileMeta| RunFileMeta { base: 1_000_000, ..f };
    let files = vec![base(file(11, 1, 5)), file(12, 5, 9)];
    let marks = MarkRunMeta {
        file: FileId(13),
        bytes: 77,
        rows: 3..400,
        csns: 44..45,
        marks: 6,
        level: 0,
        adopted: Some(MarkShift { rows: 0, successors: 1_000_000, csn: 44 }),
    };
    let edits = [
        Edit::CreateTable(schema()),
        Edit::AddSegment(T, segment),
        Edit::AddRun(T, I, RunMeta { rows, ..run(11, 0, None, files) }),
        Edit::AddMarks(T, marks),
        Edit::Flushed(T, 1_000_500, 44),
    ];
    let mut bytes = encode_header(4).to_vec();
    bytes.extend(encode_record(4, bytes.len() as u64, &edits));
    golden_files::check("manifest-adopted.bin", &bytes);
    let state = load("manifest-00000004", 4, &bytes).unwrap().state;
    let table = &state.tables[&T];
    assert_eq!(edits[1], Edit::AddSegment(T, table.segments[0].clone()));
    assert_eq!(edits[2], Edit::AddRun(T, I, table.indexes[&I].runs[0].clone()));
    assert_eq!(edits[3], Edit::AddMarks(T, table.marks[0].clone()));
}

/// What tables with a history need.
#[test]
fn history() {
    let kept = TableSchema { history_us: 3_600_000_000, ..schema() };
    let before = [
        Edit::CreateTable(kept),
        Edit::HistoryFloor(T, 7),
        Edit::Timeline(0, vec![(7, 1_000_000), (300, 1_000_000), (301, 2_500_000)]),
    ];
    let after = [Edit::Timeline(7, vec![(400, 9_000_000)]), Edit::HistoryFloor(T, 290)];
    let mut bytes = encode_header(4).to_vec();
    for edits in [&before[..], &after[..]] {
        bytes.extend(encode_record(4, bytes.len() as u64, edits));
    }
    golden_files::check("manifest-history.bin", &bytes);
    let state = load("manifest-00000004", 4, &bytes).unwrap().state;
    assert_eq!(state.tables[&T].history_floor, 290);
    assert_eq!(*state.timeline, [(300, 1_000_000), (301, 2_500_000), (400, 9_000_000)]);
    let mut rebuilt = onlap_format::manifest::ManifestState::default();
    state.to_edits().iter().for_each(|edit| rebuilt.apply(edit).unwrap());
    assert_eq!(rebuilt, state);
    assert!(rebuilt.apply(&Edit::Timeline(0, vec![(350, 9_500_000)])).is_err());
}

#[test]
fn every_damaged_byte_is_noticed_or_cut() {
    let mut bytes = encode_header(4).to_vec();
    let mut ends = vec![];
    for edits in &records() {
        bytes.extend(encode_record(4, bytes.len() as u64, edits));
        ends.push(bytes.len());
    }
    let last = ends[ends.len() - 2];
    for i in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[i] ^= 0x10;
        match load("m", 4, &damaged) {
            Ok(loaded) => assert!(i >= last && loaded.end == last as u64, "byte {i}"),
            Err(_) => assert!(i < last, "byte {i}"),
        }
    }
}
