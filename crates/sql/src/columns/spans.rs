//! Which points of its type's order does a range or network have, as a span?
//!
//! A span ([`onlap::span`]) lies between two ends. An end is a place next to a point:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | of a range, 0: below all points, 2: above all, and nothing follows; 1: at a point. Of a network its family |
//! | n | the point: a number of 4 or 8 bytes, big-endian with its sign bit turned; a numeric as [`super::ordered`] has it; the bytes of an address |
//! | 1 | 0: before the point, 1: behind it |
//!
//! ```text
//! '[1,3)'::int4range   01 80 00 00 01 00   01 80 00 00 03 00
//! '(,3]'::numrange     00                  01 03 80 00 00 04 00 00 01
//! '10.0.0.0/8'::inet   02 0a 00 00 00 00   02 0a ff ff ff 01
//! ```
//!
//! They are in files and made of what travels, as ranges are ([`super::ranges`]). Two values overlap where their spans share a
//! point. The empty range has none. Thread safety: pure functions.

use onlap::span;
use onlap_pg::Oid;
use onlap_pg::value::numeric::Numeric;

use super::ordered::{put_numeric, take};
use super::ranges::{EMPTY, LOWER_IN, NO_LOWER, NO_UPPER, UPPER_IN, number, part, turn};

/// numeric
const NUMERIC: Oid = 1700;
/// What an address of the family of IPv4 begins with, and one of IPv6.
const FAMILIES: [(u8, usize); 2] = [(2, 4), (3, 16)];

/// The span of a range over a type, from what travels; `Some(None)` of the empty one.
pub(super) fn of_range(mut sent: &[u8], over: Oid) -> Option<Option<Vec<u8>>> {
    let [flags] = take(&mut sent)?;
    if flags == EMPTY {
        return Some(None);
    }
    let mut ends = [Vec::new(), Vec::new()];
    let sides = [(NO_LOWER, LOWER_IN, 0), (NO_UPPER, UPPER_IN, 2)];
    for (end, (none, inclusive, open)) in ends.iter_mut().zip(sides) {
        if flags & none != 0 {
            end.push(open);
            continue;
        }
        let length = number(&mut sent)?;
        let value = part(&mut sent, length)?;
        end.push(1);
        match over {
            NUMERIC => put_numeric(&Numeric::recv(value, -1).ok()?, end)?,
            _ if value.is_empty() => return None,
            _ => turn(value, end),
        }
        // The lower end lies before what belongs to the range, the upper one behind it.
        end.push(u8::from((flags & inclusive != 0) != (open == 0)));
    }
    let [lower, upper] = ends;
    debug_assert!(lower < upper, "a range that is not empty has points");
    Some((lower < upper).then(|| span::pack(&lower, &upper)))
}

/// The span of the addresses of a network, from what travels.
pub(super) fn of_network(sent: &[u8]) -> Option<Vec<u8>> {
    let [family, bits, _, length, address @ ..] = sent else { return None };
    let (_, bytes) = FAMILIES.into_iter().find(|(known, _)| known == family)?;
    if address.len() != bytes || usize::from(*length) != bytes || usize::from(*bits) > bytes * 8 {
        return None;
    }
    let (mut lower, mut upper) = (vec![*family], vec![*family]);
    for (at, byte) in address.iter().enumerate() {
        let fixed = usize::from(*bits).saturating_sub(at * 8).min(8);
        let host = u8::try_from(0xff_u16 >> fixed).ok()?;
        lower.push(byte & !host);
        upper.push(byte | host);
    }
    lower.push(0);
    upper.push(1);
    Some(span::pack(&lower, &upper))
}
