//! Do aggregates and series of numbers give what PostgreSQL gives?
//!
//! Rows of edge values and of chance are put into groups; each aggregate is asked of a PostgreSQL 15 that runs beside the
//! test, over the same rows in the same order. States are kept, saved and merged, and forgotten on the way.

#[path = "common/session.rs"]
mod session;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;

use arrow_array::Array;
use onlap_kernels::{
    Col, Cx, Datum, TypeRef, Types, find_aggregate, find_series, input, output, repr, signature,
};
use onlap_pg::catalog::{Catalog, Proc, ProcKind};
use onlap_pg::value::Settings;
use onlap_pg::{Oid, Result};
use onlap_testkit::postgres::Postgres;
use session::QUIET;

/// A row: its group, and the texts of the arguments.
type Row = (usize, Vec<Option<String>>);

/// An aggregate over rows.
struct Case {
    proc: Oid,
    args: Vec<Oid>,
    result: Oid,
    rows: Vec<Row>,
    text: String,
}

const GROUPS: usize = 4;

/// Values of which some are drawn for each group.
fn pool(oid: Oid) -> &'static [&'static str] {
    match oid {
        16 => &["t", "f"],
        21 => &["0", "1", "-1", "7", "7", "100", "32767", "-32768"],
        23 => &["0", "1", "-1", "7", "7", "31", "100000", "2147483647", "-2147483648"],
        20 => &[
            "0",
            "1",
            "-1",
            "7",
            "7",
            "99",
            "5000000000",
            "9223372036854775807",
            "-9223372036854775808",
        ],
        26 => &["0", "1", "23", "23", "4294967295"],
        700 => &[
            "0",
            "-0",
            "1",
            "1.5",
            "-2.25",
            "1e10",
            "3.1415927",
            "0.1",
            "1e38",
            "1e-30",
            "NaN",
            "Infinity",
        ],
        701 => &[
            "0",
            "-0",
            "1",
            "1.5",
            "-2.25",
            "1e10",
            "3.14159",
            "0.1",
            "123456.789",
            "-77.7",
            "1e-200",
            "1e155",
            "1e308",
            "NaN",
            "Infinity",
            "-Infinity",
        ],
        790 => &["0", "1.50", "-2", "1000", "99999.99", "90000000000000000"],
        1700 => &[
            "0",
            "1",
            "1.0",
            "1.00",
            "-2.5",
            "12345.67",
            "-0.001",
            "0.1",
            "99999999999999999999.99",
            "1e-30",
            "1e40",
            "12345678901234567890123456789012345678",
            "NaN",
            "Infinity",
            "-Infinity",
        ],
        25 => &["", "a", "a", "b", "B", "zz"],
        _ => &[],
    }
}

/// Values that are no problem to any aggregate.
const TAME: usize = 6;

struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound as u64) as usize
    }
}

/// Whether an aggregate's declared arguments are of the types that are tested here, and with which it is called.
fn arguments(catalog: &Catalog, proc: &Proc) -> Option<(Vec<Oid>, Oid)> {
    let known = |oid: &Oid| !pool(*oid).is_empty();
    let name = signature(catalog, proc);
    match name.as_str() {
        "count(any)" => Some((vec![25], 20)),
        "mode(anyelement)" => Some((vec![1700], 1700)),
        "percentile_disc(float8,anyelement)" => Some((vec![701, 1700], 1700)),
        _ => {
            let all = proc.arguments.iter().all(|oid| *oid != 25 && known(oid));
            all.then(|| (proc.arguments.to_vec(), proc.result))
        }
    }
}

