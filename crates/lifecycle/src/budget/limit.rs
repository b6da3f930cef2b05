//! The kinds of limits, and their amounts.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a session may use before it pauses and asks. A limit that is absent does not apply.
///
/// What was used is compared at each safe point: the end of a turn, or an open permission request.
///
/// # Example
///
/// ```no_run
/// use bowline_lifecycle::{
///     Budget, BudgetRecord, BudgetUsage, DialogueConfiguration, DialogueSession, InvalidBudget, LimitKind,
///     LimitRequest, PermissionAnswer, SharedBudget, parse_time,
/// };
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let budget = Budget { cost_usd: Some(5.0), time: parse_time("30m"), ..Budget::default() };
/// budget.check()?; // an `InvalidBudget` if a limit is 0
/// # let _: Result<(), InvalidBudget> = budget.check();
/// let session = DialogueSession::start(DialogueConfiguration {
///     budget,
///     // After a turn that met a usage limit of the agent's account, once the limit resets.
///     resume_at_reset: Some("Continue.".to_owned()),
///     ..DialogueConfiguration::default()
/// })
/// .await?;
/// // At a limit, `raise`, `go_on` and `stop` are answers; so is a new limit.
/// for request in session.permissions().open().filter(|it| it.tool_name == "budget") {
///     let raise = PermissionAnswer::Answers(vec![("budget".to_owned(), "7.50".to_owned())]);
///     session.answer_permission(&request.request_id, raise).await?;
/// }
///
/// // In the control stream of a session at a runner:
/// let opening: Budget = BudgetRecord { turns: Some(20), ..BudgetRecord::default() }.into();
/// # let _ = opening;
/// fn is_cost(reached: &LimitRequest) -> bool { reached.limit == LimitKind::Cost }
///
/// // For many sessions together: all of them pause, and an answer to one is an answer to all.
/// let shared = SharedBudget::new(budget)?;
/// let one = DialogueConfiguration { shared_budget: Some(shared.clone()), ..DialogueConfiguration::default() };
/// let another = one.clone();
/// let used: BudgetUsage = shared.usage();
/// println!("{} turns of {:?}", used.turns, shared.budget().turns);
/// # let _ = another;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// The cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// Tokens of all models: input, output and writes to a cache. Reads from a cache do not count.
    pub tokens: Option<u64>,
    /// Turns.
    pub turns: Option<u64>,
    /// The time since the session began, whatever it was busy with.
    pub time: Option<Duration>,
}

/// A budget as JSON has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetRecord {
    /// The cost, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// The time, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

impl BudgetRecord {
    /// Returns whether there is no limit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl From<BudgetRecord> for Budget {
    fn from(it: BudgetRecord) -> Self {
        Self {
            cost_usd: it.cost_usd,
            tokens: it.tokens,
            turns: it.turns,
            time: it.seconds.map(Duration::from_secs),
        }
    }
}

/// A kind of limit. Its amounts are integers: millionths of a US dollar, tokens, turns, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LimitKind {
    /// The cost.
    Cost,
    /// Tokens.
    Tokens,
    /// Turns.
    Turns,
    /// Time.
    Time,
    /// A usage limit of the agent's account. Its amount is the time at which the session continues, in milliseconds
    /// since the Unix epoch, and what was used is the time of the request.
    Usage,
}

/// Millionths in a dollar.
const MICRO: f64 = 1e6;

impl LimitKind {
    /// The limits of a budget.
    pub(crate) const ALL: [Self; 4] = [Self::Cost, Self::Tokens, Self::Turns, Self::Time];

    /// Returns the name of the limit, for messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Cost => "cost",
            Self::Tokens => "token",
            Self::Turns => "turn",
            Self::Time => "time",
            Self::Usage => "usage",
        }
    }

    /// Formats an amount.
    pub(crate) fn format(self, amount: u64) -> String {
        match self {
            Self::Cost => format!("{} USD", dollars(amount)),
            Self::Tokens => format!("{amount} tokens"),
            Self::Turns if amount == 1 => "1 turn".to_owned(),
            Self::Turns => format!("{amount} turns"),
            Self::Time | Self::Usage => format_seconds(amount / 1000),
        }
    }

    /// Returns a cost in US dollars.
    #[expect(
        clippy::cast_precision_loss,
        reason = "millionths of dollars below 2^53 are exact"
    )]
    pub(crate) fn usd(amount: u64) -> f64 {
        amount as f64 / MICRO
    }

    /// Formats an amount so that [`parse`](Self::parse) returns it.
    pub(crate) fn exact(self, amount: u64) -> String {
        match self {
            Self::Cost => format!("{}.{:06}", amount / 1_000_000, amount % 1_000_000),
            Self::Tokens | Self::Turns => amount.to_string(),
            Self::Time | Self::Usage => format!("{}.{:03}s", amount / 1000, amount % 1000),
        }
    }

    /// Parses an amount as a user writes it: `7.50`, `7.50 USD`, `20000`, `30m`, `1h`, `90s`, `90`.
    pub(crate) fn parse(self, text: &str) -> Option<u64> {
        let text = text.trim();
        match self {
            Self::Cost => {
                let text = text.trim_start_matches('$').trim_end_matches("USD").trim();
                amount_of_usd(text.parse().ok()?)
            }
            Self::Tokens | Self::Turns => {
                let number = text.split_whitespace().next()?.replace(['_', ','], "");
                number.parse().ok().filter(|it| *it > 0)
            }
            Self::Time => Some(u64::try_from(parse_time(text)?.as_millis()).ok()?),
            Self::Usage => None,
        }
    }
}

