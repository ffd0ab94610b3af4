use std::sync::atomic::Ordering;

use super::*;
use crate::editor::double::{Bare, TABLE, rows};

fn read_all(bare: &Bare, ids: &[RowId]) -> (Vec<RowId>, Batch) {
    let mut out = Batch::new(rows(0..0).columns.iter().map(|c| c.data.physical()));
    let mut found = vec![];
    bare.table().read_rows(ids, &[ColumnId(1), ColumnId(2)], &mut out, &mut found).unwrap();
    (found, out)
}

#[test]
fn survivors_keep_their_ids_and_values() {
    let bare = Bare::new(false);
    bare.add_segment(0..5000);
    bare.add_segment(5000..9000);
    bare.add_marks((0..5000).filter(|r| r % 3 == 0), 1000);
    bare.add_marks((0..5000).filter(|r| r % 3 == 1), 2000);
    assert_eq!(choose(&bare.table(), 999, DEAD_SHARE, DEAD_SHARE).unwrap(), None);

    bare.horizon.store(1500, Ordering::Relaxed);
    let candidate = choose(&bare.table(), 1500, DEAD_SHARE, DEAD_SHARE).unwrap().unwrap();
    assert_eq!((candidate.dead, candidate.segment.rows.clone()), (1667, 0..5000));
    let old = bare.table().segments[0].meta.clone();
    assert!(compact(&bare, TABLE, &candidate).unwrap());
    assert!(!compact(&bare, TABLE, &candidate).unwrap(), "the old segment is gone");
    let new = bare.table().segments[0].meta.clone();
    assert_eq!((new.count, new.rows.clone(), new.folded_csn), (3333, 0..5000, 900));
    assert!(new.bytes < old.bytes);

    let all: Vec<RowId> = (0..9000).collect();
    let (found, batch) = read_all(&bare, &all);
    let live: Vec<RowId> = all.into_iter().filter(|r| *r >= 5000 || r % 3 != 0).collect();
    assert_eq!((found, batch), (live.clone(), rows(live.into_iter())));
    let version = bare.table();
    let commits = &version.segments[0].segment.footer().commits;
    assert_eq!(commits.csn_of(4999), Some(500));

    // Rows that are gone already do not count again.
    assert_eq!(choose(&bare.table(), 1500, DEAD_SHARE, DEAD_SHARE).unwrap(), None);
    let candidate = choose(&bare.table(), 2000, DEAD_SHARE, DEAD_SHARE).unwrap().unwrap();
    assert_eq!(candidate.dead, 1667);
}

#[test]
fn a_segment_of_dead_rows_goes() {
    let bare = Bare::new(false);
    bare.add_segment(0..1000);
    bare.add_segment(1000..2000);
    bare.add_marks(1000..2000, 1000);
    bare.horizon.store(1000, Ordering::Relaxed);
    let candidate = choose(&bare.table(), 1000, DEAD_SHARE, DEAD_SHARE).unwrap().unwrap();
    assert!(compact(&bare, TABLE, &candidate).unwrap());
    assert_eq!(bare.table().segments.len(), 1);
    assert_eq!(read_all(&bare, &[5, 999, 1000, 1999]).0, [5, 999]);
    assert!(bare.table().segment_of(1500).is_none());
}

#[test]
fn a_stopped_compaction_leaves_nothing() {
    let bare = Bare::new(false);
    bare.add_segment(0..1000);
    bare.add_marks(0..500, 1000);
    bare.horizon.store(1000, Ordering::Relaxed);
    bare.stop.store(true, Ordering::Relaxed);
    let files = bare.context.fs.list(&bare.context.dir).unwrap();
    let candidate = choose(&bare.table(), 1000, DEAD_SHARE, DEAD_SHARE).unwrap().unwrap();
    assert!(!compact(&bare, TABLE, &candidate).unwrap());
    assert_eq!(bare.context.fs.list(&bare.context.dir).unwrap(), files);
}
