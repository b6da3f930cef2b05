use std::time::Duration;

use bowline_lifecycle::{DialogueEventKind, PhaseLimits, SilenceLimit, WatchdogPolicy};
use bowline_tests::other_agents::OtherAgent::Opencode;
use bowline_tests::session::within;

use crate::rig::{Rig, outcomes, refused};

crate::scenarios::tests!(Opencode);

/// opencode does not ask the host for the permission that a sub-agent needs.
#[tokio::test]
#[ignore = "run by .ci/other-agents"]
async fn hidden_permission_is_a_cause_of_silence() {
    const TASK: &str = "make a file";
    let watchdog = WatchdogPolicy {
        check_interval: Duration::from_millis(100),
        // Longer than the test.
        probe: Some(Duration::from_secs(600)),
        limits: PhaseLimits {
            tool: Some(SilenceLimit::new(Duration::from_secs(1))),
            ..PhaseLimits::default()
        },
        ..WatchdogPolicy::default()
    };
    let rig = Rig::start_with(Opencode, None, |it| it.watchdog = watchdog).await;
    let mut events = rig.session.events();
    rig.script([Opencode.delegate("call-agent", TASK).into()]);
    let command = Opencode.command("call-hidden", "printf done > hidden");
    rig.api.script_child(TASK, [command.into()]);
    let mut receipt = rig.send("delegate it").await;
    let cause = within("an inquiry", async {
        loop {
            let event = events.next().await.expect("it runs");
            if let DialogueEventKind::Inquiry(silence) = &event.kind {
                return silence.cause.clone();
            }
        }
    });
    let cause = cause.await.expect("a cause").to_string();
    assert!(
        cause.contains("A task") && cause.contains("permission"),
        "{cause}"
    );
    within("the sub-agent's command", rig.api.used_up()).await;
    assert_eq!(rig.session.permissions().open().count(), 0);
    let interrupted = within("the interrupt", rig.session.interrupt(false)).await;
    interrupted.expect("it is sent");
    within("its end", receipt.settled()).await;
    assert!(!rig.home.project().join("hidden").exists());
    let transcript = rig.now().await;
    // Either opencode cancels the turn, or the sub-agent's call fails and the model is asked, which has no reply.
    let outcome = outcomes(&transcript)[0];
    assert!(["cancelled", "failed"].contains(&outcome), "{outcome}");
    rig.finish().await;
}

/// Without a provider it has no model, and would fail each prompt with "OpenCode service failure".
#[tokio::test]
#[ignore = "run by .ci/other-agents"]
async fn missing_provider_is_refused() {
    let error = refused(Opencode, |it| {
        let none = r#"{"enabled_providers":[],"disabled_providers":["opencode"]}"#;
        it.env.set("OPENCODE_CONFIG_CONTENT", none);
    });
    assert_eq!(
        error.await,
        "start the agent: not logged in, it offers no model; run it once in a terminal to log in (Run `opencode auth \
         login` in the terminal)"
    );
}
