//! What does a function say that compares texts and does not know by which collation?
//!
//! Where collations collide the binder leaves a function without one ([`Bound::input_collation`]), and PostgreSQL refuses when the
//! function is called: a statement whose rows never reach it is carried out. So its kernel becomes one that refuses. Pure.

use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::DataType;
use onlap_kernels::{Col, Cx, Datum, Kernel};
use onlap_pg::bound::{Bound, ExprId, collation_name};
use onlap_pg::catalog::{Catalog, oids};
use onlap_pg::{Error, Oid, Result};

/// A function without the collation that it needs.
pub struct Undetermined {
    what: &'static str,
    /// With this number of values that are not NULL it is called.
    least: usize,
    ty: DataType,
}

impl Undetermined {
    /// One that calls the kernel of a function only where no argument is NULL.
    pub fn strict(what: &'static str, arguments: usize, ty: DataType) -> Undetermined {
        Undetermined { what, least: arguments, ty }
    }
}

impl Kernel for Undetermined {
    fn eval(&self, args: &[Col], rows: usize, _cx: &mut Cx<'_>) -> Result<ArrayRef> {
        let looks = |row| args.iter().filter(|arg| !arg.is_null(row)).count() >= self.least;
        match (0..rows).any(looks) {
            true => {
                let what = self.what;
                let text = format!("could not determine which collation to use for {what}");
                let hint = "Use the COLLATE clause to set the collation explicitly.";
                Err(Error::new("42P22", text).hint(hint))
            }
            false => Ok(new_null_array(&self.ty, rows)),
        }
    }
}

/// What a function of an expression needs a collation for, where it has none.
pub fn undetermined(
    bound: &Bound,
    catalog: &Catalog,
    id: ExprId,
    proc: Oid,
) -> Option<&'static str> {
    match bound.input_collation(id) {
        Some(0) => needs(catalog, proc),
        _ => None,
    }
}

/// pg_collation_for
pub const COLLATION_FOR: Oid = 3162;

/// What COLLATION FOR gives of an argument of a type.
///
/// # Errors
/// `42804`: the type has no collations.
pub fn named(bound: &Bound, catalog: &Catalog, id: ExprId, ty: Oid) -> Result<Datum<'static>> {
    if catalog.collation(ty) == 0 && ty != oids::UNKNOWN {
        let text = format!("collations are not supported by type {}", catalog.shown(ty));
        return Err(Error::new("42804", text));
    }
    Ok(match bound.input_collation(id) {
        None | Some(0) => Datum::Null,
        // PostgreSQL quotes what would not be read back as it is.
        Some(oid) => match collation_name(oid) {
            plain if plain == "ucs_basic" => Datum::text(plain),
            name => Datum::text(format!("\"{name}\"")),
        },
    })
}

const COMPARISON: &str = "string comparison";

/// What a function needs a collation for.
pub fn needs(catalog: &Catalog, proc: Oid) -> Option<&'static str> {
    let proc = catalog.proc(proc)?;
    let is_text = |ty: &Oid| catalog.collation(*ty) != 0;
    if !proc.arguments.first().is_some_and(is_text) || proc.oid >= 10_000 {
        return None;
    }
    let name: &str = &proc.name;
    Some(match name {
        "lower" => "lower() function",
        "upper" => "upper() function",
        "initcap" => "initcap() function",
        "position" | "strpos" | "replace" | "split_part" | "starts_with" => COMPARISON,
        // With numbers it cuts.
        "substring" if proc.arguments.get(1).is_some_and(is_text) => "regular expression",
        _ if name.contains("iclike") || name.contains("icnlike") => "ILIKE",
        _ if name.contains("regex") => "regular expression",
        _ if COMPARING.contains(&name) => COMPARISON,
        _ => return None,
    })
}

/// What compares texts, by its name in pg_proc. Names are equal byte by byte, whatever the collation.
const COMPARING: [&str; 37] = [
    "texteq",
    "textne",
    "text_lt",
    "text_le",
    "text_gt",
    "text_ge",
    "bttextcmp",
    "text_larger",
    "text_smaller",
    "bpchareq",
    "bpcharne",
    "bpcharlt",
    "bpcharle",
    "bpchargt",
    "bpcharge",
    "bpcharcmp",
    "bpchar_larger",
    "bpchar_smaller",
    "namelt",
    "namele",
    "namegt",
    "namege",
    "btnamecmp",
    "nameeqtext",
    "namenetext",
    "namelttext",
    "nameletext",
    "namegttext",
    "namegetext",
    "btnametextcmp",
    "texteqname",
    "textnename",
    "textltname",
    "textlename",
    "textgtname",
    "textgename",
    "bttextnamecmp",
];
