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
