//! The real agent, driven through `DialogueSession` against a scripted API on loopback.
//!
//! The agent is installed from npm into the build folder. A machine that cannot do that leaves
//! these tests out by name: `BOWLINE_SKIP_REAL_AGENT=1`. In CI they never are.

use bowline_lifecycle::{
    Conversation, Decision, DialogueConfiguration, DialogueSession, DialogueStdio, Ended,
    Environment, ExitStatus, Prompt, ReceiptState,
};
use bowline_tests::real_agent::scenario::{
    self, AGENT_BASH_CALL, AGENT_CALL, NESTED_CALL, PARALLEL_CALLS, PLAIN_TEXT, STREAM_GATE,
    Scenario, TOOL_CALL, TOOL_GATE,
};
use bowline_tests::real_agent::{Agent, Home, MessagesApi};
use bowline_tests::session::{entries, transcript, until, within};
use serde_json::Value;

/// One session of the real agent, and the world it lives in.
struct Rig {
    api: MessagesApi,
    home: Home,
    session: DialogueSession,
    prompts: Vec<&'static str>,
}

impl Rig {
    async fn start(scenario: Scenario) -> Option<Self> {
        let agent = Agent::for_test()?;
        let home = Home::new().expect("a temporary home");
        Some(Self::start_in(&agent, home, scenario, |_| {}).await)
    }

    async fn start_in(
        agent: &Agent,
        home: Home,
        scenario: Scenario,
        change: impl FnOnce(&mut DialogueConfiguration),
    ) -> Self {
        let api = MessagesApi::start(scenario.script).expect("a scripted API");
        let mut configuration = DialogueConfiguration {
            program: agent.executable().into(),
            env: environment(&home, &api),
            cwd: Some(home.project()),
            ..DialogueConfiguration::default()
        };
        if scenario.args.contains(&"--allowedTools") {
            configuration.allowed_tools = vec!["Bash".to_owned()];
        }
        change(&mut configuration);
        let session = within("start", DialogueSession::start(configuration)).await;
        let session = session.expect("the agent starts");
        Self {
            api,
            home,
            session,
            prompts: scenario.prompts,
        }
    }

    /// Sends the first prompt, waits for its answer, ends the session and gives the transcript.
    async fn one_turn(self) -> (Value, Ended) {
        self.answered(0).await;
        self.finish().await
    }

    async fn answered(&self, prompt: usize) {
        let mut receipt = self.send(prompt).await;
        let state = within("an answer", receipt.settled()).await;
        if state == ReceiptState::Unknown {
            let end = within("the end", self.session.ended()).await;
            panic!(
                "the agent ended: {end:?} {}",
                transcript(&self.session).await["entries"]
            );
        }
        assert_eq!(state, ReceiptState::Answered);
    }

    async fn send(&self, prompt: usize) -> bowline_lifecycle::Receipt {
        self.session
            .send(Prompt::text(self.prompts[prompt]))
            .await
            .expect("the prompt is sent")
    }

    async fn finish(self) -> (Value, Ended) {
        let end = within("the end", self.session.end()).await;
        let transcript = transcript(&self.session).await;
        assert!(end.expected && end.report.survivors.is_empty(), "{end:?}");
        let unknown = self.api.unknown();
        assert!(
            unknown.is_empty(),
            "requests that nobody scripted: {unknown:?}"
        );
        (transcript, end)
    }

    async fn until(&self, what: &str, ready: impl Fn(&Value) -> bool) -> Value {
        until(&self.session, what, ready).await
    }
}

fn environment(home: &Home, api: &MessagesApi) -> Environment {
    let mut env = Environment::empty();
    for (name, value) in home.environment(api) {
        env.set(name, value);
    }
    env
}

/// The texts of the assistant's text blocks, in order.
fn texts(value: &Value) -> Vec<String> {
    let entries = entries(value, "assistant").into_iter();
    let blocks = entries.flat_map(|entry| entry["blocks"].as_array().expect("blocks"));
    let texts = blocks.filter(|block| block["type"] == "text");
    texts
        .map(|block| block["text"].as_str().expect("text").to_owned())
        .collect()
}

