//! Which functions of the database do texts call that are kept?
//!
//! Such a text names them with their schemas, so that another search path changes nothing of what it means.

use onlap_pg::ast::Tree;
use onlap_pg::grammar::{self, Tokens};

use super::extensions::{self, Created};
use super::functions::Function;
use super::names::quote;
use crate::source::strings;
use crate::view::View;

/// What stands before an expression to make a statement of it.
const EXPR: &str = "SELECT ";

fn whole(text: &str, is_expr: bool) -> String {
    if is_expr { format!("{EXPR}{text}") } else { text.to_string() }
}

/// A text that is kept, with the schemas of functions in it.
pub fn qualified(view: &View, text: &str, is_expr: bool) -> String {
    let created: Vec<Created> = extensions::all(view).collect();
    if view.objects.functions().is_empty() && created.is_empty() {
        return text.to_string();
    }
    let mut made = whole(text, is_expr);
    let Ok(tree) = grammar::parse(&made) else { return text.to_string() };
    let mut places: Vec<(usize, usize, String)> = Vec::new();
    {
        let tokens = Tokens::of(&made);
        for (call, place) in tree.calls() {
            let [name] = &call.name[..] else { continue };
            if crate::query::catalog().system_procs(name).next().is_some() {
                continue;
            }
            let own = view.objects.functions().of_database(&view.database);
            let schema = view.path().find(|schema| {
                let of_extension = |created: &Created| {
                    let mut procs = created.extension.procs();
                    created.schema == **schema && procs.any(|proc| *proc.name == **name)
                };
                own.clone().any(|of| of.name.schema == **schema && *of.name.name == **name)
                    || created.iter().any(of_extension)
            });
            let at = tokens.all.partition_point(|token| token.start < place);
            if let (Some(schema), Some(token)) = (schema, tokens.all.get(at)) {
                let named = format!("{}.{}", quote(schema), quote(name));
                places.push((token.start as usize, token.end as usize, named));
            }
        }
    }
    places.sort_by_key(|place| std::cmp::Reverse(place.0));
    for (from, to, named) in places {
        made.replace_range(from..to, &named);
    }
    if is_expr { made[EXPR.len()..].to_string() } else { made }
}

/// Whether a text that is kept calls a function.
pub fn calls(text: &str, is_expr: bool, of: &Function) -> bool {
    grammar::parse(&whole(text, is_expr)).is_ok_and(|tree| has_call(&tree, of))
}

fn has_call(tree: &Tree, of: &Function) -> bool {
    let given = of.arguments().len();
    let defaults = of.parameters.iter().filter(|of| of.default.is_some()).count();
    let is_variadic = of.parameters.iter().any(|of| of.mode == b'v');
    tree.calls().any(|(call, _)| {
        let parts = strings(&call.name);
        let named = match &parts[..] {
            [name] => *name == of.name.name,
            [schema, name] => *schema == of.name.schema && *name == of.name.name,
            _ => false,
        };
        let count = call.args.len();
        named && (is_variadic || (given.saturating_sub(defaults)..=given).contains(&count))
    })
}
