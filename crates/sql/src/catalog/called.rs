//! Which functions of the database do texts call that are kept?
//!
//! Such a text names them with their schemas, so that another search path changes nothing of what it means.

use onlap_pg::ast::Tree;
use onlap_pg::catalog::Proc;
use onlap_pg::grammar::{self, Kind as Token, Tokens};

use super::extensions::{self, Created};
use super::functions::Function;
use super::names::quote;
use crate::source::strings;
use crate::view::{PG_CATALOG, View};

/// What stands before an expression to make a statement of it.
const EXPR: &str = "SELECT ";

fn whole(text: &str, is_expr: bool) -> String {
    if is_expr { format!("{EXPR}{text}") } else { text.to_string() }
}

/// A text that is kept, with the schemas of functions in it: those of the system, too, since functions of their names may come
/// to stand before them.
pub fn qualified(view: &View, text: &str, is_expr: bool) -> String {
    let mut made = whole(text, is_expr);
    let Ok(tree) = grammar::parse(&made) else { return text.to_string() };
    let (path, created) = (view.whole_path(), extensions::all(view).collect::<Vec<_>>());
    let mut places: Vec<(usize, usize, String)> = Vec::new();
    {
        let tokens = Tokens::of(&made);
        for (call, place) in tree.calls() {
            let [name] = &call.name[..] else { continue };
            let at = tokens.all.partition_point(|token| token.start < place);
            let Some(token) = tokens.all.get(at) else { continue };
            let (from, to) = (token.start as usize, token.end as usize);
            // Forms that the grammar makes a call of have no name there.
            if crate::parse::identifiers(&made[from..to]) != [name.to_string()] {
                continue;
            }
            if let Some(schema) = schema_of(view, &path, &created, (name, call.args.len())) {
                places.push((from, to, format!("{}.{}", quote(schema), quote(name))));
            }
        }
    }
    places.sort_by_key(|place| std::cmp::Reverse(place.0));
    for (from, to, named) in places {
        made.replace_range(from..to, &named);
    }
    if grammar::parse(&made).is_err() {
        return text.to_string();
    }
    if is_expr { made[EXPR.len()..].to_string() } else { made }
}

/// A kept text as it is shown: the system's functions without their schema.
pub fn shown(text: &str) -> String {
    let tokens = Tokens::of(text);
    let is = |at: usize, kind: Token| tokens.all.get(at).is_some_and(|token| token.kind == kind);
    let (mut made, mut from) = (String::new(), 0);
    for at in 0..tokens.all.len() {
        let is_call = is(at + 1, Token::Char('.')) && is(at + 3, Token::Char('('));
        if is(at, Token::Name) && is_call && tokens.value(tokens.all[at]) == PG_CATALOG {
            made.push_str(&text[from..tokens.all[at].start as usize]);
            from = tokens.all[at + 2].start as usize;
        }
    }
    made + &text[from..]
}

/// The schema of the search path in which a function is that the statement calls by a name, with this number of arguments; `None`
/// where that is not known.
fn schema_of<'a>(
    view: &View,
    path: &'a [String],
    created: &[Created],
    (name, count): (&str, usize),
) -> Option<&'a String> {
    let takes = |proc: &Proc| {
        let wanted = proc.arguments.len();
        proc.variadic != 0 && wanted <= count
            || (wanted - proc.defaults.min(wanted)..=wanted).contains(&count)
    };
    let own = view.objects.functions();
    let has = |schema: &str, fits: &dyn Fn(&Proc) -> bool| {
        let mut of_system = crate::query::catalog().system_procs(name);
        let mut of_extensions = created
            .iter()
            .filter(|created| created.schema == schema)
            .flat_map(|created| created.extension.procs())
            .filter(|proc| *proc.name == *name);
        let mut of_database = own
            .of_database(&view.database)
            .filter(|of| of.name.schema == schema && of.name.name == name);
        schema == PG_CATALOG && of_system.any(fits)
            || of_extensions.any(fits)
            || of_database.any(|of| fits(&of.proc()))
    };
    // As in PostgreSQL, functions of temporary schemas are not found by their names alone.
    let is_seen = |schema: &&String| !view.is_own_temporary(schema) && view.may_look_in(schema);
    let seen = || path.iter().filter(is_seen);
    let fitting: Vec<&String> = seen().filter(|schema| has(schema, &takes)).collect();
    match &fitting[..] {
        // The grammar knows what it is, as UNNEST of several arrays.
        [] if crate::query::catalog().system_procs(name).next().is_some() => None,
        [] => seen().find(|schema| has(schema, &|_: &Proc| true)),
        [one] => Some(one),
        // Types of arguments tell: what the statement has found.
        several => {
            let found = view.noted.of(name);
            let schema_of = |oid: &u32| schema_of_proc(view, created, *oid);
            let first = found.first().map(schema_of)?;
            let is_first = |schema: &&&String| ***schema == first;
            let same = found.iter().all(|oid| schema_of(oid) == first);
            several.iter().find(is_first).copied().filter(|_| same)
        }
    }
}

/// The schema of a function.
fn schema_of_proc(view: &View, created: &[Created], oid: u32) -> String {
    let of_extension = created.iter().find(|created| created.extension.has(oid));
    match (view.objects.functions().by_oid(oid), of_extension) {
        (Some(of), _) => of.name.schema.clone(),
        (None, Some(created)) => created.schema.clone(),
        (None, None) => PG_CATALOG.into(),
    }
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
