//! How does a value of one type become one of another, and where may it?
//!
//! Whether it may is decided for the types below domains: the same, a row of pg_cast whose context reaches far
//! enough, arrays whose elements may, or the value's text (to strings from assignment on, from strings where a cast
//! is written). A modifier is a second step, by the type's cast to itself. A domain is entered last.

use super::{Conversion, Operand, Origin, Step, polymorphic};
use crate::catalog::{CastContext, CastMethod, Catalog, Kind, oids};
use crate::{Error, Oid, Result, TypeRef};

/// Where the conversion takes place.
pub type Context = CastContext;

/// Category of strings.
const STRINGS: u8 = b'S';

/// How a type becomes another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// The bits stay.
    Same,
    /// By a function.
    Function(Oid),
    /// By its text.
    Text,
    /// Element by element.
    Elements,
}

/// The way from one type to another, if there is one that may be gone in a context.
pub(super) fn path(catalog: &Catalog, source: Oid, target: Oid, context: Context) -> Option<Path> {
    let (source, target) = (catalog.base_type(source), catalog.base_type(target));
    if source == target {
        return Some(Path::Same);
    }
    if let Some(cast) = catalog.cast(source, target) {
        return (context >= cast.context).then_some(match cast.method {
            CastMethod::Function => Path::Function(cast.function),
            CastMethod::Io => Path::Text,
            CastMethod::Binary => Path::Same,
        });
    }
    if target != oids::OIDVECTOR
        && target != oids::INT2VECTOR
        && let (Some(from), Some(to)) = (catalog.element(source), catalog.element(target))
        && path(catalog, from, to, context).is_some()
    {
        return Some(Path::Elements);
    }
    let written = context >= Context::Assignment && catalog.category(target).0 == STRINGS;
    let read = context >= Context::Explicit && catalog.category(source).0 == STRINGS;
    (written || read).then_some(Path::Text)
}

/// Whether values of a type are values of another as they are, without being asked for.
pub fn is_same(catalog: &Catalog, source: Oid, target: Oid) -> bool {
    let anything = target == oids::ANY || target == oids::ANYELEMENT;
    let array = || target == oids::ANYARRAY && catalog.element(source).is_some();
    source == target
        || anything
        || array()
        || catalog.base_type(source) == target
        || path(catalog, source, target, Context::Implicit) == Some(Path::Same)
            && catalog.get_type(target).is_none_or(|ty| ty.kind != Kind::Domain)
}

/// Whether one type may become another in a context; `unknown` always may.
pub fn can_convert(catalog: &Catalog, source: Oid, target: Oid, context: Context) -> bool {
    can_convert_all(catalog, &[source], &[target], context)
}

/// Whether all types may become what is declared, polymorphic types included.
pub(super) fn can_convert_all(
    catalog: &Catalog,
    sources: &[Oid],
    targets: &[Oid],
    context: Context,
) -> bool {
    let mut generic = false;
    for (source, target) in sources.iter().copied().zip(targets.iter().copied()) {
        if source == target || target == oids::ANY {
            continue;
        }
        if polymorphic::is_polymorphic(target) {
            generic = true;
            continue;
        }
        let may = source == oids::UNKNOWN
            || path(catalog, source, target, context).is_some()
            || source == oids::RECORD && catalog.is_composite(target)
            || target == oids::RECORD && catalog.is_composite(source)
            || target == oids::RECORD_ARRAY && is_composite_array(catalog, source);
        if !may {
            return false;
        }
    }
    !generic || polymorphic::is_consistent(catalog, sources, targets)
}

fn is_composite_array(catalog: &Catalog, oid: Oid) -> bool {
    catalog.element(oid).is_some_and(|element| catalog.is_composite(element))
}

/// The conversion to a type with its modifier; nothing if there is none in this context.
///
/// # Errors
/// 42846: a record becomes a composite type only where it is written as ROW(…), so that its fields are known.
pub fn convert(
    catalog: &Catalog,
    operand: Operand,
    target: TypeRef,
    context: Context,
) -> Result<Option<Conversion>> {
    if !can_convert(catalog, operand.ty.oid, target.oid, context) {
        return Ok(None);
    }
    let typed = to_type(catalog, operand, target, context)?;
    Ok(Some(to_modifier(catalog, typed, target, context)))
}

/// The conversion to a declared argument or a common type, of which it is known that it may be.
pub(super) fn implicit(catalog: &Catalog, operand: Operand, target: Oid) -> Result<Conversion> {
    to_type(catalog, operand, TypeRef::new(target), Context::Implicit)
}

/// The conversion to a type whose name was used as a function.
pub(super) fn written(catalog: &Catalog, operand: Operand, target: TypeRef) -> Result<Conversion> {
    to_type(catalog, operand, target, Context::Explicit)
}

/// The error of a cast that there is not.
pub fn cast_error(catalog: &Catalog, source: Oid, target: Oid) -> Error {
    let (source, target) = (catalog.shown(source), catalog.shown(target));
    Error::new("42846", format!("cannot cast type {source} to {target}"))
}

/// The error of a value that a column does not take.
pub fn assignment_error(catalog: &Catalog, column: &str, source: Oid, target: Oid) -> Error {
    let (source, target) = (catalog.shown(source), catalog.shown(target));
    let text =
        format!("column \"{column}\" is of type {target} but expression is of type {source}");
    Error::new("42804", text).hint("You will need to rewrite or cast the expression.")
}

