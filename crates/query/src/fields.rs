//! What does a row become where fields of it are written to?
//!
//! The whole row is made anew, with the fields in it; of NULL as of a row of NULLs. Thread safety: pure functions.

use onlap_kernels::array::Record;
use onlap_kernels::array::record::build_named;
use onlap_kernels::{Col, Datum, Made, Repr};
use onlap_pg::bound::{Expr, ExprId};
use onlap_pg::{Oid, Result, TypeRef};

use crate::compile::{Compiler, unsupported};
use crate::containers::{FieldOf, must_be};
use crate::env::Env;
use crate::node::{Node, Rows};

/// A row of which fields are written to.
pub struct StoreFields {
    /// The row.
    row: Node,
    /// The places of fields, from 0, and what they become.
    values: Vec<(usize, Node)>,
    /// Its type.
    of: Oid,
    /// All its fields: names, types, representations.
    fields: Vec<(String, Oid, Repr)>,
}

impl StoreFields {
    /// What is calculated for the same rows.
    pub fn children(&self) -> Vec<&Node> {
        [&self.row].into_iter().chain(self.values.iter().map(|(_, value)| value)).collect()
    }

    /// A row per row.
    pub fn eval(&self, rows: &Rows<'_>, env: &Env) -> Result<Col> {
        let held = self.row.eval(rows, env)?;
        let values = self.values.iter().map(|(at, value)| Ok((*at, value.eval(rows, env)?)));
        let values = values.collect::<Result<Vec<(usize, Col)>>>()?;
        let names: Vec<&str> = self.fields.iter().map(|(name, ..)| name.as_str()).collect();
        let mut out = Made::new(rows.count, &env.cx());
        for row in 0..rows.count {
            let held = Datum::at(&held.array, Repr::Bytes, held.at(row));
            let known = match &held {
                Datum::Bytes(bytes) => Some(Record::load(bytes)),
                _ => None,
            };
            let field = |(at, (_, oid, repr)): (usize, &(String, Oid, Repr))| {
                let written = values.iter().rfind(|(place, _)| *place == at);
                let value = match (written, &known) {
                    (Some((_, value)), _) => Datum::at(&value.array, *repr, value.at(row)),
                    (None, Some(known)) if at < known.len() => {
                        let given = (at, known.type_of(at));
                        must_be(&env.catalog, given, (self.of, *oid, *repr))?;
                        known.get(at, *repr)
                    }
                    _ => Datum::Null,
                };
                Ok((*oid, value))
            };
            let made = self.fields.iter().enumerate().map(field);
            let made: Vec<(Oid, Datum<'_>)> = made.collect::<Result<_>>()?;
            out.push(Datum::bytes(build_named(&names, &made)?), &env.cx())?;
        }
        Ok(Col::new(out.column(Repr::Bytes)?))
    }
}

/// Values that must keep to the conditions of a domain.
pub fn domain(value: &Node, oid: Oid, rows: &Rows<'_>, env: &Env) -> Result<Col> {
    let made = value.eval(rows, env)?;
    if rows.count > 0 {
        env.session.keep_to(oid, &made.array)?;
    }
    Ok(made)
}

impl Compiler<'_> {
    /// A value that goes into a domain.
    pub fn domain(&mut self, value: ExprId, ty: TypeRef) -> Result<Node> {
        // What the domain is over may be another type of the same bits, as int4 is to an oid.
        let from = self.bound.ty(value).oid;
        let node = self.node(value)?;
        let node = self.of_same_bits(node, from, ty.oid)?;
        // A constant that keeps to the conditions stays one; another is told when rows come to it.
        if let Node::Const(array) = &node
            && self.env.session.keep_to(ty.oid, array).is_ok()
        {
            return Ok(node);
        }
        Ok(Node::Domain(Box::new(node), ty.oid))
    }

    /// A row of which fields are written to. The row, and the field that is written to, are columns of what its values are
    /// calculated of, since parts of the field may be asked for.
    pub fn store_fields(
        &mut self,
        base: ExprId,
        values: &[ExprId],
        numbers: &[i32],
        ty: TypeRef,
    ) -> Result<Node> {
        let known = self.env.session.fields(self.env.catalog.base_type(ty.oid));
        let known = known.ok_or_else(|| unsupported("a field of this type that is written to"))?;
        let mut fields = Vec::with_capacity(known.len());
        for (name, ty) in known {
            fields.push((name, ty.oid, self.repr(ty.oid)?));
        }
        let row = Box::new(self.node(base)?);
        let whole = self.new_place();
        let mut made = Vec::with_capacity(values.len());
        for (value, number) in values.iter().zip(numbers) {
            let at = usize::try_from(number - 1).expect("fields count from 1");
            let (row, of) = (Node::Column(whole), (ty.oid, fields[at].1));
            let held = FieldOf { row, field: *number, of, repr: fields[at].2 };
            let value = self.of_held(Node::Field(Box::new(held)), *value)?;
            made.push((at, value));
        }
        self.frame().placeholders.pop();
        let body = StoreFields { row: Node::Column(whole), values: made, of: ty.oid, fields };
        Ok(Node::With { at: whole, value: row, body: Box::new(Node::StoreFields(Box::new(body))) })
    }

    /// A value that may ask for what is held where it is stored.
    pub fn of_held(&mut self, held: Node, value: ExprId) -> Result<Node> {
        if !self.has_placeholder(value) {
            return self.node(value);
        }
        let at = self.new_place();
        let body = self.node(value);
        self.frame().placeholders.pop();
        Ok(Node::With { at, value: Box::new(held), body: Box::new(body?) })
    }

    /// A place behind all columns, for a value that a placeholder stands for.
    pub fn new_place(&mut self) -> usize {
        let least = self.layout().width() + 64;
        let last = self.frame().placeholders.iter().max();
        let at = last.map_or(least, |last| least.max(last + 1));
        self.frame().placeholders.push(at);
        at
    }

    /// Whether it asks for what is held where it is stored, or has a CASE that compares.
    pub fn has_placeholder(&self, id: ExprId) -> bool {
        let mut found = false;
        self.bound.visit(id, 0, &mut |id, _| {
            found |= matches!(self.bound.expr(id), Expr::Placeholder);
            !found
        });
        found
    }
}
