//! Histories by hand: each anomaly must be found, and nothing in clean ones.

use super::Level::{ReadCommitted, RepeatableRead, Serializable};
use super::*;

/// A committed transaction, concurrent with all others.
fn tx(level: Level, ops: impl IntoIterator<Item = Op>) -> Noted {
    let outcome = Outcome::Committed(None);
    Noted { session: 0, level, time: (0, 1000), outcome, ops: ops.into_iter().collect() }
}

fn aborted(level: Level, ops: impl IntoIterator<Item = Op>) -> Noted {
    Noted { outcome: Outcome::Aborted, ..tx(level, ops) }
}

fn at(began: u64, ended: u64, noted: Noted) -> Noted {
    Noted { time: (began, ended), ..noted }
}

fn number(number: u64, noted: Noted) -> Noted {
    Noted { outcome: Outcome::Committed(Some(number)), ..noted }
}

/// Version `number` of a key, with a tag that tells the key too.
fn v(key: Key, number: u64) -> Version {
    Version { number, tag: if number == 0 { 0 } else { 1000 * key as u64 + number } }
}

fn read(key: Key, n: u64) -> Op {
    Op::Read(key, v(key, n))
}

fn write(key: Key, n: u64) -> Op {
    Op::Write(key, v(key, n))
}

#[track_caller]
fn finds(kind: Kind, history: &[Noted]) {
    let found = check(history);
    assert!(found.iter().any(|a| a.kind == kind), "{kind:?} is not among {found:#?}");
}

#[track_caller]
fn clean(history: &[Noted]) {
    assert_eq!(check(history), []);
}

/// Each level in turn for all transactions of a history, and whether it forbids what is in there.
#[track_caller]
fn forbidden_from(least: Level, kind: Kind, history: &[Noted]) {
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        let history: Vec<Noted> = history.iter().map(|t| Noted { level, ..t.clone() }).collect();
        if level >= least { finds(kind, &history) } else { clean(&history) }
    }
}

const ANY: Level = ReadCommitted;

#[test]
fn transactions_one_after_the_other_are_clean() {
    let history = [
        at(0, 1, number(1, tx(Serializable, [read(1, 0), write(1, 1), Op::Append(7, 1)]))),
        at(2, 3, number(2, tx(Serializable, [read(1, 1), write(1, 2), read(1, 2)]))),
        at(4, 5, number(3, tx(Serializable, [Op::ReadList(7, vec![1]), Op::Append(7, 2)]))),
        at(6, 7, number(4, tx(ReadCommitted, [Op::Add(9, 3), Op::ReadSet(9, vec![3])]))),
        at(8, 9, tx(Serializable, [Op::ReadSet(9, vec![3]), Op::ReadList(7, vec![1, 2])])),
        at(8, 9, aborted(Serializable, [write(1, 3)])),
    ];
    clean(&history);
}

#[test]
fn g0_write_cycle() {
    let history = [tx(ANY, [write(1, 1), write(2, 2)]), tx(ANY, [write(1, 2), write(2, 1)])];
    forbidden_from(ReadCommitted, Kind::WriteCycle, &history);
    let text = check(&history)[0].to_string();
    assert!(text.contains("T0 (session 0, ReadCommitted) wrote key"), "{text}");
}

#[test]
fn g0_in_lists() {
    let append = |x, y| tx(ANY, [Op::Append(1, x), Op::Append(2, y)]);
    let lists = tx(ANY, [Op::ReadList(1, vec![10, 11]), Op::ReadList(2, vec![21, 20])]);
    forbidden_from(ReadCommitted, Kind::WriteCycle, &[append(10, 20), append(11, 21), lists]);
}

#[test]
fn g1a_aborted_read() {
    let history = [aborted(ANY, [write(1, 1)]), tx(ANY, [read(1, 1)])];
    forbidden_from(ReadCommitted, Kind::AbortedRead, &history);
    let history = [aborted(ANY, [Op::Add(1, 5)]), tx(ANY, [Op::ReadSet(1, vec![5])])];
    forbidden_from(ReadCommitted, Kind::AbortedRead, &history);
    let history = [aborted(ANY, [Op::Append(1, 5)]), tx(ANY, [Op::ReadList(1, vec![5])])];
    forbidden_from(ReadCommitted, Kind::AbortedRead, &history);
}

