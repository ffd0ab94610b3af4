//! How does a catalog get types while a statement is bound?
//!
//! A database has a type of rows for each of its relations: to know them all before a statement is bound would cost more
//! than to bind it. They come one by one, as relations are named, and never go: each node is set once.
//!
//! Thread safety: any thread may add; what was found stays.

use std::sync::OnceLock;

use super::Type;

/// Types in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Named(OnceLock<Box<(Type, Named)>>);

impl Named {
    /// Adds a type, unless there is one of its OID.
    pub fn add(&self, ty: Type) {
        let mut at = self;
        let mut ty = Some(ty);
        while let Some(new) = ty.take() {
            let oid = new.oid;
            let mut rest = Some(new);
            let node = at.0.get_or_init(|| {
                let new = rest.take().expect("it is taken once");
                Box::new((new, Named::default()))
            });
            ty = rest.filter(|_| node.0.oid != oid);
            at = &node.1;
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Type> + Clone {
        let mut at = self;
        std::iter::from_fn(move || {
            let (ty, rest) = &**at.0.get()?;
            at = rest;
            Some(ty)
        })
    }
}
