//! CREATE TABLE.

use onlap::{SequenceSpec, TableSchema, TableSpec};
use onlap_pg::ast::{
    self, CreateTable, Kept, NewColumn, Setting, TableElement, TableKind, TableRule,
};
use serde_json::json;

use super::change::notice;
use super::columns::{Declared, Default, declared, declared_as};
use super::constraints::{Collector, Constraint};
use super::generated::{self, Generating};
use super::kin::{self, Merged};
use super::like::{self, Like};
use super::temporary::{self, Place};
use super::{defaults, exclusion, naming, storage};
use crate::catalog::families::Bound;
use crate::catalog::storage::Storage;
use crate::catalog::{Kind, Name, column_types, oids};
use crate::columns::Types;
use crate::error::{Result, SqlError, state};
use crate::rights::Class;
use crate::session::Session;
use crate::source::{Source, strings};
use crate::view::View;
use crate::wire::Client;

/// CREATE TABLE.
///
/// # Errors
/// The name is taken; what Onlap does not have.
pub fn create(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    create: &CreateTable,
    client: &mut dyn Client,
) -> Result<String> {
    refuse(create)?;
    let place = temporary::place_of_relation(session, view, &strings(&create.name), create.lasting)
        .map_err(|e| at_name(source, e, create.place))?;
    let Place { view, name } = &place;
    temporary::check_on_commit(create.kept.on_commit, name.is_temporary())?;
    if !is_free(view, name, create.skip, client)? {
        return Ok("CREATE TABLE".into());
    }
    let parents = parents_of(session, view, create, name)?;
    let mut merged = columns(view, source, (create, name), &parents, client)?;
    let types = merged.columns.iter().map(|c| (c.name.clone(), c.ty)).collect();
    let computed = merged.columns.iter().filter(|c| c.has_computed_default());
    let computed = computed.map(|c| c.name.clone()).collect();
    let generated = Generating::new(view, source, &name.name, &merged.columns);
    let generated = generated.specs(&merged.columns)?;
    let mut collector = Collector::new(view, source, name, types, computed);
    collector.generated = generated.iter().map(|of| of.column.clone()).collect();
    for column in &merged.columns {
        collector.column(column)?;
    }
    own_constraints(&mut collector, source, create)?;
    let likes = likes(view, create)?;
    likes.iter().try_for_each(|like| like.constraints(view, &mut collector))?;
    let of = if create.partition_by.is_some() { storage::Of::Divided } else { storage::Of::Table };
    let options = storage::options(of, &create.kept.settings)?;
    let own = std::mem::take(&mut collector.all);
    let is_alone = |rule: &Constraint| matches!(rule, Constraint::Check(check) if check.is_own());
    if create.partition_by.is_some() && own.iter().any(is_alone) {
        let text =
            format!("cannot add NO INHERIT constraint to partitioned table \"{}\"", name.name);
        return Err(SqlError::new(state::BAD_DEFINITION, text));
    }
    let constraints = merged.join(own, &name.name, client)?;
    // What belongs to the table finds it by its name again, as in PostgreSQL.
    let is_check = |constraint: &Constraint| matches!(constraint, Constraint::Check(..));
    let has_sequence = merged.columns.iter().any(|c| c.sequence.is_some());
    if !constraints.iter().all(is_check) || has_sequence {
        view.must_look_in(&name.schema)?;
    }
    let bound = match &create.kind {
        TableKind::PartitionOf(_, said) => {
            let bound = kin::read_bound(view, source, said, &parents[0], &name.name)?;
            kin::check_overlap(view, &parents[0], &bound, &name.name)?;
            Some(bound)
        }
        _ => None,
    };
    let spec = TableSpec::new(name.engine(&view.database));
    let spec = with_options(spec, &create.kept.settings)?;
    let spec = generated.into_iter().fold(spec, TableSpec::generated);
    let declared = std::mem::take(&mut merged.columns);
    let keys = constraints.clone();
    Making { session, view, name, columns: declared, constraints, options }.run(spec)?;
    let related = Related { parents: &parents, merged: &merged, bound, keys };
    related.note(session, view, source, create, name)?;
    temporary::note(session, &place, create.kept.on_commit)?;
    add_exclusions(session, source, create, name)?;
    likes.iter().try_for_each(|like| like::complete(session, name, like))?;
    Ok("CREATE TABLE".into())
}

