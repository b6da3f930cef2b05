//! Agents that violate the protocol.

use std::time::Duration;

use bowline_lifecycle::{ExitStatus, ReceiptState};
use bowline_tests::session::{answered, kinds, terminate, transcript, until, within};

use crate::play::{Play, send};

#[tokio::test]
async fn exit_during_turn_is_unexpected() {
    for code in [0, 3] {
        let play = Play::new(&format!(
            r#"
            [[turn]]
            steps = [ {{ text = "Half a" }}, {{ stderr = "the reason" }}, {{ exit = {code} }} ]
        "#
        ));
        let session = play.start().await;
        let mut receipt = send(&session, "go").await;
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
async fn torn_line_is_reported_as_truncated() {
    let play = Play::new(
        r#"
        [[turn]]
        steps = [ { torn = { text = "Never whole", keep = -20 } }, { exit = 0 } ]
    "#,
    );
    let session = play.start().await;
    send(&session, "go").await;
    within("the end", session.ended()).await;
    let left = transcript(&session).await;
    assert_eq!(left["stats"]["truncated"], true);
    assert!(
        kinds(&left).contains(&"error truncated".to_owned()),
        "{left:#}"
    );
}

#[tokio::test]
async fn agent_with_closed_output_is_terminated() {
    let play = Play::new(
        r#"
        [[turn]]
        steps = [ { text = "Last words." }, { close_stdout = true }, { hang = { ignore_signals = true } } ]
    "#,
    );
    let session = play.start().await;
    let mut receipt = send(&session, "go").await;
    assert_eq!(
        within("the end", receipt.settled()).await,
        ReceiptState::Unknown
    );
    let end = within("the end", session.ended()).await;
    assert!(!end.expected && end.report.survivors.is_empty(), "{end:?}");
    assert!(end.reason.contains("closed its output"), "{}", end.reason);
}

#[tokio::test]
async fn agent_that_never_reads_blocks_no_caller() {
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
    let receipt = send(&session, &"x".repeat(10 << 20)).await;
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
async fn invalid_lines_and_floods_keep_session_running() {
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
