//! Cost and tokens.

use crate::log::LogStamp;
use crate::names::Name;

/// Cost and tokens over all conversations.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsageRecord {
    pub(crate) stamp: LogStamp,
    pub(crate) models: Vec<ModelRecord>,
    /// Cost of earlier conversations and of the current one, in US dollars.
    base: f64,
    pub(crate) cost: f64,
}

/// Tokens of one model.
#[derive(Clone, Debug)]
pub(crate) struct ModelRecord {
    pub(crate) name: Name,
    base: [u64; 4],
    pub(crate) now: [u64; 4],
}

impl ModelRecord {
    pub(crate) const fn new(name: Name) -> Self {
        Self {
            name,
            base: [0; 4],
            now: [0; 4],
        }
    }

    /// Input, output, cache read, cache creation.
    pub(crate) fn tokens(&self) -> [u64; 4] {
        std::array::from_fn(|at| self.base[at] + self.now[at])
    }
}

impl UsageRecord {
    pub(crate) fn cost_usd(&self) -> f64 {
        self.base + self.cost
    }

    /// Adds the current counters to the base, since the agent restarts its own at 0.
    pub(crate) fn rebase(&mut self) {
        self.base += std::mem::take(&mut self.cost);
        for model in &mut self.models {
            model.base = model.tokens();
            model.now = [0; 4];
        }
    }
}
