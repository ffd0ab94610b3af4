//! Which queries does PostgreSQL's own meaning carry out, and how do they reach the session?
//!
//! A query is read by `onlap_pg`'s grammar, bound by its binder to OIDs of types, functions and relations, and made into
//! steps by `onlap_query`. What has no kernel or no step is refused with `0A000` when the query is prepared, never while it runs.
//!
//! Thread safety: a [`Bound`] query is shared; it is made into steps anew for each execution.

mod answer;
mod append;
pub mod catalogs;
pub mod ctids;
pub mod division;
pub mod domains;
pub mod family;
mod fetch;
mod generated;
mod kept;
mod keyed;
pub mod keys;
mod locking;
mod named;
pub mod needs;
mod noted;
mod origins;
mod printed;
mod ranges;
mod reader;
mod row_types;
pub mod rules;
mod schema;
pub mod secured;
mod sequences;
pub mod session;
mod sets;
mod sifted;
pub mod stored;
pub mod tables;
pub mod through;
pub mod transition;
pub mod versions;
pub mod views;

use std::sync::{Arc, OnceLock};

use onlap::LockMode;
use onlap_kernels::{Cx, Datum, Given, input};
use onlap_pg::ast::{LockWait, Tree};
use onlap_pg::bound::{
    Entry, EntryKind, Expr, ExprId, Literal, Lock, Modify, ModifyKind, Part, QueryId,
};
use onlap_pg::catalog::{Catalog, Kind};
use onlap_pg::{TypeRef, bind, grammar};
use onlap_query::{Carried, Change, Env, Estimate, Whole, compile, compile_change, estimate};

use crate::change;
use crate::deep::{Deep, Depth};
use crate::encoding::Form;
use crate::error::{Result, SqlError};
use crate::parse::Parsed;
use crate::plan::{Batches, TableHandle};
use crate::rights::Need;
use crate::routine::VOID;
use crate::session::answer::{Answer, AnswerColumn, RowsAnswer};
use crate::session::{Parameter, missing_parameter};
use crate::types::PgType;
use crate::view::View;
pub use answer::{Encoder, Sent};
use family::Family;
pub use locking::until_locked;
pub use named::{function, procedure};
pub use noted::{Scanned, Scans};
pub use printed::Printed;
pub use reader::Reader;
pub use row_types::catalog as routine_catalog;
pub use schema::Names;
pub use session::{Asked, settings as settings_of};
use tables::Known;
pub use through::must_be_changed_through;
pub use views::of_sql;
use views::{Others, Sources};

/// The steps of a query, what its expressions share, and how they ask the session.
type Made = (crate::plan::Steps, Arc<Env>, Arc<Asked>);

/// Bytes of rows that are held while they are locked, at most.
const HELD_BYTES: usize = 4 << 20;

/// A query that is bound.
#[derive(Clone)]
pub struct Bound {
    tree: Arc<onlap_pg::bound::Bound>,
    /// What is carried out, where that is not the tree as it was bound.
    settled: Option<Arc<onlap_pg::bound::Bound>>,
    query: QueryId,
    tables: Arc<Known>,
    others: Arc<Others>,
    catalog: Arc<Catalog>,
    needs: Arc<[Need]>,
    /// The schemas of the functions that it names itself, which no policy or rule does for it.
    reaches: Arc<[String]>,
    /// Whose rights count for what parts write, where that is not the statement's role: owners of views.
    writers: Arc<[(QueryId, u32)]>,
    columns: Arc<[AnswerColumn]>,
    depth: Depth,
    /// What rules make of it, if they do.
    stages: Option<Arc<Stages>>,
    /// Whether it is CALL.
    is_call: bool,
}

impl std::fmt::Debug for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bound")
    }
}

/// PostgreSQL's catalog, which is the same for all databases.
pub fn catalog() -> &'static Arc<Catalog> {
    static CATALOG: OnceLock<Arc<Catalog>> = OnceLock::new();
    CATALOG.get_or_init(|| Arc::new(Catalog::new()))
}

/// The relations, types, functions and operators of a part of a query that are wanted. As in PostgreSQL, the type of a column or of what a
/// function gives is named by the column or the function.
pub fn named_in(
    tree: &onlap_pg::bound::Bound,
    part: Part,
    wanted: &dyn Fn(u32) -> bool,
) -> Vec<u32> {
    let mut found = Vec::new();
    tree.visit_part(part, 0, &mut |id, _| {
        let named = match tree.expr(id) {
            Expr::Call(call) => call.proc,
            Expr::Aggregate(call) => call.proc,
            Expr::WindowCall(call) => call.proc,
            Expr::Op(op) | Expr::Distinct(op) | Expr::NullIf(op) | Expr::ArrayOp(op, _) => {
                op.operator
            }
            Expr::Literal(_)
            | Expr::Param(_)
            | Expr::Row(..)
            | Expr::StoreFields(..)
            | Expr::Relabel(_)
            | Expr::ViaText(_)
            | Expr::Elements(..)
            | Expr::ConvertRow(_)
            | Expr::Domain(_) => tree.ty(id).oid,
            _ => 0,
        };
        if wanted(named) && !found.contains(&named) {
            found.push(named);
        }
        true
    });
    let entries = tree.query_ids().flat_map(|id| &tree.query(id).entries);
    found.extend(entries.filter_map(|entry| match entry.kind {
        EntryKind::Relation { oid, .. } if wanted(oid) => Some(oid),
        _ => None,
    }));
    found
}

