//! What do the catalogs say of functions, and how do they read as SQL?

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use onlap_pg::catalog::{Proc, Row, Table, oids as types, rows};

use super::definitions::Definition;
use super::model::Model;
use super::rows::{Datum, Rows};
use super::{extensions, grants, row_types};
use crate::catalog::aggregates::Aggregate;
use crate::catalog::functions::{Function, Parameter};
use crate::catalog::names::quote;
use crate::catalog::{called, extensions as created, oids};
use crate::row;
use crate::settings;
use crate::view::View;

/// OID of pg_proc.
pub const PG_PROC: u32 = 1255;
/// OIDs of languages.
const INTERNAL: u32 = 12;
const SQL: u32 = 14;
const PLPGSQL: u32 = 13_563;

pub const COLUMNS: &str = "oid proname pronamespace prokind provolatile proretset pronargs prorettype \
    proargtypes proowner prolang procost prorows provariadic prosupport prosecdef proleakproof \
    proisstrict proparallel pronargdefaults proallargtypes proargmodes proargnames proargdefaults \
    prosrc proconfig proacl";
/// Functions of the system that not all may call: access control lists by OID.
static GRANTED: LazyLock<BTreeMap<u32, Vec<&'static str>>> = LazyLock::new(|| {
    let of = |row: Row| Some((row.number(0), list(row.text(23))?));
    rows(Table::Proc).filter_map(of).collect()
});

/// The access control lists of functions of the system, as they came with the database: those that not all may call have one.
pub fn initial() -> impl Iterator<Item = (u32, &'static [&'static str])> {
    GRANTED.iter().map(|(oid, items)| (*oid, &**items))
}

/// The names of the roles that may call a function of the system; `None` where all may.
pub fn granted(oid: u32) -> Option<impl Iterator<Item = &'static str>> {
    let items = GRANTED.get(&oid)?.iter();
    Some(items.filter_map(|item| item.split_once('=')).map(|(role, _)| role))
}

/// A type as format_type shows it.
fn shown_type(view: &View, model: &Model, oid: u32) -> String {
    if let Some(shown) = view.objects.made_types().shown_to(view, oid) {
        return shown;
    }
    for relation in &model.relations {
        match oid.checked_sub(row_types::of(relation)) {
            Some(0) => return model.display(relation),
            Some(1) if oid > 1 => return format!("{}[]", model.display(relation)),
            _ => {}
        }
    }
    crate::query::catalog().shown(oid)
}

/// The rows of pg_proc.
pub fn procs(view: &View, model: &Model, definition: &Definition) -> Rows {
    let mut rows = Rows::of(COLUMNS);
    extensions::of_system(definition, &mut rows);
    for function in view.objects.functions().of_database(&view.database) {
        rows.push(proc(view, model, function));
    }
    extensions::add(view, model, definition, &mut rows);
    rows
}

fn proc(view: &View, model: &Model, of: &Function) -> Vec<Datum> {
    let arguments: Vec<i64> = of.arguments().into_iter().map(i64::from).collect();
    let is_plain = of.parameters.iter().all(|parameter| parameter.mode == b'i');
    let all =
        |f: fn(&Parameter) -> String| -> Vec<String> { of.parameters.iter().map(f).collect() };
    let named = of.parameters.iter().any(|parameter| !parameter.name.is_empty());
    let defaults = of.parameters.iter().filter_map(|parameter| parameter.default.as_deref());
    let defaults: Vec<String> = defaults.map(called::shown).collect();
    let variadic = of.parameters.iter().find(|parameter| parameter.mode == b'v');
    let variadic = variadic.map_or(0, |parameter| match parameter.ty {
        types::ANYARRAY => types::ANYELEMENT,
        ty => {
            let made = view.objects.made_types().catalog().element(ty);
            made.or_else(|| oids::element_of_rows(ty)).unwrap_or(types::ANY)
        }
    });
    let every: Option<Vec<i64>> =
        (!is_plain).then(|| of.parameters.iter().map(|p| i64::from(p.ty)).collect());
    let modes = (!is_plain).then(|| all(|p| char::from(p.mode).to_string()));
    let names = named.then(|| all(|p| p.name.clone()));
    let config: Option<Vec<String>> = (!of.settings.is_empty())
        .then(|| of.settings.iter().map(|(name, value)| format!("{name}={value}")).collect());
    row![
        of.oid,
        &of.name.name,
        model.schema_oid(&of.name.schema),
        match of.aggregate {
            Some(_) => "a",
            None if of.procedure => "p",
            None => "f",
        },
        of.volatility.to_string(),
        of.set,
        arguments.len(),
        of.result,
        arguments,
        view.judge.rights().owner(of.rights()),
        match of.language.as_str() {
            "sql" => SQL,
            "internal" => INTERNAL,
            _ => PLPGSQL,
        },
        of.cost,
        of.rows,
        variadic,
        0,
        of.definer,
        of.leakproof,
        of.strict,
        of.parallel.to_string(),
        defaults.len(),
        every,
        modes,
        names,
        (!defaults.is_empty()).then(|| defaults.join(", ")),
        &of.source,
        config,
        grants::shown(view, of.class(), of.rights()),
    ]
}

