//! What does a function say that compares texts and does not know by which collation?
//!
//! Where collations collide the binder leaves a function without one ([`Bound::input_collation`]), and PostgreSQL refuses when the
//! function is called: a statement whose rows never reach it is carried out. So its kernel becomes one that refuses. Pure.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, new_null_array};
use arrow_schema::DataType;
use onlap_kernels::aggregate::Aggregate;
use onlap_kernels::{Col, Cx, Datum, Kernel, Repr};
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
fn collide() -> Error {
    refused(COMPARISON)
}

/// What is compared without a collation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collision {
    /// Texts.
    Texts,
    /// Arrays of texts, of which some differ before two texts are compared.
    Arrays,
}

impl Collision {
    fn of(catalog: &Catalog, ty: Oid) -> Option<Collision> {
        let element = catalog.base_element(ty);
        match is_text(catalog, element.unwrap_or(ty)) {
            true if element.is_some() => Some(Collision::Arrays),
            true => Some(Collision::Texts),
            false => None,
        }
    }

    fn front(self, values: &ArrayRef, row: usize) -> Front {
        match self {
            Collision::Texts => Front::default(),
            Collision::Arrays => Front::of(values.as_binary::<i32>().value(row)),
        }
    }

    fn compare(self, a: Front, b: Front) -> Result<Ordering> {
        match self {
            Collision::Texts => Err(collide()),
            Collision::Arrays => a.compare(b),
        }
    }

    /// Fails where texts of two values would be compared.
    ///
    /// # Errors
    /// `42P22`.
    pub fn check(self, a: &ArrayRef, b: &ArrayRef, row: usize) -> Result<()> {
        self.compare(self.front(a, row), self.front(b, row)).map(drop)
    }
}

/// What decides between two arrays before the first of their texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Front {
    length: u32,
    /// NULLs before all else.
    nulls: u32,
}

impl Front {
    fn of(array: &[u8]) -> Front {
        let array = onlap_kernels::array::Array::load(array, Repr::Text);
        let nulls = (0..array.len()).take_while(|at| array.is_null(*at)).count();
        Front { length: array.len() as u32, nulls: nulls as u32 }
    }

    /// NULL is above all texts; an array that another one begins with is below it.
    fn compare(self, other: Front) -> Result<Ordering> {
        if self.nulls.min(other.nulls) >= self.length.min(other.length) {
            return Ok(self.length.cmp(&other.length));
        }
        match self.nulls.cmp(&other.nulls) {
            Ordering::Equal => Err(collide()),
            order => Ok(order),
        }
    }
}

/// How GREATEST and LEAST of an expression's type compare texts, if they do so without a collation.
pub fn collides(bound: &Bound, catalog: &Catalog, id: ExprId) -> Option<Collision> {
    let open = bound.input_collation(id) == Some(0);
    open.then(|| Collision::of(catalog, bound.ty(id).oid)).flatten()
}

/// The same of max and min; whether it is min.
pub fn extreme_collides(
    bound: &Bound,
    catalog: &Catalog,
    id: ExprId,
    proc: Oid,
) -> Option<(Collision, bool)> {
    let name = &*catalog.proc(proc)?.name;
    let collision = collides(bound, catalog, id)?;
    matches!(name, "max" | "min").then_some((collision, name == "min"))
}

/// Types of texts of the system: citext and its like compare by a collation of their own.
fn is_text(catalog: &Catalog, ty: Oid) -> bool {
    let base = catalog.base_type(ty);
    base < 10_000 && catalog.element(base).is_none() && catalog.collation(base) != 0
}

/// max or min of texts that have no collation: one value of a group is its result, two are compared.
pub struct Colliding {
    inner: Box<dyn Aggregate>,
    collision: Collision,
    least: bool,
    /// What is known of each group's result, if it has one.
    results: Vec<Option<Front>>,
}

impl Colliding {
    /// One whose results are those of another aggregate.
    pub fn new(inner: Box<dyn Aggregate>, (collision, least): (Collision, bool)) -> Colliding {
        Colliding { inner, collision, least, results: Vec::new() }
    }

    fn take(&mut self, group: usize, front: Front) -> Result<()> {
        if let Some(held) = self.results[group] {
            let order = self.collision.compare(front, held)?;
            if order == Ordering::Equal || order.is_lt() != self.least {
                return Ok(());
            }
        }
        self.results[group] = Some(front);
        Ok(())
    }
}

/// Bytes of what is saved of a group before the other aggregate's: whether it has a result, and what is known of that.
const SAVED: usize = 9;

impl Aggregate for Colliding {
    fn grow(&mut self, groups: usize) {
        self.results.resize(groups.max(self.results.len()), None);
        self.inner.grow(groups);
    }

    fn update(&mut self, args: &[Col], groups: &[usize], cx: &mut Cx<'_>) -> Result<()> {
        for (row, group) in groups.iter().enumerate() {
            let [value] = args else { continue };
            if !value.is_null(row) {
                self.take(*group, self.collision.front(&value.array, value.at(row)))?;
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
            let front = self.results[group];
            let mut bytes = vec![u8::from(front.is_some())];
            let Front { length, nulls } = front.unwrap_or_default();
            bytes.extend([length, nulls].map(u32::to_le_bytes).concat());
            bytes.extend(saved.value(group));
            bytes
        };
        Arc::new(BinaryArray::from_iter_values((0..groups).map(one)))
    }

    fn merge(&mut self, saved: &ArrayRef, groups: &[usize], cx: &mut Cx<'_>) -> Result<()> {
        let saved = saved.as_binary::<i32>();
        for (row, group) in groups.iter().enumerate() {
            if let Some([1, a, b, c, d, e, f, g, h]) = saved.value(row).first_chunk::<SAVED>() {
                let [length, nulls] = [[*a, *b, *c, *d], [*e, *f, *g, *h]].map(u32::from_le_bytes);
                self.take(*group, Front { length, nulls })?;
            }
        }
        let inner = (0..saved.len()).map(|row| saved.value(row).get(SAVED..).unwrap_or_default());
        let inner: ArrayRef = Arc::new(BinaryArray::from_iter_values(inner));
        self.inner.merge(&inner, groups, cx)
    }

    fn forget(&mut self, groups: usize) {
        self.results.drain(..groups);
        self.inner.forget(groups);
    }

    fn size(&self) -> usize {
        self.results.capacity() * size_of::<Option<Front>>() + self.inner.size()
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
