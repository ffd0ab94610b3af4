//! What is a column called that has no name?
//!
//! As PostgreSQL's FigureColname: the function, the column under a cast, `case`, else `?column?`. The
//! planner refuses two columns of one name, so a later one gets a number behind a sign that no name has;
//! [`shown`] takes it off.

use std::collections::HashMap;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, ArrayElemTypeDef, DataType, Expr, Ident, Select, SelectItem, SetExpr,
    TrimWhereField,
};

use super::function_name;
use crate::catalog::names::fold;
use crate::plan::pg_type;
use crate::types::names;

/// Stands between a name and its number.
const MARK: char = '\u{1}';

/// A column's name as clients see it.
pub fn shown(name: &str) -> &str {
    name.split(MARK).next().unwrap_or(name)
}

/// Names the columns of a query that have no name.
pub fn name_columns(select: &mut Select) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for item in &mut select.projection {
        let (expr, name) = match item {
            SelectItem::UnnamedExpr(expr) => {
                let name = name_of(expr).unwrap_or_else(|| "?column?".to_string());
                (expr.clone(), name)
            }
            SelectItem::ExprWithAlias { expr, alias } => (expr.clone(), fold(alias)),
            _ => continue,
        };
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        let unnamed = matches!(item, SelectItem::UnnamedExpr(_));
        let plain = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
        let alias = match *count {
            // The planner finds a plain column's name by itself, and keeps its table with it.
            1 if !unnamed || plain => continue,
            1 => name,
            _ if matches!(expr, Expr::CompoundIdentifier(_)) && unnamed => continue,
            n => format!("{name}{MARK}{n}"),
        };
        *item = SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', alias) };
    }
}

fn name_of(expr: &Expr) -> Option<String> {
    let word = |w: &str| Some(w.to_string());
    match expr {
        Expr::Identifier(ident) => Some(fold(ident)),
        Expr::CompoundIdentifier(idents) => idents.last().map(fold),
        Expr::CompoundFieldAccess { root, access_chain } => match access_chain.last() {
            Some(AccessExpr::Dot(Expr::Identifier(field))) => Some(fold(field)),
            _ => name_of(root),
        },
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => name_of(inner),
        Expr::Cast { expr, data_type, .. } => name_of(expr).or_else(|| type_name(data_type)),
        Expr::TypedString(typed) => type_name(&typed.data_type),
        Expr::Interval(_) => word("interval"),
        Expr::Function(function) => match function_name(&function.name).as_deref() {
            // What stands for it where it is given rows.
            Some("onlap_rows_agg") => word("json_agg"),
            name => name.map(str::to_string),
        },
        Expr::Case { else_result, .. } => {
            else_result.as_ref().and_then(|e| name_of(e)).or_else(|| word("case"))
        }
        Expr::Exists { .. } => word("exists"),
        Expr::Array(_) => word("array"),
        Expr::Tuple(_) => word("row"),
        Expr::Extract { .. } => word("extract"),
        Expr::Ceil { .. } => word("ceil"),
        Expr::Floor { .. } => word("floor"),
        Expr::Position { .. } => word("position"),
        Expr::Substring { .. } => word("substring"),
        Expr::Overlay { .. } => word("overlay"),
        Expr::AtTimeZone { .. } => word("timezone"),
        Expr::Trim { trim_where, .. } => match trim_where {
            Some(TrimWhereField::Leading) => word("ltrim"),
            Some(TrimWhereField::Trailing) => word("rtrim"),
            _ => word("btrim"),
        },
        Expr::Subquery(query) => match &*query.body {
            SetExpr::Select(select) => match select.projection.first()? {
                SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
                SelectItem::UnnamedExpr(expr) => name_of(expr),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// The name by which PostgreSQL knows a type.
fn type_name(ty: &DataType) -> Option<String> {
    if let DataType::Array(
        ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::Parenthesis(element),
    ) = ty
    {
        return type_name(element);
    }
    let by_text = || names::by_name(&ty.to_string());
    let oid = pg_type(ty).map(|ty| ty.oid).or_else(by_text);
    let known = oid.and_then(|oid| names::all().iter().find(|t| t.0 == oid));
    let name = match (known, ty) {
        (Some(known), _) => known.2.to_string(),
        (None, DataType::Varchar(_) | DataType::CharacterVarying(_)) => "varchar".into(),
        (None, DataType::Char(_) | DataType::Character(_)) => "bpchar".into(),
        (None, DataType::Numeric(_) | DataType::Decimal(_)) => "numeric".into(),
        (None, DataType::Timestamp(_, zone)) => match zone.to_string().contains("WITH TIME") {
            true => "timestamptz".into(),
            false if zone.to_string() == "TZ" => "timestamptz".into(),
            false => "timestamp".into(),
        },
        (None, DataType::DoublePrecision | DataType::Double(_)) => "float8".into(),
        (None, DataType::Int(_) | DataType::Integer(_)) => "int4".into(),
        (None, other) => other.to_string().to_lowercase(),
    };
    Some(name)
}
