//! How fast does the device take what is written?
//!
//! Every span of a file that is written ([`onlap_storage::pace`]) is told here when it begins and ends. The time in
//! which at least one is under way is *busy*; bytes per busy second are the device's rate, whatever it is told about
//! itself. Bytes of the log that go along without being waited for count too. All sums fade over some seconds.
//!
//! A span that takes far longer than it should is a stall: it counts as if it had taken [`STALL_FACTOR`] times as
//! long as expected, so that a second of silence says nothing about the rate, and a device that has become slow is
//! found out in a few steps.
//!
//! A pure function of what it is told; must not know clocks or files. Thread safety: plain data.

/// Nanoseconds in which what was measured loses two thirds of its weight.
const FADE_NS: f64 = 5e9;
/// The same of stalls, which are rare.
const STALLS_FADE_NS: f64 = 30e9;
/// Busy time from which on the rate is known.
const KNOWN_NS: f64 = 30e6;
/// See the head of the module.
const STALL_FACTOR: f64 = 3.0;
/// No span that is waited for is longer.
const SPAN_BYTES_MAX: u64 = 1 << 20;
/// Nor is it a stall before this. Devices, and what limits them, serve in turns of a tenth of a second.
const STALL_NS_MIN: f64 = 250e6;

/// What is known of a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Device {
    under_way: u32,
    /// From when on busy time is not counted yet.
    busy_since: u64,
    bytes: f64,
    /// Those that no task waits for, since the last span ended, as far as the next one waits behind them.
    beside: u64,
    /// The same before that: the device may still be at it.
    beside_before: u64,
    /// Those that came while no span was under way, and when.
    queued: f64,
    queued_at: u64,
    busy_ns: f64,
    /// Time in stalls, as far as it does not count, from the beginning on.
    stalled_ns: f64,
    /// The same of the last half minute, and its time.
    stalls_ns: f64,
    stalls_of_ns: f64,
    elapsed_ns: f64,
    faded_at: u64,
    rate: f64,
    urgent: Urgent,
}

/// Spans of tasks that have the cores. Those that give way sleep on when their bytes are there, which makes a fast device
/// look slow.
#[derive(Clone, Debug, Default)]
struct Urgent {
    under_way: u32,
    since: u64,
    bytes: f64,
    busy_ns: f64,
}

impl Urgent {
    fn end(&mut self, now_ns: u64, bytes: u64) {
        self.under_way = self.under_way.saturating_sub(1);
        let since = std::mem::replace(&mut self.since, now_ns);
        if bytes > 0 {
            self.bytes += bytes as f64;
            self.busy_ns += now_ns.saturating_sub(since) as f64;
        }
    }
}

impl Device {
    /// A span begins, of a task that has the cores or of one that gives way.
    pub(crate) fn begin(&mut self, now_ns: u64, is_urgent: bool) {
        if is_urgent {
            if self.urgent.under_way == 0 {
                self.urgent.since = now_ns;
            }
            self.urgent.under_way += 1;
        }
        if self.under_way == 0 {
            self.busy_since = now_ns;
            let waits_for = self.queue_left(now_ns) as u64;
            self.queued = 0.0;
            self.beside(waits_for);
        }
        self.under_way += 1;
    }

    fn beside(&mut self, bytes: u64) {
        self.bytes += bytes as f64;
        self.beside += bytes;
    }

    /// What the device has not taken yet of the bytes that came while no span was under way.
    fn queue_left(&self, now_ns: u64) -> f64 {
        let seconds = now_ns.saturating_sub(self.queued_at) as f64 / 1e9;
        (self.queued - seconds * self.rate).max(0.0)
    }

    /// A span of `bytes` has ended. One that is short, or a sync, tells nothing of the rate.
    pub(crate) fn end(&mut self, now_ns: u64, bytes: u64, tells: bool, is_urgent: bool) {
        assert!(self.under_way > 0, "a span ends that began");
        self.fade(now_ns);
        if is_urgent {
            self.urgent.end(now_ns, if tells { bytes } else { 0 });
        }
        self.under_way -= 1;
        let from = std::mem::replace(&mut self.busy_since, now_ns);
        if !tells {
            if self.under_way > 0 {
                self.busy_since = from;
            }
            return;
        }
        let took = now_ns.saturating_sub(from) as f64;
        let mut busy = took;
        if self.rate > 0.0 {
            busy = busy.min(self.stall_ns(bytes));
        }
        self.stalled_ns += took - busy;
        self.stalls_ns += took - busy;
        self.busy_ns += busy;
        self.bytes += bytes as f64;
        self.beside_before = std::mem::take(&mut self.beside);
        if self.busy_ns >= KNOWN_NS {
            self.rate = self.bytes / self.busy_ns * 1e9;
        }
    }

    /// Bytes that go to the device without being waited for. The next span waits for what is left of them.
    pub(crate) fn add(&mut self, now_ns: u64, bytes: u64) {
        if self.under_way > 0 {
            self.beside(bytes);
            return;
        }
        self.queued = self.queue_left(now_ns) + bytes as f64;
        self.queued_at = now_ns;
    }

    fn fade(&mut self, now_ns: u64) {
        if self.faded_at == 0 {
            self.faded_at = now_ns;
        }
        let elapsed = now_ns.saturating_sub(self.faded_at) as f64;
        let kept = (-elapsed / FADE_NS).exp();
        self.bytes *= kept;
        self.busy_ns *= kept;
        self.urgent.bytes *= kept;
        self.urgent.busy_ns *= kept;
        self.elapsed_ns = self.elapsed_ns * kept + elapsed;
        let kept = (-elapsed / STALLS_FADE_NS).exp();
        self.stalls_ns *= kept;
        self.stalls_of_ns = self.stalls_of_ns * kept + elapsed;
        self.faded_at = now_ns;
    }

