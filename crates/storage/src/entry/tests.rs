use super::*;

#[test]
fn bounds_are_prefixes_on_both_sides() {
    let b = |lower: Option<(&[u8], bool)>, upper: Option<(&[u8], bool)>| KeyBounds {
        lower: lower.map(|(p, i)| (p.to_vec(), i)),
        upper: upper.map(|(p, i)| (p.to_vec(), i)),
    };
    let inclusive = b(Some((b"b", true)), Some((b"c", true)));
    assert!(inclusive.is_below(b"az"));
    assert!(inclusive.contains(b"b") && inclusive.contains(b"bz"));
    assert!(inclusive.contains(b"c") && inclusive.contains(b"czz"));
    assert!(inclusive.is_above(b"d"));
    let exclusive = b(Some((b"b", false)), Some((b"c", false)));
    assert!(exclusive.is_below(b"bzz"));
    assert!(!exclusive.contains(b"ba") && exclusive.is_above(b"ca"));
    assert!(KeyBounds::all().contains(b""));
    assert!(KeyBounds::prefix(b"ab").contains(b"abc"));
    assert!(!KeyBounds::prefix(b"ab").contains(b"b"));
}

#[test]
fn reset_keeps_or_changes_the_shape() {
    let mut batch = EntryBatch::default();
    batch.reset(&[Physical::Int]);
    batch.keys.push(b"k");
    batch.row_ids.push(7);
    batch.columns.columns[0].push_null();
    batch.columns.rows = 1;
    batch.reset(&[Physical::Int]);
    assert!(batch.is_empty() && batch.keys.is_empty() && batch.columns.rows == 0);
    assert!(batch.columns.columns[0].nulls.is_none());
    batch.reset(&[Physical::Bytes, Physical::Wide]);
    assert_eq!(batch.columns.columns.len(), 2);
}
