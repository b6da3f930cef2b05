//! What a permission request asks for, as far as rules depend on it.

use bowline_reducer::model::{Content, ToolKind};
use bowline_reducer::{ToolCall, Transcript};
use serde_json::Value;

use super::host::host_of;
use super::path::{Folders, RequestPath};
use super::shell::CommandLine;
use crate::permission::{PermissionKind, PermissionRecord};

/// A tool call that needs a permission.
#[derive(Clone, Debug, Default)]
pub(crate) struct PolicyRequest {
    /// What the tool does.
    pub(super) kind: ToolKind,
    /// The agent's names of the tool.
    pub(super) tools: Vec<String>,
    /// Shell commands that it runs.
    pub(super) commands: Vec<CommandLine>,
    /// Files that it works on.
    pub(super) paths: Vec<RequestPath>,
    /// Hosts that it connects to; `None` for a URL that is not understood.
    pub(super) hosts: Vec<Option<String>>,
    /// The session's folder.
    pub(super) cwd: Option<String>,
    /// The same with all symbolic links followed; `None` if that is unknown.
    pub(super) resolved_cwd: Option<String>,
    /// Whether the request is for more than this one call, or outside of what the agent's mode is for.
    pub(super) needs_user: bool,
}

/// Members of a tool's input that name files.
const PATHS: [&str; 8] = [
    "file_path",
    "absolute_path",
    "notebook_path",
    "path",
    "paths",
    "filePath",
    "dir_path",
    "directory",
];

/// Members of a tool's input that name the folder of a command.
const FOLDERS: [&str; 4] = ["cwd", "workdir", "directory", "dir_path"];

/// Members of a tool's input that are commands.
const COMMANDS: [&str; 3] = ["command", "commands", "cmd"];

/// Members of a tool's input that are URLs.
const URLS: [&str; 3] = ["url", "uri", "urls"];

/// Members with which a request asks for more than the call: permissions that last, or no sandbox.
const LASTING: [&str; 3] = ["grantRoot", "permissions", "dangerouslyDisableSandbox"];

/// Tools whose `pattern` names files.
const GLOBS: [&str; 2] = ["Glob", "glob"];

impl PolicyRequest {
    /// Returns what a request asks for. `None` for questions, plans and pages, which only a user answers.
    pub(crate) fn of(record: &PermissionRecord, transcript: &Transcript) -> Option<Self> {
        if record.kind != PermissionKind::Tool {
            return None;
        }
        let call = record.tool_use_id.as_deref();
        let call = call.and_then(|id| transcript.tool_call(id));
        let cwd = transcript.session().cwd().map(str::to_owned);
        let mode = transcript.session().permission_mode();
        let input = serde_json::from_str(&record.input).unwrap_or_default();
        let request = Self::new(&record.tool_name, &input, cwd, call);
        (request.kind != ToolKind::SwitchMode).then(|| request.in_mode(mode))
    }

    pub(super) fn new(
        tool: &str,
        input: &Value,
        cwd: Option<String>,
        call: Option<ToolCall<'_>>,
    ) -> Self {
        let shown = call.map(ToolCall::shown).unwrap_or_default();
        let named = ToolKind::of_tool(tool).filter(|kind| *kind != ToolKind::Other);
        let kind = named.or(shown.kind).unwrap_or_default();
        let folders = Folders {
            cwd: cwd.as_deref(),
            home: None,
        };
        let commands = texts(input, &COMMANDS);
        let is_command = !commands.is_empty() || kind == ToolKind::Execute;
        let is_folder = |name: &&&str| is_command && FOLDERS.contains(*name);
        let names: Vec<_> = PATHS.iter().filter(|it| !is_folder(it)).copied().collect();
        let mut paths = texts(input, &names);
        if GLOBS.contains(&tool) {
            paths.extend(texts(input, &["pattern"]));
        }
        if !is_command {
            paths.extend(shown.locations.iter().map(|it| it.path.clone()));
            let changed = shown.content.iter().filter_map(|it| match it {
                Content::Diff { path, .. } => Some(path.clone()),
                _ => None,
            });
            paths.extend(changed);
        }
        paths.sort();
        paths.dedup();
        let is_elsewhere = |folder: &String| {
            let folder = RequestPath::of(folder, folders);
            let own = RequestPath::of(".", folders);
            !folder.is_exact || folder.normal != own.normal
        };
        let is_set = |name: &str| !matches!(input[name], Value::Null | Value::Bool(false));
        Self {
            kind,
            tools: call
                .map(|it| it.name().to_owned())
                .into_iter()
                .chain([tool.to_owned()])
                .collect(),
            commands: commands.iter().map(|it| CommandLine::parse(it)).collect(),
            paths: paths
                .iter()
                .map(|it| RequestPath::of(it, folders))
                .collect(),
            hosts: texts(input, &URLS).iter().map(|it| host_of(it)).collect(),
            needs_user: LASTING.iter().any(|it| is_set(it))
                || is_command && texts(input, &FOLDERS).iter().any(is_elsewhere),
            cwd,
            resolved_cwd: None,
        }
    }

    /// In a mode in which the agent only reads and plans, a user allows anything else.
    pub(super) fn in_mode(mut self, mode: Option<&str>) -> Self {
        let only_reads = matches!(
            self.kind,
            ToolKind::Read | ToolKind::Search | ToolKind::Fetch | ToolKind::Think
        );
        self.needs_user |= mode.is_some_and(is_reading_mode) && !only_reads;
        self
    }

    /// Returns the paths that the system has to resolve, the session's folder first.
    pub(crate) fn paths_to_resolve(&self) -> Vec<String> {
        let paths = self.paths.iter().map(|it| it.normal.clone());
        self.cwd.clone().into_iter().chain(paths).collect()
    }

    /// Sets what the system finds at the paths, in the order of [`paths_to_resolve`](Self::paths_to_resolve).
    pub(crate) fn set_resolved(&mut self, resolved: Vec<Option<String>>) {
        let mut resolved = resolved.into_iter();
        if self.cwd.is_some() {
            self.resolved_cwd = resolved.next().flatten();
        }
        for (path, resolved) in self.paths.iter_mut().zip(resolved) {
            path.resolved = resolved;
        }
    }
}

/// Returns whether a mode of an agent is for reading and planning.
fn is_reading_mode(mode: &str) -> bool {
    let mode = mode.to_ascii_lowercase();
    ["plan", "read", "architect", "ask"].iter().any(|it| {
        let mut words = mode.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| word == *it) || mode == format!("{it}only")
    })
}

/// Returns the texts of members of an object: strings, and the strings of arrays.
fn texts(input: &Value, names: &[&str]) -> Vec<String> {
    let mut texts = Vec::new();
    for name in names {
        match &input[*name] {
            Value::String(text) => texts.push(text.clone()),
            Value::Array(items) => {
                let items = items.iter().filter_map(Value::as_str);
                texts.extend(items.map(str::to_owned));
            }
            _ => {}
        }
    }
    texts
}
