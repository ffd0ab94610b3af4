//! `onlap shell`: statements by hand.
//!
//! A client of a server; for a directory the server is in this process and serves no other client. At a
//! terminal: history, editing, boxes, psql's common commands, Ctrl-C cancels the statement. Otherwise
//! quiet and plain: values with tabs between them, and the first error ends it. Exit codes: 0 success, 1 a
//! statement failed, 2 nothing to connect to, 130 interrupted.

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;

use onlap::{Database, ErrorKind, Options, Result};
use onlap_base::Error;
use onlap_base::clock::{Clock as _, SystemClock};
use onlap_server::{Config, Level, Log, Server};
use onlap_sql::Instance;

use crate::config::wrong;
use client::{Client, Failure, Fields};
use input::{Input, Line};
use onlap_process::exit::Outcome;
use onlap_process::interrupt;
use progress::Waiting;
use table::Shape;
use target::Target;

mod answer;
mod client;
mod commands;
mod copy;
mod describe;
mod input;
mod names;
mod progress;
mod table;
mod target;
mod text;

/// The server that is meant where none is named.
const DEFAULT_URL: &str = "postgres://127.0.0.1:5652/";

/// Flags of `onlap shell`.
#[derive(clap::Args)]
pub struct Args {
    /// A directory, or a server: postgres://user:password@host:port/database?sslmode=require
    #[arg(value_name = "DIR or URL")]
    target: Option<String>,
    /// Run these statements and end; may be given several times
    #[arg(short, long = "command", value_name = "SQL")]
    commands: Vec<String>,
    /// Show rows as JSON: an array of objects for each statement
    #[arg(long)]
    json: bool,
    /// Show rows as CSV, with a line of names for each statement
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// Runs `onlap shell`.
pub fn run(args: &Args) -> Result<Outcome> {
    let named = args.target.as_deref().unwrap_or(DEFAULT_URL);
    let (target, server) = match named.contains("://") {
        true => (Target::parse(named).map_err(|e| Error::new(ErrorKind::InvalidInput, e))?, None),
        false => match inside(Path::new(named))? {
            Ok(server) => (Target::inside(Arc::clone(&server)), Some(server)),
            Err(error) => return Ok(Outcome::NotOpened(error)),
        },
    };
    let place = target.to_string();
    let outcome = match connect(target) {
        Ok(client) => Shell::new(client).run(args),
        Err(e) => {
            let text = format!("cannot connect to {place}: {}", describe_failure(&e));
            let hint = match &e {
                Failure::Broken(_) if args.target.is_none() => "; start one with: onlap serve",
                _ => "",
            };
            Err(Error::new(ErrorKind::NotFound, format!("{text}{hint}")))
        }
    };
    if let Some(server) = server {
        server.stop().map_err(|e| Error::new(ErrorKind::Io, e.to_string()))?;
    }
    outcome
}

/// A server of this process for a directory.
fn inside(dir: &Path) -> Result<std::result::Result<Arc<Server>, Error>> {
    let db = match Database::open(dir, Options::default()) {
        Ok(db) => db,
        Err(error) => return Ok(Err(error)),
    };
    let instance = Instance::open(db).map_err(wrong)?;
    let server = Server::start(instance, Config::default(), Log::stderr(Level::Warn));
    Ok(Ok(Arc::new(server.map_err(wrong)?)))
}

fn connect(target: Target) -> client::Result<Client> {
    let known = target.password.clone().or_else(|| std::env::var("PGPASSWORD").ok());
    let user = target.user.clone();
    Client::connect(target, &mut || known.clone().or_else(|| input::ask_password(&user)))
}

/// A client with what its user chose.
pub(crate) struct Shell {
    client: Client,
    /// Whether a person sits at the terminal.
    interactive: bool,
    expanded: bool,
    timing: bool,
    shape: Shape,
    /// Whether a statement failed.
    failed: bool,
    /// Whether an answer without rows is shown.
    shows_empty: bool,
    /// Whether names may have come since the Tab key learned them.
    names_are_old: bool,
}

/// What comes after a statement or a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Go,
    Quit,
}

