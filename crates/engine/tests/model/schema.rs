//! Changes of the schema among the operations: the model knows the columns and the indexes by name.
//!
//! The first six columns stay, under changing names; others come and go at the end. Indexes come and
//! go on their own and inside transactions, where they are read through before the commit.

use onlap::{
    DataType, ErrorKind, IndexSpec, KeyRange, Result, Row, Table, TableChanges, Transaction, Value,
};

use crate::{Model, Run, random_row};

/// Columns that stay.
const FIXED: usize = 6;
/// Columns that other operations know by name: the key, `a` and `d`.
const NAMED: [usize; 3] = [0, 1, 4];

/// What the model knows of the schema.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    columns: Vec<(String, DataType)>,
    /// Indexes that are none of the table's first, with the columns of their keys.
    indexes: Vec<(String, Vec<String>)>,
    /// How many names were given.
    names: usize,
}

impl Schema {
    pub(crate) fn new() -> Schema {
        let column = |name: &str| (name.to_owned(), DataType::Int4);
        let columns = ["id", "a", "b", "c", "d", "e"].map(column).into();
        Schema { columns, indexes: Vec::new(), names: 0 }
    }

    /// A column of numbers that came later, and its place.
    pub(crate) fn added_number(&self) -> Option<(String, usize)> {
        let mut later = self.columns.iter().enumerate().skip(FIXED);
        let (at, (name, _)) = later.find(|(_, (_, ty))| *ty == DataType::Int4)?;
        Some((name.clone(), at))
    }

    fn new_name(&mut self, what: &str) -> String {
        self.names += 1;
        format!("{what}_{}", self.names)
    }
}

impl Run {
    pub(crate) fn row(&mut self, id: i64) -> Row {
        let mut row = random_row(&mut self.rng, id);
        for at in FIXED..self.schema.columns.len() {
            row.push(self.value(at));
        }
        row
    }

    /// A value for a column that came later.
    fn value(&mut self, at: usize) -> Value {
        match self.schema.columns[at].1 {
            _ if self.rng.below(4) == 0 => Value::Null,
            DataType::Int4 => Value::Int(self.rng.below(30) as i64),
            _ => Value::Text("x".repeat(self.rng.below(9) as usize)),
        }
    }

    pub(crate) fn change_schema(&mut self) {
        match self.rng.below(9) {
            0..3 => self.change_indexes(),
            3 if !self.setting.blind => self.refuse_index(),
            4 | 5 => self.add_column(),
            6 => self.drop_column(),
            7 => self.rename_column(),
            _ if self.rng.below(3) == 0 => self.truncate(),
            _ => self.check_held(),
        }
    }

    fn alter(&self, changes: TableChanges) {
        self.db().alter_table("t", &changes).unwrap();
    }

    /// All rows that anybody may look at, also those of older snapshots: their schema is that of the
    /// moment.
    fn each_row(&mut self, f: impl Fn(&mut Row)) {
        let held = self.held.iter_mut().map(|(_, model)| model);
        let past = self.past.iter_mut().map(|(_, model)| model);
        let models = held.chain(past).chain([&mut self.model]);
        models.flat_map(Model::values_mut).for_each(f);
    }

    fn add_column(&mut self) {
        if self.schema.columns.len() == FIXED + 3 {
            return self.drop_column();
        }
        let name = self.schema.new_name("column");
        let ty = if self.rng.below(2) == 0 { DataType::Int4 } else { DataType::Text };
        self.schema.columns.push((name.clone(), ty));
        let default = self.value(self.schema.columns.len() - 1);
        let given = Some(default.clone()).filter(|v| *v != Value::Null);
        self.alter(TableChanges::new().add_column(name, ty, given));
        self.each_row(|row| row.push(default.clone()));
    }

    fn drop_column(&mut self) {
        let n = self.schema.columns.len() - FIXED;
        if n > 0 {
            let at = FIXED + self.rng.index(n);
            let (name, _) = self.schema.columns.remove(at);
            self.schema.indexes.retain(|(_, key)| !key.contains(&name));
            self.alter(TableChanges::new().drop_column_cascade(name));
            self.each_row(|row| drop(row.remove(at)));
        }
    }

