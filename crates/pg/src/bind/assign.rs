//! What do columns become, and parts of them; SET of UPDATE and of ON CONFLICT.

use super::level::Clause;
use super::modify::{Goal, goal, missing, number_of};
use super::{At, Binder, Relation, unsupported};
use crate::ast::{
    self, Assigned, Conflict, ConflictAction, ConflictTarget, Expr as Raw, Name, SortOrder, Step,
};
use crate::bound::{
    ConflictElement, EntryKind, Expr, ExprId, Literal, OnConflict, SubKind, SubQuery, Target,
};
use crate::resolve::{self, Context};
use crate::{Error, Result, TypeRef};

/// What rewriting an expression may help.
const REWRITE: &str = "You will need to rewrite or cast the expression.";

impl Binder<'_> {
    /// A value as a column takes it.
    pub(super) fn assigned(
        &mut self,
        value: ExprId,
        of: &Relation,
        goal: &Goal<'_>,
        clause: Clause,
    ) -> Result<ExprId> {
        if goal.number < 0 {
            let text = format!("cannot assign to system column \"{}\"", goal.name);
            return Err(Error::new("0A000", text)).at(goal.place);
        }
        let column = &of.columns[goal.number as usize - 1];
        let (ty, collation) = (column.ty, column.collation);
        if *self.out.expr(value) == Expr::Default {
            self.out.set_type(value, ty);
            self.out.set_collation(value, collation);
            if let Some(first) = goal.steps.first() {
                let what = match first {
                    Step::Index(_) | Step::Slice(..) => "an array element",
                    Step::Field(_) | Step::Star => "a subfield",
                };
                let text = format!("cannot set {what} to DEFAULT");
                return Err(Error::new("0A000", text)).at(goal.place);
            }
            return Ok(value);
        }
        let before = std::mem::replace(&mut self.level().clause, clause);
        let made = match goal.steps.is_empty() {
            true => self.column_value(value, &goal.name, ty),
            false => {
                let base = match clause {
                    Clause::InsertTarget => {
                        let base = self.out.add(Expr::Literal(Literal::Null), ty, None);
                        self.out.set_collation(base, collation);
                        base
                    }
                    _ => {
                        let entry = self.level_ref().target;
                        let var = Expr::Var { entry, column: goal.number, up: 0 };
                        self.out.add(var, ty, goal.place)
                    }
                };
                self.part(base, &goal.name, ty, goal.steps, value, goal.place, false)
            }
        };
        self.level().clause = before;
        made
    }

    fn column_value(&mut self, value: ExprId, name: &str, ty: TypeRef) -> Result<ExprId> {
        let operand = self.operand(value);
        match resolve::convert(self.catalog, operand, ty, Context::Assignment)? {
            Some(conversion) => self.converted(value, &conversion),
            None => {
                let from = operand.ty.oid;
                let error = resolve::assignment_error(self.catalog, name, from, ty.oid);
                Err(error).at(self.start_of(value))
            }
        }
    }

    /// A default as a value of a type.
    pub(super) fn column_default(
        &mut self,
        value: ExprId,
        name: &str,
        ty: TypeRef,
    ) -> Result<ExprId> {
        let operand = self.operand(value);
        match resolve::convert(self.catalog, operand, ty, Context::Assignment)? {
            Some(conversion) => self.converted(value, &conversion),
            None => {
                let (to, from) = (self.catalog.shown(ty.oid), self.catalog.shown(operand.ty.oid));
                let text = format!(
                    "column \"{name}\" is of type {to} but default expression is of type {from}"
                );
                Err(Error::new("42804", text).hint(REWRITE))
            }
        }
    }

    /// A part of a column becomes a value: the column with that part stored into it.
    fn part(
        &mut self,
        base: ExprId,
        name: &str,
        ty: TypeRef,
        steps: &[Step],
        value: ExprId,
        place: Option<u32>,
        of_container: bool,
    ) -> Result<ExprId> {
        let count = steps.iter().take_while(|s| matches!(s, Step::Index(_) | Step::Slice(..)));
        match (count.count(), steps.first()) {
            (_, None) => self.part_value(value, name, ty, place, of_container),
            (0, Some(Step::Field(field))) => {
                self.field_part(base, name, ty, (field, &steps[1..]), value, place)
            }
            (0, Some(_)) => {
                let text = "row expansion via \"*\" is not supported here";
                Err(Error::new("0A000", text)).at(place)
            }
            (count, _) => {
                let (subscripts, rest) = steps.split_at(count);
                self.element_part(base, name, ty, (subscripts, rest), value, place)
            }
        }
    }

    fn part_value(
        &mut self,
        value: ExprId,
        name: &str,
        ty: TypeRef,
        place: Option<u32>,
        of_container: bool,
    ) -> Result<ExprId> {
        let operand = self.operand(value);
        if let Some(found) = resolve::convert(self.catalog, operand, ty, Context::Assignment)? {
            return self.converted(value, &found);
        }
        let (to, from) = (self.catalog.shown(ty.oid), self.catalog.shown(operand.ty.oid));
        let text = match of_container {
            true => format!(
                "subscripted assignment to \"{name}\" requires type {to} but expression is of type \
                 {from}"
            ),
            false => {
                format!("subfield \"{name}\" is of type {to} but expression is of type {from}")
            }
        };
        Err(Error::new("42804", text).hint(REWRITE)).at(place)
    }

    fn field_part(
        &mut self,
        base: ExprId,
        name: &str,
        ty: TypeRef,
        (field, rest): (&Name, &[Step]),
        value: ExprId,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let (row, modifier) = self.catalog.base(ty.oid, ty.modifier);
        let shown = self.catalog.shown(ty.oid);
        let what = format!("cannot assign to field \"{field}\" of column \"{name}\" because");
        let Some(of) = self.schema.composite(row).filter(|_| self.catalog.is_composite(row)) else {
            let text = format!("{what} its type {shown} is not a composite type");
            return Err(Error::new("42804", text)).at(place);
        };
        let Some(number) = number_of(&of, field) else {
            let text = format!("{what} there is no such column in data type {shown}");
            return Err(Error::new("42703", text)).at(place);
        };
        let inner = of.columns[number as usize - 1].ty;
        let value = match rest.is_empty() {
            true => self.part_value(value, field, inner, place, false)?,
            false => {
                let placeholder = self.out.add(Expr::Placeholder, inner, None);
                self.part(placeholder, field, inner, rest, value, place, false)?
            }
        };
        let store = Expr::StoreFields(base, vec![value], vec![number]);
        let made = self.out.add(store, TypeRef { oid: row, modifier }, None);
        Ok(match row == ty.oid {
            true => made,
            false => self.out.add(Expr::Domain(made), TypeRef::new(ty.oid), place),
        })
    }

    fn element_part(
        &mut self,
        base: ExprId,
        name: &str,
        ty: TypeRef,
        (subscripts, rest): (&[Step], &[Step]),
        value: ExprId,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let steps: Vec<&Step> = subscripts.iter().collect();
        let made = self.subscripted(base, &steps)?;
        let wanted = self.out.ty(made);
        let value = match rest.is_empty() {
            true => self.part_value(value, name, wanted, place, true)?,
            false => {
                let placeholder = self.out.add(Expr::Placeholder, wanted, None);
                self.part(placeholder, name, wanted, rest, value, place, true)?
            }
        };
        let Expr::Subscript(mut part) = self.out.expr(made).clone() else {
            return Err(unsupported("this part of a column"));
        };
        let (oid, modifier) = self.catalog.base(ty.oid, ty.modifier);
        let container = TypeRef { oid: part.container_type, modifier };
        part.assigned = Some(value);
        let made = self.out.add(Expr::Subscript(part), container, place);
        Ok(match oid == ty.oid {
            true => made,
            false => self.cast_to(made, ty, Context::Assignment)?,
        })
    }

    /// SET: what columns become, then queries that give several of them at once.
    pub(super) fn set_columns_of(
        &mut self,
        set: &[Assigned],
        of: &Relation,
    ) -> Result<Vec<Target>> {
        self.level().row_queries.clear();
        let before = std::mem::replace(&mut self.level().clause, Clause::UpdateSource);
        let mut values: Vec<(&ast::Column, ExprId)> = Vec::new();
        for assigned in set {
            match assigned {
                Assigned::One(column, value) => {
                    let made = match self.tree.expr(*value) {
                        Raw::Default => self.written_row(&[*value], Clause::UpdateSource)?[0],
                        // `t.*` is a row here.
                        _ => self.expr(*value)?,
                    };
                    values.push((column, made));
                }
                Assigned::Row(columns, value) => {
                    let made = self.row_source(*value, columns.len())?;
                    values.extend(columns.iter().zip(made));
                }
            }
        }
        self.level().clause = before;
        let mut made = Vec::new();
        for (column, value) in values {
            let system = super::names::system_number(&column.name);
            let Some(number) = number_of(of, &column.name).or(system) else {
                return Err(missing(of, column));
            };
            let goal = goal(column, number);
            let value = self.assigned(value, of, &goal, Clause::UpdateTarget)?;
            made.push(Target {
                value,
                number: number as usize,
                name: Some(goal.name),
                reference: 0,
                hidden: false,
            });
        }
        let first = (self.level_ref().targets + made.len()).max(of.columns.len() + 1);
        let queries = std::mem::take(&mut self.level().row_queries);
        for (at, value) in queries.into_iter().enumerate() {
            let number = first + at;
            made.push(Target { value, number, name: None, reference: 0, hidden: true });
        }
        Ok(made)
    }

    /// The values of `(a, b) = …`.
    fn row_source(&mut self, id: ast::ExprId, wanted: usize) -> Result<Vec<ExprId>> {
        let place = self.tree.place(id);
        let count = |there: usize| match there == wanted {
            true => Ok(()),
            false => {
                let text = "number of columns does not match number of values";
                Err(Error::new("42601", text)).at(place)
            }
        };
        match self.tree.expr(id) {
            Raw::Query(query) => {
                let query = self.subquery(id, *query)?;
                let types = self.columns_of_query(query);
                count(types.len())?;
                let kind = SubKind::Several(wanted);
                let sub = SubQuery { kind, test: None, query };
                let number = self.level_ref().row_queries.len() + 1;
                let record = TypeRef::new(crate::catalog::oids::RECORD);
                let made = self.out.add(Expr::SubQuery(Box::new(sub)), record, place);
                self.level().row_queries.push(made);
                let targets: Vec<ExprId> = {
                    let seen = self.out.query(query).targets.iter().filter(|t| !t.hidden);
                    seen.map(|target| target.value).collect()
                };
                let column = |(at, value): (usize, ExprId)| {
                    let start = self.start_of(value);
                    let made = self.out.add(Expr::RowColumn(number, at + 1), types[at], start);
                    let collation = self.out.collation(value).unwrap_or(0);
                    self.out.set_collation(made, collation);
                    made
                };
                Ok(targets.into_iter().enumerate().map(column).collect())
            }
            Raw::Row(values, _) => {
                let made = self.written_row(values, Clause::UpdateSource)?;
                count(made.len())?;
                Ok(made)
            }
            _ => {
                let text = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() \
                            expression";
                Err(Error::new("0A000", text)).at(self.raw_start(id))
            }
        }
    }

    /// ON CONFLICT.
    pub(super) fn conflict(
        &mut self,
        conflict: &Conflict,
        into: &ast::Relation,
        of: &Relation,
    ) -> Result<OnConflict> {
        let mut made = OnConflict {
            update: matches!(conflict.action, ConflictAction::Update(..)),
            elements: Vec::new(),
            index_filter: None,
            constraint: 0,
            set: Vec::new(),
            filter: None,
            excluded: 0,
        };
        if made.update {
            let alias = ast::Alias { name: "excluded".into(), columns: Vec::new() };
            let relation = ast::Relation { alias: Some(alias), only: true, ..into.clone() };
            made.excluded = self.relation_entry(of, &relation, false)?;
            let entry = &mut self.level().entries[made.excluded - 1];
            if let EntryKind::Relation { kind, .. } = &mut entry.kind {
                *kind = b'c';
            }
        }
        match &conflict.target {
            None if made.update => {
                let text =
                    "ON CONFLICT DO UPDATE requires inference specification or constraint name";
                let hint = "For example, ON CONFLICT (column_name).";
                return Err(Error::new("42601", text).hint(hint).at(conflict.place));
            }
            None => {}
            Some(ConflictTarget::Constraint(name)) => {
                made.constraint = match self.schema.constraint(of.oid, name) {
                    Some(oid) => oid,
                    None => {
                        let text = format!(
                            "constraint \"{name}\" for table \"{}\" does not exist",
                            of.name
                        );
                        return Err(Error::new("42704", text));
                    }
                };
            }
            Some(ConflictTarget::Index(elements, filter)) => {
                for element in elements {
                    made.elements.push(self.conflict_element(element, conflict.target_place)?);
                }
                if let Some(filter) = filter {
                    made.index_filter = Some(self.expr_in(*filter, Clause::IndexFilter)?);
                }
            }
        }
        if let ConflictAction::Update(set, filter) = &conflict.action {
            let count = self.level_ref().items.len();
            self.see(made.excluded);
            made.set = self.set_columns_of(set, of)?;
            made.filter = self.condition(*filter, Clause::Where, "WHERE")?;
            self.level().items.truncate(count);
        }
        Ok(made)
    }

    fn conflict_element(
        &mut self,
        element: &ast::IndexElement,
        place: u32,
    ) -> Result<ConflictElement> {
        let refuse = |what: &str| {
            let text = format!("{what} is not allowed in ON CONFLICT clause");
            Err(Error::new("42P10", text).at(place))
        };
        if element.order != SortOrder::Default {
            return refuse("ASC/DESC");
        }
        if element.nulls_first.is_some() {
            return refuse("NULLS FIRST/LAST");
        }
        let before = std::mem::replace(&mut self.level().clause, Clause::IndexExpression);
        let value = match (&element.column, element.value) {
            (Some(column), _) => self.column(&[column.clone()].into(), Some(place)),
            (None, Some(value)) => self.expr(value),
            (None, None) => Err(unsupported("this index")),
        };
        self.level().clause = before;
        let value = value?;
        if element.class.is_some() {
            return Err(unsupported("an operator class in ON CONFLICT").at(place));
        }
        let collation = match element.collation.as_ref().and_then(|name| name.last()) {
            None => 0,
            Some(name) => match crate::bound::collation_named(name) {
                Some(oid) => oid,
                None => {
                    let text = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
                    return Err(Error::new("42704", text)).at(self.start_of(value));
                }
            },
        };
        Ok(ConflictElement { value, collation, class: 0 })
    }
}
