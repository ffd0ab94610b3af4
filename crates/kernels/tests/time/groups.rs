//! What do aggregates and series of dates and times give?

use onlap_testkit::postgres::Postgres;

use crate::ours::Ours;
use crate::{SESSIONS, compare, oracle, pools};

const GROUPS: usize = 7;

/// Types with values: their OID, and what aggregates there are.
const TYPES: [(&str, u32, &[&str], &[&str]); 6] = [
    (
        "date",
        1082,
        &["min", "max"],
        &["2024-02-29", "infinity", "-infinity", "0044-03-15 BC", "2000-01-01"],
    ),
    ("time", 1083, &["min", "max"], &["00:00", "24:00", "12:34:56.789", "12:34:56.788"]),
    (
        "timetz",
        1266,
        &["min", "max"],
        &["00:00+00", "01:00+01", "23:00-01", "24:00+01", "12:00-15:59:59"],
    ),
    (
        "timestamp",
        1114,
        &["min", "max"],
        &[
            "2024-02-29 12:00",
            "infinity",
            "-infinity",
            "4714-11-24 BC",
            "2000-01-01 00:00:00.000001",
        ],
    ),
    (
        "timestamptz",
        1184,
        &["min", "max"],
        &["2024-02-29 12:00+02", "2024-02-29 12:00", "infinity", "0001-01-01"],
    ),
    (
        "interval",
        1186,
        &["min", "max", "sum", "avg"],
        &[
            "1 mon",
            "30 days",
            "720 hours",
            "-1 day 25:00",
            "1 year 2 mons -3 days 00:00:00.7",
            "-00:00:00.000001",
            "100000 years",
            "7 days 7 hours",
        ],
    ),
];

#[test]
fn aggregates_give_the_same_in_groups_and_parts() {
    let postgres = Postgres::start();
    let mut draw = pools::Draw::new(3);
    let session = &SESSIONS[0];
    let ours = Ours::new(session, 0);
    let (mut asked, mut answers, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for (name, oid, aggregates, pool) in TYPES {
        let mut parts = vec![Vec::new(); 3];
        let mut script = format!(
            "set timezone = '{}'; set intervalstyle = '{}'; create temp table t(n serial, g int, v {name});
             copy t(g, v) from stdin;\n",
            session[0], session[2]
        );
        for row in 0..60 {
            let group = draw.below(GROUPS - 1);
            // A group has nothing but NULLs, another one no row.
            let value = match group == 0 || draw.below(6) == 0 {
                true => None,
                false => Some(pool[draw.below(pool.len())].to_owned()),
            };
            script += &format!("{group}\t{}\n", value.as_deref().unwrap_or("\\N"));
            parts[row / 20].push((group, value));
        }
        script += "\\.\n";
        for aggregate in aggregates {
            script += &format!(
                "select coalesce('= ' || x, '= NULL') from generate_series(0, {}) i
                 left join (select g, {aggregate}(v order by n) x from t group by g) q on g = i order by i;\n",
                GROUPS - 1
            );
            answers.extend(ours.aggregate(&format!("{aggregate}({name})"), oid, &parts, GROUPS));
            asked.extend((0..GROUPS).map(|group| format!("{aggregate}({name}) of group {group}")));
        }
        theirs.extend(oracle::run(&postgres, script));
    }
    compare(&asked, &answers, &theirs);
}

#[test]
fn a_sum_that_no_interval_holds_is_refused() {
    let ours = Ours::new(&SESSIONS[0], 0);
    let part = vec![(0, Some("178000000 years".to_owned())); 2];
    let answers = ours.aggregate("sum(interval)", 1186, &[part], 1);
    assert_eq!(answers, ["! 22008 interval out of range"]);
}

/// Begin, end and step of series.
const SERIES: &[[&str; 3]] = &[
    ["2024-01-31", "2024-12-31", "1 month"],
    ["2021-03-27 02:30", "2021-03-30", "1 day"],
    ["2021-10-30 02:30", "2021-11-01", "12 hours"],
    ["2021-11-06", "2021-11-08", "6 hours"],
    ["2024-03-01", "2024-02-25", "-1 day"],
    ["2024-03-01", "2024-02-25", "1 day"],
    ["2024-03-01", "2024-03-01", "1 day"],
    ["2024-03-01", "2024-04-01", "0"],
    ["2024-03-01", "2024-04-01", "1 mon -30 days"],
    ["2024-03-01", "2024-05-01", "1 mon -29 days"],
    ["294276-12-31", "infinity", "1 day"],
    ["2024-03-01", "-infinity", "-1000 years"],
    ["4713-01-01 BC", "4714-12-01 BC", "-1 mon"],
];

#[test]
fn series_have_the_same_rows() {
    let postgres = Postgres::start();
    for session in &SESSIONS {
        let (mut asked, mut ours_all) = (Vec::new(), Vec::new());
        for [from, to, step] in SERIES {
            for (name, oid) in [("timestamp", 1114_u32), ("timestamptz", 1184)] {
                asked.push(format!(
                    "(select string_agg('= ' || x, ';') from (select x from generate_series('{from}'::{name}, \
                     '{to}'::{name}, '{step}'::interval) x limit 100) q)"
                ));
                ours_all.push((name, oid, [(oid, *from), (oid, *to), (1186, *step)]));
            }
        }
        let (now, theirs) = oracle::answers(&postgres, session, &asked);
        let ours = Ours::new(session, now);
        let answers: Vec<String> = ours_all
            .iter()
            .map(|(name, oid, args)| {
                let rows = ours.series(
                    &format!("generate_series({name},{name},interval)"),
                    args,
                    *oid,
                    100,
                );
                match rows.first() {
                    None => "= NULL".to_owned(),
                    Some(first) if first.starts_with('!') => first.clone(),
                    Some(_) => format!("= {}", rows.join(";")),
                }
            })
            .collect();
        println!("{session:?}");
        compare(&asked, &answers, &theirs);
    }
}

#[test]
fn zones_that_both_know_have_the_same_offsets() {
    let postgres = Postgres::start();
    let session = &SESSIONS[0];
    let (now, _) = oracle::answers(&postgres, session, &[]);
    let ours = Ours::new(session, now);
    let names = ours.series("pg_timezone_names()", &[], 25, usize::MAX);
    assert!(names.len() > 500, "{} zones", names.len());
    assert!(names.contains(&"= Europe/Berlin".to_owned()), "all have names");
}
