//! EXCLUDE.
//!
//! An exclusion constraint is kept by an index of the engine that is judged by a look at the rows: its parts that have to be equal,
//! then the span of the one that may not overlap (`crates/sql/src/columns/spans.rs`). How it was declared is kept next to the index
//! ([`Declared`]). What PostgreSQL would refuse is refused in its words; other operators than `=` and one `&&` are not there.
//!
//! Thread safety: runs in the session's thread.

use onlap::{Excludes, IndexSpec, Judged, Table, TableSchema, Time};
use onlap_pg::TypeRef;
use onlap_pg::ast::{self, CreateIndex, Exclusion, IndexElement, Path, SortOrder};
use onlap_pg::bind::is_system_column;
use onlap_pg::catalog::Operator;
use onlap_pg::resolve::{Operand, operator};

use super::index::{self, number_twins};
use super::index_parts::{Part, Parts};
use super::{classes, gist, storage};
use crate::catalog::storage::{Declared, DeclaredPart, Storage};
use crate::catalog::{Kind, Name, oids};
use crate::columns::{ColumnType, Types};
use crate::error::{Result, SqlError, state};
use crate::formulas;
use crate::query::sql_error;
use crate::session::Session;
use crate::source::Source;
use crate::view::View;

/// An exclusion constraint that can be made.
#[derive(Clone, Debug)]
pub struct Excluding {
    /// Its name.
    pub name: String,
    /// The index that keeps it.
    pub spec: IndexSpec,
    /// What is kept next to that.
    pub storage: Storage,
}

/// Makes descriptions of the exclusion constraints of a table.
pub struct Excluder<'a> {
    /// What the statement sees.
    pub view: &'a View,
    /// The statement.
    pub source: Source<'a>,
    /// The table.
    pub table: &'a Name,
    /// Its form.
    pub schema: &'a TableSchema,
}

/// An element as it was declared, with what it is of.
struct Element<'a> {
    said: &'a IndexElement,
    operator: &'static Operator,
    overlaps: bool,
    class: Option<String>,
}

impl<'a> Excluder<'a> {
    /// What the engine is asked for, without a name, what is kept next to the index, and what its columns are called.
    ///
    /// # Errors
    /// Those of PostgreSQL; `0A000` for what is not there.
    pub fn described(
        &self,
        said: &'a Exclusion,
        time: Time,
    ) -> Result<(IndexSpec, Storage, Vec<String>)> {
        let method = said.method.as_deref().unwrap_or("btree");
        check_method(method, said)?;
        let parts = Parts::of(self.view, self.source, self.table, self.schema)?;
        let elements = said.elements.iter().map(|(element, path)| {
            let (made, ty) = self.part(&parts, element)?;
            Ok((made, self.element(method, element, path, ty)?))
        });
        let elements = elements.collect::<Result<Vec<(Part, Element<'_>)>>>()?;
        if elements.iter().filter(|(_, of)| of.overlaps).count() > 1 {
            let text = "an exclusion constraint with && of several columns";
            return Err(SqlError::unsupported(text));
        }
        let order = || elements.iter().filter(|(_, of)| !of.overlaps);
        let create = self.equal_parts(said, order().map(|(_, of)| of.said));
        let (mut spec, _) =
            index::described_in_order(self.view, self.source, &create, self.table, self.schema)?;
        let mut excludes = Excludes::Equal;
        if let Some(place) = elements.iter().position(|(_, of)| of.overlaps) {
            let span = parts.span(elements[place].1.said, place)?;
            spec = spec.part(onlap::IndexPart::Derived(span), false);
            excludes = Excludes::Overlapping;
        }
        let judged = Judged { excludes: Some(excludes), time, ..Judged::default() };
        let mut names: Vec<String> =
            elements.iter().map(|(part, _)| part.name().to_string()).collect();
        names.extend(said.include.iter().map(|name| name.to_string()));
        number_twins(&mut names);
        let storage = Storage {
            options: storage::options(storage::Of::method(method), &said.settings)?,
            declared: Some(declared(method, &elements)),
            ..index::order_of(self.view, self.source, (self.table, self.schema), &create)?
        };
        Ok((spec.judged(judged), storage, names))
    }

    /// A part and its type.
    fn part(&self, parts: &Parts<'_>, element: &IndexElement) -> Result<(Part, ColumnType)> {
        let part = match (&element.column, element.value) {
            (None, Some(value)) => parts.expression(value)?,
            (column, _) => Part::Column(column.iter().map(|name| name.to_string()).collect()),
        };
        let ty = match &part {
            Part::Expression(made) => made.2,
            Part::Column(name) => {
                let types = Types::of(&self.view.objects, self.schema);
                let at = self.schema.position_by_name(name).ok_or_else(|| no_column(name))?;
                types[at]
            }
        };
        Ok((part, ty))
    }

    fn element(
        &self,
        method: &str,
        said: &'a IndexElement,
        path: &Path,
        ty: ColumnType,
    ) -> Result<Element<'a>> {
        // With the extensions, whose operators are meant for their types.
        let own = &*formulas::catalog_of(self.view);
        let class = match method {
            "gist" => gist::class_of(self.view, said, ty)?,
            "hash" => {
                let check = |class| classes::check(self.view, class, method, ty.pg.oid);
                said.class.as_ref().map_or(Ok(()), check)?;
                None
            }
            // What is named is judged with the index.
            _ => None,
        };
        if method != "gist" && said.class.is_none() {
            super::keys::must_have_class(ty, Some(method))?;
        }
        let of = Operand::typed(TypeRef::new(ty.pg.oid));
        let (name, schema) = match &path[..] {
            [name] => (name, None),
            [schema, name] => (name, Some(&**schema)),
            _ => return Err(SqlError::unsupported("an operator of another database")),
        };
        if let Some(schema) = schema.filter(|of| *of != "pg_catalog" && !self.view.has_schema(of)) {
            return Err(crate::view::no_schema(schema));
        }
        let found = operator(own, name, Some(of), of).map_err(|e| sql_error(&e, ""))?;
        let found = own.operator(found.operator);
        let operator = found.ok_or_else(|| SqlError::defect("an operator that was found"))?;
        let shown = || {
            let operands = [operator.left, operator.right].map(|ty| own.shown(ty));
            format!("operator {}({})", operator.name, operands.join(","))
        };
        if operator.commutator != operator.oid {
            let text = format!("{} is not commutative", shown());
            let detail = "Only commutative operators can be used in exclusion constraints.";
            return Err(SqlError::new("42809", text).detail(detail));
        }
        let base = own.base_type(ty.pg.oid);
        let overlaps = match operator.name {
            "=" => false,
            "&&" if method == "gist" && gist::is_range(self.view, base) => true,
            "&&" if class.as_deref() == Some(gist::NETWORK_CLASS) => true,
            "&&" if method != "gist" && gist::is_range(self.view, base) => {
                let text = format!("{} is not a member of operator family \"range_ops\"", shown());
                let detail = "The exclusion operator must be related to the index operator class \
                              for the constraint.";
                return Err(SqlError::new("42809", text).detail(detail));
            }
            _ => {
                let text = format!("an exclusion constraint with {}", shown());
                return Err(SqlError::unsupported(text));
            }
        };
        Ok(Element { said, operator, overlaps, class })
    }

