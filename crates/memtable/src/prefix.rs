//! How does a key become a number of 64 bits that sorts like it?
//!
//! A [`Plan`] says, for one index, which bits of which key columns make up the *prefix*: per column
//! its rank less the smallest rank seen, in as many bits as the range seen needs, NULL as the largest
//! value, inverted where descending, until 64 bits are full. Keys of a few numbers fit whole; then
//! the plan is *exact* and equal prefixes mean equal keys. Else ties are resolved by comparing rows.
//!
//! Prefixes compare only within a plan. Chunks share the plan of their memtable while it covers their
//! values ([`PlanBook`]); a wider one replaces it with some room, so that there are few.
//!
//! Thread safety: plans are immutable; the book has a lock of its own, held for a comparison.

use std::ops::Range;
use std::sync::Arc;

use onlap_format::{Batch, Column, DataType, Physical, Vector};
use parking_lot::Mutex;

use super::rank::{
    RANKED_BYTES, is_float, key_bytes, key_int, rank_bytes, rank_int, rank_numeric, rank_wide,
};
use super::shape::Field;

/// Bits of a prefix.
pub(crate) const PREFIX_BITS: u32 = 64;

/// What a key column's values of some rows have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spread {
    /// Smallest and largest value; `None` where every row is NULL.
    ends: Option<Ends>,
    nulls: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Ends {
    /// As ranks.
    Number(u128, u128),
    /// As strings, and the longest length.
    Text(Vec<u8>, Vec<u8>, usize),
}

impl Spread {
    /// Of every row of a batch.
    pub(crate) fn of(field: &Field, rows: &Batch) -> Spread {
        let column = &rows.columns[field.column];
        let nulls = column.nulls.as_ref().map_or(0, |n| n.count());
        let live = |i: &usize| !column.is_null(*i);
        let ends = if nulls == rows.rows {
            None
        } else if let Vector::Bytes(v) = &column.data {
            let mut texts = (0..rows.rows).filter(live).map(|i| key_bytes(field.ty, v.get(i)));
            let first = texts.next().expect("some row is not NULL");
            let (mut min, mut max, mut longest) = (first.clone(), first.clone(), first.len());
            for s in texts {
                longest = longest.max(s.len());
                if s < min {
                    min = s;
                } else if s > max {
                    max = s;
                }
            }
            Some(Ends::Text(min.into_owned(), max.into_owned(), longest))
        } else if let (Vector::Int(v), 0) = (&column.data, nulls) {
            let (min, max) = v.iter().fold((i64::MAX, i64::MIN), |(a, b), &x| (a.min(x), b.max(x)));
            let float = is_float(field.ty);
            Some(Ends::Number(rank_int(key_int(min, float)), rank_int(key_int(max, float))))
        } else {
            let text = Text::default();
            let ranks = (0..rows.rows).filter(live).map(|i| rank(field.ty, column, i, &text));
            let (min, max) = ranks.fold((u128::MAX, 0), |(a, b), x| (a.min(x), b.max(x)));
            Some(Ends::Number(min, max))
        };
        Spread { ends, nulls: nulls > 0 }
    }

    /// Of the rows of both.
    fn union(&self, other: &Spread) -> Spread {
        let ends = match (&self.ends, &other.ends) {
            (Some(Ends::Number(a, b)), Some(Ends::Number(c, d))) => {
                Some(Ends::Number(*a.min(c), *b.max(d)))
            }
            (Some(Ends::Text(a, b, n)), Some(Ends::Text(c, d, m))) => {
                Some(Ends::Text(a.min(c).clone(), b.max(d).clone(), *n.max(m)))
            }
            (mine, theirs) => mine.clone().or_else(|| theirs.clone()),
        };
        Spread { ends, nulls: self.nulls || other.nulls }
    }

    /// With room on the sides where it exceeds `old`, so that keys that grow with time do not need a
    /// plan per chunk.
    fn widened(self, old: &Spread) -> Spread {
        let ends = match (self.ends, &old.ends) {
            (Some(Ends::Number(min, max)), Some(Ends::Number(low, high))) => {
                let room = max - min;
                let min = if min < *low { min.saturating_sub(room / 2) } else { min };
                let max = if max > *high { max.saturating_add(room) } else { max };
                Some(Ends::Number(min, max))
            }
            (ends, _) => ends,
        };
        Spread { ends, nulls: self.nulls }
    }
}

/// Which bytes of strings are ranked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Text {
    /// All strings begin with this, and it takes no part.
    shared: Vec<u8>,
    /// Bytes after it that take part.
    width: usize,
}

