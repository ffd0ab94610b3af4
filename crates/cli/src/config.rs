//! `onlap config`: what can be set, and what is?
//!
//! Also reads the settings of `onlap serve`, whose flags come from the registry.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use onlap_base::{Error, ErrorKind, Result};
use onlap_sql::SqlError;
use onlap_sql::settings::{Configuration, Id, Kind, SETTINGS, default_file};

use onlap_process::exit::Outcome;

/// Flags of `onlap config`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Print the settings in force and where each comes from
    Print(Flags),
    /// Print a configuration file with every setting, its default and what it does
    Default,
}

/// Runs `onlap config`.
pub fn run(args: &Args) -> Result<Outcome> {
    match &args.what {
        What::Print(flags) => print!("{}", flags.configuration()?.print()),
        What::Default => print!("{}", default_file()),
    }
    Ok(Outcome::Good)
}

/// The flags that set something.
#[derive(Debug, Default)]
pub struct Flags {
    file: Option<PathBuf>,
    given: Vec<(Id, String)>,
}

/// Flags that have a second name.
const ALIASES: [(&str, &str); 1] = [("data-dir", "dir")];

impl Flags {
    /// Everything together: defaults, the file, the environment, flags.
    pub fn configuration(&self) -> Result<Configuration> {
        let mut configuration = Configuration::default();
        let file = self.file.clone().map(PathBuf::into_os_string);
        let file: Option<OsString> = file.or_else(|| std::env::var_os("ONLAP_CONFIG"));
        if let Some(path) = file {
            let name = path.to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).map_err(|e| {
                Error::new(ErrorKind::InvalidInput, format!("cannot read {name}: {e}"))
            })?;
            configuration.read_file(&name, &text).map_err(wrong)?;
        }
        configuration.read_environment(|name| std::env::var(name).ok()).map_err(wrong)?;
        for (id, text) in &self.given {
            configuration.set_flag(*id, text).map_err(wrong)?;
        }
        Ok(configuration)
    }
}

impl clap::Args for Flags {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new("config").long("config").value_name("FILE");
        let file = file.value_parser(clap::value_parser!(PathBuf));
        let mut command = command.arg(file.help("Read settings from a file; flags win over it"));
        for setting in SETTINGS {
            let Some(flag) = setting.flag else { continue };
            let mut arg = Arg::new(setting.name).long(flag).help(setting.text);
            for (_, alias) in ALIASES.iter().filter(|(name, _)| *name == flag) {
                arg = arg.visible_alias(*alias);
            }
            arg = match setting.kind {
                Kind::Flag => arg.action(ArgAction::SetTrue),
                _ => arg.value_name(value_name(setting.kind)),
            };
            command = command.arg(arg);
        }
        command
    }
    fn augment_args_for_update(command: Command) -> Command {
        Flags::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Flags, clap::Error> {
        let mut flags =
            Flags { file: matches.get_one::<PathBuf>("config").cloned(), given: Vec::new() };
        for setting in SETTINGS.iter().filter(|s| s.flag.is_some()) {
            match setting.kind {
                Kind::Flag if matches.get_flag(setting.name) => {
                    flags.given.push((setting.id, "on".to_string()));
                }
                Kind::Flag => {}
                _ => {
                    let text = matches.get_one::<String>(setting.name);
                    flags.given.extend(text.map(|text| (setting.id, text.clone())));
                }
            }
        }
        Ok(flags)
    }
    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Flags::from_arg_matches(matches)?;
        Ok(())
    }
}

fn value_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Number(..) | Kind::Real(..) => "N",
        Kind::Word(_) => "WORD",
        Kind::Flag | Kind::Text | Kind::Checked(_) => "VALUE",
    }
}

/// An error of the settings or the server as one of the program.
pub fn wrong(e: SqlError) -> Error {
    let hint = e.fields().into_iter().find(|(kind, _)| *kind == b'H');
    let text = match hint {
        Some((_, hint)) => format!("{e}. {hint}"),
        None => e.to_string(),
    };
    Error::new(ErrorKind::InvalidInput, text)
}
