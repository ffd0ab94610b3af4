//! What uses something of an extension?
//!
//! Columns, domains and composite types its types; functions of the database in what they take and give; views, defaults,
//! indexes and generated columns whatever their texts name.

use std::sync::Arc;

use onlap::{DerivedSchema, TableSchema};
use onlap_pg::ast::Statement;
use onlap_pg::grammar;

use crate::catalog::extensions::Created;
use crate::catalog::functions::Function;
use crate::catalog::names::quote;
use crate::catalog::{Kind, Name, Objects};
use crate::ddl::change::tell_cascades;
use crate::ddl::drop as dropping;
use crate::ddl::function::users::User as Text;
use crate::ddl::made::uses as types;
use crate::error::{Result, SqlError, state};
use crate::formulas;
use crate::parse;
use crate::query::Bound;
use crate::session::Session;
use crate::view::View;
use crate::wire::Client;

/// What uses something of an extension.
enum User {
    /// What has one of its types.
    Type(types::User),
    /// What has a text that names something of it.
    Text(Text),
    /// An index, by schema and name.
    Index(Name),
    /// A generated column, as messages call it.
    Generated(String),
    /// A function of the database.
    Function(Arc<Function>, String),
}

impl User {
    fn shown(&self, view: &View) -> Result<String> {
        Ok(match self {
            User::Type(user) => user.shown(view),
            User::Text(user) => user.shown(view)?,
            User::Index(name) => format!("index {}", shown_name(view, name)),
            User::Generated(what) => what.clone(),
            User::Function(_, shown) => format!("function {shown}"),
        })
    }
}

/// A name, with its schema where it alone means nothing.
fn shown_name(view: &View, name: &Name) -> String {
    match view.path().any(|schema| schema == name.schema) {
        true => quote(&name.name),
        false => format!("{}.{}", quote(&name.schema), quote(&name.name)),
    }
}

/// Something that would go with an extension, and what of it that uses.
struct Dependent {
    user: User,
    of: String,
}

/// What of an extension an OID is, as messages call it.
fn part(view: &View, created: &Created, oid: u32) -> String {
    let catalog = crate::query::catalog();
    let extension = created.extension;
    if let Some(proc) = extension.procs().find(|proc| proc.oid == oid) {
        let types: Vec<String> = proc.arguments.iter().map(|oid| catalog.shown(*oid)).collect();
        return format!("function {}({})", proc.name, types.join(","));
    }
    if let Some(found) = catalog.operator(oid) {
        let side = |oid| if oid == 0 { "none".to_string() } else { catalog.shown(oid) };
        return format!("operator {}({},{})", found.name, side(found.left), side(found.right));
    }
    let shown = view.objects.made_types().shown_to(view, oid);
    format!("type {}", shown.unwrap_or_else(|| catalog.shown(oid)))
}

/// What uses something of an extension.
fn dependents(view: &View, objects: &Objects, created: &Created) -> Result<Vec<Dependent>> {
    let extension = created.extension;
    let mut found = Vec::new();
    // As in PostgreSQL, what has arrays comes first.
    let types: Vec<_> = extension.types().collect();
    for ty in types.into_iter().rev() {
        let of = part(view, created, ty.oid);
        for user in types::of_type(view, objects, ty.oid)? {
            // Views are found by their texts, functions below.
            use types::User as Of;
            if !matches!(user, Of::View(_) | Of::Function(_) | Of::OfFunction(_)) {
                found.push(Dependent { user: User::Type(user), of: of.clone() });
            }
        }
    }
    for function in objects.functions().of_database(&view.database) {
        let mut all = function.parameters.iter().map(|parameter| parameter.ty);
        let used = all.find(|ty| extension.has(*ty)).or(Some(function.result));
        if let Some(oid) = used.filter(|oid| extension.has(*oid)) {
            let user = User::Function(Arc::clone(function), function.shown(view));
            found.push(Dependent { user, of: part(view, created, oid) });
        }
    }
    texts(view, objects, created, &mut found)?;
    for (name, table) in view.tables()? {
        of_table(view, created, (&name, &table.schema()), &mut found);
    }
    Ok(found)
}

/// Views and defaults.
fn texts(
    view: &View,
    objects: &Objects,
    created: &Created,
    found: &mut Vec<Dependent>,
) -> Result<()> {
    let mut add = |text: &str, user: Text| {
        let used = Bound::must(view, text, parse::depth_of(text), &[]).ok();
        let used = used.and_then(|bound| bound.names(&|oid| created.extension.has(oid)));
        if let Some(oid) = used {
            found.push(Dependent { user: User::Text(user), of: part(view, created, oid) });
        }
    };
    for (engine, _) in objects.of_kind(Kind::View) {
        let (database, name) = Name::of_engine(engine);
        if database == view.database {
            let text = format!("SELECT * FROM {}.{}", quote(&name.schema), quote(&name.name));
            add(&text, Text::View(engine.to_string()));
        }
    }
    let tables = view.tables()?;
    for (key, object) in objects.of_kind(Kind::Default) {
        let table = key.split_once(':').and_then(|(table, _)| table.parse().ok());
        let is_here = tables.iter().any(|(_, of)| Some(of.schema().id.0) == table);
        if let Some(sql) = object.body["sql"].as_str().filter(|_| is_here) {
            add(&format!("SELECT {sql}"), Text::Default(key.to_string()));
        }
    }
    Ok(())
}

