//! What are the entries of a query and their columns called?
//!
//! Each entry gets a name that no other entry has, here or in the queries around it; each of its columns one that no other
//! column of it has. Columns that USING merges must have one name on both sides, so their names are chosen first and
//! pushed down to what is joined. Where a merged column is neither side's own, and the join has no name by which it could
//! be called, it is called by its name alone, which then no other merged column of the query has.

use std::collections::HashMap;

use super::{Printer, unserved};
use crate::Result;
use crate::ast::Name;
use crate::bound::{Entry, EntryKind, Expr, JoinNode, JoinTree, Query};

/// Names that PostgreSQL's views have for the rows of a rule, so that nothing else in them is called so.
const RULE: [&str; 2] = ["old", "new"];
/// The longest name, in bytes.
const LONGEST: usize = 63;

/// A query's names.
pub(super) struct Scope<'a> {
    pub query: &'a Query,
    /// What entries are called; joins may have no name.
    pub names: Vec<Option<Name>>,
    pub columns: Vec<Columns>,
    /// Whether merged columns need names that no other has, and those names.
    unique_using: bool,
    using: Vec<Name>,
}

/// The columns of an entry.
#[derive(Default)]
pub(super) struct Columns {
    /// Their names by their numbers; none for those that are there no more.
    pub names: Vec<Option<Name>>,
    /// The names of those that are there now, also those that came after the query was made, with whether they did.
    now: Vec<(Name, bool)>,
    /// Whether names of columns are written behind that of the entry.
    pub listed: bool,
    /// Of a join the merged columns.
    pub using: Vec<Name>,
    /// Names of merged columns of the joins around it.
    around: Vec<Name>,
    /// Of a join where columns come from: numbers of the left and of the right side, or 0.
    from: Vec<[i32; 2]>,
    sides: [usize; 2],
}

impl Columns {
    fn widen(&mut self, count: usize) {
        if self.names.len() < count {
            self.names.resize(count, None);
        }
    }

    fn set(&mut self, number: i32, name: &Name) {
        if number > 0 {
            self.widen(number as usize);
            self.names[number as usize - 1] = Some(name.clone());
        }
    }

    /// The names of the columns in a list behind the entry's name.
    pub fn list(&self) -> Vec<Name> {
        self.now.iter().map(|(name, _)| name.clone()).collect()
    }
}

