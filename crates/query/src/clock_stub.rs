use onlap_pg::value::Settings;
pub fn current_date(s: &Settings) -> i32 { (s.now / 86_400_000_000) as i32 }
pub fn current_time(s: &Settings, _: i32) -> (i64, i32) { (s.now, 0) }
pub fn current_timestamp(s: &Settings, _: i32) -> i64 { s.now }
pub fn localtime(s: &Settings, _: i32) -> i64 { s.now }
pub fn localtimestamp(s: &Settings, _: i32) -> i64 { s.now }
