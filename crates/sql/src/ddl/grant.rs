//! GRANT and REVOKE.
//!
//! A statement is read first ([`Said`]): which privileges, on what, to whom. Each object is then changed
//! in PostgreSQL's way: the grantor is the owner where the role is that or a superuser, and otherwise the
//! first role, among those whose rights it has, with the most of the grant options that are needed; what is
//! lacking is left out with a warning, and is an error where the role has nothing on the object at all.

use std::collections::BTreeMap;

use onlap_pg::ast::{Grant, GrantOn, Role, RoutineKind, Signature};
use onlap_pg::bind;

use super::naming::{self, Relation};
use super::{alter, privileges};
use crate::catalog::functions::Function;
use crate::catalog::{Kind, Name, extensions};
use crate::error::{Result, SqlError, state};
use crate::rights::acl::{Refusal, RightsOf};
use crate::rights::judge::refusal;
use crate::rights::{Acl, Action, Class, Entry, Key, Need, OF_COLUMNS, PUBLIC, Privileges};
use crate::session::Session;
use crate::source::{Source, role_word, strings};
use crate::view::{View, no_schema, no_table};
use crate::wire::Client;

/// What cannot be granted so.
const INVALID_GRANT: &str = "0LP01";

/// A privilege as it was said, and the columns that it is on.
pub struct Wanted {
    /// The word; `None` for ALL.
    pub word: Option<String>,
    /// The columns; none for the whole object.
    pub columns: Vec<String>,
}

/// What a statement says beside its objects.
pub struct Said {
    /// Whether it is GRANT.
    pub grant: bool,
    /// GRANT OPTION FOR, or WITH GRANT OPTION.
    pub option: bool,
    /// The privileges.
    pub wanted: Vec<Wanted>,
    /// The roles.
    pub grantees: Vec<u32>,
    /// CASCADE.
    pub cascade: bool,
}

impl Said {
    /// What a statement says.
    ///
    /// # Errors
    /// There is no such role; another grantor than the role itself.
    pub fn of(view: &View, said: &Grant) -> Result<Said> {
        let wanted = said.privileges.iter().map(|privilege| Wanted {
            word: privilege.word.as_ref().map(|word| word.to_string()),
            columns: strings(&privilege.columns),
        });
        let wanted = wanted.collect();
        let grantee = |role: &Role| match role {
            Role::Public => Ok(PUBLIC),
            role => view.role_named(role_word(role)),
        };
        let grantees = said.roles.iter().map(grantee).collect::<Result<Vec<_>>>()?;
        if let Some(grantor) = &said.grantor
            && view.role_named(role_word(grantor))? != view.judge.role
        {
            return Err(SqlError::unsupported("a grantor that is not the current user"));
        }
        let (grant, option, cascade) = (said.grant, said.option, said.cascade);
        if grant && option && grantees.contains(&PUBLIC) {
            let text = "grant options can only be granted to roles";
            return Err(SqlError::new(INVALID_GRANT, text));
        }
        Ok(Said { grant, option, wanted, grantees, cascade })
    }

    /// The privileges on objects of a class as wholes; whether ALL was said.
    ///
    /// # Errors
    /// A word that is none, or none of this class.
    pub fn whole(&self, class: Class, allowed: Privileges) -> Result<(Privileges, bool)> {
        let what = if class == Class::Table { "relation" } else { class.word() };
        let mut all = (Privileges::NONE, false);
        for wanted in self.wanted.iter().filter(|wanted| wanted.columns.is_empty()) {
            match &wanted.word {
                None => all = (class.grantable(), true),
                Some(word) => all.0 |= privilege(word, allowed, what)?,
            }
        }
        Ok(all)
    }
}

fn privilege(word: &str, allowed: Privileges, what: &str) -> Result<Privileges> {
    let found = Privileges::by_word(word).ok_or_else(|| {
        SqlError::new(state::SYNTAX, format!("unrecognized privilege type \"{word}\""))
    })?;
    match allowed.has(found) {
        true => Ok(found),
        false => {
            let text = format!("invalid privilege type {} for {what}", word.to_uppercase());
            Err(SqlError::new(INVALID_GRANT, text))
        }
    }
}

