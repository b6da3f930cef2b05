//! The command line.

mod runner;

use std::ffi::OsString;
use std::path::PathBuf;

use bowline_reducer::dialect::DialectName;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::failure::Failure;
use crate::stdio::eprint;
pub(crate) use runner::{Attach, Credentials, Kill, Ps, RunnerArgs, Serve, Token, TokenCommand};

/// Run a coding agent's session and show it as it grows.
#[derive(Debug, Parser)]
#[command(name = "bowline", version, disable_help_subcommand = true, after_help = AFTER_HELP)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
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
    /// Run an agent session.
    Run(Box<Run>),
    /// Show a recorded session, or a past conversation.
    Replay(Replay),
    /// List the past conversations that agents keep on this machine.
    History(History),
    /// Count the events of a recorded session.
    Inspect(Inspect),
    /// Run the session daemon.
    Serve(Box<Serve>),
    /// List the sessions of a runner.
    Ps(Ps),
    /// Attach to a session of a runner.
    Attach(Attach),
    /// End a session of a runner.
    Kill(Kill),
    /// Make, list and remove tokens with limited scopes for the runner.
    Token(Token),
    /// Serve an editor as an ACP agent, on standard input and output.
    Acp(Acp),
    /// Check this machine's setup.
    Doctor(Doctor),
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
    #[arg(long, value_name = "URL")]
    pub(crate) runner: Option<String>,
    #[command(flatten)]
    pub(crate) credentials: Credentials,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// The prompt; `-` reads it from standard input.
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: String,
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
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// At most this many, the newest.
    #[arg(short = 'n', value_name = "N")]
    pub(crate) count: Option<usize>,
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
pub(crate) struct Doctor {
    /// The agent: a name to look up in PATH, or a path.
    #[arg(long, default_value = "claude", value_name = "PATH")]
    pub(crate) agent: OsString,
}

/// Parses the command line. Help and version are printed here and end the process.
///
/// # Errors
/// If the command line is wrong.
pub(crate) fn parse() -> Result<(Command, LogFormat), Failure> {
    CommandLine::try_parse()
        .map(|line| (line.command, line.log_format))
        .map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => error.exit(),
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                // Without a command, the help is the message.
                eprint(&error.to_string());
                Failure::usage("")
            }
            _ => Failure::usage(one_line(&error)),
        })
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
