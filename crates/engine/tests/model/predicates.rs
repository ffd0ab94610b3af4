//! Statements on whatever rows a predicate names, next to the model: changes of columns that no index has,
//! changes of keys, and deletes.

use onlap::{Change, Predicate};

use super::*;

/// A predicate, and what it says of a row.
struct Condition {
    predicate: Predicate,
    holds: Box<dyn Fn(&Row) -> bool>,
}

fn condition(predicate: Predicate, holds: impl Fn(&Row) -> bool + 'static) -> Condition {
    Condition { predicate, holds: Box::new(holds) }
}

impl Run {
    fn condition(&mut self, depth: usize) -> Condition {
        let of_two = |a: Condition, b: Condition, and: bool| {
            let predicate = match and {
                true => a.predicate.and(b.predicate),
                false => a.predicate.or(b.predicate),
            };
            let (a, b) = (a.holds, b.holds);
            condition(predicate, move |r| if and { a(r) && b(r) } else { a(r) || b(r) })
        };
        if !self.setting.blind && self.rng.below(5) == 0 {
            let letter = lists::letter(&mut self.rng);
            return condition(lists::with(letter), move |r| lists::has(r, letter));
        }
        match self.rng.below(if depth == 0 { 5 } else { 10 }) {
            0 | 1 => {
                let low = self.rng.below(20) as i64 - 10;
                let high = low + self.rng.below(4) as i64;
                let range = KeyRange::between([Value::Int(low)], [Value::Int(high)]);
                let inside = move |r: &Row| matches!(r[1], Value::Int(a) if a >= low && a <= high);
                condition(Predicate::index("by_a", range), inside)
            }
            2 => {
                let range = KeyRange::eq([Value::Null]);
                condition(Predicate::index("by_a", range), |r| r[1] == Value::Null)
            }
            3 => {
                let ids: Vec<i64> = (0..1 + self.rng.below(6)).map(|_| self.some_id()).collect();
                let ranges = ids.iter().map(|&id| KeyRange::eq([Value::Int(id)]));
                let predicate = Predicate::any_of("t_pkey", ranges);
                condition(predicate, move |r| ids.contains(&int(&r[0])))
            }
            4 => {
                let id = self.some_id();
                let range = KeyRange::before([Value::Int(id)]);
                condition(Predicate::index("t_pkey", range), move |r| int(&r[0]) < id)
            }
            5 => {
                let Condition { predicate, holds } = self.condition(depth - 1);
                condition(!predicate, move |r| !holds(r))
            }
            n => {
                let (a, b) = (self.condition(depth - 1), self.condition(depth - 1));
                of_two(a, b, n < 9)
            }
        }
    }

    /// Some such statements in one transaction.
    pub(super) fn by_predicate(&mut self) {
        let mut tx = self.db().begin().unwrap();
        let table = self.table();
        let mut model = self.model.clone();
        let schema = self.schema.clone();
        for _ in 0..1 + self.rng.below(4) {
            let Condition { predicate, holds } = self.condition(2);
            let ids: Vec<i64> = model.iter().filter(|(_, r)| holds(r)).map(|(id, _)| *id).collect();
            let n = if self.rng.below(3) == 0 && ids.len() <= model.len() / 4 {
                ids.iter().for_each(|id| drop(model.remove(id)));
                tx.delete_where(&table, &predicate)
            } else {
                let (name, at, change) = self.change();
                for id in &ids {
                    change_value(&mut model.get_mut(id).unwrap()[at], &change);
                }
                tx.update_where(&table, &predicate, &[(&name, change)])
            };
            assert_eq!(n.unwrap() as usize, ids.len(), "seed {}: {predicate:?}", self.seed);
            let left = tx.row_set(&table, &predicate).unwrap().len() as usize;
            let expected = model.values().filter(|r| holds(r)).count();
            assert_eq!(left, expected, "seed {}: {predicate:?} afterwards", self.seed);
        }
        self.end(tx, model, schema);
    }

    /// A change of a column that came later, which mostly no index has, or of one that an index has.
    fn change(&mut self) -> (String, usize, Change) {
        let number = Value::Int(self.rng.below(20) as i64 - 10);
        match self.schema.added_number() {
            Some((name, at)) if self.rng.below(4) > 0 => match self.rng.below(3) {
                0 => (name, at, Change::Set(Value::Null)),
                1 => (name, at, Change::Set(number)),
                _ => (name, at, Change::Add(number)),
            },
            _ => ("a".to_owned(), 1, Change::Set(number)),
        }
    }
}

fn change_value(value: &mut Value, change: &Change) {
    match change {
        Change::Set(to) => *value = to.clone(),
        Change::Add(n) => {
            if let Value::Int(v) = value {
                *v += int(n);
            }
        }
    }
}