/// GRANT or REVOKE of privileges.
///
/// # Errors
/// There is no such object or role; the role may not; what Onlap does not have.
pub fn run(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    grant: &Grant,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let tag = if grant.grant { "GRANT" } else { "REVOKE" };
    let (class, targets) = match &grant.on {
        GrantOn::Functions(kind, all) => functions(view, source, *kind, all)?,
        on => targets(view, on)?,
    };
    let said = Said::of(view, grant)?;
    // All roles may use these, and grants change nothing.
    let fixed = match grant.on {
        GrantOn::Languages => Some("REVOKE of a language"),
        GrantOn::Types => Some("REVOKE of a type"),
        _ => None,
    };
    if let Some(what) = fixed.filter(|_| !grant.grant) {
        return Err(SqlError::unsupported(what));
    }
    // What there are no objects of, as functions, all may use.
    let Some(class) = class else { return Ok(tag) };
    let allowed = match class {
        Class::Table => class.grantable() | Class::Sequence.grantable(),
        class => class.grantable(),
    };
    let wanted = said.whole(class, allowed)?;
    for target in targets {
        Granting { session: &mut *session, view, said: &said, client: &mut *client }
            .one(class, &target, wanted)?;
    }
    Ok(tag)
}

/// An object of a statement.
pub struct Target {
    class: Class,
    key: Key,
    name: Name,
}

fn relation_target(view: &View, name: Name, relation: Relation) -> Result<Target> {
    let (class, key) = (privileges::class_of(relation), privileges::key_of(view, &name, relation)?);
    Ok(Target { class, key, name })
}

/// What the statement is about: its class as it was said, and the objects.
fn targets(view: &View, on: &GrantOn) -> Result<(Option<Class>, Vec<Target>)> {
    let mut targets = Vec::new();
    let class = match on {
        GrantOn::Languages | GrantOn::Types | GrantOn::Others | GrantOn::Functions(..) => {
            return Ok((None, targets));
        }
        GrantOn::TablesIn(schemas) => return all_in_schemas(view, schemas, Some(Class::Table)),
        GrantOn::SequencesIn(schemas) => {
            return all_in_schemas(view, schemas, Some(Class::Sequence));
        }
        GrantOn::FunctionsIn(schemas) => return all_in_schemas(view, schemas, None),
        GrantOn::Schemas(names) => {
            for name in names {
                let key = view.schema_key(name).ok_or_else(|| no_schema(name))?;
                let name = Name::new("", &**name);
                targets.push(Target { class: Class::Schema, key, name });
            }
            Class::Schema
        }
        GrantOn::Databases(names) => {
            for name in names {
                let oid = super::roles::oid_of_object(view, Kind::Database, name);
                let missing = format!("database \"{name}\" does not exist");
                let oid = oid.ok_or_else(|| SqlError::new(state::NO_DATABASE, missing))?;
                let (key, name) = (Key::of(oid), Name::new("", &**name));
                targets.push(Target { class: Class::Database, key, name });
            }
            Class::Database
        }
        GrantOn::Relations(names) | GrantOn::Sequences(names) => {
            let sequences = matches!(on, GrantOn::Sequences(_));
            for name in names {
                targets.push(relation_named(view, &strings(name), sequences)?);
            }
            if sequences { Class::Sequence } else { Class::Table }
        }
    };
    Ok((Some(class), targets))
}

/// A relation by its name; only a sequence where that was said.
fn relation_named(view: &View, parts: &[String], sequences: bool) -> Result<Target> {
    let found = alter::relation(view, parts)?;
    let (name, relation) = found.ok_or_else(|| no_table(parts))?;
    let wrong = match relation {
        Relation::Index => Some("an index"),
        Relation::Table | Relation::View if sequences => Some("not a sequence"),
        _ => None,
    };
    if let Some(wrong) = wrong {
        let text = format!("\"{}\" is {wrong}", name.name);
        return Err(SqlError::new("42809", text));
    }
    relation_target(view, name, relation)
}

