//! Which runs of an index are merged next?
//!
//! Runs stand for neighbouring row-id ranges, oldest first. The default shape is lazy-leveled: runs
//! have *tiers* by size, each tier `width` times the one below; `width` neighbours of one tier or
//! below it become one run of a tier above; the oldest run of each stretch of 2^30 row ids, the
//! bottom, joins in when what is above it has grown to a fair share of it. So there are fewer than
//! `width` runs per tier plus the bottom ones, and an entry is rewritten about once per tier and a
//! few times at the bottom. Tiers go by size, not by a count of merges, because flushes differ by
//! orders of magnitude: many small tables, a log that runs full, a memtable that did.
//!
//! The order of preference: (1) a merge under way goes on; (2) the lowest tier that is full, since
//! its merge costs least and takes most runs away; (3) a run with many dead entries is rewritten,
//! inserts or not; (4) in quiet times runs become one that need not yet ([`Calm`]). A merge in slices
//! can be left for a more pressing one between any two slices.
//!
//! A pure function of the shapes; it must not know of files. Thread safety: plain data.

use std::ops::Range;

use onlap_base::RowId;
use onlap_base::limits::RUN_ROWS;
use onlap_format::manifest::RunMeta;

#[cfg(test)]
mod tests;

/// Runs per tier for keys that arrive in order: such runs hardly overlap, so a read meets few of
/// them however many there are.
pub const WIDTH_RISING: usize = 8;
/// Runs per tier for keys that arrive at random: every read looks into every run.
pub const WIDTH_RANDOM: usize = 4;

/// What the policy goes by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyOptions {
    /// Runs per tier, at least 2.
    pub width: usize,
    /// Runs of fewer entries are all of the lowest tier: about what one block holds.
    pub floor_entries: u64,
    /// The bottom joins a merge when it has at most this many times the entries of the others. Then
    /// an entry that reaches the bottom costs at most this many more rewritten ones, plus its own.
    pub bottom_ratio: f64,
    /// A run is rewritten alone when this share of its entries is dead.
    pub dead_share: f64,
    /// How much of what merely makes reads cheaper is to be done.
    pub calm: Calm,
}

/// How much time there is for merges that are not due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calm {
    /// None.
    #[default]
    Busy,
    /// Writes have fallen quiet: runs above the bottom become one, and join the bottom where that is
    /// not more than [`QUIET_RATIO`] times their size. A short pause does not rewrite a large bottom.
    Quiet,
    /// A caller waits for everything to be done.
    Settle,
}

/// See [`Calm::Quiet`].
pub const QUIET_RATIO: u64 = 8;

impl Default for PolicyOptions {
    fn default() -> PolicyOptions {
        PolicyOptions {
            width: WIDTH_RANDOM,
            floor_entries: 4 << 10,
            bottom_ratio: 2.0,
            dead_share: 0.2,
            calm: Calm::Busy,
        }
    }
}

/// What the policy sees of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunShape {
    /// Its id.
    pub id: u64,
    /// The row ids that it stands for.
    pub rows: Range<RowId>,
    /// Its entries.
    pub entries: u64,
    /// Those of dead rows that a merge would drop.
    pub dead: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// The id of the output run while it takes part in a merge.
    pub group: Option<u64>,
}

impl RunShape {
    /// The shape of a run; `dead` is for the caller to know.
    pub fn new(meta: &RunMeta, dead: u64) -> RunShape {
        RunShape {
            id: meta.id,
            rows: meta.rows.clone(),
            entries: meta.entries(),
            dead: dead.min(meta.entries()),
            bytes: meta.bytes(),
            group: meta.group,
        }
    }
}

/// Why a merge is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// It has begun.
    UnderWay,
    /// A tier is full.
    Full,
    /// Too many entries are dead.
    Dead,
    /// There is time for it.
    Quiet,
}

/// A merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Why.
    pub reason: Reason,
    /// Ids of the inputs, neighbours in row-id order. Of a merge under way those that are left.
    pub inputs: Vec<u64>,
    /// The id of the output of a merge under way.
    pub output: Option<u64>,
    /// Bytes that the inputs still have: what it will read, and about what it will write.
    pub bytes: u64,
}

/// The next merge of an index whose runs these are, in row-id order (outputs of merges under way
/// stand before their inputs).
pub fn choose(runs: &[RunShape], options: &PolicyOptions) -> Option<Choice> {
    let full = full_tier(runs, options);
    let under_way = under_way(runs);
    // A small merge need not wait for a large one that is under way.
    match (full, under_way) {
        (Some(full), Some(begun)) if full.bytes < begun.bytes => return Some(full),
        (_, Some(begun)) => return Some(begun),
        (Some(full), None) => return Some(full),
        (None, None) => {}
    }
    dead_run(runs, options).or_else(|| quiet(runs, options.calm))
}

