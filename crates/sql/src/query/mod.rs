//! Which queries does PostgreSQL's own meaning carry out, and how do they reach the session?
//!
//! A query is read by `onlap_pg`'s grammar, bound by its binder to OIDs of types, functions and relations, and made into
//! steps by `onlap_query`. Of this class are queries whose relations are tables of the engine (or that have none), with
//! functions, types and clauses that have kernels and steps; the planner's library has the others until they move too
//! (decision 0065). Which way a query goes is decided when it is prepared, never while it runs.
//!
//! Thread safety: a [`Bound`] query is shared; it is made into steps anew for each execution.

mod answer;
mod ranges;
mod schema;
mod session;
mod tables;

use std::sync::{Arc, OnceLock};

use onlap_kernels::{Cx, Datum, Given, input};
use onlap_pg::bound::{EntryKind, Expr, Part, QueryId};
use onlap_pg::catalog::Catalog;
use onlap_pg::{TypeRef, bind, grammar};
use onlap_query::{Env, compile};

use crate::deep::{Deep, Depth};
use crate::error::{Result, SqlError};
use crate::parse::Parsed;
use crate::rights::{Action, Need, ask};
use crate::session::answer::{Answer, AnswerColumn, RowsAnswer};
use crate::session::{Parameter, missing_parameter};
use crate::types::PgType;
use crate::view::View;
pub use answer::Encoder;
use schema::Names;
use session::Asked;
use tables::Known;

/// The steps of a query, what its expressions share, and how they ask the session.
type Made = (crate::plan::Steps, Arc<Env>, Arc<Asked>);

/// A query that is bound.
#[derive(Clone)]
pub struct Bound {
    tree: Arc<onlap_pg::bound::Bound>,
    query: QueryId,
    tables: Arc<Known>,
    needs: Arc<[Need]>,
    columns: Arc<[AnswerColumn]>,
    depth: Depth,
}

impl std::fmt::Debug for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bound")
    }
}

/// PostgreSQL's catalog, which is the same for all databases.
fn catalog() -> &'static Arc<Catalog> {
    static CATALOG: OnceLock<Arc<Catalog>> = OnceLock::new();
    CATALOG.get_or_init(|| Arc::new(Catalog::new()))
}

/// An error of PostgreSQL's as this crate has it; its place counts characters of the text.
pub fn sql_error(error: &onlap_pg::Error, text: &str) -> SqlError {
    let mut made = SqlError::new(error.state, error.message.clone());
    if let Some(detail) = &error.detail {
        made = made.detail(detail.clone());
    }
    if let Some(hint) = &error.hint {
        made = made.hint(hint.clone());
    }
    if let Some(place) = error.position {
        let before = text.get(..place as usize).unwrap_or(text);
        made = made.at(before.chars().count() + 1);
    }
    made
}

impl Bound {
    /// Binds a query, if it is of this class.
    ///
    /// # Errors
    /// PostgreSQL's, with their places.
    pub fn new(
        view: &View,
        text: &str,
        depth: Depth,
        given: &[Option<PgType>],
    ) -> Result<Option<Bound>> {
        match Bound::bind(view, text, depth, given)? {
            Some(made) => made.of_class(view, text),
            None => Ok(None),
        }
    }

    /// Binds a query, whether or not it has kernels and steps for all of it.
    fn bind(
        view: &View,
        text: &str,
        depth: Depth,
        given: &[Option<PgType>],
    ) -> Result<Option<Bound>> {
        let tree = grammar::parse(text).map_err(|e| sql_error(&e, text))?;
        let [written] = &tree.statements[..] else { return Ok(None) };
        let names = Names::new(view);
        let given: Vec<u32> = given.iter().map(|ty| ty.map_or(0, |ty| ty.oid)).collect();
        let made = bind::bind(&tree, &written.statement, &names, catalog(), &given);
        let (bound, query) = match made {
            Ok(made) => made,
            Err(_) if names.is_other() => return Ok(None),
            Err(e) if e.state == "0A000" => return Ok(None),
            Err(e) => return Err(sql_error(&e, text)),
        };
        if names.is_other() || !is_of_class(&bound, query, view) {
            return Ok(None);
        }
        let tables = Arc::new(names.into_known());
        let needs = needs(&bound, query, &tables);
        let columns = bound.columns(query).into_iter();
        let columns = columns.map(|(name, ty)| {
            AnswerColumn::new(name, PgType { oid: shown_type(ty.oid), modifier: ty.modifier })
        });
        let columns = columns.collect();
        let (tree, needs) = (Arc::new(bound), needs.into());
        Ok(Some(Bound { tree, query, tables, needs, columns, depth }))
    }

