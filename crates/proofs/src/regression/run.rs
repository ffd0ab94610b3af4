//! How is a script carried out by both systems?
//!
//! Statement by statement, each with the values of its system's variables. Rows for COPY FROM STDIN are given to both, and are
//! read as statements where PostgreSQL does not want them, as psql does. Of psql's commands those are followed that decide what is sent; others are
//! skipped, and counted where they would send something.

use std::io;

use onlap_testkit::simple::{Outcome, SimpleClient};

use super::judge::{self, Verdict};
use super::pair::{OURS, Pair, THEIRS};
use super::roots::Roots;
use super::script::{Command, Item, Script, Statement};

/// A statement and what came of it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The script.
    pub file: String,
    /// The line on which it begins.
    pub line: usize,
    /// Its text.
    pub text: String,
    /// What came of it.
    pub verdict: Verdict,
    /// What Onlap answered.
    pub ours: Outcome,
    /// What PostgreSQL answered.
    pub theirs: Outcome,
    /// The error of Onlap that it comes from; its own, or that of a statement before it.
    pub root: Option<String>,
}

struct Running<'a> {
    pair: &'a mut Pair,
    file: &'a str,
    script: Script<'a>,
    judged: Vec<Judged>,
    skipped: usize,
    roots: Roots,
    /// Of each `\if` around: whether its statements are carried out, and whether one of its branches was.
    conditions: Vec<(bool, bool)>,
}

/// Carries a script out; says also how many statements were skipped.
///
/// # Errors
/// A server does not start again.
pub fn script(pair: &mut Pair, file: &str, text: &str) -> Result<(Vec<Judged>, usize), String> {
    let script = Script::new(text);
    let (roots, conditions) = (Roots::default(), Vec::new());
    let mut running =
        Running { pair, file, script, judged: Vec::new(), skipped: 0, roots, conditions };
    while let Some(item) = running.script.next_item() {
        let is_open = running.conditions.iter().all(|(open, _)| *open);
        match item {
            Item::Command(command) => {
                if running.command(&command, is_open)? {
                    break;
                }
            }
            Item::Statement(statement) if is_open => running.statement(&statement)?,
            Item::Statement(_) => {}
        }
    }
    Ok((running.judged, running.skipped))
}

