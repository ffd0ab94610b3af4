use super::*;

#[test]
fn an_empty_state_comes_back() {
    let state = ManifestState::default();
    let mut bytes = encode_header(1).to_vec();
    bytes.extend(encode_record(1, 24, &state.to_edits()));
    let loaded = load("manifest-00000001", 1, &bytes).unwrap();
    assert_eq!((loaded.state, loaded.end), (state, bytes.len() as u64));
}
