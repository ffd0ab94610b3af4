//! How does a table keep values of a type that the engine does not have?
//!
//! The engine has some twenty types. A column of any other type of PostgreSQL is a column of one of those, and its true
//! type, with its modifier, is a row of the SQL catalog ([`crate::catalog::column_types`]): the engine and its files know
//! nothing of it. What is kept is the value in a form that can be read again exactly, and that, where it is *ordered*,
//! sorts as PostgreSQL sorts the type and is equal where PostgreSQL says equal. Indexes are of ordered forms alone.
//!
//! | type | kept as | form | ordered |
//! |---|---|---|---|
//! | those of the engine | themselves | | yes |
//! | varchar without a length, name | Text | the text | yes |
//! | xml | Text | the text | no |
//! | citext | Folded | the text | yes |
//! | bpchar without a length | Text | the text: blanks at its end do not count | no |
//! | oid, xid, cid, reg*, money | Int8 | the number | yes |
//! | pg_lsn | Bytea | its 8 bytes, the highest first | yes |
//! | "char" | Int2 | the byte | yes |
//! | time(p), timestamp(p), timestamptz(p) | Time, Timestamp, Timestamptz | rounded before | yes |
//! | timetz, bit, varbit | Bytea | [`ordered`] | yes |
//! | numeric(p, s) beyond the engine's | Bytea | [`ordered`] | yes |
//! | enums | Float8 | the place of the label | yes |
//! | interval | Bytea | [`ordered`]: '1 mon' and '30 days' are equal and not the same | no |
//! | arrays of what is its own key (whole numbers, texts, times, uuid, enums) | Bytea | [`arrays`] | yes |
//! | jsonb | Json | the canonical text | no |
//! | ranges and multiranges of whole numbers, dates, moments | Bytea | [`ranges`] | yes |
//! | composite types and arrays of them | Bytea | [`rows`] | no |
//! | domains | as what they are over | | as that |
//! | numrange, nummultirange, other arrays, inet, cidr, macaddr, hstore, tsvector, tsquery, point and its like | Bytea | PostgreSQL's binary form | no |
//!
//! These forms are on disk: they never change. A better one is another [`Form`], named in the catalog's row.
//!
//! Thread safety: pure functions; what is known of columns is read only.

mod arrays;
mod decode;
mod encode;
mod ordered;
mod ranges;
mod rows;
mod spans;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow_array::ArrayRef;
use onlap::{Column, DataType, TableSchema, Value, convert};
use onlap_kernels::{Cx, Datum, Repr, Session, input, output, repr};
use onlap_pg::catalog::Catalog;
use onlap_pg::value::{Settings, numeric};
use onlap_pg::{Error, Oid, TypeRef};

use crate::catalog::Objects;
use crate::error::{Result, SqlError};
use crate::types::{PgType, names, oid};

/// How values of a column are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The engine has the type.
    Own,
    /// The engine has the values, under another name.
    Named,
    /// jsonb, as its text.
    Jsonb,
    /// interval
    Interval,
    /// timetz
    TimeTz,
    /// bit, varbit
    Bits,
    /// numeric of a declared scale.
    Numeric,
    /// An array of what is its own key.
    Array(Oid),
    /// The place of an enum's label.
    Enum,
    /// A row of a composite type.
    Row,
    /// An array of such rows.
    Rows(Oid),
    /// A range whose bounds have that number of bytes.
    Range(u8),
    /// A multirange of such.
    Multirange(u8),
    /// PostgreSQL's binary form.
    Sent,
}

/// Bytes of a value that the detail of an error shows of a row, as in PostgreSQL.
const SHOWN_BYTES: usize = 64;

/// A column's type: PostgreSQL's, and the engine's that keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnType {
    /// What it is to PostgreSQL.
    pub pg: PgType,
    /// The same, below domains.
    pub base: PgType,
    /// What it is to the engine.
    pub engine: DataType,
    /// How the one is kept in the other.
    pub form: Form,
}

impl ColumnType {
    /// A type of the engine.
    pub fn own(engine: DataType) -> ColumnType {
        let pg = PgType::of_engine(engine);
        ColumnType { pg, base: pg, engine, form: Form::Own }
    }

    /// How a table keeps values of a type; `None` for a type that no column can have.
    pub fn of(catalog: &Catalog, pg: PgType) -> Option<ColumnType> {
        if let Some(engine) = pg.engine()
            && PgType::of_engine(engine) == pg
        {
            return Some(ColumnType::own(engine));
        }
        let (oid, modifier) = catalog.base(pg.oid, pg.modifier);
        if oid != pg.oid {
            let base = ColumnType::of(catalog, PgType { oid, modifier })?;
            let form = if base.is_own() { Form::Named } else { base.form };
            return Some(ColumnType { pg, form, ..base });
        }
        let (engine, form) = kept(catalog, pg)?;
        Some(ColumnType { pg, base: pg, engine, form })
    }

