//! How does a relation get another name or schema?
//!
//! ALTER TABLE says so of any kind of relation, and ALTER INDEX gives any of them another name; the other words mean their own kind
//! alone. Thread safety: runs in the session's thread.

use onlap_pg::ast::{RelationKind, TableChange};

use super::{Named, relation};
use crate::catalog::names::TEMPORARY;
use crate::catalog::{Kind, Name, bound, oids};
use crate::ddl::naming::{self, Relation};
use crate::ddl::{index, materialized, sequence, temporary};
use crate::error::{Result, SqlError, state};
use crate::rights::Action;
use crate::source::Source;
use crate::view::View;

/// The tag of a statement.
pub fn tag(kind: RelationKind) -> &'static str {
    match kind {
        RelationKind::Table => "ALTER TABLE",
        RelationKind::View => "ALTER VIEW",
        RelationKind::Index => "ALTER INDEX",
        RelationKind::Sequence => "ALTER SEQUENCE",
        RelationKind::MaterializedView => "ALTER MATERIALIZED VIEW",
    }
}

fn wrong(text: String) -> SqlError {
    SqlError::new("42809", text)
}

/// Fails where what a name stands for is none of the relations that may be renamed or moved.
fn must_be_changeable(view: &View, parts: &[String]) -> Result<()> {
    naming::refuse_system(parts)?;
    let made = view.objects.made_types().named(view, parts);
    match made.filter(|made| made.composite().is_some()) {
        Some(made) => Err(wrong(format!("\"{}\" is a composite type", made.name.name))
            .hint("Use ALTER TYPE instead.")),
        None => Ok(()),
    }
}

/// Fails where a statement does not mean this kind of relation.
fn must_be_meant(
    view: &View,
    kind: RelationKind,
    (name, found): (&Name, Relation),
    renames: bool,
) -> Result<()> {
    let is_materialized = || {
        let engine = name.engine(&view.database);
        found == Relation::Table && materialized::word(view, &engine) != "table"
    };
    let word = match kind {
        RelationKind::View if found != Relation::View => "a view",
        RelationKind::Sequence if found != Relation::Sequence => "a sequence",
        RelationKind::MaterializedView if !is_materialized() => "a materialized view",
        _ if found == Relation::Index && !renames => {
            return Err(wrong(format!("cannot change schema of index \"{}\"", name.name))
                .hint("Change the schema of the table instead."));
        }
        _ => return Ok(()),
    };
    Err(wrong(format!("\"{}\" is not {word}", name.name)))
}

/// Fails where the name is taken, and keeps it.
///
/// # Errors
/// `42P07`; those of waits for locks.
pub fn check_free(view: &View, to: &Name, renames: bool) -> Result<()> {
    let in_schema = || {
        let (name, schema) = (&to.name, &to.schema);
        format!("relation \"{name}\" already exists in schema \"{schema}\"")
    };
    match naming::check_free(view, to) {
        Err(e) if !renames && e.state() == state::DUPLICATE_TABLE => {
            Err(SqlError::new(state::DUPLICATE_TABLE, in_schema()))
        }
        done => done,
    }
}