fn cases(catalog: &Catalog, draw: &mut Draw) -> Vec<Case> {
    let mut cases = Vec::new();
    for proc in catalog.procs() {
        if proc.kind != ProcKind::Aggregate || find_aggregate(proc.oid).is_none() {
            continue;
        }
        let Some((args, result)) = arguments(catalog, proc) else { continue };
        let ordered = matches!(&*proc.name, "mode" | "percentile_disc" | "percentile_cont");
        for round in 0..12 {
            let tame = round < 6;
            let mut rows: Vec<Row> = Vec::new();
            for _ in 0..[0, 1, 2, 9, 40][round % 5] {
                let one = |oid: &Oid, draw: &mut Draw| {
                    let values = pool(*oid);
                    let bound = if tame { TAME.min(values.len()) } else { values.len() };
                    match draw.below(8) {
                        0 => None,
                        1..4 if tame && matches!(oid, 20 | 21 | 23 | 701 | 1700) => {
                            Some(format!("{}", draw.below(2000)))
                        }
                        _ => Some(values[draw.below(bound)].to_owned()),
                    }
                };
                rows.push((
                    draw.below(GROUPS - 1),
                    args.iter().map(|oid| one(oid, draw)).collect(),
                ));
            }
            if ordered {
                sort(&mut rows, args.len(), [0.5, 0.0, 0.3, 1.5][round % 4]);
            }
            let text = written(catalog, proc, &args, &rows, ordered);
            cases.push(Case { proc: proc.oid, args: args.clone(), result, rows, text });
        }
    }
    cases
}

/// Rows in the order of their last argument, NULLs left at the end, with the same part for all.
fn sort(rows: &mut [Row], args: usize, part: f64) {
    let number =
        |row: &Row| row.1[args - 1].as_ref().map_or(f64::NAN, |v| v.parse().unwrap_or(f64::NAN));
    rows.sort_by(|a, b| number(a).abs().total_cmp(&number(b).abs()));
    rows.sort_by(|a, b| {
        let (a, b) = (number(a), number(b));
        a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    });
    if args > 1 {
        rows.iter_mut().for_each(|row| row.1[0] = Some(part.to_string()));
    }
}

/// The query that gives a row per group.
fn written(catalog: &Catalog, proc: &Proc, args: &[Oid], rows: &[Row], ordered: bool) -> String {
    let name = |oid: &Oid| catalog.shown(*oid).to_string();
    let mut values: Vec<String> = Vec::new();
    for (n, (group, texts)) in rows.iter().enumerate() {
        let texts = texts.iter().zip(args).map(|(text, oid)| match text {
            Some(text) => format!("'{text}'::{}", name(oid)),
            None => format!("null::{}", name(oid)),
        });
        values.push(format!("({n},{group},{})", texts.collect::<Vec<_>>().join(",")));
    }
    let columns = ["a", "b"][..args.len()].join(",");
    if rows.is_empty() {
        let nulls: Vec<_> = args.iter().map(|oid| format!("null::{}", name(oid))).collect();
        values.push(format!("(-1,-1,{})", nulls.join(",")));
    }
    let call = match (ordered, args.len()) {
        (true, 1) => format!("{}() within group (order by a)", proc.name),
        (true, _) => {
            let part = rows.first().and_then(|row| row.1[0].clone()).unwrap_or("0.5".into());
            format!("{}({part}) within group (order by b)", proc.name)
        }
        _ if proc.arguments.is_empty() => format!("{}(*) filter (where n >= 0)", proc.name),
        _ => format!("{}({columns} order by n) filter (where n >= 0)", proc.name),
    };
    let columns = if args.is_empty() { "x" } else { &columns };
    let values = values.join(",").replace(",)", ",0)");
    format!(
        "select format('%s', (select {call} from (values {values}) v(n, g, {columns}) where g in (h, -1)))
         from generate_series(0, {}) h order by h",
        GROUPS - 1
    )
}

