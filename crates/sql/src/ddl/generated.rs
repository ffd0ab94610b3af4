//! Which columns follow from others of their row?
//!
//! GENERATED ALWAYS AS … STORED: the expression is bound to the table's columns by PostgreSQL's rules, and kept with the
//! engine's description of the table as a [`Program`] of the columns that it reads. The engine calculates it where rows come
//! in, whatever way they take; nothing else writes such a column.

use onlap::{ColumnId, GeneratedSpec, Row, Table, TableSchema, Value};
use onlap_pg::ast::{ColumnRule, NewColumn, Said};
use onlap_pg::bind::{self, Relation};
use onlap_pg::bound::{Bound, Expr, QueryId};
use onlap_pg::catalog::Catalog;
use onlap_pg::print::Look;
use onlap_pg::{TypeRef, ast};

use super::carried::Carrier;
use super::columns::Declared;
use super::index_parts::{PROGRAM_BYTES, failed, is_immutable, is_passing};
use super::types::type_of_column;
use crate::columns::{ColumnType, Types};
use crate::deep;
use crate::error::{Result, SqlError, state};
use crate::formulas::{self, Program, Shown};
use crate::parse;
use crate::query::{Names, domains, sql_error};
use crate::source::Source;
use crate::view::View;

/// The expression of a column.
#[derive(Clone, Debug)]
pub enum Generation<'a> {
    /// As the statement says it.
    Said(&'a Said),
    /// As another table has it, with the names of columns.
    Of(String),
}

/// A column that expressions may name.
struct Known {
    id: ColumnId,
    name: String,
    ty: ColumnType,
    generated: bool,
}

/// A table whose columns are known.
pub struct Generating<'a> {
    view: &'a View,
    source: Source<'a>,
    table: String,
    columns: Vec<Known>,
    /// Whether errors say where in the text they are.
    shows: bool,
}

impl<'a> Generating<'a> {
    /// A new table of these columns.
    pub fn new(
        view: &'a View,
        source: Source<'a>,
        table: &str,
        columns: &[Declared<'_>],
    ) -> Generating<'a> {
        let known = |(at, column): (usize, &Declared<'_>)| Known {
            id: ColumnId(at as u32),
            name: column.name.clone(),
            ty: column.ty,
            generated: column.generated.is_some(),
        };
        let columns = columns.iter().enumerate().map(known).collect();
        Generating { view, source, table: table.to_string(), columns, shows: true }
    }