fn function_target(function: &Function) -> Target {
    Target { class: function.class(), key: function.rights(), name: function.name.clone() }
}

/// Functions of a statement.
fn functions(
    view: &View,
    source: Source<'_>,
    kind: RoutineKind,
    all: &[Signature],
) -> Result<(Option<Class>, Vec<Target>)> {
    let mut targets = Vec::with_capacity(all.len());
    for signature in all {
        targets.push(match super::function::find(view, source, kind, signature) {
            Ok(function) => function_target(&function),
            Err(e) => {
                let member = super::function::members::find(view, source, kind, signature)?;
                let Some((created, proc)) = member else { return Err(e) };
                let name = Name::new(&*created.schema, &*proc.name);
                let key = extensions::proc_key(view, proc.oid);
                Target { class: Class::Function, key, name }
            }
        });
    }
    let class = if kind == RoutineKind::Procedure { Class::Procedure } else { Class::Function };
    Ok((Some(class), targets))
}

/// `ALL TABLES IN SCHEMA` and its like; functions where there is no class.
fn all_in_schemas(
    view: &View,
    schemas: &[onlap_pg::ast::Name],
    class: Option<Class>,
) -> Result<(Option<Class>, Vec<Target>)> {
    for schema in schemas {
        if !view.has_schema(schema) {
            return Err(no_schema(schema));
        }
        view.must_look_in(schema)?;
    }
    let mut targets = Vec::new();
    let Some(class) = class else {
        for function in view.objects.functions().of_database(&view.database) {
            if schemas.iter().any(|schema| **schema == *function.name.schema) {
                targets.push(function_target(function));
            }
        }
        return Ok((Some(Class::Function), targets));
    };
    for (name, relation) in naming::all(view)? {
        let meant = match relation {
            Relation::Table | Relation::View => class == Class::Table,
            Relation::Sequence => class == Class::Sequence,
            Relation::Index => false,
        };
        if meant && schemas.iter().any(|schema| **schema == *name.schema) {
            targets.push(relation_target(view, name, relation)?);
        }
    }
    Ok((Some(class), targets))
}

/// Changes objects one by one.
struct Granting<'a> {
    session: &'a mut Session,
    view: &'a View,
    said: &'a Said,
    client: &'a mut dyn Client,
}

