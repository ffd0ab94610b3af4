//! What goes along with what is dropped?
//!
//! From what a statement names, over what depends on it, to what depends on that. What was met once is not gone through again,
//! so that things that depend on each other end it as all others do, and the way is kept on a stack of its own: no chain of views
//! is too long. The order is PostgreSQL's: what depends on something comes behind it, the oldest first, as far as numbers tell.
//! What belongs to something that goes (a column to its table) is not told.

mod carried;
mod carry;
mod members;
mod shown;
mod texts;
mod uses;

use std::collections::HashSet;

use onlap::{ColumnId, TableId};

use crate::catalog::{Kind, Name, bound, names, oids};
use crate::ddl::change::{LINES, anew, first_lines, tell_cascades};
use crate::ddl::sequence;
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::view::View;
use crate::wire::Client;

pub use carried::named;
pub use carry::{forget_tables, out};
use uses::{Edge, Uses};

/// Something that can go, or that others depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Object {
    /// A schema, by its name.
    Schema(String),
    /// An extension, by its name.
    Extension(&'static str),
    /// Something that an extension has, by its OID.
    Member(u32),
    /// A table or a materialized view.
    Table(TableId),
    /// A view, by its OID.
    View(u32),
    /// A sequence, by the engine's form of its name.
    Sequence(String),
    /// An index, by its name.
    Index(TableId, String),
    /// A column.
    Column(TableId, ColumnId),
    /// A column's default.
    Default(TableId, ColumnId),
    /// A foreign key, by the table that has it and its name.
    Key(TableId, String),
    /// A rule, by its relation and its name.
    Rule(u32, String),
    /// A trigger, by its relation and its name.
    Trigger(u32, String),
    /// A policy, by its table and its name.
    Policy(u32, String),
    /// A function or procedure, by its OID.
    Function(u32),
    /// A type of the database, by its OID.
    Type(u32),
    /// The type of a relation's rows, or one of arrays, which goes with what it is of.
    Part(u32),
    /// A field of a composite type.
    Field(u32, String),
    /// A condition of a domain.
    Check(u32, String),
    /// A condition of a table.
    Constraint(TableId, String),
}

/// What goes along, the first to go first.
pub struct Closure<'a> {
    view: &'a View,
    roots: Vec<Object>,
    /// What goes, and what it depends on; roots on nothing.
    all: Vec<(Object, Option<Object>)>,
    /// What goes anyway, and is not told.
    untold: HashSet<Object>,
}

enum Next {
    Met(Edge, Option<Object>),
    Done(Object, Option<Object>),
}

