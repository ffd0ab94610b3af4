//! What do messages call what goes, and what it depends on?

use onlap::TableSchema;
use onlap_kernels::gin::Class;

use super::Object;
use super::uses::Uses;
use crate::catalog::names::quote;
use crate::catalog::{Name, extensions};
use crate::ddl::{alter, gist, materialized};
use crate::error::Result;
use crate::formulas;
use crate::view::View;

/// A relation's name, with its schema where the name alone would not find it.
///
/// # Errors
/// The transaction has ended.
pub fn relation(view: &View, name: &Name) -> Result<String> {
    let seen = alter::relation(view, std::slice::from_ref(&name.name))?;
    Ok(match seen.is_some_and(|(seen, _)| seen == *name) {
        true => quote(&name.name),
        false => format!("{}.{}", quote(&name.schema), quote(&name.name)),
    })
}

/// What of an extension an OID is.
fn member(view: &View, oid: u32) -> String {
    let catalog = crate::query::catalog();
    if let Some((created, proc)) = extensions::of_proc(view, oid) {
        return format!("function {}", extensions::shown_proc(view, &created, proc));
    }
    if let Some((created, name)) = extensions::view_of(view, oid) {
        return match extensions::is_seen(view, &created.schema) {
            true => format!("view {}", quote(name)),
            false => format!("view {}.{}", quote(&created.schema), quote(name)),
        };
    }
    if oid == onlap_pg::catalog::oids::TRIGRAM_OPS {
        let class = crate::system::text::class_name(Class::Trigrams, &formulas::catalog_of(view));
        return format!("operator class {class} for access method gin");
    }
    if let Some(class) = gist::class_name(view, oid) {
        return format!("operator class {class} for access method gist");
    }
    let Some(found) = catalog.operator(oid) else {
        return format!("type {}", extensions::shown_type(view, oid));
    };
    let side = |oid| match oid {
        0 => "none".to_string(),
        oid => extensions::shown_type(view, oid),
    };
    let of = extensions::of_type(view, oid);
    let schema = of.filter(|created| !extensions::is_seen(view, &created.schema));
    let schema = schema.map_or(String::new(), |created| format!("{}.", quote(&created.schema)));
    format!("operator {schema}{}({},{})", found.name, side(found.left), side(found.right))
}

impl Uses<'_> {
    /// As messages call it.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn shown(&self, object: &Object) -> Result<String> {
        let view = self.view;
        Ok(match object {
            Object::Schema(name) => format!("schema {name}"),
            Object::Extension(name) => format!("extension {name}"),
            Object::Member(oid) => member(view, *oid),
            Object::Table(id) => self.shown_table(*id)?,
            Object::View(oid) => format!("view {}", self.shown_view(*oid)?),
            Object::Sequence(engine) => {
                format!("sequence {}", relation(view, &Name::of_engine(engine).1)?)
            }
            Object::Index(table, name) if self.is_exclusion(*table, name) => {
                format!("constraint {name} on {}", self.shown_table(*table)?)
            }
            Object::Index(table, name) => {
                let schema = self.name(*table).map_or("", |of| &of.schema);
                format!("index {}", relation(view, &Name::new(schema, name))?)
            }
            Object::Column(table, id) => {
                let column = self.column_name(*table, |schema| schema.position(*id));
                format!("column {column} of {}", self.shown_table(*table)?)
            }
            Object::Default(table, id) => {
                let column = self.column_name(*table, |schema| schema.position(*id));
                format!("default value for column {column} of {}", self.shown_table(*table)?)
            }
            Object::Key(table, name) | Object::Constraint(table, name) => {
                format!("constraint {name} on {}", self.shown_table(*table)?)
            }
            Object::Rule(of, name) => format!("rule {name} on {}", self.shown_relation(*of)?),
            Object::Trigger(of, name) => format!("trigger {name} on {}", self.shown_relation(*of)?),
            Object::Policy(of, name) => format!("policy {name} on {}", self.shown_relation(*of)?),
            Object::Function(oid) => {
                let function = view.objects.functions().by_oid(*oid);
                function.map_or(String::new(), |of| format!("function {}", of.shown(view)))
            }
            Object::Type(oid) | Object::Part(oid) => format!("type {}", self.shown_type(*oid)),
            Object::Field(of, name) => {
                format!("column {} of composite type {}", name, self.shown_type(*of))
            }
            Object::Check(_, name) => format!("constraint {name}"),
        })
    }

    fn shown_type(&self, oid: u32) -> String {
        crate::catalog::functions::shown_type(self.view, oid)
    }

    fn shown_table(&self, id: onlap::TableId) -> Result<String> {
        let Some((name, table)) = self.of_table(id) else { return Ok(String::new()) };
        let word = if materialized::is(self.view, table) { "materialized view" } else { "table" };
        Ok(format!("{word} {}", relation(self.view, name)?))
    }

    fn shown_view(&self, oid: u32) -> Result<String> {
        match self.view_name(oid) {
            Some(engine) => relation(self.view, &Name::of_engine(engine).1),
            None => Ok(String::new()),
        }
    }

    fn shown_relation(&self, oid: u32) -> Result<String> {
        match self.table(oid) {
            Some(id) => self.shown_table(id),
            None => Ok(format!("view {}", self.shown_view(oid)?)),
        }
    }

    fn column_name(
        &self,
        id: onlap::TableId,
        at: impl Fn(&TableSchema) -> Option<usize>,
    ) -> String {
        let schema = self.of_table(id).map(|(_, table)| table.schema());
        let found = schema.and_then(|schema| Some(schema.columns[at(&schema)?].name.clone()));
        found.unwrap_or_default()
    }
}