/// An error of PostgreSQL's as this crate has it; its place counts characters of the text.
pub fn sql_error(error: &onlap_pg::Error, text: &str) -> SqlError {
    let mut made = match &error.defect {
        Some(defect) => SqlError::of_defect(Arc::clone(defect)),
        None => SqlError::new(error.state, error.message.clone()),
    };
    if let Some(detail) = &error.detail {
        made = made.detail(detail.clone());
    }
    if let Some(hint) = &error.hint {
        made = made.hint(hint.to_string());
    }
    if let Some(context) = &error.context {
        made = made.context(context.as_str());
    }
    if let Some(place) = error.position {
        let before = text.get(..place as usize).unwrap_or(text);
        made = made.at(before.chars().count() + 1);
    }
    if let Some(about) = &error.about {
        made = made.about_type(&about.schema, &about.datatype, about.constraint.as_deref());
    }
    if error.unserved { made.unserved() } else { made }
}

impl Bound {
    /// Binds a statement that was parsed, and asks whether it has kernels and steps for all of it.
    ///
    /// # Errors
    /// PostgreSQL's, with their places; `0A000` for what is not served.
    pub fn of(view: &View, parsed: &Parsed, given: &[Option<PgType>]) -> Result<Bound> {
        let bound = Bound::parsed(view, parsed, given)?;
        bound.must_be_served(view, &parsed.bindable())?;
        Ok(bound)
    }

    /// Binds a statement that was parsed, as [`Bound::must`] does.
    ///
    /// # Errors
    /// As of [`Bound::must`].
    pub fn parsed(view: &View, parsed: &Parsed, given: &[Option<PgType>]) -> Result<Bound> {
        let text = parsed.bindable();
        let reading = Reading { text: &text, given, variables: None, body: None };
        let mut made = Bound::read(view, &parsed.tree, parsed.depth, &reading)?;
        made.ask_to_write(view)?;
        Ok(made)
    }

    /// Binds a statement, and does not ask whether it has kernels and steps for all of it.
    ///
    /// # Errors
    /// PostgreSQL's, with their places; `0A000` for what is not served.
    pub fn must(view: &View, text: &str, depth: Depth, given: &[Option<PgType>]) -> Result<Bound> {
        let tree = grammar::parse(text).map_err(|e| sql_error(&e, text))?;
        let reading = Reading { text, given, variables: None, body: None };
        let mut made = Bound::read(view, &tree, depth, &reading)?;
        made.ask_to_write(view)?;
        Ok(made)
    }

    /// Binds a statement within a routine, whose variables it sees; some are rows of these types. Whether the role may look where
    /// functions are that it names is asked by [`Bound::must_reach`].
    ///
    /// # Errors
    /// As of [`Bound::must`].
    pub fn within(
        view: &View,
        parsed: &Parsed,
        given: &[Option<PgType>],
        (variables, rows): (&dyn bind::Variables, &[u32]),
    ) -> Result<Bound> {
        let text = parsed.bindable();
        let variables = Some((variables, rows));
        let reading = Reading { text: &text, given, variables, body: None };
        let mut made = Bound::read(view, &parsed.tree, parsed.depth, &reading)?;
        made.add_writing(view)?;
        Ok(made)
    }

    /// Fails where a function that is named is not where the role may look.
    ///
    /// # Errors
    /// `42501`
    pub fn must_reach(&self, view: &View) -> Result<()> {
        self.reaches.iter().try_for_each(|schema| view.must_look_in(schema))
    }

    /// What writing rows needs is needed, too; functions that are named have to be where the role may look.
    fn ask_to_write(&mut self, view: &View) -> Result<()> {
        self.must_reach(view)?;
        self.add_writing(view)
    }

    fn add_writing(&mut self, view: &View) -> Result<()> {
        let writing = change::needs(view, self)?;
        self.needs = self.needs.iter().cloned().chain(writing).collect();
        Ok(())
    }