impl Shell {
    fn new(client: Client) -> Shell {
        let interactive = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let (expanded, timing, failed) = (false, false, false);
        let shape = Shape::Usual;
        let (shows_empty, names_are_old) = (true, true);
        Shell { client, interactive, expanded, timing, shape, failed, shows_empty, names_are_old }
    }
    fn run(mut self, args: &Args) -> Result<Outcome> {
        self.shape = match (args.json, args.csv) {
            (true, _) => Shape::Json,
            (_, true) => Shape::Csv,
            _ => Shape::Usual,
        };
        let ended = match args.commands.is_empty() {
            true => {
                let mut input = match self.interactive {
                    true => Input::terminal()?,
                    false => Input::standard(),
                };
                if self.interactive {
                    self.greet();
                }
                self.read(&mut input)
            }
            false => {
                self.interactive = false;
                let text: Vec<String> = args.commands.iter().map(|c| format!("{c}\n;")).collect();
                self.read(&mut Input::text(&text.join("\n")))
            }
        };
        match ended {
            _ if !self.interactive && interrupt::requested() => {
                Err(Error::new(ErrorKind::Cancelled, "interrupted"))
            }
            Ok(_) if self.failed && !self.interactive => Ok(Outcome::Finding),
            Ok(_) => Ok(Outcome::Good),
            Err(e) => Err(Error::new(ErrorKind::Io, describe_failure(&e))),
        }
    }
    fn greet(&self) {
        let version = self.client.parameters.iter().find(|(name, _)| name == "server_version");
        let version = version.map(|(_, v)| v.as_str()).unwrap_or("unknown");
        println!("onlap {}, server {version}. \\? tells the commands.", crate::version::SHORT);
    }

    /// Takes statements and commands from an input up to its end.
    fn read(&mut self, input: &mut Input) -> client::Result<Next> {
        let mut text = String::new();
        loop {
            let prompt = match (text::is_blank(&text), self.client.status) {
                (false, _) => "   ... ",
                (_, b'T') => "onlap* ",
                (_, b'E') => "onlap! ",
                _ => "onlap> ",
            };
            self.learn_names(input)?;
            match input.line(prompt) {
                Line::Text(line) => {
                    if text::is_blank(&text) && line.trim_start().starts_with('\\') {
                        text.clear();
                        if self.command(line.trim(), input)? == Next::Quit || self.is_over() {
                            return Ok(Next::Quit);
                        }
                        continue;
                    }
                    text.push_str(&line);
                    text.push('\n');
                    if self.statements(&mut text, input)? == Next::Quit {
                        return Ok(Next::Quit);
                    }
                }
                Line::Interrupted => text.clear(),
                Line::End => {
                    // The last statement of a script needs no semicolon.
                    if !text::is_blank(&text) {
                        self.statement(&text, input)?;
                    }
                    return Ok(Next::Go);
                }
            }
        }
    }
    /// Runs the statements that are complete.
    fn statements(&mut self, text: &mut String, input: &mut Input) -> client::Result<Next> {
        while let Some(end) = text::end_of_statement(text) {
            let rest = text.split_off(end);
            let statement = std::mem::replace(text, rest);
            if !text::is_blank(statement.trim_end().trim_end_matches(';')) {
                input.remember(statement.trim());
                self.statement(&statement, input)?;
            }
            if self.is_over() {
                return Ok(Next::Quit);
            }
        }
        Ok(Next::Go)
    }
    /// Runs one statement and shows what it gives.
    fn statement(&mut self, sql: &str, input: &mut Input) -> client::Result<()> {
        let begun = SystemClock.monotonic_ns();
        self.client.query(sql)?;
        self.client.waiting = self.interactive.then(Waiting::new);
        let answered = self.answers(input);
        if let Some(mut waiting) = self.client.waiting.take() {
            waiting.clear();
        }
        answered?;
        if self.timing {
            let ns = SystemClock.monotonic_ns().saturating_sub(begun);
            println!("Time: {:.3} ms", ns as f64 / 1e6);
        }
        Ok(())
    }
    /// Whether a script has come to its end, by an error or by Ctrl-C.
    fn is_over(&self) -> bool {
        !self.interactive && (self.failed || interrupt::requested())
    }
    /// Tells of an error of a statement or command.
    fn report(&mut self, failure: &Failure) {
        self.failed = true;
        eprintln!("{}", describe_failure(failure));
    }
}

/// A text of the database's, whose control characters do not reach the terminal.
fn harmless(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c })
        .collect()
}

/// What went wrong, for people.
fn describe_failure(failure: &Failure) -> String {
    let text = match failure {
        Failure::Broken(text) => text.clone(),
        Failure::Refused(fields) => {
            let get = |kind| fields.get(kind).unwrap_or_default();
            let mut out = format!("{} {}: {}", get(b'S'), get(b'C'), get(b'M'));
            for (kind, name) in [(b'D', "detail"), (b'H', "hint"), (b'P', "at character")] {
                if let Some(text) = fields.get(kind) {
                    out.push_str(&format!("\n  {name}: {text}"));
                }
            }
            out
        }
    };
    harmless(&text)
}

/// Tells what the server notes next to its answer.
fn print_notice(fields: &Fields) {
    let (severity, text) = (fields.get(b'S').unwrap_or("NOTICE"), fields.get(b'M'));
    eprintln!("{severity}: {}", harmless(text.unwrap_or_default()));
}
