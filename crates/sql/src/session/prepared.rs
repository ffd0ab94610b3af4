//! PREPARE, EXECUTE and DEALLOCATE as statements.

use std::sync::Arc;

use onlap::{DataType, Value};
use onlap_base::clock::{Clock, SystemClock};
use onlap_pg::ast::{Execute, Expr, ExprId, Literal, Prepare, Span, TypeName};
use onlap_pg::bind;
use onlap_pg::resolve::{Context, can_convert};

use super::answer::{Answer, AnswerColumn};
use super::prepare::Prepared;
use super::values::of_text;
use super::{Parameter, Roles, Session};
use crate::catalog::extensions;
use crate::catalog::frozen::{edited, literals};
use crate::columns::ColumnType;
use crate::error::{Result, SqlError, state};
use crate::parse::{self, Body};
use crate::query::{Bound, Names, sql_error, stored};
use crate::rights::Judge;
use crate::settings::{Id, Value as Set};
use crate::source::{Source, no_parameters, strings};
use crate::types::{PgType, names, oid};
use crate::view::{ListedStatement, View};
use crate::wire::Client;

impl Session {
    /// PREPARE.
    ///
    /// # Errors
    /// The name is taken; the statement is wrong.
    pub(crate) fn prepare_by_name(
        &mut self,
        source: Source<'_>,
        prepare: &Prepare,
    ) -> Result<Answer> {
        let name = prepare.name.to_string();
        let types = self.in_view(|_, view| {
            let types = prepare.types.iter().map(|ty| type_of(view, source, ty));
            types.collect::<Result<Vec<u32>>>()
        })?;
        let text = prepare.span.of(source.written);
        let mut all = parse::statements(text)?;
        let (Some(parsed), true) = (all.pop(), all.is_empty()) else {
            return Err(SqlError::new(state::SYNTAX, "PREPARE needs one statement"));
        };
        if matches!(parsed.body, Body::Defined | Body::Other) {
            return Err(SqlError::new(state::SYNTAX, "a statement of this kind is not prepared"));
        }
        let prepared = self.prepare(Some(parsed), &types);
        let prepared = prepared.map_err(|e| source.within(prepare.span, e))?;
        let mut prepared = self.with_literals_of_now(prepared, &types)?;
        if self.statements.contains_key(&name) {
            let text = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new(state::DUPLICATE_STATEMENT, text));
        }
        prepared.kept = self.keep_room(&name, text)?;
        let prepared = Arc::new(prepared);
        self.list(&name, source.written, &prepared, true);
        self.statements.insert(name, prepared);
        Ok(Answer::Done("PREPARE".into()))
    }

    /// Lets literals of dates, times and intervals mean what they mean now, as in PostgreSQL: a statement with a name may be carried
    /// out when other settings say what their texts mean.
    ///
    /// # Errors
    /// As of [`Session::prepare`].
    pub(super) fn with_literals_of_now(
        &mut self,
        prepared: Prepared,
        types: &[u32],
    ) -> Result<Prepared> {
        let (Some(parsed), Some(meaning)) = (&prepared.parsed, prepared.first_meaning()) else {
            return Ok(prepared);
        };
        let text = &parsed.text;
        let edits = self.in_view(|_, view| Ok(literals(view, meaning.bound.tree().0, text)))?;
        if edits.is_empty() {
            return Ok(prepared);
        }
        let whole = Span { start: 0, end: text.len() as u32 };
        let Some(mut again) = parse::statements(&edited(text, whole, edits))?.pop() else {
            return Ok(prepared);
        };
        again.stand_for(parsed);
        self.prepare(Some(again), types)
    }

    /// Lets the catalog know of a prepared statement.
    pub(super) fn list(&self, name: &str, text: &str, prepared: &Prepared, by_statement: bool) {
        if !name.is_empty() {
            let listed = ListedStatement {
                text: text.to_owned(),
                made_us: SystemClock.unix_us(),
                types: prepared.parameters.iter().map(|ty| ty.oid).collect(),
                by_statement,
            };
            self.listed.lock().insert(name.to_owned(), listed);
        }
    }

    /// EXECUTE.
    ///
    /// # Errors
    /// There is no such statement; those of it.
    pub(crate) fn execute_by_name(
        &mut self,
        view: &View,
        source: Source<'_>,
        execute: &Execute,
        client: &mut dyn Client,
    ) -> Result<Answer> {
        let (prepared, values) = self.executed(view, source, execute)?;
        self.run(&prepared, &values, client)
    }

    /// The statement that EXECUTE means, and the values that it gives to its parameters.
    ///
    /// # Errors
    /// There is no such statement; the values are none of its parameters.
    pub(crate) fn executed(
        &self,
        view: &View,
        source: Source<'_>,
        execute: &Execute,
    ) -> Result<(Arc<Prepared>, Vec<Parameter>)> {
        let prepared = self.statement(&execute.name)?;
        let values = arguments(view, source, execute, &prepared.parameters)?;
        Ok((prepared, values))
    }

    /// Columns of what EXECUTE gives.
    pub(crate) fn columns_of_execute(&self, name: &str) -> Option<Arc<[AnswerColumn]>> {
        self.statements.get(name)?.columns.clone()
    }

    /// DEALLOCATE; of all statements where none is named.
    ///
    /// # Errors
    /// There is no such statement.
    pub(crate) fn deallocate(&mut self, name: Option<&str>) -> Result<Answer> {
        let Some(name) = name else {
            self.statements.clear();
            self.listed.lock().clear();
            return Ok(Answer::Done("DEALLOCATE ALL".into()));
        };
        self.statement(name)?;
        self.statements.remove(name);
        self.listed.lock().remove(name);
        Ok(Answer::Done("DEALLOCATE".into()))
    }
}

