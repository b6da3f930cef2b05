//! Counters over all sessions of a process.

use bowline_reducer::{Outcome, Transcript};

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

/// Number of agents by which turns are counted. An agent names itself, so that there might be any number.
const MAX_AGENTS: usize = 64;

/// The name under which the turns of further agents are counted.
const OTHER_AGENTS: &str = "other";

/// How many turns of an agent have ended with an outcome, in all sessions of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnCount {
    /// The name that the agent gives itself, or that of its protocol's program.
    pub agent: String,
    /// The outcome.
    pub outcome: Outcome,
    /// The number of turns.
    pub turns: u64,
}

impl TurnCount {
    /// Counts a turn.
    pub(super) fn add(counts: &mut Vec<Self>, agent: &str, outcome: Outcome) {
        let is_known = counts.len() < MAX_AGENTS || counts.iter().any(|it| it.agent == agent);
        let agent = if is_known { agent } else { OTHER_AGENTS };
        let is_it = |it: &&mut Self| it.agent == agent && it.outcome == outcome;
        match counts.iter_mut().find(is_it) {
            Some(count) => count.turns += 1,
            None => counts.push(Self {
                agent: agent.to_owned(),
                outcome,
                turns: 1,
            }),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_counted_by_agent_and_outcome() {
        let mut counts = Vec::new();
        for outcome in [Outcome::Completed, Outcome::Failed, Outcome::Completed] {
            TurnCount::add(&mut counts, "a", outcome);
        }
        let numbers: Vec<_> = counts.iter().map(|it| (it.outcome, it.turns)).collect();
        assert_eq!(numbers, [(Outcome::Completed, 2), (Outcome::Failed, 1)]);
        for agent in 0..2 * MAX_AGENTS {
            TurnCount::add(&mut counts, &agent.to_string(), Outcome::Completed);
        }
        assert_eq!(counts.len(), MAX_AGENTS + 1);
        let sum: u64 = counts.iter().map(|it| it.turns).sum();
        assert_eq!(sum, 3 + 2 * MAX_AGENTS as u64);
    }
}
