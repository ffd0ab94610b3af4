//! How are keys of an exclusion constraint shown in an error?
//!
//! As PostgreSQL's detail has them: the parts as they were declared, with the values of a row. The engine says the row's columns as
//! it keeps them, and what is calculated of these; it knows no order but its index's.
//!
//! Thread safety: belongs to one call.

use onlap::{TableSchema, Value, convert};
use onlap_pg::print::Look;
use onlap_pg::value::Settings;

use crate::catalog::objects::Objects;
use crate::columns::Types;
use crate::formulas::{self, Shown};

/// Prints keys of a table.
pub(super) struct Printer<'a> {
    pub schema: &'a TableSchema,
    pub objects: &'a Objects,
    pub settings: Settings,
}

/// Columns of a row with their values, as the engine prints what is kept.
type Row = [(String, Option<String>)];

impl Printer<'_> {
    /// `(a, b)=(1, [1,2))`, of parts with what is calculated for them; `None` where that is not known any more.
    pub fn key(&self, parts: &[(String, String)], row: &Row) -> Option<String> {
        let mut shown = Vec::with_capacity(parts.len());
        let mut span = None;
        for (name, program) in parts {
            if program.is_empty() {
                shown.push((crate::catalog::names::quote(name), self.column(name, row)?));
                continue;
            }
            let kept = formulas::program(program).ok()?;
            let now = |id: u32| {
                let column = self.schema.columns.iter().find(|column| column.id.0 == id);
                column.map(|column| column.name.clone())
            };
            let catalog = self.objects.made_types().catalog();
            // What the database made is shown as it was called when the constraint was made.
            let name = match kept.carried.is_empty() {
                true => kept.element(&now, Look::PRETTY, Shown::to_all(catalog)).ok()?,
                false => name.clone(),
            };
            let value = formulas::text_of(program, &|id| self.value(id, row), &self.settings);
            let part = (name, value.ok()??);
            match kept.span {
                Some(of) => span = Some((of.place, part)),
                None => shown.push(part),
            }
        }
        if let Some((place, part)) = span {
            shown.insert(place.min(shown.len()), part);
        }
        let (names, values): (Vec<String>, Vec<String>) = shown.into_iter().unzip();
        Some(format!("({})=({})", names.join(", "), values.join(", ")))
    }

    /// The columns that a role has to be allowed to read to be shown a key: all where a part is an expression.
    pub fn read(&self, parts: &[(String, String)]) -> Vec<String> {
        let column = |(name, program): &(String, String)| {
            if program.is_empty() {
                return Some(name.clone());
            }
            let kept = formulas::program(program).ok()?;
            let (id, ..) = kept.columns.first().filter(|_| kept.span.is_some_and(|of| of.whole))?;
            let found = self.schema.columns.iter().find(|column| column.id.0 == *id);
            found.map(|column| column.name.clone())
        };
        let all = || self.schema.columns.iter().map(|column| column.name.clone()).collect();
        parts.iter().map(column).collect::<Option<Vec<_>>>().unwrap_or_else(all)
    }

    /// A column's value.
    fn value(&self, id: u32, row: &Row) -> Option<Value> {
        let column = self.schema.columns.iter().find(|column| column.id.0 == id)?;
        let (_, text) = row.iter().find(|(name, _)| *name == column.name)?;
        convert::parse_text(column.ty, text.as_deref()?).ok()
    }

    /// The same as it is printed.
    fn column(&self, name: &str, row: &Row) -> Option<String> {
        let text = row.iter().find(|(known, _)| known == name)?.1.as_deref()?;
        let at = self.schema.position_by_name(name)?;
        let printed = Types::of(self.objects, self.schema).print_kept(at, text, &self.settings);
        Some(printed.unwrap_or_else(|| text.to_string()))
    }
}
