//! The fields that agents of all kinds have in common, read from recordings.

use std::path::Path;

use bowline_ffi::{
    AnswerKind, BowlineError, CallContent, Change, Engine, EntryDetail, PermissionState,
    PermissionView, PlanState, QuestionKind, RequestKind, SessionView, ToolCallView, ToolKind,
};

/// The newest values of a recording.
#[derive(Default)]
struct Seen {
    session: Option<SessionView>,
    calls: Vec<ToolCallView>,
    permissions: Vec<PermissionView>,
    entries: Vec<EntryDetail>,
}

async fn read(name: &str, dialect: Option<&str>) -> Result<Seen, BowlineError> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let path = fixtures.join(name).to_string_lossy().into_owned();
    let engine = Engine::new(None);
    let recording = engine.open_recording(path, dialect.map(str::to_owned));
    let changes = recording.await?.change_stream()?;
    let (mut seen, mut cursor) = (Seen::default(), 0);
    while let Some(batch) = changes.clone().next(cursor, 100_000, 0).await? {
        cursor = batch.cursor;
        for change in batch.changes {
            match change {
                Change::Session { value } => seen.session = Some(value),
                Change::ToolCall { value, .. } => seen.calls.push(value),
                Change::Permission { value, .. } => seen.permissions.push(value),
                Change::Entry { detail, .. } => seen.entries.push(detail),
                _ => {}
            }
        }
    }
    Ok(seen)
}

#[tokio::test]
async fn command_has_permission_output_and_exit_code() {
    let name = "agents/codex/app-server.approve.trace.jsonl";
    let seen = read(name, None).await.expect("it is readable");
    let session = seen.session.expect("a session");
    assert_eq!(session.dialect, "codex");
    assert_eq!(session.agent_name.as_deref(), Some("codex"));
    let context = session.context.expect("a context");
    assert_eq!((context.used, context.size), (Some(110), Some(258_400)));
    let call = seen.calls.last().expect("a call");
    assert_eq!(call.kind, Some(ToolKind::Execute));
    assert_eq!(call.output.as_deref(), Some("approved-out\n"));
    assert_eq!(call.exit_code, Some(0));
    assert!(call.started_ms < call.ended_ms && call.bytes.start < call.bytes.end);
    let Some(CallContent::Terminal { command, cwd }) = call.content.first() else {
        panic!("{:?}", call.content);
    };
    assert!(command.contains("echo approved-out") && cwd.is_some());
    let permission = seen.permissions.last().expect("a request");
    assert_eq!(permission.kind, RequestKind::Permission);
    assert_eq!(permission.state, PermissionState::Allowed);
    let kinds: Vec<_> = permission.options.iter().map(|it| it.kind).collect();
    let rejected = [AnswerKind::RejectOnce, AnswerKind::RejectOnce];
    assert_eq!(kinds[..2], [AnswerKind::AllowOnce, AnswerKind::AllowAlways]);
    assert_eq!(kinds[2..], rejected);
    assert_eq!(
        permission.rule.as_deref(),
        Some(r#"["echo", "approved-out"]"#)
    );
    let decided = permission.decided_by.as_ref().expect("an answer");
    assert_eq!(decided.how.as_deref(), Some("accept"));
    assert!(decided.at_ms.is_some());
    let prompt = &seen.entries[1];
    assert_eq!(
        (prompt.turn.as_deref(), prompt.is_history),
        (Some("1"), false)
    );
    assert!(prompt.at_ms.is_some());
}

#[tokio::test]
async fn edit_has_diff_and_question_has_choices() {
    let name = "agents/codex/app-server.edit.trace.jsonl";
    let seen = read(name, None).await.expect("it is readable");
    let call = seen.calls.last().expect("a call");
    assert_eq!(call.kind, Some(ToolKind::Edit));
    assert_eq!(call.locations[0].path, "/home/dev/project/hello.txt");
    let Some(CallContent::Diff { old, new, .. }) = call.content.first() else {
        panic!("{:?}", call.content);
    };
    assert!(old.is_none() && new.is_some());
    let name = "agents/claude-agent-acp/acp.ask.trace.jsonl";
    let seen = read(name, Some("acp")).await.expect("it is readable");
    let session = seen.session.expect("a session");
    assert_eq!((session.options.len(), session.commands.len()), (5, 40));
    assert_eq!(session.title.as_deref(), Some("SCENARIO:ask"));
    let request = seen.permissions.last().expect("a request");
    assert_eq!(request.kind, RequestKind::Question);
    let [choice, text] = &request.questions[..] else {
        panic!("{:?}", request.questions);
    };
    assert_eq!(
        (choice.kind, choice.options.len()),
        (QuestionKind::Single, 2)
    );
    assert!(text.kind == QuestionKind::Text && text.free_text);
}

#[tokio::test]
async fn plan_is_in_session() {
    let name = "agents/claude-agent-acp/acp.todo.trace.jsonl";
    let seen = read(name, None).await.expect("it is readable");
    let plan = seen.session.expect("a session").plan;
    assert!(
        plan.iter().any(|it| it.state == PlanState::InProgress),
        "{plan:?}"
    );
}

#[tokio::test]
async fn unknown_dialect_is_refused() {
    let refused = read("plain.jsonl", Some("aider")).await.err();
    let Some(BowlineError::Invalid { reason }) = refused else {
        panic!("{refused:?}");
    };
    assert!(reason.contains("codex"), "{reason}");
}
