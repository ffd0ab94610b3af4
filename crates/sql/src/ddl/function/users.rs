//! What uses a function, and which functions use types?
//!
//! What has a text that names it ([`crate::ddl::kept`]), and triggers that call it, by its OID. A function uses the types of its
//! parameters and of its result.

use std::sync::Arc;

use crate::catalog::called;
use crate::catalog::functions::Function;
use crate::catalog::triggers;
use crate::ddl::cascade::Object;
use crate::ddl::kept::{self, Wanted};
use crate::error::Result;
use crate::view::View;

/// The functions that have a parameter or a result of one of some types.
pub fn with_types(view: &View, types: &[u32]) -> Vec<Arc<Function>> {
    let all = view.objects.functions().of_database(&view.database);
    let has = |of: &&Arc<Function>| {
        let state = of.aggregate.as_ref().map(|of| of.made.state);
        types.contains(&of.result)
            || state.is_some_and(|state| types.contains(&state))
            || of.parameters.iter().any(|of| types.contains(&of.ty))
    };
    all.filter(has).cloned().collect()
}

/// Whether a text that is kept names a function: a trigger alone calls it by its OID.
///
/// # Errors
/// The transaction has ended; `57014`.
pub fn is_named(view: &View, of: &Function) -> Result<bool> {
    let may = |text: &str, is_expr: bool| called::calls(text, is_expr, of);
    let wanted = Wanted { may: &may, is: &|oid| oid == of.oid };
    let by_oid = |user: &Object| match user {
        Object::Trigger(relation, name) => {
            let mut all = triggers::of_relation(&view.objects, *relation).into_iter();
            let own = all.find(|trigger| trigger.name == *name).and_then(|of| of.when);
            own.is_none_or(|text| !called::calls(&text, true, of))
        }
        _ => false,
    };
    Ok(!kept::users(view, &wanted)?.iter().all(|used| by_oid(&used.user)))
}