fn outcomes(value: &Value) -> Vec<&str> {
    let results = entries(value, "result").into_iter();
    results
        .map(|entry| entry["outcome"].as_str().expect("an outcome"))
        .collect()
}

fn result_text(call: &Value) -> &str {
    call["result"]["text"].as_str().expect("a result")
}

#[tokio::test]
async fn plain() {
    let Some(rig) = Rig::start(scenario::plain()).await else {
        return;
    };
    let (transcript, end) = rig.one_turn().await;
    assert_eq!(texts(&transcript), [PLAIN_TEXT]);
    assert_eq!(outcomes(&transcript), ["completed"]);
    let result = entries(&transcript, "result")[0];
    assert_eq!(
        (&result["text"], &result["is_error"]),
        (&PLAIN_TEXT.into(), &false.into())
    );
    let said = entries(&transcript, "user");
    assert_eq!(said.len(), 1, "the echo is not a second prompt: {said:?}");
    assert_eq!(transcript["status"]["phase"], "ended");
    assert_eq!(
        transcript["cli_version"],
        bowline_tests::real_agent::PINNED_VERSION
    );
    assert_eq!(transcript["stats"]["unknown"], serde_json::json!({}));
    assert_eq!(end.exit.status, ExitStatus::Code(0));
}

#[tokio::test]
async fn partial() {
    let Some(rig) = Rig::start(scenario::partial()).await else {
        return;
    };
    let (transcript, _) = rig.one_turn().await;
    assert_eq!(texts(&transcript), [PLAIN_TEXT]);
    let blocks = &entries(&transcript, "assistant")[0]["blocks"];
    assert_eq!(blocks[0]["type"], "thinking");
    assert_eq!(blocks[0]["text"], "Nothing to weigh up.");
    assert!(
        entries(&transcript, "assistant")
            .iter()
            .all(|entry| entry["state"] == "complete")
    );
}

#[tokio::test]
async fn one_tool_on_pipes_and_on_a_terminal() {
    let Some(agent) = Agent::for_test() else {
        return;
    };
    for stdio in [DialogueStdio::Pipes, DialogueStdio::Pty] {
        let home = Home::new().expect("a temporary home");
        let rig = Rig::start_in(&agent, home, scenario::one_tool(), |it| it.stdio = stdio).await;
        let (transcript, _) = rig.one_turn().await;
        let call = &transcript["tool_calls"][TOOL_CALL];
        assert_eq!(
            (&call["name"], &call["state"]),
            (&"Bash".into(), &"succeeded".into())
        );
        assert_eq!(call["input"]["command"], "echo one-tool");
        assert_eq!(result_text(call), "one-tool");
        assert_eq!(texts(&transcript), ["It printed one-tool."], "{stdio:?}");
    }
}

#[tokio::test]
async fn parallel_tools() {
    let Some(rig) = Rig::start(scenario::parallel_tools()).await else {
        return;
    };
    let (transcript, _) = rig.one_turn().await;
    for id in PARALLEL_CALLS {
        let call = &transcript["tool_calls"][id];
        assert_eq!(result_text(call), id.trim_start_matches("toolu_"));
        assert_eq!(call["state"], "succeeded");
    }
    assert_eq!(texts(&transcript), ["All four are done."]);
}

#[tokio::test]
async fn nested_agents() {
    let Some(rig) = Rig::start(scenario::nested_agents()).await else {
        return;
    };
    let (transcript, _) = rig.one_turn().await;
    let outer = &transcript["tool_calls"][AGENT_CALL];
    assert_eq!(outer["state"], "succeeded");
    assert!(result_text(outer).contains("Outer report."));
    let inner = &outer["subagent"]["tool_calls"][NESTED_CALL];
    assert!(result_text(inner).contains("Inner report."), "{outer:#}");
    let bash = &inner["subagent"]["tool_calls"][AGENT_BASH_CALL];
    assert_eq!(result_text(bash), "from-the-agent");
    assert_eq!(texts(&outer["subagent"]), ["Outer report."]);
    assert_eq!(texts(&inner["subagent"]), ["Inner report."]);
    assert_eq!(texts(&transcript), ["Both are back."]);
}

