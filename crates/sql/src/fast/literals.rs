//! INSERT of many literals, without a parser.
//!
//! `INSERT INTO t (a, b) VALUES (1, 'x'), …` is read in one pass over its bytes, and its values go to the
//! engine in column form. [`scan`] takes a text only if all of it is of this shape: names, numbers, plain
//! strings, NULL, true and false. For any other text, wrong ones too, it says nothing and the parser
//! decides.

use std::borrow::Cow;

use onlap::{Batch, Column, ColumnDefault, DataType, Value, Vector, convert};

use crate::assign::assign;
use crate::catalog::{oids, policies, rules};
use crate::change::{called, fires};
use crate::columns::{ColumnType, Types};
use crate::ddl::defaults;
use crate::error::{Result, SqlError};
use crate::query::Reader;
use crate::rights::Action;
use crate::rights::ask::{numbers, of_table, sequences};
use crate::types::{Cell, PgType, oid};
use crate::view::{Relation, View};

#[cfg(test)]
mod tests;

/// A scanned INSERT.
#[derive(Debug, PartialEq)]
pub struct Literals<'a> {
    table: Vec<String>,
    columns: Vec<String>,
    /// Values row by row.
    cells: Vec<Literal<'a>>,
    width: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Literal<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    Text(Cow<'a, str>),
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

/// Texts below this are the parser's: it costs little, and keeps what it finds for other tiers.
const LEAST: usize = 256;

/// Reads a text that is one INSERT of literals.
pub fn scan(text: &str) -> Option<Literals<'_>> {
    if text.len() < LEAST {
        return None;
    }
    let mut s = Scanner { text, at: 0 };
    s.keyword("insert")?;
    s.keyword("into")?;
    let mut table = vec![s.name()?];
    while s.accept(b'.') {
        table.push(s.name()?);
    }
    let mut columns = Vec::new();
    if s.accept(b'(') {
        loop {
            columns.push(s.name()?);
            if !s.accept(b',') {
                break;
            }
        }
        s.expect(b')')?;
    }
    s.keyword("values")?;
    let (mut cells, mut width) = (Vec::new(), None);
    loop {
        s.expect(b'(')?;
        let from = cells.len();
        loop {
            cells.push(s.literal()?);
            if !s.accept(b',') {
                break;
            }
        }
        s.expect(b')')?;
        if *width.get_or_insert(cells.len() - from) != cells.len() - from {
            return None;
        }
        if !s.accept(b',') {
            break;
        }
    }
    s.accept(b';');
    s.blanks();
    (s.at == text.len()).then_some(Literals { table, columns, cells, width: width? })
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn accept(&mut self, byte: u8) -> bool {
        self.blanks();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.accept(byte).then_some(())
    }

    /// The bytes of a word, from here on.
    fn word(&mut self) -> &'a str {
        self.blanks();
        let rest = &self.text.as_bytes()[self.at..];
        let is_word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$');
        let length = rest.iter().take_while(|b| is_word(b)).count();
        let word = &self.text[self.at..self.at + length];
        self.at += length;
        word
    }

    fn keyword(&mut self, word: &str) -> Option<()> {
        self.word().eq_ignore_ascii_case(word).then_some(())
    }

    /// A name; one of several words, or with characters above ASCII, is the parser's.
    fn name(&mut self) -> Option<String> {
        self.blanks();
        if self.peek() == Some(b'"') {
            let rest = &self.text[self.at + 1..];
            let end = rest.find('"')?;
            self.at += end + 2;
            let doubled = self.peek() == Some(b'"');
            return (end > 0 && !doubled).then(|| rest[..end].to_string());
        }
        let word = self.word();
        let begins = word.bytes().next()?;
        (begins.is_ascii_alphabetic() || begins == b'_').then(|| word.to_ascii_lowercase())
    }

    fn literal(&mut self) -> Option<Literal<'a>> {
        self.blanks();
        match self.peek()? {
            b'\'' => self.string().map(Literal::Text),
            b'-' | b'0'..=b'9' => self.number().map(Literal::Number),
            _ => match self.word() {
                w if w.eq_ignore_ascii_case("null") => Some(Literal::Null),
                w if w.eq_ignore_ascii_case("true") => Some(Literal::Bool(true)),
                w if w.eq_ignore_ascii_case("false") => Some(Literal::Bool(false)),
                _ => None,
            },
        }
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        let from = self.at + 1;
        let mut end = from + self.text[from..].find('\'')?;
        self.at = end + 1;
        if self.peek() != Some(b'\'') {
            return Some(Cow::Borrowed(&self.text[from..end]));
        }
        let mut text = String::new();
        let mut from = from;
        while self.peek() == Some(b'\'') {
            text.push_str(&self.text[from..=end]);
            from = self.at + 1;
            end = from + self.text[from..].find('\'')?;
            self.at = end + 1;
        }
        text.push_str(&self.text[from..end]);
        Some(Cow::Owned(text))
    }

    /// Digits with at most one point and no exponent; what follows must end it.
    fn number(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        let from = self.at;
        let mut at = from + usize::from(bytes[from] == b'-');
        let (first, mut point) = (at, false);
        while let Some(b) = bytes.get(at) {
            match b {
                b'0'..=b'9' => {}
                b'.' if !point => point = true,
                _ => break,
            }
            at += 1;
        }
        let digits = at - first - usize::from(point);
        let ends =
            bytes.get(at).is_none_or(|b| matches!(b, b',' | b')') || b.is_ascii_whitespace());
        if digits == 0 || !ends || !bytes[at - 1].is_ascii_digit() || !bytes[first].is_ascii_digit()
        {
            return None;
        }
        self.at = at;
        Some(&self.text[from..at])
    }
}

