//! PostgreSQL 15 as Debian has it.

use std::path::PathBuf;
use std::process::Command;

use onlap_base::{Error, ErrorKind, Result};

use super::{Prepared, ServerAddress, ServerOptions, as_user, failed, free_port, give_to, io};
use crate::engine::SyncMode;

const USER: &str = "postgres";

pub(super) fn prepare(options: &ServerOptions<'_>) -> Result<Prepared> {
    let (bin, port) = (bin()?, free_port()?);
    let dir = options.dir;
    if !dir.join("PG_VERSION").exists() {
        std::fs::create_dir_all(dir).map_err(io)?;
        let mut init = Command::new(bin.join("initdb"));
        init.args(["--locale=C", "--encoding=UTF8", "-U", USER, "--auth=trust", "-D"]).arg(dir);
        give_to(dir, USER)?;
        let output = as_user(&mut init, USER).output().map_err(io)?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(failed(format!("initdb failed: {text}")));
        }
    }
    let config = settings(options.memory, options.sync);
    let mut command = Command::new(bin.join("postgres"));
    command.arg("-D").arg(dir).args(["-p", &port.to_string()]);
    command.args(["-c", "listen_addresses=127.0.0.1"]);
    command.args(["-c", &format!("unix_socket_directories={}", dir.display())]);
    for setting in &config {
        command.args(["-c", setting]);
    }
    as_user(&mut command, USER);
    let address = ServerAddress::Postgres { url: super::onlap::url(port), port };
    Ok(Prepared { command, address, http: 0, config })
}

fn settings(memory: u64, sync: SyncMode) -> Vec<String> {
    let (durable, commit) = match sync {
        SyncMode::Fsync => ("on", "on"),
        SyncMode::Interval(_) => ("on", "off"),
        SyncMode::Os => ("off", "on"),
    };
    vec![
        format!("shared_buffers={}kB", memory / 1024),
        format!("fsync={durable}"),
        format!("synchronous_commit={commit}"),
        // As published tests tune it: checkpoints by time, spread out.
        "max_wal_size=8GB".into(),
        "checkpoint_timeout=15min".into(),
        "checkpoint_completion_target=0.9".into(),
        "max_connections=200".into(),
        "timezone=UTC".into(),
    ]
}

/// Debian's place for PostgreSQL 15's programs.
pub(super) fn bin() -> Result<PathBuf> {
    let dir = PathBuf::from("/usr/lib/postgresql/15/bin");
    match dir.join("initdb").exists() {
        true => Ok(dir),
        false => Err(Error::new(
            ErrorKind::Unsupported,
            "PostgreSQL 15 is missing: apt-get install postgresql-15",
        )),
    }
}
