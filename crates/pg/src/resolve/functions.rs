//! Which function does a name mean with these arguments?
//!
//! Candidates are functions of the name whose parameters the arguments can fill: in order or by name, the last
//! ones by their defaults, a variadic one by any number of elements. A name with one argument may also be that of a
//! type: then it is a cast, unless a function takes exactly that argument.

use super::candidates::{Candidate, Choice, choose};
use super::coerce::{self, Context, Path};
use super::{Conversion, Operand, Origin, arguments, named, polymorphic};
use crate::catalog::{Catalog, Kind, Proc, ProcKind, oids, procedure_signature};
use crate::{Error, Oid, Result, TypeRef};

/// How a call is written, beside its name and arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form<'a> {
    /// A name for each argument that is given as `name => value`; may be empty if none is.
    pub names: &'a [Option<&'a str>],
    /// The last argument is given as VARIADIC.
    pub variadic: bool,
    /// `(*)`
    pub star: bool,
    /// WITHIN GROUP, whose expressions are the last arguments.
    pub within_group: bool,
    /// OVER
    pub over: bool,
    /// CALL
    pub procedure: bool,
}

/// What a call means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Called {
    /// A cast of the one argument.
    Cast(Conversion),
    /// A function.
    Function(Call),
}

/// A function with its arguments converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its row of pg_proc.
    pub proc: Oid,
    /// What kind it is.
    pub kind: ProcKind,
    /// What each argument needs, in the order of the call.
    pub arguments: Vec<Conversion>,
    /// The parameter that each argument fills, from 0; behind the last one elements of a variadic one.
    pub places: Vec<usize>,
    /// Parameters that keep their defaults.
    pub defaults: Vec<usize>,
    /// Arguments that become one array.
    pub collected: Option<Collected>,
    /// The last argument is the array of a variadic parameter's elements, as it is.
    pub whole: bool,
    /// The result's type.
    pub result: Oid,
    /// Whether it gives a set.
    pub retset: bool,
}

/// The last arguments of a call, as one array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collected {
    /// How many.
    pub count: usize,
    /// The array's type.
    pub array: Oid,
}

#[derive(Clone)]
struct Declared<'a> {
    proc: &'a Proc,
    /// In the order of the call, then defaults.
    types: Vec<Oid>,
    places: Vec<usize>,
    elements: usize,
    defaults: usize,
    ambiguous: bool,
}

impl Candidate for Declared<'_> {
    fn declared(&self) -> &[Oid] {
        &self.types
    }
}

/// A function by its name.
///
/// # Errors
/// 42883: there is none; 42725: several are as good; 42804: polymorphic arguments disagree; 42601: names are
/// doubled or before arguments without one; 42809: OVER, WITHIN GROUP or the star is missing or out of place.
pub fn function(
    catalog: &Catalog,
    name: &str,
    operands: &[Operand],
    form: Form<'_>,
) -> Result<Called> {
    let Form { names, variadic, .. } = form;
    check_names(names)?;
    let actual: Vec<Oid> = operands.iter().map(|o| o.ty.oid).collect();
    let named = names.iter().any(Option::is_some);
    let candidates = candidates(catalog, name, operands.len(), named.then_some(names), !variadic);
    let chosen = match candidates.iter().find(|c| c.types[..actual.len()] == actual[..]) {
        Some(exact) => Choice::One(exact.clone()),
        None => {
            if let ([operand], false) = (operands, named)
                && let Some(target) = as_cast(catalog, name, *operand)
            {
                return coerce::written(catalog, *operand, target).map(Called::Cast);
            }
            choose(catalog, &actual, candidates)
        }
    };
    if form.procedure && matches!(chosen, Choice::Missing) {
        let shown = signature(catalog, name, names, &actual);
        let text = format!("procedure {shown} does not exist");
        return Err(Error::new("42883", text).hint(
            "No procedure matches the given name and argument types. \
             You might need to add explicit type casts.",
        ));
    }
    let chosen = match chosen {
        Choice::One(found) if !found.ambiguous => found,
        Choice::Missing => return Err(missing(catalog, name, names, &actual)),
        Choice::One(_) | Choice::Ambiguous => return Err(ambiguous(catalog, name, names, &actual)),
    };
    let count = operands.len();
    if named && variadic && count > 0 && chosen.places[count - 1] != count - 1 {
        return Err(missing(catalog, name, names, &actual));
    }
    check_form(catalog, chosen.proc, &actual, form)?;
    call(catalog, chosen, operands, &actual, variadic).map(Called::Function)
}

