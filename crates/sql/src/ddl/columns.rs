//! What does a column's declaration ask for?
//!
//! Type, default and constraints, as parts of a table's description. Names are given by the table, which
//! knows all of them.

use datafusion::sql::sqlparser::ast::{
    ColumnDef, ColumnOption, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, GeneratedAs,
    UnaryOperator,
};
use onlap::{DataType, Value};

use super::sequence;
use super::types::column_type;
use crate::assign::assign;
use crate::catalog::names::fold;
use crate::error::{Result, SqlError, state};
use crate::parse::{identifiers, literal_text};
use crate::session::values::value_of_literal;
use crate::types::Cell;
use crate::view::View;

/// What an insert that leaves a column out gets.
#[derive(Clone, Debug, Default)]
pub enum Default {
    /// NULL.
    #[default]
    None,
    /// This value.
    Constant(Value),
    /// The next value of a sequence that is there, by the engine's name.
    Sequence(String),
    /// What an expression gives.
    Computed(String),
}

/// A sequence that comes with a column.
#[derive(Clone, Debug)]
pub struct OwnSequence {
    /// Its options.
    pub options: sequence::Options,
    /// Of an identity column; whether a value of the caller's is refused.
    pub identity: Option<bool>,
}

/// A column's declaration.
#[derive(Debug)]
pub struct Declared<'a> {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: DataType,
    /// Refuses NULL.
    pub not_null: bool,
    /// Its default.
    pub default: Default,
    /// Its sequence.
    pub sequence: Option<OwnSequence>,
    /// Constraints beside: name and option.
    pub constraints: Vec<(Option<String>, &'a ColumnOption)>,
}

/// Reads a declaration.
///
/// # Errors
/// A type or option that Onlap does not have.
pub fn declared<'a>(view: &View, column: &'a ColumnDef) -> Result<Declared<'a>> {
    let (ty, serial) = column_type(&column.data_type)?;
    let mut out = Declared {
        name: fold(&column.name),
        ty,
        not_null: serial,
        default: Default::None,
        sequence: None,
        constraints: Vec::new(),
    };
    if serial {
        let options = sequence::Options::of_type(ty);
        out.sequence = Some(OwnSequence { options, identity: None });
    }
    for option in &column.options {
        let name = option.name.as_ref().map(fold);
        match &option.option {
            ColumnOption::Null => {}
            ColumnOption::NotNull => out.not_null = true,
            ColumnOption::Default(expr) => out.default = default_of(view, expr, ty)?,
            ColumnOption::Generated { generated_as, sequence_options, generation_expr, .. } => {
                if generation_expr.is_some() {
                    return Err(SqlError::unsupported("a generated column"));
                }
                let mut options =
                    sequence::Options::of_ast(sequence_options.as_deref().unwrap_or_default())?;
                options.ty.get_or_insert(ty);
                let identity = Some(*generated_as == GeneratedAs::Always);
                if !matches!(ty, DataType::Int2 | DataType::Int4 | DataType::Int8) {
                    let text = "identity column type must be smallint, integer, or bigint";
                    return Err(SqlError::new(state::BAD_PARAMETER, text));
                }
                out.sequence = Some(OwnSequence { options, identity });
                out.not_null = true;
            }
            ColumnOption::Collation(name) => collation(&name.to_string())?,
            constraint @ (ColumnOption::PrimaryKey(_)
            | ColumnOption::Unique(_)
            | ColumnOption::Check(_)
            | ColumnOption::ForeignKey(_)) => out.constraints.push((name, constraint)),
            other => return Err(SqlError::unsupported(format!("{other} of a column"))),
        }
    }
    Ok(out)
}

/// Text is ordered by its bytes.
fn collation(name: &str) -> Result<()> {
    let last = name.rsplit('.').next().unwrap_or(name).trim_matches('"');
    match last {
        "C" | "POSIX" | "default" | "ucs_basic" => Ok(()),
        _ => {
            Err(SqlError::unsupported(format!("collation {name}"))
                .hint("Text is ordered as by \"C\"."))
        }
    }
}

/// What a DEFAULT says.
///
/// # Errors
/// A value that is none of the type; a sequence that is not there.
pub fn default_of(view: &View, expr: &Expr, ty: DataType) -> Result<Default> {
    if let Some(name) = next_value(expr) {
        let parts: Vec<String> = identifiers(&name);
        let (_, sequence) = sequence::find(view, &parts)?;
        return Ok(Default::Sequence(sequence.name().to_string()));
    }
    Ok(match constant(expr, ty)? {
        Some(Value::Null) => Default::None,
        Some(value) => Default::Constant(value),
        None => Default::Computed(expr.to_string()),
    })
}

/// The name in `nextval('name')`, `nextval('name'::regclass)`.
fn next_value(expr: &Expr) -> Option<String> {
    let Expr::Function(call) = expr else { return None };
    let name = call.name.to_string().to_lowercase();
    if name != "nextval" && name != "pg_catalog.nextval" {
        return None;
    }
    let FunctionArguments::List(list) = &call.args else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = &list.args[..] else {
        return None;
    };
    literal(argument)
}

fn literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(v) => literal_text(&v.value),
        Expr::Cast { expr, .. } | Expr::Nested(expr) => literal(expr),
        _ => None,
    }
}

/// A default that is a constant.
fn constant(expr: &Expr, ty: DataType) -> Result<Option<Value>> {
    match expr {
        Expr::Value(v) => match value_of_literal(&v.value)? {
            Some(value) => assign(Cell::of_value(&value), ty).map(Some),
            None => Ok(None),
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match &**expr {
            Expr::Value(v) => match literal_text(&v.value) {
                Some(text) => assign(Cell::Text(&format!("-{text}")), ty).map(Some),
                None => Ok(None),
            },
            _ => Ok(None),
        },
        // A cast to the column's type, or to another kind of text, says nothing new.
        Expr::Cast { expr, data_type, .. } => {
            let text = |ty| matches!(ty, DataType::Text | DataType::Varchar(_) | DataType::Char(_));
            match column_type(data_type) {
                Ok((to, _)) if to == ty || text(to) && text(ty) => constant(expr, ty),
                _ => Ok(None),
            }
        }
        Expr::Nested(expr) => constant(expr, ty),
        _ => Ok(None),
    }
}
