//! The power goes at any operation of a change: what tests of schema changes share.

use std::sync::Arc;

use onlap::{CheckOptions, Database, Options, Result, SyncMode};
use onlap_vfs::{Fault, FaultFs, Fs, MemFs};

use crate::support::small_options;

/// Where the database is.
pub const DIR: &str = "/db";

fn options(fs: impl Fs + 'static) -> Options {
    Options { fs: Arc::new(fs), ..small_options(SyncMode::Fsync) }
}

/// Opens the database of a disk; its commits are durable.
pub fn open(fs: impl Fs + 'static) -> Result<Database> {
    Database::open(DIR, options(fs))
}

/// Nothing is wrong with the database of a disk, which is closed.
pub fn assert_checked(disk: &MemFs) {
    let report = onlap::check(DIR, &CheckOptions { options: options(disk.clone()) }).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

/// Makes the change as often as it has operations, on copies of the disk, and cuts the power at another one each
/// time; `look` sees what is there after that, and what the change said.
pub fn cut_at_each_operation(
    disk: &MemFs,
    change: impl Fn(&Database) -> Result<()>,
    mut look: impl FnMut(&Database, &Result<()>),
) {
    for n in 0.. {
        let before = disk.crash(n, 1.0);
        let fs = FaultFs::new(Arc::new(before.clone()));
        let db = open(fs.clone()).unwrap();
        fs.fail(Fault::any().after(n).for_ever().torn());
        let changed = change(&db);
        drop(db);
        if fs.struck() == 0 {
            changed.unwrap();
            break;
        }
        let after = before.crash(n, [0.0, 0.5, 1.0][n as usize % 3]);
        let db = open(after.clone()).unwrap();
        look(&db, &changed);
        db.close().unwrap();
        assert_checked(&after);
    }
}
