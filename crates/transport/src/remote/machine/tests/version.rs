//! Runners that speak another version of the protocol.

use super::*;
use bowline_wire::{VERSION, Welcome, WireLimits};

/// A runner refuses the host's version, or answers with its own.
#[test]
fn runner_of_another_version_is_reported_with_the_remedy() {
    let refused = Message::Error {
        code: code::VERSION.to_owned(),
        retryable: false,
        after_ms: None,
        detail: "this session supports version 99".to_owned(),
    };
    let answered = Message::Welcome(Welcome {
        version: VERSION + 1,
        features: Vec::new(),
        limits: WireLimits::default(),
    });
    let remedy =
        format!("; this host uses protocol version {VERSION}; use the same version of both");
    for message in [refused, answered] {
        let mut host = Host::new(joining());
        host.give(Input::Start);
        host.give(Input::Opened(host.connection));
        let outputs = host.hear(message);
        let failed = outputs.iter().find_map(|output| match output {
            Output::State(ConnectionState::Failed(failed)) => Some(failed),
            _ => None,
        });
        let failed = failed.expect("the version is final");
        assert_eq!(failed.failure, ReconnectFailure::Version);
        assert!(failed.detail.ends_with(&remedy), "{failed}");
        assert!(outputs.contains(&Output::Over), "{outputs:?}");
    }
}
