//! Which bytes sort as ranges and multiranges do, and can be read again?
//!
//! Of bounds whose equality is that of their bits: whole numbers, dates and moments. Those of numeric are equal and not the
//! same with other decimals; they are kept as they travel.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | 0: the empty range, and the end of a multirange; 1: there is a range |
//! | 1 | 1: it has a lower bound, 0: it has none |
//! | 4 or 8 | the lower bound, big-endian with its sign bit turned |
//! | 1 | 0: it belongs to the range, 1: it does not |
//! | 1 | 1: it has an upper bound, 2: it has none |
//! | 4 or 8, 1 | the upper bound; 1: it belongs to the range, 0: it does not |
//!
//! ```text
//! '[1,3)'::int4range       01  01 80 00 00 01 00  01 80 00 00 03 00
//! 'empty'::int4range       00
//! '{(,3)}'::int4multirange 01  00  01 80 00 00 03 00  00
//! ```
//!
//! They are made of what travels, and read as that: how values lie in steps may change with a release.
//! Thread safety: pure functions.

use super::ordered::take;

/// Flags of what travels.
pub(super) const EMPTY: u8 = 1;
pub(super) const LOWER_IN: u8 = 2;
pub(super) const UPPER_IN: u8 = 4;
pub(super) const NO_LOWER: u8 = 8;
pub(super) const NO_UPPER: u8 = 16;

/// Takes bytes off the front.
pub(super) fn part<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, tail) = bytes.split_at_checked(length)?;
    *bytes = tail;
    Some(head)
}

pub(super) fn number(bytes: &mut &[u8]) -> Option<usize> {
    usize::try_from(u32::from_be_bytes(take(bytes)?)).ok()
}

/// A range, from what travels.
pub(super) fn put(mut sent: &[u8], width: usize, out: &mut Vec<u8>) -> Option<()> {
    match sent {
        [EMPTY] => out.push(0),
        _ => put_one(&mut sent, width, out)?,
    }
    Some(())
}

/// A multirange, from what travels.
pub(super) fn put_all(mut sent: &[u8], width: usize, out: &mut Vec<u8>) -> Option<()> {
    for _ in 0..number(&mut sent)? {
        let length = number(&mut sent)?;
        put_one(&mut part(&mut sent, length)?, width, out)?;
    }
    out.push(0);
    Some(())
}

fn put_one(sent: &mut &[u8], width: usize, out: &mut Vec<u8>) -> Option<()> {
    let [flags] = take(sent)?;
    out.push(1);
    for (none, inclusive, is_lower) in [(NO_LOWER, LOWER_IN, true), (NO_UPPER, UPPER_IN, false)] {
        if flags & none != 0 {
            out.push(if is_lower { 0 } else { 2 });
            continue;
        }
        let length = number(sent).filter(|length| *length == width)?;
        let value = part(sent, length)?;
        out.push(1);
        turn(value, out);
        out.push(u8::from((flags & inclusive != 0) != is_lower));
    }
    Some(())
}

/// Appends a number with its sign bit turned.
pub(super) fn turn(value: &[u8], out: &mut Vec<u8>) {
    let at = out.len();
    out.extend_from_slice(value);
    out[at] ^= 0x80;
}

/// A range as it travels.
pub(super) fn take_range(mut bytes: &[u8], width: usize) -> Option<Vec<u8>> {
    let [kind] = take(&mut bytes)?;
    let sent = match kind {
        0 => vec![EMPTY],
        1 => take_one(&mut bytes, width)?,
        _ => return None,
    };
    bytes.is_empty().then_some(sent)
}

/// A multirange as it travels.
pub(super) fn take_all(mut bytes: &[u8], width: usize) -> Option<Vec<u8>> {
    let (mut sent, mut count) = (vec![0; 4], 0_u32);
    loop {
        let [kind] = take(&mut bytes)?;
        match kind {
            0 => break,
            1 => {
                let one = take_one(&mut bytes, width)?;
                sent.extend_from_slice(&(one.len() as u32).to_be_bytes());
                sent.extend(one);
                count += 1;
            }
            _ => return None,
        }
    }
    sent[..4].copy_from_slice(&count.to_be_bytes());
    bytes.is_empty().then_some(sent)
}

fn take_one(bytes: &mut &[u8], width: usize) -> Option<Vec<u8>> {
    let mut sent = vec![0];
    for (none, inclusive, is_lower) in [(NO_LOWER, LOWER_IN, true), (NO_UPPER, UPPER_IN, false)] {
        let [kind] = take(bytes)?;
        match (kind, is_lower) {
            (0, true) | (2, false) => sent[0] |= none,
            (1, _) => {
                sent.extend_from_slice(&(width as u32).to_be_bytes());
                turn(part(bytes, width)?, &mut sent);
                let [side] = take(bytes)?;
                match (side, is_lower) {
                    (0, true) | (1, false) => sent[0] |= inclusive,
                    (1, true) | (0, false) => {}
                    _ => return None,
                }
            }
            _ => return None,
        }
    }
    Some(sent)
}
