//! GROUP BY with its sets.

use super::Binder;
use super::level::Clause;
use crate::ast::{self, Expr as Raw, GroupItem};
use crate::bound::{GroupSet, SortItem, Target};
use crate::{Error, Result};

/// A set's kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Empty,
    Rollup,
    Cube,
    Sets,
}

/// An item without rows that are only a way of writing several.
enum Flat {
    One(ast::ExprId),
    Several(Vec<Flat>),
    Set(Kind, Vec<Flat>, u32),
}

/// What GROUP BY is bound with.
struct Groups<'a> {
    targets: &'a mut Vec<Target>,
    order: &'a [SortItem],
    clause: Clause,
    sql99: bool,
    made: Vec<SortItem>,
}

impl Binder<'_> {
    /// GROUP BY, or PARTITION BY of a window: what is grouped by, and the sets of it.
    pub(super) fn group_clause(
        &mut self,
        items: &[GroupItem],
        targets: &mut Vec<Target>,
        order: &[SortItem],
        clause: Clause,
        sql99: bool,
    ) -> Result<(Vec<SortItem>, Vec<GroupSet>)> {
        let mut has_sets = false;
        let mut flat = Vec::new();
        for item in items {
            has_sets |= !matches!(item, GroupItem::Expr(_));
            if !matches!(item, GroupItem::Empty(_)) {
                push(&mut flat, self.flattened(item));
            }
        }
        if flat.is_empty() && has_sets {
            flat.push(Flat::Set(Kind::Empty, Vec::new(), 0));
        }
        let mut groups = Groups { targets, order, clause, sql99, made: Vec::new() };
        let (mut sets, mut seen) = (Vec::new(), Vec::new());
        for item in flat {
            match item {
                Flat::One(id) => {
                    if let Some(reference) = self.group_value(id, &mut groups, &seen, true)? {
                        seen.push(reference);
                        if has_sets {
                            sets.push(GroupSet::Simple(vec![reference]));
                        }
                    }
                }
                Flat::Set(kind, content, place) => {
                    sets.push(self.group_set(kind, content, place, &mut groups)?);
                }
                Flat::Several(_) => {}
            }
        }
        Ok((groups.made, sets))
    }

    fn flattened(&self, item: &GroupItem) -> Flat {
        let all = |ids: &[ast::ExprId]| ids.iter().map(|id| self.flat_value(*id)).collect();
        match item {
            GroupItem::Expr(id) => self.flat_value(*id),
            GroupItem::Empty(place) => Flat::Set(Kind::Empty, Vec::new(), *place),
            GroupItem::Rollup(ids, place) => Flat::Set(Kind::Rollup, all(ids), *place),
            GroupItem::Cube(ids, place) => Flat::Set(Kind::Cube, all(ids), *place),
            GroupItem::Sets(items, place) => {
                let mut content = Vec::new();
                for item in items {
                    // GROUPING SETS within GROUPING SETS are sets of the outer.
                    match self.flattened(item) {
                        Flat::Set(Kind::Sets, inner, _) => content.extend(inner),
                        other => content.push(other),
                    }
                }
                Flat::Set(Kind::Sets, content, *place)
            }
        }
    }

    fn flat_value(&self, id: ast::ExprId) -> Flat {
        let Raw::Row(ids, false) = self.tree.expr(id) else { return Flat::One(id) };
        let mut all = Vec::new();
        for id in ids {
            push(&mut all, self.flat_value(*id));
        }
        Flat::Several(all)
    }

    fn group_set(
        &mut self,
        kind: Kind,
        content: Vec<Flat>,
        place: u32,
        groups: &mut Groups<'_>,
    ) -> Result<GroupSet> {
        let mut made = Vec::with_capacity(content.len());
        for item in content {
            made.push(match item {
                Flat::One(id) => {
                    let reference = self.group_value(id, groups, &[], false)?;
                    GroupSet::Simple(reference.into_iter().collect())
                }
                Flat::Several(items) => {
                    let mut seen = Vec::new();
                    for item in items {
                        let Flat::One(id) = item else { continue };
                        seen.extend(self.group_value(id, groups, &seen, false)?);
                    }
                    GroupSet::Simple(seen)
                }
                Flat::Set(kind, content, place) => self.group_set(kind, content, place, groups)?,
            });
        }
        if kind == Kind::Cube && made.len() > 12 {
            return Err(Error::new("54011", "CUBE is limited to 12 elements").at(place));
        }
        Ok(match kind {
            Kind::Empty => GroupSet::Empty,
            Kind::Rollup => GroupSet::Rollup(made),
            Kind::Cube => GroupSet::Cube(made),
            Kind::Sets => GroupSet::Sets(made),
        })
    }

    /// The reference of a value that is grouped by; none for one that was named before in the same list.
    fn group_value(
        &mut self,
        id: ast::ExprId,
        groups: &mut Groups<'_>,
        seen: &[u32],
        top: bool,
    ) -> Result<Option<u32>> {
        let at = match groups.sql99 {
            true => self.find_by_value(id, groups.targets, groups.clause)?,
            false => self.find_target(id, groups.targets, groups.clause)?,
        };
        let reference = groups.targets[at].reference;
        if reference > 0 {
            if seen.contains(&reference) {
                return Ok(None);
            }
            if groups.made.iter().any(|item| item.reference == reference) {
                return Ok(Some(reference));
            }
            // The order's operators are taken over, so that one sort serves both.
            if let Some(item) = groups.order.iter().find(|item| item.reference == reference) {
                let nulls_first = item.nulls_first && top;
                groups.made.push(SortItem { nulls_first, ..*item });
                return Ok(Some(reference));
            }
        }
        let start = self.raw_start(id);
        self.add_group(at, groups.targets, start, &mut groups.made)?;
        Ok(Some(groups.targets[at].reference))
    }
}

