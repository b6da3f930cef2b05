//! One rule of a policy.

use std::fmt;
use std::sync::Arc;

use bowline_reducer::model::ToolKind;

use super::command::CommandPattern;
use super::host;
use super::path::{Folders, PathPattern, RequestPath};
use super::pattern::{self, Strictness};
use super::request::PolicyRequest;
use super::shell::CommandLine;

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RuleDecision {
    Allow,
    Ask,
    Deny,
}

impl RuleDecision {
    pub(super) const NAMES: [&str; 3] = ["allow", "ask", "deny"];

    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "allow" => Self::Allow,
            "ask" => Self::Ask,
            "deny" => Self::Deny,
            _ => return None,
        })
    }
}

/// A rule: what it is about, and what it does. All of its conditions have to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) label: RuleLabel,
    pub(super) decision: RuleDecision,
    /// Kinds or names of tools; any tool without.
    pub(super) tools: Vec<String>,
    pub(super) paths: Vec<PathPattern>,
    pub(super) commands: Vec<CommandPattern>,
    pub(super) hosts: Vec<String>,
    /// The message for the agent when the rule denies.
    pub(super) message: Option<String>,
}

/// How a rule is named where it has decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RuleLabel {
    pub(super) name: Option<String>,
    /// Its number in the file, from 1.
    pub(super) number: usize,
    pub(super) source: Arc<str>,
}

impl fmt::Display for RuleLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "rule \"{name}\" in {}", self.source),
            None => write!(f, "rule {} in {}", self.number, self.source),
        }
    }
}

/// One thing that a request does, which a rule has to allow.
#[derive(Clone, Copy, Debug)]
pub(super) enum Aspect<'a> {
    Command(&'a [String]),
    Path(&'a RequestPath),
    Host(&'a str),
    /// The use of the tool, where nothing else is known.
    Tool,
}

impl Rule {
    /// Returns whether the rule is about a request: some part of it meets each condition. For rules that deny
    /// or ask.
    pub(super) fn concerns(&self, request: &PolicyRequest, home: Option<&str>) -> bool {
        let is_command = |pattern: &CommandPattern| {
            let commands = request
                .commands
                .iter()
                .flat_map(CommandLine::possible_commands);
            let mut commands = commands.filter(|it| !it.is_empty());
            commands.any(|words| pattern.matches(&words, Strictness::Loose))
        };
        let is_path = |pattern: &PathPattern| {
            request.paths.iter().any(|path| {
                let is_at = |path: &str, cwd: Option<&str>| {
                    pattern.matches(path, Folders { cwd, home }, Strictness::Loose)
                };
                is_at(&path.normal, request.cwd.as_deref())
                    || path.resolved.as_deref().is_some_and(|path| {
                        is_at(path, request.resolved_cwd.as_deref())
                            || is_at(path, request.cwd.as_deref())
                    })
            })
        };
        let is_host = |pattern: &String| {
            // A URL that is not understood may be of any host.
            let mut hosts = request.hosts.iter();
            hosts.any(|it| it.as_deref().is_none_or(|it| host::matches(pattern, it)))
        };
        self.is_about_tool(request, Strictness::Loose)
            && (self.commands.is_empty() || self.commands.iter().any(is_command))
            && (self.paths.is_empty() || self.paths.iter().any(is_path))
            && (self.hosts.is_empty() || self.hosts.iter().any(is_host))
    }

    /// Returns whether the rule allows a part of a request.
    pub(super) fn covers(
        &self,
        request: &PolicyRequest,
        aspect: Aspect<'_>,
        home: Option<&str>,
    ) -> bool {
        if !self.is_about_tool(request, Strictness::Exact) {
            return false;
        }
        let has_none = self.commands.is_empty() && self.paths.is_empty() && self.hosts.is_empty();
        let of_aspect = match aspect {
            Aspect::Command(_) => !self.commands.is_empty(),
            Aspect::Path(_) => !self.paths.is_empty(),
            Aspect::Host(_) => !self.hosts.is_empty(),
            Aspect::Tool => false,
        };
        has_none || of_aspect && self.allows(request, aspect, home)
    }

    fn allows(&self, request: &PolicyRequest, aspect: Aspect<'_>, home: Option<&str>) -> bool {
        // Other conditions hold for all of the request.
        let others = aspects(request)
            .into_iter()
            .filter(|other| std::mem::discriminant(other) != std::mem::discriminant(&aspect));
        let mut others: Vec<_> = others.collect();
        let has = |is_it: fn(&Aspect<'_>) -> bool| aspects(request).iter().any(is_it);
        let is_complete = (self.commands.is_empty() || has(|it| matches!(it, Aspect::Command(_))))
            && (self.paths.is_empty() || has(|it| matches!(it, Aspect::Path(_))))
            && (self.hosts.is_empty() || has(|it| matches!(it, Aspect::Host(_))));
        others.push(aspect);
        is_complete && others.iter().all(|it| self.holds(request, *it, home))
    }

    /// Returns whether the condition on a part of a request holds, if the rule has one.
    fn holds(&self, request: &PolicyRequest, aspect: Aspect<'_>, home: Option<&str>) -> bool {
        match aspect {
            Aspect::Command(words) => {
                let mut patterns = self.commands.iter();
                self.commands.is_empty() || patterns.any(|it| it.matches(words, Strictness::Exact))
            }
            Aspect::Path(path) => {
                let mut patterns = self.paths.iter();
                self.paths.is_empty() || patterns.any(|it| is_at(it, path, request, home))
            }
            Aspect::Host(host) => {
                self.hosts.is_empty() || self.hosts.iter().any(|it| host::matches(it, host))
            }
            Aspect::Tool => true,
        }
    }

    fn is_about_tool(&self, request: &PolicyRequest, strictness: Strictness) -> bool {
        let is_it = |pattern: &String| {
            let mut names = request.tools.iter();
            kind_name(request.kind) == pattern
                || names.any(|name| pattern::matches(pattern, name, strictness))
        };
        self.tools.is_empty() || self.tools.iter().any(is_it)
    }
}

/// Returns whether a path is surely where a pattern says: by its text, and where the system finds it.
fn is_at(
    pattern: &PathPattern,
    path: &RequestPath,
    request: &PolicyRequest,
    home: Option<&str>,
) -> bool {
    let matches = |path: &str, cwd: &Option<String>| {
        let folders = Folders {
            cwd: cwd.as_deref(),
            home,
        };
        pattern.matches(path, folders, Strictness::Exact)
    };
    path.is_exact
        && matches(&path.normal, &request.cwd)
        && path
            .resolved
            .as_deref()
            .is_some_and(|it| matches(it, &request.resolved_cwd))
}

/// Returns the parts of a request, each of which has to be allowed.
pub(super) fn aspects(request: &PolicyRequest) -> Vec<Aspect<'_>> {
    let commands = request.commands.iter().flat_map(|it| &it.commands);
    let commands = commands.map(|words| Aspect::Command(words));
    let paths = request.paths.iter().map(Aspect::Path);
    let hosts = request.hosts.iter().flatten().map(|it| Aspect::Host(it));
    let all: Vec<_> = commands.chain(paths).chain(hosts).collect();
    if all.is_empty() {
        return vec![Aspect::Tool];
    }
    all
}

/// Names of kinds of tools, as a file writes them.
pub(super) const fn kind_name(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "execute",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "switch_mode",
        _ => "other",
    }
}
