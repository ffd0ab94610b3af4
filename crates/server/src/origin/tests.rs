//! Does a crowd from one address leave room for others?

use super::*;

fn v4(n: u32) -> Origin {
    Origin::V4(n)
}

#[test]
fn the_oldest_of_the_most_numerous_goes() {
    let limits = Limits { all: 4, each: 3 };
    assert_eq!(victim(&[], limits), None);
    assert_eq!(victim(&[v4(1), v4(1), v4(1), v4(2)], limits), None);
    // One too many of one address, while there is room for others.
    assert_eq!(victim(&[v4(2), v4(1), v4(1), v4(1), v4(1)], limits), Some(1));
    // One too many of all: whoever is alone stays, however old.
    assert_eq!(victim(&[v4(3), v4(1), v4(1), v4(1), v4(2)], limits), Some(1));
    assert_eq!(victim(&[v4(1), v4(2), v4(3), v4(4), v4(5)], limits), Some(0));
}

#[test]
fn an_address_is_what_one_machine_has() {
    let of = |text: &str| Origin::of(text.parse().expect("an address"));
    assert_eq!(of("10.0.0.1"), of("::ffff:10.0.0.1"));
    assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    assert_eq!(of("2001:db8:0:1::1"), of("2001:db8:0:1:ffff::2"));
    assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:2::1"));
}
