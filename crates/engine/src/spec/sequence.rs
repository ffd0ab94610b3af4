//! How does a program describe a sequence it wants?

use onlap_base::{Error, ErrorKind, Result, SequenceId, limits};
use onlap_format::SequenceSchema;

use super::check_name;

/// A sequence to create: 1, 2, 3 and so on, where nothing else is said.
#[derive(Clone, Debug)]
pub struct SequenceSpec {
    name: String,
    start: Option<i64>,
    increment: i64,
    min: Option<i64>,
    max: Option<i64>,
    cycle: bool,
    cache: u32,
}

impl SequenceSpec {
    /// A sequence of this name.
    pub fn new(name: impl Into<String>) -> SequenceSpec {
        SequenceSpec {
            name: name.into(),
            start: None,
            increment: 1,
            min: None,
            max: None,
            cycle: false,
            cache: 1,
        }
    }
    /// The first value; the smallest where nothing is said, of a falling sequence the largest.
    #[must_use]
    pub fn start(mut self, value: i64) -> SequenceSpec {
        self.start = Some(value);
        self
    }
    /// Distance of neighbouring values, negative for a falling sequence.
    #[must_use]
    pub fn increment(mut self, by: i64) -> SequenceSpec {
        self.increment = by;
        self
    }
    /// The smallest value; 1 where nothing is said, of a falling sequence the smallest int8.
    #[must_use]
    pub fn min(mut self, value: i64) -> SequenceSpec {
        self.min = Some(value);
        self
    }
    /// The largest value; the largest int8 where nothing is said, of a falling sequence -1.
    #[must_use]
    pub fn max(mut self, value: i64) -> SequenceSpec {
        self.max = Some(value);
        self
    }
    /// Begins again at the other end instead of ending.
    #[must_use]
    pub fn cycle(mut self) -> SequenceSpec {
        self.cycle = true;
        self
    }
    /// Sets at least so many values aside at a time. A crash skips what is left of them.
    #[must_use]
    pub fn cache(mut self, values: u32) -> SequenceSpec {
        self.cache = values;
        self
    }
    /// The sequence's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn build(&self, id: SequenceId) -> Result<SequenceSchema> {
        check_name("sequence", &self.name)?;
        let bad = |text: String| Err(Error::new(ErrorKind::InvalidInput, text));
        if self.increment == 0 {
            return bad(format!("sequence {}: an increment of 0 leads nowhere", self.name));
        }
        if !(1..=limits::SEQUENCE_CACHE).contains(&self.cache) {
            let most = limits::SEQUENCE_CACHE;
            return bad(format!("sequence {}: a cache has 1 to {most} values", self.name));
        }
        let rising = self.increment > 0;
        let min = self.min.unwrap_or(if rising { 1 } else { i64::MIN });
        let max = self.max.unwrap_or(if rising { i64::MAX } else { -1 });
        let start = self.start.unwrap_or(if rising { min } else { max });
        if min > max || !(min..=max).contains(&start) {
            return bad(format!("sequence {}: {start} is outside {min} to {max}", self.name));
        }
        Ok(SequenceSchema {
            id,
            name: self.name.clone(),
            start,
            increment: self.increment,
            min,
            max,
            cycle: self.cycle,
            cache: self.cache,
        })
    }
}
