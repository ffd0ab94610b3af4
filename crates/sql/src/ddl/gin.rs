//! CREATE INDEX … USING gin.
//!
//! Which operator class makes the keys, and what may not be said of such an index. It is an index of the engine with several
//! entries for a row, of a derived column that is the list of the row's keys; so it has one column.

use onlap::{IndexSpec, TableSchema};
use onlap_kernels::gin::Class;
use onlap_pg::TypeRef;
use onlap_pg::ast::{CreateIndex, IndexElement, Path, Setting, SortOrder};
use onlap_pg::catalog::oids;

use super::columns::collation;
use super::index_parts::Parts;
use crate::catalog::{Name, extensions};
use crate::error::{Result, SqlError, state};
use crate::formulas::Gin;
use crate::formulas::carried::is_made;
use crate::query::catalog;
use crate::source::Source;
use crate::types::oid;
use crate::view::View;

/// jsonb, tsvector
const JSONB: u32 = 3802;
const TSVECTOR: u32 = 3614;

/// What the engine is asked for, and what the column of the key is called.
///
/// # Errors
/// Those of PostgreSQL; `0A000` for what is not there.
pub fn described(
    view: &View,
    source: Source<'_>,
    create: &CreateIndex,
    name: &Name,
    schema: &TableSchema,
) -> Result<(IndexSpec, Vec<String>)> {
    let options = options(&create.settings)?;
    let [element] = &create.elements[..] else {
        return Err(SqlError::unsupported("an index of gin on several columns"));
    };
    let parts = Parts::of(view, source, name, schema)?;
    let class = |ty: TypeRef| {
        let class = class_of(view, element, ty)?;
        refuse_order(element)?;
        Ok(Gin { class, whole: false, options: options.clone() })
    };
    let (program, list) = parts.list(element, &class)?;
    let mut spec = IndexSpec::new("", Vec::<String>::new()).entries(list);
    if let Some(filter) = create.filter {
        spec = spec.only_where(parts.condition(filter)?);
    }
    Ok((spec, vec![program.name]))
}

fn refuse_order(element: &IndexElement) -> Result<()> {
    let what = match (&element.order, element.nulls_first) {
        (SortOrder::Default, None) => return Ok(()),
        (SortOrder::Default, Some(_)) => "NULLS FIRST/LAST",
        _ => "ASC/DESC",
    };
    let text = format!("access method \"gin\" does not support {what} options");
    Err(SqlError::new(state::UNSUPPORTED, text))
}

/// The operator class of a column or an expression of a type.
fn class_of(view: &View, element: &IndexElement, ty: TypeRef) -> Result<Class> {
    if is_made(ty.oid) {
        let shown = view.objects.made_types().shown_to(view, ty.oid).unwrap_or_default();
        let text = format!("an index of gin of type {shown}, which the database made");
        return Err(SqlError::unsupported(text));
    }
    let base = catalog().base_type(ty.oid);
    if let Some(name) = &element.collation {
        collation(view.objects.made_types().catalog(), name, ty.oid)?;
    }
    let Some(named) = &element.class else { return default_class(ty, base) };
    let class = named_class(view, named)?;
    if !element.class_options.is_empty() {
        let text = format!("operator class {} has no options", name_of(class));
        return Err(SqlError::new("22023", text));
    }
    let fits = match class {
        Class::Arrays => is_array(base),
        Class::Documents | Class::Paths => base == JSONB,
        Class::Words => base == TSVECTOR,
        Class::Trigrams => matches!(base, oid::TEXT | oid::VARCHAR | oids::CITEXT),
    };
    if !fits {
        let name = named.last().map_or("", |name| name);
        let text = format!("operator class \"{name}\" does not accept data type {}", shown(ty));
        return Err(SqlError::new("42804", text));
    }
    must_have_values(class, base)?;
    Ok(class)
}

fn default_class(ty: TypeRef, base: u32) -> Result<Class> {
    let class = match base {
        JSONB => Class::Documents,
        TSVECTOR => Class::Words,
        oids::HSTORE => {
            return Err(SqlError::unsupported(format!("an index of gin of type {}", shown(ty))));
        }
        _ if is_array(base) => Class::Arrays,
        _ => {
            let text = format!(
                "data type {} has no default operator class for access method \"gin\"",
                shown(ty)
            );
            return Err(SqlError::new(state::NO_OBJECT, text).hint(
                "You must specify an operator class for the index or define a default operator \
                 class for the data type.",
            ));
        }
    };
    must_have_values(class, base)?;
    Ok(class)
}

