use super::*;

fn made(fs: &MemFs, path: &str, bytes: &[u8]) -> Arc<dyn File> {
    let file = fs.create(Path::new(path), Access::ReadWrite).unwrap();
    file.write_at(bytes, 0).unwrap();
    file
}

fn content(fs: &MemFs, path: &str) -> Option<Vec<u8>> {
    let file = fs.open(Path::new(path), Access::Read).ok()?;
    let len = file.len().unwrap() as usize;
    Some(file.read_at(0, len).unwrap().into_vec())
}

fn database() -> MemFs {
    let fs = MemFs::new();
    fs.create_dir_all(Path::new("/db")).unwrap();
    fs
}

const SHARES: [f64; 3] = [0.0, 0.5, 1.0];

#[test]
fn what_is_synced_survives_every_crash() {
    let fs = database();
    let bytes: Vec<u8> = (0..20_000u32).map(|i| i as u8).collect();
    made(&fs, "/db/a", &bytes).sync_data().unwrap();
    fs.sync_dir(Path::new("/db")).unwrap();
    for seed in 0..50 {
        for share in SHARES {
            assert_eq!(content(&fs.crash(seed, share), "/db/a"), Some(bytes.clone()));
        }
    }
}

#[test]
fn without_syncs_nothing_survives_at_share_zero_and_all_at_share_one() {
    let fs = database();
    made(&fs, "/db/a", b"new").sync_all().unwrap();
    assert_eq!(content(&fs.crash(1, 0.0), "/db/a"), None, "the name was not synced");
    assert_eq!(content(&fs.crash(1, 1.0), "/db/a"), Some(b"new".to_vec()));

    let fs = database();
    made(&fs, "/db/a", b"new");
    fs.sync_dir(Path::new("/db")).unwrap();
    assert_eq!(content(&fs.crash(1, 0.0), "/db/a"), Some(vec![]), "the bytes were not synced");
}

#[test]
fn a_torn_write_keeps_old_or_new_sectors_only() {
    let fs = database();
    let file = made(&fs, "/db/a", &[1; 16 * 512]);
    file.sync_all().unwrap();
    fs.sync_dir(Path::new("/db")).unwrap();
    file.write_at(&[2; 10 * 512], 512).unwrap();
    let (mut torn, mut whole) = (0, 0);
    for seed in 0..100 {
        let after = content(&fs.crash(seed, 0.5), "/db/a").unwrap();
        assert_eq!(after.len(), 16 * 512);
        let sectors: Vec<u8> = after.chunks(512).map(|sector| sector[0]).collect();
        assert!(after.chunks(512).all(|s| s.iter().all(|b| *b == s[0])), "seed {seed}");
        assert_eq!((sectors[0], &sectors[11..]), (1, &[1u8; 5][..]), "untouched, seed {seed}");
        match sectors[1..11].iter().filter(|&&b| b == 2).count() {
            0 | 10 => whole += 1,
            _ => torn += 1,
        }
    }
    assert!(torn > 20 && whole > 5, "{torn} torn, {whole} whole");
}

#[test]
fn an_append_may_end_anywhere() {
    let fs = database();
    let file = made(&fs, "/db/a", &[1; 1000]);
    file.sync_all().unwrap();
    fs.sync_dir(Path::new("/db")).unwrap();
    file.write_at(&[2; 5000], 1000).unwrap();
    let mut lengths = BTreeSet::new();
    for seed in 0..60 {
        let after = content(&fs.crash(seed, 0.5), "/db/a").unwrap();
        assert_eq!(after[..1000], [1; 1000]);
        assert!(after[1000..].iter().all(|&b| b == 0 || b == 2));
        lengths.insert(after.len());
    }
    assert!(lengths.contains(&1000) && lengths.contains(&6000) && lengths.len() > 5, "{lengths:?}");
}

#[test]
fn a_rename_is_atomic() {
    let fs = database();
    made(&fs, "/db/CURRENT", b"old").sync_all().unwrap();
    fs.sync_dir(Path::new("/db")).unwrap();
    made(&fs, "/db/CURRENT.tmp", b"new").sync_all().unwrap();
    fs.rename(Path::new("/db/CURRENT.tmp"), Path::new("/db/CURRENT")).unwrap();
    let (mut old, mut new) = (0, 0);
    for seed in 0..50 {
        match content(&fs.crash(seed, 0.5), "/db/CURRENT").as_deref() {
            Some(b"old") => old += 1,
            Some(b"new") => new += 1,
            other => panic!("seed {seed}: {other:?}"),
        }
    }
    assert!(old > 0 && new > 0);
    fs.sync_dir(Path::new("/db")).unwrap();
    let after = fs.crash(3, 0.0);
    assert_eq!(content(&after, "/db/CURRENT"), Some(b"new".to_vec()));
    assert_eq!(after.list(Path::new("/db")).unwrap(), ["CURRENT"]);
}