/// Collects the constraints that a statement declares; exclusions come when the table is there.
fn own_constraints(
    collector: &mut Collector<'_>,
    source: Source<'_>,
    create: &CreateTable,
) -> Result<()> {
    for element in &create.elements {
        match element {
            TableElement::Constraint(constraint) if is_exclusion(constraint) => {
                if create.partition_by.is_some() {
                    return Err(source.at(kin::no_exclusion(), constraint.place));
                }
            }
            TableElement::Constraint(constraint) => collector.constraint(constraint)?,
            TableElement::Column(_) | TableElement::Like(..) => {}
        }
    }
    Ok(())
}

fn is_exclusion(constraint: &ast::Constraint) -> bool {
    matches!(constraint.rule, TableRule::Exclude(_))
}

/// Gives a table that was made its exclusion constraints: what they calculate is bound to it.
fn add_exclusions(
    session: &mut Session,
    source: Source<'_>,
    create: &CreateTable,
    name: &Name,
) -> Result<()> {
    for element in &create.elements {
        let TableElement::Constraint(constraint) = element else { continue };
        if !is_exclusion(constraint) {
            continue;
        }
        let view = session.view()?;
        let table = view.scope.tx()?.table(&name.engine(&view.database))?;
        let mut collector = Collector::of_new(&view, source, name, &table.schema());
        collector.constraint(constraint)?;
        for made in std::mem::take(&mut collector.all) {
            if let Constraint::Exclude(of) = made {
                exclusion::make(session, &view, &table, &of)?;
            }
        }
    }
    Ok(())
}

/// The tables above, which nothing else changes from now on.
fn parents_of(
    session: &mut Session,
    view: &View,
    create: &CreateTable,
    name: &Name,
) -> Result<Vec<kin::Parent>> {
    if let Some(by) = &create.partition_by {
        kin::prepare_keys(by)?;
    }
    let parents = match &create.kind {
        TableKind::PartitionOf(parent, _) => vec![kin::parent_of_partition(view, name, parent)?],
        _ => kin::parents(view, name, &create.inherits)?,
    };
    for parent in &parents {
        kin::take(session, view, &parent.table)?;
    }
    Ok(parents)
}

/// The columns that a statement declares, with those of the tables above.
fn columns<'a>(
    view: &View,
    source: Source<'a>,
    (create, name): (&'a CreateTable, &Name),
    parents: &[kin::Parent],
    client: &mut dyn Client,
) -> Result<Merged<'a>> {
    let is_partition = matches!(create.kind, TableKind::PartitionOf(..));
    let mut columns = Vec::new();
    for element in &create.elements {
        if let TableElement::Column(column) = element {
            generated::check_rules(view, source, &name.name, column)?;
        }
        match element {
            TableElement::Column(column) if is_partition => {
                columns.push(of_partition(view, source, (&name.name, column), &parents[0])?);
            }
            TableElement::Column(column) => {
                columns.push(declared(view, source, (&name.name, column))?);
            }
            TableElement::Like(table, options) => {
                columns.extend(Like::of(view, table, options)?.columns(view)?);
            }
            TableElement::Constraint(_) => {}
        }
    }
    for (at, column) in columns.iter().enumerate() {
        if columns[..at].iter().any(|before| before.name == column.name) {
            let text = format!("column \"{}\" specified more than once", column.name);
            return Err(SqlError::new("42701", text));
        }
    }
    if parents.is_empty() {
        return Ok(Merged::alone(columns));
    }
    Merged::of(view, parents, columns, is_partition, client)
}

