//! Which bytes sort as intervals, times with a zone, bit strings and numbers do, and can be read again?
//!
//! | type | bytes |
//! |---|---|
//! | interval | 16: its microseconds with months of 30 days and days of 24 hours; 4: months; 4: days |
//! | timetz | 8: microseconds from midnight in UTC; 4: seconds west of UTC |
//! | bit strings | the bytes of the bits, each 0 followed by 255, two zeros; 4: the number of bits |
//! | numeric | 1: class, 0 -infinity, 1 negative, 2 zero, 3 positive, 4 infinity, 5 NaN; of 1 and 3 also 2: weight; 2 each: digit of base 10,000 plus one; two zeros |
//!
//! Numbers are big-endian with their sign bit turned; all but the class of a negative numeric is inverted. How many
//! decimals a numeric shows, its column says.
//!
//! ```text
//! timetz 01:00:00+01  80 00 00 00 00 00 00 00  7f ff f1 f0
//! B'101'              a0 00 00  00 00 00 03
//! 12.5::numeric(40,1) 03 80 00 00 0d 13 89 00 00
//! ```
//!
//! The keys of [`onlap_kernels::key`] look alike in part. They live in memory and may change with a release; these are on
//! disk and may not, so that neither is made of the other.
//!
//! Thread safety: pure functions.

use onlap_pg::value::interval::Interval;
use onlap_pg::value::numeric::{Numeric, precision_and_scale};

/// Microseconds of a day, and days of a month, as intervals are compared.
const DAY_US: i128 = 86_400_000_000;
const MONTH_DAYS: i128 = 30;

/// Takes `N` bytes off the front.
pub(super) fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = bytes.split_first_chunk::<N>()?;
    *bytes = tail;
    Some(*head)
}

pub(super) fn put_i32(value: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(&(value as u32 ^ 1 << 31).to_be_bytes());
}

pub(super) fn put_i64(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&(value as u64 ^ 1 << 63).to_be_bytes());
}

pub(super) fn take_i32(bytes: &mut &[u8]) -> Option<i32> {
    Some((u32::from_be_bytes(take(bytes)?) ^ 1 << 31) as i32)
}

pub(super) fn take_i64(bytes: &mut &[u8]) -> Option<i64> {
    Some((u64::from_be_bytes(take(bytes)?) ^ 1 << 63) as i64)
}

/// A number that is none but itself: no NaN, and one zero.
pub(super) fn put_f64(value: f64, out: &mut Vec<u8>) {
    let bits = value.to_bits();
    let bits = if bits >> 63 == 1 { !bits } else { bits ^ 1 << 63 };
    out.extend_from_slice(&bits.to_be_bytes());
}

pub(super) fn take_f64(bytes: &mut &[u8]) -> Option<f64> {
    let bits = u64::from_be_bytes(take(bytes)?);
    Some(f64::from_bits(if bits >> 63 == 1 { bits ^ 1 << 63 } else { !bits }))
}

