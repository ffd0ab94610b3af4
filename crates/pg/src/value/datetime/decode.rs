//! What do the fields of a date or time mean? (DecodeDateTime and those it calls.)

use super::split::{Field, Look, split};
use super::words::{self, Word};
use super::{DAY_US, Zone, calendar, find_zone, zone};
use crate::value::Settings;
use crate::{Error, Result};

/// What a text means.
pub(super) enum Decoded {
    /// Without end, or without beginning.
    Infinity(bool),
    /// The beginning of 1970.
    Epoch,
    /// A day and a time of it.
    Moment(Moment),
}

/// A day and a time of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moment {
    /// From 2000-01-01.
    pub(super) days: i64,
    /// Microseconds.
    pub(super) time: i64,
    /// Seconds east of UTC, if the text says.
    pub(super) offset: Option<i32>,
    /// The zone, if the text names one.
    pub(super) zone: Option<Zone>,
}

/// Why a text is refused: PostgreSQL's DTERR codes.
pub(super) enum Bad {
    Format,
    Range,
    RangeOfMonthOrDay,
    Offset,
    Zone(String),
}

pub(super) type Decode<T> = std::result::Result<T, Bad>;

impl Bad {
    /// DateTimeParseError.
    fn report(self, text: &str, type_name: &str) -> Error {
        let range = || format!("date/time field value out of range: \"{text}\"");
        match self {
            Bad::Format => Error::new(
                "22007",
                format!("invalid input syntax for type {type_name}: \"{text}\""),
            ),
            Bad::Range => Error::new("22008", range()),
            Bad::RangeOfMonthOrDay => Error::new("22008", range())
                .hint("Perhaps you need a different \"datestyle\" setting."),
            Bad::Offset => {
                Error::new("22009", format!("time zone displacement out of range: \"{text}\""))
            }
            Bad::Zone(name) => Error::new("22023", format!("time zone \"{name}\" not recognized")),
        }
    }
}

/// What a number or a word with no sign of its own is announced to be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Announced {
    Nothing,
    Julian,
    Time,
    Unit(Unit),
}

/// What a letter says the number behind it is: `Y2001M12D27H04M05S06`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Year,
    /// A minute where month and hour are there.
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

/// What was read so far.
pub(super) struct State<'a> {
    pub(super) settings: &'a Settings,
    pub(super) year: Option<i64>,
    pub(super) month: Option<i64>,
    pub(super) day: Option<i64>,
    pub(super) day_of_year: Option<i64>,
    pub(super) julian: Option<i64>,
    pub(super) two_digits: bool,
    pub(super) text_month: bool,
    pub(super) before_christ: Option<bool>,
    pub(super) time: Option<[i64; 4]>,
    /// Which of hours, minutes and seconds letters announced.
    pub(super) by_units: [bool; 3],
    pub(super) afternoon: Option<bool>,
    pub(super) offset: Option<i32>,
    pub(super) zone: Option<Zone>,
    /// Letters whose offset depends on the time.
    pub(super) word: Option<Word>,
    /// DST was read, which stands behind an offset, or letters of an offset that mean summer time.
    pub(super) summer: bool,
    pub(super) announced: Announced,
    pub(super) special: Option<Decoded>,
}

pub(super) fn decode(text: &str, type_name: &str, settings: &Settings) -> Result<Decoded> {
    let decoded = fields(text).and_then(|fields| {
        let mut state = State::new(settings);
        fields.iter().try_for_each(|field| state.field(field))?;
        state.finish()
    });
    decoded.map_err(|bad| bad.report(text, type_name))
}

/// A time of day, and its offset in seconds east of UTC.
pub(super) fn decode_time(text: &str, type_name: &str, settings: &Settings) -> Result<(i64, i32)> {
    let decoded = fields(text).and_then(|fields| super::alone::time_and_offset(&fields, settings));
    decoded.map_err(|bad| bad.report(text, type_name))
}

fn fields(text: &str) -> Decode<Vec<Field>> {
    split(text, is_word).ok_or(Bad::Format)
}

/// Whether a word has a meaning of its own in dates, so that digits may stand right behind it.
pub(super) fn is_word(word: &str) -> bool {
    const WORDS: &str = "ad allballs am at bc d dow doy dst epoch h infinity isodow isoyear j jd julian m mm now on pm s \
                         t today tomorrow y yesterday";
    month(word).is_some() || is_weekday(word) || WORDS.split(' ').any(|known| known == word)
}

pub(super) fn month(word: &str) -> Option<i64> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let full = |name: &str| *name == *word || (word.len() == 3 && name.starts_with(word));
    let at = NAMES.iter().position(|name| full(name) || (word == "sept" && *name == "september"));
    at.map(|at| at as i64 + 1)
}