/// What is said of a column that a partition has from its table.
fn of_partition<'a>(
    view: &View,
    source: Source<'a>,
    (table, column): (&str, &'a NewColumn),
    parent: &kin::Parent,
) -> Result<Declared<'a>> {
    let schema = parent.table.schema();
    let Some(at) = schema.position_by_name(&column.name) else {
        let text = format!("column \"{}\" does not exist", column.name);
        return Err(SqlError::new(state::NO_COLUMN, text));
    };
    let types = Types::of(&view.objects, &schema);
    declared_as(view, source, (table, column), (types[at], false))
}

/// What a new table is beside a table of the engine.
struct Related<'a> {
    parents: &'a [kin::Parent],
    merged: &'a Merged<'a>,
    bound: Option<Bound>,
    /// Its constraints.
    keys: Vec<Constraint>,
}

impl Related<'_> {
    fn note(
        self,
        session: &mut Session,
        view: &View,
        source: Source<'_>,
        create: &CreateTable,
        name: &Name,
    ) -> Result<()> {
        let table = view.scope.tx()?.table(&name.engine(&view.database))?;
        let schema = table.schema();
        let mut kin = kin::new_kin(self.parents, self.merged, &schema);
        let is_partition = self.bound.is_some();
        kin.bound = self.bound;
        kin::put(session, schema.id, &kin)?;
        if let Some(by) = &create.partition_by {
            let now = session.view()?;
            let divided = kin::divided(&now, source, by, &table)?;
            for constraint in &self.keys {
                match constraint {
                    Constraint::Primary(key) => {
                        kin::must_cover(&schema, &divided, &key.columns, "PRIMARY KEY")?;
                    }
                    Constraint::Unique(key) => {
                        kin::must_cover(&schema, &divided, &key.columns, "UNIQUE")?;
                    }
                    _ => {}
                }
            }
            let body = divided.body();
            session.put(Kind::Divided, &schema.id.0.to_string(), Some(body))?;
        }
        if is_partition {
            let now = session.view()?;
            kin::take_default(session, &now, &self.parents[0])?;
            kin::judge_default(&now, &self.parents[0], true)?;
            kin::complete(session, &self.parents[0].table, &table)?;
            super::trigger::must_go_together(&session.view()?, schema.id)?;
        }
        Ok(())
    }
}

/// An error of where a relation goes, at its name.
pub fn at_name(source: Source<'_>, error: SqlError, place: u32) -> SqlError {
    match error.state() {
        state::BAD_DEFINITION | state::NO_SCHEMA => source.at(error, place),
        _ => error,
    }
}

/// Whether a name is free; where it is not and IF NOT EXISTS was said, a notice tells of it.
///
/// # Errors
/// `42P07`.
pub fn is_free(view: &View, name: &Name, skip: bool, client: &mut dyn Client) -> Result<bool> {
    if naming::claim(view, name)?.is_none() {
        naming::check_no_type(view, name)?;
        return Ok(true);
    }
    let error = naming::taken(&name.name);
    if !skip {
        return Err(error);
    }
    notice(client, state::DUPLICATE_TABLE, format!("{}, skipping", error.message()));
    Ok(false)
}

/// What Onlap does not have.
fn refuse(create: &CreateTable) -> Result<()> {
    let refuse = |what: &str| Err(SqlError::unsupported(what));
    refuse_kept(&create.kept)?;
    if let TableKind::Of(_) = create.kind {
        return refuse("a typed table");
    }
    let is_of_kin = create.partition_by.is_some()
        || !create.inherits.is_empty()
        || matches!(create.kind, TableKind::PartitionOf(..));
    let is_blind = |setting: &Setting| &*setting.name == "blind_writes";
    if is_of_kin && create.kept.settings.iter().any(is_blind) {
        return refuse("blind writes of a table with partitions or inheritance");
    }
    if create.partition_by.is_some() && !create.inherits.is_empty() {
        let text = "cannot create partitioned table as inheritance child";
        return Err(SqlError::new("42P17", text));
    }
    Ok(())
}

