//! `bowline run`: one dialogue with an agent.

mod claim;

use std::ffi::OsStr;
use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bowline_lifecycle::{
    AgentLocation, Conversation, DialogueConfiguration, DialogueStdio, Environment, ExitStatus,
    Prompt,
};

use crate::args::{self, Output, Stdio};
use crate::failure::Failure;
use crate::live::{Close, Live, Policy, Signals};
use crate::runner::client_at;
use crate::view::{clean, tell};

pub(crate) use claim::Claim;

/// How much of the beginning of the agent's standard error is shown when it failed, in lines.
const HEAD: usize = 3;

/// How much of its end, in lines.
const TAIL: usize = 5;

/// Holds one dialogue and shows it.
pub(crate) async fn run(options: Box<args::Run>) -> Result<ExitCode, Failure> {
    let prompt = prompt(&options.prompt)?;
    let policy = policy(options.output);
    let mut signals = Signals::new()?;
    let mut configuration = configuration(&options);
    configuration.location = place(&options)?;
    if options.runner.is_some() {
        // Its folders are not ours.
        configuration.agent_folder = None;
        configuration.cwd = shared_folder(&options);
    }
    // Before the agent is started, and until it has gone.
    let claim = Claim::of(&options)?;
    let mut live = Live::start(configuration, options.output, policy, &mut signals).await?;
    live.claim(claim);
    live.turn(Prompt::text(prompt)).await?;
    let close = live.finish().await?;
    verdict(&options, &close)
}

/// Where the agent runs.
fn place(options: &args::Run) -> Result<AgentLocation, Failure> {
    let Some(url) = &options.runner else {
        return Ok(AgentLocation::Local);
    };
    Ok(AgentLocation::Runner(
        client_at(url, &options.proof)?.into_remote(),
    ))
}

/// A runner behind a socket has the same folders as we have.
fn shared_folder(options: &args::Run) -> Option<PathBuf> {
    let is_here = options.runner.as_deref()?.starts_with("unix:");
    is_here.then(|| std::env::current_dir().ok()).flatten()
}

fn prompt(given: &str) -> Result<String, Failure> {
    let prompt = if given == "-" {
        typed_prompt()?
    } else {
        given.to_owned()
    };
    if prompt.trim().is_empty() {
        return Err(Failure::usage("the prompt is empty: say what to ask"));
    }
    Ok(prompt)
}

