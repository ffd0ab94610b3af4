//! What does a table get from one that it is to be like?
//!
//! LIKE copies columns, and what INCLUDING names: it is the new table's own from then on. Keys become constraints with names of
//! the new table; other indexes are made by their statements when the table is there, and comments are written last. Thread
//! safety: runs in the session's thread.

use std::cell::RefCell;

use onlap::{ColumnDefault, IndexId, IndexSchema, Table, TableSchema};
use onlap_pg::ast::{self, Path, Statement};
use onlap_pg::print::Look;

use super::alter::{Again, make_again};
use super::columns::{Declared, Default, OwnSequence};
use super::constraints::{Collector, Constraint, Key};
use super::{defaults, generated, index, sequence};
use crate::catalog::names::quote;
use crate::catalog::storage::Storage;
use crate::catalog::{Kind, Name, oids};
use crate::columns::Types;
use crate::error::{Result, SqlError};
use crate::formulas::{self, Shown};
use crate::parse;
use crate::rights::Action;
use crate::rights::ask::of_table;
use crate::session::Session;
use crate::session::lent::Told;
use crate::source::{Source, strings};
use crate::system::classes::is_constraint;
use crate::system::text;
use crate::view::View;

/// A table that another is like.
pub struct Like {
    table: Table,
    comments: bool,
    constraints: bool,
    defaults: bool,
    generated: bool,
    identity: bool,
    indexes: bool,
    /// Indexes that keep its keys, and what those are called that keep them in the new table.
    keys: RefCell<Vec<(IndexId, String)>>,
}

impl Like {
    /// What a statement says.
    ///
    /// # Errors
    /// There is no such table; the role may not read it.
    pub fn of(view: &View, table: &Path, options: &[(bool, ast::Name)]) -> Result<Like> {
        let (_, table) = view.table(&strings(table))?;
        view.must(&[of_table(Action::Imitate, &table.schema(), Vec::new())])?;
        let (comments, constraints, defaults) = (false, false, false);
        let (generated, identity, indexes) = (false, false, false);
        let keys = RefCell::default();
        let mut like =
            Like { table, comments, constraints, defaults, generated, identity, indexes, keys };
        for (including, what) in options {
            let Like { comments, constraints, defaults, generated, identity, indexes, .. } =
                &mut like;
            match &**what {
                "comments" => *comments = *including,
                "constraints" => *constraints = *including,
                "defaults" => *defaults = *including,
                "generated" => *generated = *including,
                "identity" => *identity = *including,
                "indexes" => *indexes = *including,
                "all" => {
                    for one in [comments, constraints, defaults, generated, identity, indexes] {
                        *one = *including;
                    }
                }
                // Of storage, statistics and compression nothing is kept.
                _ => {}
            }
        }
        Ok(like)
    }

    /// Its columns.
    ///
    /// # Errors
    /// `XX001`.
    pub fn columns(&self, view: &View) -> Result<Vec<Declared<'static>>> {
        let schema = self.table.schema();
        let types = Types::of(&view.objects, &schema);
        (0..schema.columns.len()).map(|at| self.column(view, (&schema, &types), at)).collect()
    }

    fn column(
        &self,
        view: &View,
        (schema, types): (&TableSchema, &Types),
        at: usize,
    ) -> Result<Declared<'static>> {
        let column = &schema.columns[at];
        let identity = defaults::identity(view, schema.id, column.id);
        let sequence = || {
            let Some(ColumnDefault::NextVal(id)) = &column.default else { return None };
            let sequences = view.scope.tx().map(|tx| tx.sequences()).unwrap_or_default();
            sequences.into_iter().find(|s| s.schema().id == *id)
        };
        let mut made = Declared::plain(column.name.clone(), types[at]);
        made.not_null = !column.nullable;
        made.collation = types.own_collation(at);
        made.default = match &column.default {
            _ if !self.defaults || identity.is_some() => Default::None,
            Some(ColumnDefault::Constant(value)) => {
                Default::Constant(value.clone(), defaults::written(view, schema.id, column.id))
            }
            Some(ColumnDefault::NextVal(_)) => {
                sequence().map_or(Default::None, |s| Default::Sequence(s.name().to_string()))
            }
            None => defaults::expression(view, schema.id, column.id)
                .map_or(Default::None, Default::Computed),
        };
        if self.generated {
            made.generated = generated::passed_on(schema, column.id)?;
        }
        if let (true, Some(always), Some(known)) = (self.identity, identity, sequence()) {
            let options = sequence::Options::like(&known, column.ty);
            made.sequence = Some(OwnSequence { options, identity: Some(always) });
        }
        Ok(made)
    }

    /// Its constraints, which are the new table's.
    ///
    /// # Errors
    /// `42P16`: the new one has a primary key already.
    pub fn constraints(&self, view: &View, collector: &mut Collector<'_>) -> Result<()> {
        let schema = self.table.schema();
        if self.constraints {
            collector.like(&schema);
        }
        let is_key = |of: &&IndexSchema| of.excludes().is_none() && is_constraint(view, of);
        let keys = schema.indexes.iter().filter(|_| self.indexes).filter(is_key);
        for index in keys {
            let key = Key {
                name: String::new(),
                columns: names(&schema, index.key.iter().map(|part| part.column)),
                include: names(&schema, index.include.iter().copied()),
                nulls_equal: index.nulls_equal(),
                time: index.time(),
                options: Storage::of(&view.objects, oids::of_index(index.id)).options,
            };
            collector.key_like(key, index.is_primary())?;
            if let Some(Constraint::Primary(made) | Constraint::Unique(made)) = collector.all.last()
            {
                self.keys.borrow_mut().push((index.id, made.name.clone()));
            }
        }
        Ok(())
    }
}

