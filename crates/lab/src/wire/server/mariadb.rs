//! MariaDB as Debian has it, with InnoDB or RocksDB as its engine.
//!
//! Every kind gets the same memory in all: RocksDB's is split between block cache and memtables, InnoDB
//! keeps the few megabytes that it starts with. Log files and checkpoints are sized so that bursts do not
//! wait for them.

use std::path::Path;
use std::process::Command;

use onlap_base::{Error, ErrorKind, Result};

use super::{
    Kind, Prepared, ServerAddress, ServerOptions, as_user, failed, free_port, give_to, io,
};
use crate::engine::SyncMode;
use crate::wire::session::Address;

const USER: &str = "mysql";
const SERVER: &str = "/usr/sbin/mariadbd";
const INSTALL: &str = "/usr/bin/mariadb-install-db";
const ROCKSDB: &str = "/usr/lib/mysql/plugin/ha_rocksdb.so";

/// Fails with what to install.
pub(super) fn check(kind: Kind) -> Result<()> {
    let missing = |text: &str| Err(Error::new(ErrorKind::Unsupported, text));
    if !Path::new(SERVER).exists() || !Path::new(INSTALL).exists() {
        return missing("MariaDB is missing: apt-get install mariadb-server");
    }
    if is_rocksdb(kind) && !Path::new(ROCKSDB).exists() {
        return missing("MyRocks is missing: apt-get install mariadb-plugin-rocksdb");
    }
    Ok(())
}

fn is_rocksdb(kind: Kind) -> bool {
    matches!(kind, Kind::Myrocks | Kind::MyrocksZstd)
}

pub(super) fn prepare(kind: Kind, options: &ServerOptions<'_>) -> Result<Prepared> {
    let dir = options.dir;
    if !dir.join("mysql").exists() {
        install(dir)?;
    }
    let socket = dir.join("s");
    // What the kernel takes for the name of a socket.
    const NAME_MAX: usize = 107;
    if socket.as_os_str().len() > NAME_MAX {
        let text = format!("{}: a socket's path has at most {NAME_MAX} bytes", socket.display());
        return Err(Error::new(ErrorKind::InvalidInput, text));
    }
    let mut config = settings(kind, options.memory, options.sync);
    let mut command = Command::new(SERVER);
    command.arg("--no-defaults").arg(format!("--datadir={}", dir.display()));
    command.arg(format!("--socket={}", socket.display()));
    command.arg(format!("--pid-file={}", dir.join("pid").display()));
    command.arg(format!("--tmpdir={}", dir.display()));
    // Clients come by TCP, as those of the other servers: a Unix socket saves part of each round trip.
    let port = free_port()?;
    command.args(["--bind-address=127.0.0.1".to_owned(), format!("--port={port}")]);
    command.args(config.iter().map(|setting| format!("--{setting}")));
    if is_rocksdb(kind) {
        // RocksDB's blocks come and go between threads, which the system's allocator keeps an arena each for.
        command.env("MALLOC_ARENA_MAX", "2");
        config.push("MALLOC_ARENA_MAX=2 in its environment".into());
    }
    as_user(&mut command, USER);
    let address = ServerAddress::Mysql(Address::Private(port));
    Ok(Prepared { command, address, http: 0, config })
}

/// Makes the system's tables, and the database `test`.
fn install(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(io)?;
    give_to(dir, USER)?;
    let mut install = Command::new(INSTALL);
    install
        .args(["--no-defaults", "--auth-root-authentication-method=normal"])
        .args(["--skip-name-resolve", "--innodb-log-file-size=10M", "--innodb-fast-shutdown=0"])
        .arg(format!("--datadir={}", dir.display()))
        // Whoever starts removes the temporary tables that it finds, also those of others.
        .env("TMPDIR", dir);
    let output = as_user(&mut install, USER).output().map_err(io)?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&said).into_owned();
            Err(failed(format!("mariadb-install-db failed: {text}")))
        }
    }
}

