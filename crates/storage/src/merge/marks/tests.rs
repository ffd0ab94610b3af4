use std::sync::atomic::Ordering;

use super::*;
use crate::editor::double::{Bare, TABLE};

#[test]
fn merged_marks_say_the_same() {
    let bare = Bare::new(false);
    bare.add_segment(0..200_000);
    let died = |row: RowId| match row % 7 {
        r @ 0..5 => Some(1000 + r * 10),
        _ => None,
    };
    for r in 0..5 {
        bare.add_marks((r..200_000).step_by(7), 1000 + r * 10);
    }
    let options = PolicyOptions::default();
    assert_eq!(choose(&bare.table(), &options).map(|c| c.inputs.len()), Some(5));
    assert!(debt_bytes(&bare.table(), &options) > 0);

    bare.horizon.store(1015, Ordering::Relaxed);
    let ask = |csn: Csn| bare.table().dead_rows(0..200_000, csn).unwrap();
    let before: Vec<_> = [1015, 1020, 1035, 1040, 5000].map(ask).into();
    let choice = choose(&bare.table(), &options).unwrap();
    let inputs: Vec<FileId> = choice.inputs.into_iter().map(FileId).collect();
    assert!(merge(&bare, TABLE, &inputs).unwrap());
    assert!(!merge(&bare, TABLE, &inputs).unwrap(), "the inputs are gone");
    assert_eq!(bare.table().marks.len(), 1);
    assert_eq!(choose(&bare.table(), &options), None);
    let after: Vec<_> = [1015, 1020, 1035, 1040, 5000].map(ask).into();
    assert_eq!(before, after);
    for row in [0, 1, 2, 3, 4, 5, 70_000, 140_002, 199_999] {
        let want = died(row).map(|csn| (if csn <= 1015 { 0 } else { csn }, None));
        assert_eq!(bare.table().mark_of(row).unwrap(), want, "row {row}");
    }
    let mut keep = vec![true; 14];
    bare.table().drop_dead(&(0..14).collect::<Vec<_>>(), 1025, &mut keep).unwrap();
    let kept: Vec<usize> = (0..14).filter(|i| keep[*i]).collect();
    assert_eq!(kept, [3, 4, 5, 6, 10, 11, 12, 13]);
}
