//! What do functions of bit strings give?
//!
//! Values lie in columns of bytes, in the form that [`onlap_pg::value::bits`] documents.

use onlap_pg::value::bits::{self, Bits, Kind, MAX_BITS, store};
use onlap_pg::{Error, Result};

use crate::aggregate::{Aggregate, State, fold};
use crate::text::bytes::bit;
use crate::text::compare::{bools, six};
use crate::text::parts::{laid, range};
use crate::{Bool, Bytes, Cx, Entry, Int4, Int8, four, one, three, two};

/// bit with bit
pub const FIXED: &[Entry] = six!(Bytes, Bytes, Bits::load; "biteq(bit,bit)" "bitne(bit,bit)"
    "bitlt(bit,bit)" "bitle(bit,bit)" "bitgt(bit,bit)" "bitge(bit,bit)");

/// bit varying with bit varying
pub const VARYING: &[Entry] = six!(Bytes, Bytes, Bits::load; "varbiteq(varbit,varbit)"
    "varbitne(varbit,varbit)" "varbitlt(varbit,varbit)" "varbitle(varbit,varbit)"
    "varbitgt(varbit,varbit)" "varbitge(varbit,varbit)");

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("bitand(bit,bit)", |_| two::<Bytes, Bytes, Bytes>(|a, b, _| joined::<AND>(a, b))),
    ("bitor(bit,bit)", |_| two::<Bytes, Bytes, Bytes>(|a, b, _| joined::<OR>(a, b))),
    ("bitxor(bit,bit)", |_| two::<Bytes, Bytes, Bytes>(|a, b, _| joined::<XOR>(a, b))),
    ("bitnot(bit)", |_| {
        one::<Bytes, Bytes>(|a, _| {
            let bits = Bits::load(a);
            store(bits.length, bits.bytes.iter().map(|byte| !byte))
        })
    }),
    ("bitshiftleft(bit,int4)", |_| two::<Bytes, Int4, Bytes>(|a, n, _| shift(a, i64::from(n)))),
    ("bitshiftright(bit,int4)", |_| two::<Bytes, Int4, Bytes>(|a, n, _| shift(a, -i64::from(n)))),
    ("bitcat(varbit,varbit)", |_| two::<Bytes, Bytes, Bytes>(|a, b, cx| concat(&[a, b], cx))),
    ("length(bit)", |_| one::<Bytes, Int4>(|a, _| Ok(Bits::load(a).length as i32))),
    ("bit_length(bit)", |_| one::<Bytes, Int4>(|a, _| Ok(Bits::load(a).length as i32))),
    ("octet_length(bit)", |_| one::<Bytes, Int4>(|a, _| Ok(a.len() as i32 - 4))),
    ("bit_count(bit)", |_| {
        one::<Bytes, Int8>(|a, cx| {
            let mut count = 0;
            let ones = |byte: &u8| i64::from(byte.count_ones());
            cx.pieces(&a[4..], |piece| count += piece.iter().map(ones).sum::<i64>())?;
            Ok(count)
        })
    }),
    ("bit(int4,int4)", |_| {
        two::<Int4, Int4, Bytes>(|a, modifier, cx| of_number(i64::from(a), modifier, cx))
    }),
    ("bit(int8,int4)", |_| two::<Int8, Int4, Bytes>(of_number)),
    ("int4(bit)", |_| {
        one::<Bytes, Int4>(|a, _| {
            let number = number(a, 32, "integer out of range")?;
            Ok(number as u32 as i32)
        })
    }),
    ("int8(bit)", |_| one::<Bytes, Int8>(|a, _| Ok(number(a, 64, "bigint out of range")? as i64))),
    ("bit(bit,int4,bool)", |_| {
        three::<Bytes, Int4, Bool, Bytes>(|a, modifier, explicit, cx| {
            cx.room(modifier.max(0) as usize / 8)?;
            bits::cast(a, modifier, explicit, Kind::Fixed)
        })
    }),
    ("varbit(varbit,int4,bool)", |_| {
        three::<Bytes, Int4, Bool, Bytes>(|a, modifier, explicit, _| {
            bits::cast(a, modifier, explicit, Kind::Varying)
        })
    }),
    ("substring(bit,int4)", |_| {
        two::<Bytes, Int4, Bytes>(|a, from, _| {
            Bits::load(a).part(from.max(1) as usize - 1, usize::MAX)
        })
    }),
    ("substring(bit,int4,int4)", |_| three::<Bytes, Int4, Int4, Bytes>(part)),
    ("overlay(bit,bit,int4)", |_| {
        three::<Bytes, Bytes, Int4, Bytes>(|a, new, from, cx| {
            overlay(a, new, from, Bits::load(new).length as i32, cx)
        })
    }),
    ("overlay(bit,bit,int4,int4)", |_| four::<Bytes, Bytes, Int4, Int4, Bytes>(overlay)),
    ("position(bit,bit)", |_| two::<Bytes, Bytes, Int4>(position)),
    ("get_bit(bit,int4)", |_| {
        two::<Bytes, Int4, Int4>(|a, n, _| {
            let bits = Bits::load(a);
            Ok(i32::from(bits.get(index(n, bits.length)?)))
        })
    }),
    ("set_bit(bit,int4,int4)", |_| three::<Bytes, Int4, Int4, Bytes>(set_bit)),
];

