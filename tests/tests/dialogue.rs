//! Dialogue sessions against the understudy, well behaved and not.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use bowline_lifecycle::reducer::{Changes, Cursor};
use bowline_lifecycle::{
    Decision, DialogueConfiguration, DialogueError, DialogueSession, DialogueStdio, ExitStatus,
    Ladder, Prompt, Receipt, ReceiptState, SpawnError, StartError,
};
use bowline_tests::session::{answered, kinds, terminate, transcript, until, within};
use serde_json::Value;

/// A scenario in a file of its own, and the configuration that plays it.
struct Play {
    folder: tempfile::TempDir,
    configuration: DialogueConfiguration,
}

impl Play {
    fn new(scenario: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("scenario.toml");
        fs::write(&file, scenario).expect("the scenario is written");
        let args = [
            "--scenario".into(),
            file.into_os_string(),
            "--pace".into(),
            "0".into(),
        ];
        let configuration = DialogueConfiguration {
            program: env!("CARGO_BIN_EXE_stand-in").into(),
            args: args.into(),
            // Impatient, because some of these agents never do what they are asked.
            ladder: Ladder {
                eof_grace: Duration::from_millis(200),
                term_grace: Duration::from_millis(200),
                ..Ladder::default()
            },
            ..DialogueConfiguration::default()
        };
        Self {
            folder,
            configuration,
        }
    }

    async fn start(&self) -> DialogueSession {
        let started = within(
            "a start",
            DialogueSession::start(self.configuration.clone()),
        )
        .await;
        started.expect("the understudy starts")
    }
}

async fn say(session: &DialogueSession, text: &str) -> Receipt {
    session
        .send(Prompt::text(text))
        .await
        .expect("the prompt is sent")
}

#[tokio::test]
async fn two_turns_in_one_process_then_an_end_in_order() {
    let play = Play::new(
        r#"
        [[turn]]
        steps = [ { text = "One." } ]
        [[turn]]
        steps = [ { text = "Two." } ]
    "#,
    );
    let session = play.start().await;
    answered(&session, "first").await;
    answered(&session, "second").await;
    let end = within("the end", session.end()).await;
    assert_eq!((end.exit.status, end.expected), (ExitStatus::Code(0), true));
    let left = transcript(&session).await;
    assert_eq!(
        kinds(&left),
        ["user", "assistant", "result", "user", "assistant", "result"]
    );
    assert_eq!(left["status"]["phase"], "ended");
}

#[tokio::test]
async fn a_consumer_that_comes_late_gets_everything() {
    let play = Play::new(
        r#"
        [[turn]]
        steps = [ { text = "A text in many small pieces, streamed." } ]
    "#,
    );
    let session = play.start().await;
    answered(&session, "go").await;
    terminate(&session).await;
    let read = async || {
        let all = |changes: &Changes<'_>| -> Vec<String> {
            changes
                .iter()
                .map(|it| serde_json::to_string(&it).expect("JSON"))
                .collect()
        };
        session.changes_since(Cursor::default(), all).await.1
    };
    let first = read().await;
    let text = "A text in many small pieces, streamed.";
    assert!(
        first.iter().any(|change| change.contains(text)),
        "{first:?}"
    );
    assert_eq!(first, read().await, "reading takes nothing away");
}

#[tokio::test]
async fn a_start_that_fails_leaves_nothing() {
    let play = Play::new("");
    let missing = OsString::from("no-such-agent-anywhere");
    let folder = play.folder.path();
    let plain = folder.join("plain.txt");
    fs::write(&plain, "not a program").expect("a file");
    for (program, cwd) in [
        (missing, None),
        (plain.into_os_string(), None),
        (
            play.configuration.program.clone(),
            Some(folder.join("gone")),
        ),
    ] {
        let record = folder.join("record.jsonl");
        let configuration = DialogueConfiguration {
            program,
            cwd,
            record: Some(record.clone()),
            ..play.configuration.clone()
        };
        let error = DialogueSession::start(configuration)
            .await
            .expect_err("nothing to start");
        assert!(
            matches!(
                error,
                StartError::Spawn(
                    SpawnError::NotFound { .. }
                        | SpawnError::NotExecutable { .. }
                        | SpawnError::CwdMissing { .. }
                )
            ),
            "{error}"
        );
        assert!(!record.exists(), "a recording of nothing is left");
    }
}

