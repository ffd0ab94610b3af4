//! Which value does a client's parameter mean?

use onlap::{DataType, Numeric, Value, convert};
use onlap_pg::value::{datetime, utf8};

use super::{PgType, oid};
use crate::error::{Result, SqlError, state};
use crate::query::sql_error;

/// A value given as text.
///
/// # Errors
/// It is none of its type.
pub fn text_value(ty: PgType, text: &str) -> Result<Value> {
    let engine = ty.engine().unwrap_or(DataType::Text);
    convert::parse_text(engine, text).map_err(|e| match e.kind() {
        onlap::ErrorKind::InvalidText => {
            let name = super::names::format_type(PgType::new(ty.oid));
            SqlError::new(
                state::BAD_TEXT,
                format!("invalid input syntax for type {name}: \"{text}\""),
            )
        }
        onlap::ErrorKind::TooLong => {
            let name = super::names::of_engine(engine);
            SqlError::new("22001", format!("value too long for type {name}"))
        }
        _ => e.into(),
    })
}

/// The value of a text that says it so plainly that no setting and no rule of PostgreSQL's reading make another of it, as the engine
/// has it; `None` for all other texts, right or wrong, which the session reads. `utc`: a moment without a zone is one of UTC.
pub fn plain_value(ty: DataType, text: &str, utc: bool) -> Option<Value> {
    let bytes = text.as_bytes();
    if (ty == DataType::Timestamp || ty == DataType::Timestamptz && utc)
        && let Some(us) = convert::parse_plain_timestamp(bytes)
    {
        return Some(Value::Timestamp(us));
    }
    let fits = match ty {
        DataType::Bool => {
            return match bytes {
                b"t" | b"true" => Some(Value::Bool(true)),
                b"f" | b"false" => Some(Value::Bool(false)),
                _ => None,
            };
        }
        DataType::Int2 | DataType::Int4 | DataType::Int8 => {
            let (min, max) = convert::int_range(ty);
            let n = whole(bytes).filter(|n| (min..=max).contains(n));
            return n.map(Value::Int);
        }
        DataType::Float4 | DataType::Float8 | DataType::Numeric(_) => is_decimal(bytes),
        DataType::Text => true,
        DataType::Varchar(n) | DataType::Char(n) => bytes.len() <= n as usize,
        DataType::Json => true,
        DataType::Folded => false,
        DataType::Bytea => bytes.strip_prefix(b"\\x").is_some_and(|digits| {
            digits.len() % 2 == 0 && digits.iter().all(u8::is_ascii_hexdigit)
        }),
        DataType::Uuid => {
            let is_one = |(at, byte): (usize, &u8)| match at {
                8 | 13 | 18 | 23 => *byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            };
            bytes.len() == 36 && bytes.iter().enumerate().all(is_one)
        }
        DataType::Date => is_date(bytes),
        DataType::Time => is_time(bytes).is_some_and(<[u8]>::is_empty),
        DataType::Timestamp | DataType::Timestamptz => match (bytes.get(..10), bytes.get(10)) {
            (Some(date), Some(b' ' | b'T')) if is_date(date) => match is_time(&bytes[11..]) {
                Some([]) => ty == DataType::Timestamp || utc,
                Some(zone) => ty == DataType::Timestamptz && is_zone(zone),
                None => false,
            },
            _ => false,
        },
    };
    if fits { convert::parse_text(ty, text).ok() } else { None }
}

/// A plain whole number.
pub fn whole(bytes: &[u8]) -> Option<i64> {
    let (negative, digits) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        all => (false, all),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut n = 0i64;
    for b in digits {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        n = n * 10 + i64::from(digit);
    }
    Some(if negative { -n } else { n })
}

/// Digits of a decimal number that all types of numbers have room for.
const DECIMAL_BYTES: usize = 30;