/// Bytes that merges which are due, or under way, still have to rewrite: the index's merge debt
/// (I10). Nothing is owed for what only quiet times would do.
pub fn debt_bytes(runs: &[RunShape], options: &PolicyOptions) -> u64 {
    let begun: u64 = inputs_under_way(runs).map(|r| r.bytes).sum();
    let mut left: Vec<RunShape> = runs.iter().filter(|r| r.group.is_none()).cloned().collect();
    let mut due = 0;
    while let Some(choice) = full_tier(&left, options).or_else(|| dead_run(&left, options)) {
        due += choice.bytes;
        let mut merged: Option<RunShape> = None;
        left.retain(|run| {
            if !choice.inputs.contains(&run.id) {
                return true;
            }
            let sum =
                merged.get_or_insert(RunShape { entries: 0, bytes: 0, dead: 0, ..run.clone() });
            sum.entries += run.entries - run.dead;
            sum.bytes += run.bytes;
            sum.rows.end = run.rows.end;
            false
        });
        let merged = merged.expect("a choice has inputs");
        let at = left.partition_point(|r| r.rows.start < merged.rows.start);
        left.insert(at, merged);
    }
    begun + due
}

fn inputs_under_way(runs: &[RunShape]) -> impl Iterator<Item = &RunShape> {
    runs.iter().filter(|r| r.group.is_some_and(|g| g != r.id))
}

/// The merge under way with the fewest bytes left.
fn under_way(runs: &[RunShape]) -> Option<Choice> {
    let mut groups: Vec<u64> = runs.iter().filter_map(|r| r.group).collect();
    groups.dedup();
    let choice = |group: u64| {
        let inputs: Vec<&RunShape> =
            inputs_under_way(runs).filter(|r| r.group == Some(group)).collect();
        Choice {
            reason: Reason::UnderWay,
            inputs: inputs.iter().map(|r| r.id).collect(),
            output: Some(group),
            bytes: inputs.iter().map(|r| r.bytes).sum(),
        }
    };
    groups.into_iter().map(choice).min_by_key(|c| c.bytes)
}

/// Stretches of free neighbours that may become one run.
fn stretches(runs: &[RunShape]) -> impl Iterator<Item = &[RunShape]> {
    let apart =
        |a: &RunShape, b: &RunShape| a.group.is_some() || b.group.is_some() || span(a) != span(b);
    runs.chunk_by(move |a, b| !apart(a, b)).filter(|s| s[0].group.is_none())
}

/// Which 2^30 row ids a run belongs to.
fn span(run: &RunShape) -> u64 {
    run.rows.start / RUN_ROWS
}

fn tier(entries: u64, options: &PolicyOptions) -> u32 {
    let (mut tier, mut size) = (0, options.floor_entries.max(1));
    while entries > size {
        size = size.saturating_mul(options.width.max(2) as u64);
        tier += 1;
    }
    tier
}

fn full_tier(runs: &[RunShape], options: &PolicyOptions) -> Option<Choice> {
    let top = runs.iter().map(|r| tier(r.entries, options)).max()?;
    for limit in 0..=top {
        for stretch in stretches(runs) {
            // Smaller runs between those of the tier come along, but do not make it full: taking
            // a large run and a few small ones would rewrite the large one for nothing.
            let low = |r: &RunShape| tier(r.entries, options) <= limit;
            let of_tier = |r: &&RunShape| tier(r.entries, options) == limit;
            let is_full =
                |part: &&[RunShape]| part.iter().filter(of_tier).count() >= options.width.max(2);
            let mut parts = stretch.chunk_by(|a, b| low(a) == low(b)).filter(|p| low(&p[0]));
            if let Some(part) = parts.find(is_full) {
                return Some(join(Reason::Full, with_bottom(stretch, part, options)));
            }
        }
    }
    None
}

/// `part` of `stretch`, with the run before it where that is the bottom and not too large.
fn with_bottom<'a>(
    stretch: &'a [RunShape],
    part: &'a [RunShape],
    options: &PolicyOptions,
) -> &'a [RunShape] {
    let start = stretch.iter().position(|r| r.id == part[0].id).expect("a part of the stretch");
    let entries: u64 = part.iter().map(|r| r.entries).sum();
    let joins = start == 1 && stretch[0].entries as f64 <= entries as f64 * options.bottom_ratio;
    &stretch[start - usize::from(joins)..start + part.len()]
}

fn dead_run(runs: &[RunShape], options: &PolicyOptions) -> Option<Choice> {
    let share = |r: &RunShape| r.dead as f64 / r.entries.max(1) as f64;
    runs.iter()
        .filter(|r| r.group.is_none() && r.dead > 0 && share(r) >= options.dead_share)
        .max_by(|a, b| share(a).total_cmp(&share(b)))
        .map(|r| join(Reason::Dead, std::slice::from_ref(r)))
}

/// The smallest stretch that is not as few runs as it may be.
fn quiet(runs: &[RunShape], calm: Calm) -> Option<Choice> {
    let part = |stretch| match calm {
        Calm::Busy => &[][..],
        Calm::Settle => stretch,
        Calm::Quiet => above_large_bottom(stretch),
    };
    stretches(runs)
        .map(part)
        .filter(|s| s.len() > 1)
        .map(|s| join(Reason::Quiet, s))
        .min_by_key(|c| c.bytes)
}

/// The stretch without its bottom, where that is too large to be rewritten for the others.
fn above_large_bottom(stretch: &[RunShape]) -> &[RunShape] {
    let Some((bottom, above)) = stretch.split_first() else { return stretch };
    let entries: u64 = above.iter().map(|r| r.entries).sum();
    if bottom.entries > entries.saturating_mul(QUIET_RATIO) { above } else { stretch }
}

fn join(reason: Reason, runs: &[RunShape]) -> Choice {
    Choice {
        reason,
        inputs: runs.iter().map(|r| r.id).collect(),
        output: None,
        bytes: runs.iter().map(|r| r.bytes).sum(),
    }
}
