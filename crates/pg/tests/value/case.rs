//! What is compared: an operation on texts under settings, as SQL and as a call of this crate.

use std::fmt::Write;

use onlap_pg::value::numeric::{Numeric, precision_and_scale};
use onlap_pg::value::timetz::TimeTz;
use onlap_pg::value::{
    DateOrder, DateStyle, IntervalStyle, Settings, bits, boolean, bytea, chars, datetime, float,
    int, interval, uuid,
};
use onlap_pg::{Error, Result};

/// One comparison.
#[derive(Clone, Debug)]
pub struct Case {
    /// What is done: a type's name to read and write, or a function.
    pub kind: String,
    /// `name=value` parts between semicolons that differ from the defaults.
    pub settings: String,
    /// The texts it is done to.
    pub args: Vec<String>,
}

const DEFAULTS: &str = "extra_float_digits=1;datestyle=ISO, MDY;intervalstyle=postgres;\
                        bytea_output=hex;timezone=UTC";

impl Case {
    pub fn new(kind: &str, settings: &str, args: &[&str]) -> Case {
        let args = args.iter().map(|a| (*a).to_owned()).collect();
        Case { kind: kind.to_owned(), settings: settings.to_owned(), args }
    }

    pub fn settings_text(&self) -> String {
        match self.settings.as_str() {
            "" => DEFAULTS.to_owned(),
            more => format!("{DEFAULTS};{more}"),
        }
    }

    /// The SQL expression.
    pub fn expression(&self) -> String {
        let arg = |at: usize| quote(&self.args[at]);
        let (kind, detail) = self.kind.split_once(' ').unwrap_or((&self.kind, ""));
        match kind {
            "send" => {
                let function = match detail {
                    "int2" | "int4" | "int8" | "float4" | "float8" | "oid" => {
                        format!("{detail}send")
                    }
                    _ => format!("{detail}_send"),
                };
                format!("encode({function}({}::{detail}), 'hex')", arg(0))
            }
            "cast" => {
                let (from, to) = detail.split_once(' ').expect("two types");
                format!("{}::{from}::{to}", arg(0))
            }
            "op" => {
                let (type_name, operator) = detail.split_once(' ').expect("a type, an operator");
                format!("{}::{type_name} {operator} {}::{type_name}", arg(0), arg(1))
            }
            "call" => {
                let (type_name, function) = detail.split_once(' ').expect("a type, a function");
                let args: Vec<String> =
                    self.args.iter().map(|a| format!("{}::{type_name}", quote(a))).collect();
                format!("{function}({})", args.join(", "))
            }
            "scale" => format!("{detail}({}::numeric, {})", arg(0), self.args[1]),
            "bpchar" => format!("'<' || format('%s', {}::char({detail})) || '>'", arg(0)),
            "varchar" => format!("{}::varchar({detail})", arg(0)),
            _ => format!("{}::{}", arg(0), self.kind),
        }
    }

    /// What this crate answers.
    pub fn ours(&self) -> String {
        match self.evaluate() {
            Ok(text) => format!("= {text}"),
            Err(Error { state, message, detail, .. }) => {
                let detail = detail.map_or(String::new(), |d| format!(" | {d}"));
                format!("! {state} {message}{detail}")
            }
        }
    }

    fn evaluate(&self) -> Result<String> {
        let text = &self.args[0];
        let (kind, detail) = self.kind.split_once(' ').unwrap_or((&self.kind, ""));
        match kind {
            "send" => Ok(hex(&send(detail, text)?)),
            "cast" => {
                let (from, to) = detail.split_once(' ').expect("two types");
                cast(from, to, text)
            }
            "op" => {
                let (_, operator) = detail.split_once(' ').expect("a type, an operator");
                operate(operator, text, &self.args[1])
            }
            "call" => {
                let (_, function) = detail.split_once(' ').expect("a type, a function");
                call(function, &self.args)
            }
            "scale" => {
                let value = Numeric::parse(text)?;
                let scale = self.args[1].parse().expect("an integer");
                let value = if detail == "round" { value.round(scale) } else { value.trunc(scale) };
                Ok(value?.to_string())
            }
            "bpchar" | "varchar" => {
                let modifier = detail.parse::<i32>().expect("a length") + 4;
                let cast = chars::Cast::Explicit;
                Ok(match kind {
                    "varchar" => chars::to_varchar(text, modifier, cast)?.to_owned(),
                    _ => format!("<{}>", chars::to_bpchar(text, modifier, cast)?),
                })
            }
            _ => read_and_write(&self.kind, text, &self.session()),
        }
    }

