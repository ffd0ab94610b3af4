//! What are the least and the largest value?
//!
//! Of two equal values the later one is given, as PostgreSQL does: it may have another scale, or be -0.

use std::cmp::Ordering;

use onlap_pg::Result;

use super::{One, Step, folded};
use crate::aggregate::{AggregateEntry, State};
use crate::number::compare::Order;
use crate::number::decimal::{Dec, Decimal, Made, compare};
use crate::{Float4, Float8, Int2, Int4, Int8, OidTy};

/// min and max of numbers that lie in columns as they are.
macro_rules! plain {
    ($($name:literal $ty:ident $number:ident;)*) => { &[$(
        (concat!("min(", $name, ")"), |_| folded::<Best<$number, false>, One<$ty>, $ty>(|s| Ok(s.0))),
        (concat!("max(", $name, ")"), |_| folded::<Best<$number, true>, One<$ty>, $ty>(|s| Ok(s.0))),
    )*] };
}

/// min and max of numbers.
pub const ENTRIES: &[AggregateEntry] = plain! {
    "int2" Int2 i16;
    "int4" Int4 i32;
    "int8" Int8 i64;
    "oid" OidTy u32;
    "money" Int8 i64;
    "float4" Float4 f32;
    "float8" Float8 f64;
};

/// min and max of numerics.
pub const NUMERICS: &[AggregateEntry] = &[
    ("min(numeric)", |_| folded::<BestNumeric<false>, One<Dec>, Dec>(BestNumeric::give)),
    ("max(numeric)", |_| folded::<BestNumeric<true>, One<Dec>, Dec>(BestNumeric::give)),
];

/// The largest value if `MAX`, else the least.
#[derive(Default)]
struct Best<N, const MAX: bool>(Option<N>);

macro_rules! numbers {
    ($($number:ident: $($ty:ident)*;)*) => { $(
        $(impl<const MAX: bool> Step<One<$ty>> for Best<$number, MAX> {
            #[inline(always)]
            fn step(&mut self, value: $number) -> Result<()> {
                let stays = match self.0 {
                    Some(best) if MAX => $number::below(value, best),
                    Some(best) => $number::below(best, value),
                    None => false,
                };
                if !stays {
                    self.0 = Some(value);
                }
                Ok(())
            }
        })*

        impl<const MAX: bool> State for Best<$number, MAX> {
            fn save(&self, out: &mut Vec<u8>) {
                out.extend(self.0.iter().flat_map(|value| value.to_le_bytes()));
            }

            fn load(bytes: &[u8]) -> Self {
                Best(bytes.try_into().ok().map($number::from_le_bytes))
            }

            fn merge(&mut self, other: Self) -> Result<()> {
                other.0.map_or(Ok(()), |value| self.step(value))
            }
        }
    )* };
}

numbers! {
    i16: Int2;
    i32: Int4;
    i64: Int8;
    u32: OidTy;
    f32: Float4;
    f64: Float8;
}

/// A numeric in its form in a column; empty for none.
#[derive(Default)]
struct BestNumeric<const MAX: bool>(Vec<u8>);

impl<const MAX: bool> BestNumeric<MAX> {
    fn take(&mut self, value: Decimal<'_>) {
        if !self.0.is_empty() {
            let order = compare(value, Decimal::load(&self.0));
            if order == (if MAX { Ordering::Less } else { Ordering::Greater }) {
                return;
            }
        }
        self.0.clear();
        match value {
            Decimal::Small(small) => small.store(&mut self.0),
            Decimal::Large(bytes) => self.0.extend_from_slice(bytes),
        }
    }

    fn give(&self) -> Result<Option<Made>> {
        Ok((!self.0.is_empty()).then(|| match Decimal::load(&self.0) {
            Decimal::Small(small) => Made::Small(small),
            large => Made::Large(large.numeric()),
        }))
    }
}

impl<const MAX: bool> Step<One<Dec>> for BestNumeric<MAX> {
    #[inline(always)]
    fn step(&mut self, value: Decimal<'_>) -> Result<()> {
        self.take(value);
        Ok(())
    }
}

impl<const MAX: bool> State for BestNumeric<MAX> {
    fn save(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn load(bytes: &[u8]) -> Self {
        BestNumeric(bytes.to_vec())
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if !other.0.is_empty() {
            self.take(Decimal::load(&other.0));
        }
        Ok(())
    }

    fn size(&self) -> usize {
        self.0.capacity()
    }
}
