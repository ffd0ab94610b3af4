//! What if this very operation fails?
//!
//! [`FaultFs`] passes everything on to another file system and counts the operations. A [`Fault`]
//! makes the n-th matching one fail, once or from then on. A test driver runs a scenario once to count,
//! and then once per operation with the fault there, so that every error path runs. It knows nothing
//! of what the bytes mean. A watcher may be told of every operation before it happens. Safe to share: one
//! lock, held for the bookkeeping only.
//!
//! Faults are those that callers of [`Fs`] can see. Interrupted calls (EINTR) and calls that do a part of
//! what they were asked are continued by [`crate::OsFs`] and never reach them; too many open files
//! (EMFILE) is an `Io` error of open or create.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use onlap_base::{Error, ErrorKind, Result};
use parking_lot::Mutex;

use crate::os::file_name;
use crate::{Access, File, Fs, IoCounters, LockGuard, ReadBuf};

/// Kinds of operations that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// [`Fs::create`].
    Create,
    /// [`Fs::open`].
    Open,
    /// [`Fs::remove`].
    Remove,
    /// [`Fs::rename`].
    Rename,
    /// [`Fs::hard_link`].
    Link,
    /// [`Fs::list`] and [`Fs::exists`].
    List,
    /// [`Fs::create_dir_all`], [`Fs::sync_dir`] and [`Fs::remove_dir`].
    Directory,
    /// [`Fs::lock`].
    Lock,
    /// [`File::read_at`] and [`File::len`].
    Read,
    /// [`File::write_at`].
    Write,
    /// [`File::sync_data`] and [`File::sync_all`].
    Sync,
    /// [`File::set_len`] and [`File::allocate`].
    Resize,
}

/// Which operation fails, and how.
#[derive(Clone, Debug)]
pub struct Fault {
    operation: Option<Operation>,
    name_part: Option<String>,
    /// Matching operations that still succeed.
    after: u64,
    kind: ErrorKind,
    for_ever: bool,
    way: Way,
}

/// What a failing operation does and says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Nothing, and an error.
    Plain,
    /// A write lands by half, and an error.
    Torn,
    /// A read ends before its time, as at the end of a file.
    Short,
    /// Nothing, and success.
    Lie,
}

impl Fault {
    /// The first operation of that kind fails once, with an I/O error.
    pub fn on(operation: Operation) -> Fault {
        Fault { operation: Some(operation), ..Fault::any() }
    }

    /// The first operation of any kind fails once, with an I/O error.
    pub fn any() -> Fault {
        Fault {
            operation: None,
            name_part: None,
            after: 0,
            kind: ErrorKind::Io,
            for_ever: false,
            way: Way::Plain,
        }
    }

    /// Counts only operations on paths that contain `part`.
    #[must_use]
    pub fn named(mut self, part: &str) -> Fault {
        self.name_part = Some(part.to_owned());
        self
    }

    /// Lets `n` matching operations succeed first.
    #[must_use]
    pub fn after(mut self, n: u64) -> Fault {
        self.after = n;
        self
    }

    /// Fails with this kind of error.
    #[must_use]
    pub fn with(mut self, kind: ErrorKind) -> Fault {
        self.kind = kind;
        self
    }

    /// Every matching operation from then on fails.
    #[must_use]
    pub fn for_ever(mut self) -> Fault {
        self.for_ever = true;
        self
    }

    /// A failing write lets the first half of its bytes land.
    #[must_use]
    pub fn torn(mut self) -> Fault {
        self.way = Way::Torn;
        self
    }

    /// A failing read says that the file ends inside it.
    #[must_use]
    pub fn short(mut self) -> Fault {
        self.way = Way::Short;
        self
    }

    /// A failing write, sync, rename or removal does nothing and reports success: for tests of tests.
    #[must_use]
    pub fn lying(mut self) -> Fault {
        self.way = Way::Lie;
        self
    }

    fn matches(&self, operation: Operation, path: &Path) -> bool {
        self.operation.is_none_or(|wanted| wanted == operation)
            && self.name_part.as_ref().is_none_or(|part| path.to_string_lossy().contains(part))
    }
}

/// Is told of each operation before it happens, or fails.
pub type Watcher = Arc<dyn Fn(Operation, &Path) + Send + Sync>;

/// A file system that fails on demand.
#[derive(Clone)]
pub struct FaultFs {
    inner: Arc<dyn Fs>,
    plan: Arc<Mutex<Plan>>,
}

#[derive(Default)]
struct Plan {
    watcher: Option<Watcher>,
    faults: Vec<Fault>,
    operations: u64,
    struck: u64,
}

impl FaultFs {
    /// Passes everything on to `inner` until a fault is set.
    pub fn new(inner: Arc<dyn Fs>) -> FaultFs {
        FaultFs { inner, plan: Arc::default() }
    }

    /// Adds a fault; counting begins now.
    pub fn fail(&self, fault: Fault) {
        self.plan.lock().faults.push(fault);
    }

    /// Tells `watcher` of every operation from now on, before it happens. It may use the file system
    /// below, not this one.
    pub fn watch(&self, watcher: Watcher) {
        self.plan.lock().watcher = Some(watcher);
    }

    /// Takes all faults back.
    pub fn heal(&self) {
        self.plan.lock().faults.clear();
    }

    /// Operations seen so far, failed ones included.
    pub fn operations(&self) -> u64 {
        self.plan.lock().operations
    }

    /// Operations that were made to fail so far.
    pub fn struck(&self) -> u64 {
        self.plan.lock().struck
    }

    fn file(&self, path: &Path, inner: Arc<dyn File>) -> Arc<dyn File> {
        Arc::new(FaultFile { inner, plan: Arc::clone(&self.plan), path: path.to_owned() })
    }

