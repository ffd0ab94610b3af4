//! Which condition of the engine does a CHECK say?
//!
//! The engine judges rows by conditions of its own, which know no functions but a few and no queries; what
//! they cannot say is refused.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr as Ast, Function as Call, FunctionArg, FunctionArgExpr, FunctionArguments,
    UnaryOperator, Value as AstValue,
};
use onlap::expr::{Comparison, Function, Operation};
use onlap::{DataType, Expr, Value};

use super::types::column_type;
use crate::catalog::names::fold;
use crate::error::{Result, SqlError, state};
use crate::parse::literal_text;
use crate::types::{PgType, oid, text_value};

/// Types of the table's columns by name.
pub type Columns<'a> = &'a dyn Fn(&str) -> Option<DataType>;

/// A condition as the engine has it.
///
/// # Errors
/// An unknown column; what the engine's conditions cannot say.
pub fn condition(ast: &Ast, columns: Columns<'_>) -> Result<Expr<String>> {
    Translation { columns }.expr(ast, None)
}

/// The columns that a condition names, each once, in their order.
pub fn columns_of(condition: &Expr<String>) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![condition];
    while let Some(expr) = open.pop() {
        if let Expr::Column(name) = expr
            && !found.contains(name)
        {
            found.push(name.clone());
        }
        open.extend(expr.children());
    }
    found
}

struct Translation<'a> {
    columns: Columns<'a>,
}

fn refused(ast: &Ast) -> SqlError {
    SqlError::unsupported(format!("{ast} in a CHECK constraint")).hint(
        "Checks compare columns and constants, with arithmetic, AND, OR, NOT, IN, BETWEEN, LIKE, \
         length, lower, upper, trim, abs and coalesce.",
    )
}

