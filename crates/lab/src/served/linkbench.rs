//! Linkbench: what does a social graph ask of its store?
//!
//! Nodes, links between them, and a count of links per node and type. How many links a node has follows
//! from its number alone ([`shape`]), so that every client knows what is there without asking.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use onlap_base::rng::Rng;
use onlap_base::{Error, ErrorKind, Result};

use super::Stage;
use super::clients::{self, Act, Actor, Until};
use crate::report::RunReport;
use crate::wire::{Dialect, Session, number, table_options};

mod jdbc;
mod operations;
mod shape;

use operations::Mix;
use shape::{Graph, data};

pub(super) const STEPS: [&str; 6] = ["load", "settle", "2013.1", "2013.2", "2017.1", "2017.2"];
/// The first mix over JDBC.
pub(super) const JDBC: [&str; 3] = ["jdbc.1", "jdbc.2", "jdbc.3"];

const TABLES: [&str; 3] = ["linktable", "counttable", "nodetable"];

pub(super) fn run(stage: &Stage<'_>, report: &mut RunReport) -> Result<()> {
    create(stage)?;
    let graph = Graph::new(stage.plan.rows);
    for step in &stage.plan.steps {
        let done = match step.as_str() {
            "load" => stage.measure(step, || load(stage, &graph))?,
            "settle" => stage.settle(&TABLES)?,
            mix => {
                let (year, pass) = mix.split_once('.').expect("steps were checked");
                let mix = if year == "2017" { Mix::Y2017 } else { Mix::Y2013 };
                // Keys of a pass are those of no other.
                let kind = ["2017", "2013", "jdbc"].iter().position(|kind| *kind == year);
                let seed = (kind.unwrap_or(0) as u64) << 8 | pass.parse().unwrap_or(0);
                stage.measure(step, || {
                    if year == "jdbc" {
                        return jdbc::run(stage, &graph, mix, seed);
                    }
                    let until = Until::Seconds(stage.plan.seconds);
                    let make = |_| operations::Client::new(&graph, mix, stage.dialect());
                    clients::run(stage, stage.plan.clients, until, seed, &make)
                })?
            }
        };
        report.steps.push(done);
    }
    check(stage, report)
}

/// The tables, with integer keys; the published schema of PostgreSQL has numeric ones.
fn create(stage: &Stage<'_>) -> Result<()> {
    let serial = stage.dialect().serial();
    let text = if stage.dialect() == Dialect::Mysql { "mediumtext" } else { "text" };
    let options = table_options(stage.kind());
    // Rows in the order of a key of several columns, as the other engines that can keep them.
    let sorted = if stage.dialect() == Dialect::Sqlite { " WITHOUT ROWID" } else { options };
    stage.run(&[
        format!(
            "CREATE TABLE linktable (id1 bigint NOT NULL, id2 bigint NOT NULL, \
             link_type bigint NOT NULL, visibility smallint NOT NULL, data varchar(255) NOT NULL, \
             time bigint NOT NULL, version bigint NOT NULL, PRIMARY KEY (link_type, id1, id2)){sorted}"
        ),
        "CREATE INDEX id1_type ON linktable (id1, link_type, visibility, time, id2, version, data)"
            .to_owned(),
        format!(
            "CREATE TABLE counttable (id bigint NOT NULL, link_type bigint NOT NULL, \
             count int NOT NULL, time bigint NOT NULL, version bigint NOT NULL, \
             PRIMARY KEY (id, link_type)){sorted}"
        ),
        format!(
            "CREATE TABLE nodetable (id {serial} PRIMARY KEY, type int NOT NULL, \
             version bigint NOT NULL, time int NOT NULL, data {text} NOT NULL){options}"
        ),
    ])
}

/// Seconds since 1970.
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as i64
}

/// Loads chunks of ids that clients take in turn.
fn load(stage: &Stage<'_>, graph: &Graph) -> Result<clients::Tally> {
    // Ids of nodes come from a counter: one client loads them in order, before the links.
    let next = AtomicU64::new(1);
    let nodes =
        |_| Loader { graph, next: &next, commit_rows: stage.plan.commit_rows, links: false };
    let mut all = clients::run(stage, 1, Until::Done(graph.ids), 1, &nodes)?;
    let next = AtomicU64::new(1);
    let links = |_| Loader { graph, next: &next, commit_rows: stage.plan.commit_rows, links: true };
    let until = Until::Done(graph.links + graph.counts_in_all());
    all.append(clients::run(stage, stage.plan.clients, until, 2, &links)?);
    Ok(all)
}

struct Loader<'a> {
    graph: &'a Graph,
    next: &'a AtomicU64,
    commit_rows: usize,
    links: bool,
}

impl Actor for Loader<'_> {
    fn act(&mut self, session: &mut dyn Session, rng: &mut Rng) -> Result<Option<Act>> {
        let ids =
            if self.links { self.commit_rows as u64 / 4 + 1 } else { self.commit_rows as u64 };
        let from = self.next.fetch_add(ids, Relaxed);
        let to = (from + ids).min(self.graph.ids + 1);
        if from >= to {
            return Ok(None);
        }
        let (time, mut rows) = (now(), 0);
        if !self.links {
            let values =
                (from..to).map(|_| format!("(2048, 0, {time}, '{}')", data(rng, 168, 0.6)));
            let values = values.collect::<Vec<_>>().join(",");
            let into = "INSERT INTO nodetable (type, version, time, data) VALUES ";
            session.run(&format!("{into}{values}"))?;
            rows = to - from;
        } else {
            let mut links = Vec::new();
            let mut counts = Vec::new();
            for id1 in from..to {
                for (link_type, count) in self.graph.counts(id1) {
                    counts.push(format!("({id1}, {link_type}, {count}, {time}, 0)"));
                }
                for nth in 0..self.graph.degree(id1) {
                    let (link_type, id2) = self.graph.link(id1, nth);
                    let data = data(rng, 23, 0.3);
                    links.push(format!("({id1}, {id2}, {link_type}, 1, '{data}', {time}, 0)"));
                }
            }
            for (into, values) in [("linktable", &links), ("counttable", &counts)] {
                for part in values.chunks(self.commit_rows) {
                    session.run(&format!("INSERT INTO {into} VALUES {}", part.join(",")))?;
                    rows += part.len() as u64;
                }
            }
        }
        Ok(Some(Act { rows, ..Act::of(if self.links { "links" } else { "nodes" }) }))
    }
}

/// Counts that stand next to the links are right, whatever ran at once.
fn check(stage: &Stage<'_>, report: &mut RunReport) -> Result<()> {
    let mut session = stage.session()?;
    let whole = stage.dialect().whole();
    let visible = "SELECT count(*) FROM linktable WHERE visibility = 1";
    let counted = format!("SELECT CAST(COALESCE(sum(count), 0) AS {whole}) FROM counttable");
    let links = number(&mut *session, visible, &[])?;
    let counts = number(&mut *session, &counted, &[])?;
    if links != counts {
        let text = format!("{links} links are visible, the counts add up to {counts}");
        return Err(Error::new(ErrorKind::Corruption, text));
    }
    report.answers.insert("visible links".into(), links);
    Ok(())
}
