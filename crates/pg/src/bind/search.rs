//! SEARCH and CYCLE: what they add to a recursive query.
//!
//! Both parts of the UNION become queries around themselves that give more columns: where a row was found (a list of rows
//! for DEPTH FIRST, a row that begins with the depth for BREADTH FIRST), whether it closes a cycle, and the way to it. The second part
//! makes them of those of the row that it comes from, which the query within hands over.

use std::collections::HashSet;

use super::{At, Binder};
use crate::ast::{self, Cycle, Name, Search};
use crate::bound::{
    Entry, EntryKind, Expr, ExprId, JoinTree, Literal, Part, Query, QueryId, SetNode, SortItem,
    Target,
};
use crate::catalog::oids;
use crate::{Error, Result, TypeRef};

/// CYCLE's values, of one type, and how they are told apart.
#[derive(Clone, Copy)]
pub(super) struct Marks {
    value: ExprId,
    default: ExprId,
    ty: TypeRef,
}

/// A column that is added.
struct Added {
    name: Name,
    ty: TypeRef,
    /// What it is in the first part.
    first: ExprId,
    /// What it is in the second.
    then: ExprId,
}

/// Columns of a part: the entry 1 of the query around it.
struct Of<'a> {
    /// Number and type by position.
    columns: &'a [(usize, TypeRef)],
}

