//! Inputs, one after the other; those that reach something new are kept and changed again.

use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::change::change;
use super::edges::Edges;
use super::pool::{Pool, name};
use super::shrink::shrink;
use super::{Look, Target};
use crate::random::Random;

/// Inputs between two looks at the flags: to look costs as much as some inputs.
const BATCH: usize = 1_024;

/// A hunt for an input that breaks a target.
pub struct Hunt {
    target: &'static Target,
    look: Look,
    pool: Pool,
    edges: Edges,
    random: Random,
    batch: Vec<Vec<u8>>,
    tally: Tally,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Inputs that were looked at.
    pub executions: u64,
    /// Inputs to begin with.
    pub seeds: usize,
    /// Inputs that reached something new.
    pub kept: usize,
    /// Branches that were taken, of all that the program has flags for; 0 without flags.
    pub edges: usize,
}

/// An input that breaks the target.
#[derive(Clone, Debug)]
pub struct Found {
    /// The target.
    pub target: &'static str,
    /// What does not hold.
    pub what: String,
    /// The input, made as short as can be.
    pub input: Vec<u8>,
}

impl fmt::Debug for Hunt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, tally, .. } = self;
        f.debug_struct("Hunt")
            .field("target", &target.name)
            .field("tally", tally)
            .finish_non_exhaustive()
    }
}

impl Hunt {
    /// A hunt; the same seed does the same as long as the target does. With a folder, inputs of an
    /// earlier hunt are taken up, and kept ones are written there.
    ///
    /// # Errors
    ///
    /// The first inputs are not where they should be, the folder cannot be used, or the target
    /// cannot be set up.
    pub fn new(
        target: &'static Target,
        seed: u64,
        folder: Option<&Path>,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let mut seeds = (target.seeds)()?;
        seeds.retain(|input| input.len() <= target.longest);
        if seeds.is_empty() {
            return Err(io::Error::other("there is nothing to begin with").into());
        }
        let pool = Pool::new(seeds, folder)?;
        let tally = Tally {
            seeds: pool.len(),
            ..Tally::default()
        };
        Ok(Self {
            target,
            look: (target.look)()?,
            pool,
            edges: Edges::default(),
            random: Random::of(seed, 0),
            batch: vec![Vec::new(); BATCH],
            tally,
        })
    }

    /// What was done so far.
    #[must_use]
    pub const fn tally(&self) -> Tally {
        self.tally
    }

    /// Looks at the inputs to begin with.
    ///
    /// # Errors
    ///
    /// One of them breaks the target.
    pub fn begin(&mut self) -> Result<(), Found> {
        for input in self.pool.all().to_vec() {
            self.one(&input)?;
        }
        self.edges.keep();
        self.tally.edges = self.edges.count();
        Ok(())
    }

    /// Looks at up to `most` inputs more.
    ///
    /// # Errors
    ///
    /// One of them breaks the target.
    pub fn go_on(&mut self, most: u64) -> Result<(), Found> {
        let mut batch = std::mem::take(&mut self.batch);
        let count = usize::try_from(most).map_or(BATCH, |most| most.min(BATCH));
        let inputs = batch.get_mut(..count).unwrap_or_default();
        let done = inputs.iter_mut().try_for_each(|input| {
            self.make(input);
            self.one(input)
        });
        if done.is_ok() && self.edges.has_more() {
            self.sift(inputs);
        }
        self.batch = batch;
        done
    }

    /// Makes an input out of others.
    fn make(&mut self, input: &mut Vec<u8>) {
        let random = &mut self.random;
        input.clear();
        input.extend_from_slice(self.pool.pick(random));
        let other = self.pool.pick(random);
        change(input, other, self.target.words, self.target.longest, random);
        if self.random.below(8) > 0 {
            (self.target.mend)(input);
        }
    }

    fn one(&mut self, input: &[u8]) -> Result<(), Found> {
        self.tally.executions += 1;
        looked(&mut self.look, input).map_err(|what| self.found(what, input))
    }

    fn found(&mut self, what: String, input: &[u8]) -> Found {
        let look = &mut self.look;
        let input = shrink(input, self.target.mend, |less| looked(look, less).is_err());
        // The last word is that of the short one.
        let what = looked(&mut self.look, &input).err().unwrap_or(what);
        Found {
            target: self.target.name,
            what,
            input,
        }
    }

    /// Finds out which inputs of a batch have reached something new, and keeps those. All of them
    /// have held a moment ago. To look at the new flags alone costs next to nothing.
    fn sift(&mut self, inputs: &[Vec<u8>]) {
        let new = self.edges.take_down();
        let mut missing = new.clone();
        for input in inputs {
            if missing.is_empty() {
                break;
            }
            let _ = looked(&mut self.look, input);
            let before = missing.len();
            missing.retain(|at| !Edges::is_up(*at));
            if missing.len() < before {
                self.tally.kept += 1;
                // Without a folder nothing can fail; with a full disk the hunt goes on.
                let _ = self.pool.keep(input);
            }
        }
        // What depends on more than the input is not looked for again and again.
        Edges::put_up(&new);
        self.edges.keep();
        self.tally.edges = self.edges.count();
    }
}

/// Looks at an input. A panic is something that does not hold.
fn looked(look: &mut Look, input: &[u8]) -> Result<(), String> {
    let held = catch_unwind(AssertUnwindSafe(|| look(input)));
    held.unwrap_or_else(|panic| Err(format!("it panicked: {}", said(panic.as_ref()))))
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref().copied())
        .unwrap_or("without a word")
}

impl Target {
    /// Looks at one input.
    ///
    /// # Errors
    ///
    /// It breaks the target, or that cannot be set up.
    pub fn holds(&'static self, input: &[u8]) -> Result<(), Found> {
        let held = (self.look)().and_then(|mut look| looked(&mut look, input));
        held.map_err(|what| Found {
            target: self.name,
            what,
            input: input.to_vec(),
        })
    }
}

impl Found {
    /// The name of a file for the input.
    #[must_use]
    pub fn name(&self) -> String {
        name(&self.input)
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            target,
            what,
            input,
        } = self;
        write!(f, "{target}: {what}\n  input: {}", input.escape_ascii())
    }
}

impl std::error::Error for Found {}
