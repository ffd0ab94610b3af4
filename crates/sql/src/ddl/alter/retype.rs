//! What do the values and the default of a column become that gets another type?
//!
//! What USING says, or else what PostgreSQL's assignment from the one type to the other makes, bound to the table's columns and
//! calculated by the kernels of all expressions, by the session's settings. The engine asks for it while it holds the
//! transaction: it may neither read tables nor call what does (`0A000`). Where all values stay as they are, nothing is calculated.
//! Thread safety: a conversion is read only.

use std::sync::Arc;

use arrow_array::{ArrayRef, new_null_array};
use onlap::{
    Column, ColumnDefault, Conversion, Convert, DataType, ForeignKeySchema, TableChanges, Value,
    convert,
};
use onlap_kernels::{Datum, Session as Asks};
use onlap_pg::ast::{Expr as Said, ExprId, Span};
use onlap_pg::bind::{self, Relation};
use onlap_pg::bound::Expr;
use onlap_pg::{Error, Oid, TypeRef};
use onlap_query::{Env, Formula};
use parking_lot::Mutex;
use serde_json::json;

use super::actions::Actions;
use super::steps::Step;
use crate::catalog::names::quote;
use crate::catalog::{Kind, Name, column_types};
use crate::columns::{self, ColumnType};
use crate::ddl::columns::constant_of;
use crate::ddl::types::column_type;
use crate::ddl::{constraints, defaults};
use crate::error::{Result, SqlError, state};
use crate::query::{Asked, Bound, Names, domains, settings_of, sql_error, stored};
use crate::system::model::Model;
use crate::system::text;
use crate::view::View;

/// What a column gets.
#[derive(Clone, Copy)]
pub(super) struct Goal {
    pub ty: ColumnType,
    /// A collation that is not the type's.
    pub collation: Option<Oid>,
    /// What USING says, and where it stands.
    pub using: Option<(ExprId, Span)>,
}