impl Granting<'_> {
    fn one(&mut self, said: Class, target: &Target, wanted: (Privileges, bool)) -> Result<()> {
        let (class, key) = (target.class, target.key);
        let (mut privileges, all) = wanted;
        if all {
            privileges = class.grantable();
        } else if said == Class::Table && !class.grantable().has(privileges) {
            if class != Class::Sequence {
                let text = format!("invalid privilege type USAGE for {}", Class::Table.word());
                return Err(SqlError::new(INVALID_GRANT, text));
            }
            let text = format!(
                "sequence \"{}\" only supports USAGE, SELECT, and UPDATE privileges",
                target.name.name
            );
            self.warn(INVALID_GRANT, &text);
            privileges = privileges & class.grantable();
        }
        // Of this statement too: an object may be named twice.
        let rights = self.session.rights_now()?;
        let owner = rights.owner(key);
        let before = rights.acl(class, key).into_owned();
        let mut entry = rights.entry(key).cloned().unwrap_or_else(|| Entry::of(owner));
        let columns = self.columns(target, privileges)?;
        if !privileges.is_empty() || columns.is_empty() {
            let (grantor, options) = self.grantor(&[&before], owner, privileges);
            let granted = self.permitted(target, None, (privileges, all), options)?;
            let mut acl = before.clone();
            self.change(&mut acl, owner, grantor, granted)?;
            let usual = crate::rights::Rights::default_acl(class, key, owner);
            entry.acl = Some(acl).filter(|acl| *acl != usual || entry.acl.is_some());
        }
        for (number, (name, privileges)) in columns {
            // A column of the system has no list of its own: 0 is no column's number.
            let number = u32::try_from(number).unwrap_or(0);
            let mut acl = entry.columns.remove(&number).unwrap_or_default();
            let (grantor, options) = self.grantor(&[&before, &acl], owner, privileges);
            let all = privileges == OF_COLUMNS;
            let column = Some((number, name.as_str()));
            let granted = self.permitted(target, column, (privileges, all), options)?;
            self.change(&mut acl, owner, grantor, granted)?;
            entry.columns.insert(number, acl);
        }
        entry.columns.retain(|_, acl| !acl.0.is_empty());
        self.session.set_entry(key, &entry)
    }

    /// The columns to change, by number: those that are named, and all where `whole`, the privileges on the
    /// relation, are taken away, the system's as well.
    fn columns(&self, target: &Target, whole: Privileges) -> Result<Columns> {
        let mut columns = Columns::new();
        let of_all = if self.said.grant { Privileges::NONE } else { whole & OF_COLUMNS };
        if !of_all.is_empty()
            && matches!(target.class, Class::Table | Class::View | Class::Sequence)
        {
            for (number, name) in columns_of(self.view, target.class, &target.name)? {
                columns.insert(number, (name, of_all));
            }
        }
        for wanted in &self.said.wanted {
            for name in &wanted.columns {
                if !matches!(target.class, Class::Table | Class::View) {
                    let text = "column privileges are only valid for relations";
                    return Err(SqlError::new(INVALID_GRANT, text));
                }
                let privileges = match &wanted.word {
                    None => OF_COLUMNS,
                    Some(word) => privilege(word, OF_COLUMNS, "column")?,
                };
                let number = number_of(self.view, &target.name, name)? as i32;
                columns.entry(number).or_insert_with(|| (name.clone(), Privileges::NONE)).1 |=
                    privileges;
            }
        }
        Ok(columns)
    }

    /// The role that grants, and what of the privileges it may grant.
    fn grantor(&self, acls: &[&Acl], owner: u32, wanted: Privileges) -> (u32, Privileges) {
        let judge = &self.view.judge;
        if judge.role == owner || judge.is_superuser() {
            return (owner, wanted);
        }
        let mut best = (judge.role, Privileges::NONE);
        for role in judge.roles(true) {
            let options = acls.iter().map(|acl| acl.options_of(owner, role) & wanted);
            let options = options.fold(Privileges::NONE, |all, options| all | options);
            if options.each().count() > best.1.each().count() {
                best = (role, options);
            }
        }
        best
    }

    /// What is granted or revoked, with a warning where that is not all.
    fn permitted(
        &mut self,
        target: &Target,
        column: Option<(u32, &str)>,
        (wanted, all): (Privileges, bool),
        options: Privileges,
    ) -> Result<Privileges> {
        let name = column.map_or(target.name.name.as_str(), |column| column.1);
        if options.is_empty() && !wanted.is_empty() {
            let judge = &self.view.judge;
            let key = target.key;
            let any = if column.is_some() { OF_COLUMNS } else { target.class.grantable() };
            let held = judge.on(target.class, key, any);
            let of_column = column.map(|c| judge.on_column(key, c.0, OF_COLUMNS));
            if (held | of_column.unwrap_or_default()).is_empty() {
                if column.is_some() {
                    let relation = &target.name.name;
                    let text = format!(
                        "permission denied for column \"{name}\" of relation \"{relation}\""
                    );
                    return Err(SqlError::new(state::NO_PRIVILEGE, text));
                }
                // Views are tables here.
                let class = if target.class == Class::View { Class::Table } else { target.class };
                return Err(refusal(&Need::new(Action::Read, class, key, name)));
            }
        }
        let granted = wanted & options;
        let (done, code) = match self.said.grant {
            true => ("granted", "01007"),
            false => ("revoked", "01006"),
        };
        let verb = if self.said.grant { "were" } else { "could be" };
        let how_many = match (granted.is_empty(), granted == wanted || all) {
            (true, _) if !wanted.is_empty() => "no",
            (_, false) => "not all",
            _ => return Ok(granted),
        };
        let text = match column {
            Some(_) => {
                let relation = &target.name.name;
                format!(
                    "{how_many} privileges {verb} {done} for column \"{name}\" of relation \"{relation}\""
                )
            }
            None => format!("{how_many} privileges {verb} {done} for \"{name}\""),
        };
        self.warn(code, &text);
        Ok(granted)
    }

    fn warn(&mut self, code: &'static str, text: &str) {
        self.client.reply().notice("WARNING", &SqlError::new(code, text));
    }

    fn change(&self, acl: &mut Acl, owner: u32, grantor: u32, granted: Privileges) -> Result<()> {
        let rights_of = |role: u32| self.view.judge.of(role).with_rights_of(owner);
        change(acl, self.said, owner, grantor, granted, &rights_of)
    }
}