/// What Onlap does not have of where a table's rows are.
///
/// # Errors
/// `0A000`; `42704`: there is no such method or tablespace.
pub fn refuse_kept(kept: &Kept) -> Result<()> {
    let missing = |what: &str, name: &str| {
        Err(SqlError::new(state::NO_OBJECT, format!("{what} \"{name}\" does not exist")))
    };
    match (&kept.method, &kept.tablespace) {
        (Some(method), _) if &**method != "heap" => missing("access method", method),
        (_, Some(space)) if !matches!(&**space, "pg_default" | "pg_global") => {
            missing("tablespace", space)
        }
        _ => Ok(()),
    }
}

/// A table on its way.
pub struct Making<'a> {
    /// Who makes it.
    pub session: &'a mut Session,
    /// What the statement sees.
    pub view: &'a View,
    /// Its name.
    pub name: &'a Name,
    /// Its columns.
    pub columns: Vec<Declared<'a>>,
    /// Its constraints.
    pub constraints: Vec<Constraint>,
    /// What was said of how it is stored.
    pub options: Vec<String>,
}

impl Making<'_> {
    /// Makes the table and what belongs to it.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn run(self, mut spec: TableSpec) -> Result<()> {
        let Making { session, view, name, columns, constraints, options } = self;
        session.catalog_changed()?;
        let mut made: Vec<(String, String)> = Vec::new();
        let is_judged = |constraint: &Constraint, name: &String| match constraint {
            Constraint::Primary(key) => key.is_judged() && key.columns.contains(name),
            _ => false,
        };
        for column in &columns {
            let not_null =
                column.not_null || constraints.iter().any(|c| is_judged(c, &column.name));
            spec = match not_null {
                true => spec.column(&column.name, column.ty.engine),
                false => spec.nullable_column(&column.name, column.ty.engine),
            };
            if let Some(own) = &column.sequence {
                let sequence = sequence_name(view, name, column)?;
                let sequence_spec: SequenceSpec = own.options.spec(&sequence, None)?;
                session.make_sequence(&sequence_spec)?;
                spec = spec.default_sequence(&column.name, &sequence);
                made.push((column.name.clone(), sequence));
            }
            match &column.default {
                Default::Constant(value, _) => spec = spec.default(&column.name, value.clone()),
                Default::Sequence(sequence) => {
                    spec = spec.default_sequence(&column.name, sequence);
                }
                Default::None | Default::Computed(_) => {}
            }
        }
        for constraint in &constraints {
            spec = match constraint.clone() {
                Constraint::Primary(key) if key.is_judged() => spec.index(key.index(true)),
                Constraint::Primary(key) => spec
                    .primary_key(key.columns)
                    .primary_key_name(key.name)
                    .primary_key_include(key.include),
                Constraint::Unique(key) => spec.index(key.index(false)),
                // No rows are there that it might leave alone.
                Constraint::Check(check) => spec.check_spec(check.unproven(false)),
                Constraint::Foreign(key) => spec.foreign_key(key.unproven(false)),
                Constraint::Exclude(_) => unreachable!("these come when the table is there"),
            };
        }
        let table = view.scope.tx()?.create_table(spec)?;
        let schema = table.schema();
        for (column, sequence) in made {
            let at = schema.position_by_name(&column).expect("was just made");
            let body = json!({ "table": schema.id.0, "column": schema.columns[at].id.0 });
            session.own_sequence(view, &sequence, view.judge.role)?;
            session.put(Kind::Owned, &sequence, Some(body))?;
        }
        note_columns(session, &schema, &columns)?;
        note_constraints(session, &schema, &constraints)?;
        let storage = Storage { options, ..Storage::default() };
        storage::note(session, oids::of_table(schema.id), &storage)?;
        session.own(view, Class::Table, oids::of_table(schema.id), &name.schema)
    }
}

