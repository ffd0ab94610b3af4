//! What does a client do, and what does it note?
//!
//! Each transaction begins with the client's own number of it, so that after a kill it is known whether the one under
//! way was committed. What a step gave is noted as the checker's steps: a counter is a register whose version is its
//! value, a list is a list.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use onlap_base::rng::Rng;
use onlap_testkit::cycles::{Level, Noted, Op, Outcome, Version};
use postgres::{Client, SimpleQueryMessage};

use super::UpsertFault;
use super::objects::{self, COUNTERS, Counter, KEYS, LISTS, List};
use crate::served::{connect, state};

/// Why a transaction does not go on.
enum Stop {
    /// It was refused.
    Refused,
    /// The server has gone.
    Gone,
    /// What must not be.
    Found(String),
}

type Step<T> = Result<T, Stop>;

/// A client over all lives of the server.
pub struct Person {
    number: usize,
    level: Level,
    onlap: bool,
    fault: Option<UpsertFault>,
    rng: Rng,
    /// Of its transactions, and the last one that was acknowledged.
    count: u64,
    acknowledged: u64,
    /// What it noted.
    pub noted: Vec<Noted>,
    /// Keys of its own and the values that it put there last.
    pub own: BTreeMap<i64, u64>,
    /// A transaction whose end is not known: its place, its number, and what it put.
    open: Option<(usize, u64, Vec<(i64, u64)>)>,
    /// Transactions refused because of a deadlock.
    pub deadlocks: u64,
}

/// A transaction under way.
struct Doing<'a> {
    client: &'a mut Client,
    level: Level,
    ops: Vec<Op>,
    puts: Vec<(i64, u64)>,
    /// Elements and ids of this transaction so far.
    unique: u64,
    deadlock: bool,
}

/// Numbers of a client and its transactions make elements that no register's tag is.
const ELEMENTS: u64 = 1 << 62;

/// What a register is when it has this value.
pub fn version(object: i64, number: u64) -> Version {
    match number {
        0 => Version::default(),
        _ => Version { number, tag: (object as u64 + 1) << 32 | number },
    }
}

/// The elements of a list.
pub fn elements(text: &str) -> Vec<u64> {
    text.split(',').filter_map(|element| element.parse().ok()).collect()
}

impl Person {
    pub fn new(
        number: usize,
        level: Level,
        onlap: bool,
        fault: Option<UpsertFault>,
        rng: Rng,
    ) -> Person {
        Person {
            number,
            level,
            onlap,
            fault,
            rng,
            count: 0,
            acknowledged: 0,
            noted: Vec::new(),
            own: BTreeMap::new(),
            open: None,
            deadlocks: 0,
        }
    }

    /// Works until the budget is used up, or the server has gone; `last`: which it must not.
    pub fn work(
        &mut self,
        port: u16,
        time: &AtomicU64,
        budget: &AtomicI64,
        last: bool,
    ) -> Result<(), String> {
        let mut client = match connect(port, "postgres") {
            Ok(client) => client,
            Err(e) => return if last { Err(e) } else { Ok(()) },
        };
        let gone = || if last { Err("the server has gone".to_string()) } else { Ok(()) };
        match self.settle(&mut client, time) {
            Ok(()) => {}
            Err(Stop::Found(text)) => return Err(text),
            Err(Stop::Gone | Stop::Refused) => return gone(),
        }
        while budget.fetch_sub(1, Ordering::Relaxed) > 0 {
            match self.transaction(&mut client, time) {
                Ok(()) => {}
                Err(Stop::Found(text)) => return Err(text),
                Err(Stop::Gone | Stop::Refused) => return gone(),
            }
        }
        Ok(())
    }