/// The answers as texts, a row per group, or the error.
fn ours(catalog: &Arc<Catalog>, case: &Case, parts: usize) -> Result<Vec<String>> {
    let settings = Settings::default();
    let mut cx = Cx { catalog, settings: &settings, session: &QUIET };
    let types = Types {
        args: case.args.iter().map(|oid| TypeRef::new(*oid)).collect(),
        result: TypeRef::new(case.result),
        catalog: Arc::clone(catalog),
    };
    let make = find_aggregate(case.proc).expect("there is one");
    let mut whole = make(&types);
    whole.grow(GROUPS);
    for part in case.rows.chunks(case.rows.len().div_ceil(parts).max(1)) {
        let mut columns = Vec::new();
        for (at, oid) in case.args.iter().enumerate() {
            let mut values = Vec::new();
            for (_, texts) in part {
                values.push(match &texts[at] {
                    Some(text) => input(&mut cx, TypeRef::new(*oid), text)?,
                    None => Datum::Null,
                });
            }
            let repr = repr(catalog, *oid).expect("it has values");
            columns.push(Col::new(Datum::column(repr, values.iter())?));
        }
        let groups: Vec<usize> = part.iter().map(|(group, _)| *group).collect();
        if parts == 1 {
            whole.update(&columns, &groups, &mut cx)?;
        } else {
            // By states of their own, behind a group that is forgotten.
            let mut other = make(&types);
            other.grow(GROUPS + 1);
            let shifted: Vec<usize> = groups.iter().map(|group| group + 1).collect();
            other.update(&columns, &shifted, &mut cx)?;
            other.forget(1);
            whole.merge(&other.save(GROUPS), &(0..GROUPS).collect::<Vec<_>>(), &mut cx)?;
        }
    }
    let array = whole.finish(GROUPS, &mut cx)?;
    assert_eq!(array.len(), GROUPS);
    let repr = repr(catalog, case.result).expect("the result has values");
    let text = |row: usize| {
        let mut text = String::new();
        match Datum::at(&array, repr, row) {
            Datum::Null => {}
            value => output(&mut cx, case.result, &value, &mut text)?,
        }
        Ok(text)
    };
    (0..GROUPS).map(text).collect()
}

const ANSWER: &str = "
create function answer(e text) returns text language plpgsql as $$
declare r text; s text; m text;
begin
  execute 'select string_agg(q, ''|'') from (' || e || ') t(q)' into r;
  return r;
exception when others then
  get stacked diagnostics s = returned_sqlstate, m = message_text;
  return '! ' || s || ' ' || m;
end $$;
create table q(n serial, e text);
";

fn theirs(postgres: &Postgres, queries: &[String]) -> Vec<String> {
    let mut script = format!("{ANSWER} copy q(e) from stdin;\n");
    for query in queries {
        script.push_str(&query.replace('\\', "\\\\").replace('\n', " "));
        script.push('\n');
    }
    script.push_str("\\.\ncopy (select answer(e) from q order by n) to stdout;\n");
    let mut psql = postgres.psql();
    psql.args(["-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-"]);
    psql.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = psql.spawn().expect("psql is installed");
    let mut input = child.stdin.take().expect("it was asked for");
    // psql writes nothing before it has read all.
    input.write_all(script.as_bytes()).expect("psql reads");
    drop(input);
    let output = child.wait_with_output().expect("psql ends");
    assert!(output.status.success(), "psql failed");
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    let answers: Vec<String> = out.lines().map(str::to_owned).collect();
    assert_eq!(answers.len(), queries.len(), "an answer to each query");
    answers
}

/// Merged states of floats add in another order: the last digits may differ.
fn near(ours: &str, theirs: &str) -> bool {
    let pairs = ours.split('|').zip(theirs.split('|'));
    pairs.into_iter().all(|(a, b)| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => {
            a == b
                || a.is_nan() && b.is_nan()
                || (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1e-9)
        }
        _ => a == b,
    })
}

#[test]
fn aggregates_give_what_postgresql_gives() {
    let postgres = Postgres::start();
    let catalog = Arc::new(Catalog::new());
    let cases = cases(&catalog, &mut Draw(1));
    let queries: Vec<String> = cases.iter().map(|case| case.text.clone()).collect();
    let theirs = theirs(&postgres, &queries);
    let mut differ = Vec::new();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for (case, theirs) in cases.iter().zip(&theirs) {
        let proc = catalog.procs().iter().find(|proc| proc.oid == case.proc).expect("it is there");
        *names.entry(signature(&catalog, proc)).or_default() += 1;
        let shown = |answer: Result<Vec<String>>| match answer {
            Ok(texts) => texts.join("|"),
            Err(e) => format!("! {} {}", e.state, e.message),
        };
        let whole = shown(ours(&catalog, case, 1));
        let parts = shown(ours(&catalog, case, 3));
        // An error of a sum under way depends on the order of rows.
        let merged = near(&parts, &whole)
            || parts.starts_with('!')
            || whole.starts_with('!')
            || whole.contains("NaN");
        if whole != *theirs || !merged {
            differ.push(format!(
                "{}\n  ours   {whole}\n  merged {parts}\n  theirs {theirs}",
                case.text
            ));
        }
    }
    println!("{} aggregates, {} queries, {} differ", names.len(), cases.len(), differ.len());
    assert!(differ.is_empty(), "{}", differ[..differ.len().min(30)].join("\n"));
    assert!(names.len() > 60, "aggregates were compared");
}

