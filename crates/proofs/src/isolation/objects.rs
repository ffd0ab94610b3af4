//! How registers, lists and sets lie in tables, and the ways to read and write them.
//!
//! | object | table | read | written |
//! |---|---|---|---|
//! | register | `registers(id, part, number, tag)`, one row | by key, by the index on `part`, by that on `number`, where entries move at each write, or by a scan | by an update by key, by an update of rows found through an index, which are looked at again, or by delete and insert; at first by an insert |
//! | list | `lists(id, items)`, one row with a text | by key or by a scan | by an update by key of what is there |
//! | set | `members(id, of, note)`, one row per element | by the index on `of`, by row ids from there, or by a scan | by an insert, and by a delete, by key or by row id |

use onlap::{
    DataType, Database, IndexSpec, KeyRange, LockWait, Result, Row, RowId, RowLock, Scan, Table,
    TableSpec, Transaction, Value,
};
use onlap_base::rng::Rng;
use onlap_testkit::cycles::{Element, Key, Op, Version};

pub const REGISTERS: i64 = 6;
pub const LISTS: i64 = 2;
pub const SETS: i64 = 2;
/// Registers that the index on `part` finds together.
const PARTS: i64 = 2;

#[derive(Clone)]
pub struct Tables {
    pub registers: Table,
    pub lists: Table,
    pub members: Table,
}

pub fn int(value: &Value) -> i64 {
    match value {
        Value::Int(v) => *v,
        other => panic!("{other:?} is no integer"),
    }
}

fn ints<const N: usize>(values: [i64; N]) -> Vec<Value> {
    values.map(Value::Int).to_vec()
}

impl Tables {
    pub fn create(db: &Database) -> Tables {
        let column = DataType::Int8;
        let registers = TableSpec::new("registers").column("id", column).column("part", column);
        let registers = registers.column("number", column).column("tag", column);
        let registers = registers.primary_key(["id"]).index(IndexSpec::new("by_part", ["part"]));
        let registers = registers.index(IndexSpec::new("by_number", ["number"]).include(["tag"]));
        let registers = registers.index(IndexSpec::new("by_tag", ["tag"]).unique());
        let lists = TableSpec::new("lists").column("id", column).column("items", DataType::Text);
        let members = TableSpec::new("members").column("id", column).column("of", column);
        let members = members.column("note", DataType::Text).primary_key(["id"]);
        let tables = Tables {
            registers: db.create_table(registers).unwrap(),
            lists: db.create_table(lists.primary_key(["id"])).unwrap(),
            members: db.create_table(members.index(IndexSpec::new("by_of", ["of"]))).unwrap(),
        };
        for id in 0..LISTS {
            tables.lists.insert(&[Value::Int(id), Value::Text("".into())]).unwrap();
        }
        tables
    }

    pub fn open(db: &Database) -> Tables {
        let table = |name| db.table(name).unwrap();
        Tables { registers: table("registers"), lists: table("lists"), members: table("members") }
    }
}

/// A transaction on the tables, and what it did so far.
pub struct Doing<'a> {
    pub tables: &'a Tables,
    pub tx: Transaction,
    pub ops: Vec<Op>,
}

fn version(row: &Row) -> Version {
    Version { number: int(&row[2]) as u64, tag: int(&row[3]) as u64 }
}

