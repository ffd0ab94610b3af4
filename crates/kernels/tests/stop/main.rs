//! Does every kernel ask, within one value, whether its statement is still wanted?
//!
//! Each function, set function, input and output is called with values of some megabytes. What is counted is how often it
//! asked, so that no clock is looked at: once for each megabyte that it was given or made, at least, in addition to the once that
//! every loop over rows does. Those that need not, as they look at some bytes of it or go over it at the speed of memory, stand
//! in a list, which is checked, too.

mod large;
mod quick;
#[path = "../common/session.rs"]
mod session;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use onlap_base::clock::{Clock, SystemClock};
use onlap_base::stop;
use onlap_kernels::{
    Col, Cx, Datum, Types, find, find_series, input, output, recv, repr, send, signature,
};
use onlap_pg::catalog::extensions::ALL;
use onlap_pg::catalog::{Catalog, Proc};
use onlap_pg::value::Settings;
use onlap_pg::value::numeric::Numeric;
use onlap_pg::{Oid, Result, TypeRef};
use session::QUIET;

/// Bytes for which there is one question.
const PER_QUESTION: usize = 1 << 20;

/// What functions are called with, and what they did.
struct World {
    catalog: Arc<Catalog>,
    settings: Settings,
    /// Calls that asked too seldom, and how.
    silent: BTreeSet<String>,
    called: BTreeSet<String>,
    /// Whether each call is told of.
    reports: bool,
}

impl World {
    fn new() -> World {
        World {
            catalog: Arc::new(Catalog::new()),
            settings: Settings::default(),
            silent: BTreeSet::new(),
            called: BTreeSet::new(),
            reports: std::env::var("ONLAP_REPORT").is_ok(),
        }
    }

    fn cx(&self) -> Cx<'_> {
        Cx { catalog: &self.catalog, settings: &self.settings, session: &QUIET }
    }

    /// Counts how often a call asks; it gives the bytes of its result.
    fn count(
        &mut self,
        name: &str,
        given: usize,
        rows: u64,
        call: impl FnOnce(&mut Cx<'_>) -> Result<usize>,
    ) {
        // What grows with the product of its arguments is cut short, which it is by asking.
        const ENOUGH_NS: u64 = 2_000_000_000;
        let end = Arc::new(stop::Stop::default());
        end.end_at(SystemClock.monotonic_ns() + ENOUGH_NS);
        let _known = stop::within(&end);
        // What calls before it have done does not count.
        let _ = stop::is_due(stop::STRIDE);
        let (before, began_ns) = (stop::asked(), SystemClock.monotonic_ns());
        let made = call(&mut self.cx());
        let took_ns = SystemClock.monotonic_ns() - began_ns;
        let asked = stop::asked() - before;
        let outcome = match &made {
            Ok(bytes) => bytes.to_string(),
            Err(e) => format!("{} {:.50}", e.state, e.message),
        };
        if made.as_ref().is_err_and(|e| matches!(e.state, "0A000" | "57014")) {
            return;
        }
        let work = given.max(made.unwrap_or(0));
        self.called.insert(name.to_string());
        let wanted = (work / PER_QUESTION) as u64 + rows;
        if asked < wanted {
            self.silent.insert(name.to_string());
        }
        if self.reports {
            eprintln!(
                "{:8.3} ms {asked:6} of {wanted:3}  {name}  {given} -> {outcome}",
                took_ns as f64 / 1e6
            );
        }
    }

    /// A value, and its representation's bytes.
    fn value(&self, oid: Oid, text: &str) -> Option<Datum<'static>> {
        match input(&mut self.cx(), TypeRef::new(oid), text) {
            Ok(value) => Some(value),
            Err(e) => {
                assert_ne!(e.state, "42883", "{oid}: {e}");
                None
            }
        }
    }

    fn function(&mut self, proc: &Proc) {
        let name = signature(&self.catalog, proc);
        let own = |oid: &Oid| large::concrete(*oid, &proc.arguments);
        let types: Vec<Oid> = proc.arguments.iter().map(own).collect();
        let result = own(&proc.result);
        let small: Vec<Vec<Datum<'static>>> = types
            .iter()
            .map(|oid| {
                large::small(&self.catalog, *oid)
                    .iter()
                    .filter_map(|text| self.value(*oid, text))
                    .collect()
            })
            .collect();
        if small.iter().any(|values| values.is_empty()) {
            return;
        }
        let big: Vec<Option<Datum<'static>>> = types
            .iter()
            .map(|oid| large::large(&self.catalog, *oid).and_then(|text| self.value(*oid, &text)))
            .collect();
        for at in 0..types.len() {
            let Some(value) = &big[at] else { continue };
            let mut args: Vec<_> = small.iter().map(|values| values[0].clone()).collect();
            args[at] = value.clone();
            self.call(&name, proc, &types, result, &args);
            // All of the same size: what joins or compares.
            if at == 0 && big.iter().filter(|value| value.is_some()).count() > 1 {
                let args: Vec<_> = (0..types.len())
                    .map(|at| big[at].clone().unwrap_or_else(|| small[at][0].clone()))
                    .collect();
                self.call(&name, proc, &types, result, &args);
            }
        }
    }

    fn call(
        &mut self,
        name: &str,
        proc: &Proc,
        types: &[Oid],
        result: Oid,
        args: &[Datum<'static>],
    ) {
        let given = args.iter().map(Datum::size).max().unwrap_or(0);
        if let Some(make) = find_series(proc.oid) {
            let made = make(&self.types(types, result));
            self.count(name, given, 0, |cx| made.start(args, cx).map(|_| 0));
            return;
        }
        let Some(make) = find(proc.oid) else { return };
        let kernel = make(&self.types(types, result));
        let columns: Vec<Col> = types
            .iter()
            .zip(args)
            .map(|(oid, value)| {
                let repr = repr(&self.catalog, *oid).expect("its values were made");
                Col::new(Datum::column(repr, [value].into_iter()).expect("one value fits"))
            })
            .collect();
        self.count(name, given, 1, |cx| {
            let made = kernel.eval(&columns, 1, cx)?;
            Ok(made.get_array_memory_size())
        });
    }

    fn types(&self, args: &[Oid], result: Oid) -> Types {
        Types {
            args: args.iter().map(|oid| TypeRef::new(*oid)).collect(),
            result: TypeRef::new(result),
            catalog: Arc::clone(&self.catalog),
        }
    }

    /// Texts and messages that become values of a type, and values that become them.
    fn forms(&mut self, oid: Oid) {
        let name = self.catalog.shown(oid);
        let mut texts: Vec<String> = large::wrong();
        texts.extend(large::large(&self.catalog, oid));
        for text in texts {
            let mut value = None;
            self.count(&format!("input of {name}"), text.len(), 0, |cx| {
                value = Some(input(cx, TypeRef::new(oid), &text)?);
                Ok(0)
            });
            let Some(value) = value else { continue };
            let given = value.size();
            self.count(&format!("output of {name}"), given, 0, |cx| {
                let mut out = String::new();
                output(cx, oid, &value, &mut out)?;
                Ok(out.len())
            });
            let mut sent = Vec::new();
            self.count(&format!("send of {name}"), given, 0, |cx| {
                send(cx, oid, &value, &mut sent)?;
                Ok(sent.len())
            });
            self.count(&format!("receive of {name}"), sent.len(), 0, |cx| {
                recv(cx, TypeRef::new(oid), &sent).map(|value| value.size())
            });
        }
    }
}

