//! Are messages put together however they arrive?

use super::*;

/// Gives a few bytes at a time.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.1.min(out.len()).min(self.0.len());
        let (given, rest) = self.0.split_at(n);
        out[..n].copy_from_slice(given);
        self.0 = rest;
        Ok(n)
    }
}

fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

#[test]
fn messages_come_whole_however_they_arrive() {
    let bodies: Vec<Vec<u8>> = (0..40).map(|i| vec![i as u8; i * i * 40]).collect();
    let bytes: Vec<u8> = bodies.iter().flat_map(|b| framed(b'd', b)).collect();
    for step in [1, 7, 5000, usize::MAX] {
        let (mut input, mut from) = (Input::default(), Trickle(&bytes, step));
        for body in &bodies {
            match input.next(&mut from, 1 << 20).expect("no failure") {
                Next::Frame(frame) => assert_eq!(input.body(&frame), body),
                other => panic!("{other:?}"),
            }
        }
        assert!(matches!(input.next(&mut from, 9), Ok(Next::End)));
    }
}

#[test]
fn a_long_announcement_takes_no_memory_and_impossible_ones_are_refused() {
    let mut input = Input::default();
    let announced = [b'Q', 0x0f, 0xff, 0xff, 0xff, 1, 2, 3];
    let end = input.next(&mut Trickle(&announced, 3), 1 << 30).expect_err("cut off");
    assert_eq!(end.kind(), ErrorKind::UnexpectedEof);
    assert!(input.bytes.capacity() <= READ_BYTES);
    for length in [0u32, 3, 105, u32::MAX] {
        let bytes = [&[b'Q'][..], &length.to_be_bytes()].concat();
        let next = Input::default().next(&mut Trickle(&bytes, 9), 100);
        assert!(matches!(next, Ok(Next::BadLength)), "{length}");
    }
}

#[test]
fn buffers_share_their_memory() {
    let all = Buffers::new(2 << 20);
    let long = framed(b'Q', &vec![7; 1 << 20]);
    let bytes = [long.clone(), framed(b'S', b"x"), long.clone()].concat();
    let mut first = (Input::default(), Trickle(&long, 5000));
    first.0.share(&all);
    let Ok(Next::Frame(held)) = first.0.next(&mut first.1, usize::MAX) else {
        panic!("there is room for one")
    };
    assert!(!held.is_lost && first.0.body(&held).len() == 1 << 20);
    let (mut input, mut from) = (Input::default(), Trickle(&bytes, 5000));
    input.share(&all);
    // No room for the second: it is thrown away, and what follows is read.
    let mut next = || match input.next(&mut from, usize::MAX) {
        Ok(Next::Frame(frame)) => (frame.kind, frame.is_lost, input.body(&frame).len()),
        other => panic!("{other:?}"),
    };
    assert_eq!(next(), (b'Q', true, 0));
    assert_eq!(next(), (b'S', false, 1));
    drop(first);
    assert_eq!(next(), (b'Q', false, 1 << 20));
    drop(input);
    assert_eq!(all.used.load(Ordering::Relaxed), 0);
}
