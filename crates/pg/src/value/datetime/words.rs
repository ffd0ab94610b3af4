//! Which offset has an abbreviation whose meaning changed over the years?
//!
//! PostgreSQL's default abbreviations are offsets, but for these, which are of a zone: the offset is what the zone meant by the letters at that
//! time, or last before, or first after; the zone's own where the tz database no longer has the letters.

use std::sync::OnceLock;

use chrono_tz::Tz;

use super::{DAY_US, calendar, zone};

/// Letters, and the zone that they are of.
const WORDS: &[(&str, Tz)] = &[
    ("AMST", Tz::Asia__Yerevan),
    ("ANAST", Tz::Asia__Anadyr),
    ("ANAT", Tz::Asia__Anadyr),
    ("ARST", Tz::America__Argentina__Buenos_Aires),
    ("ART", Tz::America__Argentina__Buenos_Aires),
    ("AZST", Tz::Asia__Baku),
    ("AZT", Tz::Asia__Baku),
    ("CKT", Tz::Pacific__Rarotonga),
    ("CLT", Tz::America__Santiago),
    ("DAVT", Tz::Antarctica__Davis),
    ("EASST", Tz::Pacific__Easter),
    ("EAST", Tz::Pacific__Easter),
    ("FKST", Tz::Atlantic__Stanley),
    ("FKT", Tz::Atlantic__Stanley),
    ("GEST", Tz::Asia__Tbilisi),
    ("GET", Tz::Asia__Tbilisi),
    ("GYT", Tz::America__Guyana),
    ("IOT", Tz::Indian__Chagos),
    ("IRKST", Tz::Asia__Irkutsk),
    ("IRKT", Tz::Asia__Irkutsk),
    ("KGT", Tz::Asia__Bishkek),
    ("KOST", Tz::Pacific__Kosrae),
    ("KRAST", Tz::Asia__Krasnoyarsk),
    ("KRAT", Tz::Asia__Krasnoyarsk),
    ("LHDT", Tz::Australia__Lord_Howe),
    ("LINT", Tz::Pacific__Kiritimati),
    ("LKT", Tz::Asia__Colombo),
    ("MAGST", Tz::Asia__Magadan),
    ("MAGT", Tz::Asia__Magadan),
    ("MAWT", Tz::Antarctica__Mawson),
    ("MSK", Tz::Europe__Moscow),
    ("NOVST", Tz::Asia__Novosibirsk),
    ("NOVT", Tz::Asia__Novosibirsk),
    ("NUT", Tz::Pacific__Niue),
    ("OMSST", Tz::Asia__Omsk),
    ("OMST", Tz::Asia__Omsk),
    ("PETST", Tz::Asia__Kamchatka),
    ("PETT", Tz::Asia__Kamchatka),
    ("PYT", Tz::America__Asuncion),
    ("SGT", Tz::Asia__Singapore),
    ("TKT", Tz::Pacific__Fakaofo),
    ("TMT", Tz::Asia__Ashgabat),
    ("ULAT", Tz::Asia__Ulaanbaatar),
    ("VET", Tz::America__Caracas),
    ("VLAST", Tz::Asia__Vladivostok),
    ("VLAT", Tz::Asia__Vladivostok),
    ("VOLT", Tz::Europe__Volgograd),
    ("YAKST", Tz::Asia__Yakutsk),
    ("YAKT", Tz::Asia__Yakutsk),
    ("YEKT", Tz::Asia__Yekaterinburg),
];

/// Letters of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    letters: &'static str,
    zone: Tz,
}

/// What letters mean, whatever their case.
pub(super) fn word(text: &str) -> Option<Word> {
    let found = WORDS.iter().find(|(letters, _)| letters.eq_ignore_ascii_case(text));
    found.map(|(letters, zone)| Word { letters, zone: *zone })
}

/// For each of the letters, since when they meant which offset, about; empty where the tz database has not got them.
static MEANT: [OnceLock<Vec<(i64, i32)>>; WORDS.len()] = [const { OnceLock::new() }; WORDS.len()];

impl Word {
    /// The offset at a moment, in seconds east of UTC.
    pub(super) fn offset_at(self, utc: i64) -> i32 {
        let (east, letters) = zone::at(self.zone, utc);
        if letters == self.letters {
            return east;
        }
        let meant = self.meant();
        let before = meant.iter().rev().find(|(since, _)| *since <= utc);
        before.or(meant.first()).map_or_else(|| zone::offset_at(self.zone, utc), |(_, east)| *east)
    }

    fn meant(self) -> &'static [(i64, i32)] {
        // Letters change with summer time or once in some years; before there were zones they meant nothing.
        const STEP_US: i64 = 10 * DAY_US;
        let at = WORDS.iter().position(|(letters, _)| *letters == self.letters);
        let held = &MEANT[at.expect("it is one of the list")];
        held.get_or_init(|| {
            let (first, last) = (calendar::days(1880, 1, 1), calendar::days(2038, 1, 1));
            let moments = (first * DAY_US / STEP_US..last * DAY_US / STEP_US).map(|n| n * STEP_US);
            let mut found: Vec<(i64, i32)> = Vec::new();
            for (moment, (east, letters)) in moments.map(|utc| (utc, zone::at(self.zone, utc))) {
                let is_new = found.last().is_none_or(|(_, last)| *last != east);
                if letters == self.letters && is_new {
                    found.push((moment, east));
                }
            }
            found
        })
    }

    /// The offset at a local time.
    pub(super) fn local_offset(self, local: i64) -> i32 {
        let east = zone::local_offset(self.zone, local);
        self.offset_at(local.saturating_sub(i64::from(east) * 1_000_000))
    }
}