/// Whether what is written around a call suits the kind of function.
fn check_form(catalog: &Catalog, proc: &Proc, actual: &[Oid], form: Form<'_>) -> Result<()> {
    let name = &*proc.name;
    let wrong = |text: String| Err(Error::new("42809", text));
    let ordered = catalog.aggregate(proc.oid).is_some_and(|a| a.kind != b'n');
    match proc.kind {
        ProcKind::Procedure if form.procedure => Ok(()),
        _ if form.procedure => {
            let given: Vec<_> = actual.iter().map(|oid| (None, *oid)).collect();
            let shown = procedure_signature(catalog, name, &given);
            let text = format!("{shown} is not a procedure");
            Err(Error::new("42809", text).hint("To call a function, use SELECT."))
        }
        ProcKind::Procedure => {
            let given: Vec<_> = actual.iter().map(|oid| (None, *oid)).collect();
            let text = format!("{} is a procedure", procedure_signature(catalog, name, &given));
            Err(Error::new("42809", text).hint("To call a procedure, use CALL."))
        }
        ProcKind::Aggregate if ordered && !form.within_group => {
            wrong(format!("WITHIN GROUP is required for ordered-set aggregate {name}"))
        }
        ProcKind::Aggregate if ordered && form.over => {
            let text = format!("OVER is not supported for ordered-set aggregate {name}");
            Err(Error::new("0A000", text))
        }
        ProcKind::Aggregate if !ordered && form.within_group => {
            wrong(format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP"))
        }
        ProcKind::Aggregate if actual.is_empty() && !form.star && !form.within_group => {
            wrong(format!("{name}(*) must be used to call a parameterless aggregate function"))
        }
        ProcKind::Aggregate => Ok(()),
        _ if form.within_group => {
            wrong(format!("WITHIN GROUP specified, but {name} is not an aggregate function"))
        }
        ProcKind::Window if !form.over => {
            wrong(format!("window function {name} requires an OVER clause"))
        }
        ProcKind::Window => Ok(()),
        _ if form.star => {
            wrong(format!("{name}(*) specified, but {name} is not an aggregate function"))
        }
        _ if form.over => wrong(format!(
            "OVER specified, but {name} is not a window function nor an aggregate function"
        )),
        ProcKind::Function => Ok(()),
    }
}

fn check_names(names: &[Option<&str>]) -> Result<()> {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        match name {
            Some(name) if seen.contains(name) => {
                let text = format!("argument name \"{name}\" used more than once");
                return Err(Error::new("42601", text));
            }
            Some(name) => seen.push(name),
            None if !seen.is_empty() => {
                let text = "positional argument cannot follow named argument";
                return Err(Error::new("42601", text));
            }
            None => {}
        }
    }
    Ok(())
}

fn signature(catalog: &Catalog, name: &str, names: &[Option<&str>], actual: &[Oid]) -> String {
    let of = |at: usize| names.get(at).copied().flatten();
    let arguments: Vec<_> = actual.iter().enumerate().map(|(at, oid)| (of(at), *oid)).collect();
    procedure_signature(catalog, name, &arguments)
}

fn missing(catalog: &Catalog, name: &str, names: &[Option<&str>], actual: &[Oid]) -> Error {
    let text = format!("function {} does not exist", signature(catalog, name, names, actual));
    Error::new("42883", text).hint(
        "No function matches the given name and argument types. \
         You might need to add explicit type casts.",
    )
}

fn ambiguous(catalog: &Catalog, name: &str, names: &[Option<&str>], actual: &[Oid]) -> Error {
    let text = format!("function {} is not unique", signature(catalog, name, names, actual));
    Error::new("42725", text).hint(
        "Could not choose a best candidate function. You might need to add explicit type casts.",
    )
}

/// All functions that such arguments could fill, with what their parameters are declared as.
fn candidates<'a>(
    catalog: &'a Catalog,
    name: &'a str,
    count: usize,
    names: Option<&[Option<&str>]>,
    expand: bool,
) -> Vec<Declared<'a>> {
    let mut found: Vec<Declared<'_>> = Vec::new();
    for proc in catalog.procs_named(name) {
        let candidate = match names {
            Some(names) => by_name(proc, names, expand),
            None => in_order(proc, count, expand),
        };
        if let Some(candidate) = candidate {
            add(catalog, &mut found, candidate);
        }
    }
    found
}