    /// Binds a query and runs it, if it is of this class. The second result is none of the binding's.
    ///
    /// # Errors
    /// Those of [`Bound::new`].
    pub fn start(
        view: &View,
        parsed: &Parsed,
        given: &[Option<PgType>],
        values: &[Parameter],
    ) -> Result<Option<(Bound, Result<Answer>)>> {
        let text = &parsed.text;
        let Some(made) = Bound::bind(view, text, parsed.depth, given)? else { return Ok(None) };
        if !made.tree.parameters.is_empty() {
            let Some(made) = made.of_class(view, text)? else { return Ok(None) };
            let answer = made.run(view, values, text);
            return Ok(Some((made, answer)));
        }
        // Steps without parameters are those that tell whether it is of the class.
        view.scope.plan_goes_on()?;
        let answer = match made.steps(view, &[], text) {
            Err(e) if e.state() == "0A000" => return Ok(None),
            steps => view.judge.must(&made.needs).and_then(|()| made.answer(view, steps?)),
        };
        Ok(Some((made, answer)))
    }

    /// Itself, unless something of it has no kernel or no step: that is found out now, and not when rows are on their way.
    fn of_class(self, view: &View, text: &str) -> Result<Option<Bound>> {
        match self.steps(view, &self.nulls(), text) {
            Err(e) if e.state() == "0A000" => Ok(None),
            // Parameters have no values yet; what constants refuse is refused when the query runs.
            _ => Ok(Some(self)),
        }
    }

    /// The types of its parameters.
    pub fn parameters(&self) -> impl Iterator<Item = PgType> + '_ {
        self.tree.parameters.iter().map(|oid| PgType::new(if *oid == 0 { 25 } else { *oid }))
    }

    /// Whether the tables that it reads have the form that they had when it was bound.
    pub fn is_current(&self) -> bool {
        self.tables.is_current()
    }

    /// The columns of its answer.
    pub fn columns(&self) -> &Arc<[AnswerColumn]> {
        &self.columns
    }

    /// Its steps, for those who show them.
    ///
    /// # Errors
    /// `42501`.
    pub fn plan(&self, view: &View, text: &str) -> Result<crate::plan::Steps> {
        view.judge.must(&self.needs)?;
        Ok(self.steps(view, &self.nulls(), text)?.0)
    }

    fn nulls(&self) -> Vec<Datum<'static>> {
        vec![Datum::Null; self.tree.parameters.len()]
    }

    /// Runs it.
    ///
    /// # Errors
    /// `42501`; those of the query, where they come before its rows.
    pub fn run(&self, view: &View, values: &[Parameter], text: &str) -> Result<Answer> {
        view.judge.must(&self.needs)?;
        let values = self.values(view, values, text)?;
        view.scope.plan_goes_on()?;
        self.answer(view, self.steps(view, &values, text)?)
    }

    /// The rows that steps give.
    fn answer(&self, view: &View, (plan, env, asked): Made) -> Result<Answer> {
        view.scope.plan_goes_on()?;
        let types = self.tree.columns(self.query).iter().map(|(_, ty)| ty.oid).collect();
        let planner = &view.instance.planner;
        let batches = planner.run_with(plan, &view.scope, |context| {
            *env.context.lock() = Some(Arc::clone(context));
            asked.begin(context.memory_pool());
        })?;
        let encoder = Arc::new(Encoder::new(env, types));
        let source = answer::Encoded::new(batches, encoder);
        Ok(Answer::Rows(RowsAnswer::new(Arc::clone(&self.columns), Box::new(source), "SELECT")))
    }

    /// The values of parameters in their types' representations.
    fn values(&self, view: &View, values: &[Parameter], text: &str) -> Result<Vec<Datum<'static>>> {
        let settings = session::settings(view);
        let asked = Asked::new(view);
        let given = Given(&asked);
        let mut cx = Cx { catalog: catalog(), settings: &settings, session: &given };
        let mut made = Vec::with_capacity(self.tree.parameters.len());
        for (n, oid) in self.tree.parameters.iter().enumerate() {
            let value = values.get(n).ok_or_else(|| missing_parameter(n + 1))?;
            let cell = crate::types::Cell::of_value(&value.value);
            made.push(match cell {
                crate::types::Cell::Null => Datum::Null,
                _ if *oid == 0 => Datum::Null,
                cell => {
                    let mut bytes = Vec::new();
                    cell.write_text(value.ty, crate::types::Style::default(), &mut bytes);
                    let value = String::from_utf8_lossy(&bytes);
                    let value = input(&mut cx, TypeRef::new(*oid), &value);
                    value.map_err(|e| sql_error(&e, text))?
                }
            });
        }
        Ok(made)
    }

    /// Its steps, with values for its parameters.
    fn steps(&self, view: &View, values: &[Datum<'static>], text: &str) -> Result<Made> {
        let planner = &view.instance.planner;
        let asked = Arc::new(Asked::new(view));
        let env = Arc::new(Env {
            catalog: Arc::clone(catalog()),
            settings: session::settings(view),
            session: Arc::clone(&asked) as _,
            params: values.to_vec(),
            handle: planner.handle().clone(),
            context: parking_lot::Mutex::new(None),
        });
        let _entered = planner.handle().enter();
        let output = compile(&self.tree, self.query, &*self.tables, &env);
        let output = output.map_err(|e| sql_error(&e, text))?;
        Ok((Deep::new(output.plan, self.depth), env, asked))
    }
}