    fn strike(&self, operation: Operation, path: &Path) -> Result<()> {
        strike(&self.plan, operation, path).map_err(|struck| struck.error)
    }

    /// Whether the operation is to happen; not if a fault lets it lie.
    fn may(&self, operation: Operation, path: &Path) -> Result<bool> {
        may(strike(&self.plan, operation, path))
    }
}

/// A fault that hits.
struct Struck {
    error: Error,
    way: Way,
}

fn strike(plan: &Mutex<Plan>, operation: Operation, path: &Path) -> Result<(), Struck> {
    let watcher = plan.lock().watcher.clone();
    if let Some(watcher) = watcher {
        watcher(operation, path);
    }
    plan.lock().strike(operation, path)
}

fn may(struck: Result<(), Struck>) -> Result<bool> {
    match struck {
        Ok(()) => Ok(true),
        Err(Struck { way: Way::Lie, .. }) => Ok(false),
        Err(struck) => Err(struck.error),
    }
}

impl Plan {
    /// Counts the operation, and fails it when a fault's time has come.
    fn strike(&mut self, operation: Operation, path: &Path) -> Result<(), Struck> {
        self.operations += 1;
        let mut hit = None;
        for (at, fault) in self.faults.iter_mut().enumerate() {
            if fault.matches(operation, path) {
                match fault.after {
                    0 if hit.is_none() => hit = Some(at),
                    0 => {}
                    _ => fault.after -= 1,
                }
            }
        }
        let Some(at) = hit else { return Ok(()) };
        let fault = self.faults[at].clone();
        if !fault.for_ever {
            self.faults.remove(at);
        }
        self.struck += 1;
        let message = format!("injected fault: {operation:?} of {} fails", path.display());
        Err(Struck { error: Error::new(fault.kind, message), way: fault.way })
    }
}

impl Fs for FaultFs {
    fn create(&self, path: &Path, access: Access) -> Result<Arc<dyn File>> {
        self.strike(Operation::Create, path)?;
        Ok(self.file(path, self.inner.create(path, access)?))
    }

    fn open(&self, path: &Path, access: Access) -> Result<Arc<dyn File>> {
        self.strike(Operation::Open, path)?;
        Ok(self.file(path, self.inner.open(path, access)?))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        if self.may(Operation::Remove, path)? { self.inner.remove(path) } else { Ok(()) }
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        if self.may(Operation::Rename, to)? { self.inner.rename(from, to) } else { Ok(()) }
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>> {
        self.strike(Operation::List, dir)?;
        self.inner.list(dir)
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        self.strike(Operation::Directory, dir)?;
        self.inner.create_dir_all(dir)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        if self.may(Operation::Directory, dir)? { self.inner.sync_dir(dir) } else { Ok(()) }
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.strike(Operation::List, path)?;
        self.inner.exists(path)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        self.strike(Operation::Link, to)?;
        self.inner.hard_link(from, to)
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        self.strike(Operation::Directory, dir)?;
        self.inner.remove_dir(dir)
    }

    fn lock(&self, path: &Path) -> Result<LockGuard> {
        self.strike(Operation::Lock, path)?;
        self.inner.lock(path)
    }

    fn free_bytes(&self, dir: &Path) -> Result<u64> {
        self.inner.free_bytes(dir)
    }

    fn counters(&self) -> &IoCounters {
        self.inner.counters()
    }
}

struct FaultFile {
    inner: Arc<dyn File>,
    plan: Arc<Mutex<Plan>>,
    path: PathBuf,
}

impl FaultFile {
    fn strike(&self, operation: Operation) -> Result<()> {
        strike(&self.plan, operation, &self.path).map_err(|struck| struck.error)
    }

    fn may(&self, operation: Operation) -> Result<bool> {
        may(strike(&self.plan, operation, &self.path))
    }
}

impl File for FaultFile {
    fn read_at(&self, offset: u64, len: usize) -> Result<ReadBuf> {
        match strike(&self.plan, Operation::Read, &self.path) {
            Ok(()) => self.inner.read_at(offset, len),
            Err(Struck { way: Way::Short, .. }) => {
                let message = format!("the file ends {len} bytes before what should be there");
                Err(Error::corruption(file_name(&self.path), offset, message))
            }
            Err(struck) => Err(struck.error),
        }
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        match strike(&self.plan, Operation::Write, &self.path) {
            Ok(()) => self.inner.write_at(bytes, offset),
            Err(Struck { way: Way::Lie, .. }) => Ok(()),
            Err(Struck { error, way }) => {
                if way == Way::Torn {
                    self.inner.write_at(&bytes[..bytes.len() / 2], offset)?;
                }
                Err(error)
            }
        }
    }

    fn sync_data(&self) -> Result<()> {
        if self.may(Operation::Sync)? { self.inner.sync_data() } else { Ok(()) }
    }

    fn sync_all(&self) -> Result<()> {
        if self.may(Operation::Sync)? { self.inner.sync_all() } else { Ok(()) }
    }

    fn len(&self) -> Result<u64> {
        self.strike(Operation::Read)?;
        self.inner.len()
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.strike(Operation::Resize)?;
        self.inner.set_len(len)
    }

    fn allocate(&self, len: u64) -> Result<()> {
        self.strike(Operation::Resize)?;
        self.inner.allocate(len)
    }

    fn prefetch(&self, offset: u64, len: u64) {
        self.inner.prefetch(offset, len);
    }

    fn write_back(&self, offset: u64, len: u64) {
        self.inner.write_back(offset, len);
    }

    fn drop_cache(&self) {
        self.inner.drop_cache();
    }
}

#[cfg(test)]
mod tests;
