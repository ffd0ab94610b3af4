//! Which states follow each other?

use super::deeper;
use super::set::Set;
use super::tree::{Ast, Place};

/// A step of a program.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A character of a set.
    Set(u32, u32),
    /// Two ways.
    Fork(u32, u32),
    /// One way.
    Jump(u32),
    /// On at such a place.
    Place(Place, u32),
    /// On if a look says so.
    Look(u32, u32),
    /// Found.
    Done,
}

/// What is looked for around a place.
#[derive(Debug)]
pub struct Look {
    /// Ahead or behind.
    pub ahead: bool,
    /// Whether it must be found, or must not.
    pub wanted: bool,
    /// What; behind it is read backwards.
    pub program: Program,
}

/// States.
#[derive(Debug)]
pub struct Program {
    /// They begin with the first.
    pub steps: Vec<Step>,
    /// Sets of characters.
    pub sets: Vec<Set>,
    /// Looks.
    pub looks: Vec<Look>,
}

/// The most states of an expression, about 2 MB.
const MAX_STATES: usize = 100_000;

const TOO_COMPLEX: &str = "regular expression is too complex";

impl Program {
    /// # Errors
    /// It has too many states.
    pub fn new(ast: &Ast) -> Result<Program, &'static str> {
        Program::directed(ast, false)
    }

    fn directed(ast: &Ast, backwards: bool) -> Result<Program, &'static str> {
        let mut maker = Maker {
            program: Program { steps: Vec::new(), sets: Vec::new(), looks: Vec::new() },
            backwards,
            looking: 0,
        };
        maker.put(ast)?;
        maker.add(Step::Done)?;
        Ok(maker.program)
    }
}

struct Maker {
    program: Program,
    backwards: bool,
    /// States of looks.
    looking: usize,
}

impl Maker {
    /// The number of the step that comes next.
    fn next(&self) -> u32 {
        self.program.steps.len() as u32
    }

    fn add(&mut self, step: Step) -> Result<usize, &'static str> {
        if self.program.steps.len() + self.looking >= MAX_STATES {
            return Err(TOO_COMPLEX);
        }
        self.program.steps.push(step);
        Ok(self.program.steps.len() - 1)
    }

    /// The number of a set; one that was used a moment ago is used again.
    fn set(&mut self, set: &Set) -> usize {
        const NEAR: usize = 16;
        let sets = &mut self.program.sets;
        let near = sets.len().saturating_sub(NEAR);
        match sets[near..].iter().position(|other| other == set) {
            Some(at) => near + at,
            None => {
                sets.push(set.clone());
                sets.len() - 1
            }
        }
    }

    /// Adds what describes these texts; it goes on with the step that comes next.
    fn put(&mut self, ast: &Ast) -> Result<(), &'static str> {
        deeper(|| self.put_here(ast))
    }

    fn put_here(&mut self, ast: &Ast) -> Result<(), &'static str> {
        match ast {
            Ast::Empty => {}
            Ast::Set(set) => {
                let at = self.set(set);
                let next = self.next() + 1;
                self.add(Step::Set(at as u32, next))?;
            }
            Ast::Place(place) => {
                let next = self.next() + 1;
                self.add(Step::Place(*place, next))?;
            }
            Ast::Look { ahead, wanted, what } => {
                let program = Program::directed(what, !ahead)?;
                let at = self.program.looks.len() as u32;
                self.looking += program.steps.len();
                self.program.looks.push(Look { ahead: *ahead, wanted: *wanted, program });
                let next = self.next() + 1;
                self.add(Step::Look(at, next))?;
            }
            Ast::Cat(parts) if self.backwards => {
                for part in parts.iter().rev() {
                    self.put(part)?;
                }
            }
            Ast::Cat(parts) => {
                for part in parts {
                    self.put(part)?;
                }
            }
            Ast::Alt(parts) => self.put_either(parts)?,
            Ast::Repeat(what, least, most) => self.put_repeat(what, *least, *most)?,
        }
        Ok(())
    }

    fn put_either(&mut self, parts: &[Ast]) -> Result<(), &'static str> {
        let mut ends = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let last = at + 1 == parts.len();
            let fork = if last { None } else { Some(self.add(Step::Done)?) };
            let first = self.next();
            self.put(part)?;
            if let Some(fork) = fork {
                ends.push(self.add(Step::Done)?);
                self.program.steps[fork] = Step::Fork(first, self.next());
            }
        }
        let next = self.next();
        for end in ends {
            self.program.steps[end] = Step::Jump(next);
        }
        Ok(())
    }

    fn put_repeat(
        &mut self,
        what: &Ast,
        least: u32,
        most: Option<u32>,
    ) -> Result<(), &'static str> {
        for _ in 0..least {
            self.put(what)?;
        }
        let Some(most) = most else {
            let fork = self.add(Step::Done)?;
            let first = self.next();
            self.put(what)?;
            self.add(Step::Jump(fork as u32))?;
            self.program.steps[fork] = Step::Fork(first, self.next());
            return Ok(());
        };
        let mut forks = Vec::new();
        for _ in least..most {
            forks.push(self.add(Step::Done)?);
            self.put(what)?;
        }
        let next = self.next();
        for fork in forks {
            self.program.steps[fork] = Step::Fork(fork as u32 + 1, next);
        }
        Ok(())
    }
}
