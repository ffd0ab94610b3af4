//! GRANT and REVOKE.

use datafusion::sql::sqlparser::tokenizer::Token;

use super::{alter, privileges};
use crate::catalog::{Kind, Name};
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::view::{View, no_schema, no_table};
use crate::words::Words;

/// GRANT or REVOKE, after this word.
///
/// # Errors
/// There is no such table or role; what Onlap does not have.
pub fn run(
    session: &mut Session,
    view: &View,
    words: &mut Words<'_>,
    grant: bool,
) -> Result<&'static str> {
    let tag = if grant { "GRANT" } else { "REVOKE" };
    words.accept(&["grant", "option", "for"]);
    let mut wanted = Vec::new();
    if words.accept(&["all"]) {
        words.accept(&["privileges"]);
        wanted.extend(privileges::ALL.iter().map(|p| p.to_string()));
    } else {
        loop {
            wanted.push(words.ident()?);
            if words.peek() == Some(&Token::LParen) {
                return Err(SqlError::unsupported("privileges on columns"));
            }
            if !words.symbol(&Token::Comma) {
                break;
            }
        }
    }
    if !words.accept(&["on"]) {
        return Err(SqlError::unsupported("membership of roles"));
    }
    let tables = targets(view, words)?;
    words.expect(&[if grant { "to" } else { "from" }])?;
    let mut roles = Vec::new();
    loop {
        words.accept(&["group"]);
        let role = match words.ident()?.as_str() {
            "current_user" | "session_user" | "current_role" => view.user.clone(),
            role => role.to_string(),
        };
        let known = role == "public"
            || view.instance.role(&role).is_some()
            || view.objects.get(Kind::Role, &role).is_some();
        if !known {
            return Err(SqlError::new(state::NO_OBJECT, format!("role \"{role}\" does not exist")));
        }
        roles.push(role);
        if !words.symbol(&Token::Comma) {
            break;
        }
    }
    // WITH GRANT OPTION, GRANTED BY, CASCADE: only owners and superusers grant.
    words.rest();
    let Some(tables) = tables else { return Ok(tag) };
    for privilege in &wanted {
        let known = privileges::ALL.contains(&privilege.as_str()) || privilege == "usage";
        if !known {
            let text = format!("unrecognized privilege type \"{privilege}\"");
            return Err(SqlError::new(state::SYNTAX, text));
        }
    }
    for name in tables {
        let Some(relation) = super::naming::find(view, &name)? else { continue };
        let oid = privileges::oid_of(view, &name, relation)?;
        session.must_own(view, oid, "table", &name.name)?;
        let key = oid.to_string();
        let known = view.objects.get(Kind::Privileges, &key).map(|o| &o.body);
        let body = privileges::changed(known, &roles, &wanted, grant);
        session.put(Kind::Privileges, &key, Some(body))?;
    }
    Ok(tag)
}

/// The tables, views and sequences that are meant; `None` for schemas and databases, which all may use.
fn targets(view: &View, words: &mut Words<'_>) -> Result<Option<Vec<Name>>> {
    if words.accept(&["all"]) {
        let what = words.one_of(&["tables", "sequences", "functions", "routines", "procedures"]);
        let what = what.ok_or_else(|| words.error())?;
        words.expect(&["in", "schema"])?;
        let schemas: Vec<String> = words.names()?.into_iter().map(|n| n.join(".")).collect();
        if let Some(missing) = schemas.iter().find(|s| !view.has_schema(s)) {
            return Err(no_schema(missing));
        }
        let own = |name: &Name| schemas.contains(&name.schema);
        let of_engine = |engine: &str| {
            let (database, name) = Name::of_engine(engine);
            (database == view.database).then_some(name).filter(own)
        };
        return Ok(Some(match what {
            "tables" => {
                let tables = view.tables()?.into_iter().map(|(name, _)| name).filter(own);
                let views = view.objects.of_kind(Kind::View).filter_map(|(n, _)| of_engine(n));
                tables.chain(views).collect()
            }
            "sequences" => {
                let all = view.scope.tx()?.sequences();
                all.iter().filter_map(|s| of_engine(s.name())).collect()
            }
            _ => Vec::new(),
        }));
    }
    let kinds = ["schema", "database", "function", "language", "type", "domain", "tablespace"];
    if words.one_of(&kinds).is_some() {
        words.names()?;
        if words.peek() == Some(&Token::LParen) {
            words.parenthesized()?;
        }
        return Ok(None);
    }
    words.one_of(&["table", "sequence"]);
    let mut names = Vec::new();
    for parts in words.names()? {
        names.push(alter::relation(view, &parts)?.ok_or_else(|| no_table(&parts))?.0);
    }
    Ok(Some(names))
}