impl Translation<'_> {
    /// `wanted`: the type of what a literal is compared with.
    fn expr(&self, ast: &Ast, wanted: Option<DataType>) -> Result<Expr<String>> {
        let whole = |ast: &Ast| self.expr(ast, None);
        match ast {
            Ast::Nested(inner) => self.expr(inner, wanted),
            Ast::Identifier(ident) => self.column(&fold(ident)),
            Ast::CompoundIdentifier(idents) => {
                self.column(&idents.last().map(fold).unwrap_or_default())
            }
            Ast::Value(value) => self.literal(&value.value, wanted, ast),
            Ast::Cast { expr, data_type, .. } => {
                let ty = column_type(data_type)?.0;
                self.cast(expr, ty, ast)
            }
            Ast::TypedString(typed) => {
                let ty = column_type(&typed.data_type)?.0;
                self.literal(&typed.value.value, Some(ty), ast)
            }
            Ast::BinaryOp { left, op, right } => self.binary(left, op, right, ast),
            Ast::UnaryOp { op: UnaryOperator::Not, expr } => Ok(Expr::Not(Box::new(whole(expr)?))),
            Ast::UnaryOp { op: UnaryOperator::Plus, expr } => self.expr(expr, wanted),
            Ast::UnaryOp { op: UnaryOperator::Minus, expr } => {
                Ok(match self.expr(expr, wanted)? {
                    Expr::Constant(Value::Int(v)) => Expr::Constant(Value::Int(-v)),
                    Expr::Constant(Value::Float(f)) => Expr::Constant(Value::Float(-f)),
                    Expr::Constant(Value::Numeric(mut n)) => {
                        n.mantissa = -n.mantissa;
                        Expr::Constant(Value::Numeric(n))
                    }
                    other => Expr::Negate(Box::new(other)),
                })
            }
            Ast::IsNull(e) => Ok(Expr::IsNull(Box::new(whole(e)?))),
            Ast::IsNotNull(e) => Ok(not(Expr::IsNull(Box::new(whole(e)?)))),
            Ast::IsDistinctFrom(a, b) => self.compare(Comparison::Distinct, a, b),
            Ast::IsNotDistinctFrom(a, b) => Ok(not(self.compare(Comparison::Distinct, a, b)?)),
            Ast::IsTrue(e) => Ok(coalesce(whole(e)?, false)),
            Ast::IsNotTrue(e) => Ok(not(coalesce(whole(e)?, false))),
            Ast::IsFalse(e) => Ok(not(coalesce(whole(e)?, true))),
            Ast::IsNotFalse(e) => Ok(coalesce(whole(e)?, true)),
            Ast::Between { expr, negated, low, high } => {
                let ty = self.type_of(expr);
                let (e, low, high) = (whole(expr)?, self.expr(low, ty)?, self.expr(high, ty)?);
                Ok(negate(Expr::Between(Box::new(e), Box::new(low), Box::new(high)), *negated))
            }
            Ast::InList { expr, list, negated } => self.list(expr, list, *negated),
            Ast::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => match strip(right) {
                Ast::Array(array) => self.list(left, &array.elem, false),
                _ => Err(refused(ast)),
            },
            Ast::AllOp { left, compare_op: BinaryOperator::NotEq, right } => match strip(right) {
                Ast::Array(array) => self.list(left, &array.elem, true),
                _ => Err(refused(ast)),
            },
            Ast::Like { negated, any: false, expr, pattern, escape_char: None } => {
                self.like(expr, pattern, *negated, ast)
            }
            Ast::Trim { trim_where: None, trim_what: None, expr, trim_characters: None } => {
                Ok(Expr::Call(Function::Trim, vec![whole(expr)?]))
            }
            Ast::Function(call) => self.call(call, ast),
            _ => Err(refused(ast)),
        }
    }

    fn column(&self, name: &str) -> Result<Expr<String>> {
        match (self.columns)(name) {
            Some(_) => Ok(Expr::Column(name.to_string())),
            None => {
                Err(SqlError::new(state::NO_COLUMN, format!("column \"{name}\" does not exist")))
            }
        }
    }

    fn literal(
        &self,
        value: &AstValue,
        wanted: Option<DataType>,
        ast: &Ast,
    ) -> Result<Expr<String>> {
        let constant = |value| Ok(Expr::Constant(value));
        let text = match value {
            AstValue::Null => return constant(Value::Null),
            AstValue::Boolean(b) => return constant(Value::Bool(*b)),
            other => literal_text(other).ok_or_else(|| refused(ast))?,
        };
        if !matches!(value, AstValue::Number(..)) {
            let ty = wanted.unwrap_or(DataType::Text);
            // A value that a shorter type would cut is compared as it is.
            return constant(match ty {
                DataType::Varchar(_) | DataType::Char(_) => Value::Text(text),
                ty => text_value(PgType::of_engine(ty), &text)?,
            });
        }
        if let (Some(DataType::Float4 | DataType::Float8), Ok(f)) = (wanted, text.parse()) {
            return constant(Value::Float(f));
        }
        match text.parse::<i64>() {
            Ok(v) => constant(Value::Int(v)),
            Err(_) => constant(text_value(PgType::new(oid::NUMERIC), &text)?),
        }
    }

    /// A cast says the type of a literal; of a column it may only say what the column is already.
    fn cast(&self, inner: &Ast, ty: DataType, ast: &Ast) -> Result<Expr<String>> {
        let bare = strip(inner);
        if is_literal(bare) {
            let wanted = Some(ty);
            if let (Ast::Value(v), false) = (bare, is_text(ty))
                && let Some(text) = literal_text(&v.value)
            {
                return Ok(Expr::Constant(text_value(PgType::of_engine(ty), &text)?));
            }
            return self.expr(bare, wanted);
        }
        let from = self.type_of(bare);
        let same = from.is_some_and(|from| {
            from == ty || is_text(from) && is_text(ty) || is_number(from) && is_exact(ty)
        });
        if same { self.expr(bare, None) } else { Err(refused(ast)) }
    }

    fn binary(&self, a: &Ast, op: &BinaryOperator, b: &Ast, ast: &Ast) -> Result<Expr<String>> {
        let compare = |how| self.compare(how, a, b);
        let compute = |how| {
            let (ta, tb) = (self.type_of(a), self.type_of(b));
            Ok(Expr::Arithmetic(how, Box::new(self.expr(a, tb)?), Box::new(self.expr(b, ta)?)))
        };
        match op {
            BinaryOperator::Eq => compare(Comparison::Equal),
            BinaryOperator::NotEq => compare(Comparison::NotEqual),
            BinaryOperator::Lt => compare(Comparison::Less),
            BinaryOperator::LtEq => compare(Comparison::LessOrEqual),
            BinaryOperator::Gt => compare(Comparison::Greater),
            BinaryOperator::GtEq => compare(Comparison::GreaterOrEqual),
            BinaryOperator::And => Ok(Expr::And(self.flat(ast, &BinaryOperator::And)?)),
            BinaryOperator::Or => Ok(Expr::Or(self.flat(ast, &BinaryOperator::Or)?)),
            BinaryOperator::Plus => compute(Operation::Add),
            BinaryOperator::Minus => compute(Operation::Subtract),
            BinaryOperator::Multiply => compute(Operation::Multiply),
            BinaryOperator::Divide => compute(Operation::Divide),
            BinaryOperator::Modulo => compute(Operation::Remainder),
            BinaryOperator::PGLikeMatch => self.like(a, b, false, ast),
            BinaryOperator::PGNotLikeMatch => self.like(a, b, true, ast),
            _ => Err(refused(ast)),
        }
    }

    /// The parts of a chain of ANDs or ORs.
    fn flat(&self, ast: &Ast, op: &BinaryOperator) -> Result<Vec<Expr<String>>> {
        match strip_parentheses(ast) {
            Ast::BinaryOp { left, op: found, right } if found == op => {
                let mut parts = self.flat(left, op)?;
                parts.extend(self.flat(right, op)?);
                Ok(parts)
            }
            other => Ok(vec![self.expr(other, None)?]),
        }
    }

    fn compare(&self, how: Comparison, a: &Ast, b: &Ast) -> Result<Expr<String>> {
        let (ta, tb) = (self.type_of(a), self.type_of(b));
        Ok(Expr::Compare(how, Box::new(self.expr(a, tb)?), Box::new(self.expr(b, ta)?)))
    }

    fn list(&self, e: &Ast, items: &[Ast], negated: bool) -> Result<Expr<String>> {
        let ty = self.type_of(e);
        let items = items.iter().map(|item| self.expr(item, ty)).collect::<Result<_>>()?;
        Ok(negate(Expr::In(Box::new(self.expr(e, None)?), items), negated))
    }

    fn like(&self, e: &Ast, pattern: &Ast, negated: bool, ast: &Ast) -> Result<Expr<String>> {
        match self.expr(pattern, Some(DataType::Text))? {
            Expr::Constant(Value::Text(pattern)) => {
                Ok(negate(Expr::Like(Box::new(self.expr(e, None)?), pattern), negated))
            }
            _ => Err(refused(ast)),
        }
    }

    fn call(&self, call: &Call, ast: &Ast) -> Result<Expr<String>> {
        let name = call.name.to_string().to_lowercase();
        let function = match name.strip_prefix("pg_catalog.").unwrap_or(&name) {
            "length" | "char_length" | "character_length" => Function::Length,
            "octet_length" => Function::OctetLength,
            "lower" => Function::Lower,
            "upper" => Function::Upper,
            "btrim" | "trim" => Function::Trim,
            "abs" => Function::Abs,
            "coalesce" => Function::Coalesce,
            _ => return Err(refused(ast)),
        };
        let FunctionArguments::List(list) = &call.args else { return Err(refused(ast)) };
        let wanted = list.args.iter().find_map(|a| self.type_of(argument(a)?));
        let mut arguments = Vec::with_capacity(list.args.len());
        for arg in &list.args {
            arguments.push(self.expr(argument(arg).ok_or_else(|| refused(ast))?, wanted)?);
        }
        if function != Function::Coalesce && arguments.len() != 1 {
            return Err(refused(ast));
        }
        Ok(Expr::Call(function, arguments))
    }

    /// The type of an expression, as far as a literal beside it needs it.
    fn type_of(&self, ast: &Ast) -> Option<DataType> {
        match ast {
            Ast::Nested(inner) => self.type_of(inner),
            Ast::Identifier(ident) => (self.columns)(&fold(ident)),
            Ast::CompoundIdentifier(idents) => (self.columns)(&fold(idents.last()?)),
            Ast::Cast { data_type, .. } => column_type(data_type).ok().map(|t| t.0),
            Ast::BinaryOp { left, op, right } if is_arithmetic(op) => {
                self.type_of(left).or_else(|| self.type_of(right))
            }
            Ast::UnaryOp { op: UnaryOperator::Minus, expr } => self.type_of(expr),
            _ => None,
        }
    }
}