/// Changes a list as a statement says.
///
/// # Errors
/// What others were granted depends on it; a grant would go round.
pub fn change(
    acl: &mut Acl,
    said: &Said,
    owner: u32,
    grantor: u32,
    privileges: Privileges,
    rights_of: RightsOf<'_>,
) -> Result<()> {
    for grantee in &said.grantees {
        let changed = match said.grant {
            true => {
                let options = if said.option { privileges } else { Privileges::NONE };
                acl.grant(owner, grantor, *grantee, privileges, options, rights_of)
            }
            false => {
                let (option, cascade) = (said.option, said.cascade);
                acl.revoke(owner, grantor, *grantee, privileges, option, cascade, rights_of)
            }
        };
        changed.map_err(|refusal| match refusal {
            Refusal::Dependent => SqlError::new(state::IN_USE, "dependent privileges exist")
                .hint("Use CASCADE to revoke them too."),
            Refusal::Circular => {
                let text = "grant options cannot be granted back to your own grantor";
                SqlError::new(INVALID_GRANT, text)
            }
        })?;
    }
    Ok(())
}

/// Columns of a relation to change: number, name, privileges.
type Columns = BTreeMap<i32, (String, Privileges)>;

/// All columns of a relation, by number: those of the system are below 0.
///
/// # Errors
/// There is no such table; the transaction has ended.
pub fn columns_of(view: &View, class: Class, name: &Name) -> Result<Vec<(i32, String)>> {
    let of_system =
        (-6..0).filter_map(|number| Some((number, bind::system_column(number)?.into())));
    let numbered = |names: Vec<String>| (1..).zip(names);
    Ok(match class {
        Class::View => numbered(columns_of_view(view, name)).collect(),
        Class::Sequence => {
            let own = ["last_value", "log_cnt", "is_called"].map(str::to_string);
            of_system.chain(numbered(own.to_vec())).collect()
        }
        _ => {
            let schema = view.scope.tx()?.table(&name.engine(&view.database))?.schema();
            let own = schema.columns.iter().map(|c| (c.id.0 as i32 + 1, c.name.clone()));
            of_system.chain(own).collect()
        }
    })
}

/// Names of a view's columns, in their order.
fn columns_of_view(view: &View, name: &Name) -> Vec<String> {
    let object = view.objects.get(Kind::View, &name.engine(&view.database));
    let columns = object.and_then(|object| object.body["columns"].as_array());
    let named = |c: &serde_json::Value| c["name"].as_str().map(str::to_string);
    columns.map_or_else(Vec::new, |all| all.iter().filter_map(named).collect())
}

/// The number of a column of a table or view, from 1.
///
/// # Errors
/// There is none of that name.
pub fn number_of(view: &View, name: &Name, column: &str) -> Result<u32> {
    let engine = name.engine(&view.database);
    let found = match view.objects.get(Kind::View, &engine) {
        Some(object) => {
            let columns = object.body["columns"].as_array();
            let named = |c: &serde_json::Value| c["name"].as_str() == Some(column);
            columns.and_then(|all| all.iter().position(named)).map(|at| at as u32 + 1)
        }
        None => {
            let schema = view.scope.tx()?.table(&engine)?.schema();
            // Numbers of columns never change, unlike their places.
            schema.position_by_name(column).map(|at| schema.columns[at].id.0 + 1)
        }
    };
    found.ok_or_else(|| {
        let text = format!("column \"{column}\" of relation \"{}\" does not exist", name.name);
        SqlError::new(state::NO_COLUMN, text)
    })
}