/// What only SQL knows of columns.
fn note_columns(
    session: &mut Session,
    schema: &TableSchema,
    columns: &[Declared<'_>],
) -> Result<()> {
    for (column, declared) in schema.columns.iter().zip(columns) {
        let key = defaults::key(schema.id, column.id);
        if let Some(body) = column_types::body(declared.ty, declared.collation) {
            session.put(Kind::ColumnType, &key, Some(body))?;
        }
        if let Some(body) = defaults::note(&declared.default) {
            session.put(Kind::Default, &key, Some(body))?;
        }
        if let Some(always) = declared.sequence.as_ref().and_then(|s| s.identity) {
            session.put(Kind::Identity, &key, Some(json!({ "always": always })))?;
        }
    }
    Ok(())
}

/// Which unique indexes are constraints, and what was said of how they are stored.
pub fn note_constraints(
    session: &mut Session,
    schema: &TableSchema,
    constraints: &[Constraint],
) -> Result<()> {
    for constraint in constraints {
        let (Constraint::Unique(key) | Constraint::Primary(key)) = constraint else { continue };
        let Some(index) = schema.index_by_name(&key.name) else { continue };
        if matches!(constraint, Constraint::Unique(_)) {
            session.put(Kind::Unique, &index.id.0.to_string(), Some(json!({})))?;
        }
        storage::note(session, oids::of_index(index.id), &key.storage())?;
    }
    Ok(())
}

/// The name of the sequence that comes with a column.
pub fn sequence_name(view: &View, table: &Name, column: &Declared<'_>) -> Result<String> {
    let given = column.sequence.as_ref().and_then(|s| s.options.name.clone());
    let name = match given {
        Some(parts) => view.new_name(&parts)?,
        None => {
            let is_taken = |name: &str| {
                !matches!(naming::find(view, &Name::new(&table.schema, name)), Ok(None))
            };
            let name = naming::choose(&table.name, &column.name, "seq", &is_taken);
            Name::new(&table.schema, name)
        }
    };
    Ok(name.engine(&view.database))
}

/// The tables that a new one is like.
fn likes(view: &View, create: &CreateTable) -> Result<Vec<Like>> {
    let all = create.elements.iter().filter_map(|element| match element {
        TableElement::Like(table, options) => Some(Like::of(view, table, options)),
        _ => None,
    });
    all.collect()
}

/// What WITH says of a table that the engine knows; see [`storage`] for the rest.
///
/// # Errors
/// `22023`: a value that the parameter does not take.
pub fn with_options(mut spec: TableSpec, settings: &[Setting]) -> Result<TableSpec> {
    for setting in settings {
        let name = match &setting.space {
            Some(space) => format!("{space}.{}", setting.name),
            None => setting.name.to_string(),
        };
        let value = setting.value.as_ref().map_or("true", |value| value.text());
        let bad = || {
            let text = format!("invalid value for parameter \"{name}\": \"{value}\"");
            SqlError::new(state::BAD_PARAMETER, text)
        };
        match name.as_str() {
            "blind_writes" => match value.to_ascii_lowercase().as_str() {
                "true" | "on" | "1" => spec = spec.blind_writes(),
                "false" | "off" | "0" => {}
                _ => return Err(bad()),
            },
            "history" => spec = spec.history(duration(value).ok_or_else(bad)?),
            "retain" => {
                return Err(SqlError::unsupported("WITH (retain = …)")
                    .hint("Delete old rows by a range of a column: that is cheap here."));
            }
            _ => {}
        }
    }
    Ok(spec)
}

/// `90`, `90s`, `15 min`, `2 hours`, `7 days`: seconds where nothing is said.
fn duration(text: &str) -> Option<std::time::Duration> {
    let text = text.trim();
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let n: u64 = text[..at].parse().ok()?;
    let seconds = match text[at..].trim().trim_end_matches('s') {
        "" | "ec" | "econd" => 1,
        "m" | "min" | "minute" => 60,
        "h" | "hour" => 3600,
        "d" | "day" => 86_400,
        _ => return None,
    };
    Some(std::time::Duration::from_secs(n.checked_mul(seconds)?))
}
