//! What does a column's declaration ask for?
//!
//! Type, default and constraints, as parts of a table's description. Names are given by the table, which
//! knows all of them.

use onlap::{DataType, Value};
use onlap_pg::ast::{
    ColumnRule, Expr, ExprId, Judged, Literal, NewColumn, Path, Said, SequenceOption, Span,
    TypeName, When,
};
use onlap_pg::bind::{self, is_system_column};
use onlap_pg::bound::collation_named;
use onlap_pg::catalog::Catalog;
use onlap_pg::{Oid, TypeRef};

use super::generated::Generation;
use super::sequence;
use super::types::{column_type, type_of_column};
use crate::assign::assign;
use crate::catalog::extensions;
use crate::catalog::frozen::{self, Edit};
use crate::catalog::names::quote;
use crate::columns::{ColumnType, Form};
use crate::deep::Depth;
use crate::error::{Result, SqlError, state};
use crate::parse::identifiers;
use crate::query::{Names, Reader, domains, sql_error};
use crate::source::{Source, strings};
use crate::types::{Cell, PgType, oid, text_value};
use crate::view::View;

/// What an insert that leaves a column out gets.
#[derive(Clone, Debug, Default)]
pub enum Default {
    /// NULL.
    #[default]
    None,
    /// This value, and what was written where the value alone does not say that: `7.25` of a numeric(5,1).
    Constant(Value, Option<String>),
    /// The next value of a sequence that is there, by the engine's name.
    Sequence(String),
    /// What an expression gives.
    Computed(String),
}

/// A sequence that comes with a column.
#[derive(Clone, Debug)]
pub struct OwnSequence {
    /// Its options.
    pub options: sequence::Options,
    /// Of an identity column; whether a value of the caller's is refused.
    pub identity: Option<bool>,
}

/// A constraint that is declared with a column.
#[derive(Debug)]
pub struct Rule<'a> {
    /// The name that was given to it.
    pub name: Option<String>,
    /// What it says.
    pub rule: &'a ColumnRule,
    /// When it is judged.
    pub judged: Judged,
    /// Where it stands.
    pub place: u32,
}

/// A column's declaration.
#[derive(Debug)]
pub struct Declared<'a> {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: ColumnType,
    /// Its collation, where that is not its type's.
    pub collation: Option<Oid>,
    /// Refuses NULL.
    pub not_null: bool,
    /// Its default.
    pub default: Default,
    /// Its sequence.
    pub sequence: Option<OwnSequence>,
    /// How it is generated.
    pub generated: Option<Generation<'a>>,
    /// Constraints that come with it.
    pub constraints: Vec<Rule<'a>>,
}

impl Declared<'_> {
    /// A column of a type, of which nothing else is said.
    pub fn plain(name: String, ty: ColumnType) -> Declared<'static> {
        let (default, constraints) = (Default::None, Vec::new());
        let (collation, not_null, sequence, generated) = (None, false, None, None);
        Declared { name, ty, collation, not_null, default, sequence, generated, constraints }
    }

    /// Whether its default is calculated when it is needed.
    pub fn has_computed_default(&self) -> bool {
        matches!(self.default, Default::Computed(_))
    }
}

/// Reads a declaration.
///
/// # Errors
/// A type or option that Onlap does not have.
pub fn declared<'a>(
    view: &View,
    source: Source<'a>,
    (table, column): (&str, &'a NewColumn),
) -> Result<Declared<'a>> {
    let Some(ty) = &column.ty else { return Err(SqlError::unsupported("a typed table")) };
    let ty = type_of_column(view, source, (&column.name, ty))?;
    declared_as(view, source, (table, column), ty)
}

/// Fails where a column is to have the name of one that every table has without saying so.
///
/// # Errors
/// `42701`
pub fn must_be_free(name: &str) -> Result<()> {
    if !is_system_column(name) {
        return Ok(());
    }
    let text = format!("column name \"{name}\" conflicts with a system column name");
    Err(SqlError::new("42701", text))
}

