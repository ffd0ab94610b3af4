use super::*;

#[test]
fn each_package_is_listed_once() {
    let tree = "program v0.1.0 (/somewhere)|Apache-2.0\nused v1.2.3|MIT/Apache-2.0\nbelow v2.0.0|\n\
        used v1.2.3|MIT/Apache-2.0 (*)\n";
    let document: Value = serde_json::from_str(&document(tree).unwrap()).unwrap();
    let components = document["components"].as_array().unwrap();
    let names: Vec<&str> = components.iter().filter_map(|c| c["name"].as_str()).collect();
    assert_eq!(names, ["below", "used"]);
    assert_eq!(components[1]["purl"], "pkg:cargo/used@1.2.3");
    assert_eq!(components[1]["licenses"][0]["expression"], "MIT OR Apache-2.0");
    assert!(components[0].get("licenses").is_none());
    assert_eq!(document["metadata"]["component"]["name"], "program");
}

#[test]
fn what_is_no_package_is_an_error() {
    assert!(document("").is_err());
    assert!(document("a line|").unwrap_err().contains("no version"));
}
