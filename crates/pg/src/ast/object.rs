//! Statements about schemas, databases, roles, rights and comments as they were written.

use super::{
    AlterExtension, AlterFunction, Constraint, CreateAggregate, CreateExtension, CreateFunction,
    CreateTrigger, DropExtension, DropFunction, Name, NamedRule, OptionValue, Path, Relation, Role,
    RoutineKind, Said, SetStatement, Signature, Span, Statement, TypeName,
};

/// CREATE SCHEMA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateSchema {
    /// IF NOT EXISTS.
    pub skip: bool,
    /// Its name.
    pub name: Option<Name>,
    /// AUTHORIZATION.
    pub owner: Option<Role>,
    /// What is made in it.
    pub elements: Vec<Statement>,
}

/// CREATE and ALTER DATABASE: the name and its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    /// Its name.
    pub name: Name,
    /// Options; DEFAULT where there is no value.
    pub options: Vec<(Name, Option<OptionValue>)>,
}

/// What ALTER does to a schema or a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectChange {
    /// OWNER TO
    Owner(Role),
    /// RENAME TO
    Rename(Name),
    /// SET, RESET
    Settings(Box<SetStatement>),
    /// Anything else.
    Other,
}

/// What is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropKind {
    /// TABLE
    Table,
    /// INDEX
    Index,
    /// VIEW
    View,
    /// MATERIALIZED VIEW
    MaterializedView,
    /// SEQUENCE
    Sequence,
    /// SCHEMA
    Schema,
    /// TYPE
    Type,
    /// DOMAIN
    Domain,
}

/// CREATE TYPE … AS ENUM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateEnum {
    /// Its name.
    pub name: Path,
    /// Its labels, in their order.
    pub labels: Vec<Box<str>>,
}

/// CREATE DOMAIN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateDomain {
    /// Its name.
    pub name: Path,
    /// What it is over.
    pub ty: TypeName,
    /// Its default, conditions and their like.
    pub rules: Vec<NamedRule>,
}

/// CREATE TYPE … AS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateComposite {
    /// Its name.
    pub name: Path,
    /// Its fields.
    pub fields: Vec<Attribute>,
}

/// A field of a composite type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: TypeName,
    /// COLLATE.
    pub collation: Option<Path>,
}

/// What ALTER TYPE does to the fields of a composite type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeChange {
    /// ADD ATTRIBUTE
    Add(Attribute),
    /// DROP ATTRIBUTE; IF EXISTS where the flag is set.
    Drop(bool, Name),
    /// ALTER ATTRIBUTE … TYPE
    Type(Attribute),
}

/// What ALTER TYPE and ALTER DOMAIN do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeChange {
    /// ADD VALUE of an enum.
    Add {
        /// IF NOT EXISTS.
        skip: bool,
        /// The new label.
        label: Box<str>,
        /// BEFORE (true) or AFTER another one.
        beside: Option<(bool, Box<str>)>,
    },
    /// RENAME VALUE of an enum.
    RenameLabel(Box<str>, Box<str>),
    /// ADD ATTRIBUTE and its like, of a composite type.
    Attributes(Vec<AttributeChange>),
    /// RENAME ATTRIBUTE of a composite type.
    RenameAttribute(Name, Name),
    /// SET DEFAULT and DROP DEFAULT of a domain.
    Default(Option<Said>),
    /// SET NOT NULL (true) and DROP NOT NULL of a domain.
    NotNull(bool),
    /// ADD of a constraint to a domain.
    AddConstraint(Box<Constraint>),
    /// DROP CONSTRAINT of a domain.
    DropConstraint {
        /// IF EXISTS.
        skip: bool,
        /// Its name.
        name: Name,
    },
    /// RENAME CONSTRAINT of a domain.
    RenameConstraint(Name, Name),
    /// VALIDATE CONSTRAINT of a domain.
    Validate(Name),
    /// RENAME TO
    Rename(Name),
    /// SET SCHEMA
    Schema(Name),
    /// OWNER TO
    Owner(Role),
}

/// ALTER TYPE and ALTER DOMAIN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterType {
    /// Whether DOMAIN was written.
    pub domain: bool,
    /// Its name.
    pub name: Path,
    /// What is done.
    pub change: TypeChange,
}

/// DROP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drop {
    /// What.
    pub kind: DropKind,
    /// CONCURRENTLY.
    pub concurrently: bool,
    /// IF EXISTS.
    pub skip: bool,
    /// The names.
    pub names: Vec<Path>,
    /// CASCADE.
    pub cascade: bool,
}

