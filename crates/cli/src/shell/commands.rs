//! What do commands with a backslash do?

use super::client::{self, Failure};
use super::input::Input;
use super::table::Shape;
use super::{Next, Shell, copy, describe};

const HELP: &str = "\
statements end with a semicolon; Ctrl-C cancels, Ctrl-D ends
  \\d [NAME]     tables, views and sequences, or all about one of them; Tab completes names
  \\dt \\di \\dv \\dm \\ds \\dP [PATTERN]   tables, indexes, views, materialized views, sequences, partitioned tables
  \\df \\da \\do \\dT \\dD \\dC [PATTERN]   functions, aggregates, operators, types, domains, casts
  \\dn \\du \\l \\dx \\dL [PATTERN]   schemas, roles, databases, extensions, languages
  \\dp \\ddp \\drds \\dconfig [PATTERN]   privileges, default privileges, settings of roles, settings
  \\d...         all others of psql; S shows the system's as well, + more of each
  \\sf \\sv NAME the text of a function or a view
  \\ledger [--json|--csv] [NAME]   what indexes cost and what they are good for, of a table or all
  \\advise [--json|--csv] [NAME]   indexes that are not needed, or missing
  \\x            one value per line, or not
  \\timing       tell how long statements take, or not
  \\copy TABLE FROM|TO FILE [OPTIONS]   a file of this side
  \\i FILE       run a file
  \\echo TEXT    print a text
  \\conninfo     where we are
  \\q            end";

impl Shell {
    /// Runs a command, which begins with a backslash.
    pub(super) fn command(&mut self, line: &str, input: &mut Input) -> client::Result<Next> {
        input.remember(line);
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match name {
            "\\q" | "\\quit" => return Ok(Next::Quit),
            "\\?" | "\\h" | "\\help" => println!("{HELP}"),
            "\\x" => {
                self.expanded = chosen(rest, self.expanded);
                self.say(&format!("Expanded display is {}.", word(self.expanded)));
            }
            "\\timing" => {
                self.timing = chosen(rest, self.timing);
                self.say(&format!("Timing is {}.", word(self.timing)));
            }
            "\\echo" => println!("{rest}"),
            "\\conninfo" => {
                self.statement("SELECT current_user, current_database(), version()", input)?;
            }
            "\\i" | "\\ir" => return self.include(rest),
            "\\copy" => self.copy(rest, input)?,
            "\\ledger" | "\\advise" => self.figures(&name[1..], rest, input)?,
            _ => match describe::statements(&name[1..], rest) {
                Some(statements) => self.describe(&statements, input)?,
                None => {
                    let text = format!("{name} is no command; \\? tells which there are");
                    self.report(&Failure::Broken(text));
                }
            },
        }
        Ok(Next::Go)
    }

    /// Shows what statements say, the first in any case and the others where they say something.
    fn describe(&mut self, statements: &[String], input: &mut Input) -> client::Result<()> {
        let before = std::mem::take(&mut self.failed);
        for (nth, sql) in statements.iter().enumerate() {
            self.shows_empty = nth == 0;
            let ran = self.statement(sql, input);
            self.shows_empty = true;
            ran?;
            // The others would fail in the same way.
            if self.failed {
                break;
            }
        }
        self.failed |= before;
        Ok(())
    }

    /// Figures of indexes, for people or, as the views have them, for programs.
    fn figures(&mut self, command: &str, rest: &str, input: &mut Input) -> client::Result<()> {
        let (shape, name) = match rest.split_once(char::is_whitespace).unwrap_or((rest, "")) {
            ("--json", name) => (Shape::Json, name),
            ("--csv", name) => (Shape::Csv, name),
            _ => (self.shape, rest),
        };
        let name = name.trim().trim_end_matches(';');
        if name.starts_with("--") {
            let text = format!("usage: \\{command} [--json|--csv] [TABLE or INDEX]");
            self.report(&Failure::Broken(text));
            return Ok(());
        }
        let before = std::mem::replace(&mut self.shape, shape);
        let sql = match command {
            "ledger" => describe::ledger(name, shape != Shape::Usual),
            _ => describe::advice(name, shape != Shape::Usual),
        };
        let ran = self.statement(&sql, input);
        self.shape = before;
        ran
    }
    fn include(&mut self, file: &str) -> client::Result<Next> {
        match Input::file(file.trim_matches('\'')) {
            Ok(mut lines) => self.read(&mut lines),
            Err(e) => {
                self.report(&Failure::Broken(format!("{file}: {e}")));
                Ok(Next::Go)
            }
        }
    }
    fn copy(&mut self, rest: &str, input: &mut Input) -> client::Result<()> {
        match copy::parse(rest) {
            Some(copy) => match copy.file.clone() {
                Some(file) => self.copy_file(&copy, &file),
                None => self.statement(&copy.sql, input),
            },
            None => {
                let text = "usage: \\copy TABLE [(COLUMNS)] | (QUERY) FROM | TO FILE [OPTIONS]";
                self.report(&Failure::Broken(text.to_string()));
                Ok(())
            }
        }
    }
    fn say(&self, text: &str) {
        if self.interactive {
            println!("{text}");
        }
    }
}

/// On or off as said, or the other of what is.
fn chosen(text: &str, now: bool) -> bool {
    match text {
        "on" => true,
        "off" => false,
        _ => !now,
    }
}

fn word(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}
