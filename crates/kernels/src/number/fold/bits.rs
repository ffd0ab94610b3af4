//! What are values together, bit by bit?

use onlap_pg::Result;

use super::{One, Step, folded};
use crate::aggregate::{AggregateEntry, State};
use crate::{Bool, Int2, Int4, Int8, Ty};

/// What a bit of the result is.
const AND: u8 = 0;
const OR: u8 = 1;
const XOR: u8 = 2;

macro_rules! ints {
    ($($name:literal $ty:ident;)*) => { &[$(
        (concat!("bit_and(", $name, ")"), |_| folded::<Bits<AND>, One<$ty>, $ty>(|s| Ok(s.0.map(|v| v as _)))),
        (concat!("bit_or(", $name, ")"), |_| folded::<Bits<OR>, One<$ty>, $ty>(|s| Ok(s.0.map(|v| v as _)))),
        (concat!("bit_xor(", $name, ")"), |_| folded::<Bits<XOR>, One<$ty>, $ty>(|s| Ok(s.0.map(|v| v as _)))),
    )*] };
}

/// bit_and, bit_or, bit_xor.
pub const ENTRIES: &[AggregateEntry] = ints! {
    "int2" Int2;
    "int4" Int4;
    "int8" Int8;
};

/// bool_and, bool_or, every.
pub const BOOLEANS: &[AggregateEntry] = &[
    ("bool_and(bool)", |_| folded::<Bits<AND>, One<Bool>, Bool>(Bits::truth)),
    ("bool_or(bool)", |_| folded::<Bits<OR>, One<Bool>, Bool>(Bits::truth)),
    ("every(bool)", |_| folded::<Bits<AND>, One<Bool>, Bool>(Bits::truth)),
];

/// The bits so far; of narrower integers with the sign's bit in front.
#[derive(Default)]
struct Bits<const OP: u8>(Option<i64>);

impl<const OP: u8> Bits<OP> {
    #[inline(always)]
    fn take(&mut self, value: i64) {
        self.0 = Some(match (self.0, OP) {
            (None, _) => value,
            (Some(bits), AND) => bits & value,
            (Some(bits), OR) => bits | value,
            (Some(bits), _) => bits ^ value,
        });
    }

    fn truth(&self) -> Result<Option<bool>> {
        Ok(self.0.map(|bit| bit != 0))
    }
}

macro_rules! steps {
    ($($ty:ident)*) => { $(impl<const OP: u8> Step<One<$ty>> for Bits<OP> {
        #[inline(always)]
        fn step(&mut self, value: <$ty as Ty>::Value<'_>) -> Result<()> {
            self.take(i64::from(value));
            Ok(())
        }
    })* };
}

steps!(Bool Int2 Int4 Int8);

impl<const OP: u8> State for Bits<OP> {
    fn save(&self, out: &mut Vec<u8>) {
        out.extend(self.0.iter().flat_map(|bits| bits.to_le_bytes()));
    }

    fn load(bytes: &[u8]) -> Self {
        Bits(bytes.try_into().ok().map(i64::from_le_bytes))
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if let Some(bits) = other.0 {
            self.take(bits);
        }
        Ok(())
    }
}
