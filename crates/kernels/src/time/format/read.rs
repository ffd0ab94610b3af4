//! How is a text read by a template?
//!
//! White space before fields is skipped, and separators match what is no letter and no digit, as long as FX has not been met.

use onlap_pg::{Error, Result, worked};

use super::names;
use super::scan::Scan;
use super::template::{Calendar, Field, Kind, Part, is_separator, is_space};

/// The numbers that were read; 0 for none, as PostgreSQL has it.
#[derive(Debug, Default)]
pub struct Fields {
    pub is_iso: Option<bool>,
    pub hour: i32,
    pub afternoon: i32,
    pub minute: i32,
    pub second: i32,
    pub second_of_day: i32,
    /// From 1, Sunday.
    pub weekday: i32,
    pub day: i32,
    pub day_of_year: i32,
    pub month: i32,
    pub millis: i32,
    pub year: i32,
    pub before_christ: i32,
    pub week: i32,
    pub week_of_month: i32,
    pub century: i32,
    pub julian: i32,
    pub micros: i32,
    /// How many digits of the year the template has.
    pub year_digits: u32,
    pub twelve_hours: bool,
    pub zone_sign: i32,
    pub zone_hour: i32,
    pub zone_minute: i32,
    /// The decimals of a second if FF says so.
    pub precision: Option<i32>,
}

/// Notes a number of a field; another one that was noted before contradicts.
fn set(held: &mut i32, value: i32, field: &Field) -> Result<()> {
    if *held != 0 && *held != value {
        let text = format!("conflicting values for \"{}\" field in formatting string", field.name);
        let detail = "This value contradicts a previous setting for the same field type.";
        return Err(Error::new("22007", text).detail(detail));
    }
    *held = value;
    Ok(())
}

/// A year of fewer digits than four: the nearest to 2020.
fn full_year(year: i32) -> i32 {
    match year {
        ..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        year => year,
    }
}

/// Reads a text.
///
/// # Errors
/// `22007`, `22008`; `0A000`: a field that is only written.
pub fn read(text: &str, parts: &[Part]) -> Result<Fields> {
    Ok(Reader::new(text, false).parts(parts)?.fields)
}

/// Reads a text as SQL's standard does: all of it, by the whole template, with the same separators.
///
/// # Errors
/// As [`read`].
pub fn read_standard(text: &str, parts: &[Part]) -> Result<Fields> {
    let refused = |text: &str| Err(Error::new("22007", text));
    let mut reader = Reader::new(text, true).parts(parts)?;
    if reader.read < parts.len() {
        return refused("input string is too short for datetime format");
    }
    reader.scan.spaces();
    match reader.scan.rest().is_empty() {
        true => Ok(reader.fields),
        false => refused("trailing characters remain in input string after datetime format"),
    }
}

