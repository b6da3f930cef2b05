//! The guided fuzzing loop: inputs that reach new branches are kept and mutated again.

use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::change::change;
use super::edges::Edges;
use super::pool::{Pool, name};
use super::shrink::shrink;
use super::{Check, Target};
use crate::random::Random;

/// Inputs between two comparisons of the flags; a comparison costs as much as several inputs.
const BATCH: usize = 1_024;

/// A guided search for an input that breaks a target.
pub struct GuidedFuzzer {
    target: &'static Target,
    check: Check,
    pool: Pool,
    edges: Edges,
    random: Random,
    batch: Vec<Vec<u8>>,
    tally: Tally,
}

/// Statistics of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Executed inputs.
    pub executions: u64,
    /// Seeds.
    pub seeds: usize,
    /// Inputs that reached new branches.
    pub kept: usize,
    /// Branches reached, of those that have flags; 0 without flags.
    pub edges: usize,
}

/// An input that breaks the target.
#[derive(Clone, Debug)]
pub struct Found {
    /// The target.
    pub target: &'static str,
    /// The violated property.
    pub what: String,
    /// The input, minimised.
    pub input: Vec<u8>,
}

impl fmt::Debug for GuidedFuzzer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, tally, .. } = self;
        f.debug_struct("GuidedFuzzer")
            .field("target", &target.name)
            .field("tally", tally)
            .finish_non_exhaustive()
    }
}

impl GuidedFuzzer {
    /// Creates a search; the same seed gives the same inputs as long as the target behaves the
    /// same. With a folder, it continues with the inputs of an earlier run and stores new ones.
    ///
    /// # Errors
    ///
    /// Fails if the seeds cannot be read, the folder cannot be used, or the target cannot be set
    /// up.
    pub fn new(
        target: &'static Target,
        seed: u64,
        folder: Option<&Path>,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let mut seeds = (target.seeds)()?;
        seeds.retain(|input| input.len() <= target.longest);
        if seeds.is_empty() {
            return Err(io::Error::other("the target has no seeds").into());
        }
        let pool = Pool::new(seeds, folder)?;
        let tally = Tally {
            seeds: pool.len(),
            ..Tally::default()
        };
        Ok(Self {
            target,
            check: (target.check)()?,
            pool,
            edges: Edges::default(),
            random: Random::of(seed, 0),
            batch: vec![Vec::new(); BATCH],
            tally,
        })
    }

    /// Returns the statistics so far.
    #[must_use]
    pub const fn tally(&self) -> Tally {
        self.tally
    }

    /// Executes the seeds.
    ///
    /// # Errors
    ///
    /// Returns the first input that breaks the target.
    pub fn begin(&mut self) -> Result<(), Found> {
        for input in self.pool.all().to_vec() {
            self.one(&input)?;
        }
        self.edges.keep();
        self.tally.edges = self.edges.count();
        Ok(())
    }

    /// Executes up to `most` more inputs.
    ///
    /// # Errors
    ///
    /// Returns the first input that breaks the target.
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

    /// Creates an input from others.
    fn make(&mut self, input: &mut Vec<u8>) {
        let random = &mut self.random;
        input.clear();
        input.extend_from_slice(self.pool.pick(random));
        let other = self.pool.pick(random);
        change(
            input,
            other,
            self.target.dictionary,
            self.target.longest,
            random,
        );
        if self.random.below(8) > 0 {
            (self.target.repair)(input);
        }
    }

    fn one(&mut self, input: &[u8]) -> Result<(), Found> {
        self.tally.executions += 1;
        execute(&mut self.check, input).map_err(|what| self.found(what, input))
    }

    fn found(&mut self, what: String, input: &[u8]) -> Found {
        let check = &mut self.check;
        let input = shrink(input, self.target.repair, |less| {
            execute(check, less).is_err()
        });
        // A failure may have changed while the input was minimised; report the one of the minimised
        // input.
        let what = execute(&mut self.check, &input).err().unwrap_or(what);
        Found {
            target: self.target.name,
            what,
            input,
        }
    }

    /// Finds the inputs of a batch that reached new branches, and keeps those. All of them have
    /// passed before. Comparing only the new flags costs almost nothing.
    fn sift(&mut self, inputs: &[Vec<u8>]) {
        let new = self.edges.take_down();
        let mut missing = new.clone();
        for input in inputs {
            if missing.is_empty() {
                break;
            }
            let _ = execute(&mut self.check, input);
            let before = missing.len();
            missing.retain(|at| !Edges::is_up(*at));
            if missing.len() < before {
                self.tally.kept += 1;
                // Without a folder this cannot fail; with a full disk the search continues.
                let _ = self.pool.keep(input);
            }
        }
        // Branches that do not depend on the input alone are not searched for again.
        Edges::put_up(&new);
        self.edges.keep();
        self.tally.edges = self.edges.count();
    }
}

/// Executes an input. A panic is a failure.
fn execute(check: &mut Check, input: &[u8]) -> Result<(), String> {
    let held = catch_unwind(AssertUnwindSafe(|| check(input)));
    held.unwrap_or_else(|panic| Err(format!("it panicked: {}", panic_message(panic.as_ref()))))
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref().copied())
        .unwrap_or("without a word")
}

impl Target {
    /// Executes one input.
    ///
    /// # Errors
    ///
    /// Fails if it breaks the target, or the target cannot be set up.
    pub fn holds(&'static self, input: &[u8]) -> Result<(), Found> {
        let held = (self.check)().and_then(|mut check| execute(&mut check, input));
        held.map_err(|what| Found {
            target: self.name,
            what,
            input: input.to_vec(),
        })
    }
}

impl Found {
    /// Returns a file name for the input.
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
