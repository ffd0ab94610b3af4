//! What is drawn after FROM?

use onlap_pg::Oid;

use super::maker::{Item, Maker, other};
use super::offer::Kind;
use super::tree::{Sort, Tree};
use super::values;

const BOOL: Oid = 16;
const INT: Oid = 23;

/// Sets that end soon: how they are written, and what they give.
const SETS: &[(&str, &[Oid])] = &[
    ("generate_series(1, 3)", &[23]),
    ("generate_series(3, -1, -2)", &[23]),
    ("generate_series(1::bigint, 4, 2)", &[20]),
    ("generate_series(0.5, 2)", &[1700]),
    ("generate_series('2024-02-28'::timestamp, '2024-03-01', '1 day')", &[1114]),
    ("generate_series('2024-03-30'::timestamptz, '2024-04-01', '12:00')", &[1184]),
    ("unnest(array[1, null, 2])", &[23]),
    ("unnest('{{a,b},{c,d}}'::text[])", &[25]),
    ("unnest(array[1, 2], array['x', 'y', 'z'])", &[23, 25]),
    ("jsonb_each('{\"a\": 1, \"b\": [null]}')", &[25, 3802]),
    ("jsonb_array_elements('[1, \"x\", null]')", &[3802]),
    ("jsonb_array_elements_text('[1, \"x\", null]')", &[25]),
    ("json_object_keys('{\"a\": 1, \"b\": 2}')", &[25]),
    ("string_to_table('a,b,,c', ',')", &[25]),
    ("regexp_split_to_table('a1b22c', '[0-9]+')", &[25]),
    ("regexp_matches('abab', '(a)(b)', 'g')", &[1009]),
];

