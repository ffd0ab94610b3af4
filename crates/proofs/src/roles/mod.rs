//! Does a role ever do what it may not, or is it refused what it may?
//!
//! Random statements by random roles ([`statements`]) run in the real server and in a PostgreSQL 15 next to it: changes
//! of roles, memberships, grants and their options, defaults, owners and names, everything that makes and drops objects,
//! and statements that read and write rows, alone and in transactions that are rolled back. After each statement the
//! outcomes are compared: the tag and rows, or the SQLSTATE. Now and then everything that the systems say about rights
//! is compared: has_*_privilege of every role and object, owners, access lists, members ([`questions`]).
//!
//! What is allowed here and refused there is an *escape*, the other way round a *refusal*; both end a seed, for the two
//! worlds part from there on. Which of two errors is met first is counted, and no finding. PostgreSQL is the only model of rights: [`world`] knows
//! which names there are, so that statements meet something. One thread: statements come one after the other.

pub mod questions;
pub mod statements;
pub mod world;

use std::collections::BTreeMap;

use onlap_base::Rng;
use onlap_testkit::simple::{Outcome, SimpleClient};

use crate::served::{Postgres, Served};
use crate::{Counts, Verdict};
use statements::Drawn;
use world::World;

/// Statements of a seed.
const STATEMENTS: usize = 2_000;
/// After this number of statements everything that is said about rights is compared.
const ASK_EVERY: usize = 100;
/// Memory of the server.
const MEMORY: &str = "128MiB";
/// The superuser that begins.
const POSTGRES: &str = "postgres";

/// A control: a fault on purpose, rights that only one of the two systems gives, which the rig must find; or none
/// at all, and nothing to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// A role is a superuser in Onlap alone.
    TooMuch,
    /// A role is a superuser in PostgreSQL alone.
    TooLittle,
    /// A table's grant that no statement may meet is in Onlap alone.
    Unspent,
    /// A second PostgreSQL stands in for Onlap: what differs is the rig's own noise.
    Itself,
}

/// Runs a seed.
///
/// # Errors
/// What was found.
pub fn run(seed: u64) -> Verdict {
    run_with(seed, STATEMENTS, None)
}

/// Runs this number of statements of a seed, with a control's fault halfway.
///
/// # Errors
/// What was found.
pub fn run_with(seed: u64, statements: usize, control: Option<Control>) -> Verdict {
    let mut pair = Pair::start(control == Some(Control::Itself))?;
    let mut rng = Rng::new(seed);
    let mut world = World::default();
    for sql in statements::first(&mut world) {
        pair.both(POSTGRES, &sql)?;
    }
    for number in 0..statements {
        if number == statements / 2
            && let Some(fault) = control
        {
            pair.plant(fault, &world)?;
        }
        let drawn = statements::draw(&mut rng, &mut world);
        pair.step(&mut world, &drawn)?;
        if number % ASK_EVERY == ASK_EVERY - 1 && !world.in_block() {
            pair.ask(&world)?;
        }
    }
    if let Judged::Onlap(served) = &mut pair.judged {
        served.lives()?;
    }
    Ok(pair.counts)
}

/// Who is judged.
enum Judged {
    Onlap(Served),
    Postgres(Postgres),
}

/// Both systems, with a connection per role in each.
struct Pair {
    judged: Judged,
    postgres: Postgres,
    clients: BTreeMap<String, [SimpleClient; 2]>,
    counts: Counts,
}

impl Pair {
    fn start(itself: bool) -> Result<Pair, String> {
        let judged = match itself {
            true => Judged::Postgres(Postgres::start()),
            false => Judged::Onlap(Served::start(&["--memory-limit", MEMORY, "--sync", "os"])?),
        };
        let postgres = Postgres::start();
        Ok(Pair { judged, postgres, clients: BTreeMap::new(), counts: Counts::default() })
    }

    fn ports(&self) -> [u16; 2] {
        let ours = match &self.judged {
            Judged::Onlap(served) => served.port(),
            Judged::Postgres(postgres) => postgres.port(),
        };
        [ours, self.postgres.port()]
    }

    /// The connections of a role, or why there are none; the same reason in both.
    fn connect(&mut self, role: &str) -> Result<Option<&mut [SimpleClient; 2]>, String> {
        if !self.clients.contains_key(role) {
            let connected = self.ports().map(|port| SimpleClient::connect(port, role, POSTGRES));
            match connected {
                [Ok(ours), Ok(theirs)] => {
                    self.clients.insert(role.to_string(), [ours, theirs]);
                }
                [Err(_), Err(_)] => return Ok(None),
                [ours, theirs] => {
                    return Err(format!(
                        "{role} connects to one alone: Onlap {:?}, PostgreSQL {:?}",
                        ours.err(),
                        theirs.err()
                    ));
                }
            }
        }
        Ok(self.clients.get_mut(role))
    }

