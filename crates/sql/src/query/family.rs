//! Which tables does a name stand for that has others below it?
//!
//! A table with those below it is read as one: a step that gives the rows of one member after the other, in the columns of
//! the first. A member's columns are found by name, for names of inherited columns are the same in all of them. Rows are
//! known by their ids with the member that they are of, in one number ([`packed`]), so that whatever carries ids of rows need
//! not know of members.
//!
//! Which members may have wanted rows, their bounds say ([`Family::left`]).
//!
//! Thread safety: read only.

use std::collections::HashMap;
use std::sync::Arc;

use onlap::{RowId, Table, TableId};
use onlap_base::PROVISIONAL_BASE;
use onlap_kernels::Datum;
use onlap_pg::{Oid, TypeRef};
use onlap_query::{Restriction, RestrictionKind};

use super::division::{Division, Known};
use crate::catalog::families::{Families, Key};
use crate::catalog::{Name, oids};
use crate::columns::Types;
use crate::error::{Result, SqlError, state};
use crate::plan::TableHandle;
use crate::view::View;

/// Bits of a packed id that number the row; those above number the member, but for the highest.
const ROW_BITS: u32 = 48;
/// Members of a family, at most.
const MEMBERS: usize = 1 << (63 - ROW_BITS);

/// The id of a member's row.
///
/// # Errors
/// `54000`: there are too many rows.
pub fn packed(member: usize, row: RowId) -> Result<RowId> {
    let (own, number) = (row & PROVISIONAL_BASE, row & !PROVISIONAL_BASE);
    if number >> ROW_BITS != 0 {
        return Err(SqlError::new("54000", "a table below another has too many rows"));
    }
    Ok(own | (member as u64) << ROW_BITS | number)
}

/// A member and the id of its row.
pub fn unpacked(id: RowId) -> (usize, RowId) {
    let (own, rest) = (id & PROVISIONAL_BASE, id & !PROVISIONAL_BASE);
    ((rest >> ROW_BITS) as usize, own | rest & ((1 << ROW_BITS) - 1))
}

/// A table of a family.
#[derive(Debug)]
pub struct Member {
    /// The table.
    pub table: TableHandle,
    /// Its OID.
    pub oid: Oid,
    /// The places of the first member's columns in it.
    pub places: Vec<usize>,
    /// The level that divides its rows from those of others, and its place there.
    above: Option<(usize, usize)>,
}

/// A member that divides its rows among others.
#[derive(Debug)]
struct Level {
    /// The member.
    member: usize,
    division: Arc<Division>,
    /// The keys' places among the first member's columns; none of an expression.
    keys: Vec<Option<usize>>,
}

/// A table with those below it.
#[derive(Debug)]
pub struct Family {
    /// The table itself first.
    pub members: Vec<Member>,
    levels: Vec<Level>,
    /// The members that have rows of their own, in the order in which they are read.
    readable: Vec<usize>,
}

/// The partitions of a table, ready to be asked.
///
/// # Errors
/// `XX001`: bounds that no release wrote.
pub fn division(view: &View, table: &TableHandle) -> Result<Option<Arc<Division>>> {
    let (families, id) = (view.objects.families(), table.schema.id);
    let Some(divided) = families.divided(id) else { return Ok(None) };
    let catalog = view.objects.made_types().catalog();
    let ty = |key: &Key| {
        let ty = match key {
            Key::Expr(_, ty) => *ty,
            Key::Column(column) => {
                let at = table.schema.position(*column);
                let at = at.ok_or_else(|| SqlError::new("XX001", "a partition key is gone"))?;
                table.types[at].pg
            }
        };
        Ok(TypeRef { oid: ty.oid, modifier: ty.modifier })
    };
    let types = divided.keys.iter().map(ty).collect::<Result<Vec<_>>>()?;
    let make = || Division::of(catalog, families, id, divided.strategy, types);
    families.division(id, make).map(Some)
}