fn in_order(proc: &Proc, count: usize, expand: bool) -> Option<Declared<'_>> {
    let wanted = proc.arguments.len();
    let variadic = expand && proc.variadic != 0 && wanted <= count;
    let enough = variadic || (wanted - proc.defaults..=wanted).contains(&count);
    enough.then(|| {
        let mut types = proc.arguments.to_vec();
        let elements = if variadic { count + 1 - wanted } else { 0 };
        if variadic {
            types.truncate(wanted - 1);
            types.resize(count, proc.variadic);
        }
        let places = (0..count).map(|at| at.min(wanted.saturating_sub(1))).collect();
        let defaults = wanted.saturating_sub(count);
        Declared { proc, types, places, elements, defaults, ambiguous: false }
    })
}

fn by_name<'a>(proc: &'a Proc, names: &[Option<&str>], expand: bool) -> Option<Declared<'a>> {
    // Elements of a variadic parameter have no names.
    if proc.variadic != 0 && expand || names.len() > proc.arguments.len() {
        return None;
    }
    let places = named::places(proc, names)?;
    let open = (0..proc.arguments.len()).filter(|place| !places.contains(place));
    let order: Vec<usize> = places.iter().copied().chain(open).collect();
    let types: Vec<Oid> = order.iter().map(|place| proc.arguments[*place]).collect();
    let defaults = types.len() - places.len();
    Some(Declared { proc, types, places, elements: 0, defaults, ambiguous: false })
}

/// Of two that take the same, one that is not variadic is kept; two that are alike in that are ambiguous.
fn add<'a>(catalog: &Catalog, found: &mut Vec<Declared<'a>>, candidate: Declared<'a>) {
    let given = |c: &Declared<'_>| c.types.len() - c.defaults;
    let same = |c: &Declared<'_>| c.types[..given(c)] == candidate.types[..given(&candidate)];
    match found.iter_mut().find(|c| same(c)) {
        None => found.push(candidate),
        // That of the schema that comes first hides the other.
        Some(before) if catalog.rank(before.proc) != catalog.rank(candidate.proc) => {
            if catalog.rank(candidate.proc) < catalog.rank(before.proc) {
                *before = candidate;
            }
        }
        Some(before) if before.elements == 0 && candidate.elements > 0 => {}
        Some(before) if before.elements > 0 && candidate.elements == 0 => *before = candidate,
        Some(before) => before.ambiguous = true,
    }
}

/// A type's name as a function: only casts that need no function of their own.
fn as_cast(catalog: &Catalog, name: &str, operand: Operand) -> Option<TypeRef> {
    let target = catalog.type_named(name).filter(|t| t.kind != Kind::Composite)?;
    let source = operand.ty.oid;
    let literal = operand.origin == Origin::Literal;
    if !literal {
        match coerce::path(catalog, source, target.oid, Context::Explicit)? {
            Path::Same => {}
            Path::Text => {
                let row = source == oids::RECORD || catalog.is_composite(source);
                if row && target.category == b'S' {
                    return None;
                }
            }
            Path::Function(_) | Path::Elements => return None,
        }
    }
    Some(TypeRef::new(target.oid))
}

fn call(
    catalog: &Catalog,
    chosen: Declared<'_>,
    operands: &[Operand],
    actual: &[Oid],
    variadic: bool,
) -> Result<Call> {
    let proc = chosen.proc;
    let mut declared = chosen.types.clone();
    let defaults = declared[operands.len()..].iter().copied();
    let all: Vec<Oid> = actual.iter().copied().chain(defaults).collect();
    let result = polymorphic::settle(catalog, &all, &mut declared, proc.result)?;
    let converted = arguments(catalog, operands, &declared)?;
    let collected = match chosen.elements {
        0 => None,
        _ if proc.variadic == oids::ANY => None,
        count => {
            let element = converted[operands.len() - count].ty.oid;
            let array = catalog.array_of(element);
            let array = array.ok_or_else(|| polymorphic::no_array(catalog, element))?;
            Some(Collected { count, array })
        }
    };
    if variadic
        && proc.variadic == oids::ANY
        && actual.last().is_some_and(|last| catalog.base_element(*last).is_none())
    {
        return Err(Error::new("42804", "VARIADIC argument must be an array"));
    }
    let open = (0..proc.arguments.len()).filter(|place| !chosen.places.contains(place)).collect();
    Ok(Call {
        proc: proc.oid,
        kind: proc.kind,
        arguments: converted,
        places: chosen.places,
        defaults: open,
        collected,
        whole: variadic && proc.variadic != 0,
        result,
        retset: proc.retset,
    })
}
