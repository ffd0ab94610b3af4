//! What does a CHECK constraint say of a row?
//!
//! The condition is bound to the table's columns by PostgreSQL's rules, and kept with the engine's description of the table as a
//! [`Program`] of the columns that it reads. The engine has it calculated where rows come in, by the kernels of every other
//! expression. What does not always give the same for a row is refused.

use onlap::{CheckSchema, ColumnId, Expr as Condition, TableSchema};
use onlap_pg::ast::Said;
use onlap_pg::bind::{self, Relation};
use onlap_pg::bound::{Bound, Expr, ExprId, NullTest, QueryId};
use onlap_pg::catalog::Catalog;
use onlap_pg::print::Look;
use onlap_pg::{Oid, TypeRef};

use super::carried::Carrier;
use super::index_parts::{PROGRAM_BYTES, failed, is_immutable, is_passing};
use crate::columns::ColumnType;
use crate::error::{Result, SqlError};
use crate::formulas::{self, Program, Shown, carried::is_made};
use crate::query::{Names, sql_error};
use crate::source::Source;
use crate::types::{PgType, oid};
use crate::view::View;

/// A table whose rows a condition is about.
pub struct Checked<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its columns.
    pub columns: &'a [(String, ColumnType)],
}

/// A condition as the engine has it.
///
/// # Errors
/// What may not stand there; `42804`: it is none; `0A000`: what does not always give the same, or has no kernel.
pub fn condition(
    view: &View,
    source: Source<'_>,
    said: &Said,
    table: &Checked<'_>,
) -> Result<Condition<String>> {
    let names = Names::new(view);
    let relation = table.relation();
    let made = bind::of_table(source.tree, said.expr, &relation, &names, names.catalog());
    let (bound, query) = made.map_err(|e| sql_error(&e, source.text))?;
    let (reads, asked) = table.judge(&bound, query, names.catalog(), source)?;
    let columns = table.columns.iter().map(|(name, _)| Some(name.as_str().into())).collect();
    let kept = Carrier::new(&names, names.catalog(), "a check constraint").keep(
        (&bound, query),
        &asked,
        (&relation.name, columns),
        &|| refused("what is not immutable"),
    )?;
    let column = |(place, at): (usize, &usize)| {
        let (name, ty) = &table.columns[*at];
        // The same condition of a table above or below is the same text: places stand for ids.
        (place as u32, name.clone(), kept_as(names.catalog(), *ty))
    };
    let mut program = Program {
        sql: kept.sql,
        filter: true,
        table: String::new(),
        columns: reads.iter().enumerate().map(column).collect(),
        ty: PgType::new(oid::BOOL),
        call: false,
        name: String::new(),
        generated: false,
        gin: None,
        span: None,
        carried: kept.carried,
    };
    let name = |place: u32| reads.get(place as usize).map(|at| table.columns[*at].0.clone());
    let shown =
        |program: &Program| program.print(&name, Look::PLAIN, Shown::to_all(names.catalog())).ok();
    // The list of an IN is another once it was printed: what was written says more, where no name in it has the table's.
    let written = Program { sql: source.of(said.span).to_string(), ..program.clone() };
    // What the database made stands there by its name, which may change.
    let is_less = program.carried.is_empty() && shown(&program).as_ref() != Some(&program.sql);
    if (is_less || program.sql.len() > PROGRAM_BYTES / 2)
        && shown(&written).as_ref() == Some(&program.sql)
    {
        program = written;
    }
    let text = program.body().to_string();
    if text.len() > PROGRAM_BYTES {
        let text = format!("check constraints have at most {PROGRAM_BYTES} bytes");
        return Err(SqlError::new("54000", text));
    }
    // What has no kernel is refused now.
    formulas::made(&text).map_err(failed)?;
    let reads = reads.iter().map(|at| table.columns[*at].0.clone()).collect();
    Ok(Condition::Formula(text, reads))
}

/// The type by which a program knows a column. Of a row it asks only whether it is there.
fn kept_as(catalog: &Catalog, ty: ColumnType) -> PgType {
    match kept_as_row(catalog, ty.base.oid) {
        true => PgType::of_engine(ty.engine),
        false => ty.base,
    }
}

/// Whether a type is of rows, or of arrays of rows.
fn kept_as_row(catalog: &Catalog, oid: Oid) -> bool {
    let element = catalog.element(oid).unwrap_or(oid);
    is_made(element) && catalog.is_composite(element)
}

