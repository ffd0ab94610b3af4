//! Is the certificate's hash found?

use super::*;

#[test]
fn elements_are_walked_and_nonsense_is_not() {
    assert_eq!(element(&[0x30, 2, 1, 2, 3], 0x30), Some((&[1, 2][..], &[3][..])));
    assert_eq!(element(&[0x30, 0x81, 1, 7], 0x30), Some((&[7][..], &[][..])));
    for bad in [
        &[][..],
        &[0x30],
        &[0x30, 2, 1],
        &[0x30, 0x80, 0],
        &[0x31, 0],
        &[0x30, 0x84, 255, 255, 255, 255],
    ] {
        assert_eq!(element(bad, 0x30), None, "{bad:?}");
    }
    let sha384 = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03];
    let algorithm = [&[0x30, 10, 0x06, 8][..], &sha384].concat();
    let certificate = [&[0x30, 2 + 12 + 2, 0x30, 0][..], &algorithm, &[0x03, 0]].concat();
    assert_eq!(signature_oid(&certificate), Some(&sha384[..]));
    assert_eq!(binding(&certificate).map(|hash| hash.len()), Some(48));
    assert_eq!(binding(&certificate[1..]), None);
}