    /// The parts that have to be equal, as an index in their order is made.
    fn equal_parts<'e>(
        &self,
        said: &Exclusion,
        elements: impl Iterator<Item = &'e IndexElement>,
    ) -> CreateIndex {
        let is_ordered = said.method.as_deref().is_none_or(|method| method == "btree");
        let element = |of: &IndexElement| match is_ordered {
            true => of.clone(),
            false => gist::without_class(of),
        };
        let included = |name: &ast::Name| IndexElement {
            column: Some(name.clone()),
            value: None,
            collation: None,
            class: None,
            class_options: Vec::new(),
            order: SortOrder::Default,
            nulls_first: None,
        };
        let name = [self.table.schema.as_str().into(), self.table.name.as_str().into()];
        let table = ast::Relation { name: name.into(), only: true, alias: None, place: 0 };
        CreateIndex {
            unique: false,
            concurrently: false,
            skip: false,
            name: None,
            table,
            method: None,
            elements: elements.map(element).collect(),
            include: said.include.iter().map(included).collect(),
            nulls_not_distinct: false,
            settings: Vec::new(),
            tablespace: None,
            filter: said.filter,
            invisible: false,
        }
    }
}

fn check_method(method: &str, said: &Exclusion) -> Result<()> {
    let not = |what: &str| {
        let text = format!("access method \"{method}\" does not support {what}");
        Err(SqlError::new(state::UNSUPPORTED, text))
    };
    match method {
        "btree" | "gist" | "hash" => {}
        "gin" | "brin" => return not("exclusion constraints"),
        "spgist" => return Err(SqlError::unsupported("an exclusion constraint USING spgist")),
        _ => {
            let text = format!("access method \"{method}\" does not exist");
            return Err(SqlError::new(state::NO_OBJECT, text));
        }
    }
    if method == "hash" && said.elements.len() > 1 {
        return not("multicolumn indexes");
    }
    if method == "hash" && !said.include.is_empty() {
        return not("included columns");
    }
    let elements = || said.elements.iter().map(|(element, _)| element);
    if method != "btree" && elements().any(|of| of.order != SortOrder::Default) {
        return not("ASC/DESC options");
    }
    if method != "btree" && elements().any(|of| of.nulls_first.is_some()) {
        return not("NULLS FIRST/LAST options");
    }
    Ok(())
}

fn declared(method: &str, elements: &[(Part, Element<'_>)]) -> Declared {
    let equal = elements.iter().filter(|(_, of)| !of.overlaps).count();
    let mut next = 0;
    let part = |(_, of): &(Part, Element<'_>)| {
        let at = if of.overlaps { equal } else { next };
        next += usize::from(!of.overlaps);
        DeclaredPart { at, operator: of.operator.oid, class: of.class.clone() }
    };
    Declared { method: method.to_string(), parts: elements.iter().map(part).collect() }
}

fn no_column(name: &str) -> SqlError {
    if is_system_column(name) {
        let text = "index creation on system columns is not supported";
        return SqlError::new(state::UNSUPPORTED, text);
    }
    SqlError::new(state::NO_COLUMN, format!("column \"{name}\" named in key does not exist"))
}

/// Makes an exclusion constraint of a table that is there, whose rows are judged.
///
/// # Errors
/// `23P01`: two of its rows conflict; those of the engine.
pub fn make(session: &mut Session, view: &View, table: &Table, of: &Excluding) -> Result<()> {
    let spec = of.spec.clone().named(&of.name);
    view.scope.tx()?.create_index(table, spec).map_err(SqlError::of_rows)?;
    session.catalog_changed()?;
    let made = view.scope.tx()?.table(&table.name())?;
    let schema = made.schema();
    let Some(index) = schema.index_by_name(&of.name) else { return Ok(()) };
    session.put(Kind::Unique, &index.id.0.to_string(), Some(serde_json::json!({})))?;
    storage::note(session, oids::of_index(index.id), &of.storage)
}
