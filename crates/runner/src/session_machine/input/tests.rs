//! Input of clients.

use super::*;

const NOW: Duration = Duration::ZERO;

/// Performs all available actions and returns the bytes written.
fn written(input: &mut Input, now: Duration) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(work) = input.next_action(now) {
        if let InputAction::Write(bytes) = work {
            all.extend_from_slice(&bytes);
        }
        input.complete(Ok(()));
    }
    all
}

#[test]
fn repeated_input_is_trimmed_and_gaps_are_rejected() {
    let mut input = Input::new();
    assert_eq!(input.accept_typed(0, &"abc".into()), Ok(None));
    assert_eq!(input.accept_typed(1, &"bcd".into()), Ok(None));
    assert_eq!(input.accept_typed(0, &"ab".into()), Ok(None));
    assert_eq!(input.accept_typed(5, &"x".into()), Err(InputError::Gap));
    assert_eq!(written(&mut input, NOW), b"abcd");
    assert_eq!((input.next(), input.taken()), (4, 4));
}

#[test]
fn prompt_is_inserted_between_lines() {
    let mut input = Input::new();
    input.accept_typed(0, &"{\"half".into()).unwrap();
    assert_eq!(
        input.prompt_line("p", &"hello".into()),
        PromptStatus::Queued
    );
    assert_eq!(written(&mut input, NOW), b"{\"half");
    input.accept_typed(6, &"\":1}\n{\"next".into()).unwrap();
    assert_eq!(written(&mut input, NOW), b"\":1}\nhello\n{\"next");
    assert!(matches!(
        input.prompt("p", b"hello"),
        KnownPrompt::Same(PromptStatus::Written)
    ));
    assert!(matches!(input.prompt("p", b"hallo"), KnownPrompt::Other));
    assert!(matches!(input.prompt("q", b"hello"), KnownPrompt::Unknown));
}

#[test]
fn paste_is_submitted_after_a_pause() {
    let mut input = Input::new();
    input.prompt_paste("p", b"text", "text".into());
    input.accept_typed(0, &"x".into()).unwrap();
    assert_eq!(written(&mut input, NOW), b"text");
    assert_eq!(input.deadline(), Some(PASTE_PAUSE));
    assert!(matches!(
        input.prompt("p", b"text"),
        KnownPrompt::Same(PromptStatus::Written)
    ));
    assert_eq!(written(&mut input, PASTE_PAUSE), b"\rx");
}

#[test]
fn refused_paste_is_not_submitted() {
    let mut input = Input::new();
    input.prompt_paste("p", b"text", "text".into());
    input.prompt_paste("q", b"other", "other".into());
    input.next_action(NOW).unwrap();
    let too_long = InputRefusal::LineTooLong {
        length: 4,
        limit: 3,
    };
    let events = input.complete(Err(too_long));
    assert!(
        matches!(&events[..], [InputEvent::Prompt(id, PromptStatus::Refused { .. })] if id == "p")
    );
    assert!(input.is_settled("p"));
    assert!(matches!(
        input.prompt("p", b"text"),
        KnownPrompt::Same(PromptStatus::Refused { .. })
    ));
    assert_eq!(written(&mut input, NOW), b"other");
    assert_eq!(written(&mut input, PASTE_PAUSE), b"\r");
    assert_eq!(input.prompted, 0);
}

#[test]
fn input_after_exit_is_refused() {
    let mut input = Input::new();
    input.accept_typed(0, &"one\ntwo".into()).unwrap();
    input.prompt_line("p", &"three".into());
    input.next_action(NOW).unwrap();
    let events = input.complete(Err(InputRefusal::Ended));
    let refused = |from, to| InputEvent::Refused {
        from,
        to,
        reason: InputRefusal::Ended,
    };
    assert_eq!(events.first(), Some(&refused(0, 7)));
    assert!(
        matches!(&events[1], InputEvent::Prompt(id, PromptStatus::Refused { .. }) if id == "p")
    );
    assert_eq!(input.accept_typed(7, &"x".into()), Ok(Some(refused(7, 8))));
    assert_eq!((input.taken(), input.next()), (8, 8));
    assert_eq!((input.typed, input.prompted), (0, 0));
}

#[test]
fn input_after_close_is_refused() {
    let mut input = Input::new();
    input.accept_typed(0, &"bye\n".into()).unwrap();
    assert_eq!(input.end_at(9), Err(InputError::Gap));
    input.end_at(4).unwrap();
    input.end_at(4).unwrap();
    assert_eq!(written(&mut input, NOW), b"bye\n");
    assert!(input.has_ended());
    let reason = InputRefusal::Closed;
    let refused = InputEvent::Refused {
        from: 4,
        to: 5,
        reason,
    };
    assert_eq!(input.accept_typed(4, &"x".into()), Ok(Some(refused)));
}

#[test]
fn input_beyond_two_windows_is_rejected() {
    let mut input = Input::new();
    let window = Bytes::from(vec![b'x'; INPUT_WINDOW as usize]);
    input.accept_typed(0, &window).unwrap();
    input.accept_typed(INPUT_WINDOW, &window).unwrap();
    assert_eq!(
        input.accept_typed(2 * INPUT_WINDOW, &"x".into()),
        Err(InputError::Full)
    );
}