/// What letters say the number behind them is.
pub(super) fn announcement(word: &str) -> Option<Announced> {
    Some(match word {
        "j" | "jd" | "julian" => Announced::Julian,
        "t" => Announced::Time,
        "y" => Announced::Unit(Unit::Year),
        "m" => Announced::Unit(Unit::Month),
        "mm" => Announced::Unit(Unit::Minute),
        "d" => Announced::Unit(Unit::Day),
        "h" => Announced::Unit(Unit::Hour),
        "s" => Announced::Unit(Unit::Second),
        _ => return None,
    })
}

/// The time in the session's zone at the beginning of the transaction, from 2000.
pub(super) fn now(settings: &Settings) -> i64 {
    let east = super::offset_at(settings.zone, settings.now);
    settings.now + i64::from(east) * 1_000_000
}

fn is_weekday(word: &str) -> bool {
    const NAMES: [&str; 7] =
        ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
    NAMES.contains(&word)
        || (word.len() == 3 && NAMES.iter().any(|name| name.starts_with(word)))
        || matches!(word, "tues" | "wedn" | "weds" | "thur" | "thurs")
}

impl<'a> State<'a> {
    pub(super) fn new(settings: &'a Settings) -> State<'a> {
        State {
            settings,
            year: None,
            month: None,
            day: None,
            day_of_year: None,
            julian: None,
            two_digits: false,
            text_month: false,
            before_christ: None,
            time: None,
            by_units: [false; 3],
            afternoon: None,
            offset: None,
            zone: None,
            word: None,
            summer: false,
            announced: Announced::Nothing,
            special: None,
        }
    }

    pub(super) fn has_date(&self) -> bool {
        let parts = self.year.is_some() && self.month.is_some() && self.day.is_some();
        parts || self.julian.is_some() || self.day_of_year.is_some()
    }

    fn has_day(&self) -> bool {
        self.has_date() || self.month.is_some() && self.day.is_some()
    }

    fn field(&mut self, (look, text): &Field) -> Decode<()> {
        if self.special.is_some() && !matches!(look, Look::Time | Look::Word | Look::Zone) {
            return Err(Bad::Format);
        }
        match look {
            Look::Date if self.announced == Announced::Julian => Err(Bad::Format),
            // The year may come behind the zone.
            Look::Date if self.has_day() => self.named_zone(text),
            // A time may stand before a date of separate words, not before one with separators.
            Look::Date if self.time.is_some() => Err(Bad::Format),
            Look::Date => self.date(text),
            Look::Time => self.clock(text),
            Look::Zone => self.numeric_zone(text),
            Look::Number => self.number(text),
            Look::Word | Look::Special => self.word(text),
        }
    }

    fn named_zone(&mut self, text: &str) -> Decode<()> {
        if text.as_bytes()[0].is_ascii_digit() && self.time.is_none() {
            let dash = text.find('-').ok_or(Bad::Format)?;
            self.numeric_zone(&text[dash..])?;
            return self.time_digits(&text[..dash], 0);
        }
        if text.as_bytes()[0].is_ascii_digit() || self.zone.is_some() || self.offset.is_some() {
            return Err(Bad::Format);
        }
        self.zone = Some(find_zone(text).ok_or_else(|| Bad::Zone(text.to_owned()))?);
        Ok(())
    }

    fn word(&mut self, text: &str) -> Decode<()> {
        match text {
            "at" | "on" => return Ok(()),
            "dst" => {
                self.summer_once()?;
                self.offset = self.offset.map(|east| east + 3600);
            }
            "infinity" | "+infinity" => self.special = Some(Decoded::Infinity(false)),
            "-infinity" => self.special = Some(Decoded::Infinity(true)),
            "epoch" => self.special = Some(Decoded::Epoch),
            "now" | "today" | "tomorrow" | "yesterday" => self.relative(text),
            "allballs" => {
                self.add_offset(0)?;
                self.set_time([0, 0, 0, 0])?;
            }
            "am" | "pm" => self.afternoon = Some(text == "pm"),
            "bc" | "ad" => self.before_christ = Some(text == "bc"),
            _ if is_weekday(text) => {}
            _ => match announcement(text).filter(|_| text != "t" || self.has_date()) {
                Some(announced) => self.announced = announced,
                None => return self.month_or_zone(text),
            },
        }
        Ok(())
    }

    fn month_or_zone(&mut self, text: &str) -> Decode<()> {
        if let Some(found) = month(text) {
            // A number that was taken for the month was the day.
            if let (Some(number @ 1..=31), None, false) = (self.month, self.day, self.text_month) {
                self.day = Some(number);
            } else if self.month.is_some() {
                return Err(Bad::Format);
            }
            self.month = Some(found);
            self.text_month = true;
            return Ok(());
        }
        if let Some(word) = words::word(text) {
            let other = self.offset.is_some() || self.zone.is_some();
            return match self.word.replace(word).is_some() || other {
                true => Err(Bad::Format),
                false => Ok(()),
            };
        }
        if let Some((east, is_summer)) = zone::abbreviation(text) {
            if is_summer {
                self.summer_once()?;
            }
            return self.add_offset(east);
        }
        let zone = find_zone(text).ok_or(Bad::Format)?;
        if self.zone.replace(zone).is_some() || self.offset.is_some() {
            return Err(Bad::Format);
        }
        Ok(())
    }

    /// Summer time is said once, by the letters of an offset or behind it.
    fn summer_once(&mut self) -> Decode<()> {
        match std::mem::replace(&mut self.summer, true) {
            true => Err(Bad::Format),
            false => Ok(()),
        }
    }

    fn relative(&mut self, word: &str) {
        let east = super::offset_at(self.settings.zone, self.settings.now);
        let local = now(self.settings);
        let days = local.div_euclid(DAY_US);
        self.special = Some(Decoded::Moment(match word {
            "now" => {
                Moment { days, time: local.rem_euclid(DAY_US), offset: Some(east), zone: None }
            }
            "today" => Moment { days, ..Moment::default() },
            "tomorrow" => Moment { days: days + 1, ..Moment::default() },
            _ => Moment { days: days - 1, ..Moment::default() },
        }));
    }

    /// The offset that the text says, on a day at a time.
    fn offset_on(&self, days: i64, time: i64) -> Option<i32> {
        let local = || days.saturating_mul(DAY_US).saturating_add(time);
        self.offset.or_else(|| self.word.map(|word| word.local_offset(local())))
    }

    fn finish(mut self) -> Decode<Decoded> {
        let time = self.time_us()?;
        match self.special.take() {
            Some(Decoded::Moment(moment)) if self.time.is_some() => {
                return Ok(Decoded::Moment(Moment {
                    time,
                    offset: self.offset_on(moment.days, time),
                    zone: self.zone,
                    ..moment
                }));
            }
            Some(Decoded::Moment(moment)) => {
                let offset = self.offset_on(moment.days, moment.time).or(moment.offset);
                return Ok(Decoded::Moment(Moment { offset, zone: self.zone, ..moment }));
            }
            Some(other) => return Ok(other),
            None => {}
        }
        let days = self.days()?;
        let offset = self.offset_on(days, time);
        Ok(Decoded::Moment(Moment { days, time, offset, zone: self.zone }))
    }

    fn days(&self) -> Decode<i64> {
        self.validated()?.ok_or(Bad::Format)
    }

    /// ValidateDate: the day, if all of it was read.
    pub(super) fn validated(&self) -> Decode<Option<i64>> {
        if let Some(julian) = self.julian {
            return Ok(Some(julian - 2_451_545));
        }
        let year = match (self.year, self.before_christ) {
            (Some(year), Some(true)) if year <= 0 => return Err(Bad::Range),
            (Some(year), Some(true)) => Some(1 - year),
            (Some(year), _) if self.two_digits => Some(year + if year < 70 { 2000 } else { 1900 }),
            (Some(year), _) if year <= 0 => return Err(Bad::Range),
            (year, _) => year,
        };
        if let (Some(year), Some(day)) = (year, self.day_of_year) {
            return Ok(Some(calendar::days(year, 1, 1) + day - 1));
        }
        let beyond = |part: Option<i64>, most: i64| part.is_some_and(|n| !(1..=most).contains(&n));
        if beyond(self.month, 12) || beyond(self.day, 31) {
            return Err(Bad::RangeOfMonthOrDay);
        }
        let (Some(year), Some(month), Some(day)) = (year, self.month, self.day) else {
            return Ok(None);
        };
        if day > calendar::days_of(year, month) {
            return Err(Bad::Range);
        }
        Ok(Some(calendar::days(year, month, day)))
    }

    fn time_us(&self) -> Decode<i64> {
        if self.summer && self.offset.is_none() {
            return Err(Bad::Format);
        }
        let [hours, minutes, seconds, fraction] = self.time.unwrap_or_default();
        let hours = match self.afternoon {
            Some(_) if hours > 12 => return Err(Bad::Range),
            Some(false) if hours == 12 => 0,
            Some(true) if hours != 12 => hours + 12,
            _ => hours,
        };
        let time = ((hours * 60 + minutes) * 60 + seconds).saturating_mul(1_000_000) + fraction;
        // Of hours that a letter announces a timestamp may have more than a day's.
        let is_free = self.by_units.contains(&true);
        if time > DAY_US && !is_free { Err(Bad::Range) } else { Ok(time) }
    }
}