    fn session(&self) -> Settings {
        let mut settings = Settings::default();
        for part in self.settings.split(';').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').expect("name=value");
            match name {
                "extra_float_digits" => {
                    settings.extra_float_digits = value.parse().expect("a number")
                }
                "bytea_output" => settings.bytea_hex = value == "hex",
                "intervalstyle" => {
                    settings.interval_style = match value {
                        "sql_standard" => IntervalStyle::SqlStandard,
                        _ => IntervalStyle::Postgres,
                    };
                }
                "timezone" => settings.zone = datetime::find_zone(value).expect("a zone"),
                "datestyle" => {
                    let (style, order) = value.split_once(", ").expect("style and order");
                    settings.date_style = match style {
                        "ISO" => DateStyle::Iso,
                        "SQL" => DateStyle::Sql,
                        "German" => DateStyle::German,
                        _ => DateStyle::Postgres,
                    };
                    settings.date_order = match order {
                        "DMY" => DateOrder::Dmy,
                        "YMD" => DateOrder::Ymd,
                        _ => DateOrder::Mdy,
                    };
                }
                _ => panic!("no setting {name}"),
            }
        }
        settings
    }
}

fn read_and_write(type_name: &str, text: &str, settings: &Settings) -> Result<String> {
    let digits = settings.extra_float_digits;
    if let Some(inner) = type_name.strip_prefix("numeric(") {
        let (p, s) = inner.trim_end_matches(')').split_once(',').expect("precision, scale");
        let (p, s): (i32, i32) = (p.parse().expect("a number"), s.parse().expect("a number"));
        let modifier = (p << 16 | s & 0x7ff) + 4;
        assert_eq!(precision_and_scale(modifier), Some((p, s)));
        return Ok(Numeric::parse(text)?.with_modifier(modifier)?.to_string());
    }
    Ok(match type_name {
        "bool" => (if boolean::parse(text)? { "true" } else { "false" }).to_owned(),
        "int2" => int::parse_int2(text)?.to_string(),
        "int4" => int::parse_int4(text)?.to_string(),
        "int8" => int::parse_int8(text)?.to_string(),
        "oid" => int::parse_oid(text)?.to_string(),
        "float8" => float::print8(float::parse8(text)?, digits),
        "float4" => float::print4(float::parse4(text)?, digits),
        "numeric" => Numeric::parse(text)?.to_string(),
        "uuid" => uuid::print(&uuid::parse(text)?),
        "varbit" => bits::Bits::load(&bits::parse(text, -1, bits::Kind::Varying)?).print()?,
        "varbit(7)" => bit_string(text, 7, bits::Kind::Varying)?,
        "bit(5)" => bit_string(text, 5, bits::Kind::Fixed)?,
        "bytea" => bytea::print(&bytea::parse(text)?, settings)?,
        "date" => datetime::print_date(datetime::parse_date(text, settings)?, settings),
        "timestamp" => {
            datetime::print_timestamp(datetime::parse_timestamp(text, settings)?, settings)
        }
        "timestamptz" => {
            datetime::print_timestamptz(datetime::parse_timestamptz(text, settings)?, settings)
        }
        "interval" => interval::Interval::parse(text, settings)?.print(settings),
        "time" => datetime::print_time(datetime::parse_time(text, settings)?),
        "timetz" => TimeTz::parse(text, settings)?.print(),
        "name" => chars::to_name(text).to_owned(),
        "\"char\"" => chars::print_char(chars::parse_char(text)),
        _ => panic!("no type {type_name}"),
    })
}

/// A bit string, cast to a length.
fn bit_string(text: &str, modifier: i32, kind: bits::Kind) -> Result<String> {
    let stored = bits::cast(&bits::parse(text, -1, kind)?, modifier, true, kind)?;
    bits::Bits::load(&stored).print()
}

