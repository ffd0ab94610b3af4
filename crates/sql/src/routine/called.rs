//! How is a function carried out that a statement calls?
//!
//! In a session of its own within the transaction ([`crate::session::lent`]). The statement that calls it is set aside meanwhile,
//! so that a volatile function sees what was committed, and what the transaction has done; one that is not sees what its caller
//! sees, and changes nothing. Bodies and bound statements stay with the session for the next call.

use std::sync::Arc;

use datafusion_execution::memory_pool::MemoryReservation;
use onlap_kernels::array::Record;
use onlap_kernels::misc::MadeCall;
use onlap_kernels::{Datum, repr};
use onlap_pg::TypeRef;
use onlap_pg::catalog::{Kind as TypeKind, oids};

use super::body::{Body, Gives, Kind, Slot, Sql, Target};
use super::give::{Row, value_of};
use super::host::Host;
use super::machine::{BoundTexts, Machine};
use super::read::{self, Around, Form};
use super::sql;
use super::types::kind_of;
use super::values::{Held, row_of};
use crate::catalog::functions::Function;
use crate::deep::too_deep;
use crate::error::{Result, SqlError};
use crate::parse;
use crate::plan::texts::expected_bytes;
use crate::query::{Bound, Names, sql_error};
use crate::scope::Scope;
use crate::session::Session;
use crate::session::lent::Told;
use crate::view::View;
use crate::wire::Client;

/// Routines that run one within the other. PostgreSQL's limit is one of its stack.
const MAX_DEPTH: usize = 300;
/// Stack that a call has, and what is asked for where that is not left.
const CALL_STACK: usize = 512 << 10;
const MORE_CALL_STACK: usize = 4 << 20;

/// What a call gives.
#[derive(Debug)]
pub enum Given {
    /// A value.
    Value(Datum<'static>),
    /// The rows of a set.
    Rows(Vec<Row>, MemoryReservation),
}

/// A body that is kept for the next call.
pub struct Known {
    function: Arc<Function>,
    call: MadeCall,
    stamp: crate::session::Stamp,
    version: u64,
    /// The function as messages call it.
    name: Arc<str>,
    /// The body.
    body: Arc<Body>,
    statements: Arc<[Sql]>,
    /// Its texts that are bound.
    bound: BoundTexts,
    _memory: MemoryReservation,
}

/// Bodies that a session keeps.
#[derive(Default)]
pub struct Bodies(pub Vec<Known>);

/// More are not kept.
const MOST_BODIES: usize = 32;

/// A routine runs within others.
struct Within<'a>(&'a Scope);

impl Drop for Within<'_> {
    fn drop(&mut self) {
        self.0.lent().leave();
    }
}

