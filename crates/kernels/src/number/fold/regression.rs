//! How do two columns of floats depend on one another?
//!
//! The sums of squared distances are updated row by row (Youngs and Cramer, 1971), in PostgreSQL's order of operations. The
//! first argument is Y, the second X.

use onlap_pg::Result;

use super::{Step, Two, folded};
use crate::aggregate::{AggregateEntry, State};
use crate::number::float::overflow;
use crate::{Float8, Int8};

macro_rules! of_both {
    ($($name:literal $give:expr;)*) => { &[$(
        (concat!($name, "(float8,float8)"), |_| folded::<Both, Two<Float8, Float8>, Float8>($give)),
    )*] };
}

/// Regression, covariance and correlation.
pub const ENTRIES: &[AggregateEntry] = of_both! {
    "regr_sxx" |s| Ok((s.n > 0.0).then_some(s.xx));
    "regr_syy" |s| Ok((s.n > 0.0).then_some(s.yy));
    "regr_sxy" |s| Ok((s.n > 0.0).then_some(s.xy));
    "regr_avgx" |s| Ok((s.n > 0.0).then(|| s.x / s.n));
    "regr_avgy" |s| Ok((s.n > 0.0).then(|| s.y / s.n));
    "regr_r2" Both::determination;
    "regr_slope" |s| Ok((s.n > 0.0 && s.xx != 0.0).then(|| s.xy / s.xx));
    "regr_intercept" |s| Ok((s.n > 0.0 && s.xx != 0.0).then(|| (s.y - s.x * s.xy / s.xx) / s.n));
    "covar_pop" |s| Ok((s.n > 0.0).then(|| s.xy / s.n));
    "covar_samp" |s| Ok((s.n > 1.0).then(|| s.xy / (s.n - 1.0)));
    "corr" Both::correlation;
};

/// The number of rows.
pub const COUNT: &[AggregateEntry] = &[("regr_count(float8,float8)", |_| {
    folded::<Pairs, Two<Float8, Float8>, Int8>(|pairs| Ok(Some(pairs.0)))
})];

/// Rows in which both are there.
#[derive(Default)]
struct Pairs(i64);

impl Step<Two<Float8, Float8>> for Pairs {
    fn step(&mut self, _: (f64, f64)) -> Result<()> {
        self.0 += 1;
        Ok(())
    }
}

impl State for Pairs {
    fn save(&self, out: &mut Vec<u8>) {
        out.extend(self.0.to_le_bytes());
    }

    fn load(bytes: &[u8]) -> Pairs {
        let [count] = super::words(bytes).map(i64::from_le_bytes);
        Pairs(count)
    }

    fn merge(&mut self, other: Pairs) -> Result<()> {
        self.0 += other.0;
        Ok(())
    }
}

/// Number, sums, and sums of (products of) distances from the means.
#[derive(Clone, Copy, Default)]
struct Both {
    n: f64,
    x: f64,
    xx: f64,
    y: f64,
    yy: f64,
    xy: f64,
}

impl Both {
    fn determination(&self) -> Result<Option<f64>> {
        if self.n < 1.0 || self.xx == 0.0 {
            return Ok(None);
        }
        if self.yy == 0.0 {
            return Ok(Some(1.0));
        }
        Ok(Some(self.xy * self.xy / (self.xx * self.yy)))
    }

    fn correlation(&self) -> Result<Option<f64>> {
        if self.n < 1.0 || self.xx == 0.0 || self.yy == 0.0 {
            return Ok(None);
        }
        Ok(Some(self.xy / (self.xx * self.yy).sqrt()))
    }

    /// What became infinite out of finite numbers is an error, what was before is no number.
    fn check(&mut self, before: &Both, x: f64, y: f64) -> Result<()> {
        let far = |value: f64| value.is_infinite();
        let (from_x, from_y) = (!far(before.x) && !far(x), !far(before.y) && !far(y));
        if (far(self.x) || far(self.xx)) && from_x
            || (far(self.y) || far(self.yy)) && from_y
            || far(self.xy) && from_x && from_y
        {
            return Err(overflow());
        }
        for sum in [&mut self.xx, &mut self.yy, &mut self.xy] {
            if far(*sum) {
                *sum = f64::NAN;
            }
        }
        Ok(())
    }
}

impl Step<Two<Float8, Float8>> for Both {
    fn step(&mut self, (y, x): (f64, f64)) -> Result<()> {
        let before = *self;
        self.n += 1.0;
        self.x += x;
        self.y += y;
        if before.n > 0.0 {
            let (far_x, far_y) = (x * self.n - self.x, y * self.n - self.y);
            let scale = 1.0 / (self.n * before.n);
            self.xx += far_x * far_x * scale;
            self.yy += far_y * far_y * scale;
            self.xy += far_x * far_y * scale;
            let sums = [self.x, self.xx, self.y, self.yy, self.xy];
            if sums.iter().any(|sum| sum.is_infinite()) {
                self.check(&before, x, y)?;
            }
        } else {
            if !x.is_finite() {
                (self.xx, self.xy) = (f64::NAN, f64::NAN);
            }
            if !y.is_finite() {
                (self.yy, self.xy) = (f64::NAN, f64::NAN);
            }
        }
        Ok(())
    }
}

impl State for Both {
    fn save(&self, out: &mut Vec<u8>) {
        let all = [self.n, self.x, self.xx, self.y, self.yy, self.xy];
        out.extend(all.iter().flat_map(|v| v.to_le_bytes()));
    }

    fn load(bytes: &[u8]) -> Both {
        let [n, x, xx, y, yy, xy] = super::words(bytes).map(f64::from_le_bytes);
        Both { n, x, xx, y, yy, xy }
    }

    fn merge(&mut self, other: Both) -> Result<()> {
        if self.n == 0.0 || other.n == 0.0 {
            if self.n == 0.0 {
                *self = other;
            }
            return Ok(());
        }
        let (a, b) = (*self, other);
        let n = a.n + b.n;
        let (far_x, far_y) = (a.x / a.n - b.x / b.n, a.y / a.n - b.y / b.n);
        let joined = Both {
            n,
            x: a.x + b.x,
            xx: a.xx + b.xx + a.n * b.n * far_x * far_x / n,
            y: a.y + b.y,
            yy: a.yy + b.yy + a.n * b.n * far_y * far_y / n,
            xy: a.xy + b.xy + a.n * b.n * far_x * far_y / n,
        };
        let grown = |before: [f64; 2], now: f64| {
            now.is_infinite() && before.iter().all(|value| !value.is_infinite())
        };
        if grown([a.x, b.x], joined.x)
            || grown([a.xx, b.xx], joined.xx)
            || grown([a.y, b.y], joined.y)
            || grown([a.yy, b.yy], joined.yy)
            || grown([a.xy, b.xy], joined.xy)
        {
            return Err(overflow());
        }
        *self = joined;
        Ok(())
    }
}
