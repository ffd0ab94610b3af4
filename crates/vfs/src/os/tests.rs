use super::*;
use crate::AlignedBuf;
use onlap_base::Rng;

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory can be made")
}

#[test]
fn what_is_written_is_read() {
    let dir = directory();
    let fs = OsFs::new();
    let path = dir.path().join("a");
    let file = fs.create(&path, Access::ReadWrite).unwrap();
    file.write_at(b"hello world", 5).unwrap();
    assert_eq!(file.len().unwrap(), 16);
    assert_eq!(&*file.read_at(0, 16).unwrap(), b"\0\0\0\0\0hello world");
    assert_eq!(file.read_at(11, 5).unwrap().into_vec(), b"world");
    assert_eq!(&*file.read_at(16, 0).unwrap(), b"");
    file.set_len(7).unwrap();
    let early = file.read_at(4, 10).unwrap_err();
    assert_eq!(early.kind(), ErrorKind::Corruption);
    assert_eq!(early.place().unwrap().file, "a");
    assert_eq!(early.place().unwrap().offset, 4);
    drop(fs.create(&path, Access::ReadWrite).unwrap());
    assert_eq!(file.len().unwrap(), 0, "create empties a file of that name");
}

#[test]
fn direct_reads_need_no_alignment_of_the_caller() {
    let dir = directory();
    let fs = OsFs::new();
    let path = dir.path().join("a");
    let mut bytes = vec![0; 3 * ALIGN + 777];
    Rng::new(1).fill(&mut bytes);
    let file = fs.create(&path, Access::ReadWrite).unwrap();
    file.write_at(&bytes, 0).unwrap();
    file.sync_data().unwrap();
    file.drop_cache();
    let direct = fs.open(&path, Access::ReadDirect).unwrap();
    let mut rng = Rng::new(2);
    for _ in 0..500 {
        let from = rng.index(bytes.len());
        let len = rng.index(bytes.len() - from + 1);
        assert_eq!(&*direct.read_at(from as u64, len).unwrap(), &bytes[from..from + len]);
    }
    for (from, len) in [(0, 1), (ALIGN - 1, 2), (ALIGN, ALIGN), (0, bytes.len())] {
        assert_eq!(&*direct.read_at(from as u64, len).unwrap(), &bytes[from..from + len]);
    }
    for (from, len) in [(0, bytes.len() + 1), (bytes.len(), 1), (5 * ALIGN, 10)] {
        let early = direct.read_at(from as u64, len).unwrap_err();
        assert_eq!(early.kind(), ErrorKind::Corruption, "{from} {len}");
    }
}

#[test]
fn direct_writes_take_what_is_aligned_and_lose_nothing_of_the_rest() {
    let dir = directory();
    let fs = OsFs::new();
    let mut bytes = vec![0; 5 * ALIGN + 777];
    Rng::new(3).fill(&mut bytes);
    for (name, sizes) in [("whole", &[5][..]), ("parts", &[1, 1, 3]), ("none", &[])] {
        let path = dir.path().join(name);
        let file = fs.create(&path, Access::WriteDirect).unwrap();
        let (mut buffer, mut at) = (AlignedBuf::new(bytes.len()), 0);
        for pages in sizes {
            buffer.clear();
            buffer.extend(&bytes[at..at + pages * ALIGN]);
            file.write_at(&buffer, at as u64).unwrap();
            at += pages * ALIGN;
            assert_eq!(file.len().unwrap(), at as u64);
        }
        // Neither of these is aligned.
        file.write_at(&bytes[at..at + 700], at as u64).unwrap();
        file.write_at(&bytes[at + 700..], at as u64 + 700).unwrap();
        file.write_back(0, bytes.len() as u64);
        file.sync_data().unwrap();
        file.drop_cache();
        assert_eq!(&*file.read_at(0, bytes.len()).unwrap(), &bytes[..], "{name}");
        let read = fs.open(&path, Access::ReadDirect).unwrap();
        assert_eq!(&*read.read_at(0, bytes.len()).unwrap(), &bytes[..], "{name}");
    }
}