impl<'a> Printer<'a> {
    /// Chooses the names of a query within those that are being printed.
    pub(super) fn scope(&self, query: &'a Query) -> Result<Scope<'a>> {
        let names = self.entry_names(query)?;
        let columns = query.entries.iter().map(|_| Columns::default()).collect();
        let unique_using = query.from.iter().any(|tree| self.is_dangerous(query, tree));
        let mut scope = Scope { query, names, columns, unique_using, using: Vec::new() };
        for tree in &query.from {
            scope.using_names(tree, &[])?;
        }
        for at in 0..query.entries.len() {
            match &query.entries[at].kind {
                EntryKind::Join { .. } => scope.join_columns(at),
                _ => {
                    let now = self.names_now(&query.entries[at])?;
                    scope.own_columns(at, &now);
                }
            }
        }
        Ok(scope)
    }

    fn entry_names(&self, query: &Query) -> Result<Vec<Option<Name>>> {
        let around = self.scopes.iter().flat_map(|scope| scope.names.iter().flatten());
        let mut taken: HashMap<Name, usize> = around.map(|name| (name.clone(), 0)).collect();
        taken.extend(RULE.map(|name| (name.into(), 0)));
        let mut names = Vec::with_capacity(query.entries.len());
        for entry in &query.entries {
            let wanted = match (&entry.alias, &entry.kind) {
                (Some((name, _)), _) => Some(name.clone()),
                (None, EntryKind::Relation { oid, .. }) => {
                    let now = self.facts.relation(*oid)?;
                    Some(now.map_or_else(|| entry.name.clone(), |now| now.name))
                }
                (None, EntryKind::Join { .. }) => None,
                _ => Some(entry.name.clone()),
            };
            names.push(wanted.map(|wanted| unique(wanted, &mut taken)));
        }
        Ok(names)
    }

    /// Whether a merged column of a join without a name is neither side's own.
    fn is_dangerous(&self, query: &Query, tree: &JoinTree) -> bool {
        let JoinTree::Join(join) = tree else { return false };
        let entry = &query.entries[join.entry - 1];
        let own = match &entry.kind {
            EntryKind::Join { merged, columns, .. } if entry.alias.is_none() => {
                let made = |id: &_| !matches!(self.bound.expr(*id), Expr::Var { .. });
                !join.using.is_empty() && columns.iter().take(*merged).any(made)
            }
            _ => false,
        };
        own || self.is_dangerous(query, &join.left) || self.is_dangerous(query, &join.right)
    }

    /// The names that an entry's columns have without those that are given to them; none for what is there no more.
    fn names_now(&self, entry: &Entry) -> Result<Vec<Option<Name>>> {
        if let EntryKind::Relation { oid, .. } = &entry.kind
            && let Some(now) = self.facts.relation(*oid)?
        {
            return Ok(now.columns);
        }
        let there = |name: &Name| Some(name.clone()).filter(|name| !name.is_empty());
        Ok(entry.names.iter().map(there).collect())
    }
}

/// A name that is not taken, with a number behind it where it must be.
fn unique(wanted: Name, taken: &mut HashMap<Name, usize>) -> Name {
    let Some(mut count) = taken.get(&wanted).copied() else {
        taken.insert(wanted.clone(), 0);
        return wanted;
    };
    loop {
        count += 1;
        let made = numbered(&wanted, count);
        if !taken.contains_key(&made) {
            taken.insert(wanted, count);
            taken.insert(made.clone(), 0);
            return made;
        }
    }
}

fn numbered(name: &str, number: usize) -> Name {
    let tail = format!("_{number}");
    let mut kept = name.len().min(LONGEST - tail.len());
    while !name.is_char_boundary(kept) {
        kept -= 1;
    }
    format!("{}{tail}", &name[..kept]).into()
}

fn entry_of(tree: &JoinTree) -> usize {
    match tree {
        JoinTree::Entry(entry) => *entry,
        JoinTree::Join(join) => join.entry,
    }
}

impl Scope<'_> {
    /// Chooses the names of merged columns.
    fn using_names(&mut self, tree: &JoinTree, around: &[Name]) -> Result<()> {
        let JoinTree::Join(join) = tree else { return Ok(()) };
        let at = join.entry - 1;
        self.sides(join)?;
        let query = self.query;
        let entry = &query.entries[at];
        if entry.alias.is_none() {
            let given = self.columns[at].names.clone();
            for (column, name) in given.iter().enumerate() {
                if let Some(name) = name {
                    self.push_down(at, column, name);
                }
            }
        }
        let mut around = around.to_vec();
        self.columns[at].widen(join.using.len());
        for (column, written) in join.using.iter().enumerate() {
            let name = match self.columns[at].names[column].clone() {
                Some(name) => name,
                None => {
                    let alias = entry.alias.as_ref().and_then(|(_, names)| names.get(column));
                    let name = self.unique_column(at, alias.unwrap_or(written).clone());
                    if self.unique_using {
                        self.using.push(name.clone());
                    }
                    self.columns[at].names[column] = Some(name.clone());
                    name
                }
            };
            self.columns[at].using.push(name.clone());
            self.push_down(at, column, &name);
            around.push(name);
        }
        for side in self.columns[at].sides {
            self.columns[side - 1].around = around.clone();
        }
        self.using_names(&join.left, &around)?;
        self.using_names(&join.right, &around)
    }

    /// Where the columns of a join come from.
    fn sides(&mut self, join: &JoinNode) -> Result<()> {
        let EntryKind::Join { merged, columns, left, right, .. } =
            &self.query.entries[join.entry - 1].kind
        else {
            return Err(unserved());
        };
        let mut from = vec![[0, 0]; columns.len()];
        for (at, number) in left.iter().enumerate() {
            from[at][0] = *number;
        }
        for (at, number) in right.iter().enumerate() {
            let column = if at < *merged { at } else { left.len() + at - merged };
            from[column][1] = *number;
        }
        let made = &mut self.columns[join.entry - 1];
        (made.from, made.sides) = (from, [entry_of(&join.left), entry_of(&join.right)]);
        Ok(())
    }

    fn push_down(&mut self, at: usize, column: usize, name: &Name) {
        let Some(from) = self.columns[at].from.get(column).copied() else { return };
        let sides = self.columns[at].sides;
        for (side, number) in sides.into_iter().zip(from) {
            self.columns[side - 1].set(number, name);
        }
    }