    /// Runs a text in both.
    fn both(&mut self, role: &str, sql: &str) -> Result<Option<[Outcome; 2]>, String> {
        let Some([ours, theirs]) = self.connect(role)? else { return Ok(None) };
        let lost = |e: std::io::Error| format!("{role}: {sql}: the connection ended: {e}");
        let theirs = theirs.run(sql).map_err(|e| format!("PostgreSQL, {}", lost(e)))?;
        let ours = ours.run(sql).map_err(lost)?;
        Ok(Some([ours, theirs]))
    }

    fn step(&mut self, world: &mut World, drawn: &Drawn) -> Result<(), String> {
        let Some([ours, theirs]) = self.both(&drawn.role, &drawn.sql)? else {
            // The role has gone; what it was to do is not done.
            world.note(drawn, false);
            return Ok(());
        };
        self.counts.add("statements of roles", 1);
        match theirs.state() {
            "" => self.counts.add("allowed", 1),
            "42501" => self.counts.add("refused for lack of rights", 1),
            _ => self.counts.add("refused otherwise", 1),
        }
        let (done, may) = (theirs.error.is_none(), ours.error.is_none());
        let kind = match (may, done) {
            (true, false) => "an escape",
            (false, true) => "a refusal",
            // Which of two errors comes first changes nothing, and is a figure.
            (false, false) if ours.state() != theirs.state() => {
                self.counts.add("refused with another error", 1);
                ""
            }
            (true, true) if ours.tags != theirs.tags => "another tag",
            (true, true) if drawn.rows && sorted(&ours) != sorted(&theirs) => "other rows",
            _ => "",
        };
        if !kind.is_empty() {
            return Err(format!(
                "{kind}: {}: {}: Onlap {}, PostgreSQL {}",
                drawn.role,
                drawn.sql,
                said(&ours),
                said(&theirs)
            ));
        }
        world.note(drawn, done);
        if drawn.disconnects && done {
            self.clients.clear();
        }
        Ok(())
    }

    /// Compares everything that is said about rights.
    fn ask(&mut self, world: &World) -> Result<(), String> {
        // The role that is called postgres at the moment.
        self.both(POSTGRES, "RESET SESSION AUTHORIZATION; RESET ROLE")?;
        for sql in questions::all(world) {
            let Some([ours, theirs]) = self.both(POSTGRES, &sql)? else { continue };
            self.counts.add("answers about rights", theirs.rows.len() as u64);
            if ours.error.is_some() || theirs.error.is_some() || sorted(&ours) != sorted(&theirs) {
                let (ours, theirs) = (only(&ours, &theirs), only(&theirs, &ours));
                return Err(format!(
                    "{sql}\n  only Onlap says {ours}\n  only PostgreSQL says {theirs}"
                ));
            }
        }
        Ok(())
    }

    fn plant(&mut self, fault: Control, world: &World) -> Result<(), String> {
        let victim = world.roles().last().cloned().unwrap_or_else(|| POSTGRES.into());
        let (side, sql) = match fault {
            Control::TooMuch => (0, format!("ALTER ROLE {victim} SUPERUSER")),
            Control::TooLittle => (1, format!("ALTER ROLE {victim} SUPERUSER")),
            Control::Unspent => (0, format!("GRANT TRIGGER ON {} TO {victim}", world::UNSPENT)),
            Control::Itself => return Ok(()),
        };
        let clients = self.connect(POSTGRES)?.expect("postgres connects");
        let outcome = clients[side].run(&sql).map_err(|e| e.to_string())?;
        assert_eq!(outcome.error, None, "the fault {sql} can be planted");
        Ok(())
    }
}

fn sorted(outcome: &Outcome) -> Vec<Vec<Option<String>>> {
    let mut rows = outcome.rows.clone();
    rows.sort();
    rows
}

fn said(outcome: &Outcome) -> String {
    match &outcome.error {
        Some((state, text)) => format!("{state} ({text}) {}", outcome.detail),
        None => format!("{} {:?}", outcome.tags.join(", "), outcome.rows),
    }
}

/// What only the first of two says.
fn only(a: &Outcome, b: &Outcome) -> String {
    match &a.error {
        Some((state, text)) => format!("{state} ({text})"),
        None => {
            let extra: Vec<_> = a.rows.iter().filter(|r| !b.rows.contains(r)).take(5).collect();
            format!("{extra:?}")
        }
    }
}
