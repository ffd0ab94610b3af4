//! Expressions of XML.

use super::{At, Binder};
use crate::ast::{self, Expr as Raw, Name, XmlOp};
use crate::bound::{Expr, ExprId, Xml};
use crate::catalog::oids;
use crate::resolve::{self, Context, Operand};
use crate::value::xml::to_xml;
use crate::{Error, Oid, Result, TypeRef};

const XML: Oid = 142;

impl Binder<'_> {
    pub(super) fn xml(&mut self, xml: &ast::Xml, place: Option<u32>) -> Result<ExprId> {
        let mut made = Xml {
            op: xml.op,
            name: xml.name.as_ref().map(|name| to_xml(name, false).into()),
            names: Vec::new(),
            args: Vec::new(),
            document: xml.document,
        };
        for arg in &xml.named {
            let value = self.expr(arg.value)?;
            let name = self.xml_name(xml.op, arg)?;
            if xml.op == XmlOp::Element && made.names.contains(&name) {
                let text = format!("XML attribute name \"{name}\" appears more than once");
                return Err(Error::new("42601", text)).at(Some(arg.place));
            }
            made.names.push(name);
            made.args.push(value);
        }
        for (at, arg) in xml.args.iter().enumerate() {
            let value = self.expr(*arg)?;
            made.args.push(match xml_type(xml.op, at) {
                Some(ty) => self.xml_argument(value, ty, xml.op)?,
                None => value,
            });
        }
        if let Some(name) = &xml.ty {
            return self.xml_text(made, name, place);
        }
        let ty = if xml.op == XmlOp::IsDocument { oids::BOOL } else { XML };
        Ok(self.out.add(Expr::Xml(Box::new(made)), TypeRef::new(ty), place))
    }

    fn xml_argument(&mut self, value: ExprId, ty: Oid, op: XmlOp) -> Result<ExprId> {
        let made = self.specific(value, ty, op.word())?;
        match self.find(made, &|b, id| b.gives_set(id)) {
            None => Ok(made),
            Some(_) => {
                let text = format!("argument of {} must not return a set", op.word());
                Err(Error::new("42804", text)).at(self.start_of(made))
            }
        }
    }

    /// The name of an attribute or of an element of a forest.
    fn xml_name(&self, op: XmlOp, arg: &ast::Arg) -> Result<Name> {
        match (&arg.name, self.tree.expr(arg.value)) {
            (Some(name), _) => Ok(to_xml(name, false).into()),
            (None, Raw::Column(_) | Raw::Star(_)) => {
                Ok(to_xml(&self.figured(arg.value), true).into())
            }
            (None, _) => {
                let what = if op == XmlOp::Element { "attribute" } else { "element" };
                let text = format!("unnamed XML {what} value must be a column reference");
                Err(Error::new("42601", text)).at(Some(arg.place))
            }
        }
    }

    /// XMLSERIALIZE: a text, as the type that was written.
    fn xml_text(&mut self, xml: Xml, name: &ast::TypeName, place: Option<u32>) -> Result<ExprId> {
        let ty = self.type_of(name)?;
        let made = self.out.add(Expr::Xml(Box::new(xml)), ty, place);
        let text = Operand::typed(TypeRef::new(oids::TEXT));
        match resolve::convert(self.catalog, text, ty, Context::Implicit)? {
            Some(conversion) => self.converted(made, &conversion),
            None => {
                let shown = self.catalog.shown(ty.oid);
                let text = format!("cannot cast XMLSERIALIZE result to {shown}");
                Err(Error::new("42846", text)).at(place)
            }
        }
    }
}

/// The type that an argument must have.
fn xml_type(op: XmlOp, at: usize) -> Option<Oid> {
    match (op, at) {
        (XmlOp::Element | XmlOp::Forest, _) => None,
        (XmlOp::Parse | XmlOp::Pi, 0) | (XmlOp::Root, 1) => Some(oids::TEXT),
        (XmlOp::Parse, _) => Some(oids::BOOL),
        (XmlOp::Root, 2) => Some(oids::INT4),
        _ => Some(XML),
    }
}