/// Values of a prepared statement's parameters, each cast to the parameter's type.
fn arguments(
    view: &View,
    source: Source<'_>,
    execute: &Execute,
    types: &[PgType],
) -> Result<Vec<Parameter>> {
    let given = execute.values.len();
    if given != types.len() {
        let text =
            format!("wrong number of parameters for prepared statement \"{}\"", execute.name);
        let detail = format!("Expected {} parameters but got {given}.", types.len());
        return Err(SqlError::new(state::SYNTAX, text).detail(detail));
    }
    if types.is_empty() {
        return Ok(Vec::new());
    }
    let values = values_of(view, source, execute, types);
    values.map_err(|e| first_wrong(view, source, execute, types).unwrap_or(e))
}

/// The error of the first argument that is wrong before any is calculated. PostgreSQL looks at one after the other.
fn first_wrong(
    view: &View,
    source: Source<'_>,
    execute: &Execute,
    types: &[PgType],
) -> Option<SqlError> {
    execute.values.iter().zip(types).enumerate().find_map(|(n, (said, ty))| {
        let one = Execute { name: execute.name.clone(), values: vec![*said] };
        let ty = std::slice::from_ref(ty);
        match is_open(source, said.expr) {
            true => values_of(view, source, &one, ty).err(),
            false => must_suit(view, source, &one, (ty, n)).err(),
        }
    })
}

fn values_of(
    view: &View,
    source: Source<'_>,
    execute: &Execute,
    types: &[PgType],
) -> Result<Vec<Parameter>> {
    must_suit(view, source, execute, (types, 0))?;
    // As texts, which are what a client would send.
    let cast = |n: usize| format!("::{}::text", extensions::written(view, types[n]));
    let listed = Listed::of(source, execute, cast);
    let text = &listed.text;
    let bound = Bound::must(view, text, source.depth, &[]).map_err(|e| listed.told(source, e))?;
    view.must(bound.needs())?;
    let mut batches = bound.batches(view, text)?;
    let row = batches.next()?.ok_or_else(|| SqlError::defect("no row of values"))?;
    let value = |(i, ty): (usize, &PgType)| {
        let value = match stored::value_of(
            crate::query::catalog(),
            row.column(i),
            0,
            ColumnType::own(DataType::Text),
        )? {
            Value::Text(text) => of_text(view, *ty, &text)?,
            other => other,
        };
        Ok(Parameter { ty: *ty, value })
    };
    types.iter().enumerate().map(value).collect()
}

/// A query for the values of EXECUTE.
struct Listed {
    text: String,
    /// Where each begins, in characters, and where it stands in the statement.
    places: Vec<(usize, Span)>,
}

impl Listed {
    /// All values, behind each what is written behind it by its number from 0.
    fn of(source: Source<'_>, execute: &Execute, behind: impl Fn(usize) -> String) -> Listed {
        let (mut text, mut places) = ("SELECT ".to_string(), Vec::new());
        for (n, said) in execute.values.iter().enumerate() {
            text += if places.is_empty() { "(" } else { ", (" };
            places.push((text.chars().count(), said.span));
            text += &format!("{}){}", source.of(said.span), behind(n));
        }
        Listed { text, places }
    }

    /// An error whose place is in the query, as one of the statement.
    fn told(&self, source: Source<'_>, e: SqlError) -> SqlError {
        let at = e.position().unwrap_or_default();
        match self.places.iter().rev().find(|(start, _)| *start < at) {
            Some((start, span)) => {
                let before = source.text.get(..span.start as usize).unwrap_or_default();
                e.moved(|at| at - start + before.chars().count())
            }
            None => e.nowhere(),
        }
    }
}

