//! Which settings of the session change what a text means or how a value is written?

use super::datetime::Zone;

/// How dates are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateStyle {
    /// 1997-12-17 07:37:16-08
    Iso,
    /// 12/17/1997 07:37:16.00 PST
    Sql,
    /// Wed Dec 17 07:37:16 1997 PST
    Postgres,
    /// 17.12.1997 07:37:16.00 PST
    German,
}

/// In which order the numbers of a date stand where its text leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateOrder {
    /// month, day, year
    Mdy,
    /// day, month, year
    Dmy,
    /// year, month, day
    Ymd,
}

/// How intervals are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalStyle {
    /// 1 year 2 mons 3 days 04:05:06
    Postgres,
    /// @ 1 year 2 mons 3 days 4 hours 5 mins 6 secs
    PostgresVerbose,
    /// +1-2 +3 +4:05:06
    SqlStandard,
    /// P1Y2M3DT4H5M6S
    Iso8601,
}

/// The settings of a session that values depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// extra_float_digits, from -15 to 3.
    pub extra_float_digits: i32,
    /// The style in DateStyle.
    pub date_style: DateStyle,
    /// The order in DateStyle.
    pub date_order: DateOrder,
    /// IntervalStyle.
    pub interval_style: IntervalStyle,
    /// Whether bytea_output is hex.
    pub bytea_hex: bool,
    /// xmloption and xmlbinary.
    pub xml: super::xml::Options,
    /// TimeZone.
    pub zone: Zone,
    /// When the transaction began: microseconds from 2000-01-01 UTC. What "now" means.
    pub now: i64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            extra_float_digits: 1,
            date_style: DateStyle::Iso,
            date_order: DateOrder::Mdy,
            interval_style: IntervalStyle::Postgres,
            bytea_hex: true,
            xml: super::xml::Options::default(),
            zone: Zone::UTC,
            now: 0,
        }
    }
}
