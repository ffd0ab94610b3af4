use std::path::Path;

use onlap_base::FileId;
use onlap_format::manifest::SegmentMeta;
use onlap_format::{ColumnSchema, DataType, TableSchema};

use super::*;
use crate::testing::{disk, memory};

fn schema(id: u32) -> TableSchema {
    let column = ColumnSchema::new(onlap_base::ColumnId(1), "a", DataType::Int8, false);
    TableSchema {
        id: TableId(id),
        name: format!("t{id}"),
        version: 1,
        columns: vec![column],
        next_column: 2,
        ..TableSchema::default()
    }
}

fn segment(file: u64, start: u64) -> SegmentMeta {
    SegmentMeta {
        file: FileId(file),
        bytes: 100,
        rows: start..start + 10,
        count: 10,
        schema: 1,
        folded_csn: 0,
        adopted: None,
    }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn commits_survive_a_reopen() {
    let (dir, context) = disk(64 << 20);
    assert_eq!(Manifest::open(&context).unwrap_err().kind(), ErrorKind::NotFound);
    let manifest = Manifest::create(&context).unwrap();
    assert_eq!(Manifest::create(&context).unwrap_err().kind(), ErrorKind::AlreadyExists);
    manifest.commit(&[Edit::CreateTable(schema(1))]).unwrap();
    manifest.commit(&[Edit::AddSegment(TableId(1), segment(7, 0)), Edit::Csn(9)]).unwrap();
    let state = manifest.read(Clone::clone);
    drop(manifest);
    let manifest = Manifest::open(&context).unwrap();
    assert_eq!(manifest.read(Clone::clone), state);
    assert_eq!((state.next_file, state.csn), (8, 9));
    assert_eq!(names(dir.path()), ["CURRENT", "manifest-00000001"]);
}

#[test]
fn a_misfit_changes_nothing() {
    let (_dir, context) = disk(64 << 20);
    let manifest = Manifest::create(&context).unwrap();
    manifest.commit(&[Edit::CreateTable(schema(1))]).unwrap();
    let state = manifest.read(Clone::clone);
    let edits = [
        Edit::Csn(100),
        Edit::CreateTable(schema(2)),
        Edit::AddSegment(TableId(1), segment(7, 0)),
        Edit::AddSegment(TableId(1), segment(8, 5)),
    ];
    assert_eq!(manifest.commit(&edits).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(manifest.read(Clone::clone), state);
    manifest.commit(&edits[..3]).unwrap();
}

#[test]
fn the_file_turns_over_when_edits_outgrow_the_snapshot() {
    let context = memory(64 << 20);
    let manifest = Manifest::create(&context).unwrap();
    manifest.commit(&[Edit::CreateTable(schema(1))]).unwrap();
    let mut i = 1;
    while manifest.inner.lock().number <= 3 {
        let mut edits = vec![Edit::AddSegment(TableId(1), segment(i, i * 10))];
        if i > 1 {
            edits.push(Edit::RemoveSegment(TableId(1), FileId(i - 1)));
        }
        edits.extend((0..200).map(Edit::Csn));
        manifest.commit(&edits).unwrap();
        i += 1;
        assert!(i < 6000, "600 bytes an edit add up");
    }
    let number = manifest.inner.lock().number;
    let state = manifest.read(Clone::clone);
    drop(manifest);
    let names = context.fs.list(&context.dir).unwrap();
    assert_eq!(names, ["CURRENT".to_owned(), format!("manifest-{number:08}")]);
    assert_eq!(Manifest::open(&context).unwrap().read(Clone::clone), state);
}

#[test]
fn a_torn_tail_is_cut_and_damage_is_named() {
    let (dir, context) = disk(64 << 20);
    let manifest = Manifest::create(&context).unwrap();
    manifest.commit(&[Edit::CreateTable(schema(1))]).unwrap();
    let before = manifest.inner.lock().end as usize;
    manifest.commit(&[Edit::CreateTable(schema(2))]).unwrap();
    let end = manifest.inner.lock().end as usize;
    drop(manifest);
    let path = dir.path().join("manifest-00000001");
    let mut whole = std::fs::read(&path).unwrap();
    assert!(whole[end..].iter().all(|&b| b == 0), "space allocated ahead holds no record");
    whole.truncate(end);
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let manifest = Manifest::open(&context).unwrap();
    assert_eq!(manifest.read(|s| s.tables.len()), 1);
    drop(manifest);
    let cut = std::fs::read(&path).unwrap();
    assert!(cut[before..].iter().all(|&b| b == 0), "nothing of the torn record is left");
    let mut damaged = whole;
    damaged[before - 3] ^= 1;
    std::fs::write(&path, &damaged).unwrap();
    let e = Manifest::open(&context).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corruption);
    assert_eq!(e.place().unwrap().file, "manifest-00000001");
}

#[test]
fn a_bad_pointer_is_damage() {
    let (dir, context) = disk(64 << 20);
    drop(Manifest::create(&context).unwrap());
    std::fs::write(dir.path().join("CURRENT"), "LOCK\n").unwrap();
    assert_eq!(Manifest::open(&context).unwrap_err().kind(), ErrorKind::Corruption);
}
