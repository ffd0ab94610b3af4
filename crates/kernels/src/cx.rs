//! What does a kernel know of the statement that it works for?

use arrow_array::ArrayRef;
use onlap_base::stop;
use onlap_pg::catalog::{Catalog, Kind};
use onlap_pg::value::{MAX_BYTES, Settings};
use onlap_pg::{Error, Oid, Result, TypeRef};

use crate::misc::MadeCall;
use crate::series::Rows;
use crate::{Datum, repr};

/// What only the session or the server knows.
pub trait Session: Send + Sync {
    /// Takes so many bytes from the statement's memory, for as long as the statement runs or until the next batch.
    ///
    /// # Errors
    /// `53200`.
    fn room(&self, bytes: usize) -> Result<()>;

    /// How many bytes were taken so by the expression that is being calculated.
    fn asked(&self) -> usize {
        0
    }

    /// An expression was calculated for a batch: what was taken by [`Session::room`] is given back, and the result's bytes
    /// count in the place of those of the same expression's last result.
    ///
    /// # Errors
    /// `53200`.
    fn calculated(&self, expression: usize, bytes: usize) -> Result<()> {
        let _ = (expression, bytes);
        Ok(())
    }

    /// Calls a function that asks the session or the catalogs of the database, such as current_user or pg_get_viewdef.
    ///
    /// # Errors
    /// Those of the function; `0A000` if it is not there.
    fn call(&self, function: Oid, args: &[Datum<'_>]) -> Result<Datum<'static>>;

    /// Calls a function that a database made.
    ///
    /// # Errors
    /// Those of the function; `0A000`: none can be called here.
    fn call_made(&self, call: &MadeCall, args: &[Datum<'_>]) -> Result<Datum<'static>> {
        let _ = (call, args);
        Err(Error::unserved("a function of the database is not supported here"))
    }

    /// The rows of one that gives a set.
    ///
    /// # Errors
    /// As of [`Session::call_made`].
    fn rows_made(&self, call: &MadeCall, args: &[Datum<'_>]) -> Result<Rows> {
        let _ = (call, args);
        Err(Error::unserved("a function of the database is not supported here"))
    }

    /// The names and types of the fields of a row type with a name.
    fn fields(&self, row: Oid) -> Option<Vec<(String, TypeRef)>> {
        let _ = row;
        None
    }

    /// Asks whether values of what a domain is over, in a column, keep to its conditions.
    ///
    /// # Errors
    /// `23502`, `23514`: one does not; those of the conditions.
    fn keep_to(&self, domain: Oid, values: &ArrayRef) -> Result<()> {
        let _ = (domain, values);
        Err(Error::unserved("a domain is not supported here"))
    }

    /// Asks whether the statement is still wanted.
    ///
    /// # Errors
    /// `57014`; `53200` where it holds too much.
    fn go_on(&self) -> Result<()> {
        stop::check().map_err(|e| Error::new("57014", e.to_string()))
    }

    /// The time now, in microseconds from 2000-01-01 UTC.
    fn clock(&self) -> i64;

    /// When the statement began, likewise.
    fn statement_began(&self) -> i64;

    /// A random number of 64 bits.
    fn random(&self) -> u64;

    /// The next number of 64 bits of the session's own sequence, which setseed() sets; a random one where it has not.
    fn drawn(&self) -> u64 {
        self.random()
    }

    /// Waits for a number of microseconds, or until the statement is not wanted any more.
    ///
    /// # Errors
    /// `57014`; `0A000`: nothing can wait here.
    fn wait(&self, us: i64) -> Result<()> {
        let _ = us;
        Err(Error::unserved("waiting is not supported here"))
    }
}

/// Values that are smaller do not ask for their memory one by one; results count together.
pub(crate) const ASKED_BYTES: usize = 64 << 10;

/// What a kernel is called with beside its arguments.
pub struct Cx<'a> {
    /// Types, functions.
    pub catalog: &'a Catalog,
    /// How values are read and written, the time zone, when the transaction began.
    pub settings: &'a Settings,
    /// The session.
    pub session: &'a dyn Session,
}

/// A session for values that stand in a text or were sent by a client: there is room for what is in proportion to
/// them, which was asked for before they were looked at.
pub struct Given<'a>(pub &'a dyn Session);

impl Session for Given<'_> {
    fn room(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn call(&self, function: Oid, args: &[Datum<'_>]) -> Result<Datum<'static>> {
        self.0.call(function, args)
    }
    fn call_made(&self, call: &MadeCall, args: &[Datum<'_>]) -> Result<Datum<'static>> {
        self.0.call_made(call, args)
    }
    fn rows_made(&self, call: &MadeCall, args: &[Datum<'_>]) -> Result<Rows> {
        self.0.rows_made(call, args)
    }
    fn fields(&self, row: Oid) -> Option<Vec<(String, TypeRef)>> {
        self.0.fields(row)
    }
    fn keep_to(&self, domain: Oid, values: &ArrayRef) -> Result<()> {
        self.0.keep_to(domain, values)
    }
    fn go_on(&self) -> Result<()> {
        self.0.go_on()
    }
    fn clock(&self) -> i64 {
        self.0.clock()
    }
    fn statement_began(&self) -> i64 {
        self.0.statement_began()
    }
    fn random(&self) -> u64 {
        self.0.random()
    }
    fn drawn(&self) -> u64 {
        self.0.drawn()
    }
    fn wait(&self, us: i64) -> Result<()> {
        self.0.wait(us)
    }
}

impl Cx<'_> {
    /// Asks before a value of so many bytes is made.
    ///
    /// # Errors
    /// `54000`: no value may be that long; `53200`: there is no memory for it.
    pub fn room(&self, bytes: usize) -> Result<()> {
        if bytes > MAX_BYTES {
            return Err(Error::new("54000", "requested length too large"));
        }
        // What is small is part of the batch, which its step has asked for.
        if bytes < ASKED_BYTES { Ok(()) } else { self.session.room(bytes) }
    }

    /// Asks whether a value keeps to the conditions of a type, if that is a domain.
    ///
    /// # Errors
    /// Those of [`Session::keep_to`].
    pub fn keep_to(&self, oid: Oid, value: &Datum<'_>) -> Result<()> {
        if self.catalog.get_type(oid).is_none_or(|ty| ty.kind != Kind::Domain) {
            return Ok(());
        }
        let repr = repr(self.catalog, oid).expect("what a domain is over has values");
        self.session.keep_to(oid, &Datum::column(repr, [value].into_iter())?)
    }

    /// Asks whether the statement is still wanted; loops over rows and bytes do so every thousand steps.
    ///
    /// # Errors
    /// `57014`.
    pub fn go_on(&self) -> Result<()> {
        self.session.go_on()
    }

    /// Notes work within one value, in bytes, digits or elements, and asks whether the statement is still wanted when there
    /// was enough of it since the last time.
    ///
    /// # Errors
    /// `57014`.
    #[inline]
    pub fn worked(&self, work: usize) -> Result<()> {
        if stop::is_due(work) { self.go_on() } else { Ok(()) }
    }

    /// Hands on bytes in pieces, between which it asks whether the statement is still wanted.
    ///
    /// # Errors
    /// `57014`.
    pub fn pieces(&self, bytes: &[u8], mut f: impl FnMut(&[u8])) -> Result<()> {
        for piece in bytes.chunks(stop::STRIDE) {
            self.worked(piece.len())?;
            f(piece);
        }
        Ok(())
    }

    /// Hands on a text likewise.
    ///
    /// # Errors
    /// `57014`.
    pub fn text_pieces<'t>(&self, text: &'t str, mut f: impl FnMut(&'t str)) -> Result<()> {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rest.floor_char_boundary(stop::STRIDE));
            self.worked(piece.len())?;
            f(piece);
            rest = behind;
        }
        Ok(())
    }
}