/// Whether rows go into a table by nothing but themselves.
fn is_alone(view: &View, id: onlap::TableId) -> bool {
    let (oid, families) = (oids::of_table(id), view.objects.families());
    !rules::has_any(&view.objects, oid)
        && !policies::are_enabled(&view.objects, oid)
        && view.judge.rights().materialized(oid).is_none()
        && families.divided(id).is_none()
        && families.bound(id).is_none()
}

impl Literals<'_> {
    /// Inserts them; the number of rows, or `None` where the table needs more than this.
    ///
    /// # Errors
    /// A value that is none of its column's type; those of the engine.
    pub fn run(&self, view: &View) -> Result<Option<usize>> {
        let Some(Relation::Table(_, table)) = view.find(&self.table)? else { return Ok(None) };
        let schema = table.schema();
        if !is_alone(view, schema.id)
            || fires::has_any(view, schema.id)
            || !called::may(view, &schema)
        {
            return Ok(None);
        }
        let given: Option<Vec<usize>> = match self.columns.is_empty() {
            true => Some((0..schema.columns.len().min(self.width)).collect()),
            false => self.columns.iter().map(|name| schema.position_by_name(name)).collect(),
        };
        let Some(given) = given.filter(|g| g.len() == self.width && is_distinct(g)) else {
            return Ok(None);
        };
        // Most tables have the engine's types alone.
        let noted = view.objects.column_types().of_table(schema.id);
        let types = noted.map(|_| Types::of(&view.objects, &schema));
        let read = |at: usize| types.as_ref().map(|of| of[at]).filter(|ty| !ty.is_native());
        if given.iter().any(|at| read(*at).is_some_and(|ty| !ty.is_read_alone())) {
            return Ok(None);
        }
        for (at, column) in schema.columns.iter().enumerate() {
            let special = match given.contains(&at) {
                true => {
                    defaults::is_always(view, schema.id, column.id)
                        || column.is_serial()
                        || schema.is_generated(at)
                }
                false => defaults::computed(view, schema.id, column).is_some(),
            };
            let is_read = given.contains(&at) && column.ty == DataType::Timestamptz;
            if special || is_read && view.scope.is_away() {
                return Ok(None);
            }
        }
        let written = numbers(&schema, given.iter().copied());
        let mut needs = vec![of_table(Action::Insert, &schema, written)];
        needs.extend(sequences(view, &schema, &given)?);
        view.must(&needs)?;
        let mut reader = None;
        let mut batch = Batch::new(given.iter().map(|at| schema.columns[*at].ty.physical()));
        for (i, &at) in given.iter().enumerate() {
            let column = &schema.columns[at];
            let cells = self.cells.iter().skip(i).step_by(self.width);
            let out = &mut batch.columns[i];
            let is_filled = match read(at) {
                None => fill(column.ty, &column.name, cells, out)?,
                Some(ty) => {
                    let reader = reader.get_or_insert_with(|| Reader::new(view));
                    fill_read(reader, ty, &column.name, cells, out)?
                }
            };
            if !is_filled {
                return Ok(None);
            }
        }
        batch.rows = self.cells.len() / self.width;
        let mut names: Vec<&str> =
            given.iter().map(|at| schema.columns[*at].name.as_str()).collect();
        let rows = batch.rows;
        for (at, column) in schema.columns.iter().enumerate() {
            let Some(ColumnDefault::NextVal(id)) = column.default else { continue };
            if !given.contains(&at) {
                // The session remembers what it took.
                let values = table.default_values(&column.name, rows)?;
                if let Value::Int(last) = convert::read_value(column.ty, &values, rows - 1) {
                    view.taken.lock().note(table.sequence_origin(id), last);
                }
                names.push(&column.name);
                batch.columns.push(values);
            }
        }
        let inserted = view.scope.tx()?.insert_batch_columns(&table, &names, batch);
        inserted.map_err(|e| SqlError::from(e).of_statement(&needs))?;
        Ok(Some(rows))
    }
}

