//! Which constraints does a table have, and what are they called?

use onlap::{Action, CheckSpec, ForeignKeySpec, IndexSpec, KeysKept, TableSchema, Time};
use onlap_pg::ast::{self, ColumnRule, Judged, KeyAction, Match, References, TableRule};
use onlap_pg::bind::is_system_column;

use super::checks::Checked;
use super::columns::Declared;
use super::exclusion::{Excluder, Excluding};
use super::naming::{self, choose};
use super::{checks, defaults, keys, materialized, storage, temporary};
use crate::catalog::Name;
use crate::catalog::storage::Storage;
use crate::columns::{ColumnType, Types};
use crate::error::{Result, SqlError, state};
use crate::rights::Action as Act;
use crate::rights::ask::{numbers, of_table};
use crate::source::{Source, strings};
use crate::view::View;

/// A constraint of a table.
#[derive(Clone, Debug)]
pub enum Constraint {
    /// PRIMARY KEY.
    Primary(Key),
    /// UNIQUE.
    Unique(Key),
    /// CHECK.
    Check(CheckSpec),
    /// FOREIGN KEY.
    Foreign(ForeignKeySpec),
    /// EXCLUDE.
    Exclude(Box<Excluding>),
}

/// A key that no two rows have.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// INCLUDE.
    pub include: Vec<String>,
    /// NULLS NOT DISTINCT.
    pub nulls_equal: bool,
    /// When it is judged.
    pub time: Time,
    /// WITH.
    pub options: Vec<String>,
}

impl Key {
    /// What is to be kept of it next to the index.
    pub fn storage(&self) -> Storage {
        Storage { options: self.options.clone(), ..Storage::default() }
    }

    /// Whether rows are looked at to keep it.
    pub fn is_judged(&self) -> bool {
        self.nulls_equal || self.time != Time::Statement
    }

    /// The index that keeps it.
    pub fn index(&self, primary: bool) -> IndexSpec {
        let spec = IndexSpec::new(&self.name, self.columns.clone()).include(self.include.clone());
        match self.is_judged() {
            true => spec.judged(onlap::Judged {
                excludes: None,
                nulls_equal: self.nulls_equal,
                primary,
                time: self.time,
            }),
            false => spec.unique(),
        }
    }
}

/// Collects the constraints of a table and names them.
pub struct Collector<'a> {
    view: &'a View,
    source: Source<'a>,
    table: &'a Name,
    columns: Vec<(String, ColumnType)>,
    /// Names of constraints that are there.
    names: Vec<String>,
    /// Columns whose defaults the engine does not know.
    computed: Vec<String>,
    /// Columns that are generated.
    pub generated: Vec<String>,
    /// Whether the table is there.
    known: bool,
    /// What was collected.
    pub all: Vec<Constraint>,
}

