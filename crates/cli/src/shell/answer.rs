//! What comes back of statements?

use std::io::Write as _;

use super::client::{self, Message, refusal};
use super::input::{Input, Line};
use super::table::{Shape, Table};
use super::{Shell, copy};

/// Rows that are collected for a box; what comes later is shown in further boxes.
const BOX_ROWS: usize = 10_000;

impl Shell {
    /// Shows answers up to ReadyForQuery.
    pub(super) fn answers(&mut self, input: &mut Input) -> client::Result<()> {
        let mut table: Option<Table> = None;
        loop {
            let message = self.client.next()?;
            match message.kind {
                b'T' => table = Some(Table::new(&message.body)),
                b'D' => self.row(&message, &mut table),
                b'C' => self.complete(&message, table.take()),
                b'E' => {
                    table = None;
                    self.report(&refusal(&message));
                }
                b'G' => self.copy_in(input)?,
                b'd' => self.write(&message.body),
                b'Z' => return Ok(()),
                _ => {}
            }
        }
    }
    fn row(&mut self, message: &Message, table: &mut Option<Table>) {
        let values = Table::values(&message.body);
        let Some(found) = table else { return };
        if !self.interactive || self.shape != Shape::Usual {
            let text = found.next(self.shape, &values);
            self.write(text.as_bytes());
            return;
        }
        found.rows.push(values);
        if found.rows.len() >= BOX_ROWS {
            self.show(found);
            found.rows.clear();
        }
    }
    fn complete(&mut self, message: &Message, table: Option<Table>) {
        match table {
            Some(table) if self.shape != Shape::Usual => {
                self.write(table.end(self.shape).as_bytes());
            }
            Some(table) if self.interactive && (self.shows_empty || !table.rows.is_empty()) => {
                self.show(&table);
            }
            None if self.interactive => {
                let tag = message.body.split(|b| *b == 0).next().unwrap_or_default();
                let tag = String::from_utf8_lossy(tag);
                self.names_are_old |=
                    ["CREATE", "ALTER", "DROP"].iter().any(|word| tag.starts_with(word));
                println!("{tag}");
            }
            _ => {}
        }
    }
    fn show(&mut self, table: &Table) {
        let text = if self.expanded { table.expanded() } else { table.boxed() };
        self.write(text.as_bytes());
    }
    fn write(&mut self, bytes: &[u8]) {
        if let Some(waiting) = &mut self.client.waiting {
            waiting.clear();
        }
        // The reader may have seen enough (`| head`).
        if std::io::stdout().lock().write_all(bytes).is_err() {
            std::process::exit(0);
        }
    }
    /// COPY FROM STDIN: lines of the input up to `\.`.
    fn copy_in(&mut self, input: &mut Input) -> client::Result<()> {
        if self.interactive {
            println!("Enter data, a line with \\. ends it.");
        }
        let mut piece = Vec::new();
        loop {
            match input.line("copy>  ") {
                Line::Text(line) if line == "\\." => break,
                Line::Text(line) => {
                    piece.extend_from_slice(line.as_bytes());
                    piece.push(b'\n');
                }
                Line::Interrupted => return self.client.send(b'f', b"interrupted\0"),
                Line::End => break,
            }
            if piece.len() >= copy::PIECE_BYTES {
                self.client.send(b'd', &piece)?;
                piece.clear();
            }
        }
        self.client.send(b'd', &piece)?;
        self.client.send(b'c', b"")
    }
}
