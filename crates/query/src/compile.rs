//! How does a bound expression become a node?

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use onlap_kernels::time::clock;
use onlap_kernels::{Col, Cx, Datum, Given, Repr, Types, find, repr};
use onlap_pg::ast::{Is, SqlValue};
use onlap_pg::bound::{Bound, EntryKind, Expr, ExprId, Literal, Lock, Op, QueryId, SubKind, Xml};
use onlap_pg::catalog::{Volatility, oids};
use onlap_pg::{Error, Oid, Result, TypeRef};
use parking_lot::Mutex;

use crate::apply::{Ask, Quantor, Results, SubQuery};
use crate::build::Rel;
use crate::collation::{self, Collision, Undetermined};
use crate::containers::{Elements, FieldOf, RowOf};
use crate::effects::Effect;
use crate::env::{Env, Tables, Wanted};
use crate::layout::{CALCULATED, Layout, PRESENT, Var};
use crate::logic::{RowCompare, Which};
use crate::node::{Call, Node, Rows, Slots};
use crate::recursion::{Shared, Working};
use crate::semi::Link;
use crate::within::Told;

/// A query that is being made into steps.
pub struct Frame {
    /// The query.
    pub query: QueryId,
    /// Whether functions may change the rows that it writes: [`crate::change::Whole::fired`].
    pub fired: bool,
    /// Whether each row is written before the next one is calculated: [`crate::change::Whole::one_by_one`].
    pub one_by_one: bool,
    /// Where the columns of what is being calculated lie.
    pub layout: Layout,
    /// What the query is told by those around it, where it is run once per set of such values.
    pub boundary: Option<Boundary>,
    /// The position of the value that a placeholder stands for.
    pub placeholders: Vec<usize>,
    /// Values of placeholders that are constant, by their positions.
    pub known: Vec<(usize, ArrayRef)>,
    /// How many queries deeper an aggregate is written that is being made for this one.
    pub deeper: u32,
    /// Whether DISTINCT ON is done.
    pub is_distinct: bool,
    /// The position of the first column of the subquery that a test is about.
    pub sub_columns: Option<usize>,
    /// Queries of WITH that are shared, by name.
    pub shared: Vec<(String, Shared)>,
    /// The rows of the step before, in a recursive query: by the name of WITH.
    pub working: Vec<(String, Working)>,
    /// Columns of queries around it that it uses: levels up, the column, its type.
    pub outer: Vec<(u32, Var, TypeRef)>,
    /// Queries whose rows fill several columns of UPDATE.
    pub row_queries: Vec<ExprId>,
    /// Whether the rows are in the order of ORDER BY already.
    pub sorted: bool,
    /// What lateral items see of those before them, the innermost last.
    pub lateral: Vec<Lateral>,
    /// What the query around it tells it.
    pub told: Told,
    /// Conditions in its WHERE that are not asked; it gives their keys.
    pub links: Vec<Link>,
    /// Other such conditions; it gives the columns that they name.
    pub rest: Vec<ExprId>,
    /// Queries in its expressions that use no outer values.
    pub results: Vec<(QueryId, Arc<Results>)>,
    /// Lists of constants in its expressions, as arrays.
    pub lists: Vec<(ExprId, ArrayRef)>,
    /// What is done with the rows of its only table.
    pub wanted: Wanted,
    /// How all its tables are locked, where it is a view's query and the view is locked.
    pub lock: Option<Lock>,
}

/// The left side of a lateral join, as its right side sees it.
pub struct Lateral {
    /// The columns of the left.
    pub layout: Layout,
    /// Where their values are put, row by row.
    pub slots: Slots,
    /// The columns that the right side uses, in the order of slots.
    pub wanted: Vec<usize>,
}

impl Frame {
    /// The frame of a query.
    pub fn new(query: QueryId, boundary: Option<Boundary>) -> Frame {
        Frame {
            query,
            fired: false,
            one_by_one: false,
            layout: Layout::default(),
            boundary,
            placeholders: Vec::new(),
            known: Vec::new(),
            deeper: 0,
            is_distinct: false,
            sub_columns: None,
            shared: Vec::new(),
            working: Vec::new(),
            outer: Vec::new(),
            row_queries: Vec::new(),
            sorted: false,
            lateral: Vec::new(),
            told: Told::default(),
            links: Vec::new(),
            rest: Vec::new(),
            results: Vec::new(),
            lists: Vec::new(),
            wanted: Wanted::default(),
            lock: None,
        }
    }
}

/// The outer values of a query.
#[derive(Default)]
pub struct Boundary {
    /// Their values, while the query runs.
    pub slots: Slots,
    /// Whose: levels up from the query, the entry's column, its type.
    pub wanted: Vec<(u32, Var, TypeRef)>,
}