    /// Binds a statement; [`SqlError::is_unserved`] for one that is not of this class.
    fn read(view: &View, tree: &Tree, depth: Depth, reading: &Reading<'_>) -> Result<Bound> {
        let Reading { text, given, variables, body } = *reading;
        let failed = |e: onlap_pg::Error| sql_error(&e, text);
        let unserved = || SqlError::unsupported("this statement").unserved();
        let [written] = &tree.statements[..] else { return Err(unserved()) };
        let names = Names { body, ..Names::new(view) };
        let given: Vec<u32> = given.iter().map(|ty| ty.map_or(0, |ty| ty.oid)).collect();
        let (statement, catalog) = (&written.statement, names.catalog());
        for row in variables.map(|of| of.1).unwrap_or_default() {
            names.name_row(*row).map_err(failed)?;
        }
        let made = match variables {
            None => bind::bind(tree, statement, &names, catalog, &given),
            Some((of, _)) => bind::bind_within(tree, statement, &names, catalog, &given, of),
        };
        let (mut bound, query) = match made {
            Ok(made) => made,
            // What is wrong with a view has no place in this text.
            Err(e) if e.state == "42P17" => return Err(failed(e).nowhere()),
            Err(e) if names.is_other() => return Err(failed(e).unserved()),
            Err(e) => return Err(failed(e)),
        };
        if names.is_other() || !is_of_class(&bound, query, view) {
            return Err(unserved());
        }
        bound.merge_parts().map_err(failed)?;
        let mut needs = {
            let (known, others) = (names.found.known.borrow(), names.found.others.borrow());
            let mut needs = needs::of_query(&bound, query, &known, &others, None);
            needs.extend(needs::of_functions(view, &bound, query));
            for inner in others.views.values() {
                needs.extend(needs::of_functions(view, &inner.query.0, inner.query.1));
            }
            needs
        };
        let reaches = needs::schemas(view, &bound, query);
        let mut secured = names.guard(&mut bound, view.judge.role, &mut needs)?;
        let ruled = rules::rewrite(&names, &mut bound, query, &mut needs)?;
        secured = secured.max(names.guard_written(&mut bound, &ruled, &mut needs)?);
        names.must_be_allowed()?;
        generated::note(view, &mut bound, &names.found.known.borrow());
        let (tables, others, catalog) = names.into_parts();
        let mut inner = others.views.values().map(|view| &view.query);
        if !inner.all(|query| is_of_class(&query.0, query.1, view)) {
            return Err(unserved());
        }
        let (_, deeper) = others.weigh(&bound).map_err(failed)?;
        let depth = depth.plus(deeper).plus(ruled.depth).plus(secured);
        depth.check()?;
        let columns = columns_of(&bound, query, &tables, &catalog);
        let is_whole = |stage: &rules::Stage| stage.query == query;
        let plain = matches!(&ruled.stages[..], [one] if is_whole(one));
        let made = Bound {
            settled: plain.then(|| settled(&bound, query, &catalog, &others)).flatten(),
            tree: Arc::new(bound),
            query,
            tables: Arc::new(tables),
            others: Arc::new(others),
            catalog,
            needs: needs.into(),
            reaches: reaches.into(),
            writers: ruled.writers.into(),
            columns,
            depth,
            stages: None,
            is_call: tree.procedure.is_some(),
        };
        let stages = (!plain).then(|| Stages::of(&made, &ruled.stages)).transpose()?;
        Ok(Bound { stages: stages.map(Arc::new), ..made })
    }

    /// What rules make of it, if they do.
    pub fn stages(&self) -> Option<&Stages> {
        self.stages.as_deref()
    }

    /// Whether any of its queries, or of the views that it reads, locks rows.
    pub fn locks_rows(&self) -> bool {
        let views = self.others.views.values().map(|view| &view.query.0);
        views
            .chain([&*self.tree])
            .any(|tree| tree.query_ids().any(|query| !tree.query(query).locks.is_empty()))
    }

    /// Whether all of its query is to be read before rows are written.
    pub fn reads_all_first(&self) -> bool {
        self.reads_what_it_writes() || self.locks_rows()
    }

    /// Whether a statement may read rows of the table that it changes after it has written some: its scans are opened when
    /// they are reached, but for one that reads a table from the start.
    fn reads_what_it_writes(&self) -> bool {
        if self.parts().len() > 1 {
            return true;
        }
        let Some(written) = self.modify().and_then(|modify| self.table(self.query, modify.entry))
        else {
            return false;
        };
        let oid = crate::catalog::oids::of_table(written.schema.id);
        let (mut reads, mut later) = (0, false);
        let views = self.others.views.values().map(|view| &view.query.0);
        for tree in views.chain([&*self.tree]) {
            for query in tree.query_ids().map(|query| tree.query(query)) {
                let is_it = |entry: &&Entry| matches!(entry.kind, EntryKind::Relation { oid: of, .. } if of == oid);
                let from = || query.entries.iter().filter(|e| e.in_from);
                if from().any(|entry| self.is_of_family(entry, oid)) {
                    return true;
                }
                reads += from().filter(is_it).count();
                let conditional = query.filter.is_some() || query.has_subqueries;
                later |= conditional || from().count() > 1;
            }
        }
        reads > 0 && later
    }

