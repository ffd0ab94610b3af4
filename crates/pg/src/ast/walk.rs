//! What is an expression made of, a query, an item of FROM? Are two windows written alike?

use super::{
    Assigned, Body, ConflictAction, ConflictTarget, Distinct, Expr, ExprId, Frame, FrameEdge, From,
    FromId, GroupItem, On, Over, Query, QueryId, Relation, Select, Sort, SortOrder, Statement,
    Step, Tree, Window,
};

/// A part of what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// An expression.
    Expr(ExprId),
    /// A query.
    Query(QueryId),
    /// An item of FROM.
    From(FromId),
}

/// Who is shown parts.
type See<'a> = dyn FnMut(Part) + 'a;

impl Expr {
    /// Shows what it is of, in the order of PostgreSQL's walk.
    pub(crate) fn parts(&self, see: &mut See<'_>) {
        let mut one = |id: &ExprId| see(Part::Expr(*id));
        match self {
            Expr::Literal(_)
            | Expr::Param(_)
            | Expr::Column(_)
            | Expr::Star(_)
            | Expr::SqlValue(..)
            | Expr::CurrentOf(_)
            | Expr::Default => {}
            Expr::Steps(base, steps) => {
                one(base);
                for step in steps {
                    match step {
                        Step::Index(at) => one(at),
                        Step::Slice(from, to) => from.iter().chain(to).for_each(&mut one),
                        Step::Field(_) | Step::Star => {}
                    }
                }
            }
            Expr::Cast(value, _) | Expr::Collate(value, _) | Expr::Not(value) => one(value),
            Expr::Is(value, ..) => one(value),
            Expr::Op(_, left, right) => left.iter().chain([right]).for_each(&mut one),
            Expr::OpArray(_, left, right, _)
            | Expr::Distinct(left, right, _)
            | Expr::NullIf(left, right) => [left, right].into_iter().for_each(&mut one),
            Expr::OpQuery(_, left, query, _) | Expr::InQuery(left, query) => {
                one(left);
                see(Part::Query(*query));
            }
            Expr::In(left, list, _) => [left].into_iter().chain(list).for_each(&mut one),
            Expr::Like(_, _, value, pattern, escape) => {
                [value, pattern].into_iter().chain(escape).for_each(&mut one)
            }
            Expr::Between { value, low, high, .. } => {
                [value, low, high].into_iter().for_each(&mut one)
            }
            Expr::And(all) | Expr::Or(all) => all.iter().for_each(&mut one),
            Expr::Case(operand, arms, otherwise) => {
                operand.iter().for_each(&mut one);
                arms.iter().for_each(|arm| {
                    one(&arm.condition);
                    one(&arm.result);
                });
                otherwise.iter().for_each(&mut one);
            }
            Expr::Coalesce(all)
            | Expr::Greatest(all)
            | Expr::Least(all)
            | Expr::Row(all, _)
            | Expr::Array(all)
            | Expr::Grouping(all) => all.iter().for_each(&mut one),
            Expr::Xml(xml) => {
                xml.named.iter().for_each(|arg| one(&arg.value));
                xml.args.iter().for_each(&mut one);
            }
            Expr::ArrayQuery(query) | Expr::Exists(query) | Expr::Query(query) => {
                see(Part::Query(*query));
            }
            Expr::Call(call) => {
                call.args.iter().for_each(|arg| one(&arg.value));
                call.order.iter().for_each(|sort| one(&sort.value));
                call.filter.iter().for_each(&mut one);
                if let Some(Over::Window(window)) = &call.over {
                    window.parts(see);
                }
            }
        }
    }
}

impl Window {
    fn parts(&self, see: &mut See<'_>) {
        self.partition.iter().for_each(|id| see(Part::Expr(*id)));
        self.order.iter().for_each(|sort| see(Part::Expr(sort.value)));
        let Some(frame) = &self.frame else { return };
        for edge in [Some(frame.from), frame.to].into_iter().flatten() {
            if let FrameEdge::Before(id) | FrameEdge::After(id) = edge {
                see(Part::Expr(id));
            }
        }
    }
}

impl GroupItem {
    fn parts(&self, see: &mut See<'_>) {
        match self {
            GroupItem::Expr(id) => see(Part::Expr(*id)),
            GroupItem::Empty(_) => {}
            GroupItem::Rollup(ids, _) | GroupItem::Cube(ids, _) => {
                ids.iter().for_each(|id| see(Part::Expr(*id)));
            }
            GroupItem::Sets(items, _) => items.iter().for_each(|item| item.parts(see)),
        }
    }
}