    /// Finds out what became of the transaction that was under way when the server went.
    fn settle(&mut self, client: &mut Client, time: &AtomicU64) -> Step<()> {
        let sql = format!("select n from progress where client = {}", self.number);
        let done = ask(client, &sql)?.0.pop().map_or(0, |row| number(&row));
        if let Some((at, count, puts)) = self.open.take() {
            let noted = &mut self.noted[at];
            noted.time.1 = time.fetch_add(1, Ordering::SeqCst);
            if done == count {
                noted.outcome = Outcome::Committed(None);
                self.own.extend(puts);
            } else {
                abort(noted);
            }
        }
        if done < self.acknowledged {
            let (number, acknowledged) = (self.number, self.acknowledged);
            let text =
                format!("client {number}: commit {acknowledged} is gone, the last is {done}");
            return Err(Stop::Found(text));
        }
        Ok(())
    }

    fn transaction(&mut self, client: &mut Client, time: &AtomicU64) -> Step<()> {
        self.count += 1;
        let began = time.fetch_add(1, Ordering::SeqCst);
        let unique = ELEMENTS | (self.number as u64) << 48 | self.count << 4;
        let (ops, puts) = (Vec::new(), Vec::new());
        let level = self.level;
        let mut doing = Doing { client, level, ops, puts, unique, deadlock: false };
        let mut drops = false;
        let done = self.steps(&mut doing).and_then(|()| {
            let appends = doing.ops.iter().all(|op| !matches!(op, Op::Write(..)));
            drops = self.fault == Some(UpsertFault::DropsAppend) && appends;
            doing.run(if drops { "rollback" } else { "commit" }).map(drop)
        });
        let Doing { client, ops, puts, deadlock, .. } = doing;
        self.deadlocks += u64::from(deadlock);
        let session = self.number;
        let mut noted =
            Noted { session, level, time: (began, 0), outcome: Outcome::Committed(None), ops };
        match done {
            Ok(()) => {
                self.own.extend(puts);
                self.acknowledged = if drops { self.acknowledged } else { self.count };
            }
            Err(Stop::Refused) => {
                abort(&mut noted);
                ask(client, "rollback")?;
            }
            Err(Stop::Gone) => {
                self.open = Some((self.noted.len(), self.count, puts));
                self.noted.push(noted);
                return Err(Stop::Gone);
            }
            Err(found) => return Err(found),
        }
        noted.time.1 = time.fetch_add(1, Ordering::SeqCst);
        self.noted.push(noted);
        Ok(())
    }

    fn steps(&mut self, doing: &mut Doing<'_>) -> Step<()> {
        let level = match self.level {
            Level::ReadCommitted => "read committed",
            Level::RepeatableRead => "repeatable read",
            Level::Serializable => "serializable",
        };
        let (client, count) = (self.number, self.count);
        doing.run(&format!(
            "begin isolation level {level}; insert into progress values ({client}, {count}) \
             on conflict (client) do update set n = excluded.n"
        ))?;
        for step in 0..1 + self.rng.below(3) {
            doing.unique += 1;
            match self.rng.below(10) {
                _ if self.fault.is_some() && step == 0 => self.append(doing)?,
                0..5 => self.raise(doing)?,
                5..8 => self.append(doing)?,
                8 => self.look(doing)?,
                _ if self.level == Level::ReadCommitted => self.put(doing)?,
                _ => self.look(doing)?,
            }
        }
        Ok(())
    }

    fn raise(&mut self, doing: &mut Doing<'_>) -> Step<()> {
        let counter = *self.rng.pick(&COUNTERS);
        let key = self.rng.range(0..KEYS);
        if self.fault == Some(UpsertFault::RaisesWhatItRead) {
            return doing.raise_what_was_read(Counter::Plain, key);
        }
        if counter == Counter::Moved {
            return doing.move_on(key);
        }
        let by_index = self.rng.chance(0.5);
        match self.rng.below(5) {
            0 => doing.update_returning(counter, key, by_index),
            1 => doing.update_and_look(counter, key, by_index),
            2 => doing.lock_and_set(counter, key, by_index),
            n => doing.upsert(counter, key, n == 3),
        }
    }

