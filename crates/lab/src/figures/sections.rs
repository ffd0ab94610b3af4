//! Which runs does each figure come from?

use onlap_base::{ErrorKind, Result};

use super::{Better, Figure, FigurePlan, FigureReport, MEMORY_SLACK, RunOne, Section};
use crate::drivers;
use crate::engine::SyncMode;
use crate::generate::Workload;
use crate::measure::environment::Environment;
use crate::report::{RunReport, StepReport, median};
use crate::workload::{Api, Plan};

/// The peer.
const PEER: &str = "rocksdb";

/// Memory of the sections whose data must be cached or unflushed as a whole.
const ROOMY_MEMORY: u64 = 1 << 30;

/// Inserts per second of a load that queries run beside: about what the peer can take at most.
const BESIDE_QUERIES: u64 = 100_000;

/// Seconds of a stretch of synced commits, and how many of them are taken.
const FSYNC_SECONDS: f64 = 1.0;
const FSYNC_STRETCHES: usize = 7;

/// Bounds of a figure: floor and target.
type Bounds = (f64, f64);

/// Runs of an engine and of its peer, alternating.
#[derive(Default)]
struct Pair {
    mine: Vec<RunReport>,
    peer: Vec<RunReport>,
}

/// The sections so far.
pub(super) struct Bench<'a, 'b> {
    plan: &'a FigurePlan,
    run_one: &'a mut RunOne<'b>,
    figures: Vec<Figure>,
    runs: Vec<RunReport>,
    /// Kept because several sections compare with it.
    load: Option<Pair>,
}

impl<'a, 'b> Bench<'a, 'b> {
    pub fn new(plan: &'a FigurePlan, run_one: &'a mut RunOne<'b>) -> Bench<'a, 'b> {
        Bench { plan, run_one, figures: Vec::new(), runs: Vec::new(), load: None }
    }

