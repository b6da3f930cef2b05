//! The real Codex, driven through `DialogueSession` against a scripted API on loopback.
//!
//! `.ci/other-agents` installs it and runs these tests, which `cargo test` leaves out.

use bowline_lifecycle::{
    Conversation, Decision, DialectName, DialogueConfiguration, DialogueSession, Environment,
    Prompt, ReceiptState,
};
use bowline_reducer::Schema;
use bowline_tests::real_codex::{CodexHome, Reply, ResponsesApi, program};
use bowline_tests::session::{answered, entries, kinds, terminate, transcript, until, within};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

struct Rig {
    home: CodexHome,
    api: ResponsesApi,
    session: DialogueSession,
}

impl Rig {
    async fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        Self::start_with(script, |_| {}).await
    }

    /// Starts a session whose commands need the user's permission.
    async fn asking(script: impl IntoIterator<Item = Reply>) -> Self {
        let asks = |it: &mut DialogueConfiguration| it.permission_mode = Some("untrusted".into());
        Self::start_with(script, asks).await
    }

    async fn start_with(
        script: impl IntoIterator<Item = Reply>,
        change: impl FnOnce(&mut DialogueConfiguration),
    ) -> Self {
        let home = CodexHome::new().expect("a temporary home");
        let api = ResponsesApi::start(script).await.expect("a scripted API");
        let session = session(&home, &api, change).await;
        Self { home, api, session }
    }

    async fn until(&self, what: &str, ready: impl Fn(&Value) -> bool) -> Value {
        until(&self.session, what, ready).await
    }

    /// Ends the session and returns its transcript.
    async fn finish(self) -> Value {
        let end = within("the end", self.session.end()).await;
        assert!(end.expected && end.report.survivors.is_empty(), "{end:?}");
        let transcript = transcript(&self.session).await;
        assert_eq!(transcript["stats"]["parse_errors"], 0);
        assert_eq!(transcript["stats"]["unknown"], serde_json::json!({}));
        transcript
    }
}

async fn session(
    home: &CodexHome,
    api: &ResponsesApi,
    change: impl FnOnce(&mut DialogueConfiguration),
) -> DialogueSession {
    let mut env = Environment::empty();
    for (name, value) in home.environment(api).expect("a configuration") {
        env.set(name, value);
    }
    let mut configuration = DialogueConfiguration {
        env,
        cwd: Some(home.project()),
        permission_mode: Some("never".into()),
        ..DialogueConfiguration::default()
    };
    configuration.set_agent(program(), Some(DialectName::Codex));
    change(&mut configuration);
    let session = within("start", DialogueSession::start(configuration)).await;
    session.expect("Codex starts")
}

fn texts(value: &Value) -> Vec<&str> {
    let entries = entries(value, "assistant").into_iter();
    let blocks = entries.flat_map(|entry| entry["blocks"].as_array().expect("blocks"));
    let texts = blocks.filter(|block| block["type"] == "text");
    texts.filter_map(|block| block["text"].as_str()).collect()
}

fn outcomes(value: &Value) -> Vec<&str> {
    let results = entries(value, "result").into_iter();
    results
        .filter_map(|entry| entry["outcome"].as_str())
        .collect()
}

fn has_text(value: &Value, text: &str) -> bool {
    texts(value).contains(&text)
}

/// Whether a request of the model has this text.
fn was_sent(request: &Value, text: &str) -> bool {
    request["input"].to_string().contains(text)
}

/// Waits for the permission request of the command, and returns its id.
async fn asked(rig: &Rig) -> String {
    let asked = rig
        .until("a question", |now| now["permissions"][0].is_object())
        .await;
    let id = &asked["permissions"][0]["request_id"];
    id.as_str().expect("an id").to_owned()
}

const ASKED: Reply = Reply::Command {
    id: "call-1",
    line: "printf done > made",
};