    /// Whether an entry's rows may be those of another table that is above or below it.
    fn is_of_family(&self, entry: &Entry, written: onlap_pg::Oid) -> bool {
        let EntryKind::Relation { oid, .. } = entry.kind else { return false };
        let has = |family: &Family, oid| family.members.iter().any(|member| member.oid == oid);
        self.tables.family(oid).is_some_and(|family| has(family, written))
            || self.tables.family(written).is_some_and(|family| has(family, oid))
    }

    /// The tree that steps are made of.
    fn carried_out(&self) -> &onlap_pg::bound::Bound {
        self.settled.as_deref().unwrap_or(&self.tree)
    }

    /// What it changes itself, if it does.
    pub fn modify(&self) -> Option<&Modify> {
        self.tree.query(self.query).modify.as_deref()
    }

    /// Whether it changes rows, itself or in its WITH.
    pub fn changes_rows(&self) -> bool {
        let query = self.tree.query(self.query);
        query.modify.is_some() || query.changes_within
    }

    /// Itself and the statements of its WITH that change rows, in the order in which they are carried out.
    pub fn parts(&self) -> Vec<QueryId> {
        onlap_query::parts(&self.tree, self.query)
    }

    /// Whose rights count for what a part writes, where that is not the statement's role.
    pub fn writer(&self, part: QueryId) -> Option<u32> {
        self.writers.iter().find(|(known, _)| *known == part).map(|(_, writer)| *writer)
    }

