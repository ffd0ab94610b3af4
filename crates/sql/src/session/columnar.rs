//! How does a program in this process get an answer as columns?
//!
//! Parse and Bind as any client; then [`Session::shape`] in the place of Describe and [`Session::fetch_columns`], again and again,
//! in the place of Execute: each gives as many rows as come at once, so that memory stays bounded.

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use onlap::RowBatch;

use super::answer::{Answer, Chunk};
use super::{Portal, Session, cannot_run, defects, no_portal};
use crate::columnar::Shape;
use crate::error::Result;
use crate::types::Style;
use crate::wire::Client;

/// What a portal gives next.
#[derive(Debug)]
pub enum Fetched {
    /// Some rows.
    Rows(Columns),
    /// There are no more: the statement's tag, empty for an empty statement.
    Done(String),
}

/// Some rows. What the engine keeps becomes Arrow's where it is wanted, which may be on another thread than the session's: it
/// costs about what the scan costs.
pub struct Columns(Form);

impl fmt::Debug for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Columns of {} rows", self.rows())
    }
}

enum Form {
    Arrow(RecordBatch),
    Kept { shape: Arc<Shape>, batch: RowBatch, picked: Arc<[usize]> },
}

impl Columns {
    fn new(shape: &Arc<Shape>, style: &Style, chunk: Chunk) -> Result<Columns> {
        Ok(Columns(match chunk {
            Chunk::Engine(batch, picked) => Form::Kept { shape: Arc::clone(shape), batch, picked },
            chunk => Form::Arrow(shape.batch(style, chunk)?),
        }))
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        match &self.0 {
            Form::Arrow(batch) => batch.num_rows(),
            Form::Kept { batch, .. } => batch.len(),
        }
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Form::Arrow(batch) => batch.get_array_memory_size(),
            Form::Kept { batch, .. } => batch.columns.heap_bytes(),
        }
    }

    /// As Arrow has them.
    ///
    /// # Errors
    /// Arrow has no place for a value: NaN as a decimal, an array of several dimensions.
    pub fn batch(self) -> Result<RecordBatch> {
        match self.0 {
            Form::Arrow(batch) => Ok(batch),
            Form::Kept { shape, batch, picked } => shape.kept(batch, &picked),
        }
    }
}

impl Session {
    /// What a portal's rows are to Arrow; `None` for a statement that gives none.
    ///
    /// # Errors
    /// There is no such portal.
    pub fn shape(&mut self, portal: &str) -> Result<Option<Arc<Shape>>> {
        let portal = self.portals.get(portal).ok_or_else(|| no_portal(portal))?;
        let Some(columns) = portal.columns.clone() else { return Ok(None) };
        self.in_view(|_, view| {
            Ok(Some(Arc::new(Shape::new(view.objects.made_types().catalog(), &columns))))
        })
    }

    /// The next rows of a portal.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn fetch_columns(
        &mut self,
        name: &str,
        shape: Option<&Arc<Shape>>,
        client: &mut dyn Client,
    ) -> Result<Fetched> {
        let text = defects::of_portal(self.portals.get(name).map(|portal| &**portal));
        self.watched(text, |session| session.fetch_named(name, shape, client))
    }

    fn fetch_named(
        &mut self,
        name: &str,
        shape: Option<&Arc<Shape>>,
        client: &mut dyn Client,
    ) -> Result<Fetched> {
        let portal = self.portals.get(name).ok_or_else(|| no_portal(name))?;
        if portal.prepared.parsed.is_some() {
            self.must_answer(&portal.prepared)?;
        }
        let mut portal = self.start_portal(name)?;
        let result = match portal.is_done() || portal.cursor {
            true => Err(cannot_run(name)),
            false => self.fetch_portal(&mut portal, shape, client),
        };
        let told = self.hand_on(client);
        let result = result.map_err(|e| self.whole(e));
        self.room = None;
        self.stop_portal(portal);
        told.and(result)
    }

    fn fetch_portal(
        &mut self,
        portal: &mut Portal,
        shape: Option<&Arc<Shape>>,
        client: &mut dyn Client,
    ) -> Result<Fetched> {
        let prepared = Arc::clone(&portal.prepared);
        let Some(parsed) = &prepared.parsed else {
            return Ok(Fetched::Done(String::new()));
        };
        self.start_answer(portal, client)?;
        self.hand_on(client)?;
        let style = self.style();
        let next = match portal.answer.as_mut().expect("was just made") {
            Answer::Done(tag) => {
                let tag = tag.clone();
                self.warn(client);
                self.count(parsed.fingerprint(), &tag);
                return Ok(Fetched::Done(tag));
            }
            Answer::Rows(answer) => answer.next_chunk(client),
        };
        self.warn(client);
        let Some(chunk) = next? else {
            let Some(Answer::Rows(answer)) = &portal.answer else { unreachable!("rows stay rows") };
            let tag = answer.tag();
            self.count(parsed.fingerprint(), &tag);
            return Ok(Fetched::Done(tag));
        };
        if portal.open.is_none() {
            portal.open = self.open(self.tables_of(&portal.prepared));
        }
        let found;
        let shape = match shape {
            Some(shape) => shape,
            None => {
                let Some(Answer::Rows(answer)) = &portal.answer else { unreachable!("as above") };
                let columns = &answer.columns;
                found = self.in_view(|_, view| {
                    Ok(Arc::new(Shape::new(view.objects.made_types().catalog(), columns)))
                })?;
                &found
            }
        };
        Columns::new(shape, &style, chunk).map(Fetched::Rows)
    }
}
