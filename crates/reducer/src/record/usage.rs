//! Cost and tokens.

use std::collections::BTreeMap;

use crate::log::LogStamp;
use crate::names::Name;

/// Input, output, cache read, cache creation.
pub(crate) type Tokens = [u64; 4];

/// Cost and tokens over all conversations.
///
/// The agent counts each conversation from 0, and its counters only grow, so that a late result
/// changes nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsageRecord {
    pub(crate) stamp: LogStamp,
    /// In the order in which they were used.
    models: Vec<Name>,
    totals: BTreeMap<Name, Tokens>,
    /// Cost of conversations that were replaced, in US dollars.
    base: f64,
    costs: Vec<f64>,
    conversations: BTreeMap<Option<Name>, Conversation>,
}

/// The counters of a conversation.
#[derive(Clone, Debug, Default)]
struct Conversation {
    /// Index of its cost.
    cost: usize,
    models: BTreeMap<Name, Tokens>,
}

impl UsageRecord {
    /// Cost in US dollars.
    pub(crate) fn cost_usd(&self) -> f64 {
        self.costs.iter().fold(self.base, |sum, cost| sum + cost)
    }

    /// The models with their tokens, in the order in which they were used.
    pub(crate) fn models(&self) -> impl ExactSizeIterator<Item = (Name, Tokens)> {
        let total = |name| self.totals.get(name).copied().unwrap_or_default();
        self.models.iter().map(move |name| (*name, total(name)))
    }

    /// Forgets the counters of each conversation, but not what they add up to: the agent begins
    /// again at 0.
    pub(crate) fn rebase(&mut self) {
        self.base = self.cost_usd();
        self.costs.clear();
        self.conversations.clear();
    }

    /// Updates the cost of a conversation.
    pub(crate) fn add_cost(&mut self, id: Option<Name>, cost: f64) {
        let at = self.conversation(id).cost;
        if let Some(known) = self.costs.get_mut(at) {
            *known = known.max(cost);
        }
    }

    /// Updates the tokens of a conversation.
    pub(crate) fn add_tokens(&mut self, id: Option<Name>, model: Name, tokens: Tokens) {
        let known = self.conversation(id).models.entry(model).or_default();
        let new: Tokens = std::array::from_fn(|at| tokens[at].max(known[at]));
        let old = std::mem::replace(known, new);
        let models = &mut self.models;
        let total = self.totals.entry(model).or_insert_with(|| {
            models.push(model);
            Tokens::default()
        });
        *total = std::array::from_fn(|at| total[at].saturating_add(new[at] - old[at]));
    }

    fn conversation(&mut self, id: Option<Name>) -> &mut Conversation {
        let costs = &mut self.costs;
        self.conversations.entry(id).or_insert_with(|| {
            costs.push(0.0);
            Conversation {
                cost: costs.len() - 1,
                ..Conversation::default()
            }
        })
    }
}