impl<'a> Collector<'a> {
    /// For a new table with these columns.
    pub fn new(
        view: &'a View,
        source: Source<'a>,
        table: &'a Name,
        columns: Vec<(String, ColumnType)>,
        computed: Vec<String>,
    ) -> Collector<'a> {
        let (names, generated, all) = (Vec::new(), Vec::new(), Vec::new());
        let known = false;
        Collector { view, source, table, columns, names, computed, generated, known, all }
    }

    /// For a table that is there.
    pub fn of_table(
        view: &'a View,
        source: Source<'a>,
        table: &'a Name,
        schema: &TableSchema,
    ) -> Collector<'a> {
        let types = Types::of(&view.objects, schema);
        let columns = schema.columns.iter().map(|c| c.name.clone()).zip(types.iter().copied());
        let columns = columns.collect();
        let computed = schema.columns.iter();
        let computed = computed.filter(|c| defaults::computed(view, schema.id, c).is_some());
        let computed = computed.map(|c| c.name.clone()).collect();
        let generated = (0..schema.columns.len()).filter(|at| schema.is_generated(*at));
        let generated = generated.map(|at| schema.columns[at].name.clone()).collect();
        let mut made = Collector::new(view, source, table, columns, computed);
        made.knows(schema);
        made.generated = generated;
        made
    }

    /// For a table that the statement has just made.
    pub fn of_new(
        view: &'a View,
        source: Source<'a>,
        table: &'a Name,
        schema: &TableSchema,
    ) -> Collector<'a> {
        Collector { known: false, ..Collector::of_table(view, source, table, schema) }
    }

    /// Names of a table that is there are taken.
    pub fn knows(&mut self, schema: &TableSchema) {
        self.known = true;
        let checks = schema.checks.iter().map(|c| c.name.clone());
        let keys = schema.foreign_keys.iter().map(|k| k.name.clone());
        let indexes = schema.indexes.iter().map(|i| i.name.clone());
        self.names.extend(checks.chain(keys).chain(indexes));
    }

    fn name(&mut self, given: Option<String>, columns: &str, label: &str) -> Result<String> {
        let relation = label != "check" && label != "fkey";
        let is_taken = |name: &str| {
            let other = Name::new(&self.table.schema, name);
            self.names.iter().any(|n| n == name)
                || name == self.table.name
                || relation && !matches!(naming::find(self.view, &other), Ok(None))
        };
        let name = match given {
            Some(name) if self.names.contains(&name) => {
                let table = &self.table.name;
                let text = format!("constraint \"{name}\" for relation \"{table}\" already exists");
                return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
            }
            Some(name) if is_taken(&name) => return Err(naming::taken(&name)),
            Some(name) => name,
            None => choose(&self.table.name, columns, label, &is_taken),
        };
        self.names.push(name.clone());
        Ok(name)
    }

    /// An error of a constraint: as in PostgreSQL, it has a place where the table is made.
    fn in_new(&self, e: SqlError, place: u32) -> SqlError {
        if self.known { e.nowhere() } else { self.source.at(e, place) }
    }

    fn check_columns(&self, columns: &[String], primary: bool) -> Result<()> {
        let missing = columns.iter().find(|c| !self.columns.iter().any(|(n, _)| n == *c));
        match missing {
            // A primary key of a table that is there refuses NULL in its columns first.
            Some(column) if primary && self.known => {
                let table = &self.table.name;
                let text = format!("column \"{column}\" of relation \"{table}\" does not exist");
                Err(SqlError::new(state::NO_COLUMN, text))
            }
            Some(column) => {
                let text = format!("column \"{column}\" named in key does not exist");
                Err(SqlError::new(state::NO_COLUMN, text))
            }
            None => Ok(()),
        }
    }

    fn check_key_columns(&self, columns: &[String]) -> Result<()> {
        match columns.iter().find(|c| !self.columns.iter().any(|(n, _)| n == *c)) {
            Some(column) => Err(no_key_column(column)),
            None => Ok(()),
        }
    }

    /// The constraints of a column.
    ///
    /// # Errors
    /// As [`Collector::constraint`].
    pub fn column(&mut self, column: &Declared<'_>) -> Result<()> {
        let own = || vec![column.name.clone()];
        for said in &column.constraints {
            let (name, time) = (said.name.clone(), time_of(said.judged));
            let place = said.place;
            let (include, with, columns) = (&[][..], &[][..], own());
            let key = Said { columns, include, nulls_equal: false, time, with, place };
            match said.rule {
                ColumnRule::Primary(with) => self.primary(name, Said { with, ..key })?,
                ColumnRule::Unique(not_distinct, with) => {
                    self.unique(name, Said { nulls_equal: *not_distinct, with, ..key })?;
                }
                ColumnRule::Check(check, alone) => {
                    let said = Judged { no_inherit: *alone, ..said.judged };
                    self.check(name, check, said)?;
                }
                ColumnRule::References(key) => self.foreign(name, key, own(), said.judged)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// A constraint of the table.
    ///
    /// # Errors
    /// Unknown columns, taken names, what Onlap does not do.
    pub fn constraint(&mut self, constraint: &ast::Constraint) -> Result<()> {
        let name = constraint.name.as_ref().map(|name| name.to_string());
        let (judged, time) = (constraint.judged, time_of(constraint.judged));
        let (place, nulls_equal) = (constraint.place, false);
        match &constraint.rule {
            TableRule::Primary(columns, include, with) => {
                let columns = strings(columns);
                self.primary(name, Said { columns, include, nulls_equal, time, with, place })
            }
            TableRule::Unique(not_distinct, columns, include, with) => {
                let (columns, nulls_equal) = (strings(columns), *not_distinct);
                self.unique(name, Said { columns, include, nulls_equal, time, with, place })
            }
            TableRule::Check(check) => self.check(name, check, judged),
            TableRule::Foreign(columns, key) => self.foreign(name, key, strings(columns), judged),
            TableRule::Exclude(said) => {
                self.exclude(name, said, time).map_err(|e| self.in_new(e, place))
            }
            TableRule::UniqueIndex(_) | TableRule::PrimaryIndex(_) => {
                let text = "ALTER TABLE / ADD CONSTRAINT USING INDEX is not supported here";
                Err(SqlError::new(state::UNSUPPORTED, text))
            }
        }
    }

    fn primary(&mut self, name: Option<String>, said: Said<'_>) -> Result<()> {
        if self.all.iter().any(|c| matches!(c, Constraint::Primary(..))) {
            let text =
                format!("multiple primary keys for table \"{}\" are not allowed", self.table.name);
            return Err(self.source.at(SqlError::new(state::BAD_DEFINITION, text), said.place));
        }
        let key = self.key(name, said, "pkey")?;
        self.all.push(Constraint::Primary(key));
        Ok(())
    }

    /// A key of a table that the new one is like, which gets a name of its own.
    ///
    /// # Errors
    /// `42P16`: a second primary key.
    pub fn key_like(&mut self, mut key: Key, primary: bool) -> Result<()> {
        if primary && self.all.iter().any(|c| matches!(c, Constraint::Primary(..))) {
            let text =
                format!("multiple primary keys for table \"{}\" are not allowed", self.table.name);
            return Err(SqlError::new(state::BAD_DEFINITION, text));
        }
        let shown = key.columns.iter().chain(&key.include).cloned().collect::<Vec<_>>().join("_");
        key.name = match primary {
            true => self.name(None, "", "pkey")?,
            false => self.name(None, &shown, "key")?,
        };
        self.all.push(if primary { Constraint::Primary(key) } else { Constraint::Unique(key) });
        Ok(())
    }

    /// The checks of a table that the new one is like.
    pub fn like(&mut self, schema: &TableSchema) {
        for check in &schema.checks {
            let Some(condition) = checks::by_names(schema, check) else { continue };
            self.names.push(check.name.clone());
            let spec = CheckSpec::new(&check.name, condition).own(check.own);
            self.all.push(Constraint::Check(spec));
        }
    }

    fn unique(&mut self, name: Option<String>, said: Said<'_>) -> Result<()> {
        let key = self.key(name, said, "key")?;
        self.all.push(Constraint::Unique(key));
        Ok(())
    }

    fn key(&mut self, name: Option<String>, said: Said<'_>, label: &str) -> Result<Key> {
        let Said { columns, include, nulls_equal, time, with, place } = said;
        let options = storage::options(storage::Of::Index, with)?;
        if storage::keys_of(with) != KeysKept::Full {
            return Err(SqlError::unsupported("short keys of an index that is unique"));
        }
        let include = strings(include);
        let is_primary = label == "pkey";
        self.check_columns(&columns, is_primary).map_err(|e| self.in_new(e, place))?;
        let within = if is_primary { "primary key" } else { "unique" };
        check_twice(&columns, within).map_err(|e| self.source.at(e, place))?;
        self.check_columns(&include, false).map_err(|e| self.in_new(e, place))?;
        keys::must_be_ordered(&self.columns, &columns, None)?;
        let shown = columns.iter().chain(&include).cloned().collect::<Vec<_>>().join("_");
        let shown = if label == "pkey" { "" } else { &shown };
        let name = self.name(name, shown, label)?;
        // What is stored and not ordered is stored once.
        let include = include.into_iter().filter(|name| !columns.contains(name));
        let include = once(include.collect());
        Ok(Key { name, columns, include, nulls_equal, time, options })
    }

    fn check(&mut self, name: Option<String>, check: &ast::Said, judged: Judged) -> Result<()> {
        let table = Checked { name: &self.table.name, columns: &self.columns };
        let condition = checks::condition(self.view, self.source, check, &table);
        let condition = condition.map_err(|e| if self.known { e.nowhere() } else { e })?;
        let used = checks::columns_of(&condition);
        let one = match used {
            [one] => one.as_str(),
            _ => "",
        };
        let name = self.name(name, one, "check")?;
        let check =
            CheckSpec::new(name, condition).unproven(judged.not_valid).own(judged.no_inherit);
        self.all.push(Constraint::Check(check));
        Ok(())
    }

    fn exclude(&mut self, name: Option<String>, said: &ast::Exclusion, time: Time) -> Result<()> {
        let (_, table) = self.view.table(&[self.table.schema.clone(), self.table.name.clone()])?;
        let (view, source, schema) = (self.view, self.source, table.schema());
        let excluder = Excluder { view, source, table: self.table, schema: &schema };
        let (spec, storage, columns) = excluder.described(said, time)?;
        let name = self.name(name, &columns.join("_"), "excl")?;
        self.all.push(Constraint::Exclude(Box::new(Excluding { name, spec, storage })));
        Ok(())
    }

    fn foreign(
        &mut self,
        name: Option<String>,
        key: &References,
        columns: Vec<String>,
        judged: Judged,
    ) -> Result<()> {
        self.check_key_columns(&columns)?;
        let parent = strings(&key.table);
        let own = parent.last() == Some(&self.table.name)
            && parent.len().checked_sub(2).is_none_or(|i| parent[i] == self.table.schema);
        if let [.., schema, name] = &parent[..]
            && self.view.is_other_temporary(schema)
        {
            temporary::check_reference(self.table, &Name::new(schema, name))?;
        }
        let name = self.name(name, &columns.join("_"), "fkey")?;
        let catalog = self.view.objects.made_types().catalog();
        let matching = |parents| {
            let (columns, key) = (&self.columns, &columns);
            keys::must_match(catalog, &keys::Pairs { name: &name, columns, key, parents })
        };
        let parent = match self.view.table(&parent) {
            Ok((_, table)) if self.view.objects.families().divided(table.schema().id).is_some() => {
                return Err(SqlError::unsupported(
                    "a foreign key that refers to a partitioned table",
                ));
            }
            Ok((of, table)) => {
                materialized::check_reference(self.view, &of, &table)?;
                temporary::check_reference(self.table, &of)?;
                let schema = table.schema();
                self.must_refer(&schema, key)?;
                must_be_kept(&schema, &of, key, columns.len())?;
                let types = Types::of(&self.view.objects, &schema);
                let column = |at: usize| (schema.columns[at].name.clone(), types[at]);
                matching(keys::parents(&schema, key).map(column).collect())?;
                table.name()
            }
            Err(_) if own => {
                let column = |name: &ast::Name| {
                    let found = keys::type_of(&self.columns, name)?;
                    Some((name.to_string(), found))
                };
                matching(key.columns.iter().filter_map(column).collect())?;
                self.table.engine(&self.view.database)
            }
            Err(e) => return Err(e),
        };
        let (deleted, updated) = (action(&key.on_delete), action(&key.on_update));
        self.refuse_generated(&columns, deleted, updated)?;
        super::trigger::must_see(self.view, self.table, (deleted, updated))?;
        let set = match &key.on_delete {
            KeyAction::SetNull(some) | KeyAction::SetDefault(some) => once(strings(some)),
            _ => Vec::new(),
        };
        self.check_set(&columns, &set)?;
        if deleted == Action::SetDefault || updated == Action::SetDefault {
            let written = if set.is_empty() { &columns } else { &set };
            self.must_have_kept_defaults(written)?;
        }
        let mut types = columns.iter().filter_map(|name| keys::type_of(&self.columns, name));
        let writes = writes(deleted, updated);
        if writes && types.any(ColumnType::is_domain) {
            return Err(domain_written());
        }
        let mut spec =
            ForeignKeySpec::new(name, columns, parent).on_delete(deleted).on_update(updated);
        spec = spec.set_columns(set).full(key.matching == Some(Match::Full));
        spec = spec.time(time_of(judged)).unproven(judged.not_valid);
        if !key.columns.is_empty() {
            spec = spec.parent_columns(strings(&key.columns));
        }
        self.all.push(Constraint::Foreign(spec));
        Ok(())
    }
}

impl Collector<'_> {
    /// Fails with actions that would set a generated column.
    fn refuse_generated(&self, key: &[String], deleted: Action, updated: Action) -> Result<()> {
        if !key.iter().any(|column| self.generated.contains(column)) {
            return Ok(());
        }
        let sets = |action| matches!(action, Action::SetNull | Action::SetDefault);
        let way = match (sets(deleted), sets(updated) || updated == Action::Cascade) {
            (_, true) => "UPDATE",
            (true, false) => "DELETE",
            (false, false) => return Ok(()),
        };
        let text = format!(
            "invalid ON {way} action for foreign key constraint containing generated column"
        );
        Err(SqlError::new(state::SYNTAX, text))
    }

    /// Fails where a column that is to be set is not of the key.
    fn check_set(&self, key: &[String], set: &[String]) -> Result<()> {
        self.check_key_columns(set)?;
        match set.iter().find(|name| !key.contains(name)) {
            Some(name) => {
                let text = format!(
                    "column \"{name}\" referenced in ON DELETE SET action must be part of foreign key"
                );
                Err(SqlError::new("42P10", text))
            }
            None => Ok(()),
        }
    }

    /// Fails where a default is calculated, which the engine cannot do.
    fn must_have_kept_defaults(&self, columns: &[String]) -> Result<()> {
        match columns.iter().find(|name| self.computed.contains(name)) {
            Some(name) => {
                let text = format!("SET DEFAULT of column \"{name}\", whose default is calculated");
                Err(SqlError::unsupported(text))
            }
            None => Ok(()),
        }
    }

    /// Fails unless the role may refer to the parent's columns: those that are named, or its primary key.
    fn must_refer(&self, parent: &TableSchema, key: &References) -> Result<()> {
        let places = keys::parents(parent, key);
        self.view.must(&[of_table(Act::Refer, parent, numbers(parent, places))])
    }
}

/// Each name at its first place.
fn once(names: Vec<String>) -> Vec<String> {
    let mut once: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

/// What a key's declaration says.
struct Said<'a> {
    columns: Vec<String>,
    include: &'a [ast::Name],
    nulls_equal: bool,
    time: Time,
    with: &'a [ast::Setting],
    /// Where it stands.
    place: u32,
}

/// Fails where a key has a column twice.
fn check_twice(columns: &[String], within: &str) -> Result<()> {
    let is_twice = |(at, name): &(usize, &String)| columns[..*at].contains(name);
    match columns.iter().enumerate().find(is_twice) {
        Some((_, name)) => {
            let text = format!("column \"{name}\" appears twice in {within} constraint");
            Err(SqlError::new("42701", text))
        }
        None => Ok(()),
    }
}

/// When a constraint is judged.
pub fn time_of(judged: Judged) -> Time {
    match (judged.deferrable, judged.deferred) {
        (_, Some(true)) => Time::Deferred,
        (Some(true), _) => Time::Deferrable,
        _ => Time::Statement,
    }
}

/// Fails where rows of the parent may have equal keys for a while, or it has no such key.
fn must_be_kept(parent: &TableSchema, name: &Name, key: &References, columns: usize) -> Result<()> {
    let disagree = || {
        let text = "number of referencing and referenced columns for foreign key disagree";
        Err(SqlError::new("42830", text))
    };
    let table = &name.name;
    let keeps = |index: &&onlap::IndexSchema| index.time() == Time::Statement;
    if key.columns.is_empty() {
        let primary = parent.indexes.iter().find(|index| index.is_primary());
        let text = format!("there is no primary key for referenced table \"{table}\"");
        let primary = primary.ok_or_else(|| SqlError::new(state::NO_OBJECT, text))?;
        let text = format!("cannot use a deferrable primary key for referenced table \"{table}\"");
        return match keeps(&primary) {
            true if primary.key.len() == columns => Ok(()),
            true => disagree(),
            false => Err(SqlError::new("55000", text)),
        };
    }
    let missing = key.columns.iter().find(|name| parent.position_by_name(name).is_none());
    if let Some(missing) = missing {
        return Err(no_key_column(missing));
    }
    if key.columns.len() != columns {
        return disagree();
    }
    let named: Vec<_> = keys::parents(parent, key).map(|at| parent.columns[at].id).collect();
    let is_of = |index: &&onlap::IndexSchema| {
        index.is_unique()
            && index.key.len() == named.len()
            && index.key.iter().all(|part| named.contains(&part.column))
    };
    let mut found = parent.indexes.iter().filter(is_of);
    let Some(first) = found.next() else {
        let text = format!(
            "there is no unique constraint matching given keys for referenced table \"{table}\""
        );
        return Err(SqlError::new("42830", text));
    };
    let mut all = std::iter::once(first).chain(found);
    match all.clone().any(|index| index.unique) {
        true => Ok(()),
        false if all.any(|index| keeps(&index)) => Err(SqlError::unsupported(
            "a foreign key that refers to a key of which NULLs are not distinct",
        )),
        false => {
            let text = format!(
                "cannot use a deferrable unique constraint for referenced table \"{table}\""
            );
            Err(SqlError::new("55000", text))
        }
    }
}

fn no_key_column(name: &str) -> SqlError {
    if is_system_column(name) {
        return SqlError::new(state::UNSUPPORTED, "system columns cannot be used in foreign keys");
    }
    let text = format!("column \"{name}\" referenced in foreign key constraint does not exist");
    SqlError::new(state::NO_COLUMN, text)
}

/// Whether a foreign key with these actions on delete and on update writes values of its own.
pub fn writes(deleted: Action, updated: Action) -> bool {
    let sets = |action| matches!(action, Action::SetNull | Action::SetDefault);
    sets(deleted) || sets(updated) || updated == Action::Cascade
}

fn action(action: &KeyAction) -> Action {
    match action {
        KeyAction::Nothing => Action::NoAction,
        KeyAction::Restrict => Action::Restrict,
        KeyAction::Cascade => Action::Cascade,
        KeyAction::SetNull(_) => Action::SetNull,
        KeyAction::SetDefault(_) => Action::SetDefault,
    }
}

/// The engine writes values of foreign keys, and knows nothing of conditions.
pub fn domain_written() -> SqlError {
    SqlError::unsupported("a foreign key that changes values of a domain")
}
