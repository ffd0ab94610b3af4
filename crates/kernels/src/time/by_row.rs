//! How are functions made kernels for which adapters do not do? Those of many arguments, and those of a text that is the
//! same in most rows, such as a unit, a template or a zone.

use onlap_pg::Result;

use crate::adapt::Results;
use crate::{Col, Cx, Kernel, Text, Ty, each};

/// After so many rows a loop asks whether it is still wanted.
const LOOK_EVERY: usize = 1024;

/// A kernel whose function takes its arguments out of a row by itself. Rows with a NULL give NULL.
pub fn by_row<R: Ty>(
    value: impl Fn(&[Col], usize, &mut Cx<'_>) -> Result<R::Owned> + Send + Sync + 'static,
) -> Box<dyn Kernel> {
    each(move |args, rows, cx| {
        let mut out = Results::<R>::new(rows, cx);
        for row in 0..rows {
            if row % LOOK_EVERY == 0 {
                cx.go_on()?;
            }
            match args.iter().any(|arg| arg.is_null(row)) {
                true => out.push_null(),
                false => {
                    let value = value(args, row, cx)?;
                    out.push(value, cx)?;
                }
            }
        }
        Ok(out.finish())
    })
}

/// A kernel of a text and a value; the text is the argument `at`. What `prepare` makes of a text is kept until another text
/// comes.
pub fn prepared<P: 'static, A: Ty, R: Ty>(
    at: usize,
    prepare: for<'c> fn(&str, &Cx<'c>) -> Result<P>,
    value: for<'x, 'c> fn(&P, A::Value<'x>, &mut Cx<'c>) -> Result<R::Owned>,
) -> Box<dyn Kernel> {
    each(move |args, rows, cx| {
        let (text, other) = (&args[at], &args[1 - at]);
        let (texts, values) = (Text::column(&text.array), A::column(&other.array));
        let mut held: Option<(&str, P)> = None;
        let mut out = Results::<R>::new(rows, cx);
        for row in 0..rows {
            if row % LOOK_EVERY == 0 {
                cx.go_on()?;
            }
            if text.is_null(row) || other.is_null(row) {
                out.push_null();
                continue;
            }
            let word = Text::get(&texts, text.at(row));
            let ready = match held.take() {
                Some((held, ready)) if held == word => ready,
                _ => prepare(word, cx)?,
            };
            let value = value(&ready, A::get(&values, other.at(row)), cx)?;
            out.push(value, cx)?;
            held = Some((word, ready));
        }
        Ok(out.finish())
    })
}