impl Binder<'_> {
    /// The values of CYCLE, which are bound before the query.
    pub(super) fn cycle_marks(&mut self, cte: &ast::Cte) -> Result<Option<Marks>> {
        let Some(cycle) = &cte.cycle else { return Ok(None) };
        let (value, default) = match cycle.values {
            Some((value, default)) => (self.expr(value)?, self.expr(default)?),
            None => {
                let truth = |b: &mut Self, truth| b.literal(Literal::Bool(truth), oids::BOOL, None);
                (truth(self, true), truth(self, false))
            }
        };
        let ((value, default), ty) = {
            let (both, ty) = self.common(&[value, default], "CYCLE")?;
            ((both[0], both[1]), ty)
        };
        let found = self.orders(ty.oid).equal;
        if found == 0 {
            let shown = self.catalog.shown(ty.oid);
            let text = format!("could not identify an equality operator for type {shown}");
            return Err(Error::new("42883", text));
        }
        Ok(Some(Marks { value, default, ty }))
    }

    /// What SEARCH and CYCLE may not be; asked when the query is bound.
    fn check_search(&self, cte: &ast::Cte, query: QueryId, names: &[Name]) -> Result<()> {
        let place = cte.cycle.as_ref().map(|c| c.place).or(cte.search.as_ref().map(|s| s.place));
        let sides = match &self.out.query(query).set {
            Some(SetNode::Both { left, right, .. }) => [(&**left, "left"), (&**right, "right")],
            _ => return Err(Error::new("42601", "WITH query is not recursive")).at(place),
        };
        for (node, side) in sides {
            if !matches!(node, SetNode::Entry(_)) {
                let text = format!(
                    "with a SEARCH or CYCLE clause, the {side} side of the UNION must be a SELECT"
                );
                let state = if side == "left" { "0A000" } else { "42601" };
                return Err(Error::new(state, text));
            }
        }
        let refuse = |state, text: String, at: u32| Err(Error::new(state, text).at(at));
        let listed = |columns: &[Name], what: &str, at: u32| {
            for (n, name) in columns.iter().enumerate() {
                if !names.contains(name) {
                    let text = format!("{what} column \"{name}\" not in WITH query column list");
                    return refuse("42601", text, at);
                }
                if columns[..n].contains(name) {
                    let text = format!("{what} column \"{name}\" specified more than once");
                    return refuse("42701", text, at);
                }
            }
            Ok(())
        };
        let free = |name: &Name, what: &str, at: u32| match names.contains(name) {
            true => {
                let text = format!("{what} \"{name}\" already used in WITH query column list");
                refuse("42601", text, at)
            }
            false => Ok(()),
        };
        let same = |one: &str, other: &str, at: u32| {
            refuse("42601", format!("{one} column name and {other} column name are the same"), at)
        };
        if let Some(search) = &cte.search {
            listed(&search.by, "search", search.place)?;
            free(&search.set, "search sequence column name", search.place)?;
        }
        if let Some(cycle) = &cte.cycle {
            listed(&cycle.columns, "cycle", cycle.place)?;
            free(&cycle.mark, "cycle mark column name", cycle.place)?;
            free(&cycle.path, "cycle path column name", cycle.place)?;
            if cycle.mark == cycle.path {
                return same("cycle mark", "cycle path", cycle.place);
            }
        }
        match (&cte.search, &cte.cycle) {
            (Some(search), Some(cycle)) if search.set == cycle.mark => {
                same("search sequence", "cycle mark", search.place)
            }
            (Some(search), Some(cycle)) if search.set == cycle.path => {
                same("search sequence", "cycle path", search.place)
            }
            _ => Ok(()),
        }
    }

    /// Adds the columns to a recursive query that was bound; its own are known.
    pub(super) fn add_search(
        &mut self,
        at: usize,
        query: QueryId,
        written: &ast::Cte,
        marks: Option<Marks>,
    ) -> Result<()> {
        if written.search.is_none() && written.cycle.is_none() {
            return Ok(());
        }
        let names = self.level_ref().ctes[at].cte.names.clone();
        self.check_search(written, query, &names)?;
        let Some(SetNode::Both { left, right, .. }) = &self.out.query(query).set else {
            unreachable!("it was checked");
        };
        let (&SetNode::Entry(left), &SetNode::Entry(right)) = (&**left, &**right) else {
            unreachable!("it was checked");
        };
        let added_names: Vec<(Name, TypeRef)> = self.added_columns(written, marks);
        self.hand_over(query, right, written, &added_names)?;
        let own = |b: &Self, entry: usize| {
            let EntryKind::Query(part) = b.out.query(query).entries[entry - 1].kind else {
                unreachable!("parts of a set are queries");
            };
            let targets = b.out.query(part).targets.iter().filter(|target| !target.hidden);
            targets.map(|t| (t.number, b.out.ty(t.value))).collect::<Vec<_>>()
        };
        let (lefts, rights) = (own(self, left), own(self, right));
        let count = names.len();
        let added = self.added(written, &names, &lefts, &rights, marks)?;
        let filter = match (&written.cycle, marks) {
            (Some(_), Some(marks)) => {
                // A row that closed a cycle is not gone on from.
                let before = Of { columns: &rights[count..] };
                let mark = self.of(&before, usize::from(written.search.is_some()));
                Some(self.operator("<>", Some(mark), marks.value, None)?)
            }
            _ => None,
        };
        let firsts: Vec<(Name, ExprId)> = added.iter().map(|a| (a.name.clone(), a.first)).collect();
        let thens: Vec<(Name, ExprId)> = added.iter().map(|a| (a.name.clone(), a.then)).collect();
        self.wrap(query, left, &names, &lefts[..count], &firsts, None);
        self.wrap(query, right, &names, &rights[..count], &thens, filter);
        self.widen(query, left, &added)?;
        let known = &mut self.level().ctes[at].cte;
        for column in added {
            known.names.push(column.name);
            known.types.push(column.ty);
        }
        Ok(())
    }

    /// The names and types of the columns that are added.
    fn added_columns(&self, cte: &ast::Cte, marks: Option<Marks>) -> Vec<(Name, TypeRef)> {
        let rows = self.catalog.array_of(oids::RECORD).unwrap_or(oids::RECORD);
        let mut added = Vec::new();
        if let Some(search) = &cte.search {
            let ty = if search.breadth { oids::RECORD } else { rows };
            added.push((search.set.clone(), TypeRef::new(ty)));
        }
        if let (Some(cycle), Some(marks)) = (&cte.cycle, marks) {
            added.push((cycle.mark.clone(), marks.ty));
            added.push((cycle.path.clone(), TypeRef::new(rows)));
        }
        added
    }

    /// The second part gives the added columns of the row that it comes from.
    fn hand_over(
        &mut self,
        query: QueryId,
        right: usize,
        cte: &ast::Cte,
        added: &[(Name, TypeRef)],
    ) -> Result<()> {
        let EntryKind::Query(part) = self.out.query(query).entries[right - 1].kind else {
            unreachable!("parts of a set are queries");
        };
        let is_own = |entry: &Entry| matches!(&entry.kind, EntryKind::Cte { name, own: true, .. } if *name == cte.name);
        let Some(entry) = self.out.query(part).entries.iter().position(is_own) else {
            let text = format!(
                "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"{}\" must \
                 be at the top level of its right-hand SELECT",
                cte.name
            );
            return Err(Error::new("0A000", text));
        };
        let there = self.out.query(part).entries[entry].types.len();
        let mut targets = Vec::new();
        for (n, (name, ty)) in added.iter().enumerate() {
            let var = Expr::Var { entry: entry + 1, column: (there + n + 1) as i32, up: 0 };
            let value = self.out.add(var, *ty, None);
            targets.push(Target {
                value,
                number: 0,
                name: Some(name.clone()),
                reference: 0,
                hidden: false,
            });
        }
        let part = self.out.query_mut(part);
        part.entries[entry].names.extend(added.iter().map(|column| column.0.clone()));
        part.entries[entry].types.extend(added.iter().map(|column| column.1));
        let seen = part.targets.iter().filter(|target| !target.hidden).count();
        part.targets.splice(seen..seen, targets);
        for (n, target) in part.targets.iter_mut().enumerate() {
            target.number = n + 1;
        }
        let of = &mut self.out.query_mut(query).entries[right - 1];
        of.names.extend(added.iter().map(|column| column.0.clone()));
        of.types.extend(added.iter().map(|column| column.1));
        Ok(())
    }

    /// A column of the part that a query stands around.
    fn of(&mut self, of: &Of<'_>, at: usize) -> ExprId {
        let (number, ty) = of.columns[at];
        self.out.add(Expr::Var { entry: 1, column: number as i32, up: 0 }, ty, None)
    }

    /// The row of some columns.
    fn row_of(
        &mut self,
        names: &[Name],
        by: &[Name],
        of: &Of<'_>,
        depth: Option<ExprId>,
    ) -> ExprId {
        let place = |name: &Name| names.iter().position(|other| other == name);
        let mut values: Vec<ExprId> = depth.into_iter().collect();
        for at in by.iter().filter_map(place) {
            values.push(self.of(of, at));
        }
        let fields = (1..=values.len()).map(|n| Name::from(format!("f{n}"))).collect();
        self.out.add(Expr::Row(values, fields), TypeRef::new(oids::RECORD), None)
    }

    fn list_of(&mut self, row: ExprId) -> ExprId {
        let ty = self.catalog.array_of(oids::RECORD).unwrap_or(oids::RECORD);
        self.out.add(Expr::Array(vec![row], false), TypeRef::new(ty), None)
    }

    fn added(
        &mut self,
        cte: &ast::Cte,
        names: &[Name],
        lefts: &[(usize, TypeRef)],
        rights: &[(usize, TypeRef)],
        marks: Option<Marks>,
    ) -> Result<Vec<Added>> {
        let count = names.len();
        let (left, right) = (Of { columns: lefts }, Of { columns: &rights[..count] });
        let before = Of { columns: &rights[count..] };
        let mut added = Vec::new();
        if let Some(search) = &cte.search {
            added.push(self.sequence(search, names, [&left, &right, &before])?);
        }
        if let (Some(cycle), Some(marks)) = (&cte.cycle, marks) {
            let first = usize::from(cte.search.is_some());
            added.extend(self.cycle(cycle, names, [&left, &right, &before], first, marks)?);
        }
        Ok(added)
    }

    /// The column of SEARCH.
    fn sequence(
        &mut self,
        search: &Search,
        names: &[Name],
        [left, right, before]: [&Of<'_>; 3],
    ) -> Result<Added> {
        let so_far = self.of(before, 0);
        let name = search.set.clone();
        if !search.breadth {
            let row = self.row_of(names, &search.by, left, None);
            let first = self.list_of(row);
            let row = self.row_of(names, &search.by, right, None);
            let then = self.operator("||", Some(so_far), row, None)?;
            return Ok(Added { name, ty: self.out.ty(first), first, then });
        }
        let none = self.literal(Literal::Int8(0), oids::INT8, None);
        let first = self.row_of(names, &search.by, left, Some(none));
        let depth = self.out.add(Expr::Field(so_far, 1), TypeRef::new(oids::INT8), None);
        let one = self.literal(Literal::Int8(1), oids::INT8, None);
        let depth = self.operator("+", Some(depth), one, None)?;
        let then = self.row_of(names, &search.by, right, Some(depth));
        Ok(Added { name, ty: self.out.ty(first), first, then })
    }

    /// The columns of CYCLE.
    fn cycle(
        &mut self,
        cycle: &Cycle,
        names: &[Name],
        [left, right, before]: [&Of<'_>; 3],
        at: usize,
        marks: Marks,
    ) -> Result<[Added; 2]> {
        let row = self.row_of(names, &cycle.columns, left, None);
        let path = self.list_of(row);
        let so_far = self.of(before, at + 1);
        let row = self.row_of(names, &cycle.columns, right, None);
        let was_there = self.array_op("=", row, so_far, false, None)?;
        let arms = vec![(was_there, marks.value)];
        let mark = self.out.add(Expr::Case(None, arms, marks.default), marks.ty, None);
        let longer = self.operator("||", Some(so_far), row, None)?;
        let ty = self.out.ty(path);
        Ok([
            Added { name: cycle.mark.clone(), ty: marks.ty, first: marks.default, then: mark },
            Added { name: cycle.path.clone(), ty, first: path, then: longer },
        ])
    }

    /// Puts a query around a part.
    fn wrap(
        &mut self,
        query: QueryId,
        entry: usize,
        names: &[Name],
        own: &[(usize, TypeRef)],
        added: &[(Name, ExprId)],
        filter: Option<ExprId>,
    ) {
        let mut around = Query { filter, from: vec![JoinTree::Entry(1)], ..Query::default() };
        let inner = self.out.query(query).entries[entry - 1].clone();
        if let EntryKind::Query(part) = inner.kind {
            self.raise(part);
        }
        around.entries.push(Entry { in_from: true, ..inner });
        let own = Of { columns: own };
        for (at, name) in names.iter().enumerate() {
            let value = self.of(&own, at);
            around.targets.push(shown(value, at + 1, name));
        }
        for (at, (name, value)) in added.iter().enumerate() {
            around.targets.push(shown(*value, names.len() + at + 1, name));
        }
        let types = around.targets.iter().map(|target| self.out.ty(target.value)).collect();
        let all = around.targets.iter().filter_map(|target| target.name.clone()).collect();
        let made = self.out.add_query(around);
        let of = &mut self.out.query_mut(query).entries[entry - 1];
        (of.kind, of.names, of.types) = (EntryKind::Query(made), all, types);
    }

    /// What a query names of queries around it is one further up from now on.
    fn raise(&mut self, query: QueryId) {
        let mut exprs: HashSet<ExprId> = HashSet::new();
        let mut queries: HashSet<QueryId> = HashSet::new();
        let mut open = vec![(Part::Query(query), 0)];
        while let Some((part, depth)) = open.pop() {
            match part {
                Part::Query(id) => {
                    if !queries.insert(id) {
                        continue;
                    }
                    // The first is the query itself, whose parts are at its own level.
                    for entry in &mut self.out.query_mut(id).entries {
                        if let EntryKind::Cte { up, .. } = &mut entry.kind {
                            *up += u32::from(*up > depth);
                        }
                    }
                    open.extend(self.out.parts(id).into_iter().map(|part| match part {
                        Part::Query(_) => (part, depth + 1),
                        Part::Expr(_) => (part, depth),
                    }));
                }
                Part::Expr(id) => {
                    if !exprs.insert(id) {
                        continue;
                    }
                    let mut expr = self.out.expr(id).clone();
                    let own = match &mut expr {
                        Expr::Var { up, .. } => Some(up),
                        Expr::Aggregate(call) => Some(&mut call.up),
                        Expr::Grouping(_, _, up) => Some(up),
                        _ => None,
                    };
                    if let Some(up) = own.filter(|up| **up > depth) {
                        *up += 1;
                        self.out.set_expr(id, expr.clone());
                    }
                    open.extend(expr.parts().into_iter().map(|part| match part {
                        Part::Query(_) => (part, depth + 1),
                        Part::Expr(_) => (part, depth),
                    }));
                }
            }
        }
    }

    /// The query gives the added columns, too.
    fn widen(&mut self, query: QueryId, first: usize, added: &[Added]) -> Result<()> {
        let mut sorts = Vec::new();
        for column in added {
            let found = self.group_orders(column.ty.oid)?;
            let (equal, less) = (found.equal, found.less);
            sorts.push(SortItem { reference: 0, equal, less, nulls_first: false });
        }
        let mut values = Vec::new();
        let seen = self.out.query(query).targets.len();
        for (n, column) in added.iter().enumerate() {
            let var = Expr::Var { entry: first, column: (seen + n + 1) as i32, up: 0 };
            values.push(self.out.add(var, column.ty, None));
        }
        let of = self.out.query_mut(query);
        for (n, (column, value)) in added.iter().zip(values).enumerate() {
            of.targets.push(shown(value, seen + n + 1, &column.name));
        }
        if let Some(SetNode::Both { types, groups, .. }) = &mut of.set {
            types.extend(added.iter().map(|column| column.ty));
            if !groups.is_empty() {
                groups.extend(sorts);
            }
        }
        Ok(())
    }
}

/// A target that is seen.
fn shown(value: ExprId, number: usize, name: &Name) -> Target {
    Target { value, number, name: Some(name.clone()), reference: 0, hidden: false }
}
