//! What are values and functions here?

use std::sync::Arc;

use crate::session::QUIET;
use onlap_kernels::{Cx, Datum, TypeRef, Types, input, output, signature};
use onlap_pg::Oid;
use onlap_pg::catalog::{Catalog, Proc};
use onlap_pg::value::Settings;

/// Values are read and written with it.
pub(crate) struct Ours {
    pub(crate) catalog: Arc<Catalog>,
    settings: Settings,
}

impl Ours {
    pub(crate) fn new() -> Ours {
        Ours { catalog: Arc::new(Catalog::new()), settings: Settings::default() }
    }

    pub(crate) fn cx(&self) -> Cx<'_> {
        Cx { catalog: &self.catalog, settings: &self.settings, session: &QUIET }
    }

    pub(crate) fn read(&self, oid: Oid, text: &str) -> Datum<'static> {
        let read = input(&mut self.cx(), TypeRef::new(oid), text);
        read.unwrap_or_else(|e| panic!("{text:?} of type {oid}: {e}"))
    }

    /// As COPY shows it.
    pub(crate) fn shown(&self, oid: Oid, value: &Datum<'_>) -> String {
        if value.is_null() {
            return "NULL".into();
        }
        let mut out = String::new();
        output(&mut self.cx(), oid, value, &mut out).expect("it is written");
        out
    }

    pub(crate) fn types(&self, args: &[Oid], result: Oid) -> Types {
        Types {
            args: args.iter().map(|oid| TypeRef::new(*oid)).collect(),
            result: TypeRef::new(result),
            catalog: Arc::clone(&self.catalog),
        }
    }

    pub(crate) fn proc<'a>(&'a self, wanted: &'a str) -> &'a Proc {
        let name = wanted.split('(').next().expect("a name");
        let mut all = self.catalog.procs_named(name);
        all.find(|proc| signature(&self.catalog, proc) == wanted).expect("it is a function")
    }
}