/// Makes steps and nodes.
pub struct Compiler<'a> {
    /// The statement.
    pub bound: &'a Bound,
    /// What its expressions share.
    pub env: Arc<Env>,
    /// What it reads.
    pub tables: &'a dyn Tables,
    /// What the parts of the statement share, where its WITH changes rows.
    pub carried: Option<&'a crate::carried::Carried>,
    /// The queries that are being made, the outermost first.
    pub frames: Vec<Frame>,
}

/// Stack that the next level of an expression needs, and pieces of it.
pub const RED_ZONE: usize = 128 << 10;
pub const MORE_STACK: usize = 2 << 20;

/// What is not there yet, at its place.
pub fn unsupported(what: impl Into<String>) -> Error {
    Error::unserved(format!("{} is not supported yet", what.into()))
}

/// Whether a node has a part that could not be calculated although all it is made of is constant.
fn fails(node: &Node) -> bool {
    let children = node.children();
    let all_const = !children.is_empty() && children.iter().all(|c| matches!(c, Node::Const(_)));
    // A function that always gives an error has given it already; others are calculated for rows alone.
    let is_tried = !matches!(node, Node::Call(_));
    (is_tried && all_const) || children.into_iter().any(fails)
}

/// A call of a comparison, which refuses where it has not the collation that it needs.
pub fn refusing_where(what: Option<&'static str>, mut call: Call) -> Call {
    if let Some(what) = what {
        call.kernel = Box::new(Undetermined::strict(what, 2, call.ty.clone()));
    }
    call
}

