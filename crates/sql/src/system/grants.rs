//! What do the catalogs say of grants?
//!
//! Access control lists as they print them, with the roles' names, and back; the tables of memberships,
//! default privileges and passwords; and `information_schema`'s lists of privileges.

use super::functions;
use super::model::{Model, Relation};
use super::rows::{Datum, Rows};
use super::sight::Sight;
use crate::catalog::{Kind, oids};
use crate::error::{Result, SqlError, state};
use crate::rights::acl::Item;
use crate::rights::state::{kept_as, of_system};
use crate::rights::{Acl, Class, Key, OF_COLUMNS, PUBLIC, Privileges, Rights};
use crate::row;
use crate::view::View;

/// The rows of a table of `pg_catalog`.
pub fn rows(view: &View, table: &str) -> Option<Rows> {
    Some(match table {
        "pg_auth_members" => members(view),
        "pg_default_acl" => defaults(view),
        "pg_shadow" => passwords(view),
        "pg_group" => groups(view),
        _ => return None,
    })
}

/// The rows of a table of `information_schema`.
pub fn standard(view: &View, model: &Model, table: &str) -> Option<Rows> {
    Some(match table {
        "enabled_roles" => enabled_roles(view),
        "applicable_roles" => applicable_roles(view, false),
        "administrable_role_authorizations" => applicable_roles(view, true),
        "table_privileges" => table_privileges(view, model, false),
        "role_table_grants" => table_privileges(view, model, true),
        "column_privileges" => column_privileges(view, model, false),
        "role_column_grants" => column_privileges(view, model, true),
        "usage_privileges" => usage_privileges(view, model, false),
        "role_usage_grants" => usage_privileges(view, model, true),
        _ => return None,
    })
}

/// A role's name as access control lists have it: quoted where it is more than letters, digits and `_`.
fn item_name(view: &View, role: u32) -> String {
    let Some(role) = view.judge.rights().role(role) else { return role.to_string() };
    let plain = role.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if plain { role.name.clone() } else { format!("\"{}\"", role.name.replace('"', "\"\"")) }
}

/// A list as PostgreSQL prints its items.
pub fn printed(view: &View, acl: &Acl) -> Vec<String> {
    acl.print(&|role| item_name(view, role))
}

/// Reads an item as [`printed`] prints it.
///
/// # Errors
/// It is none; there is no such role.
pub fn read_item(view: &View, text: &str) -> Result<Item> {
    let broken = || SqlError::new(state::BAD_TEXT, format!("\"{text}\" is no access control item"));
    let (grantee, rest) = leading_name(text);
    let (letters, grantor) =
        rest.strip_prefix('=').and_then(|rest| rest.split_once('/')).ok_or_else(broken)?;
    let role = |name: &str| {
        let known = view.judge.rights().role_named(name).map(|role| role.oid);
        let missing = || SqlError::new(state::NO_OBJECT, format!("role \"{name}\" does not exist"));
        known.or_else(|| name.parse().ok()).ok_or_else(missing)
    };
    let grantee = if grantee.is_empty() { PUBLIC } else { role(&grantee)? };
    let plain = Acl::read(std::iter::once(&*format!("={letters}/0"))).ok_or_else(broken)?;
    let item = plain.0.first().copied().ok_or_else(broken)?;
    Ok(Item { grantee, grantor: role(&leading_name(grantor).0)?, ..item })
}

/// The name that a text begins with, in quotes or not, and what follows.
fn leading_name(text: &str) -> (String, &str) {
    let Some(mut rest) = text.strip_prefix('"') else {
        let end = text.find('=').unwrap_or(text.len());
        return (text[..end].to_string(), &text[end..]);
    };
    let mut name = String::new();
    while let Some((part, after)) = rest.split_once('"') {
        name.push_str(part);
        rest = after;
        match rest.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                rest = after;
            }
            None => break,
        }
    }
    (name, rest)
}

/// The list that something of a kind has by default, by the letter of `acldefault`.
pub fn default_of(kind: &str, owner: u32) -> Option<Acl> {
    let item = |grantee, privileges| Item {
        grantee,
        grantor: owner,
        privileges,
        options: Privileges::NONE,
    };
    let both = |privileges| vec![item(PUBLIC, privileges), item(owner, privileges)];
    let own = |class| Rights::default_acl(class, Key::of(oids::FIRST_OWN), owner);
    Some(match kind {
        "r" => own(Class::Table),
        "s" => own(Class::Sequence),
        "n" => own(Class::Schema),
        "d" => own(Class::Database),
        "c" => Acl::default(),
        "f" => Acl(both(Privileges::EXECUTE)),
        "l" | "T" => Acl(both(Privileges::USAGE)),
        "L" => Acl(vec![item(owner, Privileges::SELECT | Privileges::UPDATE)]),
        "t" => Acl(vec![item(owner, Privileges::CREATE)]),
        "F" | "S" => Acl(vec![item(owner, Privileges::USAGE)]),
        "p" => Acl::default(),
        _ => return None,
    })
}

