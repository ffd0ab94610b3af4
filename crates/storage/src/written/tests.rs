use super::*;

#[test]
fn purposes_add_up() {
    let written = Written::default();
    written.add(Purpose::Log, 1);
    written.add(Purpose::Segment, 2);
    written.add(Purpose::Compaction, 4);
    written.add(Purpose::Index(IndexId(7)), 8);
    written.add(Purpose::Merge(IndexId(7)), 16);
    written.add(Purpose::Merge(IndexId(9)), 32);
    written.add(Purpose::Marks, 64);
    written.add(Purpose::Manifest, 128);
    written.add(Purpose::Samples, 256);
    let report = written.report();
    assert_eq!(report.total(), 511);
    assert_eq!(report.indexes[&IndexId(7)], IndexWritten { flushed: 8, merged: 16 });
    assert_eq!(report.indexes[&IndexId(9)].merged, 32);
}
