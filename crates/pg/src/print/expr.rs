//! Expressions.

use std::borrow::Cow;

use super::{Printer, STEP_IN, unserved};
use crate::ast::{Is, SqlValue};
use crate::bound::{Expr, ExprId, Form, Literal, NullTest, Op, SubKind, Subscript};
use crate::catalog::oids;
use crate::{Result, TypeRef};

impl Printer<'_> {
    /// An expression; `implicit` says whether a conversion that was not written is shown, so that the same function is
    /// found again.
    pub(super) fn expr(&mut self, id: ExprId, implicit: bool) -> Result<()> {
        self.deeper(|p| p.one(id, implicit))
    }

    /// An expression in parentheses where what is around it needs them.
    pub(super) fn part(&mut self, id: ExprId, implicit: bool, within: ExprId) -> Result<()> {
        let parens = self.look.pretty && !self.is_simple(id, within);
        self.put(if parens { "(" } else { "" });
        self.expr(id, implicit)?;
        self.put(if parens { ")" } else { "" });
        Ok(())
    }

    /// An expression where `t.*` would be all columns of `t`.
    pub(super) fn top(&mut self, id: ExprId, implicit: bool) -> Result<()> {
        match self.bound.expr(id) {
            Expr::Var { .. } => self.variable(id, 0, true).map(drop),
            _ => self.expr(id, implicit),
        }
    }

    pub(super) fn exprs(&mut self, all: &[ExprId]) -> Result<()> {
        self.list(all, |p, id| p.expr(id, true))
    }

    fn one(&mut self, id: ExprId, implicit: bool) -> Result<()> {
        let bound = self.bound;
        let ty = bound.ty(id);
        match bound.expr(id) {
            Expr::Var { .. } => self.variable(id, 0, false).map(drop),
            Expr::Literal(literal) => self.literal(literal, ty, 0),
            Expr::Param(number) => {
                self.put(&format!("${number}"));
                Ok(())
            }
            Expr::Call(call) => self.call(id, call, implicit),
            Expr::Op(op) => self.operation(id, op),
            Expr::Distinct(op) => self.between(id, op.args[0], " IS DISTINCT FROM ", op.args[1]),
            Expr::NullIf(op) => self.called("NULLIF", &op.args),
            Expr::ArrayOp(op, all) => self.array_operation(id, op, *all),
            Expr::And(all) => self.chain(id, all, " AND "),
            Expr::Or(all) => self.chain(id, all, " OR "),
            Expr::Not(one) => {
                self.plain_paren("(");
                self.put("NOT ");
                self.part(*one, false, id)?;
                self.plain_paren(")");
                Ok(())
            }
            Expr::Aggregate(call) => self.aggregate(call),
            Expr::WindowCall(call) => self.window_call(call),
            Expr::Grouping(all, ..) => self.called("GROUPING", all),
            Expr::SubQuery(sub) => self.subquery(sub),
            Expr::Field(one, number) => self.field(*one, *number),
            Expr::Relabel(one) => self.conversion(id, *one, ty, implicit),
            Expr::ViaText(one) | Expr::ConvertRow(one) => {
                self.conversion(id, *one, TypeRef::new(ty.oid), implicit)
            }
            Expr::Elements(one, _) => self.conversion(id, *one, ty, implicit),
            Expr::Domain(one) => match bound.form(id) == Form::Implicit && !implicit {
                true => self.expr(*one, false),
                false => self.conversion(id, *one, ty, true),
            },
            Expr::Case(operand, arms, otherwise) => self.case(*operand, arms, *otherwise),
            Expr::Array(all, _) => {
                self.put("ARRAY[");
                self.exprs(all)?;
                self.put("]");
                if all.is_empty() {
                    self.put_type(TypeRef::new(ty.oid));
                }
                Ok(())
            }
            Expr::Row(all, _) => {
                self.put("ROW(");
                self.list(all, |p, field| p.top(field, true))?;
                self.put(")");
                if bound.form(id) == Form::Cast {
                    self.put_type(TypeRef::new(ty.oid));
                }
                Ok(())
            }
            Expr::RowCompare(_, operators, left, right) => {
                self.put("(ROW(");
                self.list(left, |p, field| p.top(field, true))?;
                let name = self.operator_name(*operators.first().ok_or_else(unserved)?);
                self.put(&format!(") {name} ROW("));
                self.list(right, |p, field| p.top(field, true))?;
                self.put("))");
                Ok(())
            }
            Expr::Coalesce(all) => self.called("COALESCE", all),
            Expr::Greatest(all, least) => {
                self.called(if *least { "LEAST" } else { "GREATEST" }, all)
            }
            Expr::SqlValue(value, precision) => {
                self.sql_value(*value, *precision);
                Ok(())
            }
            Expr::Xml(xml) => self.xml(id, xml),
            Expr::NullTest(test) => self.null_test(id, test),
            Expr::BoolTest(one, is, not) => {
                self.plain_paren("(");
                self.part(*one, false, id)?;
                self.put(if *not { " IS NOT " } else { " IS " });
                self.put(match is {
                    Is::True => "TRUE",
                    Is::False => "FALSE",
                    Is::Unknown => "UNKNOWN",
                    Is::Null => "NULL",
                });
                self.plain_paren(")");
                Ok(())
            }
            Expr::Collate(one, name) => {
                self.plain_paren("(");
                self.part(*one, implicit, id)?;
                self.put(" COLLATE ");
                self.put_name(name);
                self.plain_paren(")");
                Ok(())
            }
            Expr::Subscript(part) => self.subscript(part, implicit),
            Expr::Default => {
                self.put("DEFAULT");
                Ok(())
            }
            Expr::CurrentOf(..)
            | Expr::StoreFields(..)
            | Expr::Placeholder
            | Expr::SubColumn(_)
            | Expr::RowColumn(..) => Err(unserved()),
        }
    }

    pub(super) fn called(&mut self, word: &str, args: &[ExprId]) -> Result<()> {
        self.put(word);
        self.put("(");
        self.exprs(args)?;
        self.put(")");
        Ok(())
    }

    fn chain(&mut self, id: ExprId, all: &[ExprId], word: &str) -> Result<()> {
        self.plain_paren("(");
        for (at, one) in all.iter().enumerate() {
            self.put(if at > 0 { word } else { "" });
            self.part(*one, false, id)?;
        }
        self.plain_paren(")");
        Ok(())
    }

    /// Two operands with a word between them.
    fn between(&mut self, id: ExprId, left: ExprId, word: &str, right: ExprId) -> Result<()> {
        self.plain_paren("(");
        self.part(left, true, id)?;
        self.put(word);
        self.part(right, true, id)?;
        self.plain_paren(")");
        Ok(())
    }

    /// An operator's name; that of an extension whose schema is not looked at says where it is.
    pub(super) fn operator_name(&self, oid: u32) -> Cow<'static, str> {
        let name = self.catalog.operator(oid).map_or("", |operator| operator.name);
        match self.catalog.created(oid) {
            Some(created) if !created.seen => {
                format!("OPERATOR({}.{name})", super::name(&created.schema)).into()
            }
            _ => name.into(),
        }
    }

    fn operation(&mut self, id: ExprId, op: &Op) -> Result<()> {
        let name = self.operator_name(op.operator);
        match op.args[..] {
            [left, right] => self.between(id, left, &format!(" {name} "), right),
            [one] => {
                self.plain_paren("(");
                self.put(&format!("{name} "));
                self.part(one, true, id)?;
                self.plain_paren(")");
                Ok(())
            }
            _ => Err(unserved()),
        }
    }

    fn array_operation(&mut self, id: ExprId, op: &Op, all: bool) -> Result<()> {
        let [left, right] = op.args[..] else { return Err(unserved()) };
        self.plain_paren("(");
        self.part(left, true, id)?;
        let name = self.operator_name(op.operator);
        self.put(&format!(" {name} {} (", if all { "ALL" } else { "ANY" }));
        self.part(right, true, id)?;
        // A query alone would be one whose rows are compared.
        if let Expr::SubQuery(sub) = self.bound.expr(right)
            && sub.kind == SubKind::Value
        {
            self.put_type(self.bound.ty(right));
        }
        self.put(")");
        self.plain_paren(")");
        Ok(())
    }

    /// A value as another type.
    pub(super) fn conversion(
        &mut self,
        id: ExprId,
        value: ExprId,
        ty: TypeRef,
        implicit: bool,
    ) -> Result<()> {
        if self.bound.form(id) == Form::Implicit && !implicit {
            return self.part(value, false, id);
        }
        let own = self.bound.ty(value);
        match self.bound.expr(value) {
            // Its type is that already, except for a length.
            Expr::Literal(literal) if own == TypeRef::new(ty.oid) => {
                self.literal(literal, own, -1)?;
            }
            _ => {
                self.plain_paren("(");
                self.part(value, false, id)?;
                self.plain_paren(")");
            }
        }
        self.put_type(ty);
        Ok(())
    }

    fn case(
        &mut self,
        operand: Option<ExprId>,
        arms: &[(ExprId, ExprId)],
        otherwise: ExprId,
    ) -> Result<()> {
        self.line("CASE", 0, STEP_IN, 0);
        if let Some(operand) = operand {
            self.put(" ");
            self.expr(operand, true)?;
        }
        for (condition, result) in arms {
            let mut shown = *condition;
            if operand.is_some()
                && let Expr::Op(op) = self.bound.expr(*condition)
                && let [left, right] = op.args[..]
                && self.is_placeholder(left)
            {
                shown = right;
            }
            self.line("WHEN ", 0, 0, 0);
            self.expr(shown, false)?;
            self.put(" THEN ");
            self.expr(*result, true)?;
        }
        self.line("ELSE ", 0, 0, 0);
        self.expr(otherwise, true)?;
        self.line("END", -STEP_IN, 0, 0);
        Ok(())
    }

    fn is_placeholder(&self, id: ExprId) -> bool {
        match self.bound.expr(id) {
            Expr::Placeholder => true,
            Expr::Relabel(one)
            | Expr::ViaText(one)
            | Expr::Elements(one, _)
            | Expr::ConvertRow(one)
            | Expr::Domain(one) => self.is_placeholder(*one),
            Expr::Call(call) if self.bound.form(id) == Form::Implicit => {
                call.args.first().is_some_and(|arg| self.is_placeholder(arg.1))
            }
            _ => false,
        }
    }

    fn null_test(&mut self, id: ExprId, test: &NullTest) -> Result<()> {
        let ty = self.bound.ty(test.value).oid;
        let of_row = ty == oids::RECORD || self.catalog.is_composite(ty);
        self.plain_paren("(");
        self.part(test.value, true, id)?;
        self.put(match (test.row || !of_row, test.not) {
            (true, false) => " IS NULL",
            (true, true) => " IS NOT NULL",
            (false, false) => " IS NOT DISTINCT FROM NULL",
            (false, true) => " IS DISTINCT FROM NULL",
        });
        self.plain_paren(")");
        Ok(())
    }

    fn sql_value(&mut self, value: SqlValue, precision: Option<i32>) {
        self.put(match value {
            SqlValue::CurrentDate => "CURRENT_DATE",
            SqlValue::CurrentTime => "CURRENT_TIME",
            SqlValue::CurrentTimestamp => "CURRENT_TIMESTAMP",
            SqlValue::LocalTime => "LOCALTIME",
            SqlValue::LocalTimestamp => "LOCALTIMESTAMP",
            SqlValue::CurrentRole => "CURRENT_ROLE",
            SqlValue::CurrentUser => "CURRENT_USER",
            SqlValue::SessionUser => "SESSION_USER",
            SqlValue::User => "USER",
            SqlValue::CurrentCatalog => "CURRENT_CATALOG",
            SqlValue::CurrentSchema => "CURRENT_SCHEMA",
        });
        if let Some(precision) = precision {
            self.put(&format!("({precision})"));
        }
    }

    fn subscript(&mut self, part: &Subscript, implicit: bool) -> Result<()> {
        if part.assigned.is_some() {
            return Err(unserved());
        }
        let bare = matches!(self.bound.expr(part.container), Expr::Var { .. } | Expr::Field(..));
        self.put(if bare { "" } else { "(" });
        self.expr(part.container, implicit)?;
        self.put(if bare { "" } else { ")" });
        for (at, upper) in part.upper.iter().enumerate() {
            self.put("[");
            if let Some(lower) = part.lower.get(at) {
                if let Some(lower) = lower {
                    self.expr(*lower, false)?;
                }
                self.put(":");
            }
            if let Some(upper) = upper {
                self.expr(*upper, false)?;
            }
            self.put("]");
        }
        Ok(())
    }

    /// The text of a literal.
    pub(super) fn word_of(&self, id: ExprId) -> Result<&str> {
        match self.bound.expr(id) {
            Expr::Literal(Literal::Text(text)) => Ok(text),
            _ => Err(unserved()),
        }
    }
}
