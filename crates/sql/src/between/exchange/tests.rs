use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

fn told(channel: &str, payload: &str) -> Vec<Told> {
    vec![(channel.into(), payload.into())]
}

fn listening(exchange: &Exchange, database: &Arc<str>, pid: i32, channel: &str) {
    exchange.listen((pid, database), &[], &[channel.into()], None);
}

fn read(exchange: &Exchange, pid: i32) -> Vec<String> {
    exchange.read(pid).iter().map(|note| note.payload.to_string()).collect()
}

#[test]
fn a_commit_that_panics_holds_nothing_back() {
    let (exchange, database) = (Exchange::new(0), Arc::from("d"));
    listening(&exchange, &database, 1, "c");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _ticket = exchange.open(&database, 2, told("c", "lost")).expect("there is room");
        panic!("a commit");
    }));
    assert!(panicked.is_err());
    exchange.open(&database, 2, told("c", "told")).expect("there is room").send(7);
    assert_eq!(read(&exchange, 1), ["told"]);
    assert_eq!(exchange.usage(), 0.0);
}

#[test]
fn notifications_come_in_the_order_of_commits() {
    let (exchange, database) = (Exchange::new(0), Arc::from("d"));
    listening(&exchange, &database, 1, "c");
    let first = exchange.open(&database, 2, told("c", "2")).expect("there is room");
    let second = exchange.open(&database, 3, told("c", "1")).expect("there is room");
    second.send(1);
    assert!(read(&exchange, 1).is_empty(), "the other may have committed before");
    first.send(2);
    assert_eq!(read(&exchange, 1), ["1", "2"]);
    let other = Arc::from("other");
    exchange.open(&other, 2, told("c", "elsewhere")).expect("there is room").send(3);
    assert!(read(&exchange, 1).is_empty());
    assert_eq!(exchange.usage(), 0.0);
}

#[test]
fn one_that_does_not_read_keeps_back_only_those_who_notify_it() {
    let (exchange, database) = (Exchange::new(0), Arc::from("d"));
    listening(&exchange, &database, 1, "slow");
    listening(&exchange, &database, 2, "other");
    let payload = "x".repeat(7000);
    let mut csn = 0_u64;
    let mut send = |channel: &str| {
        csn += 1;
        let ticket = exchange.open(&database, 3, told(channel, &payload))?;
        ticket.send(csn);
        Ok::<_, SqlError>(())
    };
    let sent = (0..1000).take_while(|_| send("slow").is_ok()).count();
    assert!(sent > 100, "{sent}");
    assert_eq!(send("slow").expect_err("it is far behind").state(), "54000");
    assert!(exchange.usage() < 0.3, "{}", exchange.usage());
    for _ in 0..1000 {
        send("other").expect("its session reads");
        assert_eq!(read(&exchange, 2).len(), 1);
    }
    let mut all = 0;
    while let more @ 1.. = read(&exchange, 1).len() {
        all += more;
    }
    assert_eq!(all, sent);
    send("slow").expect("it has read");
    exchange.leave(1);
    assert_eq!(exchange.usage(), 0.0);
}

#[test]
fn one_transaction_has_a_share() {
    let (exchange, database) = (Exchange::new(0), Arc::from("d"));
    let many = (0..200).map(|n| ("c".into(), format!("{n}{}", "x".repeat(7000)).into())).collect();
    assert_eq!(
        exchange.open(&database, 1, many).err().map(|e| e.state().to_string()).as_deref(),
        Some("54000")
    );
    assert_eq!(exchange.usage(), 0.0);
}

#[test]
fn places_of_many_listeners_are_bounded() {
    let (exchange, database) = (Exchange::new(0), Arc::from("d"));
    let share = exchange.limit / SHARE;
    let sessions = 1000;
    for pid in 0..sessions {
        listening(&exchange, &database, pid, "c");
    }
    let notes = share / (NOTE_BYTES + 8);
    let many: Vec<Told> = (0..notes).map(|n| ("c".into(), format!("{n:06}").into())).collect();
    exchange.open(&database, -1, many.clone()).expect("there is room").send(1);
    // One place each, however much is told.
    let used = exchange.used.load(Ordering::Relaxed);
    assert!(used <= share + sessions as usize * PLACE_BYTES, "{used}");
    // Until they have read, what notifies them does not commit.
    let mut sent = 1;
    while let Ok(ticket) = exchange.open(&database, -1, told("c", "more")) {
        sent += 1;
        ticket.send(sent);
        assert!(exchange.used.load(Ordering::Relaxed) <= exchange.limit);
    }
    assert!(sent > 2, "{sent}");
    for pid in 0..sessions {
        let mut all = 0;
        while let more @ 1.. = read(&exchange, pid).len() {
            all += more;
        }
        assert_eq!(all, notes + sent as usize - 1, "{pid}");
    }
    assert_eq!(exchange.usage(), 0.0);
}

#[test]
fn what_was_told_before_a_session_listened_is_not_told() {
    let (exchange, database) = (Exchange::new(0), Arc::from("d"));
    listening(&exchange, &database, 1, "a");
    let both: Vec<Told> = vec![("a".into(), "1".into()), ("b".into(), "2".into())];
    exchange.open(&database, 2, both.clone()).expect("there is room").send(1);
    listening(&exchange, &database, 1, "b");
    let ticket = exchange.open(&database, 2, both).expect("there is room");
    // One that comes before the commit hears it.
    listening(&exchange, &database, 3, "b");
    ticket.send(2);
    assert_eq!(read(&exchange, 1), ["1", "1", "2"]);
    assert_eq!(read(&exchange, 3), ["2"]);
    exchange.listen((1, &database), &["a".into()], &[], None);
    exchange.open(&database, 2, told("a", "x")).expect("there is room").send(3);
    exchange.open(&database, 2, told("b", "y")).expect("there is room").send(4);
    assert_eq!(read(&exchange, 1), ["y"]);
    exchange.leave(1);
    exchange.leave(3);
    assert_eq!(exchange.usage(), 0.0);
}
