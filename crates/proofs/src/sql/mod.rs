//! Does a statement ever mean something else than in PostgreSQL?
//!
//! Random tables with random rows ([`world`]), random statements over everything that Onlap offers ([`offer`], [`expr`],
//! [`gather`], [`from`], [`query`], [`change`]) run in the real server and in a PostgreSQL 15 next to it; the answers must be the
//! same ([`judge`]), except for what is [`accepted`]. What differs is made as small as it gets ([`mod@reduce`]). Between statements
//! queries are held against themselves ([`logic`]).
//!
//! A seed goes on after a finding and tells all of them, each shape once. What Onlap alone refuses with 0A000 is a finding in every
//! mode, unless [`accepted`] names its words and says why. Which of several errors is met, or whether one is that nothing needs, follows no rule: where each value alone
//! gives the same in both, that is counted too. One thread.

pub mod accepted;
mod change;
mod expr;
mod from;
mod gather;
pub mod judge;
pub mod logic;
mod maker;
pub mod offer;
mod query;
pub mod reduce;
pub mod tree;
pub mod values;
pub mod world;

use std::collections::BTreeMap;

use onlap_base::Rng;

use crate::{Counts, Rig, Verdict};
use judge::{Came, Pair, Statement, TOGETHER};
use logic::Logic;
use maker::Maker;
use offer::Offer;
use reduce::{Reduced, reduce};
use world::World;

/// Longer texts are drawn anew.
const LONGEST: usize = 6_000;
/// After this number of findings of different shapes a seed ends.
const FINDINGS: usize = 40;

/// How much one seed does.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Worlds.
    pub worlds: usize,
    /// Statements in each.
    pub statements: usize,
    /// Whether rows are changed too.
    pub changes: bool,
    /// Whether what differs is made smaller.
    pub reduces: bool,
    /// Whether an error in the place of another error, or of an answer, is a finding; else such are counted.
    pub judges_errors: bool,
}

impl Plan {
    /// What the command does.
    pub const LONG: Plan =
        Plan { worlds: 20, statements: 100, changes: true, reduces: true, judges_errors: true };
}

/// A control: a fault on purpose that the rig must find, or none. A second PostgreSQL stands in for Onlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Nothing is planted: what differs is the rig's own noise.
    Itself,
    /// A value of an answer is another.
    OneValue,
    /// A row of an answer is missing.
    OneRow,
    /// A type's modifier is another.
    OneType,
    /// An error has another SQLSTATE.
    OneState,
    /// An error is an internal one.
    Internal,
    /// What is answered is refused as what is not served.
    Unserved,
    /// A part of a query is missing.
    Logic,
}

/// The rig without changes of rows.
pub const QUERIES: Rig = Rig { name: "sql", run: run_queries };

/// The rig that counts errors which differ, and finds answers that do.
pub const ANSWERS: Rig = Rig { name: "sql", run: run_answers };

/// Runs a seed.
///
/// # Errors
/// What was found.
pub fn run(seed: u64) -> Verdict {
    run_with(seed, Plan::LONG, None)
}

/// Runs a seed, queries alone.
///
/// # Errors
/// What was found.
pub fn run_queries(seed: u64) -> Verdict {
    run_with(seed, Plan { changes: false, ..Plan::LONG }, None)
}

/// Runs a seed: an error in the place of another error, or of an answer, is counted.
///
/// # Errors
/// What was found.
pub fn run_answers(seed: u64) -> Verdict {
    run_with(seed, Plan { judges_errors: false, ..Plan::LONG }, None)
}

/// Runs a seed to some extent, with the fault of a control.
///
/// # Errors
/// What was found.
pub fn run_with(seed: u64, plan: Plan, control: Option<Control>) -> Verdict {
    let mut run = Run {
        pair: Pair::start(control)?,
        offer: Offer::new(),
        plan,
        control,
        counts: Counts::default(),
        findings: BTreeMap::new(),
    };
    let mut rng = Rng::new(seed);
    for _ in 0..plan.worlds {
        let world = World::draw(&mut rng);
        run.pair.make(&world)?;
        let mut left = plan.statements;
        while left > 0 {
            left -= run.steps(&mut rng, &world, left)?;
            if run.findings.len() >= FINDINGS {
                return run.verdict();
            }
        }
    }
    run.verdict()
}

