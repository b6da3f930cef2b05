//! The request with which a session asks what to do at a limit, and its answers.

use bowline_jsonl::Decision;
use bowline_reducer::model::{self, AnswerKind, QuestionKind, RequestOption};

use super::limit::{Budget, LimitKind, ReachedLimit, Spent};
use crate::permission::{
    PermissionAnswer, PermissionKind, PermissionRecord, Question, QuestionOption, RequestState,
};

/// The name under which a session asks about its budget, in place of a tool.
const BUDGET_TOOL: &str = "budget";
/// The name under which a session asks that waits for a usage limit to reset.
pub(crate) const USAGE_TOOL: &str = "usage_limit";

/// The names under which a session asks by itself.
pub(crate) const OWN_TOOLS: [&str; 2] = [BUDGET_TOOL, USAGE_TOOL];

const RAISE: &str = "raise";
const GO_ON: &str = "go_on";
const STOP: &str = "stop";

/// A limit that was reached: what the session asks about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitRequest {
    /// Id of the request.
    pub request_id: String,
    /// The limit.
    pub limit: LimitKind,
    /// Its amount.
    pub allowed: u64,
    /// What was used; `None` if the agent does not report it.
    pub spent: Option<u64>,
    /// Whether it is a limit of several sessions together.
    pub is_shared: bool,
}

/// What a user wants at a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitAnswer {
    /// A new limit.
    Raise(u64),
    /// No limit.
    GoOn,
    /// The end of the session.
    Stop,
}

impl LimitRequest {
    /// Returns the request for a number of requests before it.
    pub(crate) fn new(number: u64, reached: ReachedLimit, is_shared: bool) -> Self {
        let ReachedLimit {
            limit,
            allowed,
            spent,
        } = reached;
        Self {
            request_id: format!("{BUDGET_TOOL}:{number}"),
            limit,
            allowed,
            spent,
            is_shared,
        }
    }

    pub(crate) const GO_ON: &str = GO_ON;

    /// Returns the request of a session that waits for a usage limit to reset.
    pub(crate) fn usage(number: u64, due_ms: u64, at_ms: u64) -> Self {
        Self {
            request_id: format!("{USAGE_TOOL}:{number}"),
            limit: LimitKind::Usage,
            allowed: due_ms,
            spent: Some(at_ms),
            is_shared: false,
        }
    }

