//! What does a disk look like after the power went?
//!
//! [`MemFs`] keeps for every file and every name two states: the live one, which this process sees,
//! and the durable one, which synced changes reach. [`MemFs::crash`] gives the file system as a
//! machine would find it after power loss: everything synced, and of the rest a part that the seed
//! chooses. That part is chosen as unkindly as real disks are allowed to be: sector by sector within
//! a file, name by name within a directory, lengths apart from contents; of a sector that was written
//! twice, the first write may be there without the second. Only renames are atomic.
//!
//! It has no files on any disk, no timing and no threads. Safe to share; each file has a lock of its
//! own, below the lock of the names.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onlap_base::{Error, ErrorKind, Result, Rng};
use parking_lot::Mutex;

use crate::os::{file_name, locked};
use crate::{Access, File, Fs, IoCounters, LockGuard, ReadBuf, parent_of};

mod node;

use node::Node;
pub use node::{Grain, Survival};

/// A file system in memory that forgets what was not synced.
#[derive(Clone, Debug)]
pub struct MemFs {
    names: Arc<Mutex<Names>>,
    counters: Arc<IoCounters>,
    capacity: u64,
}

#[derive(Debug, Default)]
struct Names {
    dirs: BTreeSet<PathBuf>,
    live: BTreeMap<PathBuf, Arc<Node>>,
    durable: BTreeMap<PathBuf, Arc<Node>>,
    /// Changes of `live` that `durable` has not seen, oldest first.
    pending: Vec<Change>,
    locks: HashSet<PathBuf>,
    /// The next sync of a file whose name contains this fails.
    fail_sync: Option<String>,
}

/// One change of names, which happens as a whole or not at all: two names for a rename.
#[derive(Clone, Debug)]
struct Change(Vec<(PathBuf, Option<Arc<Node>>)>);

impl Names {
    fn apply(&mut self, change: Change) {
        for (path, node) in &change.0 {
            set(&mut self.live, path, node.clone());
        }
        self.pending.push(change);
    }

    fn node(&self, operation: &str, path: &Path) -> Result<Arc<Node>> {
        self.live.get(path).cloned().ok_or_else(|| missing(operation, path))
    }

    /// The directory a new name goes to must exist.
    fn check_parent(&self, operation: &str, path: &Path) -> Result<()> {
        match self.dirs.contains(parent_of(path)) {
            true => Ok(()),
            false => Err(missing(operation, path)),
        }
    }

    fn used_bytes(&self) -> u64 {
        let mut seen = HashSet::new();
        let distinct = self.live.values().filter(|node| seen.insert(Arc::as_ptr(node)));
        distinct.map(|node| node.len()).sum()
    }
}

fn set(names: &mut BTreeMap<PathBuf, Arc<Node>>, path: &Path, node: Option<Arc<Node>>) {
    match node {
        Some(node) => names.insert(path.to_owned(), node),
        None => names.remove(path),
    };
}

fn missing(operation: &str, path: &Path) -> Error {
    let path = path.display();
    Error::new(ErrorKind::NotFound, format!("cannot {operation} {path}: no such file or directory"))
}

impl Default for MemFs {
    fn default() -> MemFs {
        MemFs::new()
    }
}

impl MemFs {
    /// An empty file system of unlimited size with the directories `/` and `.`.
    pub fn new() -> MemFs {
        MemFs::with_capacity(u64::MAX)
    }

    /// An empty file system that is full when its files hold `capacity` bytes together.
    pub fn with_capacity(capacity: u64) -> MemFs {
        let dirs = [PathBuf::from("/"), PathBuf::from("."), PathBuf::new()].into();
        let names = Names { dirs, ..Names::default() };
        MemFs { names: Arc::new(Mutex::new(names)), counters: Arc::default(), capacity }
    }

    /// The file system after power loss at this moment: what was synced, and of everything else each
    /// piece with probability `keep_share`, as `seed` decides. Locks are free. This file system goes
    /// on unharmed, so that one run can crash in many ways.
    pub fn crash(&self, seed: u64, keep_share: f64) -> MemFs {
        self.crash_with(seed, Survival { share: keep_share, grain: Grain::Either })
    }

