//! Which two sessions carry a script out, and from which beginning?
//!
//! [`Setup`] makes the beginning once: a database of PostgreSQL that is a template, a directory of Onlap that is copied.
//! A [`Pair`] is a database of its own in each, with a session and its variables.

use std::path::{Path, PathBuf};

use onlap_testkit::simple::{Outcome, SimpleClient};
use tempfile::TempDir;

use super::run;
use super::variables::Variables;
use crate::served::{Postgres, Served};

/// What PostgreSQL's own runner sets, so that values are written as its scripts expect, and a statement that takes longer says nothing.
const SETTINGS: &[(&str, &str)] = &[
    ("TimeZone", "PST8PDT"),
    ("DateStyle", "Postgres, MDY"),
    ("IntervalStyle", "postgres_verbose"),
    ("statement_timeout", "20s"),
];
const FLAGS: &[&str] = &["--memory-limit", "1GiB", "--sync", "os"];
const SUPERUSER: &str = "postgres";
const DATABASE: &str = "regression";
const TEMPLATE: &str = "regression_setup";

/// Names of the two systems' sessions in a [`Pair`].
pub const OURS: usize = 0;
/// PostgreSQL's.
pub const THEIRS: usize = 1;

/// What scripts begin from.
#[derive(Debug)]
pub struct Setup {
    postgres: Postgres,
    /// A copy of Onlap's directory, if there was something to make.
    made: TempDir,
    data: PathBuf,
}

/// A session of each system.
#[derive(Debug)]
pub struct Pair {
    served: Served,
    port: u16,
    database: String,
    clients: [SimpleClient; 2],
    role: String,
    /// Variables of the script, of each system.
    pub variables: [Variables; 2],
    /// The folder above `data`.
    pub data: PathBuf,
}

impl Setup {
    /// Carries a script out that makes what others read.
    ///
    /// # Errors
    /// A server does not start.
    pub fn make(folder: &Path, script: Option<&str>) -> Result<Setup, String> {
        let postgres = Postgres::start();
        let made = tempfile::tempdir().map_err(|e| e.to_string())?;
        let folder = folder.canonicalize().map_err(|e| format!("{}: {e}", folder.display()))?;
        let above = folder.parent().unwrap_or(&folder).to_owned();
        let data = if folder.join("data").is_dir() { folder } else { above };
        let setup = Setup { postgres, made, data };
        setup.ask(&format!("create database {TEMPLATE}"))?;
        let served = Served::start(FLAGS)?;
        let mut pair = setup.pair(served, TEMPLATE)?;
        if let Some(script) = script {
            run::script(&mut pair, super::SETUP, script)?;
        }
        let Pair { mut served, clients, .. } = pair;
        drop(clients);
        served.kill();
        crate::served::copy(&served.folder(), &setup.made.path().join("db"))
            .map_err(|e| e.to_string())?;
        Ok(setup)
    }

    /// A database of each system as the script made it.
    ///
    /// # Errors
    /// A server does not start.
    pub fn begin(&self) -> Result<Pair, String> {
        self.ask(&format!("drop database if exists {DATABASE} with (force)"))?;
        for role in self.ask("select rolname from pg_roles where oid > 16383")?.rows {
            // One that owns something elsewhere stays.
            let name = role[0].as_deref().unwrap_or_default();
            let _ = self.ask(&format!("drop role \"{name}\""));
        }
        self.ask(&format!("create database {DATABASE} template {TEMPLATE}"))?;
        let served = Served::start_on_copy(&self.made.path().join("db"), FLAGS)?;
        self.pair(served, DATABASE)
    }

    fn ask(&self, sql: &str) -> Result<Outcome, String> {
        let port = self.postgres.port();
        let client = SimpleClient::connect(port, SUPERUSER, SUPERUSER);
        let outcome = client.and_then(|mut client| client.run(sql)).map_err(|e| e.to_string())?;
        match outcome.error {
            Some((state, text)) => Err(format!("{sql}: {state}: {text}")),
            None => Ok(outcome),
        }
    }

    fn pair(&self, served: Served, database: &str) -> Result<Pair, String> {
        let port = self.postgres.port();
        let database = database.to_owned();
        let role = SUPERUSER.to_owned();
        let clients = connect([served.port(), port], &role, &database)?;
        let variables = Default::default();
        Ok(Pair { served, port, database, clients, role, variables, data: self.data.clone() })
    }
}

impl Pair {
    /// The session of a system.
    pub fn client(&mut self, side: usize) -> &mut SimpleClient {
        &mut self.clients[side]
    }

    /// New sessions of a role, or of the same; the old ones stay where there is no such role.
    ///
    /// # Errors
    /// There are none any more.
    pub fn reconnect(&mut self, role: Option<&str>) -> Result<(), String> {
        self.served.lives()?;
        let ports = [self.served.port(), self.port];
        let role = role.unwrap_or(&self.role).to_owned();
        if let Ok(clients) = connect(ports, &role, &self.database) {
            (self.clients, self.role) = (clients, role);
            return Ok(());
        }
        self.clients = connect(ports, &self.role, &self.database)?;
        Ok(())
    }

    /// The same after Onlap's session was lost, with its process if that has ended.
    ///
    /// # Errors
    /// It does not start again.
    pub fn revive(&mut self) -> Result<(), String> {
        if self.served.lives().is_err() {
            self.served.kill_and_restart()?;
        }
        self.reconnect(None)
    }
}

fn connect(ports: [u16; 2], role: &str, database: &str) -> Result<[SimpleClient; 2], String> {
    // Databases are namespaces of Onlap's; a script has one.
    let ours = SimpleClient::connect_with(ports[OURS], role, SUPERUSER, SETTINGS);
    let theirs = SimpleClient::connect_with(ports[THEIRS], role, database, SETTINGS);
    let told = |e: std::io::Error| format!("role {role}: {e}");
    Ok([ours.map_err(told)?, theirs.map_err(told)?])
}
