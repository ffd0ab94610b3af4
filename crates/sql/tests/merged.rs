//! Do random queries within queries give the rows that PostgreSQL gives?
//!
//! A seed draws queries of queries in FROM, LATERAL, views, WITH, joins with names of their own, set operations and groups, whose
//! expressions name columns of any query around them: what merging and moving of conditions (`onlap_pg::reach`) could name wrong.
//! None of them fails, so each must give the rows of a private PostgreSQL 15 (a Debian package). A row more is found.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use onlap_base::Rng;
use onlap_testkit::postgres::NEEDED;
use onlap_testkit::programs;

/// Statements of a seed.
const STATEMENTS: usize = 400;
/// Bytes of a statement, at most.
const LONGEST: usize = 2500;

const TABLES: &str = "
create table t (a int, b int)
create table u (a int, b int)
create table e (a int, b int)
insert into t values (0, 1), (1, 2), (2, null), (null, 3), (3, 3), (1, 0)
insert into u values (1, 1), (2, 0), (3, null), (null, null), (4, 2)
create view v as select a + 1 a, b from t where b > 0
create view g as select a, max(b) b from u group by a
create view j as select x.a, y.b from t x left join u y on x.a = y.a";

struct Draw {
    rng: Rng,
    names: usize,
    /// Relations of two columns, a and b.
    relations: Vec<String>,
    /// Columns by the query that they are of, the innermost last; and whether they are of what stands left of it in FROM, which
    /// LATERAL alone sees.
    scopes: Vec<(Vec<String>, bool)>,
}

/// An item of FROM, and its columns.
type Item = (String, Vec<String>);

impl Draw {
    fn new(rng: Rng) -> Draw {
        let relations = ["t", "u", "e", "v", "g", "j"].map(str::to_string).to_vec();
        Draw { rng, names: 0, relations, scopes: Vec::new() }
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("x{}", self.names)
    }

    fn column(&mut self) -> Option<String> {
        let mut at = self.scopes.len().checked_sub(1)?;
        while at > 0 && self.rng.chance(0.35) {
            at -= 1;
        }
        let scope = &self.scopes[at].0;
        (!scope.is_empty()).then(|| self.rng.pick(scope).clone())
    }

    fn expr(&mut self, depth: usize) -> String {
        if depth > 0 && self.rng.chance(0.45) {
            let (one, other) = (self.expr(depth - 1), self.expr(depth - 1));
            return match self.rng.below(7) {
                0 => format!("({one} + {other})"),
                1 => format!("coalesce({one}, {other})"),
                2 => format!("greatest({one}, {other})"),
                3 => format!("case when {} then {one} else {other} end", self.condition(depth - 1)),
                4 => format!("nullif({one}, {other})"),
                5 => self.value_of_query(depth - 1, "max"),
                _ => self.value_of_query(depth - 1, "count"),
            };
        }
        match self.column() {
            Some(column) if self.rng.chance(0.85) => column,
            _ => (*self.rng.pick(&["0", "1", "2", "3", "null::int"])).to_string(),
        }
    }

    /// An aggregate of the query's own rows.
    fn value_of_query(&mut self, depth: usize, aggregate: &str) -> String {
        let (from, columns) = self.from(depth);
        let of = self.rng.pick(&columns).clone();
        self.scopes.push((columns, false));
        let filter = self.filter(depth);
        self.scopes.pop();
        format!("(select {aggregate}({of})::int from {from}{filter})")
    }

    fn condition(&mut self, depth: usize) -> String {
        if depth > 0 && self.rng.chance(0.4) {
            return match self.rng.below(5) {
                0 => format!("({} and {})", self.condition(depth - 1), self.condition(depth - 1)),
                1 => format!("({} or {})", self.condition(depth - 1), self.condition(depth - 1)),
                2 => format!("not {}", self.condition(depth - 1)),
                3 => format!("exists ({})", self.query(1, depth - 1)),
                _ => format!("{} in ({})", self.expr(depth - 1), self.query(1, depth - 1)),
            };
        }
        let (one, other) = (self.expr(depth / 2), self.expr(depth / 2));
        match self.rng.below(6) {
            0 => format!("{one} is null"),
            1 => format!("{one} is distinct from {other}"),
            2 => format!("{one} < {other}"),
            3 => format!("{one} <> {other}"),
            _ => format!("{one} = {other}"),
        }
    }

