//! Which names have months, days, halves of a day and eras?

pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub const SHORT_MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
pub const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
pub const SHORT_DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
/// From December to January: a text begins with the longest that fits.
pub const ROMAN: [&str; 12] =
    ["XII", "XI", "X", "IX", "VIII", "VII", "VI", "V", "IV", "III", "II", "I"];
pub const HALVES: [&str; 2] = ["AM", "PM"];
pub const DOTTED_HALVES: [&str; 2] = ["A.M.", "P.M."];
pub const ERAS: [&str; 2] = ["AD", "BC"];
pub const DOTTED_ERAS: [&str; 2] = ["A.D.", "B.C."];
