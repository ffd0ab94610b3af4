use super::*;

#[test]
fn sizes_and_counts() {
    assert_eq!(parse_size("256MiB").unwrap(), 256 << 20);
    assert_eq!(parse_size("256 MB").unwrap(), 256 << 20);
    assert_eq!(parse_size("1.5G").unwrap(), 3 << 29);
    assert_eq!(parse_size("65_536").unwrap(), 65_536);
    assert_eq!(parse_count("5M").unwrap(), 5_000_000);
    assert_eq!(parse_count("0.5k").unwrap(), 500);
}

#[test]
fn bad_ones_name_what_is_valid() {
    let error = parse_size("256MIB").unwrap_err();
    assert!(error.message().contains("did you mean 'MiB'"), "{error}");
    for text in ["", "MiB", "1.2.3M", "99999999999999999999G"] {
        assert_eq!(parse_size(text).unwrap_err().kind(), ErrorKind::InvalidInput, "{text}");
    }
    assert!(parse_count("5MiB").is_err());
    assert!(parse_count("-5").is_err());
}

#[test]
fn printing() {
    assert_eq!(grouped(0), "0");
    assert_eq!(grouped(1_234_567), "1,234,567");
    assert_eq!(size(512), "512 B");
    assert_eq!(size(3 << 29), "1.5 GiB");
}
