//! Which operator does a symbol mean between these operands?

use super::candidates::{Candidate, Choice, choose};
use super::coerce::{self, Context};
use super::{Conversion, Operand, arguments, common, polymorphic};
use crate::catalog::{Catalog, Operator, oids, operator_signature};
use crate::{Error, Oid, Result, TypeRef};

/// An operator with its operands converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorCall {
    /// Its row of pg_operator.
    pub operator: Oid,
    /// Its function.
    pub proc: Oid,
    /// What each operand needs, in order.
    pub operands: Vec<Conversion>,
    /// The result's type.
    pub result: Oid,
}

#[derive(Clone)]
struct Declared {
    operator: &'static Operator,
    operands: [Oid; 2],
    count: usize,
}

impl Candidate for Declared {
    fn declared(&self) -> &[Oid] {
        &self.operands[..self.count]
    }
}

/// A binary operator, or a prefix one if there is no left operand.
///
/// # Errors
/// 42883: there is none; 42725: several are as good; 42804: polymorphic operands disagree.
pub fn operator(
    catalog: &Catalog,
    name: &str,
    left: Option<Operand>,
    right: Operand,
) -> Result<OperatorCall> {
    let found = find(catalog, name, left.map(|l| l.ty.oid), right.ty.oid)?;
    let operands: Vec<Operand> = left.into_iter().chain([right]).collect();
    let actual: Vec<Oid> = operands.iter().map(|o| o.ty.oid).collect();
    let mut declared = declared_by(found);
    let result = polymorphic::settle(catalog, &actual, &mut declared, found.result)?;
    Ok(OperatorCall {
        operator: found.oid,
        proc: found.proc,
        operands: arguments(catalog, &operands, &declared)?,
        result,
    })
}

/// `left operator ANY (right)`, or ALL, of an array: what compares an element.
///
/// # Errors
/// As [`operator()`]; 42809: the right side is no array, or the operator does not give a boolean.
pub fn any_operator(
    catalog: &Catalog,
    name: &str,
    left: Operand,
    right: Operand,
) -> Result<OperatorCall> {
    let array = right.ty.oid;
    let element = match array {
        oids::UNKNOWN => Some(array),
        _ => catalog.base_element(array),
    };
    let wrong = |text: &str| Error::new("42809", format!("op ANY/ALL (array) requires {text}"));
    let element = element.ok_or_else(|| wrong("array on right side"))?;
    let found = find(catalog, name, Some(left.ty.oid), element)?;
    let mut declared = declared_by(found);
    let result =
        polymorphic::settle(catalog, &[left.ty.oid, element], &mut declared, found.result)?;
    if result != oids::BOOL {
        return Err(wrong("operator to yield boolean"));
    }
    if catalog.proc(found.proc).is_some_and(|p| p.retset) {
        return Err(wrong("operator not to return a set"));
    }
    declared[1] = if polymorphic::is_polymorphic(declared[1]) {
        array
    } else {
        catalog.array_of(declared[1]).ok_or_else(|| polymorphic::no_array(catalog, declared[1]))?
    };
    Ok(OperatorCall {
        operator: found.oid,
        proc: found.proc,
        operands: arguments(catalog, &[left, right], &declared)?,
        result,
    })
}

/// `left IN (…)`, or NOT IN, which asks `=` or `<>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InList {
    /// Where constants become one array: its type, what each needs to be an element, and the comparison with ANY.
    pub array: Option<(Oid, Vec<Conversion>, OperatorCall)>,
    /// Comparisons with each of the others; with all, constants first, if there is no array.
    pub each: Vec<OperatorCall>,
}

/// The comparisons that IN means. Constants are items without columns of the statement: two or more become an array
/// if they and the left side have a common type that has one.
///
/// # Errors
/// As [`operator()`] and [`any_operator`]; 42804: an operator does not give a boolean.
pub fn in_list(
    catalog: &Catalog,
    name: &str,
    left: Operand,
    constants: &[Operand],
    others: &[Operand],
) -> Result<InList> {
    let types: Vec<Oid> = [&left].into_iter().chain(constants).map(|o| o.ty.oid).collect();
    let common = if constants.len() > 1 { common::try_common_type(catalog, &types) } else { None };
    let common = common.filter(|common| *common != oids::RECORD);
    let mut list = InList { array: None, each: Vec::new() };
    let mut single: &[Operand] = constants;
    if let Some((element, array)) =
        common.and_then(|common| Some((common, catalog.array_of(common)?)))
    {
        let items: Result<_> =
            constants.iter().map(|o| common::to_common(catalog, *o, element, "IN")).collect();
        let right = Operand::typed(TypeRef::new(array));
        list.array = Some((array, items?, any_operator(catalog, name, left, right)?));
        single = &[];
    }
    for item in single.iter().chain(others) {
        let call = operator(catalog, name, Some(left), *item)?;
        if !coerce::can_convert(catalog, call.result, oids::BOOL, Context::Implicit) {
            let shown = catalog.shown(call.result);
            let text = format!("argument of IN must be type boolean, not type {shown}");
            return Err(Error::new("42804", text));
        }
        list.each.push(call);
    }
    Ok(list)
}

fn declared_by(found: &Operator) -> Vec<Oid> {
    [found.left, found.right].into_iter().filter(|oid| *oid != 0).collect()
}

fn find(catalog: &Catalog, name: &str, left: Option<Oid>, right: Oid) -> Result<&'static Operator> {
    if let Some(found) = exact(catalog, name, left, right) {
        return Ok(found);
    }
    let count = 1 + usize::from(left.is_some());
    let of = |operator: &'static Operator| Declared {
        operator,
        operands: if count == 1 { [operator.right; 2] } else { [operator.left, operator.right] },
        count,
    };
    let candidates =
        catalog.operators_named(name).filter(|o| (o.left != 0) == left.is_some()).map(of);
    let operands: Vec<Oid> = left.into_iter().chain([right]).collect();
    let signature = || operator_signature(catalog, name, left, right);
    match choose(catalog, &operands, candidates) {
        Choice::One(found) if found.operator.proc != 0 => Ok(found.operator),
        Choice::One(_) => {
            let text = format!("operator is only a shell: {}", signature());
            Err(Error::new("42883", text))
        }
        Choice::Ambiguous => {
            let hint = "Could not choose a best candidate operator. \
                        You might need to add explicit type casts.";
            Err(Error::new("42725", format!("operator is not unique: {}", signature())).hint(hint))
        }
        Choice::Missing => {
            let hint = match count {
                1 => {
                    "No operator matches the given name and argument type. \
                     You might need to add an explicit type cast."
                }
                _ => {
                    "No operator matches the given name and argument types. \
                     You might need to add explicit type casts."
                }
            };
            Err(Error::new("42883", format!("operator does not exist: {}", signature())).hint(hint))
        }
    }
}

/// The one declared so; a literal without a type is taken for the other side's, or for what that is based on.
fn exact(
    catalog: &Catalog,
    name: &str,
    left: Option<Oid>,
    right: Oid,
) -> Option<&'static Operator> {
    let Some(left) = left else { return catalog.operator_exact(name, 0, right) };
    let (a, b) = match (left, right) {
        (oids::UNKNOWN, known) | (known, oids::UNKNOWN) => (known, known),
        both => both,
    };
    let found = catalog.operator_exact(name, a, b);
    if found.is_some() || (left != oids::UNKNOWN && right != oids::UNKNOWN) {
        return found;
    }
    let base = catalog.base_type(a);
    catalog.operator_exact(name, base, base)
}
