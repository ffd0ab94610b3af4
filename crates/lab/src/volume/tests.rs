use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Instant;

use super::*;
use crate::measure::device::DeviceIo;

#[test]
fn limits_are_read() {
    let limits = parse_limits("1000x16KiB,10kx4k,none").unwrap();
    assert_eq!(limits[0], Some(IoLimit { per_second: 1000, bytes: 16 << 10 }));
    assert_eq!(limits[0].unwrap().to_string(), "1000x16KiB");
    assert_eq!(limits[1], Some(IoLimit { per_second: 10_000, bytes: 4 << 10 }));
    assert_eq!(limits[2], None);
    for bad in ["1000", "x16KiB", "0x16KiB", "1000x1B", "1000x16Kib", "1000x5000", "nine"] {
        assert_eq!(parse_limit(bad).unwrap_err().kind(), ErrorKind::InvalidInput, "{bad}");
    }
}

/// The kernel delays what exceeds the rate, the counters tell it, and nothing is left.
#[test]
fn a_volume_limits_and_goes() {
    if let Err(e) = check() {
        // Not root, or a machine without loop devices: then the error says so.
        return assert!(e.to_string().starts_with("--io-limit needs"), "{e}");
    }
    let parent = crate::workload::RunDir::create(None, "volume").unwrap();
    let limit = IoLimit { per_second: 100, bytes: 16 << 10 };
    let volume = Volume::create(parent.path(), limit, 64 << 20).unwrap();
    let mount = volume.path().to_owned();
    let before = DeviceIo::of(&mount).expect("it is a device of its own");
    let direct = fs::OpenOptions::new()
        .create(true)
        .write(true)
        .custom_flags(libc::O_SYNC)
        .open(mount.join("x"))
        .unwrap();
    let began = Instant::now();
    (&direct).write_all(&vec![1; 1 << 20]).unwrap();
    drop(direct);
    let io = DeviceIo::of(&mount).unwrap().since(&before);
    assert!(io.writes >= 64, "one I/O for every 16 KiB: {io:?}");
    assert!(io.write_bytes >= 1 << 20, "{io:?}");
    // With cgroups of the second version only a group would be limited, and this test is in none.
    if !confine::limits_devices() {
        assert!(began.elapsed().as_secs_f64() > 0.3, "64 I/Os at 100 per second");
    }
    drop(volume);
    assert!(!mount.exists());
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    assert!(!mounts.contains(mount.to_str().unwrap()));
}