    fn append(&mut self, doing: &mut Doing<'_>) -> Step<()> {
        let (list, key) = (*self.rng.pick(&LISTS), self.rng.range(0..KEYS));
        // Who reads first may write what it read only where the first updater wins.
        let by_reading = self.level != Level::ReadCommitted && self.rng.chance(0.3);
        doing.append(list, key, by_reading, self.rng.chance(0.3))?;
        if self.fault == Some(UpsertFault::AppendsTwice) && self.count % 20 == 10 {
            doing.run(&objects::append(list, key, doing.unique))?;
        }
        Ok(())
    }

    fn look(&mut self, doing: &mut Doing<'_>) -> Step<()> {
        let key = self.rng.range(0..KEYS);
        if self.rng.chance(0.5) {
            return doing.look(*self.rng.pick(&COUNTERS), key, self.rng.chance(0.5)).map(drop);
        }
        doing.look_at_list(*self.rng.pick(&LISTS), key).map(drop)
    }

    fn put(&mut self, doing: &mut Doing<'_>) -> Step<()> {
        let key = self.number as i64 * 100 + self.rng.range(0..KEYS);
        doing.run(&objects::put(key, doing.unique, self.onlap))?;
        doing.puts.push((key, doing.unique));
        Ok(())
    }
}

/// Of a transaction that was rolled back only what it appended is kept: others have its numbers.
fn abort(noted: &mut Noted) {
    noted.outcome = Outcome::Aborted;
    noted.ops.retain(|op| matches!(op, Op::Append(..)));
}

