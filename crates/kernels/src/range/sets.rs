//! What are ranges as sets together, in common, one without the other?
//!
//! Lists of ranges are in order with room between neighbours, as in a multirange; two are gone over side by side.
//! Thread safety: pure functions.

use onlap_pg::{Error, Result};

use super::form::{Range, Ranges};
use super::line::{Line, On};
use crate::Cx;
use crate::misc::growth::Growth;

/// The ranges of a form, held at once.
///
/// # Errors
/// `53200`, `57014`.
pub(super) fn held<'a>(cx: &Cx<'_>, line: Line, bytes: &'a [u8]) -> Result<Vec<Range<'a>>> {
    // No range but one has less than a flag and a value.
    let most = bytes.len() / 5 + 1;
    Growth::new().memory(cx, most.saturating_mul(size_of::<Range<'_>>()))?;
    let mut out = Vec::new();
    for (at, range) in Ranges::load(bytes, line.repr).enumerate() {
        if at % 1024 == 0 {
            cx.go_on()?;
        }
        out.push(range);
    }
    Ok(out)
}

/// Ranges in order, those that overlap or meet as one.
///
/// # Errors
/// `22003`, `22008`, `57014`.
pub(super) fn merged<'a>(
    cx: &Cx<'_>,
    line: Line,
    mut ranges: Vec<Range<'a>>,
) -> Result<Vec<Range<'a>>> {
    let on = On { line, catalog: cx.catalog };
    ranges.sort_by(|a, b| on.ranges(a, b));
    let mut out: Vec<Range<'a>> = Vec::with_capacity(ranges.len());
    for (at, range) in ranges.into_iter().enumerate() {
        if at % 1024 == 0 {
            cx.go_on()?;
        }
        match out.last_mut() {
            Some(last)
                if on.ends(&last.upper, &range.lower).is_ge()
                    || on.meet(&last.upper, &range.lower)? =>
            {
                *last = on.around(last, &range);
            }
            _ => out.push(range),
        }
    }
    Ok(out)
}

/// One range without another one; `None` where nothing is left.
///
/// # Errors
/// `22000`: two ranges are left; `22003`, `22008`.
pub(super) fn without_one<'a>(
    on: On<'_>,
    a: &Range<'a>,
    b: &Range<'a>,
) -> Result<Option<Range<'a>>> {
    let begins = on.ends(&a.lower, &b.lower).is_lt();
    let goes_on = on.ends(&a.upper, &b.upper).is_gt();
    if begins && goes_on {
        return Err(Error::new("22000", "result of range difference would not be contiguous"));
    }
    match on.overlap(a, b) {
        false => Ok(Some(a.clone())),
        true if begins => on.make(a.lower.clone(), b.lower.turned()),
        true if goes_on => on.make(b.upper.turned(), a.upper.clone()),
        true => Ok(None),
    }
}

/// Ranges without others.
///
/// # Errors
/// `22003`, `22008`, `57014`.
pub(super) fn without<'a>(
    cx: &Cx<'_>,
    line: Line,
    a: Vec<Range<'a>>,
    b: &[Range<'a>],
) -> Result<Vec<Range<'a>>> {
    let on = On { line, catalog: cx.catalog };
    let (mut out, mut next) = (Vec::new(), 0);
    for (at, mut range) in a.into_iter().enumerate() {
        if at % 1024 == 0 {
            cx.go_on()?;
        }
        let mut left = true;
        while let Some(other) = b.get(next) {
            if on.ends(&other.upper, &range.lower).is_lt() {
                next += 1;
                continue;
            }
            if on.ends(&other.lower, &range.upper).is_gt() {
                break;
            }
            if on.ends(&range.lower, &other.lower).is_lt() {
                out.extend(on.make(range.lower.clone(), other.lower.turned())?);
            }
            // What reaches beyond this one may reach into the next.
            let rest = match on.ends(&range.upper, &other.upper).is_gt() {
                true => on.make(other.upper.turned(), range.upper.clone())?,
                false => None,
            };
            match rest {
                Some(rest) => range = rest,
                None => {
                    left = false;
                    break;
                }
            }
        }
        if left {
            out.push(range);
        }
    }
    Ok(out)
}

/// What two lists have in common.
///
/// # Errors
/// `22003`, `22008`, `57014`.
pub(super) fn in_common<'a>(
    cx: &Cx<'_>,
    line: Line,
    a: &[Range<'a>],
    b: &[Range<'a>],
) -> Result<Vec<Range<'a>>> {
    let on = On { line, catalog: cx.catalog };
    let (mut out, mut left, mut right, mut steps) = (Vec::new(), 0, 0, 0_usize);
    while let (Some(x), Some(y)) = (a.get(left), b.get(right)) {
        if steps.is_multiple_of(1024) {
            cx.go_on()?;
        }
        steps += 1;
        out.extend(on.common(x, y)?);
        match on.ends(&x.upper, &y.upper).is_lt() {
            true => left += 1,
            false => right += 1,
        }
    }
    Ok(out)
}
