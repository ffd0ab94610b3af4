//! What does the program tell of its own flags, to other programs?
//!
//! Completions for shells, manual pages, and `docs/cli.md`, all from the same description that parses the flags. Nothing
//! here opens a database.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use onlap_base::{Error, ErrorKind, Result};
use onlap_process::exit::Outcome;

use crate::Cli;

/// Flags of `onlap completions`.
#[derive(clap::Args)]
pub struct CompletionArgs {
    /// The shell that is to complete
    shell: Shell,
}

/// Flags of `onlap reference`.
#[derive(clap::Args)]
pub struct Args {
    /// Write manual pages into this directory, in place of Markdown to standard output
    #[arg(long, value_name = "DIR")]
    man: Option<PathBuf>,
}

/// Runs `onlap completions`.
pub fn completions(args: &CompletionArgs) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "onlap", &mut script);
    print(&script)
}

/// Runs `onlap reference`.
pub fn run(args: &Args) -> Result<Outcome> {
    let mut command = Cli::command();
    command.build();
    match &args.man {
        Some(dir) => pages(dir, command).map(|()| Outcome::Good),
        None => print(markdown(&command).as_bytes()),
    }
}

/// A reader that has seen enough, such as `head`, is no failure.
fn print(text: &[u8]) -> Result<Outcome> {
    match std::io::stdout().write_all(text) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(e.into()),
        _ => Ok(Outcome::Good),
    }
}

/// `onlap.1`, `onlap-serve.1` and so on.
fn pages(dir: &Path, command: Command) -> Result<()> {
    let failed = |e: std::io::Error| {
        Error::new(ErrorKind::Io, format!("cannot write manual pages to {}: {e}", dir.display()))
    };
    std::fs::create_dir_all(dir).map_err(failed)?;
    clap_mangen::generate_to(command, dir).map_err(failed)
}

/// The page of all commands.
fn markdown(command: &Command) -> String {
    let mut page = "# Commands\n\n\
        Written by `ONLAP_BLESS=1 cargo test -p onlap-cli --test reference` from the flags themselves. `onlap COMMAND \
        --help` says the\nsame in a terminal; `onlap completions bash` (or zsh, fish, elvish, powershell) prints what a \
        shell needs to complete them.\n\n\
        Exit codes: 0 success, 1 a finding or failure, 2 wrong usage or nothing to open, 130 interrupted.\n"
        .to_owned();
    for sub in visible(command) {
        describe(&mut page, sub, &format!("onlap {}", sub.get_name()), 2);
    }
    page
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

/// One command, and those below it.
fn describe(page: &mut String, command: &Command, name: &str, level: usize) {
    let about = command.get_about().map(|text| format!("{text}.\n")).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    write!(page, "\n{} {name}\n\n{about}\n```\n{usage}\n```\n", "#".repeat(level))
        .expect("writing to a string cannot fail");
    let arguments = command.get_arguments().filter(|a| !a.is_hide_set() && a.get_id() != "help");
    let rows: Vec<String> = arguments.map(row).collect();
    if !rows.is_empty() {
        write!(page, "\n| argument | what |\n|---|---|\n{}", rows.concat())
            .expect("writing to a string cannot fail");
    }
    for sub in visible(command) {
        describe(page, sub, &format!("{name} {}", sub.get_name()), level + 1);
    }
}

/// `| --flag VALUE | What it does. |`
fn row(argument: &clap::Arg) -> String {
    let values = argument.get_value_names().unwrap_or_default();
    let values = values.iter().map(|value| format!(" {value}")).collect::<String>();
    let takes = argument.get_action().takes_values();
    let name = match argument.get_long() {
        Some(long) if takes => format!("--{long}{values}"),
        Some(long) => format!("--{long}"),
        None => values.trim_start().to_owned(),
    };
    let text = argument.get_long_help().or(argument.get_help());
    let text = text.map(|text| text.to_string().replace('\n', " ")).unwrap_or_default();
    let defaults = argument.get_default_values().iter();
    let default = defaults.map(|value| value.to_string_lossy()).collect::<Vec<_>>().join(",");
    let default = match default.is_empty() || !takes {
        true => String::new(),
        false => format!(" [default: `{default}`]"),
    };
    format!("| `{name}` | {}{default} |\n", text.replace('|', "\\|"))
}
