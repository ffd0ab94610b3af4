//! What do indexes and generated columns calculate of rows, and who calculates it?
//!
//! The engine keeps a [`Program`] per derived column and asks [`Calculated`] for values. A program is the text of an
//! expression with the columns that it names, as they were called and typed when the index was made; so it means the same
//! whatever is renamed since, and needs no catalog: functions, operators and types are PostgreSQL's own or an extension's,
//! all of them immutable, or the program carries what they are ([`carried`]). It is bound and made into nodes once, by the binder
//! and the kernels of every other expression.
//!
//! Thread safety: what was made is shared and read only.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use arrow_array::ArrayRef;
use onlap::{
    Column, Database, DerivedSchema, ErrorKind, Formulas, TableSchema, Value, convert, entries,
};
use onlap_kernels::gin::Class;
use onlap_kernels::{Datum, Session, input, output};
use onlap_pg::ast::Name;
use onlap_pg::bind::{self, NoRelations, Relation};
use onlap_pg::bound::{Bound, Expr, Literal, Part, QueryId};
use onlap_pg::catalog::{Catalog, oids};
use onlap_pg::print::{self, Called, Facts, Look, Source};
use onlap_pg::value::Settings;
use onlap_pg::{Error, Oid, Result, TypeRef};
use onlap_query::{Env, Formula};
use parking_lot::Mutex;
use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;

use crate::catalog::extensions;
use crate::columns::{self, ColumnType};
use crate::query::{Reader, domains};
use crate::types::PgType;
use crate::view::View;
use crate::{deep, parse};

pub mod carried;

use carried::{Carried, is_made};

/// PostgreSQL's catalog with all extensions: what a program names was there when it was made, and cannot go before it.
pub fn all() -> &'static Arc<Catalog> {
    static ALL: OnceLock<Arc<Catalog>> = OnceLock::new();
    ALL.get_or_init(|| Arc::new(Catalog::of_all()))
}

/// The catalog by which expressions are shown: names of extensions get their schemas where the search path has not these.
pub fn catalog_of(view: &View) -> Arc<Catalog> {
    let has_types = view.objects.made_types().of_database(&view.database).next().is_some();
    let has_functions = view.objects.functions().of_database(&view.database).next().is_some();
    match has_types || has_functions || extensions::all(view).next().is_some() {
        false => Arc::clone(all()),
        true => Arc::new(view.objects.made_types().seen_from(view)),
    }
}

/// The catalog by which the text of a program is bound that a table passes on: what the database made is found by its OID.
pub fn of_kept(view: &View) -> Arc<Catalog> {
    Carried::of_database(view).catalog()
}

/// What is calculated of each row of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The expression, as it was written.
    pub sql: String,
    /// Whether it is the condition of a partial index.
    pub filter: bool,
    /// What the table was called.
    pub table: String,
    /// The columns that it reads: ids, and names and types then.
    pub columns: Vec<(u32, String, PgType)>,
    /// Its type.
    pub ty: PgType,
    /// Whether it is written like a call, so that no parentheses stand around it.
    pub call: bool,
    /// What the index's column is called; of a generated column its name.
    pub name: String,
    /// Whether it is a generated column's: its value is assigned to the type.
    pub generated: bool,
    /// How keys are made of its value, where it is for an index of gin.
    pub gin: Option<Gin>,
    /// How its values are kept as spans, where it is for an exclusion constraint.
    pub span: Option<Spanned>,
    /// What it names that the database made.
    pub carried: Carried,
}

/// An index of gin as a program keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Gin {
    /// The operator class.
    pub class: Class,
    /// Whether the expression is a column of the table.
    pub whole: bool,
    /// What WITH says, which nothing depends on.
    pub options: Vec<(String, String)>,
}

/// A part of an exclusion constraint whose values may not overlap, as a program keeps it: they are kept as
/// [`columns::span`] makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spanned {
    /// Whether the expression is a column of the table.
    pub whole: bool,
    /// Its place among the parts as they were declared.
    pub place: usize,
}