#[test]
fn names_come_and_go() {
    let dir = directory();
    let fs = OsFs::new();
    let deep = dir.path().join("x/y/z");
    fs.create_dir_all(&deep).unwrap();
    fs.create_dir_all(&deep).unwrap();
    for name in ["b", "a", "c"] {
        fs.create(&deep.join(name), Access::ReadWrite).unwrap().write_at(b"1", 0).unwrap();
    }
    assert_eq!(fs.list(&deep).unwrap(), ["a", "b", "c"]);
    fs.rename(&deep.join("a"), &deep.join("b")).unwrap();
    fs.hard_link(&deep.join("b"), &deep.join("d")).unwrap();
    assert!(fs.hard_link(&deep.join("b"), &deep.join("d")).is_err());
    fs.remove(&deep.join("c")).unwrap();
    fs.sync_dir(&deep).unwrap();
    assert_eq!(fs.list(&deep).unwrap(), ["b", "d"]);
    assert!(fs.exists(&deep.join("b")).unwrap() && fs.exists(&deep).unwrap());
    assert!(!fs.exists(&deep.join("a")).unwrap());
    let missing = fs.open(&deep.join("a"), Access::Read).map(drop).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(missing.message().contains("x/y/z/a"), "{missing}");
    assert!(fs.create_dir_all(&deep.join("b")).is_err(), "a file is no directory");
    assert!(fs.free_bytes(&deep).unwrap() > 0);
}

#[test]
fn a_second_owner_is_refused_with_the_first_ones_pid() {
    let dir = directory();
    let path = dir.path().join("LOCK");
    let held = OsFs::new().lock(&path).unwrap();
    let refused = OsFs::new().lock(&path).map(drop).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Locked);
    let pid = std::process::id().to_string();
    assert!(refused.message().contains(&pid), "{refused}");
    drop(held);
    drop(OsFs::new().lock(&path).unwrap());
}

#[test]
fn the_pid_of_another_process_is_named() {
    let dir = directory();
    let path = dir.path().join("LOCK");
    let script = "echo $$ > \"$0\"; exec flock \"$0\" sh -c 'echo ready; read line'";
    let child = std::process::Command::new("sh")
        .args(["-c", script, path.to_str().expect("a temporary path is text")])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let mut child = child.expect("sh runs");
    let pid = child.id().to_string();
    let mut ready = [0u8; 6];
    std::io::Read::read_exact(child.stdout.as_mut().expect("a pipe was asked for"), &mut ready)
        .expect("flock(1) is part of every Linux");
    let refused = OsFs::new().lock(&path).map(drop).unwrap_err();
    assert!(refused.message().contains(&format!("process {pid}")), "{refused}");
    drop(child.stdin.take());
    child.wait().expect("the child ends when its input does");
    drop(OsFs::new().lock(&path).unwrap());
}

#[test]
fn space_is_reserved_and_counted() {
    let dir = directory();
    let fs = OsFs::new();
    let file = fs.create(&dir.path().join("log"), Access::ReadWrite).unwrap();
    file.write_at(b"abc", 0).unwrap();
    let before = fs.counters().now();
    file.allocate(1 << 20).unwrap();
    assert_eq!(file.len().unwrap(), 1 << 20);
    assert_eq!(&*file.read_at(0, 5).unwrap(), b"abc\0\0");
    file.allocate(10).unwrap();
    assert_eq!(file.len().unwrap(), 1 << 20, "reserving never cuts");
    file.write_at(&[7; 1000], 100).unwrap();
    file.sync_data().unwrap();
    file.sync_all().unwrap();
    file.prefetch(0, 4096);
    let done = fs.counters().now().since(before);
    assert_eq!((done.writes, done.written_bytes, done.syncs), (1, 1000, 2));
    assert_eq!((done.reads, done.read_bytes), (1, 5));
}

#[test]
fn interrupted_and_short_writes_go_on_where_they_were() {
    let mut rng = Rng::new(3);
    for _ in 0..200 {
        let mut bytes = vec![0; 1 + rng.index(5000)];
        rng.fill(&mut bytes);
        let mut file = vec![0; bytes.len() + 100];
        let mut calls = 0;
        write_by(&bytes, 100, |part, at| {
            calls += 1;
            if rng.chance(0.3) {
                return Err(Errno::INTR);
            }
            let n = 1 + rng.index(part.len());
            file[at as usize..at as usize + n].copy_from_slice(&part[..n]);
            Ok(n)
        })
        .unwrap();
        assert!(file[100..] == bytes[..] && calls > 0);
    }
    assert_eq!(write_by(b"x", 0, |_, _| Ok(0)), Err(Errno::NOSPC));
    assert_eq!(write_by(b"x", 0, |_, _| Err(Errno::IO)), Err(Errno::IO));
}
