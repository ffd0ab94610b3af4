//! What does a bound statement say, as far as the native tier can carry it out?
//!
//! One table, its columns by their places, and values that no row decides. All is asked of the bound tree: names, types and
//! conversions are decided there, and a value that has to be calculated is calculated by the kernels that the planner calls.
//! What is not known here is `None`, and the planner's.

use std::sync::Arc;

use onlap::{DataType, Value};
use onlap_kernels::Datum;
use onlap_pg::TypeRef;
use onlap_pg::bound::{
    Bound as Tree, Entry, EntryKind, Expr, ExprId, JoinTree, Literal, Modify, ModifyKind, Query,
    QueryId,
};
use onlap_pg::catalog::Volatility;

use super::Source;
use super::change::is_whole;
use super::values::{Operand, Parameter};
use crate::catalog::oids;
use crate::change::called;
use crate::query::{Bound, catalog, stored};
use crate::types::{PgType, oid};
use crate::view::View;

/// A statement about one table.
pub(super) struct Statement<'a> {
    pub(super) view: &'a View,
    pub(super) bound: &'a Bound,
    pub(super) tree: &'a Tree,
    pub(super) query: &'a Query,
    id: QueryId,
    /// The table's entry, from 1.
    entry: usize,
}

/// The types of whole numbers.
const WHOLE: [u32; 3] = [oid::INT2, oid::INT4, oid::INT8];

/// Rows of an INSERT whose values are calculated: more are calculated together by the planner.
const CALCULATED_ROWS: usize = 16;

impl<'a> Statement<'a> {
    /// A statement that is one query, and what it is about where that is one table of the engine.
    pub(super) fn of(view: &'a View, bound: &'a Bound) -> Option<(Statement<'a>, Source)> {
        if bound.stages().is_some() {
            return None;
        }
        let (tree, id) = bound.tree();
        let query = tree.query(id);
        if tree.queries() != 1 || !query.ctes.is_empty() || query.changes_within {
            return None;
        }
        // What policies ask of rows, only steps do.
        let is_guarded = query.entries.iter().any(|entry| !entry.guards.is_empty());
        let is_checked = query.modify.as_ref().is_some_and(|modify| !modify.checks.is_empty());
        if is_guarded || is_checked {
            return None;
        }
        let entry = match (&query.modify, &query.from[..]) {
            (Some(modify), _) => modify.entry,
            (None, [JoinTree::Entry(entry)]) => *entry,
            (None, _) => return None,
        };
        let EntryKind::Relation { sample: None, .. } = query.entries.get(entry - 1)?.kind else {
            return None;
        };
        let table = bound.table(id, entry)?;
        if table.materialized == Some(false) || !is_alone(view, bound, id, entry) {
            return None;
        }
        let writes = query.modify.as_ref().is_some_and(|of| of.kind != ModifyKind::Delete);
        if writes && !called::may(view, &table.schema) {
            return None;
        }
        let (schema, types) = (Arc::clone(&table.schema), table.types.clone());
        let source = Source { table: table.table.clone(), schema, types };
        Some((Statement { view, bound, tree, query, id, entry }, source))
    }

    /// The rows of VALUES that an INSERT is about, one list of values per row by the places of the table's columns.
    pub(super) fn rows(&self, width: usize) -> Option<Vec<Vec<Option<ExprId>>>> {
        let Query { targets, from, entries, filter: None, .. } = self.query else { return None };
        if targets.iter().any(|target| target.hidden || target.number == 0) {
            return None;
        }
        let mut rows = Vec::new();
        let mut row = |value: &dyn Fn(ExprId) -> Option<ExprId>| {
            let mut row = vec![None; width];
            for target in targets {
                *row.get_mut(target.number - 1)? = Some(value(target.value)?);
            }
            rows.push(row);
            Some(())
        };
        match &from[..] {
            [] => row(&Some)?,
            [JoinTree::Entry(at)] => {
                let Entry { kind: EntryKind::Values(values), .. } = entries.get(at - 1)? else {
                    return None;
                };
                for given in values {
                    row(&|id| match self.tree.expr(id) {
                        Expr::Var { entry, column, up: 0 } if entry == at => {
                            given.get(usize::try_from(*column).ok()?.checked_sub(1)?).copied()
                        }
                        _ => None,
                    })?;
                }
            }
            _ => return None,
        }
        Some(rows)
    }

    /// Whether its table is a materialized view, whose rows no statement changes or locks.
    pub(super) fn is_materialized(&self) -> bool {
        self.bound.table(self.id, self.entry).is_none_or(|table| table.materialized.is_some())
    }

    /// Whether the table's rows are changed by what the statement says, and nothing else.
    pub(super) fn changes_plainly(&self, source: &Source) -> bool {
        let id = source.schema.id;
        let has_rules = crate::catalog::rules::has_any(&self.view.objects, oids::of_table(id));
        !self.is_materialized() && !has_rules && !crate::change::fires::has_any(self.view, id)
    }

