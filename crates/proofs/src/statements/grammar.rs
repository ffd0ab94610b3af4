//! Which statements are meant to hurt a server?
//!
//! Six families: depth, width, size, allocation, time, and calls with values at the edges of their types
//! ([`super::calls`]), said in the simple and in the extended protocol. Each statement is drawn from a seed; most
//! are valid, and would be answered by a machine without limits.

use onlap_base::rng::Rng;

use super::calls;

/// A statement, and how it is sent.
#[derive(Clone, Debug)]
pub enum Hostile {
    /// As one text.
    Simple(String),
    /// With values for its parameters, as text.
    Extended(String, Vec<String>),
    /// So many portals at a time, each with a value of so many bytes.
    Portals(usize, usize),
    /// So many prepared statements at a time, with texts of so many bytes.
    Prepared(usize, usize),
}

impl Hostile {
    /// The text, shortened for a report.
    pub fn shown(&self) -> String {
        match self {
            Hostile::Simple(text) | Hostile::Extended(text, _) => {
                let cut: String = text.chars().take(300).collect();
                format!("{cut} … ({} bytes)", text.len())
            }
            Hostile::Portals(n, bytes) => format!("{n} portals of {bytes} bytes"),
            Hostile::Prepared(n, bytes) => format!("{n} prepared statements of {bytes} bytes"),
        }
    }
}

/// Draws a statement.
pub fn draw(rng: &mut Rng) -> Hostile {
    let text = match rng.below(10) {
        0 | 1 => deep(rng),
        2 => wide(rng),
        3 => large(rng),
        4 => slow(rng),
        5 => return extended(rng),
        6 => return kept(rng),
        _ => calls::draw(rng),
    };
    let wrapped = match rng.below(8) {
        0 if text.starts_with("select") => format!("explain {text}"),
        1 if text.starts_with("select") => format!("create view v{} as {text}", rng.below(20)),
        2 if text.starts_with("select") => format!("select count(*) from ({text}) s"),
        _ => text,
    };
    Hostile::Simple(wrapped)
}

/// What a session keeps between its statements.
fn kept(rng: &mut Rng) -> Hostile {
    let rows = 1u64 << rng.below(20);
    let query = format!("select repeat('x', 1000), g from generate_series(1, {rows}) g");
    match rng.below(6) {
        0 => Hostile::Portals(many(rng, 2000), many(rng, 1 << 20)),
        1 => Hostile::Prepared(many(rng, 5000), many(rng, 8 << 10)),
        2 => {
            let name = rng.below(50);
            Hostile::Simple(format!("declare c{name} cursor with hold for {query}"))
        }
        3 => Hostile::Simple(format!("begin; declare d cursor for {query}; fetch all from d; end")),
        4 => Hostile::Simple("close all".into()),
        _ => {
            let n = many(rng, 5000);
            let savepoints = list(n, "; ", |i| format!("savepoint s{i}; set local a.b{i} = 'x'"));
            Hostile::Simple(format!("begin; {savepoints}; rollback"))
        }
    }
}

/// A number from a few to very many, all orders of magnitude alike.
fn many(rng: &mut Rng, most: u64) -> usize {
    let halved = rng.below((64 - most.leading_zeros()).into());
    rng.below((most >> halved).max(1)).max(2) as usize
}

fn list(n: usize, by: &str, one: impl Fn(usize) -> String) -> String {
    (0..n).map(one).collect::<Vec<_>>().join(by)
}

fn around(n: usize, open: &str, core: &str, close: &str) -> String {
    format!("{}{core}{}", open.repeat(n), close.repeat(n))
}

fn deep(rng: &mut Rng) -> String {
    const CHAINS: &[&str] = &[
        " + 1",
        " - id",
        " * 1",
        " || 'x'",
        " || 1 || 'x'",
        "::int",
        "::text::int",
        " like 'x'",
        " is null",
        " -> 'a'",
        " between 0 and 1",
        " + 1.5",
        " / 1.0",
        " collate \"C\"",
        " = true",
        "[1]",
    ];
    const NESTS: &[(&str, &str)] = &[
        ("(", ")"),
        ("abs(", ")"),
        ("coalesce(null, ", ")"),
        ("case when true then ", " end"),
        ("case when id = 1 then 2 else ", " end"),
        ("(select ", ")"),
        ("array[", "]"),
        ("upper(", ")"),
        ("greatest(1, ", ", 2)"),
        ("not ", ""),
        ("- ", ""),
        ("exists (select 1 where 1 = ", ")"),
        ("1 in (", ")"),
        ("cast(", " as text)"),
        ("to_json(", ")"),
        ("row(", ")"),
        ("nullif(", ", 3)"),
    ];
    let n = many(rng, 20_000);
    match rng.below(10) {
        0 => format!("select a from t where {}", list(n, " or ", |i| format!("id = {i}"))),
        1 => format!("select a from t where {}", list(n, " and ", |i| format!("id <> {}", i + 9))),
        2 => {
            let op = *rng.pick(&[" union all ", " union ", " except ", " intersect "]);
            list(n, op, |i| format!("select {i}"))
        }
        3 | 4 => format!("select id{} from t", rng.pick(CHAINS).repeat(n)),
        5 | 6 => {
            let (open, close) = rng.pick(NESTS);
            format!("select {} from t", around(n, open, "id", close))
        }
        7 => around(n, "select * from (", "select 1", ") x"),
        8 => {
            let each = *rng.pick(&["select * from w", "select a.* from w0 a, w"]);
            let rest = list(n, ", ", |i| format!("w{} as ({each}{i})", i + 1));
            format!("with w0 as (select 1), {rest} select * from w{n}")
        }
        _ => {
            let (open, close, ty) =
                *rng.pick(&[("[", "]", "jsonb"), ("{\"a\":", "}", "json"), ("{", "}", "int[]")]);
            format!("select '{}'::{ty}", around(n, open, "1", close))
        }
    }
}