impl<'a> Closure<'a> {
    /// What goes along with some objects.
    ///
    /// # Errors
    /// The transaction has ended; `57014`.
    pub fn of(view: &'a View, roots: Vec<Object>) -> Result<Closure<'a>> {
        let uses = Uses::of(view)?;
        let mut met: HashSet<Object> = HashSet::new();
        let mut untold: HashSet<Object> = roots.iter().cloned().collect();
        let mut all = Vec::new();
        let first = |root: &Object| Next::Met(Edge::to(root.clone(), 0), None);
        let mut open: Vec<Next> = roots.iter().rev().map(first).collect();
        while let Some(next) = open.pop() {
            view.scope.go_on()?;
            let (edge, of) = match next {
                Next::Met(edge, of) => (edge, of),
                Next::Done(object, of) => {
                    all.push((object, of));
                    continue;
                }
            };
            if edge.silent {
                untold.insert(edge.object.clone());
            }
            if !met.insert(edge.object.clone()) {
                continue;
            }
            let mut found = uses.of_object(&edge.object)?;
            found.sort_by_key(|edge| edge.order);
            let from = edge.object.clone();
            open.push(Next::Done(edge.object, of));
            open.extend(found.into_iter().map(|edge| Next::Met(edge, Some(from.clone()))));
        }
        let mut closure = Closure { view, roots, all, untold };
        closure.leave_out_parts(&uses);
        Ok(closure)
    }

    /// What belongs to something that goes is not told, and needs no drop of its own.
    fn leave_out_parts(&mut self, uses: &Uses<'_>) {
        let there: HashSet<Object> = self.all.iter().map(|(object, _)| object.clone()).collect();
        let goes = |object: &Object| there.contains(object);
        let relation = |oid: u32| {
            goes(&Object::View(oid)) || uses.table(oid).is_some_and(|id| goes(&Object::Table(id)))
        };
        let has_column = |table: TableId, columns: &[ColumnId]| {
            columns.iter().any(|column| goes(&Object::Column(table, *column)))
        };
        let is_part = |object: &Object| match object {
            Object::Column(table, _) => goes(&Object::Table(*table)),
            Object::Default(table, column) => {
                goes(&Object::Table(*table)) || has_column(*table, &[*column])
            }
            Object::Key(table, name) => {
                goes(&Object::Table(*table)) || has_column(*table, &uses.key(*table, name))
            }
            Object::Index(table, name) => {
                goes(&Object::Table(*table)) || has_column(*table, &uses.index(*table, name))
            }
            Object::Constraint(table, name) => {
                goes(&Object::Table(*table)) || has_column(*table, &uses.check(*table, name))
            }
            Object::Rule(of, _) | Object::Trigger(of, _) | Object::Policy(of, _) => relation(*of),
            Object::Field(of, _) | Object::Check(of, _) => goes(&Object::Type(*of)),
            Object::Member(_) | Object::Part(_) => true,
            _ => false,
        };
        let roots: HashSet<&Object> = self.roots.iter().collect();
        self.all.retain(|(object, _)| roots.contains(object) || !is_part(object));
    }

    /// Drops it all, and tells what goes along.
    ///
    /// # Errors
    /// `2BP01`: something does, and CASCADE was not said; those of the engine.
    pub fn drop(self, session: &mut Session, cascade: bool, client: &mut dyn Client) -> Result<()> {
        self.hold()?;
        self.tell(cascade, client)?;
        carry::out(session, self.view, self.all.into_iter().map(|(object, _)| object).collect())
    }

    /// Keeps others from reading what goes by views of theirs.
    ///
    /// # Errors
    /// `40001`: one does since the statement began, which begins anew; those of waits for locks.
    fn hold(&self) -> Result<()> {
        let view = self.view;
        let mut going: Vec<u32> = Vec::new();
        let tables = view.tables()?;
        let views: Vec<(u32, &str)> = view
            .objects
            .of_kind(Kind::View)
            .map(|(engine, object)| (oids::of_object(object.number), engine))
            .collect();
        for (object, _) in &self.all {
            match object {
                Object::Table(id) => {
                    let found = tables.iter().find(|(_, table)| table.schema().id == *id);
                    let Some((_, table)) = found else { continue };
                    let name = table.name();
                    view.scope.tx()?.hold_name(&name)?;
                    let now = view.scope.tx()?.table(&name);
                    if now.map_or(true, |now| now.schema().id != *id) {
                        return Err(anew(view));
                    }
                    going.push(oids::of_table(*id));
                }
                Object::View(oid) => {
                    let Some((_, engine)) = views.iter().find(|(known, _)| known == oid) else {
                        continue;
                    };
                    view.scope.tx()?.hold_name(engine)?;
                    let newest = view.newest_objects();
                    if newest.get(Kind::View, engine) != view.objects.get(Kind::View, engine) {
                        return Err(anew(view));
                    }
                    going.push(*oid);
                }
                Object::Function(oid) => {
                    if let Some(function) = view.objects.functions().by_oid(*oid) {
                        crate::ddl::function::hold(view, &function.key())?;
                    }
                }
                Object::Schema(schema) => {
                    let name = names::of_schema(&view.database, schema);
                    view.scope.tx()?.hold_name(&name)?;
                    self.must_have_all_of(schema)?;
                }
                _ => {}
            }
        }
        let newest = view.newest_objects();
        for kind in [Kind::View, Kind::Materialized, Kind::Rule, Kind::Policy] {
            for (key, object) in newest.of_kind(kind) {
                let is_new = view.objects.get(kind, key) != Some(object);
                if is_new && bound::uses(&object.body).iter().any(|of| going.contains(&of.oid)) {
                    return Err(anew(view));
                }
            }
        }
        Ok(())
    }

    /// Fails where something has come into a schema that goes, which begins anew.
    fn must_have_all_of(&self, schema: &str) -> Result<()> {
        let view = self.view;
        let has = |wanted: &Object| self.all.iter().any(|(object, _)| object == wanted);
        let is_within = |engine: &str| {
            let (database, name) = Name::of_engine(engine.split('(').next().unwrap_or(engine));
            database == view.database && name.schema == schema
        };
        let is_new_table = |(name, table): &(Name, onlap::Table)| {
            name.schema == schema && !has(&Object::Table(table.schema().id))
        };
        let newest = view.newest_objects();
        let is_new = |kind: Kind| {
            let mut all = newest.of_kind(kind);
            all.any(|(key, _)| is_within(key) && view.objects.get(kind, key).is_none())
        };
        let kinds = [Kind::View, Kind::Type, Kind::Function];
        let sequences = view.scope.tx()?.sequences();
        let mut names = sequences.iter().map(onlap::Sequence::name).filter(|name| is_within(name));
        let has_new_sequence = names.any(|name| {
            let object = Object::Sequence(name.to_string());
            !has(&object) && sequence::owner(view, name).is_none()
        });
        match view.tables()?.iter().any(is_new_table)
            || kinds.into_iter().any(is_new)
            || has_new_sequence
        {
            true => Err(anew(view)),
            false => Ok(()),
        }
    }

    /// What goes along with the roots, the first to go first.
    pub fn others(self) -> Vec<Object> {
        let all = self.all.into_iter().map(|(object, _)| object);
        all.filter(|object| !self.roots.contains(object)).collect()
    }

    /// Says what goes along.
    ///
    /// # Errors
    /// `2BP01`: something does, and CASCADE was not said.
    pub fn tell(&self, cascade: bool, client: &mut dyn Client) -> Result<()> {
        let told = self.all.iter().rev().filter(|(object, _)| !self.untold.contains(object));
        let told: Vec<_> = told.collect();
        if told.is_empty() {
            return Ok(());
        }
        let uses = Uses::of(self.view)?;
        let line = |(object, of): &&(Object, Option<Object>)| {
            let what = uses.shown(object)?;
            Ok(match of {
                _ if cascade => format!("drop cascades to {what}"),
                Some(of) => format!("{what} depends on {}", uses.shown(of)?),
                None => what,
            })
        };
        let lines: Result<Vec<String>> = told.iter().take(LINES).map(line).collect();
        let lines = lines?;
        if cascade {
            tell_cascades(client, &lines, told.len());
            return Ok(());
        }
        let text = match &self.roots[..] {
            [one] => {
                let shown = uses.shown(one)?;
                format!("cannot drop {shown} because other objects depend on it")
            }
            _ => "cannot drop desired object(s) because other objects depend on them".into(),
        };
        let hint = "Use DROP ... CASCADE to drop the dependent objects too.";
        let error = SqlError::new(state::IN_USE, text).hint(hint);
        Err(error.detail(first_lines(&lines, told.len())))
    }
}

/// A table, a materialized view or a view, by the engine's form of its name.
pub fn relation(view: &View, engine: &str) -> Result<Object> {
    if let Some(object) = view.objects.get(crate::catalog::Kind::View, engine) {
        return Ok(Object::View(oids::of_object(object.number)));
    }
    Ok(Object::Table(view.scope.tx()?.table(engine)?.schema().id))
}

/// What is in a schema.
///
/// # Errors
/// The transaction has ended.
pub fn content(view: &View, schema: &str) -> Result<Vec<Object>> {
    let found = Uses::of(view)?.of_object(&Object::Schema(schema.to_string()))?;
    Ok(found.into_iter().map(|edge| edge.object).collect())
}

/// An object as messages call it.
///
/// # Errors
/// The transaction has ended.
pub fn shown(view: &View, object: &Object) -> Result<String> {
    Uses::of(view)?.shown(object)
}
