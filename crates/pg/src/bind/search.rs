//! SEARCH and CYCLE: which columns do a recursive query's parts get for them?
//!
//! As in PostgreSQL, each part becomes a query around the one that was written, which calculates them beside its columns. What
//! is recursive reads those of the row before from the reference to itself, which has them behind its own columns.
//!
//! | column | of the first part | of the second |
//! |---|---|---|
//! | SEARCH DEPTH FIRST | `ARRAY[ROW(columns)]` | that of the row before, and `ROW(columns)` |
//! | SEARCH BREADTH FIRST | `ROW(0, columns)` | `ROW(depth of the row before + 1, columns)` |
//! | the mark of CYCLE | DEFAULT | TO where the path has `ROW(columns)` already, or DEFAULT |
//! | the path of CYCLE | `ARRAY[ROW(columns)]` | that of the row before, and `ROW(columns)` |
//!
//! Rows whose mark is TO are the last of theirs: the second part does not go on from them.

use std::collections::HashSet;

use super::{Binder, unsupported};
use crate::ast::{self, Name};
use crate::bound::{
    Entry, EntryKind, Expr, ExprId, JoinTree, Literal, Op, Part, Query, QueryId, SetNode, SortItem,
    Target,
};
use crate::catalog::oids;
use crate::{Error, Oid, Result, TypeRef};

/// `array_cat`.
const ARRAY_CAT: Oid = 383;

/// A column that is added.
struct Added {
    name: Name,
    ty: TypeRef,
    what: What,
}

/// What a column is.
enum What {
    /// DEPTH FIRST, and the path of CYCLE: the columns by number.
    Path(Vec<usize>),
    /// BREADTH FIRST.
    Breadth(Vec<usize>),
    /// The mark: the columns, where among those that are added the path is, TO and DEFAULT.
    Mark(Vec<usize>, usize, [ExprId; 2]),
}

