//! What does CREATE INDEX calculate of each row?
//!
//! Expressions and conditions are bound to the table with PostgreSQL's rules for indexes, asked whether they always give the
//! same, and kept as [`Program`]s of the columns that they read. Thread safety: pure, except for the statement's view.

use std::sync::Arc;

use onlap::{DataType, DerivedSpec, IndexPart, TableSchema};
use onlap_pg::ast::{ExprId, IndexElement};
use onlap_pg::bind::{self, Relation, Schema};
use onlap_pg::bound::{Bound, Expr, Literal, QueryId};
use onlap_pg::catalog::{Catalog, Volatility, oids};
use onlap_pg::print::Look;
use onlap_pg::{Oid, TypeRef, ast};

use super::carried::Carrier;
use crate::catalog::Name;
use crate::catalog::names::quote;
use crate::columns::ColumnType;
use crate::error::{Result, SqlError, state};
use crate::formulas::{self, Gin, Named, Program, Spanned};
use crate::query::{Names, sql_error};
use crate::source::Source;
use crate::types::PgType;
use crate::view::View;

/// Bytes of a kept expression: it is part of the table's description, which each change of that writes anew.
pub(super) const PROGRAM_BYTES: usize = 64 << 10;

/// Values that only an execution has, in words.
const PASSING: [&str; 4] = ["now", "today", "tomorrow", "yesterday"];

/// Makes parts of indexes of one table.
pub struct Parts<'a> {
    source: Source<'a>,
    names: Names<'a>,
    schema: &'a TableSchema,
    relation: Arc<Relation>,
}

/// A part of a key.
pub enum Part {
    /// A column of the table.
    Column(String),
    /// An expression, and how its values are kept.
    Expression(Box<(Program, DerivedSpec, ColumnType)>),
}

impl Part {
    /// As the engine has it.
    pub fn of_engine(&self) -> IndexPart {
        match self {
            Part::Column(name) => IndexPart::Column(name.clone()),
            Part::Expression(made) => IndexPart::Derived(made.1.clone()),
        }
    }

    /// What the index's column is called.
    pub fn name(&self) -> &str {
        match self {
            Part::Column(name) => name,
            Part::Expression(made) => &made.0.name,
        }
    }
}

