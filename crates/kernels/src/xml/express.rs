//! What do XMLELEMENT and its like give?
//!
//! Thread safety: kernels are shared and read only.

use onlap_pg::ast::XmlOp;
use onlap_pg::bound::Xml;
use onlap_pg::value::xml::{Declaration, Shape, declaration, declare, is_well_formed};
use onlap_pg::{Error, Oid, Result};

use super::check;
use super::encode::{attribute, encoded};
use crate::misc::growth::fits;
use crate::misc::rows::{called, int4, text};
use crate::{Cx, Datum, Kernel, Types};

/// The kernel of an expression whose arguments have these types.
pub fn kernel(types: &Types, xml: &Xml) -> Box<dyn Kernel> {
    let oids: Vec<Oid> = types.args.iter().map(|arg| arg.oid).collect();
    let xml = xml.clone();
    called(types, move |args, cx| {
        let made = match xml.op {
            XmlOp::Concat => concat(args, cx)?,
            XmlOp::Element => Some(element(&xml, &oids, args, cx)?),
            XmlOp::Forest => forest(&xml, &oids, args, cx)?,
            XmlOp::Pi => instruction(&xml, args.first())?,
            _ if args[0].is_null() => None,
            XmlOp::Parse => {
                check(text(&args[0]), shape(&xml), cx)?;
                Some(text(&args[0]).to_owned())
            }
            XmlOp::Root => Some(root(args)),
            XmlOp::Serialize => Some(serialized(&xml, text(&args[0]), cx)?),
            XmlOp::IsDocument => {
                let work = &mut |n| cx.worked(n);
                let is = is_well_formed(text(&args[0]), Shape::Document, work)?;
                return Ok(Datum::Bool(is));
            }
        };
        if let Some(made) = &made {
            fits(made.len())?;
        }
        Ok(made.map_or(Datum::Null, Datum::text))
    })
}

fn shape(xml: &Xml) -> Shape {
    if xml.document { Shape::Document } else { Shape::Content }
}

fn concat(args: &[Datum<'_>], cx: &Cx<'_>) -> Result<Option<String>> {
    let mut parts = args.iter().filter(|arg| !arg.is_null()).map(text).peekable();
    match parts.peek() {
        None => Ok(None),
        Some(_) => joined(parts, cx).map(Some),
    }
}

/// Texts behind each other, with one declaration that is true of all of them.
///
/// # Errors
/// `54000`, `57014`.
pub(super) fn joined<'t>(parts: impl IntoIterator<Item = &'t str>, cx: &Cx<'_>) -> Result<String> {
    let mut body = String::new();
    let (mut version, mut differs) = (None, false);
    let mut standalone = Some(true);
    for part in parts {
        cx.text_pieces(part, |_| {})?;
        let read = read(part);
        standalone = match (standalone, read.standalone) {
            (_, None) | (None, _) => None,
            (Some(all), Some(one)) => Some(all && one),
        };
        differs |= read.version.is_none() || version.is_some_and(|v| Some(v) != read.version);
        version = version.or(read.version);
        fits(body.len().saturating_add(part.len()))?;
        body.push_str(&part[read.length..]);
    }
    let mut out = String::new();
    declare(version.filter(|_| !differs), standalone, &mut out);
    out.push_str(&body);
    Ok(out)
}

/// The declaration of a value, which was found to be one when the value was made.
fn read(text: &str) -> Declaration<'_> {
    declaration(text).unwrap_or_default()
}

fn element(xml: &Xml, oids: &[Oid], args: &[Datum<'_>], cx: &mut Cx<'_>) -> Result<String> {
    let name = xml.name.as_deref().unwrap_or_default();
    let mut out = format!("<{name}");
    for ((attr, oid), value) in xml.names.iter().zip(oids).zip(args) {
        if !value.is_null() {
            let value = attribute(&encoded(cx, *oid, value, false)?, cx)?;
            add(&mut out, &[" ", attr, "=\"", &value, "\""])?;
        }
    }
    let first = xml.names.len();
    let mut is_empty = true;
    for (oid, value) in oids[first..].iter().zip(&args[first..]) {
        if !value.is_null() {
            let value = encoded(cx, *oid, value, true)?;
            add(&mut out, &[if is_empty { ">" } else { "" }, &value])?;
            is_empty = false;
        }
    }
    match is_empty {
        true => add(&mut out, &["/>"])?,
        false => add(&mut out, &["</", name, ">"])?,
    }
    Ok(out)
}

fn forest(xml: &Xml, oids: &[Oid], args: &[Datum<'_>], cx: &mut Cx<'_>) -> Result<Option<String>> {
    let mut out = None;
    for ((name, oid), value) in xml.names.iter().zip(oids).zip(args) {
        if !value.is_null() {
            let value = encoded(cx, *oid, value, true)?;
            let out = out.get_or_insert_with(String::new);
            add(out, &["<", name, ">", &value, "</", name, ">"])?;
        }
    }
    Ok(out)
}

fn add(out: &mut String, parts: &[&str]) -> Result<()> {
    for part in parts {
        fits(out.len().saturating_add(part.len()))?;
        out.push_str(part);
    }
    Ok(())
}

fn instruction(xml: &Xml, inside: Option<&Datum<'_>>) -> Result<Option<String>> {
    const MESSAGE: &str = "invalid XML processing instruction";
    let name = xml.name.as_deref().unwrap_or_default();
    if name.eq_ignore_ascii_case("xml") {
        let detail = format!("XML processing instruction target name cannot be \"{name}\".");
        return Err(Error::new("42601", MESSAGE).detail(detail));
    }
    Ok(match inside {
        None => Some(format!("<?{name}?>")),
        Some(Datum::Null) => None,
        Some(inside) => {
            let inside = text(inside);
            if inside.contains("?>") {
                let detail = "XML processing instruction cannot contain \"?>\".";
                return Err(Error::new("2200T", MESSAGE).detail(detail));
            }
            Some(format!("<?{name} {}?>", inside.trim_start_matches(' ')))
        }
    })
}

/// A value with another declaration.
fn root(args: &[Datum<'_>]) -> String {
    let value = text(&args[0]);
    let read = read(value);
    let version = (!args[1].is_null()).then(|| text(&args[1]));
    let standalone = match int4(&args[2]) {
        0 => Some(true),
        1 => Some(false),
        2 => None,
        _ => read.standalone,
    };
    let mut out = String::new();
    declare(version, standalone, &mut out);
    out.push_str(&value[read.length..]);
    out
}

fn serialized(xml: &Xml, value: &str, cx: &Cx<'_>) -> Result<String> {
    if xml.document && !is_well_formed(value, Shape::Document, &mut |n| cx.worked(n))? {
        return Err(Error::new("2200L", "not an XML document"));
    }
    Ok(value.to_owned())
}
