//! PREPARE, EXECUTE and DEALLOCATE as statements.

use std::sync::Arc;

use onlap::DataType;

use super::answer::{Answer, AnswerColumn};
use super::{Parameter, Roles, Session};
use crate::error::{Result, SqlError, state};
use crate::parse::{self, Body};
use crate::plan::Known;
use crate::rights::Judge;
use crate::settings::{Id, Value};
use crate::types::{PgType, names, oid, value_of_array};
use crate::view::View;
use crate::wire::Client;
use crate::words::{Token, Words};

impl Session {
    /// PREPARE, after this word.
    ///
    /// # Errors
    /// The name is taken; the statement is wrong.
    pub(crate) fn prepare_by_name(&mut self, words: &mut Words<'_>) -> Result<Answer> {
        let name = words.ident()?;
        let mut types = Vec::new();
        if words.peek() == Some(&Token::LParen) {
            for text in words.parenthesized()?.split(',') {
                types.push(type_of(text)?);
            }
        }
        words.expect(&["as"])?;
        if self.statements.contains_key(&name) {
            let text = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new(state::DUPLICATE_STATEMENT, text));
        }
        let mut all = parse::statements(words.rest())?;
        let (Some(parsed), true) = (all.pop(), all.is_empty()) else {
            return Err(SqlError::new(state::SYNTAX, "PREPARE needs one statement"));
        };
        if matches!(parsed.body, Body::Other) {
            return Err(SqlError::new(state::SYNTAX, "a statement of this kind is not prepared"));
        }
        let mut prepared = self.prepare(Some(parsed), &types)?;
        prepared.kept = self.keep_room(&name, words.rest())?;
        self.statements.insert(name, Arc::new(prepared));
        Ok(Answer::Done("PREPARE".into()))
    }

    /// EXECUTE, after this word.
    ///
    /// # Errors
    /// There is no such statement; those of it.
    pub(crate) fn execute_by_name(
        &mut self,
        view: &View,
        words: &mut Words<'_>,
        client: &mut dyn Client,
    ) -> Result<Answer> {
        let name = words.ident()?;
        let arguments = match words.peek() {
            Some(Token::LParen) => words.parenthesized()?.trim(),
            _ => "",
        };
        words.end()?;
        let prepared = self.statement(&name)?;
        let types = prepared.parameters.clone();
        let values = match (arguments, types.len()) {
            ("", 0) => Vec::new(),
            (text, _) => self.arguments(view, &name, text, &types)?,
        };
        self.run(&prepared, &values, client)
    }

    fn arguments(
        &self,
        view: &View,
        name: &str,
        text: &str,
        types: &[PgType],
    ) -> Result<Vec<Parameter>> {
        let wrong = |given: usize| {
            let text = format!("wrong number of parameters for prepared statement \"{name}\"");
            let detail = format!("Expected {} parameters but got {given}.", types.len());
            SqlError::new(state::SYNTAX, text).detail(detail)
        };
        if text.is_empty() {
            return Err(wrong(0));
        }
        let planner = &self.instance.planner;
        let statement = parse::one(&format!("SELECT {text}"))?;
        let query = planner.plan(view, statement, Vec::new(), &Known::default())?;
        let given = query.schema().fields().len();
        if given != types.len() {
            return Err(wrong(given));
        }
        let batches = planner.run(planner.physical(view, &query)?, &view.scope)?.all()?;
        let row = batches.first().ok_or_else(|| wrong(0))?;
        let value = |(i, ty): (usize, &PgType)| {
            let engine = ty.engine().unwrap_or(DataType::Text);
            Ok(Parameter { ty: *ty, value: value_of_array(row.column(i), 0, engine)? })
        };
        types.iter().enumerate().map(value).collect()
    }

    /// Columns of what EXECUTE gives, after this word.
    pub(crate) fn columns_of_execute(&self, words: &mut Words<'_>) -> Option<Arc<[AnswerColumn]>> {
        let name = words.ident().ok()?;
        self.statements.get(&name)?.columns.clone()
    }

    /// DEALLOCATE, after this word.
    ///
    /// # Errors
    /// There is no such statement.
    pub(crate) fn deallocate(&mut self, words: &mut Words<'_>) -> Result<Answer> {
        words.accept(&["prepare"]);
        if words.accept(&["all"]) {
            self.statements.clear();
            return Ok(Answer::Done("DEALLOCATE ALL".into()));
        }
        let name = words.ident()?;
        words.end()?;
        self.statement(&name)?;
        self.statements.remove(&name);
        Ok(Answer::Done("DEALLOCATE".into()))
    }
}