    /// Whether rows could be changed through a view of this query.
    ///
    /// # Errors
    /// Why not.
    pub fn is_changed_through(&self) -> std::result::Result<(), &'static str> {
        onlap_pg::bound::Simple::of(&self.tree, self.query)?.has_columns()
    }

    /// Its tree and the query in it.
    pub fn tree(&self) -> (&onlap_pg::bound::Bound, QueryId) {
        (&self.tree, self.query)
    }

    /// The table of an entry of a query, from 1.
    pub fn table(&self, query: QueryId, entry: usize) -> Option<&TableHandle> {
        match &self.tree.query(query).entries.get(entry.checked_sub(1)?)?.kind {
            EntryKind::Relation { oid, .. } => self.tables.handle(*oid),
            _ => None,
        }
    }

    /// The view that a part changes rows of, whose triggers stand in the place of that.
    pub fn viewed(&self, part: QueryId) -> Option<&views::Bodied> {
        let query = self.tree.query(part);
        match query.entries.get(query.modify.as_deref()?.entry.checked_sub(1)?)?.kind {
            EntryKind::Relation { oid, .. } => self.others.views.get(&oid),
            _ => None,
        }
    }

    /// The tables that an entry of a query stands for, from 1, where others are below it.
    pub fn family(&self, query: QueryId, entry: usize) -> Option<&Arc<Family>> {
        match &self.tree.query(query).entries.get(entry.checked_sub(1)?)?.kind {
            EntryKind::Relation { oid, inherited: true, .. } => self.tables.family(*oid),
            _ => None,
        }
    }

    /// Fails where something of it has no kernel or no step: that is found out now, and not when rows are on their way.
    ///
    /// # Errors
    /// `0A000`.
    pub fn must_be_served(&self, view: &View, text: &str) -> Result<()> {
        let planned = match &self.stages {
            Some(stages) => {
                let mut all = stages.all.iter();
                all.try_for_each(|stage| stage.plan_parts(view, text).map(drop))
            }
            None => self.plan_parts(view, text).map(drop),
        };
        match planned {
            Err(e) if e.is_unserved() => Err(e),
            // Parameters have no values yet; what constants refuse is refused when the statement runs.
            _ => Ok(()),
        }
    }

    /// What the role must be allowed.
    pub fn needs(&self) -> &[Need] {
        &self.needs
    }

    /// The types, functions and operators in it that are wanted; those in views that it reads are none of its own.
    pub fn names(&self, wanted: &dyn Fn(u32) -> bool) -> Vec<u32> {
        named_in(&self.tree, Part::Query(self.query), wanted)
    }

    /// The types of its parameters.
    pub fn parameters(&self) -> impl Iterator<Item = PgType> + '_ {
        self.tree.parameters.iter().map(|oid| PgType::new(if *oid == 0 { 25 } else { *oid }))
    }

    /// Whether the tables that it reads have the form that they had when it was bound.
    pub fn is_current(&self) -> bool {
        self.tables.is_current()
    }

    /// The tables that it reads or changes, with those below them.
    pub fn all_tables(&self) -> Vec<onlap::Table> {
        self.tables.all()
    }

    /// Their ids.
    pub fn table_ids(&self) -> std::sync::Arc<[onlap::TableId]> {
        self.tables.ids()
    }

    /// Waits for transactions that have locked its tables against what it does, before anything is done.
    ///
    /// # Errors
    /// Those of waits for locks.
    pub fn await_tables(&self, view: &View) -> Result<()> {
        if !view.instance.db.has_locked_tables() {
            return Ok(());
        }
        if self.locks_rows() {
            view.scope.await_tables(&self.all_tables(), LockMode::RowExclusive)?;
        }
        for part in self.parts() {
            let Some(modify) = self.tree.query(part).modify.as_deref() else { continue };
            let named = self.table(part, modify.entry).map(|handle| handle.table.clone());
            let family = self.family(part, modify.entry);
            let below = family.iter().flat_map(|family| &family.members);
            let below = below.map(|member| member.table.table.clone());
            let all: Vec<onlap::Table> = named.into_iter().chain(below).collect();
            view.scope.await_tables(&all, LockMode::RowExclusive)?;
        }
        view.scope.await_tables(&self.all_tables(), LockMode::AccessShare)
    }

    /// The columns of its answer; `None` where it gives no rows.
    pub fn returns(&self) -> Option<Arc<[AnswerColumn]>> {
        if let Some(stages) = &self.stages {
            return stages.answering().and_then(Bound::returns);
        }
        // What a procedure has no results for gives no rows.
        let is_void = |columns: &[AnswerColumn]| columns.iter().all(|column| column.ty.oid == VOID);
        if self.is_call && is_void(&self.columns) {
            return None;
        }
        let gives = self.modify().is_none_or(|modify| !modify.returning.is_empty());
        gives.then(|| Arc::clone(&self.columns))
    }

    /// The column of its answer, from 0, of which no collation follows though its type has one.
    pub fn undetermined(&self) -> Option<usize> {
        let mut seen = self.tree.query(self.query).output().iter().filter(|target| !target.hidden);
        let has_one = |id| self.catalog.collation(self.tree.ty(id).oid) != 0;
        seen.position(|to| has_one(to.value) && self.tree.collation(to.value) == Some(0))
    }

    /// The collation of a column of its answer, from 0.
    pub fn collation(&self, at: usize) -> Option<u32> {
        let mut seen = self.tree.query(self.query).output().iter().filter(|target| !target.hidden);
        self.tree.collation(seen.nth(at)?.value)
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
        if self.stages.is_some() {
            return Err(SqlError::unsupported("the plan of a statement that rules change"));
        }
        view.judge.must(&self.needs)?;
        self.plan_parts(view, text)
    }

    /// Its own steps, when those of all its parts were made.
    fn plan_parts(&self, view: &View, text: &str) -> Result<crate::plan::Steps> {
        if !self.changes_rows() {
            return Ok(self.steps(view, &self.nulls(), text)?.0);
        }
        let course = self.course(view, &self.nulls());
        let mut own = None;
        for part in self.parts() {
            let plan = match self.tree.query(part).modify {
                Some(_) => self.change(view, &course, part, text)?.change.plan,
                None => Arc::clone(&*self.own_steps(view, &course, text)?),
            };
            own = if part == self.query { Some(plan) } else { own };
        }
        Ok(Deep::new(own.expect("it is one of its parts"), self.depth))
    }

    /// What it gives and reads, about.
    pub fn estimate(&self, view: &View) -> Estimate {
        let (env, _) = self.env(view, &self.nulls());
        estimate(&self.tree, self.query, &self.sources(view), &env)
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
        self.refuse_locks_of_reader(view)?;
        self.await_tables(view)?;
        let values = self.values(view, values, text)?;
        view.scope.plan_goes_on()?;
        if self.locks_rows() {
            return self.run_locking(view, &values, text);
        }
        match self.sifted(view, &values, text)? {
            Some(answer) => Ok(answer),
            None => self.answer(view, self.steps(view, &values, text)?),
        }
    }

    /// Runs a query that locks rows: all of them are locked before the first is given.
    fn run_locking(&self, view: &View, values: &[Datum<'static>], text: &str) -> Result<Answer> {
        self.refuse_locks()?;
        let skips = self.skips_locked();
        let (held, env) = until_locked(view, || {
            let (batches, env) = self.begin(view, self.steps(view, values, text)?)?;
            let most = if skips { usize::MAX } else { HELD_BYTES };
            Ok((batches.all_within(most)?, env))
        })?;
        let Some(mut held) = held else {
            // They are too many to hold, and the same once more: no other transaction changes them.
            view.scope.between().undo_statement();
            return self.answer(view, self.steps(view, values, text)?);
        };
        held.let_others_run();
        let encoder = Arc::new(Encoder::new(env, self.types()));
        let source = Sent::new(Some(held), encoder);
        Ok(Answer::Rows(RowsAnswer::new(Arc::clone(&self.columns), Box::new(source), "SELECT")))
    }

    /// Fails where rows of a materialized view would be locked.
    fn refuse_locks(&self) -> Result<()> {
        for query in self.tree.query_ids() {
            let locked = self.tree.query(query).locks.iter();
            let mut tables = locked.filter_map(|lock| self.table(query, lock.entry));
            if let Some(of) = tables.find(|table| table.materialized.is_some()) {
                let name = crate::rights::ask::shown(&of.schema);
                let text = format!("cannot lock rows in materialized view \"{name}\"");
                return Err(SqlError::new("42809", text));
            }
        }
        Ok(())
    }

    /// Whether rows are left out that others have locked, so that it may give others when it is run again.
    fn skips_locked(&self) -> bool {
        let skips = |lock: &Lock| lock.wait == LockWait::Skip;
        self.tree.query_ids().any(|query| self.tree.query(query).locks.iter().any(skips))
    }

    /// The rows that steps give.
    fn answer(&self, view: &View, made: Made) -> Result<Answer> {
        let (batches, env) = self.begin(view, made)?;
        if self.is_call && self.returns().is_none() {
            batches.first(0)?;
            return Ok(Answer::Done("CALL".into()));
        }
        let encoder = Arc::new(Encoder::new(env, self.types()));
        let source = answer::Encoded::new(batches, encoder);
        let tag = if self.is_call { "CALL" } else { "SELECT" };
        let answer = RowsAnswer::new(Arc::clone(&self.columns), Box::new(source), tag);
        Ok(Answer::Rows(answer.telling(view)))
    }

    /// Its rows, in the representations of its columns' types, without asking what the role may.
    ///
    /// # Errors
    /// Those of the query, where they come before its rows.
    pub fn batches(&self, view: &View, text: &str) -> Result<Batches> {
        crate::source::no_parameters(text).map_err(SqlError::nowhere)?;
        self.batches_with(view, &[], text)
    }

    /// The same, with values for parameters.
    ///
    /// # Errors
    /// As [`Bound::batches`]; `42P02`: one has no value.
    pub fn batches_with(&self, view: &View, values: &[Parameter], text: &str) -> Result<Batches> {
        let values = self.values(view, values, text)?;
        if self.locks_rows() {
            return Err(SqlError::unsupported("locking the rows that fill a table"));
        }
        if self.changes_rows() {
            return Err(SqlError::unsupported("a query here that changes rows"));
        }
        self.await_tables(view)?;
        view.scope.plan_goes_on()?;
        Ok(self.begin(view, self.steps(view, &values, text)?)?.0)
    }

    fn begin(&self, view: &View, (plan, env, asked): Made) -> Result<(Batches, Arc<Env>)> {
        view.scope.plan_goes_on()?;
        let batches = view.instance.runner.run_with(plan, &view.scope, |context| {
            *env.context.lock() = Some(Arc::clone(context));
            asked.begin(context.memory_pool());
        })?;
        Ok((batches, env))
    }

    fn types(&self) -> Vec<u32> {
        self.tree.columns(self.query).iter().map(|(_, ty)| ty.oid).collect()
    }

    /// The values of parameters in their types' representations.
    ///
    /// # Errors
    /// One is missing, or is none of its type.
    pub fn values(
        &self,
        view: &View,
        values: &[Parameter],
        text: &str,
    ) -> Result<Vec<Datum<'static>>> {
        let settings = session::settings(view);
        let asked = Asked::new(view);
        let given = Given(&asked);
        let mut cx = Cx { catalog: &self.catalog, settings: &settings, session: &given };
        let mut made = Vec::with_capacity(self.tree.parameters.len());
        for (n, oid) in self.tree.parameters.iter().enumerate() {
            let value = values.get(n).ok_or_else(|| missing_parameter(n + 1))?;
            let cell = crate::types::Cell::of_value(&value.value);
            made.push(match cell {
                crate::types::Cell::Null => Datum::Null,
                _ if *oid == 0 => Datum::Null,
                cell => {
                    let mut bytes = Vec::new();
                    cell.write_text(value.ty, &crate::types::Style::default(), &mut bytes);
                    let value = String::from_utf8_lossy(&bytes);
                    let value = input(&mut cx, TypeRef::new(*oid), &value);
                    value.map_err(|e| sql_error(&e, text))?
                }
            });
        }
        Ok(made)
    }

    /// The value of a literal of a type.
    ///
    /// # Errors
    /// It is none of the type.
    pub fn literal_value(
        &self,
        view: &View,
        literal: &Literal,
        ty: TypeRef,
    ) -> Result<Datum<'static>> {
        let (env, _) = self.env(view, &[]);
        onlap_query::literal_value(&self.tree, &env, literal, ty).map_err(|e| sql_error(&e, ""))
    }

    /// The value of an expression of one of its queries that names no columns.
    ///
    /// # Errors
    /// Those of the expression; `0A000`: it has no kernel.
    pub fn constant(&self, view: &View, query: QueryId, id: ExprId) -> Result<Datum<'static>> {
        let (env, _) = self.env(view, &self.nulls());
        onlap_query::value(&self.tree, query, id, &env).map_err(|e| sql_error(&e, ""))
    }

    /// A carrying out of a statement that changes rows, with values for its parameters.
    pub fn course(&self, view: &View, values: &[Datum<'static>]) -> Course {
        let (env, asked) = self.env(view, values);
        Course { env, asked, carried: Carried::default() }
    }

    /// The steps of a part that changes rows.
    ///
    /// # Errors
    /// `0A000` for what has no kernel or no step; errors of constants.
    pub fn change(
        &self,
        view: &View,
        course: &Course,
        part: QueryId,
        text: &str,
    ) -> Result<Changing> {
        let _entered = view.instance.runner.handle().enter();
        let entry = self.tree.query(part).modify.as_ref().map(|modify| modify.entry);
        let table = entry.and_then(|entry| self.table(part, entry));
        let fired = table.is_some_and(|of| change::fires::has_any(view, of.schema.id))
            || self.viewed(part).is_some();
        let is_insert = self
            .tree
            .query(part)
            .modify
            .as_ref()
            .is_some_and(|modify| modify.kind == ModifyKind::Insert);
        let one_by_one =
            is_insert && !fired && !self.reads_all_first() && change::seen::asks(view, &self.tree);
        let of = Whole { statement: self.query, part, fired, one_by_one };
        let carried = self.carried(course);
        let change =
            compile_change(self.carried_out(), of, &self.sources(view), &course.env, carried);
        let change = change.map_err(|e| sql_error(&e, text))?;
        let (env, asked) = (Arc::clone(&course.env), Arc::clone(&course.asked));
        Ok(Changing { change, env, asked, depth: self.depth, one_by_one })
    }

    /// The rows of a statement that changes rows in its WITH alone.
    ///
    /// # Errors
    /// As of [`Bound::change`]; those of opening its scans.
    pub fn rows(&self, view: &View, course: &Course, text: &str) -> Result<Batches> {
        let plan = self.own_steps(view, course, text)?;
        let (env, asked) = (Arc::clone(&course.env), Arc::clone(&course.asked));
        Ok(self.begin(view, (plan, env, asked))?.0)
    }

    fn own_steps(&self, view: &View, course: &Course, text: &str) -> Result<crate::plan::Steps> {
        let _entered = view.instance.runner.handle().enter();
        let carried = self.carried(course);
        let output =
            compile(self.carried_out(), self.query, &self.sources(view), &course.env, carried);
        Ok(Deep::new(output.map_err(|e| sql_error(&e, text))?.plan, self.depth))
    }

    fn carried<'c>(&self, course: &'c Course) -> Option<&'c Carried> {
        self.tree.query(self.query).changes_within.then_some(&course.carried)
    }

    /// What writes the values of its columns.
    pub fn encoder(&self, course: &Course) -> Arc<Encoder> {
        Arc::new(Encoder::new(Arc::clone(&course.env), self.types()))
    }

    /// What its steps read.
    fn sources<'a>(&'a self, view: &'a View) -> Sources<'a> {
        Sources { known: &self.tables, others: &self.others, view, catalog: &self.catalog }
    }

    fn env(&self, view: &View, values: &[Datum<'static>]) -> (Arc<Env>, Arc<Asked>) {
        let runner = &view.instance.runner;
        let asked = Arc::new(Asked::using(view, &self.tables));
        let env = Arc::new(Env {
            catalog: Arc::clone(&self.catalog),
            settings: session::settings(view),
            session: Arc::clone(&asked) as _,
            params: values.to_vec(),
            handle: runner.handle().clone(),
            context: parking_lot::Mutex::new(None),
            sets: Default::default(),
        });
        (env, asked)
    }

    /// Its steps, with values for its parameters.
    fn steps(&self, view: &View, values: &[Datum<'static>], text: &str) -> Result<Made> {
        let (env, asked) = self.env(view, values);
        let _entered = view.instance.runner.handle().enter();
        let output = compile(self.carried_out(), self.query, &self.sources(view), &env, None);
        let output = output.map_err(|e| sql_error(&e, text))?;
        Ok((Deep::new(output.plan, self.depth), env, asked))
    }
}

/// What rules make of a statement: statements of the same tree, carried out one after the other.
#[derive(Debug)]
pub struct Stages {
    /// All of them.
    pub all: Vec<Bound>,
    /// Which of them gives the answer; none where only the statement's words do.
    pub answers: Option<usize>,
}

impl Stages {
    /// `0A000` where RETURNING would give the rows of one that does not give the answer.
    fn of(whole: &Bound, stages: &[rules::Stage]) -> Result<Stages> {
        let kind = |query| whole.tree.query(query).modify.as_deref().map(|modify| modify.kind);
        let is_like = |stage: &rules::Stage| {
            let instead = matches!(stage.from, rules::From::Instead | rules::From::Partly);
            instead && kind(stage.query) == kind(whole.query)
        };
        let own = stages.iter().position(|stage| stage.from == rules::From::Statement);
        let answers = own.or_else(|| stages.iter().rposition(is_like));
        let one = |stage: &rules::Stage| Bound { query: stage.query, ..whole.clone() };
        let all: Vec<Bound> = stages.iter().map(one).collect();
        let gives = |(at, stage): (usize, &Bound)| {
            let modify = stage.modify().filter(|modify| !modify.returning.is_empty());
            modify.is_some() && answers != Some(at)
        };
        if all.iter().enumerate().any(gives) {
            let what = "RETURNING by a rule of whose commands another one gives the tag";
            return Err(SqlError::unsupported(what));
        }
        Ok(Stages { all, answers })
    }

    fn answering(&self) -> Option<&Bound> {
        self.answers.map(|at| &self.all[at])
    }
}

/// What a statement is bound with.
struct Reading<'a> {
    text: &'a str,
    given: &'a [Option<PgType>],
    variables: Option<(&'a dyn bind::Variables, &'a [u32])>,
    /// What is kept of a materialized view, if it is its query.
    body: Option<&'a serde_json::Value>,
}

