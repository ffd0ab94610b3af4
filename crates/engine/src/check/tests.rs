//! Are faults in column changes and folded segments found? Each is planted as a finished file that the
//! manifest names, with right checksums: only its meaning is wrong.

use std::sync::Arc;

use onlap_base::{ColumnId, Csn, RowId};
use onlap_format::changes::{Change, ChangeOp, Scalar};
use onlap_format::manifest::Edit;
use onlap_format::{DataType, Physical, Value};
use onlap_storage::marks::{MarkRunSpec, MarkRunWriter};
use onlap_storage::segment::{SegmentSpec, SegmentWriter};
use onlap_storage::written::Purpose;
use onlap_vfs::{Fs, MemFs};

use super::{CheckOptions, check};
use crate::database::{Database, Table};
use crate::options::{Options, SyncMode};
use crate::spec::TableSpec;

const DIR: &str = "/db";

fn filled() -> (Options, Database, Table) {
    let mut options = Options::default().sync(SyncMode::Os).memory_limit(64 << 20);
    let fs: Arc<dyn Fs> = Arc::new(MemFs::new());
    options.fs = fs;
    // Nobody folds or merges what is planted before it is checked.
    options.background_jobs = 0;
    let db = Database::open(DIR, options.clone()).unwrap();
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
        let mut batch = onlap_format::Batch::new(columns.iter().map(|c| c.1));
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
