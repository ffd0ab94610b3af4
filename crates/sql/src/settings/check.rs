//! Which texts are values of the settings that are more than a word or a number?
//!
//! Each function brings a value into its usual form, or says why it is none.

use std::str::FromStr as _;

/// Encodings that clients may ask for, and their names.
pub(super) fn encoding(text: &str) -> Result<String, String> {
    let plain: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    match plain.to_ascii_uppercase().as_str() {
        "UTF8" | "UNICODE" => Ok("UTF8".to_string()),
        "SQLASCII" => Ok("SQL_ASCII".to_string()),
        _ => Err("Texts are UTF8; nothing is converted.".to_string()),
    }
}

/// A style and an order of day, month and year, either of which may be missing.
pub(super) fn date_style(text: &str) -> Result<String, String> {
    let (mut style, mut order) = ("ISO", "MDY");
    for word in text.split([',', ' ']).map(str::trim).filter(|w| !w.is_empty()) {
        match word.trim_matches(['\'', '"']).to_ascii_uppercase().as_str() {
            "ISO" | "DEFAULT" => style = "ISO",
            "SQL" => style = "SQL",
            "POSTGRES" => style = "Postgres",
            "GERMAN" => (style, order) = ("German", "DMY"),
            "MDY" | "US" | "NONEURO" | "NONEUROPEAN" => order = "MDY",
            "DMY" | "EURO" | "EUROPEAN" => order = "DMY",
            "YMD" => order = "YMD",
            _ => return Err(format!("Unrecognized key word: \"{word}\".")),
        }
    }
    Ok(format!("{style}, {order}"))
}

/// A name of the time zone database, or hours from UTC.
pub(super) fn time_zone(text: &str) -> Result<String, String> {
    let name = text.trim().trim_matches('\'');
    if let Ok(hours) = name.parse::<f64>() {
        return match hours.abs() <= 24.0 {
            true => Ok(offset((hours * 60.0).round() as i64)),
            false => Err("Hours from UTC are at most 24.".to_string()),
        };
    }
    if name.eq_ignore_ascii_case("default") || name.eq_ignore_ascii_case("local") {
        return Ok("UTC".to_string());
    }
    if let Some((hours, minutes)) = signed_time(name) {
        return Ok(offset(hours * 60 + minutes));
    }
    let named = |zone: &&chrono_tz::Tz| zone.name().eq_ignore_ascii_case(name);
    match chrono_tz::TZ_VARIANTS.iter().find(named) {
        Some(zone) => Ok(zone.name().to_string()),
        None => Err("It is no name of the time zone database.".to_string()),
    }
}

/// `+02:00`, as drivers send it.
fn signed_time(text: &str) -> Option<(i64, i64)> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = text[1..].split_once(':')?;
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    ((0..=24).contains(&hours) && (0..60).contains(&minutes))
        .then_some((sign * hours, sign * minutes))
}

/// PostgreSQL shows such a zone as POSIX does, whose signs are the other way round.
fn offset(minutes: i64) -> String {
    let text = |minutes: i64| {
        let (sign, all) = (if minutes < 0 { '-' } else { '+' }, minutes.abs());
        match all % 60 {
            0 => format!("{sign}{:02}", all / 60),
            rest => format!("{sign}{:02}:{rest:02}", all / 60),
        }
    };
    format!("<{}>{}", text(minutes), text(-minutes))
}

/// When a commit is acknowledged.
pub(super) fn sync(text: &str) -> Result<String, String> {
    let mode = onlap::SyncMode::from_str(text.trim());
    mode.map(|m| m.to_string()).map_err(|e| format!("{e}."))
}

/// Words of PostgreSQL for levels of isolation.
pub(super) fn isolation(text: &str) -> Result<String, String> {
    const LEVELS: [&str; 4] =
        ["serializable", "repeatable read", "read committed", "read uncommitted"];
    let given = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase();
    match LEVELS.iter().find(|level| **level == given) {
        Some(level) => Ok((*level).to_string()),
        None => Err(format!("Available values: {}.", LEVELS.join(", "))),
    }
}
