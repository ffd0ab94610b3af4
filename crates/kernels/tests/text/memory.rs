//! Do results that are small each and much together ask for their memory?

use std::sync::atomic::{AtomicUsize, Ordering};

use onlap_kernels::{Col, Cx, Datum, Repr, Session, find};
use onlap_pg::{Error, Oid, Result};

use super::{World, function};

/// A session that counts what is asked for, up to a limit.
struct Little {
    taken: AtomicUsize,
    limit: usize,
}

impl Session for Little {
    fn room(&self, bytes: usize) -> Result<()> {
        match self.taken.fetch_add(bytes, Ordering::Relaxed) + bytes <= self.limit {
            true => Ok(()),
            false => Err(Error::new("53200", "there is no more")),
        }
    }
    fn asked(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }
    fn call(&self, function: Oid, _: &[Datum<'_>]) -> Result<Datum<'static>> {
        Err(Error::new("0A000", format!("function {function} asks the session")))
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

/// Calls a function of a text and a number for a number of rows; what it took, or the error.
fn taken(name: &str, rows: usize, number: i32, limit: usize) -> Result<usize> {
    let world = World::new();
    let text = Datum::Text("x".into());
    let args = [Datum::column(Repr::Text, std::iter::repeat_n(&text, rows))?, {
        let number = Datum::Int4(number);
        Datum::column(Repr::Int4, std::iter::repeat_n(&number, rows))?
    }];
    let args = args.map(Col::new);
    let make = find(function(&world.catalog, name)).expect("it is served");
    let session = Little { taken: AtomicUsize::new(0), limit };
    let mut cx = Cx { session: &session, ..world.cx() };
    let types = world.types(&[25, 23], 25);
    let made = make(&types).eval(&args, rows, &mut cx)?;
    assert_eq!(made.len(), rows);
    Ok(session.taken.into_inner())
}

#[test]
fn many_small_results_ask_for_what_they_take_together() {
    for name in ["repeat(text,int4)", "lpad(text,int4)"] {
        assert_eq!(taken(name, 100, 10, 0), Ok(0), "{name}: a batch has room for that");
        let all = taken(name, 4096, 16_384, usize::MAX).expect("there is room");
        assert!((64 << 20..80 << 20).contains(&all), "{name}: {all}");
        let error = taken(name, 4096, 16_384, 32 << 20).expect_err("64 MiB do not fit");
        assert_eq!(error.state, "53200", "{name}");
    }
}