#[tokio::test]
async fn background_agent() {
    let Some(rig) = Rig::start(scenario::background_agent()).await else {
        return;
    };
    rig.answered(0).await;
    let now = rig
        .until("the first result", |it| entries(it, "result").len() == 1)
        .await;
    assert_eq!(
        now["tool_calls"][AGENT_CALL]["state"], "succeeded",
        "launched is answered"
    );
    assert_ne!(now["status"]["phase"], "ended");
    rig.api.gate(STREAM_GATE).open();
    rig.until("the second result", |it| entries(it, "result").len() == 2)
        .await;
    let (transcript, _) = rig.finish().await;
    assert_eq!(
        texts(&transcript),
        ["It is on its way.", "It has come back."]
    );
    let origins: Vec<_> = entries(&transcript, "result")
        .iter()
        .map(|entry| entry["origin"].as_str())
        .collect();
    assert_eq!(origins, [None, Some("task-notification")]);
    let agent = &transcript["tool_calls"][AGENT_CALL]["subagent"];
    assert_eq!(texts(agent), ["Inner report."]);
    assert_eq!(
        result_text(&agent["tool_calls"][AGENT_BASH_CALL]),
        "from-the-agent"
    );
    let tasks = transcript["tasks"].as_object().expect("tasks");
    assert!(
        tasks.values().any(|task| task["state"] == "completed"),
        "{tasks:?}"
    );
}

/// The id of the open permission request for `tool`.
fn open_request(transcript: &Value, tool: &str) -> Option<String> {
    let requests = transcript["permissions"]
        .as_array()
        .expect("permissions")
        .iter();
    let mut open = requests.filter(|it| it["state"] == "open" && it["tool_name"] == tool);
    open.next()
        .map(|it| it["request_id"].as_str().expect("an id").to_owned())
}

async fn answer_permission(rig: &Rig, tool: &str, decision: Decision) {
    let now = rig
        .until("a question", |it| open_request(it, tool).is_some())
        .await;
    assert_eq!(now["status"]["phase"], "awaiting_permission");
    let id = open_request(&now, tool).expect("an open request");
    rig.session
        .answer_permission(&id, decision.clone())
        .await
        .expect("the first answer counts");
    rig.session
        .answer_permission(&id, decision)
        .await
        .expect("the same answer again changes nothing");
    let other = Decision::deny("said by somebody else");
    let second = rig.session.answer_permission(&id, other).await;
    assert!(second.is_err(), "another answer is told that it is late");
}

#[tokio::test]
async fn permission_rewritten_and_denied() {
    let Some(agent) = Agent::for_test() else {
        return;
    };
    let home = Home::new().expect("a temporary home");
    let scenario = scenario::permission(&home.project());
    let rig = Rig::start_in(&agent, home, scenario, |_| {}).await;
    let mut receipt = rig.send(0).await;
    let file = rig.home.project().join("elsewhere.txt");
    let rewritten = serde_json::json!({ "file_path": file, "content": "rewritten\n" });
    let rewrite = Decision::Allow {
        updated_input: Some(rewritten.to_string()),
        updated_permissions: None,
    };
    answer_permission(&rig, "Write", rewrite).await;
    answer_permission(&rig, "Bash", Decision::deny("not today")).await;
    assert_eq!(
        within("an answer", receipt.settled()).await,
        ReceiptState::Answered
    );
    assert_eq!(
        std::fs::read_to_string(&file).expect("the rewritten file"),
        "rewritten\n"
    );
    assert!(!rig.home.project().join("permitted.txt").exists());
    assert!(!rig.home.project().join("touched").exists());
    let (transcript, _) = rig.finish().await;
    assert_eq!(transcript["tool_calls"][TOOL_CALL]["state"], "succeeded");
    let denied = &transcript["tool_calls"][AGENT_BASH_CALL];
    assert_eq!(denied["state"], "failed");
    assert!(result_text(denied).contains("not today"), "{denied:#}");
    let states: Vec<_> = transcript["permissions"]
        .as_array()
        .expect("permissions")
        .iter()
        .map(|it| it["state"].as_str().expect("a state"))
        .collect();
    assert_eq!(states, ["allowed", "denied"]);
}