fn names(schema: &TableSchema, ids: impl Iterator<Item = onlap::ColumnId>) -> Vec<String> {
    let places = ids.filter_map(|id| schema.position(id));
    places.map(|at| schema.columns[at].name.clone()).collect()
}

/// Makes of a new table what it can have only once it is there: indexes that are no constraints, and comments.
///
/// # Errors
/// Those of the indexes.
pub fn complete(session: &mut Session, name: &Name, like: &Like) -> Result<()> {
    let schema = like.table.schema();
    let view = session.view()?;
    let own = |view: &View| -> Result<_> {
        Ok(view.scope.tx()?.table(&name.engine(&view.database))?.schema())
    };
    if like.comments {
        let made = own(&view)?;
        let (from, to) = (oids::of_table(schema.id), oids::of_table(made.id));
        for column in &schema.columns {
            let Some(at) = made.position_by_name(&column.name) else { continue };
            let number = |id: onlap::ColumnId| id.0 + 1;
            let before = format!("{from}:{}", number(column.id));
            copy_comment(session, &view, before, format!("{to}:{}", number(made.columns[at].id)))?;
        }
        for check in schema.checks.iter().filter(|_| like.constraints) {
            let part = |of: &TableSchema| oids::of_part(of.id, "check", &check.name);
            copy_comment(
                session,
                &view,
                format!("{}:0", part(&schema)),
                format!("{}:0", part(&made)),
            )?;
        }
    }
    if !like.indexes {
        return Ok(());
    }
    let keys = like.keys.borrow();
    for index in &schema.indexes {
        let new = match keys.iter().find(|(of, _)| *of == index.id) {
            Some((_, made)) => own(&view)?.index_by_name(made).cloned(),
            None => {
                let before = own(&session.view()?)?;
                make_index(session, name, (&schema, index))?;
                let made = own(&session.view()?)?;
                let is_new = |of: &&IndexSchema| before.index(of.id).is_none();
                made.indexes.iter().find(is_new).cloned()
            }
        };
        if let (true, Some(new)) = (like.comments, new) {
            let key = |of: &IndexSchema| format!("{}:0", oids::of_index(of.id));
            copy_comment(session, &view, key(index), key(&new))?;
        }
    }
    Ok(())
}

fn copy_comment(session: &mut Session, view: &View, from: String, to: String) -> Result<()> {
    match view.objects.get(Kind::Comment, &from) {
        Some(object) => session.put(Kind::Comment, &to, Some(object.body.clone())),
        None => Ok(()),
    }
}

/// Makes an index by the statement that made that of the other table, without its name.
fn make_index(
    session: &mut Session,
    name: &Name,
    (schema, of): (&TableSchema, &IndexSchema),
) -> Result<()> {
    session.catalog_changed()?;
    let view = &session.view()?;
    let storage = Storage::of(&view.objects, oids::of_index(of.id));
    let on = format!("{}.{}", quote(&name.schema), quote(&name.name));
    let catalog = formulas::catalog_of(view);
    if of.excludes().is_some() {
        let said = text::exclusion(schema, of, (Look::PLAIN, &storage), Shown::to_all(&catalog));
        let again = Again::constraint(None, &of.name, format!("ALTER TABLE ONLY {on} ADD {said}"));
        return make_again(session, &name.engine(&view.database), &again);
    }
    let sql = text::index(schema, of, &on, (Look::PLAIN, &storage), Shown::to_all(&catalog));
    let broken = || SqlError::defect("a definition is not what its text says");
    let all = parse::statements(&sql)?;
    let [parsed] = &all[..] else { return Err(broken()) };
    let source = Source { tree: &parsed.tree, text: &sql, written: &sql, depth: parsed.depth };
    let Some(Statement::CreateIndex(create)) =
        source.tree.statements.first().map(|of| &of.statement)
    else {
        return Err(broken());
    };
    let create =
        ast::CreateIndex { name: None, invisible: storage.invisible, ..(**create).clone() };
    index::create(session, view, source, &create, &mut Told::new(view)).map(drop)
}
