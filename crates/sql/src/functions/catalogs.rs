//! Which functions say something of the catalogs?
//!
//! Each is made for a statement and looks at what the statement sees; the list of relations is made at
//! the first call.

use std::sync::{Arc, OnceLock};

use onlap_pg::bind::is_system_column;
use onlap_pg::print::Look;

use super::Function;
use super::counted::Counted;
use crate::catalog::names::quote;
use crate::catalog::storage::Storage;
use crate::catalog::{Kind, extensions, oids};
use crate::error::{Result, SqlError, state};
use crate::formulas::Shown;
use crate::parse::identifiers;
use crate::query::secured;
use crate::query::through::written_columns;
use crate::query::{Names, Printed, Reader, sql_error};
use crate::system::classes::{is_constraint, owned_sequences};
use crate::system::model::{Model, Relation, What};
use crate::system::rows::Datum;
use crate::system::{functions as routines, triggers};
use crate::system::{partitions, row_types, rules, text, views};
use crate::types::{PgType, names, oid};
use crate::view::View;

/// What a statement sees, and the list of relations once it was asked for.
pub struct Seen {
    /// The statement's view.
    pub view: View,
    model: OnceLock<Model>,
    /// What was counted of relations and databases.
    pub counted: Counted,
}

impl Seen {
    /// Nothing asked yet.
    pub fn new(view: &View) -> Arc<Seen> {
        let (view, model) = (view.clone(), OnceLock::new());
        Arc::new(Seen { view, model, counted: Counted::default() })
    }

    /// All relations.
    pub fn model(&self) -> Result<&Model> {
        if self.model.get().is_none() {
            let model = Model::of(&self.view)?;
            let _ = self.model.set(model);
        }
        Ok(self.model.get().expect("was just set"))
    }

    /// A relation by OID or name.
    pub fn relation(&self, given: &Datum) -> Result<Option<&Relation>> {
        let model = self.model()?;
        if let Some(oid) = given.int() {
            return Ok(u32::try_from(oid).ok().and_then(|oid| model.relation(oid)));
        }
        Ok(model.find(&identifiers(&given.text())))
    }
}

fn arg(arguments: &[Datum], at: usize) -> Datum {
    arguments.get(at).cloned().unwrap_or_default()
}

fn oid_of(arguments: &[Datum], at: usize) -> u32 {
    arguments.get(at).and_then(Datum::int).and_then(|v| u32::try_from(v).ok()).unwrap_or(0)
}

/// A function of catalogs by name; `None` where there is none.
pub fn find(seen: &Arc<Seen>, name: &str) -> Option<Function> {
    if let Some(function) = super::privileges::find(seen, name) {
        return Some(function);
    }
    let function = described(seen, name)
        .or_else(|| of_routines(seen, name))
        .or_else(|| named(seen, name))
        .or_else(|| measured(seen, name))
        .or_else(|| changed(seen, name))
        .or_else(|| permitted(name))
        .or_else(|| absent(name))?;
    Some(function)
}