impl Running<'_> {
    fn expand(&self, side: usize, command: &Command, from: usize) -> Vec<String> {
        let arguments = command.arguments.iter().skip(from);
        arguments.map(|parts| self.pair.variables[side].expand(parts)).collect()
    }

    /// Follows a command; says whether the script ends with it.
    fn command(&mut self, command: &Command, is_open: bool) -> Result<bool, String> {
        let holds = |this: &Self| {
            let value = this.expand(THEIRS, command, 0).concat().to_lowercase();
            ["t", "true", "on", "yes", "1"].contains(&value.as_str())
        };
        match command.name.as_str() {
            "if" => {
                let holds = is_open && holds(self);
                self.conditions.push((holds, holds || !is_open));
            }
            "elif" | "else" => {
                let holds = command.name == "else" || holds(self);
                if let Some((open, done)) = self.conditions.last_mut() {
                    *open = holds && !*done;
                    *done |= holds;
                }
            }
            "endif" => drop(self.conditions.pop()),
            _ if !is_open => {}
            "q" | "quit" => return Ok(true),
            "set" => {
                for side in [OURS, THEIRS] {
                    let words = self.expand(side, command, 0);
                    if let [name, values @ ..] = &words[..] {
                        self.pair.variables[side].set(name, values.concat());
                    }
                }
            }
            "unset" => {
                let words = self.expand(THEIRS, command, 0);
                let variables = &mut self.pair.variables;
                words.iter().for_each(|name| variables.iter_mut().for_each(|v| v.unset(name)));
            }
            "getenv" => {
                let words = self.expand(THEIRS, command, 0);
                if let [name, variable] = &words[..]
                    && variable == "PG_ABS_SRCDIR"
                {
                    let folder = self.pair.data.display().to_string();
                    self.pair.variables.iter_mut().for_each(|v| v.set(name, folder.as_str()));
                }
            }
            "c" | "connect" => {
                let words = self.expand(THEIRS, command, 0);
                let role = words.get(1).map(String::as_str).filter(|role| *role != "-");
                self.pair.reconnect(role)?;
            }
            "copy" => {
                self.skipped += 1;
                let words = self.expand(THEIRS, command, 0).join(" ").to_lowercase();
                if words.contains("from stdin") {
                    self.script.skip_data();
                }
            }
            _ => {}
        }
        Ok(false)
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), String> {
        let end = statement.end.as_ref();
        let name = end.map_or("g", |command| command.name.as_str());
        if ["gdesc", "gexec", "crosstabview", "watch"].contains(&name) {
            self.skipped += 1;
            return Ok(());
        }
        let texts = [OURS, THEIRS].map(|side| self.pair.variables[side].expand(&statement.parts));
        let data = self.data(&texts[THEIRS]);
        let text = data.as_ref().map_or(&texts[THEIRS], |data| &data.text);
        let (theirs, took) = run(self.pair.client(THEIRS), text, data.as_ref().map(|d| &*d.rows));
        let text = data.as_ref().map_or(&texts[OURS], |data| &data.text);
        let (ours, _) = run(self.pair.client(OURS), text, data.as_ref().map(|d| &*d.rows));
        if took && data.is_some_and(|data| data.in_script) {
            self.script.skip_data();
        }
        let is_lost = ours.is_err();
        let told = |lost: io::Error| Outcome {
            error: Some(("08006".into(), lost.to_string())),
            ..Outcome::default()
        };
        let is_ended = theirs.is_err();
        let (ours, theirs) = (ours.unwrap_or_else(told), theirs.unwrap_or_else(told));
        if name == "gset" {
            let prefix: String =
                end.map(|c| self.expand(THEIRS, c, 0).concat()).unwrap_or_default();
            self.pair.variables[OURS].gather(&prefix, &ours);
            self.pair.variables[THEIRS].gather(&prefix, &theirs);
        }
        self.note_settings(&texts[THEIRS]);
        let [_, text] = texts;
        self.judge(statement, text, ours, theirs, is_lost && !is_ended);
        match is_lost || is_ended {
            true => self.pair.revive(),
            false => Ok(()),
        }
    }

    fn judge(
        &mut self,
        statement: &Statement,
        text: String,
        ours: Outcome,
        theirs: Outcome,
        is_lost: bool,
    ) {
        let verdict = match is_lost {
            true => Verdict::Died,
            false => judge::judge(&text, statement.ordered, &ours, &theirs),
        };
        let root = self.roots.root(&text, verdict, &ours);
        let (file, line) = (self.file.to_owned(), statement.line);
        self.judged.push(Judged { file, line, text, verdict, ours, theirs, root });
    }

    /// Rows that a COPY reads: those of the script, or of a file of `data`, which is sent in place of its name.
    fn data(&self, text: &str) -> Option<Data> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if !words.first()?.eq_ignore_ascii_case("copy") {
            return None;
        }
        let from = words.iter().position(|word| word.eq_ignore_ascii_case("from"))?;
        let source = words.get(from + 1)?.trim_end_matches(';');
        if source.eq_ignore_ascii_case("stdin") {
            let rows = self.script.data()?.as_bytes().to_vec();
            return Some(Data { text: text.to_owned(), rows, in_script: true });
        }
        let path = source.strip_prefix('\'')?.strip_suffix('\'')?;
        let rows = std::fs::read(path)
            .ok()
            .filter(|_| path.starts_with(&*self.pair.data.to_string_lossy()))?;
        Some(Data { text: text.replace(source, "stdin"), rows, in_script: false })
    }

    /// What psql learns of the session from the server.
    fn note_settings(&mut self, text: &str) {
        let words = text.to_lowercase();
        let words: Vec<&str> = words
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|w| !w.is_empty())
            .collect();
        match words[..] {
            ["set", "standard_conforming_strings", .., value] => {
                self.script.set_conforming(value == "on")
            }
            ["reset", "standard_conforming_strings"] => self.script.set_conforming(true),
            _ => {}
        }
    }
}

struct Data {
    text: String,
    rows: Vec<u8>,
    in_script: bool,
}

/// Runs a text with rows that it may read; says whether it read them.
fn run(client: &mut SimpleClient, text: &str, rows: Option<&[u8]>) -> (io::Result<Outcome>, bool) {
    client.input = rows.unwrap_or_default().to_vec();
    let outcome = client.run(text);
    let took = client.input.is_empty();
    client.input.clear();
    (outcome, took)
}
