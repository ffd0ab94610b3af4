//! Where do the columns of a query lie while it is carried out?

use std::collections::HashMap;

use onlap_pg::TypeRef;
use onlap_pg::bound::ExprId;

/// A column of an entry of FROM: the entry from 1, the column from 1; [`PRESENT`] says whether the entry has a row.
pub type Var = (usize, i32);

/// A column that is true in every row of an entry, and NULL where an outer join has none.
pub const PRESENT: i32 = i32::MAX;

/// In the place of an entry: an expression that was calculated below, by its number.
pub const CALCULATED: usize = usize::MAX;

/// The columns of the rows of a step.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Columns of entries.
    pub vars: HashMap<Var, usize>,
    /// Expressions that were calculated below: aggregates, what is grouped by, calls over windows, sets.
    pub exprs: Vec<(ExprId, usize)>,
    /// The type of each column.
    pub types: Vec<TypeRef>,
}

impl Layout {
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