/// Functions that print definitions.
fn described(seen: &Arc<Seen>, name: &str) -> Option<Function> {
    let seen = Arc::clone(seen);
    let made = match name {
        "format_type" => Function::new(move |a| {
            let ty = oid_of(a, 0);
            let modifier = arg(a, 1).int().unwrap_or(-1) as i32;
            Ok(match arg(a, 0) {
                Datum::Null => Datum::Null,
                _ if ty == 0 => "-".into(),
                _ => match seen.view.objects.made_types().shown_to(&seen.view, ty) {
                    Some(shown) => shown.into(),
                    // What is asked for without a modifier is the standard's name.
                    None if arg(a, 1) == Datum::Null => crate::query::catalog().shown(ty).into(),
                    None => names::format_type(PgType { oid: ty, modifier }).into(),
                },
            })
        }),
        "oidvectortypes" => Function::new(move |a| {
            let types = match arg(a, 0) {
                Datum::Ints(oids) => oids,
                Datum::Null => return Ok(Datum::Null),
                other => other.text().split_whitespace().filter_map(|n| n.parse().ok()).collect(),
            };
            let shown = types.into_iter().map(|ty| {
                let ty = u32::try_from(ty).unwrap_or_default();
                let shown = seen.view.objects.made_types().shown_to(&seen.view, ty);
                shown.unwrap_or_else(|| crate::query::catalog().shown(ty))
            });
            Ok(shown.collect::<Vec<String>>().join(", ").into())
        }),
        "pg_get_expr" => Function::new(move |a| expression(&seen, a)),
        "pg_get_indexdef" => Function::new(move |a| index(&seen, a)),
        "pg_get_constraintdef" => Function::new(move |a| constraint(&seen, a)),
        "pg_get_partkeydef" => Function::new(move |a| {
            let model = seen.model()?;
            let relation = seen.relation(&arg(a, 0))?;
            Ok(relation.and_then(|of| partitions::key(&seen.view, model, of)).into())
        }),
        "pg_get_partition_constraintdef" => Function::new(move |a| {
            let condition = partitions::condition(&seen.view, seen.model()?, oid_of(a, 0));
            Ok(condition.into())
        }),
        "pg_partition_root" => Function::new(move |a| {
            let above = partitions::line(&seen.view, seen.model()?, oid_of(a, 0));
            Ok(above.last().copied().into())
        }),
        "row_security_active" => Function::new(move |a| row_security(&seen, a)),
        "pg_get_viewdef" => Function::new(move |a| view_text(&seen, a)),
        "pg_get_ruledef" => Function::new(move |a| {
            let pretty = arg(a, 1) == Datum::Bool(true);
            Ok(rules::definition_of(&seen.view, seen.model()?, oid_of(a, 0), pretty)?.into())
        }),
        "pg_get_serial_sequence" => Function::new(move |a| serial(&seen, a)),
        "obj_description" | "shobj_description" => {
            Function::new(move |a| Ok(comment(&seen, oid_of(a, 0), 0)))
        }
        "col_description" => {
            Function::new(move |a| Ok(comment(&seen, oid_of(a, 0), arg(a, 1).int().unwrap_or(0))))
        }
        _ => return None,
    };
    Some(made)
}

/// A function by its OID that the system has, or an extension that is there.
fn ready(seen: &Seen, oid: u32) -> Option<&'static onlap_pg::catalog::Proc> {
    if let Some((_, proc)) = extensions::of_proc(&seen.view, oid) {
        return Some(proc);
    }
    let all = crate::query::catalog().procs();
    all.binary_search_by_key(&oid, |proc| proc.oid).ok().map(|at| &all[at])
}

/// Functions that print what functions and triggers are.
fn of_routines(seen: &Arc<Seen>, name: &str) -> Option<Function> {
    let seen = Arc::clone(seen);
    let made = match name {
        "pg_get_triggerdef" => Function::new(move |a| {
            let pretty = arg(a, 1) == Datum::Bool(true);
            Ok(triggers::definition_of(&seen.view, seen.model()?, oid_of(a, 0), pretty).into())
        }),
        "pg_get_functiondef" => Function::new(move |a| {
            let of = routines::by_oid(&seen.view, oid_of(a, 0));
            if let Some(of) = of.filter(|of| of.aggregate.is_some()) {
                let text = format!("\"{}\" is an aggregate function", of.name.name);
                return Err(SqlError::new("42809", text));
            }
            let model = seen.model()?;
            Ok(of.map(|of| routines::definition(&seen.view, model, of)).into())
        }),
        "pg_get_function_arguments" | "pg_get_function_identity_arguments" => {
            let defaults = name == "pg_get_function_arguments";
            Function::new(move |a| {
                let of = routines::by_oid(&seen.view, oid_of(a, 0));
                let model = seen.model()?;
                if let Some(proc) = ready(&seen, oid_of(a, 0)) {
                    return Ok(routines::ready_arguments(&seen.view, model, proc, defaults).into());
                }
                Ok(of.map(|of| routines::arguments(&seen.view, model, of, defaults)).into())
            })
        }
        "pg_get_function_result" => Function::new(move |a| {
            let of = routines::by_oid(&seen.view, oid_of(a, 0));
            let model = seen.model()?;
            if let Some(proc) = ready(&seen, oid_of(a, 0)) {
                return Ok(routines::ready_result(&seen.view, model, proc).into());
            }
            Ok(of.and_then(|of| routines::result(&seen.view, model, of)).into())
        }),
        "pg_function_is_visible" => Function::new(move |a| {
            let of = routines::by_oid(&seen.view, oid_of(a, 0));
            Ok(of.is_none_or(|of| of.is_seen(&seen.view)).into())
        }),
        _ => return None,
    };
    Some(made)
}

