use onlap_base::ErrorKind;
use onlap_base::names::FileKind;

use super::*;
use crate::pace::Pace;
use crate::testing::disk;
use parking_lot::Mutex;

fn bytes(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i * 7 + i / 251) as u8).collect()
}

#[test]
fn what_was_written_is_read_and_counted() {
    let (_dir, context) = disk(64 << 20);
    let content = bytes(3 * WRITE_CHUNK_BYTES + 12_345);
    let mut writer = FileWriter::create(&context, FileKind::Run, Purpose::Marks).unwrap();
    for part in content.chunks(70_001) {
        assert!(writer.offset() < content.len() as u64);
        writer.write(part).unwrap();
    }
    let (id, len) = writer.finish().unwrap();
    assert_eq!(len, content.len() as u64);
    assert_eq!(context.written.report().marks, len);
    let reader = FileReader::open(&context, FileKind::Run, id).unwrap();
    assert_eq!(&reader.read(5_000, 100_000).unwrap()[..], &content[5_000..105_000]);
    let beyond = reader.read(len - 1, 2).unwrap_err();
    assert_eq!(beyond.kind(), ErrorKind::Corruption);
    assert_eq!(beyond.place().unwrap().file, reader.name());
}

/// Spans that were begun and are to end, and bytes of those that ended.
#[derive(Default)]
struct Spans {
    begun: Mutex<Vec<Purpose>>,
    ended: Mutex<Vec<u64>>,
}

const SPAN_BYTES: usize = 64 << 10;

impl Pace for Spans {
    fn span_bytes(&self, _: Purpose) -> usize {
        SPAN_BYTES
    }

    fn begin(&self, purpose: Purpose) {
        self.begun.lock().push(purpose);
    }

    fn end(&self, purpose: Purpose, bytes: u64) {
        assert_eq!(self.begun.lock().pop(), Some(purpose), "a span ends that began");
        self.ended.lock().push(bytes);
    }
}

#[test]
fn a_file_goes_out_in_spans_and_the_pace_sees_each() {
    let (_dir, context) = disk(64 << 20);
    let spans = Arc::new(Spans::default());
    context.set_pace(Arc::clone(&spans) as Arc<dyn Pace>);
    let content = bytes(2 * WRITE_CHUNK_BYTES + 99_999);
    let mut writer = FileWriter::create(&context, FileKind::Run, Purpose::Marks).unwrap();
    content.chunks(33_333).for_each(|part| writer.write(part).unwrap());
    let (id, len) = writer.finish().unwrap();
    let mut ended = spans.ended.lock().clone();
    assert_eq!(ended.pop(), Some(0), "the sync comes last");
    assert_eq!(ended.iter().sum::<u64>(), len);
    let whole = ended.iter().filter(|bytes| **bytes == SPAN_BYTES as u64).count();
    assert_eq!((ended.len(), whole), (34, 33));
    assert!(spans.begun.lock().is_empty());
    let reader = FileReader::open(&context, FileKind::Run, id).unwrap();
    assert_eq!(&reader.read(0, content.len()).unwrap()[..], &content[..]);
}

#[test]
fn an_unfinished_file_goes_away() {
    let (_dir, context) = disk(64 << 20);
    let mut writer = FileWriter::create(&context, FileKind::Run, Purpose::Marks).unwrap();
    writer.write(&[1; 100]).unwrap();
    drop(writer);
    assert!(context.fs.list(&context.dir).unwrap().is_empty());
}

#[test]
fn a_block_is_parsed_once_and_its_damage_is_placed() {
    let (_dir, context) = disk(64 << 20);
    let mut writer = FileWriter::create(&context, FileKind::Segment, Purpose::Segment).unwrap();
    writer.write(&bytes(10_000)).unwrap();
    let (id, _) = writer.finish().unwrap();
    let reader = FileReader::open(&context, FileKind::Segment, id).unwrap();
    let parse = |b: &[u8]| Ok((b.to_vec(), b.len()));
    let block = reader.block(100, 50, parse).unwrap();
    assert_eq!(&block[..], &bytes(10_000)[100..150]);
    let again = reader.block::<Vec<u8>>(100, 50, |_| panic!("it is in the cache")).unwrap();
    assert!(Arc::ptr_eq(&block, &again));
    let error = reader
        .block::<u8>(200, 50, |_| Err(Error::corruption("", 3, "planted")))
        .err()
        .expect("the parser refuses");
    assert_eq!(error.place().unwrap().offset, 203);
    assert_eq!(error.place().unwrap().file, reader.name());
}

#[test]
fn a_span_gives_the_bytes_it_holds() {
    let (_dir, context) = disk(64 << 20);
    let content = bytes(1 << 20);
    let mut writer = FileWriter::create(&context, FileKind::Segment, Purpose::Segment).unwrap();
    writer.write(&content).unwrap();
    let (id, _) = writer.finish().unwrap();
    let file = Arc::new(FileReader::open(&context, FileKind::Segment, id).unwrap());
    let mut reader = SpanReader::new(file);
    assert!(!reader.holds(0, 1));
    reader.read(1_003, 100_000).unwrap();
    assert!(reader.holds(1_003, 100_000) && reader.holds(101_002, 1));
    assert!(!reader.holds(1_002, 2) && !reader.holds(101_002, 2));
    assert_eq!(reader.get(5_000, 9_000), &content[5_000..14_000]);
}
