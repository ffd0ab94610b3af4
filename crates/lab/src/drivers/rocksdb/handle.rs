//! What does librocksdb's C interface look like from safe Rust?
//!
//! Owners of its objects, each destroyed once, and errors as [`Error`]. Nothing here knows of tables.

use std::ffi::{CStr, CString, c_char};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use onlap_base::{Error, ErrorKind, Result};

use super::ffi;

/// An open database with the options of its reads and writes.
pub(super) struct Db {
    db: *mut ffi::Db,
    cache: *mut ffi::Cache,
    write_options: *mut ffi::WriteOptions,
    read_options: *mut ffi::ReadOptions,
}

// SAFETY: a rocksdb_t, and options that no one changes, may be used from any thread; the pointers
// stay valid until `drop`, which has the only reference.
unsafe impl Send for Db {}
// SAFETY: as above.
unsafe impl Sync for Db {}

impl Db {
    /// Opens a database with half of `memory` as block cache and half as two write buffers.
    pub fn open(dir: &Path, memory: u64, sync: bool) -> Result<Db> {
        let path = CString::new(dir.as_os_str().as_bytes())
            .map_err(|_| Error::new(ErrorKind::InvalidInput, "a path holds a zero byte"))?;
        // SAFETY: every pointer handed over comes from the matching create function.
        unsafe {
            let (options, cache) = options(memory);
            let opened = checked(|error| ffi::rocksdb_open(options, path.as_ptr(), error));
            ffi::rocksdb_options_destroy(options);
            let db = opened.inspect_err(|_| ffi::rocksdb_cache_destroy(cache))?;
            let write_options = ffi::rocksdb_writeoptions_create();
            ffi::rocksdb_writeoptions_set_sync(write_options, u8::from(sync));
            Ok(Db { db, cache, write_options, read_options: ffi::rocksdb_readoptions_create() })
        }
    }

    /// Writes a batch; the bytes it took in the log.
    pub fn write(&self, batch: &WriteBatch) -> Result<u64> {
        let mut bytes = 0;
        // SAFETY: batch, options and database are live; the length is a local.
        checked(|error| unsafe {
            ffi::rocksdb_writebatch_data(batch.0, &mut bytes);
            ffi::rocksdb_write(self.db, self.write_options, batch.0, error);
        })?;
        Ok(bytes as u64)
    }

    /// Writes the memtable out and waits for it.
    pub fn flush(&self) -> Result<()> {
        // SAFETY: the options come from the matching create function and outlive the call.
        unsafe {
            let options = ffi::rocksdb_flushoptions_create();
            ffi::rocksdb_flushoptions_set_wait(options, 1);
            let flushed = checked(|error| ffi::rocksdb_flush(self.db, options, error));
            ffi::rocksdb_flushoptions_destroy(options);
            flushed
        }
    }

    /// Syncs the log.
    pub fn sync_log(&self) -> Result<()> {
        // SAFETY: the database is open.
        checked(|error| unsafe { ffi::rocksdb_flush_wal(self.db, 1, error) })
    }

    /// A numeric property; 0 where there is none of that name.
    pub fn property(&self, name: &CStr) -> u64 {
        let mut value = 0;
        // SAFETY: the database is open, the name ends with a zero byte, the result is a local.
        unsafe { ffi::rocksdb_property_int(self.db, name.as_ptr(), &mut value) };
        value
    }

    /// Replaces `out` by the value of a key; false where there is none.
    pub fn get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let mut len = 0;
        out.clear();
        // SAFETY: the key is a live slice; the value comes from malloc with the length that the call
        // set, is copied and freed once.
        unsafe {
            let (data, key_len) = (key.as_ptr().cast(), key.len());
            let value = checked(|error| {
                ffi::rocksdb_get(self.db, self.read_options, data, key_len, &mut len, error)
            })?;
            if value.is_null() {
                return Ok(false);
            }
            out.extend_from_slice(std::slice::from_raw_parts(value.cast(), len));
            ffi::rocksdb_free(value.cast());
        }
        Ok(true)
    }

    /// An iterator that stands on the first key at or above `from`.
    pub fn seek(&self, from: &[u8]) -> Iter<'_> {
        // SAFETY: options and database are live and outlive the iterator, which borrows them.
        let raw = unsafe { ffi::rocksdb_create_iterator(self.db, self.read_options) };
        let iter = Iter { raw, _db: PhantomData };
        // SAFETY: the iterator was just made; the key is a live slice that the call copies.
        unsafe { ffi::rocksdb_iter_seek(iter.raw, from.as_ptr().cast(), from.len()) };
        iter
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        // SAFETY: all were created by `open` and are destroyed once; the database goes first.
        unsafe {
            ffi::rocksdb_close(self.db);
            ffi::rocksdb_writeoptions_destroy(self.write_options);
            ffi::rocksdb_readoptions_destroy(self.read_options);
            ffi::rocksdb_cache_destroy(self.cache);
        }
    }
}