/// The binary form, read back and sent again.
fn send(type_name: &str, text: &str) -> Result<Vec<u8>> {
    let bytes = match type_name {
        "int2" => int::parse_int2(text)?.to_be_bytes().to_vec(),
        "int4" => int::parse_int4(text)?.to_be_bytes().to_vec(),
        "int8" => int::parse_int8(text)?.to_be_bytes().to_vec(),
        "float8" => float::parse8(text)?.to_be_bytes().to_vec(),
        "float4" => float::parse4(text)?.to_be_bytes().to_vec(),
        "numeric" => Numeric::parse(text)?.send(),
        "uuid" => uuid::parse(text)?.to_vec(),
        "varbit" => bits::parse(text, -1, bits::Kind::Varying)?,
        _ => panic!("no type {type_name}"),
    };
    let again = match type_name {
        "int2" => int::recv_int2(&bytes)?.to_be_bytes().to_vec(),
        "int4" => int::recv_int4(&bytes)?.to_be_bytes().to_vec(),
        "int8" => int::recv_int8(&bytes)?.to_be_bytes().to_vec(),
        "float8" => float::recv8(&bytes)?.to_be_bytes().to_vec(),
        "float4" => float::recv4(&bytes)?.to_be_bytes().to_vec(),
        "numeric" => Numeric::recv(&bytes, -1)?.send(),
        "varbit" => bits::recv(&bytes, -1, bits::Kind::Varying)?,
        _ => uuid::recv(&bytes)?.to_vec(),
    };
    assert_eq!(bytes, again, "{type_name} {text}");
    Ok(bytes)
}

fn cast(from: &str, to: &str, text: &str) -> Result<String> {
    let out = |least, most, name: &str, value: Option<i64>| {
        debug_assert!(least < most);
        value
            .map(|v| v.to_string())
            .ok_or_else(|| Error::new("22003", format!("{name} out of range")))
    };
    if from == "numeric" {
        let value = Numeric::parse(text)?;
        return Ok(match to {
            "int2" => value.to_int2()?.to_string(),
            "int4" => value.to_int4()?.to_string(),
            "int8" => value.to_int8()?.to_string(),
            "float4" => float::print4(value.to_float4()?, 1),
            _ => float::print8(value.to_float8()?, 1),
        });
    }
    let value = match from {
        "float4" => f64::from(float::parse4(text)?),
        _ => float::parse8(text)?,
    };
    let (least, most, name) = match to {
        "int2" => (i64::from(i16::MIN), i64::from(i16::MAX), "smallint"),
        "int4" => (i64::from(i32::MIN), i64::from(i32::MAX), "integer"),
        "int8" => (i64::MIN, i64::MAX, "bigint"),
        _ if from == "float4" => return Ok(Numeric::from_float4(value as f32).to_string()),
        _ => return Ok(Numeric::from_float8(value).to_string()),
    };
    out(least, most, name, float::to_int(value, least, most))
}

fn operate(operator: &str, a: &str, b: &str) -> Result<String> {
    let (a, b) = (Numeric::parse(a)?, Numeric::parse(b)?);
    let value = match operator {
        "+" => a.add(&b),
        "-" => a.sub(&b),
        "*" => a.mul(&b),
        "/" => a.div(&b),
        "%" => a.rem(&b),
        "^" => a.power(&b),
        _ => panic!("no operator {operator}"),
    };
    Ok(value?.to_string())
}

fn call(function: &str, args: &[String]) -> Result<String> {
    let value = Numeric::parse(&args[0])?;
    let result = match function {
        "sqrt" => value.sqrt(),
        "exp" => value.exp(),
        "ln" => value.ln(),
        "log" => Numeric::log(&value, &Numeric::parse(&args[1])?),
        "div" => value.div_trunc(&Numeric::parse(&args[1])?),
        "ceil" => value.ceil(),
        "floor" => value.floor(),
        "abs" => Ok(value.abs()),
        "sign" => Ok(value.signum()),
        "-" => Ok(value.negate()),
        _ => panic!("no function {function}"),
    };
    Ok(result?.to_string())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, b| {
        write!(out, "{b:02x}").expect("a String takes all");
        out
    })
}

fn quote(text: &str) -> String {
    let mut out = String::from("E'");
    for c in text.chars() {
        match c {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}
