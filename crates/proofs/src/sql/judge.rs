//! What do both systems say, and is it the same?
//!
//! A [`Pair`] has Onlap and a PostgreSQL 15 with the same world. A statement is carried out by both; [`Pair::differ`] names what
//! differs: columns with their names, types and modifiers, rows as a multiset or in their order, the tag, the SQLSTATE.

use std::io;

use onlap_testkit::simple::{Outcome, SimpleClient};

use super::tree::Tree;
use super::world::World;
use super::{Control, accepted};
use crate::served::{Postgres, Served};

/// Memory of the server.
const MEMORY: &str = "512MiB";
const POSTGRES: &str = "postgres";
/// Bytes of statements that are under way at once, at most.
pub const TOGETHER: usize = 32 << 10;
/// A statement that takes longer says nothing.
const PATIENCE: &str = "set statement_timeout = '1s'";
/// Floats that are further apart, relatively, differ.
const NEAR: f64 = 1e-9;
/// The same of four bytes.
const NEAR_REAL: f64 = 1e-4;

/// A statement: what it is, and the table that it changes, if it does.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Its text with parts.
    pub tree: Tree,
    /// The table.
    pub changes: Option<String>,
}

/// In what two answers differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The connection was lost.
    Died,
    /// XX000 and the like.
    Internal,
    /// Other rows, without an error.
    Rows,
    /// Other names of columns.
    Names,
    /// Other types of columns, or modifiers.
    Types,
    /// Another tag.
    Tag,
    /// Onlap alone refuses, with this SQLSTATE.
    Refused(String),
    /// PostgreSQL alone refuses, with this SQLSTATE.
    Accepted(String),
    /// Both refuse: Onlap's SQLSTATE, PostgreSQL's.
    Otherwise(String, String),
}

/// What came of a statement.
#[derive(Clone, Debug)]
pub enum Came {
    /// The same rows.
    Same,
    /// The same error.
    Refused,
    /// Of equal values that are written differently, as 1.0 and 1.00, another one stands for all.
    WrittenOtherwise,
    /// Onlap does not serve it, and the list of what is accepted says why.
    NotServed,
    /// One of them took too long, or all memory it may have.
    TooMuch,
    /// Something differs: what, and what both say.
    Differs(Kind, String),
}

/// What a statement gave: its answer, and then the rows of the table that it changed.
type Given = io::Result<(Outcome, Option<Outcome>)>;

enum Judged {
    Onlap(Served),
    Postgres(Postgres),
}

/// Both systems.
pub struct Pair {
    judged: Judged,
    postgres: Postgres,
    clients: [SimpleClient; 2],
    control: Option<Control>,
    /// Statements so far.
    asked: usize,
}

impl Pair {
    /// Starts both.
    pub fn start(control: Option<Control>) -> Result<Pair, String> {
        let judged = match control {
            Some(_) => Judged::Postgres(Postgres::start()),
            None => Judged::Onlap(Served::start(&["--memory-limit", MEMORY, "--sync", "os"])?),
        };
        let postgres = Postgres::start();
        let clients = [connect(port_of(&judged))?, connect(postgres.port())?];
        Ok(Pair { judged, postgres, clients, control, asked: 0 })
    }

    /// Makes a world in both, after what was there.
    ///
    /// # Errors
    /// It is refused.
    pub fn make(&mut self, world: &World) -> Result<(), String> {
        for sql in world.script() {
            for (side, client) in self.clients.iter_mut().enumerate() {
                let outcome = client.run(&sql).map_err(|e| format!("{sql}: {e}"))?;
                if let Some((state, text)) = outcome.error {
                    return Err(format!("side {side}: {sql}: {state}: {text}"));
                }
            }
        }
        Ok(())
    }