/// Bytes with an end that none of them can be.
pub(super) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        out.push(*byte);
        if *byte == 0 {
            out.push(255);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

/// The bytes before the next end.
pub(super) fn take_bytes(bytes: &mut &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    loop {
        let at = bytes.iter().position(|byte| *byte == 0)?;
        out.extend_from_slice(&bytes[..at]);
        let next = *bytes.get(at + 1)?;
        *bytes = &bytes[at + 2..];
        match next {
            255 => out.push(0),
            0 => return Some(out),
            _ => return None,
        }
    }
}

/// An interval, from what travels.
pub(super) fn put_interval(sent: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let key = Interval::recv(sent).ok()?.key();
    let (days, months) = (sent.get(8..12)?, sent.get(12..16)?);
    out.extend_from_slice(&(key as u128 ^ 1 << 127).to_be_bytes());
    for part in [months, days] {
        put_i32(i32::from_be_bytes(part.try_into().ok()?), out);
    }
    Some(())
}

/// An interval, as it travels.
pub(super) fn take_interval(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let key = (u128::from_be_bytes(take(&mut bytes)?) ^ 1 << 127) as i128;
    let (months, days) = (take_i32(&mut bytes)?, take_i32(&mut bytes)?);
    let whole_days = i128::from(months) * MONTH_DAYS + i128::from(days);
    let us = i64::try_from(key.checked_sub(whole_days * DAY_US)?).ok()?;
    let sent = [&us.to_be_bytes()[..], &days.to_be_bytes(), &months.to_be_bytes()].concat();
    bytes.is_empty().then_some(sent)
}

/// A time with a zone, from what travels.
pub(super) fn put_timetz(sent: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (time, zone) = (sent.get(..8)?, sent.get(8..12)?);
    let time = i64::from_be_bytes(time.try_into().ok()?);
    let zone = i32::from_be_bytes(zone.try_into().ok()?);
    put_i64(time.checked_add(i64::from(zone) * 1_000_000)?, out);
    put_i32(zone, out);
    Some(())
}

/// A time with a zone, as it travels.
pub(super) fn take_timetz(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let (utc, zone) = (take_i64(&mut bytes)?, take_i32(&mut bytes)?);
    let time = utc.checked_sub(i64::from(zone) * 1_000_000)?;
    bytes.is_empty().then(|| [&time.to_be_bytes()[..], &zone.to_be_bytes()].concat())
}

/// A bit string, from what travels.
pub(super) fn put_bits(sent: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (length, bits) = sent.split_at_checked(4)?;
    put_bytes(bits, out);
    out.extend_from_slice(length);
    Some(())
}

/// A bit string, as it travels.
pub(super) fn take_bits(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let bits = take_bytes(&mut bytes)?;
    let length = u32::from_be_bytes(take(&mut bytes)?);
    let fits = bits.len() == (length as usize).div_ceil(8) && bytes.is_empty();
    fits.then(|| [&length.to_be_bytes()[..], &bits].concat())
}

/// Words of what numeric_send gives for the signs of finite values, and for the rest.
const POSITIVE: u16 = 0;
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;
const INFINITY: u16 = 0xd000;
const MINUS_INFINITY: u16 = 0xf000;

/// A numeric.
pub(super) fn put_numeric(value: &Numeric, out: &mut Vec<u8>) -> Option<()> {
    let sent = value.send();
    let words = sent.as_chunks::<2>().0.iter().map(|word| u16::from_be_bytes(*word));
    let words: Vec<u16> = words.collect();
    let [_, weight, sign, _, digits @ ..] = &words[..] else { return None };
    let (class, flip) = match *sign {
        MINUS_INFINITY => (0, 0),
        NEGATIVE => (1, 0xffff),
        INFINITY => (4, 0),
        NAN => (5, 0),
        _ if digits.is_empty() => (2, 0),
        _ => (3, 0),
    };
    out.push(class);
    if matches!(class, 1 | 3) {
        let all = [weight ^ 0x8000].into_iter().chain(digits.iter().map(|d| d + 1)).chain([0]);
        all.for_each(|word| out.extend_from_slice(&(word ^ flip).to_be_bytes()));
    }
    Some(())
}

/// A numeric of a column with this modifier.
pub(super) fn take_numeric(mut bytes: &[u8], modifier: i32) -> Option<Numeric> {
    let (_, scale) = precision_and_scale(modifier)?;
    let [class] = take::<1>(&mut bytes)?;
    let (sign, flip) = match class {
        0 => return bytes.is_empty().then(|| Numeric::infinity(true)),
        4 => return bytes.is_empty().then(|| Numeric::infinity(false)),
        5 => return bytes.is_empty().then(Numeric::nan),
        1 => (NEGATIVE, 0xffff),
        2 | 3 => (POSITIVE, 0),
        _ => return None,
    };
    let (mut weight, mut digits) = (0_u16, Vec::new());
    if class != 2 {
        let (words, []) = bytes.as_chunks::<2>() else { return None };
        let mut words = words.iter().map(|word| u16::from_be_bytes(*word) ^ flip);
        weight = words.next()? ^ 0x8000;
        digits = words.collect();
        if digits.pop() != Some(0) {
            return None;
        }
    } else if !bytes.is_empty() {
        return None;
    }
    let digits = digits.iter().map(|d| d.checked_sub(1)).collect::<Option<Vec<u16>>>()?;
    let head = [u16::try_from(digits.len()).ok()?, weight, sign, scale.max(0) as u16];
    let sent: Vec<u8> = head.iter().chain(&digits).flat_map(|word| word.to_be_bytes()).collect();
    Numeric::recv(&sent, -1).ok()
}