struct Reader<'a> {
    scan: Scan<'a>,
    fields: Fields,
    /// What is no field has to be the same in the text.
    standard: bool,
    /// FX was met.
    exact: bool,
    /// White space that was skipped beyond what the template has.
    extra: i64,
    /// How many parts of the template were met.
    read: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, standard: bool) -> Reader<'a> {
        let (scan, fields) = (Scan { text, at: 0 }, Fields::default());
        Reader { scan, fields, standard, exact: standard, extra: 0, read: 0 }
    }

    fn parts(mut self, parts: &[Part]) -> Result<Reader<'a>> {
        for (at, part) in parts.iter().enumerate() {
            worked(1)?;
            if self.scan.rest().is_empty() {
                break;
            }
            self.part(parts, at, part)?;
            self.read = at + 1;
        }
        Ok(self)
    }

    fn part(&mut self, parts: &[Part], at: usize, part: &Part) -> Result<()> {
        let is_exact = matches!(part, Part::Field(Field { kind: Kind::Exact, .. }));
        let skips = at == 0 || matches!(part, Part::Field(_));
        if !self.exact && !is_exact && skips {
            self.extra += self.scan.spaces();
        }
        match part {
            Part::Separator(c) | Part::Space(c) if self.standard => {
                return self.same(*c, "separator");
            }
            Part::Char(c) if self.standard => return self.same(*c, "character"),
            Part::Separator(_) | Part::Space(_) => self.separator(),
            Part::Char(_) => self.character(),
            Part::Field(field) => {
                self.calendar(field)?;
                self.field(field, parts.get(at + 1))?;
                if !self.exact {
                    self.extra = self.scan.spaces();
                }
            }
        }
        Ok(())
    }

    fn same(&mut self, wanted: char, what: &str) -> Result<()> {
        if !self.scan.rest().starts_with(wanted) {
            let text = format!("unmatched format {what} \"{wanted}\"");
            return Err(Error::new("22007", text));
        }
        self.scan.skip();
        Ok(())
    }

    fn separator(&mut self) {
        if self.exact {
            self.scan.skip();
            return;
        }
        self.extra -= 1;
        let byte = self.scan.peek();
        if is_space(byte) || is_separator(byte) {
            self.scan.skip();
            self.extra += 1;
        }
    }

    fn character(&mut self) {
        // What was skipped may have stood for it.
        if !self.exact && self.extra > 0 {
            self.extra -= 1;
        } else {
            self.scan.skip();
        }
    }

    fn calendar(&mut self, field: &Field) -> Result<()> {
        let is_iso = match field.kind.calendar() {
            Calendar::Any => return Ok(()),
            calendar => calendar == Calendar::Iso,
        };
        if *self.fields.is_iso.get_or_insert(is_iso) != is_iso {
            let text = "invalid combination of date conventions";
            let hint =
                "Do not mix Gregorian and ISO week date conventions in a formatting template.";
            return Err(Error::new("22007", text).hint(hint));
        }
        Ok(())
    }

    fn field(&mut self, field: &Field, next: Option<&Part>) -> Result<()> {
        let width = match field.kind {
            Kind::Hour24 | Kind::Hour12 => 2,
            Kind::ZoneHour | Kind::ZoneMinute => 2,
            Kind::Millis | Kind::IsoDayOfYear => 3,
            Kind::Micros => 6,
            Kind::Fraction(digits) => digits as usize,
            Kind::IsoDayOfWeek => 1,
            _ => field.name.len(),
        };
        let fields = &mut self.fields;
        let held = match field.kind {
            Kind::Exact => {
                self.exact = true;
                return Ok(());
            }
            Kind::Zone | Kind::Offset => {
                let text =
                    format!("formatting field \"{}\" is only supported in to_char", field.name);
                return Err(Error::new("0A000", text));
            }
            Kind::Half(_) | Kind::Era(_) | Kind::Day | Kind::ShortDay => {
                return self.name(field);
            }
            Kind::MonthName | Kind::ShortMonth | Kind::Roman => return self.name(field),
            Kind::YearWithComma => return self.year_with_comma(field),
            Kind::Year(_) | Kind::IsoYear(_) => return self.year(field, width, next),
            Kind::ZoneHour | Kind::ZoneMinute => return self.zone(field, width, next),
            Kind::Hour12 | Kind::Hour24 => &mut fields.hour,
            Kind::Minute => &mut fields.minute,
            Kind::Second => &mut fields.second,
            Kind::Millis => &mut fields.millis,
            Kind::Micros | Kind::Fraction(_) => &mut fields.micros,
            Kind::SecondOfDay => &mut fields.second_of_day,
            Kind::Month => &mut fields.month,
            Kind::DayOfYear | Kind::IsoDayOfYear => &mut fields.day_of_year,
            Kind::DayOfMonth => &mut fields.day,
            Kind::DayOfWeek | Kind::IsoDayOfWeek => &mut fields.weekday,
            Kind::Week | Kind::IsoWeek => &mut fields.week,
            Kind::WeekOfMonth => &mut fields.week_of_month,
            Kind::Century => &mut fields.century,
            Kind::Julian => &mut fields.julian,
            Kind::Quarter => &mut 0,
        };
        if let Kind::Fraction(digits) = field.kind {
            fields.precision = Some(digits as i32);
        }
        let (value, length) = self.scan.number(width, field, next)?;
        set(held, value, field)?;
        let places = match field.kind {
            Kind::Millis => 3,
            Kind::Micros | Kind::Fraction(_) => 6,
            _ => 0,
        };
        // .25 is a quarter of a second: digits stand behind the point.
        if length < places {
            *held = held.wrapping_mul(10_i32.pow((places - length) as u32));
        }
        if field.kind == Kind::IsoDayOfWeek {
            *held = held.wrapping_add(1);
            *held = if *held > 7 { 1 } else { *held };
        }
        self.fields.twelve_hours |= field.kind == Kind::Hour12;
        self.ordinal(field);
        Ok(())
    }

    /// Goes on behind the two letters of an ordinal number, whatever they are.
    fn ordinal(&mut self, field: &Field) {
        if field.ordinal.is_some() {
            self.scan.skip();
            self.scan.skip();
        }
    }

    fn name(&mut self, field: &Field) -> Result<()> {
        let list: &[&str] = match field.kind {
            Kind::Half(true) => &names::DOTTED_HALVES,
            Kind::Half(false) => &names::HALVES,
            Kind::Era(true) => &names::DOTTED_ERAS,
            Kind::Era(false) => &names::ERAS,
            Kind::Day => &names::DAYS,
            Kind::ShortDay => &names::SHORT_DAYS,
            Kind::MonthName => &names::MONTHS,
            Kind::ShortMonth => &names::SHORT_MONTHS,
            _ => &names::ROMAN,
        };
        let at = self.scan.name(list, field)? as i32;
        let fields = &mut self.fields;
        match field.kind {
            Kind::Half(_) => {
                set(&mut fields.afternoon, at, field)?;
                fields.twelve_hours = true;
            }
            Kind::Era(_) => set(&mut fields.before_christ, at, field)?,
            Kind::Day | Kind::ShortDay => {
                set(&mut fields.weekday, at, field)?;
                fields.weekday += 1;
            }
            Kind::Roman => set(&mut fields.month, 12 - at, field)?,
            _ => set(&mut fields.month, at + 1, field)?,
        }
        Ok(())
    }

    fn year(&mut self, field: &Field, width: usize, next: Option<&Part>) -> Result<()> {
        let (Kind::Year(digits) | Kind::IsoYear(digits)) = field.kind else { return Ok(()) };
        let (value, length) = self.scan.number(width, field, next)?;
        set(&mut self.fields.year, value, field)?;
        if digits < 4 && length < 4 {
            self.fields.year = full_year(value);
        }
        self.fields.year_digits = digits;
        self.ordinal(field);
        Ok(())
    }

    /// Thousands, a comma, at most three digits.
    fn year_with_comma(&mut self, field: &Field) -> Result<()> {
        let bad = || Error::new("22007", "invalid input string for \"Y,YYY\"");
        let digits = |text: &str, from: usize| {
            let sign = usize::from(text[from..].starts_with(['-', '+']));
            let more = text[from + sign..].bytes().take_while(u8::is_ascii_digit).count();
            if more == 0 { from } else { from + sign + more }
        };
        self.scan.spaces();
        let text = self.scan.rest();
        let comma = digits(text, 0);
        let thousands: i32 = text[..comma].parse().map_err(|_| bad())?;
        let rest = text[comma..].strip_prefix(',').ok_or_else(bad)?;
        let blanks = rest.bytes().take_while(|b| is_space(*b)).count();
        let end = digits(rest, blanks).min(blanks + 3);
        let years: i32 = rest[blanks..end].parse().map_err(|_| bad())?;
        let value = thousands.wrapping_mul(1000).wrapping_add(years);
        set(&mut self.fields.year, value, field)?;
        self.fields.year_digits = 4;
        self.scan.at += comma + 1 + end;
        self.ordinal(field);
        Ok(())
    }

    fn zone(&mut self, field: &Field, width: usize, next: Option<&Part>) -> Result<()> {
        if field.kind == Kind::ZoneMinute {
            if self.fields.zone_sign == 0 {
                self.fields.zone_sign = 1;
            }
            let (value, _) = self.scan.number(width, field, next)?;
            return set(&mut self.fields.zone_minute, value, field);
        }
        let byte = self.scan.peek();
        if matches!(byte, b'+' | b'-' | b' ') {
            self.scan.skip();
        }
        // A sign may have been taken for a separator.
        let taken = !matches!(byte, b'+' | b' ') && self.extra > 0 && self.scan.last() == b'-';
        self.fields.zone_sign = if byte == b'-' || taken { -1 } else { 1 };
        let (value, _) = self.scan.number(width, field, next)?;
        set(&mut self.fields.zone_hour, value, field)
    }
}