/// Fails where a value is none that EXECUTE takes, or would have to be cast explicitly; `first`: the number of the first, from 0.
///
/// # Errors
/// `42804`, `42P02`; `0A000`, `42803` and `42P20` for queries, sets, aggregates and windows.
fn must_suit(
    view: &View,
    source: Source<'_>,
    execute: &Execute,
    (types, first): (&[PgType], usize),
) -> Result<()> {
    if execute.values.iter().all(|said| is_open(source, said.expr)) {
        return Ok(());
    }
    let listed = Listed::of(source, execute, |_| String::new());
    no_parameters(&listed.text).map_err(|e| listed.told(source, e))?;
    let bound = Bound::must(view, &listed.text, source.depth, &[]);
    let bound = bound.map_err(|e| listed.told(source, e))?;
    let (tree, id) = bound.tree();
    let made = tree.query(id);
    let wrong = |state: &'static str, text: &str| Err(SqlError::new(state, text));
    if made.has_subqueries {
        return wrong("0A000", "cannot use subquery in EXECUTE parameter");
    }
    if made.has_aggregates {
        return wrong("42803", "aggregate functions are not allowed in EXECUTE parameters");
    }
    if made.has_windows {
        return wrong("42P20", "window functions are not allowed in EXECUTE parameters");
    }
    if made.has_sets {
        return wrong("0A000", "set-returning functions are not allowed in EXECUTE parameters");
    }
    let given = tree.columns(id);
    let catalog = bound.catalog();
    for (n, (said, ty)) in execute.values.iter().zip(types).enumerate() {
        let from = given[n].1.oid;
        if !is_open(source, said.expr) && !can_convert(catalog, from, ty.oid, Context::Assignment) {
            let (given, wanted) = (catalog.shown(from), catalog.shown(ty.oid));
            let text = format!(
                "parameter ${} of type {given} cannot be coerced to the expected type {wanted}",
                first + n + 1
            );
            let hint = "You will need to rewrite or cast the expression.";
            let error = SqlError::new(state::MISMATCH, text).hint(hint);
            return Err(source.at(error, said.span.start));
        }
    }
    Ok(())
}

/// Whether an expression has no type of its own: a text, NULL, or one with a collation.
fn is_open(source: Source<'_>, id: ExprId) -> bool {
    let mut id = id;
    loop {
        match source.tree.expr(id) {
            Expr::Collate(inner, _) => id = *inner,
            other => return matches!(other, Expr::Literal(Literal::Text(_) | Literal::Null)),
        }
    }
}

/// The OID of a type's name.
fn type_of(view: &View, source: Source<'_>, ty: &TypeName) -> Result<u32> {
    let shown = crate::ddl::type_shown(ty);
    if shown == "unknown" {
        return Ok(oid::UNKNOWN);
    }
    let made = view.objects.made_types().named(view, &strings(&ty.name));
    let made = made.map(|made| if ty.bounds.is_empty() { made.oid } else { made.array });
    let of_extension = extensions::meant(view, &strings(&ty.name));
    let made = made.or_else(|| {
        of_extension.map(|found| if ty.bounds.is_empty() { found.oid } else { found.array })
    });
    if let Some(found) = names::by_name(&shown).or(made) {
        return Ok(found);
    }
    // The rows of a relation.
    let relations = Names::new(view);
    let found = bind::type_named(source.tree, ty, &relations, relations.catalog());
    found.map(|found| found.oid).map_err(|e| match e.state {
        state::NO_OBJECT => {
            let text = format!("type \"{shown}\" does not exist");
            source.at(SqlError::new(state::NO_OBJECT, text), ty.place)
        }
        _ => sql_error(&e, source.text),
    })
}

impl Session {
    /// Forgets what was taken of sequences.
    pub(crate) fn discard_sequences(&mut self) {
        *self.taken.lock() = Default::default();
    }

    /// Forgets prepared statements, cursors, what was taken of sequences, locks and channels.
    ///
    /// # Errors
    /// The transaction has ended; it has no room.
    pub(crate) fn discard_all(&mut self) -> Result<()> {
        self.statements.clear();
        self.listed.lock().clear();
        self.reclaim_cursors();
        self.portals.clear();
        self.discard_sequences();
        self.between.advisory().unlock_all();
        let scope = Arc::clone(&self.current()?.scope);
        self.between.channels().unlisten(&scope, None)
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
        self.must_be_free("role")?;
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
        self.must_be_free("session_authorization")?;
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

    /// Fails where the role is an owner's.
    fn must_be_free(&self, setting: &str) -> Result<()> {
        self.kept_in().map_or(Ok(()), |within| Err(no_role_here(setting, within)))
    }

    /// What the role stays the same in.
    pub(super) fn kept_in(&self) -> Option<&'static str> {
        match (self.confined, self.restricted) {
            (true, _) => Some("security-definer function"),
            (false, true) => Some("security-restricted operation"),
            (false, false) => None,
        }
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
        self.settings.put(Id::IsSuperuser, Set::Flag(rights.is_superuser(roles.current)));
        self.settings.put(Id::SessionAuthorization, Set::Text(rights.name_of(roles.session)));
        let role = match roles.current == roles.session {
            true => "none".to_string(),
            false => rights.name_of(roles.current),
        };
        self.settings.put(Id::Role, Set::Text(role));
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

/// A role may not be set where it is an owner's, and stays so.
pub(crate) fn no_role_here(setting: &str, within: &str) -> SqlError {
    let text = format!("cannot set parameter \"{setting}\" within {within}");
    SqlError::new(state::NO_PRIVILEGE, text)
}
