//! What does a function say that compares texts and does not know by which collation?
//!
//! Where collations collide the binder leaves a function without one ([`Bound::input_collation`]), and PostgreSQL refuses when the
//! function is called: a statement whose rows never reach it is carried out. So its kernel becomes one that refuses. Pure.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, new_null_array};
use arrow_schema::DataType;
use onlap_kernels::aggregate::Aggregate;
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
            true => Err(refused(self.what)),
            false => Ok(new_null_array(&self.ty, rows)),
        }
    }
}

fn refused(what: &str) -> Error {
    let text = format!("could not determine which collation to use for {what}");
    Error::new("42P22", text).hint("Use the COLLATE clause to set the collation explicitly.")
}

/// That texts would be compared and none of their collations decides.
pub fn collide() -> Error {
    refused(COMPARISON)
}

/// Whether GREATEST and LEAST of an expression's type compare texts without a collation.
pub fn collides(bound: &Bound, catalog: &Catalog, id: ExprId) -> bool {
    bound.input_collation(id) == Some(0) && is_text(catalog, bound.ty(id).oid)
}

/// Whether max or min compares texts without a collation.
pub fn extreme_collides(bound: &Bound, catalog: &Catalog, id: ExprId, proc: Oid) -> bool {
    let Some(row) = catalog.proc(proc) else { return false };
    let of_text = row.arguments.first().is_some_and(|ty| is_text(catalog, *ty));
    bound.input_collation(id) == Some(0) && of_text && matches!(&*row.name, "max" | "min")
}

/// Types of texts of the system: citext and its like compare by a collation of their own.
fn is_text(catalog: &Catalog, ty: Oid) -> bool {
    let base = catalog.base_type(ty);
    base < 10_000 && catalog.element(base).is_none() && catalog.collation(base) != 0
}

/// max or min of texts that have no collation: one value of a group is its result, two are compared.
pub struct Colliding {
    inner: Box<dyn Aggregate>,
    /// Whether each group has a value.
    has_one: Vec<bool>,
}

impl Colliding {
    /// One whose results are those of another aggregate.
    pub fn new(inner: Box<dyn Aggregate>) -> Colliding {
        Colliding { inner, has_one: Vec::new() }
    }

    fn take(&mut self, group: usize) -> Result<()> {
        match std::mem::replace(&mut self.has_one[group], true) {
            true => Err(collide()),
            false => Ok(()),
        }
    }
}

impl Aggregate for Colliding {
    fn grow(&mut self, groups: usize) {
        self.has_one.resize(groups.max(self.has_one.len()), false);
        self.inner.grow(groups);
    }

    fn update(&mut self, args: &[Col], groups: &[usize], cx: &mut Cx<'_>) -> Result<()> {
        for (row, group) in groups.iter().enumerate() {
            if args.iter().all(|arg| !arg.is_null(row)) {
                self.take(*group)?;
            }
        }
        self.inner.update(args, groups, cx)
    }

    fn finish(&self, groups: usize, cx: &mut Cx<'_>) -> Result<ArrayRef> {
        self.inner.finish(groups, cx)
    }

    fn save(&self, groups: usize) -> ArrayRef {
        let saved = self.inner.save(groups);
        let saved = saved.as_binary::<i32>();
        let one = |group: usize| {
            let mut bytes = vec![u8::from(self.has_one[group])];
            bytes.extend(saved.value(group));
            bytes
        };
        Arc::new(BinaryArray::from_iter_values((0..groups).map(one)))
    }

    fn merge(&mut self, saved: &ArrayRef, groups: &[usize], cx: &mut Cx<'_>) -> Result<()> {
        let saved = saved.as_binary::<i32>();
        for (row, group) in groups.iter().enumerate() {
            if saved.value(row).first() == Some(&1) {
                self.take(*group)?;
            }
        }
        let inner = (0..saved.len()).map(|row| saved.value(row).get(1..).unwrap_or_default());
        let inner: ArrayRef = Arc::new(BinaryArray::from_iter_values(inner));
        self.inner.merge(&inner, groups, cx)
    }

    fn forget(&mut self, groups: usize) {
        self.has_one.drain(..groups);
        self.inner.forget(groups);
    }

    fn size(&self) -> usize {
        self.has_one.len() + self.inner.size()
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
