//! Counters over all sessions of a process.

use bowline_reducer::Transcript;

/// Counters over all sessions of a process since it started. The first three fields are current
/// values; the others only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Metrics {
    /// Running terminals.
    pub terminals: usize,
    /// Running dialogues.
    pub dialogues: usize,
    /// Permission requests that wait for an answer.
    pub open_permissions: usize,
    /// Started terminals.
    pub started: u64,
    /// Ended terminals.
    pub ended: u64,
    /// Terminals that ended without being asked to.
    pub unexpected_ends: u64,
    /// Dialogues that resumed or continued a conversation.
    pub restarts: u64,
    /// Completed turns.
    pub turns: u64,
    /// Tokens sent to models.
    pub input_tokens: u64,
    /// Tokens received from models.
    pub output_tokens: u64,
    /// Tokens read from models' caches.
    pub cache_read_tokens: u64,
    /// Tokens written to models' caches.
    pub cache_creation_tokens: u64,
    /// Cost in US dollars, as reported by the agents.
    pub cost_usd: f64,
    /// Bytes of the agents' output.
    pub output_bytes: u64,
    /// Bytes of the agents' standard error.
    pub error_bytes: u64,
    /// Permission requests.
    pub permissions: u64,
    /// Events that slow subscribers missed.
    pub lagged: u64,
    /// Inquiries of watchdogs.
    pub inquiries: u64,
    /// Agents that watchdogs terminated.
    pub timeouts: u64,
}

/// Tokens and cost of a dialogue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TokenUsage {
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    cache_read_tokens: u64,
    cache_creation_tokens: u64,
    cost_usd: f64,
}

impl TokenUsage {
    /// Returns the totals of a transcript.
    pub(crate) fn of(transcript: &Transcript) -> Self {
        let usage = transcript.usage();
        let mut sum = Self {
            cost_usd: usage.cost_usd(),
            ..Self::default()
        };
        for (_, model) in usage.models() {
            sum.input_tokens += model.input_tokens;
            sum.output_tokens += model.output_tokens;
            sum.cache_read_tokens += model.cache_read_tokens;
            sum.cache_creation_tokens += model.cache_creation_tokens;
        }
        sum
    }

    pub(super) fn since(self, earlier: Self) -> Self {
        let tokens = u64::saturating_sub;
        Self {
            input_tokens: tokens(self.input_tokens, earlier.input_tokens),
            output_tokens: tokens(self.output_tokens, earlier.output_tokens),
            cache_read_tokens: tokens(self.cache_read_tokens, earlier.cache_read_tokens),
            cache_creation_tokens: tokens(
                self.cache_creation_tokens,
                earlier.cache_creation_tokens,
            ),
            cost_usd: (self.cost_usd - earlier.cost_usd).max(0.0),
        }
    }
}

impl Metrics {
    pub(super) fn add_turn(&mut self, used: TokenUsage) {
        self.turns += 1;
        self.input_tokens += used.input_tokens;
        self.output_tokens += used.output_tokens;
        self.cache_read_tokens += used.cache_read_tokens;
        self.cache_creation_tokens += used.cache_creation_tokens;
        self.cost_usd += used.cost_usd;
    }
}