/// Adds the aggregates of the database to the rows of pg_aggregate.
pub fn aggregates(view: &View, rows: &mut Rows) {
    for of in view.objects.functions().of_database(&view.database) {
        let Some(Aggregate { made, modify, space }) = &of.aggregate else { continue };
        rows.push(row![
            of.oid,
            "n",
            0,
            made.transition,
            made.finish,
            made.combine,
            0,
            0,
            0,
            0,
            0,
            made.finish_extra,
            false,
            modify.to_string(),
            "r",
            0,
            made.state,
            *space,
            0,
            0,
            made.initial.as_deref(),
            Datum::Null,
        ]);
    }
}

/// One parameter as statements write it.
fn parameter(
    view: &View,
    model: &Model,
    (of, parameter): (&Function, &Parameter),
    defaults: bool,
) -> String {
    let mode = match parameter.mode {
        b'o' => "OUT ",
        b'b' => "INOUT ",
        b'v' => "VARIADIC ",
        _ if of.procedure => "IN ",
        _ => "",
    };
    let name = match parameter.name.as_str() {
        "" => String::new(),
        name => format!("{} ", quote(name)),
    };
    let ty = shown_type(view, model, parameter.ty);
    let default = match &parameter.default {
        Some(text) if defaults => format!(" DEFAULT {}", called::shown(text)),
        _ => String::new(),
    };
    format!("{mode}{name}{ty}{default}")
}

/// pg_get_function_arguments.
pub fn arguments(view: &View, model: &Model, of: &Function, defaults: bool) -> String {
    let own = of.parameters.iter().filter(|parameter| parameter.mode != b't');
    let all: Vec<String> = own.map(|p| parameter(view, model, (of, p), defaults)).collect();
    all.join(", ")
}

/// pg_get_function_result.
pub fn result(view: &View, model: &Model, of: &Function) -> Option<String> {
    if of.procedure {
        return None;
    }
    let columns: Vec<String> = of
        .parameters
        .iter()
        .filter(|parameter| parameter.mode == b't')
        .map(|column| format!("{} {}", quote(&column.name), shown_type(view, model, column.ty)))
        .collect();
    if !columns.is_empty() {
        return Some(format!("TABLE({})", columns.join(", ")));
    }
    let set = if of.set { "SETOF " } else { "" };
    Some(format!("{set}{}", shown_type(view, model, of.result)))
}

