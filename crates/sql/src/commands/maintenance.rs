//! VACUUM and its relatives: what they mean here.

use onlap::{Table, Upkeep, Value};
use onlap_pg::ast::{OptionValue, Path, Reindex, Setting, Utility, Vacuum};

use crate::catalog::oids;
use crate::error::{Result, SqlError, state};
use crate::rights::ask::table_key;
use crate::rights::{Action, Class};
use crate::session::Session;
use crate::session::answer::{Answer, AnswerColumn, Chunk, Ready, RowsAnswer};
use crate::source::strings;
use crate::types::{PgType, oid};
use crate::view::View;
use crate::wire::Client;

/// Carries out one of them.
///
/// # Errors
/// There is no such table; what only a superuser may.
pub fn run(
    session: &mut Session,
    view: &View,
    upkeep: &Utility,
    client: &mut dyn Client,
) -> Result<Answer> {
    let done = |tag: &str| Ok(Answer::Done(tag.to_string()));
    match upkeep {
        Utility::CheckTable(name) => check(view, name),
        Utility::Backup(dir) => backup(session, view, dir),
        Utility::Checkpoint => {
            if !view.judge.has_rights_of(oids::PG_CHECKPOINT) {
                let text = "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT";
                return Err(SqlError::new(state::NO_PRIVILEGE, text));
            }
            session.instance.db.flush()?;
            done("CHECKPOINT")
        }
        Utility::Vacuum(vacuum) if vacuum.vacuum => {
            if session.is_in_block() {
                let text = "VACUUM cannot run inside a transaction block";
                return Err(SqlError::new(state::ACTIVE_TRANSACTION, text));
            }
            options(&vacuum.options, OF_VACUUM, "VACUUM")?;
            let meant = tables(view, vacuum, client)?;
            // Cleaning goes on by itself; what is in memory goes to files, as a vacuum's would.
            session.instance.db.flush()?;
            // A partitioned table has no rows that die.
            let families = view.objects.families();
            let cleaned = meant.iter().filter(|t| families.divided(t.schema().id).is_none());
            cleaned.for_each(|table| table.note_upkeep(Upkeep::Cleaning));
            if vacuum.options.iter().any(|option| &*option.name == "analyze" && is_on(option)) {
                meant.iter().for_each(|table| table.note_upkeep(Upkeep::Analysis));
            }
            done("VACUUM")
        }
        Utility::Vacuum(analyze) => {
            options(&analyze.options, &["verbose", "skip_locked"], "ANALYZE")?;
            let meant = tables(view, analyze, client)?;
            meant.iter().for_each(|table| table.note_upkeep(Upkeep::Analysis));
            // Statistics come from the files as they are written.
            done("ANALYZE")
        }
        Utility::Cluster => Err(SqlError::unsupported("CLUSTER")
            .hint("Create an index that includes all columns: it keeps rows in its order.")),
        Utility::Reindex(of) => {
            reindex(view, of)?;
            // Merges write the files of indexes anew all the time.
            done("REINDEX")
        }
        _ => Err(SqlError::unsupported("this statement")),
    }
}

/// Options of VACUUM.
const OF_VACUUM: &[&str] = &[
    "analyze",
    "disable_page_skipping",
    "freeze",
    "full",
    "index_cleanup",
    "parallel",
    "process_toast",
    "skip_locked",
    "truncate",
    "verbose",
];

/// Fails on an option that is none.
fn options(said: &[Setting], known: &[&str], of: &str) -> Result<()> {
    match said.iter().find(|option| !known.contains(&&*option.name)) {
        Some(option) => {
            let text = format!("unrecognized {of} option \"{}\"", option.name);
            Err(SqlError::new(state::SYNTAX, text))
        }
        None => Ok(()),
    }
}

/// What REINDEX is about, which must be the role's own.
fn reindex(view: &View, of: &Reindex) -> Result<()> {
    match of {
        Reindex::Index(name) => reindex_relation(view, name, "index"),
        Reindex::Table(name) => reindex_relation(view, name, "table"),
        Reindex::Schema(name) => {
            let key = view.schema_key(name).ok_or_else(|| crate::view::no_schema(name))?;
            view.must_one(Action::Alter, Class::Schema, key, name)
        }
        Reindex::Database(name) | Reindex::System(name) => {
            if **name != *view.database {
                let text = "can only reindex the currently open database";
                return Err(SqlError::new(state::UNSUPPORTED, text));
            }
            view.must_one(Action::Alter, Class::Database, view.database_key(), name)
        }
    }
}

