//! The command line.

#[cfg(feature = "fleet")]
pub(crate) mod fleet;
mod runner;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use bowline_lifecycle::{Budget, BudgetRecord, parse_time};
use bowline_reducer::dialect::DialectName;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use crate::failure::Failure;
use crate::settings::Settings;
use crate::stdio::eprint;
pub(crate) use runner::{
    Answer, Attach, Bundle, Credentials, Kill, ListArgs, Logs, Ps, Redact, RunnerArgs, Send, Serve,
    Token, TokenCommand, Wait, WaitFor,
};

/// Run a coding agent's session and show it as it grows.
///
/// Without a command, on a terminal, holds a conversation, as `bowline chat` does.
#[derive(Debug, Parser)]
#[command(name = "bowline", version, disable_help_subcommand = true, after_help = AFTER_HELP)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
    /// Format of the log on standard error, text or json; RUST_LOG selects what is logged.
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        global = true,
        hide_possible_values = true
    )]
    log_format: LogFormat,
}

const AFTER_HELP: &str = "\
Start with `bowline demo`. `bowline COMMAND --help` describes a command.

RUST_LOG=info, or a filter such as RUST_LOG=bowline_runner=debug, writes a log to standard error. \
Without it `serve` logs warnings and errors, and the other commands log nothing.

Exit code 0: done, 1: the agent or the session failed, 2: usage, 130: interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show a session with a scripted agent; needs no key and no network.
    Demo(Demo),
    /// Hold a conversation with an agent on this terminal.
    Chat(Box<Chat>),
    /// Run an agent session with one prompt.
    Run(Box<Run>),
    /// Show a recorded session, or a past conversation.
    Replay(Replay),
    /// List the past conversations that agents keep on this machine.
    History(History),
    /// Count the events of a recorded session.
    Inspect(Inspect),
    /// Write a session into one file, without its secrets, to report a problem.
    Bundle(Bundle),
    /// Run the session daemon.
    Serve(Box<Serve>),
    /// List the sessions of a runner.
    Ps(Ps),
    /// Attach to a session of a runner.
    Attach(Attach),
    /// Print what a session of a runner has written.
    Logs(Logs),
    /// Send a prompt to a session of a runner.
    Send(Send),
    /// Answer a permission request of a session.
    Answer(Answer),
    /// Wait until a session is idle, has ended, or asks for a permission.
    Wait(Wait),
    /// End a session of a runner.
    Kill(Kill),
    /// Open the page of this user's runner in a browser.
    Ui(Ui),
    /// Make, list and remove tokens with limited scopes for the runner.
    Token(Token),
    /// Show the settings, with where each value comes from.
    Config,
    /// Print the script that completes commands and session ids in a shell.
    Completions(Completions),
    /// Print the manual page, or that of a command.
    Man(Man),
    /// Serve an editor as an ACP agent, on standard input and output.
    Acp(Acp),
    /// Check this machine's setup.
    Doctor(Doctor),
    /// Set up and check the NATS servers of a fleet.
    #[cfg(feature = "fleet")]
    Fleet(fleet::Fleet),
}

#[derive(Debug, Args)]
#[command(after_help = "\
The page shows the sessions of this machine's runner, which is started if it does not run. It is served on loopback \
only, on port 7420 or the next free one. The link logs in one browser tab, once; `bowline token ls` lists the tabs, and \
`bowline token rm` logs one out.")]
pub(crate) struct Ui {
    /// Print the link only, without opening a browser.
    #[arg(long)]
    pub(crate) no_open: bool,
}

/// The form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// The dialogue, for people.
    #[default]
    Text,
    /// One JSON object a line for each change of the transcript.
    Changes,
    /// The whole transcript as JSON, at the end.
    Transcript,
    /// The same in schema 1: `--output transcript --schema 1`.
    #[value(skip)]
    TranscriptSchema1,
}

/// The format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One line of text for each event.
    #[default]
    Text,
    /// One JSON object a line for each event.
    Json,
}

