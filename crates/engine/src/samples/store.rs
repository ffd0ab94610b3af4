//! In which files do samples lie, and how many of them stay?
//!
//! Files are filled slot by slot, one after the other; the form of both is `onlap_format::samples`. A file that is full is
//! synced before the next one begins, and the oldest goes when there are more than [`FILES`], so all together take at most
//! `limits::SAMPLES_BYTES`, whatever clocks say.
//!
//! After a crash the newest file may end in a torn slot, and have lost any of those that were not synced. [`Store::open`]
//! cuts it behind the last slot that can be read and gives up those before that cannot, so only a damaged disk makes a slot of
//! an older file unreadable ([`check`]).
//!
//! Thread safety: one [`Store`] writes; reading takes what is there.

use std::path::PathBuf;
use std::sync::Arc;

use onlap_base::memory::Part;
use onlap_base::names::FileKind;
use onlap_base::{ErrorKind, Result};
use onlap_format::samples::{self, FILES, SLOTS, Sample, Slot};
use onlap_storage::StorageContext;
use onlap_storage::written::Purpose;
use onlap_vfs::{Access, File};

/// Where samples are written.
pub(super) struct Store {
    storage: Arc<StorageContext>,
    /// The newest file's number; 0 where there is none.
    number: u64,
    file: Option<Arc<dyn File>>,
    /// The slot of the next sample.
    pub(super) slot: usize,
    /// Bytes of all files.
    bytes: u64,
}

impl Store {
    /// Goes on behind the last sample that survived.
    ///
    /// # Errors
    /// The directory or the newest file cannot be read or written.
    pub(super) fn open(storage: &Arc<StorageContext>) -> Result<Store> {
        let number = numbers(storage)?.last().copied().unwrap_or(0);
        let storage = Arc::clone(storage);
        let mut store = Store { storage, number, file: None, slot: SLOTS, bytes: 0 };
        if number > 0 {
            store.go_on()?;
        }
        store.measure()?;
        Ok(store)
    }

    /// Goes on with the newest file, where that may be.
    fn go_on(&mut self) -> Result<()> {
        let (storage, number) = (Arc::clone(&self.storage), self.number);
        let storage = &storage;
        let file = storage.fs.open(&path(storage, number), Access::ReadWrite)?;
        let bytes = content(&*file)?;
        match samples::check_header(&bytes) {
            Ok(true) => {}
            // A newer release goes on with it when it is back.
            Ok(false) => return Ok(()),
            Err(_) => {
                // It was not there long enough to be durable; the next one has another number.
                storage.fs.remove(&path(storage, number))?;
                storage.fs.sync_dir(&storage.dir)?;
                return Ok(());
            }
        }
        let slots: Vec<_> = samples::slots(&bytes).collect();
        assert!(slots.len() <= SLOTS, "a file has no more slots");
        self.slot = slots.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        for lost in (0..self.slot).filter(|slot| slots[*slot].is_none()) {
            let gap = encoded(&Slot::Gap);
            file.write_at(&gap, samples::offset(lost))?;
            storage.written.add(Purpose::Samples, gap.len() as u64);
        }
        file.set_len(samples::offset(self.slot))?;
        self.file = Some(file);
        Ok(())
    }

