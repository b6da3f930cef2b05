//! What all sessions of a process have done, in numbers.

use bowline_reducer::Transcript;

/// What all sessions of a process have done since it began. Counters only grow; the first three
/// fields say what is now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Metrics {
    /// Terminals that live.
    pub terminals: usize,
    /// Dialogues among them.
    pub dialogues: usize,
    /// Permission requests that wait for an answer.
    pub open_permissions: usize,
    /// Terminals that were started.
    pub started: u64,
    /// Terminals that have ended.
    pub ended: u64,
    /// Terminals that ended without being asked to.
    pub unexpected_ends: u64,
    /// Dialogues that were started to go on with a conversation.
    pub restarts: u64,
    /// Turns of dialogues that have ended.
    pub turns: u64,
    /// Tokens sent to models.
    pub input_tokens: u64,
    /// Tokens received from models.
    pub output_tokens: u64,
    /// Tokens read from models' caches.
    pub cache_read_tokens: u64,
    /// Tokens written to models' caches.
    pub cache_creation_tokens: u64,
    /// Cost in US dollars, as the agents tell it.
    pub cost_usd: f64,
    /// Bytes of the agents' output.
    pub output_bytes: u64,
    /// Bytes of the agents' standard error.
    pub error_bytes: u64,
    /// Permission requests that were asked.
    pub permissions: u64,
    /// Events that subscribers were too slow for.
    pub lagged: u64,
    /// Times that a watchdog has looked for life.
    pub inquiries: u64,
    /// Agents that a watchdog has ended.
    pub timeouts: u64,
}

/// What a dialogue has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    tokens: [u64; 4],
    cost_usd: f64,
}

impl Used {
    /// The totals of a transcript.
    pub(crate) fn of(transcript: &Transcript) -> Self {
        let usage = transcript.usage();
        let mut tokens = [0; 4];
        for (_, model) in usage.models() {
            let parts = [
                model.input_tokens,
                model.output_tokens,
                model.cache_read_tokens,
                model.cache_creation_tokens,
            ];
            for (sum, part) in tokens.iter_mut().zip(parts) {
                *sum += part;
            }
        }
        Self {
            tokens,
            cost_usd: usage.cost_usd(),
        }
    }
}

/// The counters behind [`Metrics`].
#[derive(Debug, Default)]
pub(super) struct Totals(pub(super) Metrics);

impl Totals {
    pub(super) const fn snapshot(&self) -> Metrics {
        self.0
    }

    /// Counts a turn, and what was used between two looks.
    pub(super) fn turn(&mut self, before: Used, after: Used) {
        let it = &mut self.0;
        let sums = [
            &mut it.input_tokens,
            &mut it.output_tokens,
            &mut it.cache_read_tokens,
            &mut it.cache_creation_tokens,
        ];
        for ((sum, before), after) in sums.into_iter().zip(before.tokens).zip(after.tokens) {
            *sum += after.saturating_sub(before);
        }
        it.turns += 1;
        it.cost_usd += (after.cost_usd - before.cost_usd).max(0.0);
    }
}
