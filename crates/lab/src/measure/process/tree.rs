//! Which processes belong to a server, and what does the kernel say of each?

use std::collections::HashSet;
use std::fs;

/// CPU time of one process, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub parent: u32,
    pub user_us: u64,
    pub system_us: u64,
    /// Of children that ended and were waited for.
    pub ended_us: u64,
}

/// A process's line in `/proc`.
pub(super) fn stat(id: u32) -> Option<Stat> {
    parse(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

fn parse(text: &str) -> Option<Stat> {
    // SAFETY: plain system call.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64;
    // The name before it may hold blanks and brackets.
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
    let us = |place: usize| Some(number(place)? * 1_000_000 / per_second);
    Some(Stat {
        parent: number(1)? as u32,
        user_us: us(11)?,
        system_us: us(12)?,
        ended_us: us(13)? + us(14)?,
    })
}

/// A process and its descendants.
pub(super) fn processes(root: u32) -> Vec<u32> {
    let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parents: Vec<(u32, u32)> = ids.filter_map(|id| Some((id, stat(id)?.parent))).collect();
    let (mut found, mut at) = (vec![root], 0);
    let mut seen = HashSet::from([root]);
    while at < found.len() {
        let parent = found[at];
        found
            .extend(parents.iter().filter(|(id, p)| *p == parent && seen.insert(*id)).map(|c| c.0));
        at += 1;
    }
    found
}

/// Context switches of the threads that a process has now.
pub(super) fn context_switches(id: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let of = |status: String| {
        super::field(&status, "voluntary_ctxt_switches:")
            + super::field(&status, "nonvoluntary_ctxt_switches:")
    };
    threads.filter_map(|t| fs::read_to_string(t.path().join("status")).ok()).map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn lines_with_odd_names_are_read() {
        let line = "7 (a) b) S 3 7 7 0 -1 0 0 0 0 0 100 50 10 20 20 0 1 0 5 0 0";
        let stat = parse(line).unwrap();
        assert_eq!((stat.parent, stat.user_us, stat.system_us), (3, 1_000_000, 500_000));
        assert_eq!(stat.ended_us, 300_000);
        assert_eq!(parse("7 (a"), None);
    }

    #[test]
    fn children_of_children_belong_to_it() {
        let mut shell = Command::new("sh").args(["-c", "sh -c 'sleep 9; :'; :"]).spawn().unwrap();
        let mut found = Vec::new();
        for _ in 0..200 {
            found = processes(shell.id());
            if found.len() == 3 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(found.len(), 3, "two shells and a sleep");
        assert!(context_switches(shell.id()) > 0);
        for id in found.iter().skip(1) {
            // SAFETY: plain system call on processes that this test started.
            unsafe { libc::kill(*id as libc::pid_t, libc::SIGKILL) };
        }
        shell.wait().unwrap();
    }
}
