//! What PostgreSQL 15 writes and reads.

use super::{moments, numbers};

/// 2024-01-31 15:04:05.678
const MOMENT: i64 = 1_706_713_445_678_000;

#[test]
fn moments_are_written_as_postgresql_does() {
    let written = |template: &str| moments::write(MOMENT, template).expect("known fields");
    assert_eq!(written("YYYY-MM-DD HH24:MI:SS.MS"), "2024-01-31 15:04:05.678");
    assert_eq!(written("Day, DD Mon YYYY HH12:MI AM"), "Wednesday, 31 Jan 2024 03:04 PM");
    assert_eq!(written("FMDay FMMonth DDth"), "Wednesday January 31st");
    assert_eq!(written("IYYY-IW ID DDD Q"), "2024-05 3 031 1");
    assert_eq!(written("\"YYYY\" month|"), "YYYY january  |");
}

#[test]
fn moments_are_read_as_postgresql_does() {
    let read = |text: &str, template: &str| moments::read(text, template).expect("they fit");
    assert_eq!(read("2024-01-31 15:04:05.678", "YYYY-MM-DD HH24:MI:SS.MS"), MOMENT);
    assert_eq!(read("31 Jan 2024", "DD Mon YYYY"), 1_706_659_200_000_000);
    assert_eq!(read("20240131", "YYYYMMDD"), 1_706_659_200_000_000);
    assert_eq!(moments::read("2024-13-01", "YYYY-MM-DD").expect_err("no month").state(), "22008");
    assert_eq!(moments::read("x", "YYYY").expect_err("no year").state(), "22007");
}

#[test]
fn numbers_are_written_as_postgresql_does() {
    let cases = [
        ("125", "999", " 125"),
        ("125.8", "999D9", " 125.8"),
        ("-125.8", "999.99", "-125.80"),
        ("1234567", "9,999,999", " 1,234,567"),
        ("12", "0000", " 0012"),
        ("12", "FM0000", "0012"),
        ("0.5", "0.00", " 0.50"),
        ("1234.5", "FM999,999.00", "1,234.50"),
        ("12", "S99", "+12"),
        ("-5", "9PR", "<5>"),
        ("1234.567", "9999D99", " 1234.57"),
        ("0", "9", " 0"),
        ("0.1", "9.9", "  .1"),
        ("-0.1", "9.9", " -.1"),
        ("12345", "999", " ###"),
    ];
    for (number, template, expected) in cases {
        assert_eq!(numbers::write(number, template).expect("known"), expected, "{template}");
    }
    assert_eq!(numbers::write("5", "RN").expect_err("unknown").state(), "0A000");
}
