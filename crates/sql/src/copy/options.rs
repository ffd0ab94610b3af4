//! What do a COPY statement's options say?

use onlap::TableSchema;
use onlap_pg::ast::{OptionValue, Setting};

use crate::catalog::Name;
use crate::encoding::{Encoding, name_of};
use crate::error::{Result, SqlError, state};
use crate::source::{Source, strings};

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
    /// How texts are written; as the client writes them, where nothing is said.
    encoding: Option<Encoding>,
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
    encoding: Option<Encoding>,
}

/// What is wrong with an option.
enum Wrong {
    /// It has no value, or none that is a word or a flag: this has no place, as in PostgreSQL.
    Kind(SqlError),
    /// All else, which is told with its place.
    Value(SqlError),
}

impl From<SqlError> for Wrong {
    fn from(e: SqlError) -> Wrong {
        Wrong::Value(e)
    }
}

impl Options {
    /// What options say, of either syntax.
    ///
    /// # Errors
    /// `42601`, `0A000`, `22023`.
    pub fn of(source: Source<'_>, all: &[Setting], from: bool) -> Result<Options> {
        let mut said = Said::default();
        for (i, option) in all.iter().enumerate() {
            if all[..i].iter().any(|other| other.name == option.name) {
                let error = SqlError::new(state::SYNTAX, "conflicting or redundant options");
                return Err(source.at(error, option.place));
            }
            said.option(option).map_err(|wrong| match wrong {
                Wrong::Kind(e) => e,
                Wrong::Value(e) => source.at(e, option.place),
            })?;
        }
        said.check(from)
    }

    /// How texts are written for a client with an encoding, whose own it is in binary data, as in PostgreSQL.
    pub fn encoding_of(&self, client: Encoding) -> Encoding {
        self.encoding.filter(|_| self.format != Format::Binary).unwrap_or(client)
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
    fn option(&mut self, option: &Setting) -> Result<(), Wrong> {
        let value = option.value.as_ref();
        match &*option.name {
            "format" => {
                let format = text(option)?;
                self.format = Some(match format.as_str() {
                    "text" => Format::Text,
                    "csv" => Format::Csv,
                    "binary" => Format::Binary,
                    other => {
                        let text = format!("COPY format \"{other}\" not recognized");
                        return Err(SqlError::new(state::BAD_PARAMETER, text).into());
                    }
                });
            }
            "freeze" => {
                flag(option).ok_or_else(|| requires(option, "a Boolean value"))?;
            }
            "header" => {
                let bad = || requires(option, "a Boolean value or \"match\"");
                let matches = value.is_some_and(|v| v.text().eq_ignore_ascii_case("match"));
                self.header = Some(match matches {
                    true => Header::Match,
                    false if flag(option).ok_or_else(bad)? => Header::On,
                    false => Header::Off,
                });
            }
            "delimiter" => self.delimiter = Some(text(option)?),
            "null" => self.null = Some(text(option)?),
            "quote" => self.quote = Some(text(option)?),
            "escape" => self.escape = Some(text(option)?),
            "encoding" => self.encoding = Some(encoding(&text(option)?)?),
            "force_quote" => self.force_quote = force(option, true)?,
            "force_not_null" => self.force_not_null = force(option, false)?,
            "force_null" => self.force_null = force(option, false)?,
            other => {
                let text = format!("option \"{other}\" not recognized");
                return Err(SqlError::new(state::SYNTAX, text).into());
            }
        }
        Ok(())
    }

    /// Fails where something is said that the format or the way does not have.
    fn fits(&self, csv: bool, from: bool) -> Result<()> {
        let unfit = |what: &str| Err(SqlError::new(state::UNSUPPORTED, format!("COPY {what}")));
        let only_csv = |what: &str| unfit(&format!("{what} available only in CSV mode"));
        if !csv {
            if self.quote.is_some() {
                return only_csv("quote");
            }
            if self.escape.is_some() {
                return only_csv("escape");
            }
        }
        for (force, what, way) in [
            (&self.force_quote, "force quote", false),
            (&self.force_not_null, "force not null", true),
            (&self.force_null, "force null", true),
        ] {
            if *force == Force::None {
                continue;
            }
            if !csv {
                return only_csv(what);
            }
            if from != way {
                let way = if way { "FROM" } else { "TO" };
                return unfit(&format!("{what} only available using COPY {way}"));
            }
        }
        Ok(())
    }

    fn check(self, from: bool) -> Result<Options> {
        let format = self.format.unwrap_or(Format::Text);
        let csv = format == Format::Csv;
        let bad = |text: String| Err(SqlError::new(state::BAD_PARAMETER, text));
        if format == Format::Binary
            && (self.delimiter.is_some() || self.null.is_some() || self.header.is_some())
        {
            let text = "cannot specify DELIMITER, NULL or HEADER in BINARY mode";
            return Err(SqlError::new(state::SYNTAX, text));
        }
        self.fits(csv, from)?;
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
            encoding: self.encoding,
        })
    }
}

fn single(what: &str, text: &str) -> Result<u8> {
    match text.as_bytes() {
        [one] => Ok(*one),
        _ => {
            let text = format!("COPY {what} must be a single one-byte character");
            Err(SqlError::new(state::UNSUPPORTED, text))
        }
    }
}

/// A value: a literal or a word.
fn text(option: &Setting) -> Result<String, Wrong> {
    match &option.value {
        Some(OptionValue::List(_) | OptionValue::Star) | None => {
            Err(requires(option, "a parameter"))
        }
        Some(value) => Ok(value.text().to_string()),
    }
}

/// A flag, which is on where nothing is said; `None` where its value is none.
fn flag(option: &Setting) -> Option<bool> {
    let Some(value) = &option.value else { return Some(true) };
    match value.text().to_ascii_lowercase().as_str() {
        "on" | "true" | "1" => Some(true),
        "off" | "false" | "0" => Some(false),
        _ => None,
    }
}

fn requires(option: &Setting, what: &str) -> Wrong {
    Wrong::Kind(SqlError::new(state::SYNTAX, format!("{} requires {what}", option.name)))
}

fn force(option: &Setting, all: bool) -> Result<Force> {
    match &option.value {
        Some(OptionValue::Star) if all => Ok(Force::All),
        Some(OptionValue::List(names)) => Ok(Force::Columns(strings(names))),
        _ => {
            let text =
                format!("argument to option \"{}\" must be a list of column names", option.name);
            Err(SqlError::new(state::BAD_PARAMETER, text))
        }
    }
}

/// Encodings of PostgreSQL that are not converted to.
const UNSERVED: [&str; 11] = [
    "euccn",
    "eucjis2004",
    "euctw",
    "johab",
    "latin5",
    "iso88599",
    "muleinternal",
    "shiftjis2004",
    "uhc",
    "win949",
    "windows949",
];

fn encoding(name: &str) -> Result<Encoding> {
    if let Some(known) = name_of(name) {
        return Ok(Encoding::named(known));
    }
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    if UNSERVED.contains(&&*plain.to_ascii_lowercase()) {
        return Err(SqlError::unsupported(format!("encoding \"{name}\"")));
    }
    let text = "argument to option \"encoding\" must be a valid encoding name";
    Err(SqlError::new(state::BAD_PARAMETER, text))
}