fn typed_prompt() -> Result<String, Failure> {
    if io::stdin().is_terminal() {
        tell("type the prompt, and ^D on a line of its own to send it\n");
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

/// People are asked where they can see the question and type the answer.
fn policy(output: Output) -> Policy {
    if can_ask(output) {
        Policy::Ask(None)
    } else {
        Policy::Deny
    }
}

pub(crate) fn can_ask(output: Output) -> bool {
    let is_seen = match output {
        Output::Text => io::stdout().is_terminal(),
        Output::Changes | Output::Transcript => io::stderr().is_terminal(),
    };
    is_seen && io::stdin().is_terminal()
}

fn configuration(options: &args::Run) -> DialogueConfiguration {
    let conversation = match &options.resume {
        Some(id) => Conversation::Resume {
            id: id.clone(),
            fork: false,
        },
        None => Conversation::New,
    };
    DialogueConfiguration {
        program: options.agent.clone(),
        args: options.agent_args.clone(),
        stdio: match options.stdio {
            Stdio::Pipes => DialogueStdio::Pipes,
            Stdio::Pty => DialogueStdio::Pty,
        },
        conversation,
        agent_folder: agent_folder(&options.agent),
        model: options.model.clone(),
        permission_mode: options.permission_mode.clone(),
        allowed_tools: options
            .allowed_tools
            .as_deref()
            .map(tools)
            .unwrap_or_default(),
        record: options.record.clone(),
        // A host that is killed takes its agent with it: this program is the guard as well.
        guard: std::env::current_exe().ok(),
        ..DialogueConfiguration::default()
    }
}

/// Where the agent's conversations are; another agent than this one may keep them elsewhere.
fn agent_folder(agent: &OsStr) -> Option<PathBuf> {
    let is_known = Path::new(agent)
        .file_stem()
        .is_some_and(|it| it == "claude");
    is_known.then(|| bowline_lifecycle::agent_folder(&Environment::inherited()))
}

/// Tools are parted by spaces and commas, but not inside a rule: `Bash(git log:*) Read`.
fn tools(list: &str) -> Vec<String> {
    let mut depth = 0_u32;
    let parted = list.split(|c: char| {
        depth = match c {
            '(' => depth + 1,
            ')' => depth.saturating_sub(1),
            _ => depth,
        };
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    parted
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The exit code, or the line that says what went wrong. A recording that is not whole is told
/// whatever else went wrong.
fn verdict(options: &args::Run, close: &Close) -> Result<ExitCode, Failure> {
    let verdict = course(options, close);
    let Some(why) = &close.ended.recording_failed else {
        return verdict;
    };
    let failure = Failure::failed(format!("the recording is not whole: {why}"));
    if verdict.is_err() {
        failure.report();
        return verdict;
    }
    Err(failure)
}

/// How the dialogue went.
fn course(options: &args::Run, close: &Close) -> Result<ExitCode, Failure> {
    let hint = format!("{}{}", cost(close), hint(options, close));
    if close.was_terminated {
        return Err(Failure::interrupted(format!("ended by a signal{hint}")));
    }
    if close.was_interrupted && !close.is_complete() {
        return Err(Failure::interrupted(format!("interrupted{hint}")));
    }
    let failed = |what: String| {
        last_words(close, &what);
        Err(Failure::failed(format!("{what}{hint}")))
    };
    // An agent that cannot begin says why in a result, and exits with an error code.
    let has_told = matches!(close.ended.exit.status, ExitStatus::Code(_))
        && close.last.as_ref().is_some_and(|last| last.is_error);
    if !close.is_orderly() && !has_told {
        return failed(format!(
            "the agent ended unexpectedly: {}",
            close.ended.reason
        ));
    }
    match &close.last {
        None => failed("the agent gave no result".to_owned()),
        Some(last) if last.is_error => failed(format!("the turn failed: {}", last.text)),
        Some(_) => Ok(ExitCode::SUCCESS),
    }
}

/// What the conversation has cost, if it has.
fn cost(close: &Close) -> String {
    if close.cost > 0.0 {
        format!(", ${:.4} so far", close.cost)
    } else {
        String::new()
    }
}

/// How to go on with the conversation.
fn hint(options: &args::Run, close: &Close) -> String {
    let Some(id) = &close.session_id else {
        return String::new();
    };
    let mut line = "bowline run".to_owned();
    let mut add =
        |option: &str, value: &str| line.push_str(&format!(" {option} {}", quoted(value)));
    if options.agent != "claude" {
        add("--agent", &options.agent.to_string_lossy());
    }
    for value in &options.agent_args {
        add("--agent-arg", &value.to_string_lossy());
    }
    add("--resume", id);
    format!(", go on with `{line} PROMPT`")
}

/// A word as a shell takes it. What is plain stays as it is.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// How the agent's standard error began and ended, without what the verdict quotes.
fn last_words(close: &Close, verdict: &str) {
    let text = clean(&close.ended.stderr.text);
    let is_news = |line: &&str| !line.trim().is_empty() && !verdict.ends_with(line.trim());
    let lines: Vec<_> = text.lines().filter(is_news).collect();
    let said = |line: &&str| format!("  agent: {line}\n");
    let told: String = match lines.len().checked_sub(HEAD + TAIL) {
        None | Some(0) => lines.iter().map(said).collect(),
        Some(more) => {
            let (head, rest) = lines.split_at(HEAD);
            let head: String = head.iter().map(said).collect();
            let tail: String = rest.iter().skip(more).map(said).collect();
            format!("{head}  … {more} lines more\n{tail}")
        }
    };
    tell(&told);
}

#[cfg(test)]
mod tests {
    use super::{quoted, tools};

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("--pace=0"), "--pace=0");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }

    #[test]
    fn tools_are_parted_outside_of_rules() {
        let list = "Read, Bash(git log:*) Edit(src/**),Write";
        assert_eq!(
            tools(list),
            ["Read", "Bash(git log:*)", "Edit(src/**)", "Write"]
        );
        assert_eq!(tools(" "), Vec::<String>::new());
    }
}