impl Doing<'_> {
    fn note_registers(&mut self, rows: &[Row], keys: impl Iterator<Item = Key>) {
        for key in keys {
            let row = rows.iter().find(|row| int(&row[0]) == key);
            self.ops.push(Op::Read(key, row.map_or(Version::default(), version)));
        }
    }

    pub fn read_register(&mut self, key: Key) -> Result<()> {
        let row = self.tx.get(&self.tables.registers, &[Value::Int(key)])?;
        self.note_registers(row.as_slice(), [key].into_iter());
        Ok(())
    }

    /// Reads several registers with one statement.
    pub fn read_registers(&mut self, rng: &mut Rng) -> Result<()> {
        let table = &self.tables.registers;
        let rows = match rng.below(3) {
            0 => {
                let part = rng.range(0..PARTS);
                let range = KeyRange::eq([Value::Int(part)]);
                let rows = self.tx.index_scan(table, "by_part", range, Scan::all())?.rows()?;
                self.note_registers(&rows, (0..REGISTERS).filter(|key| key % PARTS == part));
                return Ok(());
            }
            1 => {
                let range = KeyRange::from([Value::Int(0)]);
                let scan = if rng.chance(0.5) { Scan::all() } else { Scan::all().reverse() };
                self.tx.index_scan(table, "by_number", range, scan)?.rows()?
            }
            _ => self.tx.scan(table, Scan::all())?.rows()?,
        };
        self.note_registers(&rows, 0..REGISTERS);
        Ok(())
    }

    /// Puts a new version in the place of the newest, whichever the transaction has seen.
    pub fn write_register(&mut self, rng: &mut Rng, key: Key, tag: u64) -> Result<()> {
        match rng.below(3) {
            0 => self.update_by_key(key, tag),
            1 => self.update_if_same(key, tag),
            _ => self.delete_and_insert(key, tag),
        }
    }

    fn insert_first(&mut self, key: Key, tag: u64) -> Result<()> {
        self.ops.push(Op::Read(key, Version::default()));
        let row = ints([key, key % PARTS, 1, tag as i64]);
        self.tx.insert(&self.tables.registers, &row)?;
        self.ops.push(Op::Write(key, Version { number: 1, tag }));
        Ok(())
    }

    fn update_by_key(&mut self, key: Key, tag: u64) -> Result<()> {
        let mut number = 0;
        let set = |row: &mut Row| {
            number = int(&row[2]) as u64 + 1;
            row[2] = Value::Int(number as i64);
            row[3] = Value::Int(tag as i64);
            Ok(())
        };
        let table = &self.tables.registers;
        if !self.tx.update_with(table, &[Value::Int(key)], &["number", "tag"], set)? {
            return self.insert_first(key, tag);
        }
        self.ops.push(Op::Write(key, Version { number, tag }));
        Ok(())
    }

    /// Finds the row through an index and replaces it if it is still the one that was found.
    fn update_if_same(&mut self, key: Key, tag: u64) -> Result<()> {
        let table = &self.tables.registers;
        let range = KeyRange::eq([Value::Int(key % PARTS)]);
        let mut found = None;
        for batch in self.tx.index_scan(table, "by_part", range, Scan::all())? {
            let batch = batch?;
            let at = (0..batch.len()).find(|&i| int(&batch.value(i, 0)) == key);
            found = found.or(at.map(|i| (batch.row_ids[i], batch.row(i))));
        }
        let Some((id, row)) = found else { return self.insert_first(key, tag) };
        let seen = version(&row);
        self.ops.push(Op::Read(key, seen));
        let mut same = |_: RowId, row: &Row| Ok(version(row).number == seen.number);
        let lock = RowLock::Update;
        let locked = self.tx.lock_rows(table, &[id], lock, LockWait::Block, &mut same)?;
        if locked.is_empty() {
            return Ok(());
        }
        let number = seen.number + 1;
        let set = [("number", Value::Int(number as i64)), ("tag", Value::Int(tag as i64))];
        if self.tx.update_rows(table, &locked, &set)? == 1 {
            self.ops.push(Op::Write(key, Version { number, tag }));
        }
        Ok(())
    }

    fn delete_and_insert(&mut self, key: Key, tag: u64) -> Result<()> {
        let table = &self.tables.registers;
        let (index, range) = ("registers_pkey", KeyRange::eq([Value::Int(key)]));
        // Somebody may do the same meanwhile, which leaves no successor.
        for _ in 0..20 {
            let found = self.tx.index_row_ids(table, index, range.clone())?;
            if found.is_empty() {
                return self.insert_first(key, tag);
            }
            let mut any = |_: RowId, _: &Row| Ok(true);
            let lock = RowLock::Update;
            let locked = self.tx.lock_rows(table, &found, lock, LockWait::Block, &mut any)?;
            let Some(&id) = locked.first() else { continue };
            let batch = self.tx.fetch(table, &[id], None)?;
            if batch.is_empty() {
                // Only without the rule that keeps newer versions from a snapshot.
                return Ok(());
            }
            let number = version(&batch.row(0)).number + 1;
            assert!(self.tx.delete(table, &[Value::Int(key)])?, "a locked row is there");
            let row = ints([key, key % PARTS, number as i64, tag as i64]);
            self.tx.insert(table, &row)?;
            self.ops.push(Op::Write(key, Version { number, tag }));
            return Ok(());
        }
        Ok(())
    }

    pub fn read_lists(&mut self, rng: &mut Rng) -> Result<()> {
        let table = &self.tables.lists;
        let rows = if rng.chance(0.7) {
            let key = rng.range(0..LISTS);
            self.tx.get(table, &[Value::Int(key)])?.into_iter().collect()
        } else {
            self.tx.scan(table, Scan::all())?.rows()?
        };
        for row in rows {
            let Value::Text(text) = &row[1] else { panic!("a list is a text") };
            let items = text.split_terminator(',').map(|i| i.parse().expect("an element"));
            self.ops.push(Op::ReadList(int(&row[0]), items.collect()));
        }
        Ok(())
    }

    pub fn append(&mut self, rng: &mut Rng, element: Element) -> Result<()> {
        let key = rng.range(0..LISTS);
        let set = |row: &mut Row| {
            let Value::Text(text) = &row[1] else { panic!("a list is a text") };
            row[1] = Value::Text(format!("{text}{element},"));
            Ok(())
        };
        let found = self.tx.update_with(&self.tables.lists, &[Value::Int(key)], &["items"], set)?;
        assert!(found, "lists are never deleted");
        self.ops.push(Op::Append(key, element));
        Ok(())
    }

    pub fn read_set(&mut self, rng: &mut Rng) -> Result<()> {
        let (table, key) = (&self.tables.members, rng.range(0..SETS));
        let range = KeyRange::eq([Value::Int(key)]);
        let rows: Vec<Row> = match rng.below(3) {
            0 => self.tx.index_scan(table, "by_of", range, Scan::all())?.rows()?,
            1 => self.tx.scan(table, Scan::all())?.rows()?,
            _ => {
                let ids = self.tx.index_row_ids(table, "by_of", range)?;
                let batch = self.tx.fetch(table, &ids, None)?;
                (0..batch.len()).map(|i| batch.row(i)).collect()
            }
        };
        let of_key = rows.iter().filter(|row| int(&row[1]) == key);
        self.ops.push(Op::ReadSet(key, of_key.map(|row| int(&row[0]) as u64).collect()));
        Ok(())
    }

    /// Removes the oldest or any element of a set.
    pub fn remove(&mut self, rng: &mut Rng) -> Result<()> {
        self.read_set(rng)?;
        let Some(Op::ReadSet(key, elements)) = self.ops.last().cloned() else {
            unreachable!("noted by the read")
        };
        if elements.is_empty() {
            return Ok(());
        }
        let oldest = rng.chance(0.5);
        let element = if oldest { elements[0] } else { *rng.pick(&elements) };
        let (table, id) = (&self.tables.members, Value::Int(element as i64));
        let removed = if rng.chance(0.5) {
            self.tx.delete(table, &[id])?
        } else {
            let rows = self.tx.index_row_ids(table, "members_pkey", KeyRange::eq([id]))?;
            self.tx.delete_rows(table, &rows)? == 1
        };
        if removed {
            self.ops.push(Op::Remove(key, element));
        }
        Ok(())
    }

    pub fn add(&mut self, rng: &mut Rng, element: Element) -> Result<()> {
        let key = rng.range(0..SETS);
        let mut row = ints([element as i64, key]);
        row.push(Value::Text("of a set".into()));
        self.tx.insert(&self.tables.members, &row)?;
        self.ops.push(Op::Add(key, element));
        Ok(())
    }
}