    /// Carries a statement out in both, with fewer rows than the world has: those of a table from one number on are left out.
    pub fn differ(&mut self, statement: &Statement, without: &[String]) -> Result<Came, String> {
        let text = statement.tree.text();
        self.asked += 1;
        let theirs = given(&mut self.clients[1], statement, &text, without)
            .map_err(|e| format!("PostgreSQL: {text}: {e}"))?;
        let ours = given(&mut self.clients[0], statement, &text, without);
        if let Err(e) = &ours {
            let said = format!("the connection was lost: {e}");
            self.revive(&text)?;
            return Ok(Came::Differs(Kind::Died, said));
        }
        let ours = self.altered(ours).expect("it was looked at");
        Ok(compare(&ours, &theirs, statement))
    }

    /// Carries statements out in both, which work on them at the same time. Together their texts are at most
    /// [`TOGETHER`] bytes.
    pub fn differ_all(&mut self, statements: &[Statement]) -> Result<Vec<Came>, String> {
        for client in [1, 0] {
            for statement in statements {
                // A connection that is lost shows when its answer is read.
                let _ = ask(&mut self.clients[client], statement, &statement.tree.text(), &[]);
            }
        }
        let mut came = Vec::with_capacity(statements.len());
        for statement in statements {
            let theirs = answer(&mut self.clients[1], statement, &[]);
            let ours = answer(&mut self.clients[0], statement, &[]);
            let (Ok(_), Ok(theirs)) = (&ours, &theirs) else { break };
            self.asked += 1;
            let ours = self.altered(ours).expect("it was looked at");
            came.push(compare(&ours, theirs, statement));
        }
        if came.len() < statements.len() {
            self.revive("several statements")?;
            for statement in &statements[came.len()..] {
                came.push(self.differ(statement, &[])?);
            }
        }
        Ok(came)
    }

    /// What Onlap alone says.
    pub fn ask(&mut self, text: &str) -> io::Result<Outcome> {
        self.asked += 1;
        self.clients[0].run(text)
    }

    /// A new connection in the place of a lost one.
    pub fn revive(&mut self, text: &str) -> Result<(), String> {
        if let Judged::Onlap(served) = &mut self.judged {
            served.lives().map_err(|e| format!("{e}, at {text}"))?;
        }
        self.clients[0] = connect(port_of(&self.judged))?;
        self.clients[1] = connect(self.postgres.port())?;
        Ok(())
    }

    /// The fault of a control: each answer of one side is a little different.
    fn altered(&self, given: Given) -> Given {
        let (mut outcome, table) = given?;
        match self.control {
            Some(Control::OneValue) => {
                if let Some(value) = outcome.rows.first_mut().and_then(|row| row.first_mut()) {
                    *value = Some("planted".into());
                }
            }
            Some(Control::OneRow) => drop(outcome.rows.pop()),
            Some(Control::OneType) => {
                outcome.modifiers.iter_mut().for_each(|modifier| *modifier = 9);
            }
            Some(Control::OneState) => {
                if let Some(error) = &mut outcome.error {
                    error.0 = "42P99".into();
                }
            }
            Some(Control::Internal) => {
                if let Some(error) = &mut outcome.error {
                    error.0 = "XX000".into();
                }
            }
            Some(Control::Unserved) if outcome.error.is_none() => {
                outcome.error = Some(("0A000".into(), "this clause is not supported".into()));
            }
            Some(Control::Unserved | Control::Itself | Control::Logic) | None => {}
        }
        Ok((outcome, table))
    }

    /// How many statements were carried out.
    pub fn asked(&self) -> usize {
        self.asked
    }
}

fn port_of(judged: &Judged) -> u16 {
    match judged {
        Judged::Onlap(served) => served.port(),
        Judged::Postgres(postgres) => postgres.port(),
    }
}

fn connect(port: u16) -> Result<SimpleClient, String> {
    let mut client = SimpleClient::connect(port, POSTGRES, POSTGRES).map_err(|e| e.to_string())?;
    client.run(PATIENCE).map_err(|e| e.to_string())?;
    Ok(client)
}

/// Carries it out; what it changed is looked at and rolled back.
fn given(
    client: &mut SimpleClient,
    statement: &Statement,
    text: &str,
    without: &[String],
) -> Given {
    ask(client, statement, text, without)?;
    answer(client, statement, without)
}

