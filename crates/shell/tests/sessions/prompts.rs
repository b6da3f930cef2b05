//! Prompts typed into programs of all kinds: whole, or refused with the reason.

use std::path::Path;
use std::time::Duration;

use bowline_shell::{
    Refusal, SessionEvents, ShellSession, Stripped, Submission, SubmitOptions, SubmitOutcome,
};

use crate::support::{command, line_that, login, quick, tui, within};

/// A prompt that the program has got must be what was sent, byte for byte.
async fn deliver(
    session: &ShellSession,
    events: &mut SessionEvents,
    folder: &Path,
    number: usize,
    prompt: &[u8],
) -> Submission {
    let submission = within(session.submit(prompt, quick())).await;
    assert_eq!(
        submission.outcome,
        SubmitOutcome::Submitted,
        "prompt {number} of {} bytes",
        prompt.len()
    );
    let received = line_that(events, |line| {
        line.starts_with("got") || line.starts_with("stray")
    })
    .await;
    let got = std::fs::read(folder.join(number.to_string())).unwrap();
    assert_eq!(received, format!("got {number} {} apart", got.len()));
    std::fs::remove_file(folder.join(number.to_string())).unwrap();
    assert_eq!(
        submission.typed,
        got.len() as u64 + 13,
        "two marks and an Enter"
    );
    assert!(
        got == expected(prompt),
        "prompt {number} of {} bytes arrived changed",
        prompt.len()
    );
    submission
}

/// What is left of a prompt, worked out in another way than the product does.
fn expected(prompt: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for chunk in prompt.utf8_chunks() {
        let valid = chunk
            .valid()
            .replace("\x1b[200~", "\0")
            .replace("\x1b[201~", "\0");
        let valid = valid.replace("\r\n", "\n").replace('\r', "\n");
        text.extend(
            valid
                .chars()
                .filter(|c| !c.is_control() || "\n\t".contains(*c))
                .collect::<String>()
                .into_bytes(),
        );
        text.extend(
            chunk
                .invalid()
                .iter()
                .filter(|byte| !(0x80..0xa0).contains(*byte)),
        );
    }
    text
}

/// Bytes that look random and are the same each time (xorshift).
fn noise(seed: u64, length: usize) -> impl Iterator<Item = u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::from_fn(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Some((state >> 24) as u8)
    })
    .take(length)
}

#[tokio::test]
async fn prompts_of_all_lengths_and_bytes_arrive_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (session, mut events) = tui(folder.path(), "").await;
    let mut prompts: Vec<Vec<u8>> = (0..=255).map(|byte| vec![b'<', byte, b'>']).collect();
    prompts.push(b"x".to_vec());
    for length in [
        2, 63, 64, 65, 1022, 1023, 1024, 1025, 4083, 4094, 4095, 4096, 4097, 8191, 65_536, 70_001,
    ] {
        prompts.push(noise(length as u64, length).chain(*b"x").collect());
        prompts.push(vec![b'a'; length]);
    }
    for (number, prompt) in prompts.iter().enumerate() {
        deliver(&session, &mut events, folder.path(), number, prompt).await;
    }
    session.kill().await;
}

#[tokio::test]
async fn prompt_of_ten_mebibytes_arrives_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (session, mut events) = tui(folder.path(), "").await;
    let prompt: Vec<u8> = noise(7, 10 << 20).collect();
    deliver(&session, &mut events, folder.path(), 0, &prompt).await;
    session.kill().await;
}

#[tokio::test]
async fn paste_marks_are_removed_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (session, mut events) = tui(folder.path(), "").await;
    let prompt = b"rm\x1b[201~\rreally\x03\r\nyes\x9b201~";
    let submission = deliver(&session, &mut events, folder.path(), 0, prompt).await;
    assert_eq!(
        submission.stripped,
        Stripped {
            paste_marks: 1,
            controls: 2,
            carriage_returns: 2
        }
    );
    let strict = SubmitOptions {
        refuse_controls: true,
        ..quick()
    };
    let refused = within(session.submit(prompt, strict)).await;
    assert_eq!(
        (refused.outcome, refused.typed),
        (SubmitOutcome::Refused(Refusal::Controls), 0)
    );
    let empty = within(session.submit("\x1b[200~", quick())).await;
    assert_eq!(empty.outcome, SubmitOutcome::Refused(Refusal::Empty));
    session.kill().await;
}

#[tokio::test]
async fn concurrent_prompts_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    let (session, mut events) = tui(folder.path(), "").await;
    let (one, two) = ("1".repeat(50_000), "2".repeat(50_000));
    let (first, second) = within(async {
        tokio::join!(session.submit(&one, quick()), session.submit(&two, quick()))
    })
    .await;
    assert_eq!(
        (first.outcome, second.outcome),
        (SubmitOutcome::Submitted, SubmitOutcome::Submitted)
    );
    line_that(&mut events, |line| line == "got 1 50000 apart").await;
    let got = |number: &str| std::fs::read_to_string(folder.path().join(number)).unwrap();
    assert!(got("0") == one && got("1") == two);
    session.kill().await;
}

#[tokio::test]
async fn program_that_starts_later_is_awaited() {
    let home = tempfile::tempdir().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sessions/tui.pl");
    let session = ShellSession::start(login(home.path(), "")).await.unwrap();
    let mut events = session.subscribe_from_start();
    let start = format!("exec perl '{script}' '{}'", home.path().display());
    let started = within(session.submit(&start, quick())).await;
    assert_eq!(started.outcome, SubmitOutcome::Submitted);
    line_that(&mut events, |line| line == "starting").await;
    deliver(&session, &mut events, home.path(), 0, b"one\ntwo\t.").await;
    session.kill().await;
}

