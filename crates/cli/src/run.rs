//! `bowline run`: one session with an agent.

use std::ffi::OsStr;
use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bowline_lifecycle::{
    AgentLocation, Conversation, DialogueConfiguration, DialogueStdio, Environment, ExitPolicy,
    ExitStatus, Prompt, Shell,
};
use bowline_runner::RunnerClient;
use bytes::Bytes;

use crate::agent_start;
use crate::args::{self, Output, Stdio};
use crate::failure::Failure;
use crate::history::history;
use crate::leases::ConversationLeases;
use crate::permission::{PermissionPolicy, has_user};
use crate::policy;
use crate::runner::client;
use crate::session_view::{SessionOutcome, SessionView};
use crate::signals::Signals;
use crate::stdio::{eprint, print, report};
use crate::text::sanitize;

/// Number of lines shown from the start of a failed agent's standard error.
const STDERR_HEAD: usize = 3;

/// Number of lines shown from its end.
const STDERR_TAIL: usize = 5;

/// Runs a session with one prompt and shows it.
pub(crate) async fn run(options: Box<args::Run>) -> Result<ExitCode, Failure> {
    let output = options.output.form();
    let prompt = prompt(options.prompt.as_deref())?;
    if options.detach {
        return detached(&options, &prompt).await;
    }
    let permissions = permission_policy(output);
    let mut signals = Signals::new()?;
    let mut configuration = configuration(&options)?;
    configuration.location = location(&options).await?;
    let runner = options.runner_args();
    if !runner.is_own() {
        // The runner's machine may have other folders.
        configuration.agent_directory = None;
        configuration.cwd = shared_folder(&runner);
    }
    configuration.history = past(&options, &configuration);
    // Acquired before the agent starts, and held until it has exited.
    let leases = ConversationLeases::acquire(&options)?;
    let mut view = SessionView::start(configuration, output, permissions, &mut signals).await?;
    view.set_leases(leases);
    view.set_runner_options(runner.options());
    view.turn(Prompt::text(prompt)).await?;
    let outcome = view.finish().await?;
    verdict(&options, &outcome)
}

/// Returns the past of the conversation to resume, which text does not show. That of an agent at a runner is read from
/// the runner.
fn past(options: &args::Run, configuration: &DialogueConfiguration) -> Option<Bytes> {
    let id = options.resume.as_deref()?;
    let is_shown = options.output.form() != Output::Text;
    configuration
        .agent_directory
        .as_ref()
        .filter(|_| is_shown)?;
    // The agent reports a conversation that it does not find.
    let past = history().open(id).ok()?;
    (past.conversation.id == id).then_some(past.stream)
}

/// Returns where the agent runs.
async fn location(options: &args::Run) -> Result<AgentLocation, Failure> {
    if options.runner_args().is_own() {
        return Ok(AgentLocation::Local);
    }
    let client = starting_client(options).await?;
    Ok(AgentLocation::Runner(client.into_remote()))
}

/// Returns a client of the runner at which a session is started; in a fleet, of the one that is chosen now.
///
/// # Errors
/// If the options are wrong, or no runner of the fleet can be chosen.
pub(crate) async fn starting_client(options: &args::Run) -> Result<RunnerClient, Failure> {
    #[cfg(feature = "fleet")]
    if let Some(network) = crate::fleet::network(&options.place.fleet)? {
        let wanted = options.place.on.as_deref();
        crate::runner::announced(network.select_runner(wanted)).await?;
        return Ok(network.client());
    }
    client(&options.runner_args())
}

/// Returns the working directory if the runner listens on a socket, and so is on this machine.
fn shared_folder(runner: &args::RunnerArgs) -> Option<PathBuf> {
    let is_shared = runner.is_on_this_machine();
    is_shared.then(|| std::env::current_dir().ok()).flatten()
}

