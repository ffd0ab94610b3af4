use onlap_base::FileId;

use super::*;
use crate::testing::disk;

#[test]
fn a_doomed_file_goes_with_its_last_reference() {
    let (dir, context) = disk(64 << 20);
    let files = Files::new(&context);
    let kind = FileKind::Run(FileId(3));
    let path = dir.path().join(kind.name());
    std::fs::write(&path, b"x").unwrap();
    let (one, two) = (files.pin(kind, 10), files.pin(kind, 10).clone());
    drop(two);
    assert_eq!((files.sweep().unwrap(), path.exists()), (0, true));
    let other = one.clone();
    one.doom();
    drop(one);
    assert_eq!(files.kept_bytes(), 10);
    assert_eq!((files.sweep().unwrap(), path.exists()), (0, true));
    drop(other);
    assert_eq!(files.kept_bytes(), 0);
    assert_eq!((files.sweep().unwrap(), path.exists()), (1, false));
}

#[test]
fn orphans_go_and_strangers_stay() {
    let (dir, context) = disk(64 << 20);
    let files = Files::new(&context);
    let (live, dead) = (FileKind::Segment(FileId(1)), FileKind::Marks(FileId(2)));
    for name in [&live.name(), &dead.name(), "CURRENT.tmp", "notes.txt", "00000001.log"] {
        std::fs::write(dir.path().join(name), b"x").unwrap();
    }
    assert_eq!(files.remove_orphans(&HashSet::from([live])).unwrap(), 2);
    let left = context.fs.list(&context.dir).unwrap();
    assert_eq!(left, ["000000000001.seg", "00000001.log", "notes.txt"]);
}
