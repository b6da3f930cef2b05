//! The command line.

#[cfg(feature = "fleet")]
pub(crate) mod fleet;
mod output;
mod recordings;
mod runner;
mod start;

use std::ffi::OsString;
use std::path::PathBuf;

use bowline_reducer::dialect::DialectName;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use crate::failure::Failure;
use crate::settings::Settings;
use crate::stdio::eprint;
pub(crate) use output::{Output, OutputArgs};
pub(crate) use recordings::{History, HistoryAgent, Inspect, Replay};
pub(crate) use runner::{
    Answer, Attach, Bundle, Credentials, Kill, ListArgs, Logs, Ps, Redact, RunnerArgs, Send, Serve,
    Token, TokenCommand, Wait, WaitFor,
};
pub(crate) use start::{Chat, Run, Stdio};

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
    /// Continue a session of a fleet at another runner.
    #[cfg(feature = "fleet")]
    Resume(fleet::Resume),
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

/// The format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One line of text for each event.
    #[default]
    Text,
    /// One JSON object a line for each event.
    Json,
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
The sessions are at the runner: they keep running when the editor is closed or killed, several editors can open one, \
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
        _ if needs_fleet(&error) => Failure::usage(
            "this build has no fleet commands; `cargo install --path crates/cli --features fleet` makes one that has",
        ),
        _ => Failure::usage(one_line(&error)),
    }
}

/// Returns whether the unknown word is one of a build with the feature `fleet`.
fn needs_fleet(error: &clap::Error) -> bool {
    const WORDS: [&str; 6] = [
        "fleet",
        "resume",
        "--fleet",
        "--on",
        "--creds",
        "--advertise",
    ];
    let is_of_fleet = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => WORDS.contains(&word.as_str()),
        _ => false,
    };
    let kinds = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg];
    cfg!(not(feature = "fleet")) && kinds.into_iter().any(is_of_fleet)
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