#[tokio::test]
async fn permission_allowed() {
    let Some(agent) = Agent::for_test() else {
        return;
    };
    let home = Home::new().expect("a temporary home");
    let scenario = scenario::permission(&home.project());
    let rig = Rig::start_in(&agent, home, scenario, |_| {}).await;
    let mut receipt = rig.send(0).await;
    answer_permission(&rig, "Write", Decision::allow()).await;
    answer_permission(&rig, "Bash", Decision::allow()).await;
    assert_eq!(
        within("an answer", receipt.settled()).await,
        ReceiptState::Answered
    );
    let file = rig.home.project().join("permitted.txt");
    assert_eq!(
        std::fs::read_to_string(file).expect("the file"),
        "permitted\n"
    );
    let (transcript, _) = rig.finish().await;
    assert_eq!(
        result_text(&transcript["tool_calls"][AGENT_BASH_CALL]),
        "done"
    );
}

#[tokio::test]
async fn interrupt_in_a_stream() {
    let Some(rig) = Rig::start(scenario::interruptible()).await else {
        return;
    };
    let mut first = rig.send(0).await;
    rig.until("a draft", |it| {
        texts(it).first().is_some_and(|text| !text.is_empty())
    })
    .await;
    within("a receipt", rig.session.interrupt(false))
        .await
        .expect("the agent takes interrupts");
    within("the result", first.settled()).await;
    let now = rig
        .until("the result", |it| outcomes(it) == ["cancelled"])
        .await;
    assert_eq!(entries(&now, "assistant")[0]["state"], "aborted");
    rig.answered(1).await;
    let (transcript, end) = rig.finish().await;
    assert_eq!(outcomes(&transcript), ["cancelled", "completed"]);
    assert_eq!(
        texts(&transcript).last().map(String::as_str),
        Some(PLAIN_TEXT)
    );
    assert_eq!(end.exit.status, ExitStatus::Code(0));
}

#[tokio::test]
async fn interrupt_in_a_tool() {
    let Some(rig) = Rig::start(scenario::long_tool()).await else {
        return;
    };
    let mut receipt = rig.send(0).await;
    within("the tool", rig.api.gate(TOOL_GATE).reached()).await;
    within("a receipt", rig.session.interrupt(false))
        .await
        .expect("the agent takes interrupts");
    within("the result", receipt.settled()).await;
    let now = rig
        .until("the result", |it| outcomes(it) == ["cancelled"])
        .await;
    assert_eq!(now["tool_calls"][TOOL_CALL]["state"], "interrupted");
    rig.finish().await;
}

#[tokio::test]
async fn three_queued_prompts() {
    let Some(rig) = Rig::start(scenario::queued_prompts()).await else {
        return;
    };
    let mut receipts = vec![rig.send(0).await];
    within("the stream", rig.api.gate(STREAM_GATE).reached()).await;
    receipts.push(rig.send(1).await);
    receipts.push(rig.send(2).await);
    rig.api.gate(STREAM_GATE).open();
    let mut states = Vec::new();
    for receipt in &mut receipts {
        states.push(within("an answer", receipt.settled()).await);
    }
    let done =
        |state: &ReceiptState| matches!(state, ReceiptState::Answered | ReceiptState::Merged);
    assert!(states.iter().all(done), "{states:?}");
    let (transcript, _) = rig.finish().await;
    let said: Vec<_> = entries(&transcript, "user")
        .iter()
        .map(|entry| entry["text"].as_str().expect("text").to_owned())
        .collect();
    assert_eq!(
        said,
        ["first", "second", "third"],
        "each prompt once, in order"
    );
    assert_eq!(texts(&transcript)[0], "First answer.");
}

