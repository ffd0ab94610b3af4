//! What do any… types stand for in a call?
//!
//! The first family (anyelement, anyarray, anyrange, anymultirange, anynonarray, anyenum) stands for exactly one
//! type in a call; the second (anycompatible…) for the common type of all its operands, as UNION would choose it.

use super::common;
use crate::catalog::{Catalog, oids::*};
use crate::{Error, Oid, Result};

/// Whether a declared type stands for others.
pub(super) fn is_polymorphic(oid: Oid) -> bool {
    is_simple(oid) || is_compatible(oid)
}

fn is_simple(oid: Oid) -> bool {
    [ANYELEMENT, ANYARRAY, ANYNONARRAY, ANYENUM, ANYRANGE, ANYMULTIRANGE].contains(&oid)
}

fn is_compatible(oid: Oid) -> bool {
    matches!(
        oid,
        ANYCOMPATIBLE
            | ANYCOMPATIBLEARRAY
            | ANYCOMPATIBLENONARRAY
            | ANYCOMPATIBLERANGE
            | ANYCOMPATIBLEMULTIRANGE
    )
}

/// Declared types to which a value is given as it is.
pub(super) fn takes_anything(oid: Oid) -> bool {
    [ANY, ANYELEMENT, ANYNONARRAY, ANYCOMPATIBLE, ANYCOMPATIBLENONARRAY].contains(&oid)
}

/// Declared types to which a value is given without its domain.
pub(super) fn takes_container(oid: Oid) -> bool {
    [
        ANYARRAY,
        ANYENUM,
        ANYRANGE,
        ANYMULTIRANGE,
        ANYCOMPATIBLEARRAY,
        ANYCOMPATIBLERANGE,
        ANYCOMPATIBLEMULTIRANGE,
    ]
    .contains(&oid)
}

/// What operands say about the families.
#[derive(Default)]
struct Found {
    /// Operands of the first family, and whether one is unknown.
    simple: usize,
    unknown: bool,
    element: Option<Oid>,
    array: Option<Oid>,
    range: Option<Oid>,
    multirange: Option<Oid>,
    no_array: bool,
    an_enum: bool,
    /// Whether there are operands of the second family, and the types of known ones.
    second: bool,
    compatible: Vec<Oid>,
    compatible_no_array: bool,
    compatible_range: Option<Oid>,
    compatible_multirange: Option<Oid>,
    wants_range: bool,
    wants_multirange: bool,
}

/// Whether operands of these types can be what is declared.
pub(super) fn is_consistent(catalog: &Catalog, actual: &[Oid], declared: &[Oid]) -> bool {
    let consistent = || -> Result<bool> {
        let mut found = gather(catalog, actual, declared)?;
        found.deduce_containers(catalog)?;
        if found.array.is_some_and(|array| array != ANYARRAY) {
            found.element_of_array(catalog)?;
        }
        found.element_of_range(catalog)?;
        found.element_fits(catalog)?;
        if found.an_enum && found.element.is_none() {
            return Ok(false);
        }
        if !found.compatible.is_empty() {
            found.common(catalog)?;
        }
        Ok(true)
    };
    consistent().unwrap_or(false)
}

/// The result's type, with declared types of the second family and those of unknown operands replaced.
///
/// # Errors
/// 42804: operands disagree, or none says what a type stands for; 42704: a type has no array.
pub(super) fn settle(
    catalog: &Catalog,
    actual: &[Oid],
    declared: &mut [Oid],
    result: Oid,
) -> Result<Oid> {
    if !declared.iter().any(|oid| is_polymorphic(*oid)) {
        return Ok(result);
    }
    let mut found = gather(catalog, actual, declared)?;
    found.deduce_containers(catalog)?;
    if found.simple > 0 {
        found.settle_simple(catalog, result)?;
    }
    let mut compatible = TEXT;
    if found.second {
        if found.compatible.is_empty() {
            found.no_containers_of_unknown()?;
        } else {
            compatible = found.common(catalog)?;
            found.no_containers_of_unknown()?;
        }
    }
    for (declared, actual) in declared.iter_mut().zip(actual) {
        let open = *actual == UNKNOWN;
        if is_compatible(*declared) || open && is_simple(*declared) {
            *declared = found.stands_for(catalog, *declared, compatible)?;
        }
    }
    if is_polymorphic(result) {
        return found.stands_for(catalog, result, compatible);
    }
    Ok(result)
}

/// What a declared type stands for, where arguments of these types are given for what is declared.
///
/// # Errors
/// As of a call.
pub fn settled(catalog: &Catalog, actual: &[Oid], declared: &[Oid], ty: Oid) -> Result<Oid> {
    settle(catalog, actual, &mut declared.to_vec(), ty)
}

/// Whether an argument of a declared type says what another one stands for.
pub fn says(argument: Oid, ty: Oid) -> bool {
    is_simple(argument) && is_simple(ty) || is_compatible(argument) && is_compatible(ty)
}