fn wide(rng: &mut Rng) -> String {
    let n = many(rng, 50_000);
    match rng.below(9) {
        0 => format!("select a from t where id in ({})", list(n, ", ", |i| i.to_string())),
        1 => format!("select {} from t", list(n, ", ", |i| format!("id as c{i}"))),
        2 => format!("select count(*) from t x{}", list(n / 50, "", |i| format!(", t x{i}"))),
        3 => {
            format!("select 1 from t x{}", list(n / 50, "", |i| format!(" join t x{i} using (id)")))
        }
        4 => format!("select * from (values {}) v", list(n, ", ", |i| format!("({i}, 'x')"))),
        5 => format!("select 1 as \"{}\"", "n".repeat(n)),
        6 => format!("create table w{} ({})", rng.below(9), list(n, ", ", |i| format!("c{i} int"))),
        7 => format!(
            "select case {} end from t",
            list(n, " ", |i| format!("when id = {i} then {i}"))
        ),
        _ => format!("select concat({}) from t", list(n, ", ", |i| format!("'{i}'"))),
    }
}

fn large(rng: &mut Rng) -> String {
    let n = 1u64 << rng.below(38);
    let rows = 1u64 << rng.below(24);
    let series = format!("generate_series(1, {rows}) g");
    match rng.below(16) {
        0 => format!("select repeat('x', {n})"),
        1 => format!("select length(repeat('ab', {n})) from {series}"),
        2 => format!("select lpad('x', {}) from {series}", n.min(1 << 31)),
        3 => format!("select rpad(b, {}, 'yz') from t", n.min(1 << 31)),
        4 => format!("select replace(repeat('x', {}), 'x', repeat('y', {}))", n >> 8, n >> 12),
        5 => format!("select regexp_replace(repeat('x', {}), 'x', 'yyyyyyyy', 'g')", n >> 8),
        6 => format!("select string_agg(repeat('x', 100), ',') from {series}"),
        7 => format!("select array_agg(g) from {series}"),
        8 => format!("select json_agg(repeat('x', 100)) from {series}"),
        9 => format!("select g from generate_series(1, {n}) g order by g desc limit 3"),
        10 => format!("select * from generate_series(1, {n}) limit 1"),
        11 => format!("select distinct g % 1000003 from generate_series(1, {n}) g"),
        12 => format!("select to_json(array_agg(g)) from {series}"),
        13 => format!("select array_repeat(1, {n})"),
        14 => format!("select repeat('x', 1000000) || g from {series}"),
        _ => format!("select encode(repeat('x', {})::bytea, 'hex')", n >> 6),
    }
}

fn slow(rng: &mut Rng) -> String {
    let n = 1u64 << rng.below(34);
    match rng.below(8) {
        0 => format!("select count(*) from generate_series(1, {n}) a, generate_series(1, {n}) b"),
        1 => {
            "with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r"
                .into()
        }
        2 => "with recursive r(n) as (select 1 union select n + 1 from r) select max(n) from r"
            .into(),
        3 => format!(
            "select sum(a.a * b.b) from generate_series(1, {n}) a join generate_series(1, {n}) b on a.a <> b.b"
        ),
        4 => format!(
            "select count(*) from generate_series(1, {n}) g where g::text ~ '(1|2|3)*4(5|6)*$'"
        ),
        5 => format!("select regexp_replace(repeat('ab', 100000), '(a|b)*{{{}}}', 'x')", n % 1000),
        6 => format!(
            "select count(*) from t a, t b, t c, t d where a.b || b.b || c.b <> repeat('x', {})",
            n % 9999
        ),
        _ => format!(
            "select (select count(*) from generate_series(1, {n}) g where g <> t.id) from t"
        ),
    }
}

fn extended(rng: &mut Rng) -> Hostile {
    let n = many(rng, 70_000);
    let (text, values) = match rng.below(5) {
        0 => {
            // The protocol counts parameters in 16 bits.
            let n = n.min(65_535);
            let places = list(n, ", ", |i| format!("${}::int", i + 1));
            (format!("select a from t where id in ({places})"), vec!["7".to_string(); n])
        }
        1 => ("select length($1::text || $1::text)".into(), vec!["x".repeat(n * 200)]),
        2 => ("select $1::json".into(), vec![around(n, "[", "1", "]")]),
        3 => ("select $1::int[]".into(), vec![around(n, "{", "1", "}")]),
        _ => {
            let length = (n as u64) << rng.below(24);
            ("select repeat('x', $1::text::int)".into(), vec![length.to_string()])
        }
    };
    Hostile::Extended(text, values)
}
