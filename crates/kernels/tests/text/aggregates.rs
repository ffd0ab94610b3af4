//! Aggregates, in one go and with states that were saved and merged.

use onlap_kernels::aggregate::Aggregate;
use onlap_kernels::{Col, Datum, TypeRef, find_aggregate, input, repr};
use onlap_pg::Result;
use onlap_testkit::postgres::Postgres;

use crate::{Case, Draw, World, function, oracle, quoted};

const GROUPS: usize = 4;

/// An aggregate, its arguments' types, texts to draw from.
const AGGREGATES: &[(&str, &[(u32, &str, &[&str])])] = &[
    (
        "string_agg(text,text)",
        &[(25, "text", &["", "a", "bc", "ä"]), (25, "text", &["", ", ", "日"])],
    ),
    (
        "string_agg(bytea,bytea)",
        &[(17, "bytea", &["", "\\x00ff", "ab"]), (17, "bytea", &["", "\\x2c", "xyz"])],
    ),
    ("min(text)", &[(25, "text", &["", "a", "B", "ab", "ä", "z"])]),
    ("max(text)", &[(25, "text", &["", "a", "B", "ab", "ä", "z"])]),
    ("min(bpchar)", &[(1042, "bpchar", &["a ", "a", "b", "", "a\t"])]),
    ("max(bpchar)", &[(1042, "bpchar", &["a ", "a", "b", "", "a\t"])]),
    ("bit_and(bit)", &[(1560, "pg_catalog.bit", &["11100", "10101", "11111"])]),
    ("bit_or(bit)", &[(1560, "pg_catalog.bit", &["11100", "10101", "00000", "1"])]),
    ("bit_xor(bit)", &[(1560, "pg_catalog.bit", &["1110011100", "1010110101"])]),
];

type Rows = Vec<(usize, Vec<Option<&'static str>>)>;

#[test]
fn aggregates_give_what_postgresql_gives() {
    let postgres = Postgres::start();
    let world = World::new();
    let mut draw = Draw(crate::number("ONLAP_SEED", 1));
    let mut asked = Vec::new();
    let mut ours = Vec::new();
    for (name, args) in AGGREGATES {
        for size in [0, 1, 5, 20, 20, 20] {
            let rows: Rows = (0..size).map(|_| row(args, &mut draw)).collect();
            let proc = function(&world.catalog, name);
            let result = args[0].0;
            let mine = answers(&world, proc, args, &rows, None);
            for split in [0, size / 2, size] {
                assert_eq!(mine, answers(&world, proc, args, &rows, Some(split)), "{name}: merged");
            }
            for group in 0..GROUPS {
                ours.push(match &mine {
                    Ok(all) if all[group] == "NULL" => "= NULL".into(),
                    Ok(all) => format!("= {}", all[group]),
                    Err(e) => format!("! {} {}", e.state, e.message),
                });
                let only = mine.is_ok().then_some(group);
                asked.push(Case {
                    proc,
                    args: Vec::new(),
                    result,
                    text: sql(name, args, &rows, only),
                });
            }
        }
    }
    let theirs = oracle::answers(&postgres, &asked);
    for ((case, mine), theirs) in asked.iter().zip(&ours).zip(&theirs) {
        assert_eq!(mine, theirs, "{}", case.text);
    }
}

fn row(
    args: &[(u32, &str, &[&'static str])],
    draw: &mut Draw,
) -> (usize, Vec<Option<&'static str>>) {
    let values = args.iter().map(|(_, _, pool)| {
        let at = draw.below(pool.len() + 1);
        pool.get(at).copied()
    });
    let values = values.collect();
    (draw.below(GROUPS - 1), values)
}

/// One group's answer, or an error of any of them.
fn sql(name: &str, args: &[(u32, &str, &[&str])], rows: &Rows, group: Option<usize>) -> String {
    let function = name.split('(').next().expect("a name");
    let columns: Vec<String> = (0..args.len()).map(|at| format!("v{at}")).collect();
    let mut parts = vec![format!(
        "select -1, -1, {}",
        args.iter().map(|arg| format!("null::{}", arg.1)).collect::<Vec<_>>().join(", ")
    )];
    for (n, (of, values)) in rows.iter().enumerate() {
        let values = values.iter().zip(args).map(|(value, arg)| match value {
            Some(text) => format!("{}::{}", quoted(text), arg.1),
            None => format!("null::{}", arg.1),
        });
        parts.push(format!("select {n}, {of}, {}", values.collect::<Vec<_>>().join(", ")));
    }
    let filter = group.map_or(String::new(), |group| format!("where g = {group}"));
    format!(
        "(select {function}({columns} order by n) from ({}) q(n, g, {columns}) {filter})",
        parts.join(" union all "),
        columns = columns.join(", "),
    )
}

/// What groups have; the rows from a place on come in by a state that was saved.
fn answers(
    world: &World,
    proc: u32,
    args: &[(u32, &str, &[&str])],
    rows: &Rows,
    split: Option<usize>,
) -> Result<Vec<String>> {
    let oids: Vec<u32> = args.iter().map(|arg| arg.0).collect();
    let types = world.types(&oids, oids[0]);
    let make = find_aggregate(proc).expect("it is an aggregate");
    let mut aggregate = make(&types);
    aggregate.grow(GROUPS);
    let (first, second) = rows.split_at(split.unwrap_or(rows.len()));
    update(world, &mut *aggregate, args, first)?;
    if split.is_some() {
        let mut other = make(&types);
        other.grow(GROUPS);
        update(world, &mut *other, args, second)?;
        let saved = other.save(GROUPS);
        let groups: Vec<usize> = (0..GROUPS).collect();
        aggregate.merge(&saved, &groups, &mut world.cx())?;
    }
    let array = aggregate.finish(GROUPS, &mut world.cx())?;
    let repr = repr(&world.catalog, oids[0]).expect("it has values");
    let shown = (0..GROUPS).map(|at| world.shown(oids[0], &Datum::at(&*array, repr, at)));
    let shown = shown.collect();
    assert!(aggregate.size() > 0, "states take memory");
    aggregate.forget(GROUPS);
    shown
}

fn update(
    world: &World,
    aggregate: &mut dyn Aggregate,
    args: &[(u32, &str, &[&str])],
    rows: &[(usize, Vec<Option<&'static str>>)],
) -> Result<()> {
    let mut cols = Vec::new();
    for (at, (oid, ..)) in args.iter().enumerate() {
        let mut values = Vec::new();
        for (_, texts) in rows {
            values.push(match texts[at] {
                Some(text) => input(&mut world.cx(), TypeRef::new(*oid), text)?,
                None => Datum::Null,
            });
        }
        let repr = repr(&world.catalog, *oid).expect("it has values");
        cols.push(Col::new(Datum::column(repr, values.iter())?));
    }
    let groups: Vec<usize> = rows.iter().map(|(group, _)| *group).collect();
    aggregate.update(&cols, &groups, &mut world.cx())
}
