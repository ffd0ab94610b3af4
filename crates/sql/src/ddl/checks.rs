//! Which condition of the engine does a CHECK say?
//!
//! The engine judges rows by conditions of its own, which know no functions but a few and no queries; what
//! they cannot say is refused.

use onlap::expr::{Comparison, Function, Operation};
use onlap::{DataType, Expr, Value};
use onlap_pg::ast::{Call, Expr as Ast, ExprId, Is, Like, Literal, OpName, Said};

use super::columns::value_of;
use super::types::column_type;
use crate::columns::ColumnType;
use crate::error::{Result, SqlError, state};
use crate::source::Source;
use crate::types::{PgType, text_value};
use crate::view::View;

/// Types of the table's columns by name.
pub type Columns<'a> = &'a dyn Fn(&str) -> Option<ColumnType>;

/// A condition as the engine has it.
///
/// # Errors
/// An unknown column; what the engine's conditions cannot say.
pub fn condition(
    view: &View,
    source: Source<'_>,
    said: &Said,
    columns: Columns<'_>,
) -> Result<Expr<String>> {
    Translation { view, source, text: source.of(said.span), columns }.expr(said.expr, None)
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
    view: &'a View,
    source: Source<'a>,
    /// The whole condition, for errors.
    text: &'a str,
    columns: Columns<'a>,
}

