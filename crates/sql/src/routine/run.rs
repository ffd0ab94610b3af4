//! How is a body carried out?

use onlap_kernels::array::{Array, Builder, Dim};
use onlap_kernels::{Datum, repr};
use onlap_pg::TypeRef;
use onlap_pg::catalog::oids;

use super::body::{
    Act, Block, Condition, Handler, Into, Kind, Loop, LoopKind, Query, Slot, Sql, Statement, Target,
};
use super::machine::{Given, Machine, is_trapped_by_others};
use super::read::{MORE_STACK, RED_ZONE};
use super::values::Held;
use crate::error::{Result, SqlError, state};
use crate::query::sql_error;

/// What comes after a statement.
pub enum Flow {
    /// The next one.
    Next,
    /// The end of a loop or block, with its label.
    Exit(Option<String>),
    /// The next round of a loop.
    Continue(Option<String>),
    /// The end.
    Return,
}

/// A body's words at its beginning, in the context of errors.
const INIT: &str = "during statement block local variable initialization";

impl Machine<'_, '_> {
    /// Carries the body out.
    ///
    /// # Errors
    /// Those of its statements, with where they were met.
    pub fn run(&mut self) -> Result<()> {
        let found = Held::Value(TypeRef::new(oids::BOOL), Datum::Bool(false));
        self.held[self.body.found] = found;
        match self.block(&self.body.root)? {
            Flow::Next | Flow::Exit(_) | Flow::Continue(_) => self.must_not_end(),
            Flow::Return => Ok(()),
        }
    }