impl Gin {
    fn body(&self) -> Json {
        let options = self.options.iter().map(|(name, value)| json!([name, value]));
        let options: Vec<Json> = options.collect();
        json!({ "class": self.class.oid(), "whole": self.whole, "options": options })
    }

    fn read(body: &Json) -> Option<Gin> {
        let option = |option: &Json| {
            Some((option[0].as_str()?.to_string(), option[1].as_str()?.to_string()))
        };
        Some(Gin {
            class: Class::of(u32::try_from(body["class"].as_u64()?).ok()?)?,
            whole: body["whole"].as_bool()?,
            options: body["options"].as_array()?.iter().map(option).collect::<Option<_>>()?,
        })
    }
}

impl Program {
    /// As it is kept.
    pub fn body(&self) -> Json {
        let column =
            |(id, name, ty): &(u32, String, PgType)| json!([id, name, ty.oid, ty.modifier]);
        let mut body = json!({
            "sql": self.sql,
            "filter": self.filter,
            "table": self.table,
            "columns": self.columns.iter().map(column).collect::<Vec<_>>(),
            "type": [self.ty.oid, self.ty.modifier],
            "call": self.call,
            "name": self.name,
        });
        if self.generated {
            body["generated"] = Json::Bool(true);
        }
        if let Some(gin) = &self.gin {
            body["gin"] = gin.body();
        }
        if let Some(span) = self.span {
            body["span"] = json!([span.whole, span.place]);
        }
        if !self.carried.is_empty() {
            body["carried"] = self.carried.body();
        }
        body
    }

    /// Reads what is kept; `None` for what no release wrote.
    pub fn read(text: &str) -> Option<Program> {
        let body: Json = serde_json::from_str(text).ok()?;
        let ty = |oid: &Json, modifier: &Json| {
            let oid = u32::try_from(oid.as_u64()?).ok()?;
            Some(PgType { oid, modifier: i32::try_from(modifier.as_i64()?).ok()? })
        };
        let column = |c: &Json| {
            let id = u32::try_from(c[0].as_u64()?).ok()?;
            Some((id, c[1].as_str()?.to_string(), ty(&c[2], &c[3])?))
        };
        Some(Program {
            sql: body["sql"].as_str()?.to_string(),
            filter: body["filter"].as_bool()?,
            table: body["table"].as_str()?.to_string(),
            columns: body["columns"].as_array()?.iter().map(column).collect::<Option<_>>()?,
            ty: ty(&body["type"][0], &body["type"][1])?,
            call: body["call"].as_bool()?,
            name: body["name"].as_str()?.to_string(),
            generated: body["generated"] == Json::Bool(true),
            gin: match &body["gin"] {
                Json::Null => None,
                gin => Some(Gin::read(gin)?),
            },
            span: match &body["span"] {
                Json::Null => None,
                span => Some(Spanned {
                    whole: span[0].as_bool()?,
                    place: usize::try_from(span[1].as_u64()?).ok()?,
                }),
            },
            carried: match &body["carried"] {
                Json::Null => Carried::default(),
                carried => Carried::read(carried)?,
            },
        })
    }

    /// The relation that it is bound to.
    fn relation(&self, catalog: &Catalog) -> Relation {
        let column = |(_, name, ty): &(u32, String, PgType)| bind::Column {
            name: name.as_str().into(),
            ty: TypeRef { oid: ty.oid, modifier: ty.modifier },
            collation: catalog.collation(ty.oid),
            dropped: false,
        };
        Relation {
            oid: 1,
            row: 0,
            name: self.table.as_str().into(),
            kind: b'r',
            columns: self.columns.iter().map(column).collect(),
            key: Vec::new(),
        }
    }
}

