//! What was granted on an object, by whom, to whom?
//!
//! An access control list as PostgreSQL has it: an item per (grantee, grantor) with privileges and those
//! of them that the grantee may grant on. A grant comes from its grantor's own grant option, so that taking
//! the option away takes what was granted by it, or is refused. Roles are named by OIDs, so a role's new
//! name changes nothing. Pure data.

use super::privilege::Privileges;

/// The grantee that means all roles.
pub const PUBLIC: u32 = 0;

/// What one role has of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The role that has it; [`PUBLIC`] for all.
    pub grantee: u32,
    /// The role that gave it.
    pub grantor: u32,
    /// What may be done.
    pub privileges: Privileges,
    /// What may be granted on.
    pub options: Privileges,
}

/// The roles whose rights a role has, itself among them; a superuser has the owner's, too.
pub type RightsOf<'a> = &'a dyn Fn(u32) -> Vec<u32>;

/// An access control list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acl(pub Vec<Item>);

/// Why a list cannot be changed so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Others were granted what is taken away.
    Dependent,
    /// A grant option would go back to the role that it came from.
    Circular,
}

impl Acl {
    /// Adds privileges, and the option to grant them on.
    ///
    /// # Errors
    /// The grantor's own option would come from the grantee.
    pub fn grant(
        &mut self,
        owner: u32,
        grantor: u32,
        grantee: u32,
        privileges: Privileges,
        options: Privileges,
        rights_of: RightsOf<'_>,
    ) -> Result<(), Refusal> {
        if grantor != owner && self.comes_from(owner, grantor, grantee, options, rights_of) {
            return Err(Refusal::Circular);
        }
        // An item without anything would tie the role to the object.
        if privileges.is_empty() && options.is_empty() {
            return Ok(());
        }
        let item = self.item(grantee, grantor);
        item.privileges |= privileges;
        item.options |= options;
        Ok(())
    }

    fn item(&mut self, grantee: u32, grantor: u32) -> &mut Item {
        let found = self.0.iter().position(|i| i.grantee == grantee && i.grantor == grantor);
        let at = found.unwrap_or_else(|| {
            let (privileges, options) = (Privileges::NONE, Privileges::NONE);
            self.0.push(Item { grantee, grantor, privileges, options });
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// Whether a grantor's options, its own and those of the roles whose rights it has, would be lost if those
    /// of a grantee were.
    fn comes_from(
        &self,
        owner: u32,
        grantor: u32,
        grantee: u32,
        options: Privileges,
        rights_of: RightsOf<'_>,
    ) -> bool {
        let mut without = self.clone();
        let lost: Vec<Item> = without.0.iter().filter(|i| i.grantee == grantee).copied().collect();
        for item in lost {
            // Cascading refuses nothing.
            let _ =
                without.revoke(owner, item.grantor, grantee, item.options, true, true, rights_of);
        }
        !without.options_with(owner, &rights_of(grantor)).has(options)
    }

    /// Takes privileges away that one role gave another, or the option alone (`option_only`), and with
    /// `cascade` what was granted by it.
    ///
    /// # Errors
    /// Others were granted them on, and `cascade` is not said.
    pub fn revoke(
        &mut self,
        owner: u32,
        grantor: u32,
        grantee: u32,
        privileges: Privileges,
        option_only: bool,
        cascade: bool,
        rights_of: RightsOf<'_>,
    ) -> Result<(), Refusal> {
        let before = self.options_of(owner, grantee);
        let item = self.item(grantee, grantor);
        item.options = item.options & !privileges;
        if !option_only {
            item.privileges = item.privileges & !privileges;
        }
        self.0.retain(|i| !(i.privileges.is_empty() && i.options.is_empty()));
        let lost = before & !self.options_of(owner, grantee);
        if lost.is_empty() || grantee == PUBLIC {
            return Ok(());
        }
        // What it may still grant on by the rights of other roles is not lost.
        let lost = lost & !self.options_with(owner, &rights_of(grantee));
        loop {
            let mut granted =
                self.0.iter().filter(|i| i.grantor == grantee && !(i.privileges & lost).is_empty());
            let Some(item) = granted.next().copied() else { return Ok(()) };
            if !cascade {
                return Err(Refusal::Dependent);
            }
            self.revoke(owner, grantee, item.grantee, lost, false, true, rights_of)?;
        }
    }

    /// What a role itself may grant on; the owner always everything.
    pub fn options_of(&self, owner: u32, role: u32) -> Privileges {
        if role == owner {
            return !Privileges::NONE;
        }
        let own = self.0.iter().filter(|i| i.grantee == role);
        own.fold(Privileges::NONE, |all, i| all | i.options)
    }

    /// What may be granted on with the rights of all these roles.
    fn options_with(&self, owner: u32, roles: &[u32]) -> Privileges {
        let each = roles.iter().map(|role| self.options_of(owner, *role));
        each.fold(Privileges::NONE, |all, options| all | options)
    }

    /// The same list where another role owns the object: what the old owner had and gave, the new one has
    /// and gives.
    #[must_use]
    pub fn moved(&self, from: u32, to: u32) -> Acl {
        let turn = |role: u32| if role == from { to } else { role };
        let mut moved = Acl::default();
        for item in &self.0 {
            let into = moved.item(turn(item.grantee), turn(item.grantor));
            into.privileges |= item.privileges;
            into.options |= item.options;
        }
        moved
    }

    /// Whether a role is in it.
    pub fn names(&self, role: u32) -> bool {
        self.0.iter().any(|i| i.grantee == role || i.grantor == role)
    }

    /// The list as PostgreSQL prints it; `name` prints a role.
    pub fn print(&self, name: &dyn Fn(u32) -> String) -> Vec<String> {
        let letters = |item: &Item| {
            let mut text = String::new();
            for privilege in item.privileges.each() {
                text.push(privilege.letter());
                if item.options.has(privilege) {
                    text.push('*');
                }
            }
            text
        };
        let role = |oid| if oid == PUBLIC { String::new() } else { name(oid) };
        let item = |i: &Item| format!("{}={}/{}", role(i.grantee), letters(i), role(i.grantor));
        self.0.iter().map(item).collect()
    }

    /// Reads what [`Acl::print`] wrote, with OIDs for names.
    pub fn read<'a>(items: impl Iterator<Item = &'a str>) -> Option<Acl> {
        let item = |text: &str| {
            let (grantee, rest) = text.split_once('=')?;
            let (letters, grantor) = rest.split_once('/')?;
            let grantee = if grantee.is_empty() { PUBLIC } else { grantee.parse().ok()? };
            let mut item = Item {
                grantee,
                grantor: grantor.parse().ok()?,
                privileges: Privileges::NONE,
                options: Privileges::NONE,
            };
            let mut last = Privileges::NONE;
            for letter in letters.chars() {
                if letter == '*' {
                    item.options |= last;
                } else {
                    last = Privileges::by_letter(letter)?;
                    item.privileges |= last;
                }
            }
            Some(item)
        };
        items.map(item).collect::<Option<Vec<Item>>>().map(Acl)
    }
}
