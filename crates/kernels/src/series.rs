//! What is a function that gives a set of rows?

use onlap_pg::Result;

use crate::{Cx, Datum, Types};

/// The rows of a call, each a value per column.
pub type Rows = Box<dyn Iterator<Item = Result<Vec<Datum<'static>>>> + Send>;

/// A function that gives a set. Rows come as they are asked for: a series of a billion takes no memory.
pub trait Series: Send + Sync {
    /// The rows for these arguments.
    ///
    /// # Errors
    /// Those of the function.
    fn start(&self, args: &[Datum<'_>], cx: &mut Cx<'_>) -> Result<Rows>;
}

impl<F> Series for F
where
    F: Fn(&[Datum<'_>], &mut Cx<'_>) -> Result<Rows> + Send + Sync,
{
    fn start(&self, args: &[Datum<'_>], cx: &mut Cx<'_>) -> Result<Rows> {
        self(args, cx)
    }
}

/// Makes the series of a call.
pub type MakeSeries = fn(&Types) -> Box<dyn Series>;

/// A function's signature, as `name(type,type)`, and how its series is made.
pub type SeriesEntry = (&'static str, MakeSeries);