#[test]
fn a_write_over_what_was_rolled_back() {
    let history = [aborted(ANY, [write(1, 1)]), tx(ANY, [write(1, 2)])];
    forbidden_from(ReadCommitted, Kind::AbortedRead, &history);
    let history = [tx(ANY, [write(1, 1)]), aborted(ANY, [write(1, 2)]), tx(ANY, [write(1, 3)])];
    forbidden_from(ReadCommitted, Kind::AbortedRead, &history);
}

#[test]
fn g1b_intermediate_read() {
    let history = [tx(ANY, [write(1, 1), write(1, 2)]), tx(ANY, [read(1, 1)])];
    forbidden_from(ReadCommitted, Kind::IntermediateRead, &history);
    let history =
        [tx(ANY, [Op::Append(1, 5), Op::Append(1, 6)]), tx(ANY, [Op::ReadList(1, vec![5])])];
    forbidden_from(ReadCommitted, Kind::IntermediateRead, &history);
}

#[test]
fn g1c_circular_information() {
    let history = [tx(ANY, [write(1, 1), read(2, 1)]), tx(ANY, [write(2, 1), read(1, 1)])];
    forbidden_from(ReadCommitted, Kind::CircularInformation, &history);
    let history = [
        tx(ANY, [Op::Add(1, 5), Op::ReadSet(2, vec![6])]),
        tx(ANY, [Op::Add(2, 6), Op::ReadSet(1, vec![5])]),
    ];
    forbidden_from(ReadCommitted, Kind::CircularInformation, &history);
}

#[test]
fn what_was_never_written() {
    finds(Kind::Impossible, &[tx(ANY, [read(1, 1)])]);
    finds(Kind::Impossible, &[tx(ANY, [Op::ReadSet(1, vec![4])])]);
    let lists = [Op::ReadList(1, vec![1, 2]), Op::ReadList(1, vec![2])];
    finds(
        Kind::Impossible,
        &[tx(ANY, [Op::Append(1, 1)]), tx(ANY, [Op::Append(1, 2)]), tx(ANY, lists)],
    );
}

#[test]
fn a_transaction_sees_itself() {
    finds(Kind::Internal, &[tx(ANY, [write(1, 1), read(1, 0)])]);
    finds(Kind::Internal, &[tx(ANY, [Op::Append(1, 1), Op::ReadList(1, vec![])])]);
    finds(Kind::Internal, &[tx(ANY, [Op::Add(1, 1), Op::ReadSet(1, vec![])])]);
}

#[test]
fn g_single_read_skew() {
    let history = [tx(ANY, [write(1, 1), write(2, 1)]), tx(ANY, [read(1, 0), read(2, 1)])];
    forbidden_from(RepeatableRead, Kind::ReadSkew, &history);
    let history = [
        tx(ANY, [Op::Append(1, 1), Op::Add(2, 2)]),
        tx(ANY, [Op::ReadList(1, vec![]), Op::ReadSet(2, vec![2])]),
        tx(ANY, [Op::ReadList(1, vec![1])]),
    ];
    forbidden_from(RepeatableRead, Kind::ReadSkew, &history);
}

#[test]
fn a_read_that_does_not_repeat() {
    let history = [tx(ANY, [write(1, 1)]), tx(ANY, [read(1, 0), read(1, 1)])];
    forbidden_from(RepeatableRead, Kind::ReadSkew, &history);
}

#[test]
fn lost_update() {
    let history = [tx(ANY, [write(1, 1)]), tx(ANY, [read(1, 0), write(1, 2)])];
    forbidden_from(RepeatableRead, Kind::LostUpdate, &history);
    // Two in the place of one are lost at any level.
    let other = Version { number: 1, tag: 77 };
    let history = [tx(ANY, [write(1, 1)]), tx(ANY, [Op::Write(1, other)])];
    forbidden_from(ReadCommitted, Kind::LostUpdate, &history);
    let history = [
        at(0, 1, tx(ANY, [Op::Append(1, 1)])),
        at(0, 1, tx(ANY, [Op::Append(1, 2)])),
        at(2, 3, tx(ANY, [Op::ReadList(1, vec![2])])),
    ];
    forbidden_from(ReadCommitted, Kind::LostUpdate, &history);
}

