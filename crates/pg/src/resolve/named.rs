//! Which parameter does each argument of a call fill, if some are named?

use crate::catalog::Proc;

/// Elements of an array's text without NULLs, as proargnames and proargmodes have them.
pub(super) fn elements(text: &'static str) -> impl Iterator<Item = &'static str> {
    let inside = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or("");
    inside.split(',').map(|element| element.trim_matches('"'))
}

/// The name of a parameter that a call fills, by its place from 0.
pub fn parameter_name(proc: &Proc, place: usize) -> Option<&str> {
    parameters(proc).get(place).copied().filter(|name| !name.is_empty())
}

/// Names of the parameters that a call fills.
fn parameters(proc: &Proc) -> Vec<&str> {
    if let Some(made) = &proc.made {
        let given = made.parameters.iter().filter(|parameter| parameter.is_given());
        return given.map(|parameter| parameter.name.as_str()).collect();
    }
    let names = elements(proc.names);
    if proc.modes == "\\N" {
        return names.take(proc.arguments.len()).collect();
    }
    let filled = |mode: &str| matches!(mode, "i" | "b" | "v");
    names.zip(elements(proc.modes)).filter(|(_, mode)| filled(mode)).map(|(name, _)| name).collect()
}

/// The parameter of each argument; nothing if one has no parameter or one without a default stays open.
pub(super) fn places(proc: &Proc, names: &[Option<&str>]) -> Option<Vec<usize>> {
    let parameters = parameters(proc);
    let mut filled = vec![false; proc.arguments.len()];
    let mut places = Vec::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        let place = match name {
            None => at,
            Some("") => return None,
            Some(name) => parameters.iter().position(|parameter| parameter == name)?,
        };
        if std::mem::replace(filled.get_mut(place)?, true) {
            return None;
        }
        places.push(place);
    }
    let required = proc.arguments.len() - proc.defaults;
    filled[..required].iter().all(|filled| *filled).then_some(places)
}