/// Parses a time of one unit: `90s`, `30m`, `1h`, or seconds. `None` for anything else, and for none.
#[must_use]
pub fn parse_time(text: &str) -> Option<Duration> {
    let end = text.find(|it: char| !it.is_ascii_digit() && it != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let factor = match unit.trim() {
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let seconds = number.parse::<f64>().ok()? * factor;
    let time = Duration::try_from_secs_f64(seconds).ok()?;
    (time >= Duration::from_millis(1)).then_some(time)
}

fn amount_of_usd(usd: f64) -> Option<u64> {
    // A finite positive number below 2^63 is in the range.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be in the range"
    )]
    let amount = |micro: f64| micro.round() as u64;
    (usd.is_finite() && usd > 0.0 && usd < 1e12).then(|| amount(usd * MICRO))
}

fn dollars(amount: u64) -> String {
    let cents = (amount + 5_000) / 10_000;
    if amount > 0 && cents == 0 {
        // Less than half a cent.
        return format!("0.{amount:06}");
    }
    format!("{}.{:02}", cents / 100, cents % 100)
}

fn format_seconds(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, 0) => format!("{m} min"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, 0, _) => format!("{h} h"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

impl Budget {
    /// Returns whether there is no limit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the first limit that is no positive number, with the remedy.
    ///
    /// # Errors
    ///
    /// As said.
    pub fn check(&self) -> Result<(), InvalidBudget> {
        let is_valid = self.cost_usd.is_none_or(|it| amount_of_usd(it).is_some())
            && self.tokens != Some(0)
            && self.turns != Some(0)
            && self.time.is_none_or(|it| it >= Duration::from_millis(1));
        is_valid.then_some(()).ok_or(InvalidBudget)
    }

    /// Returns the amount of a limit.
    pub(crate) fn amount(&self, kind: LimitKind) -> Option<u64> {
        match kind {
            LimitKind::Cost => amount_of_usd(self.cost_usd?),
            LimitKind::Tokens => self.tokens,
            LimitKind::Turns => self.turns,
            LimitKind::Time => u64::try_from(self.time?.as_millis()).ok(),
            LimitKind::Usage => None,
        }
    }

    /// Sets or removes a limit.
    pub(crate) fn set(&mut self, kind: LimitKind, amount: Option<u64>) {
        match kind {
            LimitKind::Cost => self.cost_usd = amount.map(LimitKind::usd),
            LimitKind::Tokens => self.tokens = amount,
            LimitKind::Turns => self.turns = amount,
            LimitKind::Time => self.time = amount.map(Duration::from_millis),
            LimitKind::Usage => {}
        }
    }
}

/// A limit is not a positive number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a limit of a budget is not above 0; leave it out, or give a positive number")]
pub struct InvalidBudget;

/// A limit that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReachedLimit {
    pub(crate) limit: LimitKind,
    /// Its amount.
    pub(crate) allowed: u64,
    /// What was used; `None` if the agent does not report it.
    pub(crate) spent: Option<u64>,
}

/// What a session has used, in the amounts of [`LimitKind`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// `None` if the agent has not reported it.
    pub(crate) cost: Option<u64>,
    pub(crate) tokens: u64,
    pub(crate) turns: u64,
    pub(crate) time: u64,
}

impl Spent {
    /// Returns the cost of a transcript as an amount.
    pub(crate) fn cost_of(usd: f64) -> Option<u64> {
        amount_of_usd(usd)
    }

    pub(crate) const fn amount(&self, kind: LimitKind) -> Option<u64> {
        match kind {
            LimitKind::Cost => self.cost,
            LimitKind::Tokens => Some(self.tokens),
            LimitKind::Turns => Some(self.turns),
            LimitKind::Time => Some(self.time),
            LimitKind::Usage => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_and_read() {
        use LimitKind::{Cost, Time, Tokens, Turns};
        for (kind, text, amount, shown) in [
            (Cost, "5", 5_000_000, "5.00 USD"),
            (Cost, "$7.509 USD", 7_509_000, "7.51 USD"),
            (Cost, "0.0001", 100, "0.000100 USD"),
            (Tokens, "20_000 tokens", 20_000, "20000 tokens"),
            (Turns, "1", 1, "1 turn"),
            (Time, "30m", 1_800_000, "30 min"),
            (Time, "1.5h", 5_400_000, "1 h 30 min"),
            (Time, "90", 90_000, "1 min 30 s"),
        ] {
            assert_eq!(kind.parse(text), Some(amount), "{text}");
            assert_eq!(kind.format(amount), shown);
            assert_eq!(kind.parse(&kind.exact(amount)), Some(amount), "{text}");
        }
        for (kind, text) in [
            (Cost, "NaN"),
            (Cost, "-1"),
            (Cost, "inf"),
            (Cost, "0"),
            (Turns, "0"),
            (Tokens, "x"),
            (Time, "5 d"),
            (Time, "0"),
            (Time, ""),
        ] {
            assert_eq!(kind.parse(text), None, "{text}");
        }
    }

    #[test]
    fn limit_of_nothing_is_refused() {
        let budget = |cost_usd, turns| Budget {
            cost_usd,
            turns,
            ..Budget::default()
        };
        assert!(budget(Some(0.5), Some(1)).check().is_ok());
        for refused in [
            budget(Some(f64::NAN), None),
            budget(Some(0.0), None),
            budget(None, Some(0)),
        ] {
            assert_eq!(refused.check(), Err(InvalidBudget));
        }
    }
}
