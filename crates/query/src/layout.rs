//! Where do the columns of a query lie while it is carried out?

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use onlap_pg::TypeRef;
use onlap_pg::bound::ExprId;

/// A column of an entry of FROM: the entry from 1, the column from 1; [`PRESENT`] says whether the entry has a row.
pub type Var = (usize, i32);

/// A column that is true in every row of an entry, and NULL where an outer join has none.
pub const PRESENT: i32 = i32::MAX;

/// In the place of an entry: an expression that was calculated below, by its number.
pub const CALCULATED: usize = usize::MAX;

/// Columns of entries, and where they lie.
pub type Vars = HashMap<Var, usize, BuildHasherDefault<Mixed>>;

/// A hash of two small numbers. Both are counted from 1 and bounded by what a statement may name, so a client cannot choose
/// many that meet.
#[derive(Default)]
pub struct Mixed(u64);

impl Mixed {
    fn mix(&mut self, word: u64) {
        // 2^64 by the golden ratio: neighbours come to lie far from each other.
        self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.mix(u64::from(*byte)));
    }
    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }
    fn write_i32(&mut self, number: i32) {
        self.mix(u64::from(number as u32));
    }
    fn finish(&self) -> u64 {
        // The table takes its place from the low bits, which a product mixes least.
        self.0 ^ (self.0 >> 32)
    }
}

/// The columns of the rows of a step.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Columns of entries.
    pub vars: Vars,
    /// Expressions that were calculated below: aggregates, what is grouped by, calls over windows, sets.
    pub exprs: Vec<(ExprId, usize)>,
    /// The type of each column.
    pub types: Vec<TypeRef>,
}

impl Layout {
    /// Whether columns of an entry are among them.
    pub fn has_entry(&self, entry: usize) -> bool {
        self.vars.keys().any(|var| var.0 == entry)
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.types.len()
    }

    /// Adds a column of an entry.
    pub fn add_var(&mut self, var: Var, ty: TypeRef) {
        self.vars.insert(var, self.types.len());
        self.types.push(ty);
    }

    /// Adds a calculated column.
    pub fn add_expr(&mut self, id: ExprId, ty: TypeRef) -> usize {
        self.exprs.push((id, self.types.len()));
        self.types.push(ty);
        self.types.len() - 1
    }

    /// Adds a column that only steps know.
    pub fn add_hidden(&mut self, ty: TypeRef) -> usize {
        self.types.push(ty);
        self.types.len() - 1
    }

    /// The columns of two inputs of a join.
    pub fn beside(mut self, right: &Layout) -> Layout {
        let width = self.width();
        self.vars.extend(right.vars.iter().map(|(var, at)| (*var, at + width)));
        self.exprs.extend(right.exprs.iter().map(|(id, at)| (*id, at + width)));
        self.types.extend(&right.types);
        self
    }
}
