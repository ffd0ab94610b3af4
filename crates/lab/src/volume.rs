//! How is a device made that does only so many I/Os per second?
//!
//! A file becomes a loop device with direct I/O, whose requests are cut to a size, with ext4 on it, and the
//! kernel delays what exceeds the rate, reads and writes each for themselves. Cgroups of the first version
//! charge buffered writes to the root group, so that the limit lies there; those of the second limit the
//! group of the database ([`crate::confine`]). The device's own counters then tell exactly this
//! database's I/O. Whatever happens, everything is taken down again ([`crate::cleaner`]).

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use onlap_base::{Error, ErrorKind, Result};

use crate::cleaner::Cleaner;
use crate::confine;
use crate::units;

#[cfg(test)]
mod tests;

/// So many I/Os per second, of so many bytes at most, in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoLimit {
    /// I/Os per second.
    pub per_second: u64,
    /// Bytes of one at most.
    pub bytes: u64,
}

impl fmt::Display for IoLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}KiB", self.per_second, self.bytes >> 10)
    }
}

/// One limit or `none`.
pub fn parse_limit(text: &str) -> Result<Option<IoLimit>> {
    if text.trim() == "none" {
        return Ok(None);
    }
    let bad = |why: &str| {
        let text = format!("--io-limit {text}: {why}; such as 1000x16KiB, or none");
        Error::new(ErrorKind::InvalidInput, text)
    };
    let (count, size) = text.split_once('x').ok_or_else(|| bad("a number, x and a size"))?;
    let per_second = units::parse_count(count)?;
    let bytes = units::parse_size(size)?;
    if per_second == 0 {
        return Err(bad("at least 1 I/O per second"));
    }
    if !(4096..=1 << 20).contains(&bytes) || bytes % 4096 != 0 {
        return Err(bad("the size is a multiple of 4 KiB, at most 1 MiB"));
    }
    Ok(Some(IoLimit { per_second, bytes }))
}

/// Limits of a list such as `1000x16KiB,none`.
pub fn parse_limits(list: &str) -> Result<Vec<Option<IoLimit>>> {
    list.split(',').map(parse_limit).collect()
}

/// A mounted volume. Its processes must have ended when it is dropped.
pub struct Volume {
    mount: PathBuf,
    number: String,
    _cleaner: Cleaner,
}

/// Volumes made by this process.
static MADE: AtomicU64 = AtomicU64::new(0);

/// `$1` mount point, `$2` loop device, `$3` its file, `$4` its number, the rest files of limits.
const CLEAN: &str = r#"
mount=$1 device=$2 file=$3 number=$4; shift 4
for limit in "$@"; do echo "$number 0" > "$limit"; done
n=0
while grep -q " $mount " /proc/mounts && ! umount "$mount" 2>/dev/null; do
    n=$((n + 1))
    [ $n -lt 100 ] || { umount -l "$mount"; break; }
    sleep 0.1
done
losetup -d "$device"
rm -f "$file"
rmdir "$mount"
"#;

impl Volume {
    /// Makes one of `bytes` in a directory.
    pub fn create(parent: &Path, limit: IoLimit, bytes: u64) -> Result<Volume> {
        let limits = limit_files()?;
        fs::create_dir_all(parent)?;
        let parent = parent.canonicalize()?;
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("onlap-volume-{}-{made}", std::process::id());
        let (file, mount) = (parent.join(format!("{name}.img")), parent.join(name));
        fs::File::create(&file)?.set_len(bytes)?;
        let made = || -> Result<String> {
            fs::create_dir(&mount)?;
            let path = file.as_os_str();
            let flags = ["--find", "--show", "--direct-io=on"];
            run(Command::new("losetup").args(flags).arg(path))
        };
        let device = made().inspect_err(|_| {
            let _ = fs::remove_file(&file);
            let _ = fs::remove_dir(&mount);
        })?;
        let sys = Path::new("/sys/block").join(device.trim_start_matches("/dev/"));
        let number = fs::read_to_string(sys.join("dev")).unwrap_or_default().trim().to_owned();
        let mut arguments =
            vec![mount.clone().into_os_string(), (&device).into(), file.into(), (&number).into()];
        arguments.extend(limits.iter().map(|path| path.clone().into_os_string()));
        // From here on the cleaner takes down what is there.
        let cleaner = Cleaner::start(CLEAN, &arguments)?;
        fs::write(sys.join("queue/max_sectors_kb"), (limit.bytes >> 10).to_string())?;
        // No work of the file system's own comes later.
        let eager = ["-q", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0"];
        run(Command::new("mkfs.ext4").args(eager).arg(&device))?;
        run(Command::new("mount").args(["-o", "noatime"]).arg(&device).arg(&mount))?;
        for path in &limits {
            fs::write(path, format!("{number} {}", limit.per_second))?;
        }
        Ok(Volume { mount, number, _cleaner: cleaner })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.mount
    }

    /// The device's number, such as `7:0`.
    pub fn number(&self) -> &str {
        &self.number
    }
}

/// Fails with what is missing where no volume can be made.
pub fn check() -> Result<()> {
    limit_files().map(drop)
}

/// Files that take the limit of a device for everybody; none where groups of the second version do.
fn limit_files() -> Result<Vec<PathBuf>> {
    let unable = |text: &str| Error::new(ErrorKind::Unsupported, format!("--io-limit {text}"));
    // SAFETY: plain system call.
    if unsafe { libc::geteuid() } != 0 {
        return Err(unable("needs root on Linux: it mounts a loop device and limits it"));
    }
    for (program, package) in [("losetup", "mount"), ("mkfs.ext4", "e2fsprogs"), ("mount", "mount")]
    {
        let found = ["/sbin", "/usr/sbin", "/bin", "/usr/bin"];
        if !found.iter().any(|dir| Path::new(dir).join(program).exists()) {
            return Err(unable(&format!("needs {program}: apt-get install {package}")));
        }
    }
    if !Path::new("/dev/loop-control").exists() {
        return Err(unable("needs loop devices: there is no /dev/loop-control"));
    }
    let first = Path::new("/sys/fs/cgroup/blkio");
    let names = ["blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device"];
    if first.join(names[0]).exists() {
        let mut groups = vec![first.to_owned()];
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let own = own.lines().find_map(|line| line.split_once(":blkio:/")).map(|(_, path)| path);
        groups.extend(own.filter(|path| !path.is_empty()).map(|path| first.join(path)));
        return Ok(groups.iter().flat_map(|g| names.map(|name| g.join(name))).collect());
    }
    match confine::limits_devices() {
        true => Ok(Vec::new()),
        false => Err(unable("needs the blkio controller (cgroup v1) or the io controller (v2)")),
    }
}

/// Runs a program; what it prints, without the last line's end.
fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|e| Error::new(ErrorKind::Io, format!("cannot start {name}: {e}")))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(Error::new(ErrorKind::Io, format!("{name} failed: {}", said.trim())))
        }
    }
}
