//! What do a COPY statement's options say?

use onlap::TableSchema;

use crate::catalog::Name;
use crate::error::{Result, SqlError, state};
use crate::words::{Token, Words};

/// How a stream looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One line per row, tabs between values, backslashes.
    Text,
    /// Values with commas between, in quotes where they must be.
    Csv,
    /// PostgreSQL's binary form.
    Binary,
}

/// Whether there is a line of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// None.
    Off,
    /// One, which nobody looks at.
    On,
    /// One, whose names must be the columns'.
    Match,
}

/// Columns by name, or all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Force {
    /// None.
    #[default]
    None,
    /// These.
    Columns(Vec<String>),
    /// `*`
    All,
}

impl Force {
    /// Whether a column is meant.
    pub fn has(&self, column: &str) -> bool {
        match self {
            Force::None => false,
            Force::All => true,
            Force::Columns(names) => names.iter().any(|n| n == column),
        }
    }
}

/// Options of COPY, checked.
#[derive(Clone, Debug)]
pub struct Options {
    /// The format.
    pub format: Format,
    /// Between values.
    pub delimiter: u8,
    /// What stands for NULL.
    pub null: String,
    /// Whether there is a line of names.
    pub header: Header,
    /// Around values, in CSV.
    pub quote: u8,
    /// Before a quote inside a value, in CSV.
    pub escape: u8,
    /// Columns that are quoted on the way out.
    pub force_quote: Force,
    /// Columns in which nothing is NULL.
    pub force_not_null: Force,
    /// Columns in which NULL may be quoted.
    pub force_null: Force,
}

/// As said, before it is checked.
#[derive(Default)]
struct Said {
    format: Option<Format>,
    delimiter: Option<String>,
    null: Option<String>,
    header: Option<Header>,
    quote: Option<String>,
    escape: Option<String>,
    force_quote: Force,
    force_not_null: Force,
    force_null: Force,
}

impl Options {
    /// Reads the options, of either syntax, to the end of the statement.
    ///
    /// # Errors
    /// `42601`, `0A000`, `22023`.
    pub fn read(words: &mut Words<'_>, from: bool) -> Result<Options> {
        let mut said = Said::default();
        words.accept(&["with"]);
        if words.symbol(&Token::LParen) {
            loop {
                said.option(words)?;
                if !words.symbol(&Token::Comma) {
                    break;
                }
            }
            if !words.symbol(&Token::RParen) {
                return Err(words.error());
            }
        } else {
            while !words.is_end() && !words.begins(&["where"]) {
                said.old_option(words)?;
            }
        }
        if words.begins(&["where"]) {
            return Err(SqlError::unsupported("COPY with WHERE"));
        }
        words.end()?;
        said.check(from)
    }

    /// Checks the columns of FORCE options.
    ///
    /// # Errors
    /// `42703`, `42P10`.
    pub fn check_columns(
        &self,
        name: &Name,
        schema: &TableSchema,
        columns: &[usize],
    ) -> Result<()> {
        for force in [&self.force_quote, &self.force_not_null, &self.force_null] {
            let Force::Columns(names) = force else { continue };
            for column in names {
                let at = schema.position_by_name(column).ok_or_else(|| {
                    let table = &name.name;
                    let text =
                        format!("column \"{column}\" of relation \"{table}\" does not exist");
                    SqlError::new(state::NO_COLUMN, text)
                })?;
                if !columns.contains(&at) {
                    let text = format!("FORCE_NOT_NULL column \"{column}\" not referenced by COPY");
                    return Err(SqlError::new("42P10", text));
                }
            }
        }
        Ok(())
    }
}

impl Said {
    /// One option in parentheses.
    fn option(&mut self, words: &mut Words<'_>) -> Result<()> {
        let name = words.ident()?;
        match name.as_str() {
            "format" => {
                let format = text(words)?;
                self.format = Some(match format.as_str() {
                    "text" => Format::Text,
                    "csv" => Format::Csv,
                    "binary" => Format::Binary,
                    other => {
                        let text = format!("COPY format \"{other}\" not recognized");
                        return Err(SqlError::new(state::BAD_PARAMETER, text));
                    }
                });
            }
            "freeze" => {
                flag(words)?;
            }
            "header" => {
                self.header = Some(match words.accept(&["match"]) {
                    true => Header::Match,
                    false if flag(words)? => Header::On,
                    false => Header::Off,
                });
            }
            "delimiter" => self.delimiter = Some(text(words)?),
            "null" => self.null = Some(text(words)?),
            "quote" => self.quote = Some(text(words)?),
            "escape" => self.escape = Some(text(words)?),
            "encoding" => encoding(&text(words)?)?,
            "force_quote" => self.force_quote = force(words, true)?,
            "force_not_null" => self.force_not_null = force(words, false)?,
            "force_null" => self.force_null = force(words, false)?,
            other => {
                let text = format!("option \"{other}\" not recognized");
                return Err(SqlError::new(state::SYNTAX, text));
            }
        }
        Ok(())
    }