fn mismatch(text: impl Into<String>) -> Error {
    Error::new("42804", text)
}

pub(super) fn no_array(catalog: &Catalog, of: Oid) -> Error {
    let text = format!("could not find array type for data type {}", catalog.shown(of));
    Error::new("42704", text)
}

fn undetermined(of: &str) -> Error {
    mismatch(format!("could not determine polymorphic type {of} because input has type unknown"))
}

/// Notes a type that all of a kind must share.
fn alike(catalog: &Catalog, place: &mut Option<Oid>, actual: Oid, name: &str) -> Result<()> {
    match *place {
        Some(before) if before != actual => {
            let (before, actual) = (catalog.shown(before), catalog.shown(actual));
            Err(mismatch(format!("arguments declared \"{name}\" are not all alike"))
                .detail(format!("{before} versus {actual}")))
        }
        _ => {
            *place = Some(actual);
            Ok(())
        }
    }
}

fn no_container(catalog: &Catalog, name: &str, what: &str, actual: Oid) -> Error {
    let actual = catalog.shown(actual);
    mismatch(format!("argument declared {name} is not {what} but type {actual}"))
}

fn gather(catalog: &Catalog, actual: &[Oid], declared: &[Oid]) -> Result<Found> {
    let mut found = Found::default();
    for (actual, declared) in actual.iter().copied().zip(declared.iter().copied()) {
        if !is_polymorphic(declared) {
            continue;
        }
        if is_simple(declared) {
            found.simple += 1;
            found.no_array |= declared == ANYNONARRAY;
            found.an_enum |= declared == ANYENUM;
            found.unknown |= actual == UNKNOWN;
        } else {
            found.second = true;
            found.compatible_no_array |= declared == ANYCOMPATIBLENONARRAY;
            found.wants_range |= declared == ANYCOMPATIBLERANGE;
            found.wants_multirange |= declared == ANYCOMPATIBLEMULTIRANGE;
        }
        if actual != UNKNOWN {
            found.note(catalog, actual, declared)?;
        }
    }
    Ok(found)
}

impl Found {
    fn note(&mut self, catalog: &Catalog, actual: Oid, declared: Oid) -> Result<()> {
        let base = catalog.base_type(actual);
        match declared {
            ANYARRAY => alike(catalog, &mut self.array, base, "anyarray"),
            ANYRANGE => alike(catalog, &mut self.range, base, "anyrange"),
            ANYMULTIRANGE => alike(catalog, &mut self.multirange, base, "anymultirange"),
            ANYCOMPATIBLE | ANYCOMPATIBLENONARRAY => {
                self.compatible.push(actual);
                Ok(())
            }
            ANYCOMPATIBLEARRAY => {
                let element = catalog.element(base);
                let element = element
                    .ok_or_else(|| no_container(catalog, "anycompatiblearray", "an array", base))?;
                self.compatible.push(element);
                Ok(())
            }
            ANYCOMPATIBLERANGE => {
                alike(catalog, &mut self.compatible_range, base, "anycompatiblerange")
            }
            ANYCOMPATIBLEMULTIRANGE => {
                alike(catalog, &mut self.compatible_multirange, base, "anycompatiblemultirange")
            }
            _ => alike(catalog, &mut self.element, actual, "anyelement"),
        }
    }

    /// The ranges of multiranges, and the elements of compatible ones.
    fn deduce_containers(&mut self, catalog: &Catalog) -> Result<()> {
        for (range, multirange, name, of) in [
            (&mut self.range, self.multirange, "anymultirange", "anyrange"),
            (
                &mut self.compatible_range,
                self.compatible_multirange,
                "anycompatiblemultirange",
                "anycompatiblerange",
            ),
        ] {
            let Some(multirange) = multirange else { continue };
            let deduced = catalog
                .multirange_range(multirange)
                .ok_or_else(|| no_container(catalog, name, "a multirange type", multirange))?;
            if range.is_some_and(|range| range != deduced) {
                return Err(inconsistent(catalog, name, multirange, of, range.unwrap_or(0)));
            }
            *range = Some(deduced);
        }
        if let Some(range) = self.compatible_range {
            let element = catalog.range_element(range).ok_or_else(|| {
                no_container(catalog, "anycompatiblerange", "a range type", range)
            })?;
            self.compatible.push(element);
        }
        Ok(())
    }

    fn element_of_array(&mut self, catalog: &Catalog) -> Result<()> {
        let Some(array) = self.array else { return Ok(()) };
        let element = catalog.element(array);
        let element =
            element.ok_or_else(|| no_container(catalog, "anyarray", "an array", array))?;
        self.same_element(catalog, element, "anyarray", array)
    }

    fn element_of_range(&mut self, catalog: &Catalog) -> Result<()> {
        let Some(range) = self.range else { return Ok(()) };
        let element = catalog.range_element(range);
        let element =
            element.ok_or_else(|| no_container(catalog, "anyrange", "a range type", range))?;
        self.same_element(catalog, element, "anyrange", range)
    }

