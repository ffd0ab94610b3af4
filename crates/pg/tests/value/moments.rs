//! Dates and times of random shape under random settings.

use onlap_base::Rng;

use crate::case::Case;
use crate::random::{compare, pick};

const ZONES: &[&str] =
    &["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Sydney"];
const STYLES: &[&str] = &[
    "ISO, MDY",
    "SQL, MDY",
    "SQL, DMY",
    "Postgres, MDY",
    "Postgres, DMY",
    "German, DMY",
    "ISO, YMD",
];

fn settings(rng: &mut Rng) -> String {
    format!("datestyle={};timezone={}", pick(rng, STYLES), pick(rng, ZONES))
}

fn date(rng: &mut Rng) -> String {
    let year = match rng.below(8) {
        0 => rng.below(300_000),
        1 => rng.below(100),
        2 => 2100 + rng.below(500),
        _ => 1850 + rng.below(250),
    };
    let (month, day) =
        (rng.below(12) + 1 + rng.below(40) / 39, rng.below(28) + 1 + rng.below(6) / 5 * 3);
    let name = pick(rng, &["Jan", "february", "MAR", "Apr", "sept", "Dec"]);
    match rng.below(12) {
        0 => format!("{month}/{day}/{year}"),
        1 => format!("{day}.{month}.{year}"),
        2 => format!("{name} {day}, {year}"),
        3 => format!("{day} {name} {year}"),
        4 => format!("{day}-{name}-{year}"),
        5 => format!("{year:04}{month:02}{day:02}"),
        6 => format!("{year}-{name}-{day}"),
        _ => format!("{year:04}-{month:02}-{day:02}"),
    }
}

fn clock(rng: &mut Rng) -> String {
    let (h, m, s) =
        (rng.below(24) + rng.below(30) / 29, rng.below(60), rng.below(60) + rng.below(30) / 29);
    match rng.below(7) {
        0 => format!("{h:02}:{m:02}"),
        1 => format!("{h:02}:{m:02}:{s:02}.{}", rng.below(10_000_000)),
        2 => format!("{h}:{m:02} PM"),
        3 => format!("{h:02}{m:02}{s:02}"),
        _ => format!("{h:02}:{m:02}:{s:02}"),
    }
}

fn zone(rng: &mut Rng) -> String {
    let (h, m) = (rng.below(17), rng.below(60));
    match rng.below(7) {
        0 => format!("{}{h:02}", pick(rng, &["+", "-"])),
        1 => format!("{}{h:02}:{m:02}", pick(rng, &["+", " -"])),
        2 => format!(" {}", pick(rng, &["UTC", "PST", "cest", "z", "Z", "MSK", "foo"])),
        3 => format!(" {}", pick(rng, ZONES)),
        _ => String::new(),
    }
}

fn moment(rng: &mut Rng) -> String {
    let text = match rng.below(12) {
        0 => pick(
            rng,
            &["epoch", "infinity", "-infinity", "J2451187", "", " ", "2024", "12:00", "foo"],
        )
        .to_owned(),
        1 => date(rng),
        2 => format!("{}T{}{}", date(rng), clock(rng), zone(rng)),
        3 => format!("{} {}", clock(rng), date(rng)),
        _ => format!("{} {}{}", date(rng), clock(rng), zone(rng)),
    };
    text + ["", "", "", " BC", " AD"][rng.below(5) as usize]
}

#[test]
fn moments_are_read_and_written_alike() {
    let mut rng = Rng::new(31);
    let mut cases = Vec::new();
    for _ in 0..4000 {
        let settings = settings(&mut rng);
        for kind in ["date", "timestamp", "timestamptz"] {
            cases.push(Case::new(kind, &settings, &[&moment(&mut rng)]));
        }
        let time = clock(&mut rng) + &zone(&mut rng);
        cases.push(Case::new("time", &settings, &[&time]));
    }
    compare(cases);
}

/// What a time of day may have, and what it may not.
const FIELDS: &[&str] = &[
    "12:30",
    "1:2:3.5",
    "1::2",
    "1:",
    "1:.5",
    "1:2:3:4",
    "040506",
    "0405",
    "040506.7",
    "12",
    "24:00:00",
    "13:60",
    "h04",
    "mm05",
    "s06.5",
    "s06",
    "h4m5s6.7",
    "m2",
    "d3",
    "y2001",
    "y0",
    "m13",
    "2001-02-03",
    "2001.02.03",
    "20010203",
    "j2452271",
    "j2452271.5",
    "t",
    "T040506",
    "T04:05:06",
    "am",
    "PM",
    "bc",
    "ad",
    "at",
    "on",
    "dst",
    "PDT",
    "pst",
    "MSK",
    "utc",
    "z",
    "-08",
    "+05:30",
    "-16",
    "+01:02:03",
    "040506-08",
    "Europe/Berlin",
    "Etc/GMT+5",
    "UTC+5",
    "EST5EDT",
    "EST",
    "no/where",
    "nowhere",
    "Jan",
    "monday",
    "today",
    "allballs",
    "infinity",
    "epoch",
    "doy",
    "dow 4",
    "s .5",
    ".5",
    "-",
    "+x",
];

/// Fields of a random kind and order; most texts begin with a time.
fn fields(rng: &mut Rng) -> String {
    let count = rng.below(4) + 1;
    let mut all: Vec<&str> = (0..count).map(|_| pick(rng, FIELDS)).collect();
    if rng.below(3) > 0 {
        all[0] = pick(rng, &["12:30", "1:2:3.5", "040506", "2001-02-03 4:05"]);
    }
    all.join(pick(rng, &[" ", " ", " ", "", ", "]))
}

#[test]
fn times_of_day_are_read_alike() {
    let mut rng = Rng::new(37);
    let mut cases = Vec::new();
    for _ in 0..8000 {
        // Zones without summer time, for the offset of others depends on today.
        let zone = pick(&mut rng, &["UTC", "Asia/Kathmandu"]);
        let order = pick(&mut rng, &["MDY", "DMY", "YMD"]);
        let settings = format!("datestyle=ISO, {order};timezone={zone}");
        for kind in ["time", "timetz"] {
            cases.push(Case::new(kind, &settings, &[&fields(&mut rng)]));
        }
    }
    compare(cases);
}