/// `12`, `-12.5`
fn is_decimal(bytes: &[u8]) -> bool {
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let mut parts = digits.split(|byte| *byte == b'.');
    let is_part = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    bytes.len() <= DECIMAL_BYTES && parts.by_ref().take(2).all(is_part) && parts.next().is_none()
}

/// `2024-02-29`
fn is_date(bytes: &[u8]) -> bool {
    let is_one = |(at, byte): (usize, &u8)| match at {
        4 | 7 => *byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    bytes.len() == 10 && bytes.iter().enumerate().all(is_one)
}

/// What follows a time: `23:59:59`, `23:59:59.123456`.
fn is_time(bytes: &[u8]) -> Option<&[u8]> {
    let (time, rest) = bytes.split_at_checked(8)?;
    let [a, b, b':', c, d, b':', e, f] = time else { return None };
    let is_below = |tens: &u8, ones: &u8, most: u8| {
        tens.is_ascii_digit() && ones.is_ascii_digit() && (tens - b'0') * 10 + (ones - b'0') < most
    };
    if !is_below(a, b, 24) || !is_below(c, d, 60) || !is_below(e, f, 60) {
        return None;
    }
    let [b'.', rest @ ..] = rest else { return Some(rest) };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (1..=6).contains(&digits).then(|| &rest[digits..])
}

/// `Z`, `+01`, `-03:30`
fn is_zone(bytes: &[u8]) -> bool {
    match bytes {
        b"Z" => true,
        [b'+' | b'-', b'0', h] => h.is_ascii_digit(),
        [b'+' | b'-', b'0', h, b':', b'0'..=b'5', m] => h.is_ascii_digit() && m.is_ascii_digit(),
        _ => false,
    }
}

/// The text that a client's bytes are.
///
/// # Errors
/// `22021`
pub fn sent_text(bytes: &[u8]) -> Result<&str> {
    utf8::text(bytes).map_err(|e| sql_error(&e, ""))
}

/// What says that a value in binary form is longer than its type has them.
pub const TOO_LONG: &str = "incorrect binary data format";

/// A value given in binary form.
///
/// # Errors
/// `08P01`: it is shorter than its type has them; `22P03`: it is longer, or none of its type; `22008`; `XX000`.
pub fn binary_value(ty: PgType, bytes: &[u8]) -> Result<Value> {
    let wrong = || SqlError::new("22P03", TOO_LONG);
    let text = || sent_text(bytes).map(|s| Value::Text(s.to_string()));
    Ok(match ty.oid {
        oid::BOOL => Value::Bool(fixed::<1>(bytes)?[0] != 0),
        oid::INT2 => Value::Int(i16::from_be_bytes(fixed(bytes)?).into()),
        oid::INT4 => Value::Int(i32::from_be_bytes(fixed(bytes)?).into()),
        oid::OID
        | oid::REGCLASS
        | oid::REGTYPE
        | oid::REGPROC
        | oid::REGPROCEDURE
        | oid::REGNAMESPACE
        | oid::REGROLE => Value::Int(u32::from_be_bytes(fixed(bytes)?).into()),
        oid::INT8 => Value::Int(i64::from_be_bytes(fixed(bytes)?)),
        oid::FLOAT4 => Value::Float(f32::from_be_bytes(fixed(bytes)?).into()),
        oid::FLOAT8 => Value::Float(f64::from_be_bytes(fixed(bytes)?)),
        oid::DATE => {
            let days = of_pg(datetime::recv_date(&fixed::<4>(bytes)?))?;
            Value::Date(match days {
                i32::MIN | i32::MAX => days,
                days => days.checked_add(10_957).ok_or_else(wrong)?,
            })
        }
        oid::TIME => Value::Time(of_pg(datetime::recv_time(&fixed::<8>(bytes)?))?),
        oid::TIMESTAMP | oid::TIMESTAMPTZ => {
            let us = of_pg(datetime::recv_timestamp(&fixed::<8>(bytes)?))?;
            Value::Timestamp(match us {
                i64::MIN | i64::MAX => us,
                us => us.checked_add(946_684_800_000_000).ok_or_else(wrong)?,
            })
        }
        oid::UUID => Value::Uuid(fixed(bytes)?),
        oid::BYTEA => Value::Bytes(bytes.to_vec()),
        oid::NUMERIC => Value::Numeric(numeric(bytes).ok_or_else(wrong)?),
        oid::JSONB => match bytes {
            [1, rest @ ..] => binary_value(PgType::new(oid::TEXT), rest)?,
            [] => return Err(cut_off("insufficient")),
            [version, ..] => {
                let text = format!("unsupported jsonb version number {version}");
                return Err(SqlError::internal(text));
            }
        },
        _ => text()?,
    })
}

/// As many bytes as a type has.
fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| match bytes.len() < N {
        // PostgreSQL reads single bytes in another way.
        true => cut_off(if N == 1 { "no" } else { "insufficient" }),
        false => SqlError::new("22P03", TOO_LONG),
    })
}

