use bowline_lifecycle::Conversation;
use bowline_tests::other_agents::OtherAgent::Codex;
use bowline_tests::session::within;

use crate::rig::{Rig, outcomes, refused};

crate::scenarios::tests!(Codex);

#[tokio::test]
#[ignore = "run by .ci/other-agents"]
async fn missing_key_fails_the_turn() {
    let rig = Rig::start_with(Codex, None, |it| {
        it.env.remove("SCRIPTED_KEY");
    });
    let rig = rig.await;
    let mut receipt = rig.send("hi").await;
    within("its end", receipt.settled()).await;
    let transcript = rig.now().await;
    assert_eq!(outcomes(&transcript), ["failed"]);
    assert!(
        transcript.to_string().contains("SCRIPTED_KEY"),
        "{transcript}"
    );
    rig.finish().await;
}

#[tokio::test]
#[ignore = "run by .ci/other-agents"]
async fn unknown_conversation_is_refused() {
    let id = "01a206dc-7e35-78f2-8c61-b249a735a185".to_owned();
    let conversation = Conversation::Resume { id, fork: false };
    let error = refused(Codex, |it| it.conversation = conversation).await;
    let begin = "start the agent: it refused thread/resume, no rollout found";
    assert!(error.starts_with(begin), "{error}");
}