impl<'a> Parts<'a> {
    /// Of a table.
    ///
    /// # Errors
    /// A type of its columns is not there.
    pub fn of(
        view: &'a View,
        source: Source<'a>,
        table: &Name,
        schema: &'a TableSchema,
    ) -> Result<Parts<'a>> {
        let names = Names::new(view);
        let path = [table.schema.as_str().into(), table.name.as_str().into()];
        let found = names.relation(&path).map_err(|e| sql_error(&e, ""))?;
        let mut relation = found.ok_or_else(|| {
            let text = format!("relation \"{}\" does not exist", table.name);
            SqlError::new(state::NO_TABLE, text)
        })?;
        // What reads a domain reads the type below it, as PostgreSQL binds it too.
        for column in &mut Arc::make_mut(&mut relation).columns {
            let (oid, modifier) = names.catalog().base(column.ty.oid, column.ty.modifier);
            column.ty = TypeRef { oid, modifier };
        }
        Ok(Parts { source, names, schema, relation })
    }

    /// A part of a key that is written as an expression.
    ///
    /// # Errors
    /// What may not stand in an index.
    pub fn expression(&self, expr: ExprId) -> Result<Part> {
        let (bound, query) = self.bind(expr, false)?;
        let root = bound.query(query).targets[0].value;
        if let Expr::Var { column, .. } = bound.expr(root) {
            return match usize::try_from(*column - 1)
                .ok()
                .and_then(|at| self.schema.columns.get(at))
            {
                Some(column) => Ok(Part::Column(column.name.clone())),
                None if *column == 0 => Err(SqlError::unsupported("a whole row in an index")),
                None => {
                    let text = "index creation on system columns is not supported";
                    Err(SqlError::new(state::UNSUPPORTED, text))
                }
            };
        }
        let (program, ty) = self.program(expr, &bound, query, false)?;
        let spec = self.kept(&program, &bound, query, ty.engine)?;
        Ok(Part::Expression(Box::new((program, spec, ty))))
    }

    /// The type of an expression, and its collation; 0 where it has none, or cannot be told.
    ///
    /// # Errors
    /// As [`Parts::expression`].
    pub fn collation(&self, expr: ExprId) -> Result<(Oid, Oid)> {
        let (bound, query) = self.bind(expr, false)?;
        let root = bound.query(query).targets[0].value;
        let ty = bound.ty(root).oid;
        let own = bound.collation(root);
        Ok((ty, own.unwrap_or_else(|| self.names.catalog().collation(ty))))
    }

    /// The list of keys of a column or an expression, of whose type it is said how keys are made.
    ///
    /// # Errors
    /// As [`Parts::expression`]; those of `gin`.
    pub fn list(
        &self,
        element: &IndexElement,
        gin: &dyn Fn(TypeRef) -> Result<Gin>,
    ) -> Result<(Program, DerivedSpec)> {
        let column = match (element.value, &element.column) {
            (Some(expr), None) => match self.expression(expr)? {
                Part::Expression(made) => {
                    let (mut program, mut spec, ty) = *made;
                    program.gin = Some(gin(TypeRef { oid: ty.pg.oid, modifier: ty.pg.modifier })?);
                    (spec.ty, spec.program) = (DataType::Bytea, kept_text(&program)?);
                    return Ok((program, spec));
                }
                Part::Column(name) => name,
            },
            (_, column) => column.iter().map(|name| name.to_string()).collect(),
        };
        let whole = self.whole(&column)?;
        let made = gin(TypeRef { oid: whole.ty.oid, modifier: whole.ty.modifier })?;
        let program = Program { gin: Some(Gin { whole: true, ..made }), ..whole };
        let spec = DerivedSpec {
            name: quote(&column),
            ty: DataType::Bytea,
            reads: vec![column],
            program: kept_text(&program)?,
        };
        Ok((program, spec))
    }

    /// The span of a column or an expression, whose type has such; it has this place among the parts of its constraint.
    ///
    /// # Errors
    /// As [`Parts::expression`].
    pub fn span(&self, element: &IndexElement, place: usize) -> Result<DerivedSpec> {
        let column = match (element.value, &element.column) {
            (Some(expr), None) => match self.expression(expr)? {
                Part::Expression(made) => {
                    let (mut program, spec, _) = *made;
                    program.span = Some(Spanned { whole: false, place });
                    let program = kept_text(&program)?;
                    return Ok(DerivedSpec { ty: DataType::Bytea, program, ..spec });
                }
                Part::Column(name) => name,
            },
            (_, column) => column.iter().map(|name| name.to_string()).collect(),
        };
        let span = Some(Spanned { whole: true, place });
        let program = Program { span, ..self.whole(&column)? };
        Ok(DerivedSpec {
            name: quote(&column),
            ty: DataType::Bytea,
            reads: vec![column],
            program: kept_text(&program)?,
        })
    }

    /// The program that gives a column as it is.
    fn whole(&self, column: &str) -> Result<Program> {
        let Some(at) = self.schema.position_by_name(column) else {
            let text = format!("column \"{column}\" does not exist");
            return Err(SqlError::new(state::NO_COLUMN, text));
        };
        let ty = self.relation.columns[at].ty;
        let pg = PgType { oid: ty.oid, modifier: ty.modifier };
        Ok(Program {
            sql: quote(column),
            filter: false,
            table: self.relation.name.to_string(),
            columns: vec![(self.schema.columns[at].id.0, column.to_string(), pg)],
            ty: pg,
            call: true,
            name: column.to_string(),
            generated: false,
            gin: None,
            span: None,
            carried: Carrier::new(&self.names, self.names.catalog(), "an index")
                .with_type(ty.oid)?
                .into_carried(),
        })
    }

    /// The condition of a partial index.
    ///
    /// # Errors
    /// As [`Parts::expression`]; `42804`: it is none.
    pub fn condition(&self, expr: ExprId) -> Result<DerivedSpec> {
        let (bound, query) = self.bind(expr, true)?;
        let (program, ty) = self.program(expr, &bound, query, true)?;
        self.kept(&program, &bound, query, ty.engine)
    }

    fn bind(&self, expr: ExprId, filter: bool) -> Result<(Bound, QueryId)> {
        let (tree, text) = (self.source.tree, self.source.text);
        let made =
            bind::of_index(tree, expr, filter, &self.relation, &self.names, self.names.catalog());
        made.map_err(|e| sql_error(&e, text))
    }

    fn program(
        &self,
        expr: ExprId,
        bound: &Bound,
        query: QueryId,
        filter: bool,
    ) -> Result<(Program, ColumnType)> {
        let root = bound.query(query).targets[0].value;
        let reads = self.judge(bound, root, filter)?;
        let of = bound.ty(root);
        let pg = PgType { oid: of.oid, modifier: of.modifier };
        let Some(ty) = ColumnType::of(self.names.catalog(), pg) else {
            let text = "an index on an expression of this type";
            return Err(SqlError::unsupported(text));
        };
        let columns = &self.relation.columns;
        let named = columns.iter().map(|column| Some(column.name.clone())).collect();
        let kept = Carrier::new(&self.names, self.names.catalog(), "an index").keep(
            (bound, query),
            &[],
            (&self.relation.name, named),
            &|| not_immutable(filter),
        )?;
        let read = |at: &usize| {
            let (column, ty) = (&self.schema.columns[*at], columns[*at].ty);
            (column.id.0, column.name.clone(), PgType { oid: ty.oid, modifier: ty.modifier })
        };
        let call = is_call(self.source.tree, expr);
        let name = bind::name_of(self.source.tree, expr, &self.names, self.names.catalog());
        let program = Program {
            sql: kept.sql,
            filter,
            table: self.relation.name.to_string(),
            columns: reads.iter().map(read).collect(),
            ty: pg,
            call,
            name: name.map_or_else(|| "expr".into(), |name| name.to_string()),
            generated: false,
            gin: None,
            span: None,
            carried: kept.carried,
        };
        Ok((program, ty))
    }

    fn printed(&self, bound: &Bound, query: QueryId, look: Look) -> Result<String> {
        let columns = &self.relation.columns;
        let named = Named {
            table: self.relation.name.clone(),
            columns: columns.iter().map(|column| Some(column.name.clone())).collect(),
            reader: Some(&self.names.reader()),
            shows: None,
            moved: None,
        };
        formulas::printed((bound, query), self.names.catalog(), &named, look).map_err(failed)
    }

    /// A program as the engine keeps it, with values of a type of its own.
    fn kept(
        &self,
        program: &Program,
        bound: &Bound,
        query: QueryId,
        ty: DataType,
    ) -> Result<DerivedSpec> {
        let pretty = self.printed(bound, query, Look::PRETTY)?;
        Ok(DerivedSpec {
            name: if program.call { pretty } else { format!("({pretty})") },
            ty,
            reads: program.columns.iter().map(|(_, name, _)| name.clone()).collect(),
            program: kept_text(program)?,
        })
    }

    /// The places of the columns that an expression reads, if it always gives the same.
    fn judge(
        &self,
        bound: &Bound,
        root: onlap_pg::bound::ExprId,
        filter: bool,
    ) -> Result<Vec<usize>> {
        let catalog = self.names.catalog();
        let (mut reads, mut failed) = (Vec::new(), None);
        bound.visit(root, 0, &mut |id, _| {
            let of = bound.ty(id);
            let found = match bound.expr(id) {
                Expr::Var { column, .. } => match usize::try_from(*column - 1) {
                    Ok(at) => {
                        if !reads.contains(&at) {
                            reads.push(at);
                        }
                        None
                    }
                    Err(_) if *column == 0 => {
                        Some(SqlError::unsupported("a whole row in an index"))
                    }
                    Err(_) => {
                        let text = "index creation on system columns is not supported";
                        Some(SqlError::new(state::UNSUPPORTED, text))
                    }
                },
                Expr::Param(number) => {
                    Some(SqlError::new("42P02", format!("there is no parameter ${number}")))
                }
                Expr::Literal(literal) if is_passing(of, literal) => {
                    Some(SqlError::unsupported("a moment of the execution in an index"))
                }
                expr if !is_immutable(catalog, bound, expr, of) => Some(not_immutable(filter)),
                _ => None,
            };
            failed = failed.take().or(found);
            failed.is_none()
        });
        reads.sort_unstable();
        failed.map_or(Ok(reads), Err)
    }
}

