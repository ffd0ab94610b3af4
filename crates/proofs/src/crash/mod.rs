//! What is there after the power went, at any file operation whatever?
//!
//! A history is lived once, whole, in a simulation: every task and every moment follow from the seed. At each
//! operation that changes the disk, the file system says what a crash right there would leave: everything
//! synced, and of the rest a share of 0 to 100 % in sectors or pages ([`onlap_vfs::MemFs::crash_with`]). The
//! history goes on unharmed, so one history gives as many crashes as it has operations, and each costs no more
//! than a recovery. The simpler way, to live the history anew for every crash, costs its square.
//!
//! Each of those images is opened and compared ([`judge`]): it must hold exactly the commits up to some number,
//! which is none below what anybody was promised; row ids as commits gave them (I1, I2), every index as its table
//! (I4), the schema as it was promised, and `check` must be content. Some recoveries are crashed themselves, and
//! some databases are worked on and crashed again.

mod clients;
mod judge;
mod keeper;
mod model;

use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onlap::{Database, ErrorKind, Options, Result, Rule, SyncMode, Table, TableSpec};
use onlap_base::rng::Rng;
use onlap_base::tasks::{SimTasks, TaskHandle, Tasks};
use onlap_testkit::slow;
use onlap_vfs::{Fault, FaultFs, Grain, MemFs, Operation, Survival};

use crate::letters;
use crate::options::{drawn, simulated};
use crate::{Counts, Verdict};
use clients::World;
use judge::Judge;
use model::Noted;

const DIR: &str = "/db";

/// How long a history is, and what is wrong with the engine on purpose.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// A rule of the engine that is switched off.
    pub without: Option<Rule>,
    /// A fault of the disk that nobody is told of.
    pub lie: Option<Fault>,
}

/// One history with all its crashes.
///
/// # Errors
/// What a recovery showed that it must not.
pub fn run(seed: u64) -> Verdict {
    run_with(seed, &Setting::default())
}

/// The same under a setting, for controls.
///
/// # Errors
/// As [`run`].
pub fn run_with(seed: u64, setting: &Setting) -> Verdict {
    let mut rng = Rng::new(seed);
    let mut options = drawn(&mut rng);
    options.tuning.without = setting.without;
    if setting.lie.is_some() {
        options.sync = SyncMode::Fsync;
    }
    let moments = live(&mut rng, &options, setting);
    let mut counts = Counts::default();
    counts.add("histories", 1);
    counts.add("operations", moments.moments.len() as u64);
    counts.add("commits", moments.noted.commits.len() as u64);
    let judge = Judge { options: &options };
    for moment in &moments.moments {
        let noted = moments.noted_at(moment);
        judge.recover(&moment.image, &noted, &mut rng, 0, &mut counts).map_err(|finding| {
            let Moment { operation, what, .. } = moment;
            format!("power gone before operation {operation}, {what}: {finding}")
        })?;
    }
    Ok(counts)
}

/// What a crash at one operation leaves, and what was promised by then.
struct Moment {
    image: MemFs,
    operation: usize,
    what: String,
    promised: u64,
    sides: usize,
    sides_promised: usize,
    tables_promised: usize,
}

struct Lived {
    moments: Vec<Moment>,
    noted: Noted,
}

impl Lived {
    /// What must hold at a moment. Which commit an image holds is known by its number, so that those noted
    /// later do no harm.
    fn noted_at(&self, moment: &Moment) -> Noted {
        Noted {
            commits: Arc::clone(&self.noted.commits),
            promised: moment.promised,
            newest: 0,
            sides: self.noted.sides[..moment.sides].to_vec(),
            sides_promised: moment.sides_promised,
            tables_promised: moment.tables_promised,
        }
    }
}

/// Whether an operation changes what a crash leaves.
fn changes_disk(operation: Operation) -> bool {
    !matches!(operation, Operation::Read | Operation::Open | Operation::List | Operation::Lock)
}

/// A crash drawn by lots.
fn crashed(disk: &MemFs, rng: &mut Rng) -> MemFs {
    let share = *rng.pick(&[0.0, 0.25, 0.5, 0.75, 1.0]);
    let grain = *rng.pick(&[Grain::Sector, Grain::Page]);
    disk.crash_with(rng.next_u64(), Survival { share, grain })
}

