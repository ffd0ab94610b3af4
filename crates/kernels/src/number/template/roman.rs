//! How is a number written with letters?

/// The widest, MMMDCCCLXXXVIII.
pub(super) const WIDTH: usize = 15;

const LETTERS: [(i32, &str); 13] = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
];

/// A number from 1 to 3999; crosses for others.
pub(super) fn roman(number: i32) -> String {
    if !(1..=3999).contains(&number) {
        return "#".repeat(WIDTH);
    }
    let (mut out, mut left) = (String::new(), number);
    for (value, letters) in LETTERS {
        while left >= value {
            out.push_str(letters);
            left -= value;
        }
    }
    out
}