    /// Whether it is a domain: what is written must meet conditions, and values mean what those of the type below do.
    pub fn is_domain(self) -> bool {
        self.pg != self.base
    }

    /// The type below domains.
    pub fn below(self) -> ColumnType {
        match PgType::of_engine(self.engine) == self.base {
            true => ColumnType::own(self.engine),
            false => ColumnType { pg: self.base, ..self },
        }
    }

    /// Whether the engine has the type.
    pub fn is_own(self) -> bool {
        self.form == Form::Own
    }

    /// Whether the native tier may read and write values as the engine has them.
    pub fn is_native(self) -> bool {
        self.is_own() || self.pg.oid == oid::VARCHAR
    }

    /// Whether what the native tier compares values with is what PostgreSQL does.
    pub fn takes_conditions(self) -> bool {
        let times = [oid::TIME, oid::TIMESTAMP, oid::TIMESTAMPTZ];
        self.is_native() || times.contains(&self.pg.oid)
    }

    /// Whether the engine compares values as PostgreSQL does, with constants of its own type.
    pub fn compares_natively(self) -> bool {
        self.below().shows_natively() && self.form != Form::Jsonb
    }

    /// Whether the native tier may show values as the engine has them.
    pub fn shows_natively(self) -> bool {
        let plain = [oid::NAME, oid::OID, oid::TIME, oid::TIMESTAMP, oid::TIMESTAMPTZ];
        self.is_native()
            || self.form == Form::Jsonb && !self.is_domain()
            || self.form == Form::Named && plain.contains(&self.pg.oid)
    }

    /// Whether a text is a value of the type, or none, by itself: nothing is cut to a length or held against conditions.
    pub fn is_read_alone(self) -> bool {
        let plain = matches!(self.form, Form::Jsonb | Form::Array(_) | Form::Interval | Form::Sent);
        plain && !self.is_domain() && self.pg.modifier < 0
    }

    /// Whether settings of the session say how values are printed.
    pub fn follows_settings(self) -> bool {
        let follow = [
            oid::DATE,
            oid::TIMESTAMP,
            oid::TIMESTAMPTZ,
            oid::INTERVAL,
            oid::BYTEA,
            oid::FLOAT4,
            oid::FLOAT8,
        ];
        follow.contains(&self.base.oid)
    }

    /// Whether kept values sort and are equal as those of the type.
    pub fn is_ordered(self) -> bool {
        match self.below().form {
            Form::Own => self.engine.is_ordered(),
            Form::Named if matches!(self.base.oid, oid::BPCHAR | 142) => false,
            Form::Array(142) => false,
            Form::Named | Form::TimeTz | Form::Bits | Form::Numeric => true,
            Form::Array(_) | Form::Enum | Form::Range(_) | Form::Multirange(_) => true,
            Form::Interval | Form::Jsonb | Form::Sent | Form::Row | Form::Rows(_) => false,
        }
    }

    /// Whether another type's values are kept in the same form, so that it is another name and no other value.
    pub fn is_kept_as(self, other: ColumnType) -> bool {
        self.engine == other.engine && self.form == other.form && self.pg.oid == other.pg.oid
    }

    /// Whether one of the two is a domain, and values are kept alike and mean the same below it.
    pub fn is_same_below(self, other: ColumnType) -> bool {
        let (own, below) = (self.base, other.base);
        let fits = own.modifier == below.modifier || below.modifier < 0;
        let is_kept = self.engine == other.engine && self.below().form == other.below().form;
        (self.is_domain() || other.is_domain()) && own.oid == below.oid && fits && is_kept
    }

    /// The name of the type, with its modifier.
    pub fn shown(self) -> String {
        names::format_type(self.pg)
    }

    /// The same, of types that a database made too.
    pub fn shown_in(self, catalog: &Catalog) -> String {
        catalog.shown_with(TypeRef { oid: self.pg.oid, modifier: self.pg.modifier })
    }
}

