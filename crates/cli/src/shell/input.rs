//! Where do lines come from?

use std::io::{BufRead, BufReader, Cursor, IsTerminal as _, Write as _};
use std::path::PathBuf;

use onlap::Result;
use onlap_base::{Error, ErrorKind};
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{CompletionType, Config, Editor};

use super::names::Names;
use onlap_process::interrupt;

/// Statements that are remembered.
const HISTORY: usize = 5000;

/// A source of lines.
pub(super) enum Input {
    /// A person types.
    Terminal(Box<Editor<Names, DefaultHistory>>, Option<PathBuf>),
    /// A script.
    Script(Box<dyn BufRead>),
}

/// What came.
#[derive(Debug)]
pub(super) enum Line {
    /// A line without its end.
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Nothing more.
    End,
}

impl Input {
    /// The terminal, with editing and a history in the home directory.
    pub(super) fn terminal() -> Result<Input> {
        let failed = |e: ReadlineError| Error::new(ErrorKind::Io, format!("the terminal: {e}"));
        let config = Config::builder().max_history_size(HISTORY).map_err(failed)?;
        let config = config.completion_type(CompletionType::List).build();
        let mut editor = Editor::with_config(config).map_err(failed)?;
        let history =
            std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".onlap_history"));
        if let Some(path) = &history {
            // The first time there is none.
            let _ = editor.load_history(path);
        }
        Ok(Input::Terminal(Box::new(editor), history))
    }
    /// Whether the Tab key completes names.
    pub(super) fn completes(&self) -> bool {
        matches!(self, Input::Terminal(..))
    }
    /// Lets the Tab key complete these names.
    pub(super) fn complete(&mut self, names: Names) {
        if let Input::Terminal(editor, _) = self {
            editor.set_helper(Some(names));
        }
    }
    /// Standard input.
    pub(super) fn standard() -> Input {
        Input::Script(Box::new(BufReader::new(std::io::stdin())))
    }
    /// A text.
    pub(super) fn text(text: &str) -> Input {
        Input::Script(Box::new(Cursor::new(text.to_string())))
    }
    /// A file.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn file(path: &str) -> std::io::Result<Input> {
        Ok(Input::Script(Box::new(BufReader::new(std::fs::File::open(path)?))))
    }
    /// The next line.
    pub(super) fn line(&mut self, prompt: &str) -> Line {
        match self {
            Input::Terminal(editor, _) => match editor.readline(prompt) {
                Ok(line) => Line::Text(line),
                Err(ReadlineError::Interrupted) => Line::Interrupted,
                Err(_) => Line::End,
            },
            Input::Script(lines) => {
                let mut line = Vec::new();
                match lines.read_until(b'\n', &mut line) {
                    Ok(n) if n > 0 && !interrupt::requested() => {
                        let line = String::from_utf8_lossy(&line);
                        Line::Text(line.trim_end_matches(['\n', '\r']).to_string())
                    }
                    _ => Line::End,
                }
            }
        }
    }
    /// Puts a statement into the history.
    pub(super) fn remember(&mut self, statement: &str) {
        if let Input::Terminal(editor, path) = self {
            // A history that cannot be kept stops no session.
            let _ = editor.add_history_entry(statement);
            if let Some(path) = path {
                let _ = editor.save_history(path);
            }
        }
    }
}

/// Asks for a password at the terminal, which does not show it.
pub(super) fn ask_password(user: &str) -> Option<String> {
    if !std::io::stdin().is_terminal() {
        return None;
    }
    eprint!("Password of {user}: ");
    let _ = std::io::stderr().flush();
    let shown = Echo::off();
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    drop(shown);
    eprintln!();
    read.ok().filter(|n| *n > 0)?;
    Some(line.trim_end_matches(['\n', '\r']).to_string())
}

/// Keeps the terminal from showing what is typed.
struct Echo(libc::termios);

impl Echo {
    fn off() -> Option<Echo> {
        // SAFETY: termios is plain data, for which zeros are a value, and is filled in by tcgetattr.
        let before = unsafe {
            let mut now: libc::termios = std::mem::zeroed();
            (libc::tcgetattr(libc::STDIN_FILENO, &mut now) == 0).then_some(now)?
        };
        let mut hidden = before;
        hidden.c_lflag &= !libc::ECHO;
        // SAFETY: the terminal's own state with one flag less.
        unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, &hidden) };
        Some(Echo(before))
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        // SAFETY: gives back the state that tcgetattr told.
        unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, &self.0) };
    }
}