#[tokio::test]
#[ignore = "run by .ci/other-agents"]
async fn plain() {
    let rig = Rig::start([Reply::Text("Hello.")]).await;
    answered(&rig.session, "hi").await;
    let transcript = rig.finish().await;
    assert_eq!(
        kinds(&transcript).iter().filter(|it| *it == "user").count(),
        1
    );
    assert_eq!(texts(&transcript), ["Hello."]);
    assert_eq!(outcomes(&transcript), ["completed"]);
}

#[tokio::test]
#[ignore = "run by .ci/other-agents"]
async fn allowed_command_runs() {
    let rig = Rig::asking([ASKED, Reply::Text("Made.")]).await;
    let sent = rig.session.send(Prompt::text("make it")).await;
    let mut receipt = sent.expect("the prompt is sent");
    let id = asked(&rig).await;
    assert!(!rig.home.project().join("made").exists(), "it waits");
    let allowed = rig.session.answer_permission(&id, Decision::allow()).await;
    allowed.expect("it is open");
    assert_eq!(
        within("an answer", receipt.settled()).await,
        ReceiptState::Answered
    );
    assert!(rig.home.project().join("made").exists());
    let transcript = rig.finish().await;
    assert_eq!(transcript["tool_calls"]["call-1"]["state"], "succeeded");
    assert_eq!(texts(&transcript), ["Made."]);
}

#[tokio::test]
#[ignore = "run by .ci/other-agents"]
async fn declined_command_does_not_run() {
    let rig = Rig::asking([ASKED, Reply::Text("Not made.")]).await;
    let sent = rig.session.send(Prompt::text("make it")).await;
    let mut receipt = sent.expect("the prompt is sent");
    let id = asked(&rig).await;
    let denied = rig
        .session
        .answer_permission(&id, Decision::deny("no"))
        .await;
    denied.expect("it is open");
    within("an answer", receipt.settled()).await;
    assert!(!rig.home.project().join("made").exists());
    let transcript = rig.finish().await;
    let state = &transcript["tool_calls"]["call-1"]["state"];
    assert_eq!(state, "failed");
    assert_eq!(texts(&transcript), ["Not made."]);
    assert_eq!(outcomes(&transcript), ["completed"], "the turn goes on");
}

#[tokio::test]
#[ignore = "run by .ci/other-agents"]
async fn edit_has_its_diff() {
    let edit = Reply::Command {
        id: "call-1",
        line: "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new.txt\n+one\n*** End Patch\nEOF\n",
    };
    let rig = Rig::start([edit, Reply::Text("Written.")]).await;
    answered(&rig.session, "write it").await;
    assert!(rig.home.project().join("new.txt").exists());
    let full = rig.session.inspect(|it| it.json(Schema::Two).to_string());
    let transcript: Value = serde_json::from_str(&full.await).expect("JSON");
    let call = &transcript["tool_calls"]["call-1"];
    assert_eq!(call["state"], "succeeded", "{call}");
    assert_eq!(call["content"][0]["type"], "diff", "{call}");
    rig.finish().await;
    assert!(
        call["locations"][0]["path"]
            .as_str()
            .is_some_and(|it| it.ends_with("new.txt")),
        "{call}"
    );
}

#[tokio::test]
#[ignore = "run by .ci/other-agents"]
async fn interrupted_turn_is_cancelled() {
    let rig = Rig::start([Reply::Held("Begun"), Reply::Text("Again.")]).await;
    let sent = rig.session.send(Prompt::text("begin")).await;
    let mut receipt = sent.expect("the prompt is sent");
    rig.until("the beginning", |now| has_text(now, "Begun"))
        .await;
    let interrupted = within("the interrupt", rig.session.interrupt(false)).await;
    interrupted.expect("it is sent");
    within("its end", receipt.settled()).await;
    answered(&rig.session, "again").await;
    let transcript = rig.finish().await;
    assert_eq!(outcomes(&transcript), ["cancelled", "completed"]);
    assert_eq!(texts(&transcript), ["Begun", "Again."]);
}

