use super::*;

#[test]
fn amounts_are_readable() {
    assert_eq!(amount(16 << 20, "bytes"), "16 MiB");
    assert_eq!(amount(2048, "bytes"), "2 KiB");
    assert_eq!(amount(63, "bytes"), "63 bytes");
    assert_eq!(amount(1600, "columns"), "1,600 columns");
    assert_eq!(amount(1 << 30, "rows"), "1,073,741,824 rows");
}

#[test]
fn an_old_page_is_found() {
    let file = |text: String| [SourceFile { path: PATH.to_owned(), text }];
    assert!(check(&file(page())).is_empty());
    assert_eq!(check(&file(page() + "\n")).len(), 1);
    assert_eq!(check(&[]).len(), 1);
}