    fn statements(&mut self, all: &[Statement]) -> Result<Flow> {
        for statement in all {
            match self.statement(statement)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &Statement) -> Result<Flow> {
        let before = self.here;
        self.here = (statement.line, statement.act.name());
        let done = stacker::maybe_grow(RED_ZONE, MORE_STACK, || self.act(&statement.act));
        let done = self.noted(done);
        self.here = before;
        done
    }

    /// What was done, or the error with where it was met.
    fn noted<T>(&mut self, done: Result<T>) -> Result<T> {
        done.map_err(|e| match std::mem::replace(&mut self.is_noted, true) {
            true => e,
            // Who may see what is asked where it happens: the statement around may be another role's.
            false => self.host.with_values_to_see(e).around(&self.context()),
        })
    }

    fn act(&mut self, act: &Act) -> Result<Flow> {
        self.host.view.scope.go_on()?;
        match act {
            Act::Block(block) => return self.block(block),
            Act::Assign(target, sql) => {
                let (ty, value) = self.value(sql)?;
                self.assign(target, ty, value)?;
            }
            Act::AssignElement(target, subscripts, sql) => {
                let (ty, value) = self.value(sql)?;
                self.assign_element(target, subscripts, ty, value)?;
            }
            Act::If(arms, otherwise) => {
                for (condition, body) in arms {
                    if self.truth(condition)? {
                        return self.statements(body);
                    }
                }
                return self.statements(otherwise);
            }
            Act::Case(value, arms, otherwise) => {
                return self.case(value.as_ref(), arms, otherwise.as_deref());
            }
            Act::Loop(of) => return self.looped(of),
            Act::Leave { exit, label, when } => {
                if let Some(when) = when
                    && !self.truth(when)?
                {
                    return Ok(Flow::Next);
                }
                let label = label.clone();
                return Ok(if *exit { Flow::Exit(label) } else { Flow::Continue(label) });
            }
            Act::Return(value) => {
                self.give_back(value.as_ref())?;
                return Ok(Flow::Return);
            }
            Act::ReturnNext(value) => self.give_next(value.as_ref())?,
            Act::ReturnQuery(query) => self.give_rows(query)?,
            Act::Raise(raise) => self.raise(raise)?,
            Act::Assert(condition, message) => self.assert(condition, message.as_ref())?,
            Act::Execute(query, into) => self.execute(query, into.as_ref())?,
            Act::Perform(sql) => self.perform(sql)?,
            Act::Call(sql) => {
                let given = self.fixed(sql, 1)?;
                if given.shape.is_some() {
                    let what = "CALL in PL/pgSQL of a procedure with output parameters";
                    return Err(SqlError::unsupported(what));
                }
            }
            Act::Diagnostics(stacked, items) => self.diagnose(*stacked, items)?,
            Act::OpenFor(slot, scroll, query) => self.open_for(*slot, *scroll, query)?,
            Act::Open(slot, values) => self.open_bound(*slot, values)?,
            Act::Fetch(slot, direction, into) => self.fetch(*slot, direction, into.as_ref())?,
            Act::Close(slot) => self.close(*slot)?,
            Act::Nothing => {}
        }
        Ok(Flow::Next)
    }

    fn perform(&mut self, sql: &Sql) -> Result<()> {
        if sql.parsed.tree.into_of_first() {
            let text = "query is SELECT INTO, but it should be plain SELECT";
            let e = SqlError::new(state::SYNTAX, text);
            return Err(e.around(&format!("query: {}", sql.shown)));
        }
        let given = self.fixed(sql, 0)?;
        self.rows = given.count;
        self.set_found(given.count > 0);
        Ok(())
    }

    pub(super) fn set_found(&mut self, found: bool) {
        let held = Held::Value(TypeRef::new(oids::BOOL), Datum::Bool(found));
        self.held[self.body.found] = held;
    }

    fn block(&mut self, block: &Block) -> Result<Flow> {
        let here = self.here;
        for slot in &block.declared {
            self.here = (self.body.slots[*slot].line, INIT);
            let begun = self.begin_variable(*slot);
            self.noted(begun)?;
        }
        self.here = here;
        let flow = match &block.handlers {
            None => self.statements(&block.body)?,
            Some(handlers) => {
                let mark = self.host.mark()?;
                match self.statements(&block.body) {
                    Ok(flow) => flow,
                    Err(e) => {
                        let found = handlers.all.iter().find(|handler| handles(handler, &e));
                        let Some(handler) = found else { return Err(e) };
                        let e = self.host.with_values_to_see(e);
                        self.host.note(&e);
                        self.host.back_to(&mark)?;
                        self.is_noted = false;
                        let text = TypeRef::new(oids::TEXT);
                        let set = |text_of: &str| Held::Value(text, Datum::text(text_of));
                        let told =
                            [(handlers.state, e.sqlstate()), (handlers.message, e.message())];
                        for (slot, value) in told {
                            self.charge(self.held[slot].bytes(), value.len())?;
                            self.held[slot] = set(value);
                        }
                        let bytes = e.text_bytes();
                        self.charge(0, bytes)?;
                        self.handled.push(e);
                        let done = self.statements(&handler.body);
                        self.handled.pop();
                        self.charge(bytes, 0)?;
                        done?
                    }
                }
            }
        };
        Ok(match flow {
            Flow::Exit(Some(label)) if block.label.as_ref() == Some(&label) => Flow::Next,
            other => other,
        })
    }

    fn case(
        &mut self,
        value: Option<&(Slot, Sql)>,
        arms: &[(Sql, Vec<Statement>)],
        otherwise: Option<&[Statement]>,
    ) -> Result<Flow> {
        if let Some((slot, sql)) = value {
            let (ty, value) = self.value(sql)?;
            self.charge(self.held[*slot].bytes(), value.size())?;
            self.held[*slot] = Held::Value(ty, value);
        }
        for (condition, body) in arms {
            if self.truth(condition)? {
                return self.statements(body);
            }
        }
        match otherwise {
            Some(body) => self.statements(body),
            None => Err(SqlError::new("20000", "case not found")
                .hint("CASE statement is missing ELSE part.")),
        }
    }

    fn execute(&mut self, query: &Query, into: Option<&Into>) -> Result<()> {
        let is_dynamic = matches!(query, Query::Dynamic(..));
        let most = match into {
            // One row more says whether there are too many.
            Some(_) => 2,
            None => 0,
        };
        let given = self.query(query, most)?;
        self.rows = given.count;
        if !is_dynamic && given.is_plannable {
            self.set_found(given.count > 0);
        }
        match (into, &given.shape) {
            (None, None) => Ok(()),
            (None, Some(_)) if is_dynamic => Ok(()),
            (None, Some(_)) => {
                let e = SqlError::new(state::SYNTAX, "query has no destination for result data");
                Err(match given.changed {
                    true => e,
                    false => e.hint(
                        "If you want to discard the results of a SELECT, use PERFORM instead.",
                    ),
                })
            }
            (Some(_), None) => {
                let text = "INTO used with a command that cannot return data";
                Err(SqlError::new(state::SYNTAX, text))
            }
            (Some(into), Some(_)) => self.take_first(into, &given, is_dynamic),
        }
    }

    fn take_first(&mut self, into: &Into, given: &Given, is_dynamic: bool) -> Result<()> {
        if given.count == 0 && into.strict {
            return Err(SqlError::new("P0002", "query returned no rows"));
        }
        if given.count > 1 && (into.strict || given.changed && !is_dynamic) {
            let e = SqlError::new("P0003", "query returned more than one row");
            return Err(e.hint("Make sure the query returns a single row, or use LIMIT 1."));
        }
        if !given.changed {
            self.rows = given.count.min(1);
        }
        let shape = given.shape.clone().unwrap_or_default();
        self.assign_columns(&into.targets, &shape, given.first())
    }

    fn looped(&mut self, of: &Loop) -> Result<Flow> {
        match &of.kind {
            LoopKind::Ever => loop {
                if let Some(flow) = self.round(of)? {
                    return Ok(flow);
                }
            },
            LoopKind::While(condition) => {
                while self.truth(condition)? {
                    if let Some(flow) = self.round(of)? {
                        return Ok(flow);
                    }
                }
                Ok(Flow::Next)
            }
            LoopKind::Range { slot, reverse, from, to, by } => {
                self.range(of, *slot, *reverse, (from, to, by.as_ref()))
            }
            LoopKind::Rows(targets, query) => self.over_rows(of, targets, query),
            LoopKind::Cursor(record, slot, values) => {
                self.over_cursor(of, (*record, *slot), values)
            }
            LoopKind::Items(target, slice, sql) => self.over_items(of, target, *slice, sql),
        }
    }

    /// One round; what comes after the loop, if it ends here.
    pub(super) fn round(&mut self, of: &Loop) -> Result<Option<Flow>> {
        self.host.view.scope.go_on()?;
        let own = |label: &Option<String>| label.is_none() || *label == of.label;
        Ok(match self.statements(&of.body)? {
            Flow::Next => None,
            Flow::Continue(label) if own(&label) => None,
            Flow::Exit(label) if own(&label) => Some(Flow::Next),
            other => Some(other),
        })
    }

    fn bound_of(&mut self, sql: &Sql, what: &str) -> Result<i32> {
        let (ty, value) = self.value(sql)?;
        match self.convert(value, ty, TypeRef::new(oids::INT4))? {
            Datum::Int4(value) => Ok(value),
            _ => Err(SqlError::new("22004", format!("{what} of FOR loop cannot be null"))),
        }
    }

    fn range(
        &mut self,
        of: &Loop,
        slot: Slot,
        reverse: bool,
        (from, to, by): (&Sql, &Sql, Option<&Sql>),
    ) -> Result<Flow> {
        let mut at = self.bound_of(from, "lower bound")?;
        let last = self.bound_of(to, "upper bound")?;
        let step = match by {
            Some(sql) => self.bound_of(sql, "BY value")?,
            None => 1,
        };
        if step <= 0 {
            let text = "BY value of FOR loop must be greater than zero";
            return Err(SqlError::new(state::BAD_PARAMETER, text));
        }
        let (mut found, mut flow) = (false, Flow::Next);
        while if reverse { at >= last } else { at <= last } {
            found = true;
            self.held[slot] = Held::Value(TypeRef::new(oids::INT4), Datum::Int4(at));
            if let Some(ended) = self.round(of)? {
                flow = ended;
                break;
            }
            let next = if reverse { at.checked_sub(step) } else { at.checked_add(step) };
            let Some(next) = next else { break };
            at = next;
        }
        self.set_found(found);
        Ok(flow)
    }

    fn over_rows(&mut self, of: &Loop, targets: &[Target], query: &Query) -> Result<Flow> {
        let given = self.query(query, usize::MAX)?;
        let Some(shape) = given.shape.clone() else {
            let word = match query {
                Query::Fixed(sql) => sql.parsed.words(),
                Query::Dynamic(..) => String::new(),
            };
            let word = word.split(' ').next().filter(|word| !word.is_empty()).unwrap_or("such a");
            return Err(SqlError::new("42P11", format!("cannot open {word} query as cursor")));
        };
        let (mut found, mut flow) = (false, Flow::Next);
        for row in Self::rows_of(&given) {
            found = true;
            self.assign_columns(targets, &shape, Some(row))?;
            if let Some(ended) = self.round(of)? {
                flow = ended;
                break;
            }
        }
        if !found {
            self.assign_columns(targets, &shape, None)?;
        }
        self.set_found(found);
        Ok(flow)
    }

    fn over_items(&mut self, of: &Loop, target: &Target, slice: i32, sql: &Sql) -> Result<Flow> {
        let (ty, value) = self.value(sql)?;
        let catalog = std::sync::Arc::clone(self.host.catalog());
        let Some(element) = catalog.base_element(ty.oid) else {
            let shown = catalog.shown(ty.oid).to_string();
            let text = format!("FOREACH expression must yield an array, not type {shown}");
            return Err(SqlError::new(state::MISMATCH, text));
        };
        let Datum::Bytes(bytes) = &value else {
            return Err(SqlError::new("22004", "FOREACH expression must not be null"));
        };
        let Some(repr) = repr(&catalog, element) else {
            return Err(SqlError::unsupported("an array of this type"));
        };
        let array = Array::load(bytes, repr);
        let dimensions = array.ndims();
        let slice = usize::try_from(slice).ok().filter(|slice| *slice <= dimensions.max(1));
        let Some(slice) = slice else {
            let text = format!(
                "slice dimension ({}) is out of the valid range 0..{dimensions}",
                of_slice(of)
            );
            return Err(SqlError::new("2202E", text));
        };
        let kind = &self.body.slots[target.slot].kind;
        let is_array = target.field.is_some()
            || matches!(kind, Kind::Scalar(ty) if catalog.base_element(ty.oid).is_some());
        if slice > 0 && !is_array {
            let text = "FOREACH ... SLICE loop variable must be of an array type";
            return Err(SqlError::new(state::MISMATCH, text));
        }
        if slice == 0 && is_array && target.field.is_none() {
            let text = "FOREACH loop variable must not be of an array type";
            return Err(SqlError::new(state::MISMATCH, text));
        }
        // A part has as many elements as its dimensions together.
        let size: usize = (dimensions - slice.min(dimensions)..dimensions)
            .map(|n| array.dim(n).length as usize)
            .product();
        let item_type = TypeRef::new(if slice == 0 { element } else { catalog.base(ty.oid, -1).0 });
        let (mut found, mut flow) = (false, Flow::Next);
        for at in (0..array.len()).step_by(size.max(1)) {
            found = true;
            let item = match slice {
                0 => array.get(at).into_owned(),
                _ => part(&array, at, size, dimensions - slice)?,
            };
            self.assign(target, item_type, item)?;
            if let Some(ended) = self.round(of)? {
                flow = ended;
                break;
            }
        }
        self.set_found(found);
        Ok(flow)
    }
}

/// The dimensions that a loop takes at a time.
fn of_slice(of: &Loop) -> i32 {
    match &of.kind {
        LoopKind::Items(_, slice, _) => *slice,
        _ => 0,
    }
}

/// A part of an array: a number of elements from one on, with the dimensions from one on.
fn part(array: &Array<'_>, at: usize, size: usize, first: usize) -> Result<Datum<'static>> {
    let failed = |e: onlap_pg::Error| sql_error(&e, "");
    let mut builder = Builder::new(array.repr());
    for n in at..at + size {
        builder.push(&array.get(n)).map_err(failed)?;
    }
    let dims: Vec<Dim> = array.dims().split_off(first);
    Ok(Datum::bytes(builder.finish_as(&dims)))
}

/// Whether a handler has an error.
fn handles(handler: &Handler, e: &SqlError) -> bool {
    let code = e.sqlstate();
    handler.states.iter().any(|condition| match condition {
        Condition::Others => is_trapped_by_others(e),
        Condition::State(known) if known.ends_with("000") => code.starts_with(&known[..2]),
        Condition::State(known) => known == code,
    })
}
