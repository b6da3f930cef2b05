//! The part of a session that its terminal passes on to the child.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use portable_pty::CommandBuilder;

use super::child::Child;
use crate::child::spawn;
use crate::configuration::Configuration;
use crate::error::SpawnError;
use crate::guard::Program;
use crate::session_id::SessionId;

/// What a session passes to its child besides a `CommandBuilder`, which has no place for it:
/// `argv[0]`, variables that are not UTF-8, and the containment.
#[derive(Clone)]
pub(super) struct Context {
    id: SessionId,
    configuration: Configuration,
    arg0: Option<OsString>,
    env: BTreeMap<OsString, OsString>,
}

impl Context {
    pub(super) fn new(id: SessionId, what: &Configuration, program: &Program) -> Self {
        Self {
            id,
            configuration: what.clone(),
            arg0: program.args.first().cloned(),
            env: program.env.clone(),
        }
    }

    /// Starts the command in the session's containment.
    pub(super) fn start(
        self,
        command: &CommandBuilder,
        streams: [OwnedFd; 3],
    ) -> Result<Child, SpawnError> {
        let argv = command.get_argv().split_first();
        let (path, args) = argv.ok_or(SpawnError::NoProgram)?;
        let program = Program {
            path: path.into(),
            args: self.arg0.iter().chain(args).cloned().collect(),
            env: self.env,
        };
        let what = Configuration {
            cwd: command.get_cwd().map(PathBuf::from),
            ..self.configuration
        };
        let spawned = spawn(self.id, &what, program, streams.into())?;
        Ok(Child::new(self.id, spawned))
    }
}
