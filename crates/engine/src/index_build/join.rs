//! How does a build of more entries than memory hand over few runs?
//!
//! An index of lists has as many entries as its rows have keys; a build writes them in pieces of what memory holds.
//! Left to ordinary merges, hundreds of runs would be open at once, and each read would look into every one of
//! them. So neighbours are joined, [`FAN_IN`] at a time, until there are few. An index with one entry per row needs none
//! of this: its pieces are large.
//!
//! A crash leaves orphans that the next open removes. Thread safety: of one build; other builds do not know its files.

use std::sync::Arc;

use onlap_base::{IndexId, Result};
use onlap_format::manifest::{Edit, RunFileMeta, RunMeta};
use onlap_format::{IndexSchema, TableSchema};
use onlap_storage::run::{IndexShape, Run, RunFile};

use super::{BuildControl, check};
use crate::database::Shared;
use crate::flush;

/// Runs that are joined at once: two blocks of each, as they were read and repacked, take about 2 MiB.
const FAN_IN: usize = 16;
/// Runs of neighbouring rows that may be left: what a tier of ordinary merges holds.
const LEFT: usize = 8;

/// Joins neighbours among the runs of an index until few are left; `runs` name what is there, also after an error.
pub(super) fn join(
    shared: &Arc<Shared>,
    schema: &TableSchema,
    index: &IndexSchema,
    control: &BuildControl,
    runs: &mut Vec<(IndexId, RunMeta)>,
) -> Result<()> {
    let shape = IndexShape::of(schema, index)?;
    loop {
        let is_mine = |run: &(IndexId, RunMeta)| run.0 == index.id;
        let mut mine: Vec<RunMeta> =
            runs.iter().filter(|r| is_mine(r)).map(|r| r.1.clone()).collect();
        mine.sort_unstable_by_key(|run| run.rows.start);
        if mine.len() <= LEFT {
            return Ok(());
        }
        let stretches = mine.chunk_by(|a, b| a.rows.end == b.rows.start);
        let parts = stretches.filter(|s| s.len() > LEFT).flat_map(|s| s.chunks(FAN_IN));
        let parts: Vec<&[RunMeta]> = parts.filter(|part| part.len() > 1).collect();
        if parts.is_empty() {
            return Ok(());
        }
        for part in parts {
            let joined = join_part(shared, schema, index, &shape, control, part)?;
            let gone =
                |run: &(IndexId, RunMeta)| is_mine(run) && part.iter().any(|p| p.id == run.1.id);
            runs.retain(|run| !gone(run));
            runs.push((index.id, joined));
            let edit = |run: &RunMeta| Edit::AddRun(schema.id, index.id, run.clone());
            flush::discard(shared, &part.iter().map(edit).collect::<Vec<_>>());
        }
    }
}

fn join_part(
    shared: &Arc<Shared>,
    schema: &TableSchema,
    index: &IndexSchema,
    shape: &Arc<IndexShape>,
    control: &BuildControl,
    part: &[RunMeta],
) -> Result<RunMeta> {
    let open = |run: &RunMeta| {
        let file =
            |f: &RunFileMeta| RunFile::open(&shared.storage, shape, f.file, f.base).map(Arc::new);
        let files = run.files.iter().map(file).collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(Run::new(Arc::clone(shape), files, None)))
    };
    let inputs = part.iter().map(open).collect::<Result<Vec<_>>>()?;
    let rows = part[0].rows.start..part[part.len() - 1].rows.end;
    let spec = |packing: Arc<onlap_format::key::Packing>| {
        flush::run_spec(shared, schema, index, (*packing).clone(), rows.clone(), u64::MAX)
    };
    let go_on = || check(shared, control);
    let files = onlap_storage::merge::join(&shared.storage, &inputs, &spec, &go_on)?;
    assert_eq!(
        files.iter().map(|f| f.entries).sum::<u64>(),
        part.iter().map(RunMeta::entries).sum::<u64>(),
        "a join leaves nothing out"
    );
    flush::run_of(shared, files, rows.clone())
}
