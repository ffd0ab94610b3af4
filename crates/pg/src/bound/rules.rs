//! What becomes of a statement that changes rows by the rules of what it changes?
//!
//! A command of a rule becomes a statement of its own ([`Bound::fire`]): what the statement reads is joined to it, OLD is the
//! row that the statement finds, NEW.x what the statement says of the column x. A conditional rule is asked for the rows that
//! fulfil its condition, and with INSTEAD the statement itself for the others ([`Bound::leave_out`]). This is PostgreSQL's
//! rewriting, so an expression that is put in the place of NEW.x is calculated once more by each command that names it.
//!
//! Knows nothing of where rules are kept, nor of rights. Pure.

use super::import::Import;
use super::{
    Bound, Cte, Entry, EntryKind, Expr, ExprId, FrameEdge, JoinTree, Literal, Modify, ModifyKind,
    Part, Query, QueryId, Target,
};
use crate::ast::{Is, Name};
use crate::catalog::oids;
use crate::{Error, Result, TypeRef};

/// The entry of the row that there was, in the query around a command and in that of a condition.
pub const OLD: usize = 1;
/// The entry of the row that is to be.
pub const NEW: usize = 2;

/// An expression begins with so much stack left, or on a piece of its own.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

/// A statement for which rules are asked.
#[derive(Debug)]
pub struct Event {
    /// Its query.
    pub query: QueryId,
    /// What each column is in the new row: expressions of its query. Empty for DELETE.
    pub new: Vec<ExprId>,
    /// The names of the columns.
    pub names: Vec<Name>,
    /// Which value of a command's RETURNING each column is; none for one that came after the rule.
    pub returned: Vec<Option<usize>>,
    /// Expressions that the tree may have after it.
    pub most: usize,
}

