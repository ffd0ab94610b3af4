use onlap_base::{ColumnId, ErrorKind, TableId};
use onlap_format::manifest::{Edit, RunFileMeta};
use onlap_format::{ColumnSchema, DataType, IndexSchema, KeyPart};

use super::*;
use crate::context::StorageContext;
use crate::testing::disk;
use crate::written::Purpose;

const TABLE: TableId = TableId(1);
const INDEX: IndexId = IndexId(1);

fn schema() -> TableSchema {
    let column = ColumnSchema {
        id: ColumnId(1),
        name: "a".into(),
        ty: DataType::Int8,
        nullable: false,
        serial: false,
    };
    let index = IndexSchema {
        id: INDEX,
        name: "i".into(),
        key: vec![KeyPart { column: ColumnId(1), descending: false }],
        include: vec![],
        unique: false,
        primary: false,
    };
    TableSchema {
        id: TABLE,
        name: "t".into(),
        version: 1,
        columns: vec![column],
        indexes: vec![index],
        next_column: 2,
    }
}

fn file(id: u64, first: &[u8], last: &[u8]) -> RunFileMeta {
    let (first_key, last_key) = (first.to_vec(), last.to_vec());
    RunFileMeta { file: FileId(id), bytes: 10, entries: 5, first_key, last_key }
}

fn run(id: u64, rows: std::ops::Range<u64>, files: Vec<RunFileMeta>) -> RunMeta {
    RunMeta { id, level: 0, rows, files, trim: None, group: None }
}

fn touch(context: &StorageContext, id: u64) -> std::path::PathBuf {
    let path = context.dir.join(FileKind::Run(FileId(id)).name());
    std::fs::write(&path, b"x").unwrap();
    path
}

#[test]
fn a_merge_in_slices_keeps_what_versions_need() {
    let (_dir, context) = disk(64 << 20);
    let versions = Versions::create(&context).unwrap();
    let paths: Vec<_> = (1..=4).map(|id| touch(&context, id)).collect();
    versions.commit(&[Edit::CreateTable(schema())], |_| ()).unwrap();
    let input = run(1, 0..10, vec![file(1, b"a", b"c"), file(2, b"c", b"f")]);
    versions.commit(&[Edit::AddRun(TABLE, INDEX, input)], |_| ()).unwrap();
    let old = versions.table(TABLE).unwrap();

    // The first slice takes everything below "d".
    let output = RunMeta { level: 1, group: Some(3), ..run(3, 0..10, vec![file(3, b"a", b"c")]) };
    let edits = [
        Edit::AddRun(TABLE, INDEX, output),
        Edit::JoinMerge(TABLE, INDEX, 1, 3),
        Edit::TrimRun(TABLE, INDEX, 1, b"d".to_vec()),
    ];
    let published = versions.commit(&edits, |changed| changed.to_vec()).unwrap();
    let new = versions.table(TABLE).unwrap();
    assert!(Arc::ptr_eq(published[0].1.as_ref().unwrap(), &new));
    let ids = |v: &TableVersion| v.indexes[0].runs.iter().map(|r| r.meta.id).collect::<Vec<_>>();
    assert_eq!((ids(&old), ids(&new)), (vec![1], vec![3, 1]));
    assert_eq!(new.indexes[0].runs[1].files.len(), 1);
    versions.files().sweep().unwrap();
    assert!(paths[0].exists(), "an older version has it");
    drop(old);
    assert_eq!(versions.files().sweep().unwrap(), 1);
    assert!(!paths[0].exists() && paths[1].exists());

    // The second slice takes the rest.
    let edits = [
        Edit::ExtendRun(TABLE, INDEX, 3, vec![file(4, b"d", b"f")]),
        Edit::RemoveRun(TABLE, INDEX, 1),
        Edit::FinishRun(TABLE, INDEX, 3),
    ];
    versions.commit(&edits, |_| ()).unwrap();
    drop((new, published));
    versions.files().sweep().unwrap();
    assert_eq!(paths.iter().map(|p| p.exists()).collect::<Vec<_>>(), [false, false, true, true]);

    context.written.add(Purpose::Merge(INDEX), 1000);
    let e = versions.commit(&[Edit::RemoveRun(TABLE, INDEX, 1)], |_| ()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Conflict);
    versions.commit(&[Edit::FinishRun(TABLE, INDEX, 3)], |_| ()).unwrap();
    let state = versions.state(Clone::clone);
    drop(versions);

    let (dir, again) = (context.dir.clone(), disk(64 << 20).1);
    let again =
        StorageContext::new(again.fs.clone(), dir, again.memory.clone(), again.tasks.clone());
    let versions = Versions::open(&again).unwrap();
    assert_eq!(versions.state(Clone::clone), state);
    assert_eq!(again.new_file_id(), FileId(5));
    assert_eq!(again.written.report().indexes[&INDEX].merged, 1000);
    assert!(paths[2].exists());

    versions.commit(&[Edit::DropTable(TABLE)], |_| ()).unwrap();
    versions.files().sweep().unwrap();
    assert!(versions.tables().is_empty() && !paths[3].exists());
}
