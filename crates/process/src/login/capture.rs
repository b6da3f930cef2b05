//! Runs a shell and reads its environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::SystemTime;

use tokio::time::{Duration, Instant, timeout_at};

use super::dialect::Dialect;
use super::dump::{self, Dump, Marks};
use super::{
    LoginEnvironment, LoginFailure, LoginShell, LoginSource, Provenance, RESOLVING, clean,
};
use crate::configuration::Configuration;
use crate::deadline::deadline_after;
use crate::error::SpawnError;
use crate::local::LocalProcess;
use crate::log::{Overflow, Piece};
use crate::session_id::SessionId;
use crate::stream::Stream;
use crate::termination::TerminationPolicy;

type Variables = BTreeMap<OsString, OsString>;

pub(super) async fn capture(login: &LoginShell) -> LoginEnvironment {
    let (captured, started) = (SystemTime::now(), Instant::now());
    let mut failures = Vec::new();
    let mut found = None;
    // Start-up files that wait for input do so in interactive shells only, so the second attempt needs
    // time left.
    for (source, time) in [
        (LoginSource::Interactive, login.timeout / 5 * 3),
        (LoginSource::Login, login.timeout),
    ] {
        let deadline = deadline_after(started, time);
        match attempt(login, source == LoginSource::Interactive, deadline).await {
            Ok(variables) => {
                found = Some((source, variables));
                break;
            }
            Err(failure) => failures.push(failure),
        }
    }
    let own = || (LoginSource::Inherited, login.env.resolve());
    let (source, mut variables) = found.unwrap_or_else(own);
    clean(&mut variables);
    let files = login.files().into_iter().filter(|file| file.exists());
    let provenance = Provenance {
        shell: login.shell.clone(),
        source,
        failures,
        files: files.collect(),
        captured,
        took: started.elapsed(),
    };
    tracing::debug!(?provenance, "login environment");
    LoginEnvironment {
        variables,
        provenance,
    }
}

/// Makes one attempt. All processes of the shell have ended when this returns.
async fn attempt(
    login: &LoginShell,
    interactive: bool,
    deadline: Instant,
) -> Result<Variables, LoginFailure> {
    let started = Instant::now();
    let marks = Marks::random();
    let session = start(login, interactive, &marks)?;
    let answer = timeout_at(deadline, read_answer(&session, marks)).await;
    let mut report = session.terminate(TerminationPolicy::AT_ONCE);
    // An error means that the runtime is shutting down, which ends the shell as well.
    let _ = report.wait_for(Option::is_some).await;
    answer.unwrap_or_else(|_| Err(LoginFailure::TimedOut(rounded(started.elapsed()))))
}

fn rounded(time: Duration) -> Duration {
    Duration::from_millis(time.as_millis() as u64)
}

fn start(
    login: &LoginShell,
    interactive: bool,
    marks: &Marks,
) -> Result<LocalProcess, LoginFailure> {
    let dialect = Dialect::of(&login.shell);
    let question = dialect.question(&login.shell, interactive, marks);
    let mut configuration = Configuration::new(&login.shell);
    configuration.arg0 = Some(question.arg0);
    configuration.args = question.args;
    configuration.env = login.env.clone();
    configuration.env.set(RESOLVING, "1");
    configuration.limits.output_bytes = dump::MAX_ANSWER_BYTES;
    configuration.limits.output_overflow = Some(Overflow::Block);
    let not_started = |error: SpawnError| LoginFailure::NotStarted {
        reason: error.to_string(),
    };
    let runtime = tokio::runtime::Handle::try_current();
    runtime.map_err(|_| not_started(SpawnError::NoRuntime))?;
    let on_stdout = dialect.answers_on_stdout();
    let started = LocalProcess::start_answering(SessionId::random(), &configuration, on_stdout);
    started.map(|(process, _)| process).map_err(not_started)
}

async fn read_answer(session: &LocalProcess, marks: Marks) -> Result<Variables, LoginFailure> {
    let mut output = session.log(Stream::Output).reader();
    let mut dump = Dump::new(marks);
    while let Some(piece) = output.next().await {
        let Piece::Bytes { bytes, .. } = piece else {
            return Err(LoginFailure::Garbled);
        };
        if let Some(answer) = dump.push(&bytes) {
            return dump::variables(answer).ok_or(LoginFailure::Garbled);
        }
        if dump.is_too_long() {
            return Err(LoginFailure::Garbled);
        }
    }
    Err(LoginFailure::Ended)
}
