//! What hangs on a role, so that it cannot be dropped?
//!
//! In PostgreSQL's words, for the DETAIL of DROP ROLE. The databases are listed one by one, and so is what is in the current
//! database; what is in another one is counted.

use super::grant::columns_of;
use super::naming;
use super::privileges::{class_of, key_of};
use crate::catalog::{DEFAULT_DATABASE, Kind, extensions, policies};
use crate::error::Result;
use crate::rights::state::DefaultKey;
use crate::rights::{Acl, Class, Key, Rights};
use crate::view::View;

/// What belongs to a role or was granted to it, a line each.
///
/// # Errors
/// The transaction has ended.
pub fn of_role(view: &View, rights: &Rights, role: u32) -> Result<Vec<String>> {
    let made = view.objects.of_kind(Kind::Database).map(|(name, _)| name.to_string());
    let databases: Vec<View> = [DEFAULT_DATABASE.to_string()]
        .into_iter()
        .chain(made)
        .map(|database| View { database, ..view.clone() })
        .collect();
    let mut found = Found { rights, role, lines: Vec::new() };
    for there in &databases {
        found.add(there.database_key(), &format!("database {}", there.database), Vec::new());
    }
    found.add_database(view)?;
    found.lines.sort_by_key(|(oid, _)| *oid);
    let mut lines: Vec<String> = found.lines.into_iter().map(|(_, line)| line).collect();
    lines.extend(defaults(view, rights, role));
    for there in databases.iter().filter(|there| there.database != view.database) {
        let mut elsewhere = Found { rights, role, lines: Vec::new() };
        elsewhere.add_database(there)?;
        match elsewhere.lines.len() + defaults(there, rights, role).len() {
            0 => {}
            1 => lines.push(format!("1 object in database {}", there.database)),
            many => lines.push(format!("{many} objects in database {}", there.database)),
        }
    }
    Ok(lines)
}

/// What was found so far: the object's OID and the line.
struct Found<'a> {
    rights: &'a Rights,
    role: u32,
    lines: Vec<(u32, String)>,
}

impl Found<'_> {
    /// What the role has of an object, and of its columns, given by number and name.
    fn add(&mut self, key: Key, what: &str, columns: Vec<(i32, String)>) {
        let Some(entry) = self.rights.entry(key) else { return };
        if entry.owner == self.role {
            self.lines.push((key.oid, format!("owner of {what}")));
            return;
        }
        let names = |acl: &Acl| acl.names(self.role);
        if entry.acl.as_ref().is_some_and(names) {
            self.lines.push((key.oid, format!("privileges for {what}")));
        }
        for (number, name) in columns {
            let Ok(number) = u32::try_from(number) else { continue };
            if entry.columns.get(&number).is_some_and(names) {
                self.lines.push((key.oid, format!("privileges for column {name} of {what}")));
            }
        }
    }

    /// The schemas and relations of a database.
    fn add_database(&mut self, view: &View) -> Result<()> {
        let here = super::kept::relations(view)?;
        for (name, key) in view.schemas() {
            self.add(key, &format!("schema {name}"), Vec::new());
        }
        for (name, relation) in naming::all(view)? {
            let parts = std::slice::from_ref(&name.name);
            let shown = match super::alter::relation(view, parts)? {
                Some((seen, _)) if seen == name => name.name.clone(),
                _ => format!("{}.{}", name.schema, name.name),
            };
            let class = class_of(relation);
            let columns = columns_of(view, class, &name)?;
            self.add(key_of(view, &name, relation)?, &format!("{} {shown}", class.word()), columns);
        }
        for function in view.objects.functions().of_database(&view.database) {
            let what = format!("function {}", function.shown(view));
            self.add(function.rights(), &what, Vec::new());
        }
        for (created, proc) in extensions::granted(view) {
            let what = format!("function {}", extensions::shown_proc(view, &created, proc));
            let before = self.lines.len();
            self.add(extensions::proc_key(view, proc.oid), &what, Vec::new());
            // Its own number does not say when it came.
            self.lines[before..].iter_mut().for_each(|line| line.0 = created.oid);
        }
        for policy in policies::all(&view.objects) {
            let named = policy.roles().contains(&self.role);
            if named && here.contains(&policy.relation) {
                let table = super::rule::shown_relation(view, policy.relation)?;
                let line = format!("target of policy {} on {table}", policy.name);
                self.lines.push((policy.oid(), line));
            }
        }
        let (types, role) = (view.objects.made_types(), self.role);
        for made in types.of_database(&view.database).filter(|made| made.owner == role) {
            let shown = types.shown_to(view, made.oid).unwrap_or_default();
            self.lines.push((made.oid, format!("owner of type {shown}")));
        }
        for created in extensions::all(view).filter(|created| created.owner == role) {
            let name = created.extension.name;
            self.lines.push((created.oid, format!("owner of extension {name}")));
        }
        Ok(())
    }
}

/// The default privileges that are the role's, or name it.
fn defaults(view: &View, rights: &Rights, role: u32) -> Vec<String> {
    let schemas = view.schemas();
    let line = |((owner, place, class), acl): (DefaultKey, &Acl)| {
        let said = match (owner == role, acl.names(role)) {
            (true, _) => "owner of",
            (false, true) => "privileges for",
            (false, false) => return None,
        };
        let what = match class {
            Class::Table => "relations",
            Class::Sequence => "sequences",
            Class::Function => "functions",
            _ => "schemas",
        };
        let within = schemas.iter().find(|(_, key)| *key == place);
        let within = within.map_or(String::new(), |(name, _)| format!(" in schema {name}"));
        let of = rights.name_of(owner);
        Some(format!("{said} default privileges on new {what} belonging to role {of}{within}"))
    };
    view.default_privileges(rights).filter_map(line).collect()
}
