//! Joins: which columns they merge, and which names they hide.

use super::Binder;
use super::from::{Made, lateral_only};
use super::level::{Clause, Item, Seen};
use crate::ast::{self, JoinKind, Name, On};
use crate::bound::{Entry, EntryKind, Expr, ExprId, JoinNode, JoinTree};
use crate::catalog::oids;
use crate::resolve::Context;
use crate::{Error, Result, TypeRef, worked};

/// Work for a name or a column of a join, in [`worked`]'s units: some hundred nanoseconds.
const COLUMN_WORK: usize = 16;

/// The columns of a join.
#[derive(Default)]
struct Columns {
    names: Vec<Name>,
    values: Vec<ExprId>,
    /// What each stands for; entry 0 for one that is the join's own.
    seen: Vec<Seen>,
    left: Vec<i32>,
    right: Vec<i32>,
}

impl Binder<'_> {
    pub(super) fn join(&mut self, join: &ast::Join) -> Result<Made> {
        let mut left = self.item_of_from(join.left)?;
        let lateral_ok = matches!(join.kind, JoinKind::Inner | JoinKind::Left);
        lateral_only(&mut left.items, true, lateral_ok);
        let before = self.level().items.len();
        self.level().items.append(&mut left.items);
        let mut right = self.item_of_from(join.right)?;
        left.items = self.level().items.split_off(before);
        let columns = left.top.columns.len() + right.top.columns.len();
        worked((left.items.len() + columns) * COLUMN_WORK)?;
        self.check_conflicts(&left.items, &right.items)?;
        let mut items = left.items;
        items.append(&mut right.items);
        let (using, using_alias) = match &join.on {
            On::Natural => (common_names(&left.top, &right.top), None),
            On::Using(using) => (using.columns.clone(), using.alias.clone()),
            _ => (Vec::new(), None),
        };
        let mut columns = Columns::default();
        let mut condition = self.merge(join.kind, &using, &left.top, &right.top, &mut columns)?;
        if let On::Condition(on) = &join.on {
            condition = Some(self.on(*on, &mut items)?);
        }
        self.remaining(&left.top, true, &mut columns);
        self.remaining(&right.top, false, &mut columns);
        let entry = self.join_entry(join, columns, &using, using_alias.as_ref())?;
        let node = JoinNode {
            kind: join.kind,
            natural: join.on == On::Natural,
            left: left.tree,
            right: right.tree,
            using: using.clone(),
            condition,
            entry: entry.entry,
        };
        let tree = JoinTree::Join(Box::new(node));
        if let Some(name) = using_alias {
            let merged = merged_item(&entry, name, using);
            self.check_conflicts(std::slice::from_ref(&merged), &items)?;
            items.push(merged);
        }
        match join.alias.is_some() {
            true => items.clear(),
            false => items.iter_mut().for_each(|item| item.columns_seen = false),
        }
        items.push(entry.clone());
        Ok(Made { tree, top: entry, items })
    }

    /// ON sees both sides and nothing else of FROM.
    fn on(&mut self, on: ast::ExprId, items: &mut Vec<Item>) -> Result<ExprId> {
        lateral_only(items, false, true);
        std::mem::swap(&mut self.level().items, items);
        let made = self.condition(Some(on), Clause::JoinOn, "JOIN/ON");
        std::mem::swap(&mut self.level().items, items);
        Ok(made?.expect("there is a condition"))
    }

    /// USING: the merged columns, and the condition that it means.
    fn merge(
        &mut self,
        kind: JoinKind,
        using: &[Name],
        left: &Item,
        right: &Item,
        columns: &mut Columns,
    ) -> Result<Option<ExprId>> {
        if using.is_empty() {
            return Ok(None);
        }
        let mut pairs: Vec<(ExprId, ExprId)> = Vec::new();
        for name in using {
            if columns.names.contains(name) {
                let text = format!("column name \"{name}\" appears more than once in USING clause");
                return Err(Error::new("42701", text));
            }
            let (at, other) =
                (using_column(name, left, "left")?, using_column(name, right, "right")?);
            columns.left.push(at as i32 + 1);
            columns.right.push(other as i32 + 1);
            columns.names.push(name.clone());
            let one = self.var(left.columns[at], 0, None);
            let two = self.var(right.columns[other], 0, None);
            let merged = self.merged(kind, one, two)?;
            columns.values.push(merged);
            columns.seen.push(match merged {
                merged if merged == one => left.columns[at],
                merged if merged == two => right.columns[other],
                merged => {
                    let column = pairs.len() as i32 + 1;
                    Seen { entry: 0, column, ty: self.out.ty(merged), called: (0, column) }
                }
            });
            pairs.push((one, two));
        }
        let before = std::mem::replace(&mut self.level().clause, Clause::JoinUsing);
        let mut all = Vec::new();
        for (one, two) in pairs {
            let compared = self.operator("=", Some(one), two, None)?;
            all.push(match using.len() {
                1 => compared,
                _ => self.boolean(compared, "AND")?,
            });
        }
        self.level().clause = before;
        let all = match all[..] {
            [one] => one,
            _ => self.out.add(Expr::And(all), TypeRef::new(oids::BOOL), None),
        };
        self.boolean(all, "JOIN/USING").map(Some)
    }

    /// A merged column: that of a side, or the one of both that is there.
    fn merged(&mut self, kind: JoinKind, left: ExprId, right: ExprId) -> Result<ExprId> {
        let common = self.common_type(&[left, right], "JOIN/USING")?;
        let modifier = self.common_modifier(&[left, right], common);
        let ty = TypeRef { oid: common, modifier };
        let (one, two) = (self.side(left, ty)?, self.side(right, ty)?);
        let made = match kind {
            JoinKind::Inner if one == left => one,
            JoinKind::Inner if two == right => two,
            JoinKind::Inner | JoinKind::Left => one,
            JoinKind::Right => two,
            JoinKind::Full => {
                let modifier = self.common_modifier(&[one, two], common);
                let ty = TypeRef { oid: common, modifier };
                self.out.add(Expr::Coalesce(vec![one, two]), ty, None)
            }
        };
        self.derive_collations(&[made])?;
        Ok(made)
    }

    fn side(&mut self, value: ExprId, ty: TypeRef) -> Result<ExprId> {
        let own = self.out.ty(value);
        if own.oid != ty.oid {
            // The modifier is that of the common type alone, which nothing has to be cut to.
            let target = TypeRef::new(ty.oid);
            return self.cast_to(value, target, Context::Implicit);
        }
        Ok(match own.modifier == ty.modifier {
            true => value,
            false => self.out.add(Expr::Relabel(value), ty, None),
        })
    }

    /// Columns that are not merged, one side after the other.
    fn remaining(&mut self, item: &Item, left: bool, columns: &mut Columns) {
        let taken = if left { columns.left.clone() } else { columns.right.clone() };
        for (at, (name, seen)) in item.names.iter().zip(&item.columns).enumerate() {
            let number = at as i32 + 1;
            if name.is_empty() || taken.contains(&number) {
                continue;
            }
            columns.names.push(name.clone());
            columns.values.push(self.var(*seen, 0, None));
            columns.seen.push(*seen);
            if left { &mut columns.left } else { &mut columns.right }.push(number);
        }
    }

    /// The join's entry, and the names that it brings.
    fn join_entry(
        &mut self,
        join: &ast::Join,
        columns: Columns,
        using: &[Name],
        using_alias: Option<&Name>,
    ) -> Result<Item> {
        let alias = join.alias.as_ref();
        if let Some(alias) = alias.filter(|alias| alias.columns.len() > columns.names.len()) {
            let text = format!(
                "join expression \"{}\" has {} columns available but {} columns specified",
                alias.name,
                columns.names.len(),
                alias.columns.len()
            );
            return Err(Error::new("42P10", text));
        }
        let written = alias.map_or(&[][..], |alias| &alias.columns[..]);
        let rest = columns.names.into_iter().skip(written.len());
        let names: Vec<Name> = written.iter().cloned().chain(rest).collect();
        let kind = EntryKind::Join {
            kind: join.kind,
            merged: using.len(),
            columns: columns.values.clone(),
            left: columns.left,
            right: columns.right,
            using: using_alias.map(|name| (name.clone(), using.to_vec())),
        };
        let types = columns.values.iter().map(|value| self.out.ty(*value)).collect();
        for value in &columns.values {
            let collation = self.collation_of(*value);
            if self.out.collation(*value).is_none() {
                self.out.set_collation(*value, collation);
            }
        }
        let entry = Entry {
            kind,
            alias: alias.map(|alias| (alias.name.clone(), alias.columns.clone())),
            name: alias.map_or_else(|| "unnamed_join".into(), |alias| alias.name.clone()),
            names: names.clone(),
            types,
            lateral: false,
            in_from: true,
            guards: Vec::new(),
        };
        let number = self.add_entry(entry, 0, Vec::new());
        let mut item = self.item_of(number);
        item.columns = columns.seen;
        for (at, seen) in item.columns.iter_mut().enumerate() {
            if seen.entry == 0 {
                (seen.entry, seen.called) = (number, (number, seen.column));
            }
            // The name hides what is joined.
            if alias.is_some() {
                seen.called = (number, at as i32 + 1);
            }
        }
        item.name_seen = alias.is_some();
        Ok(item)
    }
}

/// The merged columns under their own name.
fn merged_item(join: &Item, name: Name, using: Vec<Name>) -> Item {
    let mut item = join.clone();
    item.name = name;
    item.columns.truncate(using.len());
    item.names = using;
    item.name_seen = true;
    item.merged = true;
    item
}

fn common_names(left: &Item, right: &Item) -> Vec<Name> {
    let common = |name: &&Name| !name.is_empty() && right.names.contains(name);
    left.names.iter().filter(common).cloned().collect()
}

fn using_column(name: &Name, item: &Item, side: &str) -> Result<usize> {
    let mut found = (0..item.names.len()).filter(|at| item.names[*at] == *name);
    match (found.next(), found.next()) {
        (Some(at), None) => Ok(at),
        (Some(_), Some(_)) => {
            let text =
                format!("common column name \"{name}\" appears more than once in {side} table");
            Err(Error::new("42702", text))
        }
        (None, _) => {
            let text = format!(
                "column \"{name}\" specified in USING clause does not exist in {side} table"
            );
            Err(Error::new("42703", text))
        }
    }
}
