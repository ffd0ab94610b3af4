//! What are values, operators and keys here?

use std::sync::Arc;

use arrow_array::Array as _;
use arrow_array::cast::AsArray;
use onlap_kernels::gin::Class;
use onlap_kernels::{Col, Cx, Datum, TypeRef, Types, find, input, repr};
use onlap_pg::Oid;
use onlap_pg::catalog::Catalog;
use onlap_pg::value::Settings;

use super::Set;
use crate::session::Quiet;

/// A catalog and a session.
pub(crate) struct Ours {
    catalog: Arc<Catalog>,
    settings: Settings,
    session: Quiet,
}

impl Ours {
    pub(crate) fn new() -> Ours {
        Ours::with("0.3")
    }

    /// With a threshold of similarity.
    pub(crate) fn with(threshold: &str) -> Ours {
        Ours {
            catalog: Arc::new(Catalog::of_all()),
            settings: Settings::default(),
            session: Quiet::with_threshold(threshold.into()),
        }
    }

    pub(crate) fn cx(&self) -> Cx<'_> {
        Cx { catalog: &self.catalog, settings: &self.settings, session: &self.session }
    }

    pub(crate) fn read(&self, oid: Oid, text: &str) -> Datum<'static> {
        let read = input(&mut self.cx(), TypeRef::new(oid), text);
        read.unwrap_or_else(|e| panic!("{text:?} of type {oid}: {e}"))
    }

    /// Whether an operator says true of two values; an error says nothing.
    pub(crate) fn holds(
        &self,
        operator: Oid,
        (left, right): (Oid, Oid),
        a: &Datum<'_>,
        b: &Datum<'_>,
    ) -> bool {
        let operator = self.catalog.operator(operator).expect("there is one");
        let types = Types {
            args: vec![TypeRef::new(left), TypeRef::new(right)],
            result: TypeRef::new(16),
            catalog: Arc::clone(&self.catalog),
        };
        let kernel = find(operator.proc).expect("it has a kernel")(&types);
        let col = |oid: Oid, value: &Datum<'_>| {
            let repr = repr(&self.catalog, oid).expect("it has values");
            Col::new(Datum::column(repr, [value].into_iter()).expect("it is short"))
        };
        match kernel.eval(&[col(left, a), col(right, b)], 1, &mut self.cx()) {
            Ok(said) => !said.is_null(0) && said.as_boolean().value(0),
            Err(_) => false,
        }
    }

    /// The keys of a value.
    pub(crate) fn keys(&self, class: Class, ty: Oid, value: &Datum<'_>) -> Set {
        let keys = class.keys(ty, value, &self.cx()).expect("there is room");
        let keys: Set = keys.iter().map(<[u8]>::to_vec).collect();
        assert!(keys.iter().all(|key| (1..=128).contains(&key.len())), "{keys:?}");
        keys
    }
}