    /// Whether it takes more than this from tasks that have the cores, next to what others write.
    pub(crate) fn is_faster_than(&self, rate: f64) -> bool {
        self.urgent.bytes * 1e9 > rate * self.urgent.busy_ns
    }

    /// Whether a span is under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.under_way > 0
    }

    /// Bytes per busy second; 0 as long as nothing is known.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// Whether a span takes far longer than it should.
    pub(crate) fn is_stalled(&self, now_ns: u64) -> bool {
        let takes = now_ns.saturating_sub(self.busy_since) as f64;
        self.under_way > 0 && self.rate > 0.0 && takes > self.stall_ns(SPAN_BYTES_MAX)
    }

    /// Nanoseconds of stalls so far that said nothing about the rate.
    pub(crate) fn stalled_ns(&self) -> u64 {
        self.stalled_ns as u64
    }

    /// Share of the last half minute that was lost in stalls.
    pub(crate) fn stalled_share(&self) -> f64 {
        self.stalls_ns / self.stalls_of_ns.max(STALLS_FADE_NS / 3.0)
    }

    /// A span of this number of bytes is stalled after this.
    fn stall_ns(&self, bytes: u64) -> f64 {
        let expected = (bytes + self.beside + self.beside_before) as f64 / self.rate * 1e9;
        (expected * STALL_FACTOR).max(STALL_NS_MIN)
    }

    /// Share of the last seconds in which it was busy.
    pub(crate) fn busy_share(&mut self, now_ns: u64) -> f64 {
        self.fade(now_ns);
        let current = match self.under_way {
            0 => 0,
            _ => now_ns.saturating_sub(self.busy_since),
        };
        ((self.busy_ns + current as f64) / self.elapsed_ns.max(1.0)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Spans of 256 KiB one after the other, each with a pause after it; when they end.
    fn write(device: &mut Device, mut now: u64, spans: u64, takes: u64, pause: u64) -> u64 {
        for _ in 0..spans {
            device.begin(now, true);
            now += takes;
            device.end(now, 256 << 10, true, true);
            now += pause;
        }
        now
    }

    #[test]
    fn the_rate_is_that_of_busy_time() {
        let mut device = Device::default();
        assert_eq!(device.rate(), 0.0);
        let now = write(&mut device, 0, 200, 16 * MS, 48 * MS);
        let rate = device.rate() / f64::from(256 << 10) * 0.016;
        assert!((0.99..1.01).contains(&rate), "{rate}");
        let share = device.busy_share(now);
        assert!((0.2..0.3).contains(&share), "{share}");
    }

    #[test]
    fn spans_at_the_same_time_share_it() {
        let mut device = Device::default();
        let mut now = 0;
        for _ in 0..50 {
            device.begin(now, true);
            device.begin(now, false);
            device.end(now + 30 * MS, 256 << 10, true, true);
            device.end(now + 32 * MS, 256 << 10, true, false);
            now += 32 * MS;
        }
        let rate = device.rate() / f64::from(256 << 10) * 0.016;
        assert!((0.99..1.01).contains(&rate), "{rate}");
    }

    #[test]
    fn what_no_task_waits_for_counts_where_spans_wait_behind_it() {
        let mut device = Device::default();
        let mut now = write(&mut device, 0, 100, 16 * MS, 0);
        let before = device.rate();
        for _ in 0..100 {
            // As much again goes along, so that a span takes twice its time.
            device.add(now, 256 << 10);
            now = write(&mut device, now, 1, 32 * MS, 0);
        }
        assert!((0.98..1.02).contains(&(device.rate() / before)));
        for _ in 0..100 {
            // The device is done with it before the next span.
            device.add(now, 256 << 10);
            now = write(&mut device, now + 100 * MS, 1, 16 * MS, 0);
        }
        assert!((0.98..1.02).contains(&(device.rate() / before)));
    }

    #[test]
    fn tasks_that_give_way_do_not_make_a_fast_device_slow() {
        let mut device = Device::default();
        let mut now = 0;
        for _ in 0..50 {
            device.begin(now, false);
            device.begin(now, true);
            device.end(now + MS, 1 << 20, true, true);
            // Its bytes were there long before.
            device.end(now + 60 * MS, 1 << 20, true, false);
            now += 60 * MS;
        }
        assert!(device.rate() < 40e6 && device.is_faster_than(500e6));
        write(&mut device, now, 500, 16 * MS, 0);
        assert!(!device.is_faster_than(100e6), "a device that became slow");
    }

    #[test]
    fn a_stall_says_little_and_a_slow_device_is_found_out() {
        let mut device = Device::default();
        let mut now = write(&mut device, 0, 500, 16 * MS, 0);
        let before = device.rate();
        now = write(&mut device, now, 1, 1000 * MS, 0);
        assert!(device.rate() > 0.9 * before, "{} of {before}", device.rate());
        assert!((700..1000).contains(&(device.stalled_ns() / MS)), "{}", device.stalled_ns());
        write(&mut device, now, 200, 160 * MS, 0);
        assert!(device.rate() < 0.11 * before, "{} of {before}", device.rate());
    }
}
