//! SET, SHOW, RESET, and statements that sqlparser does not know.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{Expr, Set, Statement, Value as AstValue};
use datafusion::sql::sqlparser::tokenizer::{Token, Word};
use onlap::Value;

use crate::error::{Result, SqlError, state};
use crate::parse::{Body, Parsed, literal_text};
use crate::session::Session;
use crate::session::answer::{Answer, AnswerColumn, Chunk, Ready, RowsAnswer};
use crate::types::{PgType, oid};
use crate::view::View;
use crate::wire::Client;

fn done(tag: &str) -> Result<Answer> {
    Ok(Answer::Done(tag.to_string()))
}

/// SET.
pub fn set(
    session: &mut Session,
    statement: &Statement,
    _client: &mut dyn Client,
) -> Result<Answer> {
    let Statement::Set(set) = statement else { return Err(SqlError::unsupported(statement)) };
    match set {
        Set::SingleAssignment { variable, values, .. } => {
            let values: Vec<String> = values.iter().map(text_of).collect();
            session.settings.insert(variable.to_string().to_lowercase(), values.join(", "));
        }
        Set::SetTimeZone { value, .. } => {
            session.settings.insert("timezone".into(), text_of(value));
        }
        Set::SetTransaction { modes, session: false, .. } => session.set_modes(modes)?,
        Set::SetTransaction { .. } | Set::SetNames { .. } | Set::SetNamesDefault {} => {}
        other => return Err(SqlError::unsupported(other)),
    }
    done("SET")
}

fn text_of(e: &Expr) -> String {
    match e {
        Expr::Value(v) => literal_text(&v.value).unwrap_or_else(|| v.to_string()),
        Expr::Identifier(ident) => ident.value.clone(),
        other => other.to_string(),
    }
}

fn words(tokens: &[Token]) -> Vec<String> {
    let word = |t: &Token| match t {
        Token::Word(Word { value, quote_style, .. }) => match quote_style {
            None => value.to_lowercase(),
            Some(_) => value.clone(),
        },
        Token::SingleQuotedString(s) => s.clone(),
        other => other.to_string(),
    };
    tokens.iter().map(word).collect()
}

/// Columns of statements that give rows.
pub fn columns_of(_session: &Session, parsed: &Parsed) -> Option<Arc<[AnswerColumn]>> {
    let Body::Other(tokens) = &parsed.body else { return None };
    match &words(tokens).iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["show", rest @ ..] => {
            let column = AnswerColumn::new(rest.join("_"), PgType::new(oid::TEXT));
            Some(Arc::from([column]))
        }
        _ => None,
    }
}

/// Statements that are known by their words.
pub fn other(
    session: &mut Session,
    _view: &View,
    tokens: &[Token],
    _client: &mut dyn Client,
) -> Result<Answer> {
    let words = words(tokens);
    match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["show", name @ ..] => {
            let name = name.join("_");
            let value = session.setting(&name).unwrap_or_default();
            let column = AnswerColumn::new(name, PgType::new(oid::TEXT));
            let rows = Chunk::Rows(vec![vec![Value::Text(value)]]);
            let source = Box::new(Ready::new(vec![rows]));
            Ok(Answer::Rows(RowsAnswer::new(Arc::from([column]), source, "SHOW")))
        }
        ["reset", name] => {
            session.settings.remove(*name);
            done("RESET")
        }
        ["discard", ..] => done("DISCARD ALL"),
        _ => Err(SqlError::new(
            state::UNSUPPORTED,
            format!("{} is not supported", words.join(" ").to_uppercase()),
        )),
    }
}

/// Whether a literal is NULL.
pub fn is_null(value: &AstValue) -> bool {
    matches!(value, AstValue::Null)
}
