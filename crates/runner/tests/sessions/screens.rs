//! Terminals: snapshots, queries and pastes.

use bowline_runner::wire::{AttachMode, Lease, Message, Prompt, PromptMode, PromptStatus};
use bowline_transport::ExitStatus;

use crate::client::{Client, Memory};
use crate::support::{Place, TTY, on_terminal};

#[tokio::test]
async fn late_client_begins_with_a_snapshot() {
    let place = Place::new();
    let flood = "seq -f 'line %.0f of many, many lines' 0 20000";
    let mut spec = on_terminal(&format!("{flood}; printf 'last words'; cat"));
    (spec.journal.on, spec.ring_bytes) = (false, Some(4_096));
    let shim = place.start(spec).await;
    let mut first = Client::join(&shim.folder, Memory::new(shim.id, Lease::Write, &[TTY])).await;
    first
        .until(|memory| {
            // A snapshot may have stood for the end of the output, without its last character.
            let screen = String::from_utf8_lossy(&memory.screen);
            memory.text(TTY).ends_with("last words") || screen.contains("last word")
        })
        .await;
    for mode in [AttachMode::Snapshot, AttachMode::Resume] {
        let mut memory = Memory::new(shim.id, Lease::Read, &[TTY]);
        memory.mode = mode;
        let mut late = Client::join(&shim.folder, memory).await;
        late.find(|it| matches!(it, Message::SnapshotChunk { more: false, .. }).then_some(()))
            .await;
        let screen = String::from_utf8_lossy(&late.memory.screen).into_owned();
        assert!(screen.contains("line 20000 of many"), "{screen:?}");
        assert!(!screen.contains("line 3 of many"), "only what is in memory");
        assert_eq!(
            late.memory.gaps > 0,
            mode == AttachMode::Resume,
            "a gap is reported when resuming"
        );
        first.type_in(first.memory.acked, "!").await;
        late.until(|memory| memory.text(TTY).ends_with('!')).await;
        first.until(|memory| memory.text(TTY).ends_with('!')).await;
    }
}

/// A query of the cursor position is replied to without a client.
#[tokio::test]
async fn unattached_session_replies_to_queries() {
    let place = Place::new();
    let text = "printf 'ab\\033[6n'; dd bs=1 count=6 2>/dev/null | od -An -c; echo done; cat";
    let shim = place.start(on_terminal(text)).await;
    let reader = Memory::new(shim.id, Lease::Read, &[TTY]);
    let mut client = Client::join(&shim.folder, reader).await;
    client
        .until(|memory| memory.text(TTY).contains("done"))
        .await;
    let output = client.memory.text(TTY);
    assert!(output.contains("033   [   1   ;   3   R"), "{output:?}");
}

/// The child reads none of the replies to its queries, and ends with its input full.
#[tokio::test]
async fn unread_replies_do_not_outlive_child() {
    let place = Place::new();
    let queries = "yes \"$(printf '\\033[6n\\033[c\\033[5n')\" | head -c 1000000";
    let text = format!("{queries}; head -c 1000000 /dev/urandom; exit 5");
    let shim = place.start(on_terminal(&text)).await;
    let reader = Memory::new(shim.id, Lease::Read, &[TTY]);
    let mut client = Client::join(&shim.folder, reader).await;
    client.until(|memory| memory.exit.is_some()).await;
    assert_eq!(client.memory.exit.unwrap().status, ExitStatus::Code(5));
}

#[tokio::test]
async fn paste_is_bracketed_or_refused() {
    let place = Place::new();
    let text = "read -r go; printf '\\033[?2004hready'; dd bs=1 count=20 2>/dev/null | od -An -c; echo done; cat";
    let shim = place.start(on_terminal(text)).await;
    let memory = Memory::new(shim.id, Lease::Write, &[TTY]);
    let mut client = Client::join(&shim.folder, memory).await;
    let paste = |id: &str| {
        let mode = PromptMode::Paste;
        let (id, bytes) = (id.to_owned(), "a\x1b[201~\nb".into());
        Message::Prompt(Prompt {
            id,
            bytes,
            mode,
            request_id: None,
        })
    };
    let settled = |message: &Message| match message {
        Message::PromptState { state, .. } if *state != PromptStatus::Queued => Some(state.clone()),
        _ => None,
    };
    client.send(paste("early")).await;
    let state = client.find(settled).await;
    assert!(matches!(state, PromptStatus::Refused { .. }), "{state:?}");
    client.type_in(0, "go\n").await;
    client
        .until(|memory| memory.text(TTY).ends_with("ready"))
        .await;
    client.send(paste("late")).await;
    assert_eq!(client.find(settled).await, PromptStatus::Written);
    assert_eq!(client.find(settled).await, PromptStatus::Unverified);
    client
        .until(|memory| memory.text(TTY).contains("done"))
        .await;
    let output = client.memory.text(TTY);
    let output: String = output.split_whitespace().collect();
    assert!(output.contains("033[200~a[201~\\nb033[201~"), "{output:?}");
}
