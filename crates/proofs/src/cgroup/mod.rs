//! Does the server live within a memory cgroup, whatever 64 clients ask, and are most of them answered?
//!
//! The server runs with a budget of half its cgroup. Clients sort, join, group, copy, change rows, send long IN lists
//! and large parameters at the same time ([`work`]). Found guilty: the kernel killed it, it ended, a statement failed
//! with another SQLSTATE than those of full resources and conflicts, or fewer than nine tenths of the statements
//! succeeded. Threads, so a seed repeats what is asked and not in which order it is carried out.
//!
//! Needs root on Linux. The control lowers the cgroup's limit behind the server's back, which must end in a kill.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use onlap_testkit::cgroup::Cgroup;

use crate::served::{self, Served};
use crate::{Counts, Verdict};

mod work;

/// What a run is made of.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The cgroup, in MiB; the server's budget is half of it.
    pub mib: u64,
    /// Rows of the table, of some 750 bytes each.
    pub rows: u64,
    /// Values of the longest lists.
    pub values: u64,
    /// Clients begin statements for this number of seconds, at least one each.
    pub seconds: u64,
    /// The cgroup's limit in MiB once the server has started: a planted fault.
    pub squeezed: Option<u64>,
}

/// The clients.
const CLIENTS: u64 = 64;
/// Percent of statements that succeed at least.
const SUCCEED: u64 = 90;

/// What the figures are measured with.
pub const FULL: Setting =
    Setting { mib: 512, rows: 40_000, values: 20_000, seconds: 30, squeezed: None };
/// What tests have time for.
pub const SHORT: Setting =
    Setting { mib: 512, rows: 10_000, values: 1_000, seconds: 1, squeezed: None };

/// Runs a seed of [`FULL`].
///
/// # Errors
/// What was found, or what kept it from running.
pub fn run(seed: u64) -> Verdict {
    attempt(FULL, seed)
}

/// Runs a seed.
///
/// # Errors
/// As [`run`].
pub fn attempt(setting: Setting, seed: u64) -> Verdict {
    let group = Cgroup::new(setting.mib << 20)?;
    let procs = group.procs().display().to_string();
    let into = ["/bin/sh", "-c", "echo $$ > \"$0\" && exec \"$@\"", procs.as_str()];
    let budget = format!("{}MiB", setting.mib / 2);
    let mut server = Served::start_under(&into, &["--memory-limit", &budget, "--sync", "os"])?;
    let rows = work::load(&mut server.client()?, setting.rows)?;
    if let Some(mib) = setting.squeezed {
        group.limit(mib << 20)?;
    }
    let (told, finding) = (Mutex::new(work::Told::default()), Mutex::new(None));
    let until = Instant::now() + Duration::from_secs(setting.seconds);
    std::thread::scope(|scope| {
        for n in 0..CLIENTS {
            let (told, finding, port) = (&told, &finding, server.port());
            scope.spawn(move || {
                let seed = seed * CLIENTS + n;
                let worked = work::client(port, seed, rows, setting.values, until);
                match worked {
                    Ok(more) => told.lock().expect("no client panics").add(&more),
                    Err(text) => *finding.lock().expect("no client panics") = Some(text),
                }
            });
        }
    });
    let told = told.into_inner().expect("no client panicked");
    let finding = finding.into_inner().expect("no client panicked");
    let peak = group.peak() >> 20;
    match group.kills() {
        0 => {}
        kills => {
            return Err(format!(
                "the kernel killed {kills} times, at {peak} MiB of {}",
                setting.mib
            ));
        }
    }
    server.lives()?;
    if let Some(text) = finding {
        return Err(text);
    }
    judge(&told)?;
    let check = "check table big";
    let mut client = served::connect(server.port(), "postgres")?;
    client.batch_execute(check).map_err(|e| format!("{check}: {e:?}"))?;
    println!("seed {seed}: at most {peak} MiB of {}, {told}", setting.mib);
    let mut counts = Counts::default();
    counts.add("runs in a cgroup", 1);
    counts.add("statements", told.done + told.refused());
    counts.add("statements that succeeded", told.done);
    Ok(counts)
}

fn judge(told: &work::Told) -> Result<(), String> {
    let all = told.done + told.refused();
    match told.done * 100 >= all * SUCCEED {
        true => Ok(()),
        false => Err(format!("fewer than {SUCCEED} % of {all} statements succeeded: {told}")),
    }
}