/// Whether policies of a table count for the role.
fn row_security(seen: &Seen, arguments: &[Datum]) -> Result<Datum> {
    let name = arg(arguments, 0);
    let found = seen.relation(&name)?;
    match (found, &name) {
        (None, Datum::Text(name)) => {
            let text = format!("relation \"{name}\" does not exist");
            Err(SqlError::new(state::NO_TABLE, text))
        }
        (found, _) => {
            let view = &seen.view;
            let is = |of: &Relation| secured::is_active(&view.objects, &view.judge, of.oid);
            Ok(found.is_some_and(is).into())
        }
    }
}

/// A view's query: pretty where that is asked for, or with lines of a length.
fn view_text(seen: &Seen, arguments: &[Datum]) -> Result<Datum> {
    let name = arg(arguments, 0);
    let found = seen.relation(&name)?;
    if let (None, Datum::Text(name)) = (&found, &name) {
        let text = format!("relation \"{name}\" does not exist");
        return Err(SqlError::new(state::NO_TABLE, text));
    }
    let look = match arg(arguments, 1) {
        Datum::Bool(true) => Look::PRETTY,
        Datum::Int(wrap) => Look { wrap: usize::try_from(wrap).ok(), ..Look::PRETTY },
        _ => Look::PLAIN,
    };
    let printed = Printed::new(&seen.view, seen.model()?);
    Ok(found.map(|relation| printed.view(relation, look)).transpose()?.flatten().into())
}

/// An expression of a catalog, which has the plain form, for reading.
fn expression(seen: &Seen, arguments: &[Datum]) -> Result<Datum> {
    let (given, of) = (arg(arguments, 0), seen.relation(&arg(arguments, 1))?);
    let table = of.and_then(Relation::table);
    Ok(match (given, table, arg(arguments, 2)) {
        (Datum::Text(sql), Some(table), Datum::Bool(true)) => {
            let printed = Printed::new(&seen.view, seen.model()?);
            let is_its = |column: &&_| printed.default(table, column).as_ref() == Some(&sql);
            let is_own = |column: &&onlap::ColumnSchema| table.generated(column.id).is_none();
            let column = table.columns.iter().find(is_its).filter(is_own);
            printed.expression(table, column, &sql, Look::PRETTY).into()
        }
        (given, ..) => given,
    })
}

fn comment(seen: &Seen, oid: u32, column: i64) -> Datum {
    let object = seen.view.objects.get(Kind::Comment, &format!("{oid}:{column}"));
    let text = object.and_then(|o| o.body["text"].as_str());
    let own = || {
        let is_language = oid == crate::catalog::extensions::PLPGSQL && column == 0;
        crate::system::extensions::own_comment(&seen.view).filter(|_| is_language)
    };
    text.or_else(own).into()
}