/// The type under which values of a type are sent.
fn shown_type(oid: u32) -> u32 {
    // A literal whose type stayed open is a text to clients.
    if oid == 705 { 25 } else { oid }
}

/// Whether a query's functions are there that only the session answers.
fn is_of_class(bound: &onlap_pg::bound::Bound, query: QueryId, view: &View) -> bool {
    if bound.query(query).modify.is_some() || bound.query(query).changes_within {
        return false;
    }
    let mut served = true;
    bound.visit_part(Part::Query(query), 0, &mut |id, _| {
        if let Expr::Call(call) = bound.expr(id)
            && onlap_kernels::misc::asks_session(catalog(), call.proc)
        {
            served &= session::serves(view, call.proc);
        }
        served
    });
    served
}

/// What a query reads: columns of its tables. A query of WITH that nothing names reads nothing, as in PostgreSQL.
fn needs(bound: &onlap_pg::bound::Bound, query: QueryId, tables: &Known) -> Vec<Need> {
    let mut needs = Vec::new();
    let mut open = vec![query];
    let mut seen = Vec::new();
    while let Some(query) = open.pop() {
        if seen.contains(&query) {
            continue;
        }
        seen.push(query);
        for (n, entry) in bound.query(query).entries.iter().enumerate() {
            let EntryKind::Relation { oid, .. } = &entry.kind else { continue };
            let Some(schema) = tables.schema(*oid) else { continue };
            let mut columns = Vec::new();
            bound.visit_query(query, 0, &mut |id, inside| {
                if let Expr::Var { entry, column, up } = bound.expr(id)
                    && *up == inside
                    && *entry == n + 1
                {
                    match column {
                        0 => columns.extend(1..=entry_width(bound, query, n) as i32),
                        column => columns.push(*column),
                    }
                }
                true
            });
            columns.sort_unstable();
            columns.dedup();
            let numbers = columns.iter().filter(|column| **column > 0);
            let numbers = numbers.map(|column| schema.columns[*column as usize - 1].id.0 + 1);
            needs.push(ask::of_table(Action::Read, schema, numbers.collect()));
        }
        // Queries within, wherever they are.
        let unnamed = bound.query(query).ctes.iter().filter(|cte| cte.references == 0);
        seen.extend(unnamed.map(|cte| cte.query));
        let mut parts = bound.parts(query);
        while let Some(part) = parts.pop() {
            match part {
                Part::Query(inner) => open.push(inner),
                Part::Expr(id) => parts.extend(bound.expr(id).parts()),
            }
        }
    }
    needs
}

fn entry_width(bound: &onlap_pg::bound::Bound, query: QueryId, at: usize) -> usize {
    bound.query(query).entries[at].types.len()
}
