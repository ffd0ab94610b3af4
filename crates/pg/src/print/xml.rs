//! How are expressions of XML written?

use super::{Printer, unserved};
use crate::Result;
use crate::ast::XmlOp;
use crate::bound::{Expr, ExprId, Literal, Xml};
use crate::value::xml::from_xml;

impl<'a> Printer<'a> {
    pub(super) fn xml(&mut self, id: ExprId, xml: &'a Xml) -> Result<()> {
        let args = &xml.args[xml.names.len()..];
        if xml.op == XmlOp::IsDocument {
            // PostgreSQL's pretty form has parentheses even where the value is simple.
            let parens = self.look.pretty;
            self.put(if parens { "(" } else { "" });
            self.expr(args[0], false)?;
            self.put(if parens { ")" } else { "" });
            self.put(" IS DOCUMENT");
            return Ok(());
        }
        self.put(xml.op.word());
        self.put("(");
        if matches!(xml.op, XmlOp::Parse | XmlOp::Serialize) {
            self.put(if xml.document { "DOCUMENT " } else { "CONTENT " });
        }
        if let Some(name) = &xml.name {
            self.put("NAME ");
            self.put_name(&from_xml(name));
        }
        self.xml_named(xml)?;
        if !args.is_empty() && (xml.name.is_some() || !xml.names.is_empty()) {
            self.put(", ");
        }
        match (xml.op, args) {
            (XmlOp::Parse, [value, preserve]) => {
                self.expr(*value, true)?;
                let is_kept = *self.bound.expr(*preserve) == Expr::Literal(Literal::Bool(true));
                self.put(if is_kept { " PRESERVE WHITESPACE" } else { " STRIP WHITESPACE" });
            }
            (XmlOp::Root, [value, version, standalone]) => {
                self.expr(*value, true)?;
                self.put(", VERSION ");
                match self.bound.expr(*version) {
                    Expr::Literal(Literal::Null) => self.put("NO VALUE"),
                    _ => self.expr(*version, false)?,
                }
                match self.bound.expr(*standalone) {
                    Expr::Literal(Literal::Int(0)) => self.put(", STANDALONE YES"),
                    Expr::Literal(Literal::Int(1)) => self.put(", STANDALONE NO"),
                    Expr::Literal(Literal::Int(2)) => self.put(", STANDALONE NO VALUE"),
                    _ => {}
                }
            }
            (XmlOp::Parse | XmlOp::Root, _) => return Err(unserved()),
            (_, args) => self.exprs(args)?,
        }
        if xml.op == XmlOp::Serialize {
            let shown = self.catalog.shown_with(self.bound.ty(id));
            self.put(&format!(" AS {shown}"));
        }
        self.put(")");
        Ok(())
    }

    fn xml_named(&mut self, xml: &'a Xml) -> Result<()> {
        if xml.names.is_empty() {
            return Ok(());
        }
        let is_element = xml.op == XmlOp::Element;
        self.put(if is_element { ", XMLATTRIBUTES(" } else { "" });
        for (at, (name, value)) in xml.names.iter().zip(&xml.args).enumerate() {
            self.put(if at > 0 { ", " } else { "" });
            self.expr(*value, true)?;
            self.put(" AS ");
            self.put_name(&from_xml(name));
        }
        self.put(if is_element { ")" } else { "" });
        Ok(())
    }
}