impl Binder<'_> {
    /// Fails where SEARCH or CYCLE is said of a query that is not recursive.
    pub(super) fn check_recursive(&self, written: &ast::Cte) -> Result<()> {
        match written.search.is_some() || written.cycle.is_some() {
            true => Err(Error::new("42601", "WITH query is not recursive").at(written.place)),
            false => Ok(()),
        }
    }

    /// Gives a recursive query that was bound the columns of its SEARCH and CYCLE.
    pub(super) fn search_and_cycle(
        &mut self,
        at: usize,
        query: QueryId,
        written: &ast::Cte,
    ) -> Result<()> {
        if written.search.is_none() && written.cycle.is_none() {
            return Ok(());
        }
        let parts = self.parts_of_union(query)?;
        let names = self.level_ref().ctes[at].cte.names.clone();
        let mut added = Vec::new();
        if let Some(search) = &written.search {
            added.push(self.searched(search, &names)?);
        }
        if let Some(cycle) = &written.cycle {
            let with_path = added.len() + 1;
            added.extend(self.cycled(cycle, &names, with_path)?);
        }
        check_together(written)?;
        let reference = self.own_reference(parts[1].1, written)?;
        if self.out.keeps_written() {
            self.keep_search(at, written, &added);
            return Ok(());
        }
        self.extend_reference(parts[1].1, reference, &added);
        let types = self.level_ref().ctes[at].cte.types.clone();
        let columns = Columns { names: &names, types: &types };
        let first = self.first_part(parts[0].1, &columns, &added)?;
        let second = self.second_part(parts[1].1, &columns, &added)?;
        self.extend_union(query, [(parts[0].0, first), (parts[1].0, second)], &added)?;
        let known = &mut self.level().ctes[at].cte;
        known.names.extend(added.iter().map(|added| added.name.clone()));
        known.types.extend(added.iter().map(|added| added.ty));
        Ok(())
    }

    /// Leaves the query as it was written, with its clauses next to it.
    fn keep_search(&mut self, at: usize, written: &ast::Cte, added: &[Added]) {
        let marks = added.iter().find_map(|added| match &added.what {
            What::Mark(_, _, values) => Some(*values),
            _ => None,
        });
        let known = &mut self.level().ctes[at].cte;
        known.names.extend(added.iter().map(|added| added.name.clone()));
        known.types.extend(added.iter().map(|added| added.ty));
        known.search = written.search.clone();
        known.cycle = written.cycle.clone().zip(marks);
    }

    /// The parts: their entries and queries.
    fn parts_of_union(&self, query: QueryId) -> Result<[(usize, QueryId); 2]> {
        let made = self.out.query(query);
        let Some(SetNode::Both { left, right, .. }) = &made.set else {
            return Err(unsupported("SEARCH or CYCLE of this query"));
        };
        let part = |node: &SetNode, state: &'static str, side: &str| {
            let refuse = || {
                let text = format!(
                    "with a SEARCH or CYCLE clause, the {side} side of the UNION must be a SELECT"
                );
                Error::new(state, text)
            };
            let SetNode::Entry(entry) = node else { return Err(refuse()) };
            match made.entries[*entry - 1].kind {
                EntryKind::Query(part) if self.out.query(part).set.is_none() => Ok((*entry, part)),
                _ => Err(refuse()),
            }
        };
        Ok([part(left, "0A000", "left")?, part(right, "42601", "right")?])
    }

    fn searched(&self, search: &ast::Search, names: &[Name]) -> Result<Added> {
        let columns = numbers(&search.by, names, "search", search.place)?;
        if names.contains(&search.set) {
            return taken("search sequence column", &search.set, search.place);
        }
        let (ty, what) = match search.breadth {
            true => (oids::RECORD, What::Breadth(columns)),
            false => (oids::RECORD_ARRAY, What::Path(columns)),
        };
        Ok(Added { name: search.set.clone(), ty: TypeRef::new(ty), what })
    }

    fn cycled(&mut self, cycle: &ast::Cycle, names: &[Name], path: usize) -> Result<[Added; 2]> {
        let columns = numbers(&cycle.columns, names, "cycle", cycle.place)?;
        if names.contains(&cycle.mark) {
            return taken("cycle mark column", &cycle.mark, cycle.place);
        }
        let (values, ty) = self.marks(cycle)?;
        self.unequal(ty.oid)?;
        if names.contains(&cycle.path) {
            return taken("cycle path column", &cycle.path, cycle.place);
        }
        if cycle.mark == cycle.path {
            return same("cycle mark", "cycle path", cycle.place);
        }
        let mark = What::Mark(columns.clone(), path, values);
        let path = TypeRef::new(oids::RECORD_ARRAY);
        Ok([
            Added { name: cycle.mark.clone(), ty, what: mark },
            Added { name: cycle.path.clone(), ty: path, what: What::Path(columns) },
        ])
    }

    /// TO and DEFAULT, and their type.
    fn marks(&mut self, cycle: &ast::Cycle) -> Result<([ExprId; 2], TypeRef)> {
        let values = match cycle.values {
            Some((to, default)) => [self.expr(to)?, self.expr(default)?],
            None => {
                let flag = |b: &mut Self, flag| b.literal(Literal::Bool(flag), oids::BOOL, None);
                [flag(self, true), flag(self, false)]
            }
        };
        let common = self.common_type(&values, "CYCLE")?;
        let values = [
            self.one_to_common(values[0], common, "CYCLE/SET/TO")?,
            self.one_to_common(values[1], common, "CYCLE/SET/DEFAULT")?,
        ];
        let ty = TypeRef { oid: common, modifier: self.common_modifier(&values, common) };
        Ok((values, ty))
    }

    /// The columns that a recursive query will have: it sees them itself, though not by a star.
    pub(super) fn added_columns(&mut self, written: &ast::Cte) -> Result<Vec<(Name, TypeRef)>> {
        let mut added = Vec::new();
        if let Some(search) = &written.search {
            let oid = if search.breadth { oids::RECORD } else { oids::RECORD_ARRAY };
            added.push((search.set.clone(), TypeRef::new(oid)));
        }
        if let Some(cycle) = &written.cycle {
            added.push((cycle.mark.clone(), self.marks(cycle)?.1));
            added.push((cycle.path.clone(), TypeRef::new(oids::RECORD_ARRAY)));
        }
        Ok(added)
    }

    /// The operator that finds values of a type not equal, and its function.
    fn unequal(&self, oid: Oid) -> Result<(Oid, Oid)> {
        let equal = self.group_orders(oid)?.equal;
        let negator = self.catalog.operator(equal).map_or(0, |equal| equal.negator);
        match self.catalog.operator(negator) {
            Some(found) => Ok((found.oid, found.proc)),
            None => {
                let shown = self.catalog.shown(oid);
                let text = format!("could not identify an inequality operator for type {shown}");
                Err(Error::new("42883", text))
            }
        }
    }

    /// The entry of the second part that is the recursive query itself.
    fn own_reference(&self, part: QueryId, written: &ast::Cte) -> Result<usize> {
        let made = self.out.query(part);
        let grouped = made.has_aggregates || !made.groups.is_empty() || !made.sets.is_empty();
        if grouped || !made.distinct.is_empty() {
            return Err(unsupported("SEARCH or CYCLE of a recursive part that groups"));
        }
        let is_own = |entry: &Entry| match &entry.kind {
            EntryKind::Cte { name, own, .. } => *own && *name == written.name,
            _ => false,
        };
        made.entries.iter().position(is_own).map(|at| at + 1).ok_or_else(|| {
            let text = format!(
                "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"{}\" must \
                 be at the top level of its right-hand SELECT",
                written.name
            );
            Error::new("0A000", text)
        })
    }

    /// Lets the second part give what the row before has of the columns.
    fn extend_reference(&mut self, part: QueryId, reference: usize, added: &[Added]) {
        let made = self.out.query(part);
        let before = made.entries[reference - 1].types.len() - added.len();
        let seen = made.targets.iter().filter(|target| !target.hidden).count();
        let number = made.targets.iter().map(|target| target.number).max().unwrap_or(0);
        for (n, added) in added.iter().enumerate() {
            let column = (before + n) as i32 + 1;
            let var = Expr::Var { entry: reference, column, up: 0 };
            let value = self.out.add(var, added.ty, None);
            let name = Some(added.name.clone());
            let target =
                Target { value, number: number + n + 1, name, reference: 0, hidden: false };
            let made = self.out.query_mut(part);
            // Hidden ones stay behind.
            made.targets.insert(seen + n, target);
        }
    }

    /// A query around a part, which gives its columns.
    fn around(&mut self, part: QueryId, name: &str, of: &Columns<'_>, more: &[Added]) -> Query {
        self.push_down(part);
        let names = of.names.iter().cloned().chain(more.iter().map(|added| added.name.clone()));
        let seen = self.out.query(part).targets.iter().filter(|target| !target.hidden);
        let types = seen.map(|target| self.out.ty(target.value)).collect();
        let entry = Entry {
            kind: EntryKind::Query(part),
            alias: Some((name.into(), Vec::new())),
            name: name.into(),
            names: names.collect(),
            types,
            lateral: false,
            in_from: true,
            guards: Vec::new(),
        };
        Query { entries: vec![entry], from: vec![JoinTree::Entry(1)], ..Query::default() }
    }

    /// The part's own columns, as the recursive query has them.
    fn own_columns(&mut self, made: &Query, of: &Columns<'_>) -> Result<Vec<ExprId>> {
        let mut values = Vec::with_capacity(of.types.len());
        for (at, wanted) in of.types.iter().enumerate() {
            let value = self.part_column(made, at);
            values.push(self.one_to_common(value, wanted.oid, "UNION")?);
        }
        Ok(values)
    }

    fn part_column(&mut self, made: &Query, at: usize) -> ExprId {
        let ty = made.entries[0].types[at];
        self.out.add(Expr::Var { entry: 1, column: at as i32 + 1, up: 0 }, ty, None)
    }

    fn first_part(&mut self, part: QueryId, of: &Columns<'_>, added: &[Added]) -> Result<QueryId> {
        let mut made = self.around(part, "*TLOCRN*", of, &[]);
        let mut values = self.own_columns(&made, of)?;
        for one in added {
            let value = match &one.what {
                What::Path(columns) => {
                    let row = self.row(&values, columns, None);
                    self.path_of(row)
                }
                What::Breadth(columns) => {
                    let start = self.literal(Literal::Int8(0), oids::INT8, None);
                    self.row(&values, columns, Some(start))
                }
                What::Mark(_, _, [_, default]) => *default,
            };
            values.push(value);
        }
        made.targets = targets(of, added, &values);
        Ok(self.out.add_query(made))
    }

    fn second_part(&mut self, part: QueryId, of: &Columns<'_>, added: &[Added]) -> Result<QueryId> {
        let mut made = self.around(part, "*TROCRN*", of, added);
        let mut values = self.own_columns(&made, of)?;
        for (n, one) in added.iter().enumerate() {
            let before = self.part_column(&made, of.types.len() + n);
            let value = match &one.what {
                What::Path(columns) => {
                    let row = self.row(&values, columns, None);
                    let last = self.path_of(row);
                    let call = Expr::call(ARRAY_CAT, vec![before, last]);
                    self.out.add(call, one.ty, None)
                }
                What::Breadth(columns) => {
                    let depth = Expr::Field(before, 1);
                    let depth = self.out.add(depth, TypeRef::new(oids::INT8), None);
                    let step = self.literal(Literal::Int8(1), oids::INT8, None);
                    let depth = self.operator("+", Some(depth), step, None)?;
                    self.row(&values, columns, Some(depth))
                }
                What::Mark(columns, path, [to, default]) => {
                    let path = self.part_column(&made, of.types.len() + path);
                    let row = self.row(&values, columns, None);
                    let seen = self.is_in(row, path)?;
                    made.filter = Some(self.differs(before, *to)?);
                    self.out.add(Expr::Case(None, vec![(seen, *to)], *default), one.ty, None)
                }
            };
            values.push(value);
        }
        made.targets = targets(of, added, &values);
        Ok(self.out.add_query(made))
    }

    /// ROW of columns, behind a depth where there is one.
    fn row(&mut self, values: &[ExprId], columns: &[usize], depth: Option<ExprId>) -> ExprId {
        let fields = depth.into_iter().chain(columns.iter().map(|at| values[*at]));
        let fields: Vec<ExprId> = fields.collect();
        let names = (1..=fields.len()).map(|n| format!("f{n}").into()).collect();
        self.out.add(Expr::Row(fields, names), TypeRef::new(oids::RECORD), None)
    }

    fn path_of(&mut self, row: ExprId) -> ExprId {
        self.out.add(Expr::Array(vec![row], false), TypeRef::new(oids::RECORD_ARRAY), None)
    }

    fn is_in(&mut self, row: ExprId, path: ExprId) -> Result<ExprId> {
        let equal = self.group_orders(oids::RECORD)?.equal;
        let proc = self.catalog.operator(equal).map_or(0, |operator| operator.proc);
        let op = Op { operator: equal, proc, args: vec![row, path], set: false };
        Ok(self.out.add(Expr::ArrayOp(op, false), TypeRef::new(oids::BOOL), None))
    }

    fn differs(&mut self, mark: ExprId, to: ExprId) -> Result<ExprId> {
        let (operator, proc) = self.unequal(self.out.ty(to).oid)?;
        let op = Op { operator, proc, args: vec![mark, to], set: false };
        Ok(self.out.add(Expr::Op(op), TypeRef::new(oids::BOOL), None))
    }

    /// The union of the queries around its parts.
    fn extend_union(
        &mut self,
        query: QueryId,
        parts: [(usize, QueryId); 2],
        added: &[Added],
    ) -> Result<()> {
        for one in added {
            let orders = match &self.out.query(query).set {
                Some(SetNode::Both { all: false, .. }) => Some(self.group_orders(one.ty.oid)?),
                _ => None,
            };
            let column = self.out.query(query).entries[parts[0].0 - 1].types.len() as i32 + 1;
            let var = Expr::Var { entry: parts[0].0, column, up: 0 };
            let value = self.out.add(var, one.ty, None);
            let made = self.out.query_mut(query);
            for (entry, part) in parts {
                let entry = &mut made.entries[entry - 1];
                entry.kind = EntryKind::Query(part);
                entry.names.push(one.name.clone());
                entry.types.push(one.ty);
            }
            let number = made.targets.len() + 1;
            let name = Some(one.name.clone());
            made.targets.push(Target { value, number, name, reference: 0, hidden: false });
            if let Some(SetNode::Both { types, groups, .. }) = &mut made.set {
                types.push(one.ty);
                groups.extend(orders.map(|orders| SortItem {
                    reference: 0,
                    equal: orders.equal,
                    less: orders.less,
                    nulls_first: false,
                }));
            }
        }
        Ok(())
    }

    /// A query stands one level further in: what it names outside of itself is a level further up.
    fn push_down(&mut self, query: QueryId) {
        let mut done = HashSet::new();
        let mut open = vec![(Part::Query(query), 0)];
        while let Some((part, depth)) = open.pop() {
            match part {
                Part::Query(query) => {
                    for entry in &mut self.out.query_mut(query).entries {
                        if let EntryKind::Cte { up, .. } = &mut entry.kind
                            && *up > depth
                        {
                            *up += 1;
                        }
                    }
                    open.extend(self.out.parts(query).into_iter().map(|part| within(part, depth)));
                }
                Part::Expr(id) if done.insert(id) => {
                    let mut expr = self.out.expr(id).clone();
                    match &mut expr {
                        Expr::Var { up, .. } | Expr::Grouping(_, _, up) if *up > depth => *up += 1,
                        Expr::Aggregate(call) if call.up > depth => call.up += 1,
                        _ => {}
                    }
                    open.extend(expr.parts().into_iter().map(|part| within(part, depth)));
                    self.out.set_expr(id, expr);
                }
                Part::Expr(_) => {}
            }
        }
    }
}

