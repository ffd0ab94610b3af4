//! Which texts are values of the settings that are more than a word or a number?
//!
//! Each function brings a value into its usual form, or says why it is none.

use std::str::FromStr as _;

use onlap_pg::value::datetime::find_zone;
use onlap_pg::value::interval::Interval;

/// Encodings that clients may ask for, and their names.
pub(super) fn encoding(text: &str) -> Result<String, String> {
    // PostgreSQL says no more of one that it does not know.
    crate::encoding::name_of(text).map(str::to_owned).ok_or_else(String::new)
}

/// A configuration of text search, with its schema.
pub(super) fn text_search(text: &str) -> Result<String, String> {
    let name = onlap_kernels::search::configuration(text)
        .and_then(onlap_kernels::search::configuration_name);
    name.map(|name| format!("pg_catalog.{name}")).ok_or_else(String::new)
}

/// A style and an order of day, month and year, either of which may be missing.
pub(super) fn date_style(text: &str) -> Result<String, String> {
    date_style_after("ISO, MDY", text)
}

/// The same, where what is missing stays as it is.
pub(super) fn date_style_after(current: &str, text: &str) -> Result<String, String> {
    fn once<'a>(part: &mut Option<&'a str>, word: &'a str) -> Result<(), String> {
        match part.replace(word) {
            Some(other) if other != word => {
                Err("Conflicting \"datestyle\" specifications.".to_owned())
            }
            _ => Ok(()),
        }
    }
    let (mut style, mut order) = (None, None);
    let (mut style_after, mut order_after) = current.split_once(", ").unwrap_or((current, "MDY"));
    if !text.trim().is_empty() {
        for word in text.split(',').map(|word| word.trim().trim_matches(['\'', '"'])) {
            let upper = word.to_ascii_uppercase();
            match &*upper {
                "" => return Err("List syntax is invalid.".to_owned()),
                "ISO" => once(&mut style, "ISO")?,
                "SQL" => once(&mut style, "SQL")?,
                "GERMAN" => once(&mut style, "German")?,
                "MDY" | "US" => once(&mut order, "MDY")?,
                "DMY" => once(&mut order, "DMY")?,
                "YMD" => once(&mut order, "YMD")?,
                "DEFAULT" => (style_after, order_after) = ("ISO", "MDY"),
                _ if upper.starts_with("POSTGRES") => once(&mut style, "Postgres")?,
                _ if upper.starts_with("NONEURO") => once(&mut order, "MDY")?,
                _ if upper.starts_with("EURO") => once(&mut order, "DMY")?,
                _ => return Err(format!("Unrecognized key word: \"{word}\".")),
            }
        }
    }
    let of_style = if style == Some("German") { "DMY" } else { order_after };
    Ok(format!("{}, {}", style.unwrap_or(style_after), order.unwrap_or(of_style)))
}

/// A name of the time zone database, a form of POSIX, hours from UTC, or an interval.
pub(super) fn time_zone(text: &str) -> Result<String, String> {
    let of_interval = text.get(..8).is_some_and(|word| word.eq_ignore_ascii_case("interval"));
    if of_interval {
        return offset(interval_seconds(&text[8..])?);
    }
    if let Some(hours) = hours(text) {
        // What is no number of seconds is beyond any.
        return offset(if hours.is_finite() { (hours * 3600.0) as i64 } else { i64::MAX });
    }
    find_zone(text).map(|zone| zone.shown(text)).ok_or_else(String::new)
}

/// The whole text as a number.
fn hours(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1.0, digits),
        None => (1.0, text),
    };
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok().map(|n| sign * f64::from(n)),
        None => text.parse().ok(),
    }
}

fn interval_seconds(quoted: &str) -> Result<i64, String> {
    let text = quoted.trim_start().strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    let text = text.ok_or_else(String::new)?;
    let read = Interval::parse(text, &onlap_pg::value::Settings::default());
    let interval = read.map_err(|e| e.message)?;
    match (interval.months, interval.days) {
        (0, 0) => Ok(interval.time / 1_000_000),
        (0, _) => Err("Cannot specify days in time zone interval.".to_owned()),
        _ => Err("Cannot specify months in time zone interval.".to_owned()),
    }
}

