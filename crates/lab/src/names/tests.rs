use super::*;

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let valid = ["ibench", "six", "sync", "micro"];
    assert_eq!(choose("workload", "six", &valid).unwrap(), "six");
    let error = choose("workload", "inbench", &valid).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().contains("did you mean 'ibench'"), "{error}");
    assert_eq!(nearest("SIXX", &valid), Some("six"));
    assert_eq!(nearest("anything", &[]), None);
}
