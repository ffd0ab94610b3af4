//! `onlap backup` and `onlap restore`: a copy of a database, and a database from it.
//!
//! Wiring and words only; how it is done stands at [`onlap::Database::backup`].

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use onlap::{
    BackupOptions, BackupProgress, BackupReport, Database, Error, ErrorKind, Options,
    RestoreOptions, RestoreReport, Result,
};
use onlap_lab::units;
use serde_json::json;

use crate::check;
use onlap_process::exit::Outcome;
use onlap_process::interrupt;

/// Flags of `onlap backup`.
#[derive(clap::Args)]
pub struct BackupArgs {
    /// The database's directory; no process may have it open
    source: PathBuf,
    /// A new or empty directory
    dest: PathBuf,
    /// Copy all files, also where hard links would do
    #[arg(long)]
    copy: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Flags of `onlap restore`.
#[derive(clap::Args)]
pub struct RestoreArgs {
    /// The backup's directory
    backup: PathBuf,
    /// A new or empty directory
    dir: PathBuf,
    /// Do not check the restored database
    #[arg(long)]
    no_verify: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `onlap backup`.
pub fn backup(args: &BackupArgs) -> Result<Outcome> {
    let options = Options { background_jobs: 0, ..Options::default() }.create(false);
    let db = match Database::open(&args.source, options) {
        Ok(db) => db,
        Err(e) if e.kind() == ErrorKind::Corruption => return Err(e),
        Err(e) => return Ok(Outcome::NotOpened(e)),
    };
    let mut line = ProgressLine::new();
    let mut tell = |at: &BackupProgress| line.tell(at);
    let options = BackupOptions { copy: args.copy, progress: Some(&mut tell) };
    let result = db.backup_with(&args.dest, options);
    line.end();
    match result {
        Ok(report) => print_backup(&report, args),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => return Ok(Outcome::NotOpened(e)),
        Err(e) => return Err(e),
    }
    Ok(Outcome::Good)
}

fn print_backup(r: &BackupReport, args: &BackupArgs) {
    if args.json {
        let value = json!({
            "csn": r.csn,
            "unix_us": r.unix_us,
            "tables": r.tables,
            "files": r.files,
            "linked_bytes": r.linked_bytes,
            "copied_bytes": r.copied_bytes,
        });
        println!("{value:#}");
        return;
    }
    println!(
        "{} holds {} as of commit {}: {} tables, {} files, {} linked, {} copied",
        args.dest.display(),
        args.source.display(),
        r.csn,
        r.tables,
        units::grouped(r.files),
        units::size(r.linked_bytes),
        units::size(r.copied_bytes)
    );
}

/// Runs `onlap restore`.
pub fn restore(args: &RestoreArgs) -> Result<Outcome> {
    let mut line = ProgressLine::new();
    let mut tell = |at: &BackupProgress| line.tell(at);
    let options = RestoreOptions {
        verify: !args.no_verify,
        progress: Some(&mut tell),
        ..RestoreOptions::default()
    };
    let result = onlap::restore(&args.backup, &args.dir, options);
    line.end();
    let report = match result {
        Ok(report) => report,
        Err(e) if e.kind() == ErrorKind::AlreadyExists => return Ok(Outcome::NotOpened(e)),
        Err(e) => return Err(e),
    };
    print_restore(&report, &args.dir, args.json);
    Ok(match report.check {
        Some(check) if !check.findings.is_empty() => Outcome::Finding,
        _ => Outcome::Good,
    })
}

fn print_restore(r: &RestoreReport, dir: &Path, as_json: bool) {
    if as_json {
        let check = r.check.as_ref().map(check::to_json);
        println!("{:#}", json!({"files": r.files, "bytes": r.bytes, "check": check}));
        return;
    }
    let (files, bytes) = (units::grouped(r.files), units::size(r.bytes));
    println!("{} restored: {files} files, {bytes}", dir.display());
    match &r.check {
        Some(report) => check::print(report),
        None => println!("not checked"),
    }
}

/// One line on a terminal that is written over; nothing elsewhere.
struct ProgressLine {
    shown: Option<Instant>,
    on: bool,
}

impl ProgressLine {
    fn new() -> ProgressLine {
        ProgressLine { shown: None, on: std::io::stderr().is_terminal() }
    }

    /// Ends the work when the user has asked for that.
    fn tell(&mut self, at: &BackupProgress) -> Result<()> {
        if interrupt::requested() {
            return Err(Error::new(ErrorKind::Cancelled, "interrupted; nothing is left of it"));
        }
        let due = self.shown.is_none_or(|t| t.elapsed() > Duration::from_millis(200));
        if self.on && due {
            self.shown = Some(Instant::now());
            let (done, all) = (units::size(at.bytes_done), units::size(at.bytes));
            eprint!("\r{} of {} files, {done} of {all}\x1b[K", at.files_done, at.files);
            let _ = std::io::stderr().flush();
        }
        Ok(())
    }

    fn end(&self) {
        if self.shown.is_some() {
            eprint!("\r\x1b[K");
        }
    }
}