impl Select {
    fn parts(&self, see: &mut See<'_>) {
        if let Some(Distinct::On(on)) = &self.distinct {
            on.iter().for_each(|id| see(Part::Expr(*id)));
        }
        self.targets.iter().for_each(|target| see(Part::Expr(target.value)));
        self.from.iter().for_each(|from| see(Part::From(*from)));
        self.filter.iter().for_each(|id| see(Part::Expr(*id)));
        self.group.iter().for_each(|item| item.parts(see));
        self.having.iter().for_each(|id| see(Part::Expr(*id)));
        self.windows.iter().for_each(|(_, window)| window.parts(see));
    }
}

impl Body {
    /// Shows what it is of.
    pub(crate) fn parts(&self, see: &mut See<'_>) {
        match self {
            Body::Select(select) => select.parts(see),
            Body::Values(rows) => {
                rows.iter().flatten().for_each(|id| see(Part::Expr(*id)));
            }
            Body::Set(set) => {
                see(Part::Query(set.left));
                see(Part::Query(set.right));
            }
        }
    }
}

impl Query {
    /// Shows what stands behind its body.
    pub(crate) fn tail_parts(&self, see: &mut See<'_>) {
        self.order.iter().for_each(|sort| see(Part::Expr(sort.value)));
        self.offset.iter().chain(&self.limit).for_each(|id| see(Part::Expr(*id)));
    }
}

impl From {
    /// Shows what it is of.
    pub(crate) fn parts(&self, see: &mut See<'_>) {
        match self {
            From::Relation(_) => {}
            From::Sample(_, super::Sample { args, repeatable, .. }) => {
                args.iter().chain(repeatable).for_each(|id| see(Part::Expr(*id)));
            }
            From::Query { query, .. } => see(Part::Query(*query)),
            From::Functions { calls, .. } => {
                calls.iter().for_each(|item| see(Part::Expr(item.call)));
            }
            From::Join(join) => {
                see(Part::From(join.left));
                see(Part::From(join.right));
                if let On::Condition(on) = &join.on {
                    see(Part::Expr(*on));
                }
            }
        }
    }
}

impl Statement {
    /// Shows what a statement that changes rows is of, and the table that it changes.
    pub(crate) fn parts(&self, see: &mut See<'_>, table: &mut dyn FnMut(&Relation)) {
        let assigned = |set: &[Assigned], see: &mut See<'_>| {
            for one in set {
                let (Assigned::One(_, value) | Assigned::Row(_, value)) = one;
                see(Part::Expr(*value));
            }
        };
        match self {
            Statement::Query(query) => see(Part::Query(*query)),
            Statement::Insert(insert) => {
                table(&insert.into);
                insert.source.iter().for_each(|query| see(Part::Query(*query)));
                if let Some(conflict) = &insert.conflict {
                    if let Some(ConflictTarget::Index(elements, filter)) = &conflict.target {
                        let values = elements.iter().filter_map(|element| element.value);
                        values.chain(*filter).for_each(|id| see(Part::Expr(id)));
                    }
                    if let ConflictAction::Update(set, filter) = &conflict.action {
                        assigned(set, see);
                        filter.iter().for_each(|id| see(Part::Expr(*id)));
                    }
                }
                insert.returning.iter().for_each(|target| see(Part::Expr(target.value)));
            }
            Statement::Update(update) => {
                table(&update.table);
                assigned(&update.set, see);
                update.filter.iter().for_each(|id| see(Part::Expr(*id)));
                update.from.iter().for_each(|from| see(Part::From(*from)));
                update.returning.iter().for_each(|target| see(Part::Expr(target.value)));
            }
            Statement::Delete(delete) => {
                table(&delete.table);
                delete.using.iter().for_each(|from| see(Part::From(*from)));
                delete.filter.iter().for_each(|id| see(Part::Expr(*id)));
                delete.returning.iter().for_each(|target| see(Part::Expr(target.value)));
            }
            _ => {}
        }
    }
}

impl Tree {
    /// Whether two windows say the same under whatever names.
    pub(crate) fn same_window(&self, one: &Window, other: &Window) -> bool {
        one.base == other.base
            && self.same_list(&one.partition, &other.partition)
            && one.order.len() == other.order.len()
            && one.order.iter().zip(&other.order).all(|(a, b)| self.same_sort(a, b))
            && match (&one.frame, &other.frame) {
                (Some(a), Some(b)) => self.same_frame(a, b),
                (a, b) => a.is_none() && b.is_none(),
            }
    }

    fn same_list(&self, one: &[ExprId], other: &[ExprId]) -> bool {
        one.len() == other.len() && one.iter().zip(other).all(|(a, b)| self.same(*a, *b))
    }