/// Rank of a value that is not NULL.
#[inline]
fn rank(ty: DataType, column: &Column, i: usize, text: &Text) -> u128 {
    match &column.data {
        Vector::Int(v) => rank_int(key_int(v[i], is_float(ty))),
        Vector::Wide(v) => rank_wide(v[i]),
        Vector::Numeric(m, s) => rank_numeric(m[i], s[i]).0,
        Vector::Bytes(v) => rank_bytes(&key_bytes(ty, v.get(i)), text.shared.len(), text.width),
    }
}

/// One key column's share of the prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    field: Field,
    text: Text,
    /// Rank that becomes 0.
    min: u128,
    /// Largest rank covered.
    max: u128,
    /// Bits that the range needs, NULL included.
    bits: u32,
    /// Upper bits of those that found room.
    taken: u32,
    /// Whether a NULL has a value of its own, the largest.
    nulls: bool,
    /// Whether equal ranks mean equal keys.
    lossless: bool,
}

/// How the prefixes of one index are made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    spreads: Vec<Spread>,
    parts: Vec<Part>,
    /// Bits in use, from the lowest up.
    pub bits: u32,
    /// Equal prefixes mean equal keys.
    pub exact: bool,
}

/// The prefixes that keys with given leading values have: `low .. high`. Smaller prefixes belong to
/// smaller keys, larger ones to larger keys. `certain`: every prefix inside belongs to such a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrefixRange {
    pub low: u128,
    pub high: u128,
    pub certain: bool,
}

impl Part {
    fn new(field: &Field, spread: &Spread) -> Part {
        let (text, min, max, lossless) = match &spread.ends {
            None => (Text::default(), 0, 0, true),
            Some(Ends::Number(min, max)) => {
                (Text::default(), *min, *max, !matches!(field.ty, DataType::Numeric(None)))
            }
            Some(Ends::Text(min, max, longest)) => {
                let shared = min.iter().zip(max).take_while(|(a, b)| a == b).count();
                let width = (longest - shared).min(RANKED_BYTES);
                // Padding stands for zero bytes, which only bytea holds.
                let lossless = width == longest - shared && field.ty != DataType::Bytea;
                let rank = |s: &[u8]| rank_bytes(s, shared, width);
                let text = Text { shared: min[..shared].to_vec(), width };
                (text, rank(min), rank(max), lossless)
            }
        };
        let mut part = Part {
            field: *field,
            text,
            min,
            max,
            bits: 0,
            taken: 0,
            nulls: spread.nulls,
            lossless,
        };
        // One more value than the range has where NULL needs one.
        let top = (max - min).checked_add(u128::from(spread.nulls));
        part.bits = match (top, &spread.ends) {
            (Some(_), None) => u32::from(spread.nulls),
            (Some(top), _) => u128::BITS - top.leading_zeros(),
            (None, _) => u128::BITS,
        };
        match top {
            // The largest value shares its place with NULL.
            None => part.lossless = false,
            // What the bits hold beyond the range is covered as well, on both sides; texts have more to a range
            // than their ranks.
            Some(top) if part.field.ty.physical() != Physical::Bytes => {
                let spare = part.null_rank() - top;
                let below = (spare / 2).min(part.min);
                part.min -= below;
                part.max = part.max.saturating_add(spare - below);
            }
            Some(_) => {}
        }
        part
    }

    #[inline]
    fn null_rank(&self) -> u128 {
        if self.bits == 0 { 0 } else { u128::MAX >> (u128::BITS - self.bits) }
    }

    /// The share, in `taken` bits, of a value less `min`.
    #[inline]
    fn place(&self, offset: u128) -> u64 {
        let raw = if self.taken == 0 { 0 } else { (offset >> (self.bits - self.taken)) as u64 };
        if self.field.descending { raw ^ self.mask() } else { raw }
    }

    #[inline]
    fn mask(&self) -> u64 {
        if self.taken == 0 { 0 } else { u64::MAX >> (u64::BITS - self.taken) }
    }

    fn covers(&self, spread: &Spread) -> bool {
        if spread.nulls && !self.nulls {
            return false;
        }
        match &spread.ends {
            None => true,
            Some(Ends::Number(min, max)) => self.min <= *min && *max <= self.max,
            Some(Ends::Text(min, max, longest)) => {
                let shared = &self.text.shared;
                let rank = |s: &[u8]| rank_bytes(s, shared.len(), self.text.width);
                min.starts_with(shared)
                    && max.starts_with(shared)
                    && (!self.lossless || *longest <= shared.len() + self.text.width)
                    && self.min <= rank(min)
                    && rank(max) <= self.max
            }
        }
    }