/// The same of a function that the system or an extension has.
pub fn ready_arguments(view: &View, model: &Model, of: &Proc, defaults: bool) -> String {
    let types: Vec<u32> = match list(of.all_types) {
        Some(all) => all.iter().filter_map(|oid| oid.parse().ok()).collect(),
        None => of.arguments.to_vec(),
    };
    let (modes, names) = (list(of.modes), list(of.names));
    let mut given = 0;
    let one = |(at, oid): (usize, &u32)| {
        let mode = match modes.as_ref().and_then(|all| all.get(at)).copied() {
            Some("t") => return None,
            Some("o") => "OUT ",
            Some("b") => "INOUT ",
            Some("v") => "VARIADIC ",
            _ => "",
        };
        let name = names.as_ref().and_then(|all| all.get(at)).filter(|name| !name.is_empty());
        let name = name.map_or(String::new(), |name| format!("{} ", quote(name)));
        let known = usize::from(mode != "OUT ");
        given += known;
        let default = given.checked_sub(1 + of.arguments.len() - of.defaults);
        let default = default.filter(|_| defaults && known > 0);
        let default = default.and_then(|at| of.default_texts.split(", ").nth(at));
        let default = default.map_or(String::new(), |text| format!(" DEFAULT {text}"));
        Some(format!("{mode}{name}{}{default}", shown_type(view, model, *oid)))
    };
    let all: Vec<String> = types.iter().enumerate().filter_map(one).collect();
    match crate::query::catalog().aggregate(of.oid).filter(|aggregate| aggregate.kind != b'n') {
        Some(sorted) if sorted.direct == 0 => format!("ORDER BY {}", all.join(", ")),
        Some(sorted) => {
            // A hypothetical row has what rows are sorted by, too.
            let sorted_by =
                if all.len() > sorted.direct { &all[sorted.direct..] } else { &all[..] };
            format!("{} ORDER BY {}", all[..sorted.direct].join(", "), sorted_by.join(", "))
        }
        None => all.join(", "),
    }
}

/// pg_get_function_result of one that the system or an extension has.
pub fn ready_result(view: &View, model: &Model, of: &Proc) -> String {
    let set = if of.retset { "SETOF " } else { "" };
    format!("{set}{}", shown_type(view, model, of.result))
}

/// The elements of an array's text without quotes; `None` for NULL.
fn list(text: &str) -> Option<Vec<&str>> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    Some(inner.split(',').map(|part| part.trim_matches('"')).collect())
}

/// pg_get_functiondef.
pub fn definition(view: &View, model: &Model, of: &Function) -> String {
    let word = of.word();
    let mut text = format!(
        "CREATE OR REPLACE {} {}.{}({})\n",
        word.to_uppercase(),
        quote(&of.name.schema),
        quote(&of.name.name),
        arguments(view, model, of, true)
    );
    if let Some(result) = result(view, model, of) {
        text += &format!(" RETURNS {result}\n");
    }
    text += &format!(" LANGUAGE {}\n", of.language);
    let mut more = String::new();
    match of.volatility {
        'i' => more += " IMMUTABLE",
        's' => more += " STABLE",
        _ => {}
    }
    match of.parallel {
        's' => more += " PARALLEL SAFE",
        'r' => more += " PARALLEL RESTRICTED",
        _ => {}
    }
    for (is, words) in
        [(of.strict, " STRICT"), (of.definer, " SECURITY DEFINER"), (of.leakproof, " LEAKPROOF")]
    {
        if is {
            more += words;
        }
    }
    if of.cost != 100.0 {
        more += &format!(" COST {}", of.cost);
    }
    if of.set && of.rows != 1000.0 {
        more += &format!(" ROWS {}", of.rows);
    }
    if !more.is_empty() {
        text += &format!("{more}\n");
    }
    for (name, value) in &of.settings {
        let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let is_list = settings::has_names(name);
        let value = match is_list {
            true => {
                let parts = settings::names(value).unwrap_or_default();
                parts.iter().map(|part| literal(part)).collect::<Vec<_>>().join(", ")
            }
            false => literal(value),
        };
        text += &format!(" SET {} TO {value}\n", quote(name));
    }
    let mut tag = word.to_string();
    while of.source.contains(&format!("${tag}$")) {
        tag.push('x');
    }
    text += &format!("AS ${tag}${}${tag}$\n", of.source);
    text
}

/// A function by its OID.
pub fn by_oid(view: &View, oid: u32) -> Option<&Arc<Function>> {
    view.objects.functions().by_oid(oid)
}