impl Actions<'_> {
    /// SET DATA TYPE.
    pub(super) fn retype(&mut self, at: usize, goal: Goal) -> Result<()> {
        let (old, ty) = (self.types[at], goal.ty);
        let column = &self.schema.columns[at];
        let (id, name) = (column.id, column.name.clone());
        self.must_be_first(&name)?;
        let made = self.transform(at, ty, goal.using.map(|(expr, _)| expr))?;
        let made = made.ok_or_else(|| self.no_cast(at, goal))?;
        let is_plain = goal.using.is_none_or(|(expr, _)| self.is_plain_cast(expr, &name, ty));
        let stays = is_plain && (old == ty || stays(old, ty) || old.is_same_below(ty));
        let written = self.written_default(at, ty)?;
        let default = match &written {
            Some(_) => None,
            None => self.other_default(at, ty, stays)?,
        };
        self.must_be_unread(at)?;
        if old == ty && stays {
            if self.types.own_collation(at) != goal.collation {
                let body = column_types::body(ty, goal.collation);
                self.steps.push(Step::Note(Kind::ColumnType, name, body));
            }
            return Ok(());
        }
        self.must_not_write_domain(at, ty)?;
        self.must_keep_to(at, goal)?;
        let keeps = is_plain && self.keeps_readers(at, ty);
        let (mut before, mut after) =
            if keeps { (Vec::new(), Vec::new()) } else { self.made_again(id)? };
        let (first, last) = self.keys_again(id, keeps)?;
        before.extend(first);
        after.extend(last);
        // What goes goes first, so that changes of columns stay one step: each is calculated of the rows as they were.
        self.steps.splice(0..0, before);
        self.sequence_follows(at, ty)?;
        let mut changes = TableChanges::new();
        if stays {
            changes = changes.set_type(&name, ty.engine);
        } else {
            if default.is_some() || written.is_some() {
                changes = changes.drop_default(&name);
            }
            let reads = made.reads.iter().map(|at| self.schema.columns[*at].name.clone());
            let by = Conversion {
                reads: reads.collect(),
                strict: is_plain && !ty.is_domain(),
                by: made,
            };
            changes = changes.convert(&name, ty.engine, by);
        }
        if let Some(value) = written {
            changes = changes.set_default(&name, value);
        }
        self.steps.push(Step::Changes(changes));
        if let Some(sql) = default {
            let note = Some(json!({ "sql": sql }));
            self.steps.push(Step::Note(Kind::Default, name.clone(), note));
        }
        let body = column_types::body(ty, goal.collation);
        self.steps.push(Step::Note(Kind::ColumnType, name, body));
        self.steps.extend(after);
        Ok(())
    }

    /// A statement gives a column one other type.
    fn must_be_first(&self, name: &str) -> Result<()> {
        let is_its =
            |step: &Step| matches!(step, Step::Note(Kind::ColumnType, of, _) if of == name);
        if self.steps.iter().any(is_its) {
            let text = format!("cannot alter type of column \"{name}\" twice");
            return Err(SqlError::new(state::UNSUPPORTED, text));
        }
        Ok(())
    }

    fn no_cast(&self, at: usize, goal: Goal) -> SqlError {
        let catalog = self.view.objects.made_types().seen_from(self.view);
        let name = &self.schema.columns[at].name;
        let pg = goal.ty.pg;
        let shown = catalog.shown(pg.oid);
        let text = format!("column \"{name}\" cannot be cast automatically to type {shown}");
        match goal.using {
            Some(_) => {
                let text = format!("result of USING clause for {text}");
                SqlError::new(state::MISMATCH, text).hint("You might need to add an explicit cast.")
            }
            None => {
                let whole = catalog.shown_with(TypeRef { oid: pg.oid, modifier: pg.modifier });
                let hint = format!("You might need to specify \"USING {}::{whole}\".", quote(name));
                SqlError::new(state::MISMATCH, text).hint(hint)
            }
        }
    }

    /// What calculates a column's values of another type; `None` where there is no assignment to it.
    fn transform(
        &self,
        at: usize,
        ty: ColumnType,
        using: Option<ExprId>,
    ) -> Result<Option<Arc<Transform>>> {
        let names = Names::new(self.view);
        let relation = self.relation();
        let to = (at, TypeRef { oid: ty.pg.oid, modifier: ty.pg.modifier });
        let bound =
            bind::of_transform(self.source.tree, using, to, &relation, &names, names.catalog());
        let Some((bound, query)) = bound.map_err(|e| sql_error(&e, self.source.text))? else {
            return Ok(None);
        };
        let (mut reads, mut wrong) = (Vec::new(), None);
        bound.visit(bound.query(query).targets[0].value, 0, &mut |id, _| {
            let found = match bound.expr(id) {
                Expr::Var { column, .. } => match usize::try_from(*column - 1) {
                    Ok(at) if !reads.contains(&at) => {
                        reads.push(at);
                        None
                    }
                    Ok(_) => None,
                    Err(_) => Some(unserved("a whole row or a system column")),
                },
                Expr::Param(number) => {
                    let text = format!("there is no parameter ${number}");
                    Some(SqlError::new("42P02", text))
                }
                Expr::Call(call)
                    if names.catalog().proc(call.proc).is_some_and(|p| p.made.is_some()) =>
                {
                    Some(unserved("a function of the database"))
                }
                _ => None,
            };
            wrong = wrong.take().or(found);
            wrong.is_none()
        });
        if let Some(e) = wrong {
            return Err(e);
        }
        let env = Arc::new(Env {
            catalog: Arc::clone(names.shared_catalog()),
            settings: settings_of(self.view),
            session: Arc::new(Closed {
                asked: Asked::of_conditions(self.view, 0),
                view: self.view.clone(),
            }),
            params: Vec::new(),
            handle: self.view.instance.runner.handle().clone(),
            context: Mutex::new(None),
            sets: Default::default(),
        });
        let formula = Formula::new(&bound, query, &env);
        let formula = formula.map_err(|e| sql_error(&e, self.source.text))?;
        let inputs = reads.iter().map(|at| self.types[*at]).collect();
        let width = self.schema.columns.len();
        let name = self.schema.columns[at].name.clone();
        Ok(Some(Arc::new(Transform { formula, env, reads, inputs, width, ty: ty.below(), name })))
    }

    fn relation(&self) -> Relation {
        // What reads a domain reads the type below it, as PostgreSQL binds it too.
        let column = |at: usize| bind::Column {
            name: self.schema.columns[at].name.as_str().into(),
            ty: TypeRef { oid: self.types[at].base.oid, modifier: self.types[at].base.modifier },
            collation: self.types.collation(at),
            dropped: false,
        };
        Relation {
            oid: 1,
            row: onlap_pg::catalog::oids::RECORD,
            name: self.name.name.as_str().into(),
            kind: b'r',
            columns: (0..self.schema.columns.len()).map(column).collect(),
            key: Vec::new(),
        }
    }

    /// The constant that the column's default is in its new type, of what was written.
    fn written_default(&self, at: usize, ty: ColumnType) -> Result<Option<Value>> {
        let written = defaults::written(self.view, self.schema.id, self.schema.columns[at].id);
        let Some(sql) = written.filter(|_| ty.is_native()) else { return Ok(None) };
        match self.is_assigned(&sql, ty)? {
            true => constant_of(self.view, &sql, ty.engine),
            false => Ok(None),
        }
    }

    /// The expression of the default that a column of another type has, where it is kept in another way; it is assigned to the type,
    /// and USING says nothing of it.
    fn other_default(&self, at: usize, ty: ColumnType, stays: bool) -> Result<Option<String>> {
        let column = &self.schema.columns[at];
        let refused = || {
            let shown = self.view.objects.made_types().seen_from(self.view).shown(ty.pg.oid);
            let text = format!(
                "default for column \"{}\" cannot be cast automatically to type {shown}",
                column.name
            );
            SqlError::new(state::MISMATCH, text)
        };
        let is_whole =
            ty.is_own() && matches!(ty.engine, DataType::Int2 | DataType::Int4 | DataType::Int8);
        match &column.default {
            None => {
                let Some(sql) = defaults::expression(self.view, self.schema.id, column.id) else {
                    return Ok(None);
                };
                match self.is_assigned(&sql, ty)? {
                    true => Ok(None),
                    false => Err(refused()),
                }
            }
            Some(ColumnDefault::NextVal(_)) if is_whole => Ok(None),
            Some(ColumnDefault::NextVal(id)) => {
                if defaults::identity(self.view, self.schema.id, column.id).is_some() {
                    let text = "identity column type must be smallint, integer, or bigint";
                    return Err(SqlError::new("22023", text));
                }
                let sequences = self.view.scope.tx()?.sequences();
                let found = sequences.iter().find(|sequence| sequence.schema().id == *id);
                let found = found.ok_or_else(|| SqlError::defect("a default names no sequence"))?;
                let of = Name::of_engine(found.name()).1;
                let name = format!("{}.{}", quote(&of.schema), quote(&of.name));
                let sql = format!("nextval('{}'::regclass)", name.replace('\'', "''"));
                match self.is_assigned(&sql, ty)? {
                    true => Ok(Some(sql)),
                    false => Err(refused()),
                }
            }
            Some(ColumnDefault::Constant(_)) if stays && ty.is_native() => Ok(None),
            Some(default @ ColumnDefault::Constant(_)) => {
                // It stays the constant that it is, and is assigned when a row needs it.
                let sql = match defaults::written(self.view, self.schema.id, column.id) {
                    Some(sql) => Some(sql),
                    None => text::kept_default(&Model::of(self.view)?, column, default),
                };
                let sql = sql.ok_or_else(|| SqlError::defect("a default has no text"))?;
                match self.is_assigned(&sql, ty)? {
                    true => Ok(Some(sql)),
                    false => Err(refused()),
                }
            }
        }
    }

    /// Whether what an expression without columns gives can be assigned to a type.
    fn is_assigned(&self, sql: &str, ty: ColumnType) -> Result<bool> {
        let names = Names::new(self.view);
        let wrong = |e: Error| sql_error(&e, "").nowhere();
        let (tree, value) = domains::expression(&format!("({sql})")).map_err(wrong)?;
        let to = TypeRef { oid: ty.base.oid, modifier: ty.base.modifier };
        match bind::default(&tree, value, ("", to), &names, names.catalog()) {
            Ok(_) => Ok(true),
            Err(e) if e.state == state::MISMATCH => Ok(false),
            Err(e) => Err(wrong(e)),
        }
    }

    /// The sequence of an identity column has the range of its type.
    fn sequence_follows(&mut self, at: usize, ty: ColumnType) -> Result<()> {
        let column = &self.schema.columns[at];
        if ty.engine == column.ty
            || defaults::identity(self.view, self.schema.id, column.id).is_none()
        {
            return Ok(());
        }
        let owned = crate::ddl::sequence::owned_by(self.view, self.schema.id, Some(column.id));
        for name in owned {
            let options = Box::new(crate::ddl::sequence::Options::of_type(ty.engine));
            self.steps.push(Step::ChangeSequence(name, options));
        }
        Ok(())
    }

    /// What a foreign key writes keeps to no domain.
    fn must_not_write_domain(&self, at: usize, ty: ColumnType) -> Result<()> {
        let own = self.schema.columns[at].id;
        let writes = |key: &ForeignKeySchema| {
            key.columns.contains(&own) && constraints::writes(key.on_delete, key.on_update)
        };
        match ty.is_domain() && self.schema.foreign_keys.iter().any(writes) {
            true => Err(constraints::domain_written()),
            false => Ok(()),
        }
    }

    /// Fails where values of a column do not keep to a domain.
    fn must_keep_to(&self, at: usize, goal: Goal) -> Result<()> {
        let column = &self.schema.columns[at];
        // What is asked of the rows is asked by this transaction: others may not change the table outside of it then.
        if !goal.ty.is_domain() {
            return Ok(());
        }
        let is_empty = self.view.scope.tx()?.count(self.table)? == 0;
        if is_empty && column.default.is_none() {
            return Ok(());
        }
        if column.default.is_some() {
            let text = "ALTER COLUMN TYPE to a domain of a column with a default";
            return Err(
                SqlError::unsupported(text).hint("Drop the default, and set it again then.")
            );
        }
        let value = match goal.using {
            Some((_, span)) => format!("({})", self.source.of(span)),
            None => quote(&column.name),
        };
        let text = format!(
            "SELECT {value}::{} FROM ONLY {}.{}",
            self.view.objects.made_types().written(goal.ty.pg),
            quote(&self.name.schema),
            quote(&self.name.name)
        );
        let depth = crate::parse::depth_of(&text);
        let bound = Bound::must(self.view, &text, depth, &[]).map_err(SqlError::nowhere)?;
        let mut batches = bound.batches(self.view, &text)?;
        while batches.next()?.is_some() {}
        Ok(())
    }

    /// Whether checks and indexes that read a column stay as they are: a greater length changes nothing for them.
    fn keeps_readers(&self, at: usize, ty: ColumnType) -> bool {
        let old = self.types[at];
        let lengths = (old.engine, ty.engine);
        let gets_longer = matches!(lengths, (DataType::Varchar(a), DataType::Varchar(b)) if a <= b);
        old == ty || old.pg.oid == ty.pg.oid && gets_longer
    }

    /// Whether an expression is the column itself, cast to the new type.
    fn is_plain_cast(&self, expr: ExprId, column: &str, ty: ColumnType) -> bool {
        match self.source.tree.expr(expr) {
            Said::Column(path) => matches!(&path[..], [name] if &**name == column),
            Said::Cast(inner, to) => {
                column_type(self.view, self.source, to).is_ok_and(|(to, _)| to == ty)
                    && self.is_plain_cast(*inner, column, ty)
            }
            _ => false,
        }
    }
}

