use std::cell::RefCell;

use super::*;

#[test]
fn each_seed_gets_its_own_generator() {
    let drawn = RefCell::new(Vec::new());
    for_seeds("tests::each_seed", 3, |mut rng| drawn.borrow_mut().push(rng.next_u64()));
    let expected: Vec<u64> = (0..3).map(|seed| Rng::new(seed).next_u64()).collect();
    // With ONLAP_SEED set for another test, exactly that one seed runs.
    match std::env::var("ONLAP_SEED") {
        Ok(_) => assert_eq!(drawn.borrow().len(), 1),
        Err(_) => assert_eq!(*drawn.borrow(), expected),
    }
}