#[tokio::test]
async fn line_editing_shell_accepts_paste() {
    let home = tempfile::tempdir().unwrap();
    let session = ShellSession::start(login(home.path(), "")).await.unwrap();
    let mut events = session.subscribe_from_start();
    let long = "x".repeat(20_000);
    let submitted = within(session.submit(format!("a={long}\necho \"<${{#a}}>\""), quick())).await;
    assert_eq!(submitted.outcome, SubmitOutcome::Submitted);
    assert_eq!(
        line_that(&mut events, |line| line.starts_with("<2")).await,
        "<20000>"
    );
    session.kill().await;
}

#[tokio::test]
async fn line_too_long_for_cooked_terminal_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let script = "stty -echo; echo ready; while read -r line; do echo \"${#line}\"; done";
    let session = ShellSession::start(command(folder.path(), "/bin/sh", &["-c", script]))
        .await
        .unwrap();
    let mut events = session.subscribe_from_start();
    line_that(&mut events, |line| line == "ready").await;
    let options = SubmitOptions {
        ready_within: Duration::from_millis(50),
        ..quick()
    };
    for length in [4096, 4097, 10_001, 10 << 20] {
        let prompt = "ok\n".to_owned() + &"x".repeat(length);
        let refused = within(session.submit(prompt, options)).await;
        let reason = Refusal::LineTooLong {
            length,
            limit: 4095,
        };
        assert_eq!(
            (refused.outcome, refused.typed),
            (SubmitOutcome::Refused(reason), 0)
        );
    }
    for length in [1, 4094, 4095] {
        let prompt = "x".repeat(length);
        let typed = within(session.submit(prompt, options)).await;
        assert_eq!(
            (typed.outcome, typed.typed),
            (SubmitOutcome::Submitted, length as u64 + 1)
        );
        assert_eq!(line_that(&mut events, |_| true).await, length.to_string());
    }
    let many = vec!["y".repeat(3000); 40].join("\n");
    assert_eq!(
        within(session.submit(many, options)).await.outcome,
        SubmitOutcome::Submitted
    );
    for _ in 0..40 {
        assert_eq!(line_that(&mut events, |_| true).await, "3000");
    }
    session.kill().await;
}

#[tokio::test]
async fn program_without_paste_accepts_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let (session, mut events) = tui(folder.path(), "plain").await;
    let options = SubmitOptions {
        ready_within: Duration::from_millis(50),
        ..quick()
    };
    let refused = within(session.submit("one\ntwo", options)).await;
    assert_eq!(
        (refused.outcome, refused.typed),
        (SubmitOutcome::Refused(Refusal::NeedsPaste), 0)
    );
    let prompt = "k".repeat(30_000);
    let typed = within(session.submit(&prompt, options)).await;
    assert_eq!(typed.outcome, SubmitOutcome::Submitted);
    line_that(&mut events, |line| line == "got 0 30000 apart").await;
    session.kill().await;
}

#[tokio::test]
async fn program_that_does_not_read_gets_no_enter() {
    let folder = tempfile::tempdir().unwrap();
    let (session, _events) = tui(folder.path(), "deaf").await;
    let options = SubmitOptions {
        read_within: Duration::from_millis(200),
        ..quick()
    };
    for length in [10, 100_000] {
        let refused = within(session.submit("z".repeat(length), options)).await;
        assert_eq!(refused.outcome, SubmitOutcome::Refused(Refusal::NotRead));
        assert!(
            refused.typed <= 4095,
            "{} bytes in the queue",
            refused.typed
        );
    }
    session.kill().await;
    let refused = within(session.submit("z", options)).await;
    assert_eq!(
        (refused.outcome, refused.typed),
        (SubmitOutcome::Refused(Refusal::Ended), 0)
    );
}

#[tokio::test]
async fn program_that_leaves_paste_mode_gets_no_rest() {
    let folder = tempfile::tempdir().unwrap();
    let (session, mut events) = tui(folder.path(), "fickle").await;
    let refused = within(session.submit("w".repeat(1 << 20), quick())).await;
    assert_eq!(
        refused.outcome,
        SubmitOutcome::Refused(Refusal::ModeChanged)
    );
    // One queue was read before it left, and one more may have been on its way.
    assert!(
        refused.typed <= 2 * 4095,
        "{} bytes were typed",
        refused.typed
    );
    // What was on its way is echoed before it, now that the terminal does so.
    line_that(&mut events, |line| line.ends_with("gone back")).await;
    session.kill().await;
}

#[tokio::test]
async fn unread_prompt_is_unverified() {
    let folder = tempfile::tempdir().unwrap();
    let session = ShellSession::start(command(
        folder.path(),
        "/bin/sh",
        &["-c", "echo up; sleep 1000"],
    ))
    .await
    .unwrap();
    let mut events = session.subscribe_from_start();
    line_that(&mut events, |line| line == "up").await;
    let options = SubmitOptions {
        ready_within: Duration::from_millis(50),
        verify_within: Duration::from_millis(100),
        ..quick()
    };
    let typed = within(session.submit("hello", options)).await;
    assert_eq!(
        (typed.outcome, typed.typed),
        (SubmitOutcome::TypedUnverified, 6)
    );
    session.kill().await;
}
