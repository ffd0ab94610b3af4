//! CREATE, ALTER and DROP POLICY; whether policies of a table count.
//!
//! What a policy asks is bound when it is made, to find what is wrong with it, and kept as texts ([`crate::catalog::policies`]);
//! what it does is in [`crate::query::secured`].

use onlap_pg::ast::{
    AlterPolicy, CreatePolicy, Policy as Stated, PolicyCommand, Role, RowSecurity,
};
use onlap_pg::ast::{Relation as Named, Said, TableChange};
use onlap_pg::bind;
use onlap_pg::bound::{Bound, Expr, Part, QueryId};
use serde_json::{Value as Json, json};

use super::naming::{Dropped, OnRelation, Relation as Found};
use crate::catalog::policies::{self as kept, PUBLIC, Policy, Security};
use crate::catalog::{Kind, Name, bound, called, frozen};
use crate::error::{Result, SqlError, state};
use crate::query::{Names, needs, sql_error};
use crate::rights::Action;
use crate::session::Session;
use crate::source::{Source, role_word, strings};
use crate::view::{Relation as Seen, View};
use crate::wire::Client;

/// CREATE, ALTER and DROP POLICY.
///
/// # Errors
/// Those of the statement.
pub fn run(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    said: &Stated,
    client: &mut dyn Client,
) -> Result<&'static str> {
    match said {
        Stated::Create(create) => self::create(session, view, source, create, client),
        Stated::Alter(alter) => self::alter(session, view, source, alter, client),
        Stated::Rename(name, on, to) => rename(session, view, (name, on, to)),
        Stated::Drop { skip, name, on } => drop(session, view, (*skip, name, on), client),
    }
}

/// A table that policies are on.
struct On(OnRelation);

impl On {
    fn find(view: &View, parts: &[String]) -> Result<On> {
        let found = OnRelation::find(view, parts, "policies")?;
        Ok(On(found.ok_or_else(|| crate::view::no_table(parts))?))
    }

    /// One that is named in a statement, of whose owner the role has the rights.
    fn named(view: &View, source: Source<'_>, named: &Named) -> Result<On> {
        let at = |e: SqlError| match e.state() {
            state::NO_TABLE => source.at(e, named.place).nowhere(),
            _ => e,
        };
        let on = On::find(view, &strings(&named.name)).map_err(at)?;
        on.must_own(view)?;
        Ok(on)
    }

    fn must_own(&self, view: &View) -> Result<()> {
        view.must_own(Action::Alter, &self.0.name, self.0.found)?;
        let materialized = view.judge.rights().materialized(self.0.oid).is_some();
        match self.0.found == Found::Table && !materialized {
            true => Ok(()),
            false => {
                let text = format!("\"{}\" is not a table", self.0.name.name);
                Err(SqlError::new("42809", text))
            }
        }
    }

    fn policy<'a>(&self, view: &'a View, name: &str) -> Result<Policy<'a>> {
        let all = kept::of_relation(&view.objects, self.0.oid);
        all.into_iter().find(|policy| policy.name == name).ok_or_else(|| {
            let table = &self.0.name.name;
            let text = format!("policy \"{name}\" for table \"{table}\" does not exist");
            SqlError::new(state::NO_OBJECT, text)
        })
    }

    fn taken(&self, name: &str) -> SqlError {
        let text = format!("policy \"{name}\" for table \"{}\" already exists", self.0.name.name);
        SqlError::new(state::DUPLICATE_OBJECT, text)
    }

    /// Keeps others from changing the table's policies, and lets those end that use it, until the transaction ends.
    fn hold(&self, session: &mut Session, view: &View) -> Result<()> {
        view.scope.tx()?.hold_name(&self.0.name.engine(&view.database))?;
        if let Some(table) = &self.0.table {
            view.scope.tx()?.await_form(table)?;
        }
        let newest = view.newest_objects();
        let same = |kind: Kind, name: &str| newest.get(kind, name) == view.objects.get(kind, name);
        let own = kept::of_relation(&newest, self.0.oid);
        let unchanged = own.iter().all(|policy| same(Kind::Policy, &policy.key()))
            && own.len() == kept::of_relation(&view.objects, self.0.oid).len()
            && same(Kind::RowSecurity, &self.0.oid.to_string());
        if !unchanged && session.current()?.pending.is_empty() {
            return Err(super::change::anew(view));
        }
        session.temporary.is_private = false;
        session.catalog_changed()
    }
}