/// Whether all values of a column stay as they are.
fn stays(from: ColumnType, to: ColumnType) -> bool {
    use DataType::{Int2, Int4, Int8, Json, Numeric, Text, Varchar};
    let alike = || match (from.engine, to.engine) {
        (Int2, Int4 | Int8) | (Int4, Int8) | (Varchar(_) | Json, Text) => true,
        (Varchar(a), Varchar(b)) => a <= b,
        (Numeric(Some((p, s))), Numeric(Some((q, t)))) => p <= q && s == t,
        (a, b) => a == b,
    };
    let loses_length = !from.is_domain() && !to.is_domain() && from.pg.oid == to.pg.oid;
    from.is_native() && to.is_native() && alike()
        || loses_length
            && from.engine == to.engine
            && to.pg.modifier < 0
            && from.below().form == to.below().form
}

fn unserved(what: &str) -> SqlError {
    SqlError::unsupported(format!("{what} in the USING of ALTER COLUMN TYPE"))
        .hint("Add a column of the new type, UPDATE it, and drop the old one.")
}

/// Calculates the values of a column's other type.
struct Transform {
    formula: Formula,
    env: Arc<Env>,
    /// The places of the columns that it reads, and their types.
    reads: Vec<usize>,
    inputs: Vec<ColumnType>,
    /// Columns of the table.
    width: usize,
    /// The type, below domains.
    ty: ColumnType,
    name: String,
}