/// Starts the agent at the runner, and prints the id of its session.
async fn detached(options: &args::Run, prompt: &str) -> Result<ExitCode, Failure> {
    let client = starting_client(options).await?;
    let id = agent_start::start(&client, options, Some(prompt)).await?;
    print(&format!("{id}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the prompt of an argument, which is read from standard input for `-`.
///
/// # Errors
/// If it is missing or empty, or cannot be read.
pub(crate) fn prompt(argument: Option<&str>) -> Result<String, Failure> {
    let prompt = match argument {
        None => {
            return Err(Failure::usage(
                "a prompt is missing; give one, `-` to read it, or use `bowline chat`",
            ));
        }
        Some("-") => read_prompt()?,
        Some(prompt) => prompt.to_owned(),
    };
    if prompt.trim().is_empty() {
        return Err(Failure::usage("the prompt is empty; give one"));
    }
    Ok(prompt)
}

fn read_prompt() -> Result<String, Failure> {
    if io::stdin().is_terminal() {
        eprint("type the prompt, then ^D on a line of its own to send it\n");
    }
    let mut text = String::new();
    let read = io::stdin().lock().read_to_string(&mut text);
    read.map_err(|error| {
        Failure::usage(format!(
            "cannot read the prompt from standard input: {error}"
        ))
    })?;
    Ok(text)
}

fn permission_policy(output: Output) -> PermissionPolicy {
    if has_user(output) {
        PermissionPolicy::Ask(None)
    } else {
        PermissionPolicy::Deny
    }
}

/// Returns the configuration of a session on this machine.
///
/// # Errors
/// If the policy cannot be read.
pub(crate) fn configuration(options: &args::Run) -> Result<DialogueConfiguration, Failure> {
    let conversation = match &options.resume {
        Some(id) => Conversation::Resume {
            id: id.clone(),
            fork: options.fork,
        },
        None => Conversation::New,
    };
    let mut configuration = DialogueConfiguration {
        args: options.agent_args.clone(),
        stdio: match options.stdio {
            Stdio::Pipes => DialogueStdio::Pipes,
            Stdio::Pty => DialogueStdio::Pty,
        },
        conversation,
        agent_directory: agent_directory(&options.agent),
        model: options.model.clone(),
        permission_mode: options.permission_mode.clone(),
        allowed_tools: options.allowed_tools(),
        policy: policy::policy(options.policy.as_deref())?,
        budget: (&options.budget).into(),
        record: options.record.clone(),
        name: options.name.clone(),
        labels: options.labels.iter().cloned().collect(),
        exit: ExitPolicy::SHORT,
        // The guard ends the agent if this program is killed; it is this program as well.
        guard: std::env::current_exe().ok(),
        ..DialogueConfiguration::default()
    };
    configuration.set_agent(&options.agent, options.dialect);
    Ok(configuration)
}

/// Returns the folder of the agent's conversations; `None` for an agent that may use another one.
fn agent_directory(agent: &OsStr) -> Option<PathBuf> {
    let is_known = Path::new(agent)
        .file_stem()
        .is_some_and(|it| it == "claude");
    is_known.then(|| bowline_lifecycle::agent_directory(&Environment::inherited()))
}

/// Returns the exit code or the failure. An incomplete recording is reported in addition to any
/// other failure.
fn verdict(options: &args::Run, outcome: &SessionOutcome) -> Result<ExitCode, Failure> {
    let verdict = dialogue_verdict(options, outcome);
    let Some(failure) = outcome.recording_failure() else {
        return verdict;
    };
    if verdict.is_err() {
        report(&failure);
        return verdict;
    }
    Err(failure)
}

fn dialogue_verdict(options: &args::Run, outcome: &SessionOutcome) -> Result<ExitCode, Failure> {
    let suffix = format!("{}{}", cost(outcome), resume_hint(options, outcome));
    if outcome.was_terminated {
        return Err(Failure::interrupted(format!("ended by a signal{suffix}")));
    }
    if outcome.was_interrupted && !outcome.is_complete() {
        return Err(Failure::interrupted(format!("interrupted{suffix}")));
    }
    let failed = |reason: String| {
        // The reason says all about an option that the agent refused.
        if outcome.ended.unknown_option.is_none() {
            eprint(&agent_stderr(&outcome.ended.stderr.text, &reason));
        }
        Err(Failure::failed(format!("{reason}{suffix}")))
    };
    // An agent that cannot start reports the reason in a result, and exits with an error code.
    let has_reason = matches!(outcome.ended.exit.status, ExitStatus::Code(_))
        && outcome.last_turn.as_ref().is_some_and(|turn| turn.is_error);
    if !outcome.is_orderly() && !has_reason {
        let reason = &outcome.ended.reason;
        return failed(format!("the agent ended unexpectedly: {reason}"));
    }
    match &outcome.last_turn {
        None => failed("the agent gave no result".to_owned()),
        Some(turn) if turn.is_error => failed(format!("the turn failed: {}", turn.text)),
        Some(_) => Ok(ExitCode::SUCCESS),
    }
}

/// Formats the cost of the conversation, if it is not zero.
fn cost(outcome: &SessionOutcome) -> String {
    if outcome.cost > 0.0 {
        format!(", ${:.4} so far", outcome.cost)
    } else {
        String::new()
    }
}

/// Says how to resume the conversation, if it was opened.
fn resume_hint(options: &args::Run, outcome: &SessionOutcome) -> String {
    let line = |id| resume_line(options, "run", id);
    let line = outcome.conversation.as_deref().map(line);
    line.map_or_else(String::new, |line| format!("; resume with `{line} PROMPT`"))
}

/// Formats the command line that resumes a conversation.
pub(crate) fn resume_line(options: &args::Run, command: &str, id: &str) -> String {
    let runner = options.runner_args().options();
    let mut line = format!("bowline {command}{runner}");
    let mut add = |option: &str, value: &str| {
        line.push_str(&format!(" {option} {}", Shell::Sh.quote(value)));
    };
    if options.agent != "claude" {
        add("--agent", &options.agent.to_string_lossy());
    }
    if let Some(dialect) = options.dialect {
        add("--dialect", dialect.as_str());
    }
    for value in &options.agent_args {
        add("--agent-arg", &value.to_string_lossy());
    }
    add("--resume", id);
    line
}

/// Formats the start and the end of the agent's standard error, without the lines that `reason`
/// quotes.
fn agent_stderr(text: &str, reason: &str) -> String {
    let text = sanitize(text);
    let is_new = |line: &&str| !line.trim().is_empty() && !reason.ends_with(line.trim());
    let lines: Vec<_> = text.lines().filter(is_new).collect();
    let format = |line: &&str| format!("  agent: {line}\n");
    match lines.len().checked_sub(STDERR_HEAD + STDERR_TAIL) {
        None | Some(0) => lines.iter().map(format).collect(),
        Some(omitted) => {
            let (head, rest) = lines.split_at(STDERR_HEAD);
            let head: String = head.iter().map(format).collect();
            let tail: String = rest.iter().skip(omitted).map(format).collect();
            format!("{head}  … {omitted} more lines\n{tail}")
        }
    }
}