fn push(list: &mut Vec<Flat>, item: Flat) {
    match item {
        Flat::Several(items) => list.extend(items),
        other => list.push(other),
    }
}

/// As many sets are carried out.
const MAX_SETS: u64 = 4096;

/// All sets that GROUP BY means, each a list of references; none if they are too many.
pub(super) fn expanded(sets: &[GroupSet], distinct: bool) -> Option<Vec<Vec<u32>>> {
    let count = sets.iter().try_fold(1_u64, |all, set| all.checked_mul(count(set)))?;
    if count > MAX_SETS {
        return None;
    }
    let mut all: Vec<Vec<u32>> = vec![Vec::new()];
    for set in sets {
        let some = expanded_set(set);
        all = all.iter().flat_map(|one| some.iter().map(|other| union(one, other))).collect();
    }
    all.sort_by_key(Vec::len);
    if distinct {
        for set in &mut all {
            set.sort_unstable();
        }
        all.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        all.dedup();
    }
    Some(all)
}

fn union(one: &[u32], other: &[u32]) -> Vec<u32> {
    let mut all = Vec::with_capacity(one.len() + other.len());
    for reference in one.iter().chain(other) {
        if !all.contains(reference) {
            all.push(*reference);
        }
    }
    all
}

fn count(set: &GroupSet) -> u64 {
    match set {
        GroupSet::Empty | GroupSet::Simple(_) => 1,
        GroupSet::Rollup(parts) => parts.len() as u64 + 1,
        GroupSet::Cube(parts) => 1 << parts.len().min(63),
        GroupSet::Sets(parts) => parts.iter().map(count).sum(),
    }
}

fn expanded_set(set: &GroupSet) -> Vec<Vec<u32>> {
    let content = |part: &GroupSet| match part {
        GroupSet::Simple(references) => references.clone(),
        _ => Vec::new(),
    };
    match set {
        GroupSet::Empty => vec![Vec::new()],
        GroupSet::Simple(references) => vec![references.clone()],
        GroupSet::Rollup(parts) => {
            let first = |n: usize| parts[..n].iter().flat_map(content).collect();
            (0..=parts.len()).rev().map(first).collect()
        }
        GroupSet::Cube(parts) => {
            let of = |bits: usize| {
                let chosen = (0..parts.len()).filter(|at| bits >> at & 1 == 1);
                chosen.flat_map(|at| content(&parts[at])).collect()
            };
            (0..1_usize << parts.len()).map(of).collect()
        }
        GroupSet::Sets(parts) => parts.iter().flat_map(expanded_set).collect(),
    }
}