    /// Runs a section and adds its figures; a failure becomes a figure without a value.
    pub fn section(&mut self, section: Section) -> Result<()> {
        let result = match section {
            Section::Load => self.load_section(),
            Section::Row => self.row(),
            Section::Long => self.long(),
            Section::Marginal => self.marginal(),
            Section::Six => self.six(),
            Section::Fsync => self.fsync(),
            Section::Clients => self.clients(),
            Section::Get => self.get(),
            Section::Range => self.range(),
            Section::Scan => self.scan(),
            Section::Recover => self.recover(),
        };
        match result {
            Err(e) if e.kind() == ErrorKind::Cancelled => Err(e),
            Err(e) => {
                self.figures.push(Figure {
                    work: format!("{section:?}").to_lowercase(),
                    value: None,
                    floor: 0.0,
                    target: 0.0,
                    better: Better::Higher,
                    unit: String::new(),
                    note: format!("failed: {e}"),
                });
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// All figures, with the one that comes from all runs.
    pub fn report(mut self) -> FigureReport {
        let over = |run: &RunReport| {
            let peak = run.steps.iter().filter_map(|s| s.peak_rss_bytes).max()?;
            Some(peak as f64 - run.settings.memory_bytes as f64)
        };
        let mine = self.runs.iter().filter(|r| r.engine == self.plan.engine);
        let worst = mine.filter_map(over).max_by(f64::total_cmp);
        let mib = f64::from(1 << 20);
        let bound = MEMORY_SLACK / mib;
        self.lower(
            "peak resident memory above the budget",
            worst.map(|w| w / mib),
            (bound, bound),
            "MiB",
        );
        let environment =
            self.runs.first().map_or_else(Environment::default, |r| r.environment.clone());
        FigureReport { environment, figures: self.figures, runs: self.runs }
    }

    fn figure(
        &mut self,
        work: &str,
        value: Option<f64>,
        bounds: Bounds,
        better: Better,
        unit: &'static str,
    ) {
        let value = value.filter(|v| v.is_finite());
        let note = if value.is_none() { "not measured" } else { "" };
        self.figures.push(Figure {
            work: work.to_owned(),
            value,
            floor: bounds.0,
            target: bounds.1,
            better,
            unit: unit.to_owned(),
            note: note.to_owned(),
        });
    }

    fn higher(&mut self, work: &str, value: Option<f64>, bounds: Bounds, unit: &'static str) {
        self.figure(work, value, bounds, Better::Higher, unit);
    }

    fn lower(&mut self, work: &str, value: Option<f64>, bounds: Bounds, unit: &'static str) {
        self.figure(work, value, bounds, Better::Lower, unit);
    }

    /// Says more about the last `n` figures.
    fn note(&mut self, n: usize, note: &str) {
        let from = self.figures.len().saturating_sub(n);
        self.figures[from..].iter_mut().for_each(|f| f.note = note.to_owned());
    }

    fn run(&mut self, plan: &Plan) -> Result<RunReport> {
        let run = (self.run_one)(plan)?;
        self.runs.push(run.clone());
        Ok(run)
    }

    /// Alternating runs of the engine and, where it is built in, the peer.
    fn pair(&mut self, plan: &Plan) -> Result<Pair> {
        let mut pair = Pair::default();
        for _ in 0..self.plan.repeat {
            pair.mine.push(self.run(plan)?);
            if drivers::is_built_in(PEER) && plan.engine != PEER {
                let peer = Plan { engine: PEER.to_owned(), api: Api::Batch, ..plan.clone() };
                pair.peer.push(self.run(&peer)?);
            }
        }
        Ok(pair)
    }

    /// The runs of the plain load, made once.
    fn loads(&mut self) -> Result<&Pair> {
        if self.load.is_none() {
            self.load = Some(self.pair(&self.plan.base("l.i1,settle"))?);
        }
        Ok(self.load.as_ref().expect("it was just made"))
    }

    fn against_peer(&mut self, what: &str, pair: &Pair, rate: Bounds, rest: [Option<Bounds>; 3]) {
        let over = |step: &str, field: Field| {
            ratio(of(&pair.mine, step, field), of(&pair.peer, step, field))
        };
        self.higher(&format!("{what}: rate / RocksDB"), over("l.i1", |s| s.ips), rate, "x");
        let [cpu, bytes, disk] = rest;
        let fields: [(&str, &str, Option<Bounds>, Field); 3] = [
            ("CPU / RocksDB", "l.i1", cpu, |s| s.cpu_us_per_insert),
            ("bytes written, settled / RocksDB", "settle", bytes, |s| s.written_bytes_per_insert),
            ("bytes on disk, settled / RocksDB", "settle", disk, |s| s.disk_bytes_per_row),
        ];
        for (name, step, bounds, field) in fields {
            if let Some(bounds) = bounds {
                self.lower(&format!("{what}: {name}"), over(step, field), bounds, "x");
            }
        }
        if pair.peer.is_empty() {
            let n = 1 + rest.iter().flatten().count();
            self.note(n, "the peer needs onlap-lab with --features rocksdb");
        }
    }

    fn load_section(&mut self) -> Result<()> {
        self.loads()?;
        let pair = self.load.take().expect("it was just made");
        let rest = [Some((0.1, 0.05)), None, Some((0.8, 0.5))];
        self.against_peer("ibench l.i1, batch", &pair, (8.0, 15.0), rest);
        self.load = Some(pair);
        Ok(())
    }

    fn row(&mut self) -> Result<()> {
        let mut pair = Pair::default();
        let plan = Plan { api: Api::Row, ..self.plan.base("l.i1,settle") };
        for _ in 0..self.plan.repeat {
            pair.mine.push(self.run(&plan)?);
        }
        pair.peer.clone_from(&self.loads()?.peer);
        self.against_peer("ibench l.i1, row by row", &pair, (4.0, 8.0), [None; 3]);
        Ok(())
    }

    fn long(&mut self) -> Result<()> {
        let rows = self.plan.rows * 10;
        let run = [self.run(&Plan { rows, ..self.plan.base("l.i1,settle") })?];
        let work = format!("{} rows: ", crate::units::grouped(rows));
        let value = |step: &str, field: Field| of(&run, step, field);
        self.lower(
            &format!("{work}bytes written per insert, settled"),
            value("settle", |s| s.written_bytes_per_insert),
            (200.0, 120.0),
            "bytes",
        );
        self.higher(
            &format!("{work}rate of the last tenth / first"),
            value("l.i1", |s| s.last_tenth_over_first),
            (0.8, 0.9),
            "x",
        );
        self.higher(
            &format!("{work}p1 / p50 of 100-ms rates"),
            value("l.i1", |s| s.p1_over_p50),
            (0.7, 0.9),
            "x",
        );
        let step = run[0].steps.iter().find(|s| s.step == "l.i1");
        if let Some((stolen, seconds)) = step.and_then(|s| s.stolen_cpu_ms.map(|n| (n, s.seconds)))
        {
            self.note(1, &format!("{stolen} ms of CPU stolen in {seconds:.1} s"));
        }
        self.lower(
            &format!("{work}longest commit"),
            value("l.i1", |s| s.max_commit_ms),
            (200.0, 50.0),
            "ms",
        );
        self.lower(
            &format!("{work}bytes written per index entry, settled"),
            value("settle", secondary_entry_bytes),
            (20.0, 10.0),
            "bytes",
        );
        Ok(())
    }

    fn marginal(&mut self) -> Result<()> {
        let plan = Plan { secondary: 0, ..self.plan.base("l.i1,settle") };
        let mut without = Vec::new();
        for _ in 0..self.plan.repeat {
            without.push(self.run(&plan)?);
        }
        let with = &self.loads()?.mine;
        let cpu = |runs: &[RunReport]| of(runs, "settle", |s| s.cpu_us_per_insert);
        let indexes = Workload::Ibench.shape().indexes.len() as f64;
        let marginal = cpu(with).zip(cpu(&without)).map(|(a, b)| (a - b) / indexes);
        self.lower("marginal CPU of an index entry, settled", marginal, (0.2, 0.06), "us");
        Ok(())
    }

    fn six(&mut self) -> Result<()> {
        let plan = Plan {
            workload: Workload::Six,
            secondary: Workload::Six.shape().indexes.len(),
            rows: self.plan.rows.div_ceil(5),
            ..self.plan.base("l.i1,settle")
        };
        let pair = self.pair(&plan)?;
        let bounds = Some((0.5, 0.25));
        self.against_peer("six", &pair, (3.0, 6.0), [None, bounds, None]);
        // Random UUIDs leave a settled peer near their entropy, so the bound is on what the load
        // leaves; the settled ratio stands beside it.
        let disk = |step| {
            let of = |runs: &[RunReport]| of(runs, step, |s| s.disk_bytes_per_row);
            ratio(of(&pair.mine), of(&pair.peer))
        };
        self.lower("six: bytes on disk after the load / RocksDB", disk("l.i1"), (0.5, 0.25), "x");
        if let Some(settled) = disk("settle") {
            self.note(1, &format!("settled {settled:.3}"));
        }
        Ok(())
    }

    /// Synced commits between readings of the device, whose rate may change from second to second:
    /// the median of several short stretches, each over the readings before and after it.
    fn fsync(&mut self) -> Result<()> {
        for (clients, bounds) in [(1, (0.8, 0.95)), (16, (4.0, 8.0))] {
            let steps = format!("fdatasync{}", ",l.i1,fdatasync".repeat(FSYNC_STRETCHES));
            let plan = Plan {
                clients,
                commit_rows: Some(1),
                sync: SyncMode::Fsync,
                seconds: Some(FSYNC_SECONDS),
                ..self.plan.base(&steps)
            };
            let run = self.run(&plan)?;
            let (mut ratios, mut devices) = (Vec::new(), Vec::new());
            for step in run.steps.windows(3).step_by(2) {
                let device = |s: &StepReport| s.device_fdatasync_per_second.unwrap_or(0.0);
                let device = f64::midpoint(device(&step[0]), device(&step[2]));
                ratios.push(step[1].ips.unwrap_or(0.0) / device);
                devices.push(device);
            }
            let work = format!("mode fsync, {clients} clients: commits / device fdatasyncs");
            self.higher(&work, Some(median(&mut ratios)), bounds, "x");
            let (least, most) = (
                devices.iter().copied().fold(f64::MAX, f64::min),
                devices.iter().copied().fold(0.0, f64::max),
            );
            self.note(1, &format!("device {least:.0} to {most:.0}/s"));
        }
        Ok(())
    }

    fn clients(&mut self) -> Result<()> {
        let plan = Plan { clients: 4, ..self.plan.base("l.i1,settle") };
        let mut four = Vec::new();
        for _ in 0..self.plan.repeat {
            four.push(self.run(&plan)?);
        }
        let one = &self.loads()?.mine;
        let value = ratio(of(&four, "l.i1", |s| s.ips), of(one, "l.i1", |s| s.ips));
        self.higher("ibench, 4 clients / 1", value, (1.0, 1.5), "x");
        Ok(())
    }

    fn get(&mut self) -> Result<()> {
        let steps = "l.i1,settle,get,get.cold";
        let run = [self.run(&Plan { memory: ROOMY_MEMORY, ..self.plan.base(steps) })?];
        self.lower("point get by key, cached", of(&run, "get", mean_query_us), (3.0, 1.0), "us");
        let reads: Field = |s| s.read_calls_per_query;
        self.lower("point get cold, rising keys", of(&run, "get.cold", reads), (1.0, 1.0), "reads");
        let keyed = Plan {
            workload: Workload::Keyed,
            secondary: 0,
            ..self.plan.base("l.i1,settle,get.cold")
        };
        let run = [self.run(&keyed)?];
        self.lower("point get cold, random keys", of(&run, "get.cold", reads), (2.0, 2.0), "reads");
        Ok(())
    }

    fn range(&mut self) -> Result<()> {
        let beside = format!("q{BESIDE_QUERIES}.1");
        let steps = format!("l.i1,settle,q0.1,{beside},qmax.1");
        let run = [self.run(&Plan { memory: ROOMY_MEMORY, ..self.plan.base(&steps) })?];
        let settled = of(&run, "q0.1", mean_query_us);
        self.lower("covering range of 10, settled", settled, (8.0, 4.0), "us");
        let loading = of(&run, &beside, mean_query_us);
        self.lower("covering range of 10, during load", loading, (20.0, 8.0), "us");
        let step = |name: &str| run[0].steps.iter().find(|s| s.step == name);
        if let Some((ips, us)) = step("qmax.1").and_then(|s| s.ips.zip(s.p50_query_us)) {
            let rate = crate::units::grouped(BESIDE_QUERIES);
            let note = format!("beside {rate} inserts/s; median {us:.0} us beside {ips:.0}/s");
            self.note(1, &note);
        }
        Ok(())
    }

    fn scan(&mut self) -> Result<()> {
        let rows = self.plan.rows * 4;
        let steps = "l.i1,settle,scan.1,scan.all,scan.cold";
        let plan = Plan { rows, memory: ROOMY_MEMORY, ..self.plan.base(steps) };
        let run = [self.run(&plan)?];
        let millions = |step: &str| of(&run, step, |s| s.scanned_per_second).map(|n| n / 1e6);
        self.higher(
            "full scan cached, one int column",
            millions("scan.1"),
            (100.0, 500.0),
            "M rows/s",
        );
        self.higher(
            "full scan cached, all columns",
            millions("scan.all"),
            (10.0, 30.0),
            "M rows/s",
        );
        let value = ratio(
            of(&run, "scan.cold", |s| s.read_bytes_per_second),
            of(&run, "scan.cold", |s| s.device_read_bytes_per_second),
        );
        self.higher("cold scan / device's sequential reads", value, (0.7, 0.9), "x");
        Ok(())
    }

    fn recover(&mut self) -> Result<()> {
        let plan = Plan { memory: ROOMY_MEMORY, ..self.plan.base("recover") };
        let run = [self.run(&plan)?];
        let value = of(&run, "recover", |s| s.recovery_us_per_row);
        self.lower("recovery per logged row", value, (0.5, 0.3), "us");
        Ok(())
    }
}

/// A number of a step.
type Field = fn(&StepReport) -> Option<f64>;

/// Median of a field of a step over runs.
fn of(runs: &[RunReport], step: &str, field: Field) -> Option<f64> {
    let steps = runs.iter().filter_map(|r| r.steps.iter().find(|s| s.step == step));
    let mut values: Vec<f64> = steps.filter_map(field).collect();
    (!values.is_empty()).then(|| median(&mut values))
}

fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.zip(b).filter(|(_, b)| *b > 0.0).map(|(a, b)| a / b)
}

/// Mean time of a query of one client.
fn mean_query_us(step: &StepReport) -> Option<f64> {
    step.qps.filter(|q| *q > 0.0).map(|qps| 1e6 / qps)
}

/// Bytes written per entry of a secondary index, on average.
fn secondary_entry_bytes(step: &StepReport) -> Option<f64> {
    let secondary = Workload::Ibench.shape().indexes;
    let bytes = secondary.iter().map(|i| step.index_bytes_per_insert.get(i.name));
    let sum: f64 = bytes.collect::<Option<Vec<_>>>()?.into_iter().sum();
    Some(sum / secondary.len() as f64)
}
