//! How do aggregates work that a database made?
//!
//! A state is a value of the state's type, which the transition function makes anew for each row. As in PostgreSQL, a strict one
//! is not called for rows with a NULL, the first row's argument is the state where there is none to begin with, and a state that
//! became NULL stays so.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array, ArrayRef, UInt32Array, new_empty_array, new_null_array};
use onlap_kernels::aggregate::Aggregate;
use onlap_kernels::misc::{MadeCall, made_kernel};
use onlap_kernels::{Col, Cx, Datum, Kernel, Repr, Types, find, signature};
use onlap_pg::catalog::{MadeAggregate, Proc};
use onlap_pg::{Oid, Result, TypeRef, resolve};

use crate::aggregates::{Collected, MakeStates, Within};
use crate::compile::{Compiler, unsupported};
use crate::node::arrow;

/// A function and whether it is strict.
struct Step {
    kernel: Box<dyn Kernel>,
    strict: bool,
}

impl Step {
    /// Its value of one row.
    fn call(&self, args: &[Col], cx: &mut Cx<'_>) -> Result<ArrayRef> {
        self.kernel.eval(args, 1, cx)
    }
}

/// How an aggregate works.
struct Recipe {
    transition: Step,
    combine: Option<Step>,
    /// What makes the result of a state, and the NULLs that it is given with it.
    finish: Option<(Step, Vec<ArrayRef>)>,
    /// The state before the first row; NULL where none was said.
    initial: ArrayRef,
    /// NULL of the result's type.
    none: ArrayRef,
}

/// The state of a group.
#[derive(Clone)]
struct State {
    value: ArrayRef,
    /// Whether it has a value, or had one before it became NULL.
    begun: bool,
}

/// The states of a call.
struct Custom {
    recipe: Arc<Recipe>,
    /// How many columns are arguments: one more counts rows where there are none.
    takes: usize,
    states: Vec<State>,
    bytes: usize,
}

/// A row of a column, which does not keep the others.
fn row_of(col: &Col, row: usize) -> Result<ArrayRef> {
    let at = UInt32Array::from(vec![col.at(row) as u32]);
    arrow_select::take::take(&col.array, &at, None).map_err(arrow)
}

fn bytes_of(value: &ArrayRef) -> usize {
    value.get_array_memory_size()
}

impl Custom {
    fn set(&mut self, group: usize, value: ArrayRef) {
        let state = &mut self.states[group];
        self.bytes = (self.bytes + bytes_of(&value)).saturating_sub(bytes_of(&state.value));
        *state = State { value, begun: true };
    }

    fn step(&mut self, args: &[Col], row: usize, group: usize, cx: &mut Cx<'_>) -> Result<()> {
        let recipe = Arc::clone(&self.recipe);
        let state = &self.states[group];
        if recipe.transition.strict {
            if args.iter().any(|arg| arg.is_null(row)) {
                return Ok(());
            }
            if !state.begun
                && let Some(first) = args.first()
            {
                self.set(group, row_of(first, row)?);
                return Ok(());
            }
            if state.value.is_null(0) {
                return Ok(());
            }
        }
        let mut given = vec![Col::new(Arc::clone(&state.value))];
        for arg in args {
            given.push(Col::new(arg.array.slice(arg.at(row), 1)));
        }
        let value = recipe.transition.call(&given, cx)?;
        self.set(group, value);
        Ok(())
    }

    fn join(&mut self, other: State, group: usize, cx: &mut Cx<'_>) -> Result<()> {
        let recipe = Arc::clone(&self.recipe);
        let state = &self.states[group];
        let Some(combine) = &recipe.combine else {
            return Err(onlap_pg::Error::defect("states without a function that joins them"));
        };
        if combine.strict {
            if other.value.is_null(0) {
                return Ok(());
            }
            if !state.begun {
                self.set(group, other.value);
                return Ok(());
            }
            if state.value.is_null(0) {
                return Ok(());
            }
        }
        let given = [Col::new(Arc::clone(&state.value)), Col::new(other.value)];
        let value = combine.call(&given, cx)?;
        self.set(group, value);
        Ok(())
    }
}