/// Calls a function.
///
/// # Errors
/// Those of the function; `54001`; `0A000`: it cannot run here.
pub fn call(view: &View, call: &MadeCall, args: &[Datum<'_>]) -> Result<Given> {
    let function = view.objects.functions().by_oid(call.proc).cloned();
    let function = function.ok_or_else(|| {
        SqlError::internal(format!("cache lookup failed for function {}", call.proc))
    })?;
    inside(view, (function.volatility == 'v', true), |session| {
        apart(session, view, &function, |session| run(session, &function, call, args))
    })
}

/// Runs a routine within the statement that calls it, which does not see what a volatile one writes where that is hidden.
///
/// # Errors
/// As of [`call`].
pub fn inside<T>(
    view: &View,
    (is_volatile, hides): (bool, bool),
    run: impl FnOnce(&mut Session) -> Result<T>,
) -> Result<T> {
    let (scope, lent) = (&view.scope, view.scope.lent());
    scope.go_on()?;
    if scope.is_in_use() {
        return Err(SqlError::unsupported("a function of the database here"));
    }
    if lent.depth() >= MAX_DEPTH {
        return Err(too_deep().hint("Functions call each other too deeply."));
    }
    lent.enter();
    let _within = Within(scope);
    let mut session = Session::of_routine(scope)?;
    // The routine sees what the statement has set before it.
    session.carry_out(&view.asked);
    let aside = match is_volatile {
        true => {
            let mut tx = scope.tx()?;
            let mut aside = tx.set_aside();
            if hides {
                let began = tx.savepoint();
                aside.sees_to(began);
            }
            Some(aside)
        }
        false => None,
    };
    let done = tokio::task::block_in_place(|| {
        stacker::maybe_grow(CALL_STACK, MORE_CALL_STACK, || run(&mut session))
    });
    if let Some(aside) = aside
        && let Ok(mut tx) = scope.tx()
    {
        tx.take_up(aside);
    }
    session.leave_to_next();
    done.inspect_err(|e| lent.keep(e))
}

/// Runs a function as its owner, and with its settings, where it says so.
///
/// # Errors
/// Those of the function.
pub fn apart<T>(
    session: &mut Session,
    view: &View,
    function: &Function,
    run: impl FnOnce(&mut Session) -> Result<T>,
) -> Result<T> {
    if !function.definer && function.settings.is_empty() {
        return run(session);
    }
    let is_role = |name: &str| matches!(name, "role" | "session_authorization");
    if function.settings.iter().any(|(name, _)| is_role(name)) {
        return Err(SqlError::unsupported("a function that sets a role"));
    }
    let owner = function.definer.then(|| view.judge.rights().owner(function.rights()));
    let before = session.apart(owner, !function.settings.is_empty());
    let set = function
        .settings
        .iter()
        .try_for_each(|(name, value)| session.settings.set(name, value, true));
    let done = set.and_then(|()| run(session));
    session.together_again(before, Some(&function.settings));
    done
}

fn run(
    session: &mut Session,
    function: &Arc<Function>,
    call: &MadeCall,
    args: &[Datum<'_>],
) -> Result<Given> {
    let view = session.view()?;
    by_machine(session, &view, (function, call), |machine, statements| {
        start(machine, function, call, args)?;
        let gave = match function.language.as_str() {
            "sql" => sql::run(machine, function, statements)?,
            _ => machine.run().map(|()| true)?,
        };
        Ok(match (&machine.body.gives, function.language.as_str()) {
            // In SQL void is NULL, in PL/pgSQL a value.
            (Gives::Nothing, "sql") => Given::Value(Datum::Null),
            // So is what no row was found for.
            (Gives::Results { set: false, .. }, "sql") if !gave && !function.procedure => {
                Given::Value(Datum::Null)
            }
            _ => {
                let given = given(machine);
                must_be(machine, call.result, given)?
            }
        })
    })
}

/// What a call gives, if it is of the type that the caller reads it as.
fn must_be(machine: &Machine<'_, '_>, ty: TypeRef, given: Given) -> Result<Given> {
    let Given::Value(value) = &given else { return Ok(given) };
    let catalog = machine.host.catalog();
    let shape = machine.body.row.map(|slot| &machine.held[slot]);
    let fits = match (value, shape) {
        // What the query defines is compared with what it gets where that is read.
        (Datum::Bytes(_), Some(Held::Row(oids::RECORD, ..))) => true,
        (Datum::Bytes(bytes), Some(Held::Row(_, shape, _))) => {
            Record::load(bytes).is_of(shape.iter().map(|field| field.1.oid))
        }
        _ => value.is_null() || repr(catalog, ty.oid).is_some_and(|repr| value.is_of(repr)),
    };
    match fits {
        true => Ok(given),
        false => {
            let shown = catalog.shown(ty.oid);
            Err(SqlError::defect(format!("a function gives a value that is no {shown}")))
        }
    }
}

/// Lets a machine carry out the body of a function.
///
/// # Errors
/// Those of the body; `53200`.
pub fn by_machine<T>(
    session: &mut Session,
    view: &View,
    (function, call): (&Arc<Function>, &MadeCall),
    run: impl FnOnce(&mut Machine<'_, '_>, &[Sql]) -> Result<T>,
) -> Result<T> {
    let mut known = known(session, view, function, call)?;
    let (body, statements) = (Arc::clone(&known.body), Arc::clone(&known.statements));
    let mut told = Told::new(view);
    let version = session.version_lent();
    let host = Host::new(session, &mut told, view.clone());
    let host = host.calm(function.volatility != 'v').seen_at(version);
    let name = Arc::clone(&known.name);
    let mut machine = Machine::new(host, &body, &name);
    machine.bound = std::mem::take(&mut known.bound);
    let done = run(&mut machine, &statements);
    known.bound = std::mem::take(&mut machine.bound);
    drop(machine);
    session.bodies.0.push(known);
    told.send()?;
    done
}

fn given(machine: &mut Machine<'_, '_>) -> Given {
    match &machine.body.gives {
        gives if gives.is_set() => {
            Given::Rows(std::mem::take(&mut machine.given.rows), machine.take_memory())
        }
        Gives::Results { several: false, .. } => {
            Given::Value(machine.results().pop().unwrap_or(Datum::Null))
        }
        Gives::Results { .. } => Given::Value(machine.result_row()),
        // void is a value that is no NULL, of no bytes.
        Gives::Nothing | Gives::Procedure => {
            Given::Value(machine.given.value.take().unwrap_or(Datum::text("")))
        }
        _ => Given::Value(machine.given.value.take().unwrap_or(Datum::Null)),
    }
}

/// A body that is known, taken out of what the session keeps, or read now.
fn known(
    session: &mut Session,
    view: &View,
    function: &Arc<Function>,
    call: &MadeCall,
) -> Result<Known> {
    let (stamp, version) = (session.stamp(), session.version_lent());
    let bodies = &mut session.bodies.0;
    let is = |known: &Known| known.function.oid == function.oid && known.call == *call;
    if let Some(at) = bodies.iter().position(is) {
        let known = bodies.swap_remove(at);
        let same = Arc::ptr_eq(&known.function, function) || known.function == *function;
        if same && known.stamp == stamp && known.version == version {
            return Ok(known);
        }
    }
    if bodies.len() >= MOST_BODIES {
        bodies.clear();
    }
    let memory = super::memory_of(view, expected_bytes(&function.source) / 4)?;
    let form = match (call.result.oid, &call.args[..]) {
        (TRIGGER, [row]) => super::trigger::form(view, Some(&kind_of(view, *row)?))?,
        (TRIGGER, _) => {
            let text = "trigger functions can only be called as triggers";
            return Err(SqlError::new("0A000", text));
        }
        _ => form(view, function, call)?,
    };
    let around = Around { view, name: &function.name.name, form: &form };
    let (body, statements) = match function.language.as_str() {
        "sql" => sql::read(function, &around)?,
        _ => (read::read(&function.source, &around)?, Vec::new()),
    };
    Ok(Known {
        function: Arc::clone(function),
        call: call.clone(),
        stamp,
        version,
        name: function.shown(view).into(),
        body: Arc::new(body),
        statements: statements.into(),
        bound: BoundTexts::default(),
        _memory: memory,
    })
}

/// What a function takes and gives in a call.
///
/// # Errors
/// A type has no values.
pub fn form(view: &View, function: &Function, call: &MadeCall) -> Result<Form> {
    let mut parameters = Vec::with_capacity(function.parameters.len());
    let mut at = 0;
    let catalog = Arc::clone(view.objects.made_types().catalog());
    let given: Vec<u32> = function.arguments();
    let results = match catalog.proc(call.proc).is_some() {
        _ if function.results().count() < 2 => None,
        _ => outputs(view, function, call, &given),
    };
    let mut results = results.into_iter().flatten();
    for parameter in &function.parameters {
        let mut ty = TypeRef::new(parameter.ty);
        if parameter.is_given() || function.procedure && parameter.mode == b'o' {
            let place = call.places.iter().position(|place| *place == at);
            if let Some(place) = place
                && is_polymorphic(ty.oid)
            {
                ty = TypeRef::new(call.args[place].oid);
            }
            at += 1;
        }
        if parameter.is_result() {
            let result = results.next();
            if is_polymorphic(parameter.ty) {
                ty = result.unwrap_or(call.result);
            }
        }
        parameters.push((parameter.name.clone(), kind_of(view, ty)?, parameter.mode));
    }
    let (gives, row) = gives(view, function, call)?;
    Ok(Form { parameters, row, gives, told: Vec::new() })
}

fn outputs(
    view: &View,
    function: &Function,
    call: &MadeCall,
    given: &[u32],
) -> Option<Vec<TypeRef>> {
    if !function.results().any(|of| is_polymorphic(of.ty)) {
        return None;
    }
    let names = Names::new(view);
    let proc = names.catalog().proc(function.oid)?;
    let mut actual = given.to_vec();
    for (place, ty) in call.places.iter().zip(&call.args) {
        actual[*place] = ty.oid;
    }
    let outputs = onlap_pg::resolve::outputs(names.catalog(), proc, &actual)?;
    Some(outputs.into_iter().map(|(_, oid)| TypeRef::new(oid)).collect())
}

/// Whether a type stands for others.
pub fn is_polymorphic(oid: u32) -> bool {
    matches!(
        oid,
        oids::ANYELEMENT
            | oids::ANYARRAY
            | oids::ANYNONARRAY
            | oids::ANYENUM
            | oids::ANYRANGE
            | oids::ANYMULTIRANGE
            | oids::ANYCOMPATIBLE
            | oids::ANYCOMPATIBLEARRAY
            | oids::ANYCOMPATIBLENONARRAY
            | oids::ANYCOMPATIBLERANGE
            | oids::ANYCOMPATIBLEMULTIRANGE
    )
}

/// void
pub const VOID: u32 = 2278;
/// trigger
pub const TRIGGER: u32 = 2279;

fn gives(view: &View, function: &Function, call: &MadeCall) -> Result<(Gives, Option<Kind>)> {
    let (results, set) = (function.results().count(), function.set);
    if results > 0 {
        return Ok((Gives::Results { several: results > 1, set }, None));
    }
    if function.procedure {
        return Ok((Gives::Procedure, None));
    }
    match call.result.oid {
        VOID if !set => Ok((Gives::Nothing, None)),
        TRIGGER => Ok((Gives::Trigger, None)),
        _ => {
            let ty = call.result;
            let names = Names::new(view);
            names.name_row(ty.oid).map_err(|e| sql_error(&e, ""))?;
            let kind = names.catalog().get_type(ty.oid).map(|ty| ty.kind);
            let row = match kind {
                // In SQL its values become what the query defines for them.
                Some(TypeKind::Pseudo)
                    if ty.oid == oids::RECORD
                        && function.language == "sql"
                        && !call.defined.is_empty() =>
                {
                    let fields = call.defined.iter().map(|(name, ty)| (name.to_string(), *ty));
                    Some(Kind::Row(oids::RECORD, fields.collect()))
                }
                Some(TypeKind::Pseudo) if ty.oid == oids::RECORD => Some(Kind::Record),
                Some(TypeKind::Composite) => Some(kind_of(view, ty)?),
                _ => None,
            };
            Ok((Gives::Value { ty, set }, row))
        }
    }
}

/// Puts the values of a call into parameters.
fn start(
    machine: &mut Machine<'_, '_>,
    function: &Function,
    call: &MadeCall,
    args: &[Datum<'_>],
) -> Result<()> {
    let mut at = 0;
    for (number, parameter) in function.parameters.iter().enumerate() {
        if function.procedure && parameter.mode == b'o' {
            at += 1;
            continue;
        }
        if !parameter.is_given() {
            continue;
        }
        let slot = machine.body.parameters[number].0;
        let place = call.places.iter().position(|place| *place == at);
        at += 1;
        match (place, &parameter.default) {
            (Some(place), _) => {
                let value = args[place].clone().into_owned();
                machine.put_given(slot, call.args[place], value)?;
            }
            (None, Some(text)) => {
                let (ty, value) = value_of_default(&machine.host.view, text)?;
                machine.assign(&Target { slot, field: None }, ty, value)?;
            }
            (None, None) => {}
        }
    }
    Ok(())
}

/// The value of a parameter that keeps its default.
fn value_of_default(view: &View, text: &str) -> Result<(TypeRef, Datum<'static>)> {
    let text = format!("SELECT {text}");
    let all = parse::statements(&text)?;
    let [parsed] = &all[..] else { return Err(SqlError::unsupported("this default")) };
    let bound = Bound::of(view, parsed, &[])?;
    if !bound.is_expression() {
        return Err(SqlError::unsupported("a query in a default of a parameter"));
    }
    let column = bound.value(view, &[], &parsed.text).map_err(|failed| failed.error)?;
    let ty = bound.shape()[0].1;
    let value = match repr(bound.catalog(), ty.oid) {
        Some(repr) => Datum::at(&column, repr, 0).into_owned(),
        None => Datum::Null,
    };
    Ok((ty, value))
}

impl Machine<'_, '_> {
    /// Gives a parameter its value.
    pub(super) fn put_given(
        &mut self,
        slot: Slot,
        ty: TypeRef,
        value: Datum<'static>,
    ) -> Result<()> {
        let catalog = Arc::clone(self.host.catalog());
        let bytes = value.size();
        let held = match &self.held[slot] {
            Held::Value(wanted, _) => Held::Value(*wanted, value),
            Held::Row(oid, shape, _) => {
                let record = TypeRef::new(oids::RECORD);
                let row = row_of(&catalog, record, &value, Some(shape.clone()))?;
                Held::Row(*oid, shape.clone(), row)
            }
            Held::Record(_) => Held::Record(row_of(&catalog, ty, &value, None)?),
        };
        self.held[slot] = held;
        self.charge(0, bytes)
    }

    /// What parameters hold that are parts of the result, as a row.
    pub(super) fn result_row(&self) -> Datum<'static> {
        let results =
            self.body.parameters.iter().filter(|(_, mode)| matches!(mode, b'o' | b'b' | b't'));
        let fields: Vec<_> = results
            .clone()
            .map(|(slot, _)| {
                let oid = match &self.held[*slot] {
                    Held::Value(ty, _) => ty.oid,
                    Held::Row(oid, ..) => *oid,
                    Held::Record(_) => oids::RECORD,
                };
                (oid, value_of(&self.held[*slot]))
            })
            .collect();
        let names: Vec<&str> =
            results.map(|(slot, _)| self.body.slots[*slot].name.as_str()).collect();
        let made = onlap_kernels::array::record::build_named(&names, &fields);
        made.map_or(Datum::Null, Datum::bytes)
    }
}
