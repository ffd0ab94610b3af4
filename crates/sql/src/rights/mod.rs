//! Who may do what?
//!
//! | module | says |
//! |---|---|
//! | [`privilege`] | which privileges there are, and which each kind of object has |
//! | [`acl`] | what was granted on one object, by whom, to whom |
//! | [`state`] | roles, memberships, owners and grants, as the catalog has them |
//! | [`rules`] | which privilege or ownership each action of a statement needs: one table |
//! | [`judge`] | whether a role meets it |
//! | [`ask`] | what a statement has to do with which object |
//! | [`convert`] | what older releases kept |
//!
//! A statement is bound first; what it does with which object is a list of [`Need`]s, and
//! [`Judge::must`] is asked before anything of it runs. Nothing else refuses for want of rights. What was
//! judged counts for as long as catalog and role stay the same, so that a statement that is used again is
//! only compared with their numbers ([`crate::session`]).

pub mod acl;
pub mod ask;
pub mod convert;
pub mod judge;
pub mod privilege;
pub mod rules;
pub mod state;

pub use acl::{Acl, PUBLIC};
pub use judge::{Judge, Need};
pub use privilege::{Class, OF_COLUMNS, Privileges};
pub use rules::Action;
pub use state::{Entry, Key, Membership, Rights};
