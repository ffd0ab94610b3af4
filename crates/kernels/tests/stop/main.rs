//! Does every kernel ask, within one value, whether its statement is still wanted?
//!
//! Each function, set function, input and output is called with values of some megabytes. What is counted is how often it
//! asked, so that no clock is looked at: once for each megabyte that it was given or made, at least, in addition to the once that
//! every loop over rows does. Those that need not, as they look at some bytes of it or go over it at the speed of memory, stand
//! in a list, which is checked, too, and so do those that ask, but are done before with some values.

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
    /// What asked too seldom in some call, and what asked often enough in one with a large value.
    silent: BTreeSet<String>,
    loud: BTreeSet<String>,
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
            loud: BTreeSet::new(),
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
        } else if work >= PER_QUESTION {
            self.loud.insert(name.to_string());
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
            .enumerate()
            .map(|(at, oid)| {
                let fitting = large::fitting(&name, at);
                let usual = large::small(&self.catalog, *oid);
                fitting.iter().chain(usual).filter_map(|text| self.value(*oid, text)).collect()
            })
            .collect();
        if small.iter().any(|values| values.is_empty()) {
            return;
        }
        let big: Vec<Option<Datum<'static>>> = types
            .iter()
            .map(|oid| {
                let text = large::large_for(&self.catalog, &name, *oid)?;
                self.value(*oid, &text)
            })
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
    let set = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>();
    let (quick, early) = (set(quick::QUICK), set(quick::EARLY));
    let allowed: BTreeSet<String> = quick.union(&early).cloned().collect();
    let new: Vec<&String> = world.silent.difference(&allowed).collect();
    assert!(new.is_empty(), "they do not ask within one value: {new:#?}");
    if only.is_empty() {
        let loud: Vec<&String> = quick.intersection(&world.loud).collect();
        assert!(loud.is_empty(), "they ask, and stand among those that need not: {loud:#?}");
        let never: Vec<&String> = early.difference(&world.loud).collect();
        assert!(never.is_empty(), "they never ask: {never:#?}");
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

/// What takes the product of the sizes of its arguments, and what looks for a part that is not there.
#[test]
fn products_and_searches_ask() {
    let world = World::new();
    let list = |from: usize, to: usize| {
        let items: Vec<String> = (from..to).map(|n| format!("\"{n}\"")).collect();
        items.join(",")
    };
    let ones = |zeros: &str, count: usize| format!("{}{zeros}", "1".repeat(count));
    let (array, keys) = (format!("[{}]", list(0, 3000)), format!("{{{}}}", list(5000, 7000)));
    let (last, long) = (format!("[{}]", list(2000, 3000)), "a".repeat(8 << 20));
    let bytes = format!("\\x{}", "61".repeat(8 << 20));
    for (name, args, work) in [
        ("jsonb_contains(jsonb,jsonb)", vec![&*array, &last], 1000 * 2000 * 8),
        ("jsonb_contained(jsonb,jsonb)", vec![&last, &array], 1000 * 2000 * 8),
        ("jsonb_delete(jsonb,_text)", vec![&array, &keys], 3000 * 2000),
        ("position(bit,bit)", vec![&ones("", 20_000), &ones("0", 5_000)], 15_000 * 600),
        ("strpos(text,text)", vec![&long, "b"], 8 << 20),
        ("position(text,text)", vec![&long, "ab"], 8 << 20),
        ("position(bytea,bytea)", vec![&bytes, "b"], 8 << 20),
        ("split_part(text,text,int4)", vec![&long, "b", "2"], 8 << 20),
        ("split_part(text,text,int4)", vec![&long, "b", "-1"], 8 << 20),
        ("string_to_table(text,text)", vec![&long, "a"], 8 << 20),
    ] {
        let named = |proc: &&Proc| signature(&world.catalog, proc) == name;
        let proc = world.catalog.procs().iter().find(named).expect(name);
        let read = |(oid, text): (&Oid, &&str)| world.value(*oid, text).expect(name);
        let args: Vec<Datum<'static>> = proc.arguments.iter().zip(&args).map(read).collect();
        let types = world.types(&proc.arguments, proc.result);
        let before = stop::asked();
        match (find(proc.oid), find_series(proc.oid)) {
            (Some(make), _) => {
                let column = |(oid, value): (&Oid, &Datum<'static>)| {
                    let repr = repr(&world.catalog, *oid).expect("its values were made");
                    Col::new(Datum::column(repr, [value].into_iter()).expect("one value fits"))
                };
                let columns: Vec<Col> = proc.arguments.iter().zip(&args).map(column).collect();
                make(&types).eval(&columns, 1, &mut world.cx()).expect(name);
            }
            (None, Some(make)) => drop(make(&types).start(&args, &mut world.cx()).expect(name)),
            (None, None) => panic!("{name} is not there"),
        }
        let asked = stop::asked() - before;
        assert!(asked >= (work / stop::STRIDE) as u64, "{name}: {asked}");
    }
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
