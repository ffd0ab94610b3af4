//! Which collation has each expression, and where do collations collide?
//!
//! PostgreSQL's rules: what is written with COLLATE beats what follows from columns and types, and there anything beats the default.
//! Two written ones that differ are an error at once. Two others that differ leave the expression without a collation, which is
//! an error where rows are sorted or grouped by it, or at last where a function needs one. Collations are derived where
//! PostgreSQL's analysis derives them: at the end of each query, and before where columns of FROM get theirs.
//!
//! A function's collation is that of its arguments together ([`Bound::input_collation`]). Knows nothing of how texts are compared.

use super::level::Level;
use super::strength::{DEFAULT, Derived, Mismatch, Spot, State, Strength};
use super::{Binder, MORE_STACK, RED_ZONE};
use crate::bound::{
    Aggregate, Bound, Entry, EntryKind, Expr, ExprId, FrameEdge, JoinTree, Noted, OnConflict,
    Query, QueryId, Target, collation_name, collation_named,
};
use crate::catalog::Catalog;
use crate::{Error, Oid, Result, TypeRef};

/// What is derived from.
struct Walk<'a> {
    out: &'a mut Bound,
    catalog: &'a Catalog,
    levels: &'a [Level],
    /// The entries of the innermost query, where its level has them no more.
    here: Option<&'a [Entry]>,
}

impl Binder<'_> {
    /// Derives the collations of expressions, each for itself.
    pub(super) fn derive_collations(&mut self, ids: &[ExprId]) -> Result<()> {
        let made = ids.iter().try_for_each(|id| self.walk(None).alone(*id));
        made.map_err(|mismatch| self.mismatch(mismatch))
    }

    /// The collation that expressions have together; 0 where they have none. A conflict is none as well, or an error.
    pub(super) fn common_collation(&mut self, ids: &[ExprId], may_differ: bool) -> Result<Oid> {
        let found = self.walk(None).together(ids);
        self.one_of(found, may_differ)
    }

    /// The same of two columns of queries that are put together: a value, or a collation and where the column begins.
    pub(super) fn set_collation_of(
        &mut self,
        columns: [(Option<ExprId>, Oid, Option<u32>); 2],
        may_differ: bool,
    ) -> Result<Oid> {
        let mut state = State::default();
        let mut walk = self.walk(None);
        let made = columns.into_iter().try_for_each(|(value, collation, place)| match value {
            Some(value) => walk.expr(value, &mut state),
            None => state.merge(State::of(collation, place.map_or(Spot::Nowhere, Spot::At))),
        });
        self.one_of(made.map(|()| state), may_differ)
    }

    fn one_of(&self, found: Derived<State>, may_differ: bool) -> Result<Oid> {
        let state = found.map_err(|mismatch| self.mismatch(mismatch))?;
        match state.strength {
            Strength::Conflict if !may_differ => Err(self.mismatch(state.mismatch())),
            _ => Ok(state.settled()),
        }
    }

    /// Derives the collations of a query, whose entries its level has no more.
    pub(super) fn collate_query(&mut self, made: &Query) -> Result<()> {
        let found = self.walk(Some(&made.entries)).query(made);
        found.map_err(|mismatch| self.mismatch(mismatch))
    }

    /// Derives the collations of an expression about entries, for itself.
    pub(super) fn collate_over(&mut self, id: ExprId, entries: &[Entry]) -> Result<()> {
        self.walk(Some(entries)).alone(id).map_err(|mismatch| self.mismatch(mismatch))
    }

    /// The collation of an expression that is derived, or made of no others.
    pub(super) fn collation_of(&mut self, id: ExprId) -> Oid {
        match self.out.collation(id) {
            Some(known) => known,
            None if is_leaf(self.out.expr(id)) => self.walk(None).leaf(id),
            None => match self.out.expr(id) {
                Expr::Collate(_, name) => collation_named(name).unwrap_or(0),
                _ => 0,
            },
        }
    }

    /// The collation of a column, from 1, of an entry that is that number of levels above.
    pub(super) fn collation_of_column(
        &mut self,
        entry: usize,
        column: usize,
        up: usize,
        ty: TypeRef,
    ) -> Oid {
        let known = self.walk(None).column(entry, column, up);
        known.unwrap_or_else(|| self.catalog.collation(ty.oid))
    }

    /// The collations of a query's columns.
    pub(super) fn collations_of_query(&self, query: QueryId) -> Vec<Oid> {
        let targets = self.out.query(query).output().iter().filter(|target| !target.hidden);
        targets.map(|target| self.out.collation(target.value).unwrap_or(0)).collect()
    }

    fn walk<'a>(&'a mut self, here: Option<&'a [Entry]>) -> Walk<'a> {
        Walk { out: &mut self.out, catalog: self.catalog, levels: &self.levels, here }
    }

    fn mismatch(&self, Mismatch { kind, one, other, spot }: Mismatch) -> Error {
        let (one, other) = (collation_name(one), collation_name(other));
        let text =
            format!("collation mismatch between {kind} collations \"{one}\" and \"{other}\"");
        let error = match kind {
            "implicit" => Error::new("42P21", text).hint(
                "You can choose the collation by applying the COLLATE clause to one or both \
                 expressions.",
            ),
            _ => Error::new("42P21", text),
        };
        let place = match spot {
            Spot::Nowhere => None,
            Spot::Start(id) => self.start_of(id),
            Spot::Written(id) => self.out.place(id),
            Spot::At(place) => Some(place),
        };
        match place {
            Some(place) => error.at(place),
            None => error,
        }
    }
}

