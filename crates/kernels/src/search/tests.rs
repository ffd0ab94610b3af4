//! Do functions of text search ask for their memory, and end when they are not wanted any more?

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use onlap_base::limits::RANKED_NODES;
use onlap_pg::catalog::Catalog;
use onlap_pg::value::Settings;
use onlap_pg::{Error, Oid, Result};

use super::make::{Way, query, vector};
use super::query::{Join, Node};
use super::rank::{WEIGHTS, cover_density, rank};
use super::{parse_query, query as queries, words};
use crate::{Cx, Datum, Session};

const SIMPLE: Oid = 3748;
const ENGLISH: Oid = 13164;

/// A session with this number of bytes, which may be cancelled.
pub(super) struct Room {
    limit: usize,
    taken: AtomicUsize,
    is_cancelled: AtomicBool,
}

impl Room {
    pub(super) fn of(limit: usize) -> Room {
        Room { limit, taken: AtomicUsize::new(0), is_cancelled: AtomicBool::new(false) }
    }
}

impl Session for Room {
    fn room(&self, bytes: usize) -> Result<()> {
        let taken = self.taken.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if taken <= self.limit { Ok(()) } else { Err(Error::new("53200", "there is no more")) }
    }
    fn call(&self, function: Oid, _: &[Datum<'_>]) -> Result<Datum<'static>> {
        Err(Error::new("0A000", format!("function {function} asks the session")))
    }
    fn go_on(&self) -> Result<()> {
        match self.is_cancelled.load(Ordering::Relaxed) {
            true => Err(Error::new("57014", "it is not wanted")),
            false => Ok(()),
        }
    }
    fn clock(&self) -> i64 {
        0
    }
    fn statement_began(&self) -> i64 {
        0
    }
    fn random(&self) -> u64 {
        0
    }
}

/// Calls something with a limit of memory; what it gave, and how much it took.
fn with<T>(limit: usize, f: impl FnOnce(&Cx<'_>, &Room) -> Result<T>) -> (Result<T>, usize) {
    let (room, catalog, settings) = (Room::of(limit), Catalog::new(), Settings::default());
    let cx = Cx { catalog: &catalog, settings: &settings, session: &room };
    let result = f(&cx, &room);
    (result, room.taken.into_inner())
}

fn state<T>(result: Result<T>) -> &'static str {
    result.err().map_or("none", |error| error.state)
}

/// A document of words that begin alike, and a query of beginnings that mean them all.
fn alike(words: usize, beginnings: usize, join: Join) -> (Vec<u8>, Vec<u8>) {
    let text: Vec<String> = (0..words).map(|at| format!("a{at}")).collect();
    let (document, _) = with(usize::MAX, |cx, _| vector(SIMPLE, &text.join(" "), cx));
    let (one, _) = with(usize::MAX, |cx, _| parse_query("a:*", cx));
    let one = one.expect("a query");
    let word = queries::Query::load(&one).nodes.remove(0);
    let mut nodes = vec![word.clone()];
    for _ in 1..beginnings {
        nodes.extend([word.clone(), Node::Two(join)]);
    }
    (document.expect("a document"), queries::store(&nodes).expect("a query"))
}

#[test]
fn what_covers_take_grows_with_both_and_not_with_their_product() {
    let (document, query) = alike(2000, 2000, Join::Or);
    let (result, taken) =
        with(usize::MAX, |cx, _| cover_density(&WEIGHTS, &document, &query, 0, cx));
    assert!(result.expect("there is room") > 0.0);
    // 2000 times 2000 places of 24 bytes each would be 96 MB.
    assert!(taken < 4 << 20, "{taken}");
    // In a phrase positions of each are needed.
    let (document, query) = alike(2000, 500, Join::Phrase(0));
    let (result, taken) =
        with(usize::MAX, |cx, _| cover_density(&WEIGHTS, &document, &query, 0, cx));
    result.expect("there is room");
    assert!((64 << 10..32 << 20).contains(&taken), "{taken}");
    let (result, _) = with(0, |cx, _| cover_density(&WEIGHTS, &document, &query, 0, cx));
    assert_eq!(state(result), "53200");
}

#[test]
fn covers_end_where_those_of_postgresql_do() {
    let (document, query) = alike(2, RANKED_NODES / 2 + 1, Join::Or);
    let (result, _) = with(usize::MAX, |cx, _| cover_density(&WEIGHTS, &document, &query, 0, cx));
    assert_eq!(state(result), "54000", "a query of 32,761 nodes");
    // 15,000 times 4,000 places are more than it has memory for.
    let (document, query) = alike(4000, 15_000, Join::Or);
    let (result, _) = with(usize::MAX, |cx, _| cover_density(&WEIGHTS, &document, &query, 0, cx));
    assert_eq!(state(result), "54000", "60 million pairs");
}

#[test]
fn ranks_end_when_they_are_not_wanted() {
    let (document, query) = alike(2000, 2000, Join::Or);
    for of in [rank, cover_density] {
        let (result, _) = with(usize::MAX, |cx, room| {
            room.is_cancelled.store(true, Ordering::Relaxed);
            // What one look takes is less than what is done between two questions.
            for _ in 0..10 {
                of(&WEIGHTS, &document, &query, 0, cx)?;
            }
            Ok(())
        });
        assert_eq!(state(result), "57014");
    }
}

#[test]
fn words_that_are_left_out_of_queries_count() {
    let text = "the ".repeat(100_000);
    for way in [Way::Typed, Way::All] {
        let (result, taken) = with(usize::MAX, |cx, _| query(ENGLISH, &text, way, cx));
        assert_eq!(result.expect("there is room"), [0_u8; 4], "{way:?}: the empty query");
        assert!(way == Way::All || taken > 10 << 20, "{way:?}: {taken}");
    }
    let (result, _) = with(4 << 20, |cx, _| query(ENGLISH, &text, Way::Typed, cx));
    assert_eq!(state(result), "53200");
}

#[test]
fn words_of_texts_count_and_what_is_noted_of_them() {
    let text = "a_".repeat(100_000);
    let (result, taken) = with(1 << 20, |cx, _| vector(SIMPLE, &text, cx));
    assert_eq!(state(result), "53200");
    assert!(taken > 100_000 * 40, "{taken}: it may note each sign");
    let text = "ab ".repeat(100_000);
    let (result, taken) = with(usize::MAX, |cx, _| vector(SIMPLE, &text, cx));
    result.expect("there is room");
    assert!(taken > 100_000 * size_of::<(String, u16)>(), "{taken}");
    let (result, _) = with(1 << 20, |cx, _| vector(SIMPLE, &text, cx));
    assert_eq!(state(result), "53200");
}

#[test]
fn covers_are_those_of_words_and_of_beginnings_within_beginnings() {
    let rank = |document: &str, query: &str| {
        let (result, _) = with(usize::MAX, |cx, _| {
            let document = words::parse(document, cx)?;
            cover_density(&WEIGHTS, &document, &parse_query(query, cx)?, 0, cx)
        });
        result.expect("it is calculated")
    };
    // Each place is a cover of its own, however many words mean it.
    assert_eq!(rank("ab:1 abc:2 b:3", "a:* | ab | ab:*"), 0.2);
    assert_eq!(rank("ab:1 abc:2 b:3", "ab & b"), 0.05);
    assert_eq!(rank("ab:1 abc:2 b:3", "abc:* <-> b"), 0.1);
    assert_eq!(rank("ab:1A abc:2 b:3", "a:*A"), 1.0);
    assert_eq!(rank("ab:1 b", "b | c"), 0.0);
}
