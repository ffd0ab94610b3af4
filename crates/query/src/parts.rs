//! How does a subscript become a node?
//!
//! A part of an array is taken by its bounds. A part of a jsonb is what its path leads to: keys as they are, indexes as texts.

use onlap_kernels::Repr;
use onlap_pg::bound::{ExprId, Subscript};
use onlap_pg::catalog::oids;
use onlap_pg::{Error, Oid, Result, TypeRef};

use crate::compile::{Compiler, unsupported};
use crate::containers::ArrayOf;
use crate::node::Node;
use crate::subscripts::{Part, Store, StoreJson, Subscripts};

/// jsonb
const JSONB: Oid = 3802;
/// text[]
const TEXTS: Oid = 1009;
/// jsonb_extract_path(jsonb, text[])
const EXTRACT_PATH: Oid = 3217;
/// Types that have elements and are no arrays: name, point, lseg, box, line.
const FIXED: [Oid; 5] = [NAME, 600, 601, 603, 628];
/// name
const NAME: Oid = 19;

impl Compiler<'_> {
    /// The node of a part.
    ///
    /// # Errors
    /// `0A000`: the part is written to; those of what it is made of.
    pub fn part(&mut self, part: &Subscript, ty: TypeRef) -> Result<Node> {
        let is_letter = part.container_type == NAME && part.assigned.is_none();
        if FIXED.contains(&part.container_type) && !(is_letter && part.lower.is_empty()) {
            return Err(match part.lower.is_empty() {
                true => unsupported("a part of a value of fixed length"),
                false => Error::new("0A000", "slices of fixed-length arrays not implemented"),
            });
        }
        if let Some(value) = part.assigned
            && part.container_type == JSONB
            && self.has_placeholder(value)
        {
            return Err(unsupported("a part of this kind that is written to"));
        }
        if let Some(value) = part.assigned
            && self.has_placeholder(value)
        {
            return self.part_of_part(part, value);
        }
        let container = self.node(part.container)?;
        if part.container_type == JSONB {
            return self.json_part(container, part);
        }
        let (subscripts, element) = (self.subscripts(part)?, part.element);
        if let Some(value) = part.assigned {
            let value = self.node(value)?;
            return Ok(Node::Store(Box::new(Store { container, subscripts, element, value })));
        }
        let repr = self.repr(ty.oid)?;
        let of = if is_letter { Repr::Text } else { Repr::Bytes };
        Ok(Node::Part(Box::new(Part { container, of, subscripts, element, repr })))
    }

    fn subscripts(&mut self, part: &Subscript) -> Result<Subscripts> {
        let mut bounds = |ids: &[Option<ExprId>]| {
            let node = |id: &Option<ExprId>| id.map(|id| self.node(id)).transpose();
            ids.iter().map(node).collect::<Result<Vec<_>>>()
        };
        Ok(Subscripts { upper: bounds(&part.upper)?, lower: bounds(&part.lower)? })
    }

    /// An array of which a part of an element is written to: the array is calculated once, and its element from it.
    fn part_of_part(&mut self, part: &Subscript, value: ExprId) -> Result<Node> {
        let array = Box::new(self.node(part.container)?);
        let whole = self.new_place();
        let held = Part {
            container: Node::Column(whole),
            of: Repr::Bytes,
            subscripts: self.subscripts(part)?,
            element: part.element,
            repr: self.repr(part.element)?,
        };
        let value = self.of_held(Node::Part(Box::new(held)), value)?;
        let (subscripts, element) = (self.subscripts(part)?, part.element);
        let store = Store { container: Node::Column(whole), subscripts, element, value };
        self.frame().placeholders.pop();
        Ok(Node::With { at: whole, value: array, body: Box::new(Node::Store(Box::new(store))) })
    }

    fn json_part(&mut self, container: Node, part: &Subscript) -> Result<Node> {
        let text = TypeRef::new(oids::TEXT);
        let mut values = Vec::with_capacity(part.upper.len());
        for id in part.upper.iter().flatten() {
            let (node, from) = (self.node(*id)?, self.bound.ty(*id).oid);
            values.push(match from {
                oids::TEXT => node,
                from => Node::ViaText(Box::new(node), from, text.oid),
            });
        }
        if let Some(value) = part.assigned {
            let value = self.node(value)?;
            let first = part.upper.iter().flatten().next();
            let from_index = first.is_some_and(|first| self.bound.ty(*first).oid != oids::TEXT);
            let store = StoreJson { container, steps: values, from_index, value };
            return Ok(Node::StoreJson(Box::new(store)));
        }
        let path = ArrayOf { values, nested: false, element: text.oid, repr: Repr::Text };
        let types = vec![TypeRef::new(JSONB), TypeRef::new(TEXTS)];
        let nodes = vec![container, Node::Array(Box::new(path))];
        Ok(Node::Call(self.call(EXTRACT_PATH, nodes, types, TypeRef::new(JSONB))?))
    }
}
