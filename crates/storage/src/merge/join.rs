//! How do runs that no version names yet become one?
//!
//! A build that has more entries than memory writes them in pieces, each a run; what it hands over in the end is to
//! be few of them. Nothing is left out, and the caller keeps the files of the inputs until it has the output.
//!
//! Must not know why there are several. Thread safety: any thread; the inputs are finished files.

use std::sync::Arc;

use onlap_base::Result;
use onlap_base::memory::Part;
use onlap_format::key::{Entries, Packing};
use onlap_format::manifest::RunFileMeta;

use super::source::{Merger, Round};
use crate::context::StorageContext;
use crate::run::{Run, RunSpec, RunWriter};

/// One run's files with the entries of neighbouring runs, which are in row-id order and have entries of their own.
/// `spec` describes the output by the packing of its keys; `go_on` is asked between blocks.
///
/// # Errors
/// Of reading and writing; of `go_on`. Nothing is left of the output then.
pub fn join(
    context: &Arc<StorageContext>,
    runs: &[Arc<Run>],
    spec: &dyn Fn(Arc<Packing>) -> Result<RunSpec>,
    go_on: &dyn Fn() -> Result<()>,
) -> Result<Vec<RunFileMeta>> {
    assert!(!runs.is_empty(), "there is something to join");
    let files = runs.iter().flat_map(|run| run.files());
    let packings = files.map(|file| file.packing()).collect::<Result<Vec<_>>>()?;
    let bytes = Packing::bytes(&runs[0].shape().key);
    let union = match packings.is_empty() {
        true => bytes.clone(),
        false => Packing::union(&packings.iter().map(|p| &***p).collect::<Vec<_>>()),
    };
    if let Some(files) = write(context, runs, Arc::new(union), spec, go_on)? {
        return Ok(files);
    }
    let written = write(context, runs, Arc::new(bytes), spec, go_on)?;
    Ok(written.expect("every key fits the packing of key bytes"))
}

/// `None`: some key does not fit the packing, and nothing is left.
fn write(
    context: &Arc<StorageContext>,
    runs: &[Arc<Run>],
    packing: Arc<Packing>,
    spec: &dyn Fn(Arc<Packing>) -> Result<RunSpec>,
    go_on: &dyn Fn() -> Result<()>,
) -> Result<Option<Vec<RunFileMeta>>> {
    let shape = Arc::clone(runs[0].shape());
    let mut merger = Merger::new(None, &shape, runs, &packing);
    let include = onlap_format::Batch::new(shape.include_forms());
    let mut entries = Entries::new(packing.new_keys(), include);
    let mut writer = RunWriter::new(context, spec(packing)?);
    let mut charge = context.memory.charge(Part::Background, 0);
    loop {
        go_on()?;
        match merger.next(&mut entries)? {
            Round::Entries => {}
            Round::End => return writer.finish().map(Some),
            Round::Misfit => return Ok(None),
        }
        charge.resize((merger.heap_bytes() + entries.heap_bytes()) as u64);
        writer.push(&entries)?;
    }
}
