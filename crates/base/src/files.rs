//! How many files may this process open still?

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Resource, getrlimit};
use std::os::fd::AsRawFd as _;

/// How many descriptors of this process are taken, about, and how many it may have; `None` where the system does not say.
///
/// A new descriptor is the lowest that is free: as processes close what they opened last or all of it, its
/// number tells how many there are.
pub fn open_files() -> Option<(u64, u64)> {
    let limit = getrlimit(Resource::Nofile).current?;
    let taken = match open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
        Ok(lowest) => lowest.as_raw_fd().unsigned_abs().into(),
        Err(rustix::io::Errno::MFILE) => limit,
        Err(_) => return None,
    };
    Some((taken, limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_opened_counts() {
        let (before, limit) = open_files().expect("a limit");
        let open = || open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let files: Vec<_> = (0..60).map(|_| open().expect("below the limit")).collect();
        let (now, same) = open_files().expect("a limit");
        assert!(now >= before + 40 && now < limit && same == limit, "{before} {now} {limit}");
        drop(files);
    }
}
