//! How do the runs of an index become fewer?
//!
//! [`policy`] says which runs to join next, as a pure function of their shapes; `worker` carries it
//! out, slice by slice, and knows no reasons.

pub mod marks;
pub mod policy;
