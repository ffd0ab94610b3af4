//! Which queries are drawn?

use onlap_pg::Oid;

use super::expr::UNORDERED;
use super::maker::{Item, Maker, Scope, other};
use super::tree::{Sort, Tree};

const BOOL: Oid = 16;

/// How a query is grouped, distinct and windowed.
#[derive(Clone, Copy, Debug, Default)]
struct Manner {
    grouped: bool,
    sets: bool,
    distinct: bool,
    distinct_on: bool,
    series: bool,
}

impl Maker<'_> {
    /// A whole query.
    pub fn statement(&mut self) -> Tree {
        let with = if self.rng.chance(0.2) { self.with(2) } else { None };
        let query = match self.rng.below(10) {
            0 => {
                let types: Vec<Oid> =
                    (0..1 + self.rng.index(3)).map(|_| self.common_type()).collect();
                self.set_operation(&types, 2)
            }
            _ => {
                let count = 1 + self.rng.index(4);
                let depth = 2 + u32::from(self.rng.chance(0.4));
                self.select(&vec![None; count], depth)
            }
        };
        other("", []).maybe(with).one(query)
    }

    /// A query of columns of these types.
    pub fn query_of(&mut self, types: &[Oid], depth: u32) -> Tree {
        let plain = types.iter().all(|ty| !UNORDERED.contains(ty));
        match self.rng.below(12) {
            0 => Tree::of(Sort::Query, "values ", []).list(self.value_rows(types), ", ", 1),
            1 | 2 if depth > 0 && plain => self.set_operation(types, depth - 1),
            3 if depth > 0 => {
                let (before, scopes) = (self.with.len(), std::mem::take(&mut self.scopes));
                let with = self.with(depth - 1);
                self.scopes = scopes;
                let wanted: Vec<Option<Oid>> = types.iter().map(|ty| Some(*ty)).collect();
                let query = self.select(&wanted, depth - 1);
                self.with.truncate(before);
                Tree::of(Sort::Query, "", []).maybe(with).one(query)
            }
            _ => {
                let wanted: Vec<Option<Oid>> = types.iter().map(|ty| Some(*ty)).collect();
                self.select(&wanted, depth)
            }
        }
    }

    /// `with x as (…) `
    fn with(&mut self, depth: u32) -> Option<Tree> {
        let name = self.name();
        let types: Vec<Oid> = (0..1 + self.rng.index(3)).map(|_| self.common_type()).collect();
        let mut columns: Vec<(String, Oid)> =
            types.iter().enumerate().map(|(n, ty)| (format!("c{}", n + 1), *ty)).collect();
        let how = self.one(&["", "", " materialized", " not materialized"]);
        let tree = match self.rng.chance(0.3) {
            true => {
                columns = vec![("n".into(), 23), ("s".into(), types[0])];
                self.recursive(&name, types[0])?
            }
            false => {
                let query = self.query_of(&types, depth);
                let names: Vec<&str> = columns.iter().map(|c| c.0.as_str()).collect();
                let text = format!("with {name}({}) as{how} ({{}}) ", names.join(", "));
                other(&text, [query])
            }
        };
        self.with.push(Item { name, columns, key: Vec::new() });
        Some(tree)
    }

    /// A query that goes on from its own rows, some steps.
    fn recursive(&mut self, name: &str, ty: Oid) -> Option<Tree> {
        if UNORDERED.contains(&ty) {
            return None;
        }
        let all = self.one(&["union all", "union"]);
        let first = self.leaf(ty);
        let columns = vec![("n".to_string(), 23), ("s".to_string(), ty)];
        let item = Item { name: "r".into(), columns, key: Vec::new() };
        self.scopes.push(Scope { items: vec![item], ..Scope::default() });
        let next = self.expr(ty, 1);
        self.scopes.pop();
        let last = 1 + self.rng.below(4);
        let text = format!(
            "with recursive {name}(n, s) as (select 0, {{}} {all} select r.n + 1, {{}} from {name} as r where r.n < {last}) "
        );
        Some(other(&text, [first, next]))
    }

    /// UNION, INTERSECT, EXCEPT, with ALL.
    fn set_operation(&mut self, types: &[Oid], depth: u32) -> Tree {
        let types: Vec<Oid> =
            types.iter().map(|ty| if UNORDERED.contains(ty) { 25 } else { *ty }).collect();
        let word =
            self.one(&["union", "union all", "intersect", "intersect all", "except", "except all"]);
        let parts = [self.query_of(&types, depth), self.query_of(&types, depth)];
        let tree = Tree::of(Sort::Query, &format!("({{}}) {word} ({{}})"), parts);
        match self.rng.chance(0.3) {
            true => {
                let order = self.order_by_all(types.len());
                tree.maybe(Some(order))
            }
            false => tree,
        }
    }

    /// A SELECT. Columns without a type are whatever can be called.
    pub fn select(&mut self, wanted: &[Option<Oid>], depth: u32) -> Tree {
        let chance = |maker: &mut Self, p| maker.rng.chance(p);
        let grouped = chance(self, 0.25);
        let manner = Manner {
            grouped,
            sets: grouped && chance(self, 0.25),
            distinct: chance(self, 0.08),
            distinct_on: !grouped && chance(self, 0.04),
            series: !grouped && wanted.iter().any(Option::is_none) && chance(self, 0.06),
        };
        self.scopes.push(Scope::default());
        let from = chance(self, 0.93).then(|| self.from(depth.saturating_sub(1)));
        let filter = chance(self, 0.5).then(|| other(" where {}", [self.expr(BOOL, depth)]));
        let (groups, by) = if grouped { self.groups(manner, depth) } else { (None, None) };
        self.scope().groups = groups;
        self.scope().windows = chance(self, 0.25);
        let (targets, types) = self.targets(wanted, manner, depth);
        self.scope().windows = false;
        let having = (grouped && chance(self, 0.2))
            .then(|| other(" having {}", [self.expr(BOOL, depth.min(2))]));
        let (on, order) = self.order(manner, &types);
        self.scopes.pop();
        let distinct = (manner.distinct && !types.contains(&114)).then(|| other("distinct ", []));
        let tree = Tree::of(Sort::Query, "select ", []);
        let tree = match (&on, distinct) {
            (Some(on), _) => tree.maybe(Some(Tree::leaf(Sort::Other, on.clone()))),
            (None, distinct) => tree.maybe(distinct),
        };
        let from = from.map(|from| other(" from {}", [from]));
        let tree = tree.list(targets, ", ", 1).maybe(from).maybe(filter).maybe(by).maybe(having);
        match order {
            Some(order) if on.is_some() => tree.fixed(order),
            order => tree.maybe(order),
        }
    }

    fn targets(
        &mut self,
        wanted: &[Option<Oid>],
        manner: Manner,
        depth: u32,
    ) -> (Vec<Tree>, Vec<Oid>) {
        let (mut targets, mut types) = (Vec::new(), Vec::new());
        for (n, ty) in wanted.iter().enumerate() {
            let drawn = match ty {
                Some(ty) => (self.expr(*ty, depth), *ty),
                None if n == 0 && manner.series => match self.series(1) {
                    Some(series) => series,
                    None => self.any_call(depth),
                },
                None if self.rng.chance(0.5) => self.any_call(depth),
                None => {
                    let ty = self.type_in_sight();
                    match manner.grouped && self.rng.chance(0.5) {
                        true => (self.aggregate(ty, depth).unwrap_or_else(|| self.leaf(ty)), ty),
                        false => (self.expr(ty, depth), ty),
                    }
                }
            };
            let (tree, ty) = drawn;
            targets.push(match ty {
                // Where another query names it.
                _ if wanted[n].is_some() => other("{}", [tree]).word(format!(" as c{}", n + 1)),
                _ if self.rng.chance(0.3) => other("{}", [tree]).word(format!(" as c{}", n + 1)),
                _ => other("{}", [tree]),
            });
            types.push(ty);
        }
        (targets, types)
    }

    /// What a query is grouped by, and the clause.
    fn groups(&mut self, manner: Manner, depth: u32) -> (Option<Vec<(Tree, Oid)>>, Option<Tree>) {
        let count = self.rng.index(3);
        let mut groups = Vec::new();
        for _ in 0..count {
            let ty = self.ordered_type();
            let tree = match self.column(ty) {
                Some(column) if manner.sets || self.rng.chance(0.7) => column,
                // PostgreSQL shows a constant within a larger expression also where its set leaves it out, and a constant alone not.
                None if manner.sets => continue,
                _ => self.expr(ty, depth.min(1)),
            };
            groups.push((tree, ty));
        }
        if groups.is_empty() {
            return (Some(groups), None);
        }
        let texts: Vec<String> = groups.iter().map(|g| format!("({})", g.0.text())).collect();
        let items: Vec<Tree> =
            texts.iter().map(|text| Tree::leaf(Sort::Other, text.clone())).collect();
        let by = match (manner.sets, self.rng.below(4)) {
            (true, 0) => other(" group by rollup (", []).list(items, ", ", 1).word(")"),
            (true, 1) => other(" group by cube (", []).list(items, ", ", 1).word(")"),
            (true, _) => {
                let all = Tree::leaf(Sort::Other, format!("({})", texts.join(", ")));
                let mut items = vec![all, Tree::leaf(Sort::Other, "()")];
                items.push(Tree::leaf(Sort::Other, texts[0].clone()));
                other(" group by grouping sets (", []).list(items, ", ", 1).word(")")
            }
            (false, _) => other(" group by ", []).list(items, ", ", 1),
        };
        (Some(groups), Some(by))
    }

    /// DISTINCT ON with its order, or an order that is total, where there can be one.
    fn order(&mut self, manner: Manner, types: &[Oid]) -> (Option<String>, Option<Tree>) {
        let key = self.scope().key();
        let plain = !manner.grouped && !manner.distinct && !manner.series;
        if let (true, Some(key)) = (plain, &key)
            && !key.is_empty()
        {
            let ty = self.ordered_type();
            let by = self.expr(ty, 1).text();
            let way =
                self.one(&["", " desc", " nulls first", " asc nulls last", " desc nulls last"]);
            let text = format!(" order by {by}{way}, {}", key.join(", "));
            if manner.distinct_on {
                let on = format!("distinct on ({by}) ");
                return (Some(on), Some(self.limited(text)));
            }
            if self.rng.chance(0.3) {
                return (None, Some(self.limited(text)));
            }
            return (None, None);
        }
        let ordered = types.iter().all(|ty| !UNORDERED.contains(ty));
        if ordered && !manner.series && self.rng.chance(0.15) {
            return (None, Some(self.order_by_all(types.len())));
        }
        (None, None)
    }

    fn order_by_all(&mut self, columns: usize) -> Tree {
        let mut all: Vec<String> = Vec::new();
        for n in 1..=columns {
            let way = self.one(&["", "", " desc", " nulls first"]);
            all.push(format!("{n}{way}"));
        }
        self.limited(format!(" order by {}", all.join(", ")))
    }

    fn limited(&mut self, order: String) -> Tree {
        let limit = self.rng.chance(0.4).then(|| {
            let text = self.one(&[
                " limit 1",
                " limit 3",
                " limit 2 offset 1",
                " offset 2",
                " fetch first 2 rows only",
                " limit 0",
                " fetch first 2 rows with ties",
            ]);
            Tree::leaf(Sort::Other, text)
        });
        Tree::of(Sort::Order, "", []).fixed(Tree::leaf(Sort::Other, order)).maybe(limit)
    }
}
