//! Which runs get cut keys?
//!
//! Never those of an index whose entries serve instead of rows: a unique one, one that a foreign key of the
//! table reads, one with included columns, one of a table with blind writes. Nor those whose keys are not
//! what the columns of the rows in segments are: of expressions, partial ones, and indexes over columns that
//! were changed in place before they were built.
//!
//! Of the others it is decided at each flush by the keys themselves ([`is_worth`]). Runs of both kinds may
//! stand side by side.
//!
//! Pure.

use onlap_format::key::Packing;
use onlap_format::schema::DERIVED_FIRST;
use onlap_format::{IndexSchema, KeysKept, TableSchema};
use onlap_storage::run::{Shortener, TIES_MAX};

/// Rows of a flush from which on cut keys pay by themselves: 16 K entries save some 300 KiB.
const ROWS_MIN: usize = 1 << 14;
/// Of this number of entries one may share its cut key with another: reads then find one false entry
/// in a hundred at most.
const TIED_SHARE: u64 = 64;
/// Entries that may have the same cut key.
const TIES: usize = 64;

/// How the keys of a flush of `rows` rows, which a packing holds, are cut; `None` where they are not.
pub(super) fn packing(
    schema: &TableSchema,
    index: &IndexSchema,
    packing: &Packing,
    rows: usize,
) -> Option<Packing> {
    let enough = match index.keys {
        KeysKept::Full => false,
        KeysKept::Short => true,
        KeysKept::Auto => rows >= ROWS_MIN,
    };
    (enough && may_be_short(schema, index)).then(|| packing.to_cut()).flatten()
}

/// Whether entries of an index may lack parts of their keys.
fn may_be_short(schema: &TableSchema, index: &IndexSchema) -> bool {
    let first = index.key[0].column;
    let alone = index.include.is_empty() && index.filter.is_none() && !index.multi_entry;
    let kept_apart = index.is_rule() || index.is_primary();
    let referring = schema.foreign_keys.iter().any(|key| key.columns.contains(&first));
    let of_columns = index.key.iter().all(|part| part.column.0 < DERIVED_FIRST);
    alone
        && of_columns
        && !kept_apart
        && !referring
        && !index.fences_only
        && !index.only_since
        && !schema.blind
}

/// Whether the keys so far are told apart well enough by what is kept of them.
pub(super) fn is_worth(keys: KeysKept, so_far: &Shortener) -> bool {
    match keys {
        KeysKept::Full => false,
        KeysKept::Short => so_far.longest() <= TIES_MAX,
        KeysKept::Auto => {
            // A few of the first ones may be alike.
            let free = ROWS_MIN as u64 / TIED_SHARE;
            so_far.longest() <= TIES && so_far.tied() <= free.max(so_far.entries() / TIED_SHARE)
        }
    }
}
