//! What do the catalogs say of extensions, and of what they have?

use onlap_pg::catalog::extensions::{self as known, ALL, Part};
use onlap_pg::catalog::{Row, Table, rows as facts};

use super::definitions::{self, Definition};
use super::model::Model;
use super::rows::{Datum, Rows};
use super::{fixed, functions};
use crate::catalog::extensions::{self, Created, PLPGSQL};
use crate::catalog::{Kind, oids};
use crate::rights::Class;
use crate::row;
use crate::view::View;

/// OID of pg_extension.
pub const PG_EXTENSION: u32 = 3079;

/// The extension whose views say which statements ran.
pub const STATEMENTS: &str = "pg_stat_statements";

/// What pg_extension has of plpgsql, and what it says of itself.
const LANGUAGE: (&str, &str, &str) = ("plpgsql", "1.0", "PL/pgSQL procedural language");

/// Whether a table's rows are those of this module.
pub fn has(table: &str) -> bool {
    let own = ["pg_extension", "pg_available_extensions", "pg_available_extension_versions"];
    own.contains(&table) || Layout::of(table).is_some_and(|layout| layout.whole)
}

/// The rows of a table of this module, or those that extensions add to one; `None` of others.
pub fn rows(view: &View, model: &Model, definition: &Definition) -> Option<Rows> {
    match definition.name {
        "pg_extension" => return Some(created(view, model)),
        "pg_available_extensions" => return Some(available(view)),
        "pg_available_extension_versions" => return Some(versions(view)),
        _ => {}
    }
    let layout = Layout::of(definition.name).filter(|layout| layout.whole)?;
    let mut rows = fixed::rows(definition).unwrap_or_else(|| Rows::of(layout.columns));
    of_system(definition, &mut rows);
    add(view, model, definition, &mut rows);
    if layout.part == Part::Aggregate {
        functions::aggregates(view, &mut rows);
    }
    Some(rows)
}

/// Adds the facts that are PostgreSQL's own.
pub fn of_system(definition: &Definition, rows: &mut Rows) {
    let Some((layout, table)) = Layout::of(definition.name).and_then(|l| Some((l, l.facts?)))
    else {
        return;
    };
    let values = layout.values_in(definition);
    facts(table).for_each(|row| rows.push(made(&values, &row, oids::PG_CATALOG)));
}

/// Adds what extensions have to the rows of a table of the catalog.
pub fn add(view: &View, model: &Model, definition: &Definition, rows: &mut Rows) {
    let Some(layout) = Layout::of(definition.name) else { return };
    for created in extensions::all(view) {
        let schema = model.schema_oid(&created.schema);
        let values = layout.values_in(definition);
        for facts in created.extension.rows(layout.part) {
            let mut row = made(&values, &facts, schema);
            if let (Part::Proc, Some(acl)) = (layout.part, row.last_mut()) {
                let oid = facts.text(0).parse().unwrap_or_default();
                let key = extensions::proc_key(view, oid);
                *acl = super::grants::shown(view, Class::Function, key).into();
            }
            rows.push(row);
        }
    }
}

/// Where a value of a catalog's row comes from.
#[derive(Clone, Copy)]
enum Source {
    /// The place in the row of facts.
    At(usize),
    /// Places that stand one behind the other, the last included.
    To(usize, usize),
    /// The schema.
    Schema,
    /// The owner.
    Owner,
    /// There is none.
    Null,
}

use Source::{At, Null, Owner, Schema, To};

/// How facts become rows of a table of the catalog.
struct Layout {
    table: &'static str,
    part: Part,
    /// The facts that are PostgreSQL's own, where the rows that every database has are not fixed.
    facts: Option<Table>,
    /// Whether nothing else adds rows to the table.
    whole: bool,
    columns: &'static str,
    values: &'static [Source],
}

