//! Which changes of rows are drawn?

use onlap_pg::Oid;

use super::maker::{Item, Maker, Scope, other};
use super::tree::{Sort, Tree};
use super::world::Table;

const BOOL: Oid = 16;

impl Maker<'_> {
    /// INSERT, UPDATE or DELETE, and the table that it changes.
    pub fn change(&mut self) -> (Tree, String) {
        let table = self.rng.pick(&self.world.tables).clone();
        let tree = match self.rng.below(3) {
            0 => self.insert(&table),
            1 => self.update(&table),
            _ => self.delete(&table),
        };
        (tree, table.name)
    }

    fn insert(&mut self, table: &Table) -> Tree {
        let mut columns = table.columns.clone();
        while columns.len() > 1 && self.rng.chance(0.3) {
            columns.pop();
        }
        let names: Vec<&str> = columns.iter().map(|c| c.name).collect();
        let types: Vec<Oid> = columns.iter().map(|c| c.ty).collect();
        let tree = other(&format!("insert into {} as x0 ({}) ", table.name, names.join(", ")), []);
        // Of rows of a query with one key, the first one stays: which that is, no rule says.
        let selects = self.rng.chance(0.3);
        let tree = match selects {
            true => {
                let wanted: Vec<Option<Oid>> = types.iter().map(|ty| Some(*ty)).collect();
                tree.one(self.select(&wanted, 1))
            }
            false => {
                let mut rows = Vec::new();
                for _ in 0..1 + self.rng.index(3) {
                    let mut row = vec![Tree::leaf(Sort::Other, self.rng.below(14).to_string())];
                    row.extend(types.iter().skip(1).map(|ty| self.expr(*ty, 1)));
                    let least = row.len();
                    rows.push(other("(", []).list(row, ", ", least).word(")"));
                }
                tree.word("values ").list(rows, ", ", 1)
            }
        };
        let conflict = (!selects && self.rng.chance(0.5)).then(|| self.conflict(table));
        let returning = self.returning(table);
        tree.maybe(conflict).maybe(returning)
    }

    fn conflict(&mut self, table: &Table) -> Tree {
        if self.rng.chance(0.3) {
            return other(
                self.one(&[" on conflict do nothing", " on conflict (id) do nothing"]),
                [],
            );
        }
        let new = Item { name: "excluded".into(), ..seen(table) };
        self.scopes.push(Scope { items: vec![seen(table), new], ..Scope::default() });
        let set = self.set(table);
        let filter = self.rng.chance(0.3).then(|| other(" where {}", [self.expr(BOOL, 1)]));
        self.scopes.pop();
        other(" on conflict (id) do update set ", []).list(set, ", ", 1).maybe(filter)
    }

    fn set(&mut self, table: &Table) -> Vec<Tree> {
        let mut all = Vec::new();
        for column in table.columns.iter().skip(1) {
            if all.is_empty() || self.rng.chance(0.3) {
                let value = self.expr(column.ty, 2);
                all.push(other(&format!("{} = {{}}", column.name), [value]));
            }
        }
        all
    }

    fn update(&mut self, table: &Table) -> Tree {
        self.scopes.push(Scope { items: vec![seen(table)], ..Scope::default() });
        let set = self.set(table);
        let filter = self.rng.chance(0.7).then(|| other(" where {}", [self.expr(BOOL, 2)]));
        self.scopes.pop();
        let returning = self.returning(table);
        other(&format!("update {} as x0 set ", table.name), [])
            .list(set, ", ", 1)
            .maybe(filter)
            .maybe(returning)
    }

    fn delete(&mut self, table: &Table) -> Tree {
        self.scopes.push(Scope { items: vec![seen(table)], ..Scope::default() });
        let filter = self.rng.chance(0.8).then(|| other(" where {}", [self.expr(BOOL, 2)]));
        self.scopes.pop();
        let returning = self.returning(table);
        other(&format!("delete from {} as x0", table.name), []).maybe(filter).maybe(returning)
    }

    fn returning(&mut self, table: &Table) -> Option<Tree> {
        if self.rng.chance(0.5) {
            return None;
        }
        self.scopes.push(Scope { items: vec![seen(table)], ..Scope::default() });
        let mut items = vec![other("x0.id", [])];
        for _ in 0..self.rng.index(3) {
            let ty = self.type_in_sight();
            items.push(self.expr(ty, 1));
        }
        self.scopes.pop();
        Some(other(" returning ", []).list(items, ", ", 1))
    }
}

/// The table that is changed.
fn seen(table: &Table) -> Item {
    let columns = table.columns.iter().map(|c| (c.name.to_string(), c.ty)).collect();
    Item { name: "x0".into(), columns, key: vec!["id".into()] }
}
