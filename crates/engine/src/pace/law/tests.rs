//! The law on devices of all kinds: virtual writers, memory, flushes, merges by the real policy, and a device, in
//! steps of 5 ms of virtual time. What is asserted is what users see: rates of seconds against the trend of their
//! minute, the longest wait, memory, and what merges owe.

use onlap_base::Rng;
use onlap_storage::merge::policy::choose;
use onlap_storage::merge::{PolicyOptions, RunShape};

use super::super::device::Device;
use super::super::owed::{Owed, tiers};
use super::super::price::{SHARE_MAX_NS, share};
use super::*;

const STEP: f64 = 0.005;
const MIB: f64 = 1048576.0;

/// A device: bytes per second at a time.
type Speed = fn(f64) -> f64;

fn fast(_: f64) -> f64 {
    1500.0 * MIB
}

/// A thousand requests of 16 KiB.
fn slow(_: f64) -> f64 {
    1000.0 * 16384.0
}

/// The same, and silent for a second of ten.
fn stalling(at: f64) -> f64 {
    if at % 10.0 >= 9.0 { 0.0 } else { slow(at) }
}

/// Five times as fast, and from a moment on a tenth of that.
fn slowing(at: f64) -> f64 {
    if at < SLOWS_AT { 5.0 * slow(at) } else { slow(at) / 2.0 }
}

const SLOWS_AT: f64 = 200.0;

/// What differs from seed to seed.
#[derive(Clone, Copy, Debug)]
struct Shape {
    indexes: usize,
    /// Bytes per row.
    log: f64,
    segment: f64,
    entry: f64,
    memtable: f64,
    part: f64,
    width: usize,
}

impl Shape {
    fn of(seed: u64) -> Shape {
        let mut rng = Rng::new(seed);
        let mut between =
            |least: f64, most: f64| least + (most - least) * rng.index(1001) as f64 / 1000.0;
        Shape {
            indexes: between(1.0, 7.99) as usize,
            log: between(40.0, 120.0),
            segment: between(30.0, 100.0),
            entry: between(5.0, 20.0),
            memtable: between(150.0, 300.0),
            part: between(80.0, 300.0) * MIB,
            width: if between(0.0, 1.0) < 0.8 { 4 } else { 8 },
        }
    }
}

/// A merge under way: of which index, its inputs, bytes that are left.
struct Merge {
    index: usize,
    inputs: Vec<u64>,
    left: f64,
}

/// What flushes cost, older ones with less weight.
struct Costs {
    memtables: f64,
    files: f64,
    merges: f64,
    flushes: u64,
}

struct Flush {
    rows: f64,
    left: f64,
}

struct World {
    shape: Shape,
    speed: Speed,
    now: f64,
    law: Law,
    device: Device,
    rate: Option<f64>,
    next_law: f64,
    /// Rows in the active memtable, and in frozen ones.
    active: f64,
    frozen: Vec<f64>,
    flush: Option<Flush>,
    sampled: bool,
    merge: Option<Merge>,
    runs: Vec<Vec<RunShape>>,
    next_id: u64,
    rows: f64,
    flushed: f64,
    costs: Costs,
    /// Until when writers have paid.
    paid_until: f64,
    /// A span under way: bytes that are left of it, all of it, and whether it is a merge's.
    span: Option<(f64, f64, bool)>,
    /// Bytes of the log that were not written back, and those that wait for the device.
    log_back: f64,
    log_issued: f64,
    /// Rows of each second, longest wait in it, memory at its end.
    seconds: Vec<f64>,
    waits: Vec<f64>,
    filled_most: f64,
    owed_most: f64,
}

impl World {
    fn new(shape: Shape, speed: Speed) -> World {
        World {
            shape,
            speed,
            now: 0.0,
            law: Law::new(0),
            device: Device::default(),
            rate: None,
            next_law: 0.0,
            active: 0.0,
            frozen: Vec::new(),
            flush: None,
            sampled: false,
            merge: None,
            runs: vec![Vec::new(); shape.indexes],
            next_id: 1,
            rows: 0.0,
            flushed: 0.0,
            costs: Costs { memtables: 2e6, files: 2e6, merges: 0.0, flushes: 0 },
            paid_until: 0.0,
            span: None,
            log_back: 0.0,
            log_issued: 0.0,
            seconds: Vec::new(),
            waits: Vec::new(),
            filled_most: 0.0,
            owed_most: 0.0,
        }
    }

