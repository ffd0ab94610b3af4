//! INSERT, UPDATE and DELETE; what MERGE shares with them.

use super::level::{Clause, Level};
use super::{Around, At, Binder, Relation, unsupported};
use crate::ast::{self, Body, Expr as Raw, Name, Statement};
use crate::bound::{
    Entry, EntryKind, Expr, ExprId, JoinTree, Modify, ModifyKind, Query, QueryId, Target,
};
use crate::catalog::oids;
use crate::{Error, Result};
use std::sync::Arc;

/// A column that is written to: its number, its name, the part of it, where it stands.
pub(super) struct Goal<'a> {
    pub(super) number: i32,
    pub(super) name: Name,
    pub(super) steps: &'a [ast::Step],
    pub(super) place: Option<u32>,
}

impl Binder<'_> {
    /// A statement, at a level of its own.
    pub(super) fn statement(&mut self, statement: &Statement) -> Result<QueryId> {
        if let Statement::Query(query) = statement {
            return self.query(*query, Around::default());
        }
        self.deeper(|b| {
            b.levels.push(Level { targets: 1, ..Level::default() });
            let made = match statement {
                Statement::Insert(insert) => b.insert(insert),
                Statement::Update(update) => b.update(update),
                Statement::Delete(delete) => b.delete(delete),
                Statement::Merge(merge) => b.merge_statement(merge),
                _ => Err(unsupported("this statement")),
            };
            b.levels.pop();
            made
        })
    }

    /// The table that a statement changes; UPDATE and DELETE read it, too.
    pub(super) fn table(&mut self, relation: &ast::Relation, read: bool) -> Result<Arc<Relation>> {
        let of = self.open(relation)?;
        if of.kind == b'e' {
            let name = relation.name.last().expect("a name");
            let text = format!("relation \"{name}\" cannot be the target of a modifying statement");
            return Err(Error::new("0A000", text));
        }
        let number = self.relation_entry(&of, relation, false)?;
        if !read && let EntryKind::Relation { inherited, .. } = &mut self.level().entries[0].kind {
            *inherited = false;
        }
        self.level().target = number;
        if read {
            let mut item = self.item_of(number);
            item.target = true;
            item.lateral_only = true;
            item.lateral_ok = false;
            self.level().items.push(item);
        }
        Ok(of)
    }

    pub(super) fn finished(&mut self, mut made: Query, modify: Modify) -> Result<QueryId> {
        made.modify = Some(Box::new(modify));
        self.finish(&mut made);
        self.collate_query(&made)?;
        self.check_once(&made.targets)?;
        let conflict = made.modify.as_ref().and_then(|modify| modify.conflict.as_ref());
        if let Some(conflict) = conflict {
            self.check_once(&conflict.set)?;
        }
        if made.has_aggregates {
            self.check_groups(&mut made)?;
        }
        Ok(self.out.add_query(made))
    }

    /// A column becomes one value, or several of its parts do.
    pub(super) fn check_once(&self, targets: &[Target]) -> Result<()> {
        let is_part = |target: &Target| self.stored(target.value) != target.value;
        for (at, target) in targets.iter().enumerate().filter(|(_, target)| !target.hidden) {
            let again = |other: &&Target| {
                other.number == target.number && !(is_part(other) && is_part(target))
            };
            if targets[..at].iter().any(|other| !other.hidden && again(&other)) {
                let name = target.name.as_deref().unwrap_or_default();
                let text = format!("multiple assignments to same column \"{name}\"");
                return Err(Error::new("42601", text));
            }
        }
        Ok(())
    }

    fn insert(&mut self, insert: &ast::Insert) -> Result<QueryId> {
        let mut made = Query::default();
        self.with(insert.with.as_ref(), &mut made)?;
        let of = self.table(&insert.into, false)?;
        let goals = insert_goals(&of, &insert.columns)?;
        let values = match insert.source {
            None => Vec::new(),
            Some(source) => self.insert_values(source, &of, &goals, insert, &mut made)?,
        };
        for (value, goal) in values.into_iter().zip(&goals) {
            made.targets.push(Target {
                value,
                number: goal.number as usize,
                name: Some(goal.name.clone()),
                reference: 0,
                hidden: false,
            });
        }
        if insert.conflict.is_some() || !insert.returning.is_empty() {
            let entry = self.level_ref().target;
            let mut item = self.item_of(entry);
            item.target = true;
            self.level().items = vec![item];
        }
        let conflict = match &insert.conflict {
            Some(conflict) => Some(self.conflict(conflict, &insert.into, &of)?),
            None => None,
        };
        let returning = self.returning(&insert.returning)?;
        let modify = Modify {
            kind: ModifyKind::Insert,
            entry: self.level_ref().target,
            overriding: insert.overriding,
            conflict,
            returning,
            checks: Vec::new(),
            actions: Vec::new(),
        };
        self.finished(made, modify)
    }

    /// What is inserted into the columns, converted.
    fn insert_values(
        &mut self,
        source: ast::QueryId,
        of: &Relation,
        goals: &[Goal<'_>],
        insert: &ast::Insert,
        made: &mut Query,
    ) -> Result<Vec<ExprId>> {
        let query = self.tree.query(source);
        let plain = query.order.is_empty()
            && query.offset.is_none()
            && query.limit.is_none()
            && query.locks.is_empty()
            && query.with.is_none();
        let named = !insert.columns.is_empty();
        match &query.body {
            Body::Values(rows) if plain && rows.len() == 1 => {
                let row = self.written_row(&rows[0], Clause::ValuesRow)?;
                self.insert_row(row, of, goals, named)
            }
            Body::Values(rows) if plain => self.insert_rows(rows, of, goals, named, made),
            _ => {
                let values = self.insert_query(source, made)?;
                self.insert_row(values, of, goals, named)
            }
        }
    }

    fn insert_query(&mut self, source: ast::QueryId, made: &mut Query) -> Result<Vec<ExprId>> {
        let around = Around { keeps_unknown: true, ..Around::default() };
        let query = self.query(source, around)?;
        let entry = Entry {
            kind: EntryKind::Query(query),
            alias: Some(("*SELECT*".into(), Vec::new())),
            name: "*SELECT*".into(),
            names: self.names_of_query(query),
            types: self.columns_of_query(query),
            lateral: false,
            in_from: false,
            guards: Vec::new(),
        };
        let number = self.add_entry(entry, 0, Vec::new());
        made.from.push(JoinTree::Entry(number));
        let targets: Vec<(usize, ExprId)> = {
            let seen = self.out.query(query).targets.iter().filter(|target| !target.hidden);
            seen.map(|target| (target.number, target.value)).collect()
        };
        let mut values = Vec::new();
        for (at, value) in targets {
            let ty = self.out.ty(value);
            let open = ty.oid == oids::UNKNOWN
                && matches!(self.out.expr(value), Expr::Literal(_) | Expr::Param(_));
            // The column says what an open literal or parameter is.
            values.push(match open {
                true => value,
                false => {
                    let var = Expr::Var { entry: number, column: at as i32, up: 0 };
                    self.out.add(var, ty, self.start_of(value))
                }
            });
        }
        Ok(values)
    }

    /// A row of VALUES, in which DEFAULT may stand.
    pub(super) fn written_row(
        &mut self,
        row: &[ast::ExprId],
        clause: Clause,
    ) -> Result<Vec<ExprId>> {
        let before = std::mem::replace(&mut self.level().clause, clause);
        let mut made = Vec::new();
        for id in row {
            if matches!(self.tree.expr(*id), Raw::Default) {
                let open = crate::TypeRef::new(oids::UNKNOWN);
                made.push(self.out.add(Expr::Default, open, self.tree.place(*id)));
                continue;
            }
            match self.stars(*id)? {
                Some(columns) => made.extend(columns.into_iter().map(|column| column.1)),
                None => made.push(self.expr(*id)?),
            }
        }
        self.level().clause = before;
        Ok(made)
    }

    /// Several rows: an entry of their values, from which columns are taken.
    fn insert_rows(
        &mut self,
        rows: &[Box<[ast::ExprId]>],
        of: &Relation,
        goals: &[Goal<'_>],
        named: bool,
        made: &mut Query,
    ) -> Result<Vec<ExprId>> {
        let mut all: Vec<Vec<ExprId>> = Vec::with_capacity(rows.len());
        let mut width = None;
        for row in rows {
            let row = self.written_row(row, Clause::Values)?;
            if *width.get_or_insert(row.len()) != row.len() {
                let text = "VALUES lists must all be the same length";
                return Err(Error::new("42601", text)).at(self.start_of_all(&row));
            }
            let row = self.insert_row(row, of, goals, named)?;
            // The part of a column is stored once, around the entry's column.
            let row: Vec<ExprId> = row.into_iter().map(|value| self.stored(value)).collect();
            self.derive_collations(&row)?;
            all.push(row);
        }
        let types: Vec<_> = all[0].iter().map(|value| self.out.ty(*value)).collect();
        let names = (1..=types.len()).map(|n| Name::from(format!("column{n}"))).collect();
        let lateral = all.iter().flatten().any(|value| self.has_vars(*value));
        let entry = Entry {
            kind: EntryKind::Values(all),
            alias: None,
            name: "*VALUES*".into(),
            names,
            types: types.clone(),
            lateral,
            in_from: true,
            guards: Vec::new(),
        };
        let number = self.add_entry(entry, 0, Vec::new());
        // Nothing asks for collations of what is stored.
        self.set_collations(number, vec![0; types.len()]);
        made.from.push(JoinTree::Entry(number));
        let column = |(at, ty): (usize, &crate::TypeRef)| {
            let var = Expr::Var { entry: number, column: at as i32 + 1, up: 0 };
            self.out.add(var, *ty, None)
        };
        let values: Vec<ExprId> = types.iter().enumerate().map(column).collect();
        self.insert_row(values, of, goals, named)
    }

    /// The value within what stores it into a part of a column.
    fn stored(&self, mut value: ExprId) -> ExprId {
        loop {
            value = match self.out.expr(value) {
                Expr::StoreFields(_, values, _) => values[0],
                Expr::Subscript(part) => match part.assigned {
                    Some(assigned) => assigned,
                    None => return value,
                },
                // A part that is stored into a domain.
                Expr::Domain(inner) if self.is_store(*inner) => *inner,
                _ => return value,
            };
        }
    }

    fn is_store(&self, value: ExprId) -> bool {
        match self.out.expr(value) {
            Expr::StoreFields(..) => true,
            Expr::Subscript(part) => part.assigned.is_some(),
            _ => false,
        }
    }

    pub(super) fn insert_row(
        &mut self,
        row: Vec<ExprId>,
        of: &Relation,
        goals: &[Goal<'_>],
        named: bool,
    ) -> Result<Vec<ExprId>> {
        if let Some(surplus) = row.get(goals.len()) {
            let text = "INSERT has more expressions than target columns";
            return Err(Error::new("42601", text)).at(self.start_of(*surplus));
        }
        if named && row.len() < goals.len() {
            let text = "INSERT has more target columns than expressions";
            let mut error = Error::new("42601", text);
            if let [one] = row[..]
                && self.row_width(one) == Some(goals.len())
            {
                error = error.hint(
                    "The insertion source is a row expression containing the same number of \
                     columns expected by the INSERT. Did you accidentally use extra parentheses?",
                );
            }
            return Err(error).at(goals[row.len()].place);
        }
        let mut made = Vec::with_capacity(row.len());
        for (value, goal) in row.into_iter().zip(goals) {
            made.push(self.assigned(value, of, goal, Clause::InsertTarget)?);
        }
        Ok(made)
    }

    /// How many columns a row has that is written as one value.
    fn row_width(&self, value: ExprId) -> Option<usize> {
        match *self.out.expr(value) {
            Expr::Row(ref fields, _) => Some(fields.len()),
            Expr::Var { entry, column, up: 0 } if column > 0 => {
                let EntryKind::Query(query) = self.level_ref().entries[entry - 1].kind else {
                    return None;
                };
                let target = self.out.query(query).targets.get(column as usize - 1)?;
                match self.out.expr(target.value) {
                    Expr::Row(fields, _) => Some(fields.len()),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// RETURNING: a list of targets from 1.
    fn returning(&mut self, list: &[ast::Target]) -> Result<Vec<Target>> {
        let before = std::mem::replace(&mut self.level().targets, 1);
        let mut made = self.targets(list, Clause::Returning)?;
        if let (true, Some(first)) = (made.is_empty(), list.first()) {
            let error = Error::new("42601", "RETURNING must have at least one column");
            return Err(error).at(Some(first.place));
        }
        self.settle_unknown(&mut made)?;
        self.level().targets = before;
        Ok(made)
    }

    fn update(&mut self, update: &ast::Update) -> Result<QueryId> {
        let mut made = Query::default();
        self.with(update.with.as_ref(), &mut made)?;
        let of = self.table(&update.table, true)?;
        made.from.push(JoinTree::Entry(self.level_ref().target));
        made.from.extend(self.whole_from(&update.from)?);
        made.filter = self.condition(update.filter, Clause::Where, "WHERE")?;
        let returning = self.returning(&update.returning)?;
        made.targets = self.set_columns_of(&update.set, &of)?;
        let modify = Modify {
            kind: ModifyKind::Update,
            entry: self.level_ref().target,
            overriding: None,
            conflict: None,
            returning,
            checks: Vec::new(),
            actions: Vec::new(),
        };
        self.finished(made, modify)
    }

    fn delete(&mut self, delete: &ast::Delete) -> Result<QueryId> {
        let mut made = Query::default();
        self.with(delete.with.as_ref(), &mut made)?;
        self.table(&delete.table, true)?;
        made.from.push(JoinTree::Entry(self.level_ref().target));
        made.from.extend(self.whole_from(&delete.using)?);
        made.filter = self.condition(delete.filter, Clause::Where, "WHERE")?;
        let returning = self.returning(&delete.returning)?;
        let modify = Modify {
            kind: ModifyKind::Delete,
            entry: self.level_ref().target,
            overriding: None,
            conflict: None,
            returning,
            checks: Vec::new(),
            actions: Vec::new(),
        };
        self.finished(made, modify)
    }
}

/// The columns that INSERT fills: those that it names, or all.
pub(super) fn insert_goals<'c>(of: &Relation, columns: &'c [ast::Column]) -> Result<Vec<Goal<'c>>> {
    if columns.is_empty() {
        let all = of.columns.iter().enumerate().filter(|(_, column)| !column.dropped);
        return Ok(all
            .map(|(at, column)| Goal {
                number: at as i32 + 1,
                name: column.name.clone(),
                steps: &[],
                place: None,
            })
            .collect());
    }
    let mut goals: Vec<Goal<'_>> = Vec::new();
    for column in columns {
        let Some(number) = number_of(of, &column.name) else {
            return Err(missing(of, column));
        };
        let again = |goal: &Goal<'_>| {
            goal.number == number && (goal.steps.is_empty() || column.steps.is_empty())
        };
        if goals.iter().any(again) {
            let text = format!("column \"{}\" specified more than once", column.name);
            return Err(Error::new("42701", text).at(column.place));
        }
        goals.push(goal(column, number));
    }
    Ok(goals)
}

/// A column that is written to.
pub(super) fn goal(column: &ast::Column, number: i32) -> Goal<'_> {
    Goal { number, name: column.name.clone(), steps: &column.steps, place: Some(column.place) }
}

/// The number of a column, from 1.
pub(super) fn number_of(of: &Relation, name: &str) -> Option<i32> {
    let is_it = |column: &super::Column| !column.dropped && *column.name == *name;
    of.columns.iter().position(is_it).map(|at| at as i32 + 1)
}

/// The error of a column that a table does not have.
pub(super) fn missing(of: &Relation, column: &ast::Column) -> Error {
    let text = format!("column \"{}\" of relation \"{}\" does not exist", column.name, of.name);
    Error::new("42703", text).at(column.place)
}