/// The list of an object as its catalog shows it: NULL where nothing was granted, unless it came with the
/// database.
pub fn shown(view: &View, class: Class, key: Key) -> Option<Vec<String>> {
    let rights = view.judge.rights();
    let granted = rights.entry(key).is_some_and(|entry| entry.acl.is_some());
    let builtin = key.oid < oids::FIRST_OWN && class != Class::Database;
    (granted || builtin).then(|| printed(view, &rights.acl(class, key)))
}

/// pg_init_privs: the lists that came with the database.
pub fn initial(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of("objoid classoid objsubid privtype initprivs");
    let (relations, schemas) = (1259, 2615);
    let mut add = |class, key: Key, catalog| {
        let owner = view.judge.rights().owner(key);
        let list = printed(view, &Rights::default_acl(class, key, owner));
        rows.push(row![key.oid, catalog, 0, "i", list]);
    };
    for relation in model.relations.iter().filter(|r| r.oid < oids::FIRST_OWN) {
        match Sight::place(relation) {
            (Class::Index, _) => {}
            (class, key) => add(class, key, relations),
        }
    }
    for (oid, name, _) in model.schemas.iter().filter(|(oid, ..)| *oid < oids::FIRST_OWN) {
        add(Class::Schema, view.schema_key(name).unwrap_or(Key::of(*oid)), schemas);
    }
    // Columns of the system that are for more roles than their table.
    let is_for_more = |r: &&Relation| of_system(Sight::place(r).1).is_some();
    for relation in model.relations.iter().filter(is_for_more) {
        for (number, _) in Sight::numbered(view, relation) {
            if let Some(list) = shown_of_column(view, relation, number) {
                rows.push(row![relation.oid, relations, number, "i", list]);
            }
        }
    }
    for (oid, items) in functions::initial() {
        let list: Vec<String> = items.iter().map(ToString::to_string).collect();
        rows.push(row![oid, functions::PG_PROC, 0, "i", list]);
    }
    rows
}

/// The list of a relation.
pub fn shown_of(view: &View, relation: &Relation) -> Option<Vec<String>> {
    match Sight::place(relation) {
        (Class::Index, _) => None,
        (class, key) => shown(view, class, key),
    }
}

/// The list of a column.
pub fn shown_of_column(view: &View, relation: &Relation, number: u32) -> Option<Vec<String>> {
    let key = Sight::place(relation).1;
    relation.index().is_none().then_some(())?;
    view.judge.rights().column_acl(key, number).map(|acl| printed(view, acl))
}

fn members(view: &View) -> Rows {
    let mut rows = Rows::of("roleid member grantor admin_option");
    for (role, member, how) in view.judge.rights().members() {
        rows.push(row![role, member, how.grantor, how.admin]);
    }
    rows
}

fn defaults(view: &View) -> Rows {
    let mut rows = Rows::of("oid defaclrole defaclnamespace defaclobjtype defaclacl");
    for (key, acl) in view.default_privileges(view.judge.rights()) {
        let (role, Key { oid: schema, .. }, class) = key;
        let object = view.objects.get(Kind::DefaultPrivileges, &kept_as(key));
        let letter = match class {
            Class::Sequence => "S",
            Class::Schema => "n",
            Class::Function => "f",
            _ => "r",
        };
        let oid = object.map_or(0, |object| oids::of_object(object.number));
        rows.push(row![oid, role, schema, letter, printed(view, acl)]);
    }
    rows
}

fn passwords(view: &View) -> Rows {
    let mut rows = Rows::of("usename usesysid usecreatedb usesuper userepl usebypassrls passwd");
    for role in view.judge.rights().roles().into_iter().filter(|role| role.login) {
        let (all, first) = (role.superuser, role.oid == oids::POSTGRES);
        let verifier = role.verifier.clone();
        let (name, bypasses) = (&role.name, role.bypassrls);
        rows.push(row![name, role.oid, role.createdb, all, first, bypasses, verifier]);
    }
    rows
}

fn groups(view: &View) -> Rows {
    let mut rows = Rows::of("groname grosysid grolist");
    let rights = view.judge.rights();
    for role in rights.roles().into_iter().filter(|role| !role.login) {
        let members = rights.members().filter(|m| m.0 == role.oid).map(|m| i64::from(m.1));
        rows.push(row![&role.name, role.oid, members.collect::<Vec<_>>()]);
    }
    rows
}

fn enabled_roles(view: &View) -> Rows {
    let (sight, mut rows) = (Sight::of(view), Rows::of("role_name"));
    for role in view.judge.rights().roles().into_iter().filter(|role| sight.is(role.oid)) {
        rows.push(row![&role.name]);
    }
    rows
}

fn yes(v: bool) -> &'static str {
    if v { "YES" } else { "NO" }
}

