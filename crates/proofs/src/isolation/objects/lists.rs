//! Lists: texts that grow.

use onlap::{KeyRange, Result, Row, Scan, Value};
use onlap_base::rng::Rng;
use onlap_testkit::cycles::{Element, Key, Op};

use super::{Doing, LISTS, PARTS, int};

fn items(row: &Row) -> &str {
    let Value::Text(text) = &row[2] else { panic!("a list is a text") };
    text
}

fn longer(row: &Row, element: Element) -> Value {
    Value::Text(format!("{}{element},", items(row)))
}

impl Doing<'_> {
    pub fn read_lists(&mut self, rng: &mut Rng) -> Result<()> {
        let table = &self.tables.lists;
        let key = rng.range(0..LISTS);
        let (rows, keys) = match rng.below(3) {
            0 => (Vec::from_iter(self.tx.get(table, &[Value::Int(key)])?), key..key + 1),
            1 => {
                let range = KeyRange::eq([Value::Int(key % PARTS)]);
                (self.by_index(rng, table, "by_part", range, Scan::all())?, key..key + 1)
            }
            _ => (self.tx.scan(table, Scan::all())?.rows()?, 0..LISTS),
        };
        for key in keys {
            let row = rows.iter().find(|row| int(&row[0]) == key);
            let text = row.map_or("", items);
            let items = text.split_terminator(',').map(|i| i.parse().expect("an element"));
            self.ops.push(Op::ReadList(key, items.collect()));
        }
        Ok(())
    }

    pub fn append(&mut self, rng: &mut Rng, element: Element) -> Result<()> {
        let key = rng.range(0..LISTS);
        let done = match rng.below(3) {
            0 => self.update_list(key, element)?,
            1 => {
                let first = first_row(key, element);
                let table = &self.tables.lists;
                self.upsert(table, &first, &["items"], |row| vec![longer(row, element)])?.is_some()
            }
            _ => self.replace_list(key, element)?,
        };
        if done {
            self.ops.push(Op::Append(key, element));
        }
        Ok(())
    }

    fn update_list(&mut self, key: Key, element: Element) -> Result<bool> {
        let table = &self.tables.lists;
        let set = |row: &mut Row| {
            row[2] = longer(row, element);
            Ok(())
        };
        if !self.tx.update_with(table, &[Value::Int(key)], &["items"], set)? {
            self.tx.insert(table, &first_row(key, element))?;
        }
        Ok(true)
    }

    fn replace_list(&mut self, key: Key, element: Element) -> Result<bool> {
        let table = &self.tables.lists;
        let Some((_, mut row)) = self.lock_newest(table, key)? else { return Ok(false) };
        assert!(self.tx.delete(table, &[Value::Int(key)])?, "a locked row is there");
        row[2] = longer(&row, element);
        self.tx.insert(table, &row)?;
        Ok(true)
    }
}

fn first_row(key: Key, element: Element) -> Row {
    vec![Value::Int(key), Value::Int(key % PARTS), Value::Text(format!("{element},"))]
}
