//! Of what type is a value that may come from several expressions?
//!
//! All the same: that one, even a domain. Else the first known base type that others of its category become
//! without being preferred themselves; two categories do not mix. If no type is known it is text.

use super::{Conversion, Operand, coerce};
use crate::catalog::{Catalog, oids};
use crate::{Error, Oid, Result, TypeRef};

/// The common type; the construct's name goes into the error.
///
/// # Errors
/// 42804: two are of different categories.
pub fn common_type(catalog: &Catalog, types: &[Oid], construct: &str) -> Result<Oid> {
    select(catalog, types).map_err(|(one, other)| {
        let (one, other) = (catalog.shown(one), catalog.shown(other));
        Error::new("42804", format!("{construct} types {one} and {other} cannot be matched"))
    })
}

/// The common type, if there is one that all can become.
pub fn try_common_type(catalog: &Catalog, types: &[Oid]) -> Option<Oid> {
    select(catalog, types).ok().filter(|found| all_become(catalog, types, *found))
}

pub(super) fn all_become(catalog: &Catalog, types: &[Oid], target: Oid) -> bool {
    types.iter().all(|t| coerce::can_convert(catalog, *t, target, coerce::Context::Implicit))
}

pub(super) fn select(catalog: &Catalog, types: &[Oid]) -> std::result::Result<Oid, (Oid, Oid)> {
    let first = types[0];
    if first != oids::UNKNOWN && types.iter().all(|t| *t == first) {
        return Ok(first);
    }
    let becomes = |a, b| coerce::can_convert(catalog, a, b, coerce::Context::Implicit);
    let mut chosen = catalog.base_type(first);
    for next in &types[1..] {
        let next = catalog.base_type(*next);
        if next == oids::UNKNOWN || next == chosen {
            continue;
        }
        if chosen == oids::UNKNOWN {
            chosen = next;
            continue;
        }
        let ((category, preferred), (other, _)) =
            (catalog.category(chosen), catalog.category(next));
        if category != other {
            return Err((chosen, next));
        }
        if !preferred && becomes(chosen, next) && !becomes(next, chosen) {
            chosen = next;
        }
    }
    Ok(if chosen == oids::UNKNOWN { oids::TEXT } else { chosen })
}

/// The modifier of the common type: the one that all have who are of that type already.
pub fn common_modifier(types: &[TypeRef], common: Oid) -> i32 {
    match types {
        [first, rest @ ..] if first.oid == common && rest.iter().all(|t| t == first) => {
            first.modifier
        }
        _ => -1,
    }
}

/// The conversion of a branch to the common type. Of CASE, whose ELSE comes first among the types, branches are
/// named CASE/ELSE and CASE/WHEN.
///
/// # Errors
/// 42846: it is of the category, but does not become that type without a cast.
pub fn to_common(
    catalog: &Catalog,
    operand: Operand,
    common: Oid,
    construct: &str,
) -> Result<Conversion> {
    if !coerce::can_convert(catalog, operand.ty.oid, common, coerce::Context::Implicit) {
        let (to, from) = (catalog.shown(common), catalog.shown(operand.ty.oid));
        let text = format!("{construct} could not convert type {from} to {to}");
        return Err(Error::new("42846", text));
    }
    coerce::implicit(catalog, operand, common)
}

/// The type of ARRAY[…] of elements with a common type: if one is an array itself, that is a dimension.
///
/// # Errors
/// 42704: the common type has no array, or is none.
pub fn array_type(catalog: &Catalog, types: &[Oid], common: Oid) -> Result<Oid> {
    // Vectors have elements, but no dimensions that another could be put on.
    let vectors = [oids::INT2VECTOR, oids::OIDVECTOR];
    if !types.iter().any(|t| !vectors.contains(t) && catalog.element(*t).is_some()) {
        return catalog
            .array_of(common)
            .ok_or_else(|| super::polymorphic::no_array(catalog, common));
    }
    if catalog.element(common).is_some() {
        return Ok(common);
    }
    let text = format!("could not find element type for data type {}", catalog.shown(common));
    Err(Error::new("42704", text))
}
