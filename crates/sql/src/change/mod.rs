//! How does a statement change rows?
//!
//! Its steps ([`Bound::change`]) say which rows and which values; this room locks the rows, writes them through the
//! transaction, and answers RETURNING from what was written. A statement whose WITH changes rows is carried out part by part
//! ([`onlap_query::parts`]); no part sees what another wrote. Which columns there are and what the role may do was settled when
//! the statement was bound.
//!
//! Thread safety: a statement belongs to its session's thread; its steps may run on others.

mod actions;
pub mod called;
mod conflict;
pub mod deferred;
mod find;
mod fired;
pub mod fires;
mod insert;
mod instead;
mod members;
mod merge;
pub mod queue;
mod returning;
mod routes;
pub mod seen;
mod shared;
mod update;

pub use conflict::arbiters;
pub use insert::fill;
pub use routes::{Router, hold};
pub use update::lock_mode;

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::ArrayRef;
use onlap::{Row, Table, TableSchema, Value};
use onlap_kernels::Datum;
use onlap_pg::bound::{ActionKind, Expr, Modify, ModifyKind, Query, QueryId, Target};

use crate::catalog::Name;
use crate::ddl::{defaults, generated};
use crate::error::{Result, SqlError};
use crate::plan::{Held, TableHandle};
use crate::query::family::Family;
use crate::query::{Bound, Changing, Encoder, Sent, Stages, until_locked};
use crate::rights::ask::{numbers, of_table, sequences};
use crate::rights::{Action, Class, Need};
use crate::session::Parameter;
use crate::session::answer::{Answer, AnswerColumn, RowsAnswer};
use crate::view::View;
use fires::Fires;
use returning::Returned;
use shared::Shared;

/// A statement that is carried out, or a part of it.
struct Statement<'a> {
    view: &'a View,
    bound: &'a Bound,
    /// Its query, which changes rows.
    query: QueryId,
    modify: &'a Modify,
    target: &'a TableHandle,
    /// The table with those below it, whose rows the statement finds.
    family: Option<&'a Family>,
    /// Where new rows go, unless any row can be the table's own.
    routes: Option<RefCell<Router>>,
    text: &'a str,
    /// What it shares with the other parts.
    shared: &'a Shared,
    /// Triggers, if there are any.
    fires: Option<Fires<'a>>,
}

/// What a part has done.
struct Done {
    /// First word of its tag.
    tag: &'static str,
    /// How many rows.
    rows: u64,
    /// What RETURNING gives.
    returned: Returned,
}

impl Statement<'_> {
    fn query(&self) -> &Query {
        self.bound.tree().0.query(self.query)
    }

    fn steps(&self) -> Result<Changing> {
        self.bound.change(self.view, &self.shared.course, self.query, self.text)
    }

    fn carry_out(&self) -> Result<Done> {
        let Some(fires) = &self.fires else { return self.change_rows() };
        let inserts = self.modify.kind == ModifyKind::Insert;
        let mut events = self.events();
        for (event, set) in &mut events {
            *set = fires.changed(self.target, std::mem::take(set), inserts)?;
            fires.before_statement(*event, set)?;
        }
        let done = self.change_rows()?;
        for (event, set) in events.iter().rev() {
            fires.after_statement(*event, set)?;
        }
        Ok(done)
    }

    fn change_rows(&self) -> Result<Done> {
        match self.modify.kind {
            ModifyKind::Insert => insert::run(self),
            ModifyKind::Update if self.fires.is_some() => fired::update(self),
            ModifyKind::Update => update::update(self),
            ModifyKind::Delete if self.fires.is_some() => fired::delete(self),
            ModifyKind::Delete => update::delete(self),
            ModifyKind::Merge => merge::run(self),
        }
    }
}

/// What a statement has done.
pub struct Outcome {
    /// First word of its tag.
    pub tag: &'static str,
    /// How many rows it has changed, or given where it only gives rows.
    pub rows: u64,
    /// The rows that it gives, if it gives any.
    pub given: Option<(Option<Held>, Arc<Encoder>)>,
}

impl Outcome {
    /// The answer for a client.
    fn answer(self, columns: &Arc<[AnswerColumn]>) -> Answer {
        let Some((held, encoder)) = self.given else {
            return Answer::Done(format!("{} {}", self.tag, self.rows));
        };
        let source = Sent::new(held, encoder);
        Answer::Rows(RowsAnswer::new(Arc::clone(columns), Box::new(source), self.tag))
    }
}

