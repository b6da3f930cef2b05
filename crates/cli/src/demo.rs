//! `bowline demo`: a whole session with the understudy, in real processes.

use std::process::ExitCode;
use std::time::Duration;

use bowline_lifecycle::{Conversation, DialogueConfiguration, Prompt};

use crate::UNDERSTUDY;
use crate::args;
use crate::failure::Failure;
use crate::live::{Close, Live, Policy, Signals};
use crate::run::can_ask;
use crate::view::{Paint, Style, print};

/// How long the demo waits for an answer before it takes yes.
const PATIENCE: Duration = Duration::from_secs(10);

const NEXT: &str = "
  bowline run \"What is in this folder?\"       the same with a real agent, `claude` from PATH
  bowline run --record FILE PROMPT            keep what the agent says
  bowline replay FILE                         see it again, without the agent
  bowline replay --output transcript FILE     as JSON
  bowline doctor                              what this machine can do
";

/// Plays the story: two turns in one process, then a resume in another.
pub(crate) async fn demo(options: &args::Demo) -> Result<ExitCode, Failure> {
    if !options.pace.is_finite() || options.pace < 0.0 {
        return Err(Failure::usage(
            "--pace wants a number from 0 on: 1 is natural, 0 has no pauses",
        ));
    }
    let mut signals = Signals::new()?;
    let mut live = start(options, Conversation::New, &mut signals).await?;
    live.caption(
        "An agent works: text as it grows, tools, agents inside agents, a question, a retry",
    )?;
    live.turn(Prompt::text(
        "One of the tests fails. Find out why and fix it.",
    ))
    .await?;
    if !live.is_stopped() {
        live.caption("The second turn, in the same process")?;
        live.turn(Prompt::text("And what about an empty list?"))
            .await?;
    }
    let first = orderly(live.finish().await?)?;
    let Some(id) = first.session_id else {
        return Err(Failure::failed("the understudy named no session"));
    };
    let left = match first.ended.report.survivors.len() {
        0 => "nothing".to_owned(),
        many => format!("{many} processes"),
    };
    let mut live = start(
        options,
        Conversation::Resume { id, fork: false },
        &mut signals,
    )
    .await?;
    live.blank()?;
    live.caption(&format!(
        "That process left {left} behind; another resumes the conversation"
    ))?;
    live.turn(Prompt::text("Where were we?")).await?;
    orderly(live.finish().await?)?;
    if options.output == args::Output::Text {
        let title = Style::of_stdout().painted(Paint::Bold, "That was it. What to try next:");
        print(&format!("\n{title}{NEXT}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn start<'a>(
    options: &args::Demo,
    conversation: Conversation,
    signals: &'a mut Signals,
) -> Result<Live<'a>, Failure> {
    let program = std::env::current_exe();
    let program = program
        .map_err(|error| Failure::failed(format!("cannot find the program itself: {error}")))?;
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
    let policy = if can_ask(options.output) {
        Policy::Ask(Some(PATIENCE))
    } else {
        Policy::Allow
    };
    Live::start(configuration, options.output, policy, signals).await
}

fn orderly(close: Close) -> Result<Close, Failure> {
    if close.was_interrupted {
        return Err(Failure::interrupted("interrupted"));
    }
    if !close.is_orderly() {
        let reason = &close.ended.reason;
        return Err(Failure::failed(format!(
            "the understudy ended unexpectedly: {reason}"
        )));
    }
    match &close.last {
        Some(last) if !last.is_error => Ok(close),
        Some(last) => Err(Failure::failed(format!("the turn failed: {}", last.text))),
        None => Err(Failure::failed("the understudy gave no result")),
    }
}
