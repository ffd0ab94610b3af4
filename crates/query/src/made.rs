//! How are functions called that a database made?
//!
//! They are the session's to carry out: here their arguments are calculated. Parameters that keep their defaults are left out.

use std::sync::Arc;

use onlap_kernels::Types;
use onlap_kernels::misc::{MadeCall, made_kernel, made_series};
use onlap_pg::bound::{Call as BoundCall, EntryKind, Expr, ExprId};
use onlap_pg::catalog::oids;
use onlap_pg::{Error, Oid, Result, TypeRef, resolve};

use crate::compile::Compiler;
use crate::effects::Effect;
use crate::node::{Call, Node};
use crate::series::SetCall;

/// trigger
const TRIGGER: Oid = 2279;

impl Compiler<'_> {
    /// Whether a function is one that a database made.
    pub fn is_made(&self, proc: Oid) -> bool {
        self.env.catalog.proc(proc).is_some_and(|proc| proc.made.is_some())
    }

    fn made(&mut self, call: &BoundCall, result: TypeRef) -> Result<(MadeCall, Vec<Node>)> {
        let mut given: Vec<(usize, ExprId)> = Vec::with_capacity(call.args.len());
        for (n, (place, id)) in call.args.iter().enumerate() {
            given.push((place.unwrap_or(n), *id));
        }
        given.sort_by_key(|(place, _)| *place);
        let ids: Vec<ExprId> = given.iter().map(|(_, id)| *id).collect();
        let nodes = self.nodes(&ids)?;
        let places = given.into_iter().map(|(place, _)| place).collect();
        let (args, defined) = (self.types_of(&ids), self.defined_for(call));
        Ok((MadeCall { proc: call.proc, places, args, result, defined }, nodes))
    }

    /// The columns that the query defines for a call in its FROM.
    fn defined_for(&self, call: &BoundCall) -> Vec<(Box<str>, TypeRef)> {
        let frame = self.frames.last().expect("a query is being made");
        let functions =
            self.bound.query(frame.query).entries.iter().filter_map(|of| match &of.kind {
                EntryKind::Functions { calls, .. } => Some(calls),
                _ => None,
            });
        let is_it =
            |id: ExprId| matches!(self.bound.expr(id), Expr::Call(of) if std::ptr::eq(of, call));
        let found = functions.flatten().find(|function| is_it(function.call));
        let defined = found.into_iter().flat_map(|function| &function.defined);
        defined.map(|(name, ty)| (Box::from(&**name), *ty)).collect()
    }

    /// A call that gives one value.
    ///
    /// # Errors
    /// Those of the arguments.
    pub fn made_call(&mut self, call: &BoundCall, result: TypeRef) -> Result<Node> {
        if result.oid == TRIGGER {
            return Err(Error::new("0A000", "trigger functions can only be called as triggers"));
        }
        let (made, args) = self.made(call, result)?;
        let catalog = Arc::clone(&self.env.catalog);
        let proc = catalog.proc(call.proc);
        let strict = proc.is_some_and(|proc| proc.strict);
        let effect = proc.map_or(Effect::Acts, Effect::of_made);
        let ty = self.arrow(result.oid)?;
        let types = Types { args: made.args.clone(), result, catalog };
        let kernel = made_kernel(made, strict, &types);
        Ok(Node::Call(Call { kernel, args, effect, ty }))
    }

    /// A call that gives a set.
    ///
    /// # Errors
    /// Those of the arguments.
    pub fn made_set(&mut self, call: &BoundCall, result: TypeRef) -> Result<SetCall> {
        let (made, args) = self.made(call, result)?;
        let catalog = Arc::clone(&self.env.catalog);
        let proc = catalog.proc(call.proc).expect("the resolver has found it");
        let given: Vec<Oid> = made.args.iter().map(|ty| ty.oid).collect();
        let outputs = match proc.result {
            oids::RECORD => resolve::outputs(&catalog, proc, &given),
            _ => None,
        };
        let reprs = given.iter().map(|oid| self.repr(*oid)).collect::<Result<_>>()?;
        let mut set = SetCall::new(made_series(made), args, reprs);
        set.strict = proc.strict;
        set.several = outputs.map(|columns| columns.into_iter().map(|(_, oid)| oid).collect());
        Ok(set)
    }
}
