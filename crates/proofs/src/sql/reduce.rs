//! How small can what differs be made?
//!
//! Parts are dropped and replaced by smaller ones ([`Tree::smaller`]) and rows are left out, as long as both systems still
//! differ in the same way. What is left is a script: tables, rows, the statement.

use super::judge::{Came, Kind, Pair, Statement};
use super::tree::Tree;
use super::world::World;

/// At most this number of statements are tried for one finding.
const TRIES: usize = 900;

/// A difference that was made small.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// In what they differ.
    pub kind: Kind,
    /// The statement.
    pub statement: Statement,
    /// What both say.
    pub said: String,
    /// The tables that it needs, with its settings.
    pub world: World,
}

/// Makes a difference smaller.
///
/// # Errors
/// A system has gone.
pub fn reduce(pair: &mut Pair, mut found: Reduced) -> Result<Reduced, String> {
    let mut left = TRIES;
    // A connection that is lost each time takes a while.
    if found.kind == Kind::Died {
        left /= 3;
    }
    while left > 0 && smaller(pair, &mut found, &mut left)? {}
    fewer_rows(pair, &mut found)?;
    found.world = found.world.named_in(&found.statement.tree.text());
    Ok(found)
}

/// Takes the first smaller statement that differs in the same way.
fn smaller(pair: &mut Pair, found: &mut Reduced, left: &mut usize) -> Result<bool, String> {
    for tree in found.statement.tree.smaller() {
        if *left == 0 {
            return Ok(false);
        }
        *left -= 1;
        let statement = Statement { tree, changes: found.statement.changes.clone() };
        if let Some(said) = differs(pair, &statement, &[], &found.kind)? {
            (found.statement, found.said) = (statement, said);
            return Ok(true);
        }
    }
    Ok(false)
}

fn differs(
    pair: &mut Pair,
    statement: &Statement,
    without: &[String],
    kind: &Kind,
) -> Result<Option<String>, String> {
    Ok(match pair.differ(statement, without)? {
        Came::Differs(now, said) if now == *kind => Some(said),
        _ => None,
    })
}

/// Leaves rows out, each table's one by one.
fn fewer_rows(pair: &mut Pair, found: &mut Reduced) -> Result<(), String> {
    let text = found.statement.tree.text();
    let named = found.world.named_in(&text);
    let mut without: Vec<String> = Vec::new();
    for table in &named.tables {
        for row in &table.rows {
            let mut less = without.clone();
            less.push(format!("delete from {} where id = {}", table.name, row[0]));
            if let Some(said) = differs(pair, &found.statement, &less, &found.kind)? {
                (found.said, without) = (said, less);
                let world = found.world.tables.iter_mut().find(|t| t.name == table.name);
                if let Some(world) = world {
                    world.rows.retain(|r| r[0] != row[0]);
                }
            }
        }
    }
    Ok(())
}

impl Reduced {
    /// Whether the difference may be that of an error that is met or not, or before another: of errors of values in a statement
    /// that calculates several, none is the first by any rule, and what is not needed may be left out or not.
    pub fn may_be_order(&self) -> bool {
        // Data exceptions, subqueries of several rows, texts of jsonpath, elements without equality.
        // What is no row is an error of the call, not of the statement.
        let text = self.statement.tree.text();
        let of_values = |state: &str| {
            ["22", "21", "42601", "42883", "XX"].iter().any(|c| state.starts_with(c))
                || state == "42804" && text.contains("populate_record")
        };
        match &self.kind {
            Kind::Otherwise(..) => self.statement.tree.calls() > 1,
            Kind::Refused(state) | Kind::Accepted(state) => of_values(state),
            _ => false,
        }
    }

    /// Whether a call of the statement differs that is carried out alone.
    ///
    /// # Errors
    /// A system has gone.
    pub fn differs_alone(&self, pair: &mut Pair) -> Result<bool, String> {
        let mut values = Vec::new();
        self.statement.tree.values(&mut values);
        for value in values {
            let statement = Statement { tree: fixed(&format!("select {value}")), changes: None };
            if let Came::Differs(kind, _) = pair.differ(&statement, &[])?
                && !matches!(kind, Kind::Names | Kind::Otherwise(..))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether one system, or both, refuse the statement, and no defect is said to be one. What Onlap alone does not serve, or
    /// cannot read, is more than an error that differs.
    pub fn is_of_errors(&self) -> bool {
        match &self.kind {
            Kind::Refused(state) => !matches!(&**state, "0A000" | "42601"),
            Kind::Accepted(_) | Kind::Otherwise(..) => true,
            _ => false,
        }
    }

    /// Whether the errors are those of values of the statement, each alike in both systems: which comes first, and whether one is
    /// met that nothing needs, no rule says. Of an error alone this is asked where it is 0A000, which is seldom one of a value.
    ///
    /// # Errors
    /// A system has gone.
    pub fn has_its_errors(&self, pair: &mut Pair) -> Result<bool, String> {
        let wanted: &[&String] = match &self.kind {
            Kind::Otherwise(ours, theirs) => &[ours, theirs],
            Kind::Refused(state) if state == "0A000" => &[state],
            _ => return Ok(false),
        };
        let (mut values, mut states) = (Vec::new(), Vec::new());
        self.statement.tree.values(&mut values);
        for value in values {
            let text = format!("select {value}");
            let statement = Statement { tree: fixed(&text), changes: None };
            if matches!(pair.differ(&statement, &[])?, Came::Refused) {
                let said = pair.ask(&text).map_err(|e| e.to_string())?;
                states.extend(said.error.map(|error| error.0));
            }
        }
        Ok(wanted.iter().all(|state| states.contains(state)))
    }

    /// What is the same for findings of one cause: the kind, and the statement without its values and names.
    pub fn shape(&self) -> String {
        let text = self.statement.tree.text();
        let mut shape = String::new();
        let mut quoted = false;
        for c in text.chars() {
            match c {
                '\'' => quoted = !quoted,
                _ if quoted => {}
                c if c.is_ascii_digit() => {}
                c => shape.push(c),
            }
        }
        format!("{:?} {shape}", self.kind)
    }

    /// A script for a file of `crates/sql/testdata`, with what both say.
    pub fn script(&self) -> String {
        let mut script = String::new();
        for sql in self
            .world
            .tables
            .iter()
            .flat_map(super::world::Table::script)
            .chain(self.world.settings.clone())
        {
            script += &format!("statement ok\n{sql}\n\n");
        }
        let said: String = self.said.lines().map(|line| format!("# {line}\n")).collect();
        format!("{script}# {:?}\n{said}query\n{}\n", self.kind, self.statement.tree.text())
    }
}

/// A statement of words alone.
pub fn fixed(text: &str) -> Tree {
    Tree::leaf(super::tree::Sort::Other, text)
}