fn reindex_relation(view: &View, name: &Path, kind: &str) -> Result<()> {
    let parts = strings(name);
    let found = crate::ddl::relation(view, &parts)?;
    let (name, relation) = found.ok_or_else(|| crate::view::no_table(&parts))?;
    if crate::ddl::class_of(relation).word() != kind {
        let article = if kind == "index" { "an" } else { "a" };
        let text = format!("\"{}\" is not {article} {kind}", name.name);
        return Err(SqlError::new("42809", text));
    }
    view.must_own(Action::Alter, &name, relation)
}

/// Tables with columns in parentheses, and their partitions; without any all of the database. All that are named must be there.
/// Those that neither they nor the database are the role's own are left out.
fn tables(view: &View, said: &Vacuum, client: &mut dyn Client) -> Result<Vec<Table>> {
    let mut meant = Vec::new();
    let owns_all = view.judge.owns(view.database_key());
    if said.tables.is_empty() {
        let all = view.tables()?.into_iter().map(|(_, table)| table);
        meant.extend(all.filter(|t| owns_all || view.judge.owns(table_key(&t.schema()))));
        return Ok(meant);
    }
    let verb = if said.vacuum { "vacuum" } else { "analyze" };
    for (name, columns) in &said.tables {
        let (found, table) = view.table(&strings(name))?;
        let own = view.judge.owns(table_key(&table.schema()));
        if !own && !owns_all {
            let text = format!(
                "skipping \"{}\" --- only table or database owner can {verb} it",
                found.name
            );
            client.reply().notice("WARNING", &SqlError::new("01000", text));
            continue;
        }
        has_columns(&found.name, &table, &strings(columns))?;
        let families = view.objects.families();
        let id = table.schema().id;
        if families.divided(id).is_some() {
            let below = families.all_below(id);
            let all = view.tables()?.into_iter().map(|(_, table)| table);
            meant.extend(all.filter(|table| below.contains(&table.schema().id)));
        }
        meant.push(table);
    }
    Ok(meant)
}

/// Whether an option is said without a value, or with one that is true.
fn is_on(option: &Setting) -> bool {
    let is_off =
        |text: &str| ["0", "off", "false"].iter().any(|off| off.eq_ignore_ascii_case(text));
    match &option.value {
        Some(OptionValue::Word(word)) => !is_off(word),
        Some(OptionValue::Text(text) | OptionValue::Number(text)) => !is_off(text),
        _ => true,
    }
}

/// Fails where columns are named that are none of a table's, or are named twice.
fn has_columns(name: &str, table: &Table, columns: &[String]) -> Result<()> {
    let schema = table.schema();
    for (at, column) in columns.iter().enumerate() {
        let (state, what) = match schema.position_by_name(column) {
            None => (state::NO_COLUMN, "does not exist"),
            Some(_) if columns[..at].contains(column) => ("42701", "appears more than once"),
            Some(_) => continue,
        };
        let text = format!("column \"{column}\" of relation \"{name}\" {what}");
        return Err(SqlError::new(state, text));
    }
    Ok(())
}

/// CHECK TABLE: a row of findings, none where all is well.
fn check(view: &View, name: &Path) -> Result<Answer> {
    let (name, table) = view.table(&strings(name))?;
    view.must_own(Action::Alter, &name, crate::ddl::RelationKind::Table)?;
    let mut findings = Vec::new();
    let rows = view.scope.tx()?.count(&table)?;
    for index in &table.schema().indexes {
        let range = onlap::KeyRange::all();
        let entries = view.scope.tx()?.index_count(&table, &index.name, range)?;
        let partial = index.filter.is_some();
        if entries > rows || entries < rows && !partial {
            findings.push(format!("index {} has {entries} entries for {rows} rows", index.name));
        }
    }
    let text = match findings.is_empty() {
        true => "ok".to_string(),
        false => findings.join("; "),
    };
    let column = |name| AnswerColumn::new(name, PgType::new(oid::TEXT));
    let columns = std::sync::Arc::from([column("table"), column("result")]);
    let rows = vec![vec![Value::Text(name.name), Value::Text(text)]];
    let source = Box::new(Ready::new(vec![Chunk::Rows(rows)]));
    Ok(Answer::Rows(RowsAnswer::new(columns, source, "CHECK")))
}

fn backup(session: &Session, view: &View, dir: &str) -> Result<Answer> {
    if !view.judge.is_superuser() {
        let text = "must be superuser to write a backup";
        return Err(SqlError::new(state::NO_PRIVILEGE, text));
    }
    session.instance.back_up(dir)?;
    Ok(Answer::Done("BACKUP".into()))
}