/// Lives a history, and draws a crash before each operation.
fn live(rng: &mut Rng, options: &Options, setting: &Setting) -> Lived {
    let disk = MemFs::new();
    let fs = FaultFs::new(Arc::new(disk.clone()));
    let noted: Arc<Mutex<Noted>> = Arc::default();
    let moments: Arc<Mutex<Vec<Moment>>> = Arc::default();
    let lots = Mutex::new(rng.fork());
    let (keep, promises) = (Arc::clone(&moments), Arc::clone(&noted));
    fs.watch(Arc::new(move |operation, path: &Path| {
        if changes_disk(operation) {
            let noted = promises.lock().unwrap_or_else(PoisonError::into_inner);
            let mut moments = keep.lock().unwrap_or_else(PoisonError::into_inner);
            let mut lots = lots.lock().unwrap_or_else(PoisonError::into_inner);
            let moment = Moment {
                image: crashed(&disk, &mut lots),
                operation: moments.len(),
                what: format!("{operation:?} of {}", path.display()),
                promised: noted.promised,
                sides: noted.sides.len(),
                sides_promised: noted.sides_promised,
                tables_promised: noted.tables_promised,
            };
            moments.push(moment);
        }
    }));
    if let Some(lie) = &setting.lie {
        fs.fail(lie.clone());
    }
    let tasks = SimTasks::new(rng.next_u64());
    let slow = slow::disk(Arc::new(fs.clone()), tasks.clone());
    let options = simulated(options, Arc::new(slow), &tasks);
    let (next_id, rising) = (Arc::new(AtomicI64::new(100)), rng.chance(0.5));
    for _ in 0..2 + rng.below(2) {
        round(rng, &options, &tasks, &noted, &next_id, rising);
    }
    let noted = noted.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let moments = std::mem::take(&mut *moments.lock().unwrap_or_else(PoisonError::into_inner));
    Lived { moments, noted }
}

/// The tables, made where they are missing.
fn tables(db: &Database) -> Result<[Table; 2]> {
    let table = |spec: TableSpec| match db.table(spec.name()) {
        Err(e) if e.kind() == ErrorKind::UnknownTable => db.create_table(spec),
        found => found,
    };
    Ok([table(clients::first_spec())?, table(clients::blind_spec())?])
}

/// From an open to the end of it.
fn round(
    rng: &mut Rng,
    options: &Options,
    tasks: &SimTasks,
    noted: &Arc<Mutex<Noted>>,
    next_id: &Arc<AtomicI64>,
    rising: bool,
) {
    let db = letters::open(DIR, options.clone()).expect("a disk without faults");
    let [first, blind] = tables(&db).expect("a disk without faults");
    noted.lock().unwrap_or_else(PoisonError::into_inner).tables_promised = 2;
    let world = World {
        first,
        blind,
        db,
        tasks: tasks.clone(),
        sync: options.sync,
        noted: Arc::clone(noted),
        next_id: Arc::clone(next_id),
        rising,
        writers: AtomicUsize::new(0),
    };
    let world = Arc::new(world);
    let writers = 1 + rng.index(3);
    world.writers.store(writers, Ordering::Relaxed);
    let spawn = |name: &str, rng: Rng, body: fn(&World, Rng)| {
        let world = Arc::clone(&world);
        tasks.spawn(name, Box::new(move || body(&world, rng)))
    };
    let mut handles: Vec<TaskHandle> = (0..writers)
        .map(|_| spawn("writer", rng.fork(), |w, rng| clients::write(w, rng, 16)))
        .collect();
    handles.push(spawn("reader", rng.fork(), clients::read));
    handles.push(spawn("keeper", rng.fork(), keeper::keep));
    handles.into_iter().for_each(|task| task.join().unwrap_or_else(|e| panic!("{e}")));
    if rng.chance(0.3) {
        // Long enough for the database to find it quiet.
        tasks.sleep(Duration::from_secs(3));
    }
    let World { db, first, blind, .. } = Arc::into_inner(world).expect("the tasks have ended");
    drop((first, blind));
    let last = db.snapshot().expect("an open database has snapshots").csn();
    if rng.chance(0.5) {
        db.close().expect("a disk without faults");
        // A close syncs the log in every mode.
        let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.promised = noted.promised.max(last);
    }
}
