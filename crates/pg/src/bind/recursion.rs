//! Which queries of WITH RECURSIVE name which, and is each recursive one well formed?
//!
//! Asked of the texts' trees before anything is bound: the order in which queries are bound follows from it.

use crate::ast::{
    Body, Cte, CteBody, From, FromId, Join, JoinKind, Name, Part, Query, QueryId, SetKind, Tree,
    With,
};
use crate::{Error, Result};

/// The queries of a WITH RECURSIVE.
pub(super) struct Recursion<'a> {
    ctes: &'a [Cte],
    /// In which order they are bound.
    pub(super) order: Vec<usize>,
    /// Whether each names itself.
    pub(super) recursive: Vec<bool>,
}

/// Where a query that names itself stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Fine,
    First,
    SubQuery,
    OuterJoin,
    Intersect,
    Except,
}

impl Place {
    fn name(self) -> &'static str {
        match self {
            Place::Fine => "",
            Place::First => "its non-recursive term",
            Place::SubQuery => "a subquery",
            Place::OuterJoin => "an outer join",
            Place::Intersect => "INTERSECT",
            Place::Except => "EXCEPT",
        }
    }
}

impl<'a> Recursion<'a> {
    /// Finds out which names which.
    ///
    /// # Errors
    /// 0A000: two name each other.
    pub(super) fn of(tree: &Tree, ctes: &'a [Cte]) -> Result<Recursion<'a>> {
        let mut needs: Vec<Vec<usize>> = Vec::new();
        let mut recursive = vec![false; ctes.len()];
        for (at, cte) in ctes.iter().enumerate() {
            let mut found = Vec::new();
            let mut walk = Walk {
                tree,
                inner: Vec::new(),
                place: Place::Fine,
                see: &mut |name, _, _| {
                    if let Some(other) = ctes.iter().position(|cte| *cte.name == *name)
                        && !found.contains(&other)
                    {
                        found.push(other);
                    }
                    Ok(())
                },
            };
            walk.body(&cte.body)?;
            recursive[at] = found.contains(&at);
            found.retain(|other| *other != at);
            needs.push(found);
        }
        let mut order: Vec<usize> = (0..ctes.len()).collect();
        for at in 0..order.len() {
            let done = order[..at].to_vec();
            let ready = |n: &usize| needs[*n].iter().all(|need| done.contains(need));
            let Some(found) = (at..order.len()).find(|n| ready(&order[*n])) else {
                let text = "mutual recursion between WITH items is not implemented";
                return Err(Error::new("0A000", text).at(ctes[order[at]].place));
            };
            order.swap(at, found);
        }
        Ok(Recursion { ctes, order, recursive })
    }

    /// Checks that recursive ones have a form that can be carried out.
    ///
    /// # Errors
    /// 42P19, 0A000.
    pub(super) fn check(&self, tree: &Tree) -> Result<()> {
        for at in &self.order {
            if self.recursive[*at] {
                check(tree, &self.ctes[*at])?;
            }
        }
        Ok(())
    }
}

fn check(tree: &Tree, cte: &Cte) -> Result<()> {
    let wrong = |text: String| Err(Error::new("42P19", text).at(cte.place));
    let CteBody::Query(query) = &cte.body else {
        return wrong(format!(
            "recursive query \"{}\" must not contain data-modifying statements",
            cte.name
        ));
    };
    let query = tree.query(*query);
    let set = match &query.body {
        Body::Set(set) if set.kind == SetKind::Union => set,
        _ => {
            return wrong(format!(
                "recursive query \"{}\" does not have the form non-recursive-term UNION [ALL] \
                 recursive-term",
                cte.name
            ));
        }
    };
    let mut count = 0;
    let mut see = |name: &str, place: Place, at: u32| {
        if *name != *cte.name {
            return Ok(());
        }
        let text = format!("recursive reference to query \"{name}\" must not appear");
        if place != Place::Fine {
            let text = format!("{text} within {}", place.name());
            return Err(Error::new("42P19", text).at(at));
        }
        count += 1;
        match count {
            1 => Ok(()),
            _ => Err(Error::new("42P19", format!("{text} more than once")).at(at)),
        }
    };
    let mut walk = Walk { tree, inner: Vec::new(), place: Place::First, see: &mut see };
    walk.query(set.left)?;
    walk.place = Place::Fine;
    walk.query(set.right)?;
    if let Some(with) = &query.with {
        walk.place = Place::SubQuery;
        for cte in &with.ctes {
            walk.body(&cte.body)?;
        }
    }
    let refuse = |what: &str, at: Option<u32>| {
        let error = Error::new("0A000", format!("{what} in a recursive query is not implemented"));
        Err(at.into_iter().fold(error, |error, at| error.at(at)))
    };
    let start = |id| super::places::start(tree, id);
    if let Some(first) = query.order.first() {
        return refuse("ORDER BY", start(first.value));
    }
    if let Some(offset) = query.offset {
        return refuse("OFFSET", start(offset));
    }
    if let Some(limit) = query.limit {
        return refuse("LIMIT", start(limit));
    }
    match query.locks.is_empty() {
        true => Ok(()),
        false => refuse("FOR UPDATE/SHARE", None),
    }
}

/// What is told of each name without a schema: the name, where it stands among queries, and in the text.
type See<'a> = dyn FnMut(&str, Place, u32) -> Result<()> + 'a;

/// Visits names of relations, except those that an inner WITH has taken.
struct Walk<'a, 'b> {
    tree: &'a Tree,
    inner: Vec<Vec<Name>>,
    place: Place,
    see: &'b mut See<'b>,
}

impl Walk<'_, '_> {
    fn body(&mut self, body: &CteBody) -> Result<()> {
        match body {
            CteBody::Query(query) => self.query(*query),
            CteBody::Statement(statement) => {
                let (mut parts, mut names) = (Vec::new(), Vec::new());
                statement.parts(&mut |part| parts.push(part), &mut |relation| {
                    names.push((relation.name.clone(), relation.place));
                });
                for (name, place) in names {
                    if let [name] = &name[..] {
                        self.name(name, place)?;
                    }
                }
                parts.into_iter().try_for_each(|part| self.part(part))
            }
        }
    }