#[test]
fn series_give_what_postgresql_gives() {
    let postgres = Postgres::start();
    let catalog = Arc::new(Catalog::new());
    let mut queries = Vec::new();
    let mut calls = Vec::new();
    for proc in catalog.procs() {
        let ints = proc.arguments.iter().all(|oid| matches!(oid, 20 | 23 | 1700));
        if find_series(proc.oid).is_none() || proc.name != "generate_series" || !ints {
            continue;
        }
        let bounds: &[&str] = match proc.result {
            1700 => &["0", "1.5", "-3.25", "10", "1e3", "NaN", "Infinity"],
            23 => &["0", "1", "-3", "10", "2147483640", "2147483647", "-2147483648"],
            _ => &[
                "0",
                "1",
                "-3",
                "10",
                "9223372036854775800",
                "9223372036854775807",
                "-9223372036854775808",
            ],
        };
        let steps: &[&str] = match (proc.arguments.len(), proc.result) {
            (2, _) => &["1"],
            (_, 1700) => &["1", "-1", "0", "0.75", "-2.500", "NaN", "-Infinity"],
            _ => &["1", "-1", "0", "3", "-7", "1000000000"],
        };
        let ty = catalog.shown(proc.result);
        for (start, stop, step) in bounds
            .iter()
            .flat_map(|a| bounds.iter().flat_map(move |b| steps.iter().map(move |c| (*a, *b, *c))))
        {
            let texts = &[start, stop, step][..proc.arguments.len()];
            let args: Vec<String> = texts.iter().map(|text| format!("'{text}'::{ty}")).collect();
            queries.push(format!(
                "select x::text from (select generate_series({}) as x limit 5) y",
                args.join(",")
            ));
            calls.push((proc, texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()));
        }
    }
    let theirs = theirs(&postgres, &queries);
    let mut differ = Vec::new();
    for ((query, (proc, texts)), theirs) in queries.iter().zip(&calls).zip(&theirs) {
        let ours = match series(&catalog, proc, texts) {
            Ok(rows) if rows.is_empty() => "\\N".to_owned(),
            Ok(rows) => rows.join("|"),
            Err(e) => format!("! {} {}", e.state, e.message),
        };
        if ours != *theirs {
            differ.push(format!("{query}\n  ours   {ours}\n  theirs {theirs}"));
        }
    }
    println!("{} calls, {} differ", calls.len(), differ.len());
    assert!(differ.is_empty(), "{}", differ[..differ.len().min(30)].join("\n"));
    assert!(calls.len() > 500, "series were compared");
}

fn series(catalog: &Arc<Catalog>, proc: &Proc, texts: &[String]) -> Result<Vec<String>> {
    let settings = Settings::default();
    let mut cx = Cx { catalog, settings: &settings, session: &QUIET };
    let ty = TypeRef::new(proc.result);
    let types = Types { args: vec![ty; texts.len()], result: ty, catalog: Arc::clone(catalog) };
    let args = texts.iter().map(|text| input(&mut cx, ty, text)).collect::<Result<Vec<_>>>()?;
    let rows = find_series(proc.oid).expect("there is one")(&types).start(&args, &mut cx)?;
    let mut out = Vec::new();
    for row in rows.take(5) {
        let mut text = String::new();
        output(&mut cx, proc.result, &row?[0], &mut text)?;
        out.push(text);
    }
    Ok(out)
}
