//! CASE, NULLIF, GREATEST, ARRAY[…] and values that SQL names by words.

use super::{At, Binder};
use crate::ast::{self, Expr as Raw, SqlValue};
use crate::bound::{Expr, ExprId, Form, Literal};
use crate::catalog::oids;
use crate::resolve::{self, Context};
use crate::{Error, Result, TypeRef};

/// name, of which users' and schemas' names are.
const NAME: crate::Oid = 19;

impl Binder<'_> {
    pub(super) fn null_if(
        &mut self,
        left: ast::ExprId,
        right: ast::ExprId,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        let (op, result) = self.operator_call("=", Some(left), right, place)?;
        if result != oids::BOOL {
            let text = "NULLIF requires = operator to yield boolean";
            return Err(Error::new("42804", text)).at(place);
        }
        if op.set {
            return Err(Error::new("42804", "NULLIF must not return a set")).at(place);
        }
        let ty = self.out.ty(op.args[0]);
        Ok(self.out.add(Expr::NullIf(op), ty, place))
    }

    pub(super) fn case(
        &mut self,
        operand: Option<ast::ExprId>,
        arms: &[ast::Arm],
        otherwise: Option<ast::ExprId>,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let last_set = self.level_ref().last_set;
        let operand = operand.map(|operand| self.expr(operand)).transpose()?;
        let operand = match operand {
            Some(value) if self.out.ty(value).oid == oids::UNKNOWN => {
                let conversion = resolve::to_text(self.catalog, self.operand(value))?;
                Some(self.converted(value, &conversion)?)
            }
            other => other,
        };
        let mut collation = 0;
        if let Some(value) = operand {
            self.derive_collations(&[value])?;
            collation = self.collation_of(value);
        }
        let mut made = Vec::new();
        for ast::Arm { condition, result, place: at } in arms {
            let condition = match operand {
                Some(value) => {
                    let placeholder = self.out.add(Expr::Placeholder, self.out.ty(value), None);
                    self.out.set_collation(placeholder, collation);
                    let compared = self.expr(*condition)?;
                    self.operator("=", Some(placeholder), compared, Some(*at))?
                }
                None => self.expr(*condition)?,
            };
            let condition = self.boolean(condition, "CASE/WHEN")?;
            made.push((condition, self.expr(*result)?));
        }
        let otherwise = match otherwise {
            Some(otherwise) => self.expr(otherwise)?,
            None => self.literal(Literal::Null, oids::UNKNOWN, None),
        };
        // What ELSE gives counts first.
        let results: Vec<ExprId> =
            [otherwise].into_iter().chain(made.iter().map(|arm| arm.1)).collect();
        let common = self.common_type(&results, "CASE")?;
        let otherwise = self.one_to_common(otherwise, common, "CASE/ELSE")?;
        for arm in &mut made {
            arm.1 = self.one_to_common(arm.1, common, "CASE/WHEN")?;
        }
        let results: Vec<ExprId> =
            [otherwise].into_iter().chain(made.iter().map(|arm| arm.1)).collect();
        let modifier = self.common_modifier(&results, common);
        self.no_sets_since(last_set, "CASE")?;
        let ty = TypeRef { oid: common, modifier };
        Ok(self.out.add(Expr::Case(operand, made, otherwise), ty, place))
    }

    pub(super) fn greatest(
        &mut self,
        values: &[ast::ExprId],
        least: bool,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let values = self.all(values)?;
        let (values, ty) = self.common(&values, if least { "LEAST" } else { "GREATEST" })?;
        Ok(self.out.add(Expr::Greatest(values, least), ty, place))
    }

    /// ARRAY[…]; of a type, where it is cast to one.
    pub(super) fn array(
        &mut self,
        ids: &[ast::ExprId],
        target: Option<TypeRef>,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let element = target.and_then(|target| self.catalog.element(target.oid));
        let mut values = Vec::new();
        let mut nested = false;
        for id in ids {
            let value = match self.tree.expr(*id) {
                Raw::Array(inner) => {
                    let at = self.tree.place(*id);
                    nested = true;
                    self.deeper(|b| b.array(inner, target, at))?
                }
                _ => {
                    let value = self.expr(*id)?;
                    let ty = self.out.ty(value).oid;
                    nested |= ty != oids::INT2VECTOR
                        && ty != oids::OIDVECTOR
                        && self.catalog.element(ty).is_some();
                    value
                }
            };
            values.push(value);
        }
        let (array, element, context) = match (target, element) {
            (Some(target), Some(element)) => {
                let inner = if nested { target.oid } else { element };
                (target, TypeRef { oid: inner, ..target }, Context::Explicit)
            }
            _ => self.array_type(&values, nested, place)?,
        };
        let mut made = Vec::new();
        for value in values {
            made.push(match context {
                Context::Explicit => {
                    let at = self.start_of(value);
                    self.form = Form::Cast;
                    let made = self.cast_to(value, element, Context::Explicit).at(at);
                    self.form = Form::Implicit;
                    made?
                }
                _ => self.one_to_common(value, element.oid, "ARRAY")?,
            });
        }
        let modifier = self.common_modifier(&made, element.oid);
        let ty = TypeRef { oid: array.oid, modifier };
        Ok(self.out.add(Expr::Array(made, nested), ty, place))
    }

    pub(super) fn sql_value(
        &mut self,
        value: SqlValue,
        precision: Option<i32>,
        place: Option<u32>,
    ) -> ExprId {
        let precision = precision.map(|p| p.clamp(0, 6));
        let oid = match value {
            SqlValue::CurrentDate => 1082,
            SqlValue::CurrentTime => 1266,
            SqlValue::CurrentTimestamp => 1184,
            SqlValue::LocalTime => 1083,
            SqlValue::LocalTimestamp => 1114,
            _ => NAME,
        };
        let ty = TypeRef { oid, modifier: precision.unwrap_or(-1) };
        self.out.add(Expr::SqlValue(value, precision), ty, place)
    }

    /// The types of an array and of its elements, by what the elements are.
    fn array_type(
        &self,
        values: &[ExprId],
        nested: bool,
        place: Option<u32>,
    ) -> Result<(TypeRef, TypeRef, Context)> {
        if values.is_empty() {
            let text = "cannot determine type of empty array";
            let hint = "Explicitly cast to the desired type, for example ARRAY[]::integer[].";
            return Err(Error::new("42P18", text).hint(hint)).at(place);
        }
        let common = self.common_type(values, "ARRAY")?;
        let array = match nested {
            true => match self.catalog.element(common) {
                Some(_) => common,
                None => {
                    let shown = self.catalog.shown(common);
                    let text = format!("could not find element type for data type {shown}");
                    return Err(Error::new("42704", text)).at(place);
                }
            },
            false => self
                .catalog
                .array_of(common)
                .ok_or_else(|| {
                    let shown = self.catalog.shown(common);
                    let text = format!("could not find array type for data type {shown}");
                    Error::new("42704", text)
                })
                .at(place)?,
        };
        Ok((TypeRef::new(array), TypeRef::new(common), Context::Implicit))
    }
}
