//! The gRPC carrier: the same transcript, and a typed error for each refusal.

use bowline_lifecycle::{
    AgentLocation, DialogueSession, ReconnectFailure, RemoteError, SessionId, StartError, Token,
};
use bowline_tests::normalize::same;
use bowline_tests::session::within;

use super::rig::{Rig, transcript_of};

#[tokio::test]
async fn dialogue_over_grpc_equals_the_local_one() {
    let rig = Rig::new().await;
    let mut local = rig.configuration();
    local.location = AgentLocation::Local;
    let expected = transcript_of(DialogueSession::start(local).await).await;
    let mut remote = rig.configuration();
    remote.location = AgentLocation::Runner(rig.grpc());
    let transcript = transcript_of(DialogueSession::start(remote).await).await;
    same(&transcript, &expected, "transcript");
}

#[tokio::test]
async fn refused_token_is_an_authentication_failure() {
    let rig = Rig::new().await;
    let session = rig.start().await;
    let remote = rig.grpc().with_credentials(Token::new("wrong"));
    let attached = DialogueSession::attach(&remote, session.id(), rig.configuration());
    assert_failure(within("an attach", attached).await, ReconnectFailure::Auth);
    session.terminate().await;
}

#[tokio::test]
async fn unknown_session_is_gone() {
    let rig = Rig::new().await;
    let id = SessionId::random();
    let remote = rig.grpc();
    let attached = DialogueSession::attach(&remote, id, rig.configuration());
    assert_failure(within("an attach", attached).await, ReconnectFailure::Gone);
}

fn assert_failure(attached: Result<DialogueSession, StartError>, expected: ReconnectFailure) {
    match attached {
        Err(StartError::Remote(RemoteError::Link { failure, detail })) => {
            assert_eq!(failure, expected, "{detail}");
        }
        other => panic!("{other:?}"),
    }
}
