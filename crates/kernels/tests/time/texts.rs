//! Which values have texts, under modifiers of types?

use onlap_kernels::TypeRef;
use onlap_testkit::postgres::Postgres;

use crate::ours::{Ours, shown};
use crate::{SESSIONS, compare, oracle, pools};

/// The modifier of an interval: its fields as bits, its precision.
const fn interval(fields: i32, precision: i32) -> TypeRef {
    TypeRef { oid: 1186, modifier: fields << 16 | precision }
}

const FULL: i32 = 0xffff;

/// Types as SQL writes them.
const TYPES: [(&str, TypeRef); 20] = [
    ("interval", TypeRef::new(1186)),
    ("interval year", interval(4, FULL)),
    ("interval month", interval(2, FULL)),
    ("interval year to month", interval(6, FULL)),
    ("interval day", interval(8, FULL)),
    ("interval hour", interval(1024, FULL)),
    ("interval minute", interval(2048, FULL)),
    ("interval second", interval(4096, FULL)),
    ("interval second(2)", interval(4096, 2)),
    ("interval day to hour", interval(1032, FULL)),
    ("interval day to minute", interval(3080, FULL)),
    ("interval day to second(0)", interval(7176, 0)),
    ("interval hour to minute", interval(3072, FULL)),
    ("interval hour to second", interval(7168, FULL)),
    ("interval minute to second(3)", interval(6144, 3)),
    ("interval(1)", interval(0x7fff, 1)),
    ("timetz", TypeRef::new(1266)),
    ("timetz(2)", TypeRef { oid: 1266, modifier: 2 }),
    ("time(1)", TypeRef { oid: 1083, modifier: 1 }),
    ("timestamptz(0)", TypeRef { oid: 1184, modifier: 0 }),
];

const SPANS: &[&str] = &[
    "1",
    "-1",
    "1.5",
    "-1.5",
    "+2",
    "1 2",
    "1 2:03",
    "1 2:03:04",
    "2:03",
    "2:03:04.5678",
    "-2:03",
    "59:59.999",
    "1:60",
    "1:2:61",
    "1-2",
    "-1-2",
    "1-12",
    "1-2 3 4:05:06",
    "-1-2 3 4:05:06",
    "-1-2 +3 -4:05:06.7",
    "1 year 2 mons 3.5 days",
    "1.5 years",
    "0.1 mons",
    "1.25 weeks",
    "3 w",
    "1 day ago",
    "ago",
    "5 ago",
    "1 day 2 days",
    "1 hour 2:00",
    "1.5 days 1:00",
    "1:00 1.5 days",
    "100000000000 hours",
    "9223372036854775807 us",
    "9223372036854775808 us",
    "-9223372036854775808 us",
    "2562047788:00:54.775807",
    "2562047789:00",
    "3000000000 days",
    "178956970 years 7 mons",
    "178956970 years 8 mons",
    "1 millennium 1 century 1 decade",
    "1 quarter",
    "1 day quarter",
    "3 timezone",
    "@ 1 hour @ 2 mins",
    "1 ms 2 us",
    "1.0005 ms",
    "1 sec 2 ms",
    "1.5 sec 2 ms",
    "infinity",
    "",
    " ",
    "abc",
    "1 abc",
    "1day2hours",
    "1d2h3m4s",
    "P1Y2M3DT4H5M6.7S",
    "P1Y2M3D",
    "PT1H",
    "P",
    "PT",
    "P1",
    "P1Y-2M",
    "P-1Y2M",
    "P1.5Y",
    "P1.5M",
    "P1.25W",
    "P0.5D",
    "PT0.5H",
    "PT1.5S",
    "P0001-02-03T04:05:06.7",
    "P1-2",
    "P1-2-3",
    "P1-2-3-4",
    "P00010203T040506",
    "P00010203T040506.7",
    "P20010203",
    "PT040506",
    "PT04:05:06",
    "PT04:05",
    "PT4:5:6:7",
    "P1YT",
    "P1T2H",
    "P1Y1",
    "PT1H2",
    "PT1H2:3",
    "P1e3Y",
    "P1.e1D",
    "P.5D",
    "P.D",
    "P1e16Y",
    "P1e400Y",
    "P1X",
    "PT1X",
    "p1y",
    "P 1Y",
    "P1Y ",
    "P1Yé",
    "P5000000000Y",
    "P2147483648D",
    "P2147483647Y",
    "-P1Y",
    "P-",
    "P1e-400D",
    "+P1D",
    "1 y 2 y",
    "1:2 3:4",
    "-1:00:00 1 day",
    "1 +2:03",
    "1 day -2:03",
    "+1 day -2 hours",
    "- 1 day",
    "1 - 2 days",
    "1/2 days",
    "1.2.3 s",
    "123456789012345678901234567890 s",
    "0.00000049 s",
    "0.0000005 s",
    "1 hour 0.5 min",
    "2147483647 years",
    "1.9999999 years",
    "-0.5 decades",
    "1 mon -1.5 days",
];

