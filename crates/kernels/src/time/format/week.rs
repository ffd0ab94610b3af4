//! Which ISO week has a date of any numbers? Intervals are written as if they were dates, with numbers of 32 bits that wrap,
//! as PostgreSQL calculates.

/// A day in the calendar of weeks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Week {
    pub year: i64,
    pub week: i64,
    pub day_of_year: i64,
}

/// The Julian day of any year, month and day.
pub fn julian(year: i32, month: i32, day: i32) -> i32 {
    let (month, year) = match month > 2 {
        true => (month.wrapping_add(1), year.wrapping_add(4800)),
        false => (month.wrapping_add(13), year.wrapping_add(4799)),
    };
    let century = year / 100;
    let mut sum = year.wrapping_mul(365).wrapping_sub(32_167);
    sum = sum.wrapping_add((year / 4).wrapping_sub(century).wrapping_add(century / 4));
    sum.wrapping_add((month.wrapping_mul(7834) / 256).wrapping_add(day))
}

/// The Julian day of the first Monday.
fn first_monday(year: i32) -> i32 {
    let fourth = julian(year, 1, 4);
    fourth.wrapping_sub(fourth.wrapping_rem_euclid(7))
}

/// The week of any year, month and day.
pub fn week(year: i32, month: i32, day: i32) -> Week {
    let days = julian(year, month, day);
    let mut year = year;
    if days < first_monday(year) {
        year = year.wrapping_sub(1);
    }
    let number = |monday: i32| days.wrapping_sub(monday) / 7 + 1;
    let mut week = number(first_monday(year));
    if week >= 52 {
        let next = first_monday(year.wrapping_add(1));
        if days >= next {
            (year, week) = (year.wrapping_add(1), number(next));
        }
    }
    let day_of_year = days.wrapping_sub(first_monday(year)).wrapping_add(1);
    Week { year: year.into(), week: week.into(), day_of_year: day_of_year.into() }
}
