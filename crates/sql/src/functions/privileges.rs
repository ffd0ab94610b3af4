//! Which functions ask what a role may do, and take access control lists apart?
//!
//! `has_*_privilege`, `pg_has_role`, `acldefault` and `makeaclitem`, answered by the same
//! [`Judge`] that statements are judged by. Made for a statement; a role, an object or a column is named or
//! given by its OID or number, and NULL comes back for a number that stands for nothing.

use std::sync::Arc;

use super::Function;
use super::catalogs::Seen;
use crate::catalog::extensions;
use crate::error::{Result, SqlError, state};
use crate::parse::identifiers;
use crate::rights::acl::Item;
use crate::rights::{Acl, Class, Judge, Key, OF_COLUMNS, PUBLIC, Privileges};
use crate::system::cluster::database_oids;
use crate::system::functions::granted;
use crate::system::grants::{default_of, printed};
use crate::system::model::Relation;
use crate::system::rows::Datum;
use crate::system::sight::Sight;
use crate::view::{View, no_schema, no_table};

/// A function of privileges by name; `None` where there is none.
pub fn find(seen: &Arc<Seen>, name: &str) -> Option<Function> {
    let seen = Arc::clone(seen);
    let ask: fn(&Seen, &[Datum]) -> Result<Datum> = match name {
        "has_table_privilege" => table,
        "has_sequence_privilege" => sequence,
        "has_column_privilege" => column,
        "has_any_column_privilege" => any_column,
        "has_schema_privilege" => schema,
        "has_database_privilege" => database,
        "has_function_privilege" => function,
        "has_type_privilege" | "has_language_privilege" => usable,
        "has_tablespace_privilege"
        | "has_parameter_privilege"
        | "has_server_privilege"
        | "has_foreign_data_wrapper_privilege" => of_superusers,
        "pg_has_role" => role,
        "acldefault" => {
            let made = Function::new(move |a| acl_default(&seen.view, a));
            return Some(made);
        }
        "makeaclitem" => {
            let made = Function::new(move |a| make_item(&seen.view, a));
            return Some(made);
        }
        _ => return None,
    };
    Some(Function::new(move |a| ask(&seen, a)))
}

/// What is asked for: any of some privileges, or the option to grant any of others.
struct Wanted {
    any: Privileges,
    options: Privileges,
}

impl Wanted {
    /// Reads `SELECT, INSERT WITH GRANT OPTION`.
    fn read(given: &Datum, known: Privileges) -> Result<Wanted> {
        let (mut any, mut options) = (Privileges::NONE, Privileges::NONE);
        for part in given.text().split(',') {
            let word = part.trim().to_lowercase();
            let (word, option) = match word.strip_suffix(" with grant option") {
                Some(word) => (word.trim(), true),
                None => (&*word, false),
            };
            let Some(privilege) = Privileges::by_word(word).filter(|p| known.has(*p)) else {
                let text = format!("unrecognized privilege type: \"{}\"", part.trim());
                return Err(SqlError::new(state::BAD_PARAMETER, text));
            };
            if option { options |= privilege } else { any |= privilege }
        }
        Ok(Wanted { any, options })
    }

    fn met(&self, judge: &Judge, class: Class, key: Key) -> Datum {
        let held = !judge.on(class, key, self.any).is_empty();
        (held || !judge.options(class, key, None, self.options).is_empty()).into()
    }

    fn met_on(&self, judge: &Judge, class: Class, key: Key, number: u32) -> bool {
        !judge.on_column(key, number, self.any).is_empty()
            || !judge.on(class, key, self.any).is_empty()
            || !judge.options(class, key, Some(number), self.options).is_empty()
    }
}

fn no_role(name: &str) -> SqlError {
    SqlError::new(state::NO_OBJECT, format!("role \"{name}\" does not exist"))
}

/// A role by name or OID; `public` stands for all where `public` may.
fn role_of(view: &View, given: &Datum, public: bool) -> Result<u32> {
    if let Datum::Int(oid) = given {
        return Ok(u32::try_from(*oid).unwrap_or(0));
    }
    let name = given.text();
    if public && name == "public" {
        return Ok(PUBLIC);
    }
    view.judge.rights().role_named(&name).map(|role| role.oid).ok_or_else(|| no_role(&name))
}

/// Whose privileges are asked for, and the arguments after it: `objects` of them and the privileges.
fn asked<'a>(seen: &Seen, a: &'a [Datum], objects: usize) -> Result<(Judge, &'a [Datum])> {
    match a.len() {
        n if n == objects + 1 => Ok((seen.view.judge.clone(), a)),
        n if n == objects + 2 => {
            Ok((seen.view.judge.of(role_of(&seen.view, &a[0], true)?), &a[1..]))
        }
        _ => Err(SqlError::new(
            state::NO_FUNCTION,
            "there is no function of this name with this number of arguments",
        )),
    }
}

