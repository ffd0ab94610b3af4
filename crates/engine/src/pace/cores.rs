//! How long do the cores take for what is written?
//!
//! A flush or a merge is at work in its spans ([`onlap_storage::pace`]), or waits for them; the rest of its time is that
//! of cores, and of what it reads. Where others have the cores, or an entry has few bytes, that is most of it, and a
//! device with time to spare does not make it shorter. Time outside of spans per byte is what is known here of the jobs
//! of one kind. It fades over some seconds of work, and is kept while there is none.
//!
//! A pure function of what it is told; must not know clocks or jobs. Thread safety: plain data.

/// Nanoseconds of work in which what was measured loses two thirds of its weight.
const FADE_NS: f64 = 5e9;
/// The same of the time in which there was work or none.
const BUSY_FADE_NS: f64 = 5e9;
/// Bytes from which on the time of one is known.
const KNOWN_BYTES: f64 = 1e6;

/// Jobs of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cores {
    jobs: u32,
    spans: u32,
    at_ns: u64,
    outside_ns: f64,
    bytes: f64,
    busy_ns: f64,
    elapsed_ns: f64,
}

impl Cores {
    fn pass(&mut self, now_ns: u64) {
        let before = self.at_ns;
        self.at_ns = now_ns.max(before);
        let passed = if before == 0 { 0.0 } else { (self.at_ns - before) as f64 };
        let kept = (-passed / BUSY_FADE_NS).exp();
        self.elapsed_ns = self.elapsed_ns * kept + passed;
        self.busy_ns = self.busy_ns * kept + if self.jobs > 0 { passed } else { 0.0 };
        if self.jobs > 0 {
            let kept = (-passed / FADE_NS).exp();
            let outside = f64::from(self.jobs.saturating_sub(self.spans));
            self.outside_ns = self.outside_ns * kept + outside * passed;
            self.bytes *= kept;
        }
    }

    /// A job begins.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.pass(now_ns);
        self.jobs += 1;
    }

    /// A job has ended.
    pub(crate) fn end(&mut self, now_ns: u64) {
        assert!(self.jobs > 0, "a job ends that began");
        self.pass(now_ns);
        self.jobs -= 1;
    }

    /// A span begins to wait for the device.
    pub(crate) fn begin_span(&mut self, now_ns: u64) {
        self.pass(now_ns);
        self.spans += 1;
    }

    /// A span of `bytes` has ended. Those of tasks that are no jobs of this kind say nothing.
    pub(crate) fn end_span(&mut self, now_ns: u64, bytes: u64) {
        assert!(self.spans > 0, "a span ends that began");
        self.pass(now_ns);
        self.spans -= 1;
        if self.jobs > 0 {
            self.bytes += bytes as f64;
        }
    }

    /// Seconds per byte outside of spans; 0 as long as that is not known.
    pub(crate) fn seconds_per_byte(&self) -> f64 {
        if self.bytes < KNOWN_BYTES { 0.0 } else { self.outside_ns / self.bytes / 1e9 }
    }

    /// Share of the last seconds in which there was work.
    pub(crate) fn busy_share(&mut self, now_ns: u64) -> f64 {
        self.pass(now_ns);
        (self.busy_ns / self.elapsed_ns.max(1.0)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Spans of 100 kB that take `device`, each after `cores` of work, in one job; when it ends.
    fn job(cores: &mut Cores, mut now: u64, spans: u64, device: u64, work: u64) -> u64 {
        cores.begin(now);
        for _ in 0..spans {
            now += work;
            cores.begin_span(now);
            now += device;
            cores.end_span(now, 100_000);
        }
        cores.end(now);
        now
    }

    #[test]
    fn time_outside_of_spans_is_that_of_cores() {
        let mut cores = Cores::default();
        assert_eq!(cores.seconds_per_byte(), 0.0);
        let now = job(&mut cores, MS, 200, 6 * MS, 2 * MS);
        let per_byte = cores.seconds_per_byte() * 100_000.0;
        assert!((0.0019..0.0021).contains(&per_byte), "{per_byte} s per span");
        // A stall of the device is none of the cores.
        cores.begin(now);
        cores.begin_span(now);
        cores.end_span(now + 1000 * MS, 100_000);
        cores.end(now + 1000 * MS);
        let now = now + 1000 * MS;
        assert!(cores.seconds_per_byte() * 100_000.0 < 0.0021);
        // Pauses take nothing away.
        let before = cores.seconds_per_byte();
        assert!(cores.busy_share(now) > 0.99 && cores.busy_share(now + 20_000 * MS) < 0.02);
        assert_eq!(cores.seconds_per_byte(), before);
    }

    #[test]
    fn cores_that_others_take_are_found_out_and_forgotten() {
        let mut cores = Cores::default();
        let now = job(&mut cores, MS, 500, 6 * MS, 2 * MS);
        let now = job(&mut cores, now, 500, 6 * MS, 20 * MS);
        assert!(cores.seconds_per_byte() * 100_000.0 > 0.015, "{cores:?}");
        job(&mut cores, now, 2500, 6 * MS, 2 * MS);
        assert!(cores.seconds_per_byte() * 100_000.0 < 0.003, "{cores:?}");
    }

    #[test]
    fn jobs_side_by_side_add_up_and_others_do_not_count() {
        let mut cores = Cores::default();
        // A span of a task that is no job.
        cores.begin_span(MS);
        cores.end_span(9 * MS, 1 << 20);
        assert_eq!(cores.seconds_per_byte(), 0.0);
        cores.begin(10 * MS);
        cores.begin(10 * MS);
        cores.begin_span(20 * MS);
        cores.end_span(20 * MS, 1_000_000);
        cores.begin_span(20 * MS);
        cores.end_span(20 * MS, 1_000_000);
        let per_byte = cores.seconds_per_byte();
        assert!((0.9e-8..1.1e-8).contains(&per_byte), "{per_byte}");
    }
}