impl Compiler<'_> {
    /// The query that is being made.
    pub fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a query is being made")
    }

    /// Where the columns lie of what is being calculated.
    pub fn layout(&self) -> &Layout {
        &self.frames.last().expect("a query is being made").layout
    }

    /// The representation of a type.
    pub fn repr(&self, oid: Oid) -> Result<Repr> {
        repr(&self.env.catalog, oid).ok_or_else(|| crate::node::unserved(&self.env, oid))
    }

    /// The Arrow type of a type.
    pub fn arrow(&self, oid: Oid) -> Result<DataType> {
        Ok(onlap_kernels::arrow_type(self.repr(oid)?))
    }

    /// The node of an expression over the columns that the frame's layout has.
    ///
    /// # Errors
    /// `0A000` for what has no kernel; errors of literals, with their places.
    pub fn node(&mut self, id: ExprId) -> Result<Node> {
        let made = stacker::maybe_grow(RED_ZONE, MORE_STACK, || self.node_here(id));
        made.map_err(|e| match (e.position, self.bound.place(id)) {
            (None, Some(place)) if e.unserved => e.at(place),
            _ => e,
        })
    }

    /// The nodes of several.
    pub fn nodes(&mut self, ids: &[ExprId]) -> Result<Vec<Node>> {
        ids.iter().map(|id| self.node(*id)).collect()
    }

    fn node_here(&mut self, id: ExprId) -> Result<Node> {
        let known = &self.layout().exprs;
        let found = known.iter().find(|(known, _)| *known == id);
        let found = found.or_else(|| known.iter().find(|(known, _)| self.bound.same(*known, id)));
        if let Some((_, at)) = found {
            return Ok(Node::Column(*at));
        }
        let bound = self.bound;
        let ty = bound.ty(id);
        match bound.expr(id) {
            Expr::Var { entry, column, up } => self.var((*entry, *column), *up, ty),
            Expr::Literal(literal) => self.literal(literal, ty, bound.place(id)),
            Expr::Param(number) => {
                let value =
                    usize::try_from(*number - 1).ok().and_then(|at| self.env.params.get(at));
                let missing = || Error::new("42P02", format!("there is no parameter ${number}"));
                let value = value.cloned().ok_or_else(missing)?;
                self.constant(ty.oid, &value)
            }
            Expr::SubColumn(n) => {
                let first = self.frame().sub_columns.expect("a test of a subquery is being made");
                Ok(Node::Column(first + n - 1))
            }
            Expr::Placeholder => {
                let at = self.frame().placeholders.last().copied();
                let at = at.expect("a value has been put in a placeholder's place");
                let known = self.frame().known.iter().find(|(known, _)| *known == at);
                Ok(known.map_or(Node::Column(at), |(_, value)| Node::Const(Arc::clone(value))))
            }
            Expr::Call(call) if self.is_made(call.proc) => self.made_call(call, ty),
            Expr::Call(call) => {
                let (nodes, types) = self.arguments(call)?;
                if let Some(what) = self.undetermined(id, call.proc) {
                    return self.refusing(what, nodes, ty);
                }
                if call.proc == collation::COLLATION_FOR {
                    let named = collation::named(self.bound, &self.env.catalog, id, types[0].oid)?;
                    return self.constant(ty.oid, &named);
                }
                let row = self.env.catalog.proc(call.proc);
                match call.variadic && row.is_some_and(|row| row.variadic == oids::ANY) {
                    true => self.spread_call(call.proc, nodes, types, ty),
                    false => self.called_as(call.proc, nodes, types, ty),
                }
            }
            Expr::Op(op) => {
                let nodes = self.nodes(&op.args)?;
                if let Some(what) = self.undetermined(id, op.proc) {
                    return self.refusing(what, nodes, ty);
                }
                self.called_as(op.proc, nodes, self.types_of(&op.args), ty)
            }
            Expr::Distinct(op) => Ok(Node::Distinct(Box::new(self.operator(id, op)?))),
            Expr::NullIf(op) => Ok(Node::NullIf(Box::new(self.operator(id, op)?))),
            Expr::ArrayOp(op, all) => self.array_op(id, op, *all),
            Expr::And(all) => self.connected(id, all, false),
            Expr::Or(all) => self.connected(id, all, true),
            Expr::Not(one) => Ok(Node::Not(Box::new(self.node(*one)?))),
            Expr::Case(operand, arms, otherwise) => self.case(*operand, arms, *otherwise, ty),
            Expr::Coalesce(all) => self.coalesce(all, ty),
            Expr::Greatest(all, least) => {
                onlap_kernels::array::ordering(&self.env.catalog, ty.oid)?;
                let collide = collation::collides(self.bound, &self.env.catalog, id);
                let which = Which { least: *least, collide, ty: ty.oid };
                Ok(Node::Greatest(self.nodes(all)?, which))
            }
            Expr::SqlValue(value, precision) => self.sql_value(*value, *precision, ty),
            Expr::Xml(xml) => self.xml(xml, ty),
            Expr::NullTest(test) => {
                let value = Box::new(self.node(test.value)?);
                Ok(match test.row {
                    true => Node::RowTest(value, test.not),
                    false => Node::NullTest(value, test.not),
                })
            }
            Expr::BoolTest(value, is, not) => {
                let is = match is {
                    Is::True => Some(true),
                    Is::False => Some(false),
                    Is::Unknown | Is::Null => None,
                };
                Ok(Node::BoolTest(Box::new(self.node(*value)?), is, *not))
            }
            Expr::Relabel(one) | Expr::Collate(one, _) => self.relabelled(*one, ty),
            Expr::ViaText(one) => {
                let from = bound.ty(*one).oid;
                let value = Box::new(self.node(*one)?);
                self.folded(Node::ViaText(value, from, ty.oid), false)
            }
            Expr::Elements(array, each) => self.elements(*array, *each, ty),
            Expr::Array(all, nested) => self.array(id, all, *nested, ty),
            Expr::Row(all, names) => {
                let types: Vec<Oid> = self.types_of(all).iter().map(|ty| ty.oid).collect();
                let reprs = types.iter().map(|oid| self.repr(*oid)).collect::<Result<_>>()?;
                let values = self.nodes(all)?;
                Ok(Node::Row(Box::new(RowOf { values, types, reprs, names: names_of(names) })))
            }
            Expr::Field(row, field) => {
                let repr = self.repr(ty.oid)?;
                let of = (self.bound.ty(*row).oid, ty.oid);
                let row = self.node(*row)?;
                Ok(Node::Field(Box::new(FieldOf { row, field: *field, of, repr })))
            }
            Expr::Subscript(part) => self.part(part, ty),
            Expr::RowCompare(order, operators, left, right) => {
                self.row_compare(id, *order, operators, left, right)
            }
            Expr::SubQuery(sub) => self.subquery(sub, ty),
            Expr::Domain(one) => self.domain(*one, ty),
            Expr::Grouping(_, _, up) => self.calculated(id, *up, ty, "GROUPING here"),
            Expr::Aggregate(call) => self.calculated(id, call.up, ty, "an aggregate here"),
            Expr::WindowCall(_) => Err(unsupported("a call over a window here")),
            Expr::StoreFields(row, values, numbers) => self.store_fields(*row, values, numbers, ty),
            Expr::ConvertRow(_) => Err(unsupported("a conversion of rows")),
            Expr::RowColumn(number, at) => self.row_column(*number, *at, ty),
            // What it is comes later.
            Expr::Default => self.constant(ty.oid, &Datum::Null),
            Expr::CurrentOf(..) => Err(unsupported("WHERE CURRENT OF")),
        }
    }

    /// COALESCE. What comes after a constant is not looked at.
    fn coalesce(&mut self, ids: &[ExprId], ty: TypeRef) -> Result<Node> {
        let mut arms = Vec::with_capacity(ids.len());
        for id in ids {
            match self.node(*id)? {
                Node::Const(value) if value.is_null(0) => {}
                node => {
                    let ends = matches!(node, Node::Const(_));
                    arms.push(node.into_arm());
                    if ends {
                        break;
                    }
                }
            }
        }
        let arrow = self.arrow(ty.oid)?;
        Ok(match arms.len() {
            0 => self.constant(ty.oid, &Datum::Null)?,
            1 => arms.remove(0).node,
            _ => Node::Coalesce(arms, arrow),
        })
    }

    /// Whether a function always gives the same for the same arguments.
    pub fn is_immutable(&self, proc: Oid) -> bool {
        let proc = self.env.catalog.proc(proc);
        proc.is_some_and(|proc| proc.volatility == Volatility::Immutable)
    }

    /// The types of expressions.
    pub fn types_of(&self, ids: &[ExprId]) -> Vec<TypeRef> {
        ids.iter().map(|id| self.bound.ty(*id)).collect()
    }

    /// The type of an array's elements.
    pub fn element(&self, array: Oid) -> Result<Oid> {
        let element = self.env.catalog.base_element(array);
        element.ok_or_else(|| crate::node::unserved(&self.env, array))
    }

    /// The arguments in the order of the parameters, with their types; defaults stand for those that were not given.
    pub fn arguments(&mut self, call: &onlap_pg::bound::Call) -> Result<(Vec<Node>, Vec<TypeRef>)> {
        let catalog = Arc::clone(&self.env.catalog);
        let proc = catalog.proc(call.proc).ok_or_else(|| unsupported("this function here"))?;
        let mut places: Vec<Option<ExprId>> = vec![None; proc.arguments.len().max(call.args.len())];
        for (n, (place, id)) in call.args.iter().enumerate() {
            places[place.unwrap_or(n)] = Some(*id);
        }
        let (mut nodes, mut types) = (Vec::new(), Vec::new());
        for (n, place) in places.into_iter().enumerate() {
            match place {
                Some(id) => {
                    nodes.push(self.node(id)?);
                    types.push(self.bound.ty(id));
                }
                None => {
                    let missing = || unsupported(format!("{}() with defaults", proc.name));
                    let text = proc.default_of(n).ok_or_else(missing)?;
                    let ty = TypeRef::new(proc.arguments[n]);
                    let value = onlap_kernels::input(&mut self.env.cx(), ty, text)?;
                    nodes.push(self.constant(ty.oid, &value)?);
                    types.push(ty);
                }
            }
        }
        Ok((nodes, types))
    }

    /// A call as a value of a type, calculated if it is constant. A strict function of a constant NULL is NULL, whatever its other
    /// arguments are, unless they have a constant that cannot be calculated.
    pub fn called_as(
        &self,
        proc: Oid,
        nodes: Vec<Node>,
        types: Vec<TypeRef>,
        ty: TypeRef,
    ) -> Result<Node> {
        let row = self.env.catalog.proc(proc).expect("the resolver has found it");
        let is_null = |node: &Node| matches!(node, Node::Const(value) if value.is_null(0));
        let none = row.strict && nodes.iter().any(is_null) && !nodes.iter().any(fails);
        // A cast may name a function that gives another type of the same bits, as that of int2 to oid gives int4.
        let own = onlap_kernels::repr(&self.env.catalog, row.result);
        let other = own.is_some_and(|own| self.repr(ty.oid).is_ok_and(|repr| repr != own));
        let given = if other { TypeRef::new(row.result) } else { ty };
        let call = self.call(proc, nodes, types, given)?;
        if none {
            return self.constant(ty.oid, &Datum::Null);
        }
        let node = self.folded(Node::Call(call), self.is_immutable(proc))?;
        match other {
            true => self.folded(Node::ViaText(Box::new(node), given.oid, ty.oid), false),
            false => Ok(node),
        }
    }

    fn xml(&mut self, xml: &Xml, ty: TypeRef) -> Result<Node> {
        let catalog = Arc::clone(&self.env.catalog);
        let types = Types { args: self.types_of(&xml.args), result: ty, catalog };
        let kernel = onlap_kernels::xml::kernel(&types, xml);
        let (args, arrow) = (self.nodes(&xml.args)?, self.arrow(ty.oid)?);
        // PostgreSQL calculates it for rows alone, so that its errors come where there are some.
        Ok(Node::Call(Call { kernel, args, effect: Effect::None, ty: arrow }))
    }

    /// A column, of this query or of one around it.
    pub fn var(&mut self, var: Var, up: u32, ty: TypeRef) -> Result<Node> {
        if var.0 == CALCULATED {
            return self.calculated_outside(var, up, ty);
        }
        let at = self.frames.len() - 1;
        let up = self.seen_from_here(up);
        let owner = at - up as usize;
        let query = self.bound.query(self.frames[owner].query);
        let entry = &query.entries[var.0 - 1];
        if up == 0
            && let Some(column) = self.frames[at].layout.vars.get(&var)
        {
            return Ok(Node::Column(*column));
        }
        self.note_outer(owner, var, ty);
        // The query nearest to here that is run once per set of outer values, and is within the owner.
        let inner = (owner + 1..=at).rev().find(|n| self.frames[*n].boundary.is_some());
        if inner.is_none()
            && let Some(node) = self.of_left(owner, var)
        {
            return Ok(node);
        }
        if up == 0 && var.1 == 0 {
            return self.whole_row(var.0);
        }
        if let EntryKind::Join { columns, .. } = &entry.kind
            && var.1 > 0
            && inner.is_none()
        {
            let column = columns[var.1 as usize - 1];
            return match (up, self.bound.expr(column)) {
                (0, _) => self.node(column),
                (_, Expr::Var { entry, column, up: 0 }) => self.var((*entry, *column), up, ty),
                _ => Err(unsupported("a merged column of a join in a lateral query")),
            };
        }
        if up == 0 {
            return Err(unsupported(match var.1 {
                ..0 => "a system column",
                _ => "this column here",
            }));
        }
        let Some(inner) = inner else {
            return Err(unsupported("a reference to an outer query here"));
        };
        Ok(self.told_from_outside(inner, var, up, ty))
    }

    /// A column of the left side of a lateral join of a query.
    fn of_left(&mut self, owner: usize, var: Var) -> Option<Node> {
        let lateral = self.frames[owner].lateral.iter_mut().rev();
        let (lateral, column) = lateral
            .filter_map(|lateral| lateral.layout.vars.get(&var).copied().map(|at| (lateral, at)))
            .next()?;
        let known = lateral.wanted.iter().position(|at| *at == column);
        let at = known.unwrap_or_else(|| {
            lateral.wanted.push(column);
            lateral.wanted.len() - 1
        });
        Some(Node::Outer(Arc::clone(&lateral.slots), at))
    }

    /// All columns of an entry as a row.
    fn whole_row(&mut self, entry: usize) -> Result<Node> {
        let at = self.frames.len() - 1;
        let query = self.bound.query(self.frames[at].query);
        let types = query.entries[entry - 1].types.clone();
        let names = names_of(match &query.entries[entry - 1].kind {
            EntryKind::Relation { own, .. } => own,
            _ => &query.entries[entry - 1].names,
        });
        let mut values = Vec::with_capacity(types.len());
        let mut reprs = Vec::with_capacity(types.len());
        if types.iter().any(|ty| ty.oid == 0) {
            return Err(unsupported("a row of a table with columns that a view does not know"));
        }
        for (n, ty) in types.iter().enumerate() {
            values.push(self.var((entry, n as i32 + 1), 0, *ty)?);
            reprs.push(self.repr(ty.oid)?);
        }
        let types = types.iter().map(|ty| ty.oid).collect();
        let row = Node::Row(Box::new(RowOf { values, types, reprs, names }));
        match self.frames[at].layout.vars.get(&(entry, PRESENT)) {
            None => Ok(row),
            Some(present) => {
                let there = Node::BoolTest(Box::new(Node::Column(*present)), Some(true), false);
                let none = self.constant(oids::RECORD, &Datum::Null)?;
                let arm = (there.into_arm(), row.into_arm());
                let ty = self.arrow(oids::RECORD)?;
                Ok(Node::Case(vec![arm], Box::new(none.into_arm()), ty))
            }
        }
    }

    /// A constant of a type.
    pub fn constant(&self, oid: Oid, value: &Datum<'_>) -> Result<Node> {
        Ok(Node::Const(self.single(oid, value)?))
    }

    fn single(&self, oid: Oid, value: &Datum<'_>) -> Result<ArrayRef> {
        Datum::column(self.repr(oid)?, [value.clone()].iter())
    }

    fn literal(&self, literal: &Literal, ty: TypeRef, place: Option<u32>) -> Result<Node> {
        self.constant(ty.oid, &self.literal_value(literal, ty, place)?)
    }

    /// The value of a literal of a type.
    pub fn literal_value(
        &self,
        literal: &Literal,
        ty: TypeRef,
        place: Option<u32>,
    ) -> Result<Datum<'static>> {
        let given = Given(&*self.env.session);
        let mut cx = Cx { session: &given, ..self.env.cx() };
        let value = match literal {
            Literal::Null => Ok(Datum::Null),
            Literal::Bool(value) => Ok(Datum::Bool(*value)),
            Literal::Int(value) if self.repr(ty.oid)? == Repr::Int4 => Ok(Datum::Int4(*value)),
            Literal::Int8(value) if self.repr(ty.oid)? == Repr::Int8 => Ok(Datum::Int8(*value)),
            Literal::Int(value) => onlap_kernels::input(&mut cx, ty, &value.to_string()),
            Literal::Int8(value) => onlap_kernels::input(&mut cx, ty, &value.to_string()),
            Literal::Numeric(text) | Literal::Text(text) => onlap_kernels::input(&mut cx, ty, text),
            Literal::Bits(digits, hex) => {
                let text = format!("{}{digits}", if *hex { 'x' } else { 'b' });
                onlap_kernels::input(&mut cx, ty, &text)
            }
        };
        value.map_err(|e| match (e.position, place) {
            (None, Some(place)) => e.at(place),
            _ => e,
        })
    }

    /// The call of a function.
    pub fn call(
        &self,
        proc: Oid,
        args: Vec<Node>,
        types: Vec<TypeRef>,
        result: TypeRef,
    ) -> Result<Call> {
        let row = self.env.catalog.proc(proc).expect("the resolver has found it");
        let Some(make) = find(proc) else {
            let shown = onlap_kernels::signature(&self.env.catalog, row);
            return Err(unsupported(format!("function {shown}")));
        };
        let effect = self.effect_of(row);
        let ty = self.arrow(result.oid)?;
        let types = Types { args: types, result, catalog: Arc::clone(&self.env.catalog) };
        Ok(Call { kernel: make(&types), args, effect, ty })
    }

    /// The comparison that an expression asks for.
    fn operator(&mut self, id: ExprId, op: &Op) -> Result<Call> {
        let types = self.types_of(&op.args);
        let args = self.nodes(&op.args)?;
        let bool = TypeRef::new(oids::BOOL);
        let what = self.undetermined(id, op.proc);
        Ok(refusing_where(what, self.call(op.proc, args, types, bool)?))
    }

    /// What a function of an expression needs a collation for, where it has none.
    pub fn undetermined(&self, id: ExprId, proc: Oid) -> Option<&'static str> {
        collation::undetermined(self.bound, &self.env.catalog, id, proc)
    }

    /// How max or min compares texts, if it does so without a collation; whether it is min.
    pub fn extreme_collides(&self, id: ExprId, proc: Oid) -> Option<(Collision, bool)> {
        collation::extreme_collides(self.bound, &self.env.catalog, id, proc)
    }

    /// The call of a function that has not the collation that it needs.
    fn refusing(&self, what: &'static str, args: Vec<Node>, ty: TypeRef) -> Result<Node> {
        let ty = self.arrow(ty.oid)?;
        let kernel = Box::new(Undetermined::strict(what, args.len(), ty.clone()));
        self.folded(Node::Call(Call { kernel, args, effect: Effect::None, ty }), true)
    }

    /// The same bits as another type: of another representation where the types differ so.
    fn relabelled(&mut self, one: ExprId, ty: TypeRef) -> Result<Node> {
        let from = self.bound.ty(one).oid;
        let node = self.node(one)?;
        self.of_same_bits(node, from, ty.oid)
    }

    /// A value of one type as another that PostgreSQL keeps by the same bits.
    pub fn of_same_bits(&self, node: Node, from: Oid, to: Oid) -> Result<Node> {
        Ok(match (self.repr(from)?, self.repr(to)?) {
            (one, other) if one == other => node,
            // Integers of one width are one bit pattern to PostgreSQL; here oid and int4 have types of their own.
            (Repr::Oid, Repr::Int4) | (Repr::Int4, Repr::Oid) => Node::SameBits(Box::new(node)),
            _ => Node::ViaText(Box::new(node), from, to),
        })
    }

    /// The node as a constant, if it is one already and can be calculated. An error that it always gives comes when the plan
    /// is made, as in PostgreSQL, though no row may reach it (`raises`); what takes much memory waits for the query to run.
    fn folded(&self, node: Node, raises: bool) -> Result<Node> {
        let is_const = match &node {
            Node::Call(call) if call.effect != Effect::None => false,
            node => node.children().iter().all(|child| matches!(child, Node::Const(_))),
        };
        if !is_const {
            return Ok(node);
        }
        match node.eval(&Rows { columns: &[], count: 1 }, &self.env) {
            Ok(Col { array, .. }) => Ok(Node::Const(array)),
            Err(e) if raises && !e.unserved && !matches!(e.state, "53200" | "57014" | "XX000") => {
                Err(e)
            }
            Err(_) => Ok(node),
        }
    }

    fn case(
        &mut self,
        operand: Option<ExprId>,
        arms: &[(ExprId, ExprId)],
        otherwise: ExprId,
        ty: TypeRef,
    ) -> Result<Node> {
        let value = operand.map(|operand| self.node(operand)).transpose()?;
        let at = if value.is_some() { self.new_place() } else { 0 };
        if let Some(Node::Const(value)) = &value {
            self.frame().known.push((at, Arc::clone(value)));
        }
        let made = self.case_arms(arms, otherwise, ty);
        if value.is_some() {
            self.frame().placeholders.pop();
            self.frame().known.retain(|(known, _)| *known != at);
        }
        let body = made?;
        Ok(match value {
            Some(Node::Const(_)) => body,
            Some(value) => Node::With { at, value: Box::new(value), body: Box::new(body) },
            None => body,
        })
    }

    fn case_arms(
        &mut self,
        arms: &[(ExprId, ExprId)],
        otherwise: ExprId,
        ty: TypeRef,
    ) -> Result<Node> {
        let mut made = Vec::with_capacity(arms.len());
        let mut last = otherwise;
        for (when, then) in arms {
            let when = self.node(*when)?;
            match constant_bool(&when) {
                Some(true) => {
                    last = *then;
                    break;
                }
                Some(false) => {}
                None => made.push((when.into_arm(), self.node(*then)?.into_arm())),
            }
        }
        let last = self.node(last)?;
        Ok(match made.is_empty() {
            true => last,
            false => Node::Case(made, Box::new(last.into_arm()), self.arrow(ty.oid)?),
        })
    }

    fn elements(&mut self, array: ExprId, each: ExprId, ty: TypeRef) -> Result<Node> {
        let from = self.element(self.bound.ty(array).oid)?;
        let to = self.element(ty.oid)?;
        let array = self.node(array)?;
        self.frame().placeholders.push(0);
        let each = self.node(each);
        self.frame().placeholders.pop();
        let (from, to) = (self.repr(from)?, (to, self.repr(to)?));
        Ok(Node::Elements(Box::new(Elements { array, each: each?, from, to })))
    }

    fn row_compare(
        &mut self,
        id: ExprId,
        order: onlap_pg::bound::RowOrder,
        operators: &[Oid],
        left: &[ExprId],
        right: &[ExprId],
    ) -> Result<Node> {
        let bool = TypeRef::new(oids::BOOL);
        let mut columns = Vec::with_capacity(operators.len());
        let collations: Option<Box<[Oid]>> = self.bound.row_collations(id).map(Box::from);
        for (at, ((operator, left), right)) in operators.iter().zip(left).zip(right).enumerate() {
            let types = vec![self.bound.ty(*left), self.bound.ty(*right)];
            let less = self.env.catalog.operator(*operator).expect("the resolver has found it");
            let equal = self.env.catalog.operator_exact("=", less.left, less.right);
            let equal = equal.ok_or_else(|| unsupported("this comparison of rows"))?;
            // `<=` decides as `<` does where two columns differ.
            let less = self.call(less.proc, Vec::new(), types.clone(), bool)?;
            let args = vec![self.node(*left)?, self.node(*right)?];
            let none = collations.as_ref().is_some_and(|all| all.get(at) == Some(&0));
            let what = collation::needs(&self.env.catalog, equal.proc).filter(|_| none);
            let equal = refusing_where(what, self.call(equal.proc, args, types, bool)?);
            columns.push((less, equal));
        }
        Ok(Node::RowCompare(Box::new(RowCompare { order, columns })))
    }

    fn sql_value(&mut self, value: SqlValue, precision: Option<i32>, ty: TypeRef) -> Result<Node> {
        let modifier = precision.unwrap_or(-1);
        let settings = &self.env.settings;
        let now = match value {
            SqlValue::CurrentDate => Datum::Int4(clock::current_date(settings)),
            SqlValue::CurrentTime => {
                let (time, zone) = clock::current_time(settings, modifier);
                let mut bytes = time.to_be_bytes().to_vec();
                bytes.extend(zone.to_be_bytes());
                Datum::bytes(bytes)
            }
            SqlValue::CurrentTimestamp => Datum::Int8(clock::current_timestamp(settings, modifier)),
            SqlValue::LocalTime => Datum::Int8(clock::localtime(settings, modifier)),
            SqlValue::LocalTimestamp => Datum::Int8(clock::localtimestamp(settings, modifier)),
            SqlValue::CurrentRole | SqlValue::CurrentUser | SqlValue::User => {
                self.env.session.call(CURRENT_USER, &[])?
            }
            SqlValue::SessionUser => self.env.session.call(SESSION_USER, &[])?,
            SqlValue::CurrentCatalog => self.env.session.call(CURRENT_DATABASE, &[])?,
            SqlValue::CurrentSchema => self.env.session.call(CURRENT_SCHEMA, &[])?,
        };
        self.constant(ty.oid, &now)
    }

    /// Makes a query that is run once per set of outer values, and the nodes of these values.
    pub fn within(&mut self, query: QueryId, told: Told) -> Result<(Rel, Slots, Vec<Node>)> {
        self.frames.push(Frame { told, ..Frame::new(query, Some(Boundary::default())) });
        self.framed(query)
    }

    fn framed(&mut self, query: QueryId) -> Result<(Rel, Slots, Vec<Node>)> {
        let made = self.query(query);
        let frame = self.frames.pop().expect("it was pushed");
        let boundary = frame.boundary.expect("it has one");
        let rel = made?;
        let mut params = Vec::with_capacity(boundary.wanted.len());
        for (levels, var, ty) in boundary.wanted {
            params.push(self.var(var, levels - 1, ty)?);
        }
        Ok((rel, boundary.slots, params))
    }

    fn subquery(&mut self, sub: &onlap_pg::bound::SubQuery, ty: TypeRef) -> Result<Node> {
        let ask = self.ask_of(sub)?;
        let mut query = self.sub_query(sub.query, ask, ty)?;
        if matches!(query.ask, Ask::Exists) && !query.params.is_empty() {
            query.semi = self.semi(sub.query)?;
        }
        Ok(Node::Query(Box::new(query)))
    }

    /// A query in an expression, and what it is asked.
    pub fn asked_query(&mut self, query: QueryId, ask: Ask, ty: TypeRef) -> Result<Node> {
        Ok(Node::Query(Box::new(self.sub_query(query, ask, ty)?)))
    }

    fn sub_query(&mut self, query: QueryId, ask: Ask, ty: TypeRef) -> Result<SubQuery> {
        let (results, params) = self.results(query, &ask)?;
        let ty = self.arrow(ty.oid)?;
        Ok(SubQuery { ask, results, params, semi: None, ty })
    }

    fn ask_of(&mut self, sub: &onlap_pg::bound::SubQuery) -> Result<Ask> {
        let columns = self.columns_of(sub.query);
        Ok(match &sub.kind {
            SubKind::Exists => Ask::Exists,
            SubKind::Value => Ask::Value,
            SubKind::Array => {
                let element = columns[0].oid;
                Ask::Array(element, self.env.catalog.array_of(element).is_none())
            }
            SubKind::Any(_) | SubKind::All(_) | SubKind::Row(_) => {
                let test = sub.test.expect("a comparison has a test");
                let at = self.layout().width() + 128;
                let before = self.frame().sub_columns.replace(at);
                let node = self.node(test);
                self.frame().sub_columns = before;
                let kind = match &sub.kind {
                    SubKind::Any(_) => Quantor::Any,
                    SubKind::All(_) => Quantor::All,
                    _ => Quantor::Row,
                };
                let hashed = match kind {
                    Quantor::Any => self.hashed(test)?,
                    _ => None,
                };
                Ask::Test(kind, Box::new(node?), at, hashed)
            }
            SubKind::Several(_) => return Err(unsupported("a subquery for several columns")),
        })
    }

    /// What a query in an expression gives, and the outer values that it uses. One that uses none runs once, in however many
    /// places it is asked.
    pub fn results(&mut self, query: QueryId, ask: &Ask) -> Result<(Arc<Results>, Vec<Node>)> {
        let known = self.frame().results.iter().find(|(known, _)| *known == query);
        if let Some((_, results)) = known {
            return Ok((Arc::clone(results), Vec::new()));
        }
        let columns = self.columns_of(query);
        let columns = columns.iter().map(|ty| self.repr(ty.oid)).collect::<Result<_>>()?;
        let told = if matches!(ask, Ask::Exists) { Told::rows_only() } else { Told::default() };
        let (rel, slots, params) = self.within(query, told)?;
        let results = Results::new(rel.plan, slots, columns).for_ask(ask, self.rounds());
        let results = results.volatile(self.is_query_volatile(query));
        let results = Arc::new(results);
        if params.is_empty() {
            self.frame().results.push((query, Arc::clone(&results)));
        }
        Ok((results, params))
    }

    /// The types of the columns that a query gives.
    pub fn columns_of(&self, query: QueryId) -> Vec<TypeRef> {
        crate::build::visible(self.bound.query(query)).map(|t| self.bound.ty(t.value)).collect()
    }

    /// The left sides of a test that is nothing but equality with the subquery's columns in their order.
    fn hashed(&mut self, test: ExprId) -> Result<Option<Vec<(Node, Oid)>>> {
        let parts: Vec<ExprId> = match self.bound.expr(test) {
            Expr::And(all) => all.clone(),
            _ => vec![test],
        };
        let mut sides = Vec::with_capacity(parts.len());
        for (n, part) in parts.iter().enumerate() {
            let Expr::Op(op) = self.bound.expr(*part) else { return Ok(None) };
            let operator = self.env.catalog.operator(op.operator);
            let is_equal =
                operator.is_some_and(|o| o.name == "=" && o.can_hash && o.left == o.right);
            let [left, right] = op.args[..] else { return Ok(None) };
            let is_column = matches!(self.bound.expr(right), Expr::SubColumn(at) if *at == n + 1);
            if !is_equal || !is_column || self.undetermined(*part, op.proc).is_some() {
                return Ok(None);
            }
            sides.push((self.node(left)?, self.bound.ty(left).oid));
        }
        Ok(Some(sides))
    }
}

/// current_user()
const CURRENT_USER: Oid = 745;
/// session_user()
const SESSION_USER: Oid = 746;
/// current_database()
const CURRENT_DATABASE: Oid = 861;
/// current_schema()
const CURRENT_SCHEMA: Oid = 1402;

/// The boolean that a node is, if it is a constant.
pub fn constant_bool(node: &Node) -> Option<bool> {
    match node {
        Node::Const(value) => match Datum::at(value, Repr::Bool, 0) {
            Datum::Bool(value) => Some(value),
            _ => None,
        },
        _ => None,
    }
}

/// A slot for outer values, without any yet.
pub fn slots() -> Slots {
    Arc::new(Mutex::new(Vec::new()))
}

/// The names of a row's fields; none where they are those that fields have anyway.
fn names_of(names: &[onlap_pg::ast::Name]) -> Vec<Box<str>> {
    let is_own = |(n, name): (usize, &onlap_pg::ast::Name)| **name == *format!("f{}", n + 1);
    match names.iter().enumerate().all(is_own) {
        true => Vec::new(),
        false => names.iter().map(|name| Box::from(&**name)).collect(),
    }
}