    fn ns(&self) -> u64 {
        (self.now * 1e9) as u64
    }

    fn memory(&self) -> f64 {
        (self.active + self.frozen.iter().sum::<f64>()) * self.shape.memtable
    }

    fn policy(&self) -> PolicyOptions {
        PolicyOptions { width: self.shape.width, ..Default::default() }
    }

    fn ask(&mut self) {
        if self.now < self.next_law {
            return;
        }
        self.next_law = self.now + STEP_NS as f64 / 1e9;
        let shape = self.shape;
        let growth = shape.memtable / shape.log;
        let per_byte = |files: f64| 1.05 + growth * files / self.costs.memtables;
        let owed = self.owed();
        let measured = Measured {
            now_ns: self.ns(),
            device_rate: Some(self.device.rate()).filter(|r| *r < 100e6).unwrap_or(0.0),
            is_stalled: self.device.is_stalled(self.ns()),
            busy_share: self.device.busy_share(self.ns()),
            cost: per_byte(self.costs.files + self.costs.merges),
            flush_cost: per_byte(self.costs.files),
            is_new: self.costs.flushes < 4,
            owed: owed.share(),
            filled: self.memory() / shape.part,
            room: (shape.part * 0.97 - self.memory()).max(0.0) / growth,
            drained_in: self.drained_in(),
            admitted: (self.rows * shape.log) as u64,
            credit_max: shape.part / 4.0 / growth,
        };
        self.rate = self.law.step(&measured);
        self.filled_most = self.filled_most.max(measured.filled);
        if self.rows > 10.0 * self.shape.part / self.shape.memtable {
            self.owed_most = self.owed_most.max(owed.share());
        }
    }

    fn owed(&self) -> Owed {
        let of = |runs: &Vec<RunShape>| Owed::of(runs, self.shape.width);
        self.runs.iter().map(of).fold(Owed::default(), Owed::and)
    }

    /// Writers of commits of 100 rows that together could do 400k rows a second: who waits how long.
    fn write(&mut self, clients: f64) {
        let second = self.now as usize;
        if self.seconds.len() <= second {
            self.seconds.push(0.0);
            self.waits.push(0.0);
        }
        let commit = 100.0;
        let natural = commit / 400_000.0;
        let end = self.now + STEP;
        self.paid_until = self.paid_until.max(self.now - 0.004);
        while self.paid_until < end && self.memory() < self.shape.part {
            let price = self.price(commit).max(natural);
            self.paid_until += price;
            self.waits[second] = self.waits[second].max(price * clients);
            self.commit(commit);
        }
        if self.memory() >= self.shape.part {
            self.waits[second] += STEP;
        }
    }

    /// Seconds that these rows pay, by the device and by the room that is left while a flush is under way.
    fn price(&self, rows: f64) -> f64 {
        let shape = self.shape;
        let by_device = self.rate.map_or(0.0, |rate| rows * shape.log / rate);
        if self.frozen.is_empty() {
            return by_device;
        }
        let room = (shape.part * 0.97 - self.memory()).max(0.0);
        let bytes = (rows * shape.memtable) as u64;
        let by_room = share(bytes, room as u64, (self.drained_in() * 1e9) as u64);
        by_device.max(by_room as f64 / 1e9)
    }

    fn drained_in(&self) -> f64 {
        let files = self.shape.segment + self.shape.entry * self.shape.indexes as f64;
        let left: f64 = self.frozen.iter().map(|rows| rows * files).sum();
        let done = self.flush.as_ref().map_or(0.0, |f| f.rows * files - f.left);
        // Flushes have about three quarters of the device.
        (left - done) / (self.device.rate().max(1.0) * 0.75)
    }