/// Reads the declaration of a column whose type is known; the flag is set where a sequence fills it.
///
/// # Errors
/// An option that Onlap does not have.
pub fn declared_as<'a>(
    view: &View,
    source: Source<'a>,
    (table, column): (&str, &'a NewColumn),
    (ty, serial): (ColumnType, bool),
) -> Result<Declared<'a>> {
    must_be_free(&column.name)?;
    let mut out = Declared::plain(column.name.to_string(), ty);
    let mut collated = false;
    out.not_null = serial;
    if serial {
        let options = sequence::Options::of_type(ty.engine);
        out.sequence = Some(OwnSequence { options, identity: None });
    }
    let mut said = Nulls::default();
    for named in &column.rules {
        let name = named.name.as_ref().map(|name| name.to_string());
        match &named.rule {
            ColumnRule::Null | ColumnRule::NotNull => {
                let not = matches!(named.rule, ColumnRule::NotNull);
                let told = said.null((table, &out.name), not);
                told.map_err(|e| source.at(e, named.place))?;
                out.not_null |= not;
            }
            ColumnRule::Default(said) => {
                if matches!(&out.sequence, Some(OwnSequence { identity: Some(_), .. })) {
                    let place = if serial { None } else { Some(named.place) };
                    return Err(both_said(source, (table, &out.name), place));
                }
                if out.sequence.is_some() || !matches!(out.default, Default::None) {
                    let text =
                        format!("multiple default values specified for column \"{}\"", out.name);
                    return Err(SqlError::new(state::SYNTAX, text));
                }
                out.default = default_of(view, source, said, (&column.name, ty))?;
            }
            ColumnRule::Generated(said) => out.generated = Some(Generation::Said(said)),
            ColumnRule::Identity(always, options) => {
                let options = identity(source, (table, &out), (ty, options), named.place)?;
                out.sequence = Some(OwnSequence { options, identity: Some(*always) });
                out.not_null = true;
            }
            ColumnRule::Collate(name) => {
                only_once(source, named.place, &mut collated)?;
                let made = collation(view.objects.made_types().catalog(), name, ty.pg.oid);
                out.collation = made.map_err(|e| source.at(e, named.place))?;
            }
            ColumnRule::When(when) => {
                let last = out.constraints.last_mut();
                put_off(last, *when).map_err(|e| source.at(e, named.place))?;
            }
            rule => {
                let (judged, place) = (Judged::default(), named.place);
                out.constraints.push(Rule { name, rule, judged, place });
            }
        }
    }
    Ok(out)
}