/// An attribute of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleOption {
    /// SUPERUSER and its like, without NO; false where NO was there.
    Flag(&'static str, bool),
    /// PASSWORD; none for NULL.
    Password(Option<Box<str>>),
    /// CONNECTION LIMIT
    ConnectionLimit(i32),
    /// VALID UNTIL
    ValidUntil(Box<str>),
    /// SYSID
    Sysid,
    /// IN ROLE
    In(Vec<Role>),
    /// ROLE, USER
    Members(Vec<Role>),
    /// ADMIN
    Admins(Vec<Role>),
}

/// CREATE ROLE, USER, GROUP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateRole {
    /// Whether USER was said, who may log in.
    pub login: bool,
    /// Its name.
    pub name: Name,
    /// Its attributes.
    pub options: Vec<RoleOption>,
}

/// What ALTER ROLE does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleChange {
    /// Other attributes.
    Options(Vec<RoleOption>),
    /// RENAME TO
    Rename(Name),
    /// SET, RESET; in one database where that is named
    Settings(Option<Name>, Box<SetStatement>),
    /// ADD (true) or DROP USER
    Members(bool, Vec<Role>),
}

/// ALTER ROLE, USER, GROUP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterRole {
    /// The role; none for ALL.
    pub role: Option<Role>,
    /// What it does.
    pub change: RoleChange,
}

/// A privilege, and the columns that it is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Privilege {
    /// Its word; none for ALL.
    pub word: Option<Name>,
    /// The columns; none for the whole object.
    pub columns: Vec<Name>,
}

/// What privileges are on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantOn {
    /// Tables, views and sequences by name; whether TABLE was said.
    Relations(Vec<Path>),
    /// SEQUENCE
    Sequences(Vec<Path>),
    /// SCHEMA
    Schemas(Vec<Name>),
    /// DATABASE
    Databases(Vec<Name>),
    /// ALL TABLES IN SCHEMA
    TablesIn(Vec<Name>),
    /// ALL SEQUENCES IN SCHEMA
    SequencesIn(Vec<Name>),
    /// ALL FUNCTIONS, PROCEDURES, ROUTINES IN SCHEMA
    FunctionsIn(Vec<Name>),
    /// FUNCTION and its like: of what, and which.
    Functions(RoutineKind, Vec<Signature>),
    /// LANGUAGE
    Languages,
    /// TYPE, DOMAIN
    Types,
    /// Others, of which there are none.
    Others,
}

/// GRANT and REVOKE of privileges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// GRANT, and not REVOKE.
    pub grant: bool,
    /// GRANT OPTION FOR, or WITH GRANT OPTION.
    pub option: bool,
    /// The privileges.
    pub privileges: Vec<Privilege>,
    /// What they are on.
    pub on: GrantOn,
    /// To whom, or from whom.
    pub roles: Vec<Role>,
    /// GRANTED BY.
    pub grantor: Option<Role>,
    /// CASCADE.
    pub cascade: bool,
}

/// GRANT and REVOKE of roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantRole {
    /// GRANT, and not REVOKE.
    pub grant: bool,
    /// ADMIN OPTION FOR, or WITH ADMIN OPTION.
    pub admin: bool,
    /// The roles.
    pub roles: Vec<Name>,
    /// Whether columns were named, as only privileges have them.
    pub columns: bool,
    /// To whom, or from whom.
    pub members: Vec<Role>,
    /// GRANTED BY.
    pub grantor: Option<Role>,
}

/// What default privileges are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultOn {
    /// TABLES
    Tables,
    /// SEQUENCES
    Sequences,
    /// SCHEMAS
    Schemas,
    /// FUNCTIONS, ROUTINES
    Functions,
    /// TYPES
    Types,
}

/// ALTER DEFAULT PRIVILEGES.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultPrivileges {
    /// FOR ROLE.
    pub of: Vec<Role>,
    /// IN SCHEMA.
    pub schemas: Vec<Name>,
    /// What they are on.
    pub on: DefaultOn,
    /// The privileges, and to whom; what they are on is said above.
    pub grant: Grant,
}