impl Program {
    /// The expression with the names that `now` gives to columns by their ids.
    ///
    /// # Errors
    /// As of [`made`].
    pub fn print(
        &self,
        now: &dyn Fn(u32) -> Option<String>,
        look: Look,
        shown: Shown<'_>,
    ) -> Result<String> {
        let own = self.carried.catalog();
        let (bound, query) = self.bind(false, &own)?;
        let columns = self.columns.iter().map(|(id, ..)| now(*id).map(|name| name.into()));
        let (table, columns) = (self.table.as_str().into(), columns.collect());
        let knows =
            |oid| shown.catalog.get_type(oid).is_some() || shown.catalog.proc(oid).is_some();
        // Who does not know what is carried sees it by its OIDs.
        let catalog = if self.carried.oids().all(knows) { shown.catalog } else { &*own };
        let facts = Named {
            table,
            columns,
            reader: None,
            shows: shown.reader,
            moved: Some((&*own, catalog)),
        };
        let source = Source { bound: &bound, catalog, facts: &facts };
        print::expression(source, query, bound.query(query).targets[0].value, look)
    }

    /// As a part of an index's key.
    ///
    /// # Errors
    /// As of [`made`].
    pub fn element(
        &self,
        now: &dyn Fn(u32) -> Option<String>,
        look: Look,
        shown: Shown<'_>,
    ) -> Result<String> {
        let text = self.print(now, look, shown)?;
        Ok(if self.call { text } else { format!("({text})") })
    }

    /// `assigned`: a generated column's expression with the conversion to the column's type.
    fn bind(&self, assigned: bool, catalog: &Catalog) -> Result<(Bound, QueryId)> {
        let (tree, value) = domains::expression(&format!("({})", self.sql))?;
        if self.generated {
            let ty = TypeRef { oid: self.ty.oid, modifier: self.ty.modifier };
            let wanted = assigned.then_some((&*self.name, ty));
            return bind::of_column(
                &tree,
                value,
                wanted,
                &self.relation(catalog),
                &NoRelations,
                catalog,
            );
        }
        bind::of_index(&tree, value, self.filter, &self.relation(catalog), &NoRelations, catalog)
    }
}

/// The only target of a query, printed by a catalog.
///
/// # Errors
/// Literals that are none of their types.
pub fn printed(
    (bound, query): (&Bound, QueryId),
    catalog: &Catalog,
    facts: &Named<'_>,
    look: Look,
) -> Result<String> {
    let source = Source { bound, catalog, facts };
    print::expression(source, query, bound.query(query).targets[0].value, look)
}

/// To whom a program is shown.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    /// Types, operators and functions, as the search path shows them.
    pub catalog: &'a Catalog,
    /// What prints literals as the session has it; without it they are as all sessions read them.
    pub reader: Option<&'a Reader>,
}

impl<'a> Shown<'a> {
    /// To all sessions.
    pub fn to_all(catalog: &'a Catalog) -> Shown<'a> {
        Shown { catalog, reader: None }
    }
}

/// Names of a table's columns.
pub struct Named<'a> {
    /// The table's.
    pub table: Name,
    /// Theirs.
    pub columns: Vec<Option<Name>>,
    /// What reads literals as the session that writes them does; without it they are read as a program's are.
    pub reader: Option<&'a Reader>,
    /// What prints literals of a program as the session has it.
    pub shows: Option<&'a Reader>,
    /// The catalog that literals of made types were bound by, and the one that they are printed by, where these are two.
    pub moved: Option<(&'a Catalog, &'a Catalog)>,
}

impl Facts for Named<'_> {
    fn relation(&self, _: Oid) -> Result<Option<Called>> {
        Ok(Some(Called {
            schema: "".into(),
            name: self.table.clone(),
            visible: true,
            columns: self.columns.clone(),
        }))
    }
    fn composite(&self, _: Oid) -> Option<Vec<Name>> {
        None
    }
    fn shown(&self, ty: TypeRef, text: &str) -> Result<String> {
        let of = PgType { oid: ty.oid, modifier: ty.modifier };
        if let Some(both) = self.moved.filter(|_| is_made(ty.oid)) {
            return carried::moved(both, ty, text);
        }
        if let Some(Ok(fixed)) = self.reader.map(|reader| reader.fixed_text(of, text)) {
            return Ok(fixed);
        }
        if let Some(Ok(shown)) = self.shows.map(|reader| reader.shown_of_fixed(of, text)) {
            return Ok(shown);
        }
        let env = env()?;
        let read = if ty.oid == oids::INTERVAL { ty } else { TypeRef::new(ty.oid) };
        let value = input(&mut env.cx(), read, text)?;
        let mut shown = String::new();
        output(&mut env.cx(), ty.oid, &value, &mut shown)?;
        Ok(shown)
    }
    fn room(&self, bytes: usize) -> Result<()> {
        Alone.room(bytes)
    }
}