#[tokio::test]
async fn resume_and_fork() {
    let Some(agent) = Agent::for_test() else {
        return;
    };
    let home = Home::new().expect("a temporary home");
    let first = Rig::start_in(&agent, home, scenario::plain(), |_| {}).await;
    first.answered(0).await;
    let id = transcript(&first.session).await["session_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    within("the end", first.session.end()).await;
    let mut home = first.home;
    for fork in [false, true] {
        let conversation = Conversation::Resume {
            id: id.clone(),
            fork,
        };
        let rig = Rig::start_in(&agent, home, scenario::plain(), |it| {
            it.conversation = conversation
        })
        .await;
        rig.answered(0).await;
        let messages = rig.api.requests();
        let last = messages.last().expect("a request");
        assert!(
            last.messages().len() > 2,
            "the agent remembers the first turn"
        );
        let now = transcript(&rig.session).await;
        assert_eq!(now["session_id"] == id.as_str(), !fork);
        assert_eq!(texts(&now), [PLAIN_TEXT]);
        within("the end", rig.session.end()).await;
        home = rig.home;
    }
    let unknown = "00000000-0000-4000-8000-000000000000".to_owned();
    let conversation = Conversation::Resume {
        id: unknown,
        fork: false,
    };
    let rig = Rig::start_in(&agent, home, scenario::plain(), |it| {
        it.conversation = conversation
    })
    .await;
    let end = within("the end", rig.session.ended()).await;
    assert!(!end.expected);
    assert_eq!(end.exit.status, ExitStatus::Code(1));
    assert!(end.stderr.text.contains("No conversation found"), "{end:?}");
    let left = transcript(&rig.session).await;
    assert_eq!(outcomes(&left), ["failed"]);
    assert!(
        entries(&left, "error")
            .iter()
            .any(|it| it["error"] == "unexpected_exit")
    );
}

#[tokio::test]
async fn api_error() {
    let Some(rig) = Rig::start(scenario::bad_request()).await else {
        return;
    };
    let (transcript, end) = rig.one_turn().await;
    let result = entries(&transcript, "result")[0];
    assert_eq!(
        (&result["subtype"], &result["is_error"]),
        (&"success".into(), &true.into())
    );
    assert_eq!(result["outcome"], "failed");
    assert!(
        result["text"]
            .as_str()
            .expect("a text")
            .contains("scripted: bad request")
    );
    assert!(end.expected);
}

#[tokio::test]
async fn sigterm_in_a_tool_is_an_unexpected_exit() {
    let Some(rig) = Rig::start(scenario::long_tool()).await else {
        return;
    };
    let mut receipt = rig.send(0).await;
    within("the tool", rig.api.gate(TOOL_GATE).reached()).await;
    rig.session
        .signal(bowline_lifecycle::Signal::Terminate)
        .expect("the agent is there");
    assert_eq!(
        within("the end", receipt.settled()).await,
        ReceiptState::Unknown
    );
    let end = within("the end", rig.session.ended()).await;
    assert_eq!(
        (end.exit.status, end.expected),
        (ExitStatus::Code(143), false)
    );
    assert!(end.report.survivors.is_empty());
    let left = transcript(&rig.session).await;
    assert!(
        entries(&left, "error")
            .iter()
            .any(|it| it["error"] == "unexpected_exit"),
        "{left:#}"
    );
    assert!(outcomes(&left).is_empty(), "SIGTERM brings no result");
    assert_ne!(
        left["tool_calls"][TOOL_CALL]["state"], "running",
        "nothing stays open"
    );
    assert_eq!(left["status"]["phase"], "ended");
}

#[tokio::test]
async fn terminate_in_a_tool_leaves_nothing() {
    let Some(rig) = Rig::start(scenario::long_tool()).await else {
        return;
    };
    rig.send(0).await;
    within("the tool", rig.api.gate(TOOL_GATE).reached()).await;
    let end = within("the end", rig.session.terminate()).await;
    assert!(end.expected && end.report.survivors.is_empty(), "{end:?}");
    let left = transcript(&rig.session).await;
    assert!(
        entries(&left, "error").is_empty(),
        "an end that was asked for is no error: {left:#}"
    );
}
