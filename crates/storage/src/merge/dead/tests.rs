use super::*;
use crate::editor::double::Bare;

#[test]
fn dead_rows_are_found_page_by_page() {
    let bare = Bare::new(false);
    let none = DeadRows::new(&bare.table(), 0..1000, 100).is_clear();
    assert!(none);
    bare.add_segment(0..300_000);
    bare.add_marks((70_000..90_000).filter(|r| r % 3 == 0), 50);
    bare.add_marks((200_000..200_100).filter(|r| r % 2 == 0), 60);
    let version = bare.table();
    for horizon in [49, 50, 60] {
        let mut dead = DeadRows::new(&version, 1000..250_000, horizon);
        assert!(!dead.is_clear());
        let died = |r: RowId| match r {
            70_000..90_000 => horizon >= 50 && r.is_multiple_of(3),
            200_000..200_100 => horizon >= 60 && r.is_multiple_of(2),
            _ => false,
        };
        let mut count = 0;
        for row in 1000..250_000 {
            assert_eq!(dead.contains(row).unwrap(), died(row), "row {row} at {horizon}");
            count += u64::from(died(row));
        }
        assert_eq!(dead.count().unwrap(), count);
    }
}
