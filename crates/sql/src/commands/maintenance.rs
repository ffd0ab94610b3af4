//! VACUUM and its relatives: what they mean here.

use onlap::Value;

use crate::catalog::oids;
use crate::error::{Result, SqlError, state};
use crate::rights::ask::table_key;
use crate::rights::{Action, Class};
use crate::session::Session;
use crate::session::answer::{Answer, AnswerColumn, Chunk, Ready, RowsAnswer};
use crate::types::{PgType, oid};
use crate::view::View;
use crate::wire::Client;
use crate::words::{Token, Words};

/// Carries out one of them; `None` where it is none.
///
/// # Errors
/// There is no such table; what only a superuser may.
pub fn run(
    session: &mut Session,
    view: &View,
    words: &mut Words<'_>,
    client: &mut dyn Client,
) -> Result<Option<Answer>> {
    let done = |tag: &str| Ok(Some(Answer::Done(tag.to_string())));
    let known = ["vacuum", "analyze", "analyse", "checkpoint", "cluster", "reindex", "lock"];
    if words.accept(&["check", "table"]) {
        return check(view, words).map(Some);
    }
    if words.accept(&["backup", "to"]) {
        return backup(session, view, words).map(Some);
    }
    let Some(word) = words.one_of(&known) else { return Ok(None) };
    match word {
        "checkpoint" => {
            words.end()?;
            if !view.judge.has_rights_of(oids::PG_CHECKPOINT) {
                let text = "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT";
                return Err(SqlError::new(state::NO_PRIVILEGE, text));
            }
            session.instance.db.flush()?;
            done("CHECKPOINT")
        }
        "vacuum" => {
            if session.is_in_block() {
                let text = "VACUUM cannot run inside a transaction block";
                return Err(SqlError::new(state::ACTIVE_TRANSACTION, text));
            }
            options(words, &["full", "freeze", "verbose", "analyze", "analyse"])?;
            tables(view, words, "vacuum", client)?;
            // Cleaning goes on by itself; what is in memory goes to files, as a vacuum's would.
            session.instance.db.flush()?;
            done("VACUUM")
        }
        "analyze" | "analyse" => {
            options(words, &["verbose"])?;
            tables(view, words, "analyze", client)?;
            // Statistics come from the files as they are written.
            done("ANALYZE")
        }
        "cluster" => Err(SqlError::unsupported("CLUSTER")
            .hint("Create an index that includes all columns: it keeps rows in its order.")),
        "reindex" => {
            options(words, &["concurrently"])?;
            reindex(view, words)?;
            // Merges write the files of indexes anew all the time.
            done("REINDEX")
        }
        _ => Err(SqlError::unsupported("LOCK TABLE")
            .hint("Lock rows by SELECT … FOR UPDATE, or use SERIALIZABLE.")),
    }
}

/// Options in parentheses or as words.
fn options(words: &mut Words<'_>, known: &[&str]) -> Result<()> {
    if words.peek() == Some(&Token::LParen) {
        words.parenthesized()?;
    }
    while words.one_of(known).is_some() {}
    Ok(())
}

/// What REINDEX is about, which must be the role's own.
fn reindex(view: &View, words: &mut Words<'_>) -> Result<()> {
    let kinds = ["index", "table", "schema", "database", "system"];
    let kind = words.one_of(&kinds).ok_or_else(|| words.error())?;
    options(words, &["concurrently"])?;
    let parts = words.name()?;
    words.end()?;
    let name = parts.join(".");
    match kind {
        "index" | "table" => {
            let found = crate::ddl::relation(view, &parts)?;
            let (name, relation) = found.ok_or_else(|| crate::view::no_table(&parts))?;
            if crate::ddl::class_of(relation).word() != kind {
                let article = if kind == "index" { "an" } else { "a" };
                let text = format!("\"{}\" is not {article} {kind}", name.name);
                return Err(SqlError::new("42809", text));
            }
            view.must_own(Action::Alter, &name, relation)
        }
        "schema" => {
            let key = view.schema_key(&name).ok_or_else(|| crate::view::no_schema(&name))?;
            view.must_one(Action::Alter, Class::Schema, key, &name)
        }
        _ => {
            if name != view.database {
                let text = "can only reindex the currently open database";
                return Err(SqlError::new(state::UNSUPPORTED, text));
            }
            view.must_one(Action::Alter, Class::Database, view.database_key(), &name)
        }
    }
}

/// Tables with columns in parentheses; all must be there. Those that neither they nor the database are the
/// role's own are left out.
fn tables(view: &View, words: &mut Words<'_>, verb: &str, client: &mut dyn Client) -> Result<()> {
    while !words.is_end() {
        let name = words.name()?;
        let (found, table) = view.table(&name)?;
        let own = view.judge.owns(table_key(&table.schema()));
        if !own && !view.judge.owns(view.database_key()) {
            let text = format!(
                "skipping \"{}\" --- only table or database owner can {verb} it",
                found.name
            );
            client.reply().notice("WARNING", &SqlError::new("01000", text));
        }
        words.columns()?;
        if !words.symbol(&Token::Comma) {
            break;
        }
    }
    words.end()
}

/// CHECK TABLE: a row of findings, none where all is well.
fn check(view: &View, words: &mut Words<'_>) -> Result<Answer> {
    let (name, table) = view.table(&words.name()?)?;
    words.end()?;
    view.must_own(Action::Alter, &name, crate::ddl::RelationKind::Table)?;
    let mut findings = Vec::new();
    let rows = view.scope.tx()?.count(&table)?;
    for index in &table.schema().indexes {
        let range = onlap::KeyRange::all();
        let entries = view.scope.tx()?.index_count(&table, &index.name, range)?;
        if entries != rows {
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

fn backup(session: &Session, view: &View, words: &mut Words<'_>) -> Result<Answer> {
    let dir = words.string().ok_or_else(|| words.error())?;
    words.end()?;
    if !view.judge.is_superuser() {
        let text = "must be superuser to write a backup";
        return Err(SqlError::new(state::NO_PRIVILEGE, text));
    }
    session.instance.db.backup(&dir)?;
    Ok(Answer::Done("BACKUP".into()))
}
