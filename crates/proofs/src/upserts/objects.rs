//! What is raised and appended to, and by which statements?
//!
//! Counters and lists lie in tables whose rows are changed in place, replaced because an index has the column, found by
//! another unique key, written blindly or deleted and inserted again: every way that a change of a row takes.

use postgres::Client;

/// Keys of each kind of counter and list: few, so that clients meet.
pub const KEYS: i64 = 5;

/// What tells kinds apart in the numbers of objects.
const KIND: i64 = 100;

/// Kinds of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Changed in place.
    Plain,
    /// The count stands in an index, and another index finds the row.
    Indexed,
    /// Found by a unique key that is not the primary key.
    Unique,
    /// In a table for blind writes.
    Blind,
    /// Deleted and inserted again.
    Moved,
}

/// All of them.
pub const COUNTERS: [Counter; 5] =
    [Counter::Plain, Counter::Indexed, Counter::Unique, Counter::Blind, Counter::Moved];

impl Counter {
    pub fn table(self) -> &'static str {
        match self {
            Counter::Plain => "plain",
            Counter::Indexed => "indexed",
            Counter::Unique => "uniq",
            Counter::Blind => "blind",
            Counter::Moved => "moved",
        }
    }

    /// The number of the object with a key.
    pub fn object(self, key: i64) -> i64 {
        self as i64 * KIND + key
    }
}

/// Kinds of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Changed in place.
    Plain,
    /// The last element stands in an index.
    Indexed,
}

/// Both.
pub const LISTS: [List; 2] = [List::Plain, List::Indexed];

impl List {
    pub fn table(self) -> &'static str {
        match self {
            List::Plain => "list_plain",
            List::Indexed => "list_indexed",
        }
    }

    /// The number of the object with a key.
    pub fn object(self, key: i64) -> i64 {
        (self as i64 + 10) * KIND + key
    }
}

const TABLES: &str = "
    drop table if exists progress, plain, indexed, uniq, blind, moved, list_plain, list_indexed, own;
    create table progress (client int primary key, n bigint);
    create table plain (k int primary key, n bigint);
    create table indexed (k int primary key, g int, n bigint);
    create index by_n on indexed (n);
    create index by_g on indexed (g);
    create table uniq (id bigint primary key, k int unique, n bigint);
    create table blind (k int primary key, n bigint) {blind};
    create table moved (k int primary key, n bigint);
    create table list_plain (k int primary key, items text);
    create table list_indexed (k int primary key, items text, last bigint);
    create index by_last on list_indexed (last);
    create table own (k int primary key, v bigint) {blind}";

/// Makes them all, empty.
pub fn create(client: &mut Client, onlap: bool) -> Result<(), postgres::Error> {
    let blind = if onlap { "with (blind_writes = true)" } else { "" };
    client.batch_execute(&TABLES.replace("{blind}", blind))
}

/// A statement that raises a counter, or inserts it, and gives what it is then. `id` is unused so far.
pub fn upsert(counter: Counter, key: i64, id: u64, with_key: bool) -> String {
    let table = counter.table();
    let set_key = if with_key { "k = excluded.k, " } else { "" };
    let (columns, values) = match counter {
        Counter::Indexed => ("k, g, n", format!("{key}, {}, 1", group(key))),
        Counter::Unique => ("id, k, n", format!("{id}, {key}, 1")),
        _ => ("k, n", format!("{key}, 1")),
    };
    format!(
        "insert into {table} ({columns}) values ({values}) on conflict (k) \
         do update set {set_key}n = {table}.n + 1 returning n"
    )
}

/// A condition that finds the row: by its key, or through a secondary index.
pub fn condition(counter: Counter, key: i64, by_index: bool) -> String {
    match (counter, by_index) {
        (Counter::Indexed, true) => format!("g = {}", group(key)),
        _ => format!("k = {key}"),
    }
}

fn group(key: i64) -> i64 {
    1000 - key
}

/// A statement that appends to a list, or begins it, and gives what it is then.
pub fn append(list: List, key: i64, element: u64) -> String {
    let table = list.table();
    let (columns, values, last) = match list {
        List::Plain => ("k, items", format!("{key}, '{element}'"), ""),
        List::Indexed => {
            ("k, items, last", format!("{key}, '{element}', {element}"), ", last = excluded.last")
        }
    };
    format!(
        "insert into {table} ({columns}) values ({values}) on conflict (k) \
         do update set items = {table}.items || ',' || excluded.items{last} returning items"
    )
}

/// The same by UPDATE, to what is there.
pub fn append_to(list: List, key: i64, element: u64, items: &str) -> String {
    let table = list.table();
    let last = match list {
        List::Plain => String::new(),
        List::Indexed => format!(", last = {element}"),
    };
    format!(
        "update {table} set items = {items} || ',{element}'{last} where k = {key} returning items"
    )
}

/// Puts a value under a key of one client alone, and reads nothing.
pub fn put(key: i64, value: u64, onlap: bool) -> String {
    match onlap {
        true => format!("upsert into own values ({key}, {value})"),
        false => format!(
            "insert into own values ({key}, {value}) on conflict (k) do update set v = excluded.v"
        ),
    }
}