fn index(seen: &Seen, arguments: &[Datum]) -> Result<Datum> {
    let relation = seen.relation(&arg(arguments, 0))?;
    let Some((table, index)) = relation.and_then(Relation::index) else { return Ok(Datum::Null) };
    let pretty = arg(arguments, 2) == Datum::Bool(true);
    let look = if pretty { Look::PRETTY } else { Look::PLAIN };
    let (catalog, reader) = (crate::formulas::catalog_of(&seen.view), Reader::new(&seen.view));
    let shown = Shown { catalog: &catalog, reader: Some(&reader) };
    match arg(arguments, 1).int() {
        Some(column) if column > 0 => {
            let storage = Storage::of(&seen.view.objects, oids::of_index(index.id));
            let look = (look, &storage);
            // As in PostgreSQL, what is not there is nothing, and not NULL.
            let shown = text::index_column(table, index, column as usize - 1, look, shown);
            Ok(shown.unwrap_or_default().into())
        }
        _ => {
            let model = seen.model()?;
            let named = model.relation(oids::of_table(table.id)).filter(|r| model.is_visible(r));
            let on = match named.filter(|_| pretty) {
                Some(relation) => crate::catalog::names::quote(&relation.name.name),
                None => views::qualified(model, table.id),
            };
            let storage = Storage::of(&seen.view.objects, oids::of_index(index.id));
            Ok(text::index(table, index, &on, (look, &storage), shown).into())
        }
    }
}

fn constraint(seen: &Seen, arguments: &[Datum]) -> Result<Datum> {
    let pretty = arg(arguments, 1) == Datum::Bool(true);
    let (wanted, model) = (oid_of(arguments, 0), seen.model()?);
    if let Some(found) = crate::system::domain_check_of(&seen.view, wanted) {
        let printed = Printed::new(&seen.view, model);
        return Ok(crate::system::domain_check(&printed, found, pretty).into());
    }
    for table in model.relations.iter().filter_map(Relation::table) {
        for index in table.indexes.iter().filter(|i| is_constraint(&seen.view, i)) {
            if oids::of_index_constraint(index.id) == wanted {
                if index.excludes().is_none() {
                    return Ok(text::key(table, index).into());
                }
                let look = if pretty { Look::PRETTY } else { Look::PLAIN };
                let (catalog, reader) =
                    (crate::formulas::catalog_of(&seen.view), Reader::new(&seen.view));
                let shown = Shown { catalog: &catalog, reader: Some(&reader) };
                let storage = Storage::of(&seen.view.objects, oids::of_index(index.id));
                return Ok(text::exclusion(table, index, (look, &storage), shown).into());
            }
        }
        for key in &table.foreign_keys {
            if oids::of_part(table.id, "foreign key", &key.name) == wanted {
                return Ok(text::foreign_key(model, table, key).into());
            }
        }
        for check in &table.checks {
            if oids::of_part(table.id, "check", &check.name) == wanted {
                let look = if pretty { Look::PRETTY } else { Look::PLAIN };
                let printed = Printed::new(&seen.view, model);
                let condition = printed.condition(table, &check.expr, look);
                let own = if check.own { " NO INHERIT" } else { "" };
                let unproven = if check.unproven { " NOT VALID" } else { "" };
                return Ok(format!("CHECK ({condition}){own}{unproven}").into());
            }
        }
    }
    let mut all = crate::catalog::triggers::all(&seen.view.objects);
    let trigger = all.find(|of| of.constraint.is_some() && triggers::constraint_oid(of) == wanted);
    Ok(match trigger.and_then(|of| of.constraint) {
        None => Datum::Null,
        Some(constraint) => {
            let deferrable = if constraint.deferrable { " DEFERRABLE" } else { "" };
            let deferred = if constraint.deferred { " INITIALLY DEFERRED" } else { "" };
            format!("TRIGGER{deferrable}{deferred}").into()
        }
    })
}