    fn filter(&mut self, depth: usize) -> String {
        match self.rng.chance(0.6) {
            true => format!(" where {}", self.condition(depth)),
            false => String::new(),
        }
    }

    fn from(&mut self, depth: usize) -> Item {
        let (mut text, mut columns) = self.item(depth, false);
        if depth > 0 && self.rng.chance(0.3) {
            self.scopes.push((columns.clone(), true));
            let (more, of_it) = self.item(depth - 1, true);
            self.scopes.pop();
            text = format!("{text}, {more}");
            columns.extend(of_it);
        }
        (text, columns)
    }

    /// Has something drawn where what stands left of it in FROM is not seen.
    fn hidden<T>(&mut self, draw: impl FnOnce(&mut Draw) -> T) -> T {
        let seen = self.scopes.iter().rposition(|scope| !scope.1).map_or(0, |at| at + 1);
        let hidden = self.scopes.split_off(seen);
        let made = draw(self);
        self.scopes.extend(hidden);
        made
    }

    /// `lateral`: something stands left of it that it may see.
    fn item(&mut self, depth: usize, lateral: bool) -> Item {
        if depth > 0 && self.rng.chance(0.35) {
            return self.join(depth - 1);
        }
        let name = self.name();
        let columns = vec![format!("{name}.a"), format!("{name}.b")];
        let text = match self.rng.below(4) {
            0 | 1 if depth > 0 => {
                let word = if lateral && self.rng.chance(0.8) { "lateral " } else { "" };
                let query = match word.is_empty() {
                    true => self.hidden(|draw| draw.query(2, depth - 1)),
                    false => {
                        let before = self.scopes.clone();
                        self.scopes.iter_mut().for_each(|scope| scope.1 = false);
                        let query = self.query(2, depth - 1);
                        self.scopes = before;
                        query
                    }
                };
                format!("{word}({query}) {name}(a, b)")
            }
            0 => format!("(values (1, 2), ({}, 3)) {name}(a, b)", self.rng.below(4)),
            _ => format!("{} {name}", self.rng.pick(&self.relations).clone()),
        };
        (text, columns)
    }

    fn join(&mut self, depth: usize) -> Item {
        let kind = *self.rng.pick(&["join", "left join", "right join", "full join", "cross join"]);
        let (left, mut columns) = self.item(depth, false);
        let lateral = matches!(kind, "join" | "left join" | "cross join");
        let (right, of_right) = match lateral {
            true => {
                self.scopes.push((columns.clone(), true));
                let item = self.item(depth, true);
                self.scopes.pop();
                item
            }
            false => self.item(depth, false),
        };
        let on = match kind {
            "cross join" => String::new(),
            "full join" => {
                format!(" on {} = {}", self.rng.pick(&columns), self.rng.pick(&of_right))
            }
            _ => {
                let both = [&columns[..], &of_right[..]].concat();
                self.hidden(|draw| {
                    draw.scopes.push((both, false));
                    let on = format!(" on {}", draw.condition(depth));
                    draw.scopes.pop();
                    on
                })
            }
        };
        columns.extend(of_right);
        let text = format!("({left} {kind} {right}{on})");
        if self.rng.chance(0.5) {
            return (text, columns);
        }
        let name = self.name();
        let names: Vec<String> = (0..columns.len()).map(|at| format!("c{at}")).collect();
        let columns = names.iter().map(|column| format!("{name}.{column}")).collect();
        (format!("{text} as {name}({})", names.join(", ")), columns)
    }