impl Aggregate for Custom {
    fn grow(&mut self, groups: usize) {
        let value = Arc::clone(&self.recipe.initial);
        let begun = !value.is_null(0);
        self.bytes += groups.saturating_sub(self.states.len()) * bytes_of(&value);
        self.states.resize(groups.max(self.states.len()), State { value, begun });
    }

    fn update(&mut self, args: &[Col], groups: &[usize], cx: &mut Cx<'_>) -> Result<()> {
        for (row, group) in groups.iter().enumerate() {
            cx.go_on()?;
            self.step(&args[..self.takes], row, *group, cx)?;
        }
        Ok(())
    }

    fn finish(&self, groups: usize, cx: &mut Cx<'_>) -> Result<ArrayRef> {
        let mut made = Vec::with_capacity(groups);
        for state in &self.states[..groups] {
            made.push(match &self.recipe.finish {
                None => Arc::clone(&state.value),
                Some((step, more))
                    if step.strict && (state.value.is_null(0) || !more.is_empty()) =>
                {
                    Arc::clone(&self.recipe.none)
                }
                Some((step, more)) => {
                    let values = std::iter::once(&state.value).chain(more);
                    let given: Vec<Col> = values.map(|value| Col::new(Arc::clone(value))).collect();
                    step.call(&given, cx)?
                }
            });
        }
        let all: Vec<&dyn Array> = made.iter().map(|value| &**value).collect();
        match all.is_empty() {
            true => Ok(new_empty_array(self.recipe.none.data_type())),
            false => arrow_select::concat::concat(&all).map_err(arrow),
        }
    }

    fn save(&self, groups: usize) -> ArrayRef {
        let mut saved = Vec::with_capacity(groups);
        for state in &self.states[..groups] {
            let mut out = vec![u8::from(state.begun)];
            crate::saved::save(&[Arc::clone(&state.value)], &[0], &mut out);
            saved.push(out);
        }
        Arc::new(arrow_array::BinaryArray::from_iter_values(saved))
    }

    fn merge(&mut self, saved: &ArrayRef, groups: &[usize], cx: &mut Cx<'_>) -> Result<()> {
        let saved = saved.as_binary::<i32>();
        for (row, group) in groups.iter().enumerate() {
            let bytes = saved.value(row);
            let value = crate::saved::load(&bytes[1..]).remove(0);
            self.join(State { value, begun: bytes[0] != 0 }, *group, cx)?;
        }
        Ok(())
    }

    fn forget(&mut self, groups: usize) {
        let gone: usize = self.states.drain(..groups).map(|state| bytes_of(&state.value)).sum();
        self.bytes = self.bytes.saturating_sub(gone);
    }

    fn size(&self) -> usize {
        self.bytes + self.states.capacity() * size_of::<State>()
    }
}

