//! What do the catalogs say of what all databases share: roles, databases, schemas, sessions?

use super::grants;
use super::model::Model;
use super::monitored;
use super::rows::{Datum, Rows};
use crate::catalog::{Kind, oids};
use crate::ddl::role_settings::{self, Of};
use crate::error::Result;
use crate::rights::ask::database_oid;
use crate::rights::{Class, Key};
use crate::row;
use crate::settings::{SettingRow, is_secret};
use crate::view::View;

/// The rows of a table of this module.
///
/// # Errors
/// The transaction has ended.
pub fn rows(view: &View, table: &str) -> Result<Option<Rows>> {
    Ok(Some(match table {
        "pg_namespace" => schemas(view, &Model::of(view)?),
        "pg_roles" => roles(view),
        "pg_authid" => authids(view),
        "pg_user" => users(view),
        "pg_database" => databases(view),
        "pg_db_role_setting" => settings_of_roles(view),
        "pg_settings" => settings(view),
        "pg_prepared_statements" => prepared_statements(view),
        "pg_cursors" => cursors(view),
        "pg_locks" => super::locks::rows(view),
        _ => return monitored::rows(view, table),
    }))
}

fn schemas(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of("oid nspname nspowner nspacl");
    for (oid, name, _) in &model.schemas {
        let key = view.schema_key(name).unwrap_or(Key::of(*oid));
        let owner = view.judge.rights().owner(key);
        rows.push(row![*oid, name, owner, grants::shown(view, Class::Schema, key)]);
    }
    rows
}

fn roles(view: &View) -> Rows {
    let mut rows = Rows::of(
        "rolname rolsuper rolinherit rolcreaterole rolcreatedb rolcanlogin rolreplication \
         rolconnlimit rolpassword rolbypassrls oid rolconfig",
    );
    for role in view.judge.rights().roles() {
        rows.push(row![
            &role.name,
            role.superuser,
            role.inherit,
            role.createrole,
            role.createdb,
            role.login,
            role.oid == oids::POSTGRES,
            -1,
            "********",
            role.bypassrls,
            role.oid,
            configured(view, Of { role: role.oid, database: 0 }),
        ]);
    }
    rows
}

/// What sessions of a role or database begin with.
fn configured(view: &View, of: Of) -> Datum {
    match role_settings::of(&view.objects, of) {
        none if none.is_empty() => Datum::Null,
        texts => Datum::Texts(texts),
    }
}

fn settings_of_roles(view: &View) -> Rows {
    let mut rows = Rows::of("setdatabase setrole setconfig");
    for (of, texts) in role_settings::all(&view.objects) {
        rows.push(row![of.database, of.role, Datum::Texts(texts)]);
    }
    rows
}

fn authids(view: &View) -> Rows {
    let mut rows = Rows::of(
        "oid rolname rolsuper rolinherit rolcreaterole rolcreatedb rolcanlogin rolreplication \
         rolbypassrls rolconnlimit rolpassword",
    );
    for role in view.judge.rights().roles() {
        rows.push(row![
            role.oid,
            &role.name,
            role.superuser,
            role.inherit,
            role.createrole,
            role.createdb,
            role.login,
            role.oid == oids::POSTGRES,
            role.bypassrls,
            -1,
            role.verifier.clone(),
        ]);
    }
    rows
}

fn users(view: &View) -> Rows {
    let mut rows =
        Rows::of("usename usesysid usecreatedb usesuper userepl usebypassrls passwd useconfig");
    for role in view.judge.rights().roles().into_iter().filter(|role| role.login) {
        let (all, first) = (role.superuser, role.oid == oids::POSTGRES);
        let set = configured(view, Of { role: role.oid, database: 0 });
        let (name, bypasses) = (&role.name, role.bypassrls);
        rows.push(row![name, role.oid, role.createdb, all, first, bypasses, "********", set]);
    }
    rows
}

/// All databases with their OIDs.
pub fn database_oids(view: &View) -> Vec<(u32, String)> {
    let mut all = vec![(oids::DATABASE, crate::catalog::DEFAULT_DATABASE.to_string())];
    let made = view.objects.of_kind(Kind::Database);
    all.extend(made.map(|(name, object)| (oids::of_object(object.number), name.to_string())));
    all
}

/// The OID of the session's database.
pub fn own_database(view: &View) -> u32 {
    database_oid(&view.objects, &view.database)
}

fn databases(view: &View) -> Rows {
    let mut rows = Rows::of(
        "oid datname datdba encoding datlocprovider datistemplate datallowconn datconnlimit \
         datfrozenxid datminmxid dattablespace datcollate datctype datacl",
    );
    for (oid, name) in database_oids(view) {
        let owner = view.judge.rights().owner(Key::of(oid));
        let acl = grants::shown(view, Class::Database, Key::of(oid));
        let frozen = monitored::frozen().to_string();
        let (xid, mxid) = (frozen.as_str(), frozen.as_str());
        rows.push(row![oid, name, owner, 6, "c", false, true, -1, xid, mxid, 1663, "C", "C", acl]);
    }
    rows
}

/// Rows of pg_settings that the role may see.
pub fn settings_seen(view: &View) -> impl Iterator<Item = SettingRow> {
    let sees_all = view.judge.has_rights_of(oids::PG_READ_ALL_SETTINGS);
    (view.setting_rows)().into_iter().filter(move |row| sees_all || !is_secret(row.name))
}

fn settings(view: &View) -> Rows {
    let mut rows = Rows::of(
        "name setting unit category short_desc context vartype source min_val max_val enumvals \
         boot_val reset_val sourcefile pending_restart",
    );
    let words = |all: &[&str]| all.iter().map(|w| (*w).to_string()).collect::<Vec<_>>();
    for row in settings_seen(view) {
        rows.push(row![
            row.name,
            row.setting,
            row.unit,
            row.category,
            row.short_desc,
            row.context,
            row.vartype,
            row.source,
            row.min_val,
            row.max_val,
            row.enumvals.map(words),
            row.boot_val,
            row.reset_val,
            row.sourcefile,
            false,
        ]);
    }
    rows
}

fn prepared_statements(view: &View) -> Rows {
    let mut rows =
        Rows::of("name statement prepare_time parameter_types from_sql generic_plans custom_plans");
    for (name, listed) in view.prepared.lock().iter() {
        let types = Datum::Ints(listed.types.iter().map(|oid| i64::from(*oid)).collect());
        rows.push(row![name, &listed.text, listed.made_us, types, listed.by_statement, 0, 0]);
    }
    rows
}

fn cursors(view: &View) -> Rows {
    let mut rows = Rows::of("name statement is_holdable is_binary is_scrollable creation_time");
    for one in view.cursors.iter() {
        rows.push(row![&one.name, &one.text, one.hold, one.binary, one.scrolls, one.made_us]);
    }
    rows
}
