//! Which zone does TimeZone name, and what does its clock show?
//!
//! A name of the tz database, or a POSIX form, whose letters are kept because DateStyle and to_char show them.

use chrono_tz::Tz;

use super::place::{Place, posix};
use super::zone;

/// The most bytes of letters: a zone whose letters are longer is none.
const LETTERS: usize = 62;

/// The letters of an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Letters {
    length: u8,
    bytes: [u8; LETTERS],
}

impl Letters {
    fn new(text: &str) -> Option<Letters> {
        let mut bytes = [0; LETTERS];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(Letters { length: text.len() as u8, bytes })
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes[..usize::from(self.length)]).into_owned()
    }
}

/// The zone of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    place: Place,
    /// In winter and in summer; of a POSIX form.
    letters: Option<[Letters; 2]>,
}

impl Zone {
    /// UTC.
    pub const UTC: Zone = Zone::named(Tz::UTC);

    pub(super) const fn named(zone: Tz) -> Zone {
        Zone { place: Place::Named(zone), letters: None }
    }

    /// What AT TIME ZONE would take it for.
    pub fn place(self) -> Place {
        self.place
    }

    /// The offset in seconds east of UTC, of a zone that has had one at all times.
    pub(super) fn fixed(self) -> Option<i32> {
        self.place.fixed()
    }

    /// How SHOW names it, of which `text` was the name.
    pub fn shown(self, text: &str) -> String {
        match self.place {
            Place::Named(zone) => zone.name().to_owned(),
            _ => text.to_ascii_uppercase(),
        }
    }
}

/// The zone that a text names, whatever its case.
pub fn find_zone(text: &str) -> Option<Zone> {
    if let Some(zone) = zone::find_zone(text) {
        return Some(Zone::named(zone));
    }
    let upper = text.to_ascii_uppercase();
    let (place, [winter, summer]) = posix(&upper)?;
    Some(Zone { place, letters: Some([Letters::new(winter)?, Letters::new(summer)?]) })
}

/// The offset, in seconds east of UTC, that holds at a moment.
pub fn offset_at(zone: Zone, utc: i64) -> i32 {
    zone.place.offset_at(utc)
}

/// The offset that holds at a local time: before a gap its first one, after an overlap its second.
pub fn local_offset(zone: Zone, local: i64) -> i32 {
    zone.place.local_offset(local)
}

/// The offset, in seconds east of UTC, and its letters at a moment.
pub fn offset_and_name(zone: Zone, utc: i64) -> (i32, String) {
    match (zone.place, zone.letters) {
        (Place::Named(named), _) => zone::at(named, utc),
        (place, Some(letters)) => {
            let east = place.offset_at(utc);
            (east, letters[usize::from(place.is_summer(east))].text())
        }
        (place, None) => (place.offset_at(utc), String::new()),
    }
}