#[tokio::test]
async fn a_recording_holds_every_byte() {
    let mut play = Play::new(
        r#"
        [[turn]]
        steps = [ { text = "Recorded." }, { big = 3000000 } ]
    "#,
    );
    let record = play.folder.path().join("record.jsonl");
    play.configuration.record = Some(record.clone());
    let session = play.start().await;
    answered(&session, "go").await;
    let end = within("the end", session.end()).await;
    assert_eq!(end.recording_failed, None);
    let bytes = fs::read(&record).expect("the recording");
    assert_eq!(bytes.len() as u64, end.exit.output_end);
    let again = DialogueSession::start(play.configuration.clone()).await;
    assert!(
        matches!(again, Err(StartError::Record { .. })),
        "a recording is never written over"
    );
}

#[tokio::test]
async fn an_exit_in_mid_turn_is_unexpected_whatever_its_code() {
    for code in [0, 3] {
        let play = Play::new(&format!(
            r#"
            [[turn]]
            steps = [ {{ text = "Half a" }}, {{ stderr = "the reason" }}, {{ exit = {code} }} ]
        "#
        ));
        let session = play.start().await;
        let mut receipt = say(&session, "go").await;
        assert_eq!(
            within("the end", receipt.settled()).await,
            ReceiptState::Unknown
        );
        let end = within("the end", session.ended()).await;
        assert_eq!(
            (end.exit.status, end.expected),
            (ExitStatus::Code(code), false)
        );
        assert!(end.stderr.text.contains("the reason"));
        let left = transcript(&session).await;
        assert_eq!(
            kinds(&left).last().map(String::as_str),
            Some("error unexpected_exit")
        );
        let text = left["entries"]
            .as_array()
            .and_then(|it| it.last())
            .expect("an entry")["text"]
            .clone();
        assert!(
            text.as_str().expect("text").contains("the reason"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_torn_line_is_truncated_and_not_lost() {
    let play = Play::new(
        r#"
        [[turn]]
        steps = [ { torn = { text = "Never whole", keep = -20 } }, { exit = 0 } ]
    "#,
    );
    let session = play.start().await;
    say(&session, "go").await;
    within("the end", session.ended()).await;
    let left = transcript(&session).await;
    assert_eq!(left["stats"]["truncated"], true);
    assert!(
        kinds(&left).contains(&"error truncated".to_owned()),
        "{left:#}"
    );
}

#[tokio::test]
async fn an_agent_that_closes_its_output_and_lives_is_ended() {
    let play = Play::new(
        r#"
        [[turn]]
        steps = [ { text = "Last words." }, { close_stdout = true }, { hang = { ignore_signals = true } } ]
    "#,
    );
    let session = play.start().await;
    let mut receipt = say(&session, "go").await;
    assert_eq!(
        within("the end", receipt.settled()).await,
        ReceiptState::Unknown
    );
    let end = within("the end", session.ended()).await;
    assert!(!end.expected && end.report.survivors.is_empty(), "{end:?}");
    assert!(end.reason.contains("closed its output"), "{}", end.reason);
}

#[tokio::test]
async fn an_agent_that_never_reads_holds_nobody_up() {
    let mut play = Play::new(
        r#"
        ignore_stdin = true
        [[turn]]
        on = "start"
        quiet = true
        steps = [ { hang = { deaf = true } } ]
    "#,
    );
    play.configuration.control_timeout = Duration::from_millis(300);
    let session = play.start().await;
    // Larger than any pipe buffer.
    let receipt = say(&session, &"x".repeat(10 << 20)).await;
    until(&session, "a notice", |it| {
        kinds(it).contains(&"error session_timeout".to_owned())
    })
    .await;
    assert_eq!(receipt.state(), ReceiptState::Accepted);
    let end = terminate(&session).await;
    assert!(end.expected);
    assert_eq!(receipt.state(), ReceiptState::Unknown);
}

#[tokio::test]
async fn a_prompt_of_ten_megabytes_arrives() {
    let play = Play::new(
        r#"
        [[turn]]
        steps = [ { text = "Received." } ]
    "#,
    );
    let session = play.start().await;
    answered(&session, &"é😀\n\"".repeat(1 << 20)).await;
    terminate(&session).await;
}

#[tokio::test]
async fn junk_and_floods_end_nothing() {
    let play = Play::new(
        r#"
        [[turn]]
        steps = [
          { junk = "[SandboxDebug] hello" }, { junk = { hex = "ff00fe" } }, { junk = "[1,2]" },
          { stderr = { bytes = 10000000 } }, { big = 5000000 }, { text = "Still here." },
        ]
    "#,
    );
    let session = play.start().await;
    answered(&session, "go").await;
    let end = terminate(&session).await;
    assert_eq!(end.stderr.written, end.exit.errors_end);
    assert!(
        end.stderr.text.len() < 70_000 && end.stderr.dropped > 9_000_000,
        "{}",
        end.stderr.dropped
    );
    let left = transcript(&session).await;
    assert_eq!(left["stats"]["parse_errors"], 3);
    assert_eq!(
        kinds(&left)
            .iter()
            .filter(|kind| *kind == "error parse")
            .count(),
        3
    );
}

#[tokio::test]
async fn chunks_of_one_byte_change_nothing() {
    let scenario = r#"
        [[turn]]
        steps = [ { thinking = "Hm." }, { text = "Ünïcödé 😀 and \"quotes\"." } ]
    "#;
    let mut seen = Vec::new();
    for chunk in ["", "chunk = 1\n"] {
        let play = Play::new(&format!("{chunk}{scenario}"));
        let session = play.start().await;
        answered(&session, "go").await;
        terminate(&session).await;
        let left = transcript(&session).await;
        let assistant = left["entries"].as_array().expect("entries").iter();
        let blocks: Vec<_> = assistant.map(|entry| entry["blocks"].clone()).collect();
        seen.push(blocks);
    }
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn a_permission_is_asked_and_answered_on_pipes_and_on_a_terminal() {
    let mut play = Play::new(
        r#"
        allow_tty = false
        [[turn]]
        steps = [ { tool = { name = "Bash", input = { command = "deploy" }, ask = true, result = "ran {{input.command}}" } } ]
    "#,
    );
    for stdio in [DialogueStdio::Pipes, DialogueStdio::Pty] {
        play.configuration.stdio = stdio;
        let session = play.start().await;
        let mut receipt = say(&session, "go").await;
        let asked = |it: &Value| it["permissions"][0]["state"] == "open";
        let now = until(&session, "a question", asked).await;
        let id = now["permissions"][0]["request_id"].as_str().expect("an id");
        let rewrite = Decision::Allow {
            updated_input: Some(r#"{"command":"dry run"}"#.to_owned()),
            updated_permissions: None,
        };
        session
            .answer_permission(id, rewrite)
            .await
            .expect("the first answer counts");
        assert_eq!(
            within("an answer", receipt.settled()).await,
            ReceiptState::Answered
        );
        terminate(&session).await;
        let left = transcript(&session).await;
        let calls = left["tool_calls"].as_object().expect("calls");
        let call = calls.values().next().expect("a call");
        assert_eq!(call["result"]["text"], "ran dry run", "{stdio:?}: {left:#}");
    }
}

#[tokio::test]
async fn dropping_the_last_handle_ends_the_agent() {
    let play = Play::new(
        r#"
        [[turn]]
        steps = [ { text = "Hello." }, { wait_for = "interrupt" } ]
    "#,
    );
    let session = play.start().await;
    let pid = session.pid().expect("a process");
    say(&session, "go").await;
    until(&session, "a text", |it| {
        kinds(it).contains(&"assistant".to_owned())
    })
    .await;
    drop(session);
    within("the end of the process", gone(pid)).await;
}

/// Waits until no process has this id.
async fn gone(pid: u32) {
    while Path::new(&format!("/proc/{pid}")).exists() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_refused_prompt_leaves_the_receipt_of_the_first_alone() {
    let play = Play::new(
        r#"
        [[turn]]
        steps = [ { wait_for = "interrupt" }, { text = "Answered." } ]
    "#,
    );
    let session = play.start().await;
    let uuid = "6b1f5f6e-0000-4000-8000-000000000001".to_owned();
    let prompt = Prompt {
        uuid: Some(uuid),
        ..Prompt::text("go")
    };
    let mut first = session
        .send(prompt.clone())
        .await
        .expect("the prompt is sent");
    within("a start", first.reached(ReceiptState::Started)).await;
    let second = session.send(prompt).await;
    assert!(
        matches!(second, Err(DialogueError::DuplicateUuid { .. })),
        "{second:?}"
    );
    session
        .interrupt(false)
        .await
        .expect("the agent takes interrupts");
    assert_eq!(
        within("an answer", first.settled()).await,
        ReceiptState::Answered
    );
    terminate(&session).await;
}

#[tokio::test]
async fn a_reader_that_panics_takes_only_itself_down() {
    let play = Play::new(
        r#"
        [[turn]]
        steps = [ { text = "Unmoved." } ]
    "#,
    );
    let session = play.start().await;
    let reader = session.clone();
    let job = tokio::spawn(async move { reader.inspect(|_| panic!("a reader's mistake")).await });
    assert!(
        within("the panic", job)
            .await
            .is_err_and(|error| error.is_panic())
    );
    answered(&session, "go").await;
    terminate(&session).await;
}

/// The text of a draft grows in one block and nothing else changes: each growth is news all the
/// same to a reader that looked before.
#[tokio::test]
async fn a_reader_that_looks_and_waits_misses_nothing() {
    let stream = |event: &str| {
        format!(
            r#"{{ raw = {{ type = "stream_event", event = {{ {event} }}, session_id = "s", uuid = "{{{{uuid}}}}", api_message_id = "m" }} }}"#
        )
    };
    let delta = |text: &str| {
        stream(&format!(
            r#"type = "content_block_delta", index = 0, delta = {{ type = "text_delta", text = "{text}" }}"#
        ))
    };
    let steps = [
        stream(
            r#"type = "message_start", message = { id = "m", role = "assistant", content = [] }"#,
        ),
        stream(
            r#"type = "content_block_start", index = 0, content_block = { type = "text", text = "" }"#,
        ),
        delta("a"),
        // Long enough for a reader to look and to begin to wait; one that is late misses nothing.
        "{ delay_ms = 300 }".to_owned(),
        delta("b"),
        r#"{ wait_for = "interrupt" }"#.to_owned(),
    ];
    let mut play = Play::new(&format!("[[turn]]\nsteps = [ {} ]\n", steps.join(", ")));
    play.configuration
        .args
        .extend(["--pace".into(), "1".into()]);
    let session = play.start().await;
    say(&session, "go").await;
    let is = |text: &'static str| {
        move |now: &Value| {
            let entries = now["entries"].as_array().expect("entries").iter();
            entries
                .map(|entry| &entry["blocks"][0]["text"])
                .any(|it| it == text)
        }
    };
    until(&session, "the first delta", is("a")).await;
    until(&session, "the second delta", is("ab")).await;
    terminate(&session).await;
}
