//! What does a query see while it is drawn?
//!
//! A [`Maker`] draws statements over a world; [`super::expr`], [`super::from`], [`super::query`] and [`super::change`] are its
//! parts. It knows which columns are in sight with which types, so that most of what it draws has a meaning; what has none
//! must be refused alike.

use onlap_base::Rng;
use onlap_pg::Oid;

use super::offer::Offer;
use super::tree::{Sort, Tree};
use super::world::World;

/// An item of FROM.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<(String, Oid)>,
    /// Columns that tell its rows apart; none if nothing does.
    pub key: Vec<String>,
}

/// What a query sees.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Items of FROM.
    pub items: Vec<Item>,
    /// Columns that USING merged.
    pub merged: Vec<(String, Oid)>,
    /// In a grouped query, what can be named outside of aggregates.
    pub groups: Option<Vec<(Tree, Oid)>>,
    /// Whether windows may stand here.
    pub windows: bool,
}

impl Scope {
    /// What tells its rows apart; `None` if nothing does.
    pub fn key(&self) -> Option<Vec<String>> {
        if self.items.iter().any(|item| item.key.is_empty()) {
            return None;
        }
        let of =
            |item: &Item| item.key.iter().map(|c| format!("{}.{c}", item.name)).collect::<Vec<_>>();
        Some(self.items.iter().flat_map(of).collect())
    }
}

/// Draws statements.
pub struct Maker<'a> {
    /// Chance.
    pub rng: &'a mut Rng,
    /// What can be called.
    pub offer: &'a Offer,
    /// The tables.
    pub world: &'a World,
    /// What is seen, the innermost query last.
    pub scopes: Vec<Scope>,
    /// Queries of WITH.
    pub with: Vec<Item>,
    names: usize,
}

impl<'a> Maker<'a> {
    /// One that has drawn nothing.
    pub fn new(rng: &'a mut Rng, offer: &'a Offer, world: &'a World) -> Maker<'a> {
        Maker { rng, offer, world, scopes: Vec::new(), with: Vec::new(), names: 0 }
    }

    /// One of some words.
    pub fn one(&mut self, of: &[&'static str]) -> &'static str {
        of[self.rng.index(of.len())]
    }

    /// A name that nothing has.
    pub fn name(&mut self) -> String {
        self.names += 1;
        format!("x{}", self.names)
    }

    /// A type that columns of the tables have.
    pub fn common_type(&mut self) -> Oid {
        let of = [
            23, 23, 23, 25, 25, 1700, 701, 20, 16, 1082, 1114, 1184, 1043, 1042, 3802, 1186, 2950,
            1083, 17, 21,
        ];
        *self.rng.pick(&of)
    }

    /// The innermost query.
    pub fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("a query is drawn")
    }

    /// A column in sight of this type.
    pub fn column(&mut self, ty: Oid) -> Option<Tree> {
        let deep = self.scopes.len();
        if deep == 0 {
            return None;
        }
        let at = if self.rng.chance(0.8) { deep - 1 } else { self.rng.index(deep) };
        let scope = &self.scopes[at];
        let found: Vec<Tree> = match &scope.groups {
            Some(groups) => groups.iter().filter(|g| g.1 == ty).map(|g| g.0.clone()).collect(),
            None => {
                let own = scope.items.iter().flat_map(|item| {
                    let of = item.columns.iter().filter(|c| c.1 == ty);
                    of.map(|c| format!("{}.{}", item.name, c.0))
                });
                let merged = scope.merged.iter().filter(|c| c.1 == ty).map(|c| c.0.clone());
                own.chain(merged).map(|text| Tree::leaf(Sort::Value(ty), text)).collect()
            }
        };
        (!found.is_empty()).then(|| self.rng.pick(&found).clone())
    }

    /// The type of a column in sight.
    pub fn type_in_sight(&mut self) -> Oid {
        let types: Vec<Oid> = match self.scopes.last() {
            Some(Scope { groups: Some(groups), .. }) => groups.iter().map(|g| g.1).collect(),
            Some(scope) => scope.items.iter().flat_map(|i| &i.columns).map(|c| c.1).collect(),
            None => Vec::new(),
        };
        match types.is_empty() || self.rng.chance(0.3) {
            true => self.common_type(),
            false => *self.rng.pick(&types),
        }
    }
}

/// A tree of a value.
pub fn value(ty: Oid, template: &str, parts: impl IntoIterator<Item = Tree>) -> Tree {
    Tree::of(Sort::Value(ty), template, parts)
}

/// A tree of another sort.
pub fn other(template: &str, parts: impl IntoIterator<Item = Tree>) -> Tree {
    Tree::of(Sort::Other, template, parts)
}
