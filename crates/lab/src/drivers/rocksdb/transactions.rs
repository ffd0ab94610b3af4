//! What do RocksDB's transactions look like from safe Rust?
//!
//! A TransactionDB: pessimistic, each key locked as it is read for update or written.

use std::ffi::CString;
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use onlap_base::{Error, ErrorKind, Result};

use super::ffi;
use super::handle::{checked, options};

/// An open database with the options of its transactions.
pub(super) struct TransactionDb {
    db: *mut ffi::TransactionDb,
    cache: *mut ffi::Cache,
    write_options: *mut ffi::WriteOptions,
    read_options: *mut ffi::ReadOptions,
    transaction_options: *mut ffi::TransactionOptions,
}

// SAFETY: a rocksdb_transactiondb_t, and options that no one changes, may be used from any thread;
// the pointers stay valid until `drop`, which has the only reference.
unsafe impl Send for TransactionDb {}
// SAFETY: as above.
unsafe impl Sync for TransactionDb {}

impl TransactionDb {
    /// Opens a database as [`super::handle::Db::open`] does.
    pub fn open(dir: &Path, memory: u64, sync: bool) -> Result<TransactionDb> {
        let path = CString::new(dir.as_os_str().as_bytes())
            .map_err(|_| Error::new(ErrorKind::InvalidInput, "a path holds a zero byte"))?;
        // SAFETY: every pointer handed over comes from the matching create function and is destroyed
        // once, options that were copied at the open at once.
        unsafe {
            let (options, cache) = options(memory);
            let of_db = ffi::rocksdb_transactiondb_options_create();
            let opened = checked(|error| {
                ffi::rocksdb_transactiondb_open(options, of_db, path.as_ptr(), error)
            });
            ffi::rocksdb_options_destroy(options);
            ffi::rocksdb_transactiondb_options_destroy(of_db);
            let db = opened.inspect_err(|_| ffi::rocksdb_cache_destroy(cache))?;
            let write_options = ffi::rocksdb_writeoptions_create();
            ffi::rocksdb_writeoptions_set_sync(write_options, u8::from(sync));
            let read_options = ffi::rocksdb_readoptions_create();
            let transaction_options = ffi::rocksdb_transaction_options_create();
            Ok(TransactionDb { db, cache, write_options, read_options, transaction_options })
        }
    }

    pub fn begin(&self) -> Transaction<'_> {
        // SAFETY: database and options are live and outlive the transaction, which borrows them.
        let raw = unsafe {
            ffi::rocksdb_transaction_begin(
                self.db,
                self.write_options,
                self.transaction_options,
                ptr::null_mut(),
            )
        };
        Transaction { raw, read_options: self.read_options, _db: PhantomData }
    }
}

impl Drop for TransactionDb {
    fn drop(&mut self) {
        // SAFETY: all were created by `open` and are destroyed once; the database goes first.
        unsafe {
            ffi::rocksdb_transactiondb_close(self.db);
            ffi::rocksdb_writeoptions_destroy(self.write_options);
            ffi::rocksdb_readoptions_destroy(self.read_options);
            ffi::rocksdb_transaction_options_destroy(self.transaction_options);
            ffi::rocksdb_cache_destroy(self.cache);
        }
    }
}

/// Dropping it without a commit rolls it back.
pub(super) struct Transaction<'a> {
    raw: *mut ffi::Transaction,
    read_options: *mut ffi::ReadOptions,
    _db: PhantomData<&'a TransactionDb>,
}

impl Transaction<'_> {
    /// Locks a key and replaces `out` by its value; false where there is none.
    pub fn get_for_update(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let (mut len, read_options) = (0, self.read_options);
        out.clear();
        let (data, key_len) = (key.as_ptr().cast(), key.len());
        // SAFETY: the key is a live slice; the value comes from malloc with the length that the call
        // set, is copied and freed once.
        unsafe {
            let value = checked(|error| {
                let raw = self.raw;
                ffi::rocksdb_transaction_get_for_update(
                    raw,
                    read_options,
                    data,
                    key_len,
                    &mut len,
                    1,
                    error,
                )
            })?;
            if value.is_null() {
                return Ok(false);
            }
            out.extend_from_slice(std::slice::from_raw_parts(value.cast(), len));
            ffi::rocksdb_free(value.cast());
        }
        Ok(true)
    }

    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let (k, v) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: both are live slices that the call copies.
        checked(|error| unsafe {
            ffi::rocksdb_transaction_put(self.raw, k, key.len(), v, value.len(), error);
        })
    }

    pub fn delete(&self, key: &[u8]) -> Result<()> {
        // SAFETY: a live slice that the call copies.
        checked(|error| unsafe {
            ffi::rocksdb_transaction_delete(self.raw, key.as_ptr().cast(), key.len(), error);
        })
    }

    pub fn commit(self) -> Result<()> {
        // SAFETY: the transaction is live until it is dropped.
        checked(|error| unsafe { ffi::rocksdb_transaction_commit(self.raw, error) })
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // SAFETY: created by `begin`, destroyed once.
        unsafe { ffi::rocksdb_transaction_destroy(self.raw) };
    }
}
