//! Which kernels are there?

use std::collections::HashMap;
use std::sync::OnceLock;

use onlap_pg::Oid;
use onlap_pg::catalog::extensions::{ALL, OWN};
use onlap_pg::catalog::{Catalog, Proc};

use crate::aggregate::MakeAggregate;
use crate::series::MakeSeries;
use crate::{Make, array, extension, json, misc, number, range, search, text, time, xml};

/// Everything by OID.
struct Lists {
    kernels: HashMap<Oid, Make>,
    aggregates: HashMap<Oid, MakeAggregate>,
    series: HashMap<Oid, MakeSeries>,
}

/// A function as the lists name it: `name(type,type)` with the catalog's names of its declared arguments.
pub fn signature(catalog: &Catalog, proc: &Proc) -> String {
    let names = proc.arguments.iter().map(|oid| catalog.get_type(*oid).map_or("?", |ty| &ty.name));
    format!("{}({})", proc.name, names.collect::<Vec<_>>().join(","))
}

fn lists() -> &'static Lists {
    static LISTS: OnceLock<Lists> = OnceLock::new();
    LISTS.get_or_init(|| {
        let catalog = Catalog::new();
        let mut by_signature: HashMap<String, Oid> = HashMap::new();
        // Functions of extensions that are PostgreSQL's own by another OID.
        let mut again: Vec<(Oid, Oid)> = Vec::new();
        for proc in catalog.procs().iter().chain(ALL.iter().chain([&OWN]).flat_map(|of| of.procs()))
        {
            let first = *by_signature.entry(signature(&catalog, proc)).or_insert(proc.oid);
            if first != proc.oid {
                again.push((proc.oid, first));
            }
        }
        let oid = |name: &str| {
            *by_signature.get(name).unwrap_or_else(|| panic!("{name} is a row of pg_proc"))
        };
        let kernels = [
            text::ENTRIES,
            number::ENTRIES,
            time::ENTRIES,
            json::ENTRIES,
            array::ENTRIES,
            misc::ENTRIES,
            range::ENTRIES,
            extension::ENTRIES,
            search::ENTRIES,
        ];
        let kernels = kernels.into_iter().flatten().copied().chain([xml::ENTRIES]).flatten();

        let mut kernels: HashMap<Oid, Make> =
            kernels.map(|(name, make)| (oid(name), *make)).collect();
        for (name, same) in extension::SAME {
            let make = kernels[&oid(same)];
            kernels.insert(oid(name), make);
        }
        for (oid, first) in again {
            if let Some(make) = kernels.get(&first).copied() {
                kernels.insert(oid, make);
            }
        }
        let aggregates = [
            text::AGGREGATES,
            number::AGGREGATES,
            time::AGGREGATES,
            json::AGGREGATES,
            array::AGGREGATES,
            range::AGGREGATES,
        ];
        let aggregates =
            aggregates.iter().chain(misc::AGGREGATES).chain([&extension::AGGREGATES]).copied();
        let aggregates = aggregates.chain([xml::AGGREGATES]);
        let series = [text::SERIES, number::SERIES, time::SERIES, array::SERIES, misc::SERIES];
        let series = series.iter().chain(json::SERIES.iter().chain([&range::SERIES]));
        let series = series.chain(extension::SERIES).chain([&search::SERIES]);
        Lists {
            kernels,
            aggregates: aggregates.flatten().map(|(n, make)| (oid(n), *make)).collect(),
            series: series.copied().flatten().map(|(n, make)| (oid(n), *make)).collect(),
        }
    })
}

/// How the kernel of a function is made; `None` if there is none.
pub fn find(function: Oid) -> Option<Make> {
    lists().kernels.get(&function).copied()
}

/// How an aggregate is made; `None` if there is none.
pub fn find_aggregate(function: Oid) -> Option<MakeAggregate> {
    lists().aggregates.get(&function).copied()
}

/// How a function that gives a set is made; `None` if there is none.
pub fn find_series(function: Oid) -> Option<MakeSeries> {
    lists().series.get(&function).copied()
}

#[cfg(test)]
mod tests {
    /// A signature that is no row of pg_proc panics here.
    #[test]
    fn every_kernel_is_one_of_a_function() {
        let _ = super::lists();
    }
}
