//! SQLite as it comes with the program: no server, a file.

use onlap_base::Result;

use super::{Kind, Server, ServerAddress, ServerOptions, io};
use crate::engine::SyncMode;

/// Pages in the log from which on it is written back: 64 MiB, where others have logs of more.
const CHECKPOINT_PAGES: u32 = 16_384;

/// "Starts" it: makes its directory and the file.
pub(super) fn open(options: &ServerOptions<'_>) -> Result<Server> {
    std::fs::create_dir_all(options.dir).map_err(io)?;
    let each = options.memory / 1024 / options.clients.max(1) as u64;
    let synchronous = match options.sync {
        SyncMode::Fsync => "FULL",
        SyncMode::Interval(_) => "NORMAL",
        SyncMode::Os => "OFF",
    };
    let settings = vec![
        "journal_mode=WAL".to_owned(),
        format!("synchronous={synchronous}"),
        // Of every connection; negative is KiB.
        format!("cache_size=-{each}"),
        format!("wal_autocheckpoint={CHECKPOINT_PAGES}"),
    ];
    let file = options.dir.join("lab.db");
    let address = ServerAddress::Sqlite { file, settings: settings.clone() };
    let mut config = settings;
    #[cfg(feature = "sqlite")]
    config.insert(0, format!("SQLite {}, in the bench's own process", rusqlite::version()));
    config.push("times are integers; FOR UPDATE is left out, a writer locks the database".into());
    let server = Server {
        kind: Kind::Sqlite,
        child: None,
        address,
        http: 0,
        config: std::mem::take(&mut config),
        log: None,
        _limit: None,
    };
    server.session()?;
    Ok(server)
}
