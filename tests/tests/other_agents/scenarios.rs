//! What is tested with each agent. A scenario begins and ends with an idle agent, so that scenarios can
//! follow each other in one session.

use bowline_lifecycle::{Decision, ReceiptState};
use bowline_tests::other_agents::{OtherAgent, Reply};
use bowline_tests::session::{answered, entries, kinds, within};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::rig::{Rig, has_text, last_calls, last_texts, outcomes};

/// Makes a test of each scenario with an agent.
/// Expands `$then!($prefix… NAME, NAME, …)` with the scenarios that each agent passes.
macro_rules! for_each {
    ($then:ident!($($prefix:tt)*)) => {
        $then! {
            $($prefix)*
            plain,
            allowed_command_runs,
            declined_command_does_not_run,
            edit_has_its_diff,
            interrupted_turn_is_cancelled,
            second_prompt_is_answered,
            subagent_does_its_task,
            error_of_the_api_fails_the_turn
        }
    };
}
pub(crate) use for_each;

macro_rules! tests {
    (@each $agent:ident: $($name:ident),+) => {
        $(
            #[tokio::test]
            #[ignore = "run by .ci/other-agents"]
            async fn $name() {
                let rig = $crate::rig::Rig::start($agent, None).await;
                $crate::scenarios::$name(&rig).await;
                rig.finish().await;
            }
        )+

        #[tokio::test]
        #[ignore = "run by .ci/other-agents"]
        async fn transcript_is_same_over_cut_links() {
            $crate::cuts::transcript_is_same_over_cut_links($agent).await;
        }

        #[tokio::test]
        #[ignore = "run by .ci/other-agents"]
        async fn resumed_conversation_knows_its_past() {
            let mut rig = $crate::rig::Rig::start($agent, None).await;
            $crate::scenarios::resumed_conversation_knows_its_past(&mut rig).await;
            rig.finish().await;
        }

        #[tokio::test]
        #[ignore = "run by .ci/other-agents"]
        async fn killed_agent_is_an_unexpected_exit() {
            let rig = $crate::rig::Rig::start($agent, None).await;
            $crate::scenarios::killed_agent_is_an_unexpected_exit(&rig).await;
        }
    };
    ($agent:ident) => {
        use $crate::scenarios::tests;
        $crate::scenarios::for_each!(tests!(@each $agent:));
    };
}
pub(crate) use tests;

pub(crate) async fn plain(rig: &Rig) {
    rig.script([Reply::Text("Hello.")]);
    answered(&rig.session, "hi").await;
    let transcript = rig.now().await;
    assert_eq!(last_texts(&transcript), ["Hello."]);
    assert_eq!(outcomes(&transcript).last(), Some(&"completed"));
    let prompts = entries(&transcript, "user");
    let prompts = prompts.iter().filter(|it| it["text"] == "hi");
    assert_eq!(prompts.count(), 1);
}

pub(crate) async fn allowed_command_runs(rig: &Rig) {
    let command = rig.agent.command("call-allowed", "printf done > allowed");
    rig.script([command.into(), Reply::Text("Made.")]);
    let mut receipt = rig.send("make it").await;
    let made = rig.home.project().join("allowed");
    let id = rig.asked().await;
    assert!(!made.exists(), "it waits");
    rig.answer(&id, Decision::allow()).await;
    let settled = within("an answer", receipt.settled()).await;
    assert_eq!(settled, ReceiptState::Answered);
    assert!(made.exists());
    let transcript = rig.now().await;
    assert_eq!(states(&transcript), ["succeeded"]);
    assert_eq!(last_texts(&transcript), ["Made."]);
    assert_eq!(outcomes(&transcript).last(), Some(&"completed"));
}

