//! How is a number written by a template?

use onlap::{DataType, Value, convert};

use crate::error::{Result, SqlError};
use crate::types::{PgType, oid, text_value};

/// A template of digits.
#[derive(Default)]
struct Template {
    bare: bool,
    /// Places before the point: a digit (whether it is a 0), or a comma.
    whole: Vec<Place>,
    /// Places behind it.
    fraction: Vec<Place>,
    point: bool,
    sign: Sign,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Nine,
    Zero,
    Comma,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Sign {
    /// A minus or a blank before the first digit.
    #[default]
    Near,
    /// MI: behind all.
    Minus,
    /// PR: in angle brackets.
    Brackets,
    /// S at the begin.
    First,
    /// S at the end.
    Last,
}

fn parse(template: &str) -> Result<Template> {
    let mut parsed = Template::default();
    let upper = template.to_ascii_uppercase();
    let mut rest = upper.as_str();
    while let Some(c) = rest.chars().next() {
        let mut length = 1;
        let places = if parsed.point { &mut parsed.fraction } else { &mut parsed.whole };
        match c {
            '9' => places.push(Place::Nine),
            '0' => places.push(Place::Zero),
            ',' | 'G' => places.push(Place::Comma),
            '.' | 'D' if !parsed.point => parsed.point = true,
            'F' if rest.starts_with("FM") => {
                parsed.bare = true;
                length = 2;
            }
            'M' if rest.starts_with("MI") && rest.len() == 2 => {
                parsed.sign = Sign::Minus;
                length = 2;
            }
            'P' if rest.starts_with("PR") && rest.len() == 2 => {
                parsed.sign = Sign::Brackets;
                length = 2;
            }
            'S' if parsed.whole.is_empty() => parsed.sign = Sign::First,
            'S' if rest.len() == 1 => parsed.sign = Sign::Last,
            _ => {
                let text = format!("\"{rest}\" in a template of a number");
                let hint = "Known are 9, 0, comma and G, point and D, FM, S, MI and PR.";
                return Err(SqlError::unsupported(text).hint(hint));
            }
        }
        rest = &rest[length..];
    }
    Ok(parsed)
}

/// Writes a number that is given as text.
///
/// # Errors
/// A template with other fields than digits, signs and groups.
pub fn write(number: &str, template: &str) -> Result<String> {
    let template = parse(template)?;
    let is_digit = |p: &&Place| **p != Place::Comma;
    let places = template.whole.iter().filter(is_digit).count();
    let decimals = template.fraction.iter().filter(is_digit).count();
    let scale = u8::try_from(decimals).unwrap_or(u8::MAX).min(38);
    let Value::Numeric(n) = text_value(PgType::new(oid::NUMERIC), number)? else {
        return Err(SqlError::new("22023", "no number"));
    };
    let rounded = n.rescale(scale);
    let rounded = rounded.ok_or_else(|| SqlError::new("22003", "numeric field overflow"))?;
    let negative = rounded.mantissa < 0;
    let mut digits = String::new();
    let positive = onlap::Numeric { mantissa: rounded.mantissa.abs(), ..rounded };
    convert::format_text(DataType::Numeric(None), &Value::Numeric(positive), &mut digits);
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    // A zero before the point is shown where there is a place for it, and nothing behind the point.
    let whole = if whole == "0" && (decimals > 0 || places == 0) { "" } else { whole };
    let fits = whole.len() <= places;
    let mut body = body(&template, whole, places, fits);
    if template.point {
        body.push('.');
        let mut shown: String = match fits {
            true => fraction.to_string(),
            false => "#".repeat(decimals),
        };
        if template.bare {
            let last_zero = template.fraction.iter().rposition(|p| *p == Place::Zero);
            let keep = last_zero.map_or(0, |at| at + 1);
            while shown.len() > keep && shown.ends_with('0') {
                shown.pop();
            }
        }
        body += &shown;
    }
    Ok(signed(&template, body, negative))
}

/// The places before the point, blanks first.
fn body(template: &Template, whole: &str, places: usize, fits: bool) -> String {
    let mut out = String::new();
    let first_zero = template.whole.iter().position(|p| *p == Place::Zero);
    let mut seen = 0;
    let mut begun = false;
    for (i, place) in template.whole.iter().enumerate() {
        if *place == Place::Comma {
            match (begun, template.bare) {
                (true, _) => out.push(','),
                (false, false) => out.push(' '),
                (false, true) => {}
            }
            continue;
        }
        let from_end = places - seen;
        seen += 1;
        let forced = first_zero.is_some_and(|at| i >= at);
        if !fits {
            begun = true;
            out.push('#');
        } else if from_end <= whole.len() {
            begun = true;
            let at = whole.len() - from_end;
            out += &whole[at..=at];
        } else if forced {
            begun = true;
            out.push('0');
        } else if !template.bare {
            out.push(' ');
        }
    }
    out
}

fn signed(template: &Template, body: String, negative: bool) -> String {
    let blanks = body.len() - body.trim_start_matches(' ').len();
    let (before, digits) = body.split_at(blanks);
    let blank = if template.bare { "" } else { " " };
    match template.sign {
        Sign::Near if negative => format!("{before}-{digits}"),
        Sign::Near => format!("{blank}{before}{digits}"),
        Sign::First => format!("{before}{}{digits}", if negative { '-' } else { '+' }),
        Sign::Last => format!("{before}{digits}{}", if negative { '-' } else { '+' }),
        Sign::Minus => format!("{before}{digits}{}", if negative { "-" } else { blank }),
        Sign::Brackets if negative => format!("{before}<{digits}>"),
        Sign::Brackets => format!("{blank}{before}{digits}{blank}"),
    }
}