/// The option that selects the form of the output.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct OutputArgs {
    /// Output form: text for people, changes (one JSON object a line, as they come), or transcript
    /// (one JSON document at the end).
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "FORM",
        hide_possible_values = true
    )]
    output: Output,
    /// Version of the transcript's JSON: 2, or 1, which has fewer fields.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2,
        value_parser = clap::value_parser!(u32).range(1..=2)
    )]
    schema: u32,
}

impl OutputArgs {
    /// Selects a form in the current schema.
    #[cfg(feature = "fleet")]
    pub(crate) const fn of(output: Output) -> Self {
        Self { output, schema: 2 }
    }

    /// The form of the output in its schema.
    pub(crate) const fn form(&self) -> Output {
        match (self.output, self.schema) {
            (Output::Transcript, 1) => Output::TranscriptSchema1,
            (output, _) => output,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Factor on every delay: 1 is a natural pace, 0 has no pauses.
    #[arg(
        long,
        default_value_t = 1.0,
        value_name = "X",
        allow_negative_numbers = true
    )]
    pub(crate) pace: f64,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

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
The session is at this user's runner, which is started if it does not run, or at the one of --runner: it goes on \
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

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// A recording (.jsonl or a journal, gzip too); `-` reads standard input.
    #[arg(
        value_name = "FILE",
        required_unless_present = "conversation",
        conflicts_with = "conversation"
    )]
    pub(crate) file: Option<PathBuf>,
    /// A past conversation instead of a file: its id, or the beginning of it (see `bowline history`).
    #[arg(long, value_name = "ID", conflicts_with = "dialect")]
    pub(crate) conversation: Option<String>,
    /// The agent's protocol; recognized by the first lines if not given.
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<DialectName>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Exit with 1 if a part of a journal is damaged or missing.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Show it in a browser instead, as it was at any moment; ends when its tab is closed.
    #[arg(long, conflicts_with = "strict")]
    pub(crate) open: bool,
}

#[derive(Debug, Args)]
pub(crate) struct History {
    /// Only conversations that began in this directory or below it.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Only conversations with this text in the title, a prompt or an answer, in any case.
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
    /// Only conversations of this agent: claude or codex.
    #[arg(long, value_enum, value_name = "AGENT", hide_possible_values = true)]
    pub(crate) agent: Option<HistoryAgent>,
    #[command(flatten)]
    pub(crate) list: ListArgs,
    /// At most this many, the newest.
    #[arg(short = 'n', value_name = "N")]
    pub(crate) count: Option<usize>,
    /// Instead, the sessions of all runners of the fleet that have ended.
    #[cfg(feature = "fleet")]
    #[command(flatten)]
    pub(crate) fleet: fleet::FleetArgs,
}

/// An agent that keeps its conversations on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HistoryAgent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
}

#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// A recording (.jsonl or a journal, gzip too); `-` reads standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The agent's protocol; recognized by the first lines if not given.
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<DialectName>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit with 1 if a part of a journal is damaged or missing.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Show it in a browser instead: its transcript, bytes and times; ends when its tab is closed.
    #[arg(long, conflicts_with_all = ["json", "strict"])]
    pub(crate) open: bool,
}

#[derive(Debug, Args)]
#[command(after_help = ACP_HELP)]
pub(crate) struct Acp {
    /// The agent of new sessions: claude, codex, gemini, opencode, qwen or copilot, another name to look up in
    /// the runner's PATH, or a path.
    #[arg(long, default_value = "claude", value_name = "PATH")]
    pub(crate) agent: String,
    /// The agent's protocol: claude, codex (codex app-server), acp, or qwen; by default that of the agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<DialectName>,
    /// An argument for the agent; may be repeated.
    #[arg(long = "agent-arg", value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) agent_args: Vec<String>,
    /// The highest version of ACP to offer. Version 2 is a draft, which may change with any release of Bowline; an
    /// editor that asks for version 1 still gets that.
    #[arg(long, default_value_t = 1, value_name = "1|2", value_parser = clap::value_parser!(u8).range(1..=2))]
    pub(crate) protocol: u8,
    #[command(flatten)]
    pub(crate) runner: RunnerArgs,
}

