//! VACUUM and its relatives: what they mean here.

use datafusion::sql::sqlparser::tokenizer::Token;
use onlap::Value;

use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::session::answer::{Answer, AnswerColumn, Chunk, Ready, RowsAnswer};
use crate::types::{PgType, oid};
use crate::view::View;
use crate::words::Words;

/// Carries out one of them; `None` where it is none.
///
/// # Errors
/// There is no such table; what only a superuser may.
pub fn run(session: &mut Session, view: &View, words: &mut Words<'_>) -> Result<Option<Answer>> {
    let done = |tag: &str| Ok(Some(Answer::Done(tag.to_string())));
    let known = ["vacuum", "analyze", "analyse", "checkpoint", "cluster", "reindex", "lock"];
    if words.accept(&["check", "table"]) {
        return check(view, words).map(Some);
    }
    if words.accept(&["backup", "to"]) {
        return backup(session, words).map(Some);
    }
    let Some(word) = words.one_of(&known) else { return Ok(None) };
    match word {
        "checkpoint" => {
            words.end()?;
            session.instance.db.flush()?;
            done("CHECKPOINT")
        }
        "vacuum" => {
            if session.is_in_block() {
                let text = "VACUUM cannot run inside a transaction block";
                return Err(SqlError::new(state::ACTIVE_TRANSACTION, text));
            }
            options(words, &["full", "freeze", "verbose", "analyze", "analyse"])?;
            tables(view, words)?;
            // Cleaning goes on by itself; what is in memory goes to files, as a vacuum's would.
            session.instance.db.flush()?;
            done("VACUUM")
        }
        "analyze" | "analyse" => {
            options(words, &["verbose"])?;
            tables(view, words)?;
            // Statistics come from the files as they are written.
            done("ANALYZE")
        }
        "cluster" => Err(SqlError::unsupported("CLUSTER")
            .hint("Create an index that includes all columns: it keeps rows in its order.")),
        "reindex" => {
            options(words, &["concurrently"])?;
            if words.one_of(&["index", "table", "schema", "database", "system"]).is_none() {
                return Err(words.error());
            }
            words.rest();
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

/// Tables with columns in parentheses; all must be there.
fn tables(view: &View, words: &mut Words<'_>) -> Result<()> {
    while !words.is_end() {
        let name = words.name()?;
        view.table(&name)?;
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

fn backup(session: &Session, words: &mut Words<'_>) -> Result<Answer> {
    let dir = words.string().ok_or_else(|| words.error())?;
    words.end()?;
    if !session.instance.is_superuser(&session.user) {
        let text = "must be superuser to write a backup";
        return Err(SqlError::new(state::NO_PRIVILEGE, text));
    }
    session.instance.db.backup(&dir)?;
    Ok(Answer::Done("BACKUP".into()))
}
