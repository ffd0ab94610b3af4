//! Which fields and which text has a template?

use onlap_pg::{Error, Result, worked};

/// What stands in a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Field(Field),
    /// A character that is written as it is. A text that is read may have another one there.
    Char(char),
    /// A separator: a sign that is no letter or digit.
    Separator(char),
    /// White space.
    Space(char),
}

/// A field with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub kind: Kind,
    /// As the template has it, for errors.
    pub name: &'static str,
    pub case: Case,
    /// FM: no blanks and zeros are added.
    pub fill: bool,
    /// TM: names without blanks.
    pub translated: bool,
    /// TH or th behind it: whether in upper case.
    pub ordinal: Option<bool>,
}

/// The case of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    Upper,
    Title,
    Lower,
}

/// Which calendar a field is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calendar {
    Any,
    Gregorian,
    Iso,
}

/// What a field shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// AD or BC, with dots or without.
    Era(bool),
    /// AM or PM, with dots or without.
    Half(bool),
    Century,
    Day,
    ShortDay,
    DayOfYear,
    IsoDayOfYear,
    DayOfMonth,
    DayOfWeek,
    IsoDayOfWeek,
    /// So many digits of a second's fraction.
    Fraction(u32),
    Millis,
    Micros,
    /// FX
    Exact,
    Hour24,
    Hour12,
    Minute,
    Second,
    SecondOfDay,
    /// So many digits of a year.
    Year(u32),
    IsoYear(u32),
    YearWithComma,
    Julian,
    Month,
    MonthName,
    ShortMonth,
    Roman,
    Quarter,
    Week,
    IsoWeek,
    WeekOfMonth,
    Zone,
    ZoneHour,
    ZoneMinute,
    Offset,
}

impl Kind {
    /// The calendar of the field; fields of two calendars cannot be read together.
    pub fn calendar(self) -> Calendar {
        match self {
            Kind::DayOfYear
            | Kind::DayOfMonth
            | Kind::DayOfWeek
            | Kind::Year(_)
            | Kind::YearWithComma
            | Kind::Month
            | Kind::MonthName
            | Kind::ShortMonth
            | Kind::Roman
            | Kind::Week
            | Kind::WeekOfMonth => Calendar::Gregorian,
            Kind::IsoDayOfYear | Kind::IsoDayOfWeek | Kind::IsoYear(_) | Kind::IsoWeek => {
                Calendar::Iso
            }
            _ => Calendar::Any,
        }
    }

    /// Whether it is read as digits.
    pub fn is_digits(self) -> bool {
        !matches!(
            self,
            Kind::Era(_)
                | Kind::Half(_)
                | Kind::Day
                | Kind::ShortDay
                | Kind::Exact
                | Kind::MonthName
                | Kind::ShortMonth
                | Kind::Roman
                | Kind::Zone
                | Kind::ZoneHour
                | Kind::Offset
        )
    }
}

/// Fields by their spellings; where one begins with another, it stands before it.
const FIELDS: &[(&str, Kind)] = &[
    ("A.D.", Kind::Era(true)),
    ("A.M.", Kind::Half(true)),
    ("AD", Kind::Era(false)),
    ("AM", Kind::Half(false)),
    ("B.C.", Kind::Era(true)),
    ("BC", Kind::Era(false)),
    ("CC", Kind::Century),
    ("DAY", Kind::Day),
    ("DDD", Kind::DayOfYear),
    ("DD", Kind::DayOfMonth),
    ("DY", Kind::ShortDay),
    ("D", Kind::DayOfWeek),
    ("FF1", Kind::Fraction(1)),
    ("FF2", Kind::Fraction(2)),
    ("FF3", Kind::Fraction(3)),
    ("FF4", Kind::Fraction(4)),
    ("FF5", Kind::Fraction(5)),
    ("FF6", Kind::Fraction(6)),
    ("FX", Kind::Exact),
    ("HH24", Kind::Hour24),
    ("HH12", Kind::Hour12),
    ("HH", Kind::Hour12),
    ("IDDD", Kind::IsoDayOfYear),
    ("ID", Kind::IsoDayOfWeek),
    ("IW", Kind::IsoWeek),
    ("IYYY", Kind::IsoYear(4)),
    ("IYY", Kind::IsoYear(3)),
    ("IY", Kind::IsoYear(2)),
    ("I", Kind::IsoYear(1)),
    ("J", Kind::Julian),
    ("MI", Kind::Minute),
    ("MM", Kind::Month),
    ("MONTH", Kind::MonthName),
    ("MON", Kind::ShortMonth),
    ("MS", Kind::Millis),
    ("OF", Kind::Offset),
    ("P.M.", Kind::Half(true)),
    ("PM", Kind::Half(false)),
    ("Q", Kind::Quarter),
    ("RM", Kind::Roman),
    ("SSSSS", Kind::SecondOfDay),
    ("SSSS", Kind::SecondOfDay),
    ("SS", Kind::Second),
    ("TZH", Kind::ZoneHour),
    ("TZM", Kind::ZoneMinute),
    ("TZ", Kind::Zone),
    ("US", Kind::Micros),
    ("WW", Kind::Week),
    ("W", Kind::WeekOfMonth),
    ("Y,YYY", Kind::YearWithComma),
    ("YYYY", Kind::Year(4)),
    ("YYY", Kind::Year(3)),
    ("YY", Kind::Year(2)),
    ("Y", Kind::Year(1)),
];

