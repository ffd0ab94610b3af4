//! Expressions.

use super::level::Clause;
use super::targets::COLUMNS_MAX;
use super::{At, Binder};
use crate::ast::{self, Expr as Raw, Like, Literal as Written, Name, OpName, Path};
use crate::bound::{Expr, ExprId, Form, Literal, NullTest, Op, collation_named};
use crate::catalog::oids;
use crate::resolve::{self, Context};
use crate::{Error, Oid, Result, TypeRef};

/// bit
const BIT: Oid = 1560;
/// numeric
const NUMERIC: Oid = 1700;

impl Binder<'_> {
    /// An expression in the clause that is being bound.
    pub(super) fn expr(&mut self, id: ast::ExprId) -> Result<ExprId> {
        self.deeper(|b| b.expr_here(id))
    }

    /// An expression in a clause.
    pub(super) fn expr_in(&mut self, id: ast::ExprId, clause: Clause) -> Result<ExprId> {
        let before = std::mem::replace(&mut self.level().clause, clause);
        let made = self.expr(id);
        self.level().clause = before;
        made
    }

    fn expr_here(&mut self, id: ast::ExprId) -> Result<ExprId> {
        let tree = self.tree;
        let place = tree.place(id);
        match tree.expr(id) {
            Raw::Literal(written) => Ok(self.written(written, place)),
            Raw::Param(number) => self.parameter(*number, place),
            Raw::Column(path) => self.column(path, place),
            Raw::Star(path) => self.row_of_star(path, place),
            Raw::Steps(base, steps) => self.steps(*base, steps, place),
            Raw::Cast(value, name) => self.cast(*value, name, place),
            Raw::Collate(value, name) => self.collate(*value, name, place),
            Raw::Op(op, left, right) => self.op(op, *left, *right, place),
            Raw::OpArray(op, left, right, all) => {
                let (left, right) = (self.expr(*left)?, self.expr(*right)?);
                self.array_op(operator_name(op), left, right, *all, place)
            }
            Raw::OpQuery(op, left, query, all) => {
                self.quantified(id, operator_name(op), *left, *query, *all, place)
            }
            Raw::In(left, list, not) => self.in_list(*left, list, *not, place),
            Raw::InQuery(left, query) => self.quantified(id, "=", *left, *query, false, place),
            Raw::Like(kind, not, value, pattern, escape) => {
                self.like(*kind, *not, *value, *pattern, *escape, place)
            }
            Raw::Between { not, symmetric, value, low, high } => {
                self.between(*not, *symmetric, [*value, *low, *high], place)
            }
            Raw::Distinct(left, right, not) => self.distinct(*left, *right, *not, place),
            Raw::Is(value, is, not) => self.is(*value, *is, *not, place),
            Raw::And(all) => self.connected(all, "AND", place),
            Raw::Or(all) => self.connected(all, "OR", place),
            Raw::Not(value) => self.not(*value, place),
            Raw::NullIf(left, right) => self.null_if(*left, *right, place),
            Raw::Case(operand, arms, otherwise) => self.case(*operand, arms, *otherwise, place),
            Raw::Coalesce(values) => {
                let last_set = self.level_ref().last_set;
                let values = self.all(values)?;
                let (values, ty) = self.common(&values, "COALESCE")?;
                self.no_sets_since(last_set, "COALESCE")?;
                Ok(self.out.add(Expr::Coalesce(values), ty, place))
            }
            Raw::Greatest(values) => self.greatest(values, false, place),
            Raw::Least(values) => self.greatest(values, true, place),
            Raw::Row(values, _) => {
                let values = self.row_values(values)?;
                if values.len() > COLUMNS_MAX {
                    let text = format!("ROW expressions can have at most {COLUMNS_MAX} entries");
                    return Err(Error::new("54011", text)).at(place);
                }
                let names = (1..=values.len()).map(|n| Name::from(format!("f{n}"))).collect();
                Ok(self.out.add(Expr::Row(values, names), TypeRef::new(oids::RECORD), place))
            }
            Raw::Array(values) => self.array(values, None, place),
            Raw::ArrayQuery(query) => self.array_query(id, *query, place),
            Raw::Exists(query) => self.exists(id, *query, place),
            Raw::Query(query) => self.value_query(id, *query, place),
            Raw::Call(call) => self.call(call, place),
            Raw::SqlValue(value, precision) => Ok(self.sql_value(*value, *precision, place)),
            Raw::Grouping(values) => self.grouping(values, place),
            Raw::Xml(xml) => self.xml(xml, place),
            Raw::CurrentOf(name) => {
                let current = Expr::CurrentOf(self.level_ref().target, name.clone());
                Ok(self.out.add(current, TypeRef::new(oids::BOOL), place))
            }
            Raw::Default => {
                let text = "DEFAULT is not allowed in this context";
                Err(Error::new("42601", text)).at(place)
            }
        }
    }

    fn not(&mut self, value: ast::ExprId, place: Option<u32>) -> Result<ExprId> {
        let value = self.expr(value)?;
        let value = self.boolean(value, "NOT")?;
        Ok(self.out.add(Expr::Not(value), TypeRef::new(oids::BOOL), place))
    }

    pub(super) fn all(&mut self, ids: &[ast::ExprId]) -> Result<Vec<ExprId>> {
        ids.iter().map(|id| self.expr(*id)).collect()
    }

    fn written(&mut self, written: &Written, place: Option<u32>) -> ExprId {
        let (literal, oid) = match written {
            Written::Null => (Literal::Null, oids::UNKNOWN),
            Written::Bool(value) => (Literal::Bool(*value), oids::BOOL),
            Written::Int(value) => (Literal::Int(*value), oids::INT4),
            Written::Number(digits) => match digits.parse::<i64>() {
                Ok(value) => match i32::try_from(value) {
                    Ok(value) => (Literal::Int(value), oids::INT4),
                    Err(_) => (Literal::Int8(value), oids::INT8),
                },
                Err(_) => (Literal::Numeric(digits.clone()), NUMERIC),
            },
            Written::Text(text) => (Literal::Text(text.clone()), oids::UNKNOWN),
            Written::Bits(digits) => (Literal::Bits(digits.clone(), false), BIT),
            Written::Hex(digits) => (Literal::Bits(digits.clone(), true), BIT),
        };
        self.literal(literal, oid, place)
    }

    fn parameter(&mut self, number: i32, place: Option<u32>) -> Result<ExprId> {
        if let Some(found) = self.routine_parameter(number, place)? {
            return Ok(found);
        }
        let text = || format!("there is no parameter ${number}");
        // COPY has none.
        let is_copy = self.levels.last().is_some_and(|level| level.clause == Clause::CopyWhere);
        let at = usize::try_from(number).ok().filter(|at| !is_copy && (1..=65535).contains(at));
        let at = at.ok_or_else(|| Error::new("42P02", text())).at(place)?;
        if self.out.parameters.len() < at {
            self.out.parameters.resize(at, 0);
        }
        let known = &mut self.out.parameters[at - 1];
        if *known == 0 {
            *known = oids::UNKNOWN;
        }
        let ty = TypeRef::new(*known);
        Ok(self.out.add(Expr::Param(number), ty, place))
    }

    fn cast(
        &mut self,
        value: ast::ExprId,
        name: &ast::TypeName,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let target = self.type_of(name)?;
        // The elements of ARRAY[…] are of the type that it is cast to.
        let value = match self.tree.expr(value) {
            Raw::Array(values) if self.catalog.base_element(target.oid).is_some() => {
                let (base, modifier) = self.catalog.base(target.oid, target.modifier);
                let array = TypeRef { oid: base, modifier };
                self.array(values, Some(array), self.tree.place(value))?
            }
            _ => self.expr(value)?,
        };
        if self.out.ty(value).oid == 0 {
            return Ok(value);
        }
        let at = place.or(Some(name.place));
        let before = std::mem::replace(&mut self.cast_at, at);
        self.form = Form::Cast;
        let made = self.cast_to(value, target, Context::Explicit).at(at);
        (self.cast_at, self.form) = (before, Form::Implicit);
        made
    }

    /// A cast that must be there.
    pub(super) fn cast_to(
        &mut self,
        value: ExprId,
        target: TypeRef,
        context: Context,
    ) -> Result<ExprId> {
        let operand = self.operand(value);
        match resolve::convert(self.catalog, operand, target, context)? {
            Some(conversion) => self.converted(value, &conversion),
            None => Err(resolve::cast_error(self.catalog, operand.ty.oid, target.oid)),
        }
    }

    fn collate(&mut self, value: ast::ExprId, name: &Path, place: Option<u32>) -> Result<ExprId> {
        let mut value = self.expr(value)?;
        let ty = self.out.ty(value);
        if ty.oid == oids::UNKNOWN {
            let conversion = resolve::to_text(self.catalog, self.operand(value))?;
            value = self.converted(value, &conversion)?;
        } else if !self.is_collatable(ty.oid) {
            let shown = self.catalog.shown(ty.oid);
            let text = format!("collations are not supported by type {shown}");
            return Err(Error::new("42804", text)).at(place);
        }
        let ty = self.out.ty(value);
        let name = name.last().expect("a name");
        if collation_named(name).is_none() {
            let text = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
            return Err(Error::new("42704", text)).at(place);
        }
        Ok(self.out.add(Expr::Collate(value, name.clone()), ty, place))
    }

    /// Strings, names, and arrays and domains of them.
    pub(super) fn is_collatable(&self, oid: Oid) -> bool {
        self.catalog.collation(oid) != 0
    }

    fn op(
        &mut self,
        op: &OpName,
        left: Option<ast::ExprId>,
        right: ast::ExprId,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let name = operator_name(op);
        if let Some(left) = left {
            match (self.tree.expr(left), self.tree.expr(right)) {
                (Raw::Row(..), Raw::Query(query)) => {
                    return self.row_query(right, name, left, *query, place);
                }
                (Raw::Row(..), Raw::Row(..)) => {
                    let (left, right) = (self.expr(left)?, self.expr(right)?);
                    return self.compare_rows(name, left, right, place);
                }
                _ => {}
            }
        }
        // A chain to the left is as long as it likes.
        let left = left.map(|left| self.expr(left)).transpose()?;
        let right = self.expr(right)?;
        self.operator(name, left, right, place)
    }

    /// An operator between bound operands.
    pub(super) fn operator(
        &mut self,
        name: &str,
        left: Option<ExprId>,
        right: ExprId,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let (expr, result) = self.operator_call(name, left, right, place)?;
        let is_set = expr.set;
        let made = self.out.add(Expr::Op(expr), TypeRef::new(result), place);
        if is_set {
            self.set_here(made)?;
        }
        Ok(made)
    }

    pub(super) fn operator_call(
        &mut self,
        name: &str,
        left: Option<ExprId>,
        right: ExprId,
        place: Option<u32>,
    ) -> Result<(Op, Oid)> {
        let operands = (left.map(|left| self.operand(left)), self.operand(right));
        let found = resolve::operator(self.catalog, name, operands.0, operands.1)
            .map_err(|error| Self::resolution_error(error, place))?;
        let mut args = Vec::new();
        for (arg, conversion) in left.into_iter().chain([right]).zip(&found.operands) {
            args.push(self.converted(arg, conversion)?);
        }
        let set = self.catalog.proc(found.proc).is_some_and(|proc| proc.retset);
        Ok((Op { operator: found.operator, proc: found.proc, args, set }, found.result))
    }

    fn array_op(
        &mut self,
        name: &str,
        left: ExprId,
        right: ExprId,
        all: bool,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let operands = (self.operand(left), self.operand(right));
        let found = resolve::any_operator(self.catalog, name, operands.0, operands.1)
            .map_err(|error| Self::resolution_error(error, place))?;
        let left = self.converted(left, &found.operands[0])?;
        let right = self.converted(right, &found.operands[1])?;
        let op =
            Op { operator: found.operator, proc: found.proc, args: vec![left, right], set: false };
        Ok(self.out.add(Expr::ArrayOp(op, all), TypeRef::new(oids::BOOL), place))
    }

    fn in_list(
        &mut self,
        left: ast::ExprId,
        list: &[ast::ExprId],
        not: bool,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let name = if not { "<>" } else { "=" };
        let is_row = matches!(self.tree.expr(left), Raw::Row(..));
        let left = self.expr(left)?;
        let (mut constants, mut others) = (Vec::new(), Vec::new());
        let all = self.all(list)?;
        for item in all.iter().copied() {
            match self.has_vars(item) {
                true => others.push(item),
                false => constants.push(item),
            }
        }
        let bool = TypeRef::new(oids::BOOL);
        let mut made = Vec::new();
        let types: Vec<Oid> =
            [&left].into_iter().chain(&constants).map(|id| self.out.ty(*id).oid).collect();
        let common = match constants.len() {
            0 | 1 => None,
            _ => resolve::try_common_type(self.catalog, &types),
        };
        let array = common
            .filter(|common| *common != oids::RECORD)
            .and_then(|common| Some((common, self.catalog.array_of(common)?)));
        // Without an array all are compared in their order.
        let mut single = all;
        if let Some((element, array)) = array {
            let items = self.all_common(&constants, element, "IN")?;
            let array = self.out.add(Expr::Array(items, false), TypeRef::new(array), None);
            made.push(self.array_op(name, left, array, not, place)?);
            single = others;
        }
        for item in single {
            let left = self.copy_of_open(left);
            let both_rows = is_row && matches!(self.out.expr(item), Expr::Row(..));
            let compared = match both_rows {
                true => self.compare_rows(name, left, item, place)?,
                false => self.operator(name, Some(left), item, place)?,
            };
            made.push(self.boolean(compared, "IN")?);
        }
        if let [one] = made[..] {
            return Ok(one);
        }
        let all = if not { Expr::And(made) } else { Expr::Or(made) };
        Ok(self.out.add(all, bool, place))
    }

    /// A parameter without a type gets one at each comparison; they must agree in the end.
    fn copy_of_open(&mut self, id: ExprId) -> ExprId {
        let (ty, place) = (self.out.ty(id), self.out.place(id));
        let copy = match self.out.expr(id).clone() {
            Expr::Row(fields, names) => {
                let fields = fields.into_iter().map(|field| self.copy_of_open(field)).collect();
                Expr::Row(fields, names)
            }
            Expr::Param(number) => Expr::Param(number),
            _ => return id,
        };
        self.out.add(copy, ty, place)
    }

    fn like(
        &mut self,
        kind: Like,
        not: bool,
        value: ast::ExprId,
        pattern: ast::ExprId,
        escape: Option<ast::ExprId>,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let name = match (kind, not) {
            (Like::Like, false) => "~~",
            (Like::Like, true) => "!~~",
            (Like::Ilike, false) => "~~*",
            (Like::Ilike, true) => "!~~*",
            (Like::Similar, false) => "~",
            (Like::Similar, true) => "!~",
        };
        let value = self.expr(value)?;
        let mut arguments = vec![self.expr(pattern)?];
        if let Some(escape) = escape {
            arguments.push(self.expr(escape)?);
        }
        let pattern = match (kind, escape) {
            (Like::Similar, _) => self.system_call("similar_to_escape", arguments, place)?,
            (_, Some(_)) => self.system_call("like_escape", arguments, place)?,
            (_, None) => arguments[0],
        };
        self.operator(name, Some(value), pattern, place)
    }

    fn between(
        &mut self,
        not: bool,
        symmetric: bool,
        [value, low, high]: [ast::ExprId; 3],
        place: Option<u32>,
    ) -> Result<ExprId> {
        let bool = TypeRef::new(oids::BOOL);
        let mut range = |low: ast::ExprId, high: ast::ExprId| {
            // Each comparison has a value of its own.
            let mut made = Vec::new();
            let names = if not { ["<", ">"] } else { [">=", "<="] };
            for (name, limit) in names.into_iter().zip([low, high]) {
                let (left, right) = (self.expr(value)?, self.expr(limit)?);
                let compared = self.operator(name, Some(left), right, place)?;
                made.push(self.boolean(compared, if not { "OR" } else { "AND" })?);
            }
            let both = if not { Expr::Or(made) } else { Expr::And(made) };
            Ok(self.out.add(both, bool, place))
        };
        let first = range(low, high)?;
        if !symmetric {
            return Ok(first);
        }
        let second = range(high, low)?;
        let both = vec![first, second];
        let both = if not { Expr::And(both) } else { Expr::Or(both) };
        Ok(self.out.add(both, bool, place))
    }

    fn distinct(
        &mut self,
        left: ast::ExprId,
        right: ast::ExprId,
        not: bool,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let null = |id| matches!(self.tree.expr(id), Raw::Literal(Written::Null));
        let bool = TypeRef::new(oids::BOOL);
        let tested = match (null(left), null(right)) {
            (_, true) => Some(left),
            (true, false) => Some(right),
            (false, false) => None,
        };
        if let Some(tested) = tested {
            let value = self.expr(tested)?;
            // Only IS NULL of a row asks its fields.
            let test = NullTest { value, not: !not, row: false };
            return Ok(self.out.add(Expr::NullTest(test), bool, place));
        }
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        let rows = matches!(self.out.expr(left), Expr::Row(..))
            && matches!(self.out.expr(right), Expr::Row(..));
        let found = match rows {
            true => self.rows_distinct(left, right, place)?,
            false => self.pair_distinct(left, right, place)?,
        };
        match not {
            true => Ok(self.out.add(Expr::Not(found), bool, place)),
            false => Ok(found),
        }
    }

    pub(super) fn pair_distinct(
        &mut self,
        left: ExprId,
        right: ExprId,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let (op, result) = self.operator_call("=", Some(left), right, place)?;
        if result != oids::BOOL {
            let text = "IS DISTINCT FROM requires = operator to yield boolean";
            return Err(Error::new("42804", text)).at(place);
        }
        Ok(self.out.add(Expr::Distinct(op), TypeRef::new(oids::BOOL), place))
    }

    fn is(
        &mut self,
        value: ast::ExprId,
        is: ast::Is,
        not: bool,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let bool = TypeRef::new(oids::BOOL);
        let value = self.expr(value)?;
        if is == ast::Is::Null {
            let ty = self.out.ty(value).oid;
            let row = ty == oids::RECORD || self.catalog.is_composite(ty);
            return Ok(self.out.add(Expr::NullTest(NullTest { value, not, row }), bool, place));
        }
        let name = match (is, not) {
            (ast::Is::True, false) => "IS TRUE",
            (ast::Is::True, true) => "IS NOT TRUE",
            (ast::Is::False, false) => "IS FALSE",
            (ast::Is::False, true) => "IS NOT FALSE",
            (_, false) => "IS UNKNOWN",
            (_, true) => "IS NOT UNKNOWN",
        };
        let value = self.boolean(value, name)?;
        Ok(self.out.add(Expr::BoolTest(value, is, not), bool, place))
    }

    fn connected(&mut self, ids: &[ast::ExprId], name: &str, place: Option<u32>) -> Result<ExprId> {
        let mut made = Vec::with_capacity(ids.len());
        for id in ids {
            let value = self.expr(*id)?;
            made.push(self.boolean(value, name)?);
        }
        let expr = if name == "AND" { Expr::And(made) } else { Expr::Or(made) };
        Ok(self.out.add(expr, TypeRef::new(oids::BOOL), place))
    }
}

/// The operator's name; schemas before it do not matter, there is one.
pub(super) fn operator_name(op: &OpName) -> &str {
    &op.name
}