/// Whether no position is there twice.
pub fn is_distinct(positions: &[usize]) -> bool {
    let mut sorted = positions.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|w| w[0] != w[1])
}

/// Reads values of a type that the engine does not have, each of which its own text tells; whether all are values of the type.
fn fill_read<'a>(
    reader: &Reader,
    ty: ColumnType,
    name: &str,
    cells: impl Iterator<Item = &'a Literal<'a>>,
    out: &mut Column,
) -> Result<bool> {
    for cell in cells {
        let value = match cell {
            Literal::Null => Ok(Value::Null),
            Literal::Text(text) => reader.column_value(ty, text),
            Literal::Bool(_) | Literal::Number(_) => return Ok(false),
        };
        let Ok(value) = value else { return Ok(false) };
        convert::push_value(ty.engine, &value, out, name)?;
    }
    Ok(true)
}

/// Bytes of a text that is far from any limit.
const SHORT: usize = 64 << 10;

/// Whether all values are some that the column can have: what is wrong with one, the statement's binding says.
fn fill<'a>(
    ty: DataType,
    name: &str,
    cells: impl Iterator<Item = &'a Literal<'a>>,
    out: &mut Column,
) -> Result<bool> {
    for cell in cells {
        if push_as_is(ty, cell, out) {
            continue;
        }
        let value = match cell {
            Literal::Null => Ok(Value::Null),
            Literal::Bool(b) => assign(Cell::Bool(*b), ty),
            Literal::Text(text) => assign(Cell::Text(text), ty),
            Literal::Number(text) => match text.parse::<i64>() {
                Ok(v) => assign(Cell::Int(v), ty),
                Err(_) => {
                    let n = crate::types::text_value(PgType::new(oid::NUMERIC), text);
                    n.and_then(|n| assign(Cell::of_value(&n), ty))
                }
            },
        };
        let Ok(value) = value else { return Ok(false) };
        convert::push_value(ty, &value, out, name)?;
    }
    Ok(true)
}

/// Whole numbers, and texts that are certain to fit, go where they are kept without a detour; whether it was one.
fn push_as_is(ty: DataType, cell: &Literal<'_>, out: &mut Column) -> bool {
    match (&mut out.data, cell, ty) {
        (
            Vector::Int(kept),
            Literal::Number(text),
            DataType::Int2 | DataType::Int4 | DataType::Int8,
        ) => {
            let (min, max) = convert::int_range(ty);
            let Some(n) = text.parse().ok().filter(|n| (min..=max).contains(n)) else {
                return false;
            };
            kept.push(n);
        }
        (Vector::Bytes(kept), Literal::Text(text), DataType::Text) if text.len() <= SHORT => {
            kept.push(text.as_bytes());
        }
        // It has no more characters than bytes.
        (Vector::Bytes(kept), Literal::Text(text), DataType::Varchar(n))
            if text.len() <= (n as usize).min(SHORT) =>
        {
            kept.push(text.as_bytes());
        }
        (Vector::Bytes(kept), Literal::Text(text), DataType::Char(n))
            if text.len() <= (n as usize).min(SHORT) =>
        {
            kept.push(text.trim_end_matches(' ').as_bytes());
        }
        _ => return false,
    }
    out.pushed();
    true
}