/// A command that is carried out for it.
#[derive(Clone, Copy, Debug)]
pub struct Fired<'a> {
    /// The command.
    pub command: (&'a Bound, QueryId),
    /// The rule's condition.
    pub condition: Option<(&'a Bound, ExprId)>,
}

impl Bound {
    /// What columns are in the new row of a statement: what it says of them, their defaults, or what they were. DEFAULT
    /// among rows of VALUES becomes what it stands for.
    ///
    /// # Errors
    /// Those of `default`.
    pub fn new_row(
        &mut self,
        query: QueryId,
        types: &[TypeRef],
        default: &mut dyn FnMut(&mut Bound, usize) -> Result<ExprId>,
    ) -> Result<Vec<ExprId>> {
        let modify = self.query(query).modify.as_deref().expect("the query changes rows");
        let (kind, entry) = (modify.kind, modify.entry);
        if !matches!(kind, ModifyKind::Insert | ModifyKind::Update) {
            return Ok(Vec::new());
        }
        if kind == ModifyKind::Insert {
            self.settle_values(query, default)?;
        }
        let said = |target: &&Target, number| !target.hidden && target.number == number;
        let mut row = Vec::with_capacity(types.len());
        for (at, ty) in types.iter().enumerate() {
            let number = at + 1;
            let target = self.query(query).targets.iter().find(|target| said(target, number));
            let value = target.map(|target| target.value);
            let is_default = value.is_some_and(|value| matches!(self.expr(value), Expr::Default));
            row.push(match (value, kind) {
                _ if ty.oid == 0 => self.add(Expr::Literal(Literal::Null), *ty, None),
                (Some(value), _) if !is_default => value,
                (None, ModifyKind::Update) => {
                    let column = Expr::Var { entry, column: number as i32, up: 0 };
                    self.add(column, *ty, None)
                }
                _ => default(self, number)?,
            });
        }
        Ok(row)
    }

    /// Puts what DEFAULT stands for in its place among the rows of VALUES.
    fn settle_values(
        &mut self,
        query: QueryId,
        default: &mut dyn FnMut(&mut Bound, usize) -> Result<ExprId>,
    ) -> Result<()> {
        let numbers: Vec<usize> = {
            let targets = self.query(query).targets.iter().filter(|target| !target.hidden);
            targets.map(|target| target.number).collect()
        };
        let is_default = |id: &ExprId| matches!(self.expr(*id), Expr::Default);
        let mut found = Vec::new();
        for (at, entry) in self.query(query).entries.iter().enumerate() {
            let EntryKind::Values(rows) = &entry.kind else { continue };
            for (n, row) in rows.iter().enumerate() {
                let cells = row.iter().enumerate().filter(|(_, id)| is_default(id));
                found.extend(cells.map(|(cell, _)| (at, n, cell)));
            }
        }
        for (at, row, cell) in found {
            let value = default(self, numbers[cell])?;
            let EntryKind::Values(rows) = &mut self.query_mut(query).entries[at].kind else {
                unreachable!("it was one before")
            };
            rows[row][cell] = value;
        }
        Ok(())
    }

    /// Adds the statement that a command of a rule becomes.
    ///
    /// # Errors
    /// `0A000`: what PostgreSQL does not carry out either, or Onlap does not; `54001`: too much.
    pub fn fire(&mut self, event: &Event, fired: Fired<'_>) -> Result<QueryId> {
        let (tree, command) = fired.command;
        let of = self.query(event.query).clone();
        let modify = of.modify.as_deref().expect("the query changes rows");
        let within = selected(tree, command);
        let merged = within.unwrap_or(command);
        let by = tree.query(merged).entries.len();
        let level = u32::from(within.is_some());
        if level > 0 && of.changes_within {
            let text = "INSERT...SELECT rule actions are not supported for queries having \
                        data-modifying statements in WITH";
            return Err(Error::new("0A000", text));
        }
        let place = Place { by, level, target: modify.entry + by };
        let made = Copy::rule(tree, self, event, place, 1).query(command, 0)?;
        let into = selected(self, made).unwrap_or(made);
        let condition = match fired.condition {
            Some((tree, condition)) => {
                let here = Place { level: 0, ..place };
                Some(Copy::rule(tree, self, event, here, 0).expr(condition, 0)?)
            }
            None => None,
        };
        let keeps = fired.reads_row(modify.kind) || self.filters_by(event.query, modify.entry);
        self.join_event(into, &of, condition, (place, event.most, keeps))?;
        self.return_for(event, made, modify, place)?;
        Ok(made)
    }

    /// Joins what a statement reads to a query.
    fn join_event(
        &mut self,
        into: QueryId,
        of: &Query,
        condition: Option<ExprId>,
        (place, most, keeps): (Place, usize, bool),
    ) -> Result<()> {
        let target = of.modify.as_deref().map_or(0, |modify| modify.entry);
        let mut copy = Copy::event(self, most, place, 0);
        let mut entries = of.entries.clone();
        for entry in &mut entries {
            copy.entry(entry, 0)?;
        }
        if let Some(entry) = entries.get_mut(target.wrapping_sub(1)) {
            // Its rows are read, which is what the statement does that is carried out.
            entry.in_from = true;
        }
        let kept = |tree: &&JoinTree| keeps || **tree != JoinTree::Entry(target);
        let mut from: Vec<JoinTree> = of.from.iter().filter(kept).cloned().collect();
        for tree in &mut from {
            copy.join(tree, 0)?;
        }
        let filter = of.filter.map(|filter| copy.expr(filter, 0)).transpose()?;
        let mut ctes = of.ctes.clone();
        for cte in &mut ctes {
            copy.cte(cte, 0)?;
        }
        let own = self.query(into);
        if let Some(cte) = own.ctes.iter().find(|own| ctes.iter().any(|cte| cte.name == own.name)) {
            let text = format!(
                "WITH query name \"{}\" appears in both a rule action and the query being \
                 rewritten",
                cte.name
            );
            return Err(Error::new("0A000", text));
        }
        let all: Vec<ExprId> = [own.filter, condition, filter].into_iter().flatten().collect();
        let filter = self.all_of(all);
        let asks = condition.is_some_and(|id| self.has_queries(id));
        let own = self.query_mut(into);
        own.entries.extend(entries);
        from.append(&mut own.from);
        own.from = from;
        own.filter = filter;
        ctes.append(&mut own.ctes);
        own.ctes = ctes;
        own.recursive |= of.recursive;
        own.changes_within |= of.changes_within;
        own.has_subqueries |= of.has_subqueries | asks;
        Ok(())
    }

    /// RETURNING of the statement, of what the command's gives.
    fn return_for(
        &mut self,
        event: &Event,
        made: QueryId,
        of: &Modify,
        place: Place,
    ) -> Result<()> {
        let own = self.query(made).modify.as_deref().expect("a command changes rows");
        let (kind, seen) = (own.kind, own.returning.iter().filter(|target| !target.hidden));
        let values: Vec<ExprId> = seen.map(|target| target.value).collect();
        let mut returning = Vec::new();
        if !values.is_empty() {
            returning.clone_from(&of.returning);
            let others = kind != ModifyKind::Insert && place.level == 0;
            for target in &mut returning {
                let mut copy = Copy::event(self, event.most, place, 0);
                copy.returned = Some(Returns { event, target: of.entry, values: &values, others });
                target.value = copy.expr(target.value, 0)?;
            }
        }
        let own = self.query_mut(made).modify.as_deref_mut().expect("a command changes rows");
        own.returning = returning;
        Ok(())
    }

    /// Leaves out the rows of a statement for which a rule's condition is true.
    ///
    /// # Errors
    /// As of [`Bound::fire`].
    pub fn leave_out(&mut self, event: &Event, condition: (&Bound, ExprId)) -> Result<()> {
        let target = self.query(event.query).modify.as_deref().map_or(0, |modify| modify.entry);
        let place = Place { by: 0, level: 0, target };
        let value = Copy::rule(condition.0, self, event, place, 0).expr(condition.1, 0)?;
        let not = self.add(Expr::BoolTest(value, Is::True, true), TypeRef::new(oids::BOOL), None);
        let before = self.query(event.query).filter;
        let filter = self.all_of(before.into_iter().chain([not]).collect());
        let asks = self.has_queries(value);
        let query = self.query_mut(event.query);
        query.filter = filter;
        query.has_subqueries |= asks;
        Ok(())
    }

    /// A literal of a type.
    pub fn literal(&mut self, literal: Literal, ty: TypeRef) -> ExprId {
        self.add(Expr::Literal(literal), ty, None)
    }

    /// An expression of another statement, which names no columns.
    pub fn take(&mut self, from: &Bound, id: ExprId) -> ExprId {
        Import::new(from, self, (0, 0), 0).expr(id, 0)
    }

    /// Names the query of a WITH anew.
    pub fn set_cte(&mut self, query: QueryId, at: usize, to: QueryId) {
        self.query_mut(query).ctes[at].query = to;
    }

    fn all_of(&mut self, all: Vec<ExprId>) -> Option<ExprId> {
        match &all[..] {
            [] => None,
            [one] => Some(*one),
            _ => Some(self.add(Expr::And(all), TypeRef::new(oids::BOOL), None)),
        }
    }

    /// Whether an expression asks a query.
    pub fn has_queries(&self, id: ExprId) -> bool {
        let mut found = false;
        self.visit(id, 0, &mut |id, _| {
            found |= matches!(self.expr(id), Expr::SubQuery(_));
            !found
        });
        found
    }

    fn filters_by(&self, query: QueryId, entry: usize) -> bool {
        let mut found = false;
        if let Some(filter) = self.query(query).filter {
            self.visit(filter, 0, &mut |id, inside| {
                found |= matches!(self.expr(id), Expr::Var { entry: of, up, .. } if *of == entry && *up == inside);
                found |= matches!(self.expr(id), Expr::CurrentOf(of, _) if *of == entry);
                !found
            });
        }
        found
    }
}

impl Fired<'_> {
    /// Whether it needs the row that the statement finds.
    fn reads_row(&self, kind: ModifyKind) -> bool {
        let needs = |entry: usize| entry == OLD || kind == ModifyKind::Update;
        let mut found = false;
        let (tree, command) = self.command;
        tree.visit_part(Part::Query(command), 0, &mut |id, inside| {
            found |= matches!(tree.expr(id), Expr::Var { entry, up, .. } if *up == inside && needs(*entry));
            !found
        });
        if let Some((tree, condition)) = self.condition {
            tree.visit(condition, 0, &mut |id, inside| {
                found |= matches!(tree.expr(id), Expr::Var { entry, up, .. } if *up == inside && needs(*entry));
                !found
            });
        }
        found
    }
}

