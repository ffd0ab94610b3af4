//! Which characters may stand at a place?

/// A set of characters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Set {
    /// From, to: in order, apart from each other.
    ranges: Vec<(u32, u32)>,
    /// Those below 128.
    low: u128,
}

const LAST: u32 = 0x10_ffff;

impl Set {
    /// Of ranges in any order.
    pub fn of(mut ranges: Vec<(u32, u32)>) -> Set {
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (from, to) in ranges {
            match merged.last_mut() {
                Some(last) if from <= last.1.saturating_add(1) => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        let mut low = 0;
        for (from, to) in &merged {
            for c in *from..=(*to).min(127) {
                low |= 1 << c;
            }
        }
        Set { ranges: merged, low }
    }

    /// One character, with its other case if that is asked for.
    pub fn one(c: u32, any_case: bool) -> Set {
        let mut ranges = vec![(c, c)];
        if any_case && let Some(other) = other_case(c) {
            ranges.push((other, other));
        }
        Set::of(ranges)
    }

    /// All others.
    pub fn complement(&self) -> Set {
        let mut ranges = Vec::with_capacity(self.ranges.len() + 1);
        let mut next = 0;
        for (from, to) in &self.ranges {
            if *from > next {
                ranges.push((next, from - 1));
            }
            next = to.saturating_add(1);
        }
        if next <= LAST {
            ranges.push((next, LAST));
        }
        Set::of(ranges)
    }

    /// From, to, in order.
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// Whether a character is in it.
    #[inline]
    pub fn has(&self, c: char) -> bool {
        let c = u32::from(c);
        if c < 128 {
            return self.low >> c & 1 == 1;
        }
        let at = self.ranges.partition_point(|(_, to)| *to < c);
        self.ranges.get(at).is_some_and(|(from, _)| *from <= c)
    }
}

/// The other case of a letter of ASCII.
pub fn other_case(c: u32) -> Option<u32> {
    let letter = char::from_u32(c).filter(char::is_ascii_alphabetic)?;
    Some(u32::from(letter) ^ 0x20)
}
