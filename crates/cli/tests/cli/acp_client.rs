//! `bowline acp`, driven by the client of the crate `agent-client-protocol`.

use std::process::Stdio;
use std::sync::Arc;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, ContentBlock, InitializeRequest, ListSessionsRequest, LoadSessionRequest,
    NewSessionRequest, PermissionOptionKind, PromptRequest, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome, SessionId,
    SessionNotification, SessionUpdate, StopReason,
};
use agent_client_protocol::{Agent, ByteStreams, Client, Error};
use tokio::process::{Child, Command};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

use crate::acp::{ASKS, DIALECTS};
use crate::support::{AGENT, BOWLINE, ScriptedAgent, TIMEOUT};
use crate::test_runner::TestRunner;

/// What an editor does with permission requests.
#[derive(Clone, Copy, PartialEq)]
enum Answers {
    Allow,
    Never,
}

/// What an editor has seen.
#[derive(Clone, Default)]
struct Seen {
    text: watch::Sender<String>,
    asked: Arc<Notify>,
}

impl Seen {
    /// Waits until the agent has said this.
    async fn hears(&self, wanted: &str) -> String {
        let mut text = self.text.subscribe();
        let found = text.wait_for(|text| text.contains(wanted)).await;
        found.unwrap().clone()
    }
}

fn spawn(state: &str, agent: &ScriptedAgent, dialect: &str) -> Child {
    let mut command = Command::new(BOWLINE);
    command
        .args(["acp", "--agent", AGENT, "--agent-arg=--pace=0"])
        .arg(format!(
            "--agent-arg=--scenario={}",
            agent.path("scenario.toml")
        ))
        .env("BOWLINE_STATE_DIR", state)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    if dialect != "claude" {
        command.args(["--dialect", dialect]);
        command.arg(format!("--agent-arg=--dialect={dialect}"));
        command.arg(format!(
            "--agent-arg=--state={}",
            agent.path("conversations")
        ));
    }
    command.spawn().unwrap()
}

/// Runs an editor, which has said hello.
async fn edit<T: Send>(
    child: &mut Child,
    answers: Answers,
    work: impl AsyncFnOnce(ConnectionTo<Agent>, Seen) -> Result<T, Error> + Send,
) -> T {
    let seen = Seen::default();
    let (shown, asked) = (seen.text.clone(), Arc::clone(&seen.asked));
    let stdin = child.stdin.take().unwrap().compat_write();
    let stdout = child.stdout.take().unwrap().compat();
    let client = Client
        .v1()
        .on_receive_notification(
            async move |notification: SessionNotification, _| {
                if let SessionUpdate::AgentMessageChunk(chunk) = notification.update
                    && let ContentBlock::Text(text) = chunk.content
                {
                    shown.send_modify(|shown| shown.push_str(&text.text));
                }
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _| {
                asked.notify_one();
                let allow = request.options.iter();
                let mut allow = allow.filter(|it| it.kind == PermissionOptionKind::AllowOnce);
                let allow = allow.next().unwrap().option_id.clone();
                if answers == Answers::Never {
                    // Dropping the responder would be an answer.
                    std::mem::forget(responder);
                    return Ok(());
                }
                let selected = SelectedPermissionOutcome::new(allow);
                let outcome = RequestPermissionOutcome::Selected(selected);
                responder.respond(RequestPermissionResponse::new(outcome))
            },
            agent_client_protocol::on_receive_request!(),
        );
    let worked = client.connect_with(ByteStreams::new(stdin, stdout), async move |connection| {
        let hello = InitializeRequest::new(ProtocolVersion::V1);
        let hello = connection.send_request(hello).block_task().await?;
        assert!(hello.agent_capabilities.load_session);
        work(connection, seen).await
    });
    timeout(TIMEOUT, worked).await.unwrap().unwrap()
}

fn prompt(session: &SessionId, text: &str) -> PromptRequest {
    PromptRequest::new(session.clone(), vec![text.into()])
}

#[tokio::test]
async fn client_of_the_sdk_drives_all_dialects() {
    for dialect in DIALECTS {
        let (served, agent) = (TestRunner::start(), ScriptedAgent::new(ASKS));
        let mut child = spawn(&served.state(), &agent, dialect);
        let session = edit(
            &mut child,
            Answers::Allow,
            async |connection, seen: Seen| {
                let new = NewSessionRequest::new("/tmp");
                let session = connection.send_request(new).block_task().await?.session_id;
                let made = connection.send_request(prompt(&session, "make it"));
                assert_eq!(made.block_task().await?.stop_reason, StopReason::EndTurn);
                let text = seen.hears("It is made.").await;
                assert_eq!(text, "I will make it.It is made.");
                let list = connection.send_request(ListSessionsRequest::new());
                let list = list.block_task().await?;
                assert_eq!(list.sessions[0].session_id, session);
                Ok(session)
            },
        )
        .await;
        child.kill().await.unwrap();
        let mut child = spawn(&served.state(), &agent, dialect);
        edit(
            &mut child,
            Answers::Allow,
            async |connection, seen: Seen| {
                let load = LoadSessionRequest::new(session.clone(), "/tmp");
                connection.send_request(load).block_task().await?;
                let text = seen.hears("It is made.").await;
                assert_eq!(text, "I will make it.It is made.", "{dialect}");
                let again = connection.send_request(prompt(&session, "again"));
                assert_eq!(again.block_task().await?.stop_reason, StopReason::EndTurn);
                seen.hears("Once more.").await;
                Ok(())
            },
        )
        .await;
    }
}

#[tokio::test]
async fn client_of_the_sdk_cancels_a_turn() {
    let (served, agent) = (TestRunner::start(), ScriptedAgent::new(ASKS));
    let mut child = spawn(&served.state(), &agent, "claude");
    edit(
        &mut child,
        Answers::Never,
        async |connection, seen: Seen| {
            let new = NewSessionRequest::new("/tmp");
            let session = connection.send_request(new).block_task().await?.session_id;
            let made = connection.send_request(prompt(&session, "make it"));
            seen.asked.notified().await;
            connection.send_notification(CancelNotification::new(session))?;
            assert_eq!(made.block_task().await?.stop_reason, StopReason::Cancelled);
            Ok(())
        },
    )
    .await;
}