impl Compiler<'_> {
    /// What makes the states of an aggregate that a database made. Where groups may be written to disk it keeps rows instead of
    /// states, if no function joins these.
    ///
    /// # Errors
    /// `0A000`: a function of it has no kernel; what is wrong with the text of its first state.
    pub fn custom(
        &self,
        proc: &Proc,
        made: &MadeAggregate,
        (given, result): (&[TypeRef], TypeRef),
        has_groups: bool,
    ) -> Result<MakeStates> {
        let catalog = &self.env.catalog;
        let actual: Vec<Oid> = given.iter().map(|ty| ty.oid).collect();
        let state = TypeRef::new(resolve::settled(catalog, &actual, &proc.arguments, made.state)?);
        self.must_fit(proc, made, (given, state))?;
        let with_args: Vec<TypeRef> = std::iter::once(state).chain(given.iter().copied()).collect();
        let ty = self.arrow(state.oid)?;
        let initial = match &made.initial {
            None => new_null_array(&ty, 1),
            Some(text) => {
                let mut cx = self.env.cx();
                let value = onlap_kernels::input(&mut cx, state, text)?;
                Datum::column(self.repr(state.oid)?, std::iter::once(&value))?
            }
        };
        let finish = match made.finish {
            0 => None,
            function => {
                let more = if made.finish_extra { given } else { &[] };
                let args = if made.finish_extra { &with_args[..] } else { &with_args[..1] };
                let nulls = more.iter().map(|ty| Ok(new_null_array(&self.arrow(ty.oid)?, 1)));
                Some((self.step_of(function, args, result)?, nulls.collect::<Result<_>>()?))
            }
        };
        // Joined states begin with the first of them; one with INITCOND would count that again for each.
        let combine = match made.combine {
            0 => None,
            _ if made.initial.is_some() => None,
            function => Some(self.step_of(function, &[state, state], state)?),
        };
        let joins = combine.is_some();
        let recipe = Arc::new(Recipe {
            transition: self.step_of(made.transition, &with_args, state)?,
            combine,
            finish,
            initial,
            none: new_null_array(&self.arrow(result.oid)?, 1),
        });
        let takes = given.len();
        let states: MakeStates = Arc::new(move || {
            let recipe = Arc::clone(&recipe);
            Box::new(Custom { recipe, takes, states: Vec::new(), bytes: 0 })
        });
        if joins || !has_groups {
            return Ok(states);
        }
        let within = Within { args: takes.max(1), ..Within::default() };
        Ok(Arc::new(move || Box::new(Collected::new(Arc::clone(&states), within.clone()))))
    }

    /// Fails where values are not what its transition function takes: that may have become strict, and then the first value is
    /// the first state; and types whose values PostgreSQL keeps by the same bits are not of one representation here.
    fn must_fit(
        &self,
        proc: &Proc,
        made: &MadeAggregate,
        (given, state): (&[TypeRef], TypeRef),
    ) -> Result<()> {
        let Some(transition) = self.env.catalog.proc(made.transition) else { return Ok(()) };
        let takes = std::iter::once(state).chain(given.iter().copied());
        for (of, declared) in takes.zip(&transition.arguments) {
            let Ok(own) = self.repr(*declared) else { continue };
            if own != self.repr(of.oid)? {
                let text = "an aggregate whose function takes another representation of a type";
                return Err(unsupported(text));
            }
        }
        let is_state = |ty: &TypeRef| {
            let same = ty.oid == state.oid
                || self.env.catalog.base_type(ty.oid) == self.env.catalog.base_type(state.oid);
            let texts = self.repr(ty.oid).ok() == Some(Repr::Text);
            same || texts && self.repr(state.oid).ok() == Some(Repr::Text)
        };
        let fits = given.first().is_none_or(is_state);
        if transition.strict && made.initial.is_none() && !fits {
            let text = format!(
                "aggregate {} needs to have compatible input type and transition type",
                proc.oid
            );
            return Err(onlap_pg::Error::new("42P13", text));
        }
        Ok(())
    }

    /// A function that an aggregate is made of.
    fn step_of(&self, function: Oid, args: &[TypeRef], result: TypeRef) -> Result<Step> {
        let catalog = Arc::clone(&self.env.catalog);
        let Some(proc) = self.env.catalog.proc(function) else {
            let text = format!("cache lookup failed for function {function}");
            return Err(onlap_pg::Error::internal(text));
        };
        let types = Types { args: args.to_vec(), result, catalog };
        let kernel = match (&proc.made, find(function)) {
            (Some(_), _) => {
                let places = (0..args.len()).collect();
                let (args, defined) = (args.to_vec(), Vec::new());
                let call = MadeCall { proc: function, places, args, result, defined };
                made_kernel(call, proc.strict, &types)
            }
            (None, Some(make)) => make(&types),
            (None, None) => {
                let shown = signature(&self.env.catalog, proc);
                return Err(unsupported(format!("function {shown}")));
            }
        };
        Ok(Step { kernel, strict: proc.strict })
    }
}
