//! Which cursors does a session have?
//!
//! DECLARE makes a portal of a query; FETCH and MOVE take rows from it, forwards only.

use super::Session;

impl Session {
    /// Forgets portals that end with their transaction.
    pub(super) fn end_portals(&mut self) {
        self.portals.retain(|_, portal| portal.hold);
    }
}