/// The query whose rows INSERT … SELECT inserts.
pub fn selected(tree: &Bound, command: QueryId) -> Option<QueryId> {
    let query = tree.query(command);
    let insert = query.modify.as_deref().is_some_and(|modify| modify.kind == ModifyKind::Insert);
    let of = |entry: &Entry| match entry.kind {
        EntryKind::Query(inner) if !entry.in_from => Some(inner),
        _ => None,
    };
    query.entries.iter().find_map(of).filter(|_| insert)
}

/// Where what a statement reads comes to lie.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// How many entries come before its own.
    by: usize,
    /// How many queries within the command.
    level: u32,
    /// The entry of the table that the statement changes, there.
    target: usize,
}

/// RETURNING of a statement for whose rows a command stands.
struct Returns<'a> {
    event: &'a Event,
    /// The entry of the statement that the columns are of.
    target: usize,
    values: &'a [ExprId],
    /// Whether other entries are seen.
    others: bool,
}

/// A copy under way.
struct Copy<'a> {
    /// The tree that is copied; none for the tree itself.
    from: Option<&'a Bound>,
    to: &'a mut Bound,
    place: Place,
    most: usize,
    /// Of a rule: the statement, and how many queries around the outermost one OLD and NEW are.
    rule: Option<(&'a Event, u32)>,
    /// Of a statement: how many queries within the one that it is joined to.
    within: u32,
    returned: Option<Returns<'a>>,
}