#[test]
fn kernels_ask_within_one_value() {
    let mut world = World::new();
    let catalog = Arc::clone(&world.catalog);
    let only = std::env::var("ONLAP_ONLY").unwrap_or_default();
    for proc in catalog.procs().iter().chain(ALL.iter().flat_map(|of| of.procs())) {
        if signature(&catalog, proc).contains(&only) && !quick::WAITS.contains(&&*proc.name) {
            world.function(proc);
        }
    }
    for ty in catalog.types() {
        if repr(&catalog, ty.oid).is_some() && "input output".contains(&only) {
            world.forms(ty.oid);
        }
    }
    let allowed: BTreeSet<String> = quick::QUICK.iter().map(|name| name.to_string()).collect();
    let new: Vec<&String> = world.silent.difference(&allowed).collect();
    assert!(new.is_empty(), "they do not ask within one value: {new:#?}");
    if only.is_empty() {
        let unknown: Vec<&String> = allowed.difference(&world.called).collect();
        assert!(unknown.is_empty(), "they stand in the list, and are not called: {unknown:#?}");
    }
}

/// What takes the product of the numbers of digits.
#[test]
fn long_numbers_ask() {
    let number =
        |digit: &str, digits: usize| Numeric::parse(&digit.repeat(digits)).expect("it is a number");
    let (long, short) = (number("7", 40_000), number("3", 20_000));
    // Digits come in fours.
    let products = 10_000 * 5_000;
    let ask = |name: &str, call: &dyn Fn() -> Result<Numeric>| {
        let before = stop::asked();
        call().expect(name);
        let asked = stop::asked() - before;
        assert!(asked >= products / stop::STRIDE as u64 / 4, "{name}: {asked}");
    };
    ask("product", &|| long.mul(&short));
    ask("quotient", &|| long.div(&short));
    ask("remainder", &|| long.rem(&short));
    ask("power", &|| Numeric::from(7).power(&Numeric::from(40_000)));
}

/// A statement that is to end does so within the value.
#[test]
fn what_is_not_wanted_any_more_ends_within_a_value() {
    let ended = Arc::new(stop::Stop::new(&Arc::new(AtomicBool::new(true))));
    let world = World::new();
    let long = "ab Cd-12 ef, ".repeat(20_000);
    let _known = stop::within(&ended);
    for (what, ends) in [
        ("text", input(&mut world.cx(), TypeRef::new(1009), &format!("{{{long}}}")).err()),
        ("bytes", input(&mut world.cx(), TypeRef::new(17), &long).err()),
        ("json", input(&mut world.cx(), TypeRef::new(3802), &format!("[\"{long}\"]")).err()),
    ] {
        assert_eq!(ends.map(|e| e.state), Some("57014"), "{what}");
    }
}
