//! Expressions of XML: XMLELEMENT and its like.

use super::Parser;
use super::keyword::Keyword;
use super::token::Kind;
use crate::Result;
use crate::ast::{Arg, Expr, ExprId, Literal, Xml, XmlOp};

/// What STANDALONE says of XMLROOT, as PostgreSQL numbers it.
const YES: i32 = 0;
const NO: i32 = 1;
const NO_VALUE: i32 = 2;
const OMITTED: i32 = 3;

impl Parser<'_> {
    /// What stands in the parentheses of one.
    pub(super) fn xml(&mut self, word: Keyword, place: u32) -> Result<ExprId> {
        use Keyword as K;
        match word {
            K::Xmlconcat => {
                let args = self.exprs()?;
                Ok(self.xml_of(XmlOp::Concat, args, place))
            }
            K::Xmlelement => self.xml_element(place),
            K::Xmlexists => {
                let path = self.primary(false)?;
                self.expect_word(K::Passing)?;
                // BY alone may be a column, which cannot be behind the value.
                let words = [Keyword::Ref, Keyword::Value].map(Kind::Word);
                if self.at_word(Keyword::By) && words.contains(&self.ahead(1)) {
                    self.mechanism()?;
                }
                let value = self.primary(false)?;
                self.mechanism()?;
                Ok(self.system_call("xmlexists", vec![path, value], place))
            }
            K::Xmlforest => {
                let named = self.xml_named()?;
                Ok(self.add(Expr::Xml(Box::new(Xml { named, ..plain(XmlOp::Forest) })), place))
            }
            K::Xmlparse => self.xml_parse(place),
            K::Xmlpi => {
                self.expect_word(K::Name)?;
                let name = Some(self.label()?);
                let args = if self.accept_char(',') { vec![self.expr()?] } else { Vec::new() };
                let xml = Xml { name, args, ..plain(XmlOp::Pi) };
                Ok(self.add(Expr::Xml(Box::new(xml)), place))
            }
            K::Xmlroot => self.xml_root(place),
            _ => {
                let document = self.document_or_content()?;
                let args = vec![self.expr()?];
                self.expect_word(K::As)?;
                let ty = Some(Box::new(self.simple_type()?));
                let xml = Xml { args, document, ty, ..plain(XmlOp::Serialize) };
                Ok(self.add(Expr::Xml(Box::new(xml)), place))
            }
        }
    }

    pub(super) fn xml_of(&mut self, op: XmlOp, args: Vec<ExprId>, place: u32) -> ExprId {
        self.add(Expr::Xml(Box::new(Xml { args, ..plain(op) })), place)
    }

    /// DOCUMENT or CONTENT.
    pub(super) fn document_or_content(&mut self) -> Result<bool> {
        let document = self.accept_word(Keyword::Document);
        if !document {
            self.expect_word(Keyword::Content)?;
        }
        Ok(document)
    }

    /// BY REF or BY VALUE, which say nothing, if they come next.
    fn mechanism(&mut self) -> Result<()> {
        if self.accept_word(Keyword::By) && !self.accept_word(Keyword::Ref) {
            self.expect_word(Keyword::Value)?;
        }
        Ok(())
    }

    fn xml_element(&mut self, place: u32) -> Result<ExprId> {
        self.expect_word(Keyword::Name)?;
        let name = Some(self.label()?);
        let (mut named, mut args) = (Vec::new(), Vec::new());
        let mut more = self.accept_char(',');
        let words = [Kind::Word(Keyword::Xmlattributes), Kind::Char('(')];
        if more && [self.kind(), self.ahead(1)] == words {
            self.advance();
            self.expect_char('(')?;
            named = self.xml_named()?;
            self.expect_char(')')?;
            more = self.accept_char(',');
        }
        if more {
            args = self.exprs()?;
        }
        let xml = Xml { name, named, args, ..plain(XmlOp::Element) };
        Ok(self.add(Expr::Xml(Box::new(xml)), place))
    }

    /// Values with names, or columns.
    fn xml_named(&mut self) -> Result<Vec<Arg>> {
        let mut all = Vec::new();
        loop {
            let place = self.place();
            let value = self.expr()?;
            let name = if self.accept_word(Keyword::As) { Some(self.label()?) } else { None };
            all.push(Arg { name, value, place });
            if !self.accept_char(',') {
                return Ok(all);
            }
        }
    }

    fn xml_parse(&mut self, place: u32) -> Result<ExprId> {
        use Keyword as K;
        let document = self.document_or_content()?;
        let value = self.expr()?;
        let preserve = match self.kind() {
            Kind::Word(word @ (K::Preserve | K::Strip)) => {
                self.advance();
                self.expect_word(K::Whitespace)?;
                word == K::Preserve
            }
            _ => false,
        };
        let preserve = self.add(Expr::Literal(Literal::Bool(preserve)), place);
        let xml = Xml { args: vec![value, preserve], document, ..plain(XmlOp::Parse) };
        Ok(self.add(Expr::Xml(Box::new(xml)), place))
    }

    fn xml_root(&mut self, place: u32) -> Result<ExprId> {
        use Keyword as K;
        let value = self.expr()?;
        self.expect_char(',')?;
        self.expect_word(K::Version)?;
        let version = match self.no_value()? {
            true => self.add(Expr::Literal(Literal::Null), place),
            false => self.expr()?,
        };
        let standalone = match self.accept_char(',') {
            false => OMITTED,
            true => {
                self.expect_word(K::Standalone)?;
                match () {
                    () if self.accept_word(K::Yes) => YES,
                    () if self.no_value()? => NO_VALUE,
                    () => {
                        self.expect_word(K::No)?;
                        NO
                    }
                }
            }
        };
        let standalone = self.add(Expr::Literal(Literal::Int(standalone)), place);
        Ok(self.xml_of(XmlOp::Root, vec![value, version, standalone], place))
    }

    /// NO VALUE, if that comes next.
    fn no_value(&mut self) -> Result<bool> {
        let words = [Keyword::No, Keyword::Value].map(Kind::Word);
        let found = [self.kind(), self.ahead(1)] == words;
        if found {
            self.advance();
            self.advance();
        }
        Ok(found)
    }
}

/// One of nothing yet.
fn plain(op: XmlOp) -> Xml {
    Xml { op, name: None, named: Vec::new(), args: Vec::new(), document: false, ty: None }
}