/// A part with how many queries in it is.
fn within(part: Part, depth: u32) -> (Part, u32) {
    match part {
        Part::Query(_) => (part, depth + 1),
        Part::Expr(_) => (part, depth),
    }
}

/// The recursive query's own columns.
struct Columns<'a> {
    names: &'a [Name],
    types: &'a [TypeRef],
}

fn targets(of: &Columns<'_>, added: &[Added], values: &[ExprId]) -> Vec<Target> {
    let names = of.names.iter().chain(added.iter().map(|added| &added.name));
    let target = |(at, (name, value)): (usize, (&Name, &ExprId))| Target {
        value: *value,
        number: at + 1,
        name: Some(name.clone()),
        reference: 0,
        hidden: false,
    };
    names.zip(values).enumerate().map(target).collect()
}

/// The numbers of columns, from 0.
fn numbers(said: &[Name], names: &[Name], what: &str, place: u32) -> Result<Vec<usize>> {
    let mut found = Vec::with_capacity(said.len());
    for name in said {
        let Some(at) = names.iter().position(|other| other == name) else {
            let text = format!("{what} column \"{name}\" not in WITH query column list");
            return Err(Error::new("42601", text).at(place));
        };
        if found.contains(&at) {
            let text = format!("{what} column \"{name}\" specified more than once");
            return Err(Error::new("42701", text).at(place));
        }
        found.push(at);
    }
    Ok(found)
}

fn taken<T>(what: &str, name: &Name, place: u32) -> Result<T> {
    let text = format!("{what} name \"{name}\" already used in WITH query column list");
    Err(Error::new("42601", text).at(place))
}

fn same<T>(one: &str, other: &str, place: u32) -> Result<T> {
    let text = format!("{one} column name and {other} column name are the same");
    Err(Error::new("42601", text).at(place))
}

fn check_together(written: &ast::Cte) -> Result<()> {
    let (Some(search), Some(cycle)) = (&written.search, &written.cycle) else { return Ok(()) };
    if search.set == cycle.mark {
        return same("search sequence", "cycle mark", search.place);
    }
    match search.set == cycle.path {
        true => same("search sequence", "cycle path", search.place),
        false => Ok(()),
    }
}