/// A program that is bound and made.
pub struct Made {
    /// Its tree: the only target of a query over its columns.
    pub tree: Arc<(Bound, QueryId)>,
    formula: Formula,
    inputs: Vec<ColumnType>,
    catalog: Arc<Catalog>,
    env: Arc<Env>,
    has_labels: bool,
    /// The functions of the database that it calls, and those that these call.
    pub functions: Vec<Oid>,
    /// How its values are kept.
    pub ty: ColumnType,
    /// How keys are made of them, where these are what is kept.
    pub class: Option<Class>,
    /// Whether spans are made of them.
    pub spans: bool,
}

impl Made {
    /// Its tree with the labels of enums as a catalog has them, for comparisons with what a statement says.
    ///
    /// # Errors
    /// A type or label is not there any more.
    pub fn tree_now(&self, now: &Catalog) -> Result<Arc<(Bound, QueryId)>> {
        if !self.has_labels {
            return Ok(Arc::clone(&self.tree));
        }
        let (mut bound, query) = (*self.tree).clone();
        bound.change_texts(&mut |ty, text| match is_made(ty.oid) {
            true => carried::moved((&self.catalog, now), ty, text).map(|text| Some(text.into())),
            false => Ok(None),
        })?;
        Ok(Arc::new((bound, query)))
    }
}

/// Programs that are kept made. One more begins anew: a database has few.
const KNOWN: usize = 512;

/// A kept program, made.
///
/// # Errors
/// `XX001`: no release wrote it.
pub fn made(program: &str) -> Result<Arc<Made>> {
    static ALL: OnceLock<Mutex<HashMap<String, Arc<Made>>>> = OnceLock::new();
    let all = ALL.get_or_init(Mutex::default);
    if let Some(known) = all.lock().get(program) {
        return Ok(Arc::clone(known));
    }
    let read = Program::read(program)
        .ok_or_else(|| Error::new("XX001", "what a table calculates cannot be read"))?;
    let depth = parse::depth_of(&read.sql);
    depth.check().map_err(|e| Error::new("54001", e.message().to_string()))?;
    let made = Arc::new(deep::run(depth, || make(&read))?);
    let mut all = all.lock();
    if all.len() >= KNOWN {
        all.clear();
    }
    all.insert(program.to_string(), Arc::clone(&made));
    Ok(made)
}

/// Whether a program may call functions of its database, by its text alone.
pub fn carries(program: &str) -> bool {
    // Within texts of JSON, quotes have a backslash before them.
    program.contains("\"carried\":")
}

/// Binds a program and makes what calculates it.
///
/// # Errors
/// What may not stand in an index; `0A000` for what has no kernel.
fn make(program: &Program) -> Result<Made> {
    let catalog = program.carried.catalog();
    let (bound, query) = program.bind(true, &catalog)?;
    let env = program.carried.env(&catalog)?;
    let formula = Formula::new(&bound, query, &env)?;
    let known = |ty: PgType| {
        let found = ColumnType::of(&catalog, ty);
        found.ok_or_else(|| Error::new("XX001", format!("a type that is not there: {}", ty.oid)))
    };
    let inputs = program.columns.iter().map(|(_, _, ty)| known(*ty)).collect::<Result<_>>()?;
    let class = program.gin.as_ref().map(|gin| gin.class);
    let (ty, mut has_labels) = (known(program.ty)?, false);
    bound.visit_part(Part::Query(query), 0, &mut |id, _| {
        let is_text = matches!(bound.expr(id), Expr::Literal(Literal::Text(_)));
        has_labels |= is_text && is_made(bound.ty(id).oid);
        true
    });
    let tree = Arc::new((bound, query));
    let functions = program.carried.functions.iter().map(|of| of.oid).collect();
    let spans = program.span.is_some();
    Ok(Made { tree, formula, inputs, catalog, env, has_labels, functions, ty, class, spans })
}