/// What COMMENT is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommentOn {
    /// TABLE, VIEW, INDEX, SEQUENCE: the word.
    Relation(&'static str, Path),
    /// COLUMN
    Column(Path),
    /// CONSTRAINT ON a table
    Constraint(Name, Path),
    /// SCHEMA
    Schema(Name),
    /// DATABASE
    Database(Name),
    /// ROLE
    Role(Name),
    /// EXTENSION
    Extension(Name),
    /// FUNCTION and its like
    Function(RoutineKind, Signature),
    /// TRIGGER ON a table
    Trigger(Name, Path),
    /// POLICY ON a table
    Policy(Name, Path),
}

/// What a rule is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleEvent {
    /// ON SELECT
    Select,
    /// ON INSERT
    Insert,
    /// ON UPDATE
    Update,
    /// ON DELETE
    Delete,
}

/// CREATE RULE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateRule {
    /// OR REPLACE.
    pub replace: bool,
    /// Its name.
    pub name: Name,
    /// What it is on.
    pub event: RuleEvent,
    /// The table or view.
    pub on: Relation,
    /// WHERE.
    pub filter: Option<Said>,
    /// INSTEAD.
    pub instead: bool,
    /// Its commands with their places; none for NOTHING.
    pub commands: Vec<(Statement, Span)>,
}

/// A statement about objects that are no relations, and about rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// CREATE SCHEMA
    CreateSchema(CreateSchema),
    /// ALTER SCHEMA
    AlterSchema(Name, ObjectChange),
    /// CREATE DATABASE
    CreateDatabase(Database),
    /// ALTER DATABASE
    AlterDatabase(Name, ObjectChange),
    /// DROP DATABASE; IF EXISTS where the last is true.
    DropDatabase(Name, bool),
    /// DROP
    Drop(Drop),
    /// CREATE TYPE … AS ENUM
    CreateEnum(CreateEnum),
    /// CREATE DOMAIN
    CreateDomain(CreateDomain),
    /// CREATE TYPE … AS
    CreateComposite(CreateComposite),
    /// ALTER TYPE and ALTER DOMAIN
    AlterType(AlterType),
    /// CREATE ROLE
    CreateRole(CreateRole),
    /// ALTER ROLE
    AlterRole(AlterRole),
    /// DROP ROLE; IF EXISTS where the last is true.
    DropRole(Vec<Role>, bool),
    /// GRANT, REVOKE
    Grant(Grant),
    /// GRANT, REVOKE of roles
    GrantRole(GrantRole),
    /// ALTER DEFAULT PRIVILEGES
    DefaultPrivileges(DefaultPrivileges),
    /// REASSIGN OWNED BY … TO
    Reassign(Vec<Role>, Role),
    /// DROP OWNED BY; CASCADE where the last is true.
    DropOwned(Vec<Role>, bool),
    /// CREATE RULE
    CreateRule(Box<CreateRule>),
    /// DROP RULE
    DropRule {
        /// IF EXISTS.
        skip: bool,
        /// Its name.
        name: Name,
        /// The table or view.
        on: Path,
        /// CASCADE.
        cascade: bool,
    },
    /// ALTER RULE … ON … RENAME TO
    RenameRule(Name, Path, Name),
    /// REFRESH MATERIALIZED VIEW
    Refresh {
        /// CONCURRENTLY.
        concurrently: bool,
        /// Its name.
        name: Path,
        /// WITH NO DATA.
        no_data: bool,
    },
    /// CREATE FUNCTION, CREATE PROCEDURE
    CreateFunction(Box<CreateFunction>),
    /// CREATE AGGREGATE
    CreateAggregate(Box<CreateAggregate>),
    /// ALTER FUNCTION and its like
    AlterFunction(Box<AlterFunction>),
    /// DROP FUNCTION and its like
    DropFunction(DropFunction),
    /// CREATE EXTENSION
    CreateExtension(CreateExtension),
    /// ALTER EXTENSION
    AlterExtension(AlterExtension),
    /// DROP EXTENSION
    DropExtension(DropExtension),
    /// CREATE TRIGGER
    CreateTrigger(Box<CreateTrigger>),
    /// ALTER TRIGGER … ON … RENAME TO
    RenameTrigger(Name, Path, Name),
    /// DROP TRIGGER
    DropTrigger {
        /// IF EXISTS.
        skip: bool,
        /// Its name.
        name: Name,
        /// The table or view.
        on: Path,
        /// CASCADE.
        cascade: bool,
    },
    /// CREATE, ALTER, DROP POLICY
    Policy(Box<super::Policy>),
    /// COMMENT ON; none for NULL.
    Comment(CommentOn, Option<Box<str>>),
}
