//! Which cases are asked, and in which order?
//!
//! The order depends on nothing but the names given; answers are kept in it.

use super::{CONSTRUCTS, Case, Construct, FEW, FEWEST, Operand, TYPES};

/// NULL, a record, and a column of each of these types.
pub fn operands(types: &'static [&'static str]) -> Vec<Operand> {
    let columns = types.iter().map(|t| Operand::Column(t));
    [Operand::Unknown, Operand::Record].into_iter().chain(columns).collect()
}

/// Every operator over all pairs, every prefix operator, and comparisons with ANY of arrays.
pub fn operators(names: &[String]) -> Vec<Case> {
    let all = operands(&TYPES);
    let mut cases = Vec::new();
    for name in names {
        cases.extend(all.iter().map(|o| Case::Operator(name.clone(), vec![*o])));
        for left in &all {
            cases.extend(all.iter().map(|right| Case::Operator(name.clone(), vec![*left, *right])));
        }
    }
    for name in ["=", "<", "~~", "||", "@>", "+"] {
        for left in &all {
            cases.extend(all.iter().map(|right| Case::AnyOf(name.into(), *left, *right)));
        }
    }
    cases
}

/// Functions by name: over nothing, one operand of any type, pairs and triples of fewer types.
/// `names` says for how many arguments each is asked.
pub fn functions(names: &[(String, Vec<usize>)]) -> Vec<Case> {
    let (all, few, fewest) = (operands(&TYPES), operands(&FEW), operands(&FEWEST));
    let mut cases = Vec::new();
    for (name, numbers) in names {
        let mut add = |of: &[Operand]| cases.push(Case::Function(name.clone(), of.to_vec()));
        for number in numbers {
            match number {
                0 => add(&[]),
                1 => all.iter().for_each(|o| add(&[*o])),
                2 => few.iter().for_each(|a| few.iter().for_each(|b| add(&[*a, *b]))),
                _ => triples(&fewest, &mut add),
            }
        }
    }
    cases
}

/// Functions with defaults or a variadic parameter, with one or two arguments named, or the last VARIADIC.
pub fn named(functions: &[(String, bool, Vec<String>)]) -> Vec<Case> {
    let (fewest, few) = (operands(&FEWEST), operands(&FEW));
    let mut cases = Vec::new();
    for (name, variadic, parameters) in functions {
        let mut add = |names: &[&String], of: &[Operand]| {
            let names = names.iter().map(|name| (*name).clone()).collect();
            cases.push(Case::Named(name.clone(), names, of.to_vec()));
        };
        for one in parameters {
            few.iter().for_each(|a| add(&[one], &[*a]));
            fewest.iter().for_each(|a| fewest.iter().for_each(|b| add(&[one], &[*a, *b])));
        }
        for (one, other) in parameters.iter().flat_map(|a| parameters.iter().map(move |b| (a, b))) {
            fewest.iter().for_each(|a| fewest.iter().for_each(|b| add(&[one, other], &[*a, *b])));
        }
        if *variadic {
            let mut add = |of: &[Operand]| cases.push(Case::Variadic(name.clone(), of.to_vec()));
            few.iter().for_each(|a| add(&[*a]));
            few.iter().for_each(|a| few.iter().for_each(|b| add(&[*a, *b])));
        }
    }
    cases
}

/// A parameter without a type next to columns of all types, in operators, functions, casts and branches.
pub fn parameters(operators: &[String], functions: &[(String, Vec<usize>)]) -> Vec<Case> {
    let (all, few) = (operands(&TYPES), operands(&FEW));
    let one = Operand::Parameter;
    let mut cases: Vec<Case> = TYPES.iter().map(|to| Case::Explicit(one, to)).collect();
    for name in operators {
        cases.push(Case::Operator(name.clone(), vec![one]));
        for other in &all {
            cases.push(Case::Operator(name.clone(), vec![one, *other]));
            cases.push(Case::Operator(name.clone(), vec![*other, one]));
        }
    }
    for other in &all {
        cases.push(Case::AnyOf("=".into(), *other, one));
        cases.push(Case::AnyOf("=".into(), one, *other));
        cases.extend(CONSTRUCTS.iter().map(|c| Case::Common(*c, vec![*other, one])));
    }
    for (name, numbers) in functions {
        if numbers.contains(&1) {
            cases.push(Case::Function(name.clone(), vec![one]));
        }
        if numbers.contains(&2) {
            cases.extend(few.iter().map(|o| Case::Function(name.clone(), vec![one, *o])));
        }
    }
    cases
}

fn triples(of: &[Operand], add: &mut impl FnMut(&[Operand])) {
    for a in of {
        for b in of {
            of.iter().for_each(|c| add(&[*a, *b, *c]));
        }
    }
}

/// Casts between all types, written and by assignment.
pub fn casts() -> Vec<Case> {
    let mut cases = Vec::new();
    for of in operands(&TYPES) {
        cases.extend(TYPES.iter().map(|to| Case::Explicit(of, to)));
        cases.extend(TYPES.iter().map(|to| Case::Assignment(of, to)));
    }
    cases
}

/// Common types of all pairs, and of triples of fewer types.
pub fn common() -> Vec<Case> {
    let (all, fewest) = (operands(&TYPES), operands(&FEWEST));
    let mut cases = Vec::new();
    for construct in CONSTRUCTS {
        let mut add = |of: &[Operand]| cases.push(Case::Common(construct, of.to_vec()));
        if construct != Construct::Case {
            all.iter().for_each(|o| add(&[*o]));
        }
        all.iter().for_each(|a| all.iter().for_each(|b| add(&[*a, *b])));
        triples(&fewest, &mut add);
    }
    let known = |of: &[Operand]| !of.contains(&Operand::Record);
    let mut add = |of: &[Operand]| cases.push(Case::In(of[0], of[1..].to_vec()));
    all.iter()
        .for_each(|a| all.iter().filter(|b| **b != Operand::Record).for_each(|b| add(&[*a, *b])));
    triples(&operands(&FEW), &mut |of| {
        if known(&of[1..]) {
            add(of)
        }
    });
    cases
}