#[tokio::test]
#[ignore = "run by .ci/other-agents"]
async fn second_prompt_steers_the_turn() {
    let rig = Rig::start([Reply::Held("First."), Reply::Text("Second.")]).await;
    let sent = rig.session.send(Prompt::text("begin")).await;
    let mut first = sent.expect("the prompt is sent");
    rig.until("the beginning", |now| has_text(now, "First."))
        .await;
    let sent = rig.session.send(Prompt::text("and more")).await;
    let mut second = sent.expect("the prompt is sent");
    // Codex has taken it in before the model goes on.
    within("its receipt", second.reached(ReceiptState::Echoed)).await;
    rig.api.gate().open();
    let states = [
        within("an answer", first.settled()).await,
        within("an answer", second.settled()).await,
    ];
    assert_eq!(states, [ReceiptState::Merged, ReceiptState::Answered]);
    let requests = rig.api.requests();
    assert!(was_sent(&requests[1], "and more"), "{requests:?}");
    let transcript = rig.finish().await;
    assert_eq!(texts(&transcript), ["First.", "Second."]);
    assert_eq!(outcomes(&transcript), ["completed"]);
}

#[tokio::test]
#[ignore = "run by .ci/other-agents"]
async fn resumed_conversation_knows_its_past() {
    let rig = Rig::start([Reply::Text("One."), Reply::Text("Two.")]).await;
    answered(&rig.session, "the first").await;
    within("the end", rig.session.end()).await;
    let past = transcript(&rig.session).await;
    let id = past["session_id"].as_str().expect("an id").to_owned();
    let fork = false;
    let resumed = session(&rig.home, &rig.api, |it| {
        it.conversation = Conversation::Resume {
            id: id.clone(),
            fork,
        };
    })
    .await;
    answered(&resumed, "the second").await;
    let requests = rig.api.requests();
    assert!(was_sent(&requests[1], "the first") && was_sent(&requests[1], "One."));
    let transcript = transcript(&resumed).await;
    assert_eq!(transcript["session_id"], id.as_str());
    assert!(has_text(&transcript, "Two."));
    terminate(&resumed).await;
}

#[tokio::test]
#[ignore = "run by .ci/other-agents"]
async fn error_of_the_api_fails_the_turn() {
    let rig = Rig::start([Reply::Error(400), Reply::Text("Better.")]).await;
    let sent = rig.session.send(Prompt::text("begin")).await;
    let mut receipt = sent.expect("the prompt is sent");
    within("its end", receipt.settled()).await;
    answered(&rig.session, "again").await;
    let transcript = rig.finish().await;
    assert_eq!(outcomes(&transcript), ["failed", "completed"]);
    assert_eq!(entries(&transcript, "result")[0]["is_error"], true);
}

#[tokio::test]
#[ignore = "run by .ci/other-agents"]
async fn killed_agent_is_an_unexpected_exit() {
    let rig = Rig::start([Reply::Held("Begun")]).await;
    let sent = rig.session.send(Prompt::text("begin")).await;
    let mut receipt = sent.expect("the prompt is sent");
    rig.until("the beginning", |now| has_text(now, "Begun"))
        .await;
    let pid = rig
        .session
        .pid()
        .and_then(|pid| Pid::from_raw(pid.cast_signed()));
    kill_process(pid.expect("a local process"), Signal::KILL).expect("it runs");
    let end = within("the end", rig.session.ended()).await;
    assert!(!end.expected && end.report.survivors.is_empty(), "{end:?}");
    assert_eq!(
        within("its end", receipt.settled()).await,
        ReceiptState::Unknown
    );
    let transcript = transcript(&rig.session).await;
    assert!(kinds(&transcript).contains(&"error unexpected_exit".to_owned()));
    assert!(has_text(&transcript, "Begun"));
}
