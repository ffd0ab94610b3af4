//! Names of types.

use super::keyword::Keyword;
use super::parser::Parser;
use super::token::Kind;
use crate::ast::{Expr, ExprId, Literal, NOWHERE, Name, Path, TypeName};
use crate::{Error, Result};

/// What an interval is of, as bits of its modifier (`INTERVAL_MASK` in PostgreSQL's datetime.h).
const MONTH: i32 = 1 << 1;
const YEAR: i32 = 1 << 2;
const DAY: i32 = 1 << 3;
const HOUR: i32 = 1 << 10;
const MINUTE: i32 = 1 << 11;
const SECOND: i32 = 1 << 12;
/// Of all of these.
pub(super) const FULL_RANGE: i32 = 0x7fff;

impl Parser<'_> {
    /// A type's name, with dimensions and SETOF.
    pub(super) fn type_name(&mut self) -> Result<TypeName> {
        let set = self.accept_word(Keyword::Setof);
        let mut ty = self.simple_type()?;
        ty.set = set;
        if self.accept_word(Keyword::Array) {
            let mut bound = -1;
            if self.accept_char('[') {
                bound = self.int()?;
                self.expect_char(']')?;
            }
            ty.bounds = [bound].into();
            return Ok(ty);
        }
        let mut bounds = Vec::new();
        while self.accept_char('[') {
            bounds.push(if self.at_char(']') { -1 } else { self.int()? });
            self.expect_char(']')?;
        }
        ty.bounds = bounds.into();
        Ok(ty)
    }

    /// A type's name alone.
    pub(super) fn simple_type(&mut self) -> Result<TypeName> {
        let place = self.place();
        if let Some(ty) = self.builtin_type(true)? {
            return Ok(ty);
        }
        if self.accept_word(Keyword::Interval) {
            let modifiers = self.interval_modifiers()?;
            return Ok(system_type("interval", modifiers, place));
        }
        let first = self.call_name()?;
        let mut parts = vec![first];
        while self.accept_char('.') {
            parts.push(self.label()?);
        }
        let modifiers = self.modifiers()?;
        Ok(TypeName { modifiers, ..named(parts.into(), place) })
    }

    /// The modifiers of an interval, as a type or before a literal's text.
    fn interval_modifiers(&mut self) -> Result<Box<[ExprId]>> {
        if !self.at_char('(') {
            return self.interval_fields();
        }
        let precision = self.precision()?;
        let all = self.int_expr(FULL_RANGE, NOWHERE);
        Ok([all, precision].into())
    }

    /// What an interval is of: YEAR, DAY TO SECOND(3) and so on.
    pub(super) fn interval_fields(&mut self) -> Result<Box<[ExprId]>> {
        use Keyword as K;
        let place = self.place();
        let Kind::Word(first) = self.kind() else { return Ok([].into()) };
        if !matches!(first, K::Year | K::Month | K::Day | K::Hour | K::Minute | K::Second) {
            return Ok([].into());
        }
        self.advance();
        let mut last = first;
        let may_go_on = !matches!(first, K::Month | K::Second);
        if may_go_on && self.at_word(K::To) {
            self.advance();
            let allowed: &[Keyword] = match first {
                K::Year => &[K::Month],
                K::Day => &[K::Hour, K::Minute, K::Second],
                K::Hour => &[K::Minute, K::Second],
                _ => &[K::Second],
            };
            match self.kind() {
                Kind::Word(word) if allowed.contains(&word) => last = word,
                _ => return Err(self.unexpected()),
            }
            self.advance();
        }
        let rank = |word| match word {
            K::Year => 0,
            K::Month => 1,
            K::Day => 2,
            K::Hour => 3,
            K::Minute => 4,
            _ => 5,
        };
        let bits = [YEAR, MONTH, DAY, HOUR, MINUTE, SECOND];
        let mask = bits[rank(first)..=rank(last)].iter().fold(0, |mask, bit| mask | bit);
        let mut all = vec![self.int_expr(mask, place)];
        if last == K::Second && self.at_char('(') {
            all.push(self.precision()?);
        }
        Ok(all.into())
    }

    /// `(n)`
    pub(super) fn precision(&mut self) -> Result<ExprId> {
        self.expect_char('(')?;
        let place = self.place();
        let precision = self.int()?;
        self.expect_char(')')?;
        Ok(self.int_expr(precision, place))
    }

    pub(super) fn int_expr(&mut self, value: i32, place: u32) -> ExprId {
        self.add(Expr::Literal(Literal::Int(value)), place)
    }

    fn modifiers(&mut self) -> Result<Box<[ExprId]>> {
        match self.at_char('(') {
            true => self.deeper(Self::exprs_in_parens),
            false => Ok([].into()),
        }
    }

    /// A type that has a syntax of its own, but not INTERVAL. Without a length `char` and `bit` are of one, unless
    /// they stand before a literal (`default_length` is false).
    pub(super) fn builtin_type(&mut self, default_length: bool) -> Result<Option<TypeName>> {
        use Keyword as K;
        let place = self.place();
        let Kind::Word(word) = self.kind() else { return Ok(None) };
        let name = match word {
            K::Int | K::Integer => "int4",
            K::Smallint => "int2",
            K::Bigint => "int8",
            K::Real => "float4",
            K::Boolean => "bool",
            // `double` alone is a name as any other.
            K::Double if self.ahead(1) != Kind::Word(K::Precision) => return Ok(None),
            K::Double => {
                self.advance();
                self.expect_word(K::Precision)?;
                return Ok(Some(system_type("float8", [].into(), place)));
            }
            K::Float => {
                self.advance();
                let name = self.float()?;
                return Ok(Some(system_type(name, [].into(), place)));
            }
            K::Decimal | K::Dec | K::Numeric => {
                self.advance();
                let modifiers = self.modifiers()?;
                return Ok(Some(system_type("numeric", modifiers, place)));
            }
            K::Bit => {
                self.advance();
                return self.bit(default_length, place).map(Some);
            }
            K::Character | K::Char | K::Varchar | K::National | K::Nchar => {
                return self.character(default_length, place).map(Some);
            }
            K::Timestamp | K::Time => {
                self.advance();
                return self.moment(word, place).map(Some);
            }
            _ => return Ok(None),
        };
        self.advance();
        Ok(Some(system_type(name, [].into(), place)))
    }

    fn float(&mut self) -> Result<&'static str> {
        if !self.accept_char('(') {
            return Ok("float8");
        }
        let place = self.place();
        let bits = self.int()?;
        self.expect_char(')')?;
        let refused = |text: &str| Err(Error::new("22023", text).at(place));
        match bits {
            i32::MIN..=0 => refused("precision for type float must be at least 1 bit"),
            1..=24 => Ok("float4"),
            25..=53 => Ok("float8"),
            _ => refused("precision for type float must be less than 54 bits"),
        }
    }

    fn bit(&mut self, default_length: bool, place: u32) -> Result<TypeName> {
        let varying = self.accept_word(Keyword::Varying);
        let name = if varying { "varbit" } else { "bit" };
        let mut modifiers = self.modifiers()?;
        if modifiers.is_empty() && !varying && default_length {
            modifiers = [self.int_expr(1, NOWHERE)].into();
        }
        Ok(system_type(name, modifiers, place))
    }

    fn character(&mut self, default_length: bool, place: u32) -> Result<TypeName> {
        use Keyword as K;
        if self.accept_word(K::National)
            && !matches!(self.kind(), Kind::Word(K::Character | K::Char))
        {
            return Err(self.unexpected());
        }
        let varying = self.advance().kind == Kind::Word(K::Varchar) || self.accept_word(K::Varying);
        let name = if varying { "varchar" } else { "bpchar" };
        let modifiers = if self.at_char('(') {
            [self.precision()?].into()
        } else if varying || !default_length {
            [].into()
        } else {
            [self.int_expr(1, NOWHERE)].into()
        };
        Ok(system_type(name, modifiers, place))
    }

    fn moment(&mut self, word: Keyword, place: u32) -> Result<TypeName> {
        let modifiers = match self.at_char('(') {
            true => [self.precision()?].into(),
            false => [].into(),
        };
        let zone = self.accept(Kind::WithBefore);
        if zone || self.accept_word(Keyword::Without) {
            self.expect_word(Keyword::Time)?;
            self.expect_word(Keyword::Zone)?;
        }
        let name = match (word, zone) {
            (Keyword::Timestamp, false) => "timestamp",
            (Keyword::Timestamp, true) => "timestamptz",
            (_, false) => "time",
            (_, true) => "timetz",
        };
        Ok(system_type(name, modifiers, place))
    }
}

/// A type by its name.
pub(super) fn named(name: Path, place: u32) -> TypeName {
    TypeName { name, modifiers: [].into(), bounds: [].into(), set: false, place }
}

/// A name in `pg_catalog`.
pub(super) fn system_name(name: &str) -> Path {
    let parts: [Name; 2] = ["pg_catalog".into(), name.into()];
    parts.into()
}

pub(super) fn system_type(name: &str, modifiers: Box<[ExprId]>, place: u32) -> TypeName {
    TypeName { modifiers, ..named(system_name(name), place) }
}
