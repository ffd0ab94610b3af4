use onlap_base::ErrorKind;
use onlap_format::manifest::{Edit, RunFileMeta};

use super::*;
use crate::context::StorageContext;
use crate::editor::Editor;
use crate::editor::double::{Bare, INDEX, TABLE};
use crate::written::Purpose;

fn run(id: u64, rows: std::ops::Range<u64>, files: Vec<RunFileMeta>) -> RunMeta {
    RunMeta { id, level: 0, rows, files, trim: None, group: None }
}

/// Keys 2, 4, ... up to 2000.
fn keys() -> impl Iterator<Item = (i64, RowId)> {
    (1..=1000).map(|i| (i * 2, (i as u64 * 7) % 1000))
}

fn exist(context: &StorageContext, files: &[FileKind]) -> Vec<bool> {
    files.iter().map(|f| context.fs.exists(&context.dir.join(f.name())).unwrap()).collect()
}

#[test]
fn a_merge_in_slices_keeps_what_versions_need() {
    let bare = Bare::new(false);
    let versions = &bare.versions;
    let key = |k: i64| {
        let values = [onlap_format::Value::Int(k)];
        bare.shape().key.encode_values(&values).unwrap()
    };
    let mut input = bare.write_files(0..1000, keys().filter(|k| k.0 <= 900).collect(), 1 << 20);
    input.extend(bare.write_files(0..1000, keys().filter(|k| k.0 > 900).collect(), 1 << 20));
    let id = input[0].file.0;
    let mut files: Vec<FileKind> = input.iter().map(|f| FileKind::Run(f.file)).collect();
    bare.commit(&[Edit::AddRun(TABLE, INDEX, run(id, 0..1000, input))]).unwrap();
    let old = bare.table();
    let before = bare.read_index();
    assert_eq!(before.len(), 1000);

    // The first slice takes everything below 1001.
    let low = bare.write_files(0..1000, keys().filter(|k| k.0 <= 1000).collect(), 1 << 20);
    let high = bare.write_files(0..1000, keys().filter(|k| k.0 > 1000).collect(), 1 << 20);
    files.extend(low.iter().chain(&high).map(|f| FileKind::Run(f.file)));
    let out = low[0].file.0;
    let output = RunMeta { level: 1, group: Some(out), ..run(out, 0..1000, low) };
    let edits = [
        Edit::AddRun(TABLE, INDEX, output),
        Edit::JoinMerge(TABLE, INDEX, id, out),
        Edit::TrimRun(TABLE, INDEX, id, key(1001)),
    ];
    let published = versions.commit(&edits, |changed| changed.to_vec()).unwrap();
    let new = versions.table(TABLE).unwrap();
    assert!(Arc::ptr_eq(published[0].1.as_ref().unwrap(), &new));
    let ids = |v: &TableVersion| v.indexes[0].runs.iter().map(|r| r.meta.id).collect::<Vec<_>>();
    assert_eq!((ids(&old), ids(&new)), (vec![id], vec![out, id]));
    assert_eq!(new.indexes[0].runs[1].files.len(), 1);
    let same = |v: &TableVersion, run: usize| {
        Arc::clone(v.indexes[0].runs[run].run.files().last().unwrap())
    };
    assert!(Arc::ptr_eq(&same(&old, 0), &same(&new, 1)), "an open file stays open");
    assert_eq!(bare.read_index(), before);
    assert_eq!(new.newest_with_key(INDEX, &key(1000), 5000, &mut 0).unwrap(), Some(500));
    assert_eq!(new.newest_with_key(INDEX, &key(1002), 5000, &mut 0).unwrap(), Some(507));
    assert_eq!(new.newest_with_key(INDEX, &key(1002), 507, &mut 0).unwrap(), None);
    versions.files().sweep().unwrap();
    assert_eq!(exist(&bare.context, &files), [true; 4], "an older version has them");
    drop(old);
    assert_eq!(versions.files().sweep().unwrap(), 1);
    assert_eq!(exist(&bare.context, &files), [false, true, true, true]);

    // The second slice takes the rest.
    let edits = [
        Edit::ExtendRun(TABLE, INDEX, out, high),
        Edit::RemoveRun(TABLE, INDEX, id),
        Edit::FinishRun(TABLE, INDEX, out),
    ];
    versions.commit(&edits, |_| ()).unwrap();
    assert_eq!(bare.read_index(), before);
    drop((new, published));
    versions.files().sweep().unwrap();
    assert_eq!(exist(&bare.context, &files), [false, false, true, true]);

    bare.context.written.add(Purpose::Merge(INDEX), 1000);
    let e = versions.commit(&[Edit::RemoveRun(TABLE, INDEX, id)], |_| ()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Conflict);
    versions.commit(&[Edit::FinishRun(TABLE, INDEX, out)], |_| ()).unwrap();
    let state = versions.state(Clone::clone);
    let (bare, context) = bare.reopen();
    assert_eq!(bare.versions.state(Clone::clone), state);
    assert_eq!(context.new_file_id().0, state.next_file);
    assert_eq!(context.written.report().indexes[&INDEX].merged, 1000);
    assert_eq!(bare.read_index(), before);

    bare.commit(&[Edit::DropTable(TABLE)]).unwrap();
    bare.versions.files().sweep().unwrap();
    assert!(bare.versions.tables().is_empty());
    assert_eq!(exist(&context, &files), [false; 4]);
}
