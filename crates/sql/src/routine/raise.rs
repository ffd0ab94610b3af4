//! RAISE, ASSERT and GET DIAGNOSTICS.

use onlap_kernels::Datum;
use onlap_pg::TypeRef;
use onlap_pg::catalog::oids;

use super::body::{Item, Level, Raise, RaiseOption, Sql, Target};
use super::conditions;
use super::machine::{Machine, with_any_state};
use crate::error::{Result, SqlError, state};

/// Values of a message that ask for memory.
const LONG: usize = 64 << 10;

impl Machine<'_, '_> {
    /// RAISE.
    pub(super) fn raise(&mut self, raise: &Raise) -> Result<()> {
        let is_bare =
            raise.condition.is_none() && raise.format.is_none() && raise.options.is_empty();
        if is_bare {
            return Err(match self.handled.last() {
                // It says where it was met already.
                Some(e) => {
                    self.is_noted = true;
                    e.clone()
                }
                None => {
                    let text =
                        "RAISE without parameters cannot be used outside an exception handler";
                    SqlError::new("0Z002", text)
                }
            });
        }
        let error = self.raised(raise)?;
        if raise.level == Level::Exception {
            return Err(error);
        }
        let context = self.context();
        self.host.notice(raise.level, &error.around(&context))
    }

    fn raised(&mut self, raise: &Raise) -> Result<SqlError> {
        let mut message = match &raise.format {
            Some(format) => Some(self.formatted(format, &raise.values)?),
            None => None,
        };
        let (mut code, mut fallback) = match &raise.condition {
            Some((code, name)) => (Some(code.clone()), name.clone().or(Some(code.clone()))),
            None => (None, None),
        };
        let (mut detail, mut hint) = (None, None);
        let mut about: Vec<(u8, String)> = Vec::new();
        let mut seen: Vec<RaiseOption> = Vec::new();
        for (option, sql) in &raise.options {
            let (ty, value) = self.value(sql)?;
            let Some(text) = self.text_of(ty, &value)? else {
                return Err(SqlError::new("22004", "RAISE statement option cannot be null"));
            };
            let taken = match option {
                RaiseOption::Message => raise.format.is_some(),
                RaiseOption::State => raise.condition.is_some(),
                _ => false,
            };
            if taken || seen.contains(option) {
                let name = option_name(*option);
                let text = format!("RAISE option already specified: {name}");
                return Err(SqlError::new(state::SYNTAX, text));
            }
            seen.push(*option);
            match option {
                RaiseOption::Message => message = Some(text),
                RaiseOption::Detail => detail = Some(text),
                RaiseOption::Hint => hint = Some(text),
                RaiseOption::State => {
                    code = Some(code_of(&text)?);
                    fallback = Some(text);
                }
                RaiseOption::Column => about.push((b'c', text)),
                RaiseOption::Constraint => about.push((b'n', text)),
                RaiseOption::DataType => about.push((b'd', text)),
                RaiseOption::Table => about.push((b't', text)),
                RaiseOption::Schema => about.push((b's', text)),
            }
        }
        let code = code.unwrap_or_else(|| "P0001".to_string());
        let message = message.or(fallback).unwrap_or_else(|| code.clone());
        let code = if raise.level == Level::Exception || seen.contains(&RaiseOption::State) {
            code
        } else {
            match (&raise.condition, raise.level) {
                (Some(_), _) => code,
                (None, Level::Warning) => "01000".to_string(),
                (None, _) => "00000".to_string(),
            }
        };
        let mut error = with_any_state(&code, message).routine("exec_stmt_raise");
        if let Some(detail) = detail {
            error = error.detail(detail);
        }
        if let Some(hint) = hint {
            error = error.hint(hint);
        }
        Ok(if about.is_empty() { error } else { error.about_fields(&about) })
    }

    fn formatted(&mut self, format: &str, values: &[Sql]) -> Result<String> {
        let (mut made, mut rest, mut next) = (String::new(), format.chars().peekable(), 0);
        let mut memory = Vec::new();
        while let Some(c) = rest.next() {
            if c != '%' {
                made.push(c);
            } else if rest.next_if_eq(&'%').is_some() {
                made.push('%');
            } else if let Some(sql) = values.get(next) {
                next += 1;
                let (ty, value) = self.value(sql)?;
                let text = self.text_of(ty, &value)?;
                let text = text.as_deref().unwrap_or("<NULL>");
                if text.len() > LONG {
                    memory.push(super::memory_of(&self.host.view, text.len() as u64)?);
                }
                made.push_str(text);
            }
        }
        Ok(made)
    }

    /// ASSERT.
    pub(super) fn assert(&mut self, condition: &Sql, message: Option<&Sql>) -> Result<()> {
        if self.truth(condition)? {
            return Ok(());
        }
        let text = match message {
            Some(sql) => {
                let (ty, value) = self.value(sql)?;
                self.text_of(ty, &value)?
            }
            None => None,
        };
        Err(SqlError::new("P0004", text.unwrap_or_else(|| "assertion failed".to_string())))
    }

    /// GET DIAGNOSTICS.
    pub(super) fn diagnose(&mut self, stacked: bool, items: &[(Target, Item)]) -> Result<()> {
        let handled = self.handled.last().cloned();
        if stacked && handled.is_none() {
            let text = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";
            return Err(SqlError::new("0Z002", text));
        }
        let fields = handled.map(|e| e.fields()).unwrap_or_default();
        for (target, item) in items {
            let of = |letter: u8| {
                let found = fields.iter().find(|(known, _)| *known == letter);
                found.map_or_else(String::new, |(_, text)| text.clone())
            };
            if *item == Item::RowCount {
                let rows = i64::try_from(self.rows).unwrap_or(i64::MAX);
                self.assign(target, TypeRef::new(oids::INT8), Datum::Int8(rows))?;
                continue;
            }
            let text = match item {
                Item::RowCount | Item::Context => self.context(),
                Item::ErrorContext => of(b'W'),
                Item::Detail => of(b'D'),
                Item::Hint => of(b'H'),
                Item::State => of(b'C'),
                Item::Column => of(b'c'),
                Item::Constraint => of(b'n'),
                Item::DataType => of(b'd'),
                Item::Message => of(b'M'),
                Item::Table => of(b't'),
                Item::Schema => of(b's'),
            };
            self.assign(target, TypeRef::new(oids::TEXT), Datum::text(text))?;
        }
        Ok(())
    }

    /// Where it stands.
    pub(super) fn context(&self) -> String {
        let (line, what) = self.here;
        match line {
            0 => format!("PL/pgSQL function {} {what}", self.name),
            line => format!("PL/pgSQL function {} line {line} {what}", self.name),
        }
    }
}

/// A SQLSTATE, or that of a condition's name.
fn code_of(text: &str) -> Result<String> {
    if conditions::is_state(text) {
        return Ok(text.to_string());
    }
    match conditions::states(text).next() {
        Some(known) => Ok(known.to_string()),
        None => Err(super::read::no_condition(text)),
    }
}

fn option_name(option: RaiseOption) -> &'static str {
    match option {
        RaiseOption::Message => "MESSAGE",
        RaiseOption::Detail => "DETAIL",
        RaiseOption::Hint => "HINT",
        RaiseOption::State => "ERRCODE",
        RaiseOption::Column => "COLUMN",
        RaiseOption::Constraint => "CONSTRAINT",
        RaiseOption::DataType => "DATATYPE",
        RaiseOption::Table => "TABLE",
        RaiseOption::Schema => "SCHEMA",
    }
}