    fn commit(&mut self, rows: f64) {
        self.rows += rows;
        self.active += rows;
        self.log_back += rows * self.shape.log;
        *self.seconds.last_mut().expect("a second has begun") += rows;
        let part = self.shape.part;
        let growth = self.shape.memtable / self.shape.log;
        let at = self.rate.map_or(part, |rate| freeze_at(part, rate * growth)).min(part * 0.45);
        let full = at / self.shape.memtable;
        if self.active >= full || !self.sampled && self.active * self.shape.memtable >= 2.0 * MIB {
            self.sampled = true;
            let active = std::mem::take(&mut self.active);
            self.frozen.push(active);
        }
    }

    /// Gives the device to the log as far as it was written back, then to flushes, then to merges, for a step.
    fn work(&mut self) {
        let all = (self.speed)(self.now) * STEP;
        let mut left = all;
        while left > 1.0 {
            let now = self.now + STEP * (1.0 - left / all);
            if self.span.is_none() && !self.begin_span(now) {
                break;
            }
            let log = self.log_issued.min(left);
            self.log_issued -= log;
            left -= log;
            let (rest, span, merges) = self.span.expect("a span is under way");
            let done = rest.min(left);
            left -= done;
            self.span = Some((rest - done, span, merges));
            if rest - done < 1.0 {
                self.span = None;
                let now = self.now + STEP * (1.0 - left / all);
                self.device.end((now * 1e9) as u64, span as u64, true, !merges);
                self.write_log_back(now);
                self.end_span(span, merges);
            }
        }
        self.log_issued = (self.log_issued - left).max(0.0);
    }

    /// A merge gets a span of every ninth's length while a flush is under way.
    fn begin_span(&mut self, now: f64) -> bool {
        self.begin_jobs();
        let rate = self.device.rate();
        let span = |seconds: f64| match rate > 0.0 {
            true => (rate * seconds).clamp(65536.0, MIB),
            false => 262144.0,
        };
        let merges = match (&self.flush, &self.merge) {
            (Some(_), Some(_)) => self.next_id.is_multiple_of(9),
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (None, None) => return false,
        };
        self.next_id += 1;
        let bytes = if merges { span(0.008) } else { span(0.016) };
        let of_job = match merges {
            true => self.merge.as_ref().map_or(0.0, |m| m.left),
            false => self.flush.as_ref().map_or(0.0, |f| f.left),
        };
        let bytes = bytes.min(of_job).max(1.0);
        self.span = Some((bytes, bytes, merges));
        self.device.begin((now * 1e9) as u64, !merges);
        true
    }

    fn write_log_back(&mut self, now: f64) {
        let bytes = self.log_back.min(MIB);
        self.device.add((now * 1e9) as u64, bytes as u64);
        self.log_issued += bytes;
        self.log_back -= bytes;
    }

    fn begin_jobs(&mut self) {
        let shape = self.shape;
        if self.flush.is_none()
            && let Some(&rows) = self.frozen.first()
        {
            let left = rows * (shape.segment + shape.entry * shape.indexes as f64);
            self.flush = Some(Flush { rows, left });
        }
        if self.merge.is_none() {
            let options = self.policy();
            let due = self.runs.iter().enumerate();
            let due = due.filter_map(|(i, runs)| Some((i, choose(runs, &options)?)));
            let least = due.min_by_key(|(_, choice)| choice.bytes);
            self.merge = least.map(|(index, choice)| Merge {
                index,
                left: choice.bytes as f64,
                inputs: choice.inputs,
            });
        }
    }

    fn end_span(&mut self, bytes: f64, merges: bool) {
        if merges {
            let merge = self.merge.as_mut().expect("a merge is under way");
            merge.left -= bytes;
            if merge.left < 1.0 {
                let merge = self.merge.take().expect("a merge is under way");
                self.end_merge(&merge);
            }
            return;
        }
        let flush = self.flush.as_mut().expect("a flush is under way");
        flush.left -= bytes;
        if flush.left < 1.0 {
            let rows = flush.rows;
            self.flush = None;
            self.frozen.remove(0);
            self.end_flush(rows);
        }
    }