fn serial(seen: &Seen, arguments: &[Datum]) -> Result<Datum> {
    let Some(relation) = seen.relation(&arg(arguments, 0))? else {
        return Err(crate::view::no_table(&identifiers(&arg(arguments, 0).text())));
    };
    let column = arg(arguments, 1).text();
    let number = match relation.table() {
        None => 0,
        Some(table) => match table.columns.iter().find(|c| c.name == column) {
            Some(found) => i64::from(found.id.0) + 1,
            None if is_system_column(&column) => 0,
            None => {
                let of = &relation.name.name;
                let text = format!("column \"{column}\" of relation \"{of}\" does not exist");
                return Err(SqlError::new(state::NO_COLUMN, text));
            }
        },
    };
    let model = seen.model()?;
    let owned = owned_sequences(&seen.view, model);
    let found = owned.iter().find(|o| o.1 == relation.oid && o.2 == number);
    let name = |r: &Relation| format!("{}.{}", quote(&r.name.schema), quote(&r.name.name));
    Ok(found.and_then(|o| model.relation(o.0)).map(name).into())
}

/// The type of an object's name: regclass and its like.
pub fn name_type(name: &str) -> Option<u32> {
    Some(match name {
        "regclass" => oid::REGCLASS,
        "regtype" => oid::REGTYPE,
        "regproc" => oid::REGPROC,
        "regprocedure" => oid::REGPROCEDURE,
        "regnamespace" => oid::REGNAMESPACE,
        "regrole" => oid::REGROLE,
        _ => return None,
    })
}

/// Functions between names and OIDs.
fn named(seen: &Arc<Seen>, name: &str) -> Option<Function> {
    let seen = Arc::clone(seen);
    if let Some(kind) = name_type(name) {
        let lookup = move |a: &[Datum]| match find_oid(&seen, kind, &arg(a, 0))? {
            Some(oid) => Ok(oid.into()),
            None => Err(no_object(kind, &arg(a, 0).text())),
        };
        return Some(Function::new(lookup));
    }
    if let Some(kind) = name.strip_prefix("to_").and_then(name_type) {
        let lookup = move |a: &[Datum]| Ok(found_oid(&seen, kind, &arg(a, 0))?.into());
        return Some(Function::new(lookup));
    }
    Some(match name {
        "pg_get_userbyid" => {
            Function::new(move |a| Ok(seen.view.judge.rights().name_of(oid_of(a, 0)).into()))
        }
        "pg_table_is_visible" => Function::new(move |a| {
            let model = seen.model()?;
            Ok(model.relation(oid_of(a, 0)).map(|r| model.is_visible(r)).into())
        }),
        _ => return None,
    })
}

/// The OID that a text means as one of the types that stand for names.
///
/// # Errors
/// There is no such thing.
pub fn oid_named(seen: &Seen, kind: u32, text: &str) -> Result<u32> {
    find_oid(seen, kind, &Datum::from(text))?.ok_or_else(|| no_object(kind, text))
}

/// The name of an OID.
///
/// # Errors
/// The transaction has ended.
pub fn print(seen: &Seen, kind: u32, wanted: u32) -> Result<String> {
    let model = seen.model()?;
    let known = match kind {
        _ if wanted == 0 => Some("-".to_string()),
        oid::REGCLASS => model.relation(wanted).map(|r| model.display(r)),
        oid::REGTYPE => Some(names::format_type(PgType::new(wanted))).filter(|n| n != "???"),
        oid::REGPROC | oid::REGPROCEDURE => {
            crate::query::catalog().proc(wanted).map(|proc| proc.name.to_string())
        }
        oid::REGNAMESPACE => model.schemas.iter().find(|s| s.0 == wanted).map(|s| quote(&s.1)),
        oid::REGROLE => model.roles.iter().find(|r| r.0 == wanted).map(|r| quote(&r.1)),
        _ => None,
    };
    Ok(known.unwrap_or_else(|| wanted.to_string()))
}

/// The OID that a text names, for those who do not mind if there is none.
fn found_oid(seen: &Seen, kind: u32, text: &Datum) -> Result<Option<u32>> {
    let found = match kind {
        oid::REGPROC => crate::query::function(seen, &text.text()),
        oid::REGPROCEDURE => crate::query::procedure(seen, &text.text()),
        _ => return find_oid(seen, kind, text),
    };
    match found {
        Ok(oid) => Ok(Some(oid)),
        // There is none, or more than one.
        Err(e) if matches!(e.state, "42883" | "42725") => Ok(None),
        Err(e) => Err(sql_error(&e, "")),
    }
}

