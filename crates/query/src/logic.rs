//! AND, OR, NOT, CASE, COALESCE and tests: who is calculated for which rows, and what NULL means.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, new_null_array};
use arrow_schema::DataType;
use onlap_kernels::Col;
use onlap_pg::bound::RowOrder;
use onlap_pg::{Oid, Result};

use crate::collation::Collision;
use crate::env::Env;
use crate::keys::compare_keys;
use crate::node::{Arm, Call, Node, Rows, Spread, truth};
use crate::picked::interleave;

/// AND of arms, or OR (`end` is true): an arm is calculated for the rows that those before it left open.
pub fn connected(arms: &[Arm], end: bool, rows: &Rows<'_>, env: &Env) -> Result<Col> {
    let mut found: Vec<Option<bool>> = vec![Some(!end); rows.count];
    let mut open: Vec<u32> = (0..rows.count as u32).collect();
    for arm in arms {
        if open.is_empty() {
            break;
        }
        let values = arm.eval_at(&open, rows, env)?;
        let mut at = 0;
        open.retain(|row| {
            let value = truth(&values, at);
            at += 1;
            match value {
                Some(value) if value == end => {
                    found[*row as usize] = Some(end);
                    false
                }
                Some(_) => true,
                None => {
                    found[*row as usize] = None;
                    true
                }
            }
        });
    }
    Ok(Col::new(Arc::new(BooleanArray::from(found))))
}

/// Which rows meet all of some conditions: one is asked of the rows of which those before it are true, so that what a row does not
/// meet, or is not known to, ends its questions. PostgreSQL's conditions of WHERE are carried out so, its AND is not.
pub fn all_of(arms: &[Arm], rows: &Rows<'_>, env: &Env) -> Result<Col> {
    let mut open: Vec<u32> = (0..rows.count as u32).collect();
    for arm in arms {
        if open.is_empty() {
            break;
        }
        let values = arm.eval_at(&open, rows, env)?;
        let mut at = 0;
        open.retain(|_| {
            at += 1;
            truth(&values, at - 1) == Some(true)
        });
    }
    let mut met = vec![false; rows.count];
    open.iter().for_each(|row| met[*row as usize] = true);
    Ok(Col::new(Arc::new(BooleanArray::from(met))))
}

/// NOT.
pub fn not(value: &Col) -> Col {
    map_truth(value, |value| value.map(|value| !value))
}

/// IS NULL, IS NOT NULL.
pub fn null_test(value: &Col, not: bool) -> Col {
    let tested = (0..value.array.len()).map(|row| Some(value.array.is_null(row) != not));
    Col { array: Arc::new(tested.collect::<BooleanArray>()), is_const: value.is_const }
}

/// IS TRUE, IS FALSE, IS UNKNOWN and their opposites.
pub fn bool_test(value: &Col, is: Option<bool>, not: bool) -> Col {
    map_truth(value, |value| Some((value == is) != not))
}

fn map_truth(value: &Col, f: impl Fn(Option<bool>) -> Option<bool>) -> Col {
    let mapped = (0..value.array.len()).map(|row| {
        let constant = Col { array: Arc::clone(&value.array), is_const: false };
        f(truth(&constant, row))
    });
    Col { array: Arc::new(mapped.collect::<BooleanArray>()), is_const: value.is_const }
}

/// Values for rows from several calculations.
struct Pieces {
    arrays: Vec<ArrayRef>,
    /// Of each row: which array, and where in it.
    at: Vec<(usize, usize)>,
}

impl Pieces {
    /// NULL for all rows, to begin with.
    fn new(ty: &DataType, rows: usize) -> Pieces {
        Pieces { arrays: vec![new_null_array(ty, 1)], at: vec![(0, 0); rows] }
    }

    fn set(&mut self, rows: &[u32], values: &Col) {
        let number = self.arrays.len();
        self.arrays.push(Arc::clone(&values.array));
        for (n, row) in rows.iter().enumerate() {
            self.at[*row as usize] = (number, values.at(n));
        }
    }

    fn finish(self, env: &Env) -> Result<Col> {
        let arrays: Vec<&dyn Array> = self.arrays.iter().map(|array| &**array).collect();
        Ok(Col::new(interleave(&arrays, &self.at, env)?))
    }
}

/// CASE.
pub fn case(
    arms: &[(Arm, Arm)],
    otherwise: &Arm,
    ty: &DataType,
    rows: &Rows<'_>,
    env: &Env,
) -> Result<Col> {
    let mut out = Pieces::new(ty, rows.count);
    let mut open: Vec<u32> = (0..rows.count as u32).collect();
    for (when, then) in arms {
        if open.is_empty() {
            break;
        }
        let holds = when.eval_at(&open, rows, env)?;
        let (mut met, mut left) = (Vec::new(), Vec::new());
        for (n, row) in open.iter().enumerate() {
            let to = if truth(&holds, n) == Some(true) { &mut met } else { &mut left };
            to.push(*row);
        }
        if !met.is_empty() {
            out.set(&met, &then.eval_at(&met, rows, env)?);
        }
        open = left;
    }
    if !open.is_empty() {
        out.set(&open, &otherwise.eval_at(&open, rows, env)?);
    }
    out.finish(env)
}