/// What the parts of a statement share while it is carried out.
pub struct Course {
    env: Arc<Env>,
    asked: Arc<Asked>,
    /// What they have given.
    pub carried: Carried,
}

/// A part that changes rows, ready to run.
pub struct Changing {
    /// Its steps.
    pub change: Change,
    env: Arc<Env>,
    asked: Arc<Asked>,
    depth: Depth,
    /// Whether each row is written before the next one is calculated.
    pub one_by_one: bool,
}

impl Changing {
    /// Runs its steps.
    ///
    /// # Errors
    /// Those of opening its scans.
    pub fn run(&self, view: &View) -> Result<Batches> {
        let plan = Deep::new(Arc::clone(&self.change.plan), self.depth);
        view.instance.runner.run_with(plan, &view.scope, |context| {
            *self.env.context.lock() = Some(Arc::clone(context));
            self.asked.begin(context.memory_pool());
        })
    }
}

/// A statement whose queries are merged with those around them, where that may be done and there are any.
fn settled(
    bound: &onlap_pg::bound::Bound,
    query: QueryId,
    catalog: &Catalog,
    others: &Others,
) -> Option<Arc<onlap_pg::bound::Bound>> {
    let view = |oid| {
        let view = others.views.get(&oid).filter(|view| !view.barrier)?;
        Some((&view.query.0, view.query.1))
    };
    onlap_pg::reach::settled(bound, query, catalog, &view).map(Arc::new)
}

