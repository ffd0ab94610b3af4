//! Do statements end when they are told to, keep to their memory, and give first rows without the last?

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use datafusion_common::DataFusionError;
use datafusion_execution::TaskContext;
use datafusion_execution::runtime_env::RuntimeEnvBuilder;
use onlap_base::clock::{Clock, SystemClock};
use onlap_base::stop::{Stop, within};
use onlap_query::of_external;
use onlap_testkit::postgres::Postgres;

use crate::data::Data;
use crate::ours::Ours;

/// Without the statement's end these take minutes, or never end.
const ENDLESS: [&str; 7] = [
    "with recursive r(n) as (values (1) union all select n from r) select count(*) from r",
    "with recursive r(n) as (values (1) union select (n + 1) % 1000000000 from r) select count(*) from r",
    "select count(*) from generate_series(1, 1000000000000)",
    "select generate_series(1, 0) from generate_series(1, 1000000000000)",
    "select count(*) from (select generate_series(1, 1000000000000)) s",
    "select sum(s) from (select sum(g) over (order by g rows between current row and 20000 following) as s from generate_series(1, 30000) g) x",
    "with x as (select generate_series(1, 1000000000000) as g) select count(*) from x",
];

/// These hold more than they may.
const LARGE: [&str; 4] = [
    "with x as materialized (select g from generate_series(1, 3000000) g) select count(*) from x, x y",
    "with recursive r(n) as (select g from generate_series(1, 3000000) g union all select n from r where false) select count(*) from r",
    "with recursive r(n) as (select g from generate_series(1, 3000000) g union select n from r) select count(*) from r",
    "select count(*) over () from generate_series(1, 3000000)",
];

/// The first rows of these come at once.
const FIRST: [&str; 7] = [
    "select g from generate_series(1, 1000000000000) g limit 3",
    "select generate_series(1, 1000000000000) limit 3",
    "select g from generate_series(1, 1000000000000) g union all select 1 limit 3",
    "with x as materialized (select generate_series(1, 1000000000000) as g) select * from x limit 3",
    "with recursive r(n) as (values (1) union all select n + 1 from r) select n from r limit 3",
    "select n from rows from (generate_series(1, 1000000000000), generate_series(1, 2)) with ordinality x(a, b, n) limit 3",
    "select g from (values (1), (2), (3)) x(g), lateral (select 1 from generate_series(1, 1000000000000) limit 1) s",
];

fn context(bytes: usize) -> Arc<TaskContext> {
    let runtime = RuntimeEnvBuilder::new().with_memory_limit(bytes, 1.0).build_arc();
    Arc::new(TaskContext::default().with_runtime(runtime.expect("it is made")))
}

/// A debug build on a busy machine takes some seconds at most.
fn in_time(began_ns: u64, statement: &str) {
    let took_ns = SystemClock.monotonic_ns() - began_ns;
    assert!(took_ns < 10_000_000_000, "{statement}: {took_ns} ns");
}

#[test]
fn statements_keep_to_their_bounds() {
    let postgres = Postgres::start();
    let ours = Ours::new(Data::new(&postgres));
    for statement in ENDLESS {
        let stop = Arc::new(Stop::new(&Arc::new(AtomicBool::new(false))));
        stop.end_at(SystemClock.monotonic_ns() + 200_000_000);
        let known = within(&stop);
        let (context, began) = (context(1 << 30), SystemClock.monotonic_ns());
        let (output, _env) = ours.steps(statement, &context).expect(statement);
        let error = ours.collected(&output, context).expect_err(statement);
        drop(known);
        let state = of_external(&error).map(|error| error.state);
        assert_eq!(state, Some("57014"), "{statement}: {error}");
        in_time(began, statement);
    }
    for statement in LARGE {
        let context = context(4 << 20);
        let (output, _env) = ours.steps(statement, &context).expect(statement);
        let error = ours.collected(&output, context).expect_err(statement);
        let is_full = matches!(error.find_root(), DataFusionError::ResourcesExhausted(_));
        assert!(is_full, "{statement}: {error}");
    }
    for statement in FIRST {
        let (context, began) = (context(64 << 20), SystemClock.monotonic_ns());
        let (output, _env) = ours.steps(statement, &context).expect(statement);
        let rows = ours.collected(&output, context).expect(statement);
        assert_eq!(rows.iter().map(|batch| batch.num_rows()).sum::<usize>(), 3, "{statement}");
        in_time(began, statement);
    }
}
