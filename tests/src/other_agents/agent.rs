//! The agents, and the calls of their tools.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use bowline_lifecycle::DialectName;
use serde_json::{Value, json};

use super::{ApiFormat, Call, Reply};

/// An agent beside Claude Code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherAgent {
    /// Codex, by `codex app-server`.
    Codex,
    /// Gemini CLI, by the Agent Client Protocol.
    Gemini,
    /// opencode, by the Agent Client Protocol.
    Opencode,
}

impl OtherAgent {
    /// Returns the name of the variable that names the installed program.
    #[must_use]
    pub const fn variable(self) -> &'static str {
        match self {
            Self::Codex => "BOWLINE_REAL_CODEX",
            Self::Gemini => "BOWLINE_REAL_GEMINI",
            Self::Opencode => "BOWLINE_REAL_OPENCODE",
        }
    }

    /// Returns the program.
    ///
    /// # Panics
    ///
    /// It is not installed.
    #[must_use]
    pub fn program(self) -> OsString {
        let variable = self.variable();
        let program = env::var_os(variable);
        program.unwrap_or_else(|| panic!("{variable} is not set; run .ci/other-agents"))
    }

    /// Returns the protocol by which it is driven.
    #[must_use]
    pub const fn dialect(self) -> DialectName {
        match self {
            Self::Codex => DialectName::Codex,
            Self::Gemini | Self::Opencode => DialectName::Acp,
        }
    }

    /// Returns the API of its model.
    #[must_use]
    pub const fn format(self) -> ApiFormat {
        match self {
            Self::Codex => ApiFormat::Responses,
            Self::Gemini => ApiFormat::GenerateContent,
            Self::Opencode => ApiFormat::ChatCompletions,
        }
    }

    /// Calls a shell with a command line.
    #[must_use]
    pub fn command(self, id: &'static str, line: &str) -> Call {
        match self {
            Self::Codex => call(id, "exec_command", json!({"cmd": line})),
            Self::Gemini => call(id, "run_shell_command", json!({"command": line})),
            Self::Opencode => call(
                id,
                "bash",
                json!({"command": line, "description": "A command"}),
            ),
        }
    }

    /// Writes a new file of one line.
    #[must_use]
    pub fn write(self, id: &'static str, file: &Path, line: &str) -> Call {
        match self {
            // Codex has no tool for it, and recognizes the patch in the command line.
            Self::Codex => {
                let name = file.file_name().unwrap_or_default().display();
                let patch =
                    format!("*** Begin Patch\n*** Add File: {name}\n+{line}\n*** End Patch\n");
                self.command(id, &format!("apply_patch <<'EOF'\n{patch}EOF\n"))
            }
            Self::Gemini => call(
                id,
                "write_file",
                json!({"file_path": file, "content": format!("{line}\n")}),
            ),
            Self::Opencode => call(
                id,
                "write",
                json!({"filePath": file, "content": format!("{line}\n")}),
            ),
        }
    }

    /// Gives a sub-agent a prompt. The sub-agent's requests have the replies of
    /// [`ModelApi::script_child`](super::ModelApi::script_child).
    #[must_use]
    pub fn delegate(self, id: &'static str, prompt: &str) -> Call {
        match self {
            Self::Codex => Call {
                namespace: Some("multi_agent_v1"),
                ..call(id, "spawn_agent", json!({"message": prompt}))
            },
            Self::Gemini => call(
                id,
                "invoke_agent",
                json!({"agent_name": "generalist", "prompt": prompt}),
            ),
            Self::Opencode => call(
                id,
                "task",
                json!({"description": "A task", "prompt": prompt, "subagent_type": "general"}),
            ),
        }
    }

    /// Whether the call of a sub-agent returns at once, and the model has to wait for it.
    #[must_use]
    pub fn has_to_wait(self) -> bool {
        self == Self::Codex
    }

    /// Returns the replies with which a sub-agent reports.
    #[must_use]
    pub fn report(self, id: &'static str, text: &'static str) -> Vec<Reply> {
        match self {
            Self::Codex | Self::Opencode => vec![Reply::Text(text)],
            Self::Gemini => {
                let result = json!({"result": {"response": text}});
                vec![call(id, "complete_task", result).into()]
            }
        }
    }

    /// Whether the agent sends this request although the host does not declare that it answers it.
    #[must_use]
    pub fn is_undeclared(self, method: &str) -> bool {
        self == Self::Opencode && method == "fs/write_text_file"
    }

    /// Returns the mode in which sub-agents can be called, and the usual one; none if they always can.
    ///
    /// Gemini CLI, in a mode that asks, denies the call of a sub-agent by itself.
    #[must_use]
    pub fn delegating_mode(self) -> Option<(&'static str, &'static str)> {
        (self == Self::Gemini).then_some(("yolo", "default"))
    }
}

const fn call(id: &'static str, tool: &'static str, arguments: Value) -> Call {
    Call {
        id,
        tool,
        namespace: None,
        arguments,
    }
}