    fn end_flush(&mut self, rows: f64) {
        let shape = self.shape;
        let (from, to) = (self.flushed as u64, (self.flushed + rows) as u64);
        self.flushed += rows;
        for runs in &mut self.runs {
            self.next_id += 1;
            let bytes = (rows * shape.entry) as u64;
            let (id, entries) = (self.next_id, to - from);
            runs.push(RunShape { id, rows: from..to, entries, dead: 0, bytes, group: None });
        }
        let indexes = shape.indexes as f64 * rows * shape.entry;
        let merges = indexes * tiers(to, to - from, shape.width);
        let files = rows * shape.segment + indexes;
        let costs = &mut self.costs;
        costs.memtables = costs.memtables * 0.75 + rows * shape.memtable;
        costs.files = costs.files * 0.75 + files;
        costs.merges = costs.merges * 0.75 + merges;
        costs.flushes += 1;
    }

    fn end_merge(&mut self, merge: &Merge) {
        let runs = &mut self.runs[merge.index];
        let first = runs.iter().position(|r| merge.inputs.contains(&r.id)).expect("inputs stay");
        let (inputs, others): (Vec<_>, Vec<_>) =
            runs.drain(..).partition(|r| merge.inputs.contains(&r.id));
        let sum = |of: fn(&RunShape) -> u64| inputs.iter().map(of).sum();
        let rows = inputs[0].rows.start..inputs[inputs.len() - 1].rows.end;
        self.next_id += 1;
        let (entries, bytes) = (sum(|r| r.entries), sum(|r| r.bytes));
        *runs = others;
        runs.insert(
            first,
            RunShape { id: self.next_id, rows, entries, dead: 0, bytes, group: None },
        );
    }

    fn run(&mut self, until: f64, clients: f64) {
        while self.now < until {
            self.step(clients);
        }
    }

    fn step(&mut self, clients: f64) {
        self.ask();
        self.write(clients);
        self.work();
        // A background task without work looks twenty times a second.
        if self.span.is_none() && ((self.now / STEP) as u64).is_multiple_of(10) {
            self.write_log_back(self.now);
        }
        self.now += STEP;
    }

    /// p1 / p50 of the rates of seconds from `from` on, each divided by the median of its minute.
    fn steadiness(&self, from: usize) -> f64 {
        let seconds = &self.seconds[from..];
        let mut shares: Vec<f64> = (0..seconds.len())
            .map(|i| {
                let least = i.saturating_sub(30).min(seconds.len().saturating_sub(60));
                let mut minute = seconds[least..(least + 60).min(seconds.len())].to_vec();
                minute.sort_by(f64::total_cmp);
                seconds[i] / minute[minute.len() / 2]
            })
            .collect();
        shares.sort_by(f64::total_cmp);
        shares[shares.len() / 100] / shares[shares.len() / 2]
    }

    /// The rate that a device keeps up: what rows cost now, and merges in a tree of this size.
    fn best(&self, device: f64) -> f64 {
        let shape = self.shape;
        let flush = shape.part * 0.45 / shape.memtable;
        let depth = tiers(self.rows as u64, flush as u64, shape.width);
        let indexes = shape.indexes as f64 * shape.entry;
        device / (shape.log + shape.segment + indexes * (1.0 + depth))
    }

    fn rate_of(&self, seconds: std::ops::Range<usize>) -> f64 {
        let n = seconds.len() as f64;
        self.seconds[seconds].iter().sum::<f64>() / n
    }

    fn longest(&self, from: usize) -> f64 {
        self.waits[from..].iter().copied().fold(0.0, f64::max)
    }
}

fn ran(seed: u64, speed: Speed, seconds: f64, clients: f64) -> World {
    let mut world = World::new(Shape::of(seed), speed);
    world.run(seconds, clients);
    world
}

fn seeds() -> std::ops::Range<u64> {
    match std::env::var("ONLAP_SEED").ok().and_then(|s| s.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..40,
    }
}

#[test]
fn a_slow_device_gets_a_flat_rate() {
    for seed in seeds() {
        let world = ran(seed, slow, 600.0, 1.0);
        let told = format!("seed {seed} {:?}", world.shape);
        let (steady, longest) = (world.steadiness(0), world.longest(0));
        assert!(steady >= 0.8, "{told}: p1/p50 {steady} {:?}", world.seconds);
        assert!(longest <= 0.1, "{told}: {longest} s");
        assert!(world.filled_most <= 1.0, "{told}: memory {}", world.filled_most);
        assert!(world.owed_most < 3.5, "{told}: owed {}", world.owed_most);
    }
}