/// Fields whose spelling says the case of a name: with a capital letter.
const TITLES: &[(&str, Kind)] = &[
    ("Day", Kind::Day),
    ("Dy", Kind::ShortDay),
    ("Month", Kind::MonthName),
    ("Mon", Kind::ShortMonth),
];

/// The spellings in lower case, in the same order.
const LOWER: &[&str] = &[
    "a.d.", "a.m.", "ad", "am", "b.c.", "bc", "cc", "day", "ddd", "dd", "dy", "d", "ff1", "ff2",
    "ff3", "ff4", "ff5", "ff6", "fx", "hh24", "hh12", "hh", "iddd", "id", "iw", "iyyy", "iyy",
    "iy", "i", "j", "mi", "mm", "month", "mon", "ms", "of", "p.m.", "pm", "q", "rm", "sssss",
    "ssss", "ss", "tzh", "tzm", "tz", "us", "ww", "w", "y,yyy", "yyyy", "yyy", "yy", "y",
];

const _: () = assert!(FIELDS.len() == LOWER.len());

/// The field that a text begins with, and how it is spelt. A spelling is of one case from its begin to its end.
fn field(text: &str) -> Option<(Kind, &'static str, Case)> {
    let title = TITLES.iter().find(|(name, _)| text.starts_with(name));
    if let Some((name, kind)) = title {
        return Some((*kind, name, Case::Title));
    }
    if let Some((name, kind)) = FIELDS.iter().find(|(name, _)| text.starts_with(name)) {
        return Some((*kind, name, Case::Upper));
    }
    let at = LOWER.iter().position(|name| text.starts_with(name))?;
    Some((FIELDS[at].1, LOWER[at], Case::Lower))
}

/// Printable ASCII that is no letter and no digit.
pub fn is_separator(byte: u8) -> bool {
    byte.is_ascii_punctuation()
}

/// C's isspace.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// The parts of a template.
///
/// # Errors
/// `57014`.
pub fn parse(template: &str) -> Result<Vec<Part>> {
    parts(template, false)
}

/// Separators of a template of SQL's standard; other text stands in quotes.
const STANDARD_SEPARATORS: &str = "-./,':; ";

/// The parts of a template of SQL's standard.
///
/// # Errors
/// `22007`: a separator that the standard does not have.
pub fn parse_standard(template: &str) -> Result<Vec<Part>> {
    parts(template, true)
}

fn parts(template: &str, standard: bool) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while !rest.is_empty() {
        // Each spelling is looked for.
        worked(FIELDS.len())?;
        let (mut fill, mut translated) = (false, false);
        match rest.get(..2) {
            Some("FM" | "fm") => fill = true,
            Some("TM" | "tm") => translated = true,
            _ => {}
        }
        if fill || translated {
            rest = &rest[2..];
        }
        if let Some((kind, name, case)) = field(rest) {
            rest = &rest[name.len()..];
            let ordinal = match rest.get(..2) {
                Some("TH") => Some(true),
                Some("th") => Some(false),
                _ => None,
            };
            if ordinal.is_some() || rest.starts_with("SP") {
                rest = &rest[2..];
            }
            parts.push(Part::Field(Field { kind, name, case, fill, translated, ordinal }));
        } else if let Some(quoted) = rest.strip_prefix('"') {
            rest = literal(quoted, &mut parts);
        } else if standard {
            let mut chars = rest.chars();
            let char = chars.next().expect("something is left");
            if !STANDARD_SEPARATORS.contains(char) {
                let text = format!("invalid datetime format separator: \"{char}\"");
                return Err(Error::new("22007", text));
            }
            parts.push(if char == ' ' { Part::Space(char) } else { Part::Separator(char) });
            rest = chars.as_str();
        } else {
            let quote = rest.strip_prefix('\\').filter(|after| after.starts_with('"'));
            let mut chars = quote.unwrap_or(rest).chars();
            parts.extend(chars.next().map(|char| match u8::try_from(char) {
                Ok(byte) if is_separator(byte) => Part::Separator(char),
                Ok(byte) if is_space(byte) => Part::Space(char),
                _ => Part::Char(char),
            }));
            rest = chars.as_str();
        }
    }
    Ok(parts)
}

/// What stands in quotes; gives the rest behind them.
fn literal<'a>(text: &'a str, parts: &mut Vec<Part>) -> &'a str {
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        let char = match char {
            '"' => break,
            '\\' => chars.next().unwrap_or(char),
            char => char,
        };
        parts.push(Part::Char(char));
    }
    chars.as_str()
}