/// A seed under way.
struct Run {
    pair: Pair,
    offer: Offer,
    plan: Plan,
    control: Option<Control>,
    counts: Counts,
    /// By shape: how often, and the first.
    findings: BTreeMap<String, (usize, String)>,
}

impl Run {
    /// Some steps, and how many.
    fn steps(&mut self, rng: &mut Rng, world: &World, most: usize) -> Result<usize, String> {
        let (mut statements, mut bytes, mut steps) = (Vec::new(), 0, 0);
        while steps < most && bytes + LONGEST < TOGETHER {
            steps += 1;
            if rng.chance(0.1) {
                self.logic(rng, world);
                continue;
            }
            let statement = self.draw(rng, world);
            bytes += statement.tree.text().len();
            statements.push(statement);
        }
        let came = self.pair.differ_all(&statements)?;
        for (statement, came) in statements.into_iter().zip(came) {
            self.counts.add("statements", 1);
            self.judge(world, statement, came)?;
        }
        Ok(steps)
    }

    fn judge(&mut self, world: &World, statement: Statement, came: Came) -> Result<(), String> {
        let (kind, said) = match came {
            Came::Same => return self.count("answered alike"),
            Came::Refused => return self.count("refused alike"),
            Came::WrittenOtherwise => return self.count("written otherwise"),
            Came::NotServed => return self.count("not served"),
            Came::TooMuch => return self.count("too much for one"),
            Came::Differs(kind, said) => (kind, said),
        };
        let found = Reduced { kind, statement, said, world: world.clone() };
        // Errors that are counted alone are not made small: they are most of what differs.
        let reduces = self.plan.reduces && (self.plan.judges_errors || !found.is_of_errors());
        let found = if reduces { reduce(&mut self.pair, found)? } else { found };
        self.note(&found)
    }

    fn count(&mut self, what: &'static str) -> Result<(), String> {
        self.counts.add(what, 1);
        Ok(())
    }

    fn is_order(&mut self, found: &Reduced) -> Result<bool, String> {
        Ok(found.has_its_errors(&mut self.pair)?
            || found.may_be_order() && !found.differs_alone(&mut self.pair)?)
    }

    fn draw(&self, rng: &mut Rng, world: &World) -> Statement {
        loop {
            let mut maker = Maker::new(rng, &self.offer, world);
            let (tree, changes) = match self.plan.changes && maker.rng.chance(0.15) {
                true => {
                    let (tree, table) = maker.change();
                    (tree, Some(table))
                }
                false => (maker.statement(), None),
            };
            if tree.text().len() < LONGEST {
                return Statement { tree, changes };
            }
        }
    }

    fn note(&mut self, found: &Reduced) -> Result<(), String> {
        if accepted::covers(found).is_some() {
            self.counts.add("accepted differences", 1);
        } else if self.is_order(found)? {
            self.counts.add("errors in another order", 1);
        } else if !self.plan.judges_errors && found.is_of_errors() {
            println!("sql: an error that differs:\n{}", found.script());
            self.counts.add("errors that differ", 1);
        } else {
            let told = self.findings.entry(found.shape()).or_insert_with(|| (0, found.script()));
            told.0 += 1;
        }
        Ok(())
    }

    fn logic(&mut self, rng: &mut Rng, world: &World) {
        match logic::check(&mut self.pair, rng, &self.offer, world, self.control) {
            Logic::Holds => self.counts.add("checks without PostgreSQL", 1),
            Logic::Refused => self.counts.add("checks that are refused", 1),
            Logic::Broken(text) => {
                let script = world.script().join(";\n");
                self.findings.insert(
                    text.clone(),
                    (1, format!("{script};\ndisagrees with itself:\n{text}\n")),
                );
            }
        }
    }

    fn verdict(self) -> Verdict {
        if self.findings.is_empty() {
            return Ok(self.counts);
        }
        let told: Vec<String> = self
            .findings
            .values()
            .map(|(often, script)| format!("-- {often} times\n{script}"))
            .collect();
        Err(format!("{} findings; {}\n{}", told.len(), self.counts, told.join("\n")))
    }
}