/// Steps to the type; the modifier is used only by what takes it on the way.
fn to_type(
    catalog: &Catalog,
    operand: Operand,
    target: TypeRef,
    context: Context,
) -> Result<Conversion> {
    let (value, source) = (Conversion::none(operand), operand.ty.oid);
    if source == target.oid || polymorphic::takes_anything(target.oid) {
        return Ok(value);
    }
    if polymorphic::takes_container(target.oid) && source != oids::UNKNOWN {
        let base = TypeRef::new(catalog.base_type(source));
        return Ok(if base.oid == source { value } else { value.then(Step::Relabel(base), base) });
    }
    if source == oids::UNKNOWN {
        return from_unknown(catalog, operand, target, context);
    }
    let (base, modifier) = catalog.base(target.oid, target.modifier);
    let base = TypeRef { oid: base, modifier };
    let converted = match path(catalog, source, target.oid, context) {
        Some(Path::Same) if base.oid != target.oid => value,
        Some(Path::Same) => {
            value.then(Step::Relabel(TypeRef::new(base.oid)), TypeRef::new(base.oid))
        }
        Some(path) => along(catalog, value, path, base, context),
        None if source == oids::RECORD && operand.origin == Origin::Row => {
            value.then(Step::Fields(base.oid), TypeRef::new(base.oid))
        }
        None if source == oids::RECORD => return Err(cast_error(catalog, source, target.oid)),
        // A composite value is a record as it is.
        None => return Ok(value),
    };
    Ok(match base.oid == target.oid {
        true => converted,
        false => to_domain(catalog, converted, target.oid, context),
    })
}

fn from_unknown(
    catalog: &Catalog,
    operand: Operand,
    target: TypeRef,
    context: Context,
) -> Result<Conversion> {
    let value = Conversion::none(operand);
    match operand.origin {
        Origin::Literal => {}
        Origin::Parameter => {
            return Ok(value.then(Step::Assume(target.oid), TypeRef::new(target.oid)));
        }
        Origin::Typed | Origin::Row => {
            let text = "failed to find conversion function from unknown to";
            return Err(Error::internal(format!("{text} {}", catalog.shown(target.oid))));
        }
    }
    let (base, modifier) = catalog.base(target.oid, target.modifier);
    if let Some(pseudo) = catalog.get_type(base).filter(|t| t.kind == Kind::Pseudo)
        && catalog.proc(pseudo.input).is_some_and(|input| !input.strict)
    {
        let text = format!("cannot accept a value of type {}", pseudo.name);
        return Err(Error::new("0A000", text));
    }
    // Interval alone needs its modifier to read a text; others are cut to it afterwards, as casts cut.
    let modifier = if base == oids::INTERVAL { modifier } else { -1 };
    let ty = TypeRef { oid: base, modifier };
    let read = value.then(Step::Read(ty), ty);
    Ok(match base == target.oid {
        true => read,
        false => to_domain(catalog, read, target.oid, context),
    })
}

/// A column of a result whose type is still open becomes text.
///
/// # Errors
/// XX000: it is the result of something that is declared to be of type unknown.
pub fn to_text(catalog: &Catalog, operand: Operand) -> Result<Conversion> {
    implicit(catalog, operand, oids::TEXT)
}

fn along(
    catalog: &Catalog,
    value: Conversion,
    path: Path,
    target: TypeRef,
    context: Context,
) -> Conversion {
    match path {
        Path::Same => value.then(Step::Relabel(target), target),
        Path::Text => value.then(Step::Text(target.oid), TypeRef::new(target.oid)),
        Path::Function(function) => {
            let count = catalog.proc(function).map_or(1, |p| p.arguments.len());
            let modifier = (count >= 2).then_some(target.modifier);
            let explicit = (count >= 3).then_some(context == Context::Explicit);
            let ty = TypeRef { oid: target.oid, modifier: modifier.unwrap_or(-1) };
            value.then(Step::Function { function, result: target.oid, modifier, explicit }, ty)
        }
        Path::Elements => {
            let (array, modifier) = catalog.base(value.ty.oid, value.ty.modifier);
            let from = catalog.element(array).expect("only arrays are converted by elements");
            let to = catalog.element(target.oid).expect("only to arrays");
            let element = Operand::typed(TypeRef { oid: from, modifier });
            let to = TypeRef { oid: to, modifier: target.modifier };
            let element = convert(catalog, element, to, context).ok().flatten();
            let element = element.expect("arrays have a path only if their elements have one");
            let ty = TypeRef { oid: target.oid, modifier: element.ty.modifier };
            value.then(Step::Elements(element.steps, ty), ty)
        }
    }
}

/// The length, precision or scale that the target asks for.
fn to_modifier(
    catalog: &Catalog,
    value: Conversion,
    target: TypeRef,
    context: Context,
) -> Conversion {
    if value.ty.modifier == target.modifier {
        return value;
    }
    let cast = (target.modifier >= 0).then(|| {
        let element = catalog.element(target.oid);
        let own = element.unwrap_or(target.oid);
        let cast = catalog.cast(own, own).filter(|cast| cast.function != 0)?;
        Some(if element.is_some() { Path::Elements } else { Path::Function(cast.function) })
    });
    match cast.flatten() {
        Some(path) => along(catalog, value, path, target, context),
        None => relabel(value, target),
    }
}

/// Says a type without doing anything; what an earlier such step said is forgotten.
fn relabel(mut value: Conversion, target: TypeRef) -> Conversion {
    while matches!(value.steps.last(), Some(Step::Relabel(_))) {
        value.steps.pop();
    }
    if let Some(Step::Read(ty)) = value.steps.last_mut() {
        *ty = target;
        value.ty = target;
        return value;
    }
    value.then(Step::Relabel(target), target)
}

/// From the base type into a domain.
fn to_domain(catalog: &Catalog, value: Conversion, domain: Oid, context: Context) -> Conversion {
    let (base, modifier) = catalog.base(domain, -1);
    let value = to_modifier(catalog, value, TypeRef { oid: base, modifier }, context);
    value.then(Step::Domain(domain), TypeRef::new(domain))
}