/// COALESCE.
pub fn coalesce(arms: &[Arm], ty: &DataType, rows: &Rows<'_>, env: &Env) -> Result<Col> {
    let mut out = Pieces::new(ty, rows.count);
    let mut open: Vec<u32> = (0..rows.count as u32).collect();
    for arm in arms {
        if open.is_empty() {
            break;
        }
        let values = arm.eval_at(&open, rows, env)?;
        out.set(&open, &values);
        let mut at = 0;
        open.retain(|_| {
            at += 1;
            values.is_null(at - 1)
        });
    }
    out.finish(env)
}

/// IS DISTINCT FROM.
pub fn distinct(call: &Call, rows: &Rows<'_>, env: &Env) -> Result<Col> {
    let sides = call.values(rows, env)?;
    let equal = Col::new(call.kernel.eval(&sides, rows.count, &mut env.cx())?);
    let differs = (0..rows.count).map(|row| match (sides[0].is_null(row), sides[1].is_null(row)) {
        (true, true) => Some(false),
        (false, false) => Some(truth(&equal, row) != Some(true)),
        _ => Some(true),
    });
    Ok(Col::new(Arc::new(differs.collect::<BooleanArray>())))
}

/// NULLIF: the first value, unless it equals the second.
pub fn null_if(call: &Call, rows: &Rows<'_>, env: &Env) -> Result<Col> {
    let sides = call.values(rows, env)?;
    let equal = Col::new(call.kernel.eval(&sides, rows.count, &mut env.cx())?);
    let first = sides[0].clone().spread(rows.count, env)?;
    let mut out = Pieces::new(first.data_type(), rows.count);
    let kept: Vec<u32> =
        (0..rows.count as u32).filter(|row| truth(&equal, *row as usize) != Some(true)).collect();
    out.arrays.push(first);
    for row in kept {
        out.at[row as usize] = (1, row as usize);
    }
    out.finish(env)
}

/// Which of several values is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Which {
    /// The least of them.
    pub least: bool,
    /// They are texts that have no collation, so that two of them cannot be compared.
    pub collide: Option<Collision>,
    /// Their type.
    pub ty: Oid,
}

/// GREATEST, LEAST: NULLs are left out.
pub fn greatest(values: &[Node], which: Which, rows: &Rows<'_>, env: &Env) -> Result<Col> {
    let Which { least, collide, ty } = which;
    let mut arrays = Vec::with_capacity(values.len());
    let mut keys = Vec::with_capacity(values.len());
    for value in values {
        let array = value.eval(rows, env)?.spread(rows.count, env)?;
        keys.push(crate::keys::keys(env, ty, &array)?);
        arrays.push(array);
    }
    let mut out = Pieces::new(arrays[0].data_type(), rows.count);
    out.arrays.extend(arrays.iter().cloned());
    for row in 0..rows.count {
        let mut best: Option<usize> = None;
        for n in (0..arrays.len()).filter(|n| !arrays[*n].is_null(row)) {
            if let (Some(collision), Some(best)) = (collide, best) {
                collision.check(&arrays[n], &arrays[best], row)?;
            }
            let wins = best.is_none_or(|best| {
                let compared = compare_keys(&keys[n], row, &keys[best], row);
                if least { compared.is_lt() } else { compared.is_gt() }
            });
            if wins {
                best = Some(n);
            }
        }
        if let Some(best) = best {
            out.at[row] = (best + 1, row);
        }
    }
    out.finish(env)
}

/// A comparison of rows in their order.
pub struct RowCompare {
    /// Which.
    pub order: RowOrder,
    /// Per column: `<` or its like of the comparison, and `=`.
    pub columns: Vec<(Call, Call)>,
}

impl RowCompare {
    /// What is compared.
    pub fn children(&self) -> Vec<&Node> {
        self.columns.iter().flat_map(|(less, equal)| less.args.iter().chain(&equal.args)).collect()
    }

    /// Column by column, until two differ; NULL decides nothing.
    pub fn eval(&self, rows: &Rows<'_>, env: &Env) -> Result<Col> {
        let or_equal = matches!(self.order, RowOrder::LessEqual | RowOrder::GreaterEqual);
        let mut found: Vec<Option<bool>> = vec![Some(or_equal); rows.count];
        let mut open = vec![true; rows.count];
        for (less, equal) in &self.columns {
            // Columns that no row comes to may not be comparable.
            if !open.contains(&true) {
                break;
            }
            let sides = equal.values(rows, env)?;
            let same = Col::new(equal.kernel.eval(&sides, rows.count, &mut env.cx())?);
            let less = Col::new(less.kernel.eval(&sides, rows.count, &mut env.cx())?);
            for row in 0..rows.count {
                if !std::mem::take(&mut open[row]) {
                    continue;
                }
                match truth(&same, row) {
                    Some(true) => open[row] = true,
                    Some(false) => found[row] = truth(&less, row),
                    None => found[row] = None,
                }
            }
        }
        Ok(Col::new(Arc::new(BooleanArray::from(found))))
    }
}
