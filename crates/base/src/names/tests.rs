use super::*;

#[test]
fn every_kind_comes_back() {
    let kinds = [
        FileKind::Lock,
        FileKind::Current,
        FileKind::Manifest(0),
        FileKind::Manifest(u64::MAX),
        FileKind::Samples(1),
        FileKind::Activity,
        FileKind::Log(3),
        FileKind::Log(1_234_567_890),
        FileKind::Segment(FileId(1)),
        FileKind::Run(FileId(999_999_999_999)),
        FileKind::Run(FileId(1_000_000_000_000)),
        FileKind::Marks(FileId(42)),
    ];
    for kind in kinds {
        assert_eq!(FileKind::parse(&kind.name()), Some(kind), "{}", kind.name());
        assert_eq!(FileKind::parse(&temporary(&kind.name())), Some(FileKind::Temporary));
    }
}

#[test]
fn foreign_names_are_not_ours() {
    let foreign = [
        "",
        ".",
        "..",
        ".tmp",
        "lock",
        "LOCK ",
        "7.log",
        "0000000007.log",
        "00000007.LOG",
        "00000007.log.gz",
        "+0000007.log",
        "manifest-",
        "manifest-7",
        "manifest--0000007",
        "samples-7",
        "samples-0000000x",
        "000000000007.sst",
        "000000000007.",
        "99999999999999999999999.seg",
        "ä0000000.log",
    ];
    for name in foreign {
        assert_eq!(FileKind::parse(name), None, "{name:?}");
    }
}