/// Fails for elements that are not equal to anything.
fn must_have_values(class: Class, base: u32) -> Result<()> {
    if class != Class::Arrays {
        return Ok(());
    }
    let element = catalog().base_element(base).unwrap_or_default();
    // json, xml, geometric types, snapshots
    if matches!(element, 114 | 142 | 600..=604 | 628 | 718 | 2970 | 5038) {
        let shown = catalog().shown(element).to_string();
        let text = format!("could not identify a comparison function for type {shown}");
        return Err(SqlError::new(state::NO_FUNCTION, text));
    }
    Ok(())
}

fn named_class(view: &View, path: &Path) -> Result<Class> {
    let (schema, name) = match &path[..] {
        [name] => (None, &**name),
        [schema, name] => (Some(&**schema), &**name),
        _ => ("".into(), ""),
    };
    if let Some(schema) =
        schema.filter(|schema| *schema != "pg_catalog" && !view.has_schema(schema))
    {
        return Err(crate::view::no_schema(schema));
    }
    let is_own = schema.is_none_or(|schema| schema == "pg_catalog");
    let of_extension = |extension: &str| {
        let created = extensions::named(view, extension)?;
        let seen = match schema {
            Some(schema) => schema == created.schema,
            None => extensions::is_seen(view, &created.schema),
        };
        seen.then_some(())
    };
    match name {
        "array_ops" if is_own => Ok(Class::Arrays),
        "jsonb_ops" if is_own => Ok(Class::Documents),
        "jsonb_path_ops" if is_own => Ok(Class::Paths),
        "gin_trgm_ops" if of_extension("pg_trgm").is_some() => Ok(Class::Trigrams),
        "tsvector_ops" if is_own => Ok(Class::Words),
        "gin_hstore_ops" if of_extension("hstore").is_some() => {
            Err(SqlError::unsupported("an index of gin of hstore"))
        }
        _ => {
            let text = format!(
                "operator class \"{}\" does not exist for access method \"gin\"",
                path.join(".")
            );
            Err(SqlError::new(state::NO_OBJECT, text))
        }
    }
}

fn is_array(base: u32) -> bool {
    catalog().get_type(base).is_some_and(|ty| ty.is_array) || catalog().element(base).is_some()
}

fn shown(ty: TypeRef) -> String {
    catalog().shown(ty.oid).to_string()
}

/// What an operator class is called.
pub fn name_of(class: Class) -> &'static str {
    match class {
        Class::Arrays => "array_ops",
        Class::Documents => "jsonb_ops",
        Class::Paths => "jsonb_path_ops",
        Class::Trigrams => "gin_trgm_ops",
        Class::Words => "tsvector_ops",
    }
}

/// What WITH says: options of PostgreSQL's pending list, which there is none of.
fn options(settings: &[Setting]) -> Result<Vec<(String, String)>> {
    let mut out: Vec<(String, String)> = Vec::new();
    for setting in settings {
        let name = setting.name.to_ascii_lowercase();
        let value = setting.value.as_ref().map_or("true", |value| value.text());
        match (&setting.space, &*name) {
            (None, "fastupdate") => check_flag(value)?,
            (None, "gin_pending_list_limit") => check_limit(value)?,
            (space, _) => {
                let text = match space {
                    Some(space) => format!("unrecognized parameter namespace \"{space}\""),
                    None => format!("unrecognized parameter \"{}\"", setting.name),
                };
                return Err(SqlError::new("22023", text));
            }
        }
        if out.iter().any(|(known, _)| *known == name) {
            let text = format!("parameter \"{name}\" specified more than once");
            return Err(SqlError::new("22023", text));
        }
        out.push((name, value.to_string()));
    }
    Ok(out)
}

fn check_flag(value: &str) -> Result<()> {
    if onlap_pg::value::boolean::parse(value).is_ok() {
        return Ok(());
    }
    let text = format!("invalid value for boolean option \"fastupdate\": {value}");
    Err(SqlError::new("22023", text))
}

fn check_limit(value: &str) -> Result<()> {
    let name = "gin_pending_list_limit";
    let Ok(number) = value.parse::<i64>() else {
        let text = format!("invalid value for integer option \"{name}\": {value}");
        return Err(SqlError::new("22023", text));
    };
    if (64..=i64::from(i32::MAX)).contains(&number) {
        return Ok(());
    }
    let text = format!("value {value} out of bounds for option \"{name}\"");
    let detail = "Valid values are between \"64\" and \"2147483647\".";
    Err(SqlError::new("22023", text).detail(detail))
}