impl Doing<'_> {
    fn run(&mut self, sql: &str) -> Step<Vec<String>> {
        self.ask(sql).map(|(rows, _)| rows)
    }

    /// How many rows a statement changed.
    fn count(&mut self, sql: &str) -> Step<u64> {
        self.ask(sql).map(|(_, count)| count)
    }

    fn ask(&mut self, sql: &str) -> Step<(Vec<String>, u64)> {
        let answer = ask(self.client, sql);
        if let Err(Stop::Found(text)) = &answer {
            let refused = match text.as_str() {
                "40P01" => {
                    self.deadlock = true;
                    true
                }
                // A statement that waits sees what it waited for.
                "40001" => self.level != Level::ReadCommitted,
                "23505" => true,
                _ => false,
            };
            let found = || Stop::Found(format!("{sql}: {text}"));
            return Err(if refused { Stop::Refused } else { found() });
        }
        answer
    }

    /// Notes that a counter was raised to the value that a statement gave; false where it gave none.
    fn raised(&mut self, counter: Counter, key: i64, rows: &[String]) -> bool {
        let Some(row) = rows.last() else { return false };
        let object = counter.object(key);
        self.ops.push(Op::Write(object, version(object, number(row))));
        true
    }

    fn upsert(&mut self, counter: Counter, key: i64, with_key: bool) -> Step<()> {
        let rows = self.run(&objects::upsert(counter, key, self.unique, with_key))?;
        match self.raised(counter, key, &rows) {
            true => Ok(()),
            false => Err(Stop::Found(format!("an upsert of {counter:?} {key} gave no row"))),
        }
    }

    fn update_returning(&mut self, counter: Counter, key: i64, by_index: bool) -> Step<()> {
        let (table, condition) = (counter.table(), objects::condition(counter, key, by_index));
        let sql = format!("update {table} set n = n + 1 where {condition} returning n");
        let rows = self.run(&sql)?;
        if self.raised(counter, key, &rows) { Ok(()) } else { self.upsert(counter, key, false) }
    }

    fn update_and_look(&mut self, counter: Counter, key: i64, by_index: bool) -> Step<()> {
        let (table, condition) = (counter.table(), objects::condition(counter, key, by_index));
        if self.count(&format!("update {table} set n = n + 1 where {condition}"))? == 0 {
            return self.upsert(counter, key, false);
        }
        let rows = self.run(&format!("select n from {table} where k = {key}"))?;
        match self.raised(counter, key, &rows) {
            true => Ok(()),
            false => Err(Stop::Found(format!("{counter:?} {key} was updated and is not there"))),
        }
    }

    fn lock_and_set(&mut self, counter: Counter, key: i64, by_index: bool) -> Step<()> {
        let (table, condition) = (counter.table(), objects::condition(counter, key, by_index));
        let locked = self.run(&format!("select n from {table} where {condition} for update"))?;
        let Some(n) = locked.last().map(|row| number(row) + 1) else {
            return self.upsert(counter, key, false);
        };
        let rows = self.run(&format!("update {table} set n = {n} where k = {key} returning n"))?;
        match self.raised(counter, key, &rows) {
            true => Ok(()),
            false => Err(Stop::Found(format!("{counter:?} {key} was locked and not updated"))),
        }
    }

    /// What [`UpsertFault::RaisesWhatItRead`] does.
    fn raise_what_was_read(&mut self, counter: Counter, key: i64) -> Step<()> {
        let n = self.run(&format!("select n from {} where k = {key}", counter.table()))?;
        let Some(n) = n.last().map(|row| number(row) + 1) else {
            return self.upsert(counter, key, false);
        };
        let sql = format!("update {} set n = {n} where k = {key} returning n", counter.table());
        let rows = self.run(&sql)?;
        self.raised(counter, key, &rows);
        Ok(())
    }

    /// Deletes a counter's row and inserts it again; where another has it deleted at the moment, its key is taken.
    fn move_on(&mut self, key: i64) -> Step<()> {
        let deleted = self.run(&format!("delete from moved where k = {key} returning n"))?;
        let n = deleted.last().map_or(0, |row| number(row)) + 1;
        let rows = self.run(&format!("insert into moved values ({key}, {n}) returning n"))?;
        self.raised(Counter::Moved, key, &rows);
        Ok(())
    }

    fn append(&mut self, list: List, key: i64, by_reading: bool, update: bool) -> Step<()> {
        let (object, element) = (list.object(key), self.unique);
        let mut rows = Vec::new();
        if by_reading {
            let before = self.look_at_list(list, key)?;
            if !before.is_empty() {
                let items = format!("'{before}'");
                rows = self.run(&objects::append_to(list, key, element, &items))?;
            }
        } else if update {
            rows = self.run(&objects::append_to(list, key, element, "items"))?;
        }
        if rows.is_empty() {
            rows = self.run(&objects::append(list, key, element))?;
        }
        let Some(items) = rows.last() else {
            return Err(Stop::Found(format!("an append to {list:?} {key} gave no row")));
        };
        self.ops.push(Op::Append(object, element));
        self.ops.push(Op::ReadList(object, elements(items)));
        Ok(())
    }

    fn look(&mut self, counter: Counter, key: i64, by_index: bool) -> Step<u64> {
        let (table, condition) = (counter.table(), objects::condition(counter, key, by_index));
        let rows = self.run(&format!("select n from {table} where {condition}"))?;
        let n = rows.last().map_or(0, |row| number(row));
        let object = counter.object(key);
        // A row that others move is not there at times, and that is no version of it.
        if n > 0 {
            self.ops.push(Op::Read(object, version(object, n)));
        }
        Ok(n)
    }

    fn look_at_list(&mut self, list: List, key: i64) -> Step<String> {
        let rows = self.run(&format!("select items from {} where k = {key}", list.table()))?;
        let items = rows.last().cloned().unwrap_or_default();
        self.ops.push(Op::ReadList(list.object(key), elements(&items)));
        Ok(items)
    }
}

fn number(text: &str) -> u64 {
    text.parse().expect("the column is a number")
}

/// The first column of the rows that statements give, and the count of the last; what they were refused with is the
/// text of `Found`.
fn ask(client: &mut Client, sql: &str) -> Step<(Vec<String>, u64)> {
    let answers = client.simple_query(sql).map_err(|e| match state(&e) {
        Some("57P01" | "57P02" | "57P03") | None => Stop::Gone,
        Some(state) => Stop::Found(state.to_string()),
    })?;
    let (mut rows, mut count) = (Vec::new(), 0);
    for answer in answers {
        match answer {
            SimpleQueryMessage::Row(row) => rows.push(row.get(0).unwrap_or_default().to_string()),
            SimpleQueryMessage::CommandComplete(n) => count = n,
            _ => {}
        }
    }
    Ok((rows, count))
}
