//! How does psql read a script?
//!
//! [`Script`] gives its statements and commands one by one. A semicolon ends a statement outside of quotes, comments,
//! parentheses and the body of a function; a backslash begins a command, which ends with its line. Comments of one line are left
//! out. Variables stay as [`Part`]s, since the two systems may have other values for them.

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// As it stands.
    Text(String),
    /// The value of a variable.
    Variable {
        /// Its name.
        name: String,
        /// How its value is written.
        quoting: Quoting,
    },
}

/// How the value of a variable is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    /// As it is: `:name`.
    Plain,
    /// As a literal: `:'name'`.
    Literal,
    /// As an identifier: `:"name"`.
    Identifier,
    /// Whether there is one: `:{?name}`.
    Test,
}

/// A command, without its backslash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its name.
    pub name: String,
    /// What follows.
    pub arguments: Vec<Vec<Part>>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its text.
    pub parts: Vec<Part>,
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Whether ORDER BY stands in it outside of parentheses.
    pub ordered: bool,
    /// The command that ends it, in the place of a semicolon.
    pub end: Option<Command>,
}

/// What a script has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A statement.
    Statement(Statement),
    /// A command.
    Command(Command),
}

/// Commands that send what was written before them.
const SENDS: &[&str] = &["g", "gx", "gset", "gexec", "gdesc", "crosstabview", "watch"];

/// A script that is being read.
#[derive(Debug)]
pub struct Script<'a> {
    text: &'a str,
    at: usize,
    begun: Begun,
    /// Whether a backslash is a character of strings as any other.
    conforming: bool,
}

/// A statement whose end was not seen so far.
#[derive(Debug, Default)]
struct Begun {
    parts: Vec<Part>,
    text: String,
    line: Option<usize>,
    words: Vec<String>,
    ordered: bool,
    parentheses: usize,
    blocks: usize,
}

impl Begun {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn variable(&mut self, name: &str, quoting: Quoting) {
        if !self.text.is_empty() {
            self.parts.push(Part::Text(std::mem::take(&mut self.text)));
        }
        self.parts.push(Part::Variable { name: name.to_owned(), quoting });
    }

    /// Takes note of a word: which statement it is, its order, bodies of functions.
    fn word(&mut self, word: &str) {
        let word = word.to_lowercase();
        let in_function = self.words.first().is_some_and(|first| first == "create")
            && self.words.iter().any(|word| word == "function" || word == "procedure");
        match word.as_str() {
            "by" if self.parentheses == 0 => {
                self.ordered |= self.words.last().is_some_and(|last| last == "order");
            }
            "begin" if in_function => self.blocks += 1,
            "case" if self.blocks > 0 => self.blocks += 1,
            "end" => self.blocks = self.blocks.saturating_sub(1),
            _ => {}
        }
        self.words.push(word);
    }

    fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.text.trim().is_empty()
    }

    fn end(self, end: Option<Command>) -> Statement {
        let Begun { mut parts, text, line, ordered, .. } = self;
        parts.push(Part::Text(text.trim_end().to_owned()));
        Statement { parts, line: line.unwrap_or(1), ordered, end }
    }
}

impl<'a> Script<'a> {
    /// Reads a text from its beginning.
    pub fn new(text: &'a str) -> Script<'a> {
        Script { text, at: 0, begun: Begun::default(), conforming: true }
    }

    /// Says what `standard_conforming_strings` is from here on.
    pub fn set_conforming(&mut self, conforming: bool) {
        self.conforming = conforming;
    }

    /// The lines after this one up to one that is `\.`, which COPY FROM STDIN reads; `None` if there is none.
    pub fn data(&self) -> Option<&'a str> {
        let rest = self.next_line();
        let end = self.data_end(rest)?;
        Some(&self.text[rest..end])
    }

    /// Goes on after those lines.
    pub fn skip_data(&mut self) {
        if let Some(end) = self.data_end(self.next_line()) {
            self.at = end;
            self.at = self.next_line();
        }
    }

    fn next_line(&self) -> usize {
        self.text[self.at..].find('\n').map_or(self.text.len(), |n| self.at + n + 1)
    }

    fn data_end(&self, from: usize) -> Option<usize> {
        let mut at = from;
        for line in self.text[from..].split_inclusive('\n') {
            if line.trim_end() == "\\." {
                return Some(at);
            }
            at += line.len();
        }
        None
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let taken = &self.text[self.at..self.at + bytes];
        self.at += bytes;
        taken
    }

    fn keep(&mut self, bytes: usize) {
        let taken = self.take(bytes);
        self.begun.push(taken);
    }

    /// The next statement or command.
    pub fn next_item(&mut self) -> Option<Item> {
        loop {
            let rest = self.rest();
            let Some(c) = rest.chars().next() else {
                let begun = std::mem::take(&mut self.begun);
                return (!begun.is_empty()).then(|| Item::Statement(begun.end(None)));
            };
            if !c.is_whitespace() && !rest.starts_with("--") && self.begun.line.is_none() {
                self.begun.line = Some(self.text[..self.at].matches('\n').count() + 1);
            }
            match c {
                ';' if self.begun.parentheses == 0 && self.begun.blocks == 0 => {
                    self.at += 1;
                    let begun = std::mem::take(&mut self.begun);
                    if !begun.is_empty() {
                        return Some(Item::Statement(begun.end(None)));
                    }
                }
                '\\' if rest.starts_with("\\;") => {
                    self.at += 2;
                    self.begun.push(";");
                }
                '\\' => {
                    if let Some(item) = self.command() {
                        return Some(item);
                    }
                }
                _ => self.piece(c),
            }
        }
    }