fn argument(arg: &FunctionArg) -> Option<&Ast> {
    match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => Some(e),
        _ => None,
    }
}

fn not(e: Expr<String>) -> Expr<String> {
    Expr::Not(Box::new(e))
}

fn negate(e: Expr<String>, negated: bool) -> Expr<String> {
    if negated { not(e) } else { e }
}

fn coalesce(e: Expr<String>, otherwise: bool) -> Expr<String> {
    Expr::Call(Function::Coalesce, vec![e, Expr::Constant(Value::Bool(otherwise))])
}

fn strip_parentheses(ast: &Ast) -> &Ast {
    match ast {
        Ast::Nested(inner) => strip_parentheses(inner),
        other => other,
    }
}

/// Without parentheses and casts, which a dump puts around arrays.
fn strip(ast: &Ast) -> &Ast {
    match ast {
        Ast::Nested(inner) => strip(inner),
        Ast::Cast { expr, .. } if matches!(strip(expr), Ast::Array(_)) => strip(expr),
        other => other,
    }
}

fn is_literal(ast: &Ast) -> bool {
    match ast {
        Ast::Value(_) => true,
        Ast::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => is_literal(expr),
        Ast::Nested(inner) => is_literal(inner),
        _ => false,
    }
}

fn is_arithmetic(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Plus
            | BinaryOperator::Minus
            | BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::Modulo
    )
}

fn is_text(ty: DataType) -> bool {
    matches!(ty, DataType::Text | DataType::Varchar(_) | DataType::Char(_))
}

fn is_number(ty: DataType) -> bool {
    matches!(
        ty,
        DataType::Int2
            | DataType::Int4
            | DataType::Int8
            | DataType::Float4
            | DataType::Float8
            | DataType::Numeric(_)
    )
}

/// Number types to which a cast of a number changes no comparison.
fn is_exact(ty: DataType) -> bool {
    matches!(ty, DataType::Int8 | DataType::Numeric(None) | DataType::Float8)
}
