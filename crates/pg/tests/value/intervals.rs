//! Intervals of random fields in all four styles, and their order.

use onlap_base::Rng;
use onlap_pg::value::interval::Interval;
use onlap_pg::value::{IntervalStyle, Settings};
use onlap_testkit::postgres::Postgres;

use crate::case::Case;
use crate::oracle;
use crate::random::{compare, pick};

const STYLES: [(&str, IntervalStyle); 4] = [
    ("postgres", IntervalStyle::Postgres),
    ("postgres_verbose", IntervalStyle::PostgresVerbose),
    ("sql_standard", IntervalStyle::SqlStandard),
    ("iso_8601", IntervalStyle::Iso8601),
];

fn random(rng: &mut Rng) -> Interval {
    let mut part = |most: i64| match rng.below(3) {
        0 => 0,
        1 => rng.range(-3..4),
        _ => rng.range(-most..most),
    };
    let (months, days) = (part(1000) as i32, part(100) as i32);
    let time = match part(4) {
        0 => 0,
        n if n % 2 == 0 => part(90) * 60_000_000,
        _ => part(100_000_000_000),
    };
    Interval { months, days, time }
}

#[test]
fn intervals_are_written_sent_and_sorted_alike() {
    let mut rng = Rng::new(41);
    let values: Vec<Interval> = (0..3000).map(|_| random(&mut rng)).collect();
    let mut script = String::from("create table i(n serial, v interval); copy i(v) from stdin;\n");
    for Interval { months, days, time } in &values {
        let sign = if *time < 0 { "-" } else { "" };
        let (seconds, fraction) = (time.abs() / 1_000_000, time.abs() % 1_000_000);
        script += &format!("{months} mons {days} days {sign}{seconds}.{fraction:06} secs\n");
    }
    script += "\\.\n";
    for (name, _) in STYLES {
        script += &format!("set intervalstyle = {name}; select v from i order by n;\n");
    }
    script += "select encode(interval_send(v), 'hex') from i order by n;\n";
    script += "select dense_rank() over (order by v) - 1 from i order by n;\n";
    let out = oracle::run(&Postgres::start(), &script);
    let mut lines = out.lines();
    for (name, interval_style) in STYLES {
        let settings = Settings { interval_style, ..Settings::default() };
        for value in &values {
            assert_eq!(lines.next(), Some(value.print(&settings).as_str()), "{name} {value:?}");
        }
    }
    for value in &values {
        let hex: String = value.send().iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(lines.next(), Some(hex.as_str()), "{value:?}");
        assert_eq!(Interval::recv(&value.send()).as_ref(), Ok(value));
    }
    let mut keys: Vec<i128> = values.iter().map(Interval::key).collect();
    keys.sort_unstable();
    keys.dedup();
    for value in &values {
        let rank = keys.binary_search(&value.key()).expect("it is among them").to_string();
        assert_eq!(lines.next(), Some(rank.as_str()), "{value:?}");
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn intervals_are_read_alike() {
    const UNITS: &[&str] =
        &["years", "mon", "days", "weeks", "h", "mins", "sec", "ms", "us", "decades"];
    let mut rng = Rng::new(42);
    let mut cases = Vec::new();
    for _ in 0..3000 {
        let mut text = String::new();
        for _ in 0..rng.below(4) + 1 {
            let sign = pick(&mut rng, &["", "", "-", "+"]);
            let fraction = pick(&mut rng, &["", "", ".5", ".123456", ".05"]);
            text += &format!("{sign}{}{fraction} {} ", rng.below(100), pick(&mut rng, UNITS));
        }
        text += pick(&mut rng, &["", "", "ago", "12:34:56.789", "-1:02", "7", "foo", "3-4"]);
        cases.push(Case::new("interval", "", &[&text]));
    }
    compare(cases);
}