impl Named<'_> {
    /// RENAME TO and SET SCHEMA, of what a name stands for.
    pub(super) fn moved(
        mut self,
        source: Source<'_>,
        kind: RelationKind,
        change: &TableChange,
    ) -> Result<&'static str> {
        let (view, tag) = (self.view, tag(kind));
        let renames = matches!(change, TableChange::Rename(_));
        if let (TableChange::Schema(to), [.., schema, _]) = (change, self.parts)
            && view.is_other_temporary(schema)
        {
            temporary::check_move(schema, to)?;
        }
        let Some((name, found)) = relation(view, self.parts)? else {
            must_be_changeable(view, self.parts)?;
            return self.missing(crate::view::no_table(self.parts), tag);
        };
        if found == Relation::Table && view.is_other_temporary(&name.schema) {
            view.table_to("alter", self.parts)?;
        }
        view.must_own(Action::Alter, &name, found)?;
        if renames {
            view.must_create_in(&name.schema)?;
        }
        must_be_meant(view, kind, (&name, found), renames)?;
        let to = match change {
            TableChange::Rename(to) => Name::new(&name.schema, &**to),
            TableChange::Schema(to) => Name::new(&**to, &name.name),
            _ => return Err(SqlError::defect("neither a name nor a schema")),
        };
        match found {
            Relation::Table => {
                self.table(source, std::slice::from_ref(change))?;
            }
            Relation::View => self.move_view(&name, &to, renames)?,
            Relation::Index => self.rename_index(&to)?,
            Relation::Sequence => {
                let (name, found) = sequence::find(view, self.parts)?;
                if renames || to != name {
                    sequence::rename(self.session, view, (&name, &found), &to)?;
                }
            }
        }
        Ok(tag)
    }

    /// RENAME COLUMN, of a table or a view, whichever of the two the statement says.
    pub(super) fn renamed_column(
        mut self,
        source: Source<'_>,
        kind: RelationKind,
        (change, from, to): (&TableChange, &str, &str),
    ) -> Result<&'static str> {
        let (view, changes) = (self.view, std::slice::from_ref(change));
        match (relation(view, self.parts)?, kind) {
            (Some((name, Relation::View)), RelationKind::Table | RelationKind::View) => {
                self.rename_column_of_view(&name, from, to)?;
                Ok(tag(kind))
            }
            (_, RelationKind::MaterializedView) => self.of_materialized(source, changes),
            (None, _) => self.missing(crate::view::no_table(self.parts), tag(kind)),
            (_, RelationKind::Index) => self.of_index(changes),
            (_, RelationKind::Sequence) => self.of_sequence(changes),
            (_, RelationKind::Table | RelationKind::View) => {
                self.table(source, changes).map(|_| tag(kind))
            }
        }
    }

    /// What reads the view goes on to call the column as it did.
    fn rename_column_of_view(&mut self, name: &Name, from: &str, to: &str) -> Result<()> {
        let view = self.view;
        view.must_own(Action::Alter, name, Relation::View)?;
        let engine = name.engine(&view.database);
        view.scope.tx()?.hold_name(&engine)?;
        let Some(object) = view.objects.get(Kind::View, &engine) else {
            return Err(crate::view::no_table(self.parts));
        };
        let mut body = object.body.clone();
        let columns = body["columns"].as_array_mut().into_iter().flatten();
        let mut columns: Vec<&mut serde_json::Value> = columns.collect();
        let is = |column: &serde_json::Value, name: &str| column["name"].as_str() == Some(name);
        let Some(at) = columns.iter().position(|column| is(column, from)) else {
            let text = format!("column \"{from}\" does not exist");
            return Err(SqlError::new(state::NO_COLUMN, text));
        };
        if columns.iter().any(|column| is(column, to)) {
            let text = format!("column \"{to}\" of relation \"{}\" already exists", name.name);
            return Err(SqlError::new("42701", text));
        }
        columns[at]["name"] = to.into();
        let oid = oids::of_object(object.number);
        for kind in [Kind::View, Kind::Materialized, Kind::Rule, Kind::Policy] {
            for (key, reader) in view.objects.of_kind(kind) {
                if let Some(now) = bound::with_columns(&reader.body, oid, &object.body) {
                    self.session.put(kind, key, Some(now))?;
                }
            }
        }
        self.session.put(Kind::View, &engine, Some(body))?;
        self.session.catalog_changed()
    }

    fn move_view(&mut self, name: &Name, to: &Name, renames: bool) -> Result<()> {
        let view = self.view;
        if !renames {
            if !view.has_schema(&to.schema) && to.schema != TEMPORARY {
                return Err(crate::view::no_schema(&to.schema));
            }
            view.must_create_in(&to.schema)?;
            temporary::check_move(&name.schema, &to.schema)?;
            if to == name {
                return Ok(());
            }
        }
        check_free(view, to, renames)?;
        naming::check_no_type(view, to)?;
        let (from, to) = (name.engine(&view.database), to.engine(&view.database));
        self.session.rename(Kind::View, &from, &to)?;
        self.session.catalog_changed()
    }

    fn rename_index(&mut self, to: &Name) -> Result<()> {
        let view = self.view;
        let Some((table, index)) = index::find(view, self.parts)? else {
            return Err(crate::view::no_table(self.parts));
        };
        naming::check_free(view, to)?;
        let changes = onlap::TableChanges::new().rename_index(&index, &to.name);
        view.scope.tx()?.alter_table(&table, &changes)?;
        self.session.catalog_changed()
    }
}
