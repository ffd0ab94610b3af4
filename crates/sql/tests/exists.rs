//! Does EXISTS give PostgreSQL's answers, whatever its conditions name of the queries around it?
//!
//! A seed draws EXISTS and NOT EXISTS over tables with NULLs and equal values, at many places of a query: with equalities of
//! expressions, and other conditions on rows of both sides. Enough rows ask that most are answered by keys
//! (`onlap_query::semi`). The judge is a private PostgreSQL 15 (a Debian package).

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use onlap_base::Rng;
use onlap_testkit::postgres::NEEDED;
use onlap_testkit::programs;
use support::Fixture;

/// Statements of a seed.
const STATEMENTS: usize = 250;

const TABLES: &str = "
create table o (id int, a int, b bigint, s smallint, n numeric, t text)
insert into o select g, nullif(g % 7, 3), nullif(g % 11, 5), g % 5, nullif(g % 6, 2) * 1.50, nullif('t' || g % 4, 't2') from generate_series(1, 60) g
create table p (id int, a int, b bigint, s smallint, n numeric, t text)
insert into p select g, nullif(g % 5, 1), nullif(g % 13, 6), g % 3, nullif(g % 9, 4) * 1.5, nullif('t' || g % 6, 't3') from generate_series(1, 80) g
create table r (id int, a int, b bigint)
insert into r select g, nullif(g % 8, 7), g % 4 from generate_series(1, 30) g
create table none (id int, a int, b bigint, s smallint, n numeric, t text)
create index on p (a)
create view w as select id + 1 as id, a, b, s, n, t from p where s < 2
analyze";

struct Draw {
    rng: Rng,
}

impl Draw {
    /// An integer of a relation's row, or of one of several.
    fn int(&mut self, of: &[&str], depth: usize) -> String {
        if depth > 0 && self.rng.chance(0.35) {
            let (one, other) = (self.int(of, depth - 1), self.int(of, depth - 1));
            return match self.rng.below(5) {
                0 => format!("({one} + {other})"),
                1 => format!("({one} % 3)"),
                2 => format!("coalesce({one}, {other})"),
                3 => format!("case when {one} > {other} then {one} else 2 end"),
                _ => format!("greatest({one}, {other})"),
            };
        }
        let relation = *self.rng.pick(of);
        format!("{relation}.{}", self.rng.pick(&["id", "a", "b"]))
    }

    fn equality(&mut self, own: &str, outer: &str) -> String {
        let of = match self.rng.below(8) {
            0 => (format!("{own}.t"), format!("{outer}.t")),
            1 => (format!("{own}.n"), format!("{outer}.n")),
            2 => (format!("lower({own}.t)"), format!("{outer}.t || ''")),
            3 => (format!("{own}.s"), format!("{outer}.s")),
            4 => (format!("{own}.a"), format!("{outer}.a + 1")),
            _ => (self.int(&[own], 1), self.int(&[outer], 1)),
        };
        if self.rng.chance(0.5) {
            format!("{} = {}", of.0, of.1)
        } else {
            format!("{} = {}", of.1, of.0)
        }
    }

    /// A condition on rows of both.
    fn condition(&mut self, own: &str, outer: &str) -> String {
        let both = [own, outer];
        let (one, other) = (self.int(&both, 1), self.int(&both, 1));
        match self.rng.below(9) {
            0 => format!("{one} < {other}"),
            1 => format!("{one} <> {other}"),
            2 => format!("{one} between {other} and {other} + 4"),
            3 => format!("({one} = {other} or {own}.t is null)"),
            4 => format!("{one} is distinct from {other}"),
            5 => format!("{own}.t || {outer}.t like '%1%'"),
            6 => format!("{outer}.id % 3 = 1"),
            7 => format!("{one} in ({other}, 3, null)"),
            _ => format!("not ({one} > {other} and {own}.n > {outer}.n)"),
        }
    }

    fn exists(&mut self, outer: &str, depth: usize) -> String {
        let not = if self.rng.chance(0.4) { "not " } else { "" };
        let name = format!("x{depth}");
        let relation =
            *self.rng.pick(&["p", "p", "o", "w", "none", "(select * from p where id > 9)"]);
        let mut from = format!("{relation} {name}");
        match self.rng.below(6) {
            0 => from += &format!(" join r on r.a = {name}.a"),
            1 => from += &format!(" left join r on r.id = {name}.id and r.b > 1"),
            2 => from += " join r using (id, b)",
            _ => {}
        }
        let mut parts = vec![self.equality(&name, outer)];
        while self.rng.chance(0.5) {
            parts.push(self.equality(&name, outer));
        }
        while self.rng.chance(0.6) {
            parts.push(self.condition(&name, outer));
        }
        if self.rng.chance(0.3) {
            parts.push(format!("{name}.id > 20"));
        }
        if depth > 0 && self.rng.chance(0.3) {
            parts.push(self.exists(&name, depth - 1));
        }
        self.rng.shuffle(&mut parts);
        format!(
            "{not}exists (select {} from {from} where {})",
            self.rng.pick(&["1", "", "*"]),
            parts.join(" and ")
        )
    }