    fn same_element(&mut self, catalog: &Catalog, of: Oid, name: &str, from: Oid) -> Result<()> {
        match self.element {
            Some(element) if element != of => {
                Err(inconsistent(catalog, name, from, "anyelement", element))
            }
            _ => {
                self.element = Some(of);
                Ok(())
            }
        }
    }

    fn element_fits(&self, catalog: &Catalog) -> Result<()> {
        let Some(element) = self.element.filter(|element| *element != ANYELEMENT) else {
            return Ok(());
        };
        if self.no_array && catalog.base_element(element).is_some() {
            let text = "type matched to anynonarray is an array type";
            return Err(mismatch(format!("{text}: {}", catalog.shown(element))));
        }
        if self.an_enum && !catalog.is_enum(element) {
            let text = "type matched to anyenum is not an enum type";
            return Err(mismatch(format!("{text}: {}", catalog.shown(element))));
        }
        Ok(())
    }

    fn settle_simple(&mut self, catalog: &Catalog, result: Oid) -> Result<()> {
        if self.array == Some(ANYARRAY) {
            // A column of type anyarray, as pg_stats has: of what is not known.
            if self.simple != 1 || (result != ANYARRAY && is_simple(result)) {
                return Err(mismatch("cannot determine element type of \"anyarray\" argument"));
            }
            self.element = Some(ANYELEMENT);
        } else {
            self.element_of_array(catalog)?;
        }
        self.element_of_range(catalog)?;
        if self.element.is_none() {
            let text = "could not determine polymorphic type because input has type unknown";
            return Err(mismatch(text));
        }
        self.element_fits(catalog)
    }

    /// The common type of the second family.
    fn common(&self, catalog: &Catalog) -> Result<Oid> {
        let common = common::select(catalog, &self.compatible).map_err(|(one, other)| {
            let (one, other) = (catalog.shown(one), catalog.shown(other));
            mismatch(format!("argument types {one} and {other} cannot be matched"))
        })?;
        if !common::all_become(catalog, &self.compatible, common) {
            let text = "arguments of anycompatible family cannot be cast to a common type";
            return Err(mismatch(text));
        }
        if self.compatible_no_array && catalog.base_element(common).is_some() {
            let text = "type matched to anycompatiblenonarray is an array type";
            return Err(mismatch(format!("{text}: {}", catalog.shown(common))));
        }
        let element = self.compatible_range.and_then(|range| catalog.range_element(range));
        if element.is_some_and(|element| element != common) {
            let range = catalog.shown(self.compatible_range.unwrap_or(0));
            let common = catalog.shown(common);
            return Err(mismatch(format!(
                "anycompatiblerange type {range} does not match anycompatible type {common}"
            )));
        }
        Ok(common)
    }

    /// Ranges are not guessed from what they are of.
    fn no_containers_of_unknown(&self) -> Result<()> {
        if self.wants_range && self.compatible_range.is_none() {
            return Err(undetermined("anycompatiblerange"));
        }
        if self.wants_multirange && self.compatible_multirange.is_none() {
            return Err(undetermined("anycompatiblemultirange"));
        }
        Ok(())
    }

    fn stands_for(&self, catalog: &Catalog, declared: Oid, compatible: Oid) -> Result<Oid> {
        let multirange = |of: Option<Oid>, range: Option<Oid>| {
            of.or_else(|| range.and_then(|range| catalog.multirange_of(range)))
        };
        let array = |of: Oid| catalog.array_of(of).ok_or_else(|| no_array(catalog, of));
        match declared {
            ANYARRAY => match self.array {
                Some(array) => Ok(array),
                None => array(self.element.ok_or_else(|| undetermined("anyarray"))?),
            },
            ANYRANGE => self.range.ok_or_else(|| undetermined("anyrange")),
            ANYMULTIRANGE => {
                multirange(self.multirange, self.range).ok_or_else(|| undetermined("anymultirange"))
            }
            ANYCOMPATIBLE | ANYCOMPATIBLENONARRAY => Ok(compatible),
            ANYCOMPATIBLEARRAY => array(compatible),
            ANYCOMPATIBLERANGE => {
                self.compatible_range.ok_or_else(|| undetermined("anycompatiblerange"))
            }
            ANYCOMPATIBLEMULTIRANGE => {
                multirange(self.compatible_multirange, self.compatible_range)
                    .ok_or_else(|| undetermined("anycompatiblemultirange"))
            }
            _ => self.element.ok_or_else(|| undetermined("anyelement")),
        }
    }
}

fn inconsistent(catalog: &Catalog, name: &str, actual: Oid, other: &str, of: Oid) -> Error {
    let text = format!("argument declared {name} is not consistent with argument declared {other}");
    mismatch(text).detail(format!("{} versus {}", catalog.shown(actual), catalog.shown(of)))
}
