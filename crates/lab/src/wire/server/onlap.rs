//! Onlap's own server: this binary.

use std::process::Command;

use onlap_base::Result;

use super::{Prepared, ServerAddress, ServerOptions, free_port, io};

pub(super) fn prepare(options: &ServerOptions<'_>) -> Result<Prepared> {
    let (port, http) = (free_port()?, free_port()?);
    let settings =
        [("--memory-limit", options.memory.to_string()), ("--sync", options.sync.to_string())];
    let mut command = Command::new(std::env::current_exe().map_err(io)?);
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

/// Of a server on loopback.
pub(super) fn url(port: u16) -> String {
    format!("host=127.0.0.1 port={port} user=postgres dbname=postgres")
}
