//! A runner in the test's process, with separate shims.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_runner::{Runner, ServeConfiguration, ServeLimits, ShimProgram, StateDir};

use crate::session::within;

/// Starts a runner with its state in `folder`, on a free port and on [`runner_socket`]. It answers as `hosts`,
/// too.
///
/// # Panics
///
/// It does not start.
pub async fn start_runner(folder: &Path, shim: &str, hosts: Vec<String>) -> Runner {
    let state = StateDir::at(folder.join("state")).expect("a state folder");
    let configuration = ServeConfiguration {
        state,
        shim: ShimProgram {
            path: shim.into(),
            args: vec!["shim".into()],
        },
        socket: Some(runner_socket(folder)),
        listen: vec![([127, 0, 0, 1], 0).into()],
        token_file: runner_token(folder),
        hosts,
        origins: Vec::new(),
        tls: None,
        limits: ServeLimits {
            // Links are cut more often here than in production.
            attaches_per_second: 10_000,
            goodbye: Duration::from_millis(200),
            ..ServeLimits::default()
        },
        policy: Default::default(),
    };
    let runner = within("a runner", Runner::start(configuration)).await;
    runner.expect("it starts")
}

/// Returns the socket of the runner with this folder.
#[must_use]
pub fn runner_socket(folder: &Path) -> PathBuf {
    folder.join("runner.sock")
}

/// Returns the file with the token of the runner with this folder.
#[must_use]
pub fn runner_token(folder: &Path) -> PathBuf {
    folder.join("token")
}
