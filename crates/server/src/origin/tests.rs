//! Does a crowd from one address leave room for others?

use super::*;

fn v4(n: u32) -> Origin {
    Origin::V4(n)
}

fn victim(crowd: &[u32], limits: Limits) -> Option<Origin> {
    let mut all = Crowd::default();
    crowd.iter().for_each(|n| all.enter(v4(*n)));
    let newest = crowd.last().map(|n| v4(*n))?;
    // Who has gone does not count.
    all.enter(v4(99));
    all.leave(v4(99));
    all.leave(v4(98));
    all.victim(newest, limits)
}

#[test]
fn one_of_the_most_numerous_goes() {
    let limits = Limits { all: 4, each: 3 };
    assert_eq!(victim(&[], limits), None);
    assert_eq!(victim(&[1, 1, 1, 2], limits), None);
    // One too many of one address, while there is room for others.
    assert_eq!(victim(&[2, 1, 1, 1, 1], Limits { all: 9, each: 3 }), Some(v4(1)));
    // One too many of all: the only one of its address stays, however old.
    assert_eq!(victim(&[3, 1, 1, 1, 2], limits), Some(v4(1)));
}

#[test]
fn an_address_is_what_one_machine_has() {
    let of = |text: &str| Origin::of(text.parse().expect("an address"));
    assert_eq!(of("10.0.0.1"), of("::ffff:10.0.0.1"));
    assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    assert_eq!(of("2001:db8:0:1::1"), of("2001:db8:0:1:ffff::2"));
    assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:2::1"));
}
