//! CREATE TABLE.

use datafusion::sql::sqlparser::ast::{
    CreateTable, CreateTableLikeDefaults, CreateTableLikeKind, CreateTableOptions, Expr, SqlOption,
};
use onlap::{ColumnDefault, IndexSpec, SequenceSpec, TableSchema, TableSpec};
use serde_json::json;

use super::change::notice;
use super::columns::{Declared, Default, declared};
use super::constraints::{Collector, Constraint};
use super::{defaults, naming, query};
use crate::catalog::names::{fold, parts};
use crate::catalog::{Kind, Name, oids};
use crate::error::{Result, SqlError, state};
use crate::parse::literal_text;
use crate::rights::ask::of_table;
use crate::rights::{Action, Class};
use crate::session::Session;
use crate::view::View;
use crate::wire::Client;

/// CREATE TABLE.
///
/// # Errors
/// The name is taken; what Onlap does not have.
pub fn create(
    session: &mut Session,
    view: &View,
    create: &CreateTable,
    client: &mut dyn Client,
) -> Result<String> {
    refuse(create)?;
    let name = view.new_name(&parts(&create.name)?)?;
    if naming::claim(view, &name)?.is_some() {
        let error = naming::taken(&name.name);
        if create.if_not_exists {
            let text = format!("{}, skipping", error.message());
            notice(client, state::DUPLICATE_TABLE, text);
            return Ok("CREATE TABLE".into());
        }
        return Err(error);
    }
    if let Some(query) = &create.query {
        return query::create_table_as(session, view, create, &name, query);
    }
    let mut columns = match &create.like {
        Some(like) => like_columns(view, like)?,
        None => Vec::new(),
    };
    for column in &create.columns {
        columns.push(declared(view, column)?);
    }
    let types = columns.iter().map(|c| (c.name.clone(), c.ty)).collect();
    let mut collector = Collector::new(view, &name, types);
    for column in &columns {
        collector.column(column)?;
    }
    for constraint in &create.constraints {
        collector.constraint(constraint)?;
    }
    let constraints = std::mem::take(&mut collector.all);
    // What belongs to the table finds it by its name again, as in PostgreSQL.
    let is_check = |constraint: &Constraint| matches!(constraint, Constraint::Check(..));
    if !constraints.iter().all(is_check) || columns.iter().any(|c| c.sequence.is_some()) {
        view.must_look_in(&name.schema)?;
    }
    let spec = TableSpec::new(name.engine(&view.database));
    let spec = with_options(spec, &create.table_options)?;
    Making { session, view, name: &name, columns, constraints }.run(spec)?;
    Ok("CREATE TABLE".into())
}

/// What Onlap does not have.
fn refuse(create: &CreateTable) -> Result<()> {
    let refuse = |what: &str| Err(SqlError::unsupported(what));
    if create.temporary {
        return Err(SqlError::unsupported("a temporary table")
            .hint("Create an ordinary table, and drop it at the end."));
    }
    if create.partition_by.is_some() || create.partition_of.is_some() {
        return refuse("a partitioned table");
    }
    if create.inherits.is_some() {
        return refuse("table inheritance");
    }
    Ok(())
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
}

impl Making<'_> {
    /// Makes the table and what belongs to it.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn run(self, mut spec: TableSpec) -> Result<()> {
        let Making { session, view, name, columns, constraints } = self;
        session.catalog_changed()?;
        let mut made: Vec<(String, String)> = Vec::new();
        for column in &columns {
            spec = match column.not_null {
                true => spec.column(&column.name, column.ty),
                false => spec.nullable_column(&column.name, column.ty),
            };
            if let Some(own) = &column.sequence {
                let sequence = sequence_name(view, name, column)?;
                let sequence_spec: SequenceSpec = own.options.spec(&sequence, None)?;
                session.make_sequence(&sequence_spec)?;
                spec = spec.default_sequence(&column.name, &sequence);
                made.push((column.name.clone(), sequence));
            }
            match &column.default {
                Default::Constant(value) => spec = spec.default(&column.name, value.clone()),
                Default::Sequence(sequence) => {
                    spec = spec.default_sequence(&column.name, sequence);
                }
                Default::None | Default::Computed(_) => {}
            }
        }
        for constraint in &constraints {
            spec = match constraint.clone() {
                Constraint::Primary(name, columns) => {
                    spec.primary_key(columns).primary_key_name(name)
                }
                Constraint::Unique(name, columns) => {
                    spec.index(IndexSpec::new(name, columns).unique())
                }
                Constraint::Check(name, condition) => spec.check(name, condition),
                Constraint::Foreign(key) => spec.foreign_key(key),
            };
        }
        let table = view.scope.tx()?.create_table(spec)?;
        let schema = table.schema();
        for (column, sequence) in made {
            let at = schema.position_by_name(&column).expect("was just made");
            let body = json!({ "table": schema.id.0, "column": schema.columns[at].id.0 });
            session.own_sequence(view, &sequence)?;
            session.put(Kind::Owned, &sequence, Some(body))?;
        }
        note_columns(session, &schema, &columns)?;
        note_constraints(session, &schema, &constraints)?;
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
        if let Default::Computed(sql) = &declared.default {
            session.put(Kind::Default, &key, Some(json!({ "sql": sql })))?;
        }
        if let Some(always) = declared.sequence.as_ref().and_then(|s| s.identity) {
            session.put(Kind::Identity, &key, Some(json!({ "always": always })))?;
        }
    }
    Ok(())
}

