//! Is all there that was acknowledged, once, and nothing else?
//!
//! A last reader looks at everything when the clients have ended. The history with it goes to the checker of cycles;
//! next to that counters have to be as high as committed transactions raised them, lists to have each committed append
//! once and no other, in an order in which no append comes after one that began when it had ended, and keys written
//! blindly to have what their client put there last.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use onlap_testkit::cycles::{Anomaly, Level, Noted, Op, Outcome, check};
use postgres::{Client, SimpleQueryMessage};

use super::Side;
use super::clients::{Person, elements, version};
use super::objects::{COUNTERS, KEYS, LISTS};

/// What was judged.
pub struct Judged {
    pub transactions: u64,
    pub committed: u64,
    pub appends: u64,
    pub deadlocks: u64,
}

/// Judges what clients noted against what is there.
///
/// # Errors
/// What was found.
pub fn judge(side: &Side, people: &[Person], time: &AtomicU64) -> Result<Judged, String> {
    let mut client = side.client()?;
    let began = time.fetch_add(1, Ordering::SeqCst);
    let ops = read_all(&mut client)?;
    let mut history: Vec<Noted> = people.iter().flat_map(|p| p.noted.iter().cloned()).collect();
    let committed = |n: &Noted| n.outcome != Outcome::Aborted;
    let appends = |n: &Noted| n.ops.iter().filter(|op| matches!(op, Op::Append(..))).count();
    let judged = Judged {
        transactions: history.len() as u64,
        committed: history.iter().filter(|n| committed(n)).count() as u64,
        appends: history.iter().filter(|n| committed(n)).map(appends).sum::<usize>() as u64,
        deadlocks: people.iter().map(|p| p.deadlocks).sum(),
    };
    everything_once(&history, &ops)?;
    own_keys(&mut client, people)?;
    indexes(side, &mut client)?;
    let last = (began, time.fetch_add(1, Ordering::SeqCst));
    let (level, outcome) = (Level::Serializable, Outcome::Committed(None));
    history.push(Noted { session: usize::MAX, level, time: last, outcome, ops });
    let found = check(&history);
    match found.is_empty() {
        true => Ok(judged),
        false => Err(found.iter().map(Anomaly::to_string).collect::<Vec<_>>().join("\n")),
    }
}

/// Rows of a query.
fn rows(client: &mut Client, sql: &str) -> Result<Vec<Vec<String>>, String> {
    let answers = client.simple_query(sql).map_err(|e| format!("{sql}: {e:?}"))?;
    let row = |answer| match answer {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|i| row.get(i).unwrap_or_default().to_string()).collect())
        }
        _ => None,
    };
    Ok(answers.into_iter().filter_map(row).collect())
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

/// All counters and lists.
fn read_all(client: &mut Client) -> Result<Vec<Op>, String> {
    let mut ops = Vec::new();
    for counter in COUNTERS {
        let found = rows(client, &format!("select k, n from {}", counter.table()))?;
        let of: HashMap<u64, u64> = found.iter().map(|r| (number(&r[0]), number(&r[1]))).collect();
        if of.len() != found.len() {
            return Err(format!("{counter:?} has a key twice: {found:?}"));
        }
        for key in 0..KEYS {
            let (object, n) = (counter.object(key), of.get(&(key as u64)).copied().unwrap_or(0));
            ops.push(Op::Read(object, version(object, n)));
        }
    }
    for list in LISTS {
        let found = rows(client, &format!("select k, items from {}", list.table()))?;
        let of: HashMap<u64, &str> = found.iter().map(|r| (number(&r[0]), r[1].as_str())).collect();
        if of.len() != found.len() {
            return Err(format!("{list:?} has a key twice: {found:?}"));
        }
        for key in 0..KEYS {
            let items = of.get(&(key as u64)).copied().unwrap_or_default();
            ops.push(Op::ReadList(list.object(key), elements(items)));
        }
    }
    Ok(ops)
}

/// Counters are as high, and lists as long, as what was committed made them.
fn everything_once(history: &[Noted], found: &[Op]) -> Result<(), String> {
    let mut raised: HashMap<i64, u64> = HashMap::new();
    let mut appended: HashMap<i64, HashMap<u64, (u64, u64)>> = HashMap::new();
    for noted in history.iter().filter(|n| n.outcome != Outcome::Aborted) {
        for op in &noted.ops {
            match op {
                Op::Write(object, _) => *raised.entry(*object).or_default() += 1,
                Op::Append(object, element) => {
                    appended.entry(*object).or_default().insert(*element, noted.time);
                }
                _ => {}
            }
        }
    }
    for op in found {
        match op {
            Op::Read(object, version) => {
                let times = raised.get(object).copied().unwrap_or(0);
                if version.number != times {
                    let n = version.number;
                    return Err(format!("counter {object} was raised {times} times and is {n}"));
                }
            }
            Op::ReadList(object, list) => {
                let appended = appended.remove(object).unwrap_or_default();
                in_order(*object, list, &appended)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn in_order(object: i64, list: &[u64], appended: &HashMap<u64, (u64, u64)>) -> Result<(), String> {
    let mut left = appended.clone();
    for element in list {
        if left.remove(element).is_none() {
            let known = if appended.contains_key(element) { "twice" } else { "unasked" };
            return Err(format!("list {object} has {element} {known}"));
        }
    }
    if let Some(element) = left.keys().next() {
        let lost = left.len();
        return Err(format!("list {object}: {lost} acknowledged appends are lost, as {element}"));
    }
    let mut ended = u64::MAX;
    for element in list.iter().rev() {
        let (began, end) = appended[element];
        if ended < began {
            return Err(format!(
                "list {object} has {element} before one that ended before it began"
            ));
        }
        ended = ended.min(end);
    }
    Ok(())
}

/// What each client put blindly last is there.
fn own_keys(client: &mut Client, people: &[Person]) -> Result<(), String> {
    let found = rows(client, "select k, v from own order by k")?;
    let found: Vec<(i64, u64)> =
        found.iter().map(|row| (number(&row[0]) as i64, number(&row[1]))).collect();
    let put: Vec<(i64, u64)> =
        people.iter().flat_map(|p| p.own.iter().map(|(k, v)| (*k, *v))).collect();
    match found == put {
        true => Ok(()),
        false => Err(format!("blindly written keys are {found:?} and were put as {put:?}")),
    }
}

/// Indexes show what the tables have.
fn indexes(side: &Side, client: &mut Client) -> Result<(), String> {
    let sums = ["", " where n >= 0", " where g >= 0"]
        .map(|by| rows(client, &format!("select count(*), sum(n) from indexed{by}")));
    if sums.iter().any(|sum| *sum != sums[0]) {
        return Err(format!("indexes and their table differ: {sums:?}"));
    }
    if side.is_onlap() {
        for table in COUNTERS.map(|c| c.table()).into_iter().chain(LISTS.map(|l| l.table())) {
            rows(client, &format!("check table {table}"))?;
        }
    }
    Ok(())
}
