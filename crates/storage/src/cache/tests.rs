use super::*;

fn cache(limit: u64) -> (Arc<Memory>, BlockCache) {
    let memory = Arc::new(Memory::new(limit));
    (memory.clone(), BlockCache::new(memory))
}

#[test]
fn a_block_is_found_again_under_its_type_only() {
    let (_, cache) = cache(64 << 20);
    assert!(cache.get::<String>(FileId(1), 0).is_none());
    cache.insert(FileId(1), 0, "block".to_owned(), 100);
    assert_eq!(cache.get::<String>(FileId(1), 0).expect("was put in").as_str(), "block");
    assert!(cache.get::<Vec<u8>>(FileId(1), 0).is_none());
    assert!(cache.get::<String>(FileId(1), 8).is_none());
    assert!(cache.get::<String>(FileId(2), 0).is_none());
    assert_eq!((cache.misses(), cache.blocks()), (1, 1));
}

#[test]
fn the_charge_lives_as_long_as_the_last_reader() {
    let (memory, cache) = cache(64 << 20);
    let held = cache.insert(FileId(1), 0, 7u64, 1000);
    let used = memory.used(Part::Cache);
    assert!(used >= 1000);
    cache.clear();
    assert_eq!(memory.used(Part::Cache), used);
    drop(held);
    assert_eq!(memory.used(Part::Cache), 0);
}

#[test]
fn blocks_are_evicted_at_the_limit() {
    let (memory, cache) = cache(32 << 20);
    for i in 0..10_000 {
        cache.insert(FileId(1), i, [0u8; 8], 16 << 10);
        assert!(memory.used(Part::Cache) <= cache.capacity());
    }
    assert!(memory.used(Part::Cache) > cache.capacity() / 2);
}

#[test]
fn a_scan_takes_free_space_only() {
    let (memory, cache) = cache(32 << 20);
    for i in 0..100 {
        cache.insert(FileId(1), i, [0u8; 8], 1 << 10);
    }
    for i in 0..10_000 {
        cache.insert_if_room(FileId(2), i, [0u8; 8], 16 << 10);
    }
    assert!(memory.used(Part::Cache) <= cache.capacity());
    let kept = (0..100).filter(|i| cache.get::<[u8; 8]>(FileId(1), *i).is_some()).count();
    assert!(kept >= 90, "{kept} of 100");
}

#[test]
fn the_cache_has_what_memtables_leave_until_they_grow() {
    let (memory, cache) = cache(64 << 20);
    let own = cache.capacity();
    let put = |range: std::ops::Range<u64>| {
        for i in range {
            cache.insert(FileId(1), i, [0u8; 8], 16 << 10);
        }
    };
    put(0..20_000);
    let lent = memory.lent();
    assert!(lent > memory.limit(Part::Memtables) / 2, "{lent}");
    assert!(memory.used(Part::Cache) > own + lent / 2, "the room is used");

    let mut grown = 0;
    while grown < memory.limit(Part::Memtables) {
        memory.add(Part::Memtables, 64 << 10);
        grown += 64 << 10;
        cache.make_way();
        assert!(memory.used(Part::Cache) + grown <= own + memory.limit(Part::Memtables));
        assert!(memory.lent() + grown <= memory.limit(Part::Memtables));
    }
    assert_eq!((memory.lent(), cache.capacity()), (0, own));

    memory.sub(Part::Memtables, grown);
    put(20_000..20_200);
    assert_eq!(memory.lent(), 0, "not at once: they may come back");
    put(20_200..60_000);
    assert_eq!(memory.lent(), lent);
}

#[test]
fn what_files_hold_adds_up() {
    let (memory, cache) = cache(32 << 20);
    let mut read = Vec::new();
    for i in 0..6_000u64 {
        let file = FileId(i % 7);
        let block = match i % 3 {
            0 => cache.insert(file, i, [0u8; 8], 16 << 10),
            1 => cache.insert_if_room(file, i, [0u8; 8], 8 << 10),
            _ => cache.uncached(file, [0u8; 8], 4 << 10),
        };
        if i % 50 == 0 {
            read.push(block);
        }
        if i == 3_000 {
            cache.remove_file(FileId(3));
        }
    }
    let sum = || (0..7).map(|file| cache.held(FileId(file))).sum::<u64>();
    assert_eq!(sum(), memory.used(Part::Cache));
    assert!((0..7).all(|file| cache.held(FileId(file)) > 0));
    cache.clear();
    assert_eq!(sum(), memory.used(Part::Cache));
    assert!(sum() > 0, "some are being read");
    read.clear();
    assert_eq!((sum(), memory.used(Part::Cache)), (0, 0));
}

#[test]
fn counters_of_files_that_are_gone_go() {
    let (_, cache) = cache(32 << 20);
    cache.insert(FileId(0), 0, 7u64, 1000);
    for file in 1..100_000 {
        cache.insert(FileId(file), 0, 7u64, 1000);
        cache.remove(FileId(file), 0);
    }
    assert!(cache.by_file.counters() < 2_000, "{}", cache.by_file.counters());
    assert!(cache.held(FileId(0)) >= 1000);
}
