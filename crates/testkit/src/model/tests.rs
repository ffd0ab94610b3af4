use super::*;

fn sample() -> ModelTable<(i32, &'static str)> {
    let mut table = ModelTable::new();
    table.insert(1, (5, "a"));
    table.insert(1, (3, "b"));
    table.insert(2, (4, "c"));
    assert!(table.delete(3, 1));
    assert!(!table.delete(3, 1));
    assert_eq!(table.update(4, 0, (6, "d")), Some(3));
    assert_eq!(table.update(4, 0, (7, "e")), None);
    table
}

#[test]
fn a_snapshot_sees_a_prefix_of_the_commits() {
    let table = sample();
    let ids = |csn| table.rows(csn).map(|(id, _)| id).collect::<Vec<_>>();
    assert_eq!(ids(0), [0u64; 0]);
    assert_eq!(ids(1), [0, 1]);
    assert_eq!(ids(2), [0, 1, 2]);
    assert_eq!(ids(3), [0, 2]);
    assert_eq!(ids(4), [2, 3]);
    assert_eq!((table.count(4), table.next_row_id(), table.successor(0)), (2, 4, Some(3)));
    assert_eq!(table.row(3, 0), Some(&(5, "a")));
    assert_eq!(table.row(4, 0), None);
    assert_eq!(table.find(2, |row| row.0 == 4), Some((2, &(4, "c"))));
}

#[test]
fn comparisons_find_each_kind_of_difference() {
    let table = sample();
    let right = vec![(2, (4, "c")), (3, (6, "d"))];
    assert_eq!(table.compare(4, &right), Ok(()));
    assert!(table.compare(4, &right[..1]).unwrap_err().contains("then nothing"));
    assert!(table.compare(3, &right).unwrap_err().contains("place 0"));
    assert!(table.compare(4, &[(2, (4, "x"))]).is_err());
}

#[test]
fn an_index_is_compared_both_ways() {
    let table = sample();
    let key = |row: &(i32, &str)| row.0;
    assert_eq!(table.entries(2, key, |k| *k >= 4), [(4, 2), (5, 0)]);
    assert_eq!(table.compare_index(2, key, &[(3, 1), (4, 2), (5, 0)]), Ok(()));
    let missing = table.compare_index(2, key, &[(3, 1), (5, 0)]).unwrap_err();
    assert!(missing.contains("(4, 2) is missing"), "{missing}");
    let extra = table.compare_index(3, key, &[(3, 1), (4, 2), (5, 0)]).unwrap_err();
    assert!(extra.contains("(3, 1) has no visible row"), "{extra}");
    let order = table.compare_index(2, key, &[(4, 2), (3, 1), (5, 0)]).unwrap_err();
    assert!(order.contains("stands before"), "{order}");
}