/// The columns of a query's answer.
fn columns_of(
    bound: &onlap_pg::bound::Bound,
    query: QueryId,
    tables: &Known,
    catalog: &Catalog,
) -> Arc<[AnswerColumn]> {
    let origins = origins::of_answer(bound, query, tables);
    let columns = bound.columns(query).into_iter().zip(origins);
    let columns = columns.map(|((name, ty), origin)| {
        let ty = PgType { oid: shown_type(ty.oid), modifier: ty.modifier };
        let (oid, modifier) = catalog.base(ty.oid, ty.modifier);
        let known = catalog.get_type(oid);
        let is_enum = known.is_some_and(|ty| ty.kind == Kind::Enum);
        let size = known.map_or(-1, |ty| ty.length);
        let form = if is_enum { Form::Text } else { Form::of(oid) };
        let sent = PgType { oid, modifier };
        AnswerColumn { sent, size, origin, form, ..AnswerColumn::new(name, ty) }
    });
    columns.collect()
}

/// The type under which values of a type are sent.
fn shown_type(oid: u32) -> u32 {
    // A literal whose type stayed open is a text to clients.
    if oid == 705 { 25 } else { oid }
}

/// Whether a query's functions are there that only the session answers.
fn is_of_class(bound: &onlap_pg::bound::Bound, query: QueryId, view: &View) -> bool {
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
