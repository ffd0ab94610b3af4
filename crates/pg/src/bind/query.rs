//! SELECT and VALUES: their clauses in the order of PostgreSQL's analysis.

use super::level::{Clause, Level};
use super::{Around, At, Binder, unsupported};
use crate::ast::{self, Body, Name, Path};
use crate::bound::{Entry, EntryKind, ExprId, Query, QueryId, Target};
use crate::catalog::oids;
use crate::resolve;
use crate::{Error, Oid, Result};

impl Binder<'_> {
    /// A query at a level of its own.
    pub(super) fn query(&mut self, id: ast::QueryId, around: Around) -> Result<QueryId> {
        self.deeper(|b| {
            b.levels.push(Level { targets: 1, ..Level::default() });
            let made = b.query_here(id, around);
            b.levels.pop();
            made
        })
    }

    fn query_here(&mut self, id: ast::QueryId, around: Around) -> Result<QueryId> {
        let query = self.tree.query(id);
        match &query.body {
            Body::Select(select) => self.select(query, select, around),
            Body::Values(rows) => self.values(query, rows),
            Body::Set(_) => self.set_operation(id, around),
        }
    }

    fn select(
        &mut self,
        query: &ast::Query,
        select: &ast::Select,
        around: Around,
    ) -> Result<QueryId> {
        let mut made = Query::default();
        self.with(query.with.as_ref(), &mut made)?;
        if let Some(into) = &select.into {
            return Err(match self.levels.len() {
                1 => unsupported("SELECT INTO"),
                _ => Error::new("42601", "SELECT ... INTO is not allowed here").at(into.place),
            });
        }
        self.level().windows =
            select.windows.iter().map(|(name, w)| (Some(name.clone()), w.clone())).collect();
        made.from = self.whole_from(&select.from)?;
        let mut targets = self.targets(&select.targets, Clause::Targets)?;
        made.filter = self.condition(select.filter, Clause::Where, "WHERE")?;
        made.having = self.condition(select.having, Clause::Having, "HAVING")?;
        made.order = self.sort_clause(&query.order, &mut targets, Clause::OrderBy, false)?;
        let clause = Clause::GroupBy;
        (made.groups, made.sets) =
            self.group_clause(&select.group, &mut targets, &made.order, clause, false)?;
        made.groups_distinct = select.group_distinct;
        match &select.distinct {
            None => {}
            Some(ast::Distinct::Rows) => {
                made.distinct = self.distinct_clause(&mut targets, &made.order, false)?;
            }
            Some(ast::Distinct::On(on)) => {
                made.distinct = self.distinct_on(on, &mut targets, &made.order)?;
                made.distinct_on = true;
            }
        }
        self.limits(query, &mut made)?;
        made.windows = self.window_clause(&mut targets)?;
        if !around.keeps_unknown {
            self.settle_unknown(&mut targets)?;
        }
        made.targets = targets;
        self.finish(&mut made);
        self.locks(&query.locks, &mut made)?;
        self.collate_query(&made)?;
        self.check_groups(&mut made)?;
        Ok(self.out.add_query(made))
    }

    /// A condition of a clause.
    pub(super) fn condition(
        &mut self,
        filter: Option<ast::ExprId>,
        clause: Clause,
        name: &str,
    ) -> Result<Option<ExprId>> {
        let Some(filter) = filter else { return Ok(None) };
        let value = self.expr_in(filter, clause)?;
        self.boolean(value, name).map(Some)
    }

    /// OFFSET and LIMIT.
    pub(super) fn limits(&mut self, query: &ast::Query, made: &mut Query) -> Result<()> {
        made.offset = self.limit(query.offset, Clause::Offset, false)?;
        made.limit = self.limit(query.limit, Clause::Limit, query.ties)?;
        made.ties = query.ties;
        Ok(())
    }

    fn limit(
        &mut self,
        value: Option<ast::ExprId>,
        clause: Clause,
        ties: bool,
    ) -> Result<Option<ExprId>> {
        let Some(id) = value else { return Ok(None) };
        let value = self.expr_in(id, clause)?;
        let value = self.specific(value, oids::INT8, clause.name())?;
        self.no_vars(value, clause.name())?;
        if ties && matches!(self.tree.expr(id), ast::Expr::Literal(ast::Literal::Null)) {
            let text = "row count cannot be null in FETCH FIRST ... WITH TIES clause";
            return Err(Error::new("2201W", text));
        }
        Ok(Some(value))
    }

    /// Columns of the query that is being bound cannot be in a number of rows.
    pub(super) fn no_vars(&self, value: ExprId, name: &str) -> Result<()> {
        match self.var_of_level(&[value], 0) {
            Some(var) => {
                let text = format!("argument of {name} must not contain variables");
                Err(Error::new("42P10", text)).at(self.out.place(var))
            }
            None => Ok(()),
        }
    }

    /// Literals and parameters whose type is still open are text.
    pub(super) fn settle_unknown(&mut self, targets: &mut [Target]) -> Result<()> {
        for target in targets {
            target.value = self.known(target.value)?;
        }
        Ok(())
    }

    /// A value of a type: text where it is open.
    pub(super) fn known(&mut self, value: ExprId) -> Result<ExprId> {
        if self.out.ty(value).oid != oids::UNKNOWN {
            return Ok(value);
        }
        let conversion = resolve::to_text(self.catalog, self.operand(value))?;
        self.converted(value, &conversion)
    }

    /// What was found out while the clauses were bound.
    pub(super) fn finish(&mut self, made: &mut Query) {
        let level = self.level();
        made.entries = std::mem::take(&mut level.entries);
        made.ctes = std::mem::take(&mut level.ctes).into_iter().map(|known| known.cte).collect();
        made.has_aggregates = level.has_aggregates;
        made.has_windows = level.has_windows;
        made.has_sets = level.has_sets;
        made.has_subqueries = level.has_subqueries;
    }

    fn values(&mut self, query: &ast::Query, rows: &[Box<[ast::ExprId]>]) -> Result<QueryId> {
        let mut made = Query::default();
        self.with(query.with.as_ref(), &mut made)?;
        let rows = self.value_rows(rows, Clause::Values)?;
        let (rows, types, collations) = self.common_columns(rows)?;
        let lateral = rows.iter().flatten().any(|value| self.has_vars(*value));
        let names = (1..=types.len()).map(|n| Name::from(format!("column{n}"))).collect();
        let entry = Entry {
            kind: EntryKind::Values(rows),
            alias: None,
            name: "*VALUES*".into(),
            names,
            types,
            lateral,
            in_from: true,
            guards: Vec::new(),
        };
        let number = self.add_entry(entry, 0, Vec::new());
        self.set_collations(number, collations);
        self.see(number);
        made.from.push(crate::bound::JoinTree::Entry(number));
        let at = self.level().items.len() - 1;
        let columns = self.star(0, at, None);
        let mut targets: Vec<Target> = columns
            .into_iter()
            .map(|(name, value)| self.target(value, Some(name), false))
            .collect();
        made.order = self.sort_clause(&query.order, &mut targets, Clause::OrderBy, false)?;
        self.limits(query, &mut made)?;
        if let Some(lock) = query.locks.first() {
            let text = format!("{} cannot be applied to VALUES", super::locks::name(lock.strength));
            return Err(Error::new("0A000", text));
        }
        made.targets = targets;
        self.finish(&mut made);
        self.collate_query(&made)?;
        Ok(self.out.add_query(made))
    }

    /// The rows of VALUES, all of one length.
    pub(super) fn value_rows(
        &mut self,
        rows: &[Box<[ast::ExprId]>],
        clause: Clause,
    ) -> Result<Vec<Vec<ExprId>>> {
        let before = std::mem::replace(&mut self.level().clause, clause);
        let mut made: Vec<Vec<ExprId>> = Vec::with_capacity(rows.len());
        for row in rows {
            let row = self.row_values(row)?;
            if made.first().is_some_and(|first| first.len() != row.len()) {
                let text = "VALUES lists must all be the same length";
                return Err(Error::new("42601", text)).at(self.start_of_all(&row));
            }
            made.push(row);
        }
        self.level().clause = before;
        Ok(made)
    }

    /// Columns of rows as their common types, with the collations that they have together.
    fn common_columns(
        &mut self,
        mut rows: Vec<Vec<ExprId>>,
    ) -> Result<(Vec<Vec<ExprId>>, Vec<crate::TypeRef>, Vec<Oid>)> {
        let width = rows.first().map_or(0, Vec::len);
        let (mut types, mut collations) = (Vec::with_capacity(width), Vec::with_capacity(width));
        for at in 0..width {
            let column: Vec<ExprId> = rows.iter().map(|row| row[at]).collect();
            let (column, ty) = self.common(&column, "VALUES")?;
            collations.push(self.common_collation(&column, true)?);
            for (row, value) in rows.iter_mut().zip(column) {
                row[at] = value;
            }
            types.push(ty);
        }
        Ok((rows, types, collations))
    }

    /// The OID of a relation by its name, if there is one.
    pub(super) fn oid_of(&self, name: &[Name]) -> Option<Oid> {
        self.schema.relation(name).ok().flatten().map(|relation| relation.oid)
    }

    /// The part of a path that names a database.
    pub(super) fn check_database(&self, path: &Path, place: Option<u32>) -> Result<()> {
        match path.len() >= 4 && !self.schema.is_database(&path[0]) {
            true => {
                let text = "cross-database references are not implemented: ";
                Err(Error::new("0A000", format!("{text}{}", path.join(".")))).at(place)
            }
            false => Ok(()),
        }
    }
}
