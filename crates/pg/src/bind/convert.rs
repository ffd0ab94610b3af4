//! How do the conversions that [`crate::resolve`] found become nodes?

use super::{At, Binder, literals};
use crate::ast::Name;
use crate::bound::{Expr, ExprId, Form, Literal};
use crate::catalog::oids;
use crate::resolve::{self, Context, Conversion, Operand, Origin, Step};
use crate::{Error, Oid, Result, TypeRef};

/// A field of a row.
pub(super) struct RowField {
    pub(super) name: Name,
    pub(super) ty: TypeRef,
    pub(super) collated: Collated,
}

/// Where a field has its collation from.
pub(super) enum Collated {
    /// Its type.
    ByType,
    /// A column of which it is known.
    As(Oid),
    /// A value of ROW(…).
    Value(ExprId),
    /// A column of an entry: its number, the column, and how many levels above it is.
    Column(usize, usize, usize),
}

impl RowField {
    pub(super) fn plain(name: Name, ty: TypeRef) -> RowField {
        RowField { name, ty, collated: Collated::ByType }
    }
}

impl Binder<'_> {
    /// An expression as resolution sees it.
    pub(super) fn operand(&self, id: ExprId) -> Operand {
        let ty = self.out.ty(id);
        let origin = match self.out.expr(id) {
            Expr::Literal(_) if ty.oid == oids::UNKNOWN => Origin::Literal,
            Expr::Param(_) if ty.oid == oids::UNKNOWN => Origin::Parameter,
            Expr::Row(..) | Expr::Var { column: 0, .. } if ty.oid == oids::RECORD => Origin::Row,
            _ => Origin::Typed,
        };
        Operand { ty, origin }
    }

    /// An expression after a conversion.
    pub(super) fn converted(&mut self, id: ExprId, conversion: &Conversion) -> Result<ExprId> {
        if let (Expr::Collate(inner, name), false) =
            (self.out.expr(id), conversion.steps.is_empty())
        {
            // The collation stays outside, where what comes out has one.
            let (inner, name) = (*inner, name.clone());
            let made = self.stepped(inner, &conversion.steps)?;
            let ty = self.out.ty(made);
            return Ok(match self.is_collatable(ty.oid) {
                true => self.out.add(Expr::Collate(made, name), ty, self.out.place(id)),
                false => made,
            });
        }
        self.stepped(id, &conversion.steps)
    }

    fn stepped(&mut self, mut id: ExprId, steps: &[Step]) -> Result<ExprId> {
        for (at, step) in steps.iter().enumerate() {
            // What was asked for is the last step; the others lead to it.
            let last = at + 1 == steps.len();
            let form = if last { self.form } else { Form::Implicit };
            let place = self.out.place(id);
            let (expr, ty) = match step {
                Step::Read(ty) => {
                    let literal = self.out.expr(id).clone();
                    if let Expr::Literal(Literal::Text(text)) = &literal {
                        literals::check(ty.oid, text).at(place)?;
                    }
                    (literal, *ty)
                }
                Step::Assume(oid) => {
                    self.assume(id, *oid)?;
                    continue;
                }
                Step::Relabel(ty) => (Expr::Relabel(id), *ty),
                Step::Function { function, result, modifier, explicit } => {
                    let mut args = vec![id];
                    if let Some(modifier) = modifier {
                        args.push(self.literal(Literal::Int(*modifier), 23, None));
                    }
                    if let Some(explicit) = explicit {
                        args.push(self.literal(Literal::Bool(*explicit), oids::BOOL, None));
                    }
                    let ty = TypeRef { oid: *result, modifier: modifier.unwrap_or(-1) };
                    (Expr::call(*function, args), ty)
                }
                Step::Text(oid) => (Expr::ViaText(id), TypeRef::new(*oid)),
                Step::Elements(steps, ty) => {
                    let array = self.out.ty(id);
                    let (array, modifier) = self.catalog.base(array.oid, array.modifier);
                    let element = self.catalog.element(array).expect("arrays have elements");
                    let element = TypeRef { oid: element, modifier };
                    let element = self.out.add(Expr::Placeholder, element, None);
                    (Expr::Elements(id, self.stepped(element, steps)?), *ty)
                }
                Step::Domain(oid) => (Expr::Domain(id), TypeRef::new(*oid)),
                Step::Fields(oid) => {
                    id = self.fields(id, *oid)?;
                    self.out.note_form(id, form);
                    continue;
                }
            };
            id = self.out.add(expr, ty, place);
            self.out.note_form(id, form);
        }
        Ok(id)
    }

    /// ROW(…) as a composite type: each field is converted.
    fn fields(&mut self, id: ExprId, target: Oid) -> Result<ExprId> {
        let place = self.out.place(id);
        let fields = match self.out.expr(id).clone() {
            Expr::Row(fields, _) => fields,
            Expr::Var { entry, up, .. } => {
                let level = &self.levels[self.levels.len() - 1 - up as usize];
                let types = level.entries[entry - 1].types.clone();
                let column = |(at, ty): (usize, &TypeRef)| {
                    let var = Expr::Var { entry, column: at as i32 + 1, up };
                    self.out.add(var, *ty, place)
                };
                types.iter().enumerate().map(column).collect()
            }
            _ => return Err(resolve::cast_error(self.catalog, oids::RECORD, target)).at(place),
        };
        let form = std::mem::replace(&mut self.form, Form::Implicit);
        let made = self.fields_as(id, fields, target);
        self.form = form;
        made
    }

    fn fields_as(&mut self, id: ExprId, fields: Vec<ExprId>, target: Oid) -> Result<ExprId> {
        let place = self.out.place(id);
        let of = self.schema.composite(self.catalog.base_type(target));
        let at = self.cast_at.or(place);
        let refuse = |detail: String| {
            Err(resolve::cast_error(self.catalog, oids::RECORD, target).detail(detail)).at(at)
        };
        let Some(of) = of else { return refuse("Its columns are not known.".into()) };
        let mut given = fields.into_iter();
        let mut made = Vec::new();
        for (at, column) in of.columns.iter().enumerate() {
            if column.dropped {
                made.push(self.literal(Literal::Null, 23, None));
                continue;
            }
            let Some(value) = given.next() else {
                return refuse("Input has too few columns.".into());
            };
            let operand = self.operand(value);
            let found = resolve::convert(self.catalog, operand, column.ty, Context::Explicit)?;
            let Some(conversion) = found else {
                let from = self.catalog.shown(operand.ty.oid);
                let to = self.catalog.shown(column.ty.oid);
                return refuse(format!("Cannot cast type {from} to {to} in column {}.", at + 1));
            };
            made.push(self.converted(value, &conversion)?);
        }
        if given.next().is_some() {
            return refuse("Input has too many columns.".into());
        }
        let names = of.columns.iter().map(|column| column.name.clone()).collect();
        Ok(self.out.add(Expr::Row(made, names), TypeRef::new(target), place))
    }

    /// A parameter without a type gets one.
    fn assume(&mut self, id: ExprId, oid: Oid) -> Result<()> {
        let Expr::Param(number) = *self.out.expr(id) else { return Ok(()) };
        let known = &mut self.out.parameters[number as usize - 1];
        if *known == oids::UNKNOWN {
            *known = oid;
        } else if *known != oid {
            let (one, other) = (self.catalog.shown(*known), self.catalog.shown(oid));
            let text = format!("inconsistent types deduced for parameter ${number}");
            let error = Error::new("42P08", text).detail(format!("{one} versus {other}"));
            return Err(error).at(self.out.place(id));
        }
        self.out.set_type(id, TypeRef::new(oid));
        self.out.set_collation(id, self.catalog.collation(oid));
        Ok(())
    }

    pub(super) fn literal(&mut self, literal: Literal, oid: Oid, place: Option<u32>) -> ExprId {
        self.out.add(Expr::Literal(literal), TypeRef::new(oid), place)
    }

    /// A condition.
    pub(super) fn boolean(&mut self, id: ExprId, construct: &str) -> Result<ExprId> {
        let ty = self.out.ty(id).oid;
        if ty != oids::BOOL {
            let bool = TypeRef::new(oids::BOOL);
            let found =
                resolve::convert(self.catalog, self.operand(id), bool, Context::Assignment)?;
            let Some(conversion) = found else {
                let shown = self.catalog.shown(ty);
                let text =
                    format!("argument of {construct} must be type boolean, not type {shown}");
                return Err(Error::new("42804", text)).at(self.start_of(id));
            };
            let made = self.converted(id, &conversion)?;
            self.no_set(made, construct)?;
            return Ok(made);
        }
        self.no_set(id, construct)?;
        Ok(id)
    }

    fn no_set(&self, id: ExprId, construct: &str) -> Result<()> {
        match self.gives_set(id) {
            true => {
                let text = format!("argument of {construct} must not return a set");
                Err(Error::new("42804", text)).at(self.start_of(id))
            }
            false => Ok(()),
        }
    }

    /// A value of this type, as a clause asks for it.
    pub(super) fn specific(&mut self, id: ExprId, target: Oid, construct: &str) -> Result<ExprId> {
        let ty = self.out.ty(id).oid;
        let mut made = id;
        if ty != target {
            let wanted = TypeRef::new(target);
            let found =
                resolve::convert(self.catalog, self.operand(id), wanted, Context::Assignment)?;
            let Some(conversion) = found else {
                let (to, from) = (self.catalog.shown(target), self.catalog.shown(ty));
                let text = format!("argument of {construct} must be type {to}, not type {from}");
                return Err(Error::new("42804", text)).at(self.start_of(id));
            };
            made = self.converted(id, &conversion)?;
        }
        self.no_set(made, construct)?;
        Ok(made)
    }

    /// Expressions as their common type.
    pub(super) fn common(
        &mut self,
        ids: &[ExprId],
        construct: &str,
    ) -> Result<(Vec<ExprId>, TypeRef)> {
        let common = self.common_type(ids, construct)?;
        let made = self.all_common(ids, common, construct)?;
        let modifier = self.common_modifier(&made, common);
        Ok((made, TypeRef { oid: common, modifier }))
    }

    pub(super) fn common_type(&self, ids: &[ExprId], construct: &str) -> Result<Oid> {
        let types: Vec<Oid> = ids.iter().map(|id| self.out.ty(*id).oid).collect();
        let found = resolve::common_type(self.catalog, &types, construct);
        let Err(error) = found else { return found };
        // The error is about the first that does not match.
        let at = (2..=ids.len())
            .find(|n| resolve::common_type(self.catalog, &types[..*n], construct).is_err());
        Err(error).at(at.and_then(|n| self.start_of(ids[n - 1])))
    }

    pub(super) fn all_common(
        &mut self,
        ids: &[ExprId],
        common: Oid,
        construct: &str,
    ) -> Result<Vec<ExprId>> {
        ids.iter().map(|id| self.one_to_common(*id, common, construct)).collect()
    }

    pub(super) fn one_to_common(
        &mut self,
        id: ExprId,
        common: Oid,
        construct: &str,
    ) -> Result<ExprId> {
        let place = self.start_of(id);
        let operand = self.operand(id);
        let found = resolve::to_common(self.catalog, operand, common, construct).at(place)?;
        self.converted(id, &found)
    }

    pub(super) fn common_modifier(&self, ids: &[ExprId], common: Oid) -> i32 {
        let types: Vec<TypeRef> = ids.iter().map(|id| self.out.ty(*id)).collect();
        resolve::common_modifier(&types, common)
    }

    /// A row's fields in order: of ROW(…), of a record's entry, of a composite type.
    pub(super) fn fields_of(&self, id: ExprId) -> Option<Vec<RowField>> {
        let ty = self.out.ty(id).oid;
        if ty != oids::RECORD {
            let of = self.schema.composite(self.catalog.base_type(ty))?;
            let columns = of.columns.iter();
            // A column that was dropped keeps its number; no name finds it.
            let named = columns.map(|c| match c.dropped {
                true => RowField::plain(Name::from(""), TypeRef::new(0)),
                false => {
                    RowField { name: c.name.clone(), ty: c.ty, collated: Collated::As(c.collation) }
                }
            });
            return Some(named.collect());
        }
        match self.out.expr(id) {
            Expr::Row(fields, names) => Some(self.fields_of_values(fields, names)),
            Expr::Var { entry, column, up } => {
                let level = self.levels.len().checked_sub(1 + *up as usize)?;
                let (number, entry) = (*entry, &self.levels[level].entries[*entry - 1]);
                match *column {
                    0 => {
                        let all = entry.names.iter().zip(&entry.types).enumerate();
                        let field = |(at, (name, ty)): (usize, (&Name, &TypeRef))| {
                            let collated = Collated::Column(number, at + 1, *up as usize);
                            RowField { name: name.clone(), ty: *ty, collated }
                        };
                        Some(all.map(field).collect())
                    }
                    column => self.fields_behind(entry, column, self.levels.len() - 1 - level),
                }
            }
            _ => self.output_fields(id),
        }
    }

    /// The fields that the OUT parameters of a function are.
    pub(super) fn output_fields(&self, id: ExprId) -> Option<Vec<RowField>> {
        let all = self.output_columns(id)?.into_iter();
        Some(all.map(|(name, ty)| RowField::plain(name, ty)).collect())
    }

    /// The fields of ROW(…).
    pub(super) fn fields_of_values(&self, values: &[ExprId], names: &[Name]) -> Vec<RowField> {
        let field = |(name, id): (&Name, &ExprId)| {
            let collated = Collated::Value(*id);
            RowField { name: name.clone(), ty: self.out.ty(*id), collated }
        };
        names.iter().zip(values).map(field).collect()
    }

    /// A field of a row, with the collation of what it comes from.
    pub(super) fn add_field(
        &mut self,
        row: ExprId,
        number: i32,
        field: &RowField,
        place: Option<u32>,
    ) -> ExprId {
        let made = self.out.add(Expr::Field(row, number), field.ty, place);
        let collation = match field.collated {
            Collated::ByType => self.catalog.collation(field.ty.oid),
            Collated::As(collation) => collation,
            Collated::Value(id) => self.collation_of(id),
            Collated::Column(entry, column, up) => {
                self.collation_of_column(entry, column, up, field.ty)
            }
        };
        self.out.set_collation(made, collation);
        made
    }
}
