//! From a command to what a terminal runs.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use bowline_hooks::merge_settings;
use bowline_lifecycle::{
    AgentDocument, AgentMode, AgentOptions, AgentVersion, CommandError, Conversation,
    InstalledAgent, PrivateFile,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tracing::debug;

use super::terminal::TerminalCommand;
use super::{ExecutorCommand, ExecutorConfiguration, ExecutorError};

/// A command that is ready to run, and the files that it needs, which live as long as this.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) command: TerminalCommand,
    _prompt: Option<PrivateFile>,
    _settings: Arc<PrivateFile>,
}

/// A version of the agent that reads settings from a file without a name; 2.1.283 does not
/// (`crates/jsonl/PROTOCOL.md`, Hooks).
const READS_UNNAMED: AgentVersion = AgentVersion::new(2, 1, 300);

/// What makes the agent send its hooks.
pub(super) struct AgentHooks {
    pub(super) agent: Option<AgentVersion>,
    pub(super) settings: Value,
    pub(super) variables: BTreeMap<String, SecretString>,
}

/// Returns the version of the command's agent, if it can be found.
pub(super) async fn agent_version(
    configuration: &ExecutorConfiguration,
    command: &ExecutorCommand,
) -> Option<AgentVersion> {
    match InstalledAgent::find(&command.program, &configuration.env).await {
        Ok(agent) => agent.version(),
        // The terminal may find the program elsewhere, or reports that it does not.
        Err(error) => {
            debug!(%error, "the version of the agent is unknown");
            None
        }
    }
}

pub(super) fn prepare(
    configuration: &ExecutorConfiguration,
    conversation: Option<String>,
    hooks: AgentHooks,
    command: &ExecutorCommand,
) -> Result<Prepared, ExecutorError> {
    let mut options = command.options.clone();
    resume(&mut options, conversation);
    let cwd = command.cwd.as_deref();
    let settings = settings(options.settings.as_ref(), cwd, &hooks.settings)?;
    let settings = settings.to_string();
    let settings = if hooks.agent.is_none_or(|agent| agent >= READS_UNNAMED) {
        PrivateFile::unnamed(settings.as_bytes())
    } else {
        PrivateFile::new(settings.as_bytes())
    };
    let settings = Arc::new(settings.map_err(not_written("settings"))?);
    options.settings = Some(AgentDocument::Private(Arc::clone(&settings)));
    let agent = options.command(&command.program, cwd, configuration.env.clone())?;
    let prompt = command.prompt.as_ref();
    // The shell opens it as the agent's input.
    let prompt = prompt.map(|prompt| PrivateFile::unnamed(prompt.expose_secret().as_bytes()));
    let prompt = prompt.transpose().map_err(not_written("prompt"))?;
    let mut variables = hooks.variables;
    variables.extend(command.variables.clone());
    let command = TerminalCommand {
        session: configuration.session.clone(),
        interaction: command.interaction.clone(),
        agent,
        variables,
        cwd: command.cwd.clone(),
        input: prompt.as_ref().map(|prompt| prompt.path().to_path_buf()),
    };
    Ok(Prepared {
        command,
        _prompt: prompt,
        _settings: settings,
    })
}

pub(super) fn check(
    configuration: &ExecutorConfiguration,
    command: &ExecutorCommand,
) -> Result<(), ExecutorError> {
    if name(&command.program) != name(&configuration.agent) {
        let program = command.program.clone();
        return Err(ExecutorError::NotTheAgent { program });
    }
    let options = &command.options;
    let conflict = |flag, other| Err(CommandError::Conflict { flag, other }.into());
    if options.mode == AgentMode::Dialogue {
        return conflict("the dialogue mode", "a visible terminal");
    }
    // These disable hooks, without which the end of the session is not detected.
    if options.bare {
        return conflict("--bare", "an executor, which needs hooks");
    }
    if options.safe_mode {
        return conflict("--safe-mode", "an executor, which needs hooks");
    }
    let prompt = command.prompt.as_ref().map(|it| it.expose_secret().trim());
    let needs_prompt = options.mode != AgentMode::Interactive && options.prompt.is_none();
    if prompt == Some("") || needs_prompt && prompt.is_none() {
        return Err(ExecutorError::NoPrompt);
    }
    Ok(())
}

/// Returns the program's file name, without `.exe`.
fn name(program: &OsStr) -> OsString {
    let path = Path::new(program);
    let name = path.file_name().unwrap_or(program).to_owned();
    match path.extension() {
        Some(extension) if extension == "exe" => path.file_stem().unwrap_or(program).to_owned(),
        _ => name,
    }
}

/// Resumes the session's conversation, unless the command names one.
fn resume(options: &mut AgentOptions, conversation: Option<String>) {
    if let (Conversation::New, Some(id)) = (&options.conversation, conversation) {
        options.conversation = Conversation::Resume { id, fork: false };
    }
}

/// Returns the host's settings merged with the hooks.
fn settings(
    theirs: Option<&AgentDocument>,
    cwd: Option<&Path>,
    hooks: &Value,
) -> Result<Value, ExecutorError> {
    let path = match theirs {
        None => return Ok(hooks.clone()),
        Some(AgentDocument::Json(json)) => return merged(Path::new("given"), json, hooks),
        Some(AgentDocument::File(path)) => cwd.unwrap_or_else(|| Path::new("")).join(path),
        Some(AgentDocument::Private(file)) => file.path().to_path_buf(),
    };
    match std::fs::read_to_string(&path) {
        Ok(json) => merged(&path, &json, hooks),
        Err(error) => {
            let reason = error.to_string();
            Err(ExecutorError::Settings { path, reason })
        }
    }
}

fn merged(path: &Path, json: &str, hooks: &Value) -> Result<Value, ExecutorError> {
    let theirs = serde_json::from_str(json).map_err(|error| ExecutorError::Settings {
        path: path.to_path_buf(),
        reason: format!("it is not JSON ({error})"),
    })?;
    Ok(merge_settings(&theirs, hooks)?)
}

fn not_written(what: &'static str) -> impl Fn(std::io::Error) -> ExecutorError {
    move |source| ExecutorError::File { what, source }
}
