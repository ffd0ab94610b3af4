//! Are two literals one value?

use super::Literal;
use crate::Oid;
use crate::value::{boolean, float, int, numeric};

/// Whether two literals of a type are the same value, however they are written: `true` and `'t'`, `5` and `' 5'`.
pub(super) fn same(oid: Oid, one: &Literal, other: &Literal) -> bool {
    one == other || bits(oid, one).is_some_and(|bits_of_one| Some(bits_of_one) == bits(oid, other))
}

/// A value of a type that is read here.
fn bits(oid: Oid, literal: &Literal) -> Option<Vec<u8>> {
    let whole = match literal {
        Literal::Bool(value) => return Some(vec![u8::from(*value)]),
        Literal::Int(value) => Some(i64::from(*value)),
        Literal::Int8(value) => Some(*value),
        _ => None,
    };
    if let Some(value) = whole {
        return Some(value.to_be_bytes().to_vec());
    }
    let text = match literal {
        Literal::Text(text) | Literal::Numeric(text) => text,
        _ => return None,
    };
    let whole = |value: i64| value.to_be_bytes().to_vec();
    match oid {
        16 => boolean::parse(text).ok().map(|value| vec![u8::from(value)]),
        20 => int::parse_int8(text).ok().map(whole),
        21 => int::parse_int2(text).ok().map(|value| whole(value.into())),
        23 => int::parse_int4(text).ok().map(|value| whole(value.into())),
        700 => float::parse4(text).ok().map(|value| value.to_bits().to_be_bytes().to_vec()),
        701 => float::parse8(text).ok().map(|value| value.to_bits().to_be_bytes().to_vec()),
        1700 => numeric::Numeric::parse(text).ok().map(|value| value.send()),
        _ => None,
    }
}