pub(crate) async fn declined_command_does_not_run(rig: &Rig) {
    let command = rig.agent.command("call-declined", "printf done > declined");
    rig.script([command.into()]);
    // opencode ends the turn; the others tell the model.
    let goes_on = rig.agent != OtherAgent::Opencode;
    rig.script(goes_on.then_some(Reply::Text("Not made.")));
    let mut receipt = rig.send("make another").await;
    rig.decide(Decision::deny("no")).await;
    within("an answer", receipt.settled()).await;
    assert!(!rig.home.project().join("declined").exists());
    let transcript = rig.now().await;
    assert_eq!(states(&transcript), ["failed"]);
    let expected: &[&str] = if goes_on { &["Not made."] } else { &[] };
    assert_eq!(last_texts(&transcript), expected);
    assert_eq!(outcomes(&transcript).last(), Some(&"completed"));
}

pub(crate) async fn edit_has_its_diff(rig: &Rig) {
    let file = rig.home.project().join("new.txt");
    let write = rig.agent.write("call-edit", &file, "one");
    rig.script([write.into(), Reply::Text("Written.")]);
    let mut receipt = rig.send("write it").await;
    rig.decide(Decision::allow()).await;
    within("an answer", receipt.settled()).await;
    let written = std::fs::read_to_string(&file);
    assert_eq!(written.expect("the file is written"), "one\n");
    let transcript = rig.now().await;
    let calls = last_calls(&transcript);
    let [call] = &calls[..] else {
        panic!("{calls:?}");
    };
    assert_eq!(call["state"], "succeeded", "{call}");
    assert_eq!(call["kind"], "edit", "{call}");
    let content = call["content"].as_array().expect("contents");
    let diff = content.iter().find(|it| it["type"] == "diff");
    let diff = diff.unwrap_or_else(|| panic!("no diff: {call}"));
    assert!(diff.to_string().contains("one"), "{call}");
    let path = call["locations"][0]["path"].as_str().unwrap_or_default();
    assert!(path.ends_with("new.txt"), "{call}");
    assert_eq!(last_texts(&transcript), ["Written."]);
}

pub(crate) async fn interrupted_turn_is_cancelled(rig: &Rig) {
    let held = rig.api.hold();
    rig.script([Reply::Held("Begun"), Reply::Text("Again.")]);
    let mut receipt = rig.send("begin").await;
    rig.until("the beginning", |now| has_text(now, "Begun"))
        .await;
    let interrupted = within("the interrupt", rig.session.interrupt(false)).await;
    interrupted.expect("it is sent");
    within("its end", receipt.settled()).await;
    held.open();
    let transcript = rig.now().await;
    assert_eq!(last_texts(&transcript), ["Begun"]);
    assert_eq!(outcomes(&transcript).last(), Some(&"cancelled"));
    answered(&rig.session, "again").await;
    let transcript = rig.now().await;
    assert_eq!(last_texts(&transcript), ["Again."]);
    assert_eq!(outcomes(&transcript).last(), Some(&"completed"));
}

/// Codex takes a second prompt into the turn; with other agents it waits for the turn's end.
pub(crate) async fn second_prompt_is_answered(rig: &Rig) {
    let steers = rig.agent == OtherAgent::Codex;
    let held = rig.api.hold();
    rig.script([Reply::Held("First."), Reply::Text("Second.")]);
    let mut first = rig.send("the first").await;
    rig.until("the beginning", |now| has_text(now, "First."))
        .await;
    let turns = outcomes(&rig.now().await).len();
    let mut second = rig.send("and more").await;
    if steers {
        // Codex has taken it in before the model continues.
        within("its receipt", second.reached(ReceiptState::Echoed)).await;
    }
    held.open();
    let states = [
        within("an answer", first.settled()).await,
        within("an answer", second.settled()).await,
    ];
    let state = if steers {
        ReceiptState::Merged
    } else {
        ReceiptState::Answered
    };
    assert_eq!(states, [state, ReceiptState::Answered]);
    assert!(
        rig.api.last_has("and more"),
        "{:?}",
        rig.api.requests().last()
    );
    let transcript = rig.now().await;
    assert!(has_text(&transcript, "First."));
    assert_eq!(last_texts(&transcript), ["Second."]);
    let ended = if steers { 1 } else { 2 };
    assert_eq!(
        outcomes(&transcript)[turns..],
        ["completed", "completed"][..ended]
    );
}

