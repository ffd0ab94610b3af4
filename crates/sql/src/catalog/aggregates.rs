//! How is that kept which makes a function an aggregate?
//!
//! Next to what is kept of all functions, by OIDs of functions and types. Thread safety: read only.

use onlap_pg::catalog::MadeAggregate;
use serde_json::{Value as Json, json};

/// What an aggregate is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// Its functions and its first state.
    pub made: MadeAggregate,
    /// What FINALFUNC_MODIFY said: `r`, `s` or `w`.
    pub modify: char,
    /// What SSPACE said: bytes of a state, about.
    pub space: i32,
}

impl Aggregate {
    /// What a row says.
    pub fn read(body: &Json) -> Option<Aggregate> {
        let number = |json: &Json| u32::try_from(json.as_u64()?).ok();
        Some(Aggregate {
            made: MadeAggregate {
                transition: number(&body["transition"])?,
                state: number(&body["state"])?,
                finish: number(&body["finish"])?,
                finish_extra: body["extra"].as_bool()?,
                combine: number(&body["combine"])?,
                initial: body["initial"].as_str().map(str::to_string),
            },
            modify: body["modify"].as_str()?.chars().next()?,
            space: i32::try_from(body["space"].as_i64()?).ok()?,
        })
    }

    /// As it is kept.
    pub fn body(&self) -> Json {
        json!({
            "transition": self.made.transition,
            "state": self.made.state,
            "finish": self.made.finish,
            "extra": self.made.finish_extra,
            "combine": self.made.combine,
            "initial": self.made.initial,
            "modify": self.modify.to_string(),
            "space": self.space,
        })
    }

    /// The functions that it is made of.
    pub fn functions(&self) -> impl Iterator<Item = u32> {
        let MadeAggregate { transition, finish, combine, .. } = self.made;
        [transition, finish, combine].into_iter().filter(|oid| *oid != 0)
    }
}
