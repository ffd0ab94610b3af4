//! To which partition does a row belong?
//!
//! What the bounds of a table's partitions say, made ready to be asked: values are bytes that sort as their types do
//! ([`onlap_kernels::key_bytes`]), integers of all widths alike. Of rows that conditions leave, [`Division::left`] says which
//! partitions may have some. A hash is PostgreSQL's, so that a row belongs to the same partition there and here.
//!
//! Thread safety: read only.

use std::collections::HashMap;

use onlap::TableId;
use onlap_kernels::number::hash::{combined, of_value};
use onlap_kernels::{Datum, key_bytes};
use onlap_pg::TypeRef;
use onlap_pg::catalog::Catalog;

use crate::catalog::families::{Bound, Edge, Families, Strategy};
use crate::columns::read_kept;
use crate::error::{Result, SqlError};

/// An end of a range in one column, in their order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Before all values.
    Min,
    /// A value.
    Value(Vec<u8>),
    /// After all values.
    Max,
}

/// What is known of a key where rows are looked for.
#[derive(Clone, Debug)]
pub enum Known {
    /// It is one of these values.
    Among(Vec<Datum<'static>>),
    /// It is less than this value; where the flag is set, or equal.
    Below(Datum<'static>, bool),
    /// It is greater than this value, or perhaps equal.
    Above(Datum<'static>),
}

/// The partitions of a table.
#[derive(Debug)]
pub struct Division {
    strategy: Strategy,
    types: Vec<TypeRef>,
    /// The partitions in the order of their bounds; that of all other rows last.
    parts: Vec<TableId>,
    default: Option<usize>,
    /// By value, the partition's place.
    lists: HashMap<Vec<u8>, usize>,
    null: Option<usize>,
    /// From, to and the place, in their order.
    ranges: Vec<(Vec<Limit>, Vec<Limit>, usize)>,
    /// Modulus, remainder and the place.
    hashes: Vec<(u64, u64, usize)>,
}

/// Combinations of values that partitions are looked up for, at most.
const COMBINATIONS: usize = 4096;

/// The bytes of a value that is not NULL.
fn bytes_of(catalog: &Catalog, ty: TypeRef, value: &Datum<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let wide = |v: i64, out: &mut Vec<u8>| key_bytes(catalog, 20, &Datum::Int8(v), out);
    match value {
        Datum::Int2(v) => wide(i64::from(*v), &mut out),
        Datum::Int4(v) => wide(i64::from(*v), &mut out),
        Datum::Int8(v) if catalog.base_type(ty.oid) == 20 => wide(*v, &mut out),
        Datum::Int8(v) if matches!(catalog.base_type(ty.oid), 21 | 23) => wide(*v, &mut out),
        value => key_bytes(catalog, ty.oid, value, &mut out),
    }
    out
}

impl Division {
    /// Of a table's partitions.
    ///
    /// # Errors
    /// `XX001`: a bound that no release wrote.
    pub fn of(
        catalog: &Catalog,
        families: &Families,
        table: TableId,
        strategy: Strategy,
        types: Vec<TypeRef>,
    ) -> Result<Division> {
        let mut made = Division {
            strategy,
            types,
            parts: Vec::new(),
            default: None,
            lists: HashMap::new(),
            null: None,
            ranges: Vec::new(),
            hashes: Vec::new(),
        };
        let below = families.below(table);
        let bounded = below.iter().filter_map(|part| Some((*part, families.bound(*part)?)));
        for (at, (part, bound)) in bounded.enumerate() {
            made.parts.push(part);
            made.add(catalog, at, bound)?;
        }
        made.put_in_order();
        Ok(made)
    }

    /// A bound as it is compared: ends of ranges.
    ///
    /// # Errors
    /// `XX001`.
    pub fn limits(&self, catalog: &Catalog, edges: &[Edge]) -> Result<Vec<Limit>> {
        if edges.len() != self.types.len() {
            return Err(damaged());
        }
        let limit = |(edge, ty): (&Edge, &TypeRef)| {
            Ok(match edge {
                Edge::Min => Limit::Min,
                Edge::Max => Limit::Max,
                Edge::Value(text) => {
                    Limit::Value(bytes_of(catalog, *ty, &read_kept(catalog, *ty, text)?))
                }
            })
        };
        edges.iter().zip(&self.types).map(limit).collect()
    }

    fn add(&mut self, catalog: &Catalog, at: usize, bound: &Bound) -> Result<()> {
        match bound {
            Bound::Default => self.default = Some(at),
            Bound::List(values) => {
                let ty = self.types[0];
                for value in values {
                    let Some(text) = value else {
                        self.null = Some(at);
                        continue;
                    };
                    let value = read_kept(catalog, ty, text)?;
                    self.lists.insert(bytes_of(catalog, ty, &value), at);
                }
            }
            Bound::Range(from, to) => {
                let (from, to) = (self.limits(catalog, from)?, self.limits(catalog, to)?);
                self.ranges.push((from, to, at));
            }
            Bound::Hash(modulus, remainder) => self.hashes.push((*modulus, *remainder, at)),
        }
        Ok(())
    }

    /// Gives the partitions the order of their bounds.
    fn put_in_order(&mut self) {
        self.ranges.sort();
        self.hashes.sort_unstable();
        let mut values: Vec<(&Vec<u8>, usize)> =
            self.lists.iter().map(|(value, at)| (value, *at)).collect();
        values.sort_unstable();
        let all = values.into_iter().map(|(_, at)| at).chain(self.null);
        let all = all.chain(self.ranges.iter().map(|range| range.2));
        let all = all.chain(self.hashes.iter().map(|hash| hash.2)).chain(self.default);
        let mut order: Vec<usize> = Vec::with_capacity(self.parts.len());
        let mut placed = vec![None; self.parts.len()];
        for at in all {
            if placed[at].is_none() {
                placed[at] = Some(order.len());
                order.push(at);
            }
        }
        let place = |at: usize| placed[at].expect("each partition has a bound");
        self.lists.values_mut().for_each(|at| *at = place(*at));
        self.null = self.null.map(place);
        self.ranges.iter_mut().for_each(|range| range.2 = place(range.2));
        self.hashes.iter_mut().for_each(|hash| hash.2 = place(hash.2));
        self.default = self.default.map(place);
        self.parts = order.iter().map(|at| self.parts[*at]).collect();
    }

    /// The partitions, in the order of their bounds.
    pub fn parts(&self) -> &[TableId] {
        &self.parts
    }

    /// The partition of all other rows.
    pub fn default(&self) -> Option<TableId> {
        self.default.map(|at| self.parts[at])
    }

    /// The place of the partition that a row with these keys belongs to.
    pub fn place(&self, catalog: &Catalog, keys: &[Datum<'_>]) -> Option<usize> {
        let found = match self.strategy {
            Strategy::List => match &keys[0] {
                Datum::Null => self.null,
                value => self.lists.get(&bytes_of(catalog, self.types[0], value)).copied(),
            },
            Strategy::Range => {
                let bytes = |(value, ty): (&Datum<'_>, &TypeRef)| match value {
                    Datum::Null => None,
                    value => Some(Limit::Value(bytes_of(catalog, *ty, value))),
                };
                let row: Option<Vec<Limit>> = keys.iter().zip(&self.types).map(bytes).collect();
                row.and_then(|row| self.range_of(&row))
            }
            Strategy::Hash => {
                let hash = self.hash(catalog, keys);
                let is_it = |part: &&(u64, u64, usize)| hash % part.0 == part.1;
                self.hashes.iter().find(is_it).map(|part| part.2)
            }
        };
        found.or(self.default)
    }

    fn range_of(&self, row: &[Limit]) -> Option<usize> {
        let after = self.ranges.partition_point(|(from, ..)| from[..] <= *row);
        let (_, to, at) = &self.ranges[after.checked_sub(1)?];
        (to[..] > *row).then_some(*at)
    }

    fn hash(&self, catalog: &Catalog, keys: &[Datum<'_>]) -> u64 {
        let hash = |(value, ty): (&Datum<'_>, &TypeRef)| of_value(catalog, ty.oid, value);
        combined(keys.iter().zip(&self.types).filter_map(hash))
    }

    /// The partition whose rows a new one would share: its place.
    ///
    /// # Errors
    /// `XX001`.
    pub fn overlaps(&self, catalog: &Catalog, bound: &Bound) -> Result<Option<usize>> {
        Ok(match bound {
            Bound::Default => self.default,
            Bound::List(values) => {
                for value in values {
                    let found = match value {
                        None => self.null,
                        Some(text) => {
                            let value = read_kept(catalog, self.types[0], text)?;
                            let bytes = bytes_of(catalog, self.types[0], &value);
                            self.lists.get(&bytes).copied()
                        }
                    };
                    if found.is_some() {
                        return Ok(found);
                    }
                }
                None
            }
            Bound::Range(from, to) => {
                let (from, to) = (self.limits(catalog, from)?, self.limits(catalog, to)?);
                let shares =
                    |range: &&(Vec<Limit>, Vec<Limit>, usize)| range.0 < to && from < range.1;
                self.ranges.iter().find(shares).map(|range| range.2)
            }
            Bound::Hash(modulus, remainder) => {
                let shares = |part: &&(u64, u64, usize)| {
                    let (least, most) = (part.0.min(*modulus), part.0.max(*modulus));
                    let (one, other) = if part.0 <= *modulus {
                        (part.1, *remainder)
                    } else {
                        (*remainder, part.1)
                    };
                    most % least == 0 && other % least == one
                };
                self.hashes.iter().find(shares).map(|part| part.2)
            }
        })
    }

    /// The moduli of the partitions, with their places, in their order.
    pub fn moduli(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        self.hashes.iter().map(|part| (part.0, part.2))
    }

    /// Of each partition, whether it may have rows of which this is known by key; none of a key where nothing is.
    pub fn left(&self, catalog: &Catalog, known: &[Vec<Known>]) -> Vec<bool> {
        let mut left = vec![true; self.parts.len()];
        let is_null = |known: &Known| match known {
            Known::Among(values) => values.iter().all(Datum::is_null),
            Known::Below(value, _) | Known::Above(value) => value.is_null(),
        };
        if known.iter().flatten().any(is_null) {
            return vec![false; left.len()];
        }
        let among = |of: &Vec<Known>| -> Option<Vec<Datum<'static>>> {
            of.iter().find_map(|known| match known {
                Known::Among(values) => {
                    Some(values.iter().filter(|value| !value.is_null()).cloned().collect())
                }
                _ => None,
            })
        };
        let leading: Vec<Vec<Datum<'static>>> = known.iter().map_while(among).collect();
        if !leading.is_empty() && product(&leading).is_some_and(|n| n <= COMBINATIONS) {
            let few = self.of_values(catalog, &leading, known);
            left.iter_mut().zip(few).for_each(|(left, few)| *left &= few);
        } else if let Some(first) = known.first() {
            for known in first {
                let few = self.of_order(catalog, &[], known);
                left.iter_mut().zip(few).for_each(|(left, few)| *left &= few);
            }
        }
        left
    }

    /// Partitions that may have rows whose first keys have one of these values each.
    fn of_values(
        &self,
        catalog: &Catalog,
        leading: &[Vec<Datum<'static>>],
        known: &[Vec<Known>],
    ) -> Vec<bool> {
        let mut found = vec![false; self.parts.len()];
        let count = product(leading).unwrap_or(0);
        for n in 0..count {
            let mut rest = n;
            let mut values = Vec::with_capacity(leading.len());
            for list in leading {
                values.push(list[rest % list.len()].clone());
                rest /= list.len();
            }
            if values.len() == self.types.len() {
                if let Some(at) = self.place(catalog, &values) {
                    found[at] = true;
                }
                continue;
            }
            if self.strategy != Strategy::Range {
                return vec![true; self.parts.len()];
            }
            let prefix: Vec<Limit> = values
                .iter()
                .zip(&self.types)
                .map(|(value, ty)| Limit::Value(bytes_of(catalog, *ty, value)))
                .collect();
            let mut few = self.of_prefix(&prefix);
            for next in known.get(prefix.len()).into_iter().flatten() {
                let narrower = self.of_order(catalog, &prefix, next);
                few.iter_mut().zip(narrower).for_each(|(few, narrower)| *few &= narrower);
            }
            found.iter_mut().zip(few).for_each(|(found, few)| *found |= few);
        }
        found
    }

    /// Partitions by range that may have rows whose first keys are these.
    fn of_prefix(&self, prefix: &[Limit]) -> Vec<bool> {
        let mut left = vec![false; self.parts.len()];
        for (from, to, at) in &self.ranges {
            left[*at] = from[..prefix.len()] <= *prefix && ends_behind(to, prefix);
        }
        self.keep_default(&mut left);
        left
    }

    fn keep_default(&self, left: &mut [bool]) {
        if let Some(at) = self.default {
            left[at] = true;
        }
    }

    /// Partitions that may have rows whose first keys are these, and whose next key this is known of.
    fn of_order(&self, catalog: &Catalog, prefix: &[Limit], known: &Known) -> Vec<bool> {
        let mut left = vec![true; self.parts.len()];
        let (value, below) = match known {
            Known::Among(_) => return left,
            Known::Below(value, _) => (value, true),
            Known::Above(value) => (value, false),
        };
        let Some(ty) = self.types.get(prefix.len()) else { return left };
        let value = bytes_of(catalog, *ty, value);
        let within = matches!(known, Known::Below(_, true));
        match self.strategy {
            Strategy::Hash => return left,
            Strategy::List => {
                left = vec![false; self.parts.len()];
                for (own, at) in &self.lists {
                    left[*at] |= match below {
                        true if within => *own <= value,
                        true => *own < value,
                        false => *own >= value,
                    };
                }
            }
            Strategy::Range => {
                let mut edge = prefix.to_vec();
                edge.push(Limit::Value(value));
                left = vec![false; self.parts.len()];
                for (from, to, at) in &self.ranges {
                    let from = &from[..edge.len()];
                    left[*at] = match below {
                        true if within => *from <= edge[..],
                        true => *from < edge[..],
                        false => ends_behind(to, &edge),
                    };
                }
            }
        }
        self.keep_default(&mut left);
        left
    }
}

/// Whether a range that ends there may have rows that begin with this, or come after it.
fn ends_behind(to: &[Limit], prefix: &[Limit]) -> bool {
    match to[..prefix.len()].cmp(prefix) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Greater => true,
        // What is left of the end says how far it goes.
        std::cmp::Ordering::Equal => to.get(prefix.len()).is_some_and(|next| *next != Limit::Min),
    }
}

fn product(lists: &[Vec<Datum<'static>>]) -> Option<usize> {
    lists.iter().try_fold(1_usize, |all, list| all.checked_mul(list.len()))
}

fn damaged() -> SqlError {
    SqlError::new("XX001", "the bound of a partition has another number of columns than its table")
}