/// The roles that a policy is for.
fn roles(view: &View, named: &[Role], client: &mut dyn Client) -> Result<Vec<u32>> {
    if named.contains(&Role::Public) {
        if named.len() > 1 {
            let warning = SqlError::new("22023", "ignoring specified roles other than PUBLIC")
                .hint("All roles are members of the PUBLIC role.");
            client.reply().notice("WARNING", &warning);
        }
        return Ok(vec![PUBLIC]);
    }
    let of = |role: &Role| match role {
        Role::Current => Ok(view.judge.role),
        Role::Session => Ok(view.session_role),
        role => view.role_named(role_word(role)),
    };
    named.iter().map(of).collect()
}

fn syntax(text: &str) -> SqlError {
    SqlError::new(state::SYNTAX, text)
}

fn create(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    create: &CreatePolicy,
    client: &mut dyn Client,
) -> Result<&'static str> {
    use PolicyCommand::{Delete, Insert, Select};
    match create.command {
        Select | Delete if create.check.is_some() => {
            return Err(syntax("WITH CHECK cannot be applied to SELECT or DELETE"));
        }
        Insert if create.using.is_some() => {
            return Err(syntax("only WITH CHECK expression allowed for INSERT"));
        }
        _ => {}
    }
    let roles = roles(view, &create.roles, client)?;
    let on = On::named(view, source, &create.on)?;
    let new = kept::New {
        command: create.command,
        permissive: create.permissive,
        roles,
        using: text(view, source, &on, create.using)?,
        check: text(view, source, &on, create.check)?,
    };
    if on.policy(view, &create.name).is_ok() {
        return Err(on.taken(&create.name));
    }
    on.hold(session, view)?;
    session.put(Kind::Policy, &kept::key(on.0.oid, &create.name), Some(new.body()))?;
    Ok("CREATE POLICY")
}

fn own_use(on: &On) -> bound::Use {
    bound::Use::of_table(on.0.table.as_ref().expect("policies are on tables"))
}

/// A condition as it is kept: its text with its names bound, and what it names, its own table first.
fn text(view: &View, source: Source<'_>, on: &On, said: Option<Said>) -> Result<Option<Json>> {
    let Some(said) = said else { return Ok(None) };
    let mut uses = vec![own_use(on)];
    let names = Names::new(view);
    let failed = |e: onlap_pg::Error| sql_error(&e, source.text);
    let name = &on.0.name;
    let path = [name.schema.as_str().into(), name.name.as_str().into()];
    let schema = &names as &dyn bind::Schema;
    let missing = || crate::view::no_table(std::slice::from_ref(&name.name));
    let relation = schema.relation(&path).map_err(failed)?.ok_or_else(missing)?;
    let within = (schema, names.catalog());
    let (tree, query) =
        bind::policy_condition(source.tree, said.expr, &relation, within).map_err(failed)?;
    needs::must_reach(view, &tree, query)?;
    must_be_kept(&names, &tree, query)?;
    let mut resolve = |parts: &[String]| super::view::stands_for(view, parts);
    let edits = frozen::literals(view, &tree, source.text);
    let (text, more) = bound::bind_expr(source.tree, (source.text, edits), said, &mut resolve);
    for used in more {
        if !uses.iter().any(|known| known.oid == used.oid) {
            uses.push(used);
        }
    }
    note_columns(&names, &tree, query, &mut uses, on.0.oid);
    bound::keep(view, &uses)?;
    Ok(Some(kept::text_body(&called::qualified(view, &text, true), &uses)))
}

/// Fails where it has what Onlap does not ask of rows that are written.
fn must_be_kept(names: &Names<'_>, tree: &Bound, query: QueryId) -> Result<()> {
    let mut system = false;
    tree.visit_query(query, 0, &mut |id, inside| {
        system |= matches!(tree.expr(id), Expr::Var { entry: 1, column, up } if *up == inside && *column < 0);
        true
    });
    if system {
        return Err(SqlError::unsupported("system columns in a policy"));
    }
    names.must_have_kernels(tree, query)
}

