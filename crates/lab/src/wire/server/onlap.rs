//! Onlap's own server: the `onlap` beside this program.

use std::path::PathBuf;
use std::process::Command;

use onlap_base::{Error, ErrorKind, Result};

use super::{Prepared, ServerAddress, ServerOptions, free_port, io};

pub(super) fn prepare(options: &ServerOptions<'_>) -> Result<Prepared> {
    let (port, http) = (free_port()?, free_port()?);
    let settings =
        [("--memory-limit", options.memory.to_string()), ("--sync", options.sync.to_string())];
    let mut command = Command::new(program()?);
    command
        .arg("serve")
        .args(["--listen", &format!("127.0.0.1:{port}")])
        .args(["--http", &format!("127.0.0.1:{http}")])
        .arg("--data-dir")
        .arg(options.dir);
    for (flag, value) in &settings {
        command.args([*flag, value.as_str()]);
    }
    Ok(Prepared {
        command,
        address: ServerAddress::Postgres { url: url(port), port },
        http,
        config: settings.map(|(flag, value)| format!("{flag} {value}")).to_vec(),
    })
}

/// Where the binary is: what the environment variable `ONLAP_PROGRAM` names, or the one beside this program.
pub(super) fn program() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("ONLAP_PROGRAM") {
        return Ok(PathBuf::from(path));
    }
    let path = std::env::current_exe().map_err(io)?.with_file_name("onlap");
    if path.is_file() {
        return Ok(path);
    }
    let text = format!("there is no {}: build it, or name it in ONLAP_PROGRAM", path.display());
    Err(Error::new(ErrorKind::NotFound, text))
}

/// Of a server on loopback.
pub(super) fn url(port: u16) -> String {
    format!("host=127.0.0.1 port={port} user=postgres dbname=postgres")
}