/// Whether a statement is carried out in a transaction of its own.
fn is_block(statement: &Statement, without: &[String]) -> bool {
    statement.changes.is_some() || !without.is_empty()
}

fn ask(
    client: &mut SimpleClient,
    statement: &Statement,
    text: &str,
    without: &[String],
) -> io::Result<()> {
    if !is_block(statement, without) {
        return client.ask(text);
    }
    client.ask("begin")?;
    for less in without {
        client.ask(less)?;
    }
    client.ask(text)?;
    if let Some(table) = &statement.changes {
        client.ask(&format!("select * from {table} order by id"))?;
    }
    client.ask("rollback")
}

fn answer(client: &mut SimpleClient, statement: &Statement, without: &[String]) -> Given {
    if !is_block(statement, without) {
        return Ok((client.answer()?, None));
    }
    client.answer()?;
    for _ in without {
        client.answer()?;
    }
    let outcome = client.answer()?;
    let table = match &statement.changes {
        Some(_) => Some(client.answer()?).filter(|_| outcome.error.is_none()),
        None => None,
    };
    client.answer()?;
    Ok((outcome, table))
}

fn compare(
    ours: &(Outcome, Option<Outcome>),
    theirs: &(Outcome, Option<Outcome>),
    statement: &Statement,
) -> Came {
    let (mine, other) = (&ours.0, &theirs.0);
    let said = || format!("Onlap {}\nPostgreSQL {}", shown(ours), shown(theirs));
    let too_much = ["57014", "53200", "53100", "54000", "54001"];
    match (mine.state(), other.state()) {
        // PostgreSQL has a few of its own, for calls that only it makes.
        _ if is_defect(mine) && mine.error != other.error => {
            return Came::Differs(Kind::Internal, said());
        }
        (a, b) if a != b && (too_much.contains(&a) || too_much.contains(&b)) => {
            return Came::TooMuch;
        }
        ("0A000", b) if b != "0A000" && accepted::is_unserved(said_by(mine)) => {
            return Came::NotServed;
        }
        ("", "") => {}
        (a, b) if a == b => return Came::Refused,
        (a, "") => return Came::Differs(Kind::Refused(a.into()), said()),
        ("", b) => return Came::Differs(Kind::Accepted(b.into()), said()),
        (a, b) => return Came::Differs(Kind::Otherwise(a.into(), b.into()), said()),
    }
    let names = |o: &Outcome| o.columns.iter().map(|c| c.0.clone()).collect::<Vec<_>>();
    let types =
        |o: &Outcome| o.columns.iter().map(|c| c.1).zip(o.modifiers.clone()).collect::<Vec<_>>();
    let differ = |a, b| !same_rows(a, b, true);
    let changed = ours.1.as_ref().zip(theirs.1.as_ref()).is_some_and(|(a, b)| differ(a, b));
    let kind = if types(mine) != types(other) {
        Kind::Types
    } else if names(mine) != names(other) {
        Kind::Names
    } else if mine.tags != other.tags {
        Kind::Tag
    } else if changed || !same_rows(mine, other, statement.tree.is_ordered()) {
        if !changed && joins_equals(&statement.tree.text()) && are_written_otherwise(mine, other) {
            return Came::WrittenOtherwise;
        }
        Kind::Rows
    } else {
        return Came::Same;
    };
    Came::Differs(kind, said())
}

fn said_by(outcome: &Outcome) -> &str {
    outcome.error.as_ref().map_or("", |(_, text)| text)
}

/// Whether an answer is an internal error that PostgreSQL has not. Its own are of calls that only it makes: of arrays that are no state
/// of an aggregate.
pub fn is_defect(outcome: &Outcome) -> bool {
    let of_postgres = |text: &str| text.ends_with("-element float8 array");
    outcome
        .error
        .as_ref()
        .is_some_and(|(state, text)| state.starts_with("XX") && !of_postgres(text))
}

