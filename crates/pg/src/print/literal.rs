//! Values that were written.

use super::{Printer, text};
use crate::Result;
use crate::TypeRef;
use crate::bound::Literal;
use crate::catalog::oids;

const INT4: u32 = 23;
const INT8: u32 = 20;
const NUMERIC: u32 = 1700;

impl Printer<'_> {
    /// A literal. `typed`: its type is never shown (-1), where it would be read as another one (0), always (1).
    pub(super) fn literal(&mut self, literal: &Literal, ty: TypeRef, typed: i8) -> Result<()> {
        let (written, plain) = match literal {
            Literal::Null => ("NULL".to_string(), false),
            _ if ty.oid == oids::BOOL => match self.value(literal, ty)?.as_str() {
                "t" | "true" => ("true".to_string(), true),
                _ => ("false".to_string(), true),
            },
            _ if ty.oid == oids::UNKNOWN => (text(&self.value(literal, ty)?), true),
            _ => {
                let value = self.value(literal, ty)?;
                let bare = match ty.oid {
                    INT4 => !value.starts_with('-'),
                    NUMERIC => {
                        value.starts_with(|c: char| c.is_ascii_digit())
                            && value.contains(['e', 'E', '.'])
                    }
                    _ => false,
                };
                let plain = bare && !(ty.oid == NUMERIC && ty.modifier >= 0);
                (if bare { value } else { text(&value) }, plain)
            }
        };
        self.put(&written);
        if typed > 0 || typed == 0 && !plain {
            self.put_type(ty);
        }
        Ok(())
    }

    /// A literal's text as its type prints it.
    fn value(&self, literal: &Literal, ty: TypeRef) -> Result<String> {
        let (text, own) = match literal {
            Literal::Null => return Ok(String::new()),
            Literal::Bool(flag) => return Ok(if *flag { "true" } else { "false" }.into()),
            Literal::Int(value) => (value.to_string(), INT4),
            Literal::Int8(value) => (value.to_string(), INT8),
            Literal::Numeric(digits) => (digits.to_string(), 0),
            Literal::Text(text) if matches!(ty.oid, oids::UNKNOWN | oids::TEXT) => {
                return Ok(text.to_string());
            }
            Literal::Text(text) => (text.to_string(), 0),
            Literal::Bits(digits, hexadecimal) => {
                (format!("{}{digits}", if *hexadecimal { "x" } else { "b" }), 0)
            }
        };
        match own == ty.oid {
            true => Ok(text),
            false => self.facts.shown(ty, &text),
        }
    }
}
