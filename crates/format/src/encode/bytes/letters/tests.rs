use onlap_base::Rng;

use super::*;

/// Alphabets of one letter, one stretch, a few stretches, many, and all that fit.
fn alphabets() -> Vec<Vec<u8>> {
    let base64 = b"+/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".to_vec();
    let scattered = (0..40).map(|k| 3 + 6 * k).collect();
    let last = (128..=255).collect();
    vec![b"x".to_vec(), b"01".to_vec(), b"0123456789abcdef".to_vec(), base64, scattered, last]
}

fn strings(rng: &mut Rng, alphabet: &[u8], run_max: u64, run_first: bool) -> BytesVec {
    let mut strings = BytesVec::default();
    for _ in 0..700 {
        let head_max = if rng.below(20) == 0 { 60 } else { 9 };
        let head = rng.below(head_max);
        let run = vec![alphabet[rng.index(alphabet.len())]; rng.below(run_max + 1) as usize];
        let mut s: Vec<u8> = (0..head).map(|_| alphabet[rng.index(alphabet.len())]).collect();
        match run_first {
            true => s.splice(0..0, run).for_each(drop),
            false => s.extend(run),
        }
        strings.push(&s);
    }
    strings
}

#[test]
fn many_strings_at_once_are_those_found_one_by_one() {
    let mut rng = Rng::new(11);
    for alphabet in alphabets() {
        for (run_max, run_first) in [(0, false), (12, false), (12, true), (400, false), (400, true)]
        {
            let values = strings(&mut rng, &alphabet, run_max, run_first);
            let rows = values.len();
            let mut bytes = Vec::new();
            plan(&values, 0..rows).expect("few letters").put(&mut bytes);
            let view = LettersView::parse(&mut Reader::new(&bytes), rows).unwrap();
            for range in [0..rows, 0..1, 5..90, 333..rows, 17..17] {
                let (mut all, mut one) = (BytesVec::default(), Vec::new());
                all.push(b"before");
                view.append_to(range.clone(), &mut all).unwrap();
                assert_eq!(all.len(), 1 + range.len());
                for (k, i) in range.enumerate() {
                    one.clear();
                    view.get_into(i, &mut one);
                    assert_eq!((&one[..], all.get(k + 1)), (values.get(i), values.get(i)));
                }
            }
        }
    }
}

#[test]
fn damaged_codes_stand_for_zero_both_ways() {
    let mut rng = Rng::new(12);
    let values = strings(&mut rng, b"abcde", 0, false);
    let rows = values.len();
    let mut bytes = Vec::new();
    plan(&values, 0..rows).expect("few letters").put(&mut bytes);
    // The last byte of the codes: two codes and a half, none of which has a letter.
    *bytes.last_mut().expect("not empty") = 0xFF;
    let view = LettersView::parse(&mut Reader::new(&bytes), rows).unwrap();
    let (mut all, mut one) = (BytesVec::default(), Vec::new());
    view.append_to(0..rows, &mut all).unwrap();
    (0..rows).for_each(|i| view.get_into(i, &mut one));
    assert_eq!(one, all.data);
    assert!(one.contains(&0));
}