fn find_oid(seen: &Seen, kind: u32, given: &Datum) -> Result<Option<u32>> {
    if let Some(oid) = given.int() {
        return Ok(u32::try_from(oid).ok());
    }
    let text = given.text();
    if text == "-" {
        return Ok(Some(0));
    }
    let model = seen.model()?;
    let parts = identifiers(&text);
    let last = parts.last().cloned().unwrap_or_default();
    if let (oid::REGCLASS, [.., schema, _]) = (kind, &parts[..]) {
        seen.view.must_look_in(schema)?;
    }
    Ok(match kind {
        oid::REGCLASS => model.find(&parts).map(|r| r.oid),
        oid::REGTYPE => type_named(seen, &text)?,
        oid::REGPROC | oid::REGPROCEDURE => {
            crate::query::catalog().procs_named(&last).next().map(|proc| proc.oid)
        }
        oid::REGNAMESPACE => model.schemas.iter().find(|s| s.1 == last).map(|s| s.0),
        _ => model.roles.iter().find(|r| r.1 == last).map(|r| r.0),
    })
}

/// The type that a text names: as a definition does, or by the relation whose rows are of it.
fn type_named(seen: &Seen, text: &str) -> Result<Option<u32>> {
    if let Ok(oid) = text.trim().parse() {
        return Ok(Some(oid));
    }
    if text.trim().is_empty() {
        return Err(SqlError::new(state::SYNTAX, format!("invalid type name \"{text}\"")));
    }
    let read = onlap_pg::grammar::type_name(text);
    let (tree, name) = read.map_err(|e| sql_error(&e, "").nowhere())?;
    let names = Names::new(&seen.view);
    match onlap_pg::bind::type_named(&tree, &name, &names, names.catalog()) {
        Ok(ty) => Ok(Some(ty.oid)),
        Err(e) if e.state == "42704" => Ok(row_type(seen, text)),
        Err(e) => Err(sql_error(&e, "").nowhere()),
    }
}

/// The rows of a relation have a type of its name.
fn row_type(seen: &Seen, text: &str) -> Option<u32> {
    let (name, is_array) = match text.trim_end().strip_suffix("[]") {
        Some(name) => (name, true),
        None => (text, false),
    };
    let row = row_types::of(seen.model().ok()?.find(&identifiers(name))?);
    (row != 0).then_some(row + u32::from(is_array))
}

fn no_object(kind: u32, name: &str) -> SqlError {
    match kind {
        oid::REGCLASS => crate::view::no_table(&identifiers(name)),
        oid::REGTYPE => {
            let name = identifiers(name).join(".");
            SqlError::new(state::NO_OBJECT, format!("type \"{name}\" does not exist"))
        }
        oid::REGNAMESPACE => crate::view::no_schema(name),
        oid::REGROLE => SqlError::new(state::NO_OBJECT, format!("role \"{name}\" does not exist")),
        _ => SqlError::new(state::NO_FUNCTION, format!("function \"{name}\" does not exist")),
    }
}