    /// Adds up what the files take.
    fn measure(&mut self) -> Result<()> {
        let mut bytes = 0;
        for number in numbers(&self.storage)? {
            bytes += self.storage.fs.open(&path(&self.storage, number), Access::Read)?.len()?;
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes a sample behind the others.
    ///
    /// # Errors
    /// It is not there then, and the next one takes its place. A failed sync of a file that was full.
    pub(super) fn append(&mut self, sample: &Sample) -> Result<()> {
        let bytes = encoded(&Slot::Sample(*sample));
        if let Some(file) = self.file.as_ref().filter(|_| self.slot < SLOTS) {
            file.write_at(&bytes, samples::offset(self.slot))?;
            self.storage.written.add(Purpose::Samples, bytes.len() as u64);
            self.bytes += bytes.len() as u64;
            self.slot += 1;
            return Ok(());
        }
        let synced = self.file.as_ref().map_or(Ok(()), |file| file.sync_data());
        self.begin(&bytes)?;
        synced
    }

    /// Begins the next file with a slot.
    fn begin(&mut self, slot: &[u8]) -> Result<()> {
        let number = self.number + 1;
        assert!(self.slot == SLOTS, "a file is full, or is not gone on with, before the next one");
        let file = self.storage.fs.create(&path(&self.storage, number), Access::ReadWrite)?;
        let bytes = [&samples::header(), slot].concat();
        file.write_at(&bytes, 0)?;
        self.storage.written.add(Purpose::Samples, bytes.len() as u64);
        (self.number, self.file, self.slot) = (number, Some(file), 1);
        // With it the names of files that are full: they survive from now on.
        self.storage.fs.sync_dir(&self.storage.dir)?;
        for old in numbers(&self.storage)? {
            if old + FILES as u64 <= number {
                self.storage.fs.remove(&path(&self.storage, old))?;
            }
        }
        self.measure()
    }
}

fn encoded(slot: &Slot) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(samples::SLOT_BYTES);
    samples::put(slot, &mut bytes);
    bytes
}

fn path(storage: &StorageContext, number: u64) -> PathBuf {
    storage.dir.join(FileKind::Samples(number).name())
}

/// The numbers of the files, rising.
fn numbers(storage: &StorageContext) -> Result<Vec<u64>> {
    let names = storage.fs.list(&storage.dir)?;
    let mut numbers: Vec<u64> = names
        .iter()
        .filter_map(|name| match FileKind::parse(name) {
            // A number that no database comes to is not of its files.
            Some(FileKind::Samples(number)) if number < u64::MAX / 2 => Some(number),
            _ => None,
        })
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// A file's bytes, as far as one of ours has any.
fn content(file: &dyn File) -> Result<Vec<u8>> {
    let len = file.len()?.min(samples::offset(SLOTS));
    Ok(file.read_at(0, len as usize)?.into_vec())
}

/// The bytes of a file; `None` where it has gone meanwhile.
fn file(storage: &StorageContext, number: u64) -> Result<Option<Vec<u8>>> {
    match storage.fs.open(&path(storage, number), Access::Read) {
        Ok(file) => content(&*file).map(Some),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// All samples that can be read, the newest last, at most those of a day. Their memory is counted while they are read.
///
/// # Errors
/// The directory or a file cannot be read.
pub(super) fn read(storage: &StorageContext) -> Result<Vec<Sample>> {
    let mut all = Vec::new();
    let most = (FILES * SLOTS * size_of::<Sample>()) as u64 + samples::offset(SLOTS);
    let _charge = storage.memory.charge(Part::Background, most);
    for number in numbers(storage)? {
        let Some(bytes) = file(storage, number)? else { continue };
        if samples::check_header(&bytes).is_ok_and(|ours| ours) {
            all.extend(samples::slots(&bytes).filter_map(|slot| match slot {
                Some(Slot::Sample(sample)) => Some(sample),
                _ => None,
            }));
        }
    }
    all.drain(..all.len().saturating_sub(onlap_base::limits::SAMPLES_KEPT));
    Ok(all)
}

/// What is wrong with the files: of all but the newest, which a crash may have torn, each byte is to be what was written.
///
/// # Errors
/// The directory or a file cannot be read.
pub(crate) fn check(storage: &StorageContext) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let numbers = numbers(storage)?;
    for number in &numbers[..numbers.len().saturating_sub(1)] {
        let Some(bytes) = file(storage, *number)? else { continue };
        let name = FileKind::Samples(*number).name();
        match samples::check_header(&bytes) {
            Ok(true) => {
                let damaged = samples::slots(&bytes).position(|slot| slot.is_none());
                found.extend(damaged.map(|slot| {
                    let at = samples::offset(slot);
                    format!("{name}, offset {at}: a sample of the database's figures is damaged")
                }));
            }
            Ok(false) => {}
            Err(e) => found.push(e.at(&name, 0).to_string()),
        }
    }
    Ok(found)
}
