//! What do the catalogs say of extensions, and of what they have?

use onlap_pg::catalog::extensions::{self as known, ALL, Part};
use onlap_pg::catalog::{Table, rows as facts};

use super::definitions::Definition;
use super::fixed;
use super::model::Model;
use super::rows::{Datum, Rows};
use crate::catalog::extensions::{self, Created, PLPGSQL};
use crate::catalog::{Kind, oids};
use crate::row;
use crate::view::View;

/// OID of pg_extension.
pub const PG_EXTENSION: u32 = 3079;

/// What pg_extension has of plpgsql, and what it says of itself.
const LANGUAGE: (&str, &str, &str) = ("plpgsql", "1.0", "PL/pgSQL procedural language");

/// Whether a table's rows are those of this module.
pub fn has(table: &str) -> bool {
    let own = ["pg_extension", "pg_available_extensions", "pg_available_extension_versions"];
    let added = ["pg_cast", "pg_opclass", "pg_opfamily", "pg_operator"];
    own.contains(&table) || added.contains(&table)
}

/// The rows of a table of this module, or those that extensions add to one; `None` of others.
pub fn rows(view: &View, model: &Model, definition: &Definition) -> Option<Rows> {
    let with = |part, make: &dyn Fn(&Row<'_>) -> Vec<Datum>| {
        let mut rows = fixed::rows(definition).unwrap_or_default();
        for created in extensions::all(view) {
            let schema = model.schema_oid(&created.schema);
            for values in created.extension.rows(part) {
                rows.push(make(&Row { values: values.texts(), schema }));
            }
        }
        rows
    };
    Some(match definition.name {
        "pg_extension" => created(view, model),
        "pg_available_extensions" => available(view),
        "pg_available_extension_versions" => versions(view),
        "pg_cast" => with(Part::Cast, &|of| of.numbered(&[5, 0, 1, 2, 3, 4])),
        "pg_opclass" => with(Part::Class, &|of| {
            let mut row = of.numbered(&[0, 1, 2]);
            row.extend(row![of.schema, oids::POSTGRES]);
            row.extend(of.numbered(&[3, 4, 5, 6]));
            row
        }),
        "pg_opfamily" => with(Part::Family, &|of| {
            let mut row = of.numbered(&[0, 1, 2]);
            row.extend(row![of.schema, oids::POSTGRES]);
            row
        }),
        "pg_operator" => operators(view, model),
        _ => return None,
    })
}

/// A row of an extension's facts, and the OID of the extension's schema.
struct Row<'a> {
    values: &'a [&'static str],
    schema: u32,
}

impl Row<'_> {
    /// Some of the values, by their places.
    fn numbered(&self, places: &[usize]) -> Vec<Datum> {
        places.iter().map(|place| value(self.values[*place])).collect()
    }
}

fn value(text: &'static str) -> Datum {
    match text {
        "\\N" => Datum::Null,
        "t" => Datum::Bool(true),
        "f" => Datum::Bool(false),
        text => text.parse::<i64>().map_or_else(|_| text.into(), Datum::Int),
    }
}

fn created(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "oid extname extowner extnamespace extrelocatable extversion extconfig extcondition",
    );
    let (name, version, _) = LANGUAGE;
    let null = || Datum::Null;
    let owner = oids::POSTGRES;
    rows.push(row![PLPGSQL, name, owner, oids::PG_CATALOG, false, version, null(), null()]);
    for Created { oid, extension, schema, owner } in extensions::all(view) {
        let schema = model.schema_oid(&schema);
        let (name, version) = (extension.name, extension.version);
        rows.push(row![oid, name, owner, schema, true, version, null(), null()]);
    }
    rows
}

fn available(view: &View) -> Rows {
    let mut rows = Rows::of("name default_version installed_version comment");
    let (name, version, comment) = LANGUAGE;
    rows.push(row![name, version, version, comment]);
    for extension in &ALL {
        let created = extensions::named(view, extension.name).map(|_| extension.version);
        rows.push(row![extension.name, extension.version, created, extension.comment]);
    }
    rows
}

fn versions(view: &View) -> Rows {
    let mut rows =
        Rows::of("name version installed superuser trusted relocatable schema requires comment");
    let (name, version, comment) = LANGUAGE;
    let null = || Datum::Null;
    rows.push(row![name, version, true, true, true, false, "pg_catalog", null(), comment]);
    for of in &ALL {
        let is_created = extensions::named(view, of.name).is_some();
        let row = row![of.name, of.version, is_created, true, true, true, null(), null()];
        rows.push(row.into_iter().chain([of.comment.into()]).collect());
    }
    rows
}

