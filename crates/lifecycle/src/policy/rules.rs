//! A policy: rules, and the decision that they lead to.

use std::sync::Arc;

use super::request::PolicyRequest;
use super::rule::{Rule, RuleDecision, aspects};

/// Rules over permission requests, evaluated before a user is asked.
///
/// A cheap handle of an immutable list. `crates/lifecycle/POLICY.md` describes the file format and how rules
/// are matched.
///
/// # Example
///
/// ```
/// use bowline_lifecycle::{
///     DialogueConfiguration, Policy, PolicyError, PolicyFileError, default_policy_path, parse_policy, read_policy,
/// };
///
/// # fn main() -> Result<(), PolicyFileError> {
/// let text = r#"
///     [[rule]]
///     decision = "allow"
///     command = ["cargo test *", "git status"]
/// "#;
/// let mut policy: Policy = parse_policy(text, "embedded")?;
/// # if false {
/// if let Some(path) = default_policy_path() {
///     policy = policy.and(&read_policy(&path)?);
/// }
/// # }
/// let configuration = DialogueConfiguration { policy, ..DialogueConfiguration::default() };
/// # assert!(!configuration.policy.is_empty());
///
/// let error: PolicyError = Policy::parse("[[rule]]\ndecison = \"deny\"", "a.toml").unwrap_err();
/// assert_eq!(error.to_string(), "a.toml, line 2: `decison` is unknown; did you mean `decision`?");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub(super) rules: Arc<[Rule]>,
    /// Files whose requests without a rule are denied.
    pub(super) denies_by_default: Vec<Arc<str>>,
    /// What `~` in patterns of paths stands for.
    pub(super) home: Option<String>,
}

/// What a policy decides on a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyVerdict {
    pub(crate) decision: RuleDecision,
    /// The rules that decided.
    pub(crate) rule: String,
    /// The message for the agent when it is denied.
    pub(crate) message: Option<String>,
}

impl Policy {
    /// Returns whether there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.denies_by_default.is_empty()
    }

    /// Sets what `~` in patterns of paths stands for. Without it, such a pattern allows nothing, and denies what
    /// ends like it.
    #[must_use]
    pub fn with_home(mut self, home: impl Into<String>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// Returns a policy with the rules of both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let rules = self.rules.iter().chain(other.rules.iter());
        let defaults = self
            .denies_by_default
            .iter()
            .chain(&other.denies_by_default);
        Self {
            rules: rules.cloned().collect(),
            denies_by_default: defaults.cloned().collect(),
            home: self.home.clone().or_else(|| other.home.clone()),
        }
    }

    /// Returns whether a decision on a request depends on where the system finds its paths.
    pub(crate) fn depends_on_paths(&self, request: &PolicyRequest) -> bool {
        let mut rules = self.rules.iter();
        !request.paths.is_empty() && rules.any(|it| !it.paths.is_empty())
    }

    /// Decides on a request. A rule that denies beats one that asks, which beats one that allows.
    pub(crate) fn decide(&self, request: &PolicyRequest) -> PolicyVerdict {
        let narrowing = [RuleDecision::Deny, RuleDecision::Ask];
        let first = narrowing.into_iter().find_map(|decision| {
            let mut rules = self.rules.iter().filter(|it| it.decision == decision);
            rules.find(|it| it.concerns(request, self.home.as_deref()))
        });
        if let Some(rule) = first {
            return PolicyVerdict {
                decision: rule.decision,
                rule: rule.label.to_string(),
                message: rule.message.clone(),
            };
        }
        if let Some(rule) = self.allowing(request) {
            let (decision, message) = (RuleDecision::Allow, None);
            return PolicyVerdict {
                decision,
                rule,
                message,
            };
        }
        let denying = self.denies_by_default.first();
        PolicyVerdict {
            decision: denying.map_or(RuleDecision::Ask, |_| RuleDecision::Deny),
            rule: denying.map_or_else(String::new, |source| format!("default in {source}")),
            message: None,
        }
    }

    /// Returns the rules that together allow all of a request.
    fn allowing(&self, request: &PolicyRequest) -> Option<String> {
        let is_understood = !request.needs_user
            && request.commands.iter().all(|it| it.is_exact)
            && request.hosts.iter().all(Option::is_some);
        if !is_understood {
            return None;
        }
        let mut labels = Vec::new();
        for aspect in aspects(request) {
            let mut rules = self
                .rules
                .iter()
                .filter(|it| it.decision == RuleDecision::Allow);
            let rule = rules.find(|it| it.covers(request, aspect, self.home.as_deref()))?;
            let label = rule.label.to_string();
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        Some(labels.join(", "))
    }
}