    fn query(&mut self, columns: usize, depth: usize) -> String {
        if depth > 0 && self.rng.chance(0.15) {
            let word = *self.rng.pick(&["union all", "union", "except", "intersect"]);
            let (one, other) = (self.query(columns, depth - 1), self.query(columns, depth - 1));
            return format!("({one}) {word} ({other})");
        }
        if depth > 0 && self.rng.chance(0.1) {
            let (name, word) =
                (self.name(), *self.rng.pick(&["", "materialized ", "not materialized "]));
            let with = self.query(2, depth - 1);
            self.relations.push(name.clone());
            let query = self.query(columns, depth - 1);
            self.relations.pop();
            return format!("with {name}(a, b) as {word}({with}) ({query})");
        }
        let (from, own) = self.from(depth);
        self.scopes.push((own.clone(), false));
        let filter = self.filter(depth);
        let made = match self.rng.below(10) {
            0 | 1 => self.grouped(columns, depth, &own, &from, &filter),
            2 => format!("select distinct {} from {from}{filter}", self.targets(columns, depth)),
            3 => {
                let by: Vec<String> = (1..=columns).map(|at| at.to_string()).collect();
                let (targets, by) = (self.targets(columns, depth), by.join(", "));
                format!(
                    "select {targets} from {from}{filter} order by {by} limit {}",
                    1 + self.rng.below(3)
                )
            }
            4 => {
                let of = self.rng.pick(&own).clone();
                let rest = self.targets(columns - 1, depth);
                let comma = if columns > 1 { ", " } else { "" };
                format!(
                    "select (count(*) over (partition by {of}))::int{comma}{rest} from {from}{filter}"
                )
            }
            _ => format!("select {} from {from}{filter}", self.targets(columns, depth)),
        };
        self.scopes.pop();
        made
    }

    fn grouped(
        &mut self,
        columns: usize,
        depth: usize,
        own: &[String],
        from: &str,
        filter: &str,
    ) -> String {
        let (key, of) = (self.rng.pick(own).clone(), self.rng.pick(own).clone());
        let mut targets = vec![key.clone(), format!("max({of})")];
        if columns == 1 {
            targets.remove(self.rng.index(2));
        }
        self.scopes.pop();
        self.scopes.push((vec![key.clone()], false));
        let having = match self.rng.chance(0.5) {
            true => format!(" having {}", self.condition(depth / 2)),
            false => String::new(),
        };
        format!("select {} from {from}{filter} group by {key}{having}", targets.join(", "))
    }

    fn targets(&mut self, columns: usize, depth: usize) -> String {
        let all: Vec<String> = (0..columns).map(|_| self.expr(depth)).collect();
        all.join(", ")
    }

    fn statement(&mut self) -> String {
        loop {
            (self.names, self.scopes) = (0, Vec::new());
            let depth = 2 + self.rng.below(3) as usize;
            let text = self.query(2, depth);
            if text.len() <= LONGEST {
                return text;
            }
        }
    }
}

#[test]
fn random_queries_within_queries_give_their_rows() {
    if !programs::are_there(&NEEDED) {
        return;
    }
    onlap_testkit::for_seeds("merged", 1, |rng| {
        let mut draw = Draw::new(rng);
        let mut script: Vec<String> = TABLES.lines().map(str::to_string).collect();
        script.extend((0..STATEMENTS).map(|_| draw.statement()));
        let failed = std::cell::Cell::new(0);
        let differ = compared::differences(script.iter().map(|line| &**line), "", |outcome| {
            failed.set(failed.get() + usize::from(outcome.error.is_some()));
            let mut rows = outcome.rows.clone();
            rows.sort();
            format!("{:?} {:?} {rows:?}", outcome.tags, outcome.error)
        });
        println!("{} of {} answers are errors", failed.get(), 2 * script.len());
        assert!(differ.is_empty(), "{}", differ.join("\n"));
        assert!(failed.get() * 20 < script.len(), "most statements are to give rows");
    });
}

#[test]
fn a_row_more_is_found() {
    if !programs::are_there(&NEEDED) {
        return;
    }
    let script = TABLES.lines().chain(["select x.a from (select a + 1 a from t) x where x.a > 0"]);
    let more = "create table if not exists t (a int, b int); insert into t values (7, 7)";
    let rows = |outcome: &onlap_testkit::simple::Outcome| format!("{:?}", outcome.rows);
    assert_eq!(compared::differences(script.clone(), "", rows), Vec::<String>::new());
    assert_eq!(compared::differences(script, more, rows).len(), 1);
}