#[test]
fn a_removed_name_may_come_back() {
    let fs = database();
    let file = made(&fs, "/db/a", b"kept");
    file.sync_all().unwrap();
    fs.sync_dir(Path::new("/db")).unwrap();
    fs.remove(Path::new("/db/a")).unwrap();
    assert_eq!(content(&fs, "/db/a"), None);
    assert_eq!(&*file.read_at(0, 4).unwrap(), b"kept", "who has it open goes on using it");
    assert_eq!(content(&fs.crash(1, 0.0), "/db/a"), Some(b"kept".to_vec()));
    fs.sync_dir(Path::new("/db")).unwrap();
    assert_eq!(content(&fs.crash(1, 0.0), "/db/a"), None);
}

#[test]
fn a_cut_that_was_not_synced_may_be_undone() {
    let fs = database();
    let file = made(&fs, "/db/a", &[5; 2000]);
    file.sync_all().unwrap();
    fs.sync_dir(Path::new("/db")).unwrap();
    file.set_len(700).unwrap();
    assert_eq!(content(&fs.crash(1, 0.0), "/db/a"), Some(vec![5; 2000]));
    assert_eq!(content(&fs.crash(1, 1.0), "/db/a"), Some(vec![5; 700]));
    file.set_len(1500).unwrap();
    file.sync_data().unwrap();
    let after = content(&fs.crash(1, 0.0), "/db/a").unwrap();
    assert_eq!((&after[..700], &after[700..]), (&[5; 700][..], &[0; 800][..]));
}

#[test]
fn links_share_their_bytes_across_a_crash() {
    let fs = database();
    made(&fs, "/db/a", b"one").sync_all().unwrap();
    fs.hard_link(Path::new("/db/a"), Path::new("/db/b")).unwrap();
    assert!(fs.hard_link(Path::new("/db/a"), Path::new("/db/b")).is_err());
    fs.sync_dir(Path::new("/db")).unwrap();
    let after = fs.crash(9, 0.5);
    let a = after.open(Path::new("/db/a"), Access::ReadWrite).unwrap();
    a.write_at(b"two", 0).unwrap();
    assert_eq!(content(&after, "/db/b"), Some(b"two".to_vec()));
    assert_eq!(content(&fs, "/db/b"), Some(b"one".to_vec()), "the first machine goes on unharmed");
}

#[test]
fn the_same_seed_crashes_the_same_way() {
    let fs = database();
    let file = made(&fs, "/db/a", &[1; 9000]);
    file.sync_data().unwrap();
    file.write_at(&[2; 9000], 3000).unwrap();
    made(&fs, "/db/b", b"x");
    let look = |seed| {
        let after = fs.crash(seed, 0.5);
        (content(&after, "/db/a"), content(&after, "/db/b"))
    };
    assert!((0..20).all(|seed| look(seed) == look(seed)));
    assert!((1..20).any(|seed| look(seed) != look(0)));
}

#[test]
fn a_full_disk_refuses_and_recovers() {
    let fs = MemFs::with_capacity(1000);
    let file = made(&fs, "a", &[1; 900]);
    assert_eq!(file.write_at(&[2; 200], 850).unwrap_err().kind(), ErrorKind::DiskFull);
    assert_eq!(file.allocate(1001).unwrap_err().kind(), ErrorKind::DiskFull);
    assert_eq!(content(&fs, "a"), Some(vec![1; 900]));
    file.write_at(&[2; 100], 900).unwrap();
    assert_eq!(fs.free_bytes(Path::new(".")).unwrap(), 0);
    fs.remove(Path::new("a")).unwrap();
    made(&fs, "b", &[3; 1000]);
}