/// pg_type's rows of extensions.
pub fn types(view: &View, model: &Model, rows: &mut Rows) {
    for created in extensions::all(view) {
        let schema = model.schema_oid(&created.schema);
        for facts in created.extension.rows(Part::Type) {
            let of = Row { values: facts.texts(), schema };
            let mut row = of.numbered(&[0, 1]);
            row.extend(row![schema, oids::POSTGRES]);
            let rest: Vec<usize> = (2..27).collect();
            row.extend(of.numbered(&rest));
            row.extend(row![Datum::Null, Datum::Null, Datum::Null]);
            rows.push(row);
        }
    }
}

/// The columns of pg_proc of functions of extensions, as [`super::functions`] has them.
pub fn procs(view: &View, model: &Model, rows: &mut Rows) {
    for created in extensions::all(view) {
        let schema = model.schema_oid(&created.schema);
        for facts in created.extension.rows(Part::Proc) {
            let of = Row { values: facts.texts(), schema };
            let mut row = of.numbered(&[0, 1]);
            row.extend(row![schema]);
            row.extend(of.numbered(&[7, 12, 11, 14, 16]));
            row.push(ints(of.values[17], ' '));
            row.extend(row![oids::POSTGRES]);
            row.extend(of.numbered(&[2, 3, 4, 5, 6, 8, 9, 10, 13, 15]));
            row.push(ints(of.values[18], ','));
            row.extend([words(of.values[19]), words(of.values[20])]);
            row.extend(of.numbered(&[21]));
            row.extend(row![of.values[1], Datum::Null, Datum::Null]);
            rows.push(row);
        }
    }
}

/// A list of numbers.
fn ints(text: &'static str, between: char) -> Datum {
    let numbers = text.trim_matches(['{', '}']).split(between);
    match text {
        "\\N" => Datum::Null,
        _ => Datum::Ints(numbers.filter_map(|number| number.parse().ok()).collect()),
    }
}

fn words(text: &'static str) -> Datum {
    let words = || text.trim_matches(['{', '}']).split(',').map(|word| word.trim_matches('"'));
    match text {
        "\\N" => Datum::Null,
        _ => Datum::Texts(words().map(str::to_string).collect()),
    }
}

/// pg_operator: PostgreSQL's own and those of extensions.
fn operators(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "oid oprname oprnamespace oprowner oprkind oprcanmerge oprcanhash oprleft oprright \
         oprresult oprcom oprnegate oprcode oprrest oprjoin",
    );
    let mut add = |values: &[&'static str], schema: u32| {
        let of = Row { values, schema };
        let mut row = of.numbered(&[0]);
        // A name may look like a number to none, but like a letter of truth to some.
        row.extend(row![values[1], schema, oids::POSTGRES]);
        row.extend(of.numbered(&[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]));
        rows.push(row);
    };
    facts(Table::Operator).for_each(|row| add(row.texts(), oids::PG_CATALOG));
    for created in extensions::all(view) {
        let schema = model.schema_oid(&created.schema);
        created.extension.rows(Part::Operator).for_each(|row| add(row.texts(), schema));
    }
    rows
}

/// What belongs to extensions, in pg_depend.
pub fn members(view: &View, rows: &mut Rows) {
    const CLASSES: [(Part, u32, usize); 6] = [
        (Part::Type, 1247, 0),
        (Part::Proc, 1255, 0),
        (Part::Operator, 2617, 0),
        (Part::Cast, 2605, 5),
        (Part::Class, 2616, 0),
        (Part::Family, 2753, 0),
    ];
    for created in extensions::all(view) {
        for (part, class, place) in CLASSES {
            for facts in created.extension.rows(part) {
                // Types of arrays belong to what they are of.
                if part == Part::Type && facts.letter(5) == b'A' {
                    continue;
                }
                let oid: u32 = facts.number(place);
                rows.push(row![class, oid, 0, PG_EXTENSION, created.oid, 0, "e"]);
            }
        }
    }
}

/// The operator class of btree of a type of an extension.
pub fn class_of(oid: u32) -> Option<i64> {
    let mut classes = known::of(oid)?.rows(Part::Class);
    let is_it = |row: &onlap_pg::catalog::Row| {
        row.text(1) == "403" && row.number::<u32>(4) == oid && row.flag(5)
    };
    classes.find(is_it).map(|row| row.number(0))
}

/// Whether a comment is on an extension.
pub fn is_one(view: &View, oid: u32) -> bool {
    oid == PLPGSQL || extensions::all(view).any(|created| created.oid == oid)
}

/// The comment of plpgsql, unless it has been given another.
pub fn own_comment(view: &View) -> Option<&'static str> {
    let given = view.objects.get(Kind::Comment, &format!("{PLPGSQL}:0"));
    given.is_none().then_some(LANGUAGE.2)
}