/// information_schema.routines, of those that the role may call or that are its own.
pub fn routines(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "specific_catalog specific_schema specific_name routine_catalog routine_schema \
         routine_name routine_type type_udt_catalog type_udt_schema type_udt_name data_type \
         dtd_identifier routine_body routine_definition external_language parameter_style \
         is_deterministic sql_data_access is_null_call schema_level_routine max_dynamic_result_sets \
         security_type is_user_defined_cast as_locator is_udt_dependent",
    );
    for of in seen(view) {
        let result = result_of(view, of);
        let owns = view.judge.owns(of.rights());
        rows.push(row![
            &view.database,
            &of.name.schema,
            specific(of),
            &view.database,
            &of.name.schema,
            &of.name.name,
            match of.aggregate {
                Some(_) => None,
                None if of.procedure => Some("PROCEDURE"),
                None => Some("FUNCTION"),
            },
            result.as_ref().map(|_| view.database.as_str()),
            result.as_ref().map(|(schema, _)| schema.as_str()),
            result.as_ref().map(|(_, name)| name.as_str()),
            (!of.procedure).then(|| standard_type(view, model, of.result)),
            "0",
            if of.language == "sql" { "SQL" } else { "EXTERNAL" },
            owns.then_some(of.source.as_str()),
            of.language.to_uppercase(),
            "GENERAL",
            if of.volatility == 'i' { "YES" } else { "NO" },
            "MODIFIES",
            (!of.procedure).then_some(if of.strict { "YES" } else { "NO" }),
            "YES",
            0,
            if of.definer { "DEFINER" } else { "INVOKER" },
            "NO",
            "NO",
            "NO",
        ]);
    }
    rows
}

fn seen(view: &View) -> impl Iterator<Item = &Arc<Function>> {
    let may = |function: &&Arc<Function>| {
        let (class, key) = (function.class(), function.rights());
        let all = crate::rights::Privileges::EXECUTE;
        view.judge.owns(key) || !view.judge.on(class, key, all).is_empty()
    };
    view.objects.functions().of_database(&view.database).filter(may)
}

fn specific(of: &Function) -> String {
    format!("{}_{}", of.name.name, of.oid)
}

fn standard_type(view: &View, model: &Model, oid: u32) -> String {
    let catalog = view.objects.made_types().catalog();
    if catalog.element(oid).is_some() {
        return "ARRAY".into();
    }
    let is_own = oid < crate::catalog::oids::FIRST_OWN;
    if is_own { shown_type(view, model, oid) } else { "USER-DEFINED".into() }
}

/// The schema and the name of a function's result.
fn result_of(view: &View, of: &Function) -> Option<(String, String)> {
    (!of.procedure).then(|| type_name(view, of.result))
}

fn type_name(view: &View, oid: u32) -> (String, String) {
    let types = view.objects.made_types();
    if let Some(made) = types.get(oid) {
        return (made.name.schema.clone(), made.name.name.clone());
    }
    let name = crate::query::catalog().get_type(oid).map(|ty| ty.name.to_string());
    let schema = created::of_type(view, oid).map(|created| created.schema);
    (schema.unwrap_or_else(|| "pg_catalog".into()), name.unwrap_or_default())
}

/// information_schema.parameters.
pub fn parameters(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "specific_catalog specific_schema specific_name ordinal_position parameter_mode is_result \
         as_locator parameter_name data_type udt_catalog udt_schema udt_name dtd_identifier \
         parameter_default",
    );
    for of in seen(view) {
        let owns = view.judge.owns(of.rights());
        for (at, parameter) in of.parameters.iter().enumerate() {
            let (schema, name) = type_name(view, parameter.ty);
            let mode = match parameter.mode {
                b'o' | b't' => "OUT",
                b'b' => "INOUT",
                _ => "IN",
            };
            rows.push(row![
                &view.database,
                &of.name.schema,
                specific(of),
                at + 1,
                mode,
                "NO",
                "NO",
                (!parameter.name.is_empty()).then_some(parameter.name.as_str()),
                standard_type(view, model, parameter.ty),
                &view.database,
                schema,
                name,
                (at + 1).to_string(),
                parameter.default.as_deref().filter(|_| owns).map(called::shown),
            ]);
        }
    }
    rows
}