    /// A piece of a statement.
    fn piece(&mut self, c: char) {
        let rest = self.rest();
        let is_new = !self.begun.text.ends_with(is_of_word);
        match c {
            '-' if rest.starts_with("--") => {
                self.at += rest.find('\n').unwrap_or(rest.len());
            }
            '/' if rest.starts_with("/*") => self.keep(comment(rest)),
            '\'' => {
                let escapes = !self.conforming || self.is_escape_string();
                self.keep(quoted(rest, '\'', escapes));
            }
            '"' => self.keep(quoted(rest, '"', false)),
            '$' if is_new && tag(rest).is_some() => {
                let tag = tag(rest).expect("it was looked at");
                let end = rest[tag.len()..].find(tag).map_or(rest.len(), |n| n + 2 * tag.len());
                self.keep(end);
            }
            ':' => self.colon(),
            '(' | ')' => {
                self.begun.parentheses = match c {
                    '(' => self.begun.parentheses + 1,
                    _ => self.begun.parentheses.saturating_sub(1),
                };
                self.keep(1);
            }
            c if is_of_word(c) && is_new => {
                let end = rest.find(|c: char| !is_of_word(c)).unwrap_or(rest.len());
                self.begun.word(&rest[..end]);
                self.keep(end);
            }
            c => self.keep(c.len_utf8()),
        }
    }

    /// Whether what was written last is the E of `E'…'`.
    fn is_escape_string(&self) -> bool {
        let before = self.begun.text.strip_suffix(['e', 'E']);
        before.is_some_and(|before| !before.ends_with(is_of_word))
    }

    fn colon(&mut self) {
        let rest = self.rest();
        if rest.starts_with("::") || rest.starts_with(":=") {
            return self.keep(2);
        }
        match variable(rest) {
            Some((name, quoting, length)) => {
                self.begun.variable(name, quoting);
                self.at += length;
            }
            None => self.keep(1),
        }
    }

    /// Reads a command; one that sends ends the statement before it.
    fn command(&mut self) -> Option<Item> {
        self.at += 1;
        let line = self.rest().split('\n').next().unwrap_or_default();
        let end = line.find("\\\\").unwrap_or(line.len());
        let line = &line[..end];
        self.at += end;
        if self.rest().starts_with("\\\\") {
            self.at += 2;
        }
        let split = line.find(char::is_whitespace).unwrap_or(line.len());
        let (name, arguments) = line.split_at(split);
        let command = Command { name: name.to_owned(), arguments: words(arguments) };
        if name == "r" {
            self.begun = Begun::default();
        } else if SENDS.contains(&name) {
            let begun = std::mem::take(&mut self.begun);
            // It would send the statement before once more.
            return (!begun.is_empty()).then(|| Item::Statement(begun.end(Some(command))));
        }
        if self.begun.is_empty() {
            self.begun = Begun::default();
        }
        Some(Item::Command(command))
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Bytes of a comment that may have others in it.
fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while let Some(c) = text[at..].chars().next() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
        } else {
            at += c.len_utf8();
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Bytes of a text in quotes; a doubled quote is read as two texts.
fn quoted(text: &str, quote: char, escapes: bool) -> usize {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return at + 1;
        }
        if escapes && c == '\\' {
            chars.next();
        }
    }
    text.len()
}

/// The `$tag$` that a text begins with.
fn tag(text: &str) -> Option<&str> {
    let end = text[1..].find('$')? + 2;
    let name = &text[1..end - 1];
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (is_name && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(&text[..end])
}

/// The variable that a text begins with: name, quoting, bytes.
fn variable(text: &str) -> Option<(&str, Quoting, usize)> {
    let ends = |open: &str, close: char, quoting| {
        let name = text.strip_prefix(open)?;
        let end = name.find(close)?;
        let is_name = end > 0 && name[..end].chars().all(|c| c.is_alphanumeric() || c == '_');
        is_name.then(|| (&name[..end], quoting, open.len() + end + 1))
    };
    let quoted = ends(":'", '\'', Quoting::Literal)
        .or_else(|| ends(":\"", '"', Quoting::Identifier))
        .or_else(|| ends(":{?", '}', Quoting::Test));
    quoted.or_else(|| {
        let name = &text[1..];
        let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
        (end > 0).then(|| (&name[..end], Quoting::Plain, end + 1))
    })
}

/// Arguments of a command.
fn words(mut text: &str) -> Vec<Vec<Part>> {
    let mut words = Vec::new();
    let mut word: Vec<Part> = Vec::new();
    while let Some(c) = text.chars().next() {
        let taken = match c {
            c if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                c.len_utf8()
            }
            '\'' => {
                let end = quoted(text, '\'', true);
                let inner = text[1..end].strip_suffix('\'').unwrap_or(&text[1..end]);
                word.push(Part::Text(inner.replace("\\n", "\n").replace("\\'", "'")));
                end
            }
            ':' if variable(text).is_some() => {
                let (name, quoting, length) = variable(text).expect("it was looked at");
                word.push(Part::Variable { name: name.to_owned(), quoting });
                length
            }
            c => {
                word.push(Part::Text(c.to_string()));
                c.len_utf8()
            }
        };
        text = &text[taken..];
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests;
