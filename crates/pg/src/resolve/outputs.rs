//! Which columns do a function's OUT parameters make?

use super::{named, polymorphic};
use crate::Oid;
use crate::ast::Name;
use crate::catalog::{Catalog, Proc};

/// OUT parameters in their order: names and declared types.
fn declared(proc: &Proc) -> Vec<(&str, Oid)> {
    if let Some(made) = &proc.made {
        let results = made.parameters.iter().filter(|parameter| parameter.is_result());
        return results.map(|parameter| (parameter.name.as_str(), parameter.ty.oid)).collect();
    }
    if proc.modes == "\\N" {
        return Vec::new();
    }
    let types = named::elements(proc.all_types).map(|oid| oid.parse().unwrap_or(0));
    let modes = named::elements(proc.modes);
    let names = named::elements(proc.names).map(Some).chain(std::iter::repeat(None));
    let all = types.zip(modes).zip(names);
    let out = |mode: &str| matches!(mode, "o" | "b" | "t");
    all.filter(|((_, mode), _)| out(mode))
        .map(|((oid, _), name)| (name.unwrap_or(""), oid))
        .collect()
}

/// The columns of a call with arguments of these types; none where there are fewer than two OUT parameters.
pub fn outputs(catalog: &Catalog, proc: &Proc, given: &[Oid]) -> Option<Vec<(Name, Oid)>> {
    let declared = declared(proc);
    if declared.len() < 2 {
        return None;
    }
    let mut columns = Vec::with_capacity(declared.len());
    for (at, (name, oid)) in declared.into_iter().enumerate() {
        let mut arguments = proc.arguments.to_vec();
        let oid = polymorphic::settle(catalog, given, &mut arguments, oid).ok()?;
        let name = match name {
            "" => format!("column{}", at + 1).into(),
            name => Name::from(name),
        };
        columns.push((name, oid));
    }
    Some(columns)
}

/// The name of the one OUT parameter, if there is one alone and it has a name.
pub fn result_name(proc: &Proc) -> Option<Name> {
    match declared(proc)[..] {
        [(name, _)] if !name.is_empty() => Some(name.into()),
        _ => None,
    }
}