/// Which unique indexes are constraints.
pub fn note_constraints(
    session: &mut Session,
    schema: &TableSchema,
    constraints: &[Constraint],
) -> Result<()> {
    for constraint in constraints {
        if let Constraint::Unique(name, _) = constraint
            && let Some(index) = schema.index_by_name(name)
        {
            session.put(Kind::Unique, &index.id.0.to_string(), Some(json!({})))?;
        }
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

/// The columns of another table.
fn like_columns(view: &View, like: &CreateTableLikeKind) -> Result<Vec<Declared<'static>>> {
    let (CreateTableLikeKind::Parenthesized(like) | CreateTableLikeKind::Plain(like)) = like;
    let (_, table) = view.table(&parts(&like.name)?)?;
    view.must(&[of_table(Action::Imitate, &table.schema(), Vec::new())])?;
    let with_defaults = like.defaults == Some(CreateTableLikeDefaults::Including);
    let schema = table.schema();
    let column = |column: &onlap::ColumnSchema| {
        let default = match &column.default {
            _ if !with_defaults => Default::None,
            Some(ColumnDefault::Constant(value)) => Default::Constant(value.clone()),
            Some(ColumnDefault::NextVal(id)) => {
                let sequences = view.scope.tx().map(|tx| tx.sequences()).unwrap_or_default();
                let found = sequences.iter().find(|s| s.schema().id == *id);
                found.map_or(Default::None, |s| Default::Sequence(s.name().to_string()))
            }
            None => defaults::expression(view, schema.id, column.id)
                .map_or(Default::None, Default::Computed),
        };
        Declared {
            name: column.name.clone(),
            ty: column.ty,
            not_null: !column.nullable,
            default,
            sequence: None,
            constraints: Vec::new(),
        }
    };
    Ok(schema.columns.iter().map(column).collect())
}

/// Parameters of the storage that PostgreSQL has and that mean nothing here.
const IGNORED: &[&str] = &[
    "fillfactor",
    "toast_tuple_target",
    "parallel_workers",
    "user_catalog_table",
    "vacuum_truncate",
    "vacuum_index_cleanup",
    "log_autovacuum_min_duration",
    "oids",
];

/// `WITH (…)`.
///
/// # Errors
/// `22023`: a parameter that is none.
pub fn with_options(mut spec: TableSpec, options: &CreateTableOptions) -> Result<TableSpec> {
    let options = match options {
        CreateTableOptions::None => return Ok(spec),
        CreateTableOptions::With(options)
        | CreateTableOptions::Options(options)
        | CreateTableOptions::Plain(options)
        | CreateTableOptions::TableProperties(options) => options,
    };
    for option in options {
        let (name, value) = match option {
            SqlOption::KeyValue { key, value } => (fold(key), text_of(value)),
            SqlOption::Ident(key) => (fold(key), "true".to_string()),
            SqlOption::TableSpace(_) => continue,
            other => return Err(SqlError::unsupported(format!("{other} of a table"))),
        };
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
            "history" => spec = spec.history(duration(&value).ok_or_else(bad)?),
            "retain" => {
                return Err(SqlError::unsupported("WITH (retain = …)")
                    .hint("Delete old rows by a range of a column: that is cheap here."));
            }
            name if IGNORED.contains(&name)
                || name.starts_with("autovacuum_")
                || name.starts_with("toast.") => {}
            name => {
                let text = format!("unrecognized parameter \"{name}\"");
                return Err(SqlError::new(state::BAD_PARAMETER, text));
            }
        }
    }
    Ok(spec)
}

fn text_of(value: &Expr) -> String {
    match value {
        Expr::Value(v) => literal_text(&v.value).unwrap_or_else(|| v.to_string()),
        other => other.to_string(),
    }
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