impl Maker<'_> {
    /// Items, with joins. They are put in sight.
    pub fn from(&mut self, depth: u32) -> Tree {
        let count = if self.rng.chance(0.2) { 2 } else { 1 };
        let items = (0..count).map(|_| self.joined(depth)).collect();
        other("", []).list(items, ", ", 1)
    }

    fn joined(&mut self, depth: u32) -> Tree {
        let first = self.scope().items.len();
        let mut tree = self.item(depth);
        let chance = if depth > 1 { 0.45 } else { 0.25 };
        for _ in 0..3 {
            if !self.rng.chance(chance) {
                break;
            }
            let right = self.item(depth.saturating_sub(1));
            tree = self.join(tree, right, first, depth);
        }
        tree
    }

    fn join(&mut self, left: Tree, right: Tree, first: usize, depth: u32) -> Tree {
        let kind = self.one(&["join", "left join", "right join", "full join", "left join"]);
        let common = self.common_columns(first);
        match self.rng.below(10) {
            0 => Tree::of(Sort::From, "{} cross join {}", [left, right]),
            1 if !common.is_empty() => {
                self.scope().merged.extend(common);
                Tree::of(Sort::From, &format!("({{}} natural {kind} {{}})"), [left, right])
            }
            2 | 3 if !common.is_empty() => {
                let some: Vec<(String, Oid)> = match self.rng.chance(0.6) {
                    true => vec![self.rng.pick(&common).clone()],
                    false => common,
                };
                let names: Vec<Tree> =
                    some.iter().map(|c| Tree::leaf(Sort::Other, c.0.clone())).collect();
                self.scope().merged.extend(some);
                let tree =
                    Tree::of(Sort::From, &format!("({{}} {kind} {{}} using ("), [left, right]);
                tree.list(names, ", ", 1).word("))")
            }
            _ => {
                let hidden: Vec<Item> = self.scope().items.drain(..first).collect();
                let on = match self.equal() {
                    Some(on) if self.rng.chance(0.6) => on,
                    _ => self.expr(BOOL, depth.min(2)),
                };
                self.scope().items.splice(0..0, hidden);
                Tree::of(Sort::From, &format!("({{}} {kind} {{}} on {{}})"), [left, right, on])
            }
        }
    }

    /// Columns that the last item and one of those before it have in common, of one type.
    fn common_columns(&mut self, first: usize) -> Vec<(String, Oid)> {
        let items = &self.scope().items[first..];
        let Some((last, before)) = items.split_last() else { return Vec::new() };
        let found = last.columns.iter().filter(|column| {
            let same = before.iter().flat_map(|i| &i.columns).filter(|c| c.0 == column.0);
            let same: Vec<_> = same.collect();
            same.len() == 1 && same[0].1 == column.1 && column.1 != 114
        });
        found.cloned().collect()
    }

    /// An equality between the last item and one before it.
    fn equal(&mut self) -> Option<Tree> {
        let items = self.scope().items.clone();
        let (last, before) = items.split_last()?;
        let other = if before.is_empty() { return None } else { self.rng.pick(before).clone() };
        let mut pairs = Vec::new();
        for a in last.columns.iter().filter(|a| a.1 != 114) {
            for b in other.columns.iter().filter(|b| b.1 == a.1) {
                pairs.push(format!("{}.{} = {}.{}", last.name, a.0, other.name, b.0));
            }
        }
        (!pairs.is_empty()).then(|| Tree::leaf(Sort::Value(BOOL), self.rng.pick(&pairs).clone()))
    }

    /// One item, which is put in sight.
    fn item(&mut self, depth: u32) -> Tree {
        let name = self.name();
        let (tree, item) = match self.rng.below(12) {
            0 | 1 if depth > 0 => self.query_item(name, depth - 1),
            2 => self.values_item(name),
            3 => self.set_item(name),
            4 | 5 if !self.with.is_empty() => {
                let of = self.rng.pick(&self.with).clone();
                let tree = Tree::leaf(Sort::From, format!("{} as {name}", of.name));
                (tree, Item { name, ..of })
            }
            _ => {
                let table = self.rng.pick(&self.world.tables).clone();
                let columns = table.columns.iter().map(|c| (c.name.to_string(), c.ty)).collect();
                let tree = Tree::leaf(Sort::From, format!("{} as {name}", table.name));
                (tree, Item { name, columns, key: vec!["id".into()] })
            }
        };
        self.scope().items.push(item);
        tree
    }

    fn query_item(&mut self, name: String, depth: u32) -> (Tree, Item) {
        let lateral = self.rng.chance(0.4);
        let types: Vec<Oid> = (0..1 + self.rng.index(3)).map(|_| self.common_type()).collect();
        let hidden = if lateral { None } else { self.scopes.pop() };
        let query = self.query_of(&types, depth);
        self.scopes.extend(hidden);
        let columns: Vec<(String, Oid)> =
            types.iter().enumerate().map(|(n, ty)| (format!("c{}", n + 1), *ty)).collect();
        let names: Vec<&str> = columns.iter().map(|c| c.0.as_str()).collect();
        let word = if lateral { "lateral " } else { "" };
        let tree =
            Tree::of(Sort::From, &format!("{word}({{}}) as {name}({})", names.join(", ")), [query]);
        (tree, Item { name, columns, key: Vec::new() })
    }

    fn values_item(&mut self, name: String) -> (Tree, Item) {
        let types: Vec<Oid> = (0..1 + self.rng.index(3)).map(|_| self.common_type()).collect();
        let rows = self.value_rows(&types);
        let columns: Vec<(String, Oid)> =
            types.iter().enumerate().map(|(n, ty)| (format!("c{}", n + 1), *ty)).collect();
        let names: Vec<&str> = columns.iter().map(|c| c.0.as_str()).collect();
        let tree = Tree::of(Sort::From, "(values ", []).list(rows, ", ", 1);
        let tree = tree.word(format!(") as {name}({})", names.join(", ")));
        (tree, Item { name, columns, key: Vec::new() })
    }

    /// Rows of literals, typed in the first one.
    pub fn value_rows(&mut self, types: &[Oid]) -> Vec<Tree> {
        let rows = 1 + self.rng.index(4);
        let row = |maker: &mut Self| {
            let values = types.iter().map(|ty| {
                let text = values::text(maker.rng, *ty).filter(|_| maker.rng.chance(0.9));
                let text =
                    text.map_or_else(|| values::null(*ty), |text| values::written(*ty, &text));
                Tree::leaf(Sort::Value(*ty), text)
            });
            let values = values.collect();
            other("(", []).list(values, ", ", 1).word(")")
        };
        (0..rows).map(|_| row(self)).collect()
    }

    fn set_item(&mut self, name: String) -> (Tree, Item) {
        let (text, types) = *self.rng.pick(SETS);
        let mut columns: Vec<(String, Oid)> =
            types.iter().enumerate().map(|(n, ty)| (format!("c{}", n + 1), *ty)).collect();
        let mut with = "";
        let mut key = Vec::new();
        if self.rng.chance(0.3) {
            columns.push(("o".into(), 20));
            (with, key) = (" with ordinality", vec!["o".to_string()]);
        }
        let names: Vec<&str> = columns.iter().map(|c| c.0.as_str()).collect();
        let tree = Tree::leaf(Sort::From, format!("{text}{with} as {name}({})", names.join(", ")));
        (tree, Item { name, columns, key })
    }

    /// A set in the list of targets, and its type.
    pub fn series(&mut self, depth: u32) -> Option<(Tree, Oid)> {
        if self.rng.chance(0.5) {
            let sets: Vec<_> = SETS.iter().filter(|set| set.1.len() == 1).collect();
            let (text, types) = **self.rng.pick(&sets);
            return Some((Tree::leaf(Sort::Value(types[0]), text), types[0]));
        }
        let all = self.offer.of_kind(Kind::Series);
        let call = self.offer.calls[*self.rng.pick(all)].clone();
        if call.name == "generate_series"
            || !values::is_drawn(self.offer.filled(call.result, INT, INT)?)
        {
            return None;
        }
        let result = self.offer.filled(call.result, INT, INT)?;
        let (arguments, _) = self.arguments(&call, result, depth)?;
        let least = arguments.len();
        let tree = Tree::of(Sort::Value(result), &format!("{}(", call.name), []);
        Some((tree.list(arguments, ", ", least).word(")"), result))
    }
}