/// Whether an expression has its collation of itself.
fn is_leaf(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Var { .. }
            | Expr::Literal(_)
            | Expr::Param(_)
            | Expr::SubColumn(_)
            | Expr::RowColumn(..)
            | Expr::Placeholder
            | Expr::Default
            | Expr::CurrentOf(..)
    )
}

impl Walk<'_> {
    fn query(&mut self, query: &Query) -> Derived<()> {
        self.targets(&query.targets)?;
        if let Some(modify) = &query.modify {
            if let Some(conflict) = &modify.conflict {
                self.conflict(conflict)?;
            }
            for action in &modify.actions {
                let mut state = State::default();
                action.condition.iter().try_for_each(|id| self.expr(*id, &mut state))?;
                action.set.iter().try_for_each(|target| self.target(target, &mut state))?;
            }
            self.targets(&modify.returning)?;
        }
        query.from.iter().try_for_each(|tree| self.tree(tree))?;
        let clauses = [query.filter, query.having, query.offset, query.limit];
        clauses.into_iter().flatten().try_for_each(|id| self.alone(id))?;
        for window in &query.windows {
            for edge in [window.frame.from, window.frame.to] {
                if let FrameEdge::Before(id) | FrameEdge::After(id) = edge {
                    self.alone(id)?;
                }
            }
        }
        Ok(())
    }

    fn targets(&mut self, targets: &[Target]) -> Derived<()> {
        targets.iter().try_for_each(|target| self.target(target, &mut State::default()))
    }

    /// ON CONFLICT: what columns become is one list, in which written collations must agree.
    fn conflict(&mut self, conflict: &OnConflict) -> Derived<()> {
        conflict.elements.iter().try_for_each(|element| self.alone(element.value))?;
        let mut state = State::default();
        conflict.index_filter.iter().try_for_each(|id| self.expr(*id, &mut state))?;
        conflict.set.iter().try_for_each(|target| self.target(target, &mut state))?;
        conflict.filter.iter().try_for_each(|id| self.expr(*id, &mut state))
    }

    fn tree(&mut self, tree: &JoinTree) -> Derived<()> {
        let JoinTree::Join(join) = tree else { return Ok(()) };
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            self.tree(&join.left)?;
            self.tree(&join.right)?;
            join.condition.iter().try_for_each(|id| self.alone(*id))
        })
    }

    /// A target; what rows are sorted or grouped by needs a collation.
    fn target(&mut self, target: &Target, around: &mut State) -> Derived<()> {
        let mut state = State::default();
        self.expr(target.value, &mut state)?;
        if state.strength == Strength::Conflict && target.reference != 0 {
            return Err(state.mismatch());
        }
        around.merge(state)
    }

    fn alone(&mut self, id: ExprId) -> Derived<()> {
        self.expr(id, &mut State::default())
    }

    fn together(&mut self, ids: &[ExprId]) -> Derived<State> {
        let mut state = State::default();
        ids.iter().try_for_each(|id| self.expr(*id, &mut state))?;
        Ok(state)
    }

    fn expr(&mut self, id: ExprId, around: &mut State) -> Derived<()> {
        let state = stacker::maybe_grow(RED_ZONE, MORE_STACK, || self.state(id))?;
        around.merge(state)
    }

    /// What an expression passes on; its collations are noted.
    fn state(&mut self, id: ExprId) -> Derived<State> {
        let mut inner = State::default();
        let start = Spot::Start(id);
        let state = match self.out.expr(id) {
            expr if is_leaf(expr) => {
                let collation = self.leaf(id);
                self.out.set_collation(id, collation);
                return Ok(State::of(collation, start));
            }
            Expr::Collate(one, name) => {
                let (one, collation) = (*one, collation_named(name).unwrap_or(DEFAULT));
                self.expr(one, &mut inner)?;
                let spot = Spot::Written(id);
                State { strength: Strength::Explicit, collation, spot, ..State::default() }
            }
            Expr::Field(row, _) => {
                let row = *row;
                let collation = self.out.collation(id).unwrap_or_else(|| self.of_type(id));
                self.expr(row, &mut inner)?;
                State::of(collation, start)
            }
            Expr::Row(fields, _) => {
                // Fields have nothing to do with each other.
                fields.clone().into_iter().try_for_each(|field| self.alone(field))?;
                State::default()
            }
            Expr::RowCompare(_, _, left, right) => {
                let pairs: Vec<[ExprId; 2]> =
                    left.iter().zip(right).map(|(left, right)| [*left, *right]).collect();
                let mut all = Vec::with_capacity(pairs.len());
                for pair in pairs {
                    all.push(self.together(&pair)?.settled());
                }
                self.out.collations.note_row(id, all);
                State::default()
            }
            Expr::Domain(one) => {
                let one = *one;
                self.expr(one, &mut inner)?;
                match self.of_type(id) {
                    0 => State::default(),
                    DEFAULT => inner,
                    own => State::implicit(own, start),
                }
            }
            _ => {
                self.parts(id, &mut inner)?;
                match self.of_type(id) {
                    0 => State::default(),
                    _ if inner.strength > Strength::None => inner,
                    own => State::implicit(own, start),
                }
            }
        };
        self.out.collations.note(id, Noted { own: state.settled(), input: inner.settled() });
        Ok(state)
    }

    /// What an expression is made of, as far as it decides about its collation.
    fn parts(&mut self, id: ExprId, inner: &mut State) -> Derived<()> {
        match self.out.expr(id) {
            Expr::Aggregate(call) => {
                let call = call.clone();
                self.aggregate(id, &call, inner)?;
                call.filter.iter().try_for_each(|filter| self.alone(*filter))
            }
            Expr::WindowCall(call) => {
                let (args, filter) = (call.args.clone(), call.filter);
                args.into_iter().try_for_each(|arg| self.expr(arg, inner))?;
                filter.iter().try_for_each(|filter| self.alone(*filter))
            }
            // The operand is only compared, and has its collation already.
            Expr::Case(_, arms, otherwise) => {
                let (arms, otherwise) = (arms.clone(), *otherwise);
                for (condition, result) in arms {
                    self.expr(condition, inner)?;
                    self.expr(result, inner)?;
                }
                self.expr(otherwise, inner)
            }
            Expr::Subscript(part) => {
                let part = part.clone();
                let bounds = part.upper.iter().chain(&part.lower).flatten();
                bounds.copied().try_for_each(|bound| self.alone(bound))?;
                self.expr(part.container, inner)?;
                part.assigned.iter().try_for_each(|assigned| self.expr(*assigned, inner))
            }
            Expr::SubQuery(sub) => {
                let (test, query) = (sub.test, sub.query);
                test.iter().try_for_each(|test| self.expr(*test, inner))?;
                match self.out.query(query).output().first() {
                    Some(first) if !first.hidden => {
                        let collation = self.out.collation(first.value).unwrap_or(0);
                        inner.merge(State::implicit(collation, Spot::Start(first.value)))
                    }
                    _ => Ok(()),
                }
            }
            expr => {
                let children = expr.children();
                children.into_iter().try_for_each(|child| self.expr(child, inner))
            }
        }
    }

    fn aggregate(&mut self, id: ExprId, call: &Aggregate, inner: &mut State) -> Derived<()> {
        let variadic = self.catalog.proc(call.proc).is_some_and(|proc| proc.variadic != 0);
        let one = call.args.len() == 1 && !variadic;
        match call.kind {
            b'n' => call.args.iter().try_for_each(|target| match target.hidden {
                true => self.target(target, &mut State::default()),
                false => self.target(target, inner),
            }),
            b'o' => {
                call.direct.iter().try_for_each(|arg| self.expr(*arg, inner))?;
                call.args.iter().try_for_each(|target| match one {
                    true => self.target(target, inner),
                    false => self.target(target, &mut State::default()),
                })
            }
            _ => {
                // A row that is not there is compared with those that are, column by column.
                let more = call.direct.len().saturating_sub(call.args.len());
                let (first, rest) = call.direct.split_at(more);
                first.iter().try_for_each(|arg| self.expr(*arg, inner))?;
                for (at, (arg, target)) in rest.iter().zip(&call.args).enumerate() {
                    let pair = self.together(&[*arg, target.value])?;
                    if pair.strength == Strength::Conflict {
                        return Err(pair.mismatch());
                    }
                    let own = self.out.collation(target.value).unwrap_or(0);
                    if pair.collation != 0 && pair.collation != own {
                        self.relabel(id, at, pair.collation);
                    }
                    if one {
                        inner.merge(pair)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Lets the column of an aggregate that rows are sorted by have another collation.
    fn relabel(&mut self, id: ExprId, at: usize, collation: Oid) {
        let Expr::Aggregate(call) = self.out.expr(id) else { return };
        let mut call = call.clone();
        let value = call.args[at].value;
        let (ty, place) = (self.out.ty(value), self.out.place(value));
        let made = self.out.add(Expr::Relabel(value), ty, place);
        self.out.collations.note(made, Noted { own: collation, input: collation });
        call.args[at].value = made;
        self.out.set_expr(id, Expr::Aggregate(call));
    }

    /// The collation of an expression's type.
    fn of_type(&self, id: ExprId) -> Oid {
        self.catalog.collation(self.out.ty(id).oid)
    }

    fn leaf(&self, id: ExprId) -> Oid {
        if let Some(known) = self.out.collation(id) {
            return known;
        }
        match *self.out.expr(id) {
            Expr::Var { column, .. } if column <= 0 => 0,
            Expr::Var { entry, column, up } => {
                let found = self.column(entry, column as usize, up as usize);
                found.unwrap_or_else(|| self.of_type(id))
            }
            Expr::Placeholder | Expr::CurrentOf(..) => 0,
            _ => self.of_type(id),
        }
    }

    /// The collation of a column of an entry, from 1, if more is known of it than its type.
    fn column(&self, entry: usize, column: usize, up: usize) -> Option<Oid> {
        let level = self.levels.get(self.levels.len().checked_sub(1 + up)?)?;
        if let Some(Some(known)) = level.collations.get(entry - 1) {
            return known.get(column - 1).copied();
        }
        let entries = match self.here {
            Some(here) if up == 0 => here,
            _ => &level.entries,
        };
        let entry = entries.get(entry - 1)?;
        match &entry.kind {
            EntryKind::Query(query) if *query != QueryId::PENDING => {
                let output = self.out.query(*query).output();
                let target = output.iter().find(|target| target.number == column)?;
                self.out.collation(target.value)
            }
            EntryKind::Join { columns, .. } => {
                let value = *columns.get(column - 1)?;
                match self.out.collation(value) {
                    None if is_leaf(self.out.expr(value)) => Some(self.leaf(value)),
                    known => known,
                }
            }
            _ => None,
        }
    }
}