    fn same_sort(&self, one: &Sort, other: &Sort) -> bool {
        let order = match (&one.order, &other.order) {
            (SortOrder::Using(a, _), SortOrder::Using(b, _)) => a == b,
            (a, b) => a == b,
        };
        order && one.nulls_first == other.nulls_first && self.same(one.value, other.value)
    }

    fn same_frame(&self, one: &Frame, other: &Frame) -> bool {
        let edge = |a: FrameEdge, b: FrameEdge| match (a, b) {
            (FrameEdge::Before(a), FrameEdge::Before(b))
            | (FrameEdge::After(a), FrameEdge::After(b)) => self.same(a, b),
            (a, b) => a == b,
        };
        one.unit == other.unit
            && one.exclude == other.exclude
            && edge(one.from, other.from)
            && match (one.to, other.to) {
                (Some(a), Some(b)) => edge(a, b),
                (a, b) => a == b,
            }
    }

    /// Whether two expressions are written alike; queries in them are taken for different.
    fn same(&self, one: ExprId, other: ExprId) -> bool {
        if one == other {
            return true;
        }
        let parts = |id: ExprId| {
            let mut parts = Vec::new();
            self.expr(id).parts(&mut |part| parts.push(part));
            parts
        };
        let same_part = |(a, b): (&Part, &Part)| match (a, b) {
            (Part::Expr(a), Part::Expr(b)) => self.same(*a, *b),
            (a, b) => a == b,
        };
        let (a, b) = (parts(one), parts(other));
        a.len() == b.len()
            && stacker::maybe_grow(RED_ZONE, MORE_STACK, || a.iter().zip(&b).all(same_part))
            && self.same_head(one, other)
    }

    /// Whether two expressions are alike, without what they are of.
    fn same_head(&self, one: ExprId, other: ExprId) -> bool {
        match (self.expr(one), self.expr(other)) {
            (Expr::Cast(_, a), Expr::Cast(_, b)) => {
                (&a.name, &a.bounds, a.set) == (&b.name, &b.bounds, b.set)
                    && self.same_list(&a.modifiers, &b.modifiers)
            }
            (Expr::Collate(_, a), Expr::Collate(_, b)) => a == b,
            (Expr::Op(a, left, _), Expr::Op(b, left2, _)) => {
                a == b && left.is_some() == left2.is_some()
            }
            (Expr::OpArray(a, .., all), Expr::OpArray(b, .., all2)) => a == b && all == all2,
            (Expr::OpQuery(a, .., all), Expr::OpQuery(b, .., all2)) => a == b && all == all2,
            (Expr::In(.., a), Expr::In(.., b)) | (Expr::Distinct(.., a), Expr::Distinct(.., b)) => {
                a == b
            }
            (Expr::Like(a, not, ..), Expr::Like(b, not2, ..)) => a == b && not == not2,
            (
                Expr::Between { not, symmetric, .. },
                Expr::Between { not: not2, symmetric: symmetric2, .. },
            ) => not == not2 && symmetric == symmetric2,
            (Expr::Is(_, a, not), Expr::Is(_, b, not2)) => a == b && not == not2,
            (Expr::Case(a, _, otherwise), Expr::Case(b, _, otherwise2)) => {
                a.is_some() == b.is_some() && otherwise.is_some() == otherwise2.is_some()
            }
            (Expr::Row(_, a), Expr::Row(_, b)) => a == b,
            (Expr::Steps(_, a), Expr::Steps(_, b)) => {
                a.len() == b.len()
                    && a.iter().zip(b).all(|pair| match pair {
                        (Step::Field(a), Step::Field(b)) => a == b,
                        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
                    })
            }
            (Expr::Call(a), Expr::Call(b)) => {
                let names = |call: &super::Call| -> Vec<Option<super::Name>> {
                    call.args.iter().map(|arg| arg.name.clone()).collect()
                };
                (&a.name, a.variadic, a.distinct, a.star, a.within_group, a.sql_syntax)
                    == (&b.name, b.variadic, b.distinct, b.star, b.within_group, b.sql_syntax)
                    && names(a) == names(b)
                    && a.order.len() == b.order.len()
                    && a.order.iter().zip(&b.order).all(|(a, b)| self.same_sort(a, b))
                    && a.filter.is_some() == b.filter.is_some()
                    && match (&a.over, &b.over) {
                        (Some(Over::Named(a, _)), Some(Over::Named(b, _))) => a == b,
                        (Some(Over::Window(a)), Some(Over::Window(b))) => self.same_window(a, b),
                        (a, b) => a.is_none() && b.is_none(),
                    }
            }
            (a, b) => {
                let mut parts = false;
                a.parts(&mut |_| parts = true);
                if parts { std::mem::discriminant(a) == std::mem::discriminant(b) } else { a == b }
            }
        }
    }
}

/// A comparison begins with so much stack left, or on a piece of its own.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;
