//! The command line.

mod runner;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::failure::Failure;
pub(crate) use runner::{At, Attach, Kill, Proof, Ps, Serve};

/// Runs a coding agent's session and shows it as it grows.
#[derive(Debug, Parser)]
#[command(name = "bowline", version, disable_help_subcommand = true, after_help = AFTER_HELP)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Start with `bowline demo`. `bowline COMMAND --help` tells more of a command.
Exit code 0: done, 1: the agent or the session failed, 2: usage, 130: interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show a whole session with a scripted agent: no key, no network.
    Demo(Demo),
    /// Hold one dialogue with an agent.
    Run(Box<Run>),
    /// Show a recorded session.
    Replay(Replay),
    /// Count what is in a recorded session.
    Inspect(Inspect),
    /// Keep sessions for hosts that come and go: the runner.
    Serve(Box<Serve>),
    /// List the sessions of a runner.
    Ps(Ps),
    /// Join a session of a runner.
    Attach(Attach),
    /// End a session of a runner.
    Kill(Kill),
    /// Tell what this machine can do.
    Doctor(Doctor),
}

/// What is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// The dialogue, for people.
    #[default]
    Text,
    /// One JSON object a line for each change of the transcript.
    Changes,
    /// The whole transcript as JSON, at the end.
    Transcript,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// How fast the story goes: 1 is a natural pace, 0 has no pauses.
    #[arg(
        long,
        default_value_t = 1.0,
        value_name = "X",
        allow_negative_numbers = true
    )]
    pub(crate) pace: f64,
    /// What is printed: text for people, changes (one JSON object a line, as they come), or
    /// transcript (one JSON document at the end).
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "FORM",
        hide_possible_values = true
    )]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The agent: a name to look up in PATH, or a path.
    #[arg(long, default_value = "claude", value_name = "PATH")]
    pub(crate) agent: OsString,
    /// An argument for the agent; may be repeated.
    #[arg(long = "agent-arg", value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) agent_args: Vec<OsString>,
    /// What the agent's standard streams are: pipes, or pty, a terminal in raw mode.
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "KIND",
        hide_possible_values = true
    )]
    pub(crate) stdio: Stdio,
    /// The model; the agent's own choice when left out.
    #[arg(long, value_name = "M")]
    pub(crate) model: Option<String>,
    /// The permission mode, such as acceptEdits or plan.
    #[arg(long, value_name = "M")]
    pub(crate) permission_mode: Option<String>,
    /// Tools that need no permission, separated by spaces or commas.
    #[arg(long, value_name = "A B")]
    pub(crate) allowed_tools: Option<String>,
    /// Go on with an earlier conversation, by its session id.
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// Copy the agent's output to this file, which must not exist yet; if its name ends in .bjl,
    /// write a journal: output, errors and input, with checksums.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Hold the session at a runner: unix:/path, http://host:port or https://host:port. The agent
    /// runs on its machine and lives through what happens to the network.
    #[arg(long, value_name = "URL")]
    pub(crate) runner: Option<String>,
    #[command(flatten)]
    pub(crate) proof: Proof,
    /// What is printed: text for people, changes (one JSON object a line, as they come), or
    /// transcript (one JSON document at the end).
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "FORM",
        hide_possible_values = true
    )]
    pub(crate) output: Output,
    /// What to ask; `-` reads it from standard input.
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: String,
}

/// What the agent's standard streams are.
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
    /// A recorded stream (.jsonl or a journal, gzip too); `-` reads standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// What is printed: text for people, changes (one JSON object a line, as they come), or
    /// transcript (one JSON document at the end).
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "FORM",
        hide_possible_values = true
    )]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// A recorded stream (.jsonl or a journal, gzip too); `-` reads standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// The agent: a name to look up in PATH, or a path.
    #[arg(long, default_value = "claude", value_name = "PATH")]
    pub(crate) agent: OsString,
}

/// Reads the command line. Help and version are printed here and end the process.
pub(crate) fn parse() -> Result<Command, Failure> {
    Line::try_parse()
        .map(|line| line.command)
        .map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => error.exit(),
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                // What was typed names nothing to do: the help says what there is.
                let _ = write!(std::io::stderr().lock(), "{error}");
                Failure::usage("")
            }
            _ => Failure::usage(one_line(&error)),
        })
}

/// The first paragraph of clap's message, and where to read more.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let first: Vec<_> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let tip = text
        .lines()
        .map(str::trim)
        .find_map(|line| line.strip_prefix("tip: "));
    let first = first.join(" ");
    let first = first.strip_prefix("error: ").unwrap_or(&first);
    match tip {
        Some(tip) => format!("{first} ({tip}), see `bowline --help`"),
        None => format!("{first}, see `bowline --help`"),
    }
}