    fn statement(&mut self) -> String {
        let exists = self.exists("o", 2);
        match self.rng.below(8) {
            0 => format!("select id, {exists} as e from o order by id"),
            1 => format!("select a, count(*) filter (where {exists}) from o group by a order by a"),
            2 => format!("select id, case when {exists} then a else b end from o order by id"),
            3 => {
                let exists = self.exists("q", 1);
                format!(
                    "select q.a, q.b from (select a, max(id) as id, max(b) as b, max(s) as s, max(n) as n, max(t) as t from o group by a) q where {exists} order by 1, 2"
                )
            }
            4 => "select a, max(id) from o group by a having exists (select 1 from p where p.a = max(o.b) and p.b > o.a and p.id > min(o.id)) order by a".to_string(),
            5 => format!(
                "select o.id, r.id from o left join r on r.a = o.a and {exists} order by 1, 2"
            ),
            6 => {
                let exists = self.exists("l", 1);
                format!(
                    "select o.id, l.a from o, lateral (select o.* limit 1) l where {exists} order by 1, 2"
                )
            }
            _ => format!("select id from o where id <> 7 and {exists} order by id"),
        }
    }
}

#[test]
fn random_exists_gives_its_rows() {
    if !programs::are_there(&NEEDED) {
        return;
    }
    onlap_testkit::for_seeds("exists", 1, |rng| {
        let mut draw = Draw { rng };
        let mut script: Vec<String> = TABLES.lines().map(str::to_string).collect();
        script.extend((0..STATEMENTS).map(|_| draw.statement()));
        let failed = std::cell::Cell::new(0);
        let differ = compared::differences(script.iter().map(|line| &**line), "", |outcome| {
            failed.set(failed.get() + usize::from(outcome.error.is_some()));
            format!("{:?} {:?} {:?}", outcome.tags, outcome.error, outcome.rows)
        });
        assert!(differ.is_empty(), "{}", differ.join("\n"));
        assert!(failed.get() * 20 < script.len(), "most statements are to give rows");
    });
}

/// What the seeds do not draw.
const MORE: &str = "
select id from o where exists (select from o x where x.a = o.a and x.ctid < o.ctid) order by id
select id from o where not exists (select from o x where x.a = o.a and x.tableoid = o.tableoid and x.id > o.id) order by id
with recursive r(i) as (select 0 union all select i + 1 from r where i < 70 and exists (select from p where p.id = r.i + 1 and p.s >= r.i - r.i)) select count(*) from r
with recursive r(i, j) as (select id, 0 from o union all select i, j + 1 from r where j < 5 and exists (select from p where p.a = r.i % 5 and p.id > r.j)) select count(*), sum(i) from r
select count(*) from o, p where exists (select from r where r.b = o.a and r.id > p.a + 20)
select count(*) from o, generate_series(1, 50) g where exists (select from p where p.a = o.a and p.b > o.b + g % 3)
delete from o where exists (select from o x where x.a = o.a and x.b = o.b and x.ctid < o.ctid)
select count(*), sum(id) from o
update o set s = 9 where exists (select from p where p.a = o.a and p.b > o.b)
select count(*) from o where s = 9";

#[test]
fn places_rounds_and_values_that_come_again_are_as_there() {
    if programs::are_there(&NEEDED) {
        compared::compare(&format!("{TABLES}{MORE}"));
    }
}

#[test]
fn a_row_more_is_found() {
    if !programs::are_there(&NEEDED) {
        return;
    }
    let query =
        "select count(*) from o where exists (select from p where p.a = o.a + 1 and p.b > o.b)";
    let script = TABLES.lines().chain([query]);
    let more = "create table if not exists o (id int, a int, b bigint, s smallint, n numeric, t text); insert into o values (0, 3, -1)";
    let rows = |outcome: &onlap_testkit::simple::Outcome| format!("{:?}", outcome.rows);
    assert_eq!(compared::differences(script.clone(), "", rows), Vec::<String>::new());
    assert_eq!(compared::differences(script, more, rows).len(), 1);
}

#[test]
fn a_table_is_read_a_few_times_however_many_rows_ask() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table x (id int, g int, v int)");
    talk.rows("insert into x select i, i % 300, i * 7 % 1001 from generate_series(1, 1500) i");
    for condition in [
        "n.g = x.g and n.v > x.v",
        "n.g = x.g and n.id <> x.id and n.v % 2 = x.v % 2",
        "n.g = x.g + 1",
        "x.g * 2 = n.g * 2 and n.v between x.v and x.v + 9",
    ] {
        for not in ["", "not "] {
            let query = format!(
                "explain analyze select count(*) from x where {not}exists (select from x n where {condition})"
            );
            let plan = talk.lines(&[&query]);
            let read = plan.iter().find_map(|line| line.trim().strip_prefix("Base Rows Read: "));
            let read: u64 = read.expect("the plan counts them").parse().expect("a number");
            assert!((3000..15_000).contains(&read), "{read} rows were read: {query}");
        }
    }
}

#[test]
fn an_error_is_that_of_the_rows_that_are_asked() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table x (id int, g int, v int)");
    talk.rows("insert into x select i, i % 30, i % 7 from generate_series(1, 150) i");
    for (condition, answer) in [
        // No row with a key that is looked for divides by zero, or none before one that is found.
        ("n.g = x.g and n.g <> 5 and 100 / (n.g - 5) > x.v - 1000", "145"),
        ("n.g = 100 / (x.v - 9)", "0"),
    ] {
        let query =
            format!("select count(*) from x where exists (select from x n where {condition})");
        assert_eq!(talk.lines(&[&query]).join(""), answer, "{query}");
    }
    let failing =
        "select count(*) from x where exists (select from x n where n.g = 100 / (x.v - 3))";
    let outcome = talk.run(failing);
    assert_eq!(outcome.error.map(|error| error.0), Some("22012".to_string()));
}
