//! What does a query ask the session?
//!
//! Settings, times, and functions that know the session or the catalogs of the database.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use arrow_array::ArrayRef;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use onlap_base::clock::{Clock, SystemClock};
use onlap_base::tasks::{Tasks, ThreadTasks};
use onlap_kernels::array::Array;
use onlap_kernels::misc::MadeCall;
use onlap_kernels::series::Rows;
use onlap_kernels::{Cx, Datum, Repr, Session, repr};
use onlap_pg::catalog::{Catalog, Proc};
use onlap_pg::value::xml::Shape;
use onlap_pg::value::{DateOrder, DateStyle, IntervalStyle, Settings};
use onlap_pg::{Error, Oid, Result, TypeRef};
use parking_lot::Mutex;

use super::catalogs::datum;
use super::domains::Domains;
use super::stored::moment_of;
use super::tables::Known;
use super::views::of_sql;
use super::{catalog, named, schema, sets};
use crate::error::SqlError;
use crate::functions::catalogs::Seen;
use crate::functions::{self, Function};
use crate::routine::{self, Called};
use crate::session::lent::Using;
use crate::system::{row_types, rows};
use crate::types::PgType;
use crate::view::View;

/// The settings that values depend on, of a session. Their texts are read once for as long as nothing is set.
pub fn settings(view: &View) -> Settings {
    let read = || settings_of(&|name| (view.settings)(name).unwrap_or_default(), view.began_us);
    let known = view.read_settings.get_or_init(read);
    Settings { now: moment_of(view.began_us), ..known.clone() }
}

/// The same by what each is set to, at a moment.
pub fn settings_of(text: &dyn Fn(&str) -> String, began_us: i64) -> Settings {
    let mut settings = Settings { now: moment_of(began_us), ..Settings::default() };
    if let Some(zone) = onlap_pg::value::datetime::find_zone(&text("TimeZone")) {
        settings.zone = zone;
    }
    for word in text("DateStyle").split(',') {
        match word.trim().to_ascii_lowercase().as_str() {
            "sql" => settings.date_style = DateStyle::Sql,
            "postgres" => settings.date_style = DateStyle::Postgres,
            "german" => {
                settings.date_style = DateStyle::German;
                settings.date_order = DateOrder::Dmy;
            }
            "dmy" => settings.date_order = DateOrder::Dmy,
            "ymd" => settings.date_order = DateOrder::Ymd,
            "mdy" => settings.date_order = DateOrder::Mdy,
            _ => {}
        }
    }
    settings.interval_style = match text("IntervalStyle").to_ascii_lowercase().as_str() {
        "postgres_verbose" => IntervalStyle::PostgresVerbose,
        "sql_standard" => IntervalStyle::SqlStandard,
        "iso_8601" => IntervalStyle::Iso8601,
        _ => IntervalStyle::Postgres,
    };
    settings.bytea_hex = !text("bytea_output").eq_ignore_ascii_case("escape");
    if text("xmloption").eq_ignore_ascii_case("document") {
        settings.xml.shape = Shape::Document;
    }
    settings.xml.hex = text("xmlbinary").eq_ignore_ascii_case("hex");
    settings.extra_float_digits = text("extra_float_digits").parse().unwrap_or(1);
    settings
}

/// The session as kernels ask it.
pub struct Asked {
    view: View,
    began: i64,
    memory: Mutex<Memory>,
    /// The relations, once a function has asked for them.
    seen: OnceLock<Arc<Seen>>,
    /// Functions that were called.
    functions: Mutex<HashMap<Oid, Function>>,
    /// The fields of row types that were asked for.
    fields: Mutex<HashMap<Oid, Option<Fields>>>,
    /// The conditions of domains.
    domains: Domains,
    /// The statement's tables, which functions that it calls leave as they are.
    _using: Option<Using>,
}

/// Names and types of fields.
type Fields = Vec<(String, TypeRef)>;

/// What kernels have taken of a query's memory.
#[derive(Default)]
struct Memory {
    /// Without a pool there is room for what is in proportion to values that are there.
    is_given: bool,
    /// The query's; none while it is planned.
    pool: Option<Arc<dyn MemoryPool>>,
    /// For the expression that is being calculated.
    now: Option<MemoryReservation>,
    /// For the last results of expressions.
    results: HashMap<usize, MemoryReservation>,
}

/// What PostgreSQL says of a set where one value is wanted.
const SET_HERE: &str = "set-valued function called in context that cannot accept a set";

/// Results that are smaller are not counted: batches on their way have room set aside.
const SMALL_BYTES: usize = 256 << 10;

/// The OID of setseed.
const SETSEED: Oid = 1599;

impl Asked {
    /// The session of a statement.
    pub fn new(view: &View) -> Asked {
        Asked {
            view: view.clone(),
            began: moment_of(SystemClock.unix_us()),
            memory: Mutex::default(),
            seen: OnceLock::new(),
            functions: Mutex::default(),
            fields: Mutex::default(),
            domains: Domains::default(),
            _using: None,
        }
    }