    /// A table that is there, and a column that it gets.
    pub fn added(
        view: &'a View,
        source: Source<'a>,
        table: &str,
        (schema, types): (&TableSchema, &Types),
        column: &Declared<'_>,
    ) -> Generating<'a> {
        let known = |at: usize| Known {
            id: schema.columns[at].id,
            name: schema.columns[at].name.clone(),
            ty: types[at],
            generated: schema.is_generated(at),
        };
        let mut columns: Vec<Known> = (0..schema.columns.len()).map(known).collect();
        // Nothing reads the new one, so its number does not matter.
        let (id, name, ty) = (ColumnId(u32::MAX), column.name.clone(), column.ty);
        columns.push(Known { id, name, ty, generated: true });
        Generating { view, source, table: table.to_string(), columns, shows: false }
    }

    /// How a column is generated, if it is.
    ///
    /// # Errors
    /// What may not stand there, or does not always give the same.
    pub fn spec(&self, column: &Declared<'_>) -> Result<Option<GeneratedSpec>> {
        let made = match &column.generated {
            None => return Ok(None),
            Some(Generation::Said(said)) => {
                let located = Located { text: self.source.text, shows: self.shows };
                let names = Names::new(self.view);
                self.made(
                    column,
                    (self.source.tree, said.expr),
                    (&names, names.catalog()),
                    &located,
                )?
            }
            Some(Generation::Of(sql)) => {
                let depth = parse::depth_of(sql);
                depth.check()?;
                let make = || {
                    let parsed = domains::expression(&format!("({sql})"));
                    let (tree, expr) = parsed.map_err(failed)?;
                    let located = Located { text: "", shows: false };
                    let catalog = formulas::of_kept(self.view);
                    self.made(column, (&tree, expr), (&Names::new(self.view), &catalog), &located)
                };
                deep::run(depth, make)?
            }
        };
        Ok(Some(made))
    }

    /// Those of all of these columns that are.
    ///
    /// # Errors
    /// As of [`Generating::spec`].
    pub fn specs(&self, columns: &[Declared<'_>]) -> Result<Vec<GeneratedSpec>> {
        columns.iter().filter_map(|column| self.spec(column).transpose()).collect()
    }

    fn relation(&self) -> Relation {
        // What reads a domain reads the type below it, as PostgreSQL binds it too.
        let column = |known: &Known| bind::Column {
            name: known.name.as_str().into(),
            ty: TypeRef { oid: known.ty.base.oid, modifier: known.ty.base.modifier },
            collation: onlap_pg::catalog::Catalog::new().collation(known.ty.base.oid),
            dropped: false,
        };
        Relation {
            oid: 1,
            row: onlap_pg::catalog::oids::RECORD,
            name: self.table.as_str().into(),
            kind: b'r',
            columns: self.columns.iter().map(column).collect(),
            key: Vec::new(),
        }
    }

    fn made(
        &self,
        column: &Declared<'_>,
        (tree, expr): (&ast::Tree, ast::ExprId),
        (names, catalog): (&Names<'_>, &Catalog),
        located: &Located<'_>,
    ) -> Result<GeneratedSpec> {
        let (name, pg) = (&column.name, column.ty.pg);
        if column.ty.is_domain() {
            return Err(SqlError::unsupported("a generated column of a domain"));
        }
        let relation = self.relation();
        let bind = |wanted| {
            bind::of_column(tree, expr, wanted, &relation, names, catalog)
                .map_err(|e| located.error(sql_error(&e, located.text)))
        };
        let (written, query) = bind(None)?;
        self.judge(&written, query, catalog, located)?;
        let ty = TypeRef { oid: pg.oid, modifier: pg.modifier };
        let (assigned, whole) = bind(Some((name, ty)))?;
        let reads = self.judge(&assigned, whole, catalog, located)?;
        let known = self.columns.iter().map(|known| Some(known.name.as_str().into())).collect();
        let carrier = Carrier::new(names, catalog, "a generation expression").with_type(pg.oid)?;
        let kept = carrier.keep((&written, query), &[], (&self.table, known), &not_immutable)?;
        let read = |at: &usize| {
            let known = &self.columns[*at];
            (known.id.0, known.name.clone(), known.ty.base)
        };
        let program = Program {
            sql: kept.sql,
            filter: false,
            table: self.table.clone(),
            columns: reads.iter().map(read).collect(),
            ty: pg,
            call: false,
            name: name.clone(),
            generated: true,
            gin: None,
            span: None,
            carried: kept.carried,
        };
        let text = program.body().to_string();
        if text.len() > PROGRAM_BYTES {
            let text = format!("generation expressions have at most {PROGRAM_BYTES} bytes");
            return Err(SqlError::new("54000", text));
        }
        // What has no kernel is refused now.
        formulas::made(&text).map_err(failed)?;
        let reads = reads.iter().map(|at| self.columns[*at].name.clone()).collect();
        Ok(GeneratedSpec { column: name.clone(), reads, program: text })
    }

    /// The places of the columns that an expression reads, if it may stand there.
    fn judge(
        &self,
        bound: &Bound,
        query: QueryId,
        catalog: &onlap_pg::catalog::Catalog,
        located: &Located<'_>,
    ) -> Result<Vec<usize>> {
        let root = bound.query(query).targets[0].value;
        let (mut reads, mut wrong, mut changes) = (Vec::new(), None, None);
        bound.visit(root, 0, &mut |id, _| {
            let of = bound.ty(id);
            let found = match bound.expr(id) {
                Expr::Var { column, .. } => {
                    let found = self.refuse(*column);
                    if let (None, Ok(at)) = (&found, usize::try_from(*column - 1))
                        && !reads.contains(&at)
                    {
                        reads.push(at);
                    }
                    found.map(|e| match bound.place(id) {
                        Some(place) => located.at(e, place),
                        None => e,
                    })
                }
                Expr::Param(number) => {
                    Some(SqlError::new("42P02", format!("there is no parameter ${number}")))
                }
                Expr::Literal(literal) if is_passing(of, literal) => {
                    changes = Some("a moment of the execution in a generated column");
                    None
                }
                expr if !is_immutable(catalog, bound, expr, of) => {
                    changes = Some("");
                    None
                }
                _ => None,
            };
            wrong = wrong.take().or(found);
            wrong.is_none()
        });
        reads.sort_unstable();
        match (wrong, changes) {
            (Some(e), _) => Err(e),
            (None, Some("")) => Err(not_immutable()),
            (None, Some(what)) => Err(SqlError::unsupported(what)),
            (None, None) => Ok(reads),
        }
    }

    /// Why a column may not be read.
    fn refuse(&self, column: i32) -> Option<SqlError> {
        let text = |what: &str| format!("cannot use {what} in column generation expression");
        match usize::try_from(column - 1) {
            Ok(at) => {
                let known = self.columns.get(at).filter(|known| known.generated)?;
                let detail = "A generated column cannot reference another generated column.";
                let text = text(&format!("generated column \"{}\"", known.name));
                Some(SqlError::new("42P17", text).detail(detail))
            }
            Err(_) if column == 0 => {
                let detail = "This would cause the generated column to depend on its own value.";
                Some(SqlError::new("42P17", text("whole-row variable")).detail(detail))
            }
            Err(_) => match bind::system_column(column) {
                Some("tableoid") => {
                    Some(SqlError::unsupported("tableoid in a generation expression"))
                }
                name => {
                    let text = text(&format!("system column \"{}\"", name.unwrap_or_default()));
                    Some(SqlError::new("42P10", text))
                }
            },
        }
    }
}

fn not_immutable() -> SqlError {
    SqlError::new("42P17", "generation expression is not immutable")
}

/// Where errors of an expression are shown.
struct Located<'a> {
    text: &'a str,
    shows: bool,
}