    /// As [`MemFs::crash`], with what survives in pieces of a chosen size.
    pub fn crash_with(&self, seed: u64, survival: Survival) -> MemFs {
        let mut rng = Rng::new(seed);
        let names = self.names.lock();
        let mut survived = names.durable.clone();
        // Journals keep a prefix of the changes; the promises of `Fs` allow any of them. Both occur.
        let in_order = rng.chance(0.5);
        for change in &names.pending {
            if rng.chance(survival.share) {
                for (path, node) in &change.0 {
                    set(&mut survived, path, node.clone());
                }
            } else if in_order {
                break;
            }
        }
        // Two names of one file stay two names of one file.
        let mut copies: BTreeMap<*const Node, Arc<Node>> = BTreeMap::new();
        for node in survived.values_mut() {
            let copy = copies
                .entry(Arc::as_ptr(node))
                .or_insert_with(|| Arc::new(node.crash(&mut rng, survival)));
            *node = Arc::clone(copy);
        }
        let after = Names {
            dirs: names.dirs.clone(),
            live: survived.clone(),
            durable: survived,
            ..Names::default()
        };
        MemFs {
            names: Arc::new(Mutex::new(after)),
            counters: Arc::default(),
            capacity: self.capacity,
        }
    }

    /// The next sync of a file whose name contains `part` fails the way kernels fail: the bytes it
    /// was for stay readable, and later syncs report success, but those bytes never reach the disk
    /// unless they are written again.
    pub fn fail_next_sync(&self, part: &str) {
        self.names.lock().fail_sync = Some(part.to_owned());
    }

    /// Whether this sync is the one that was to fail.
    fn sync_fails(&self, path: &Path) -> bool {
        let mut names = self.names.lock();
        let hit = names.fail_sync.as_ref().is_some_and(|part| file_name(path).contains(part));
        if hit {
            names.fail_sync = None;
        }
        hit
    }

    /// Bytes of all files together.
    pub fn used_bytes(&self) -> u64 {
        self.names.lock().used_bytes()
    }

    fn handle(&self, path: &Path, node: Arc<Node>) -> Arc<dyn File> {
        Arc::new(MemFile { fs: self.clone(), node, path: path.to_owned() })
    }

    /// Refuses to let a file grow by more than there is space.
    fn check_space(&self, path: &Path, more: u64) -> Result<()> {
        if self.capacity < u64::MAX && more > 0 {
            let free = self.capacity.saturating_sub(self.used_bytes());
            if more > free {
                let message = format!("cannot write {}: no space left", path.display());
                return Err(Error::new(ErrorKind::DiskFull, message));
            }
        }
        Ok(())
    }
}

impl Fs for MemFs {
    fn create(&self, path: &Path, _access: Access) -> Result<Arc<dyn File>> {
        let mut names = self.names.lock();
        names.check_parent("open", path)?;
        if names.dirs.contains(path) {
            let message = format!("cannot open {}: it is a directory", path.display());
            return Err(Error::new(ErrorKind::Io, message));
        }
        let node = match names.live.get(path) {
            Some(node) => {
                node.set_len(0);
                Arc::clone(node)
            }
            None => {
                let node = Arc::new(Node::default());
                names.apply(Change(vec![(path.to_owned(), Some(Arc::clone(&node)))]));
                node
            }
        };
        Ok(self.handle(path, node))
    }

