//! `\copy`: tables from and to files of the client.

use std::fs::File;
use std::io::{BufWriter, Read as _, Write as _};

use super::client::{self, Failure, refusal};
use super::progress::Bar;
use super::{Shell, interrupt};

/// Bytes of a file that are sent at once.
pub(super) const PIECE_BYTES: usize = 64 << 10;

/// A command taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Copy {
    /// What the server is asked.
    pub sql: String,
    /// The file's name; `None` for standard input or output.
    pub file: Option<String>,
    /// Whether the server gives.
    pub to_file: bool,
}

/// Takes `TABLE (COLUMNS) FROM 'FILE' OPTIONS` or `(QUERY) TO FILE OPTIONS` apart.
pub(super) fn parse(text: &str) -> Option<Copy> {
    let (at, to_file) = direction(text)?;
    let what = text[..at].trim();
    let rest = text[at..].trim_start();
    let rest = rest[if to_file { 2 } else { 4 }..].trim_start();
    let (file, options) = match rest.strip_prefix('\'') {
        Some(quoted) => unquoted(quoted)?,
        None => {
            let (file, options) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            (file.to_string(), options)
        }
    };
    let standard = ["stdin", "stdout", "pstdin", "pstdout"];
    let file = (!standard.contains(&file.to_ascii_lowercase().as_str())).then_some(file);
    if what.is_empty() || file.as_ref().is_some_and(String::is_empty) {
        return None;
    }
    let way = if to_file { "TO STDOUT" } else { "FROM STDIN" };
    let options = options.trim().trim_end_matches(';');
    Some(Copy { sql: format!("COPY {what} {way} {options}").trim_end().to_string(), file, to_file })
}

/// A text up to its quote, in which a doubled one is one, and what follows.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let (mut value, mut rest) = (String::new(), text);
    loop {
        let (part, after) = rest.split_once('\'')?;
        value.push_str(part);
        match after.strip_prefix('\'') {
            Some(more) => {
                value.push('\'');
                rest = more;
            }
            None => return Some((value, after)),
        }
    }
}

/// Where FROM or TO stands outside of parentheses and quotes.
fn direction(text: &str) -> Option<(usize, bool)> {
    let (mut depth, mut quote) = (0usize, None);
    for (i, c) in text.char_indices() {
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, c) if depth == 0 && c.is_whitespace() => {
                let word = text[i..].split_whitespace().next().unwrap_or_default();
                if word.eq_ignore_ascii_case("from") || word.eq_ignore_ascii_case("to") {
                    return Some((i, word.len() == 2));
                }
            }
            _ => {}
        }
    }
    None
}

impl Shell {
    /// Runs a `\copy` with a file.
    pub(super) fn copy_file(&mut self, copy: &Copy, file: &str) -> client::Result<()> {
        let opened = match copy.to_file {
            true => File::create(file),
            false => File::open(file),
        };
        let mut file = match opened {
            Ok(file) => file,
            Err(e) => {
                self.report(&Failure::Broken(format!("{file}: {e}")));
                return Ok(());
            }
        };
        let whole = match copy.to_file {
            true => None,
            // What is no file has no length that says how much is to come.
            false => file.metadata().ok().filter(|of| of.is_file()).map(|of| of.len()),
        };
        self.client.query(&copy.sql)?;
        let mut bar = Bar::new(whole);
        let mut out = BufWriter::new(file.try_clone().map_err(Failure::from)?);
        let mut trouble = None;
        loop {
            let message = self.client.next()?;
            match message.kind {
                b'G' => self.send_file(&mut file, &mut bar)?,
                b'd' if trouble.is_none() => {
                    trouble = out.write_all(&message.body).err();
                    bar.add(message.body.len());
                }
                b'E' => {
                    bar.clear();
                    self.report(&refusal(&message));
                }
                b'C' if self.interactive => {
                    bar.clear();
                    let tag = String::from_utf8_lossy(&message.body);
                    println!("{}", tag.trim_end_matches('\0'));
                }
                b'Z' => break,
                _ => {}
            }
        }
        bar.clear();
        if let Some(e) = trouble.or(out.flush().err()) {
            self.report(&Failure::Broken(e.to_string()));
        }
        Ok(())
    }
    fn send_file(&mut self, file: &mut File, bar: &mut Bar) -> client::Result<()> {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match file.read(&mut piece) {
                Ok(0) => return self.client.send(b'c', b""),
                Ok(_) if interrupt::take() => return self.client.send(b'f', b"interrupted\0"),
                Ok(n) => {
                    self.client.send(b'd', &piece[..n])?;
                    bar.add(n);
                }
                Err(e) => {
                    let why = format!("{e}\0");
                    return self.client.send(b'f', why.as_bytes());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_apart() {
        let copy = parse("t (a, b) from 'my file.csv' with (format csv)").expect("a copy");
        assert_eq!(copy.sql, "COPY t (a, b) FROM STDIN with (format csv)");
        assert_eq!((copy.file.as_deref(), copy.to_file), (Some("my file.csv"), false));
        let copy =
            parse("(select * from t where x = ' to ') TO out.csv csv header;").expect("a copy");
        assert_eq!(copy.sql, "COPY (select * from t where x = ' to ') TO STDOUT csv header");
        assert_eq!((copy.file.as_deref(), copy.to_file), (Some("out.csv"), true));
        assert_eq!(parse("t to stdout").expect("a copy").file, None);
        assert_eq!(parse("t to stdout").expect("a copy").sql, "COPY t TO STDOUT");
        let copy = parse("t from 'it''s; 100 %.csv' csv").expect("a copy");
        assert_eq!(copy.file.as_deref(), Some("it's; 100 %.csv"));
        assert_eq!(copy.sql, "COPY t FROM STDIN csv");
        for bad in ["", "t", "t from", "from x", "t from ''", "t from 'x"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
