//! Queries within expressions.

use super::level::Clause;
use super::{Around, At, Binder};
use crate::ast::{self, Name};
use crate::bound::{Expr, ExprId, QueryId, SubKind, SubQuery};
use crate::catalog::oids;
use crate::{Error, Result, TypeRef};

impl Binder<'_> {
    /// The query that an expression is asked of.
    pub(super) fn subquery(&mut self, id: ast::ExprId, query: ast::QueryId) -> Result<QueryId> {
        self.check_subquery_place(id)?;
        self.level().has_subqueries = true;
        let bound = self.query(query, Around::default())?;
        self.queries.insert(id, bound);
        Ok(bound)
    }

    /// There are no queries in what ON CONFLICT says of an index, nor in conditions and defaults of domains.
    fn check_subquery_place(&self, id: ast::ExprId) -> Result<()> {
        let what = match self.level_ref().clause {
            Clause::IndexExpression => "index expression",
            Clause::IndexFilter => "index predicate",
            Clause::Check => "check constraint",
            Clause::Default => "DEFAULT expression",
            Clause::Generation => "column generation expression",
            Clause::Transform => "transform expression",
            Clause::TriggerWhen => "trigger WHEN condition",
            Clause::CopyWhere => "COPY FROM WHERE condition",
            _ => return Ok(()),
        };
        let text = format!("cannot use subquery in {what}");
        Err(Error::new("0A000", text)).at(self.tree.place(id))
    }

    fn sub(&mut self, sub: SubQuery, ty: TypeRef, place: Option<u32>) -> ExprId {
        self.out.add(Expr::SubQuery(Box::new(sub)), ty, place)
    }

    pub(super) fn exists(
        &mut self,
        id: ast::ExprId,
        query: ast::QueryId,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let query = self.subquery(id, query)?;
        let sub = SubQuery { kind: SubKind::Exists, test: None, query };
        Ok(self.sub(sub, TypeRef::new(oids::BOOL), place))
    }

    /// The types of a query's columns.
    pub(super) fn columns_of_query(&self, query: QueryId) -> Vec<TypeRef> {
        let targets = self.out.query(query).output().iter().filter(|t| !t.hidden);
        targets.map(|target| self.out.ty(target.value)).collect()
    }

    fn one_column(&self, query: QueryId, place: Option<u32>) -> Result<TypeRef> {
        match self.columns_of_query(query)[..] {
            [ty] => Ok(ty),
            _ => Err(Error::new("42601", "subquery must return only one column")).at(place),
        }
    }

    pub(super) fn value_query(
        &mut self,
        id: ast::ExprId,
        query: ast::QueryId,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let query = self.subquery(id, query)?;
        let ty = self.one_column(query, place)?;
        let sub = SubQuery { kind: SubKind::Value, test: None, query };
        Ok(self.sub(sub, ty, place))
    }

    pub(super) fn array_query(
        &mut self,
        id: ast::ExprId,
        query: ast::QueryId,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let query = self.subquery(id, query)?;
        let ty = self.one_column(query, place)?;
        // An array of arrays is an array of one more dimension; int2vector and its like have arrays of their own.
        let more = || self.catalog.element(ty.oid).map(|_| ty.oid);
        let array = self.catalog.array_of(ty.oid).or_else(more);
        let Some(array) = array else {
            let shown = self.catalog.shown(ty.oid);
            let text = format!("could not find array type for data type {shown}");
            return Err(Error::new("42704", text)).at(place);
        };
        let sub = SubQuery { kind: SubKind::Array, test: None, query };
        Ok(self.sub(sub, TypeRef { oid: array, modifier: ty.modifier }, place))
    }

    /// `left op ANY (query)`, or ALL.
    pub(super) fn quantified(
        &mut self,
        id: ast::ExprId,
        name: &str,
        left: ast::ExprId,
        query: ast::QueryId,
        all: bool,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let query = self.subquery(id, query)?;
        let name = Name::from(name);
        let kind = if all { SubKind::All(name.clone()) } else { SubKind::Any(name.clone()) };
        self.compared_query(kind, &name, left, query, place)
    }

    /// ROW(…) op (query).
    pub(super) fn row_query(
        &mut self,
        id: ast::ExprId,
        name: &str,
        left: ast::ExprId,
        query: ast::QueryId,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let query = self.subquery(id, query)?;
        let name = Name::from(name);
        self.compared_query(SubKind::Row(name.clone()), &name, left, query, place)
    }

    fn compared_query(
        &mut self,
        kind: SubKind,
        name: &str,
        left: ast::ExprId,
        query: QueryId,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let left = self.expr(left)?;
        let left = match self.out.expr(left) {
            Expr::Row(fields, _) => fields.clone(),
            _ => vec![left],
        };
        let columns = self.columns_of_query(query);
        if left.len() != columns.len() {
            let text = match left.len() < columns.len() {
                true => "subquery has too many columns",
                false => "subquery has too few columns",
            };
            return Err(Error::new("42601", text)).at(place);
        }
        let collations = self.collations_of_query(query);
        let mut right = Vec::with_capacity(columns.len());
        for (at, (ty, collation)) in columns.iter().zip(collations).enumerate() {
            let column = self.out.add(Expr::SubColumn(at + 1), *ty, None);
            self.out.set_collation(column, collation);
            right.push(column);
        }
        let test = self.compare_lists(name, &left, &right, place)?;
        let sub = SubQuery { kind, test: Some(test), query };
        Ok(self.sub(sub, TypeRef::new(oids::BOOL), place))
    }
}
