//! Which fields has a column of type interval, and how many decimals of a second? (The type's modifier.)

use super::Interval;
use crate::{Error, Result};

/// The fields that a type is restricted to, as bits of a modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields(i32);

const fn bit(field: u32) -> i32 {
    1 << field
}

const MONTHS: i32 = bit(1);
const YEARS: i32 = bit(2);
const DAYS: i32 = bit(3);
const HOURS: i32 = bit(10);
const MINUTES: i32 = bit(11);
const SECONDS: i32 = bit(12);

impl Fields {
    /// No restriction.
    pub const ALL: Fields = Fields(0x7fff);
    /// year
    pub const YEAR: Fields = Fields(YEARS);
    /// month
    pub const MONTH: Fields = Fields(MONTHS);
    /// year to month
    pub const YEAR_TO_MONTH: Fields = Fields(YEARS | MONTHS);
    /// day
    pub const DAY: Fields = Fields(DAYS);
    /// hour
    pub const HOUR: Fields = Fields(HOURS);
    /// minute
    pub const MINUTE: Fields = Fields(MINUTES);
    /// second
    pub const SECOND: Fields = Fields(SECONDS);
    /// day to hour
    pub const DAY_TO_HOUR: Fields = Fields(DAYS | HOURS);
    /// day to minute
    pub const DAY_TO_MINUTE: Fields = Fields(DAYS | HOURS | MINUTES);
    /// day to second
    pub const DAY_TO_SECOND: Fields = Fields(DAYS | HOURS | MINUTES | SECONDS);
    /// hour to minute
    pub const HOUR_TO_MINUTE: Fields = Fields(HOURS | MINUTES);
    /// hour to second
    pub const HOUR_TO_SECOND: Fields = Fields(HOURS | MINUTES | SECONDS);
    /// minute to second
    pub const MINUTE_TO_SECOND: Fields = Fields(MINUTES | SECONDS);

    /// Those of a modifier; all for -1.
    pub fn of(modifier: i32) -> Fields {
        if modifier < 0 { Fields::ALL } else { Fields(modifier >> 16 & 0x7fff) }
    }
}

impl Interval {
    /// What a column makes of a value: fields below the type's are cut off, seconds are rounded.
    ///
    /// # Errors
    /// `22023`: no such precision; `XX000`: no modifier of an interval.
    pub fn with_modifier(self, modifier: i32) -> Result<Interval> {
        const HOUR_US: i64 = 3_600_000_000;
        const MINUTE_US: i64 = 60_000_000;
        if modifier < 0 {
            return Ok(self);
        }
        let Interval { months, days, time } = self;
        let mut value = match Fields::of(modifier) {
            Fields::YEAR => Interval { months: months / 12 * 12, days: 0, time: 0 },
            Fields::MONTH | Fields::YEAR_TO_MONTH => Interval { months, days: 0, time: 0 },
            Fields::DAY => Interval { months, days, time: 0 },
            Fields::HOUR | Fields::DAY_TO_HOUR => {
                Interval { months, days, time: time / HOUR_US * HOUR_US }
            }
            Fields::MINUTE | Fields::DAY_TO_MINUTE | Fields::HOUR_TO_MINUTE => {
                Interval { months, days, time: time / MINUTE_US * MINUTE_US }
            }
            Fields::ALL
            | Fields::SECOND
            | Fields::DAY_TO_SECOND
            | Fields::HOUR_TO_SECOND
            | Fields::MINUTE_TO_SECOND => self,
            _ => {
                let text = format!("unrecognized interval typmod: {modifier}");
                return Err(Error::internal(text));
            }
        };
        match modifier & 0xffff {
            0xffff => {}
            digits @ 0..=6 => {
                let unit = 10_i64.pow(6 - digits as u32);
                let near = |time: i64| time.wrapping_add(unit / 2) / unit * unit;
                value.time = match value.time < 0 {
                    true => near(value.time.wrapping_neg()).wrapping_neg(),
                    false => near(value.time),
                };
            }
            digits => {
                let text = format!("interval({digits}) precision must be between 0 and 6");
                return Err(Error::new("22023", text));
            }
        }
        Ok(value)
    }
}