/// Whether rows are the same; floats may be a little apart, for sums depend on the order of what is added. Of rows in an order,
/// equal numbers that are written differently, as 0 and 0.00, may stand in one another's places.
fn same_rows(a: &Outcome, b: &Outcome, ordered: bool) -> bool {
    if a.rows == b.rows {
        return true;
    }
    let sorted = |outcome: &Outcome| {
        let mut rows = outcome.rows.clone();
        rows.sort();
        rows
    };
    if ordered {
        let columns = &a.columns;
        let plain = |outcome: &Outcome| outcome.rows.iter().map(|r| plain(columns, r)).collect();
        return near_rows(a, &a.rows, &b.rows)
            || sorted(a) == sorted(b) && near_rows(a, &plain(a), &plain(b));
    }
    near_rows(a, &sorted(a), &sorted(b))
}

/// Whether a statement shows one of equal values for all of them.
fn joins_equals(text: &str) -> bool {
    ["union", "intersect", "except", "distinct", "group by"].iter().any(|word| text.contains(word))
}

/// Whether rows are the same except for how equal values are written. Which of them is shown, no rule says.
fn are_written_otherwise(a: &Outcome, b: &Outcome) -> bool {
    let plain = |outcome: &Outcome| {
        let mut rows: Rows = outcome.rows.iter().map(|row| plain(&a.columns, row)).collect();
        rows.sort();
        rows
    };
    near_rows(a, &plain(a), &plain(b))
}

type Rows = Vec<Vec<Option<String>>>;

fn near_rows(shape: &Outcome, a: &Rows, b: &Rows) -> bool {
    let same = |n: usize, x: &Option<String>, y: &Option<String>| {
        x == y || is_near(shape.columns.get(n).map_or(0, |c| c.1), x, y)
    };
    let all = |x: &Vec<Option<String>>, y: &Vec<Option<String>>| {
        x.iter().zip(y).enumerate().all(|(n, (x, y))| same(n, x, y))
    };
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| all(x, y))
}

/// A row whose values are written as shortly as their equals can be: numbers without zeros at the end, char(n) without blanks.
fn plain(columns: &[(String, u32)], row: &[Option<String>]) -> Vec<Option<String>> {
    let one = |(value, (_, ty)): (&Option<String>, &(String, u32))| {
        let value = value.as_ref()?;
        Some(match ty {
            1700 if value.contains('.') => {
                value.trim_end_matches('0').trim_end_matches('.').to_string()
            }
            700 | 701 if value == "-0" => "0".into(),
            1042 => value.trim_end_matches(' ').to_string(),
            _ => value.clone(),
        })
    };
    row.iter().zip(columns).map(one).collect()
}

fn is_near(ty: u32, a: &Option<String>, b: &Option<String>) -> bool {
    let near = match ty {
        700 => NEAR_REAL,
        701 => NEAR,
        _ => return false,
    };
    let read = |text: &Option<String>| text.as_ref()?.parse::<f64>().ok().filter(|v| v.is_finite());
    let (Some(a), Some(b)) = (read(a), read(b)) else { return false };
    (a - b).abs() <= near * a.abs().max(b.abs()) || (a - b).abs() < 1e-12
}

fn shown(given: &(Outcome, Option<Outcome>)) -> String {
    let (outcome, table) = given;
    if let Some((state, text)) = &outcome.error {
        return format!("{state}: {text}");
    }
    let columns: Vec<String> = outcome
        .columns
        .iter()
        .zip(&outcome.modifiers)
        .map(|((name, oid), modifier)| format!("{name}:{oid}/{modifier}"))
        .collect();
    let rows = |outcome: &Outcome| {
        let row = |row: &Vec<Option<String>>| {
            row.iter().map(|v| v.as_deref().unwrap_or("NULL")).collect::<Vec<_>>().join(" | ")
        };
        outcome.rows.iter().take(12).map(|r| format!("\n    {}", row(r))).collect::<String>()
    };
    let after = table.as_ref().map_or(String::new(), |t| format!("\n  then{}", rows(t)));
    format!("{} ({}){}{after}", outcome.tags.join(", "), columns.join(", "), rows(outcome))
}
