//! What does a step of groups calculate?
//!
//! Thread safety: belongs to one compilation.

use std::sync::Arc;

use arrow_schema::DataType;
use onlap_pg::bound::ExprId;

use crate::aggregates::{First, MakeStates};
use crate::node::Node;

/// What a step of groups is made of.
#[derive(Default)]
pub struct Parts {
    /// Columns of the input: expressions with their types.
    pub input: Vec<(Arc<Node>, DataType)>,
    /// Columns of the input that are keys.
    pub keys: Vec<usize>,
    /// Calls: the states, the columns of their arguments, the column of FILTER, the result's type.
    pub calls: Vec<(MakeStates, Vec<usize>, Option<usize>, DataType)>,
    /// Direct arguments, which are of the group and not of its rows, and their columns of the input.
    pub direct: Vec<(ExprId, usize)>,
}

impl Parts {
    /// Adds a column of the input.
    pub fn add(&mut self, node: Node, ty: DataType) -> usize {
        self.input.push((Arc::new(node), ty));
        self.input.len() - 1
    }

    /// Adds a call that gives the first value of a group.
    pub fn first(&mut self, node: Node, ty: DataType) -> usize {
        let at = self.add(node, ty.clone());
        let of = ty.clone();
        self.calls.push((Arc::new(move || Box::new(First::new(of.clone()))), vec![at], None, ty));
        self.calls.len() - 1
    }
}