/// A relation by name or OID; `None` for an OID without one.
fn relation<'a>(seen: &'a Seen, given: &Datum) -> Result<Option<&'a Relation>> {
    if let Datum::Text(name) = given {
        let parts = identifiers(name);
        if let [.., schema, _] = &parts[..] {
            seen.view.must_look_in(schema)?;
        }
        let found = seen.relation(given)?;
        return found.map_or_else(|| Err(no_table(&parts)), |found| Ok(Some(found)));
    }
    seen.relation(given)
}

fn table(seen: &Seen, a: &[Datum]) -> Result<Datum> {
    let (judge, a) = asked(seen, a, 1)?;
    let found = relation(seen, &a[0])?;
    let wanted = Wanted::read(&a[1], Class::Table.grantable())?;
    let Some((class, key)) = found.map(Sight::place) else { return Ok(Datum::Null) };
    Ok(wanted.met(&judge, class, key))
}

fn sequence(seen: &Seen, a: &[Datum]) -> Result<Datum> {
    let (judge, a) = asked(seen, a, 1)?;
    let found = relation(seen, &a[0])?;
    let wanted = Wanted::read(&a[1], Class::Sequence.grantable())?;
    let Some((class, key)) = found.map(Sight::place) else { return Ok(Datum::Null) };
    if class != Class::Sequence {
        let name = match &a[0] {
            Datum::Text(name) => name.clone(),
            _ => found.map_or_else(String::new, |r| r.name.name.clone()),
        };
        let text = format!("\"{name}\" is not a sequence");
        return Err(SqlError::new("42809", text));
    }
    Ok(wanted.met(&judge, class, key))
}

fn column(seen: &Seen, a: &[Datum]) -> Result<Datum> {
    let (judge, a) = asked(seen, a, 2)?;
    let found = relation(seen, &a[0])?;
    let wanted = Wanted::read(&a[2], OF_COLUMNS)?;
    let Some(relation) = found else { return Ok(Datum::Null) };
    let columns = Sight::numbered(&seen.view, relation);
    let number = match &a[1] {
        Datum::Int(number) => columns.into_iter().map(|c| c.0).find(|n| i64::from(*n) == *number),
        name => {
            let name = name.text();
            let found = columns.into_iter().find(|c| c.1 == name).map(|c| c.0);
            Some(found.ok_or_else(|| {
                let text = format!(
                    "column \"{name}\" of relation \"{}\" does not exist",
                    relation.name.name
                );
                SqlError::new(state::NO_COLUMN, text)
            })?)
        }
    };
    let (class, key) = Sight::place(relation);
    Ok(number.map(|number| wanted.met_on(&judge, class, key, number)).into())
}

fn any_column(seen: &Seen, a: &[Datum]) -> Result<Datum> {
    let (judge, a) = asked(seen, a, 1)?;
    let found = relation(seen, &a[0])?;
    let wanted = Wanted::read(&a[1], OF_COLUMNS)?;
    let Some(relation) = found else { return Ok(Datum::Null) };
    let (class, key) = Sight::place(relation);
    let numbers = Sight::numbered(&seen.view, relation).into_iter().map(|c| c.0);
    let on_one = |n| wanted.met_on(&judge, class, key, n);
    let whole = wanted.met(&judge, class, key) == Datum::Bool(true);
    Ok((whole || numbers.into_iter().any(on_one)).into())
}

fn schema(seen: &Seen, a: &[Datum]) -> Result<Datum> {
    let (judge, a) = asked(seen, a, 1)?;
    let view = &seen.view;
    let key = match &a[0] {
        Datum::Int(oid) => {
            let schemas = &seen.model()?.schemas;
            let found = schemas.iter().find(|s| i64::from(s.0) == *oid);
            found.and_then(|s| view.schema_key(&s.1))
        }
        name => {
            let name = name.text();
            Some(view.schema_key(&name).ok_or_else(|| no_schema(&name))?)
        }
    };
    let wanted = Wanted::read(&a[1], Class::Schema.grantable())?;
    Ok(key.map_or(Datum::Null, |key| wanted.met(&judge, Class::Schema, key)))
}

