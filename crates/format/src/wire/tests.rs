use super::*;

#[test]
fn numbers_come_back_at_every_width() {
    for shift in 0..64 {
        for v in [(1u64 << shift) - 1, 1 << shift, u64::MAX >> shift] {
            let mut out = Vec::new();
            put_varint(&mut out, v);
            put_signed(&mut out, v as i64);
            put_signed(&mut out, (v as i64).wrapping_neg());
            let mut r = Reader::new(&out);
            assert_eq!(r.varint().unwrap(), v);
            assert_eq!(r.signed().unwrap(), v as i64);
            assert_eq!(r.signed().unwrap(), (v as i64).wrapping_neg());
            r.finish().unwrap();
        }
    }
}

#[test]
fn damage_is_an_error() {
    assert!(Reader::new(&[0x80; 11]).varint().is_err());
    assert!(
        Reader::new(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2]).varint().is_err()
    );
    assert!(Reader::new(&[5, 1, 2]).bytes().is_err());
    assert!(Reader::new(&[3, 0, 0]).count(1).is_err());
    assert!(Reader::new(&[1, 0xFF]).text().is_err());
    assert!(Reader::new(&[2]).flag().is_err());
    assert!(Reader::new(&[0]).finish().is_err());
}