fn not_immutable(filter: bool) -> SqlError {
    let what = if filter { "predicate" } else { "expression" };
    SqlError::new("42P17", format!("functions in index {what} must be marked IMMUTABLE"))
}

/// The text of a program.
fn kept_text(program: &Program) -> Result<String> {
    let text = program.body().to_string();
    if text.len() > PROGRAM_BYTES {
        let text = format!("expressions of indexes have at most {PROGRAM_BYTES} bytes");
        return Err(SqlError::new("54000", text));
    }
    // What has no kernel is refused now.
    formulas::made(&text).map_err(failed)?;
    Ok(text)
}

pub(super) fn failed(e: onlap_pg::Error) -> SqlError {
    sql_error(&e, "").nowhere()
}

/// Whether an expression is written like a call.
fn is_call(tree: &ast::Tree, expr: ExprId) -> bool {
    matches!(
        tree.expr(expr),
        ast::Expr::Call(_)
            | ast::Expr::Coalesce(_)
            | ast::Expr::Greatest(_)
            | ast::Expr::Least(_)
            | ast::Expr::NullIf(..)
            | ast::Expr::Xml(_)
    )
}

/// Whether a literal means a moment that passes.
pub(super) fn is_passing(ty: TypeRef, literal: &Literal) -> bool {
    let is_time = matches!(ty.oid, 1082 | 1083 | 1114 | 1184 | 1266);
    let text = format!("{literal:?}").to_ascii_lowercase();
    is_time && PASSING.iter().any(|word| text.contains(word))
}