/// The OID of a type's name.
fn type_of(text: &str) -> Result<u32> {
    let text = text.trim();
    let plain = text.split('(').next().unwrap_or(text).trim();
    if plain == "unknown" {
        return Ok(oid::UNKNOWN);
    }
    names::by_name(plain)
        .ok_or_else(|| SqlError::new(state::NO_OBJECT, format!("type \"{text}\" does not exist")))
}

impl Session {
    /// Forgets prepared statements, cursors and what was taken of sequences.
    pub(crate) fn discard_all(&mut self) {
        self.statements.clear();
        self.portals.clear();
        *self.taken.lock() = Default::default();
    }

    /// SET ROLE, `local` to the transaction: goes on with the rights of another role; `None` for the
    /// session's own.
    ///
    /// # Errors
    /// There is none; the session's role is not in it.
    pub(crate) fn set_role(
        &mut self,
        judge: &Judge,
        role: Option<&str>,
        local: bool,
    ) -> Result<()> {
        let own = self.roles.session;
        let current = match role {
            None => own,
            Some(name) => {
                let role = named(judge, name)?;
                if !judge.of(own).is_member(role) {
                    let text = format!("permission denied to set role \"{name}\"");
                    return Err(SqlError::new(state::NO_PRIVILEGE, text));
                }
                role
            }
        };
        self.turn(Roles { session: own, current }, local);
        Ok(())
    }

    /// SET SESSION AUTHORIZATION, `local` to the transaction: goes on as another role; `None` for the one
    /// that connected.
    ///
    /// # Errors
    /// There is none; the one that connected was no superuser.
    pub(crate) fn set_authorization(
        &mut self,
        judge: &Judge,
        role: Option<&str>,
        local: bool,
    ) -> Result<()> {
        let own = self.presence.role;
        let role = role.map_or(Ok(own), |name| named(judge, name))?;
        if role != own && !self.began_superuser {
            let name = judge.rights().name_of(role);
            let text = format!("permission denied to set session authorization \"{name}\"");
            return Err(SqlError::new(state::NO_PRIVILEGE, text));
        }
        self.turn(Roles { session: role, current: role }, local);
        Ok(())
    }

    fn turn(&mut self, roles: Roles, local: bool) {
        let before = *self.roles_before.get_or_insert(self.roles);
        match local {
            true => self.roles_after = self.roles_after.or(Some(before)),
            false => self.roles_after = Some(roles),
        }
        self.be(roles);
    }

    /// Takes the rights of roles.
    pub(super) fn be(&mut self, roles: Roles) {
        self.roles = roles;
        let objects = self.instance.objects();
        let rights = objects.rights();
        self.settings.put(Id::IsSuperuser, Value::Flag(rights.is_superuser(roles.current)));
        self.settings.put(Id::SessionAuthorization, Value::Text(rights.name_of(roles.session)));
        let role = match roles.current == roles.session {
            true => "none".to_string(),
            false => rights.name_of(roles.current),
        };
        self.settings.put(Id::Role, Value::Text(role));
    }

    /// The settings and the roles of the transaction that ends stay, or are what they were before.
    pub(super) fn end_settings(&mut self, stay: bool) {
        self.take_asked();
        let (before, after) = (self.roles_before.take(), self.roles_after.take());
        if stay {
            self.settings.commit();
        } else {
            self.settings.rollback();
        }
        let roles = if stay { after } else { before };
        roles.filter(|roles| *roles != self.roles).into_iter().for_each(|roles| self.be(roles));
    }
}

fn named(judge: &Judge, name: &str) -> Result<u32> {
    judge.rights().role_named(name).map(|role| role.oid).ok_or_else(|| {
        SqlError::new(state::BAD_PARAMETER, format!("role \"{name}\" does not exist"))
    })
}
