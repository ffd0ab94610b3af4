use std::collections::HashMap;

use super::*;

const MIB: u64 = 1 << 20;

#[test]
fn the_parts_add_up_to_the_limit() {
    for limit in [MEMORY_LIMIT_MIN, 256 * MIB, 256 * MIB + 63, 1_000_000_007] {
        let memory = Memory::new(limit);
        assert_eq!(memory.total_limit(), limit);
        assert_eq!(memory.report().iter().map(|line| line.limit).sum::<u64>(), limit);
        assert!(memory.report().iter().all(|line| line.limit > 0 && line.used == 0));
    }
    assert_eq!(Memory::new(1).total_limit(), MEMORY_LIMIT_MIN);
}

#[test]
fn what_is_lent_fits_what_memtables_leave() {
    let memory = Memory::new(64 * MIB);
    let (cache, memtables) = (memory.limit(Part::Cache), memory.limit(Part::Memtables));
    for used in [0, memtables / 2, memtables / 4 * 3, memtables, 2 * memtables] {
        let bytes = memory.lendable(used);
        assert!(bytes == 0 || used + bytes <= memtables, "{used} used, {bytes} lendable");
        memory.lend(bytes);
        assert_eq!(memory.limit(Part::Cache), cache + bytes);
        assert_eq!(memory.limit(Part::Memtables), memtables);
        assert_eq!(memory.report().iter().map(|line| line.limit).sum::<u64>(), 64 * MIB);
    }
    assert!(memory.lendable(0) > memtables / 2);
    assert_eq!(memory.lent(), 0);
}

#[test]
fn charges_come_back_when_dropped() {
    let memory = Arc::new(Memory::new(64 * MIB));
    let mut charge = memory.charge(Part::Cache, 100);
    memory.add(Part::Cache, 50);
    assert_eq!((memory.used(Part::Cache), memory.total_used()), (150, 150));
    charge.resize(10);
    assert_eq!(memory.used(Part::Cache), 60);
    charge.resize(30);
    assert_eq!((charge.bytes(), memory.used(Part::Cache)), (30, 80));
    drop(charge);
    memory.sub(Part::Cache, 50);
    assert_eq!(memory.total_used(), 0);
}

#[test]
fn a_try_stops_at_the_limit_of_its_part() {
    let memory = Arc::new(Memory::new(64 * MIB));
    let limit = memory.limit(Part::Log);
    let all = memory.try_charge(Part::Log, limit).expect("an empty part takes its limit");
    assert!(memory.try_charge(Part::Log, 1).is_none());
    assert!(memory.try_charge(Part::Log, u64::MAX).is_none());
    assert_eq!(memory.free(Part::Log), 0);
    assert!(memory.try_charge(Part::Cache, 1).is_some());
    drop(all);
    assert_eq!(memory.free(Part::Log), limit);
}

fn bytes_of(files: &[(&str, &str)]) -> u64 {
    let files: HashMap<&str, &str> = files.iter().copied().collect();
    machine::bytes_from(&|path| files.get(path).map(|text| (*text).to_owned()))
}

#[test]
fn the_lowest_limit_of_machine_and_groups_counts() {
    let machine = ("/proc/meminfo", "MemTotal:       16384 kB\nMemFree:  12 kB\n");
    assert_eq!(bytes_of(&[machine]), 16 * MIB);
    assert_eq!(bytes_of(&[]), 1 << 30);

    let own = ("/proc/self/cgroup", "0::/app/db\n");
    let unlimited = ("/sys/fs/cgroup/app/db/memory.max", "max\n");
    assert_eq!(bytes_of(&[machine, own, unlimited]), 16 * MIB);
    let above = ("/sys/fs/cgroup/app/memory.max", "4194304\n");
    assert_eq!(bytes_of(&[machine, own, unlimited, above]), 4 * MIB);

    let old = ("/proc/self/cgroup", "3:cpu,cpuacct:/x\n2:memory:/x\n");
    let limit = ("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "2097152\n");
    let root = ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_eq!(bytes_of(&[machine, old, limit, root]), 2 * MIB);
    assert_eq!(bytes_of(&[machine, old, root]), 16 * MIB);
}

#[test]
fn this_machine_has_memory() {
    assert!(machine_bytes() >= 64 * MIB);
    assert!(default_limit() >= MEMORY_LIMIT_MIN);
}

#[test]
fn what_is_resident_is_read() {
    assert_eq!(machine::resident_from("5000 300 100 20 0 400 0\n"), Some(200 * 4096));
    assert_eq!(machine::resident_from("5000 x"), None);
    assert_eq!(machine::resident_from("5000 100 300"), Some(0));
    if cfg!(target_os = "linux") {
        assert!(resident_bytes().is_some_and(|bytes| bytes > 0 && bytes < machine_bytes()));
    }
}
