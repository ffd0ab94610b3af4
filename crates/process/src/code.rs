//! Which pages of the program's own code stay in memory?
//!
//! The start runs through most of the code once, to register functions and to set up tables; the kernel counts each page
//! that was touched, and its neighbours, as resident memory of the process from then on: some 70 MiB, of which serving
//! needs a third. Statements of many kinds touch most of it again. [`give_back`] lets go of the pages. What is needed again
//! comes from the page cache, or from the file.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use onlap_base::clock::{Clock, SystemClock};

/// Between two times: the code of statements that run now is mapped again each time, some hundreds of faults that read
/// nothing.
const EVERY_NS: u64 = 100_000_000;

/// Lets go of the pages of this program's code that are in memory, ten times a second at most. Does nothing where the kernel is
/// not Linux, or tells nothing of its mappings.
pub fn give_back() {
    static LAST_NS: AtomicU64 = AtomicU64::new(0);
    let (now, last) = (SystemClock.monotonic_ns().max(1), LAST_NS.load(Ordering::Relaxed));
    if last == 0 || now.saturating_sub(last) >= EVERY_NS {
        LAST_NS.store(now, Ordering::Relaxed);
        drop_code();
    }
}

fn drop_code() {
    static CODE: OnceLock<Vec<Range<usize>>> = OnceLock::new();
    let code = CODE.get_or_init(|| {
        let Ok(program) = std::env::current_exe() else { return Vec::new() };
        let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return Vec::new() };
        code_of(&maps, &program.to_string_lossy())
    });
    code.iter().cloned().for_each(drop_pages);
}

/// Ranges of addresses where the code of a program lies, from the lines `from-to rights offset device inode path` of
/// `/proc/self/maps`.
fn code_of(maps: &str, program: &str) -> Vec<Range<usize>> {
    let range = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (addresses, rights) = (words.next()?, words.next()?);
        let offset = words.next()?;
        // Constants that lie with the file's header were never to be changed: with them lies what the program was put
        // to its address with, which is not needed again. Others were changed then, and are left alone.
        let is_head = rights == "r--p" && offset.bytes().all(|digit| digit == b'0');
        let is_code = (rights == "r-xp" || is_head) && words.nth(2) == Some(program);
        let (from, to) = addresses.split_once('-')?;
        let address = |text: &str| usize::from_str_radix(text, 16).ok();
        is_code.then_some(address(from)?..address(to)?)
    };
    maps.lines().filter_map(range).collect()
}

#[cfg(target_os = "linux")]
fn drop_pages(range: Range<usize>) {
    // SAFETY: the range is a mapping of the program's file that was never to be written, so its pages are those of the
    // file; where one is needed again, the kernel maps it anew.
    unsafe {
        libc::madvise(range.start as *mut libc::c_void, range.len(), libc::MADV_DONTNEED);
    }
}

#[cfg(not(target_os = "linux"))]
fn drop_pages(_: Range<usize>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_found_among_mappings() {
        let maps = "5500-5600 r--p 00000000 fd:00 7 /bin/onlap\n\
                    5600-5a00 r-xp 00100000 fd:00 7 /bin/onlap\n\
                    5a00-5a80 r--p 00500000 fd:00 7 /bin/onlap\n\
                    5a80-5b00 rw-p 00580000 fd:00 7 /bin/onlap\n\
                    7f00-7f10 r-xp 00000000 fd:00 9 /lib/libc.so.6\n\
                    7ffc-7ffd r-xp 00000000 00:00 0 [vdso]\n";
        assert_eq!(code_of(maps, "/bin/onlap"), [0x5500..0x5600, 0x5600..0x5a00]);
        assert!(code_of("nothing of the kind", "/bin/onlap").is_empty());
    }

    #[test]
    fn code_runs_on_without_its_pages() {
        drop_code();
        assert_eq!(code_of("1-2 r-xp 0 0 0 x\n", "x"), [1..2]);
    }
}
