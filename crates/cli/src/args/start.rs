//! Options that start a session: `bowline run` and `bowline chat`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use bowline_lifecycle::{Budget, BudgetRecord, parse_time};
use bowline_reducer::dialect::DialectName;
use clap::{Args, ValueEnum};

#[cfg(feature = "fleet")]
use super::fleet;
use super::output::OutputArgs;
use super::runner::{Credentials, RunnerArgs};

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The agent: claude, codex, gemini, opencode, qwen or copilot, another name to look up in PATH, or a
    /// path.
    #[arg(long, default_value = "claude", value_name = "PATH")]
    pub(crate) agent: OsString,
    /// The agent's protocol: claude, codex (codex app-server), acp, or qwen; by default that of the agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<DialectName>,
    /// An argument for the agent; may be repeated.
    #[arg(long = "agent-arg", value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) agent_args: Vec<OsString>,
    /// The agent's standard streams: pipes, or pty (a terminal in raw mode).
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "KIND",
        hide_possible_values = true
    )]
    pub(crate) stdio: Stdio,
    /// The model; by default the agent chooses.
    #[arg(long, value_name = "M")]
    pub(crate) model: Option<String>,
    /// The permission mode, such as acceptEdits or plan.
    #[arg(long, value_name = "M")]
    pub(crate) permission_mode: Option<String>,
    /// Tools that need no permission, separated by spaces or commas.
    #[arg(long, value_name = "A B")]
    pub(crate) allowed_tools: Option<String>,
    /// Rules that answer permission requests before you are asked; by default ~/.config/bowline/policy.toml, if
    /// there is one.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    /// With --detach: after a turn that met a usage limit, continue with this prompt once the limit resets, such as
    /// "Continue.".
    #[arg(long, value_name = "PROMPT", requires = "detach")]
    pub(crate) resume_at_reset: Option<String>,
    /// Resume a conversation, by its session id (see `bowline history`). Changes and the transcript
    /// begin with its past.
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// Copy the agent's output to this file, which must not exist yet. A name that ends in .bjl
    /// writes a journal: output, errors and input, with checksums and times of arrival.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Run the agent at a runner: unix:/path, or http, https, grpc or grpcs://host:port. The agent
    /// runs on the runner's machine and survives network failures.
    #[arg(long, value_name = "URL", group = "place")]
    pub(crate) runner: Option<String>,
    #[cfg(feature = "fleet")]
    #[command(flatten)]
    pub(crate) place: fleet::PlaceArgs,
    /// Name the session at the runner, for `bowline ps`.
    #[arg(long, value_name = "NAME", requires = "place")]
    pub(crate) name: Option<String>,
    /// Label the session at the runner. May be repeated.
    #[arg(long = "label", value_name = "K=V", requires = "place", value_parser = label)]
    pub(crate) labels: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) credentials: Credentials,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Start the session at the runner, print its id, and leave it running; see `bowline attach`. Without
    /// --runner, this user's own runner is started if it does not run.
    #[arg(short, long, conflicts_with_all = ["record", "output"])]
    pub(crate) detach: bool,
    /// Whether a copy of the conversation is resumed.
    #[arg(skip)]
    pub(crate) fork: bool,
    /// The prompt; `-` reads it from standard input.
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
}

impl Run {
    /// Returns the runner that the options select.
    pub(crate) fn runner_args(&self) -> RunnerArgs {
        RunnerArgs {
            runner: self.runner.clone(),
            credentials: self.credentials.clone(),
            #[cfg(feature = "fleet")]
            fleet: self.place.fleet.clone(),
        }
    }

    /// Returns the tools that need no permission.
    pub(crate) fn allowed_tools(&self) -> Vec<String> {
        let list = self.allowed_tools.as_deref();
        list.map(split_tools).unwrap_or_default()
    }
}

/// Splits a list of tools at spaces and commas outside parentheses: `Bash(git log:*) Read`.
fn split_tools(list: &str) -> Vec<String> {
    let mut depth = 0_u32;
    let tools = list.split(|c: char| {
        depth = match c {
            '(' => depth + 1,
            ')' => depth.saturating_sub(1),
            _ => depth,
        };
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    let tools = tools.filter(|tool| !tool.is_empty());
    tools.map(str::to_owned).collect()
}

#[derive(Debug, Args)]
#[command(after_help = CHAT_HELP)]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) run: Run,
    /// Run the agent in this program instead of at the runner. It ends with this program.
    #[arg(long, conflicts_with = "place")]
    pub(crate) no_runner: bool,
}

const CHAT_HELP: &str = "\
The session is at this user's runner, which is started if it does not run, or at the one of --runner: it keeps running \
when this terminal is closed, and `bowline attach ID` comes back to it from any number of terminals.

Enter sends, Alt-Enter begins a new line, ^C interrupts, ^D ends; /help lists the commands. A prompt that is sent \
while the agent works is queued, or steers the running turn if the agent can do that. An open permission request \
is answered by one key.";

/// Parses a label, `key=value`.
fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("not a label; pass one such as team=blue".to_owned()),
    }
}

/// What a session may use. At a limit it pauses at the end of the turn, or at a permission request, and asks.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct BudgetArgs {
    /// Pause at this cost, in US dollars.
    #[arg(long, value_name = "USD")]
    max_cost: Option<f64>,
    /// Pause after this many tokens: input, output and cache writes.
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// Pause after this many turns.
    #[arg(long, value_name = "N")]
    max_turns: Option<u64>,
    /// Pause after this time: 90s, 30m or 1h.
    #[arg(long, value_name = "TIME", value_parser = time)]
    max_time: Option<Duration>,
}

impl From<&BudgetArgs> for BudgetRecord {
    fn from(it: &BudgetArgs) -> Self {
        Self {
            cost_usd: it.max_cost,
            tokens: it.max_tokens,
            turns: it.max_turns,
            // The runner counts whole seconds.
            seconds: it.max_time.map(|it| it.as_secs().max(1)),
        }
    }
}

fn time(text: &str) -> Result<Duration, String> {
    parse_time(text).ok_or_else(|| "no time above 0; write 90s, 30m or 1h".to_owned())
}

impl From<&BudgetArgs> for Budget {
    fn from(it: &BudgetArgs) -> Self {
        Self {
            cost_usd: it.max_cost,
            tokens: it.max_tokens,
            turns: it.max_turns,
            time: it.max_time,
        }
    }
}

/// The kind of the agent's standard streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stdio {
    /// Pipes.
    #[default]
    Pipes,
    /// A terminal in raw mode.
    Pty,
}

#[cfg(test)]
mod tests {
    use super::split_tools;

    #[test]
    fn tools_are_split_outside_parentheses() {
        let list = "Read, Bash(git log:*) Edit(src/**),Write";
        assert_eq!(
            split_tools(list),
            ["Read", "Bash(git log:*)", "Edit(src/**)", "Write"]
        );
        assert_eq!(split_tools(" "), Vec::<String>::new());
    }
}
