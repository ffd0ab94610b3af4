//! Is a changed statement whole?
//!
//! What names the rows of a query is a number, and merging moves queries past each other. A number that was counted wrong
//! names other rows, and the answer is wrong without an error. So a statement is looked through once more before it is
//! carried out: each column must be one of an entry that is there, of the type that the entry gives, and of rows that are
//! known where it stands. A statement that does not hold is carried out as it was bound.

use std::collections::HashSet;

use crate::bound::{Bound, EntryKind, Expr, ExprId, JoinTree, Part, QueryId};

/// Stack that is left where the next level begins without a piece of its own, and such a piece, in bytes.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

type Found = Result<(), String>;

/// The first of a statement's columns, entries and names that does not hold.
pub(super) fn flaw(tree: &Bound, query: QueryId) -> Option<String> {
    Walk { tree, around: Vec::new(), seen: HashSet::new() }.query(query).err()
}

/// Which entries of a query may be named at a place.
enum Visible {
    All,
    Only(HashSet<usize>),
}

struct Walk<'a> {
    tree: &'a Bound,
    /// The queries that stand around a place, the innermost last.
    around: Vec<(QueryId, Visible)>,
    /// Expressions of FROM that were looked at.
    seen: HashSet<ExprId>,
}

impl Walk<'_> {
    fn query(&mut self, query: QueryId) -> Found {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            self.around.push((query, Visible::Only(HashSet::new())));
            let found = self.from(query).and_then(|()| self.rest(query));
            self.around.pop();
            found
        })
    }

    /// What stands in FROM and WITH sees what is left of it; it is checked from left to right.
    fn from(&mut self, query: QueryId) -> Found {
        let tree = self.tree;
        let of = tree.query(query);
        of.ctes.iter().try_for_each(|cte| self.query(cte.query))?;
        of.from.iter().try_for_each(|item| self.item(query, item))?;
        let left = &*self.left();
        let lost = of.entries.iter().enumerate().find(|(at, entry)| {
            let stands = entry.in_from && !matches!(entry.kind, EntryKind::Join { .. });
            stands && of.set.is_none() && !left.contains(&(at + 1))
        });
        lost.map_or(Ok(()), |(at, _)| Err(format!("entry {} is lost", at + 1)))
    }

    fn left(&mut self) -> &mut HashSet<usize> {
        match self.around.last_mut() {
            Some((_, Visible::Only(left))) => left,
            _ => unreachable!("FROM is looked at first"),
        }
    }

    fn item(&mut self, query: QueryId, item: &JoinTree) -> Found {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || match item {
            JoinTree::Entry(entry) => self.entry(query, *entry),
            JoinTree::Join(join) => {
                self.item(query, &join.left)?;
                self.item(query, &join.right)?;
                if join.entry > 0 {
                    self.left().insert(join.entry);
                }
                join.condition.map_or(Ok(()), |id| self.part(id))
            }
        })
    }

    fn entry(&mut self, query: QueryId, at: usize) -> Found {
        let tree = self.tree;
        let entry = at.checked_sub(1).and_then(|at| tree.query(query).entries.get(at));
        let Some(entry) = entry else {
            return Err(format!("FROM names entry {at}"));
        };
        match &entry.kind {
            EntryKind::Query(inner) if entry.lateral => self.query(*inner)?,
            EntryKind::Query(inner) => {
                let left = std::mem::take(self.left());
                self.query(*inner)?;
                *self.left() = left;
            }
            EntryKind::Functions { calls, .. } => {
                calls.iter().try_for_each(|of| self.part(of.call))?;
            }
            EntryKind::Values(rows) if rows.is_empty() => {
                return Err(format!("entry {at} was merged and stands in FROM"));
            }
            EntryKind::Values(rows) => rows.iter().flatten().try_for_each(|id| self.part(*id))?,
            EntryKind::Cte { name, up, own: false } => {
                let definer = self.around.iter().rev().nth(*up as usize);
                let known = definer.is_some_and(|(definer, _)| {
                    tree.query(*definer).ctes.iter().any(|cte| cte.name == *name)
                });
                if !known {
                    return Err(format!("WITH has no {name:?}, {up} queries up"));
                }
            }
            EntryKind::Relation { .. } | EntryKind::Cte { .. } | EntryKind::Join { .. } => {}
        }
        if !self.left().insert(at) {
            return Err(format!("entry {at} stands in FROM twice"));
        }
        entry.guards.iter().try_for_each(|id| self.part(*id))
    }

    /// An expression of FROM.
    fn part(&mut self, id: ExprId) -> Found {
        self.seen.insert(id);
        self.expr(id)
    }

    /// All other expressions of a query see all of its entries.
    fn rest(&mut self, query: QueryId) -> Found {
        let tree = self.tree;
        let of = tree.query(query);
        // The parts of a set operation stand in no FROM, and see nothing of each other.
        let known = std::mem::take(self.left());
        for (at, entry) in of.entries.iter().enumerate() {
            if let EntryKind::Query(inner) = entry.kind
                && !known.contains(&(at + 1))
            {
                self.query(inner)?;
            }
        }
        if let Some((_, visible)) = self.around.last_mut() {
            *visible = Visible::All;
        }
        for part in tree.parts(query) {
            if let Part::Expr(id) = part
                && !self.seen.contains(&id)
            {
                self.expr(id)?;
            }
        }
        for entry in &of.entries {
            if let EntryKind::Join { columns, .. } = &entry.kind {
                columns.iter().try_for_each(|id| self.expr(*id))?;
            }
        }
        Ok(())
    }

    fn expr(&mut self, id: ExprId) -> Found {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            let tree = self.tree;
            let expr = tree.expr(id);
            match expr {
                Expr::Var { entry, column, up } => return self.column(id, (*entry, *column), *up),
                Expr::Aggregate(call) if call.up as usize >= self.around.len() => {
                    return Err(format!("an aggregate is of a query {} up", call.up));
                }
                Expr::SubQuery(sub) => self.query(sub.query)?,
                _ => {}
            }
            expr.children().into_iter().try_for_each(|child| self.expr(child))
        })
    }

    fn column(&self, id: ExprId, (entry, column): (usize, i32), up: u32) -> Found {
        let says =
            |what: &str| format!("column {column} of entry {entry}, {up} queries up, {what}");
        let Some((query, visible)) = self.around.iter().rev().nth(up as usize) else {
            return Err(says("is of no query"));
        };
        let entries = &self.tree.query(*query).entries;
        let Some(of) = entry.checked_sub(1).and_then(|at| entries.get(at)) else {
            return Err(says("is of no entry"));
        };
        let merged = matches!(&of.kind, EntryKind::Values(rows) if rows.is_empty());
        if merged {
            return Err(says("is of one that was merged"));
        }
        if let Ok(number @ 1..) = usize::try_from(column) {
            match of.types.get(number - 1) {
                None => return Err(says("is not there")),
                // The columns of a set operation have the type that its parts have together.
                Some(_) if self.tree.query(*query).set.is_some() => {}
                Some(ty) if ty.oid != self.tree.ty(id).oid => {
                    return Err(says(&format!("is {}, not {}", ty.oid, self.tree.ty(id).oid)));
                }
                Some(_) => {}
            }
        }
        let known = self.is_known(*query, visible, (entry, column));
        if known { Ok(()) } else { Err(says("is not known where it stands")) }
    }

    /// Whether a column may be named; one of a join is what it is of.
    fn is_known(&self, query: QueryId, visible: &Visible, column: (usize, i32)) -> bool {
        let mut open = vec![column];
        while let Some((entry, column)) = open.pop() {
            if visible.has(entry) {
                continue;
            }
            let of = entry.checked_sub(1).and_then(|at| self.tree.query(query).entries.get(at));
            let Some(EntryKind::Join { columns, .. }) = of.map(|of| &of.kind) else { return false };
            let of = match usize::try_from(column).ok().and_then(|number| number.checked_sub(1)) {
                None => Some(&columns[..]),
                Some(at) => columns.get(at..=at),
            };
            let Some(of) = of else { return false };
            for id in of {
                self.tree.visit(*id, 0, &mut |id, inside| {
                    if let Expr::Var { entry, column, up } = self.tree.expr(id)
                        && *up == inside
                    {
                        open.push((*entry, *column));
                    }
                    true
                });
            }
        }
        true
    }
}