#[test]
fn g2_item_write_skew() {
    let history = [
        tx(ANY, [read(1, 0), read(2, 0), write(1, 1)]),
        tx(ANY, [read(1, 0), read(2, 0), write(2, 1)]),
    ];
    forbidden_from(Serializable, Kind::WriteSkew, &history);
}

#[test]
fn what_is_removed() {
    let added = at(0, 1, tx(ANY, [Op::Add(1, 5), Op::Add(1, 6), Op::Add(1, 7)]));
    let remove = |element, ops: &[Op]| at(2, 9, tx(ANY, [ops, &[Op::Remove(1, element)]].concat()));
    let all = [Op::ReadSet(1, vec![5, 6, 7])];
    forbidden_from(Serializable, Kind::Phantom, &[added.clone(), remove(5, &all), remove(6, &all)]);
    forbidden_from(
        ReadCommitted,
        Kind::LostUpdate,
        &[added.clone(), remove(5, &[]), remove(5, &[])],
    );
    clean(&[added.clone(), remove(5, &all), remove(6, &[])]);
    let again = at(2, 9, tx(ANY, [Op::Remove(1, 5), all[0].clone()]));
    finds(Kind::Internal, &[added.clone(), again]);
    let before_and_after = [all[0].clone(), Op::ReadSet(1, vec![6])];
    let skew = [added, remove(5, &[Op::Add(1, 8)]), at(3, 4, tx(ANY, before_and_after))];
    // It misses 7, which nobody removed.
    forbidden_from(ReadCommitted, Kind::Stale, &skew[..]);
}

#[test]
fn g2_phantom() {
    let history = [
        tx(ANY, [Op::ReadSet(1, vec![]), Op::Add(1, 1)]),
        tx(ANY, [Op::ReadSet(1, vec![]), Op::Add(1, 2)]),
    ];
    forbidden_from(Serializable, Kind::Phantom, &history);
}

/// Two *rw* that do not follow each other are no snapshot either.
#[test]
fn g_nonadjacent() {
    let history = [
        tx(ANY, [read(1, 0), read(4, 1)]),
        tx(ANY, [write(1, 1), write(2, 1)]),
        tx(ANY, [read(2, 1), read(3, 0)]),
        tx(ANY, [write(3, 1), write(4, 1)]),
    ];
    forbidden_from(RepeatableRead, Kind::WriteSkew, &history);
}

/// The read-only transaction anomaly of Fekete, O'Neil and O'Neil: a snapshot between two commits.
#[test]
fn a_reader_makes_the_anomaly() {
    let mut history = [
        tx(ANY, [read(1, 0), read(2, 0), write(1, 1)]),
        tx(ANY, [read(2, 0), write(2, 1)]),
        tx(ANY, [read(1, 0), read(2, 1)]),
    ];
    forbidden_from(Serializable, Kind::WriteSkew, &history);
    history[2].ops.clear();
    clean(&history);
}

#[test]
fn levels_are_judged_each_by_its_own() {
    let skew = |a, b| {
        [tx(a, [read(1, 0), read(2, 0), write(1, 1)]), tx(b, [read(1, 0), read(2, 0), write(2, 1)])]
    };
    clean(&skew(Serializable, RepeatableRead));
    clean(&skew(ReadCommitted, Serializable));
    finds(Kind::WriteSkew, &skew(Serializable, Serializable));
    let read_skew = |a, b| [tx(a, [write(1, 1), write(2, 1)]), tx(b, [read(1, 0), read(2, 1)])];
    clean(&read_skew(Serializable, ReadCommitted));
    finds(Kind::ReadSkew, &read_skew(ReadCommitted, RepeatableRead));
}

#[test]
fn what_had_ended_is_seen() {
    let history = [at(0, 1, tx(ANY, [write(1, 1)])), at(2, 3, tx(ANY, [read(1, 0)]))];
    forbidden_from(ReadCommitted, Kind::Stale, &history);
    // Over the versions of another key.
    let history = [at(4, 5, tx(ANY, [write(1, 1)])), at(0, 3, tx(ANY, [read(1, 1)]))];
    forbidden_from(ReadCommitted, Kind::Stale, &history);
}

