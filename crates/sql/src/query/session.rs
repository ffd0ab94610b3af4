//! What does a query ask the session?
//!
//! Settings, times, and functions that know the session or the catalogs of the database: those that the planner's library
//! is given too, called with one row.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::Field;
use datafusion::common::ScalarValue;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};
use onlap_base::clock::{Clock, SystemClock};
use onlap_base::tasks::{Tasks, ThreadTasks};
use onlap_kernels::{Cx, Datum, Session, input};
use onlap_pg::catalog::Proc;
use onlap_pg::value::{DateOrder, DateStyle, IntervalStyle, Settings};
use onlap_pg::{Error, Oid, Result, TypeRef};
use parking_lot::Mutex;

use super::stored::moment_of;
use super::views::of_sql;
use super::{catalog, named};
use crate::error::SqlError;
use crate::functions;
use crate::functions::catalogs::Seen;
use crate::types::{Cell, PgType, Style};
use crate::view::View;

/// The settings that values depend on, of a session.
pub fn settings(view: &View) -> Settings {
    let text = |name: &str| (view.settings)(name).unwrap_or_default();
    let mut settings = Settings { now: moment_of(view.began_us), ..Settings::default() };
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
    settings.extra_float_digits = text("extra_float_digits").parse().unwrap_or(1);
    settings
}

/// The session as kernels ask it.
pub struct Asked {
    view: View,
    began: i64,
    memory: Mutex<Memory>,
    /// The relations, once a function has asked for them.
    seen: Arc<Seen>,
    /// Functions that were called.
    functions: Mutex<HashMap<Oid, Arc<ScalarUDF>>>,
}

/// What kernels have taken of a query's memory.
#[derive(Default)]
struct Memory {
    /// The query's; none while it is planned.
    pool: Option<Arc<dyn MemoryPool>>,
    /// For the expression that is being calculated.
    now: Option<MemoryReservation>,
    /// For the last results of expressions.
    results: HashMap<usize, MemoryReservation>,
}

/// Results that are smaller are not counted: batches on their way have room set aside.
const SMALL_BYTES: usize = 256 << 10;

impl Asked {
    /// The session of a statement.
    pub fn new(view: &View) -> Asked {
        Asked {
            view: view.clone(),
            began: moment_of(SystemClock.unix_us()),
            memory: Mutex::default(),
            seen: Seen::new(view),
            functions: Mutex::default(),
        }
    }

    /// The function of the planner's library that answers a function of PostgreSQL.
    fn function(&self, proc: &Proc) -> Option<Arc<ScalarUDF>> {
        let mut functions = self.functions.lock();
        if let Some(known) = functions.get(&proc.oid) {
            return Some(Arc::clone(known));
        }
        let made = functions::of_seen(&self.seen, proc.name)?;
        functions.insert(proc.oid, Arc::clone(&made));
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
    proc.is_some_and(|proc| functions::of_session(view, proc.name).is_some())
}

fn scalar(value: &Datum<'_>) -> ScalarValue {
    match value {
        Datum::Null => ScalarValue::Utf8(None),
        Datum::Bool(v) => ScalarValue::Boolean(Some(*v)),
        Datum::Int2(v) => ScalarValue::Int16(Some(*v)),
        Datum::Int4(v) => ScalarValue::Int32(Some(*v)),
        Datum::Int8(v) => ScalarValue::Int64(Some(*v)),
        Datum::Oid(v) => ScalarValue::Int64(Some(i64::from(*v))),
        Datum::Char(v) => ScalarValue::Utf8(Some(char::from(*v).to_string())),
        Datum::Float4(v) => ScalarValue::Float32(Some(*v)),
        Datum::Float8(v) => ScalarValue::Float64(Some(*v)),
        Datum::Text(v) => ScalarValue::Utf8(Some(v.to_string())),
        Datum::Bytes(v) => ScalarValue::Binary(Some(v.to_vec())),
    }
}

impl Session for Asked {
    fn room(&self, bytes: usize) -> Result<()> {
        let mut memory = self.memory.lock();
        let Memory { pool, now, .. } = &mut *memory;
        let Some(pool) = pool else {
            // What is long is calculated while the query runs, and not kept in its plan.
            return Err(Error::new("53200", "constants of a plan are small"));
        };
        let now = now.get_or_insert_with(|| MemoryConsumer::new("functions").register(pool));
        now.try_grow(bytes).map_err(|e| of_sql(&SqlError::from(e)))?;
        self.view.scope.go_on().map_err(|e| of_sql(&e))
    }

    fn calculated(&self, expression: usize, bytes: usize) -> Result<()> {
        let mut memory = self.memory.lock();
        let Memory { pool, now, results } = &mut *memory;
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
        let proc = catalog().proc(function).ok_or_else(unserved)?;
        if let Some(value) = named::call(&self.seen, proc.name, args)? {
            return Ok(value);
        }
        let udf = self.function(proc).ok_or_else(unserved)?;
        let scalars: Vec<ScalarValue> = args.iter().map(scalar).collect();
        let types: Vec<_> = scalars.iter().map(ScalarValue::data_type).collect();
        let failed = |e: datafusion::common::DataFusionError| of_sql(&SqlError::from(e));
        let ty = udf.return_type(&types).map_err(failed)?;
        let field = |(n, ty): (usize, &datafusion::arrow::datatypes::DataType)| {
            Arc::new(Field::new(format!("a{n}"), ty.clone(), true))
        };
        let made = udf.invoke_with_args(ScalarFunctionArgs {
            args: scalars.into_iter().map(ColumnarValue::Scalar).collect(),
            arg_fields: types.iter().enumerate().map(field).collect(),
            number_rows: 1,
            return_field: Arc::new(Field::new("r", ty, true)),
            config_options: Arc::default(),
        });
        let array = made.and_then(|made| made.into_array(1)).map_err(failed)?;
        let cell = Cell::of_array(&array, 0);
        if matches!(cell, Cell::Null) {
            return Ok(Datum::Null);
        }
        let mut bytes = Vec::new();
        cell.write_text(
            PgType::of_field(&Field::new("r", array.data_type().clone(), true)),
            Style::default(),
            &mut bytes,
        );
        let text = String::from_utf8_lossy(&bytes);
        let settings = settings(&self.view);
        let mut cx = Cx { catalog: catalog(), settings: &settings, session: self };
        input(&mut cx, TypeRef::new(proc.result), &text)
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
