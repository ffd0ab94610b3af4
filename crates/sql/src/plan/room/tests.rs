//! Do queries and long statements take turns for the room that there is?

use super::*;

const MIB: u64 = 1 << 20;

/// Of a machine of this number of MiB, and a database's budget of MiB.
fn room_of(machine: u64, budget: u64, ask: fn() -> Look) -> Arc<Room> {
    Room::new(machine * MIB, budget * MIB, ask)
}

fn query(room: &Arc<Room>) -> Option<Running> {
    room.begin(None, QUERY_BYTES)
}

#[test]
fn limits_lie_between_the_budget_and_the_machine() {
    for (machine, budget) in [(512, 128), (512, 64), (512, 500), (16 << 10, 4 << 10), (64, 64)] {
        let marks = Marks::of_machine(machine * MIB, budget * MIB);
        assert!(marks.short < marks.over && marks.over < machine * MIB, "{marks:?}");
        assert!(marks.short > budget * MIB || marks.short > machine * MIB / 5 * 4, "{marks:?}");
    }
}

#[test]
fn a_process_of_its_own_takes_little_beside_its_budgets() {
    // Budgets that give nothing leave three eighths of what they may give, and full ones 10 MiB or an eighth beside them.
    let marks = |limit, known| Marks::of_heap(limit * MIB, known * MIB).last / MIB;
    assert_eq!((marks(64, 0), marks(64, 64), marks(256, 80)), (34, 84, 122));
    let room = room_of(24 << 10, 64, Look::default);
    let state = |heap: u64| State::of(heap * MIB, Marks::of_heap(64 * MIB, 64 * MIB));
    assert_eq!([76, 77, 81, 85].map(state), [State::Free, State::Short, State::Over, State::Last]);
    // This process has no such allocator.
    room.keep_within(0, || 0);
    room.go_on().expect("there is room");
}

#[test]
fn who_waits_goes_before_who_comes() {
    let one = || Look { resident: 700 * MIB, files: 10, files_limit: 100 };
    let room = room_of(1000, 100, one);
    let first = query(&room).expect("no query to wait for");
    let place = room.queue(false);
    assert!(room.begin(Some(&place), QUERY_BYTES).is_none(), "one runs");
    let turns = tokio::runtime::Builder::new_current_thread().enable_time().build();
    turns.expect("a runtime of this thread").block_on(async {
        // An end that comes before the wait is not missed: this would be an hour.
        drop(first);
        place.wait(Duration::from_secs(3600)).await;
    });
    assert!(query(&room).is_none(), "another one waits");
    let second = room.begin(Some(&place), QUERY_BYTES).expect("it is its turn");
    drop((place, second));
    assert!(query(&room).is_some());
}

#[test]
fn many_hold_back_where_one_goes_on() {
    let room = |ask| room_of(1000, 100, ask);
    const fn taking(resident: u64, files: u64) -> Look {
        Look { resident: resident * MIB, files, files_limit: 100 }
    }
    let free = room(|| taking(500, 10));
    let all: Vec<Running> = std::iter::from_fn(|| query(&free)).take(99).collect();
    // Holds back from 600 MiB on, and ends queries from 800 on.
    assert_eq!(all.len() as u64, 500 * MIB / QUERY_BYTES);
    free.go_on().expect("there is room");
    let short = room(|| taking(700, 10));
    let first = query(&short).expect("no query to wait for");
    assert!(query(&short).is_none() && short.is_short());
    short.go_on().expect("begun is begun");
    drop(first);
    assert!(query(&short).is_some());
    let over = room(|| taking(900, 10));
    let _first = query(&over).expect("no query to wait for");
    over.go_on().expect("it is alone");
    over.taken.lock().running += 1;
    assert_eq!(over.go_on().expect_err("they are two").state(), "53200");
    // What was there before queries is not held against them.
    let files = room(|| taking(500, 80));
    let _first = query(&files).expect("no query to wait for");
    assert!(query(&files).is_some());
    files.go_on().expect("they took none");
    files.files_before.store(55, Ordering::Relaxed);
    assert!(query(&files).is_none());
    files.go_on().expect("some are left");
    files.files_before.store(10, Ordering::Relaxed);
    assert_eq!(files.go_on().expect_err("few are left").state(), "53000");
}

#[test]
fn long_texts_share_the_room_by_their_bytes() {
    let room = room_of(1000, 100, Look::default);
    let large = room.begin(None, 400 * MIB).expect("there is room for 500");
    assert!(room.begin(None, 200 * MIB).is_none());
    let small = room.begin(None, 50 * MIB).expect("it fits beside");
    drop((large, small));
    // What takes more than all the room runs alone, what does not fit the machine not at all.
    let alone = room.begin(None, 600 * MIB).expect("no other query is there");
    assert!(query(&room).is_none());
    drop(alone);
    room.check(600 * MIB).expect("it fits alone");
    assert_eq!(room.check(2000 * MIB).expect_err("it never fits").state(), "53200");
    // Prepared statements keep what they take, and run all the same.
    let kept = room.keep(490 * MIB).expect("there is room");
    assert_eq!(room.keep(20 * MIB).expect_err("it is full").state(), "53200");
    let first = query(&room).expect("no query runs");
    assert!(query(&room).is_none(), "490 are kept and 16 are taken of 500");
    drop(kept);
    assert!(query(&room).is_some());
    drop(first);
}

#[test]
fn the_line_moves_in_order() {
    let room = room_of(1000, 100, Look::default);
    let all = room.begin(None, 490 * MIB).expect("there is room");
    let (large, small) = (room.queue(false), room.queue(false));
    assert!(room.begin(Some(&small), MIB).is_none(), "a small one does not overtake");
    drop(all);
    assert!(room.begin(Some(&small), MIB).is_none());
    let begun = room.begin(Some(&large), 450 * MIB).expect("it is its turn");
    drop(large);
    assert!(room.begin(Some(&small), MIB).is_some());
    drop(begun);
}

#[test]
fn who_holds_much_goes_before_who_came_a_short_while_ago() {
    let room = room_of(1000, 100, Look::default);
    let all = room.begin(None, 490 * MIB).expect("there is room");
    let (reader, writer) = (room.queue(false), room.queue(true));
    drop(all);
    assert!(room.begin(Some(&reader), MIB).is_none());
    assert!(room.begin(Some(&writer), MIB).is_some());
    let next = room.queue(true);
    assert!(writer.number < next.number, "they keep their own order");
}

#[test]
fn who_waits_is_refused_when_nothing_moves() {
    let room = room_of(1000, 100, Look::default);
    let second = Duration::from_secs(1).as_nanos() as u64;
    let now = SystemClock.monotonic_ns() + 100 * second;
    assert!(!room.is_stuck(now - 29 * second, now));
    assert!(room.is_stuck(now - 31 * second, now), "no query has ended in that time");
    drop(query(&room));
    assert!(!room.is_stuck(0, SystemClock.monotonic_ns()), "one has ended just now");
}