/// The condition of a check with the names of its table's columns; `None` where one is gone.
pub fn by_names(schema: &TableSchema, check: &CheckSchema) -> Option<Condition<String>> {
    let gone = || onlap::Error::new(onlap::ErrorKind::Corruption, "a check names no column");
    let name = |id: &ColumnId| {
        let at = schema.position(*id).ok_or_else(gone)?;
        Ok(schema.columns[at].name.clone())
    };
    check.expr.with_columns(&mut |id| name(id)).ok()
}

/// Whether two conditions say the same of columns of the same names, whatever these were called when they were written.
pub fn same(one: &Condition<String>, other: &Condition<String>) -> bool {
    let (Condition::Formula(a, reads), Condition::Formula(b, others)) = (one, other) else {
        return one == other;
    };
    let shown = |program: &str, reads: &[String]| {
        let name = |place: u32| reads.get(place as usize).cloned();
        let program = formulas::program(program).ok()?;
        program.print(&name, Look::PLAIN, Shown::to_all(formulas::all())).ok()
    };
    one == other || shown(a, reads).is_some_and(|text| shown(b, others) == Some(text))
}

/// The columns that a condition of a statement names, each once, in their order.
pub fn columns_of(condition: &Condition<String>) -> &[String] {
    match condition {
        Condition::Formula(_, reads) => reads,
        // Those are of programs that use the engine without SQL.
        _ => &[],
    }
}

impl Checked<'_> {
    fn relation(&self) -> Relation {
        // What reads a domain reads the type below it, as PostgreSQL binds it too.
        let column = |(name, ty): &(String, ColumnType)| bind::Column {
            name: name.as_str().into(),
            ty: TypeRef { oid: ty.base.oid, modifier: ty.base.modifier },
            collation: Catalog::new().collation(ty.base.oid),
            dropped: false,
        };
        Relation {
            oid: 1,
            row: onlap_pg::catalog::oids::RECORD,
            name: self.name.into(),
            kind: b'r',
            columns: self.columns.iter().map(column).collect(),
            key: Vec::new(),
        }
    }

    /// The places of the columns that a condition reads, in the order in which it does, if it may stand there; columns of rows of
    /// which it is only asked whether they are there.
    fn judge(
        &self,
        bound: &Bound,
        query: QueryId,
        catalog: &Catalog,
        source: Source<'_>,
    ) -> Result<(Vec<usize>, Vec<ExprId>)> {
        let root = bound.query(query).targets[0].value;
        let (mut reads, mut wrong) = (Vec::new(), None);
        // Columns of which it is only asked whether a value is there.
        let mut asked: Vec<ExprId> = Vec::new();
        bound.visit(root, 0, &mut |id, _| {
            let of = bound.ty(id);
            let found = match bound.expr(id) {
                Expr::NullTest(NullTest { value, row: false, .. }) => {
                    if kept_as_row(catalog, bound.ty(*value).oid) {
                        asked.push(*value);
                    }
                    None
                }
                Expr::Var { column, .. } => match usize::try_from(*column - 1) {
                    Ok(at) => {
                        if !reads.contains(&at) {
                            reads.push(at);
                        }
                        None
                    }
                    Err(_) if *column == 0 => Some(refused("a whole row")),
                    Err(_) => Some(of_system(*column)),
                },
                Expr::Param(number) => {
                    let text = format!("there is no parameter ${number}");
                    Some(SqlError::new("42P02", text))
                }
                Expr::Literal(literal) if is_passing(of, literal) => {
                    Some(refused("a moment of the execution"))
                }
                expr if !is_immutable(catalog, bound, expr, of) => {
                    Some(refused("what is not immutable"))
                }
                _ => None,
            };
            if let (None, Some(e)) = (&wrong, found) {
                wrong = Some(match bound.place(id) {
                    Some(place) => source.at(e, place),
                    None => e,
                });
            }
            wrong.is_none()
        });
        wrong.map_or(Ok((reads, asked)), Err)
    }
}

fn refused(what: &str) -> SqlError {
    SqlError::unsupported(format!("{what} in a check constraint"))
}

fn of_system(column: i32) -> SqlError {
    match bind::system_column(column) {
        Some("tableoid") => refused("tableoid"),
        name => {
            let name = name.unwrap_or_default();
            let text = format!("system column \"{name}\" reference in check constraint is invalid");
            SqlError::new("42P10", text)
        }
    }
}