impl<'a> Copy<'a> {
    fn rule(
        from: &'a Bound,
        to: &'a mut Bound,
        event: &'a Event,
        place: Place,
        around: u32,
    ) -> Copy<'a> {
        let (rule, most) = (Some((event, around)), event.most);
        Copy { from: Some(from), to, place, most, rule, within: 0, returned: None }
    }

    fn event(to: &'a mut Bound, most: usize, place: Place, within: u32) -> Copy<'a> {
        Copy { from: None, to, place, most, rule: None, within, returned: None }
    }

    fn source(&self) -> &Bound {
        self.from.unwrap_or(self.to)
    }

    /// An expression that stands `up` queries within the outermost one.
    fn expr(&mut self, id: ExprId, up: u32) -> Result<ExprId> {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || self.one_expr(id, up))
    }

    fn one_expr(&mut self, id: ExprId, up: u32) -> Result<ExprId> {
        if self.to.exprs() >= self.most {
            let text = "rules make too much of the statement";
            return Err(Error::new("54001", text));
        }
        let (mut expr, ty) = (self.source().expr(id).clone(), self.source().ty(id));
        match &mut expr {
            Expr::Var { entry, column, up: of } => match (self.rule, &self.returned) {
                (Some((_, around)), _) if *of == up + around => {
                    return self.of_row(*entry, *column, up, ty);
                }
                (None, Some(returns)) if *of == up && *entry == returns.target => {
                    return self.of_returned(*column, up, ty);
                }
                (None, Some(returns)) if *of == up && !returns.others => {
                    let text = "RETURNING columns of other tables by a rule whose command is INSERT \
                                is not supported";
                    return Err(Error::new("0A000", text));
                }
                (None, _) if *of == up => {
                    *entry += self.place.by;
                    *of += self.within;
                }
                _ => {}
            },
            Expr::RowColumn(..) if self.rule.is_none() => {
                let text = "NEW variables in ON UPDATE rules cannot reference columns that are part \
                            of a multiple assignment in the subject UPDATE command";
                return Err(Error::new("0A000", text));
            }
            Expr::CurrentOf(entry, _) if self.rule.is_none() => *entry += self.place.by,
            Expr::SubQuery(sub) => sub.query = self.query(sub.query, up + 1)?,
            _ => {}
        }
        let mut failed = None;
        expr.children_mut(&mut |child| match self.expr(*child, up) {
            Ok(made) => *child = made,
            Err(e) => {
                failed.get_or_insert(e);
            }
        });
        match failed {
            Some(e) => Err(e),
            None => Ok(self.to.add(expr, ty, None)),
        }
    }

    /// A column of OLD or NEW.
    fn of_row(&mut self, entry: usize, column: i32, up: u32, ty: TypeRef) -> Result<ExprId> {
        let (event, _) = self.rule.expect("a rule is copied");
        let Some(within) = up.checked_sub(self.place.level) else {
            return Err(Error::new("0A000", "OLD and NEW here are not supported"));
        };
        if column < 0 {
            return Err(Error::new("0A000", "system columns of OLD and NEW are not supported"));
        }
        if entry == OLD {
            let var = Expr::Var { entry: self.place.target, column, up: within };
            return Ok(self.to.add(var, ty, None));
        }
        let mut copy = Copy::event(self.to, self.most, self.place, within);
        if column > 0 {
            return copy.expr(event.new[column as usize - 1], 0);
        }
        let row = event.new.iter().map(|value| copy.expr(*value, 0)).collect::<Result<_>>()?;
        Ok(self.to.add(Expr::Row(row, event.names.clone()), ty, None))
    }

    /// A column of what RETURNING of a command gives.
    fn of_returned(&mut self, column: i32, up: u32, ty: TypeRef) -> Result<ExprId> {
        let returns = self.returned.as_ref().expect("RETURNING is copied");
        let (event, values) = (returns.event, returns.values);
        let here = Place { by: 0, level: 0, target: 0 };
        let value = |number: i32| {
            let at = usize::try_from(number - 1).ok().and_then(|at| *event.returned.get(at)?);
            at.and_then(|at| values.get(at)).copied().ok_or_else(|| {
                let text = "could not find replacement targetlist entry for attno";
                Error::internal(format!("{text} {number}"))
            })
        };
        if column != 0 {
            let value = value(column)?;
            return Copy::event(self.to, self.most, here, up).expr(value, 0);
        }
        let mut row = Vec::new();
        for number in 1..=event.names.len() as i32 {
            let value = value(number)?;
            row.push(Copy::event(self.to, self.most, here, up).expr(value, 0)?);
        }
        Ok(self.to.add(Expr::Row(row, event.names.clone()), ty, None))
    }

    /// A query that stands `up` queries within the outermost one.
    fn query(&mut self, id: QueryId, up: u32) -> Result<QueryId> {
        let mut query = self.source().query(id).clone();
        for target in &mut query.targets {
            target.value = self.expr(target.value, up)?;
        }
        for tree in &mut query.from {
            self.inner_join(tree, up)?;
        }
        let Query { filter, having, offset, limit, .. } = &mut query;
        for id in [filter, having, offset, limit].into_iter().flatten() {
            *id = self.expr(*id, up)?;
        }
        for window in &mut query.windows {
            for edge in [&mut window.frame.from, &mut window.frame.to] {
                if let FrameEdge::Before(id) | FrameEdge::After(id) = edge {
                    *id = self.expr(*id, up)?;
                }
            }
        }
        for cte in &mut query.ctes {
            self.cte(cte, up)?;
        }
        for entry in &mut query.entries {
            self.entry(entry, up)?;
        }
        if let Some(modify) = query.modify.as_deref_mut() {
            self.modify(modify, up)?;
        }
        Ok(self.to.add_query(query))
    }

    fn cte(&mut self, cte: &mut Cte, up: u32) -> Result<()> {
        cte.query = self.query(cte.query, up + 1)?;
        Ok(())
    }

    fn modify(&mut self, modify: &mut Modify, up: u32) -> Result<()> {
        let Modify { conflict, returning, checks, actions, .. } = modify;
        let mut ids: Vec<&mut ExprId> = returning.iter_mut().map(|t| &mut t.value).collect();
        ids.extend(checks.iter_mut().map(|check| &mut check.value));
        if let Some(conflict) = conflict {
            ids.extend(conflict.elements.iter_mut().map(|element| &mut element.value));
            ids.extend(conflict.set.iter_mut().map(|target| &mut target.value));
            ids.extend(conflict.index_filter.iter_mut().chain(&mut conflict.filter));
        }
        for action in actions {
            ids.extend(action.condition.iter_mut());
            ids.extend(action.set.iter_mut().map(|target| &mut target.value));
        }
        for id in ids {
            *id = self.expr(*id, up)?;
        }
        Ok(())
    }

    fn entry(&mut self, entry: &mut Entry, up: u32) -> Result<()> {
        let mut lateral = entry.lateral;
        for id in &mut entry.guards {
            *id = self.expr(*id, up)?;
        }
        match &mut entry.kind {
            EntryKind::Query(inner) => {
                lateral |= self.names_row(Part::Query(*inner), up);
                *inner = self.query(*inner, up + 1)?;
            }
            EntryKind::Functions { calls, .. } => {
                for of in calls {
                    lateral |= self.names_row(Part::Expr(of.call), up);
                    of.call = self.expr(of.call, up)?;
                }
            }
            EntryKind::Values(rows) => {
                for id in rows.iter_mut().flatten() {
                    lateral |= self.names_row(Part::Expr(*id), up);
                    *id = self.expr(*id, up)?;
                }
            }
            EntryKind::Join { columns, .. } => {
                for id in columns {
                    *id = self.expr(*id, up)?;
                }
            }
            EntryKind::Relation { sample: Some(sample), .. } => {
                for id in sample.1.iter_mut().chain(&mut sample.2) {
                    *id = self.expr(*id, up)?;
                }
            }
            EntryKind::Cte { up: of, .. } if self.rule.is_none() && *of >= up => {
                *of += self.within + if *of > up { self.place.level } else { 0 };
            }
            EntryKind::Relation { .. } | EntryKind::Cte { .. } => {}
        }
        entry.lateral = lateral;
        Ok(())
    }

    /// Whether a part of FROM names OLD or NEW, which stand next to it once they are joined.
    fn names_row(&self, part: Part, up: u32) -> bool {
        let Some((_, around)) = self.rule else { return false };
        if up != self.place.level {
            return false;
        }
        let tree = self.source();
        let mut found = false;
        tree.visit_part(part, up, &mut |id, inside| {
            found |= matches!(tree.expr(id), Expr::Var { up, .. } if *up == inside + around);
            !found
        });
        found
    }

    /// A part of FROM of the outermost query, whose entries get other numbers.
    fn join(&mut self, tree: &mut JoinTree, up: u32) -> Result<()> {
        match tree {
            JoinTree::Entry(entry) => *entry += self.place.by,
            JoinTree::Join(join) => {
                join.entry += self.place.by;
                self.join(&mut join.left, up)?;
                self.join(&mut join.right, up)?;
                if let Some(condition) = &mut join.condition {
                    *condition = self.expr(*condition, up)?;
                }
            }
        }
        Ok(())
    }

    fn inner_join(&mut self, tree: &mut JoinTree, up: u32) -> Result<()> {
        if let JoinTree::Join(join) = tree {
            self.inner_join(&mut join.left, up)?;
            self.inner_join(&mut join.right, up)?;
            if let Some(condition) = &mut join.condition {
                *condition = self.expr(*condition, up)?;
            }
        }
        Ok(())
    }
}
