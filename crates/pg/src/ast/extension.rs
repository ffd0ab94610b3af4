//! Statements about extensions as they were written.

use super::Name;

/// CREATE EXTENSION.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateExtension {
    /// IF NOT EXISTS.
    pub skip: bool,
    /// Its name.
    pub name: Name,
    /// SCHEMA
    pub schema: Option<Name>,
    /// VERSION
    pub version: Option<Name>,
    /// CASCADE
    pub cascade: bool,
}

/// ALTER EXTENSION.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterExtension {
    /// Its name.
    pub name: Name,
    /// What it does to it.
    pub change: ExtensionChange,
}

/// What ALTER EXTENSION does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtensionChange {
    /// UPDATE, to a version.
    Update(Option<Name>),
    /// SET SCHEMA
    Schema(Name),
}

/// DROP EXTENSION.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropExtension {
    /// IF EXISTS.
    pub skip: bool,
    /// Their names.
    pub names: Vec<Name>,
    /// CASCADE
    pub cascade: bool,
}
