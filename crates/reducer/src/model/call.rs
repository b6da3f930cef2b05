//! Tool calls.

use serde::Serialize;

/// What a tool does, in the terms of ACP. See [`Shown::kind`](crate::Shown::kind).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolKind {
    /// Reads files or data.
    Read,
    /// Changes files.
    Edit,
    /// Deletes files.
    Delete,
    /// Moves files.
    Move,
    /// Searches files or the web.
    Search,
    /// Runs a command.
    Execute,
    /// Reasons or plans.
    Think,
    /// Fetches from the network.
    Fetch,
    /// Changes the session's mode.
    SwitchMode,
    /// Anything else.
    #[default]
    Other,
}

impl ToolKind {
    /// Parses ACP's name of a kind; an unknown one is [`ToolKind::Other`].
    #[must_use]
    pub fn of(word: &str) -> Self {
        match word {
            "read" => Self::Read,
            "edit" => Self::Edit,
            "delete" => Self::Delete,
            "move" => Self::Move,
            "search" => Self::Search,
            "execute" => Self::Execute,
            "think" => Self::Think,
            "fetch" => Self::Fetch,
            "switch_mode" => Self::SwitchMode,
            _ => Self::Other,
        }
    }

    /// Returns what a tool of Claude Code, Gemini CLI or Qwen Code does; [`ToolKind::Other`] for any other tool, and
    /// `None` without a name.
    #[must_use]
    pub fn of_tool(name: &str) -> Option<Self> {
        Some(match name {
            "" => return None,
            "Read" | "read_file" | "read_many_files" | "NotebookRead" => Self::Read,
            "Edit" | "MultiEdit" | "Write" | "NotebookEdit" | "edit" | "replace" | "write_file"
            | "notebook_edit" => Self::Edit,
            "Grep"
            | "Glob"
            | "LS"
            | "grep_search"
            | "search_file_content"
            | "glob"
            | "list_directory"
            | "ToolSearch"
            | "tool_search"
            | "WebSearch"
            | "google_web_search"
            | "web_search" => Self::Search,
            "Bash" | "run_shell_command" => Self::Execute,
            "WebFetch" | "web_fetch" => Self::Fetch,
            "Agent" | "Task" | "agent" | "TodoWrite" | "todo_write" => Self::Think,
            "EnterPlanMode" | "ExitPlanMode" | "exit_plan_mode" => Self::SwitchMode,
            _ => Self::Other,
        })
    }
}

/// A file that a tool call works on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Location {
    /// Path as the agent gave it.
    pub path: String,
    /// Line, from 1.
    pub line: Option<u64>,
}

/// One part of what a tool call shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A change of a file: its old and new text, or a patch.
    Diff {
        /// Path of the file.
        path: String,
        /// The replaced text; `None` for a new file, or if only a patch is known.
        old: Option<String>,
        /// The new text; `None` for a deleted file, or if only a patch is known.
        new: Option<String>,
        /// A unified diff.
        patch: Option<String>,
    },
    /// A command; its output is [`ToolCall::output`](crate::ToolCall::output).
    Terminal {
        /// The command line.
        command: String,
        /// Its working directory.
        cwd: Option<String>,
    },
}
