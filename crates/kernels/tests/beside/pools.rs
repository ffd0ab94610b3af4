//! With which values are functions called?

use onlap_pg::Oid;
use onlap_pg::catalog::{Catalog, Proc};

use crate::Case;

mod values;

/// Numbers by chance, from a seed (splitmix64).
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw(seed)
    }

    /// A number below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

/// Calls of a function: all combinations of edge values if they are few, else some.
pub fn cases(catalog: &Catalog, proc: &Proc, most: usize, draw: &mut Draw) -> Vec<Case> {
    let mut made = Vec::new();
    for (types, result) in values::instances(catalog, proc) {
        let pools: Vec<Vec<&str>> = (0..types.len())
            .map(|at| values::pool(catalog, proc, at, types[at]).to_vec())
            .collect();
        let all: usize = pools.iter().map(|pool| pool.len() + 1).product();
        for n in 0..most.min(all) {
            let mut number = if all <= most { n } else { draw.below(all) };
            let mut args = Vec::new();
            for (pool, oid) in pools.iter().zip(&types) {
                let at = number % (pool.len() + 1);
                number /= pool.len() + 1;
                // NULL is drawn more seldom than once per pool.
                let text = match at == pool.len() && (pool.is_empty() || draw.below(3) == 0) {
                    true => None,
                    false => Some(pool[at % pool.len()].to_string()),
                };
                args.push((*oid, text));
            }
            made.push(case(catalog, proc, args, result));
        }
    }
    made
}

fn case(catalog: &Catalog, proc: &Proc, args: Vec<(Oid, Option<String>)>, result: Oid) -> Case {
    let written: Vec<String> = args
        .iter()
        .map(|(oid, text)| {
            let ty = type_name(catalog, *oid);
            match text {
                Some(text) => format!("'{}'::{ty}", text.replace('\'', "''")),
                None => format!("null::{ty}"),
            }
        })
        .collect();
    let variadic = if proc.variadic != 0 && proc.variadic != 2276 { "variadic " } else { "" };
    let written = match written.split_last() {
        Some((last, [])) => format!("{variadic}{last}"),
        Some((last, first)) => format!("{}, {variadic}{last}", first.join(", ")),
        None => String::new(),
    };
    let text = format!("pg_catalog.\"{}\"({written})", proc.name);
    Case { proc: proc.oid, args, result, text }
}

/// A type as a cast names it: char(n) without a length means one of any length.
fn type_name(catalog: &Catalog, oid: Oid) -> String {
    match oid {
        18 => "\"char\"".into(),
        1042 => "pg_catalog.bpchar".into(),
        1560 => "pg_catalog.bit".into(),
        oid => catalog.shown(oid),
    }
}