const TIMES: &[&str] = &[
    "12:34",
    "12:34:56.789",
    "12:34 PM",
    "12:34:56+05:30",
    "12:34:56 -08",
    "12:34 EST",
    "12:34 Z",
    "12:34 Europe/Berlin",
    "2024-07-01 12:34 Europe/Berlin",
    "2024-01-01 12:34 America/New_York",
    "12:34 Etc/GMT+5",
    "12:34 UTC",
    "12:34 +16",
    "12:34 -15:59:59",
    "123456",
    "1234",
    "T123456+02",
    "allballs",
    "now x",
    "today",
    "epoch",
    "infinity",
    "24:00",
    "24:00:01",
    "23:59:60",
    "25:00",
    "12:34:56.9999999",
    "2024-07-01 12:34",
    "2024-07-01",
    "",
    "abc",
    "12:34 no/zone",
    "12:34 DST",
    "12:34+05:30:15",
    "12:34:56.789 FOO-3",
    "04:05:06.789-08:00",
    "2003-04-12 04:05:06 PDT",
    "12:34 2024-02-30",
    "040506.789-8",
];

const MOMENTS: &[&str] = &[
    "2024-07-01 12:34:56.789",
    "2024-12-31 23:59:59.9",
    "2021-03-28 02:30",
    "2021-10-31 02:30",
    "infinity",
    "epoch",
    "2024-01-01 00:00:00.5+14",
    "2024-01-01 BC",
    "1999-12-31 23:59:60",
    "Y2001M12D27H04M05S06.789+08",
    "Y2001M12D27H04MM05S06.789-08",
    "y2001m02d04",
    "d04m02y2001 h10",
    "d04m02y2001 h10 mm70",
    "d04m02y2001 10:20 h10",
    "d04m02y2001 h10 10:20",
    "y2001y2002m1d1",
    "y2001m1.5d1",
    "y2001m1d1h25",
    "2010-02-27 03:04:05+10:",
    "2010-02-27 03:04:05+10:00:",
    "99 Jan 08",
    "31 Jan 08",
];

#[test]
fn texts_are_read_and_refused_alike() {
    let postgres = Postgres::start();
    let mut draw = pools::Draw::new(7);
    for session in &SESSIONS {
        let mut asked = Vec::new();
        let mut pairs = Vec::new();
        for (name, ty) in TYPES {
            let texts = match ty.oid {
                1186 => SPANS,
                1184 => MOMENTS,
                _ => TIMES,
            };
            for text in texts {
                // All of them without a modifier, half of them with one.
                if ty.modifier == -1 || draw.below(2) == 0 {
                    asked.push(format!("'{text}'::{name}"));
                    pairs.push((ty, *text));
                }
            }
        }
        let (now, theirs) = oracle::answers(&postgres, session, &asked);
        let ours = Ours::new(session, now);
        let answers: Vec<String> =
            pairs.iter().map(|(ty, text)| shown(ours.read(*ty, text))).collect();
        println!("{session:?}");
        compare(&asked, &answers, &theirs);
    }
}