impl Visible {
    fn has(&self, entry: usize) -> bool {
        match self {
            Visible::All => true,
            Visible::Only(known) => known.contains(&entry),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::flaw;
    use crate::TypeRef;
    use crate::bind::{NoRelations, bind};
    use crate::bound::{Bound, EntryKind, Expr, ExprId, JoinTree, QueryId};
    use crate::catalog::{Catalog, oids};

    /// `a`, `b` and `c` stand in FROM; `a` and `c` in a query within, one of them in a join's condition.
    const STATEMENT: &str = "with n as (select 1 x) \
         select a.x, (select c.x from (values (1), (2)) c(x) where c.x = a.x) \
         from (values (1), (2)) a(x) left join (values (3), (4)) b(x) on b.x = a.x, \
         lateral (select a.x + n.x y from n) l where a.x > 0";

    fn bound(catalog: &Catalog) -> (Bound, QueryId) {
        let tree = crate::grammar::parse(STATEMENT).expect("it is read");
        let statement = &tree.statements[0].statement;
        bind(&tree, statement, &NoRelations, catalog, &[]).expect("it is bound")
    }

    /// Columns by how many queries up they are.
    fn columns(tree: &Bound, up: u32) -> Vec<ExprId> {
        let ids = (0..tree.exprs()).map(|at| ExprId(at as u32));
        ids.filter(|id| matches!(tree.expr(*id), Expr::Var { up: of, .. } if *of == up)).collect()
    }

    /// What is found once a fault is planted.
    fn found(plant: impl FnOnce(&mut Bound, QueryId)) -> String {
        let (mut tree, query) = bound(&Catalog::new());
        assert_eq!(flaw(&tree, query), None);
        plant(&mut tree, query);
        flaw(&tree, query).expect("the fault is found")
    }

    fn change(tree: &mut Bound, id: ExprId, how: impl FnOnce(&mut usize, &mut i32, &mut u32)) {
        let mut expr = tree.expr(id).clone();
        if let Expr::Var { entry, column, up } = &mut expr {
            how(entry, column, up);
        }
        tree.set_expr(id, expr);
    }

    #[test]
    fn columns_of_other_rows_are_found() {
        let wrong_level = found(|tree, _| {
            let id = columns(tree, 1)[0];
            change(tree, id, |_, _, up| *up = 2);
        });
        assert!(wrong_level.ends_with("2 queries up, is of no query"), "{wrong_level}");
        let wrong_entry = found(|tree, _| {
            let id = columns(tree, 0)[0];
            change(tree, id, |entry, _, _| *entry = 9);
        });
        assert!(wrong_entry.ends_with("is of no entry"), "{wrong_entry}");
        let wrong_column = found(|tree, _| {
            let id = columns(tree, 0)[0];
            change(tree, id, |_, column, _| *column = 2);
        });
        assert!(wrong_column.ends_with("is not there"), "{wrong_column}");
        let wrong_type = found(|tree, _| {
            let id = columns(tree, 0)[0];
            tree.set_type(id, TypeRef::new(oids::TEXT));
        });
        assert!(wrong_type.ends_with("is 23, not 25"), "{wrong_type}");
    }

    #[test]
    fn columns_are_known_where_they_stand() {
        // The condition of the join of a and b names the query behind it.
        let behind = found(|tree, query| {
            let JoinTree::Join(join) = &tree.query(query).from[0] else { panic!("a join") };
            let condition = join.condition.expect("it has one");
            let id = tree.children(condition)[0];
            let last = tree.query(query).entries.len();
            change(tree, id, |entry, _, _| *entry = last);
        });
        assert!(behind.ends_with("is not known where it stands"), "{behind}");
        let not_lateral = found(|tree, query| {
            let entry = tree.query_mut(query).entries.last_mut().expect("it has entries");
            entry.lateral = false;
        });
        assert!(not_lateral.ends_with("is not known where it stands"), "{not_lateral}");
    }

    #[test]
    fn entries_stand_once() {
        let lost = found(|tree, query| drop(tree.query_mut(query).from.pop()));
        assert!(lost.ends_with("is lost"), "{lost}");
        let twice = found(|tree, query| {
            let again = tree.query(query).from[1].clone();
            tree.query_mut(query).from.push(again);
        });
        assert!(twice.ends_with("stands in FROM twice"), "{twice}");
        let merged = found(|tree, query| {
            tree.query_mut(query).entries[0].kind = EntryKind::Values(Vec::new());
        });
        assert!(merged.ends_with("was merged and stands in FROM"), "{merged}");
        let nameless = found(|tree, query| drop(tree.query_mut(query).ctes.pop()));
        assert!(nameless.starts_with("WITH has no \"n\""), "{nameless}");
    }
}
