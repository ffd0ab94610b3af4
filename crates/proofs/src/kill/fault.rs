//! What a child may do wrong, so that the rig is seen to find it.

use std::str::FromStr;
use std::sync::{Arc, Mutex};

use onlap_base::Result;
use onlap_base::names::FileKind;
use onlap_testkit::WrappedFs;
use onlap_vfs::{File, OsFs, ReadBuf};

/// A fault of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillFault {
    /// Says that a commit is there before it is.
    AcknowledgesEarly,
    /// Keeps what goes to the log in its own memory until it is synced.
    HoldsLogBack,
}

impl KillFault {
    pub(super) fn word(fault: Option<KillFault>) -> &'static str {
        match fault {
            None => "sound",
            Some(KillFault::AcknowledgesEarly) => "acknowledges-early",
            Some(KillFault::HoldsLogBack) => "holds-log-back",
        }
    }
}

/// The word that the parent gave the child.
pub(super) struct Word(pub Option<KillFault>);

impl FromStr for Word {
    type Err = String;

    fn from_str(word: &str) -> std::result::Result<Word, String> {
        let all = [None, Some(KillFault::AcknowledgesEarly), Some(KillFault::HoldsLogBack)];
        let found = all.into_iter().find(|fault| KillFault::word(*fault) == word);
        found.map(Word).ok_or_else(|| format!("{word} is no fault"))
    }
}

/// The operating system's files, except for logs, whose writes stay in this process until they are synced.
pub(super) fn holding_back() -> WrappedFs {
    WrappedFs::new(Arc::new(OsFs::new()), |kind, inner| match kind {
        FileKind::Log(_) => Arc::new(Held { inner, writes: Mutex::default() }),
        _ => inner,
    })
}

struct Held {
    inner: Arc<dyn File>,
    writes: Mutex<Vec<(u64, Vec<u8>)>>,
}

impl Held {
    fn let_go(&self) -> Result<()> {
        let mut writes = self.writes.lock().unwrap();
        writes.drain(..).try_for_each(|(offset, bytes)| self.inner.write_at(&bytes, offset))
    }
}

impl File for Held {
    fn read_at(&self, offset: u64, len: usize) -> Result<ReadBuf> {
        self.let_go()?;
        self.inner.read_at(offset, len)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.writes.lock().unwrap().push((offset, bytes.to_vec()));
        Ok(())
    }
    fn sync_data(&self) -> Result<()> {
        self.let_go()?;
        self.inner.sync_data()
    }
    fn sync_all(&self) -> Result<()> {
        self.let_go()?;
        self.inner.sync_all()
    }
    fn len(&self) -> Result<u64> {
        self.let_go()?;
        self.inner.len()
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.let_go()?;
        self.inner.set_len(len)
    }
    fn allocate(&self, len: u64) -> Result<()> {
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
