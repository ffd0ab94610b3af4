//! UNION, INTERSECT and EXCEPT.

use super::level::{Clause, Item, Seen};
use super::{Around, At, Binder, locks, unsupported};
use crate::ast::{self, Body, Name, SetKind};
use crate::bound::{Entry, EntryKind, Expr, ExprId, Query, QueryId, SetNode, SortItem, Target};
use crate::catalog::oids;
use crate::resolve;
use crate::{Error, Oid, Result, TypeRef};

/// A column of queries that are put together.
#[derive(Clone, Copy)]
struct Column {
    /// The value, where the column is of one query: its entry, the target's number.
    source: Option<(usize, usize)>,
    value: Option<ExprId>,
    ty: TypeRef,
    collation: Oid,
    place: Option<u32>,
}

impl Binder<'_> {
    pub(super) fn set_operation(&mut self, id: ast::QueryId, around: Around) -> Result<QueryId> {
        let query = self.tree.query(id);
        let mut made = Query::default();
        self.check_leftmost_into(id)?;
        if let Some(lock) = query.locks.first() {
            return Err(not_with_sets(lock));
        }
        self.with(query.with.as_ref(), &mut made)?;
        let (node, columns) = self.set_node(id, true, around)?;
        let first = leftmost(&node);
        let EntryKind::Query(leftmost) = self.level_ref().entries[first - 1].kind else {
            return Err(unsupported("this query"));
        };
        let names: Vec<(Name, usize, Option<u32>)> = {
            let of = self.out.query(leftmost).targets.iter().filter(|target| !target.hidden);
            of.map(|target| {
                let name = target.name.clone().unwrap_or_default();
                (name, target.number, self.start_of(target.value))
            })
            .collect()
        };
        let mut targets: Vec<Target> = Vec::new();
        for ((name, number, place), column) in names.into_iter().zip(&columns) {
            let var = Expr::Var { entry: first, column: number as i32, up: 0 };
            let value = self.out.add(var, column.ty, place);
            self.out.set_collation(value, column.collation);
            targets.push(self.target(value, Some(name), false));
        }
        made.set = Some(node);
        made.order = self.set_order(query, first, &mut targets)?;
        self.limits(query, &mut made)?;
        made.targets = targets;
        self.finish(&mut made);
        self.collate_query(&made)?;
        self.check_groups(&mut made)?;
        Ok(self.out.add_query(made))
    }

    /// ORDER BY, which sees the result's columns alone.
    fn set_order(
        &mut self,
        query: &ast::Query,
        first: usize,
        targets: &mut Vec<Target>,
    ) -> Result<Vec<SortItem>> {
        let seen = |target: &Target| match *self.out.expr(target.value) {
            Expr::Var { entry, column, .. } => {
                Seen { entry, column, ty: self.out.ty(target.value), called: (entry, column) }
            }
            _ => {
                Seen { entry: first, column: 1, ty: self.out.ty(target.value), called: (first, 1) }
            }
        };
        let item = Item {
            entry: first,
            name: "unnamed_join".into(),
            names: targets.iter().map(|t| t.name.clone().unwrap_or_default()).collect(),
            columns: targets.iter().map(seen).collect(),
            name_seen: false,
            columns_seen: true,
            lateral_only: false,
            lateral_ok: true,
            merged: true,
            target: false,
        };
        let before = std::mem::replace(&mut self.level().items, vec![item]);
        let count = targets.len();
        let made = self.sort_clause(&query.order, targets, Clause::OrderBy, false)?;
        self.level().items = before;
        match targets.get(count) {
            None => Ok(made),
            Some(added) => {
                let text = "invalid UNION/INTERSECT/EXCEPT ORDER BY clause";
                let detail = "Only result column names can be used, not expressions or functions.";
                let hint = "Add the expression/function to every SELECT, or move the UNION into a \
                            FROM clause.";
                Err(Error::new("0A000", text).detail(detail).hint(hint))
                    .at(self.start_of(added.value))
            }
        }
    }

    fn check_leftmost_into(&self, mut id: ast::QueryId) -> Result<()> {
        while let Body::Set(set) = &self.tree.query(id).body {
            id = set.left;
        }
        let Body::Select(select) = &self.tree.query(id).body else { return Ok(()) };
        match &select.into {
            Some(_) if self.levels.len() == 1 => Err(unsupported("SELECT INTO")),
            Some(into) => {
                Err(Error::new("42601", "SELECT ... INTO is not allowed here").at(into.place))
            }
            None => Ok(()),
        }
    }

    fn set_node(
        &mut self,
        id: ast::QueryId,
        top: bool,
        around: Around,
    ) -> Result<(SetNode, Vec<Column>)> {
        let query = self.tree.query(id);
        if let Body::Select(select) = &query.body
            && let Some(into) = &select.into
        {
            let text = "INTO is only allowed on first SELECT of UNION/INTERSECT/EXCEPT";
            return Err(Error::new("42601", text).at(into.place));
        }
        if let Some(lock) = query.locks.first() {
            return Err(not_with_sets(lock));
        }
        let decorated = !query.order.is_empty()
            || query.limit.is_some()
            || query.offset.is_some()
            || query.with.is_some();
        match &query.body {
            Body::Set(set) if top || !decorated => self.deeper(|b| b.set_pair(set, top, around)),
            _ => self.set_leaf(id),
        }
    }

    fn set_leaf(&mut self, id: ast::QueryId) -> Result<(SetNode, Vec<Column>)> {
        let query = self.query(id, Around { keeps_unknown: true, ..Around::default() })?;
        let number = self.level_ref().entries.len() + 1;
        let of = self.out.query(query);
        let mut columns = Vec::new();
        for target in of.targets.iter().filter(|target| !target.hidden) {
            columns.push(Column {
                source: Some((number, target.number)),
                value: Some(target.value),
                ty: self.out.ty(target.value),
                collation: 0,
                place: self.start_of(target.value),
            });
        }
        let name = Name::from(format!("*SELECT* {number}"));
        let entry = Entry {
            kind: EntryKind::Query(query),
            alias: Some((name.clone(), Vec::new())),
            name,
            names: self.names_of_query(query),
            types: columns.iter().map(|column| column.ty).collect(),
            lateral: false,
            in_from: false,
            guards: Vec::new(),
        };
        let number = self.add_entry(entry, 0, Vec::new());
        Ok((SetNode::Entry(number), columns))
    }

    fn set_pair(
        &mut self,
        set: &ast::Set,
        top: bool,
        around: Around,
    ) -> Result<(SetNode, Vec<Column>)> {
        let name = match set.kind {
            SetKind::Union => "UNION",
            SetKind::Intersect => "INTERSECT",
            SetKind::Except => "EXCEPT",
        };
        let (left, lefts) = self.set_node(set.left, false, Around::default())?;
        let recursive = match around.cte.filter(|_| top) {
            Some(cte) => {
                let types: Vec<TypeRef> = lefts.iter().map(|column| column.ty).collect();
                let collations: Vec<Oid> = lefts
                    .iter()
                    .map(|column| match self.value_in_query(*column) {
                        Some(value) => self.collation_of(value),
                        None => column.collation,
                    })
                    .collect();
                self.recursive_columns(cte, leftmost(&left), &types, &collations)?
            }
            None => false,
        };
        let (right, rights) = self.set_node(set.right, false, Around::default())?;
        if lefts.len() != rights.len() {
            let text = format!("each {name} query must have the same number of columns");
            let at = rights.iter().find_map(|column| column.place);
            return Err(Error::new("42601", text)).at(at);
        }
        let (mut columns, mut types, mut groups) = (Vec::new(), Vec::new(), Vec::new());
        for (one, other) in lefts.into_iter().zip(rights) {
            let (column, group) = self.set_column(one, other, set, name, recursive)?;
            types.push(column.ty);
            columns.push(column);
            groups.extend(group);
        }
        let node = SetNode::Both {
            kind: set.kind,
            all: set.all,
            left: Box::new(left),
            right: Box::new(right),
            types,
            groups,
        };
        Ok((node, columns))
    }

    fn set_column(
        &mut self,
        one: Column,
        other: Column,
        set: &ast::Set,
        name: &str,
        recursive: bool,
    ) -> Result<(Column, Option<SortItem>)> {
        let types = [one.ty.oid, other.ty.oid];
        let common = resolve::common_type(self.catalog, &types, name).at(other.place)?;
        // Of the two, the one whose type was chosen.
        let place = match self.catalog.base_type(types[0]) == common || types[1] == oids::UNKNOWN {
            true => one.place,
            false => other.place,
        };
        let columns = [one, other];
        let one = self.set_type_of(one, common, name)?;
        let other = self.set_type_of(other, common, name)?;
        let modifier = resolve::common_modifier(&[one, other], common);
        let may_differ = set.kind == SetKind::Union && set.all;
        let given =
            columns.map(|column| (self.value_in_query(column), column.collation, column.place));
        let collation = self.set_collation_of(given, may_differ)?;
        let ty = TypeRef { oid: common, modifier };
        let column = Column { source: None, value: None, ty, collation, place };
        if may_differ {
            return Ok((column, None));
        }
        let found = self.group_orders(common).at(place)?;
        if recursive && !self.can_hash(common) {
            let shown = self.catalog.shown(common);
            let text = format!("could not implement recursive UNION for type {shown}");
            return Err(Error::new("0A000", text)).at(place);
        }
        let (equal, less) = (found.equal, found.less);
        Ok((column, Some(SortItem { reference: 0, equal, less, nulls_first: false })))
    }

    /// The value of a column of one query, as it is now.
    fn value_in_query(&self, column: Column) -> Option<ExprId> {
        let (entry, number) = column.source?;
        let EntryKind::Query(query) = self.level_ref().entries[entry - 1].kind else { return None };
        let mut targets = self.out.query(query).targets.iter();
        targets.find(|target| target.number == number).map(|target| target.value)
    }

    /// Whether a column can become the common type, and the type that it has then; open literals and parameters become it.
    fn set_type_of(&mut self, column: Column, common: u32, name: &str) -> Result<TypeRef> {
        let open = column.ty.oid == oids::UNKNOWN;
        let value = column.value.filter(|value| {
            !open || matches!(self.out.expr(*value), Expr::Literal(_) | Expr::Param(_))
        });
        let Some(value) = value else {
            if open {
                return Ok(column.ty);
            }
            let operand = resolve::Operand::typed(column.ty);
            let found = resolve::to_common(self.catalog, operand, common, name).at(column.place)?;
            return Ok(found.ty);
        };
        if !open {
            let operand = self.operand(value);
            let found = resolve::to_common(self.catalog, operand, common, name).at(column.place)?;
            return Ok(found.ty);
        }
        let made = self.one_to_common(value, common, name)?;
        if let Some((entry, number)) = column.source {
            let EntryKind::Query(query) = self.level_ref().entries[entry - 1].kind else {
                return Ok(self.out.ty(made));
            };
            let of = self.out.query_mut(query);
            of.targets.iter_mut().filter(|t| t.number == number).for_each(|t| t.value = made);
            let ty = self.out.ty(made);
            let shown = self.out.query(query).targets.iter().filter(|target| !target.hidden);
            let at = shown.into_iter().position(|target| target.number == number);
            if let Some(at) = at {
                self.level().entries[entry - 1].types[at] = ty;
            }
        }
        Ok(self.out.ty(made))
    }

    fn can_hash(&self, oid: u32) -> bool {
        let equal = self.orders(oid).equal;
        self.catalog.operator(equal).is_some_and(|operator| operator.can_hash)
    }
}

fn not_with_sets(lock: &ast::Lock) -> Error {
    let name = locks::name(lock.strength);
    Error::new("0A000", format!("{name} is not allowed with UNION/INTERSECT/EXCEPT"))
}

fn leftmost(node: &SetNode) -> usize {
    match node {
        SetNode::Entry(entry) => *entry,
        SetNode::Both { left, .. } => leftmost(left),
    }
}