fn settings(kind: Kind, memory: u64, sync: SyncMode) -> Vec<String> {
    let mut settings: Vec<String> = [
        "skip-log-bin",
        "skip-name-resolve",
        "performance-schema=OFF",
        "character-set-server=latin1",
        "collation-server=latin1_bin",
        // RocksDB has no gap locks; all engines run at the same level.
        "transaction-isolation=READ-COMMITTED",
        "default-time-zone=+00:00",
        "max-connections=200",
        "max-prepared-stmt-count=100000",
        "key-buffer-size=1M",
        "aria-pagecache-buffer-size=1M",
        "innodb-flush-method=O_DIRECT",
        "innodb-flush-neighbors=0",
    ]
    .map(str::to_owned)
    .to_vec();
    match is_rocksdb(kind) {
        true => settings.extend(rocksdb_settings(kind, memory, sync)),
        false => settings.extend(innodb_settings(kind, memory, sync)),
    }
    settings
}

/// A commit is in the log's file (2) and, in mode fsync, on the disk (1).
fn at_commit(sync: SyncMode) -> u8 {
    if sync == SyncMode::Fsync { 1 } else { 2 }
}

fn innodb_settings(kind: Kind, memory: u64, sync: SyncMode) -> Vec<String> {
    const MIB: u64 = 1 << 20;
    let changes = if kind == Kind::InnodbChangeBuffer { "all" } else { "none" };
    let log = (memory * 4).clamp(96 * MIB, 1024 * MIB);
    vec![
        "default-storage-engine=InnoDB".into(),
        format!("innodb-buffer-pool-size={}M", (memory / MIB).max(8)),
        format!("innodb-flush-log-at-trx-commit={}", at_commit(sync)),
        format!("innodb-change-buffering={changes}"),
        format!("innodb-log-file-size={}M", log / MIB),
        "innodb-log-buffer-size=16M".into(),
        "innodb-io-capacity=1000".into(),
        "innodb-io-capacity-max=4000".into(),
        "innodb-max-dirty-pages-pct=80".into(),
        "innodb-max-dirty-pages-pct-lwm=60".into(),
        "innodb-stats-auto-recalc=OFF".into(),
    ]
}

fn rocksdb_settings(kind: Kind, memory: u64, sync: SyncMode) -> Vec<String> {
    const MIB: u64 = 1 << 20;
    // Two fifths for memtables, of which four fit; the rest for blocks.
    let memtables = (memory * 2 / 5).max(16 * MIB);
    let one = memtables / 4 / MIB;
    let blocks = (memory - memory * 2 / 5) / MIB;
    let bottom = if kind == Kind::MyrocksZstd { "kZSTD" } else { "kLZ4Compression" };
    // A whole filter is larger than a shard of so small a cache: each key looked up would read it again.
    let families = format!(
        "write_buffer_size={one}m;target_file_size_base=32m;max_bytes_for_level_base=128m;\
         level0_file_num_compaction_trigger=4;level0_slowdown_writes_trigger=20;\
         level0_stop_writes_trigger=30;max_write_buffer_number=4;\
         compression=kLZ4Compression;bottommost_compression={bottom};\
         level_compaction_dynamic_level_bytes=true;\
         block_based_table_factory={{cache_index_and_filter_blocks=1;\
         filter_policy=bloomfilter:10:false;whole_key_filtering=1;block_size=16384;\
         index_type=kTwoLevelIndexSearch;partition_filters=1;metadata_block_size=4096;\
         pin_l0_filter_and_index_blocks_in_cache=1}}"
    );
    vec![
        "plugin-load-add=ha_rocksdb.so".into(),
        "default-storage-engine=ROCKSDB".into(),
        "innodb-buffer-pool-size=8M".into(),
        "innodb-log-file-size=10M".into(),
        format!("rocksdb-block-cache-size={}M", blocks.max(8)),
        format!("rocksdb-db-write-buffer-size={memtables}"),
        // As they come, creating an index takes 64 MiB per buffer and 1 GiB where these are merged.
        format!("rocksdb-merge-buf-size={}", memory / 64),
        format!("rocksdb-merge-combine-read-size={}", memory / 16),
        format!("rocksdb-flush-log-at-trx-commit={}", at_commit(sync)),
        "rocksdb-max-background-jobs=2".into(),
        "rocksdb-bytes-per-sync=1M".into(),
        "rocksdb-wal-bytes-per-sync=1M".into(),
        format!("rocksdb-default-cf-options={families}"),
    ]
}
