//! The part of librocksdb's C interface that the driver calls.
//!
//! `build.rs` compares every declaration with the installed header.

use std::ffi::{c_char, c_int, c_uchar};

/// `rocksdb_lz4_compression`
pub const LZ4_COMPRESSION: c_int = 4;
/// `rocksdb_zstd_compression`
pub const ZSTD_COMPRESSION: c_int = 7;

macro_rules! opaque {
    ($($name:ident),*) => { $(
        #[repr(C)]
        pub struct $name {
            _private: [u8; 0],
        }
    )* };
}

opaque!(Db, Options, TableOptions, Cache, FilterPolicy, WriteOptions, ReadOptions, FlushOptions);
opaque!(WriteBatch, RawIterator);
opaque!(TransactionDb, TransactionDbOptions, Transaction, TransactionOptions);

unsafe extern "C" {
    pub fn rocksdb_options_create() -> *mut Options;
    pub fn rocksdb_options_destroy(options: *mut Options);
    pub fn rocksdb_options_set_create_if_missing(options: *mut Options, value: c_uchar);
    pub fn rocksdb_options_set_write_buffer_size(options: *mut Options, bytes: usize);
    pub fn rocksdb_options_set_max_write_buffer_number(options: *mut Options, n: c_int);
    pub fn rocksdb_options_set_max_background_jobs(options: *mut Options, n: c_int);
    pub fn rocksdb_options_set_compression(options: *mut Options, kind: c_int);
    pub fn rocksdb_options_set_bottommost_compression(options: *mut Options, kind: c_int);
    pub fn rocksdb_options_set_level_compaction_dynamic_level_bytes(
        options: *mut Options,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_use_direct_reads(options: *mut Options, value: c_uchar);
    pub fn rocksdb_options_set_use_direct_io_for_flush_and_compaction(
        options: *mut Options,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_block_based_table_factory(
        options: *mut Options,
        table: *mut TableOptions,
    );
    pub fn rocksdb_block_based_options_create() -> *mut TableOptions;
    pub fn rocksdb_block_based_options_destroy(options: *mut TableOptions);
    pub fn rocksdb_block_based_options_set_filter_policy(
        options: *mut TableOptions,
        policy: *mut FilterPolicy,
    );
    pub fn rocksdb_block_based_options_set_block_cache(
        options: *mut TableOptions,
        cache: *mut Cache,
    );
    pub fn rocksdb_block_based_options_set_cache_index_and_filter_blocks(
        options: *mut TableOptions,
        value: c_uchar,
    );
    pub fn rocksdb_filterpolicy_create_bloom_full(bits_per_key: f64) -> *mut FilterPolicy;
    pub fn rocksdb_cache_create_lru(bytes: usize) -> *mut Cache;
    pub fn rocksdb_cache_destroy(cache: *mut Cache);

    pub fn rocksdb_open(
        options: *const Options,
        name: *const c_char,
        error: *mut *mut c_char,
    ) -> *mut Db;
    pub fn rocksdb_close(db: *mut Db);
    pub fn rocksdb_free(memory: *mut std::ffi::c_void);

    pub fn rocksdb_writeoptions_create() -> *mut WriteOptions;
    pub fn rocksdb_writeoptions_destroy(options: *mut WriteOptions);
    pub fn rocksdb_writeoptions_set_sync(options: *mut WriteOptions, value: c_uchar);
    pub fn rocksdb_writebatch_create() -> *mut WriteBatch;
    pub fn rocksdb_writebatch_destroy(batch: *mut WriteBatch);
    pub fn rocksdb_writebatch_clear(batch: *mut WriteBatch);
    pub fn rocksdb_writebatch_put(
        batch: *mut WriteBatch,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
    );
    pub fn rocksdb_writebatch_delete(batch: *mut WriteBatch, key: *const c_char, len: usize);
    pub fn rocksdb_writebatch_data(batch: *mut WriteBatch, size: *mut usize) -> *const c_char;
    pub fn rocksdb_write(
        db: *mut Db,
        options: *const WriteOptions,
        batch: *mut WriteBatch,
        error: *mut *mut c_char,
    );

    pub fn rocksdb_transactiondb_options_create() -> *mut TransactionDbOptions;
    pub fn rocksdb_transactiondb_options_destroy(options: *mut TransactionDbOptions);
    pub fn rocksdb_transactiondb_open(
        options: *const Options,
        transaction_options: *const TransactionDbOptions,
        name: *const c_char,
        error: *mut *mut c_char,
    ) -> *mut TransactionDb;
    pub fn rocksdb_transactiondb_close(db: *mut TransactionDb);
    pub fn rocksdb_transaction_options_create() -> *mut TransactionOptions;
    pub fn rocksdb_transaction_options_destroy(options: *mut TransactionOptions);
    pub fn rocksdb_transaction_begin(
        db: *mut TransactionDb,
        write_options: *const WriteOptions,
        options: *const TransactionOptions,
        old: *mut Transaction,
    ) -> *mut Transaction;
    pub fn rocksdb_transaction_get_for_update(
        transaction: *mut Transaction,
        options: *const ReadOptions,
        key: *const c_char,
        key_len: usize,
        value_len: *mut usize,
        exclusive: c_uchar,
        error: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_transaction_put(
        transaction: *mut Transaction,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
        error: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_delete(
        transaction: *mut Transaction,
        key: *const c_char,
        key_len: usize,
        error: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_commit(transaction: *mut Transaction, error: *mut *mut c_char);
    pub fn rocksdb_transaction_destroy(transaction: *mut Transaction);

    pub fn rocksdb_flushoptions_create() -> *mut FlushOptions;
    pub fn rocksdb_flushoptions_destroy(options: *mut FlushOptions);
    pub fn rocksdb_flushoptions_set_wait(options: *mut FlushOptions, value: c_uchar);
    pub fn rocksdb_flush(db: *mut Db, options: *const FlushOptions, error: *mut *mut c_char);
    pub fn rocksdb_flush_wal(db: *mut Db, sync: c_uchar, error: *mut *mut c_char);
    pub fn rocksdb_property_int(db: *mut Db, name: *const c_char, out: *mut u64) -> c_int;

    pub fn rocksdb_readoptions_create() -> *mut ReadOptions;
    pub fn rocksdb_readoptions_destroy(options: *mut ReadOptions);
    pub fn rocksdb_get(
        db: *mut Db,
        options: *const ReadOptions,
        key: *const c_char,
        key_len: usize,
        value_len: *mut usize,
        error: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_create_iterator(db: *mut Db, options: *const ReadOptions) -> *mut RawIterator;
    pub fn rocksdb_iter_destroy(iterator: *mut RawIterator);
    pub fn rocksdb_iter_valid(iterator: *const RawIterator) -> c_uchar;
    pub fn rocksdb_iter_seek(iterator: *mut RawIterator, key: *const c_char, key_len: usize);
    pub fn rocksdb_iter_next(iterator: *mut RawIterator);
    pub fn rocksdb_iter_key(iterator: *const RawIterator, len: *mut usize) -> *const c_char;
    pub fn rocksdb_iter_value(iterator: *const RawIterator, len: *mut usize) -> *const c_char;
    pub fn rocksdb_iter_get_error(iterator: *const RawIterator, error: *mut *mut c_char);
}