pub(crate) async fn subagent_does_its_task(rig: &Rig) {
    const TASK: &str = "count the files";
    let delegate = rig.agent.delegate("call-agent", TASK);
    rig.script([delegate.into()]);
    let wait = rig.agent.has_to_wait();
    rig.script(wait.then_some(Reply::WaitForAgents("call-wait")));
    rig.script([Reply::Text("Done.")]);
    rig.api
        .script_child(TASK, rig.agent.report("call-report", "Counted."));
    let mode = rig.agent.delegating_mode();
    if let Some((mode, _)) = mode {
        let set = rig.session.set_permission_mode(mode).await;
        set.expect("the mode is set");
    }
    answered(&rig.session, "delegate it").await;
    let transcript = rig.now().await;
    assert!(
        states(&transcript).iter().all(|it| *it == "succeeded"),
        "{transcript}"
    );
    assert_eq!(last_texts(&transcript), ["Done."]);
    if rig.agent == OtherAgent::Codex {
        let call = last_calls(&transcript)[0];
        assert!(has_text(&call["subagent"], "Counted."), "{call}");
    }
    if let Some((_, mode)) = mode {
        let set = rig.session.set_permission_mode(mode).await;
        set.expect("the mode is set");
    }
}

pub(crate) async fn error_of_the_api_fails_the_turn(rig: &Rig) {
    rig.script([Reply::Error(400), Reply::Text("Better.")]);
    let mut receipt = rig.send("fail").await;
    within("its end", receipt.settled()).await;
    let transcript = rig.now().await;
    assert_eq!(outcomes(&transcript).last(), Some(&"failed"));
    assert_eq!(
        entries(&transcript, "result").last().expect("a result")["is_error"],
        true
    );
    answered(&rig.session, "do better").await;
    let transcript = rig.now().await;
    assert_eq!(last_texts(&transcript), ["Better."]);
    assert_eq!(outcomes(&transcript).last(), Some(&"completed"));
}

pub(crate) async fn resumed_conversation_knows_its_past(rig: &mut Rig) {
    rig.script([Reply::Text("One."), Reply::Text("Two.")]);
    answered(&rig.session, "remember this").await;
    let id = rig.now().await["session_id"].clone();
    rig.resume().await;
    answered(&rig.session, "the next").await;
    assert!(rig.api.last_has("remember this") && rig.api.last_has("One."));
    let transcript = rig.now().await;
    assert_eq!(transcript["session_id"], id);
    assert_eq!(last_texts(&transcript), ["Two."]);
}

pub(crate) async fn killed_agent_is_an_unexpected_exit(rig: &Rig) {
    let _held = rig.api.hold();
    rig.script([Reply::Held("Killed")]);
    let mut receipt = rig.send("begin").await;
    rig.until("the beginning", |now| has_text(now, "Killed"))
        .await;
    let pid = rig
        .session
        .pid()
        .and_then(|pid| Pid::from_raw(pid.cast_signed()));
    kill_process(pid.expect("a process"), Signal::KILL).expect("it runs");
    let end = within("the end", rig.session.ended()).await;
    assert!(!end.expected && end.report.survivors.is_empty(), "{end:?}");
    let settled = within("its end", receipt.settled()).await;
    assert_eq!(settled, ReceiptState::Unknown);
    let transcript = rig.now().await;
    assert!(kinds(&transcript).contains(&"error unexpected_exit".to_owned()));
    assert_eq!(last_texts(&transcript), ["Killed"]);
    assert_eq!(rig.home.processes(), "");
}

/// The states of the tool calls since the last prompt.
fn states(transcript: &Value) -> Vec<&str> {
    let calls = last_calls(transcript).into_iter();
    calls.filter_map(|call| call["state"].as_str()).collect()
}