#[test]
fn a_slow_device_is_used() {
    for seed in seeds() {
        let world = ran(seed, slow, 600.0, 1.0);
        let (shape, best) = (world.shape, world.best(slow(0.0)));
        let rate = world.rate_of(480..600);
        assert!(rate > 0.7 * best, "seed {seed} {shape:?}: {rate} of {best}");
    }
}

#[test]
fn a_fast_device_holds_no_writer() {
    for seed in seeds() {
        let world = ran(seed, fast, 30.0, 1.0);
        let rate = world.rate_of(5..30);
        assert!(rate > 0.98 * 400_000.0, "seed {seed} {:?}: {rate}", world.shape);
    }
}

#[test]
fn a_silent_second_is_bridged_by_memory() {
    for seed in seeds() {
        let world = ran(seed, stalling, 600.0, 1.0);
        let told = format!("seed {seed} {:?}", world.shape);
        let (steady, longest) = (world.steadiness(0), world.longest(0));
        // A second of commits is a large part of memory here.
        assert!(steady >= 0.6, "{told}: p1/p50 {steady} {:?}", world.seconds);
        assert!(longest <= 0.1, "{told}: {longest} s");
        assert!(world.filled_most <= 1.0, "{told}: memory {}", world.filled_most);
    }
}

#[test]
fn a_device_that_becomes_slow_is_followed() {
    for seed in seeds() {
        let world = ran(seed, slowing, 600.0, 1.0);
        let told = format!("seed {seed} {:?}", world.shape);
        let before = SLOWS_AT as usize;
        let (best, last) = (world.best(slowing(SLOWS_AT)), world.rate_of(500..600));
        assert!((0.6 * best..1.7 * best).contains(&last), "{told}: {last} of {best}");
        let steady = world.steadiness(before + 120);
        assert!(steady >= 0.8, "{told}: p1/p50 {steady} {:?}", &world.seconds[before..]);
        let longest = world.longest(0);
        assert!(longest <= 0.1, "{told}: {longest} s {:?}", world.seconds);
    }
}

#[test]
fn many_clients_wait_for_each_other_alone() {
    for seed in seeds() {
        let world = ran(seed, slow, 300.0, 64.0);
        let told = format!("seed {seed} {:?}", world.shape);
        let (steady, longest) = (world.steadiness(10), world.longest(10));
        assert!(steady >= 0.8, "{told}: p1/p50 {steady}");
        // A commit of 100 rows of each of the others, which may cost more for a moment where room is short.
        assert!(longest <= 64.0 * SHARE_MAX_NS as f64 / 1e9, "{told}: {longest} s");
        let mut waits = world.waits[10..].to_vec();
        waits.sort_by(f64::total_cmp);
        let usual = 64.0 * 100.0 / world.rate_of(150..300);
        let p90 = waits[waits.len() * 9 / 10];
        assert!(p90 < 2.0 * usual, "{told}: {p90} s, {usual} are usual");
    }
}

#[test]
fn a_large_commit_pays_for_its_rows_and_nothing_is_at_its_limit() {
    for seed in seeds() {
        let mut world = World::new(Shape::of(seed), slow);
        world.run(120.0, 1.0);
        let told = format!("seed {seed} {:?}", world.shape);
        let rate = world.rate_of(60..120);
        // Five million rows in slices of 64 KiB, between which others may go.
        let (began, slice) = (world.now, (65536.0 / world.shape.log).floor());
        let mut left = 5e6;
        while left > 0.0 {
            world.ask();
            world.paid_until = world.paid_until.max(world.now - 0.004);
            while left > 0.0 && world.paid_until < world.now + STEP {
                world.paid_until += slice * world.shape.log / world.rate.expect("a known device");
                world.seconds.resize(world.now as usize + 1, 0.0);
                world.commit(slice);
                left -= slice;
            }
            world.work();
            world.now += STEP;
            assert!(world.memory() <= world.shape.part, "{told}: memory is full");
        }
        let took = world.now - began;
        assert!(took > 0.5 * 5e6 / rate, "{told}: {took} s at {rate} rows/s before");
        assert!(world.owed_most < 3.5, "{told}: owed {}", world.owed_most);
    }
}
