//! Is a value one of a list?
//!
//! `op ANY (array)` and `op ALL (array)` compare with one element after the other. Where the comparison is equality of keys
//! (`= ANY`, `<> ALL`), the array is the same for all rows and it has more than a few elements, values are looked up in a
//! hash of the elements' keys, which is made once per array.
//!
//! Thread safety: the hash is behind a lock, which is held while it is made.

use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, BooleanArray};
use onlap_kernels::array::Array;
use onlap_kernels::{Col, Datum, Repr};
use onlap_pg::{Oid, Result};
use parking_lot::Mutex;

use crate::env::Env;
use crate::keys::{KeySet, keys};
use crate::node::{Call, Rows, truth};

/// Up to this number of elements they are compared one by one, as in PostgreSQL.
pub const FEW: usize = 8;
/// Elements whose keys are made at once.
const AT_ONCE: usize = 4096;

/// `op ANY (array)`, `op ALL (array)`.
pub struct AnyOf {
    /// The comparison of a value with an element; its arguments are the value and the array.
    pub call: Call,
    /// ALL.
    pub all: bool,
    /// The representation of elements.
    pub repr: Repr,
    /// The types of the value and of elements, where the question is whether the array has the value's key.
    pub keyed: Option<(Oid, Oid)>,
    known: Mutex<Option<(ArrayRef, Arc<KeySet>)>>,
}

impl AnyOf {
    /// Nothing is hashed yet.
    pub fn new(call: Call, all: bool, repr: Repr, keyed: Option<(Oid, Oid)>) -> AnyOf {
        AnyOf { call, all, repr, keyed, known: Mutex::default() }
    }

    /// A truth per row.
    pub fn eval(&self, rows: &Rows<'_>, env: &Env) -> Result<Col> {
        let sides = self.call.values(rows, env)?;
        if !sides[1].is_const {
            return self.by_row(&sides, rows, env);
        }
        let Datum::Bytes(bytes) = Datum::at(&sides[1].array, Repr::Bytes, 0) else {
            return Ok(Col::new(Arc::new(BooleanArray::new_null(rows.count))));
        };
        let array = Array::load(&bytes, self.repr);
        match self.keyed {
            Some(types) if array.len() > FEW => {
                let set = self.set(&sides[1].array, &array, types.1, env)?;
                self.looked_up(&sides[0], &set, types.0, rows.count, env)
            }
            _ => self.by_element(&array, &sides[0], rows.count, env),
        }
    }

    /// Each row has an array of its own.
    fn by_row(&self, sides: &[Col], rows: &Rows<'_>, env: &Env) -> Result<Col> {
        let mut found = Vec::with_capacity(rows.count);
        for row in 0..rows.count {
            let bytes = Datum::at(&sides[1].array, Repr::Bytes, row);
            let Datum::Bytes(bytes) = bytes else {
                found.push(None);
                continue;
            };
            let left = Col::constant(sides[0].array.slice(sides[0].at(row), 1));
            let answer = self.by_element(&Array::load(&bytes, self.repr), &left, 1, env)?;
            found.push(truth(&answer, 0));
        }
        Ok(Col::new(Arc::new(BooleanArray::from(found))))
    }

    /// Each element with all rows.
    fn by_element(&self, array: &Array<'_>, left: &Col, rows: usize, env: &Env) -> Result<Col> {
        let elements: Vec<Datum<'_>> = array.iter().collect();
        let elements = Datum::column(self.repr, elements.iter())?;
        let all = self.all;
        let mut found: Vec<Option<bool>> = vec![Some(all); rows];
        for at in 0..elements.len() {
            let right = Col::constant(elements.slice(at, 1));
            let holds = self.call.kernel.eval(&[left.clone(), right], rows, &mut env.cx())?;
            let holds = Col::new(holds);
            for (row, found) in found.iter_mut().enumerate() {
                match truth(&holds, row) {
                    Some(value) if value != all => *found = Some(!all),
                    None if *found == Some(all) => *found = None,
                    _ => {}
                }
            }
        }
        Ok(Col::new(Arc::new(BooleanArray::from(found))))
    }

    /// The keys of an array, which may be those of the batch before.
    fn set(
        &self,
        column: &ArrayRef,
        array: &Array<'_>,
        element: Oid,
        env: &Env,
    ) -> Result<Arc<KeySet>> {
        let mut known = self.known.lock();
        if let Some((of, set)) = &*known
            && Arc::ptr_eq(of, column)
        {
            return Ok(Arc::clone(set));
        }
        let set = Arc::new(set_of(array, element, env)?);
        *known = Some((Arc::clone(column), Arc::clone(&set)));
        Ok(set)
    }

    fn looked_up(&self, left: &Col, set: &KeySet, ty: Oid, rows: usize, env: &Env) -> Result<Col> {
        let keys = Col { array: keys(env, ty, &left.array)?, is_const: left.is_const };
        let mut scratch = Vec::new();
        let found = (0..rows).map(|row| match keys.is_null(row) {
            true => None,
            false if set.contains(&keys.array, keys.at(row), &mut scratch) => Some(!self.all),
            false if set.has_null => None,
            false => Some(self.all),
        });
        Ok(Col::new(Arc::new(found.collect::<BooleanArray>())))
    }
}

/// The keys of an array's elements.
fn set_of(array: &Array<'_>, element: Oid, env: &Env) -> Result<KeySet> {
    let mut set = KeySet::default();
    let mut part: Vec<Datum<'_>> = Vec::new();
    for (n, value) in array.iter().enumerate() {
        part.push(value);
        if part.len() == AT_ONCE || n + 1 == array.len() {
            env.session.go_on()?;
            let column = Datum::column(array.repr(), part.iter())?;
            set.add(&keys(env, element, &column)?);
            part.clear();
        }
    }
    Ok(set)
}
