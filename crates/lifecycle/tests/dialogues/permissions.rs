//! Permission requests of several sessions in one list.

use bowline_lifecycle::{
    AttentionReason, Decision, DialogueError, DialogueEventKind, Inbox, InboxEvent, Intent,
    RequestState, TerminalRegistry,
};

use super::support::{agent, start, until, within};

/// An agent that requests a permission, and writes whether it was allowed.
const ASK: &str = r#"
echo '{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t1","input":{"command":"ls"}}}'
read answer
case "$answer" in
*allow*) said=yes ;;
*) said=no ;;
esac
echo '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"'$said'"}]},"uuid":"a"}'
exec cat >/dev/null
"#;

#[tokio::test]
async fn permissions_of_all_sessions_are_listed_and_first_answer_wins() {
    let registry = TerminalRegistry::shared();
    let (one, mut of_one) = start(agent(ASK)).await;
    let (two, mut of_two) = start(agent(ASK)).await;
    let is_asked =
        |kind: &DialogueEventKind| matches!(kind, DialogueEventKind::PermissionRequest(_));
    until(&mut of_one, "the first question", is_asked).await;
    until(&mut of_two, "the second question", is_asked).await;
    let open = registry.open_permissions();
    for session in [&one, &two] {
        let own = open
            .iter()
            .find(|it| it.session == session.id())
            .expect("it asks");
        assert_eq!(own.record.input, r#"{"command":"ls"}"#);
    }
    let phone = Some("phone".to_owned());
    let first = registry.answer_permission(two.id(), "r1", Decision::allow(), phone);
    within("an answer", first).await.expect("the first answer");
    let late = two.answer_permission_as("laptop", "r1", Decision::deny("no"));
    let late = within("a refusal", late).await;
    assert!(
        matches!(&late, Err(DialogueError::TooLate { by: Some(by), .. }) if by == "phone"),
        "{late:?}"
    );
    let events = until(&mut of_two, "the permission events", |kind| {
        matches!(kind, DialogueEventKind::Text { .. })
    });
    let wanted = DialogueEventKind::Text { text: "yes".into() };
    assert_eq!(events.await.last().expect("a word").kind, wanted);
    let all = registry.permissions();
    let of = |session| {
        all.iter()
            .find(|it| it.session == session)
            .expect("listed")
            .record
            .state
    };
    assert_eq!(
        (of(one.id()), of(two.id())),
        (RequestState::Open, RequestState::Answered)
    );
    // The request is closed with its agent.
    within("the end", one.terminate()).await;
    let seen = until(&mut of_one, "its end", |kind| {
        matches!(kind, DialogueEventKind::PermissionEnded(_))
    });
    let DialogueEventKind::PermissionEnded(record) =
        &seen.await.pop().expect("an event").kind.clone()
    else {
        panic!("another event");
    };
    assert_eq!(record.state, RequestState::Orphaned);
    let gone = registry
        .answer_permission(one.id(), "r1", Decision::allow(), None)
        .await;
    assert_eq!(gone, Err(DialogueError::Ended));
    within("the end", two.terminate()).await;
}

#[tokio::test]
async fn intent_of_the_log_is_carried_out_in_its_place_in_the_output() {
    let (session, mut events) = start(agent(&format!("read prompt{ASK}"))).await;
    let asked = ASK.lines().nth(1).unwrap();
    let after = (asked.len() - "echo ''".len() + "\n".len()) as u64;
    let intent = |allows: bool| Intent::Answer {
        request_id: "r1".to_owned(),
        answer: if allows {
            Decision::allow().into()
        } else {
            Decision::deny("no").into()
        },
        by: None,
        how: None,
    };
    let early = within("a refusal", session.submit(intent(true))).await;
    assert!(
        matches!(early, Err(DialogueError::NoSuchRequest { .. })),
        "{early:?}"
    );
    // They arrive before the output that they are about.
    let answer = session.submit_after(intent(true), after);
    let late = session.submit_after(intent(false), after);
    let never = session.submit_after(intent(false), u64::MAX);
    within("a prompt", session.send("go")).await.unwrap();
    assert_eq!(within("an answer", answer).await, Ok(None));
    let is_late = |outcome: &_| matches!(outcome, Err(DialogueError::TooLate { .. }));
    let late = within("a refusal", late).await;
    assert!(is_late(&late), "{late:?}");
    let said = until(&mut events, "a word", |kind| {
        matches!(kind, DialogueEventKind::Text { .. })
    });
    let yes = DialogueEventKind::Text { text: "yes".into() };
    assert_eq!(said.await.last().unwrap().kind, yes);
    within("the end", session.terminate()).await;
    // The output has ended before its place.
    let never = within("a refusal", never).await;
    assert!(is_late(&never), "{never:?}");
}

/// An agent that asks, completes a turn with the answer, and exits with an error at the next line.
const ASK_AND_FAIL: &str = r#"
echo '{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t1","input":{}}}'
read answer
echo '{"type":"result","subtype":"success","is_error":false,"result":"done","uuid":"r","session_id":"s"}'
read line
exit 3
"#;

#[tokio::test]
async fn inbox_has_requests_answers_and_attention_of_every_session() {
    let registry = TerminalRegistry::shared();
    let mut inbox = registry.inbox();
    let (one, _events) = start(agent(ASK_AND_FAIL)).await;
    let (two, _other_events) = start(agent(ASK)).await;
    let ids = [one.id(), two.id()];
    // Other tests of this process have sessions, too.
    let next = async |inbox: &mut Inbox| loop {
        let event = within("an event", inbox.next()).await;
        let session = match &event {
            InboxEvent::Opened(it) | InboxEvent::Closed(it) => it.session,
            InboxEvent::Attention { session, .. } => *session,
            _ => continue,
        };
        if ids.contains(&session) {
            return event;
        }
    };
    let mut opened = Vec::new();
    while opened.len() < 2 {
        match next(&mut inbox).await {
            InboxEvent::Opened(it) => opened.push(it.session),
            InboxEvent::Attention { attention, .. } => assert_eq!(attention.id, "question:r1"),
            other => panic!("{other:?}"),
        }
    }
    opened.sort_unstable();
    let mut expected = ids.to_vec();
    expected.sort_unstable();
    assert_eq!(opened, expected);
    let by = Some("phone".to_owned());
    let answered = registry.answer_permission(one.id(), "r1", Decision::allow(), by);
    within("an answer", answered)
        .await
        .expect("the first answer");
    let mut seen = Vec::new();
    while seen.len() < 2 {
        match next(&mut inbox).await {
            InboxEvent::Closed(it) => {
                assert_eq!(it.session, one.id());
                assert_eq!(it.record.answered_by.as_deref(), Some("phone"));
                seen.push("closed");
            }
            InboxEvent::Attention { session, attention } if session == one.id() => {
                let text = Some("done".to_owned());
                if attention.reason == (AttentionReason::Finished { text }) {
                    seen.push("finished");
                }
            }
            _ => {}
        }
    }
    // A new reader begins with what waits.
    let mut late = registry.inbox();
    let first = loop {
        if let InboxEvent::Opened(it) = next(&mut late).await {
            break it.session;
        }
    };
    assert_eq!(first, two.id());
    // One ends by itself, the other is ended with its question.
    one.send("go on").await.expect("it is sent");
    within("the end", two.terminate()).await;
    let mut seen = Vec::new();
    while seen.len() < 2 {
        match next(&mut inbox).await {
            InboxEvent::Closed(it) => {
                assert_eq!(
                    (it.session, it.record.state),
                    (two.id(), RequestState::Orphaned)
                );
                seen.push("orphaned");
            }
            InboxEvent::Attention { session, attention } if session == one.id() => {
                assert!(matches!(attention.reason, AttentionReason::Failure { .. }));
                seen.push("failed");
            }
            _ => {}
        }
    }
}