/// As bitand.
pub(super) const AND: u8 = 0;
/// As bitor.
pub(super) const OR: u8 = 1;
/// As bitxor.
pub(super) const XOR: u8 = 2;

fn joined<const OP: u8>(a: &[u8], b: &[u8]) -> Result<Vec<u8>> {
    let (a, b) = (Bits::load(a), Bits::load(b));
    if a.length != b.length {
        let name = ["AND", "OR", "XOR"][usize::from(OP)];
        let message = format!("cannot {name} bit strings of different sizes");
        return Err(Error::new("22026", message));
    }
    let pairs = a.bytes.iter().zip(b.bytes);
    store(
        a.length,
        pairs.map(|(a, b)| match OP {
            AND => a & b,
            OR => a | b,
            _ => a ^ b,
        }),
    )
}

/// Shifted to the left, or to the right by a number below 0; zeros come in.
fn shift(stored: &[u8], by: i64) -> Result<Vec<u8>> {
    let bits = Bits::load(stored);
    let count = bits.bytes.len();
    let far = by.unsigned_abs().min(bits.length as u64) as usize;
    if by >= 0 {
        return store(bits.length, (0..count).map(|i| bits.eight(far + i * 8)));
    }
    let byte = |i: usize| match (i * 8).checked_sub(far) {
        Some(at) => bits.eight(at),
        // The first bits of the string begin within this byte, or behind it.
        None if far - i * 8 < 8 => bits.eight(0) >> (far - i * 8),
        None => 0,
    };
    store(bits.length, (0..count).map(byte))
}

fn concat(parts: &[&[u8]], cx: &Cx<'_>) -> Result<Vec<u8>> {
    let parts = parts.iter().map(|part| Bits::load(part));
    let length: usize = parts.clone().map(|part| part.length).sum();
    if length > MAX_BITS {
        let message = format!("bit string length exceeds the maximum allowed ({MAX_BITS})");
        return Err(Error::new("54000", message));
    }
    cx.room(length / 8)?;
    let mut bytes = vec![0; length.div_ceil(8) + 1];
    let mut at = 0;
    for part in parts {
        for (i, byte) in part.bytes.iter().enumerate() {
            cx.worked(1)?;
            let first = at + i * 8;
            bytes[first / 8] |= byte >> (first % 8);
            if first % 8 > 0 {
                bytes[first / 8 + 1] |= byte << (8 - first % 8);
            }
        }
        at += part.length;
    }
    store(length, bytes.into_iter())
}

/// The lowest bits of a number, so many as the type has; its sign before them.
fn of_number(value: i64, modifier: i32, cx: &mut Cx<'_>) -> Result<Vec<u8>> {
    let length = modifier.clamp(1, MAX_BITS as i32) as usize;
    cx.room(length / 8)?;
    let byte = |i: usize| {
        // Bits of the number to the right of this byte; below 0 in the last byte.
        let right = length as i64 - 8 * (i as i64 + 1);
        match right {
            0.. => (value >> right.min(63)) as u8,
            _ => (value << -right) as u8,
        }
    };
    store(length, (0..length.div_ceil(8)).map(byte))
}