    /// Returns the name under which the session asks.
    pub(crate) const fn tool(&self) -> &'static str {
        match self.limit {
            LimitKind::Usage => USAGE_TOOL,
            _ => BUDGET_TOOL,
        }
    }

    const fn title(&self) -> &'static str {
        match self.limit {
            LimitKind::Usage => "Usage limit",
            _ => "Budget",
        }
    }

    /// Returns why the session pauses.
    pub(crate) fn reason(&self) -> String {
        if self.limit == LimitKind::Usage {
            let asked = self.spent.unwrap_or_default();
            let wait = self.limit.format(self.allowed.saturating_sub(asked));
            return format!("paused: usage limit reached; continues when it resets, after {wait}");
        }
        let (name, allowed) = (self.limit.name(), self.limit.format(self.allowed));
        let allowed = match self.is_shared {
            true => format!("{allowed} for all sessions"),
            false => allowed,
        };
        match self.spent {
            Some(spent) => {
                let spent = self.limit.format(spent);
                // The unit is that of the limit.
                let spent = spent.trim_end_matches(" USD").trim_end_matches(" tokens");
                format!("paused: {name} limit of {allowed} reached ({spent})")
            }
            None => format!(
                "paused: {name} limit of {allowed} cannot be checked, since the agent reports none"
            ),
        }
    }

    fn raised(&self) -> Option<u64> {
        let spent = self.spent.filter(|_| self.limit != LimitKind::Usage)?;
        Some(spent.saturating_add(self.allowed))
    }

    /// Returns the answers to choose from.
    pub(crate) fn options(&self) -> Vec<RequestOption> {
        let option = |id: &str, name: String, kind| RequestOption {
            id: id.to_owned(),
            name,
            kind,
        };
        let raise = self.raised().map(|raised| {
            let name = format!("Raise to {}", self.limit.format(raised));
            option(RAISE, name, AnswerKind::AllowOnce)
        });
        let (name, kind) = match self.limit {
            LimitKind::Usage => ("Continue now", AnswerKind::AllowOnce),
            _ => ("Go on without this limit", AnswerKind::AllowAlways),
        };
        let go_on = option(GO_ON, name.to_owned(), kind);
        let stop = option(STOP, "End the session".to_owned(), AnswerKind::RejectOnce);
        raise.into_iter().chain([go_on, stop]).collect()
    }

    /// Returns the question as the transcript has it.
    pub(crate) fn question(&self) -> model::Question {
        let options = self.options().into_iter().map(|it| model::QuestionOption {
            value: it.name.clone(),
            name: it.name,
            description: None,
        });
        model::Question {
            id: self.tool().to_owned(),
            title: Some(self.title().to_owned()),
            text: self.text(),
            kind: QuestionKind::Single,
            options: options.collect(),
            free_text: self.limit != LimitKind::Usage,
        }
    }

    fn text(&self) -> String {
        match self.limit {
            LimitKind::Usage => self.reason(),
            _ => format!("{}; choose, or type a new limit", self.reason()),
        }
    }

    /// Returns the request as readers see it.
    pub(crate) fn record(&self, asked_at_ms: u64) -> PermissionRecord {
        let options = self.options();
        let choices = options.iter().map(|it| QuestionOption {
            label: it.name.clone(),
            description: String::new(),
        });
        let question = Question {
            id: self.tool().to_owned(),
            question: self.text(),
            header: self.title().to_owned(),
            options: choices.collect(),
            multi_select: false,
        };
        PermissionRecord {
            request_id: self.request_id.clone(),
            tool_use_id: None,
            tool_name: self.tool().to_owned(),
            agent_id: None,
            kind: PermissionKind::Questions(vec![question]),
            input: "{}".to_owned(),
            suggestions: None,
            asked_at_ms,
            options,
            state: RequestState::Open,
            answered_by: None,
            answered_how: None,
            allowed: None,
        }
    }

    /// Returns the answer that leaves a limit with this amount, or none.
    pub(crate) fn answer_of(&self, amount: Option<u64>) -> (LimitAnswer, PermissionAnswer) {
        match amount {
            Some(amount) => {
                let text = self.limit.exact(amount);
                let answers = vec![(self.tool().to_owned(), text)];
                let answer = PermissionAnswer::Answers(answers);
                (LimitAnswer::Raise(amount), answer)
            }
            None => {
                let answer = PermissionAnswer::Option(GO_ON.to_owned());
                (LimitAnswer::GoOn, answer)
            }
        }
    }

    /// Returns what an answer wants, or why it is none.
    pub(crate) fn parse(&self, answer: &PermissionAnswer) -> Result<LimitAnswer, &'static str> {
        match answer {
            PermissionAnswer::Option(id) => self.choose(id).ok_or("has no such option"),
            PermissionAnswer::Answers(answers) => {
                let [(_, text)] = &answers[..] else {
                    return Err("asks one question");
                };
                let typed = || self.limit.parse(text).map(LimitAnswer::Raise);
                let answer = self.choose(text).or_else(typed);
                let answer = answer.ok_or(match self.limit {
                    LimitKind::Usage => "takes one of its options",
                    _ => "takes an option, or a new limit as a number",
                })?;
                match answer {
                    LimitAnswer::Raise(amount) if self.spent.is_some_and(|it| amount <= it) => {
                        Err("takes a limit above what was used")
                    }
                    answer => Ok(answer),
                }
            }
            PermissionAnswer::Decide(Decision::Deny { .. }) => Ok(LimitAnswer::Stop),
            PermissionAnswer::Decide(Decision::Allow { .. }) => {
                Ok(self.raised().map_or(LimitAnswer::GoOn, LimitAnswer::Raise))
            }
            _ => Err("takes one of its options, or a new limit"),
        }
    }

    fn choose(&self, text: &str) -> Option<LimitAnswer> {
        let options = self.options();
        let chosen = options.iter().find(|it| it.id == text || it.name == text)?;
        Some(match &*chosen.id {
            RAISE => LimitAnswer::Raise(self.raised()?),
            GO_ON => LimitAnswer::GoOn,
            _ => LimitAnswer::Stop,
        })
    }

    /// Formats an answer, as the transcript shows it.
    pub(crate) fn describe(&self, answer: LimitAnswer) -> String {
        match answer {
            LimitAnswer::Raise(amount) => format!("raised to {}", self.limit.format(amount)),
            LimitAnswer::GoOn if self.limit == LimitKind::Usage => "continue".to_owned(),
            LimitAnswer::GoOn => format!("{} limit removed", self.limit.name()),
            LimitAnswer::Stop => "stop".to_owned(),
        }
    }
}

impl Budget {
    /// Returns the first limit that is reached. A cost that stays unknown after a turn counts as a limit that is
    /// reached.
    pub(crate) fn reached(&self, spent: &Spent) -> Option<ReachedLimit> {
        LimitKind::ALL.into_iter().find_map(|limit| {
            let allowed = self.amount(limit)?;
            let used = spent.amount(limit);
            let is_reached = used.map_or(spent.turns > 0, |used| used >= allowed);
            is_reached.then_some(ReachedLimit {
                limit,
                allowed,
                spent: used,
            })
        })
    }

    /// Takes an answer to a request into account.
    pub(crate) fn apply(&mut self, limit: LimitKind, answer: LimitAnswer) {
        match answer {
            LimitAnswer::Raise(amount) => self.set(limit, Some(amount)),
            LimitAnswer::GoOn => self.set(limit, None),
            LimitAnswer::Stop => {}
        }
    }
}