/// Tables by id, as the statement sees them.
pub fn by_id(view: &View) -> Result<HashMap<TableId, Table>> {
    let all = view.scope.tx()?.tables();
    Ok(all.into_iter().map(|table| (table.schema().id, table)).collect())
}

impl Family {
    /// The family of a table; `None` of one that has none below it and has rows itself.
    ///
    /// # Errors
    /// `XX001`: what no release wrote; `54000`: too many tables.
    pub fn of(view: &View, root: &TableHandle) -> Result<Option<Family>> {
        let families = view.objects.families();
        let id = root.schema.id;
        if families.below(id).is_empty() && families.divided(id).is_none() {
            return Ok(None);
        }
        let tables = by_id(view)?;
        let mut family = Family { members: Vec::new(), levels: Vec::new(), readable: Vec::new() };
        family.add(view, root, root.clone(), None)?;
        let mut at = 0;
        while at < family.members.len() {
            family.add_below(view, root, families, &tables, at)?;
            at += 1;
        }
        family.put_in_order(families);
        Ok(Some(family))
    }

    fn add(
        &mut self,
        view: &View,
        root: &TableHandle,
        table: TableHandle,
        above: Option<(usize, usize)>,
    ) -> Result<()> {
        if self.members.len() >= MEMBERS {
            return Err(SqlError::new("54000", "too many tables below one"));
        }
        table.types.must_be_known(&table.schema)?;
        let gone = |name: &str| {
            SqlError::new("XX001", format!("table {} has no column {name}", table.schema.name))
        };
        let place = |column: &onlap::ColumnSchema| {
            table.schema.position_by_name(&column.name).ok_or_else(|| gone(&column.name))
        };
        let places = root.schema.columns.iter().map(place).collect::<Result<Vec<_>>>()?;
        if let Some(division) = division(view, &table)? {
            let divided = view.objects.families().divided(table.schema.id);
            let key = |key: &Key| match key {
                Key::Column(id) => {
                    let at = table.schema.position(*id)?;
                    places.iter().position(|place| *place == at)
                }
                Key::Expr(..) => None,
            };
            let keys = divided.map_or_else(Vec::new, |of| of.keys.iter().map(key).collect());
            self.levels.push(Level { member: self.members.len(), division, keys });
        }
        let oid = oids::of_table(table.schema.id);
        self.members.push(Member { table, oid, places, above });
        Ok(())
    }

    /// Adds the tables right below a member that are not there yet.
    fn add_below(
        &mut self,
        view: &View,
        root: &TableHandle,
        families: &Families,
        tables: &HashMap<TableId, Table>,
        at: usize,
    ) -> Result<()> {
        let id = self.members[at].table.schema.id;
        let level = self.levels.iter().position(|level| level.member == at);
        for below in families.below(id) {
            if self.members.iter().any(|member| member.table.schema.id == *below) {
                continue;
            }
            let Some(table) = tables.get(below) else { continue };
            // Rows of temporary tables are their session's alone.
            if view.is_other_temporary(&Name::of_engine(&table.name()).1.schema) {
                continue;
            }
            let place = level.and_then(|level| {
                let parts = self.levels[level].division.parts();
                Some((level, parts.iter().position(|part| part == below)?))
            });
            self.add(view, root, TableHandle::new(view, table.clone()), place)?;
        }
        Ok(())
    }

    /// Which members are read, in which order: partitions by their bounds.
    fn put_in_order(&mut self, families: &Families) {
        let is_divided = |at: usize| families.divided(self.members[at].table.schema.id).is_some();
        if self.levels.is_empty() {
            self.readable = (0..self.members.len()).collect();
            return;
        }
        let mut open = vec![0];
        let mut order = Vec::new();
        while let Some(at) = open.pop() {
            if !is_divided(at) {
                order.push(at);
                continue;
            }
            let level = self.levels.iter().position(|level| level.member == at);
            let mut below: Vec<(usize, usize)> = (0..self.members.len())
                .filter_map(|at| Some((self.members[at].above?, at)))
                .filter(|((of, _), _)| Some(*of) == level)
                .map(|((_, place), at)| (place, at))
                .collect();
            below.sort_unstable_by(|a, b| b.cmp(a));
            open.extend(below.into_iter().map(|(_, at)| at));
        }
        self.readable = order;
    }