    /// The session of a statement that uses tables.
    pub fn using(view: &View, tables: &Known) -> Asked {
        Asked { _using: Using::of(view, || tables.ids()), ..Asked::new(view) }
    }

    /// The session of conditions, which are calculated for values that were asked for before; `depth` conditions ask each
    /// other.
    pub fn of_conditions(view: &View, depth: usize) -> Asked {
        let memory = Mutex::new(Memory { is_given: true, ..Memory::default() });
        Asked { memory, domains: Domains::within(depth), ..Asked::new(view) }
    }

    /// The catalog in which types are named as the search path shows them, with a type of it that may be one of a relation's
    /// rows.
    pub(super) fn catalog_with(&self, ty: Oid) -> Catalog {
        let catalog = self.view.objects.made_types().seen_from(&self.view);
        if catalog.get_type(ty).is_none()
            && let Some((row, name)) = row_types::named(&self.view, ty)
        {
            schema::add_row(&self.view, &catalog, row, &name);
        }
        catalog
    }

    fn seen(&self) -> &Arc<Seen> {
        self.seen.get_or_init(|| Seen::new(&self.view))
    }

    /// What answers a function of PostgreSQL.
    fn function(&self, proc: &Proc) -> Option<Function> {
        let mut functions = self.functions.lock();
        if let Some(known) = functions.get(&proc.oid) {
            return Some(known.clone());
        }
        let made = functions::find(self.seen(), &proc.name)?;
        functions.insert(proc.oid, made.clone());
        Some(made)
    }

    /// The query begins, and takes its memory from this pool.
    pub fn begin(&self, pool: &Arc<dyn MemoryPool>) {
        self.memory.lock().pool = Some(Arc::clone(pool));
    }
}

/// Whether the session answers a function.
pub fn serves(view: &View, function: Oid) -> bool {
    let proc = catalog().proc(function);
    proc.is_some_and(|proc| {
        sets::has(proc.oid) || functions::find(&Seen::new(view), &proc.name).is_some()
    })
}

/// A value as functions of the session take it.
fn given(value: &Datum<'_>, ty: Oid) -> rows::Datum {
    match value {
        Datum::Null => rows::Datum::Null,
        Datum::Bool(v) => (*v).into(),
        Datum::Int2(v) => i64::from(*v).into(),
        Datum::Int4(v) => i64::from(*v).into(),
        Datum::Int8(v) => (*v).into(),
        Datum::Oid(v) => i64::from(*v).into(),
        Datum::Char(v) => char::from(*v).to_string().as_str().into(),
        Datum::Float4(v) => rows::Datum::Float((*v).into()),
        Datum::Float8(v) => rows::Datum::Float(*v),
        Datum::Text(v) => v.as_ref().into(),
        Datum::Bytes(v) => list(v, ty),
    }
}

/// An array of texts or OIDs; what else has bytes no function takes.
fn list(bytes: &[u8], ty: Oid) -> rows::Datum {
    let element = catalog().element(ty).and_then(|element| repr(catalog(), element));
    if element == Some(Repr::Oid) {
        let oid = |value: Datum<'_>| match value {
            Datum::Oid(oid) => oid.into(),
            _ => 0,
        };
        return rows::Datum::Ints(Array::load(bytes, Repr::Oid).iter().map(oid).collect());
    }
    let Some(Repr::Text) = element else { return rows::Datum::Null };
    let text = |value: Datum<'_>| match value {
        Datum::Text(text) => text.to_string(),
        _ => String::new(),
    };
    rows::Datum::Texts(Array::load(bytes, Repr::Text).iter().map(text).collect())
}

fn of_pg(ty: PgType) -> TypeRef {
    TypeRef { oid: ty.oid, modifier: ty.modifier }
}

impl Session for Asked {
    fn room(&self, bytes: usize) -> Result<()> {
        let mut memory = self.memory.lock();
        let Memory { pool, now, is_given, .. } = &mut *memory;
        let Some(pool) = pool else {
            if *is_given {
                return Ok(());
            }
            // What is long is calculated while the query runs, and not kept in its plan.
            return Err(Error::new("53200", "constants of a plan are small"));
        };
        let now = now.get_or_insert_with(|| MemoryConsumer::new("functions").register(pool));
        now.try_grow(bytes).map_err(|e| of_sql(&SqlError::from(e)))?;
        self.view.scope.go_on().map_err(|e| of_sql(&e))
    }

    fn asked(&self) -> usize {
        self.memory.lock().now.as_ref().map_or(0, MemoryReservation::size)
    }

