//! How many files may this process open still?

use rustix::fs::{Dir, Mode, OFlags, open, stat};
use rustix::process::{Resource, getrlimit};

/// Where the kernel lists the descriptors of this process.
const LIST: &str = "/proc/self/fd";

/// How many descriptors this process has open and how many it may have; `None` where the system does not say.
///
/// Linux since 6.2 tells the number as the size of the list (proc_pid_fd(5)); older kernels say 0 there, and the
/// entries are counted.
pub fn open_files() -> Option<(u64, u64)> {
    let limit = getrlimit(Resource::Nofile).current?;
    let told = u64::try_from(stat(LIST).ok()?.st_size).unwrap_or(0);
    Some((if told > 0 { told } else { counted()? }, limit))
}

/// The entries of the list, without the one that reading it opens, and those of the directory and the one above it.
fn counted() -> Option<u64> {
    let list = open(LIST, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let entries = Dir::new(list.ok()?).ok()?.count();
    Some(entries.saturating_sub(3) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;

    /// Other tests of this program open and close a few files meanwhile.
    const OTHERS: u64 = 40;

    fn one() -> OwnedFd {
        open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).expect("below the limit")
    }

    #[test]
    fn what_is_opened_counts() {
        for ways in [|| open_files().map(|(open, _)| open), counted] {
            let held: Vec<OwnedFd> = (0..100).map(|_| one()).collect();
            let full = ways().expect("a number");
            assert!(full >= 100, "{full} open files, 100 are held");
            drop(held);
            let less = ways().expect("a number");
            assert!(
                less + 100 <= full + OTHERS,
                "{less} of {full} open files after 100 were closed"
            );
        }
    }

    #[test]
    fn a_low_number_that_is_free_hides_no_others() {
        let low = one();
        let held: Vec<OwnedFd> = (0..100).map(|_| one()).collect();
        drop(low);
        let (open, limit) = open_files().expect("a limit");
        assert!(open >= 100 && open < limit, "{open} of {limit}");
        drop(held);
    }
}