impl Transform {
    fn values(&self, inputs: &[Column], rows: usize) -> onlap_pg::Result<ArrayRef> {
        // What is not read needs no values.
        let none = new_null_array(&arrow_schema::DataType::Null, rows);
        let mut columns = vec![none; self.width];
        for ((at, ty), column) in self.reads.iter().zip(&self.inputs).zip(inputs) {
            let decoded = columns::decode(&self.env.catalog, *ty, column);
            columns[*at] = decoded.map_err(|e| crate::query::of_sql(&e))?;
        }
        self.formula.values(&columns, rows, &self.env)
    }
}

impl Convert for Transform {
    fn convert(&self, inputs: &[Column], rows: usize) -> onlap::Result<Column> {
        let values = self.values(inputs, rows).map_err(crate::formulas::engine_error)?;
        let mut out = Column::new(self.ty.engine.physical());
        for row in 0..rows {
            let value = stored::value_of(&self.env.catalog, &values, row, self.ty);
            let value: Value = value.map_err(|e| {
                let text = e.message().to_string();
                onlap::Error::new(onlap::ErrorKind::OutOfRange, text).with_code(e.state())
            })?;
            convert::push_value(self.ty.engine, &value, &mut out, &self.name)?;
        }
        Ok(out)
    }
}

/// A session that answers nothing for which it would have to look into tables.
struct Closed {
    asked: Asked,
    view: View,
}

impl Asks for Closed {
    fn room(&self, bytes: usize) -> onlap_pg::Result<()> {
        crate::formulas::room(bytes)
    }
    fn call(&self, function: Oid, _: &[Datum<'_>]) -> onlap_pg::Result<Datum<'static>> {
        let name = self.view.objects.made_types().catalog().proc(function).map(|p| p.name.clone());
        let name = name.unwrap_or_default();
        Err(Error::unserved(format!("{name}() in the USING of ALTER COLUMN TYPE is not supported")))
    }
    fn keep_to(&self, _: Oid, _: &ArrayRef) -> onlap_pg::Result<()> {
        Err(Error::unserved("a domain in the USING of ALTER COLUMN TYPE is not supported"))
    }
    fn fields(&self, row: Oid) -> Option<Vec<(String, TypeRef)>> {
        self.view.objects.made_types().composite(row)?;
        self.asked.fields(row)
    }
    fn clock(&self) -> i64 {
        self.asked.clock()
    }
    fn statement_began(&self) -> i64 {
        self.asked.statement_began()
    }
    fn random(&self) -> u64 {
        self.asked.random()
    }
}