#[test]
fn names_behave_as_on_a_disk() {
    let fs = database();
    assert_eq!(
        fs.open(Path::new("/db/x"), Access::Read).err().unwrap().kind(),
        ErrorKind::NotFound
    );
    assert!(fs.create(Path::new("/nowhere/x"), Access::ReadWrite).is_err());
    made(&fs, "/db/b", b"");
    made(&fs, "/db/a", b"old bytes");
    fs.create_dir_all(Path::new("/db/sub/deep")).unwrap();
    assert_eq!(fs.list(Path::new("/db")).unwrap(), ["a", "b", "sub"]);
    assert_eq!(fs.list(Path::new("/")).unwrap(), ["db"]);
    assert!(fs.create_dir_all(Path::new("/db/a/c")).is_err());
    drop(fs.create(Path::new("/db/a"), Access::ReadWrite).unwrap());
    assert_eq!(content(&fs, "/db/a"), Some(vec![]), "create empties a file of that name");
    let file = made(&fs, "/db/a", b"abc");
    let early = file.read_at(2, 2).unwrap_err();
    assert_eq!(early.place().unwrap().file, "a");
    assert_eq!(early.kind(), ErrorKind::Corruption);
}

#[test]
fn one_owner_at_a_time() {
    let fs = database();
    let path = Path::new("/db/LOCK");
    let held = fs.lock(path).unwrap();
    let refused = fs.lock(path).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::Locked);
    assert!(refused.message().contains(&std::process::id().to_string()));
    drop(fs.crash(0, 1.0).lock(path).unwrap());
    drop(held);
    drop(fs.lock(path).unwrap());
}

#[test]
fn a_failed_sync_loses_its_bytes_whatever_later_syncs_say() {
    let fs = database();
    let file = made(&fs, "/db/a.log", &[1; 1024]);
    file.sync_all().unwrap();
    fs.sync_dir(Path::new("/db")).unwrap();
    file.write_at(&[2; 512], 0).unwrap();
    fs.fail_next_sync(".log");
    made(&fs, "/db/b.seg", b"other files are not met").sync_all().unwrap();
    assert_eq!(file.sync_data().unwrap_err().kind(), ErrorKind::Io);
    file.write_at(&[3; 512], 512).unwrap();
    file.sync_data().unwrap();
    assert_eq!(content(&fs, "/db/a.log"), Some([[2; 512], [3; 512]].concat()), "still readable");
    let after = content(&fs.crash(1, 1.0), "/db/a.log");
    assert_eq!(after, Some([[1; 512], [3; 512]].concat()), "the disk never got the first half");
    file.write_at(&[2; 512], 0).unwrap();
    file.sync_data().unwrap();
    let after = content(&fs.crash(1, 0.0), "/db/a.log");
    assert_eq!(after, Some([[2; 512], [3; 512]].concat()), "written again, it does");
}

#[test]
fn an_earlier_write_may_survive_without_the_last_one() {
    let fs = database();
    let file = made(&fs, "/db/a", &[1; 2048]);
    file.sync_all().unwrap();
    fs.sync_dir(Path::new("/db")).unwrap();
    for byte in 2..=4 {
        file.write_at(&[byte; 512], 512).unwrap();
    }
    let mut seen = BTreeSet::new();
    for seed in 0..200 {
        let after = content(&fs.crash(seed, 0.75), "/db/a").unwrap();
        assert!(after[512..1024].iter().all(|&b| b == after[512]), "a sector is a whole");
        assert!(after[..512].iter().chain(&after[1024..]).all(|&b| b == 1));
        seen.insert(after[512]);
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [1, 2, 3, 4]);
    file.sync_data().unwrap();
    assert_eq!(content(&fs.crash(0, 1.0), "/db/a").unwrap()[512], 4, "a sync forgets the earlier");
}

#[test]
fn pages_survive_as_a_whole_where_they_are_the_grain() {
    let fs = database();
    let file = made(&fs, "/db/a", &[1; 64 << 10]);
    file.sync_all().unwrap();
    fs.sync_dir(Path::new("/db")).unwrap();
    file.write_at(&[2; 64 << 10], 0).unwrap();
    let torn_pages = |grain: Grain| {
        let torn = |seed: u64| {
            let after = fs.crash_with(seed, Survival { share: 0.5, grain });
            let bytes = content(&after, "/db/a").unwrap();
            bytes.chunks(4096).filter(|page| page.iter().any(|b| *b != page[0])).count()
        };
        (0..20).map(torn).sum::<usize>()
    };
    assert_eq!(torn_pages(Grain::Page), 0);
    assert!(torn_pages(Grain::Sector) > 100);
}
