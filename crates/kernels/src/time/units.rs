//! Which unit does a text name?

use onlap_pg::Error;

/// A unit of extract and date_trunc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Micros,
    Millis,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    Zone,
    ZoneHour,
    ZoneMinute,
}

/// What else extract knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Unit(Unit),
    Weekday,
    IsoWeekday,
    DayOfYear,
    IsoYear,
    Julian,
    Epoch,
    /// A word that dates know and that is no unit.
    Other,
}

/// A text that names a unit, as errors show it, and what it means.
pub struct Word {
    pub lower: String,
    pub unit: Option<Unit>,
    pub field: Option<Field>,
}

impl Word {
    pub fn new(text: &str) -> Word {
        let lower = lower(text);
        Word { unit: unit(&lower), field: field(&lower), lower }
    }
}

/// Spellings, each cut to ten letters as PostgreSQL cuts them.
const UNITS: [(&str, Unit); 16] = [
    ("microsecon us usec usecs useconds", Unit::Micros),
    ("millisecon ms msec msecs mseconds", Unit::Millis),
    ("s sec secs second seconds", Unit::Second),
    ("m min mins minute minutes", Unit::Minute),
    ("h hr hrs hour hours", Unit::Hour),
    ("d day days", Unit::Day),
    ("w week weeks", Unit::Week),
    ("mon mons month months", Unit::Month),
    ("qtr quarter", Unit::Quarter),
    ("y yr yrs year years", Unit::Year),
    ("dec decs decade decades", Unit::Decade),
    ("c cent century centuries", Unit::Century),
    ("mil mils millennium millennia", Unit::Millennium),
    ("timezone", Unit::Zone),
    ("timezone_h", Unit::ZoneHour),
    ("timezone_m", Unit::ZoneMinute),
];

const FIELDS: [(&str, Field); 7] = [
    ("dow", Field::Weekday),
    ("isodow", Field::IsoWeekday),
    ("doy", Field::DayOfYear),
    ("isoyear", Field::IsoYear),
    ("j jd julian", Field::Julian),
    ("epoch", Field::Epoch),
    ("mm", Field::Unit(Unit::Minute)),
];

/// Words of dates that stand for values: "not supported" instead of "not recognized".
const RESERVED: &str = "allballs -infinity +infinity infinity now today tomorrow yesterday";

/// A text as errors and lookups have it: in lower case, cut to the length of a name.
fn lower(text: &str) -> String {
    let mut end = text.len().min(63);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_ascii_lowercase()
}

fn key(lower: &str) -> &str {
    let mut end = lower.len().min(10);
    while !lower.is_char_boundary(end) {
        end -= 1;
    }
    &lower[..end]
}

fn has(names: &str, word: &str) -> bool {
    names.split(' ').any(|name| name == word)
}

/// The unit of a text in lower case.
fn unit(lower: &str) -> Option<Unit> {
    let word = key(lower);
    UNITS.iter().find(|(names, _)| has(names, word)).map(|(_, unit)| *unit)
}

/// What extract takes a text in lower case for.
fn field(lower: &str) -> Option<Field> {
    let word = key(lower);
    let other = || FIELDS.iter().find(|(names, _)| has(names, word)).map(|(_, field)| *field);
    let reserved = || has(RESERVED, word).then_some(Field::Other);
    unit(lower).map(Field::Unit).or_else(other).or_else(reserved)
}

/// A unit that a type does not have.
pub fn unsupported(Word { lower, .. }: &Word, type_name: &str) -> Error {
    Error::new("0A000", format!("unit \"{lower}\" not supported for type {type_name}"))
}

/// A word that is no unit.
pub fn unknown(Word { lower, .. }: &Word, type_name: &str) -> Error {
    Error::new("22023", format!("unit \"{lower}\" not recognized for type {type_name}"))
}