/// Options of a database with half of `memory` as block cache and half as two write buffers, and the
/// cache; the caller destroys both.
///
/// # Safety
/// None of its own: what it returns has to be destroyed by the matching functions, once.
pub(super) unsafe fn options(memory: u64) -> (*mut ffi::Options, *mut ffi::Cache) {
    // SAFETY: every pointer handed over comes from the matching create function; setters copy what
    // they are given, the table factory takes the filter policy over, and the cache is counted by
    // reference, so that our handle may be destroyed after the database's.
    unsafe {
        let cache = ffi::rocksdb_cache_create_lru((memory / 2) as usize);
        let table = ffi::rocksdb_block_based_options_create();
        let bloom = ffi::rocksdb_filterpolicy_create_bloom_full(10.0);
        ffi::rocksdb_block_based_options_set_filter_policy(table, bloom);
        ffi::rocksdb_block_based_options_set_block_cache(table, cache);
        // A filter block is larger than a shard of a small cache, and would be read at every get.
        ffi::rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 0);
        let options = ffi::rocksdb_options_create();
        ffi::rocksdb_options_set_create_if_missing(options, 1);
        ffi::rocksdb_options_set_write_buffer_size(options, (memory / 4) as usize);
        ffi::rocksdb_options_set_max_write_buffer_number(options, 2);
        ffi::rocksdb_options_set_max_background_jobs(options, 2);
        ffi::rocksdb_options_set_compression(options, ffi::LZ4_COMPRESSION);
        ffi::rocksdb_options_set_bottommost_compression(options, ffi::ZSTD_COMPRESSION);
        ffi::rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1);
        ffi::rocksdb_options_set_use_direct_reads(options, 1);
        ffi::rocksdb_options_set_use_direct_io_for_flush_and_compaction(options, 1);
        ffi::rocksdb_options_set_block_based_table_factory(options, table);
        ffi::rocksdb_block_based_options_destroy(table);
        (options, cache)
    }
}

/// Puts and deletes that are written together.
pub(super) struct WriteBatch(*mut ffi::WriteBatch);

// SAFETY: a write batch has no ties to a thread; `&mut` is not needed for `put` because the type is
// not `Sync`.
unsafe impl Send for WriteBatch {}

impl WriteBatch {
    pub fn new() -> WriteBatch {
        // SAFETY: plain allocation.
        WriteBatch(unsafe { ffi::rocksdb_writebatch_create() })
    }

    pub fn put(&self, key: &[u8], value: &[u8]) {
        let (k, v) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: both are live slices that the call copies.
        unsafe { ffi::rocksdb_writebatch_put(self.0, k, key.len(), v, value.len()) };
    }

    pub fn delete(&self, key: &[u8]) {
        // SAFETY: a live slice that the call copies.
        unsafe { ffi::rocksdb_writebatch_delete(self.0, key.as_ptr().cast(), key.len()) };
    }

    pub fn clear(&self) {
        // SAFETY: the batch is live.
        unsafe { ffi::rocksdb_writebatch_clear(self.0) };
    }
}

impl Drop for WriteBatch {
    fn drop(&mut self) {
        // SAFETY: created by `new`, destroyed once.
        unsafe { ffi::rocksdb_writebatch_destroy(self.0) };
    }
}

/// Entries in key order.
pub(super) struct Iter<'a> {
    raw: *mut ffi::RawIterator,
    _db: PhantomData<&'a Db>,
}

impl Iter<'_> {
    /// The entry it stands on, then the next; `None` at the end.
    pub fn entry(&self) -> Option<(&[u8], &[u8])> {
        // SAFETY: the iterator is live; key and value stay valid until it moves, which takes
        // `&mut self`.
        unsafe {
            if ffi::rocksdb_iter_valid(self.raw) == 0 {
                return None;
            }
            let (mut key_len, mut value_len) = (0, 0);
            let key = ffi::rocksdb_iter_key(self.raw, &mut key_len).cast();
            let value = ffi::rocksdb_iter_value(self.raw, &mut value_len).cast();
            Some((
                std::slice::from_raw_parts(key, key_len),
                std::slice::from_raw_parts(value, value_len),
            ))
        }
    }

    /// Moves to the next entry; there must be one here.
    pub fn advance(&mut self) {
        // SAFETY: the iterator is live and, by contract, valid.
        unsafe { ffi::rocksdb_iter_next(self.raw) };
    }

    /// Whether it ended because of an error.
    pub fn status(&self) -> Result<()> {
        // SAFETY: the iterator is live.
        checked(|error| unsafe { ffi::rocksdb_iter_get_error(self.raw, error) })
    }
}

impl Drop for Iter<'_> {
    fn drop(&mut self) {
        // SAFETY: created by `seek`, destroyed once.
        unsafe { ffi::rocksdb_iter_destroy(self.raw) };
    }
}

/// Runs a call that reports errors by a malloc'ed text.
pub(super) fn checked<T>(call: impl FnOnce(*mut *mut c_char) -> T) -> Result<T> {
    let mut error: *mut c_char = ptr::null_mut();
    let result = call(&mut error);
    if error.is_null() {
        return Ok(result);
    }
    // SAFETY: the library set it to a text that ends with a zero byte and is ours to free.
    let text = unsafe {
        let text = CStr::from_ptr(error).to_string_lossy().into_owned();
        ffi::rocksdb_free(error.cast());
        text
    };
    Err(Error::new(ErrorKind::Io, format!("RocksDB: {text}")))
}