    /// A name that no other column of the entry has.
    fn unique_column(&self, at: usize, wanted: Name) -> Name {
        let own = &self.columns[at];
        let taken = |name: &Name| {
            own.names.iter().flatten().any(|other| other == name)
                || own.now.iter().any(|(other, _)| other == name)
                || self.using.contains(name)
                || own.around.contains(name)
        };
        if !taken(&wanted) {
            return wanted;
        }
        let mut names = (1..).map(|number| numbered(&wanted, number));
        names.find(|name| !taken(name)).expect("there are more numbers than columns")
    }

    /// The columns of an entry that is no join; `now` are the names that they have of themselves.
    fn own_columns(&mut self, at: usize, now: &[Option<Name>]) {
        let entry = &self.query.entries[at];
        self.columns[at].widen(now.len());
        let given = entry.alias.as_ref().map_or(&[][..], |(_, names)| names);
        let (mut changed, mut all) = (false, Vec::with_capacity(now.len()));
        for (column, own) in now.iter().enumerate() {
            let Some(own) = own else { continue };
            let name = match self.columns[at].names[column].clone() {
                Some(name) => name,
                None => self.unique_column(at, given.get(column).unwrap_or(own).clone()),
            };
            changed |= name != *own;
            self.columns[at].names[column] = Some(name.clone());
            // It came after the query was made.
            let new = entry.names.get(column).is_none_or(|name| name.is_empty());
            all.push((name, new));
        }
        let made = &mut self.columns[at];
        made.now = all;
        made.listed = match &entry.kind {
            EntryKind::Relation { .. } => changed,
            EntryKind::Functions { .. } => true,
            _ => changed || !given.is_empty(),
        };
    }

    /// The columns of a join, whose sides have theirs.
    fn join_columns(&mut self, at: usize) {
        let entry = &self.query.entries[at];
        let (named, mut changed) = (entry.alias.is_some(), false);
        let given = entry.alias.as_ref().map_or(&[][..], |(_, names)| names);
        self.columns[at].widen(entry.names.len());
        let [left, right] = self.columns[at].sides;
        for column in self.columns[at].using.len()..entry.names.len() {
            let of = |side: usize, number: i32| {
                self.columns[side - 1].names.get(number as usize - 1).cloned().flatten()
            };
            let child = match self.columns[at].from.get(column) {
                Some([number, _]) if *number > 0 => of(left, *number),
                Some([_, number]) if *number > 0 => of(right, *number),
                _ => Some(entry.names[column].clone()),
            };
            let name = match (&child, self.columns[at].names[column].clone()) {
                (None, _) => None,
                (Some(child), _) if !named => Some(child.clone()),
                (_, Some(name)) => Some(name),
                (Some(child), None) => {
                    Some(self.unique_column(at, given.get(column).unwrap_or(child).clone()))
                }
            };
            changed |= name != child;
            self.columns[at].names[column] = name;
        }
        let merged = self.columns[at].using.len();
        let (mut now, mut next) = (Vec::new(), merged);
        now.extend(self.columns[at].names[..merged].iter().flatten().map(|n| (n.clone(), false)));
        self.columns[at].now = now;
        for (which, side) in [left, right].into_iter().enumerate() {
            changed |= self.side_columns(at, side - 1, which, &mut next);
        }
        self.columns[at].listed = named && changed;
    }

    /// Adds the columns of a side that are not merged; whether a new one of them got another name.
    fn side_columns(&mut self, at: usize, side: usize, which: usize, next: &mut usize) -> bool {
        let named = self.query.entries[at].alias.is_some();
        let merged = self.columns[at].using.len();
        let (mut changed, mut number) = (false, 0);
        for (name, new) in self.columns[side].now.clone() {
            let made = match new {
                false => {
                    let names = &self.columns[side].names;
                    number = (number..names.len()).find(|n| names[*n].is_some()).unwrap_or(number);
                    number += 1;
                    let from = &self.columns[at].from[..merged];
                    if from.iter().any(|from| from[which] == number as i32) {
                        continue;
                    }
                    let names = &self.columns[at].names;
                    *next = (*next..names.len()).find(|n| names[*n].is_some()).unwrap_or(*next);
                    let made = names.get(*next).cloned().flatten().unwrap_or_else(|| name.clone());
                    *next += 1;
                    made
                }
                true if named => self.unique_column(at, name.clone()),
                true => name.clone(),
            };
            changed |= new && named && made != name;
            self.columns[at].now.push((made, new));
        }
        changed
    }
}