/// The domains of which a kept program makes values that are no constants: their conditions are never asked.
///
/// # Errors
/// `XX001`: no release wrote it.
pub fn unasked(kept: &str) -> Result<Vec<Oid>> {
    let program = program(kept)?;
    if program.carried.is_empty() {
        return Ok(Vec::new());
    }
    let made = made(kept)?;
    let mut found = carried::made_domains(&made.tree.0, made.tree.1);
    found.extend(program.carried.made_domains(&made.catalog)?);
    Ok(found)
}

/// What all programs share. They ask nothing of a session, and no query runs in them.
///
/// # Errors
/// `58000`: there is no runtime.
pub fn env() -> Result<&'static Arc<Env>> {
    static ENV: OnceLock<Result<Arc<Env>>> = OnceLock::new();
    ENV.get_or_init(|| env_with(all(), Arc::new(Alone))).as_ref().map_err(Clone::clone)
}

/// The same with types and functions of another catalog.
///
/// # Errors
/// `58000`: there is no runtime.
pub fn env_of(catalog: &Arc<Catalog>) -> Result<Arc<Env>> {
    env_with(catalog, Arc::new(carried::Bodies::default()))
}

fn env_with(catalog: &Arc<Catalog>, session: Arc<dyn Session>) -> Result<Arc<Env>> {
    static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
    let runtime =
        RUNTIME.get_or_init(|| tokio::runtime::Builder::new_current_thread().build().ok());
    let Some(runtime) = runtime else {
        return Err(Error::new("58000", "no runtime for expressions of indexes"));
    };
    Ok(Arc::new(Env {
        catalog: Arc::clone(catalog),
        settings: Settings::default(),
        session,
        params: Vec::new(),
        handle: runtime.handle().clone(),
        context: Mutex::new(None),
        sets: Default::default(),
    }))
}

/// What a value calculated for an index may take on its way: keys are short, and rows have 16 MiB.
const VALUE_BYTES: usize = 256 << 20;

/// Whether there is room for a value on its way.
///
/// # Errors
/// `53200`
pub fn room(bytes: usize) -> Result<()> {
    if bytes <= VALUE_BYTES {
        return Ok(());
    }
    let detail = format!("Failed on request of size {bytes} for a column.");
    Err(Error { detail: Some(detail), ..Error::new("53200", "out of memory") })
}

/// No session.
struct Alone;