impl Translation<'_> {
    fn refused(&self) -> SqlError {
        SqlError::unsupported(format!("{} in a CHECK constraint", self.text)).hint(
            "Checks compare columns and constants, with arithmetic, AND, OR, NOT, IN, BETWEEN, LIKE, \
             length, lower, upper, trim, abs and coalesce.",
        )
    }

    fn ast(&self, id: ExprId) -> &Ast {
        self.source.tree.expr(id)
    }

    /// `wanted`: the type of what a literal is compared with.
    fn expr(&self, id: ExprId, wanted: Option<DataType>) -> Result<Expr<String>> {
        let whole = |id: ExprId| self.expr(id, None);
        match self.ast(id) {
            Ast::Column(path) => self.column(path.last().map_or("", |name| name), id),
            Ast::Literal(literal) => self.literal(literal, wanted),
            Ast::Cast(inner, to) => {
                let ty = column_type(self.view, self.source, to)?.0;
                if !ty.compares_natively() {
                    return Err(self.refused());
                }
                self.cast(*inner, ty.engine)
            }
            Ast::Op(op, left, right) => self.operator(op, *left, *right, wanted),
            Ast::Not(e) => Ok(not(whole(*e)?)),
            Ast::And(all) => Ok(Expr::And(self.flat(all, true)?)),
            Ast::Or(all) => Ok(Expr::Or(self.flat(all, false)?)),
            Ast::Is(e, is, negated) => {
                let e = match (self.ast(*e), is) {
                    // Whether it is there, the engine knows of every column.
                    (Ast::Column(path), Is::Null) => {
                        self.named(path.last().map_or("", |name| name), *e)?
                    }
                    _ => whole(*e)?,
                };
                Ok(match is {
                    Is::Null => negate(Expr::IsNull(Box::new(e)), *negated),
                    Is::True => negate(coalesce(e, false), *negated),
                    Is::False => negate(coalesce(e, true), !*negated),
                    // Of a truth, as of any value.
                    Is::Unknown => negate(Expr::IsNull(Box::new(e)), *negated),
                })
            }
            Ast::Distinct(a, b, negated) => {
                Ok(negate(self.compare(Comparison::Distinct, *a, *b)?, *negated))
            }
            Ast::Between { not, symmetric: false, value, low, high } => {
                let ty = self.type_of(*value);
                let (e, low, high) = (whole(*value)?, self.expr(*low, ty)?, self.expr(*high, ty)?);
                Ok(negate(Expr::Between(Box::new(e), Box::new(low), Box::new(high)), *not))
            }
            Ast::In(e, list, negated) => self.list(*e, list, *negated),
            Ast::OpArray(op, left, right, all) => {
                let elements = match self.ast(self.array(*right)) {
                    Ast::Array(elements) => elements,
                    _ => return Err(self.refused()),
                };
                match (&*op.name, all) {
                    ("=", false) => self.list(*left, elements, false),
                    ("<>", true) => self.list(*left, elements, true),
                    _ => Err(self.refused()),
                }
            }
            Ast::Like(Like::Like, negated, value, pattern, None) => {
                self.like(*value, *pattern, *negated)
            }
            Ast::Coalesce(all) => self.call(Function::Coalesce, all),
            Ast::Call(call) => self.function(call),
            _ => Err(self.refused()),
        }
    }

    fn column(&self, name: &str, id: ExprId) -> Result<Expr<String>> {
        match (self.columns)(name) {
            Some(ty) if !ty.compares_natively() => Err(self.refused()),
            _ => self.named(name, id),
        }
    }

    fn named(&self, name: &str, id: ExprId) -> Result<Expr<String>> {
        if (self.columns)(name).is_some() {
            return Ok(Expr::Column(name.to_string()));
        }
        let error = SqlError::new(state::NO_COLUMN, format!("column \"{name}\" does not exist"));
        Err(match self.source.tree.place(id) {
            Some(place) => self.source.at(error, place),
            None => error,
        })
    }

    fn literal(&self, literal: &Literal, wanted: Option<DataType>) -> Result<Expr<String>> {
        let value = value_of(literal)?.ok_or_else(|| self.refused())?;
        Ok(Expr::Constant(match (value, wanted) {
            // A value that a shorter type would cut is compared as it is.
            (Value::Text(text), None | Some(DataType::Varchar(_) | DataType::Char(_))) => {
                Value::Text(text)
            }
            (Value::Text(text), Some(ty)) => text_value(PgType::of_engine(ty), &text)?,
            (Value::Int(n), Some(DataType::Float4 | DataType::Float8)) => Value::Float(n as f64),
            (value @ Value::Numeric(_), Some(DataType::Float4 | DataType::Float8)) => match literal
            {
                Literal::Number(text) => text.parse().map_or(value, Value::Float),
                _ => value,
            },
            (value, _) => value,
        }))
    }

    /// A cast says the type of a literal; of a column it may only say what the column is already.
    fn cast(&self, inner: ExprId, ty: DataType) -> Result<Expr<String>> {
        if let Ast::Literal(literal) = self.ast(inner) {
            let text = match literal {
                Literal::Int(n) => Some(n.to_string()),
                Literal::Number(text) | Literal::Text(text) => Some(text.to_string()),
                Literal::Bool(flag) => Some(flag.to_string()),
                _ => None,
            };
            return match text.filter(|_| !is_text(ty)) {
                Some(text) => Ok(Expr::Constant(text_value(PgType::of_engine(ty), &text)?)),
                None => self.literal(literal, Some(ty)),
            };
        }
        let from = self.type_of(inner);
        let same = from.is_some_and(|from| {
            from == ty || is_text(from) && is_text(ty) || is_number(from) && is_exact(ty)
        });
        if same { self.expr(inner, None) } else { Err(self.refused()) }
    }

    fn operator(
        &self,
        op: &OpName,
        left: Option<ExprId>,
        right: ExprId,
        wanted: Option<DataType>,
    ) -> Result<Expr<String>> {
        if op.schema.iter().any(|schema| &**schema != "pg_catalog") {
            return Err(self.refused());
        }
        let Some(left) = left else {
            return match &*op.name {
                "+" => self.expr(right, wanted),
                "-" => Ok(Expr::Negate(Box::new(self.expr(right, wanted)?))),
                _ => Err(self.refused()),
            };
        };
        let compare = |how| self.compare(how, left, right);
        let compute = |how| {
            let (ta, tb) = (self.type_of(left), self.type_of(right));
            let (a, b) = (self.expr(left, tb)?, self.expr(right, ta)?);
            Ok(Expr::Arithmetic(how, Box::new(a), Box::new(b)))
        };
        match &*op.name {
            "=" => compare(Comparison::Equal),
            "<>" | "!=" => compare(Comparison::NotEqual),
            "<" => compare(Comparison::Less),
            "<=" => compare(Comparison::LessOrEqual),
            ">" => compare(Comparison::Greater),
            ">=" => compare(Comparison::GreaterOrEqual),
            "+" => compute(Operation::Add),
            "-" => compute(Operation::Subtract),
            "*" => compute(Operation::Multiply),
            "/" => compute(Operation::Divide),
            "%" => compute(Operation::Remainder),
            "~~" => self.like(left, right, false),
            "!~~" => self.like(left, right, true),
            _ => Err(self.refused()),
        }
    }

    /// The parts of a chain of ANDs (true) or ORs.
    fn flat(&self, all: &[ExprId], and: bool) -> Result<Vec<Expr<String>>> {
        let mut parts = Vec::with_capacity(all.len());
        for id in all {
            match (self.ast(*id), and) {
                (Ast::And(inner), true) | (Ast::Or(inner), false) => {
                    parts.extend(self.flat(inner, and)?);
                }
                _ => parts.push(self.expr(*id, None)?),
            }
        }
        Ok(parts)
    }

    fn compare(&self, how: Comparison, a: ExprId, b: ExprId) -> Result<Expr<String>> {
        let (ta, tb) = (self.type_of(a), self.type_of(b));
        Ok(Expr::Compare(how, Box::new(self.expr(a, tb)?), Box::new(self.expr(b, ta)?)))
    }

    fn list(&self, e: ExprId, items: &[ExprId], negated: bool) -> Result<Expr<String>> {
        let ty = self.type_of(e);
        let items = items.iter().map(|item| self.expr(*item, ty)).collect::<Result<_>>()?;
        Ok(negate(Expr::In(Box::new(self.expr(e, None)?), items), negated))
    }

    fn like(&self, e: ExprId, pattern: ExprId, negated: bool) -> Result<Expr<String>> {
        match self.expr(pattern, Some(DataType::Text))? {
            Expr::Constant(Value::Text(pattern)) => {
                Ok(negate(Expr::Like(Box::new(self.expr(e, None)?), pattern), negated))
            }
            _ => Err(self.refused()),
        }
    }

    /// A call of a function that the engine has, too.
    fn function(&self, call: &Call) -> Result<Expr<String>> {
        let name = match &call.name[..] {
            [name] => &**name,
            [schema, name] if &**schema == "pg_catalog" => &**name,
            _ => return Err(self.refused()),
        };
        let function = match name {
            "length" | "char_length" | "character_length" => Function::Length,
            "octet_length" => Function::OctetLength,
            "lower" => Function::Lower,
            "upper" => Function::Upper,
            "btrim" | "trim" => Function::Trim,
            "abs" => Function::Abs,
            _ => return Err(self.refused()),
        };
        let plain = !(call.distinct || call.star || call.variadic)
            && call.args.iter().all(|arg| arg.name.is_none())
            && call.order.is_empty()
            && call.filter.is_none()
            && call.over.is_none();
        match &call.args[..] {
            [arg] if plain => self.call(function, &[arg.value]),
            _ => Err(self.refused()),
        }
    }

    fn call(&self, function: Function, args: &[ExprId]) -> Result<Expr<String>> {
        let wanted = args.iter().find_map(|id| self.type_of(*id));
        let args = args.iter().map(|id| self.expr(*id, wanted)).collect::<Result<_>>()?;
        Ok(Expr::Call(function, args))
    }

    /// An array without the casts that a dump puts around it.
    fn array(&self, id: ExprId) -> ExprId {
        match self.ast(id) {
            Ast::Cast(inner, _) => self.array(*inner),
            _ => id,
        }
    }

    /// The type of an expression, as far as a literal beside it needs it.
    fn type_of(&self, id: ExprId) -> Option<DataType> {
        match self.ast(id) {
            Ast::Column(path) => (self.columns)(path.last()?).map(|ty| ty.engine),
            Ast::Cast(_, to) => {
                column_type(self.view, self.source, to).ok().map(|(ty, _)| ty.engine)
            }
            Ast::Op(op, left, right) if matches!(&*op.name, "+" | "-" | "*" | "/" | "%") => {
                left.and_then(|left| self.type_of(left)).or_else(|| self.type_of(*right))
            }
            _ => None,
        }
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