    fn part(&mut self, part: Part) -> Result<()> {
        stacker::maybe_grow(super::RED_ZONE, super::MORE_STACK, || match part {
            Part::Expr(id) => {
                let tree = self.tree;
                let before = self.place;
                let mut parts = Vec::new();
                tree.expr(id).parts(&mut |part| parts.push(part));
                for part in parts {
                    if matches!(part, Part::Query(_)) {
                        self.place = Place::SubQuery;
                    }
                    self.part(part)?;
                    self.place = before;
                }
                Ok(())
            }
            Part::Query(id) => self.query(id),
            Part::From(id) => self.from(id),
        })
    }

    fn query(&mut self, id: QueryId) -> Result<()> {
        let tree = self.tree;
        let query = tree.query(id);
        if let Some(with) = &query.with {
            self.inner_with(with)?;
        }
        let made = self.query_body(query);
        if query.with.is_some() {
            self.inner.pop();
        }
        made
    }

    fn inner_with(&mut self, with: &With) -> Result<()> {
        let names = |ctes: &[Cte]| ctes.iter().map(|cte| cte.name.clone()).collect();
        self.inner.push(if with.recursive { names(&with.ctes) } else { Vec::new() });
        for cte in &with.ctes {
            self.body(&cte.body)?;
            if !with.recursive {
                self.inner.last_mut().expect("it was pushed").push(cte.name.clone());
            }
        }
        Ok(())
    }

    fn query_body(&mut self, query: &Query) -> Result<()> {
        let before = self.place;
        let mut parts = Vec::new();
        match &query.body {
            Body::Set(set) => {
                let (left, right) = match (before, set.kind, set.all) {
                    (Place::Fine, SetKind::Intersect, true) => (Place::Intersect, Place::Intersect),
                    (Place::Fine, SetKind::Except, true) => (Place::Except, Place::Except),
                    (Place::Fine, SetKind::Except, false) => (Place::Fine, Place::Except),
                    _ => (before, before),
                };
                self.place = left;
                self.part(Part::Query(set.left))?;
                self.place = right;
                self.part(Part::Query(set.right))?;
                self.place = before;
            }
            _ => query.body.parts(&mut |part| parts.push(part)),
        }
        query.tail_parts(&mut |part| parts.push(part));
        parts.into_iter().try_for_each(|part| self.part(part))
    }

    fn from(&mut self, id: FromId) -> Result<()> {
        let tree = self.tree;
        match tree.from(id) {
            From::Relation(relation) | From::Sample(relation, ..) if relation.name.len() == 1 => {
                self.name(&relation.name[0], relation.place)
            }
            From::Join(join) => self.join(join),
            other => {
                let mut parts = Vec::new();
                other.parts(&mut |part| parts.push(part));
                parts.into_iter().try_for_each(|part| self.part(part))
            }
        }
    }

    fn name(&mut self, name: &str, place: u32) -> Result<()> {
        let taken = self.inner.iter().flatten().any(|inner| **inner == *name);
        if taken { Ok(()) } else { (self.see)(name, self.place, place) }
    }

    fn join(&mut self, join: &Join) -> Result<()> {
        let before = self.place;
        let outer = if before == Place::Fine { Place::OuterJoin } else { before };
        let (left, right) = match join.kind {
            JoinKind::Inner => (before, before),
            JoinKind::Left => (before, outer),
            JoinKind::Right => (outer, before),
            JoinKind::Full => (outer, outer),
        };
        self.place = left;
        self.part(Part::From(join.left))?;
        self.place = right;
        self.part(Part::From(join.right))?;
        self.place = before;
        match &join.on {
            crate::ast::On::Condition(on) => self.part(Part::Expr(*on)),
            _ => Ok(()),
        }
    }
}