/// Memberships of the roles whose rights the role has; with the admin option alone.
fn applicable_roles(view: &View, administrable: bool) -> Rows {
    let (sight, rights) = (Sight::of(view), view.judge.rights());
    let mut rows = Rows::of("grantee role_name is_grantable");
    for (role, member, how) in rights.members() {
        if sight.is(member) && (how.admin || !administrable) {
            rows.push(row![rights.name_of(member), rights.name_of(role), yes(how.admin)]);
        }
    }
    // No row says that the database's owner is in it.
    let owner = rights.owner(view.database_key());
    if sight.is(owner) && !administrable {
        let role = rights.name_of(oids::PG_DATABASE_OWNER);
        rows.push(row![rights.name_of(owner), role, yes(false)]);
    }
    rows
}

/// One privilege that one role gave another.
struct Granted {
    grantor: u32,
    grantee: u32,
    privilege: Privileges,
    grantable: bool,
}

/// The privileges in a list that the role has to do with: they are of, or from, a role whose rights it
/// has, or PUBLIC's unless `own`.
fn granted(view: &View, acl: &Acl, owner: u32, own: bool) -> Vec<Granted> {
    let sight = Sight::of(view);
    let concerns = |item: &&Item| {
        sight.is(item.grantor) || (item.grantee != PUBLIC || !own) && sight.is(item.grantee)
    };
    let mut found = Vec::new();
    for item in acl.0.iter().filter(concerns) {
        let is_owner = item.grantee != PUBLIC && view.judge.of(item.grantee).has_rights_of(owner);
        for privilege in item.privileges.each() {
            let grantable = is_owner || item.options.has(privilege);
            let (grantor, grantee) = (item.grantor, item.grantee);
            found.push(Granted { grantor, grantee, privilege, grantable });
        }
    }
    found
}

fn grantee_name(view: &View, role: u32) -> String {
    if role == PUBLIC { "PUBLIC".into() } else { view.judge.rights().name_of(role) }
}

fn privilege_name(privilege: Privileges) -> String {
    privilege.word().to_uppercase()
}

/// Tables and views with their lists and owners.
fn lists<'a>(view: &'a View, model: &'a Model) -> impl Iterator<Item = (&'a Relation, Acl, u32)> {
    let relations = model.relations.iter().filter(|r| matches!(r.kind(), "r" | "p" | "v"));
    relations.map(|relation| {
        let (class, key) = Sight::place(relation);
        let rights = view.judge.rights();
        (relation, rights.acl(class, key).into_owned(), rights.owner(key))
    })
}

fn table_privileges(view: &View, model: &Model, own: bool) -> Rows {
    let mut rows = Rows::of(
        "grantor grantee table_catalog table_schema table_name privilege_type is_grantable \
         with_hierarchy",
    );
    for (relation, acl, owner) in lists(view, model) {
        for g in granted(view, &acl, owner, own) {
            rows.push(row![
                view.judge.rights().name_of(g.grantor),
                grantee_name(view, g.grantee),
                &view.database,
                &relation.name.schema,
                &relation.name.name,
                privilege_name(g.privilege),
                yes(g.grantable),
                yes(g.privilege == Privileges::SELECT),
            ]);
        }
    }
    rows
}

fn column_privileges(view: &View, model: &Model, own: bool) -> Rows {
    let mut rows = Rows::of(
        "grantor grantee table_catalog table_schema table_name column_name privilege_type \
         is_grantable",
    );
    for (relation, acl, owner) in lists(view, model) {
        let key = Sight::place(relation).1;
        for (number, column) in Sight::numbered(view, relation) {
            let own_acl = view.judge.rights().column_acl(key, number);
            let mut all = granted(view, &acl, owner, own);
            all.extend(own_acl.into_iter().flat_map(|acl| granted(view, acl, owner, own)));
            all.retain(|g| OF_COLUMNS.has(g.privilege));
            // What is granted on the table and on the column as well is one privilege.
            let mut seen: Vec<Vec<Datum>> = Vec::new();
            for g in all {
                let row = row![
                    view.judge.rights().name_of(g.grantor),
                    grantee_name(view, g.grantee),
                    &view.database,
                    &relation.name.schema,
                    &relation.name.name,
                    &column,
                    privilege_name(g.privilege),
                    yes(g.grantable),
                ];
                if !seen.contains(&row) {
                    seen.push(row);
                }
            }
            seen.into_iter().for_each(|row| rows.push(row));
        }
    }
    rows
}

/// USAGE of sequences; there is nothing else that it could be granted on and that is listed.
fn usage_privileges(view: &View, model: &Model, own: bool) -> Rows {
    let mut rows = Rows::of(
        "grantor grantee object_catalog object_schema object_name object_type privilege_type \
         is_grantable",
    );
    for relation in model.relations.iter().filter(|r| r.kind() == "S") {
        let (class, key) = Sight::place(relation);
        let rights = view.judge.rights();
        let owner = rights.owner(key);
        for g in granted(view, &rights.acl(class, key), owner, own) {
            if g.privilege == Privileges::USAGE {
                rows.push(row![
                    rights.name_of(g.grantor),
                    grantee_name(view, g.grantee),
                    &view.database,
                    &relation.name.schema,
                    &relation.name.name,
                    "SEQUENCE",
                    "USAGE",
                    yes(g.grantable),
                ]);
            }
        }
    }
    rows
}
