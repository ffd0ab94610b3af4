//! How do functions that give rows become queries?
//!
//! In a projection as `unnest` of a list; in FROM as a query over it, `WITH ORDINALITY` as a second
//! list.

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Select, SelectItem, TableAlias, TableAliasColumnDef, TableFactor,
};

use super::{expr as parsed, function_name, query};

/// Functions that give rows of several columns, with these: the one of `information_schema` that numbers the
/// elements of an array, and the one that takes an access control list apart.
const OF_COLUMNS: &[(&str, &[&str])] = &[
    ("_pg_expandarray", &["x", "n"]),
    ("aclexplode", &["grantor", "grantee", "privilege_type", "is_grantable"]),
];

/// The columns of what a function gives, where they are several.
pub fn fields_of(name: &str) -> Option<&'static [&'static str]> {
    OF_COLUMNS.iter().find(|known| known.0 == name).map(|known| known.1)
}

/// A call as a list, for functions that give rows.
fn list_of(name: &str, arguments: &[String]) -> Option<String> {
    Some(match (name, arguments) {
        ("unnest", [list]) => list.clone(),
        ("generate_series", _) => format!("generate_series({})", arguments.join(", ")),
        ("generate_subscripts", [list, dimension, ..]) => {
            format!("generate_series(1, CAST(array_length({list}, {dimension}) AS BIGINT))")
        }
        ("pg_partition_ancestors", [table]) => format!("pg_partition_ancestors({table})"),
        (name, [list]) if fields_of(name).is_some() => format!("{name}({list})"),
        (
            "json_array_elements"
            | "jsonb_array_elements"
            | "json_array_elements_text"
            | "jsonb_array_elements_text"
            | "json_object_keys"
            | "jsonb_object_keys",
            [json],
        ) => format!("{name}({json})"),
        // One row for the first match, none without a match.
        ("regexp_matches", [text, pattern]) => format!(
            "CASE WHEN regexp_match({text}, {pattern}) IS NULL THEN NULL \
             ELSE make_array(regexp_match({text}, {pattern})) END"
        ),
        ("string_to_table", _) => format!("string_to_array({})", arguments.join(", ")),
        _ => return None,
    })
}

/// The rows of a function's list; the elements of a list do not tell JSON from other text.
fn unnested(name: &str, list: &str) -> String {
    match name {
        "json_array_elements" => format!("onlap_json(unnest({list}))"),
        "jsonb_array_elements" => format!("onlap_jsonb(unnest({list}))"),
        _ => format!("unnest({list})"),
    }
}

/// Lets functions that give rows do so in a projection.
pub fn in_projection(select: &mut Select) {
    for item in &mut select.projection {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else {
            continue;
        };
        let Expr::Function(function) = &*expr else { continue };
        let Some(name) = function_name(&function.name).filter(|n| n != "unnest") else { continue };
        let arguments = arguments_of(&function.args.to_string());
        if let Some(list) = list_of(&name, &arguments)
            && let Some(new) = parsed(&unnested(&name, &list))
        {
            *expr = new;
        }
    }
}

/// The arguments of a call, each as text.
fn arguments_of(text: &str) -> Vec<String> {
    match parsed(&format!("f{text}")) {
        Some(Expr::Function(function)) => match function.args {
            datafusion::sql::sqlparser::ast::FunctionArguments::List(list) => {
                list.args.iter().map(ToString::to_string).collect()
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Lets functions give rows in FROM.
pub fn in_from(factor: &mut TableFactor) {
    let (name, arguments, alias, ordinality) = match factor {
        TableFactor::Table { name, alias, args: Some(args), with_ordinality, .. } => {
            let Some(name) = function_name(name) else { return };
            let arguments: Vec<String> = args.args.iter().map(ToString::to_string).collect();
            (name, arguments, alias.clone(), *with_ordinality)
        }
        TableFactor::UNNEST { alias, array_exprs, with_ordinality, .. }
            if array_exprs.len() == 1 =>
        {
            let arguments = array_exprs.iter().map(ToString::to_string).collect();
            ("unnest".to_string(), arguments, alias.clone(), *with_ordinality)
        }
        TableFactor::Function { name, args, alias, with_ordinality, .. } => {
            let Some(name) = function_name(name) else { return };
            let arguments: Vec<String> = args.iter().map(ToString::to_string).collect();
            (name, arguments, alias.clone(), *with_ordinality)
        }
        _ => return,
    };
    let table = alias.as_ref().map_or_else(|| Ident::new(&name), |a| a.name.clone());
    let mut columns: Vec<Ident> =
        alias.iter().flat_map(|a| a.columns.iter().map(|c| c.name.clone())).collect();
    let fields = fields_of(&name);
    let is_elements = name.ends_with("_array_elements") || name.ends_with("_array_elements_text");
    // A function of one column gives it the name of the table.
    if let Some(fields) = fields {
        columns.extend(fields.iter().skip(columns.len()).map(|field| Ident::new(*field)));
    } else if columns.is_empty() {
        // The elements of JSON are an output parameter, which has a name.
        columns.push(if is_elements { Ident::new("value") } else { table.clone() });
    }
    if ordinality && fields.is_none() && columns.len() < 2 {
        columns.push(Ident::new("ordinality"));
    }
    let text = match (list_of(&name, &arguments), fields) {
        (Some(list), Some(fields)) => {
            let of_row = |field: &&str| format!("get_field(r, '{field}')");
            let columns: Vec<String> = fields.iter().map(of_row).collect();
            format!("SELECT {} FROM (SELECT unnest({list}) AS r)", columns.join(", "))
        }
        (Some(list), None) if ordinality => format!(
            "SELECT {} AS item, \
             unnest(generate_series(1, CAST(array_length({list}, 1) AS BIGINT))) AS ordinality",
            unnested(&name, &list)
        ),
        (Some(list), None) => format!("SELECT {} AS item", unnested(&name, &list)),
        (None, _) => format!("SELECT {name}({}) AS item", arguments.join(", ")),
    };
    let Some(subquery) = query(&text) else { return };
    let columns =
        columns.into_iter().map(|name| TableAliasColumnDef { name, data_type: None }).collect();
    let alias = TableAlias { explicit: true, name: table, columns, at: None };
    let lateral = arguments.iter().any(|a| parsed(a).is_some_and(|e| refers(&e)));
    *factor = TableFactor::Derived { lateral, subquery, alias: Some(alias), sample: None };
}

/// Whether an expression names a column.
fn refers(expr: &Expr) -> bool {
    use std::ops::ControlFlow;
    let found = datafusion::sql::sqlparser::ast::visit_expressions(expr, |e| match e {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}