/// The sequence of an identity column.
fn identity(
    source: Source<'_>,
    (table, out): (&str, &Declared<'_>),
    (ty, options): (ColumnType, &[SequenceOption]),
    place: u32,
) -> Result<sequence::Options> {
    match &out.sequence {
        Some(OwnSequence { identity: Some(_), .. }) => {
            let column = &out.name;
            let text = format!(
                "multiple identity specifications for column \"{column}\" of table \"{table}\""
            );
            return Err(source.at(SqlError::new(state::SYNTAX, text), place));
        }
        // What SERIAL stands for has no place of its own.
        Some(_) => return Err(both_said(source, (table, &out.name), None)),
        None if !matches!(out.default, Default::None) => {
            return Err(both_said(source, (table, &out.name), Some(place)));
        }
        None => {}
    }
    let mut options = sequence::Options::of(options)?;
    options.ty.get_or_insert(ty.engine);
    let whole = [DataType::Int2, DataType::Int4, DataType::Int8];
    if !ty.is_own() || !whole.contains(&ty.engine) {
        let text = "identity column type must be smallint, integer, or bigint";
        return Err(SqlError::new(state::BAD_PARAMETER, text));
    }
    Ok(options)
}

fn both_said(source: Source<'_>, (table, column): (&str, &str), place: Option<u32>) -> SqlError {
    let text =
        format!("both default and identity specified for column \"{column}\" of table \"{table}\"");
    let error = SqlError::new(state::SYNTAX, text);
    match place {
        Some(place) => source.at(error, place),
        None => error,
    }
}

/// Whether NULL or NOT NULL was said.
#[derive(Default)]
struct Nulls(Option<bool>);

impl Nulls {
    fn null(&mut self, (table, column): (&str, &str), not: bool) -> Result<()> {
        match self.0.replace(not) {
            Some(before) if before != not => {
                let text = format!(
                    "conflicting NULL/NOT NULL declarations for column \"{column}\" of table \"{table}\""
                );
                Err(SqlError::new(state::SYNTAX, text))
            }
            _ => Ok(()),
        }
    }
}

/// When the constraint before is judged.
fn put_off(last: Option<&mut Rule<'_>>, when: When) -> Result<()> {
    let word = match when {
        When::Deferrable => "DEFERRABLE",
        When::NotDeferrable => "NOT DEFERRABLE",
        When::Deferred => "INITIALLY DEFERRED",
        When::Immediate => "INITIALLY IMMEDIATE",
    };
    let fail = |text: String| Err(SqlError::new(state::SYNTAX, text));
    let of_key = |rule: &ColumnRule| {
        matches!(rule, ColumnRule::Primary(_) | ColumnRule::Unique(..) | ColumnRule::References(_))
    };
    let Some(last) = last.filter(|last| of_key(last.rule)) else {
        return fail(format!("misplaced {word} clause"));
    };
    let judged = &mut last.judged;
    let (said, new, kinds) = match when {
        When::Deferrable | When::NotDeferrable => {
            (&mut judged.deferrable, when == When::Deferrable, "DEFERRABLE/NOT DEFERRABLE")
        }
        _ => (&mut judged.deferred, when == When::Deferred, "INITIALLY IMMEDIATE/DEFERRED"),
    };
    if said.replace(new).is_some() {
        return fail(format!("multiple {kinds} clauses not allowed"));
    }
    if judged.deferrable == Some(false) && judged.deferred == Some(true) {
        return fail("constraint declared INITIALLY DEFERRED must be DEFERRABLE".into());
    }
    Ok(())
}

/// Fails where COLLATE stands there a second time.
///
/// # Errors
/// `42601`
pub fn only_once(source: Source<'_>, place: u32, collated: &mut bool) -> Result<()> {
    match std::mem::replace(collated, true) {
        true => {
            let error = SqlError::new(state::SYNTAX, "multiple COLLATE clauses not allowed");
            Err(source.at(error, place))
        }
        false => Ok(()),
    }
}

/// A collation for values of a type; `None` for that which the type has. Text is ordered by its bytes.
///
/// # Errors
/// `0A000`: another order; `42804`: the type has none.
pub fn collation(catalog: &Catalog, name: &Path, ty: u32) -> Result<Option<Oid>> {
    let Some(found) = name.last().and_then(|last| collation_named(last)) else {
        let name = name.join(".");
        return Err(SqlError::unsupported(format!("collation \"{name}\""))
            .hint("Text is ordered as by \"C\"."));
    };
    let own = catalog.collation(ty);
    if own == 0 {
        let text = format!("collations are not supported by type {}", catalog.shown(ty));
        return Err(SqlError::new("42804", text));
    }
    Ok((found != own).then_some(found))
}

/// What a DEFAULT says.
///
/// # Errors
/// A value that is none of the type; a sequence that is not there.
pub fn default_of(
    view: &View,
    source: Source<'_>,
    said: &Said,
    (name, ty): (&str, ColumnType),
) -> Result<Default> {
    let names = Names::new(view);
    let wanted = TypeRef { oid: ty.pg.oid, modifier: ty.pg.modifier };
    let bound = bind::default(source.tree, said.expr, (name, wanted), &names, names.catalog());
    let (bound, _) = bound.map_err(|e| sql_error(&e, source.text))?;
    let text = || kept(view, source, said.span, frozen::literals(view, &bound, source.text));
    // What goes into a domain must keep to its conditions, of which the engine knows nothing.
    let next = if ty.is_domain() { None } else { next_value(source, said.expr) };
    if let Some(name) = next {
        let parts: Vec<String> = identifiers(&name);
        let (_, sequence) = sequence::find(view, &parts)?;
        return Ok(Default::Sequence(sequence.name().to_string()));
    }
    if !ty.is_own() {
        return computed(view, source, said, ty, text);
    }
    Ok(match constant(view, source, said.expr, ty.engine)? {
        Some(Value::Null) => Default::None,
        Some(value) if says_all(view, source, said.expr, ty.engine) => {
            Default::Constant(value, None)
        }
        Some(value) => {
            let written = match source.tree.expr(said.expr) {
                Expr::Literal(Literal::Text(text)) => typed(view, ty, text)?,
                _ => text(),
            };
            Default::Constant(value, Some(written))
        }
        None => Default::Computed(text()),
    })
}

/// What a DEFAULT says of a column whose type the engine does not have: it is calculated, and a literal once now.
pub fn computed(
    view: &View,
    source: Source<'_>,
    said: &Said,
    ty: ColumnType,
    text: impl FnOnce() -> String,
) -> Result<Default> {
    let written = source.of(said.span);
    // A cast of a literal to the column's type says nothing new.
    let expr = match source.tree.expr(said.expr) {
        Expr::Cast(inner, to)
            if matches!(source.tree.expr(*inner), Expr::Literal(Literal::Text(_)))
                && column_type(view, source, to).is_ok_and(|(to, _)| to.pg == ty.pg) =>
        {
            *inner
        }
        _ => said.expr,
    };
    let sql = match source.tree.expr(expr) {
        Expr::Literal(Literal::Null) => return Ok(Default::None),
        Expr::Literal(Literal::Text(text)) => {
            let reader = crate::query::Reader::new(view);
            let shown =
                reader.fixed_text(ty.pg, text).map_err(|e| match source.tree.place(expr) {
                    Some(place) => source.at(e.nowhere(), place),
                    None => e,
                })?;
            let ty = extensions::written(view, PgType::new(ty.pg.oid));
            format!("'{}'::{ty}", shown.replace('\'', "''"))
        }
        Expr::Literal(_) => {
            let _ = super::defaults::columns(view, &[(ty, written)], 1)?;
            written.to_string()
        }
        _ => text(),
    };
    Ok(Default::Computed(sql))
}

/// The text of an expression as it is kept: types and functions that databases made are named with their schemas, and edits are
/// made.
pub fn kept(view: &View, source: Source<'_>, span: Span, mut edits: Vec<Edit>) -> String {
    let made = view.objects.made_types();
    let within = |ty: &&TypeName| (span.start..span.end).contains(&ty.place);
    let mut found: Vec<&TypeName> = source.tree.casts().filter(within).collect();
    found.sort_by_key(|ty| ty.place);
    found.dedup_by_key(|ty| ty.place);
    for ty in found.into_iter().filter(|ty| ty.name.len() == 1) {
        let named = made.named(view, &strings(&ty.name));
        let named = named.filter(|named| made.is_seen(view, named));
        let schema = named.map(|named| named.name.schema.clone());
        let schema = schema.or_else(|| extensions::schema_of_type(view, &ty.name[0]));
        if let Some(schema) = schema {
            edits.push((ty.place as usize, ty.place as usize, format!("{}.", quote(&schema))));
        }
    }
    let text = frozen::edited(source.text, span, edits);
    crate::catalog::called::qualified(view, &text, true)
}

/// The name in `nextval('name')`, `nextval('name'::regclass)`.
fn next_value(source: Source<'_>, expr: ExprId) -> Option<String> {
    let Expr::Call(call) = source.tree.expr(expr) else { return None };
    let is_nextval = match &call.name[..] {
        [name] => &**name == "nextval",
        [schema, name] => &**schema == "pg_catalog" && &**name == "nextval",
        _ => false,
    };
    match &call.args[..] {
        [argument] if is_nextval && argument.name.is_none() => literal(source, argument.value),
        _ => None,
    }
}

fn literal(source: Source<'_>, expr: ExprId) -> Option<String> {
    match source.tree.expr(expr) {
        Expr::Literal(Literal::Text(text)) => Some(text.to_string()),
        Expr::Cast(inner, _) => literal(source, *inner),
        _ => None,
    }
}

/// What a literal says; `None` for bits.
///
/// # Errors
/// A number that is none.
pub fn value_of(literal: &Literal) -> Result<Option<Value>> {
    Ok(Some(match literal {
        Literal::Null => Value::Null,
        Literal::Bool(flag) => Value::Bool(*flag),
        Literal::Int(n) => Value::Int(i64::from(*n)),
        Literal::Number(text) => match text.parse() {
            Ok(n) => Value::Int(n),
            Err(_) => text_value(PgType::new(oid::NUMERIC), text)?,
        },
        Literal::Text(text) => Value::Text(text.to_string()),
        Literal::Bits(_) | Literal::Hex(_) => return Ok(None),
    }))
}

/// A literal with its type, whose length is not part of it.
fn typed(view: &View, ty: ColumnType, text: &str) -> Result<String> {
    let shown = Reader::new(view).fixed_text(PgType::new(ty.pg.oid), text)?.replace('\'', "''");
    let name = match ty.engine {
        DataType::Char(_) => "bpchar".to_string(),
        _ => extensions::written(view, PgType::new(ty.pg.oid)),
    };
    Ok(format!("'{shown}'::{name}"))
}

/// Whether a constant of a column says what was written: PostgreSQL shows that, and reads it anew for another type.
fn says_all(view: &View, source: Source<'_>, expr: ExprId, ty: DataType) -> bool {
    let has_length = matches!(
        ty,
        DataType::Numeric(_) | DataType::Char(_) | DataType::Float4 | DataType::Float8
    );
    match source.tree.expr(expr) {
        Expr::Literal(Literal::Int(n)) => {
            ty == DataType::Int4 || *n >= 0 && matches!(ty, DataType::Int2 | DataType::Int8)
        }
        Expr::Literal(Literal::Text(_)) => !has_length,
        Expr::Literal(literal) => !matches!(literal, Literal::Number(_)),
        Expr::Cast(inner, to) => {
            let same = |(to, _): (ColumnType, bool)| to.is_own() && to.engine == ty;
            column_type(view, source, to).is_ok_and(same)
                && matches!(source.tree.expr(*inner), Expr::Literal(Literal::Text(_)))
                && !has_length
        }
        _ => false,
    }
}

/// The constant that a text is which was kept of a default, as a column of another type has it.
///
/// # Errors
/// It is none of the type.
pub fn constant_of(view: &View, sql: &str, ty: DataType) -> Result<Option<Value>> {
    let wrong = |e: onlap_pg::Error| sql_error(&e, "").nowhere();
    let (tree, expr) = domains::expression(&format!("({sql})")).map_err(wrong)?;
    let source = Source { tree: &tree, text: sql, written: sql, depth: Depth::default() };
    constant(view, source, expr, ty)
}

fn both_numeric(a: DataType, b: DataType) -> bool {
    matches!((a, b), (DataType::Numeric(_), DataType::Numeric(_)))
}

/// A default that is a constant.
fn constant(view: &View, source: Source<'_>, expr: ExprId, ty: DataType) -> Result<Option<Value>> {
    match source.tree.expr(expr) {
        Expr::Literal(Literal::Text(text)) => {
            let read = Reader::new(view).column_value(ColumnType::own(ty), text);
            match (read, source.tree.place(expr)) {
                // What is too long is refused when a row needs it.
                (Err(e), _) if e.state() == "22001" => Ok(None),
                (Err(e), Some(place)) => Err(source.at(e.nowhere(), place)),
                (read, _) => read.map(Some),
            }
        }
        Expr::Literal(literal) => match value_of(literal)? {
            Some(value) => assign(Cell::of_value(&value), ty).map(Some),
            None => Ok(None),
        },
        // A cast to the column's type, or to another kind of text, says nothing new.
        Expr::Cast(inner, to) => {
            let text = |ty| matches!(ty, DataType::Text | DataType::Varchar(_) | DataType::Char(_));
            match column_type(view, source, to) {
                Ok((ColumnType { engine: to, form: Form::Own, .. }, _))
                    if to == ty || text(to) && text(ty) =>
                {
                    constant(view, source, *inner, ty)
                }
                Ok((to, _)) if to.is_own() && both_numeric(to.engine, ty) => {
                    let Expr::Literal(Literal::Text(text)) = source.tree.expr(*inner) else {
                        return Ok(None);
                    };
                    let value = Reader::new(view).column_value(to, text)?;
                    assign(Cell::of_value(&value), ty).map(Some)
                }
                _ => Ok(None),
            }
        }
        _ => Ok(None),
    }
}