    /// What it changes.
    pub(super) fn modify(&self) -> Option<&'a Modify> {
        self.query.modify.as_deref()
    }

    /// The place of the column that an expression is, as it is.
    pub(super) fn column(&self, id: ExprId) -> Option<usize> {
        self.column_of(id, self.entry)
    }

    /// The place of the column of an entry that an expression is.
    pub(super) fn column_of(&self, id: ExprId, of: usize) -> Option<usize> {
        match self.tree.expr(id) {
            Expr::Var { entry, column, up: 0 } if *entry == of => {
                usize::try_from(*column).ok()?.checked_sub(1)
            }
            _ => None,
        }
    }

    /// The place of the column whose values an expression has, as texts of another type or as they are.
    pub(super) fn compared(&self, id: ExprId) -> Option<usize> {
        let is_text = |id| matches!(self.tree.ty(id).oid, oid::TEXT | oid::VARCHAR);
        match self.tree.expr(id) {
            Expr::Relabel(inner) if is_text(id) && is_text(*inner) => self.column(*inner),
            _ => self.column(id),
        }
    }

    /// A value that no row decides: a parameter, or a constant.
    pub(super) fn operand(&self, id: ExprId) -> Option<Operand> {
        let plain = self.widened(id);
        match self.tree.expr(plain) {
            Expr::Param(n) => self.parameter(*n, plain),
            Expr::Literal(literal) => self.literal(literal, self.tree.ty(plain)),
            _ => self.calculated(id),
        }
    }

    /// What a column is given: the column's type itself says what becomes of lengths.
    pub(super) fn given(&self, id: ExprId, ty: DataType, rows: usize) -> Option<Operand> {
        let plain = self.widened(self.unnarrowed(self.unshortened(id, ty), ty));
        match self.tree.expr(plain) {
            Expr::Param(n) => self.parameter(*n, plain),
            Expr::Literal(literal) => self.literal(literal, self.tree.ty(plain)),
            _ if rows > CALCULATED_ROWS => None,
            _ => self.calculated(id),
        }
    }

    /// The sign and the sides of a sum or difference of whole numbers that a column becomes.
    pub(super) fn sum(&self, id: ExprId, ty: DataType) -> Option<(i64, ExprId, ExprId)> {
        let whole = |id| WHOLE.contains(&self.tree.ty(id).oid);
        let Expr::Op(op) = self.tree.expr(self.unnarrowed(id, ty)) else { return None };
        let [left, right] = op.args[..] else { return None };
        if !is_whole(ty) || !whole(left) || !whole(right) {
            return None;
        }
        match catalog().operator(op.operator)?.name {
            "+" => Some((1, left, right)),
            "-" => Some((-1, left, right)),
            _ => None,
        }
    }

    fn parameter(&self, n: i32, id: ExprId) -> Option<Operand> {
        let number = usize::try_from(n).ok().filter(|n| *n > 0)?;
        Some(Operand::Parameter(Parameter { number, oid: self.tree.ty(id).oid }))
    }

    /// What a conversion between types, as the catalog has it, converts.
    pub(super) fn converted(&self, id: ExprId) -> Option<ExprId> {
        let Expr::Call(call) = self.tree.expr(id) else { return None };
        let [(_, inner)] = call.args[..] else { return None };
        let cast = catalog().cast(self.tree.ty(inner).oid, self.tree.ty(id).oid)?;
        (cast.function == call.proc).then_some(inner)
    }

    /// An expression without conversions that leave whole numbers what they are, and other names of its type.
    fn widened(&self, mut id: ExprId) -> ExprId {
        let width =
            |oid| [oid::INT2, oid::INT4, oid::INT8, oid::NUMERIC].iter().position(|of| *of == oid);
        loop {
            let inner = match self.tree.expr(id) {
                Expr::Relabel(inner) => Some(*inner),
                _ => self.converted(id).filter(|inner| {
                    let (from, to) = (self.tree.ty(*inner).oid, self.tree.ty(id).oid);
                    let is_wider = width(from) < width(to);
                    WHOLE.contains(&from) && width(to).is_some() && is_wider
                }),
            };
            match inner {
                Some(inner) => id = inner,
                None => return id,
            }
        }
    }

    /// An expression without the conversion of a whole number to a column's type, which has it or is refused.
    fn unnarrowed(&self, id: ExprId, ty: DataType) -> ExprId {
        let is_own = is_whole(ty) && self.tree.ty(id).oid == PgType::of_engine(ty).oid;
        let inner = self.converted(id).filter(|_| is_own);
        inner.filter(|inner| WHOLE.contains(&self.tree.ty(*inner).oid)).unwrap_or(id)
    }

    /// An expression without the conversion to a length that its column has, too.
    fn unshortened(&self, id: ExprId, ty: DataType) -> ExprId {
        let Expr::Call(call) = self.tree.expr(id) else { return id };
        let Some((_, inner)) = call.args.first() else { return id };
        let (to, own) = (self.tree.ty(id), PgType::of_engine(ty));
        let is_own = to.oid == own.oid
            && to.modifier == own.modifier
            && self.tree.ty(*inner).oid == to.oid
            && catalog().cast(to.oid, to.oid).is_some_and(|cast| cast.function == call.proc);
        // What a cast was written for cuts off, which an assignment does not.
        let is_written = call.args.get(2).is_some_and(|(_, explicit)| {
            !matches!(self.tree.expr(*explicit), Expr::Literal(Literal::Bool(false)))
        });
        if is_own && !is_written { *inner } else { id }
    }

    fn literal(&self, literal: &Literal, ty: TypeRef) -> Option<Operand> {
        let value = match (literal, ty.oid) {
            (Literal::Null, _) => Value::Null,
            (Literal::Bool(value), oid::BOOL) => Value::Bool(*value),
            (Literal::Int(value), oid::INT4) => Value::Int(i64::from(*value)),
            (Literal::Int8(value), oid::INT8) => Value::Int(*value),
            (Literal::Text(text), oid::TEXT | oid::VARCHAR) => Value::Text(text.to_string()),
            (Literal::Text(text), ty) if !self.is_settled(ty, text) => return None,
            _ => {
                let value = self.bound.literal_value(self.view, literal, ty).ok()?;
                return constant(ty, &value);
            }
        };
        Some(Operand::Constant(crate::session::Parameter { ty: PgType::new(ty.oid), value }))
    }

    /// Whether the texts of a type's values mean the same whenever the statement runs natively. What reads a moment does so
    /// for sessions of one time zone alone ([`super::Fast::run`]), so that this one has to be of it.
    fn is_read_alike(&self, ty: u32) -> bool {
        ALIKE.contains(&ty) || ty == oid::TIMESTAMPTZ && !self.view.scope.is_away()
    }

    fn is_settled(&self, ty: u32, text: &str) -> bool {
        let is_time = [oid::DATE, oid::TIME, oid::TIMESTAMP, oid::TIMESTAMPTZ].contains(&ty);
        self.is_read_alike(ty) && (!is_time || is_fixed(text))
    }

    /// What an expression comes to that is the same whenever it is asked.
    fn calculated(&self, id: ExprId) -> Option<Operand> {
        let mut is_settled = true;
        self.tree.visit(id, 0, &mut |id, _| {
            let ty = self.tree.ty(id).oid;
            is_settled &= match self.tree.expr(id) {
                Expr::Literal(Literal::Text(text)) => self.is_settled(ty, text),
                Expr::Literal(_) | Expr::Relabel(_) => self.is_read_alike(ty),
                Expr::Call(call) => self.is_read_alike(ty) && !call.set && is_immutable(call.proc),
                Expr::Op(op) => self.is_read_alike(ty) && !op.set && is_immutable(op.proc),
                _ => false,
            };
            is_settled
        });
        if !is_settled {
            return None;
        }
        // What it refuses is refused where the statement is made into steps.
        let value = self.bound.constant(self.view, self.id, id).ok()?;
        constant(self.tree.ty(id), &value)
    }
}