/// Notes which columns a condition names of each table.
fn note_columns(
    names: &Names<'_>,
    tree: &Bound,
    query: QueryId,
    uses: &mut [bound::Use],
    own: u32,
) {
    let mut named: Vec<(u32, u32)> = Vec::new();
    for query in tree.query_ids() {
        named.extend(needs::columns_named(names, tree, query));
    }
    tree.visit_part(Part::Query(query), 0, &mut |id, inside| {
        if let Expr::Var { entry: 1, column, up } = tree.expr(id)
            && up + 1 == inside
        {
            named.extend(needs::column_of(names, own, *column));
        }
        true
    });
    for used in uses {
        let reads = named.iter().filter(|(oid, _)| *oid == used.oid);
        used.reads.extend(reads.map(|(_, column)| *column));
        used.reads.sort_unstable();
        used.reads.dedup();
    }
}

fn alter(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    alter: &AlterPolicy,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let roles = alter.roles.as_ref().map(|named| roles(view, named, client)).transpose()?;
    let on = On::named(view, source, &alter.on)?;
    // What it says is bound before it is looked for, as in PostgreSQL.
    let using = text(view, source, &on, alter.using)?;
    let check = text(view, source, &on, alter.check)?;
    let policy = on.policy(view, &alter.name)?;
    match policy.command {
        "r" | "d" if check.is_some() => {
            return Err(syntax("only USING expression allowed for SELECT, DELETE"));
        }
        "a" if using.is_some() => {
            return Err(syntax("only WITH CHECK expression allowed for INSERT"));
        }
        _ => {}
    }
    let mut body = policy.object.body.clone();
    if let Some(roles) = roles {
        body["roles"] = json!(roles);
    }
    if let Some(using) = using {
        body["using"] = using;
    }
    if let Some(check) = check {
        body["check"] = check;
    }
    on.hold(session, view)?;
    session.put(Kind::Policy, &policy.key(), Some(body))?;
    Ok("ALTER POLICY")
}

fn rename(
    session: &mut Session,
    view: &View,
    (name, on, to): (&str, &[onlap_pg::ast::Name], &str),
) -> Result<&'static str> {
    let on = On::find(view, &strings(on))?;
    on.must_own(view)?;
    if on.policy(view, to).is_ok() {
        return Err(on.taken(to));
    }
    let policy = on.policy(view, name)?;
    on.hold(session, view)?;
    session.rename(Kind::Policy, &policy.key(), &kept::key(on.0.oid, to))?;
    Ok("ALTER POLICY")
}

fn drop(
    session: &mut Session,
    view: &View,
    (skip, name, on): (bool, &str, &[onlap_pg::ast::Name]),
    client: &mut dyn Client,
) -> Result<&'static str> {
    const TAG: &str = "DROP POLICY";
    let of = On::find(view, &strings(on));
    let found = match &of {
        Ok(of) => of.policy(view, name).map(|policy| ((of, policy), &of.0)),
        Err(e) => Err(e.clone()),
    };
    let dropped = Dropped { skip, what: "policy", name, on };
    let Some((on, policy)) = dropped.found(view, client, found)? else { return Ok(TAG) };
    on.hold(session, view)?;
    forget_one(session, &policy)?;
    Ok(TAG)
}

/// ENABLE, DISABLE, FORCE and NO FORCE of a table whose owner asks.
///
/// # Errors
/// Those of waits for locks.
pub fn set_security(
    session: &mut Session,
    view: &View,
    table: &Name,
    to: RowSecurity,
) -> Result<()> {
    let on = On::find(view, &[table.schema.clone(), table.name.clone()])?;
    on.hold(session, view)?;
    let objects = view.instance.objects().with(&session.current()?.pending);
    let mut security = Security::of(&objects, on.0.oid);
    match to {
        RowSecurity::Enabled(on) => security.enabled = on,
        RowSecurity::Forced(on) => security.forced = on,
    }
    let is_usual = security == Security::default();
    let body = (!is_usual).then(|| security.body());
    session.put(Kind::RowSecurity, &on.0.oid.to_string(), body)
}

