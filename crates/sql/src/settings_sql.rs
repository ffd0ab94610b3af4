//! SET, SHOW, RESET and DISCARD.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{Set, Statement, TransactionMode};
use onlap::Value;

use crate::error::{Result, SqlError, state};
use crate::parse;
use crate::session::answer::{Answer, AnswerColumn, Chunk, Ready, RowsAnswer};
use crate::session::{Session, isolation_name};
use crate::settings::SETTINGS;
use crate::types::{PgType, oid};
use crate::view::View;
use crate::words::{Token, Words};

fn done(tag: &str) -> Result<Answer> {
    Ok(Answer::Done(tag.to_string()))
}

/// Carries one of them out.
///
/// # Errors
/// No such setting or value; a statement that is none of these.
pub fn run(
    session: &mut Session,
    view: &View,
    words: &mut Words<'_>,
    text: &str,
) -> Result<Answer> {
    match words.one_of(&["set", "show", "reset", "discard"]) {
        Some("set") => set(session, view, words, text),
        Some("show") => show(session, words),
        Some("reset") => {
            if words.accept(&["all"]) {
                session.settings.reset_all();
            } else if words.accept(&["role"]) {
                session.set_role(&view.judge, None, false)?;
            } else if words.accept(&["session", "authorization"]) {
                session.set_authorization(&view.judge, None, false)?;
            } else {
                session.settings.reset(&name(words)?)?;
            }
            words.end()?;
            done("RESET")
        }
        Some(_) => {
            let what = words.one_of(&["all", "plans", "sequences", "temporary", "temp"]);
            let what = what.ok_or_else(|| words.error())?;
            if what == "all" {
                if session.is_in_block() {
                    let text = "DISCARD ALL cannot run inside a transaction block";
                    return Err(SqlError::new(state::ACTIVE_TRANSACTION, text));
                }
                session.settings.reset_all();
                session.set_authorization(&view.judge, None, false)?;
                session.discard_all();
            }
            done(&format!("DISCARD {}", what.to_uppercase()))
        }
        None => {
            let first: Vec<&str> = text.split_whitespace().take(2).collect();
            Err(SqlError::unsupported(first.join(" ").to_uppercase()))
        }
    }
}

/// A setting's name: words, where PostgreSQL has them, or parts with dots.
fn name(words: &mut Words<'_>) -> Result<String> {
    if words.accept(&["time", "zone"]) {
        return Ok("timezone".into());
    }
    if words.accept(&["transaction", "isolation", "level"]) {
        return Ok("transaction_isolation".into());
    }
    Ok(words.name()?.join("."))
}

fn set(session: &mut Session, view: &View, words: &mut Words<'_>, text: &str) -> Result<Answer> {
    let characteristics = words.accept(&["session", "characteristics", "as"]);
    if words.begins(&["transaction"]) || words.begins(&["local", "transaction"]) {
        return transaction(session, text, characteristics);
    }
    let authorization = words.accept(&["session", "authorization"]);
    let local = !authorization && words.one_of(&["local", "session"]) == Some("local");
    if authorization || words.accept(&["session", "authorization"]) {
        let role = role(words)?;
        session.set_authorization(&view.judge, role.as_deref(), local)?;
        return done("SET");
    }
    if words.accept(&["role"]) {
        let role = role(words)?;
        session.set_role(&view.judge, role.as_deref(), local)?;
        return done("SET");
    }
    if words.accept(&["names"]) {
        let encoding = words.string().unwrap_or_else(|| "UTF8".into());
        session.settings.set("client_encoding", &encoding, local)?;
        return done("SET");
    }
    let zone = words.begins(&["time", "zone"]);
    let name = name(words)?;
    if !zone && !words.symbol(&Token::Eq) && !words.accept(&["to"]) {
        return Err(words.error());
    }
    if words.accept(&["default"]) || zone && words.accept(&["local"]) {
        session.settings.reset(&name)?;
        return done("SET");
    }
    let mut values = Vec::new();
    loop {
        values.push(value(words)?);
        if !words.symbol(&Token::Comma) {
            break;
        }
    }
    words.end()?;
    session.settings.set(&name, &values.join(", "), local)?;
    done("SET")
}

/// A literal, a number or a word.
fn value(words: &mut Words<'_>) -> Result<String> {
    if let Some(text) = words.string() {
        return Ok(text);
    }
    if let Some(text) = words.number() {
        return Ok(text);
    }
    words.ident()
}

/// A role's name; `None` for the one that connected.
fn role(words: &mut Words<'_>) -> Result<Option<String>> {
    words.symbol(&Token::Eq);
    words.accept(&["to"]);
    let role = words.string().map_or_else(|| words.ident(), Ok)?;
    words.end()?;
    Ok(Some(role).filter(|r| r != "none" && r != "default"))
}

fn transaction(session: &mut Session, text: &str, lasting: bool) -> Result<Answer> {
    let modes: Vec<TransactionMode> = match parse::by_parser(text)?.into_inner() {
        Statement::Set(Set::SetTransaction { modes, snapshot: None, .. }) => modes,
        other => return Err(SqlError::unsupported(other)),
    };
    if !lasting {
        session.set_modes(&modes)?;
        return done("SET");
    }
    for mode in modes {
        let (name, value) = match mode {
            TransactionMode::IsolationLevel(level) => {
                ("default_transaction_isolation", level.to_string().to_lowercase())
            }
            TransactionMode::AccessMode(mode) => {
                let only = mode.to_string() == "READ ONLY";
                let value = if only { "on" } else { "off" };
                ("default_transaction_read_only", value.to_string())
            }
        };
        session.settings.set(name, &value, false)?;
    }
    done("SET")
}

/// Columns of what SHOW gives, after this word.
pub fn columns(words: &mut Words<'_>) -> Arc<[AnswerColumn]> {
    let text = |name: &str| AnswerColumn::new(name, PgType::new(oid::TEXT));
    if words.accept(&["all"]) {
        return Arc::from([text("name"), text("setting"), text("description")]);
    }
    let name = name(words).unwrap_or_default();
    let known = SETTINGS.iter().find(|s| s.name.eq_ignore_ascii_case(&name));
    Arc::from([text(known.map_or(name.as_str(), |s| s.name))])
}

fn show(session: &mut Session, words: &mut Words<'_>) -> Result<Answer> {
    let text = |s: &str| Value::Text(s.to_string());
    let all = words.begins(&["all"]);
    let (columns, rows) = if all {
        let row = |s: &crate::settings::Setting| {
            vec![text(s.name), text(&session.settings.show_id(s.id)), text(s.text)]
        };
        (columns(words), SETTINGS.iter().map(row).collect())
    } else {
        let name = name(words)?;
        let options = session.current()?.options;
        let value = match name.as_str() {
            "transaction_isolation" => isolation_name(options.isolation).to_string(),
            "transaction_read_only" => if options.read_only { "on" } else { "off" }.to_string(),
            name => session.settings.show(name)?,
        };
        let known = SETTINGS.iter().find(|s| s.name.eq_ignore_ascii_case(&name));
        let column = known.map_or(name.as_str(), |s| s.name);
        let column = AnswerColumn::new(column, PgType::new(oid::TEXT));
        (Arc::from([column]), vec![vec![text(&value)]])
    };
    words.end()?;
    let source = Box::new(Ready::new(vec![Chunk::Rows(rows)]));
    Ok(Answer::Rows(RowsAnswer::new(columns, source, "SHOW")))
}