#[test]
fn commit_numbers_go_along() {
    let history = [number(2, tx(ANY, [write(1, 1)])), number(1, tx(ANY, [write(1, 2)]))];
    forbidden_from(ReadCommitted, Kind::CommitOrder, &history);
    let history =
        [number(2, tx(ANY, [read(1, 0), write(2, 1)])), number(1, tx(ANY, [write(1, 1)]))];
    forbidden_from(Serializable, Kind::CommitOrder, &history);
}

/// Of two transactions with one number one wrote nothing that stayed.
#[test]
fn a_number_that_two_have_says_nothing() {
    let history = [number(2, tx(ANY, [read(1, 1)])), number(2, tx(ANY, [write(1, 1)]))];
    clean(&history);
}

#[test]
fn refused_with_and_without_need() {
    let skew = [
        tx(Serializable, [read(1, 0), read(2, 0), write(1, 1)]),
        aborted(Serializable, [read(1, 0), read(2, 0), write(2, 1)]),
    ];
    assert!(would_close_a_cycle(&skew, 1));
    let only_overwritten =
        [tx(Serializable, [write(1, 1)]), aborted(Serializable, [read(1, 0), write(2, 1)])];
    assert!(!would_close_a_cycle(&only_overwritten, 1));
    // Somebody took its place later, and read what it would have changed.
    let later = at(1001, 1002, tx(Serializable, [read(2, 0), write(2, 1)]));
    let [first, refused] = only_overwritten;
    assert!(!would_close_a_cycle(&[first, refused, later], 1));
}

fn put(key: Key, element: Element) -> Op {
    Op::Put(key, element, None)
}

#[test]
fn slots_follow_the_order_of_commits() {
    let writers = [
        at(0, 1, number(1, tx(ANY, [put(1, 10), Op::ReadSlot(1, 10)]))),
        at(2, 3, number(2, tx(ANY, [put(1, 11), put(1, 12)]))),
        at(4, 5, number(3, tx(ANY, [Op::ReadSlot(1, 12), put(1, 0), Op::ReadSlot(1, 0)]))),
        at(6, 7, number(4, tx(ANY, [put(1, 0)]))),
        at(8, 9, number(5, tx(ANY, [Op::Put(1, 13, Some(0))]))),
        at(8, 9, aborted(ANY, [put(1, 14)])),
    ];
    let with = |reader: Noted| writers.iter().cloned().chain([reader]).collect::<Vec<_>>();
    clean(&with(at(8, 9, tx(Serializable, [Op::ReadSlot(1, 0)]))));
    clean(&with(at(10, 11, tx(Serializable, [Op::ReadSlot(1, 13)]))));
    clean(&with(at(0, 11, tx(Serializable, [Op::ReadSlot(1, 0)]))));
    finds(Kind::Stale, &with(at(10, 11, tx(ANY, [Op::ReadSlot(1, 0)]))));
    finds(Kind::Stale, &with(at(10, 11, tx(ANY, [Op::ReadSlot(1, 12)]))));
    finds(Kind::IntermediateRead, &with(at(2, 3, tx(ANY, [Op::ReadSlot(1, 11)]))));
    finds(Kind::AbortedRead, &with(at(8, 9, tx(ANY, [Op::ReadSlot(1, 14)]))));
    finds(Kind::Impossible, &with(at(8, 9, tx(ANY, [Op::ReadSlot(1, 99)]))));
    finds(Kind::Internal, &with(tx(ANY, [put(2, 20), Op::ReadSlot(2, 0)])));
    let over = |seen| at(9, 10, number(6, tx(ANY, [Op::Put(1, 15, Some(seen))])));
    clean(&with(over(13)));
    finds(Kind::LostUpdate, &with(over(0)));
}

#[test]
fn skew_of_slots() {
    let history = [
        number(1, tx(ANY, [put(1, 10), put(2, 20)])),
        number(2, tx(ANY, [put(1, 11), put(2, 21)])),
        tx(ANY, [Op::ReadSlot(1, 10), Op::ReadSlot(2, 21)]),
    ];
    forbidden_from(RepeatableRead, Kind::ReadSkew, &history);
    let skew = |mine, own, other| tx(ANY, [Op::ReadSlot(mine, 0), Op::Put(other, own, None)]);
    let history = [number(1, skew(1, 10, 2)), number(2, skew(2, 11, 1))];
    forbidden_from(Serializable, Kind::WriteSkew, &history);
}