/// Indexes and generated columns of a table.
fn of_table(
    view: &View,
    created: &Created,
    (name, table): (&Name, &TableSchema),
    found: &mut Vec<Dependent>,
) {
    let used = |program: &str| {
        let made = formulas::made(program).ok()?;
        let tree = &made.tree;
        crate::query::named_in(&tree.0, tree.1, &|oid| created.extension.has(oid))
    };
    let of_derived = |derived: &DerivedSchema| used(&derived.program);
    for index in &table.indexes {
        let ids = index.key.iter().map(|part| part.column).chain(index.filter);
        let derived = ids.filter_map(|id| table.derived(id));
        if let Some(oid) = derived.into_iter().find_map(of_derived) {
            let user = User::Index(Name::new(&name.schema, &index.name));
            found.push(Dependent { user, of: part(view, created, oid) });
        }
    }
    for generated in &table.generated {
        if let (Some(oid), Some(at)) = (used(&generated.program), table.position(generated.column))
        {
            let what =
                format!("column {} of table {}", table.columns[at].name, shown_name(view, name));
            found.push(Dependent { user: User::Generated(what), of: part(view, created, oid) });
        }
    }
}

/// Drops what uses extensions, where CASCADE was said.
///
/// # Errors
/// `2BP01`: something uses one; `0A000`.
pub fn drop(
    session: &mut Session,
    view: &View,
    all: &[Created],
    cascade: bool,
    client: &mut dyn Client,
) -> Result<()> {
    let mut found = Vec::new();
    for created in all {
        found.extend(dependents(view, &view.objects, created)?);
    }
    let shown: Vec<String> = found.iter().map(|one| one.user.shown(view)).collect::<Result<_>>()?;
    if !found.is_empty() && !cascade {
        let lines = shown.iter().zip(&found);
        let lines: Vec<String> =
            lines.map(|(what, one)| format!("{what} depends on {}", one.of)).collect();
        return Err(in_use(all, &lines));
    }
    let gone: Vec<String> = shown.iter().map(|what| format!("drop cascades to {what}")).collect();
    tell_cascades(client, &gone);
    // A column takes its default with it, and an index may go with a column.
    let (types, others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|one| matches!(one.user, User::Type(_)));
    for one in others.into_iter().chain(types) {
        let shown = one.user.shown(view)?;
        match one.user {
            User::Type(user) => types::cascade(session, view, user, client)?,
            User::Text(user) => user.drop(session, view)?,
            User::Index(name) => run(session, view, &dropped("INDEX", &name), client)?,
            User::Function(function, _) => {
                crate::ddl::function::with_users(session, view, &function)?;
            }
            User::Generated(_) => {
                let text = "DROP … CASCADE of an extension that this has";
                return Err(SqlError::unsupported(text).detail(shown));
            }
        }
    }
    Ok(())
}

fn dropped(kind: &str, name: &Name) -> String {
    format!("DROP {kind} {}.{}", quote(&name.schema), quote(&name.name))
}

/// Carries out a DROP of something that uses an extension.
fn run(session: &mut Session, view: &View, text: &str, client: &mut dyn Client) -> Result<()> {
    let tree = grammar::parse(text).map_err(|e| crate::query::sql_error(&e, text))?;
    if let [one] = &tree.statements[..]
        && let Statement::Object(object) = &one.statement
        && let onlap_pg::ast::Object::Drop(drop) = &**object
    {
        dropping::drop(session, view, drop, client)?;
    }
    Ok(())
}

fn in_use(all: &[Created], lines: &[String]) -> SqlError {
    let text = match all {
        [one] => {
            let name = one.extension.name;
            format!("cannot drop extension {name} because other objects depend on it")
        }
        _ => "cannot drop desired object(s) because other objects depend on them".into(),
    };
    SqlError::new(state::IN_USE, text)
        .detail(lines.join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too.")
}

/// Fails where something uses an extension that goes with something else.
///
/// # Errors
/// `0A000`.
pub fn must_be_unused(session: &mut Session, view: &View, created: &Created) -> Result<()> {
    let objects = view.instance.objects().with(&session.current()?.pending);
    match dependents(view, &objects, created)?.first() {
        None => Ok(()),
        Some(one) => {
            let text = "DROP … CASCADE of an extension that this has";
            Err(SqlError::unsupported(text).detail(one.user.shown(view)?))
        }
    }
}