impl Session for Alone {
    fn room(&self, bytes: usize) -> Result<()> {
        room(bytes)
    }
    fn call(&self, _: Oid, _: &[Datum<'_>]) -> Result<Datum<'static>> {
        Err(Error::unserved("asking the session is not supported in an index"))
    }
    fn keep_to(&self, _: Oid, _: &ArrayRef) -> Result<()> {
        Err(Error::unserved("domains are not supported in an index"))
    }
    fn clock(&self) -> i64 {
        0
    }
    fn statement_began(&self) -> i64 {
        0
    }
    fn random(&self) -> u64 {
        0
    }
}

/// What is calculated of a table's rows, as the engine has it.
///
/// # Errors
/// `XX001`.
pub fn program_of(derived: &DerivedSchema) -> Result<Program> {
    program(&derived.program)
}

/// The same of a kept text.
///
/// # Errors
/// `XX001`.
pub fn program(kept: &str) -> Result<Program> {
    Program::read(kept).ok_or_else(|| Error::new("XX001", "what a table calculates cannot be read"))
}

/// A program's value of a row, of which `value` gives the columns that it reads by their ids; as text, by settings.
///
/// # Errors
/// What is wrong with the values.
pub fn text_of(
    program: &str,
    value: &dyn Fn(u32) -> Option<Value>,
    settings: &Settings,
) -> crate::Result<Option<String>> {
    let failed = |e: Error| crate::query::sql_error(&e, "");
    let kept = self::program(program).map_err(failed)?;
    let made = made(program).map_err(failed)?;
    let mut arrays = Vec::with_capacity(made.inputs.len());
    for (ty, (id, name, _)) in made.inputs.iter().zip(&kept.columns) {
        let mut column = Column::new(ty.engine.physical());
        match value(*id) {
            None | Some(Value::Null) => column.push_null(),
            Some(value) => convert::push_value(ty.engine, &value, &mut column, name)?,
        }
        arrays.push(columns::decode(&made.catalog, *ty, &column)?);
    }
    let values = made.formula.values(&arrays, 1, &made.env).map_err(failed)?;
    let repr = onlap_kernels::repr(&made.catalog, made.ty.pg.oid).expect("its type has values");
    columns::print(&made.catalog, made.ty, &Datum::at(&values, repr, 0), settings)
}

/// Calculates for the engine.
struct Calculated;

impl Formulas for Calculated {
    fn calculate(
        &self,
        _: &TableSchema,
        of: onlap::Formula<'_>,
        inputs: &[Column],
        rows: usize,
    ) -> onlap::Result<Column> {
        let made = made(of.program).map_err(engine_error)?;
        let (catalog, failed) = (&*made.catalog, |e: crate::SqlError| {
            onlap::Error::new(ErrorKind::InvalidInput, e.message().to_string())
        });
        let arrays = made.inputs.iter().zip(inputs);
        let arrays = arrays.map(|(ty, column)| columns::decode(catalog, *ty, column));
        let arrays: Vec<ArrayRef> = arrays.collect::<crate::Result<_>>().map_err(failed)?;
        let env = &*made.env;
        let values = made.formula.values(&arrays, rows, env).map_err(engine_error)?;
        let repr = onlap_kernels::repr(catalog, made.ty.pg.oid).expect("its type has values");
        let mut out = Column::new(of.column.ty.physical());
        for row in 0..rows {
            let value = Datum::at(&values, repr, row);
            if value.is_null() {
                out.push_null();
                continue;
            }
            if let Some(class) = made.class {
                let keys = class.keys(made.ty.base.oid, &value, &env.cx()).map_err(engine_error)?;
                let list = match keys.is_rising() {
                    true => entries::pack_rising(keys.iter())?,
                    false => entries::pack(&mut keys.iter().collect())?,
                };
                let list = Value::Bytes(list);
                convert::push_value(of.column.ty, &list, &mut out, &of.column.name)?;
                continue;
            }
            let out_of_range = |e: crate::SqlError| {
                let e = onlap::Error::new(ErrorKind::OutOfRange, e.message().to_string());
                e.with_code("22003")
            };
            if made.spans {
                match columns::span(catalog, made.ty, &value).map_err(out_of_range)? {
                    Some(span) => {
                        let span = Value::Bytes(span);
                        convert::push_value(of.column.ty, &span, &mut out, &of.column.name)?;
                    }
                    None => out.push_null(),
                }
                continue;
            }
            let value = columns::encode(catalog, made.ty, &value).map_err(out_of_range)?;
            convert::push_value(of.column.ty, &value, &mut out, &of.column.name)?;
        }
        Ok(out)
    }
}

/// An error of an expression, as the engine hands it on.
pub fn engine_error(e: Error) -> onlap::Error {
    let kind = match e.state {
        "57014" => ErrorKind::Cancelled,
        "22012" => ErrorKind::DivisionByZero,
        _ => ErrorKind::InvalidInput,
    };
    onlap::Error::new(kind, e.message).with_code(e.state).with_detail(e.detail)
}

/// Lets a database calculate what indexes need that were made by SQL. A program that opens one and changes rows without a
/// session calls this first.
pub fn attach(db: &Database) {
    db.set_formulas(Arc::new(Calculated));
}