/// The engine's type for one that it does not have.
fn kept(catalog: &Catalog, pg: PgType) -> Option<(DataType, Form)> {
    let base = catalog.base_type(pg.oid);
    Some(match base {
        oid::VARCHAR if pg.modifier < 4 => (DataType::Text, Form::Named),
        // Without a length it is as long as its values, and its blanks do not count.
        // xml is its text, of which no two are compared.
        oid::NAME | oid::BPCHAR | 142 => (DataType::Text, Form::Named),
        // oid, xid, cid, regproc, the reg* of names, money
        26 | 28 | 29 | 24 | 2202..=2206 | 4096 | 4089 | 3734 | 790 => (DataType::Int8, Form::Named),
        oid::CITEXT => (DataType::Folded, Form::Named),
        // hstore, tsvector, tsquery
        oid::HSTORE | 3614 | 3615 => (DataType::Bytea, Form::Sent),
        // pg_lsn
        3220 => (DataType::Bytea, Form::Named),
        oid::CHAR => (DataType::Int2, Form::Named),
        oid::TIME => (DataType::Time, Form::Named),
        oid::TIMESTAMP => (DataType::Timestamp, Form::Named),
        oid::TIMESTAMPTZ => (DataType::Timestamptz, Form::Named),
        oid::JSONB => (DataType::Json, Form::Jsonb),
        oid::INTERVAL => (DataType::Bytea, Form::Interval),
        oid::TIMETZ => (DataType::Bytea, Form::TimeTz),
        oid::BIT | oid::VARBIT => (DataType::Bytea, Form::Bits),
        oid::NUMERIC if numeric::precision_and_scale(pg.modifier).is_some() => {
            (DataType::Bytea, Form::Numeric)
        }
        // inet, cidr, macaddr, macaddr8
        869 | 650 | 829 | 774 => (DataType::Bytea, Form::Sent),
        // point, lseg, path, box, polygon, line, circle; tid, txid_snapshot, pg_snapshot
        600..=604 | 628 | 718 | 27 | 2970 | 5038 => (DataType::Bytea, Form::Sent),
        // numrange, nummultirange
        3906 | 4532 => (DataType::Bytea, Form::Sent),
        // int4range, daterange, and what is of them
        3904 | 3912 => (DataType::Bytea, Form::Range(4)),
        4451 | 4535 => (DataType::Bytea, Form::Multirange(4)),
        // int8range, tsrange, tstzrange
        3926 | 3908 | 3910 => (DataType::Bytea, Form::Range(8)),
        4536 | 4533 | 4534 => (DataType::Bytea, Form::Multirange(8)),
        _ if catalog.is_enum(base) => (DataType::Float8, Form::Enum),
        _ if rows::is_kept(catalog, base) => (DataType::Bytea, Form::Row),
        _ => {
            let element = catalog.base_type(catalog.element(base)?);
            if rows::is_kept(catalog, element) {
                return Some((DataType::Bytea, Form::Rows(element)));
            }
            // What has no values here, and what is no element of PostgreSQL's binary form.
            repr(catalog, element).filter(|_| is_sent(catalog, element))?;
            match arrays::is_plain(catalog, element) {
                true => (DataType::Bytea, Form::Array(element)),
                false => (DataType::Bytea, Form::Sent),
            }
        }
    })
}

/// Whether values of an element's type have a binary form that can be read again.
fn is_sent(catalog: &Catalog, element: Oid) -> bool {
    use onlap_pg::catalog::Kind;
    let kind = catalog.get_type(element).map(|ty| ty.kind);
    matches!(kind, Some(Kind::Base | Kind::Enum | Kind::Range | Kind::Multirange))
        && !matches!(element, oid::RECORD | oid::ACLITEM | 194 | 2275 | 4072 | 705)
}

/// The types of a table's columns, in their order; those of its derived columns behind them.
#[derive(Clone)]
pub struct Types {
    all: Arc<[ColumnType]>,
    /// The place of a column whose type is not there any more.
    lost: Option<usize>,
    /// Collations of columns that have another than their type's, by place.
    collations: Option<Arc<[(usize, Oid)]>>,
    catalog: Arc<Catalog>,
}

impl std::fmt::Debug for Types {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.all.fmt(f)
    }
}

impl std::ops::Index<usize> for Types {
    type Output = ColumnType;
    fn index(&self, at: usize) -> &ColumnType {
        &self.all[at]
    }
}

