//! By which conditions would plans read tables, and for which columns?
//!
//! What advice on missing and covering indexes asks: statements are planned, not run, and each scan notes the conditions that an
//! index could answer, the index that it goes by, and the columns that it gives. Thread safety: shared by the handles of a statement's tables.

use onlap::TableId;
use onlap_query::{Restriction, RestrictionKind};
use parking_lot::Mutex;

use crate::plan::TableHandle;

/// Scans that are noted of a statement, at most: joins of more tables are advised on by their first.
const MOST: usize = 64;

/// A scan of a table.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// The table.
    pub table: TableId,
    /// Columns, by position, that are to equal values.
    pub equal: Vec<usize>,
    /// Columns that are to lie between values.
    pub between: Vec<usize>,
    /// Columns that are given.
    pub columns: Vec<usize>,
    /// Whether more is given than columns: where rows lie, or what versions they are.
    pub more: bool,
    /// The index whose entries lead to the rows, where they are many.
    pub index: Option<String>,
}

/// The scans of a statement's plan.
#[derive(Debug, Default)]
pub struct Scans(Mutex<Vec<Scanned>>);

impl Scans {
    /// Notes a scan that gives columns by their numbers.
    pub fn note(
        &self,
        table: &TableHandle,
        restrictions: &[Restriction],
        columns: &[i32],
        index: Option<String>,
    ) {
        let all = 1..=table.schema.columns.len() as i32;
        let own = columns.iter().filter(|number| all.contains(number));
        let mut scan = Scanned {
            table: table.schema.id,
            equal: Vec::new(),
            between: Vec::new(),
            columns: own.map(|number| *number as usize - 1).collect(),
            more: columns.iter().any(|number| !all.contains(number)),
            index,
        };
        for restriction in restrictions {
            let at = restriction.column as usize;
            let is_ordered = |at: usize| {
                table.schema.columns.get(at).is_some_and(|column| column.ty.is_ordered())
            };
            let Some(at) = at.checked_sub(1).filter(|at| is_ordered(*at)) else { continue };
            let list = match restriction.kind {
                RestrictionKind::Equal | RestrictionKind::OneOf => &mut scan.equal,
                _ => &mut scan.between,
            };
            if !list.contains(&at) {
                list.push(at);
            }
        }
        let mut noted = self.0.lock();
        if noted.len() < MOST {
            noted.push(scan);
        }
    }

    /// What was noted.
    pub fn take(&self) -> Vec<Scanned> {
        std::mem::take(&mut *self.0.lock())
    }
}