    /// One option of the syntax before PostgreSQL 9.0.
    fn old_option(&mut self, words: &mut Words<'_>) -> Result<()> {
        let known = [
            "binary",
            "freeze",
            "delimiter",
            "delimiters",
            "null",
            "csv",
            "header",
            "quote",
            "escape",
            "force",
            "encoding",
        ];
        let Some(word) = words.one_of(&known) else { return Err(words.error()) };
        match word {
            "binary" => self.format = Some(Format::Binary),
            "csv" => self.format = Some(Format::Csv),
            "freeze" => {}
            "header" => self.header = Some(Header::On),
            "force" => {
                let which = words.one_of(&["quote", "not", "null"]);
                match which.ok_or_else(|| words.error())? {
                    "quote" => self.force_quote = old_force(words)?,
                    "null" => self.force_null = old_force(words)?,
                    _ => {
                        words.expect(&["null"])?;
                        self.force_not_null = old_force(words)?;
                    }
                }
            }
            valued => {
                words.accept(&["as"]);
                let value = words.string().ok_or_else(|| words.error())?;
                match valued {
                    "null" => self.null = Some(value),
                    "quote" => self.quote = Some(value),
                    "escape" => self.escape = Some(value),
                    "encoding" => encoding(&value)?,
                    _ => self.delimiter = Some(value),
                }
            }
        }
        Ok(())
    }

    fn check(self, from: bool) -> Result<Options> {
        let format = self.format.unwrap_or(Format::Text);
        let csv = format == Format::Csv;
        let bad = |text: String| Err(SqlError::new(state::BAD_PARAMETER, text));
        let only_csv =
            |text: &str| Err(SqlError::unsupported(format!("COPY {text} outside CSV mode")));
        if format == Format::Binary
            && (self.delimiter.is_some() || self.null.is_some() || self.header.is_some())
        {
            let text = "cannot specify DELIMITER, NULL or HEADER in BINARY mode";
            return Err(SqlError::new(state::SYNTAX, text));
        }
        if !csv {
            if self.quote.is_some() {
                return only_csv("quote");
            }
            if self.escape.is_some() {
                return only_csv("escape");
            }
            if [&self.force_quote, &self.force_not_null, &self.force_null]
                .iter()
                .any(|f| **f != Force::None)
            {
                return only_csv("force");
            }
        }
        if from && self.force_quote != Force::None {
            return Err(SqlError::unsupported("COPY force quote with FROM"));
        }
        if !from && (self.force_not_null != Force::None || self.force_null != Force::None) {
            return Err(SqlError::unsupported("COPY force null with TO"));
        }
        let delimiter = self.delimiter.unwrap_or_else(|| if csv { "," } else { "\t" }.into());
        let delimiter = single("delimiter", &delimiter)?;
        let null = self.null.unwrap_or_else(|| if csv { "" } else { "\\N" }.into());
        if null.contains(['\r', '\n']) {
            return bad("COPY null representation cannot use newline or carriage return".into());
        }
        if matches!(delimiter, b'\r' | b'\n') {
            return bad("COPY delimiter cannot be newline or carriage return".into());
        }
        let forbidden = b"\\.abcdefghijklmnopqrstuvwxyz0123456789";
        if !csv && forbidden.contains(&delimiter) {
            return bad(format!("COPY delimiter cannot be \"{}\"", char::from(delimiter)));
        }
        if format != Format::Binary && null.as_bytes().contains(&delimiter) {
            return bad("COPY delimiter must not appear in the NULL specification".into());
        }
        let quote = single("quote", self.quote.as_deref().unwrap_or("\""))?;
        let escape = self.escape.as_deref().map(|e| single("escape", e)).transpose()?;
        if csv && quote == delimiter {
            return bad("COPY delimiter and quote must be different".into());
        }
        if csv && null.as_bytes().contains(&quote) {
            return bad("CSV quote character must not appear in the NULL specification".into());
        }
        Ok(Options {
            format,
            delimiter,
            null,
            header: self.header.unwrap_or(Header::Off),
            quote,
            escape: escape.unwrap_or(quote),
            force_quote: self.force_quote,
            force_not_null: self.force_not_null,
            force_null: self.force_null,
        })
    }
}

fn single(what: &str, text: &str) -> Result<u8> {
    match text.as_bytes() {
        [one] => Ok(*one),
        _ => {
            let text = format!("COPY {what} must be a single one-byte character");
            Err(SqlError::unsupported(text))
        }
    }
}

/// A value: a literal or a word.
fn text(words: &mut Words<'_>) -> Result<String> {
    match words.string() {
        Some(text) => Ok(text),
        None => words.ident(),
    }
}

/// A flag, which is on where nothing is said.
fn flag(words: &mut Words<'_>) -> Result<bool> {
    if matches!(words.peek(), None | Some(Token::Comma | Token::RParen)) {
        return Ok(true);
    }
    if let Some(n) = words.integer() {
        return Ok(n != 0);
    }
    match text(words)?.to_ascii_lowercase().as_str() {
        "on" | "true" => Ok(true),
        "off" | "false" => Ok(false),
        _ => Err(SqlError::new(state::SYNTAX, "a Boolean value is required")),
    }
}

fn force(words: &mut Words<'_>, all: bool) -> Result<Force> {
    if all && words.symbol(&Token::Mul) {
        return Ok(Force::All);
    }
    match words.columns()? {
        names if names.is_empty() => Err(words.error()),
        names => Ok(Force::Columns(names)),
    }
}

fn old_force(words: &mut Words<'_>) -> Result<Force> {
    if words.symbol(&Token::Mul) {
        return Ok(Force::All);
    }
    let mut names = vec![words.ident()?];
    while words.symbol(&Token::Comma) {
        names.push(words.ident()?);
    }
    Ok(Force::Columns(names))
}

fn encoding(name: &str) -> Result<()> {
    match name.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
        "utf8" | "unicode" | "sqlascii" => Ok(()),
        _ => Err(SqlError::unsupported(format!("encoding \"{name}\""))),
    }
}
