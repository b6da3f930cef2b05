//! The understudy with a scenario.

use std::fs;
use std::time::Duration;

use bowline_lifecycle::{
    DialogueConfiguration, DialogueSession, Prompt, Receipt, TerminationPolicy,
};
use bowline_tests::session::within;

/// Writes a scenario to a file, and returns the configuration that runs it.
pub(crate) struct Play {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) configuration: DialogueConfiguration,
}

impl Play {
    pub(crate) fn new(scenario: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("scenario.toml");
        fs::write(&file, scenario).expect("the scenario is written");
        let args = [
            "--scenario".into(),
            file.into_os_string(),
            "--pace".into(),
            "0".into(),
        ];
        let configuration = DialogueConfiguration {
            program: env!("CARGO_BIN_EXE_stand-in").into(),
            args: args.into(),
            // A short grace period, since some of these agents never react.
            termination: TerminationPolicy {
                eof_grace: Duration::from_millis(200),
                term_grace: Duration::from_millis(200),
                ..TerminationPolicy::default()
            },
            ..DialogueConfiguration::default()
        };
        Self {
            folder,
            configuration,
        }
    }

    pub(crate) async fn start(&self) -> DialogueSession {
        let started = within(
            "a start",
            DialogueSession::start(self.configuration.clone()),
        )
        .await;
        started.expect("the understudy starts")
    }
}

pub(crate) async fn send(session: &DialogueSession, text: &str) -> Receipt {
    session
        .send(Prompt::text(text))
        .await
        .expect("the prompt is sent")
}