fn cut_off(what: &str) -> SqlError {
    SqlError::new(state::PROTOCOL, format!("{what} data left in message"))
}

fn of_pg<T>(read: onlap_pg::Result<T>) -> Result<T> {
    read.map_err(|e| sql_error(&e, ""))
}

fn numeric(bytes: &[u8]) -> Option<Numeric> {
    let word = |i: usize| Some(i16::from_be_bytes(bytes.get(2 * i..2 * i + 2)?.try_into().ok()?));
    let (count, weight, sign, scale) = (word(0)?, word(1)?, word(2)? as u16, word(3)?);
    let count = usize::try_from(count).ok()?;
    if bytes.len() != 8 + 2 * count {
        return None;
    }
    match sign {
        0 | 0x4000 => {}
        0xC000 => return Some(Numeric::NAN),
        0xD000 => return Some(Numeric::INFINITY),
        0xF000 => return Some(Numeric::NEGATIVE_INFINITY),
        _ => return None,
    }
    if !(0..=38).contains(&scale) {
        return None;
    }
    let mut mantissa: i128 = 0;
    for i in 0..count {
        let digit = word(4 + i)?;
        if !(0..10_000).contains(&digit) {
            return None;
        }
        mantissa = mantissa.checked_mul(10_000)?.checked_add(digit.into())?;
    }
    // The mantissa counts in units of 10000^(weight - count + 1).
    let exponent = 4 * (i32::from(weight) - count as i32 + 1) + i32::from(scale);
    let factor = 10i128.checked_pow(exponent.unsigned_abs());
    mantissa = match (exponent >= 0, factor) {
        (true, Some(factor)) => mantissa.checked_mul(factor)?,
        (true, None) if mantissa == 0 => 0,
        (true, None) => return None,
        (false, Some(factor)) => mantissa / factor,
        (false, None) => 0,
    };
    let mantissa = if sign == 0x4000 { -mantissa } else { mantissa };
    let n = Numeric { mantissa, scale: scale as u8 };
    n.is_valid().then_some(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(words: &[u16]) -> Option<Numeric> {
        numeric(&words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>())
    }

    /// What is left to the reader that says what is wrong.
    #[test]
    fn only_whole_numerics_with_known_signs_are_read_at_once() {
        let read = message(&[1, 0, 0x4000, 0, 7]).expect("it is -7");
        assert_eq!((read.mantissa, read.scale), (-7, 0));
        assert!(message(&[0, 0, 0xC000, 0]).is_some_and(|n| n == Numeric::NAN));
        for broken in [
            &[1, 7, 0x8000, 0, 100][..],
            &[1, 0, 0x0800, 0, 7],
            &[0, 0, 0xC600, 0],
            &[0x80, 0, 0xC000, 0],
            &[0, 0, 0xD000, 0x20, 5],
            &[2, 0, 0, 0, 7],
            &[1, 0, 0, 0, 10_000],
        ] {
            assert_eq!(message(broken), None, "{broken:?}");
        }
    }
}
