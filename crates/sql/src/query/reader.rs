//! What do texts and bytes of values mean in a session?
//!
//! Thread safety: a reader belongs to the thread that reads.

use std::sync::Arc;

use onlap_kernels::{Cx, Datum, Given, input, output, recv};
use onlap_pg::TypeRef;
use onlap_pg::catalog::{Catalog, oids};
use onlap_pg::value::Settings;

use super::session::Asked;
use super::{row_types, session, sql_error, stored};
use crate::columns::{self, ColumnType};
use crate::error::{Result, SqlError};
use crate::types::{PgType, oid};
use crate::view::View;

/// The least OID of what a database makes itself.
const FIRST_MADE: u32 = 16384;

/// What reads values by a session's settings.
pub struct Reader {
    settings: onlap_pg::value::Settings,
    asked: Asked,
    catalog: Arc<Catalog>,
}

impl Reader {
    /// By the settings that there are now.
    pub fn new(view: &View) -> Reader {
        let catalog = row_types::catalog(view);
        Reader { settings: session::settings(view), asked: Asked::new(view), catalog }
    }

    /// A value that a text means, as the engine stores it.
    ///
    /// # Errors
    /// It is none of the type; the engine has no such type.
    pub fn read(&self, ty: PgType, text: &str) -> Result<onlap::Value> {
        let engine = ty.engine().ok_or_else(|| SqlError::unsupported("a value of this type"))?;
        let value = self.value(ty, |cx, ty| input(cx, TypeRef::new(ty.oid), text))?;
        stored::stored(&value, engine)
    }

    /// A parameter's value that a text means. What the engine does not have goes on as its text.
    ///
    /// # Errors
    /// It is none of the type.
    pub fn parameter(&self, ty: PgType, text: &str) -> Result<onlap::Value> {
        let on = || Ok(onlap::Value::Text(text.to_string()));
        if ty.oid == oid::XML {
            // It is its text, once that was looked at.
            self.value(ty, |cx, ty| input(cx, ty, text))?;
            return on();
        }
        let Some(engine) = ty.engine().filter(|_| ty.oid != oid::CHAR) else { return on() };
        let value = self.value(ty, |cx, ty| input(cx, TypeRef::new(ty.oid), text))?;
        match stored::stored(&value, engine) {
            // PostgreSQL's numbers are longer than the engine's, and its moments go on for 29 years.
            Err(_) if matches!(ty.oid, oid::NUMERIC | oid::TIMESTAMP | oid::TIMESTAMPTZ) => on(),
            stored => stored,
        }
    }

    /// A value that a text means, as a column keeps it.
    ///
    /// # Errors
    /// It is none of the type.
    pub fn column_value(&self, ty: ColumnType, text: &str) -> Result<onlap::Value> {
        let value = self.value(ty.pg, |cx, ty| input(cx, ty, text))?;
        columns::encode(&self.catalog, ty, &value)
    }

    /// Asks whether NULL keeps to the conditions of a column's type.
    ///
    /// # Errors
    /// Those of a domain.
    pub fn keep_null(&self, ty: ColumnType) -> Result<()> {
        self.value(ty.pg, |cx, ty| cx.keep_to(ty.oid, &Datum::Null))
    }

    /// A value in binary form, as a column keeps it.
    ///
    /// # Errors
    /// It is none of the type.
    pub fn sent_value(&self, ty: ColumnType, bytes: &[u8]) -> Result<onlap::Value> {
        let value = self.value(ty.pg, |cx, ty| recv(cx, ty, bytes))?;
        columns::encode(&self.catalog, ty, &value)
    }

    /// The text of a value in binary form.
    ///
    /// # Errors
    /// It is none of the type.
    pub fn sent_text(&self, ty: PgType, bytes: &[u8]) -> Result<String> {
        let mut text = String::new();
        self.value(ty, |cx, ty| {
            match recv(cx, ty, bytes)? {
                // A name may stand for several of them.
                Datum::Oid(number) => {
                    text = number.to_string();
                    Ok(())
                }
                // It is written without its declaration, which is part of the value.
                Datum::Text(value) if ty.oid == oid::XML => {
                    text = value.into_owned();
                    Ok(())
                }
                value => output(cx, ty.oid, &value, &mut text),
            }
        })?;
        Ok(text)
    }

    /// A text as the type prints the value that it means.
    ///
    /// # Errors
    /// It is none of the type.
    pub fn shown_text(&self, ty: PgType, text: &str) -> Result<String> {
        let mut shown = String::new();
        self.value(ty, |cx, ty| {
            // The fields of an interval say what a number alone means; other modifiers cut a value.
            let read = if ty.oid == oids::INTERVAL { ty } else { TypeRef::new(ty.oid) };
            let value = input(cx, read, text)?;
            output(cx, ty.oid, &value, &mut shown)
        })?;
        Ok(shown)
    }

    /// The text of what a text means to the session, as any session reads it.
    ///
    /// # Errors
    /// It is none of the type.
    pub fn fixed_text(&self, ty: PgType, text: &str) -> Result<String> {
        let mut shown = String::new();
        self.value(ty, |cx, ty| {
            let read = if ty.oid == oids::INTERVAL { ty } else { TypeRef::new(ty.oid) };
            let value = input(cx, read, text)?;
            let fixed = Settings::default();
            let mut cx = Cx { catalog: cx.catalog, settings: &fixed, session: cx.session };
            output(&mut cx, ty.oid, &value, &mut shown)
        })?;
        Ok(shown)
    }

    /// The same the other way round: a text that any session reads, as the session prints it.
    ///
    /// # Errors
    /// It is none of the type.
    pub fn shown_of_fixed(&self, ty: PgType, text: &str) -> Result<String> {
        let mut shown = String::new();
        self.value(ty, |cx, ty| {
            let read = if ty.oid == oids::INTERVAL { ty } else { TypeRef::new(ty.oid) };
            let fixed = Settings::default();
            let value = {
                let mut cx = Cx { catalog: cx.catalog, settings: &fixed, session: cx.session };
                input(&mut cx, read, text)?
            };
            output(cx, ty.oid, &value, &mut shown)
        })?;
        Ok(shown)
    }

    /// A value as the session prints it.
    ///
    /// # Errors
    /// It cannot be printed.
    pub fn print(&self, ty: TypeRef, value: &Datum<'_>) -> Result<String> {
        let mut text = String::new();
        let pg = PgType { oid: ty.oid, modifier: ty.modifier };
        self.value(pg, |cx, ty| output(cx, ty.oid, value, &mut text))?;
        Ok(text)
    }

    fn value<T>(
        &self,
        ty: PgType,
        mut read: impl FnMut(&mut Cx<'_>, TypeRef) -> onlap_pg::Result<T>,
    ) -> Result<T> {
        let given = Given(&self.asked);
        let mut by = |catalog: &Catalog| {
            let mut cx = Cx { catalog, settings: &self.settings, session: &given };
            read(&mut cx, TypeRef { oid: ty.oid, modifier: ty.modifier })
        };
        let found = match by(&self.catalog) {
            // The words name types as the search path shows them.
            Err(_) if ty.oid >= FIRST_MADE => by(&self.asked.catalog_with(ty.oid)),
            found => found,
        };
        found.map_err(|e| sql_error(&e, ""))
    }
}
