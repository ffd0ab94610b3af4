//! Where may a program end that begins somewhere?
//!
//! All states are followed at once, a character at a time; a state counts once, however it was reached.

use onlap_pg::Result;

use super::program::{Program, Step};
use super::tree::Place;
use crate::Cx;

/// After so many steps of states a search asks whether it is still wanted.
const LOOK_EVERY: usize = 1 << 14;

/// States that are reached, each with the earliest beginning of what reached it.
struct States {
    list: Vec<(u32, usize)>,
    /// The turn in which a state was reached last.
    seen: Vec<u32>,
}

/// A search under way.
struct Search<'a, 'c> {
    program: &'a Program,
    text: &'a str,
    backwards: bool,
    turn: u32,
    stack: Vec<u32>,
    steps: usize,
    cx: &'a Cx<'c>,
}

fn before(text: &str, at: usize) -> Option<char> {
    text[..at].chars().next_back()
}

fn behind(text: &str, at: usize) -> Option<char> {
    text[at..].chars().next()
}

fn is_word(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_at(place: Place, text: &str, at: usize) -> bool {
    let line = |c: Option<char>| c.is_none_or(|c| c == '\n');
    match place {
        Place::Start => at == 0,
        Place::End => at == text.len(),
        Place::LineStart => line(before(text, at)),
        Place::LineEnd => line(behind(text, at)),
        _ => {
            let (left, right) = (is_word(before(text, at)), is_word(behind(text, at)));
            match place {
                Place::WordStart => !left && right,
                Place::WordEnd => left && !right,
                Place::WordEdge => left != right,
                _ => left == right,
            }
        }
    }
}

impl<'a, 'c> Search<'a, 'c> {
    fn new(program: &'a Program, text: &'a str, cx: &'a Cx<'c>) -> Search<'a, 'c> {
        Search { program, text, backwards: false, turn: 0, stack: Vec::new(), steps: 0, cx }
    }

    fn states(&self) -> States {
        States { list: Vec::new(), seen: vec![0; self.program.steps.len()] }
    }

    /// Adds a state and what follows it without a character. Gives whether the end is among them.
    fn add(&mut self, states: &mut States, state: u32, begin: usize, at: usize) -> Result<bool> {
        let mut done = false;
        self.stack.push(state);
        while let Some(state) = self.stack.pop() {
            if states.seen[state as usize] == self.turn {
                continue;
            }
            states.seen[state as usize] = self.turn;
            self.steps += 1;
            if self.steps.is_multiple_of(LOOK_EVERY) {
                self.cx.go_on()?;
            }
            match self.program.steps[state as usize] {
                Step::Set(..) => states.list.push((state, begin)),
                Step::Jump(next) => self.stack.push(next),
                Step::Fork(a, b) => self.stack.extend([b, a]),
                Step::Place(place, next) => {
                    if is_at(place, self.text, at) {
                        self.stack.push(next);
                    }
                }
                Step::Look(look, next) => {
                    let look = &self.program.looks[look as usize];
                    let mut search = Search::new(&look.program, self.text, self.cx);
                    search.backwards = !look.ahead;
                    let limit = if look.ahead { self.text.len() } else { 0 };
                    if (search.run(at, limit, |_| true)?.is_some()) == look.wanted {
                        self.stack.push(next);
                    }
                }
                Step::Done => done = true,
            }
        }
        Ok(done)
    }

    /// Follows states from a place up to another. `found` is told where it may end, and says whether that is enough.
    fn run(
        &mut self,
        begin: usize,
        limit: usize,
        mut found: impl FnMut(usize) -> bool,
    ) -> Result<Option<usize>> {
        let (mut now, mut then) = (self.states(), self.states());
        let mut at = begin;
        self.turn = 1;
        let mut last = None;
        let mut done = self.add(&mut now, 0, begin, at)?;
        loop {
            if done {
                last = Some(at);
                if found(at) {
                    return Ok(last);
                }
            }
            let c = match self.backwards {
                true => before(self.text, at),
                false => behind(self.text, at),
            };
            let (Some(c), false) = (c, now.list.is_empty() || at == limit) else {
                return Ok(last);
            };
            at = if self.backwards { at - c.len_utf8() } else { at + c.len_utf8() };
            self.turn += 1;
            done = false;
            for (state, begin) in now.list.drain(..) {
                done |= self.step(&mut then, state, c, begin, at)?;
            }
            std::mem::swap(&mut now, &mut then);
        }
    }

    /// Takes a character in a state.
    fn step(
        &mut self,
        then: &mut States,
        state: u32,
        c: char,
        begin: usize,
        at: usize,
    ) -> Result<bool> {
        match self.program.steps[state as usize] {
            Step::Set(set, next) if self.program.sets[set as usize].has(c) => {
                self.add(then, next, begin, at)
            }
            _ => Ok(false),
        }
    }
}

/// The earliest place from an offset on where a program begins that has an end.
pub fn first(program: &Program, text: &str, from: usize, cx: &Cx<'_>) -> Result<Option<usize>> {
    let mut search = Search::new(program, text, cx);
    let (mut now, mut then) = (search.states(), search.states());
    let mut at = from;
    search.turn = 1;
    let mut best: Option<usize> = None;
    // Where the next turn's states have come from is in the order of beginnings, so that the earliest is the first to add.
    if search.add(&mut now, 0, at, at)? {
        return Ok(Some(at));
    }
    while let Some(c) = behind(text, at) {
        at += c.len_utf8();
        search.turn += 1;
        for (state, begin) in now.list.drain(..) {
            if best.is_some_and(|best| begin >= best) {
                break;
            }
            if search.step(&mut then, state, c, begin, at)? {
                best = Some(begin);
            }
        }
        if best.is_none() && search.add(&mut then, 0, at, at)? {
            best = Some(at);
        }
        std::mem::swap(&mut now, &mut then);
        if let (Some(_), None) = (best, now.list.first()) {
            break;
        }
    }
    Ok(best)
}

/// The nearest place where it may end.
pub fn shortest(program: &Program, text: &str, begin: usize, cx: &Cx<'_>) -> Result<Option<usize>> {
    Search::new(program, text, cx).run(begin, text.len(), |_| true)
}

/// The farthest place where it may end.
pub fn longest(program: &Program, text: &str, begin: usize, cx: &Cx<'_>) -> Result<Option<usize>> {
    Search::new(program, text, cx).run(begin, text.len(), |_| false)
}

/// All places up to one where it may end, in order.
pub fn ends(
    program: &Program,
    text: &str,
    begin: usize,
    limit: usize,
    cx: &Cx<'_>,
) -> Result<Vec<usize>> {
    let mut all = Vec::new();
    Search::new(program, text, cx).run(begin, limit, |at| {
        all.push(at);
        false
    })?;
    Ok(all)
}

/// Whether it may begin and end there.
pub fn is_exact(
    program: &Program,
    text: &str,
    (begin, end): (usize, usize),
    cx: &Cx<'_>,
) -> Result<bool> {
    let last = Search::new(program, text, cx).run(begin, end, |_| false)?;
    Ok(last == Some(end))
}