/// Carries out INSERT, UPDATE or DELETE, or a statement with one of them in its WITH. `blind`: of UPSERT INTO, whose rows
/// replace those with their primary key unread.
///
/// # Errors
/// `42501`; those of its query and of the values; conflicts with other transactions.
pub fn run(
    view: &View,
    bound: &Bound,
    values: &[Parameter],
    text: &str,
    blind: bool,
) -> Result<Answer> {
    may_run(view, bound, blind)?;
    let values = bound.values(view, values, text)?;
    let outcome = carry_out(view, bound, &values, text, blind)?;
    Ok(outcome.answer(bound.columns()))
}

/// The same within a routine, with the values of parameters as they are.
///
/// # Errors
/// As of [`run`].
pub fn run_within(
    view: &View,
    bound: &Bound,
    values: &[Datum<'static>],
    text: &str,
    blind: bool,
) -> Result<Outcome> {
    may_run(view, bound, blind)?;
    carry_out(view, bound, values, text, blind)
}

fn may_run(view: &View, bound: &Bound, blind: bool) -> Result<()> {
    let stages = match bound.stages() {
        Some(_) if blind => {
            return Err(SqlError::unsupported("UPSERT INTO of a table with rules"));
        }
        Some(stages) => &stages.all[..],
        None => std::slice::from_ref(bound),
    };
    for stage in stages {
        let (tree, parts) = (stage.tree().0, stage.parts());
        refuse_read_only(view, stage, &parts)?;
        for part in of_tables(stage, &parts) {
            let (modify, target) = target(stage, part)?;
            refuse_generated(view, tree, tree.query(part), modify, target)?;
        }
    }
    view.must(bound.needs())?;
    for stage in stages {
        for part in of_tables(stage, &stage.parts()) {
            let (_, target) = target(stage, part)?;
            if target.materialized.is_some() {
                let name = crate::rights::ask::shown(&target.schema);
                let text = format!("cannot change materialized view \"{name}\"");
                return Err(SqlError::new("42809", text));
            }
        }
    }
    Ok(())
}

fn carry_out(
    view: &View,
    bound: &Bound,
    values: &[Datum<'static>],
    text: &str,
    blind: bool,
) -> Result<Outcome> {
    let all = || match bound.stages() {
        Some(stages) => staged(view, bound, stages, values, text),
        None => one(view, bound, values, text, blind),
    };
    // Rows are written when all that the statement's queries lock is locked.
    let done = match bound.locks_rows() {
        true => until_locked(view, all),
        false => all(),
    };
    done.map_err(|e| e.of_statement(bound.needs()))
}

fn one(
    view: &View,
    bound: &Bound,
    values: &[Datum<'static>],
    text: &str,
    blind: bool,
) -> Result<Outcome> {
    let whole = bound.tree().1;
    Run { view, bound, whole, text, blind }.all(&bound.parts(), values)
}

/// Carries out what rules make of a statement. Each stage sees what those before it wrote; with an error nothing stays of any,
/// so that the statement may begin anew.
fn staged(
    view: &View,
    bound: &Bound,
    stages: &Stages,
    values: &[Datum<'static>],
    text: &str,
) -> Result<Outcome> {
    let began = view.scope.tx()?.savepoint();
    let put_off = view.scope.deferred().mark();
    let mut answer = None;
    for (at, stage) in stages.all.iter().enumerate() {
        match one(view, stage, values, text, false) {
            Ok(made) if stages.answers == Some(at) => answer = Some(made),
            Ok(_) => {}
            Err(e) => {
                view.scope.tx()?.rollback_to(&began)?;
                view.scope.deferred().back_to(&put_off);
                return Err(e);
            }
        }
    }
    let kind = bound.modify().map(|modify| modify.kind);
    let tag = match kind {
        Some(ModifyKind::Insert) => "INSERT 0",
        Some(ModifyKind::Update) => "UPDATE",
        _ => "DELETE",
    };
    Ok(answer.unwrap_or(Outcome { tag, rows: 0, given: None }))
}

/// A transaction that only reads changes rows of its session's own temporary tables alone.
fn refuse_read_only(view: &View, bound: &Bound, parts: &[QueryId]) -> Result<()> {
    if !view.scope.tx()?.is_read_only() {
        return Ok(());
    }
    let (tree, whole) = bound.tree();
    for part in parts.iter().filter(|part| tree.query(**part).modify.is_some()) {
        let schema = match bound.viewed(*part) {
            Some(viewed) => viewed.schema.clone(),
            None => Name::of_engine(&target(bound, *part)?.1.schema.name).1.schema,
        };
        if view.is_own_temporary(&schema) {
            continue;
        }
        let word = match tree.query(whole).modify.as_deref() {
            None => "SELECT",
            Some(modify) => modify.kind.words().2,
        };
        let text = format!("cannot execute {word} in a read-only transaction");
        return Err(SqlError::new("25006", text));
    }
    Ok(())
}

/// A statement's run.
struct Run<'a> {
    view: &'a View,
    bound: &'a Bound,
    whole: QueryId,
    text: &'a str,
    blind: bool,
}

impl Run<'_> {
    /// Carries out all parts in their order. All of them see what the statement saw when it began.
    fn all(&self, parts: &[QueryId], values: &[Datum<'static>]) -> Result<Outcome> {
        let course = self.bound.course(self.view, values);
        let spreads = self.spreads(parts)? || !self.view.objects.functions().is_empty();
        let shared = Shared::begin(self.view, course, parts.len(), spreads)?;
        let answer = self.parts(parts, &shared);
        let answer = answer.and_then(|answer| shared.due.run(self.view).map(|()| answer));
        shared.end(answer)
    }

    /// Whether a part may write to several tables.
    fn spreads(&self, parts: &[QueryId]) -> Result<bool> {
        let families = self.view.objects.families();
        for part in of_tables(self.bound, parts) {
            let id = target(self.bound, part)?.1.schema.id;
            if !families.below(id).is_empty() || families.divided(id).is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn parts(&self, parts: &[QueryId], shared: &Shared) -> Result<Outcome> {
        let (tree, _) = self.bound.tree();
        let (mut outcome, mut held) = (None, Vec::new());
        for part in parts {
            if tree.query(*part).modify.is_none() {
                outcome = Some(self.own_rows(shared)?);
                continue;
            }
            let modify = tree.query(*part).modify.as_deref().expect("the part changes rows");
            let done = match self.bound.viewed(*part) {
                Some(viewed) => self.instead(*part, shared, viewed)?,
                None => match self.change(*part, shared)? {
                    ControlFlow::Continue(done) => done,
                    ControlFlow::Break(outcome) => return Ok(outcome),
                },
            };
            if *part == self.whole {
                let given = (!modify.returning.is_empty())
                    .then(|| (done.returned.into_held(), self.bound.encoder(&shared.course)));
                outcome = Some(Outcome { tag: done.tag, rows: done.rows, given });
            } else if let Some(rows) = done.returned.into_held() {
                shared.course.carried.give(*part, rows.to_vec());
                held.push(rows);
            }
        }
        Ok(outcome.expect("the statement is one of its parts"))
    }

    /// A part that changes rows of a table; with UPSERT INTO the statement has ended.
    fn change(&self, part: QueryId, shared: &Shared) -> Result<ControlFlow<Outcome, Done>> {
        let (modify, target) = target(self.bound, part)?;
        let Run { view, bound, text, .. } = *self;
        let family = bound.family(part, modify.entry).map(|family| &**family);
        let routes = match modify.kind {
            ModifyKind::Delete => None,
            _ => Router::of(view, target)?.map(RefCell::new),
        };
        if routes.is_none() && modify.kind != ModifyKind::Delete {
            // It is no partition, and stays none until its rows are written.
            hold(view, target)?;
        }
        let statement = Statement {
            view,
            bound,
            query: part,
            modify,
            target,
            family,
            routes,
            text,
            shared,
            fires: Fires::of(view, target, &shared.due)?,
        };
        if self.blind && part == self.whole {
            let rows = insert::upsert(&statement)?;
            return Ok(ControlFlow::Break(Outcome { tag: "INSERT 0", rows, given: None }));
        }
        statement.carry_out().map(ControlFlow::Continue)
    }

    /// The rows of a query that changes rows in its WITH alone: all of them, since what it reads is not as it was later on.
    fn own_rows(&self, shared: &Shared) -> Result<Outcome> {
        let rows = self.bound.rows(self.view, &shared.course, self.text)?.all()?;
        let count = rows.iter().map(|batch| batch.num_rows() as u64).sum();
        let given = Some((Some(rows), self.bound.encoder(&shared.course)));
        Ok(Outcome { tag: "SELECT", rows: count, given })
    }
}

/// The parts that change rows of tables.
fn of_tables(bound: &Bound, parts: &[QueryId]) -> Vec<QueryId> {
    let changes = |part: &&QueryId| bound.tree().0.query(**part).modify.is_some();
    let all = parts.iter().filter(changes).copied();
    all.filter(|part| bound.viewed(*part).is_none()).collect()
}

/// What a part changes, and the table.
fn target(bound: &Bound, part: QueryId) -> Result<(&Modify, &TableHandle)> {
    let modify = bound.tree().0.query(part).modify.as_deref().expect("the part changes rows");
    match bound.table(part, modify.entry) {
        Some(table) => Ok((modify, table)),
        None if let Some(name) = bound.sequence(part, modify.entry) => {
            Err(SqlError::new("42809", format!("cannot change sequence \"{name}\"")))
        }
        None => Err(SqlError::unsupported("changing rows of what is not a table")),
    }
}

/// The places of columns that are written.
fn places(targets: &[Target]) -> impl Iterator<Item = usize> {
    targets.iter().filter(|target| !target.hidden).map(|target| target.number - 1)
}

/// What writing needs; reading, the query's own needs say.
///
/// # Errors
/// It is not a table that is written to; the transaction has ended.
pub fn needs(view: &View, bound: &Bound) -> Result<Vec<Need>> {
    if let Some(stages) = bound.stages() {
        let each = stages.all.iter().map(|stage| needs_of_parts(view, stage));
        return Ok(each.collect::<Result<Vec<_>>>()?.concat());
    }
    needs_of_parts(view, bound)
}

fn needs_of_parts(view: &View, bound: &Bound) -> Result<Vec<Need>> {
    let mut needs = Vec::new();
    // What a view needs, is asked for where it stays what is changed.
    for part in of_tables(bound, &bound.parts()) {
        let by = bound.writer(part);
        // A sequence is asked by the statement's role, not by the view's owner.
        let own = |need: Need| match need.class {
            Class::Sequence => need,
            _ => Need { by, ..need },
        };
        needs.extend(needs_of(view, bound, part)?.into_iter().map(own));
    }
    Ok(needs)
}

fn needs_of(view: &View, bound: &Bound, part: QueryId) -> Result<Vec<Need>> {
    let (modify, TableHandle { schema, table, .. }) = target(bound, part)?;
    let (tree, _) = bound.tree();
    refuse_values(tree, part, schema)?;
    let query = tree.query(part);
    // What is generated is nothing that the statement writes.
    let own = |at: &usize| modify.kind == ModifyKind::Insert || !schema.is_generated(*at);
    let written = numbers(schema, places(&query.targets).filter(own));
    let mut needs = Vec::new();
    match modify.kind {
        ModifyKind::Insert => {
            needs.push(of_table(Action::Insert, schema, written));
            let given = query.targets.iter().filter(|target| {
                !target.hidden && !matches!(tree.expr(target.value), Expr::Default)
            });
            let given: Vec<usize> = given.map(|target| target.number - 1).collect();
            needs.extend(sequences(view, schema, &given)?);
        }
        ModifyKind::Update => needs.push(of_table(Action::Update, schema, written)),
        ModifyKind::Delete => needs.push(of_table(Action::Delete, schema, Vec::new())),
        ModifyKind::Merge => {
            for action in &modify.actions {
                needs.extend(merge::needs(view, schema, action, tree)?);
            }
            if needs.is_empty() {
                needs.push(of_table(Action::Read, schema, Vec::new()));
            }
        }
    }
    if let Some(conflict) = &modify.conflict {
        if conflict.constraint != 0 || !conflict.elements.is_empty() {
            let arbiters = conflict::arbiters(
                tree,
                modify,
                &table.schema(),
                view.objects.made_types().catalog(),
            )?;
            let keys = arbiters.iter().flat_map(|index| schema.columns_of(index));
            let keys = keys.filter_map(|id| schema.position(id));
            needs.push(of_table(Action::Read, schema, numbers(schema, keys)));
        }
        if conflict.update {
            let set = numbers(schema, places(&conflict.set));
            needs.push(of_table(Action::Update, schema, set));
        }
    }
    Ok(needs)
}

/// Fails where a generated column is given another value than its own.
fn refuse_values(tree: &onlap_pg::bound::Bound, part: QueryId, schema: &TableSchema) -> Result<()> {
    let query = tree.query(part);
    let Some(modify) = query.modify.as_deref().filter(|_| !schema.generated.is_empty()) else {
        return Ok(());
    };
    let is_given = |set: &&Target| {
        let is_own = !set.hidden && !matches!(tree.expr(set.value), Expr::Default);
        is_own && schema.is_generated(set.number - 1)
    };
    let of = |kind| {
        let actions = modify.actions.iter().filter(move |action| action.kind == kind);
        actions.flat_map(|action| &action.set)
    };
    let targets = |kind| if modify.kind == kind { &query.targets[..] } else { &[] };
    let conflict = modify.conflict.iter().flat_map(|conflict| &conflict.set);
    let inserted = targets(ModifyKind::Insert).iter().chain(of(ActionKind::Insert));
    let updated = targets(ModifyKind::Update).iter().chain(of(ActionKind::Update)).chain(conflict);
    // Rows of VALUES may say DEFAULT each.
    let mut inserted = inserted
        .filter(is_given)
        .filter(|set| !insert::is_default_in_all(tree, query, set))
        .map(|set| (set, true));
    let mut updated = updated.filter(is_given).map(|set| (set, false));
    match inserted.next().or_else(|| updated.next()) {
        Some((set, inserted)) => {
            Err(generated::given(&schema.columns[set.number - 1].name, inserted))
        }
        None => Ok(()),
    }
}

/// Columns that only their sequences fill are updated to DEFAULT alone.
fn refuse_generated(
    view: &View,
    tree: &onlap_pg::bound::Bound,
    query: &Query,
    modify: &Modify,
    target: &TableHandle,
) -> Result<()> {
    let mut of_update = match modify.kind {
        ModifyKind::Update => query.targets.iter().collect::<Vec<_>>(),
        _ => modify.conflict.iter().flat_map(|conflict| &conflict.set).collect(),
    };
    let updates = modify.actions.iter().filter(|action| action.kind == ActionKind::Update);
    of_update.extend(updates.flat_map(|action| &action.set));
    for set in of_update.into_iter().filter(|set| !set.hidden) {
        let column = &target.schema.columns[set.number - 1];
        let is_given = !matches!(tree.expr(set.value), Expr::Default);
        if is_given && defaults::is_always(view, target.schema.id, column.id) {
            let name = &column.name;
            let text = format!("column \"{name}\" can only be updated to DEFAULT");
            let detail =
                format!("Column \"{name}\" is an identity column defined as GENERATED ALWAYS.");
            return Err(SqlError::new("428C9", text).detail(detail));
        }
    }
    Ok(())
}

/// A value in a column of the steps as the table's column keeps it.
fn value_at(target: &TableHandle, number: usize, array: &ArrayRef, row: usize) -> Result<Value> {
    target.types.value_of(number - 1, array, row)
}

/// A column of rows, as expressions are calculated of.
fn array_of<'r>(
    target: &TableHandle,
    number: usize,
    rows: impl Iterator<Item = &'r Value>,
) -> Result<ArrayRef> {
    let name = &target.schema.columns[number - 1].name;
    target.types.decode_values(number - 1, name, rows)
}

/// The values of a column in rows.
fn column_of(rows: &[Row], number: usize) -> impl Iterator<Item = &Value> {
    rows.iter().map(move |row| &row[number - 1])
}

/// The default of one column, for one row.
fn default_of(statement: &Statement<'_>, table: &Table, number: usize) -> Result<Value> {
    defaults::value(statement.view, table, number - 1)
}

/// Whether two values of a column are the same to the last bit, as PostgreSQL compares rows: NaN is NaN, and -0 is not 0.
pub fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Float(one), Value::Float(other)) => one.to_bits() == other.to_bits(),
        _ => one == other,
    }
}
