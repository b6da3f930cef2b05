//! Which sessions of the list to return: filters and pages.

use bowline_transport::{SessionSummary, SessionSummaryState};
use serde::Deserialize;

use crate::api::problem::Problem;
use crate::api::session_place::SessionPlace;

/// Sessions in a response, at most.
const MAX_LIMIT: usize = 1000;

/// States, each after the words that are accepted for it.
const STATES: [(&str, &[&str]); 6] = [
    ("starting", &["starting", "creating"]),
    ("idle", &["idle"]),
    ("running", &["running", "active"]),
    ("awaiting_permission", &["awaiting_permission"]),
    ("ended", &["ended", "exited", "terminated"]),
    ("lost", &["lost"]),
];

/// Which sessions to list. Without a parameter, all.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    /// Labels that a session has, as `NAME=VALUE` or `NAME`, separated by commas.
    label: Option<String>,
    /// States, separated by commas: `starting`, `idle`, `running`, `awaiting_permission`, `ended`, `lost`. A session
    /// without phases, such as a shell, is `running` until it ends.
    state: Option<String>,
    /// The agent: its name, its program or its dialect.
    agent: Option<String>,
    /// The working directory.
    cwd: Option<String>,
    /// Maximum number of sessions, up to 1000. Default: all.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// The `next` of an earlier response: the list continues there.
    after: Option<String>,
    /// Whether to list the sessions of all runners of the fleet, without other parameters. Each of another runner has
    /// a member `fleet`: its runner, whether it can be reached, and how much of it is copied. Only at a runner that is
    /// in a fleet.
    #[serde(default)]
    #[param(default = false)]
    fleet: bool,
}

/// The filters of a request.
#[derive(Debug, Default)]
pub(super) struct ListFilter {
    labels: Vec<(String, Option<String>)>,
    states: Vec<&'static str>,
    agent: Option<String>,
    cwd: Option<String>,
    limit: Option<usize>,
    after: Option<SessionPlace>,
}

impl ListQuery {
    /// Returns whether the sessions of all runners are requested.
    ///
    /// # Errors
    ///
    /// Another parameter is there.
    pub(super) fn is_fleet(&self) -> Result<bool, Problem> {
        let texts = [
            &self.label,
            &self.state,
            &self.agent,
            &self.cwd,
            &self.after,
        ];
        let has_filter = texts.iter().any(|it| it.is_some()) || self.limit.is_some();
        match self.fleet && has_filter {
            true => Err(Problem::bad_request(
                "`fleet` has no effect with other parameters; omit them",
            )),
            false => Ok(self.fleet),
        }
    }

    /// Parses the parameters.
    ///
    /// # Errors
    ///
    /// A state is unknown, the limit is out of range, or the cursor is invalid.
    pub(super) fn filter(self) -> Result<ListFilter, Problem> {
        let label = |text: &str| match text.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (text.to_owned(), None),
        };
        let labels = self
            .label
            .as_deref()
            .map(|it| it.split(',').map(label).collect());
        let states = self
            .state
            .as_deref()
            .map(|it| it.split(',').map(state).collect());
        let after = self.after.as_deref().map(|it| {
            it.parse()
                .map_err(|_| Problem::bad_request("`after` is no cursor of this list; omit it"))
        });
        if self.limit.is_some_and(|it| !(1..=MAX_LIMIT).contains(&it)) {
            return Err(Problem::bad_request(format!(
                "`limit` must be from 1 to {MAX_LIMIT}"
            )));
        }
        Ok(ListFilter {
            labels: labels.unwrap_or_default(),
            states: states.transpose()?.unwrap_or_default(),
            agent: self.agent,
            cwd: self.cwd.map(|it| trimmed(&it).to_owned()),
            limit: self.limit,
            after: after.transpose()?,
        })
    }
}

impl ListFilter {
    /// Returns the sessions that match, and the cursor after them if more match. `sessions` are sorted by start and id.
    pub(super) fn page(
        &self,
        sessions: Vec<SessionSummary>,
    ) -> (Vec<SessionSummary>, Option<String>) {
        let place = |it: &SessionSummary| SessionPlace {
            started_ms: it.started_ms,
            id: it.id,
        };
        let mut matching: Vec<_> = sessions
            .into_iter()
            .filter(|it| self.after.is_none_or(|after| place(it) > after) && self.matches(it))
            .collect();
        let limit = self.limit.unwrap_or(usize::MAX);
        let has_more = matching.len() > limit;
        matching.truncate(limit);
        let last = matching.last().filter(|_| has_more);
        let next = last.map(|it| place(it).to_string());
        (matching, next)
    }

    fn matches(&self, session: &SessionSummary) -> bool {
        let has_label = |(name, value): &(String, Option<String>)| {
            let found = session.labels.get(name);
            found.is_some_and(|found| value.as_ref().is_none_or(|it| it == found))
        };
        let cwd = session.cwd.as_deref().map(trimmed);
        self.labels.iter().all(has_label)
            && (self.states.is_empty() || self.states.contains(&state_of(session)))
            && self.cwd.as_deref().is_none_or(|it| cwd == Some(it))
            && self.agent.as_deref().is_none_or(|it| is_agent(session, it))
    }
}

/// Returns the state of a session, by the one vocabulary of phases.
fn state_of(session: &SessionSummary) -> &'static str {
    let phase = session.activity.phase.as_deref();
    let known = STATES.iter().find(|(name, _)| Some(*name) == phase);
    match (known, session.state) {
        (Some((name, _)), _) => name,
        (None, SessionSummaryState::Running) => "running",
        (None, SessionSummaryState::Lost) => "lost",
        (None, _) => "ended",
    }
}

fn is_agent(session: &SessionSummary, agent: &str) -> bool {
    let name = session.program.rsplit('/').next();
    let dialect = session.labels.get("bowline.dialect").map(String::as_str);
    session.program == agent || name == Some(agent) || dialect == Some(agent)
}

fn state(word: &str) -> Result<&'static str, Problem> {
    let known = STATES.iter().find(|(_, words)| words.contains(&word));
    known.map(|(name, _)| *name).ok_or_else(|| {
        let names: Vec<_> = STATES.iter().map(|(name, _)| *name).collect();
        let names = names.join(", ");
        Problem::bad_request(format!("unknown state `{word}`; the states are {names}"))
    })
}

fn trimmed(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" => path,
        trimmed => trimmed,
    }
}
