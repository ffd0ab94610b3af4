//! What starting a server needs of the operating system: users, ports, an end with its parent.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use onlap_base::Result;

use super::{failed, io};

/// A command whose process is killed when this one is, however it ends.
pub(super) fn end_with_parent(command: &mut Command) {
    // SAFETY: one system call, allowed between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
        // Ctrl-C is for the bench, which stops its servers in order.
        command.process_group(0);
    }
}

pub(super) fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(io)?;
    Ok(listener.local_addr().map_err(io)?.port())
}

/// A server that refuses to run as root is run by root as the user of its Debian package.
pub(super) fn as_user<'c>(command: &'c mut Command, user: &str) -> &'c mut Command {
    if is_root()
        && let Some((uid, gid)) = ids_of(user)
    {
        command.uid(uid).gid(gid);
    }
    command.current_dir("/")
}

/// Gives a directory to a user, where this process may.
pub(super) fn give_to(dir: &Path, user: &str) -> Result<()> {
    if !is_root() {
        return Ok(());
    }
    let (uid, gid) = ids_of(user)
        .ok_or_else(|| failed(format!("there is no user {user} to run the server as")))?;
    // Others have to come through the directories above.
    for above in dir.ancestors().skip(1).take_while(|d| d.parent().is_some()) {
        use std::os::unix::fs::PermissionsExt;
        if let Ok(meta) = std::fs::metadata(above) {
            let mode = meta.permissions().mode() | 0o011;
            let _ = std::fs::set_permissions(above, std::fs::Permissions::from_mode(mode));
        }
    }
    std::os::unix::fs::chown(dir, Some(uid), Some(gid)).map_err(io)
}

fn is_root() -> bool {
    // SAFETY: plain system call.
    unsafe { libc::geteuid() == 0 }
}

/// A user's number and group in /etc/passwd.
fn ids_of(user: &str) -> Option<(u32, u32)> {
    let passwd = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = passwd.lines().find(|line| line.split(':').next() == Some(user))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
