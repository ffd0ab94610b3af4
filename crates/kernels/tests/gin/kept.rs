//! Keys that are in files.

use onlap_kernels::gin::Class;

use super::ours::Ours;

fn keys(class: Class, ty: u32, text: &str) -> Vec<String> {
    let ours = Ours::new();
    let mut keys: Vec<Vec<u8>> = ours.keys(class, ty, &ours.read(ty, text)).into_iter().collect();
    keys.sort();
    let hex = |key: &Vec<u8>| key.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    keys.iter().map(hex).collect()
}

#[test]
fn keys_never_change() {
    assert_eq!(keys(Class::Arrays, 1007, "{1,-1,NULL,1}"), ["017fffffff", "0180000001", "02"]);
    assert_eq!(keys(Class::Arrays, 1007, "{}"), ["00"]);
    assert_eq!(keys(Class::Arrays, 1009, "{a,\"\"}"), ["010000", "01610000"]);
    assert_eq!(
        keys(Class::Trigrams, 25, "Ab-c"),
        ["202061", "202063", "206162", "206320", "616220"]
    );
    let long = format!("{{{}}}", "x".repeat(126));
    assert_eq!(keys(Class::Arrays, 1009, &long), ["81ffb6137e47990a4a50a89d9c3c578bdf"]);
    let document = "{\"a\":[\"b\",1.0,true,null,{\"c\":\"d\"}]}";
    let names = ["0161", "0162", "0163", "0264", "0303800000020000", "0401", "05"];
    assert_eq!(keys(Class::Documents, 3802, document), names);
    let hashes = [
        "413ccdfd715d5d4d",
        "43106b2c4fbfe63b",
        "7e2603d03e6ad973",
        "d2291c046c4ac91f",
        "ea76bcd8200a8456",
    ];
    assert_eq!(keys(Class::Paths, 3802, document), hashes);
    let words = ["0161", "01c3a4", "81582e608b88e346e2d6c46ac3d4d129e4"];
    let vector = format!("a:1A,2 ä {}", "x".repeat(130));
    assert_eq!(keys(Class::Words, 3614, &vector), words);
    let numbers = ["01017ffffffcec76ffff", "0103800000020000", "0103801900020000", "0105"];
    assert_eq!(keys(Class::Arrays, 1231, "{1.0,-2.5,1e100,NaN}"), numbers);
}