    /// A prefix with the share of an int column's value behind it. The value is covered.
    #[inline]
    fn append(&self, prefix: u64, value: i64) -> u64 {
        if self.taken == 0 {
            return prefix;
        }
        let min = self.min as u64 ^ 1 << 63;
        let flip = if self.field.descending { self.mask() } else { 0 };
        let offset = (key_int(value, is_float(self.field.ty)) as u64).wrapping_sub(min);
        shl(prefix, self.taken) | (offset >> (self.bits - self.taken) ^ flip)
    }

    fn add(&self, rows: &Batch, out: &mut [u64]) {
        let column = &rows.columns[self.field.column];
        let taken = self.taken;
        if taken == 0 {
            return;
        }
        if let (Vector::Int(v), None) = (&column.data, &column.nulls) {
            out.iter_mut()
                .zip(v)
                .for_each(|(prefix, &value)| *prefix = self.append(*prefix, value));
            return;
        }
        for (i, prefix) in out.iter_mut().enumerate() {
            let offset = if column.is_null(i) {
                self.null_rank()
            } else {
                rank(self.field.ty, column, i, &self.text) - self.min
            };
            *prefix = shl(*prefix, taken) | self.place(offset);
        }
    }
}

/// A first part of 64 bits shifts nothing that matters out.
#[inline]
fn shl(value: u64, bits: u32) -> u64 {
    value.checked_shl(bits).unwrap_or(0)
}

impl Plan {
    fn fit(fields: &[Field], mut spreads: Vec<Spread>) -> Plan {
        let mut plan = Plan { spreads: Vec::new(), parts: Vec::new(), bits: 0, exact: true };
        for (field, spread) in fields.iter().zip(&mut spreads) {
            let mut part = Part::new(field, spread);
            if let Some(Ends::Number(min, max)) = &mut spread.ends {
                // A later plan must cover whatever this one does.
                (*min, *max) = (part.min, part.max);
            }
            part.taken = part.bits.min(PREFIX_BITS - plan.bits);
            plan.bits += part.taken;
            let whole = part.lossless && part.taken == part.bits;
            plan.parts.push(part);
            if !whole {
                plan.exact = false;
                break;
            }
        }
        plan.spreads = spreads;
        plan
    }

    fn covers(&self, spreads: &[Spread]) -> bool {
        self.parts.iter().zip(spreads).all(|(part, spread)| part.covers(spread))
    }

    /// Prefixes of every row of a batch whose values the plan covers.
    pub(crate) fn prefixes(&self, rows: &Batch) -> Vec<u64> {
        let mut out = vec![0; rows.rows];
        self.parts.iter().for_each(|part| part.add(rows, &mut out));
        out
    }

    /// The prefix of one row that the plan covers.
    pub(crate) fn prefix(&self, rows: &Batch, i: usize) -> u64 {
        self.parts.iter().fold(0, |prefix, part| {
            let column = &rows.columns[part.field.column];
            // Most key columns are of this kind, and need no arithmetic of 128 bits.
            if let (Vector::Int(v), None) = (&column.data, &column.nulls) {
                return part.append(prefix, v[i]);
            }
            let offset = if column.is_null(i) {
                part.null_rank()
            } else {
                rank(part.field.ty, column, i, &part.text) - part.min
            };
            shl(prefix, part.taken) | part.place(offset)
        })
    }

    /// The key columns of exact prefixes, in the form that keys give back; `None` where they are not
    /// all numbers or not all in the prefix.
    pub(crate) fn unpack(&self, prefixes: &[u64]) -> Option<Vec<Column>> {
        let number = |part: &Part| part.field.ty.physical() == Physical::Int && !part.nulls;
        if !self.exact || !self.parts.iter().all(number) {
            return None;
        }
        let mut rest = self.bits;
        let columns = self.parts.iter().map(|part| {
            rest -= part.taken;
            let (mask, min) = (part.mask(), part.min as u64 ^ 1 << 63);
            let flip = if part.field.descending { mask } else { 0 };
            // A part without bits may stand behind 64 others.
            let shift = if part.taken == 0 { 0 } else { rest };
            let value = |&p: &u64| ((p >> shift & mask ^ flip).wrapping_add(min)) as i64;
            Column { data: Vector::Int(prefixes.iter().map(value).collect()), nulls: None }
        });
        Some(columns.collect())
    }

