//! How is a time of day with an offset read and written, and which are equal?
//!
//! A value is microseconds from midnight and the offset as PostgreSQL stores it: seconds west of UTC.

use std::cmp::Ordering;

use super::{Settings, datetime, fixed};
use crate::{Error, Result};

/// A value of type timetz.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeTz {
    /// Microseconds from midnight.
    pub time: i64,
    /// Seconds west of UTC.
    pub west: i32,
}

/// The first displacement that no zone has: 16 hours.
const END_OF_ZONES: i32 = 16 * 3600;

impl TimeTz {
    /// timetz_in, without a modifier. Without an offset it has that of the session's zone now.
    pub fn parse(text: &str, settings: &Settings) -> Result<TimeTz> {
        let (time, east) = datetime::parse_timetz(text, settings)?;
        Ok(TimeTz { time, west: -east })
    }

    /// timetz_out.
    pub fn print(&self) -> String {
        datetime::print_timetz(self.time, self.west.wrapping_neg())
    }

    /// timetz_send.
    pub fn send(&self) -> [u8; 12] {
        let mut out = [0; 12];
        out[..8].copy_from_slice(&self.time.to_be_bytes());
        out[8..].copy_from_slice(&self.west.to_be_bytes());
        out
    }

    /// From the bytes of [`TimeTz::send`].
    pub fn load(bytes: &[u8; 12]) -> TimeTz {
        let (time, west) = bytes.split_at(8);
        let time = i64::from_be_bytes(time.try_into().expect("the first eight of twelve bytes"));
        let west = i32::from_be_bytes(west.try_into().expect("the last four of twelve bytes"));
        TimeTz { time, west }
    }

    /// timetz_recv.
    pub fn recv(bytes: &[u8]) -> Result<TimeTz> {
        let value = TimeTz::load(&fixed(bytes)?);
        datetime::recv_time(&bytes[..8])?;
        if value.west <= -END_OF_ZONES || value.west >= END_OF_ZONES {
            return Err(Error::new("22009", "time zone displacement out of range"));
        }
        Ok(value)
    }

    /// The time in UTC, which may lie beyond the day; of a time that frames of windows move, with PostgreSQL's wrapping.
    pub fn utc(&self) -> i64 {
        self.time.wrapping_add(i64::from(self.west) * 1_000_000)
    }

    /// The key: the time in UTC, then the offset.
    pub fn key(&self) -> i128 {
        i128::from(self.utc()) << 32 | i128::from(self.west as u32 ^ 1 << 31)
    }
}

impl PartialOrd for TimeTz {
    fn partial_cmp(&self, other: &TimeTz) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TimeTz {
    fn cmp(&self, other: &TimeTz) -> Ordering {
        (self.utc(), self.west).cmp(&(other.utc(), other.west))
    }
}
