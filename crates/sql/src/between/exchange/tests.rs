use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

fn told(channel: &str, payload: &str) -> Vec<Told> {
    vec![(channel.into(), payload.into())]
}

fn listening(exchange: &Exchange, database: &Arc<str>, pid: i32, channel: &str) {
    exchange.listen(pid, database, HashSet::from([channel.into()]), None);
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