const ACP_HELP: &str = "\
The sessions are at the runner: they go on when the editor is closed or killed, several editors can open one, \
and an unanswered permission is asked again. Without --runner, a runner is started if this user has none.

Zed, settings.json:
  \"agent_servers\": {
    \"Bowline\": {\"type\": \"custom\", \"command\": \"bowline\", \"args\": [\"acp\", \"--agent\", \"claude\"]}
  }
Neovim, avante.nvim:
  require(\"avante\").setup({ provider = \"bowline\", acp_providers = {
    bowline = { command = \"bowline\", args = { \"acp\", \"--agent\", \"claude\" } } } })";

#[derive(Debug, Args)]
#[command(after_help = "\
bash: source <(bowline completions bash)
zsh:  source <(bowline completions zsh)
fish: bowline completions fish | source")]
pub(crate) struct Completions {
    /// The shell: bash, zsh or fish.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: String,
}

#[derive(Debug, Args)]
#[command(after_help = "`bowline man | man -l -` shows the page.")]
pub(crate) struct Man {
    /// The command.
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// The agent: a name to look up in PATH, or a path.
    #[arg(long, default_value = "claude", value_name = "PATH")]
    pub(crate) agent: OsString,
}

/// Parses the command line. Help and version are printed here and end the process. Without a command, a
/// conversation begins if there is a terminal.
///
/// # Errors
/// If the command line is wrong.
pub(crate) fn parse(
    settings: &Settings,
    has_terminal: bool,
) -> Result<(Command, LogFormat), Failure> {
    let line = parse_from(settings, std::env::args_os())?;
    match line.command {
        Some(Command::Run(run)) => Ok((Command::Run(at_runner(run, settings)), line.log_format)),
        Some(command) => Ok((command, line.log_format)),
        None if has_terminal => {
            let chat = ["bowline", "chat"].map(OsString::from);
            let chat = parse_from(settings, chat)?;
            let command = chat.command.ok_or_else(|| Failure::usage(""))?;
            Ok((command, line.log_format))
        }
        None => {
            // Without a command and a terminal, the help is the message.
            eprint(&command().render_long_help().to_string());
            Err(Failure::usage(""))
        }
    }
}

/// Selects the runner of the settings for a session that is started detached. Others run in the command itself,
/// unless an option says otherwise.
fn at_runner(mut run: Box<Run>, settings: &Settings) -> Box<Run> {
    if run.detach && run.runner_args().is_own() {
        let value = |key| settings.value(key).map(str::to_owned);
        run.runner = value("runner.url");
        let token = value("runner.token_file").map(PathBuf::from);
        let credentials = &mut run.credentials;
        credentials.token_file = credentials.token_file.take().or(token);
    }
    run
}

/// Returns the command line's description.
pub(crate) fn command() -> clap::Command {
    CommandLine::command()
}

/// Parses a command line whose options have the user's defaults.
fn parse_from(
    settings: &Settings,
    words: impl IntoIterator<Item = OsString>,
) -> Result<CommandLine, Failure> {
    let command = settings.apply(command());
    let matches = command.try_get_matches_from(words).map_err(usage)?;
    CommandLine::from_arg_matches(&matches).map_err(usage)
}

fn usage(error: clap::Error) -> Failure {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => error.exit(),
        _ => Failure::usage(one_line(&error)),
    }
}

/// Returns the first paragraph of clap's message, its tip, and where to read more.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = || text.lines().map(str::trim);
    let first: Vec<_> = lines().take_while(|line| !line.is_empty()).collect();
    let first = first.join(" ");
    let first = first.strip_prefix("error: ").unwrap_or(&first);
    match lines().find_map(|line| line.strip_prefix("tip: ")) {
        Some(tip) => format!("{first} ({tip}); see `bowline --help`"),
        None => format!("{first}; see `bowline --help`"),
    }
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
