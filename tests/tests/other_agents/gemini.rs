use bowline_lifecycle::Conversation;
use bowline_tests::other_agents::OtherAgent::Gemini;

use crate::rig::refused;

crate::scenarios::tests!(Gemini);

#[tokio::test]
#[ignore = "run by .ci/other-agents"]
async fn missing_login_is_refused() {
    let error = refused(Gemini, |it| {
        it.env.remove("GEMINI_API_KEY");
    });
    assert_eq!(
        error.await,
        "start the agent: not logged in, Gemini API key is missing or not configured; run it once in a terminal to \
         log in (Log in with Google, Gemini API key, Vertex AI, AI API Gateway)"
    );
}

#[tokio::test]
#[ignore = "run by .ci/other-agents"]
async fn unknown_conversation_is_refused() {
    let id = "01a206dc-7e35-78f2-8c61-b249a735a185".to_owned();
    let conversation = Conversation::Resume { id, fork: false };
    let error = refused(Gemini, |it| it.conversation = conversation).await;
    assert_eq!(
        error,
        "start the agent: it refused session/load, Internal error: No previous sessions found for this project; check \
         its configuration"
    );
}
