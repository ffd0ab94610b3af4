//! Which texts are integers, and what are those that do not fit?

use super::{fixed, invalid, out_of_range, scan};
use crate::Result;

/// int2in.
pub fn parse_int2(text: &str) -> Result<i16> {
    parse(text, "smallint", i64::from(i16::MIN), i64::from(i16::MAX)).map(|v| v as i16)
}

/// int4in.
pub fn parse_int4(text: &str) -> Result<i32> {
    parse(text, "integer", i64::from(i32::MIN), i64::from(i32::MAX)).map(|v| v as i32)
}

/// int8in.
pub fn parse_int8(text: &str) -> Result<i64> {
    parse(text, "bigint", i64::MIN, i64::MAX)
}

/// White space, a sign, digits, white space. A number that leaves the range says so at once, whatever follows it.
fn parse(text: &str, type_name: &str, least: i64, most: i64) -> Result<i64> {
    let rest = scan::trim_start(text);
    let (negative, rest) = match rest.as_bytes().first() {
        Some(b'-') => (true, &rest[1..]),
        Some(b'+') => (false, &rest[1..]),
        _ => (false, rest),
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return Err(invalid(type_name, text));
    }
    let mut value = 0_i64;
    for digit in rest[..digits].bytes() {
        let digit = i64::from(digit - b'0');
        value = value
            .checked_mul(10)
            .and_then(|v| v.checked_sub(digit))
            .filter(|v| *v >= least)
            .ok_or_else(|| out_of_range(type_name, text))?;
    }
    if !scan::is_blank(&rest[digits..]) {
        return Err(invalid(type_name, text));
    }
    if negative {
        return Ok(value);
    }
    value.checked_neg().filter(|v| *v <= most).ok_or_else(|| out_of_range(type_name, text))
}

/// oidin: C's strtoul, so that a minus counts down from 2^64, of which PostgreSQL takes what fits 32 bits signed.
pub fn parse_oid(text: &str) -> Result<u32> {
    let rest = scan::trim_start(text);
    let (negative, rest) = match rest.as_bytes().first() {
        Some(b'-') => (true, &rest[1..]),
        Some(b'+') => (false, &rest[1..]),
        _ => (false, rest),
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return Err(invalid("oid", text));
    }
    let value: u64 = rest[..digits].parse().map_err(|_| out_of_range("oid", text))?;
    if !scan::is_blank(&rest[digits..]) {
        return Err(invalid("oid", text));
    }
    let value = if negative { value.wrapping_neg() } else { value };
    let low = value as u32;
    if value == u64::from(low) || value == i64::from(low as i32) as u64 {
        Ok(low)
    } else {
        Err(out_of_range("oid", text))
    }
}

/// C's strtoull with base 0: a sign, `0x` and `0` in front for 16 and 8, as many digits as there are; what has none is 0, what
/// is too large the largest number, and a minus counts down from 2^64. xid, cid and xid8 are read so.
pub fn parse_prefix(text: &str) -> u64 {
    let rest = scan::trim_start(text);
    let negative = rest.starts_with('-');
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    let hex = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X"));
    let hex = hex.filter(|hex| hex.starts_with(|c: char| c.is_ascii_hexdigit()));
    let (base, digits) = match hex {
        Some(hex) => (16, hex),
        None if rest.starts_with('0') => (8, rest),
        None => (10, rest),
    };
    let mut value = 0_u64;
    for digit in digits.chars().map_while(|c| c.to_digit(base)) {
        let next = value.checked_mul(u64::from(base)).and_then(|v| v.checked_add(digit.into()));
        let Some(next) = next else { return u64::MAX };
        value = next;
    }
    if negative { value.wrapping_neg() } else { value }
}

/// int2recv.
pub fn recv_int2(bytes: &[u8]) -> Result<i16> {
    Ok(i16::from_be_bytes(fixed(bytes)?))
}

/// int4recv.
pub fn recv_int4(bytes: &[u8]) -> Result<i32> {
    Ok(i32::from_be_bytes(fixed(bytes)?))
}

/// int8recv.
pub fn recv_int8(bytes: &[u8]) -> Result<i64> {
    Ok(i64::from_be_bytes(fixed(bytes)?))
}