/// Functions that say which rows can be changed.
fn changed(seen: &Arc<Seen>, name: &str) -> Option<Function> {
    /// DELETE, and INSERT, UPDATE and DELETE, as bits of PostgreSQL's numbers for them.
    const DELETE: i64 = 1 << 4;
    const ALL: i64 = 1 << 3 | 1 << 2 | DELETE;
    let own = Arc::clone(seen);
    let columns = move |a: &[Datum]| -> Result<Option<Written>> {
        let Some(relation) = own.model()?.relation(oid_of(a, 0)) else { return Ok(None) };
        Ok(match relation.what {
            What::Table(_) if !relation.materialized => Some(None),
            What::View => written_columns(&own.view, &relation.name).map(Some),
            _ => None,
        })
    };
    let of = Arc::clone(seen);
    // What triggers stand in the place of, where they are asked for by the last argument.
    let by_triggers = move |a: &[Datum], asked: usize| -> i64 {
        if arg(a, asked) != Datum::Bool(true) {
            return 0;
        }
        let all = crate::catalog::triggers::of_relation(&of.view.objects, oid_of(a, 0));
        let bit = |is: bool, bit: i64| if is { 1 << bit } else { 0 };
        let instead = all.iter().filter(|trigger| trigger.time == 'I');
        let bits = instead.map(|of| bit(of.insert, 3) | bit(of.update, 2) | bit(of.delete, 4));
        bits.fold(0, |all, bits| all | bits)
    };
    Some(match name {
        "pg_relation_is_updatable" => {
            let all = |columns: Written| match columns {
                Some(columns) if !columns.contains(&true) => DELETE,
                _ => ALL,
            };
            Function::new(move |a| Ok((columns(a)?.map_or(0, all) | by_triggers(a, 1)).into()))
        }
        "pg_column_is_updatable" => Function::new(move |a| {
            const CHANGES: i64 = 1 << 2 | DELETE;
            if by_triggers(a, 2) & CHANGES == CHANGES {
                return Ok(true.into());
            }
            let number = arg(a, 1).int().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
            let is_written = |columns: Written| match columns {
                None => true,
                Some(columns) => columns.get(number.wrapping_sub(1)).is_some_and(|is| *is),
            };
            Ok((number > 0 && columns(a)?.is_some_and(is_written)).into())
        }),
        _ => return None,
    })
}

/// Which columns can be written to: all where there is no list.
type Written = Option<Vec<bool>>;

/// Functions that say how large things are.
fn measured(seen: &Arc<Seen>, name: &str) -> Option<Function> {
    let seen = Arc::clone(seen);
    let (rows, entries) = match name {
        "pg_relation_size" | "pg_table_size" => (true, false),
        "pg_indexes_size" => (false, true),
        "pg_total_relation_size" => (true, true),
        "pg_database_size" => {
            let sum = move |_: &[Datum]| {
                let stats = seen.view.instance.db.stats_without_keys()?;
                let of = |t: &onlap::TableStats| {
                    t.segment_bytes + t.mark_bytes + t.indexes.iter().map(|i| i.bytes).sum::<u64>()
                };
                Ok((stats.tables.iter().map(of).sum::<u64>() as i64).into())
            };
            return Some(Function::new(sum));
        }
        _ => return None,
    };
    Some(Function::new(move |a| {
        let Some(relation) = seen.relation(&arg(a, 0))? else { return Ok(Datum::Null) };
        let stats = seen.view.instance.db.stats_without_keys()?;
        let bytes = match (&relation.what, relation.index()) {
            (What::Table(table), _) => {
                let found = stats.tables.iter().find(|t| t.name == table.name);
                found.map_or(0, |t| {
                    let of_rows = t.segment_bytes + t.mark_bytes + t.memtable_bytes;
                    let of_entries: u64 = t.indexes.iter().map(|i| i.bytes).sum();
                    u64::from(rows) * of_rows + u64::from(entries) * of_entries
                })
            }
            (_, Some((_, index))) => {
                let all = stats.tables.iter().flat_map(|t| &t.indexes);
                all.filter(|i| i.id == index.id).map(|i| i.bytes).sum()
            }
            _ => 0,
        };
        Ok((bytes as i64).into())
    }))
}

/// Functions that ask whether something is seen.
fn permitted(name: &str) -> Option<Function> {
    let yes = name.starts_with("pg_") && name.ends_with("_is_visible");
    let no = name == "pg_relation_is_publishable";
    (yes || no).then(|| Function::new(move |_| Ok(yes.into())))
}

/// Functions about what is not here.
fn absent(name: &str) -> Option<Function> {
    let text = matches!(
        name,
        "pg_get_function_sqlbody"
            | "pg_get_statisticsobjdef"
            | "pg_get_statisticsobjdef_columns"
            | "pg_tablespace_location"
    );
    match name {
        _ if text => Some(Function::new(|_| Ok(Datum::Null))),
        _ => None,
    }
}
