//! Options of the commands that read recordings and past conversations.

use std::path::PathBuf;

use bowline_reducer::dialect::DialectName;
use clap::{Args, ValueEnum};

#[cfg(feature = "fleet")]
use super::fleet;
use super::output::OutputArgs;
use super::runner::ListArgs;

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