/// What PostgreSQL calls it.
pub fn action(to: RowSecurity) -> &'static str {
    match to {
        RowSecurity::Enabled(true) => "ENABLE ROW SECURITY",
        RowSecurity::Enabled(false) => "DISABLE ROW SECURITY",
        RowSecurity::Forced(true) => "FORCE ROW SECURITY",
        RowSecurity::Forced(false) => "NO FORCE ROW SECURITY",
    }
}

/// Why a view has no row security, if that is what is asked for of one.
///
/// # Errors
/// `42501`: it is another's.
pub fn of_view(view: &View, parts: &[String], changes: &[TableChange]) -> Result<Option<SqlError>> {
    let asked = changes.iter().find_map(|change| match change {
        TableChange::RowSecurity(to) => Some(*to),
        _ => None,
    });
    let (Some(to), Some(Seen::View(name))) = (asked, view.find(parts)?) else { return Ok(None) };
    view.must_own(Action::Alter, &name, Found::View)?;
    let text =
        format!("ALTER action {} cannot be performed on relation \"{}\"", action(to), name.name);
    let detail = "This operation is not supported for views.";
    Ok(Some(SqlError::new("42809", text).detail(detail)))
}

/// Drops a policy.
///
/// # Errors
/// The transaction has ended.
pub fn forget_one(session: &mut Session, policy: &Policy<'_>) -> Result<()> {
    session.temporary.is_private = false;
    session.catalog_changed()?;
    session.put(Kind::Comment, &format!("{}:0", policy.oid()), None)?;
    session.put(Kind::Policy, &policy.key(), None)
}

/// Drops the policies of a table that goes.
///
/// # Errors
/// The transaction has ended.
pub fn forget(session: &mut Session, view: &View, relation: u32) -> Result<()> {
    let key = relation.to_string();
    if view.objects.get(Kind::RowSecurity, &key).is_some() {
        session.put(Kind::RowSecurity, &key, None)?;
    }
    kept::of_relation(&view.objects, relation).iter().try_for_each(|of| forget_one(session, of))
}

/// Policies of other tables that name a table or view.
pub fn users(view: &View, oid: u32) -> Vec<Policy<'_>> {
    let uses = |policy: &Policy<'_>| policy.relation != oid && !policy.uses_of(oid).is_empty();
    by_age(kept::all(&view.objects).filter(uses).collect())
}

/// Policies that name a column of a table, by its number from 1.
pub fn users_of_column(view: &View, oid: u32, column: u32) -> Vec<Policy<'_>> {
    let uses =
        |policy: &Policy<'_>| policy.uses_of(oid).iter().any(|used| used.reads.contains(&column));
    by_age(kept::all(&view.objects).filter(uses).collect())
}

fn by_age(mut policies: Vec<Policy<'_>>) -> Vec<Policy<'_>> {
    policies.sort_by_key(|policy| policy.object.number);
    policies
}

/// The OID of a policy that a comment is on.
///
/// # Errors
/// There is none; the role may not.
pub fn commented(view: &View, name: &str, on: &[onlap_pg::ast::Name]) -> Result<u32> {
    let on = On::find(view, &strings(on))?;
    let oid = on.policy(view, name)?.oid();
    view.must_own(Action::CommentPart, &on.0.name, on.0.found)?;
    Ok(oid)
}

/// Takes roles from policies, as DROP OWNED does; one that is for no role any more goes.
///
/// # Errors
/// The transaction has ended.
pub fn leave_roles(session: &mut Session, view: &View, gone: &[u32]) -> Result<()> {
    for policy in kept::all(&view.objects) {
        let before = policy.roles();
        let roles: Vec<u32> = before.iter().copied().filter(|of| !gone.contains(of)).collect();
        if roles.len() == before.len() || !view.judge.owns(crate::rights::Key::of(policy.relation))
        {
            continue;
        }
        if roles.is_empty() {
            forget_one(session, &policy)?;
            continue;
        }
        let mut body = policy.object.body.clone();
        body["roles"] = json!(roles);
        session.temporary.is_private = false;
        session.catalog_changed()?;
        session.put(Kind::Policy, &policy.key(), Some(body))?;
    }
    Ok(())
}
