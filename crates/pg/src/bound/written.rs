//! How was it written, where the meaning does not say it?
//!
//! The tree says what a statement means. Who prints it as SQL ([`crate::print`]) wants to know more: whether a conversion
//! was asked for, and by which name of a join a column was called. It is noted for those who print alone, next to the tree.

use std::collections::HashMap;

use super::ExprId;

/// How a call or a conversion came to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A call by its name.
    #[default]
    Call,
    /// A cast that was written.
    Cast,
    /// A conversion that was not written.
    Implicit,
    /// A syntax of SQL's own, as `extract(year from t)`.
    Syntax,
}

/// What was noted.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    forms: HashMap<ExprId, Form>,
    columns: HashMap<ExprId, (usize, i32)>,
}

impl super::Bound {
    /// Notes from now on how things were written.
    pub(crate) fn keep_written(&mut self) {
        self.written = Some(Box::default());
    }

    /// Whether it is noted.
    pub(crate) fn keeps_written(&self) -> bool {
        self.written.is_some()
    }

    pub(crate) fn note_form(&mut self, id: ExprId, form: Form) {
        if let Some(written) = &mut self.written {
            written.forms.insert(id, form);
        }
    }

    pub(crate) fn note_column(&mut self, id: ExprId, column: (usize, i32)) {
        if let Some(written) = &mut self.written {
            written.columns.insert(id, column);
        }
    }

    /// How a call or a conversion came to be.
    pub(crate) fn form(&self, id: ExprId) -> Form {
        let noted = self.written.as_ref().and_then(|written| written.forms.get(&id));
        noted.copied().unwrap_or_default()
    }

    /// The entry and the column by which a column was called, where they are not its own: those of a join with a name.
    pub(crate) fn called_column(&self, id: ExprId) -> Option<(usize, i32)> {
        self.written.as_ref()?.columns.get(&id).copied()
    }
}