fn database(seen: &Seen, a: &[Datum]) -> Result<Datum> {
    let (judge, a) = asked(seen, a, 1)?;
    let all = database_oids(&seen.view);
    let found = match &a[0] {
        Datum::Int(oid) => all.iter().find(|d| i64::from(d.0) == *oid),
        name => {
            let name = name.text();
            let text = || format!("database \"{name}\" does not exist");
            let found = all.iter().find(|d| d.1 == name);
            Some(found.ok_or_else(|| SqlError::new(state::NO_DATABASE, text()))?)
        }
    };
    let wanted = Wanted::read(&a[1], Class::Database.grantable())?;
    Ok(found.map_or(Datum::Null, |d| wanted.met(&judge, Class::Database, Key::of(d.0))))
}

/// The system's functions all may call, except a few ([`granted`]).
fn function(seen: &Seen, a: &[Datum]) -> Result<Datum> {
    let (judge, a) = asked(seen, a, 1)?;
    let oid = match &a[0] {
        Datum::Int(oid) => u32::try_from(*oid).unwrap_or(0),
        given => {
            let found = crate::query::procedure(seen, &given.text());
            found.map_err(|e| crate::query::sql_error(&e, ""))?
        }
    };
    let wanted = Wanted::read(&a[1], Privileges::EXECUTE)?;
    let view = &seen.view;
    if let Some(function) = view.objects.functions().by_oid(oid) {
        let is_here = function.database == view.database;
        return Ok(is_here.then(|| wanted.met(&judge, function.class(), function.rights())).into());
    }
    if extensions::of_proc(view, oid).is_some() {
        return Ok(wanted.met(&judge, Class::Function, extensions::proc_key(view, oid)));
    }
    let rights = view.judge.rights();
    let is_one =
        |role: &str| rights.role_named(role).is_some_and(|role| judge.has_rights_of(role.oid));
    let may = granted(oid).is_none_or(|mut roles| roles.any(is_one));
    let met = !wanted.any.is_empty() && may || judge.is_superuser();
    let known = crate::query::catalog().proc(oid).is_some() && !extensions::is_member(oid);
    Ok(known.then_some(met).into())
}

/// Types and languages are the system's, and all may use them.
fn usable(seen: &Seen, a: &[Datum]) -> Result<Datum> {
    let (judge, a) = asked(seen, a, 1)?;
    let wanted = Wanted::read(&a[1], Privileges::USAGE)?;
    Ok((!wanted.any.is_empty() || judge.is_superuser()).into())
}

/// What superusers have alone, for there is nothing to grant.
fn of_superusers(seen: &Seen, a: &[Datum]) -> Result<Datum> {
    Ok(asked(seen, a, 1)?.0.is_superuser().into())
}

fn role(seen: &Seen, a: &[Datum]) -> Result<Datum> {
    let (judge, a) = match a.len() {
        3 => (seen.view.judge.of(role_of(&seen.view, &a[0], false)?), &a[1..]),
        _ => asked(seen, a, 1)?,
    };
    let role = role_of(&seen.view, &a[0], false)?;
    let mut met = false;
    for part in a[1].text().split(',') {
        let word = part.trim().to_lowercase();
        met |= match word.as_str() {
            "usage" => judge.has_rights_of(role),
            "member" => judge.is_member(role),
            "usage with grant option"
            | "usage with admin option"
            | "member with grant option"
            | "member with admin option" => judge.is_admin(role),
            _ => {
                let text = format!("unrecognized privilege type: \"{}\"", part.trim());
                return Err(SqlError::new(state::BAD_PARAMETER, text));
            }
        };
    }
    Ok(met.into())
}

fn acl_default(view: &View, a: &[Datum]) -> Result<Datum> {
    let owner = u32::try_from(a[1].int().unwrap_or(0)).unwrap_or(0);
    let kind = a[0].text();
    match default_of(&kind, owner) {
        Some(acl) => Ok(printed(view, &acl).into()),
        None => {
            let text = format!("unrecognized object type abbreviation: {kind}");
            Err(SqlError::new(state::BAD_PARAMETER, text))
        }
    }
}

fn make_item(view: &View, a: &[Datum]) -> Result<Datum> {
    let role = |at: usize| a[at].int().and_then(|oid| u32::try_from(oid).ok()).unwrap_or(0);
    let all = Class::Table.grantable()
        | Class::Database.grantable()
        | Class::Schema.grantable()
        | Privileges::EXECUTE;
    let privileges = Wanted::read(&a[2], all)?.any;
    let options = if a[3] == Datum::Bool(true) { privileges } else { Privileges::NONE };
    let item = Item { grantee: role(0), grantor: role(1), privileges, options };
    Ok(printed(view, &Acl(vec![item])).pop().unwrap_or_default().into())
}