    /// Whether the first member divides its rows among the others.
    pub fn is_divided(&self) -> bool {
        self.levels.iter().any(|level| level.member == 0)
    }

    /// The members that may have rows that meet these conditions, in the order in which they are read; `all` asks those of
    /// which the values are not known while a plan is made.
    ///
    /// # Errors
    /// Those of the values.
    pub fn left(
        &self,
        types: &Types,
        restrictions: &[Restriction],
        all: bool,
    ) -> onlap_pg::Result<Vec<usize>> {
        let mut left = Vec::with_capacity(self.levels.len());
        for level in &self.levels {
            let mut known: Vec<Vec<Known>> = Vec::with_capacity(level.keys.len());
            for key in &level.keys {
                let of = restrictions.iter().filter(|r| {
                    Some(r.column as usize - 1) == *key && !r.runs && (all || r.is_constant)
                });
                known.push(of.map(known_of).collect::<onlap_pg::Result<Vec<_>>>()?.concat());
            }
            left.push(level.division.left(types.catalog(), &known));
        }
        let is_left = |at: &usize| {
            let mut above = self.members[*at].above;
            while let Some((level, place)) = above {
                if !left[level][place] {
                    return false;
                }
                above = self.members[self.levels[level].member].above;
            }
            true
        };
        Ok(self.readable.iter().copied().filter(is_left).collect())
    }

    /// Those of the first member's columns, by number, with which an index of each member that is read begins.
    pub fn indexed(&self, mut numbers: Vec<i32>) -> Vec<i32> {
        let begins = |member: &Member, number: i32| {
            let schema = &member.table.schema;
            // What an index calculates is a column of its table alone.
            let Some(place) = member.places.get(number as usize - 1) else { return false };
            let column = schema.columns[*place].id;
            let plain = |index: &&onlap::IndexSchema| {
                index.ready && index.filter.is_none() && !index.multi_entry
            };
            let whole = schema.indexes.iter().filter(plain);
            whole.into_iter().any(|index| index.key[0].column == column)
        };
        numbers.retain(|number| self.readable.iter().all(|at| begins(&self.members[*at], *number)));
        numbers
    }

    /// How many rows all members have, about.
    pub fn rows(&self) -> f64 {
        let rows = self.readable.iter().map(|at| self.members[*at].table.table.approximate_rows());
        rows.sum::<u64>().max(1) as f64
    }

    /// Whether all tables have the form that they had.
    pub fn is_current(&self) -> bool {
        let same = |of: &Member| of.table.table.schema().version == of.table.schema.version;
        self.members.iter().all(same)
    }
}

/// What a restriction says of a key.
fn known_of(restriction: &Restriction) -> onlap_pg::Result<Vec<Known>> {
    let values = (restriction.values)()?;
    let one = || values.first().cloned().unwrap_or(Datum::Null);
    Ok(vec![match restriction.kind {
        RestrictionKind::Equal | RestrictionKind::OneOf => Known::Among(values),
        RestrictionKind::Less => Known::Below(one(), false),
        RestrictionKind::LessOrEqual => Known::Below(one(), true),
        RestrictionKind::Greater | RestrictionKind::GreaterOrEqual => Known::Above(one()),
    }])
}

/// The error of a family that a statement cannot read.
pub fn too_many() -> SqlError {
    let text = "too many partitions are read at once";
    SqlError::new(state::TOO_COMPLEX, text).hint("Add a condition on the partition key.")
}

/// The type of a key, as it is compared.
pub fn type_ref(ty: crate::types::PgType) -> TypeRef {
    TypeRef { oid: ty.oid, modifier: ty.modifier }
}