    /// The prefixes of keys that begin with row 0 of `values`: one column for each of the leading
    /// key columns. Values outside the plan's range are welcome.
    pub(crate) fn range_of(&self, values: &[Column]) -> PrefixRange {
        let mut below: u128 = 0;
        let mut rest = self.bits;
        for (part, column) in self.parts.iter().zip(values) {
            rest -= part.taken;
            let Some((value, certain)) = part.locate(column) else {
                return PrefixRange { low: 0, high: 1 << self.bits, certain: false };
            };
            below += value.start << rest;
            let width = (value.end - value.start) << rest;
            if width == 0 || !certain {
                return PrefixRange { low: below, high: below + width, certain };
            }
        }
        let certain = values.len() <= self.parts.len();
        PrefixRange { low: below, high: below + (1 << rest), certain }
    }
}

impl Part {
    /// Shares that a value has: one, or none with the place where it would be, or `None` where the
    /// plan cannot tell. The flag: whether exactly the rows with this value have that share.
    fn locate(&self, column: &Column) -> Option<(Range<u128>, bool)> {
        let one = |offset: u128| {
            let share = u128::from(self.place(offset));
            share..share + 1
        };
        let top = u128::from(self.mask()) + 1;
        let whole = self.taken == self.bits;
        let certain = self.lossless && whole;
        let outside = |below: bool| {
            let at = if below == self.field.descending { top } else { 0 };
            Some((at..at, true))
        };
        if column.is_null(0) {
            return if self.nulls {
                Some((one(self.null_rank()), certain))
            } else {
                outside(false)
            };
        }
        if self.is_all_null() {
            return None;
        }
        if let Vector::Bytes(v) = &column.data {
            let s = &*key_bytes(self.field.ty, v.get(0));
            let shared = &self.text.shared;
            let order = s[..s.len().min(shared.len())].cmp(shared);
            if order.is_lt() || order.is_gt() && !self.nulls {
                return outside(order.is_lt());
            }
            if order.is_gt() || self.lossless && s.len() > shared.len() + self.text.width {
                return None;
            }
        }
        let rank = rank(self.field.ty, column, 0, &self.text);
        if rank < self.min && !(self.nulls && self.field.descending && !whole) {
            return outside(true);
        }
        if rank < self.min || rank > self.max && self.nulls {
            return None;
        }
        if rank > self.max {
            return outside(false);
        }
        Some((one(rank - self.min), certain))
    }

    fn is_all_null(&self) -> bool {
        self.nulls && self.bits == 1 && self.min == 0 && self.max == 0
    }
}

/// The current plan of one index of a memtable.
#[derive(Debug, Default)]
pub(crate) struct PlanBook(Mutex<Option<Arc<Plan>>>);

impl PlanBook {
    /// A plan that covers all of these rows: the current one, or a wider one that takes its place.
    pub(crate) fn covering(&self, fields: &[Field], batches: &[&Batch]) -> Arc<Plan> {
        let of = |field: &Field| {
            let mut spreads = batches.iter().map(|rows| Spread::of(field, rows));
            let first = spreads.next().expect("plans are made for at least one batch");
            spreads.fold(first, |a, b| a.union(&b))
        };
        let spreads: Vec<Spread> = fields.iter().map(of).collect();
        self.covering_spreads(fields, spreads)
    }

    /// A plan that covers what a plan of another book does.
    pub(crate) fn absorb(&self, fields: &[Field], other: &Plan) {
        self.covering_spreads(fields, other.spreads.clone());
    }

    /// The newest plan, which covers all earlier ones.
    pub(crate) fn current(&self) -> Option<Arc<Plan>> {
        self.0.lock().clone()
    }

    fn covering_spreads(&self, fields: &[Field], spreads: Vec<Spread>) -> Arc<Plan> {
        let mut current = self.0.lock();
        let plan = match current.as_ref() {
            Some(plan) if plan.covers(&spreads) => return Arc::clone(plan),
            None => Plan::fit(fields, spreads),
            Some(old) => {
                let both = |(old, new): (&Spread, Spread)| old.union(&new);
                let tight: Vec<Spread> = old.spreads.iter().zip(spreads).map(both).collect();
                let roomy = tight.iter().zip(&old.spreads).map(|(t, o)| t.clone().widened(o));
                let roomy = Plan::fit(fields, roomy.collect());
                let tight = Plan::fit(fields, tight);
                // Room is worth nothing where it costs exactness.
                if tight.exact && !roomy.exact { tight } else { roomy }
            }
        };
        let plan = Arc::new(plan);
        *current = Some(Arc::clone(&plan));
        plan
    }
}