    fn calculated(&self, expression: usize, bytes: usize) -> Result<()> {
        let mut memory = self.memory.lock();
        let Memory { pool, now, results, .. } = &mut *memory;
        if let Some(now) = now {
            now.free();
        }
        let Some(pool) = pool else { return Ok(()) };
        if bytes < SMALL_BYTES {
            results.remove(&expression);
            return Ok(());
        }
        let of = || MemoryConsumer::new("results of functions").register(pool);
        let held = results.entry(expression).or_insert_with(of);
        held.try_resize(bytes).map_err(|e| of_sql(&SqlError::from(e)))
    }

    fn call(&self, function: Oid, args: &[Datum<'_>]) -> Result<Datum<'static>> {
        let unserved = || Error::unserved(format!("function {function} is not supported yet"));
        if let (SETSEED, [Datum::Float8(seed)]) = (function, args) {
            self.view.scope.between().set_seed(*seed);
            return Ok(Datum::Null);
        }
        let proc = catalog().proc(function).ok_or_else(unserved)?;
        if let Some(value) = named::call(self.seen(), &proc.name, args)? {
            return Ok(value);
        }
        if sets::has(proc.oid) {
            let settings = settings(&self.view);
            let mut cx = Cx { catalog: catalog(), settings: &settings, session: self };
            return sets::call(&self.view, proc, args, &mut cx)?.ok_or_else(unserved);
        }
        let function = self.function(proc).ok_or_else(unserved)?;
        let types = proc.arguments.iter().copied().chain(std::iter::repeat(0));
        let args: Vec<rows::Datum> = args.iter().zip(types).map(|(v, ty)| given(v, ty)).collect();
        let made = function.call(&args).map_err(|e| of_sql(&e))?;
        let unserved_type =
            || Error::unserved(format!("the result of {} is not supported yet", proc.name));
        let result = repr(catalog(), proc.result).ok_or_else(unserved_type)?;
        let settings = settings(&self.view);
        let mut cx = Cx { catalog: catalog(), settings: &settings, session: self };
        Ok(datum(&mut cx, TypeRef::new(proc.result), result, &made)?.into_owned())
    }

    fn call_made(&self, call: &MadeCall, args: &[Datum<'_>]) -> Result<Datum<'static>> {
        match routine::call_made(&self.view, call, args).map_err(|e| of_sql(&e))? {
            Called::Value(value) => Ok(value),
            Called::Rows(..) => Err(Error::new("0A000", SET_HERE)),
        }
    }

    fn rows_made(&self, call: &MadeCall, args: &[Datum<'_>]) -> Result<Rows> {
        match routine::call_made(&self.view, call, args).map_err(|e| of_sql(&e))? {
            Called::Value(value) => Ok(Box::new(std::iter::once(Ok(vec![value])))),
            Called::Rows(rows, memory) => Ok(Box::new(rows.into_iter().map(move |row| {
                // It is held for as long as there are rows.
                let _ = &memory;
                Ok(row)
            }))),
        }
    }

    fn fields(&self, row: Oid) -> Option<Fields> {
        let look = || {
            if let Some(of) = self.view.objects.made_types().composite(row) {
                return Some(
                    of.fields.iter().map(|(name, ty)| (name.clone(), of_pg(*ty))).collect(),
                );
            }
            let fields = row_types::fields(&self.view, row)?.into_iter();
            Some(fields.map(|(name, ty)| (name, of_pg(ty))).collect())
        };
        self.fields.lock().entry(row).or_insert_with(look).clone()
    }

    fn keep_to(&self, domain: Oid, values: &ArrayRef) -> Result<()> {
        let pool = self.memory.lock().pool.clone();
        self.domains.keep_to(&self.view, pool.as_ref(), domain, values)
    }

    fn go_on(&self) -> Result<()> {
        self.view.scope.go_on().map_err(|e| of_sql(&e))
    }

    fn clock(&self) -> i64 {
        moment_of(SystemClock.unix_us())
    }

    fn statement_began(&self) -> i64 {
        self.began
    }

    fn wait(&self, us: i64) -> Result<()> {
        /// How long a statement that waits goes on after it is not wanted any more, at most.
        const SLICE_US: u64 = 10_000;
        let mut left = u64::try_from(us).unwrap_or(0);
        while left > 0 {
            self.go_on()?;
            let slice = left.min(SLICE_US);
            ThreadTasks::new().sleep(std::time::Duration::from_micros(slice));
            left -= slice;
        }
        self.go_on()
    }

    fn drawn(&self) -> u64 {
        self.view.scope.between().drawn().unwrap_or_else(|| self.random())
    }

    fn random(&self) -> u64 {
        let mut bytes = [0; 8];
        let random = ring::rand::SystemRandom::new();
        match ring::rand::SecureRandom::fill(&random, &mut bytes) {
            Ok(()) => u64::from_le_bytes(bytes),
            // The system has no randomness to give; the clock differs at least.
            Err(_) => SystemClock.monotonic_ns(),
        }
    }
}
