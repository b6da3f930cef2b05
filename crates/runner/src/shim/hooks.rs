//! The hooks of a session's agent, which the shim serves.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use bowline_hooks::{HookSpec, RunnerHooks};
use bowline_transport::{Configuration, HOOK_SETTINGS};

use super::SessionDir;
use super::handshake::{SpawnFault, StartReply};

/// Serves hooks, and makes the agent send them: by its variables, and by a file of settings in the place of
/// [`HOOK_SETTINGS`] in its arguments.
pub(super) async fn serve(
    spec: &HookSpec,
    folder: &SessionDir,
    configuration: &mut Configuration,
) -> Result<RunnerHooks, StartReply> {
    let hooks = RunnerHooks::start(spec.clone()).await.map_err(failed)?;
    for (name, value) in hooks.environment().map_err(failed)? {
        configuration.env.set(name, value);
    }
    let settings = hooks.settings().map_err(failed)?.to_string();
    let path = folder.path().join("hooks.json");
    write(&path, settings.as_bytes()).map_err(failed)?;
    let mut args = configuration.args.iter_mut();
    let place = args.find(|arg| **arg == *HOOK_SETTINGS);
    let place = place.ok_or_else(|| failed("the arguments have no place for their settings"))?;
    *place = path.into_os_string();
    Ok(hooks)
}

fn write(path: &std::path::Path, text: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options.open(path)?.write_all(text)
}

fn failed(error: impl ToString) -> StartReply {
    StartReply::Failed {
        fault: SpawnFault::Hooks,
        reason: format!("cannot serve hooks: {}", error.to_string()),
    }
}