impl Types {
    /// Of a table, as the catalog has it.
    pub fn of(objects: &Objects, schema: &TableSchema) -> Types {
        let catalog = objects.made_types().catalog();
        let noted = objects.column_types().of_table(schema.id);
        let mut lost: Option<usize> = None;
        let one = |(at, column): (usize, &onlap::ColumnSchema)| {
            let Some(pg) = noted.and_then(|noted| Some(noted.get(&column.id)?.ty)) else {
                return ColumnType::own(column.ty);
            };
            ColumnType::of(catalog, pg).unwrap_or_else(|| {
                lost = Some(at);
                // As no form that the native tier reads or writes.
                ColumnType { pg, base: pg, engine: column.ty, form: Form::Sent }
            })
        };
        let own: Vec<ColumnType> = schema.columns.iter().enumerate().map(one).collect();
        let derived = schema.derived.iter().map(|derived| {
            // It is made for each database that has it; to read it takes as long as binding a short statement.
            let made = crate::formulas::made(&derived.program).ok();
            made.map_or(ColumnType::own(derived.column.ty), |made| made.ty)
        });
        let all = own.into_iter().chain(derived).collect();
        let collations = noted.and_then(|noted| {
            let one = |(at, column): (usize, &onlap::ColumnSchema)| {
                Some((at, noted.get(&column.id)?.collation?))
            };
            let all: Vec<_> = schema.columns.iter().enumerate().filter_map(one).collect();
            (!all.is_empty()).then(|| all.into())
        });
        Types { all, lost, collations, catalog: Arc::clone(catalog) }
    }

    /// The collation of a column; 0 of a type that has none.
    pub fn collation(&self, at: usize) -> Oid {
        self.own_collation(at).unwrap_or_else(|| self.catalog.collation(self.all[at].pg.oid))
    }

    /// The same, where it is not its type's.
    pub fn own_collation(&self, at: usize) -> Option<Oid> {
        let known = self.collations.as_deref()?;
        known.iter().find(|(place, _)| *place == at).map(|(_, collation)| *collation)
    }

    /// Fails where a column's type is not there: its values mean nothing then. Who reads or writes them asks first.
    ///
    /// # Errors
    /// `XX001`.
    pub fn must_be_known(&self, schema: &TableSchema) -> Result<()> {
        let Some(column) = self.lost.and_then(|at| schema.columns.get(at)) else { return Ok(()) };
        let oid = self.lost.map_or(0, |at| self.all[at].pg.oid);
        let text = format!("column \"{}\" has a type that is not there: OID {oid}", column.name);
        Err(SqlError::new("XX001", text))
    }

    /// What their types are found in.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &ColumnType> {
        self.all.iter()
    }

    /// The representation of a column's values in steps.
    pub fn repr(&self, at: usize) -> Repr {
        repr(&self.catalog, self.all[at].pg.oid).expect("a column's type has values")
    }

    /// A value of steps as the column keeps it.
    ///
    /// # Errors
    /// `22003`, `22008`: the engine's type ends before PostgreSQL's does.
    pub fn encode(&self, at: usize, value: &Datum<'_>) -> Result<Value> {
        encode::value(&self.catalog, self.all[at], value)
    }

    /// A value in a column of steps as the table's column keeps it.
    ///
    /// # Errors
    /// As [`Types::encode`].
    pub fn value_of(&self, at: usize, array: &ArrayRef, row: usize) -> Result<Value> {
        self.encode(at, &Datum::at(array, self.repr(at), row))
    }

    /// A value as the column keeps it.
    ///
    /// # Errors
    /// It does not fit.
    pub fn value_of_datum(&self, at: usize, value: &Datum<'_>) -> Result<Value> {
        self.encode(at, value)
    }

    /// A value as PostgreSQL prints it, of which the engine has printed what is kept; `None` where that is the same.
    pub fn print_kept(&self, at: usize, text: &str, settings: &Settings) -> Option<String> {
        let ty = self.all[at];
        let is_same = ty.shows_natively() && !ty.follows_settings();
        if is_same || self.lost == Some(at) {
            return None;
        }
        let value = convert::parse_text(ty.engine, text).ok()?;
        let array = self.decode_values(at, "", [&value].into_iter()).ok()?;
        let mut out = String::new();
        let value = Datum::at(&array, self.repr(at), 0);
        let mut cx = Cx { catalog: &self.catalog, settings, session: &Nothing };
        output(&mut cx, ty.pg.oid, &value, &mut out).ok()?;
        Some(out)
    }

    /// The beginning of the same, as the detail of an error shows it of a row. What the engine has printed may be cut: of a value that
    /// is kept in another form than its text, nothing is shown then.
    pub fn print_shown(&self, at: usize, text: &str, settings: &Settings) -> String {
        let ty = self.all[at];
        let printed = self.print_kept(at, text, settings);
        let text = match &printed {
            Some(printed) => printed,
            None if ty.shows_natively() || text.len() <= SHOWN_BYTES => text,
            None => return "...".into(),
        };
        match text.len() > SHOWN_BYTES {
            true => format!("{}...", &text[..text.floor_char_boundary(SHOWN_BYTES)]),
            false => text.to_owned(),
        }
    }

    /// Kept values as a column of steps.
    ///
    /// # Errors
    /// `XX001`: they are none that were written.
    pub fn decode(&self, at: usize, column: &Column) -> Result<ArrayRef> {
        decode::column(&self.catalog, self.all[at], column)
    }

    /// Kept values of one column as a column of steps.
    ///
    /// # Errors
    /// As [`Types::decode`]; values that the engine's column does not take.
    pub fn decode_values<'v>(
        &self,
        at: usize,
        name: &str,
        values: impl Iterator<Item = &'v Value>,
    ) -> Result<ArrayRef> {
        let engine = self.all[at].engine;
        let mut column = Column::new(engine.physical());
        for value in values {
            convert::push_value(engine, value, &mut column, name)?;
        }
        self.decode(at, &column)
    }
}

