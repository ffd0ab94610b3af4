//! How does a program write a condition?
//!
//! One method per node, so that conditions read from left to right.

use super::{Comparison, Expr, Function, Operation};
use crate::value::Value;

impl Expr<String> {
    /// The value of a column.
    ///
    /// ```
    /// use onlap_format::{Expr, Value};
    /// let condition = Expr::column("price").greater(Value::Int(0)).and(Expr::column("name").like("A%"));
    /// assert_eq!(condition.children().count(), 2);
    /// ```
    pub fn column(name: impl Into<String>) -> Expr<String> {
        Expr::Column(name.into())
    }
}

impl<C> From<Value> for Expr<C> {
    fn from(value: Value) -> Expr<C> {
        Expr::Constant(value)
    }
}

macro_rules! compare {
    ($($(#[$doc:meta])* $name:ident $how:ident;)*) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $name(self, other: impl Into<Expr<C>>) -> Expr<C> {
            Expr::Compare(Comparison::$how, Box::new(self), Box::new(other.into()))
        })*
    };
}

macro_rules! arithmetic {
    ($($(#[$doc:meta])* $name:ident $how:ident;)*) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $name(self, other: impl Into<Expr<C>>) -> Expr<C> {
            Expr::Arithmetic(Operation::$how, Box::new(self), Box::new(other.into()))
        })*
    };
}

macro_rules! call {
    ($($(#[$doc:meta])* $name:ident $function:ident;)*) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $name(self) -> Expr<C> {
            Expr::Call(Function::$function, vec![self])
        })*
    };
}

impl<C> Expr<C> {
    compare! {
        /// `=`
        equal Equal;
        /// `<>`
        not_equal NotEqual;
        /// `<`
        less Less;
        /// `<=`
        less_or_equal LessOrEqual;
        /// `>`
        greater Greater;
        /// `>=`
        greater_or_equal GreaterOrEqual;
        /// `IS DISTINCT FROM`
        distinct Distinct;
    }
    arithmetic! {
        /// `+`
        plus Add;
        /// `-`
        minus Subtract;
        /// `*`
        times Multiply;
        /// `/`
        divided_by Divide;
        /// `%`
        remainder Remainder;
    }
    call! {
        /// `length(…)`
        length Length;
        /// `octet_length(…)`
        octet_length OctetLength;
        /// `lower(…)`
        lower Lower;
        /// `upper(…)`
        upper Upper;
        /// `trim(…)`
        trim Trim;
        /// `abs(…)`
        abs Abs;
    }
    /// `AND`; a chain of them is one node.
    #[must_use]
    pub fn and(self, other: Expr<C>) -> Expr<C> {
        match self {
            Expr::And(mut parts) => {
                parts.push(other);
                Expr::And(parts)
            }
            first => Expr::And(vec![first, other]),
        }
    }
    /// `OR`; a chain of them is one node.
    #[must_use]
    pub fn or(self, other: Expr<C>) -> Expr<C> {
        match self {
            Expr::Or(mut parts) => {
                parts.push(other);
                Expr::Or(parts)
            }
            first => Expr::Or(vec![first, other]),
        }
    }
    /// `NOT`
    #[must_use]
    pub fn negated(self) -> Expr<C> {
        Expr::Not(Box::new(self))
    }
    /// The number with the other sign.
    #[must_use]
    pub fn minus_sign(self) -> Expr<C> {
        Expr::Negate(Box::new(self))
    }
    /// `IS NULL`
    #[must_use]
    pub fn is_null(self) -> Expr<C> {
        Expr::IsNull(Box::new(self))
    }
    /// `IS NOT NULL`
    #[must_use]
    pub fn is_not_null(self) -> Expr<C> {
        self.is_null().negated()
    }
    /// `BETWEEN low AND high`
    #[must_use]
    pub fn between(self, low: impl Into<Expr<C>>, high: impl Into<Expr<C>>) -> Expr<C> {
        Expr::Between(Box::new(self), Box::new(low.into()), Box::new(high.into()))
    }
    /// `IN (…)`
    #[must_use]
    pub fn one_of<E: Into<Expr<C>>>(self, items: impl IntoIterator<Item = E>) -> Expr<C> {
        Expr::In(Box::new(self), items.into_iter().map(Into::into).collect())
    }
    /// `LIKE pattern`
    #[must_use]
    pub fn like(self, pattern: impl Into<String>) -> Expr<C> {
        Expr::Like(Box::new(self), pattern.into())
    }
    /// `coalesce(…)`
    #[must_use]
    pub fn or_else(self, other: impl Into<Expr<C>>) -> Expr<C> {
        Expr::Call(Function::Coalesce, vec![self, other.into()])
    }
}
