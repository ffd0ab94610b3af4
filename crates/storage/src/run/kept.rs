//! How are many keys looked up in their order?
//!
//! Keys next to each other lie in the same unit, which is fetched once. From some keys on it is decoded as
//! a whole: looking one up in a packed block costs as much as decoding a few hundred entries.
//!
//! Thread safety: belongs to one caller.

use onlap_base::{Result, RowId};
use onlap_format::key::{KeyForm, Keys};

use super::Place;
use super::file::RunFile;
use super::unit::Unit;

/// Keys looked up in a unit before it is decoded.
const SINGLE_LOOKUPS: u32 = 6;

/// What the last lookup in a run read.
#[derive(Default)]
pub struct Kept {
    at: Option<(Place, Unit)>,
    lookups: u32,
    /// All entries of the unit.
    decoded: Option<(Keys, Vec<RowId>)>,
}

impl Kept {
    /// Appends the row ids of the entries of a unit with this whole key.
    pub(super) fn find(
        &mut self,
        file: &RunFile,
        place: Place,
        key: &[u8],
        out: &mut Vec<RowId>,
    ) -> Result<()> {
        if self.at.as_ref().is_none_or(|(at, _)| *at != place) {
            *self = Kept { at: Some((place, file.unit(place.1, None)?)), ..Kept::default() };
        }
        let Kept { at: Some((_, unit)), lookups, decoded } = self else {
            unreachable!("set above")
        };
        *lookups += 1;
        if *lookups > SINGLE_LOOKUPS && decoded.is_none() {
            *decoded = decode(file, place.1, unit)?;
        }
        let Some((keys, row_ids)) = decoded else {
            let bound = |after| file.lower_bound(place.1, unit, key, after);
            return file.row_ids(place.1, unit, bound(false)?..bound(true)?, out);
        };
        let packing = file.packing()?;
        let from = packing.lower_bound(keys, 0..keys.len(), &packing.bound(key, false))?;
        let to = packing.lower_bound(keys, from..keys.len(), &packing.bound(key, true))?;
        out.extend_from_slice(&row_ids[from..to]);
        Ok(())
    }
}

/// Entries of a block whose keys are numbers.
fn decode(file: &RunFile, i: usize, unit: &Unit) -> Result<Option<(Keys, Vec<RowId>)>> {
    let Unit::Block(block) = unit else { return Ok(None) };
    if block.packing().form() == KeyForm::Bytes {
        return Ok(None);
    }
    let (mut keys, mut row_ids) = (block.packing().new_keys(), Vec::with_capacity(block.len()));
    let decoded = block.keys_and_row_ids(0..block.len(), &mut keys, &mut row_ids);
    decoded.map_err(|e| file.place(i, e))?;
    Ok(Some((keys, row_ids)))
}
