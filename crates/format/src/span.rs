//! Which bytes lie as spans between two ends do?
//!
//! A span has a lower end, which belongs to it, and an upper one, which does not. Ends are bytes, ordered as
//! such; what they mean is known to who makes them. Packed, spans sort by their lower ends, so that of spans that share no
//! point each has its neighbours next to it, and those that begin below an end are the keys below
//! [`beginning`] of it.
//!
//! | bytes | what |
//! |---|---|
//! | n | the lower end, each 0 followed by 255 |
//! | 2 | zeros |
//! | m | the upper end |
//!
//! ```
//! use onlap_format::span;
//! let packed = span::pack(&[1, 0, 5], &[1, 0, 9]);
//! assert_eq!(packed, [1, 0, 255, 5, 0, 0, 1, 0, 9]);
//! let (lower, upper) = span::ends(&packed).unwrap();
//! assert_eq!((&lower[..], upper), (&[1, 0, 5][..], &[1, 0, 9][..]));
//! assert!(packed < span::beginning(upper) && packed >= span::beginning(&lower));
//! ```
//!
//! Thread safety: pure functions.

/// A span between two ends.
pub fn pack(lower: &[u8], upper: &[u8]) -> Vec<u8> {
    let mut out = beginning(lower);
    out.extend_from_slice(upper);
    out
}

/// What packed spans begin with whose lower end this is; those with a lower one are below it.
pub fn beginning(end: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(end.len() + 2);
    for byte in end {
        out.push(*byte);
        if *byte == 0 {
            out.push(255);
        }
    }
    out.extend_from_slice(&[0, 0]);
    out
}

/// Both ends of a packed span; `None` for bytes that are none.
pub fn ends(packed: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (mut lower, mut rest) = (Vec::new(), packed);
    loop {
        let at = rest.iter().position(|byte| *byte == 0)?;
        lower.extend_from_slice(&rest[..at]);
        let next = *rest.get(at + 1)?;
        rest = &rest[at + 2..];
        match next {
            0 => return Some((lower, rest)),
            255 => lower.push(0),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use onlap_base::rng::Rng;

    use super::*;

    #[test]
    fn spans_sort_by_their_lower_ends_and_are_read_again() {
        let mut rng = Rng::new(7);
        let mut end = || -> Vec<u8> {
            let length = 1 + rng.next_u64() % 4;
            (0..length).map(|_| [0, 1, 254, 255][(rng.next_u64() % 4) as usize]).collect()
        };
        for _ in 0..10_000 {
            let (a, b, upper) = (end(), end(), end());
            let packed = pack(&a, &upper);
            assert_eq!(ends(&packed), Some((a.clone(), &upper[..])));
            assert_eq!(packed < beginning(&b), a < b, "{a:?} {b:?}");
        }
    }

    #[test]
    fn other_bytes_are_no_spans() {
        for bytes in [&[][..], &[1], &[0], &[0, 7], &[1, 0]] {
            assert_eq!(ends(bytes), None, "{bytes:?}");
        }
    }
}