/// textanycat
const TEXT_AND_ANY: Oid = 2003;
/// anytextcat
const ANY_AND_TEXT: Oid = 2004;

/// Whether an expression always gives the same for what it is of.
pub(super) fn is_immutable(catalog: &Catalog, bound: &Bound, expr: &Expr, ty: TypeRef) -> bool {
    let of_proc =
        |proc: Oid| catalog.proc(proc).is_some_and(|proc| proc.volatility == Volatility::Immutable);
    // Of a function that the database made, what it is made of is looked at.
    let is_made = |proc: Oid| catalog.proc(proc).is_some_and(|proc| proc.made.is_some());
    // `a || b` of a text and another value is in PostgreSQL a function in SQL, which is looked into: it is as fixed as the texts.
    let joins = |proc: Oid, args: &[onlap_pg::bound::ExprId]| {
        matches!(proc, TEXT_AND_ANY | ANY_AND_TEXT)
            && args.iter().all(|arg| is_fixed_text(bound.ty(*arg).oid))
    };
    match expr {
        Expr::Call(call) => {
            let args: Vec<_> = call.args.iter().map(|arg| arg.1).collect();
            is_made(call.proc) || of_proc(call.proc) || joins(call.proc, &args)
        }
        Expr::Op(op) if joins(op.proc, &op.args) => true,
        Expr::Op(op) | Expr::Distinct(op) | Expr::NullIf(op) | Expr::ArrayOp(op, _) => {
            of_proc(op.proc)
        }
        Expr::RowCompare(_, operators, ..) => {
            operators.iter().all(|oid| catalog.operator(*oid).is_some_and(|op| of_proc(op.proc)))
        }
        Expr::ViaText(one) => is_fixed_text(bound.ty(*one).oid) && is_fixed_text(ty.oid),
        Expr::SqlValue(..) | Expr::SubQuery(_) => false,
        _ => true,
    }
}

/// Whether a type's texts do not depend on settings.
fn is_fixed_text(oid: Oid) -> bool {
    matches!(
        oid,
        oids::BOOL | 17
            ..=21
                | 23
                | 25
                | 26
                | 114
                | 650
                | 700
                | 701
                | 774
                | 829
                | 869
                | 1042
                | 1043
                | 1700
                | 2950
                | 3802
                | oids::HSTORE
                | oids::CITEXT
    )
}
