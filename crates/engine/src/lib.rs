//! What happens to a row?
//!
//! Onlap is a table store for tables with many secondary indexes that have outgrown memory. Rows
//! land once, in commit order, in columnar segments, and never move; a row's id is its position; an
//! index is a short stack of sorted runs of (key, row id). So index maintenance reads nothing, the
//! log holds each row once, and a delete sets one bit.
//!
//! This crate is the mutable side, and the embedded API: [`Database`], [`Table`], [`Transaction`],
//! [`Snapshot`]. Nothing here is async; everything may be used from many threads.
//!
//! See [`Database`] for an example, and the repository's ARCHITECTURE.md for how the parts work
//! together.

mod activity;
mod adopt;
mod background;
mod backup;
mod blind;
mod budgets;
mod catalog;
mod changes;
mod check;
mod commit;
mod compaction;
mod database;
mod debts;
mod derive;
mod flush;
mod history;
mod index_build;
mod ledger;
mod locks;
mod log;
mod margin;
mod options;
mod pace;
mod predict;
mod pressure;
mod quiet;
mod read;
mod recovery;
mod relog;
mod retention;
mod rules;
mod samples;
mod schema_change;
mod sequences;
mod snapshots;
mod spec;
mod spill;
mod stats;
mod table;
mod transaction;
mod unique;
mod upgrade;

pub use activity::{IndexReads, TableActivity, Upkeep};
pub use backup::{
    BackupOptions, BackupProgress, BackupReport, RestoreOptions, RestoreReport, restore,
};
pub use budgets::TableDebts;
pub use changes::Change;
pub use check::{CheckOptions, CheckReport, Finding, check, check_with};
pub use commit::{CommitLockStats, CommitTimes};
pub use database::{Database, Table};
pub use derive::{Formula, Formulas};
pub use history::AsOf;
pub use index_build::{BuildControl, BuildProgress, IndexBuild};
pub use ledger::{IndexSpent, IndexUse, SpentReport};
pub use locks::{
    AdvisoryKey, AdvisoryLock, AdvisoryMark, AdvisoryOwner, AdvisoryWish, LockWait, RowLock,
    TableLock,
};
pub use onlap_base::pattern::InsertPattern;
pub use onlap_base::{
    ColumnId, Csn, Error, ErrorKind, IndexId, LockMode, OtherEnd, Result, RowId, SequenceId,
    Subject, TableId, memory,
};
pub use onlap_format::samples::Sample;
pub use onlap_format::{
    Action, Batch, BytesVec, CheckSchema, Column, ColumnDefault, ColumnSchema, DataType,
    DerivedSchema, Excludes, Expr, ForeignKeySchema, GeneratedSchema, Identity, IndexSchema,
    Judged, KeyPart, KeysKept, NullMask, Numeric, Row, SequenceSchema, TableSchema, Time, Value,
    Vector, convert, entries, expr, span,
};
pub use onlap_storage::asked::BlocksAsked;
pub use onlap_storage::written::{IndexWritten, WrittenReport};
#[doc(hidden)]
pub use options::Rule;
pub use options::{Options, SyncMode, Tuning};
pub use pace::PaceReport;
pub use predict::{IndexPrediction, ROWS_MOST as PREDICTION_ROWS};
pub use pressure::Stall;
pub use read::{
    ChangedRows, Difference, KeyRange, Predicate, ReadCounters, RowBatch, RowSet, Rows, Scan,
    Snapshot,
};
pub use samples::{SAMPLE_EVERY, StatementCount};
pub use schema_change::WhichTable;
pub use sequences::Sequence;
pub use spec::{
    CheckSpec, Conversion, Convert, DerivedSpec, ForeignKeySpec, GeneratedSpec, IndexPart,
    IndexSpec, SequenceSpec, TableChanges, TableSpec,
};
pub use stats::{
    IndexStats, KeyEstimates, QUANTILE_PARTS, RunStats, Stats, TableStats, TransactionStats,
};
pub use transaction::{
    Aside, DuePlace, ForeignKeyOf, Isolation, LostKey, Savepoint, Transaction, TransactionOptions,
};

/// Names and versions of the file formats that this release writes; it reads these and all below.
pub const FORMAT_VERSIONS: [(&str, u32); 7] = [
    ("manifest", onlap_format::manifest::VERSION),
    ("log", onlap_format::log::VERSION),
    ("segment", onlap_format::segment::SEGMENT_VERSION as u32),
    ("block", onlap_format::block::BLOCK_VERSION as u32),
    ("blob", onlap_format::blob::BLOB_VERSION as u32),
    ("run", onlap_format::run::RUN_VERSION as u32),
    ("marks", onlap_format::marks::MARKS_VERSION as u32),
];