/// Whether a text means one value of a type of times: words like `today` mean another one tomorrow.
fn is_fixed(text: &str) -> bool {
    !text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether the rows of an entry are those of its table and of no other.
fn is_alone(view: &View, bound: &Bound, id: QueryId, entry: usize) -> bool {
    let Some(table) = bound.table(id, entry) else { return false };
    let families = view.objects.families();
    bound.family(id, entry).is_none()
        && families.below(table.schema.id).is_empty()
        && families.divided(table.schema.id).is_none()
}

fn constant(ty: TypeRef, value: &Datum<'_>) -> Option<Operand> {
    let ty = PgType::new(ty.oid);
    let value = stored::stored(value, ty.engine()?).ok()?;
    Some(Operand::Constant(crate::session::Parameter { ty, value }))
}

fn is_immutable(proc: u32) -> bool {
    catalog().proc(proc).is_some_and(|proc| proc.volatility == Volatility::Immutable)
}

/// Types whose values' texts mean the same in all sessions that the native tier serves.
const ALIKE: [u32; 15] = [
    oid::BOOL,
    oid::INT2,
    oid::INT4,
    oid::INT8,
    oid::FLOAT4,
    oid::FLOAT8,
    oid::NUMERIC,
    oid::TEXT,
    oid::VARCHAR,
    oid::BPCHAR,
    oid::BYTEA,
    oid::UUID,
    oid::DATE,
    oid::TIME,
    oid::TIMESTAMP,
];