fn number(stored: &[u8], most: usize, refused: &'static str) -> Result<u64> {
    let bits = Bits::load(stored);
    if bits.length > most {
        return Err(Error::new("22003", refused));
    }
    let whole = bits.bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    Ok(whole >> (bits.bytes.len() * 8 - bits.length))
}

fn part(stored: &[u8], from: i32, length: i32, _: &mut Cx<'_>) -> Result<Vec<u8>> {
    let (start, end) = range(from, length)?.unwrap_or((0, 0));
    Bits::load(stored).part(start, end)
}

fn overlay(a: &[u8], new: &[u8], from: i32, length: i32, cx: &mut Cx<'_>) -> Result<Vec<u8>> {
    let (from, after) = laid(from, length)?;
    let bits = Bits::load(a);
    let before = bits.part(0, from as usize - 1)?;
    let after = bits.part(after.max(1) as usize - 1, usize::MAX)?;
    concat(&[&before, new, &after], cx)
}

fn position(stored: &[u8], part: &[u8], cx: &mut Cx<'_>) -> Result<i32> {
    let (bits, part) = (Bits::load(stored), Bits::load(part));
    if part.length == 0 {
        return Ok(i32::from(bits.length > 0));
    }
    for at in 0..(bits.length + 1).saturating_sub(part.length) {
        let whole = part.length / 8;
        let alike = (0..whole).take_while(|i| bits.eight(at + i * 8) == part.bytes[*i]).count();
        // Where many places have nearly all of it, this is the product of the lengths.
        cx.worked(1 + alike)?;
        let same = alike == whole;
        let rest = part.length % 8;
        let mask = !(0xff_u8.checked_shr(rest as u32).unwrap_or(0));
        if same && (rest == 0 || bits.eight(at + whole * 8) & mask == part.bytes[whole]) {
            return Ok(at as i32 + 1);
        }
    }
    Ok(0)
}

fn index(n: i32, length: usize) -> Result<usize> {
    match usize::try_from(n) {
        Ok(at) if at < length => Ok(at),
        _ => {
            let last = length as i64 - 1;
            let message = format!("bit index {n} out of valid range (0..{last})");
            Err(Error::new("2202E", message))
        }
    }
}

fn set_bit(stored: &[u8], n: i32, new: i32, cx: &mut Cx<'_>) -> Result<Vec<u8>> {
    let at = index(n, Bits::load(stored).length)?;
    let new = bit(new)?;
    cx.room(stored.len())?;
    let mut out = stored.to_vec();
    let byte = &mut out[4 + at / 8];
    *byte = *byte & !(0x80 >> (at % 8)) | new << (7 - at % 8);
    Ok(out)
}

/// All bit strings of a group, joined.
#[derive(Default)]
struct Folded<const OP: u8>(Option<Vec<u8>>);

impl<const OP: u8> Folded<OP> {
    fn take(&mut self, bits: &[u8]) -> Result<()> {
        self.0 = Some(match &self.0 {
            Some(old) => joined::<OP>(old, bits)?,
            None => bits.into(),
        });
        Ok(())
    }
}

impl<const OP: u8> State for Folded<OP> {
    fn save(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_deref().unwrap_or_default());
    }
    fn load(bytes: &[u8]) -> Self {
        Folded((!bytes.is_empty()).then(|| bytes.into()))
    }
    fn merge(&mut self, other: Self) -> Result<()> {
        other.0.map_or(Ok(()), |bits| self.take(&bits))
    }
    fn size(&self) -> usize {
        self.0.as_ref().map_or(0, Vec::capacity)
    }
}

/// An aggregate that joins bit strings.
pub(super) fn folded<const OP: u8>() -> Box<dyn Aggregate> {
    fold::<Folded<OP>, Bytes, Bytes>(
        |state, bits, _| state.take(bits),
        |state, _| Ok(state.0.clone()),
    )
}