    fn rename_column(&mut self) {
        let at = self.rng.index(self.schema.columns.len());
        if !NAMED.contains(&at) {
            let to = self.schema.new_name("renamed");
            let name = std::mem::replace(&mut self.schema.columns[at].0, to.clone());
            let keys = self.schema.indexes.iter_mut().flat_map(|(_, key)| key);
            keys.filter(|k| **k == name).for_each(|k| *k = to.clone());
            self.alter(TableChanges::new().rename_column(name, to));
        }
    }

    /// Snapshots from before go on, but their schema stands still.
    fn truncate(&mut self) {
        self.db().truncate_table("t").unwrap();
        self.check_held();
        self.held.clear();
        self.past.clear();
        self.model.clear();
    }

    /// An index that can be: of any columns, or unique by the one whose values are, without those that
    /// updates change: who changes a key may have to wait.
    fn new_index(&mut self) -> (IndexSpec, Vec<String>) {
        let unique = self.rng.below(3) == 0 && !self.setting.blind;
        let first = self.rng.index(self.schema.columns.len());
        let mut at = vec![if unique && NAMED.contains(&first) { 3 } else { first }];
        let other = if unique { 3 } else { self.rng.index(self.schema.columns.len()) };
        if !at.contains(&other) {
            at.push(other);
        }
        let key: Vec<String> = at.iter().map(|&at| self.schema.columns[at].0.clone()).collect();
        let mut spec = IndexSpec::new(self.schema.new_name("index"), key.clone());
        if self.rng.below(2) == 0 {
            spec = spec.descending(&key[0]);
        }
        (if unique { spec.unique() } else { spec }, key)
    }

    fn change_indexes(&mut self) {
        let n = self.schema.indexes.len();
        if n == 3 || n > 0 && self.rng.below(2) == 0 {
            let (name, _) = self.schema.indexes.swap_remove(self.rng.index(n));
            self.db().drop_index("t", &name).unwrap();
        } else {
            let (spec, key) = self.new_index();
            self.schema.indexes.push((spec.name().to_owned(), key));
            self.db().create_index("t", spec).unwrap();
        }
    }

    /// The same inside a transaction that sees `rows` rows.
    pub(crate) fn change_indexes_in(&mut self, tx: &mut Transaction, table: &Table, rows: usize) {
        let n = self.schema.indexes.len();
        if n == 3 || n > 0 && self.rng.below(2) == 0 {
            let (name, _) = self.schema.indexes.swap_remove(self.rng.index(n));
            tx.drop_index(table, &name).unwrap();
            let e = tx.index_count(table, &name, KeyRange::all()).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::UnknownIndex);
        } else {
            let (spec, key) = self.new_index();
            self.schema.indexes.push((spec.name().to_owned(), key));
            tx.create_index(table, spec).unwrap();
        }
        for (name, _) in &self.schema.indexes {
            let n = tx.index_count(table, name, KeyRange::all()).unwrap();
            assert_eq!(n as usize, rows, "seed {}: {name} in a transaction", self.seed);
        }
    }

    /// A unique index that rows with equal keys refuse, if there are any.
    fn refuse_index(&mut self) {
        let mut keys: Vec<String> = (self.model.values())
            .filter(|row| row[1] != Value::Null)
            .map(|row| format!("{:?}", row[1]))
            .collect();
        keys.sort();
        let twice = keys.windows(2).any(|pair| pair[0] == pair[1]);
        let spec = IndexSpec::new("never", ["a"]).unique();
        let met = |made: &Result<()>| match made {
            Ok(()) => assert!(!twice, "seed {}: equal keys went unseen", self.seed),
            Err(e) => assert!(twice && e.kind() == ErrorKind::DuplicateKey, "{e}"),
        };
        let mut tx = self.db().begin().unwrap();
        met(&tx.create_index(&self.table(), spec.clone()));
        tx.rollback();
        let made = self.db().create_index("t", spec);
        met(&made);
        if made.is_ok() {
            self.db().drop_index("t", "never").unwrap();
        }
    }
}