/// A value of steps as a column of a type keeps it.
///
/// # Errors
/// As [`Types::encode`].
pub fn encode(catalog: &Catalog, ty: ColumnType, value: &Datum<'_>) -> Result<Value> {
    encode::value(catalog, ty, value)
}

/// The span of a range or network that an exclusion constraint keeps ([`spans`]); `None` of the empty range.
///
/// # Errors
/// `XX000`: it is a value of another type.
pub fn span(catalog: &Catalog, ty: ColumnType, value: &Datum<'_>) -> Result<Option<Vec<u8>>> {
    encode::span(catalog, ty, value)
}

/// The text of a value, read with the types of one catalog, as another writes it.
///
/// # Errors
/// It is no value of the type.
pub fn rewritten(from: &Catalog, to: &Catalog, oid: Oid, text: &str) -> Result<String> {
    let value = with_cx(from, |cx| input(cx, TypeRef::new(oid), text))?;
    let mut out = String::new();
    with_cx(to, |cx| output(cx, oid, &value, &mut out))?;
    Ok(out)
}

/// The value of a text that is kept in the catalog.
///
/// # Errors
/// It is no value of the type.
pub fn read_kept(catalog: &Catalog, ty: TypeRef, text: &str) -> Result<Datum<'static>> {
    with_cx(catalog, |cx| input(cx, TypeRef::new(ty.oid), text))
}

/// A value as a text of the catalog.
///
/// # Errors
/// It has none.
pub fn print_kept(catalog: &Catalog, ty: TypeRef, value: &Datum<'_>) -> Result<String> {
    let mut out = String::new();
    with_cx(catalog, |cx| output(cx, ty.oid, value, &mut out))?;
    Ok(out)
}

/// A value as PostgreSQL prints it by settings; `None` for NULL.
///
/// # Errors
/// `XX001`.
pub fn print(
    catalog: &Catalog,
    ty: ColumnType,
    value: &Datum<'_>,
    settings: &Settings,
) -> Result<Option<String>> {
    if value.is_null() {
        return Ok(None);
    }
    let mut out = String::new();
    let mut cx = Cx { catalog, settings, session: &Nothing };
    output(&mut cx, ty.pg.oid, value, &mut out).map_err(|e| crate::query::sql_error(&e, ""))?;
    Ok(Some(out))
}

/// What forms that are on disk are read and written with: nothing of a session has a part in them.
fn with_cx<T>(
    catalog: &Catalog,
    run: impl FnOnce(&mut Cx<'_>) -> onlap_pg::Result<T>,
) -> Result<T> {
    let settings = Settings::default();
    let mut cx = Cx { catalog, settings: &settings, session: &Nothing };
    run(&mut cx).map_err(|e| crate::query::sql_error(&e, ""))
}

/// No session.
struct Nothing;

impl Session for Nothing {
    fn room(&self, _: usize) -> onlap_pg::Result<()> {
        // There is room for what is in proportion to what was read.
        Ok(())
    }
    fn call(&self, _: Oid, _: &[Datum<'_>]) -> onlap_pg::Result<Datum<'static>> {
        Err(Error::unserved("asking the session is not supported here"))
    }
    fn keep_to(&self, _: Oid, _: &ArrayRef) -> onlap_pg::Result<()> {
        // What is kept met all conditions when it was written.
        Ok(())
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

/// Kept values of a type as a column of steps.
///
/// # Errors
/// As [`Types::decode`].
pub fn decode(catalog: &Catalog, ty: ColumnType, column: &Column) -> Result<ArrayRef> {
    decode::column(catalog, ty, column)
}

/// Kept bytes that no release wrote.
fn damaged(ty: ColumnType) -> SqlError {
    SqlError::new("XX001", format!("a value of type {} cannot be read", ty.shown()))
}