    fn open(&self, path: &Path, _access: Access) -> Result<Arc<dyn File>> {
        let node = self.names.lock().node("open", path)?;
        Ok(self.handle(path, node))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let mut names = self.names.lock();
        names.node("remove", path)?;
        names.apply(Change(vec![(path.to_owned(), None)]));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let mut names = self.names.lock();
        let node = names.node("rename", from)?;
        names.check_parent("rename", to)?;
        if from != to {
            names.apply(Change(vec![(from.to_owned(), None), (to.to_owned(), Some(node))]));
        }
        Ok(())
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>> {
        let names = self.names.lock();
        if !names.dirs.contains(dir) {
            return Err(missing("list", dir));
        }
        let inside = names.live.keys().chain(&names.dirs);
        let inside = inside.filter(|path| path.file_name().is_some() && parent_of(path) == dir);
        let sorted: BTreeSet<String> = inside.map(|path| file_name(path)).collect();
        Ok(sorted.into_iter().collect())
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        let mut names = self.names.lock();
        for above in dir.ancestors() {
            if names.live.contains_key(above) {
                let message = format!("cannot create directory {}: not a directory", dir.display());
                return Err(Error::new(ErrorKind::Io, message));
            }
            names.dirs.insert(above.to_owned());
        }
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.counters.synced();
        let mut names = self.names.lock();
        if !names.dirs.contains(dir) {
            return Err(missing("sync directory", dir));
        }
        let pending = std::mem::take(&mut names.pending);
        for change in pending {
            if change.0.iter().any(|(path, _)| parent_of(path) == dir) {
                for (path, node) in change.0 {
                    set(&mut names.durable, &path, node);
                }
            } else {
                names.pending.push(change);
            }
        }
        Ok(())
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        let names = self.names.lock();
        Ok(names.live.contains_key(path) || names.dirs.contains(path))
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        let mut names = self.names.lock();
        let node = names.node("link", from)?;
        names.check_parent("link", to)?;
        if names.live.contains_key(to) {
            let message = format!("cannot link {}: the name is taken", to.display());
            return Err(Error::new(ErrorKind::Io, message));
        }
        names.apply(Change(vec![(to.to_owned(), Some(node))]));
        Ok(())
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        let mut names = self.names.lock();
        if !names.dirs.contains(dir) {
            return Err(missing("remove directory", dir));
        }
        let mut inside = names.live.keys().chain(&names.dirs);
        if inside.any(|path| path.file_name().is_some() && parent_of(path) == dir) {
            let message = format!("cannot remove directory {}: not empty", dir.display());
            return Err(Error::new(ErrorKind::Io, message));
        }
        names.dirs.remove(dir);
        Ok(())
    }

    fn lock(&self, path: &Path) -> Result<LockGuard> {
        let file = match self.exists(path)? {
            true => self.open(path, Access::ReadWrite)?,
            false => self.create(path, Access::ReadWrite)?,
        };
        if !self.names.lock().locks.insert(path.to_owned()) {
            return Err(locked(path, Some(std::process::id())));
        }
        let guard = MemLock { names: Arc::clone(&self.names), path: path.to_owned() };
        file.set_len(0)?;
        file.write_at(format!("{}\n", std::process::id()).as_bytes(), 0)?;
        Ok(Box::new(guard))
    }

    fn free_bytes(&self, _dir: &Path) -> Result<u64> {
        Ok(self.capacity.saturating_sub(self.used_bytes()))
    }

    fn counters(&self) -> &IoCounters {
        &self.counters
    }
}

struct MemLock {
    names: Arc<Mutex<Names>>,
    path: PathBuf,
}

impl Drop for MemLock {
    fn drop(&mut self) {
        self.names.lock().locks.remove(&self.path);
    }
}

struct MemFile {
    fs: MemFs,
    node: Arc<Node>,
    path: PathBuf,
}

impl File for MemFile {
    fn read_at(&self, offset: u64, len: usize) -> Result<ReadBuf> {
        let bytes = self.node.read(offset, len);
        self.fs.counters.read(bytes.len());
        if bytes.len() < len {
            let short = len - bytes.len();
            let message = format!("the file ends {short} bytes before what should be there");
            return Err(Error::corruption(file_name(&self.path), offset, message));
        }
        Ok(bytes.into())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.fs.counters.wrote(bytes.len());
        let end = offset + bytes.len() as u64;
        self.fs.check_space(&self.path, end.saturating_sub(self.node.len()))?;
        self.node.write(bytes, offset);
        Ok(())
    }

    fn sync_data(&self) -> Result<()> {
        self.fs.counters.synced();
        if self.fs.sync_fails(&self.path) {
            self.node.forget_changes();
            let message = format!("cannot sync {}: the device failed", self.path.display());
            return Err(Error::new(ErrorKind::Io, message));
        }
        self.node.sync();
        Ok(())
    }

    fn sync_all(&self) -> Result<()> {
        self.sync_data()
    }

    fn len(&self) -> Result<u64> {
        Ok(self.node.len())
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.node.set_len(len);
        Ok(())
    }

    fn allocate(&self, len: u64) -> Result<()> {
        let now = self.node.len();
        self.fs.check_space(&self.path, len.saturating_sub(now))?;
        self.node.set_len(len.max(now));
        Ok(())
    }

    fn prefetch(&self, _offset: u64, _len: u64) {}

    fn write_back(&self, _offset: u64, _len: u64) {}

    fn drop_cache(&self) {}
}

#[cfg(test)]
mod tests;