impl Located<'_> {
    fn error(&self, e: SqlError) -> SqlError {
        if self.shows { e } else { e.nowhere() }
    }

    fn at(&self, e: SqlError, place: u32) -> SqlError {
        match self.text.get(..place as usize).filter(|_| self.shows) {
            Some(before) => e.at(before.chars().count() + 1),
            None => e,
        }
    }
}

/// What else may not be said of a column that is generated.
///
/// # Errors
/// `42601`.
pub fn check_rules(view: &View, source: Source<'_>, table: &str, column: &NewColumn) -> Result<()> {
    let is_generated = |rule: &&ast::NamedRule| matches!(rule.rule, ColumnRule::Generated(_));
    if !column.rules.iter().any(|rule| is_generated(&rule)) {
        return Ok(());
    }
    let fail = |what: &str| {
        let text = format!("{what} specified for column \"{}\" of table \"{table}\"", column.name);
        Err(SqlError::new(state::SYNTAX, text))
    };
    let both = |what: &str| fail(&format!("both {what} and generation expression"));
    let serial = match &column.ty {
        Some(ty) => type_of_column(view, source, (&column.name, ty))?.1,
        None => false,
    };
    if serial {
        return both("default");
    }
    let (mut default, mut identity, mut generated) = (false, false, false);
    for named in &column.rules {
        match &named.rule {
            ColumnRule::Default(_) => default = true,
            ColumnRule::Identity(..) => identity = true,
            ColumnRule::Generated(_) if generated => {
                return fail("multiple generation clauses").map_err(|e| source.at(e, named.place));
            }
            ColumnRule::Generated(_) => generated = true,
            _ => {}
        }
        let found = match generated {
            true if default => both("default"),
            true if identity => both("identity"),
            _ => Ok(()),
        };
        found.map_err(|e| source.at(e, named.place))?;
    }
    Ok(())
}

/// How a column is generated that a table has, in the names of now.
///
/// # Errors
/// `XX001`: no release wrote it.
pub fn expression(schema: &TableSchema, column: ColumnId, look: Look) -> Result<Option<String>> {
    by(schema, column, look, formulas::all())
}

/// The same as a view shows it.
///
/// # Errors
/// `XX001`
pub fn shown(view: &View, schema: &TableSchema, column: ColumnId) -> Result<Option<String>> {
    match schema.generated(column) {
        None => Ok(None),
        Some(_) => by(schema, column, Look::PLAIN, &formulas::catalog_of(view)),
    }
}

fn by(
    schema: &TableSchema,
    column: ColumnId,
    look: Look,
    catalog: &Catalog,
) -> Result<Option<String>> {
    let Some(generated) = schema.generated(column) else { return Ok(None) };
    let now = |id: u32| {
        let column = schema.columns.iter().find(|column| column.id.0 == id);
        column.map(|column| column.name.clone())
    };
    let program = formulas::program(&generated.program).map_err(failed)?;
    program.print(&now, look, Shown::to_all(catalog)).map(Some).map_err(failed)
}

/// The same for a table that gets the column, too.
///
/// # Errors
/// `XX001`.
pub fn passed_on(schema: &TableSchema, column: ColumnId) -> Result<Option<Generation<'static>>> {
    Ok(expression(schema, column, Look::PLAIN)?.map(Generation::Of))
}

/// Calculates the generated columns of rows that are about to be written, for who asks what they will be.
///
/// # Errors
/// Values that cannot be calculated with.
pub fn fill(view: &View, table: &Table, rows: &mut [Row]) -> Result<()> {
    if table.schema().generated.is_empty() {
        return Ok(());
    }
    Ok(view.scope.tx()?.generate(table, rows)?)
}

/// Takes the generated columns of a row away, as triggers see it that come before they are calculated.
pub fn hide(schema: &TableSchema, row: Option<&mut Row>) {
    let Some(row) = row.filter(|_| !schema.generated.is_empty()) else { return };
    for (at, value) in row.iter_mut().enumerate() {
        if schema.is_generated(at) {
            *value = Value::Null;
        }
    }
}

/// The columns that change where some are set: those that are generated from them, too; `any`: triggers may set others as well.
pub fn with_generated(schema: &TableSchema, mut set: Vec<String>, any: bool) -> Vec<String> {
    let name = |id| schema.position(id).map(|at| &schema.columns[at].name);
    for of in &schema.generated {
        let reads = |set: &[String]| {
            of.reads.iter().filter_map(|id| name(*id)).any(|read| set.contains(read))
        };
        let changes = any || reads(&set);
        if let Some(name) = name(of.column).filter(|name| changes && !set.contains(name)) {
            set.push(name.clone());
        }
    }
    set
}

/// A value is given for a column that has none but its own.
pub fn given(column: &str, inserted: bool) -> SqlError {
    let text = match inserted {
        true => format!("cannot insert a non-DEFAULT value into column \"{column}\""),
        false => format!("column \"{column}\" can only be updated to DEFAULT"),
    };
    SqlError::new("428C9", text).detail(format!("Column \"{column}\" is a generated column."))
}
