//! `bowline demo`: a session with the understudy, in real processes.

use std::process::ExitCode;
use std::time::Duration;

use bowline_lifecycle::{Conversation, DialogueConfiguration, Prompt};

use crate::args::{self, Output};
use crate::failure::Failure;
use crate::permission::{PermissionPolicy, has_user};
use crate::session_view::{SessionOutcome, SessionView};
use crate::signals::Signals;
use crate::stdio::print;
use crate::style::{ColorMode, Paint};

/// The hidden first argument that makes this binary the understudy.
pub(crate) const UNDERSTUDY: &str = "understudy";

/// How long the demo waits for an answer to a permission request before it allows it.
const ALLOW_AFTER: Duration = Duration::from_secs(10);

const NEXT_STEPS: &str = "
  bowline run \"What is in this folder?\"       the same with a real agent, `claude` from PATH
  bowline run --record FILE PROMPT            record the agent's output
  bowline replay FILE                         show it again, without the agent
  bowline replay --output transcript FILE     as JSON
  bowline doctor                              check this machine's setup
";

/// Shows two turns in one process, then resumes the conversation in another.
pub(crate) async fn demo(options: &args::Demo) -> Result<ExitCode, Failure> {
    if !options.pace.is_finite() || options.pace < 0.0 {
        return Err(Failure::usage(
            "--pace needs a number of at least 0; 1 is natural, 0 has no pauses",
        ));
    }
    let mut signals = Signals::new()?;
    let mut view = start(options, Conversation::New, &mut signals).await?;
    view.caption("An agent at work: streamed text, tools, sub-agents, a permission, a retry")?;
    view.turn(Prompt::text(
        "One of the tests fails. Find out why and fix it.",
    ))
    .await?;
    if !view.is_stopped() {
        view.caption("A second turn in the same process")?;
        view.turn(Prompt::text("And what about an empty list?"))
            .await?;
    }
    let first = check(view.finish().await?)?;
    let Some(id) = first.conversation else {
        return Err(Failure::failed("the understudy opened no conversation"));
    };
    let left = match first.ended.report.survivors.len() {
        0 => "No process is left".to_owned(),
        1 => "1 process is left".to_owned(),
        count => format!("{count} processes are left"),
    };
    let conversation = Conversation::Resume { id, fork: false };
    let mut view = start(options, conversation, &mut signals).await?;
    view.blank_line()?;
    view.caption(&format!("{left}; another agent resumes the conversation"))?;
    view.turn(Prompt::text("Where were we?")).await?;
    check(view.finish().await?)?;
    if options.output.form() == Output::Text {
        let title =
            ColorMode::of_stdout().painted(Paint::Bold, "End of the demo. What to try next:");
        print(&format!("\n{title}{NEXT_STEPS}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn start<'a>(
    options: &args::Demo,
    conversation: Conversation,
    signals: &'a mut Signals,
) -> Result<SessionView<'a>, Failure> {
    let output = options.output.form();
    let program = std::env::current_exe();
    let program = program
        .map_err(|error| Failure::failed(format!("cannot find the path of bowline: {error}")))?;
    let pace = options.pace.to_string();
    let configuration = DialogueConfiguration {
        guard: Some(program.clone()),
        program: program.into(),
        leading_args: vec![UNDERSTUDY.into()],
        args: ["--scenario", "demo", "--pace", &pace]
            .map(Into::into)
            .into(),
        conversation,
        ..DialogueConfiguration::default()
    };
    let policy = if has_user(output) {
        PermissionPolicy::Ask(Some(ALLOW_AFTER))
    } else {
        PermissionPolicy::Allow
    };
    SessionView::start(configuration, output, policy, signals).await
}

/// Returns the outcome if the session completed its work.
fn check(outcome: SessionOutcome) -> Result<SessionOutcome, Failure> {
    if outcome.was_interrupted {
        return Err(Failure::interrupted("interrupted"));
    }
    if !outcome.is_orderly() {
        let reason = &outcome.ended.reason;
        return Err(Failure::failed(format!(
            "the understudy ended unexpectedly: {reason}"
        )));
    }
    match &outcome.last_turn {
        Some(turn) if !turn.is_error => Ok(outcome),
        Some(turn) => Err(Failure::failed(format!("the turn failed: {}", turn.text))),
        None => Err(Failure::failed("the understudy gave no result")),
    }
}