static LAYOUTS: [Layout; 7] = [
    Layout {
        table: "pg_aggregate",
        part: Part::Aggregate,
        facts: Some(Table::Aggregate),
        whole: true,
        columns: "aggfnoid aggkind aggnumdirectargs aggtransfn aggfinalfn aggcombinefn aggserialfn \
            aggdeserialfn aggmtransfn aggminvtransfn aggmfinalfn aggfinalextra aggmfinalextra \
            aggfinalmodify aggmfinalmodify aggsortop aggtranstype aggtransspace aggmtranstype \
            aggmtransspace agginitval aggminitval",
        values: &[To(0, 21)],
    },
    Layout {
        table: "pg_cast",
        part: Part::Cast,
        facts: None,
        whole: true,
        columns: "oid castsource casttarget castfunc castcontext castmethod",
        values: &[At(5), To(0, 4)],
    },
    Layout {
        table: "pg_opclass",
        part: Part::Class,
        facts: None,
        whole: true,
        columns: "oid opcmethod opcname opcnamespace opcowner opcfamily opcintype opcdefault \
            opckeytype",
        values: &[To(0, 2), Schema, Owner, To(3, 6)],
    },
    Layout {
        table: "pg_opfamily",
        part: Part::Family,
        facts: None,
        whole: true,
        columns: "oid opfmethod opfname opfnamespace opfowner",
        values: &[To(0, 2), Schema, Owner],
    },
    Layout {
        table: "pg_operator",
        part: Part::Operator,
        facts: Some(Table::Operator),
        whole: true,
        columns: "oid oprname oprnamespace oprowner oprkind oprcanmerge oprcanhash oprleft oprright \
            oprresult oprcom oprnegate oprcode oprrest oprjoin",
        values: &[To(0, 1), Schema, Owner, To(2, 12)],
    },
    Layout {
        table: "pg_type",
        part: Part::Type,
        facts: None,
        whole: false,
        columns: "oid typname typnamespace typowner typlen typbyval typtype typcategory \
            typispreferred typisdefined typdelim typrelid typsubscript typelem typarray typinput \
            typoutput typreceive typsend typmodin typmodout typanalyze typalign typstorage \
            typnotnull typbasetype typtypmod typndims typcollation typdefaultbin typdefault typacl",
        values: &[To(0, 1), Schema, Owner, To(2, 26), Null, Null, Null],
    },
    Layout {
        table: "pg_proc",
        part: Part::Proc,
        facts: Some(Table::Proc),
        whole: false,
        columns: super::functions::COLUMNS,
        values: &[
            To(0, 1),
            Schema,
            At(7),
            At(12),
            At(11),
            At(14),
            To(16, 17),
            Owner,
            To(2, 6),
            To(8, 10),
            At(13),
            At(15),
            To(18, 21),
            At(22),
            Null,
            At(23),
        ],
    },
];

impl Layout {
    fn of(table: &str) -> Option<&'static Layout> {
        LAYOUTS.iter().find(|layout| layout.table == table)
    }

    /// Where each value comes from, and its type.
    fn values_in(&self, definition: &Definition) -> Vec<(Source, u32)> {
        let values = self.values.iter().flat_map(|source| match *source {
            To(first, last) => (first..=last).map(At).collect(),
            source => vec![source],
        });
        let columns = self.columns.split_whitespace().zip(values);
        let ty = |column| {
            let at = definition.columns.iter().position(|known| known.0 == column);
            at.map_or(0, |at| definition.types[at].oid)
        };
        columns.map(|(column, from)| (from, ty(column))).collect()
    }
}

/// A row of such values.
fn made(values: &[(Source, u32)], facts: &Row, schema: u32) -> Vec<Datum> {
    let value = |(from, ty): &(Source, u32)| match *from {
        At(place) => facts.texts().get(place).map_or(Datum::Null, |text| fixed::value(text, *ty)),
        Schema => schema.into(),
        Owner => oids::POSTGRES.into(),
        Null | To(..) => Datum::Null,
    };
    values.iter().map(value).collect()
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
        let row = row![of.name, of.version, is_created, true, of.trusted, true, null(), null()];
        rows.push(row.into_iter().chain([of.comment.into()]).collect());
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
        for definition in definitions::of_extensions(created.extension.name) {
            // pg_class
            rows.push(row![1259, definition.oid, 0, PG_EXTENSION, created.oid, 0, "e"]);
        }
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
    let is_it = |row: &Row| row.text(1) == "403" && row.number::<u32>(4) == oid && row.flag(5);
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