/// PostgreSQL shows such a zone as POSIX does, whose signs are the other way round.
fn offset(seconds: i64) -> Result<String, String> {
    // Below 168 hours, as in POSIX.
    const MOST: i64 = 168 * 3600;
    if !(1 - MOST..MOST).contains(&seconds) {
        return Err("UTC timezone offset is out of range.".to_owned());
    }
    let size = seconds.abs();
    let mut text = format!("{:02}", size / 3600);
    let (minutes, rest) = (size / 60 % 60, size % 60);
    if minutes != 0 || rest != 0 {
        text += &format!(":{minutes:02}");
    }
    if rest != 0 {
        text += &format!(":{rest:02}");
    }
    Ok(match seconds < 0 {
        true => format!("<-{text}>+{text}"),
        false => format!("<+{text}>-{text}"),
    })
}

/// When a commit is acknowledged.
pub(super) fn sync(text: &str) -> Result<String, String> {
    let mode = onlap::SyncMode::from_str(text.trim());
    mode.map(|m| m.to_string()).map_err(|e| format!("{e}."))
}

/// The names in a list, as PostgreSQL reads it: those without quotes in small letters. Nothing where it is none.
pub fn names(text: &str) -> Option<Vec<String>> {
    let mut rest = text.trim();
    let mut all = Vec::new();
    while !rest.is_empty() || !all.is_empty() {
        let mut name = String::new();
        if let Some(mut inner) = rest.strip_prefix('"') {
            loop {
                let (part, after) = inner.split_once('"')?;
                name.push_str(part);
                match after.strip_prefix('"') {
                    Some(after) => {
                        name.push('"');
                        inner = after;
                    }
                    None => {
                        rest = after.trim_start();
                        break;
                    }
                }
            }
        } else {
            let end = rest.find(|c: char| c == ',' || c.is_ascii_whitespace());
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            if word.is_empty() {
                return None;
            }
            name = word.to_ascii_lowercase();
            rest = after.trim_start();
        }
        all.push(name);
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None if rest.is_empty() => break,
            None => return None,
        }
    }
    Some(all)
}

/// Schemas in which names are looked for.
pub(super) fn search_path(text: &str) -> Result<String, String> {
    match names(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err("List syntax is invalid.".to_owned()),
    }
}

/// A locale of C, in which everything here is: English ones write money, numbers and times in the same way.
pub(super) fn locale(text: &str) -> Result<String, String> {
    let (language, encoding) = text.split_once('.').unwrap_or((text, "UTF-8"));
    let is_utf8 = encoding.replace('-', "").eq_ignore_ascii_case("utf8");
    match matches!(language, "" | "C" | "POSIX" | "en_US") && is_utf8 {
        true => Ok(text.to_owned()),
        false => Err(String::new()),
    }
}

/// A tablespace; the empty name stands for the database's.
pub(super) fn tablespace(text: &str) -> Result<String, String> {
    match text {
        "" | "pg_default" | "pg_global" => Ok(text.to_owned()),
        _ => Err(format!("Tablespace \"{text}\" does not exist.")),
    }
}

/// Tablespaces, separated by commas.
pub(super) fn tablespaces(text: &str) -> Result<String, String> {
    for name in names(text).ok_or_else(|| "List syntax is invalid.".to_owned())? {
        tablespace(&name)?;
    }
    Ok(text.to_owned())
}

/// How a table is kept.
pub(super) fn access_method(text: &str) -> Result<String, String> {
    match text {
        "heap" => Ok(text.to_owned()),
        "" => Err("default_table_access_method cannot be empty.".to_owned()),
        _ => Err(format!("Table access method \"{text}\" does not exist.")),
    }
}

/// What a client calls itself, in ASCII: each other byte is a question mark, as in PostgreSQL.
pub(super) fn ascii(text: &str) -> Result<String, String> {
    let shown = |byte: u8| if (32..=126).contains(&byte) { char::from(byte) } else { '?' };
    Ok(text.bytes().map(shown).collect())
}
