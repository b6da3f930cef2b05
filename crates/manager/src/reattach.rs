//! Attaching to the sessions at runners that an earlier run of the host has left.

use std::collections::HashMap;
use std::sync::Arc;

use bowline_lifecycle::{DialogueConfiguration, DialogueSession};
use bowline_shell::{ManagedId, SessionExit, ShellConfiguration, ShellSession};
use bowline_transport::{Remote, RemoteUrl, SessionId, SessionSummary, SessionSummaryState};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::error::ManagerError;
use crate::info::{EndReason, SessionEnd, SessionInfo, SessionKind};
use crate::manager::SessionManager;
use crate::running::SessionHandle;
use crate::time::Timestamp;

/// Number of sessions that are attached to at the same time: each folds its log.
const MAX_CONCURRENT: usize = 8;

/// What became of the sessions at runners, from [`SessionManager::reattach`].
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ReattachReport {
    /// Sessions that continue here, with their transcripts.
    pub attached: Vec<ManagedId>,
    /// Sessions that have ended at their runner in the meantime, or that it no longer has
    /// ([`EndReason::Lost`]). The list has their ends; the transcripts of those whose exit the runner keeps
    /// can be read.
    pub ended: Vec<ManagedId>,
    /// Sessions that are still listed as detached, and why. Call [`reattach`](SessionManager::reattach) again.
    pub failed: Vec<(ManagedId, ManagerError)>,
}

enum Outcome {
    Attached,
    Ended,
}

impl SessionManager {
    /// Attaches to all sessions of the list that run at these runners and that this host is not attached to:
    /// those of an earlier run that was killed or has [detached](Self::detach_all). Returns when their
    /// transcripts are folded.
    ///
    /// A runner is found by its URL; whether frames are carried by WebSocket or gRPC makes no difference. Only what the
    /// runner does not have any more is listed as lost. A session at a runner that is not given, or that cannot
    /// be reached, stays in the list as [`Detached`](bowline_shell::SessionState::Detached). `dialogue` has the
    /// settings of the attachments, as for [`DialogueSession::attach`]; its recording is ignored.
    pub async fn reattach(
        &self,
        runners: &[Remote],
        dialogue: DialogueConfiguration,
    ) -> ReattachReport {
        let dialogue = DialogueConfiguration {
            record: None,
            shared_budget: dialogue
                .shared_budget
                .or_else(|| Some(self.inner.budget.clone())),
            ..dialogue
        };
        let mut report = ReattachReport::default();
        let mut attaching = JoinSet::new();
        let permits = Arc::new(Semaphore::new(MAX_CONCURRENT));
        for (url, sessions) in by_runner(self.inner.table.detached()) {
            let known = match known_sessions(runners, &url).await {
                Ok(known) => Arc::new(known),
                Err(error) => {
                    let failed = sessions.into_iter().map(|(info, _)| (info.id, error()));
                    report.failed.extend(failed);
                    continue;
                }
            };
            for (info, session) in sessions {
                let (manager, known) = (self.clone(), Arc::clone(&known));
                let (dialogue, permits) = (dialogue.clone(), Arc::clone(&permits));
                attaching.spawn(async move {
                    let _permit = permits.acquire_owned().await;
                    let (id, (remote, summaries)) = (info.id, &*known);
                    let summary = summaries.get(&session);
                    let done = manager.attach_one(info, session, remote, summary, dialogue);
                    (id, done.await)
                });
            }
        }
        while let Some(done) = attaching.join_next().await {
            match done {
                Ok((id, Ok(Outcome::Attached))) => report.attached.push(id),
                Ok((id, Ok(Outcome::Ended))) => report.ended.push(id),
                Ok((id, Err(error))) => report.failed.push((id, error)),
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(_) => {}
            }
        }
        report
    }

    async fn attach_one(
        &self,
        info: SessionInfo,
        session: SessionId,
        remote: &Remote,
        summary: Option<&SessionSummary>,
        dialogue: DialogueConfiguration,
    ) -> Result<Outcome, ManagerError> {
        let (id, table) = (info.id, &self.inner.table);
        let Some(summary) = summary.filter(|it| it.state != SessionSummaryState::Lost) else {
            table.note_end_at_runner(id, end(summary, EndReason::Lost));
            return Ok(Outcome::Ended);
        };
        let has_exited = summary.state == SessionSummaryState::Exited;
        let handle = match attach(&info, session, remote, dialogue, table.notify()).await {
            Ok(handle) => handle,
            // The log stays at the runner.
            Err(_) if has_exited => {
                table.note_end_at_runner(id, end(Some(summary), EndReason::Exited));
                return Ok(Outcome::Ended);
            }
            Err(error) => return Err(error),
        };
        self.insert_attached(info, handle, remote).await?;
        Ok(match has_exited {
            true => Outcome::Ended,
            false => Outcome::Attached,
        })
    }
}

async fn attach(
    info: &SessionInfo,
    session: SessionId,
    remote: &Remote,
    dialogue: DialogueConfiguration,
    notify: Arc<tokio::sync::Notify>,
) -> Result<SessionHandle, ManagerError> {
    Ok(match info.kind {
        SessionKind::Dialogue => {
            let attached = DialogueSession::attach(remote, session, dialogue);
            SessionHandle::Dialogue(attached.await?)
        }
        SessionKind::Shell => {
            let shell = ShellConfiguration::new(&info.cwd);
            let attached = ShellSession::attach_as(info.id, remote, session, shell, notify);
            SessionHandle::Shell(attached.await?)
        }
    })
}

fn end(summary: Option<&SessionSummary>, reason: EndReason) -> SessionEnd {
    let exit = summary.and_then(|it| it.exit);
    SessionEnd {
        at: Timestamp::now(),
        exit: exit.map_or_else(SessionExit::default, |it| SessionExit {
            code: it.code,
            signal: it.signal,
        }),
        reason,
    }
}

type KnownSessions = (Remote, HashMap<SessionId, SessionSummary>);

/// Lists the sessions of the runner with this URL. An error is made once for each session that it is about.
async fn known_sessions(
    runners: &[Remote],
    url: &str,
) -> Result<KnownSessions, Box<dyn Fn() -> ManagerError + Send>> {
    let Some(remote) = runners.iter().find(|it| is_same(&it.url, url)) else {
        let url = url.to_owned();
        return Err(Box::new(move || ManagerError::NoRunner {
            url: url.clone(),
        }));
    };
    match remote.sessions().await {
        Ok(sessions) => {
            let by_id = sessions.into_iter().map(|it| (it.id, it));
            Ok((remote.clone(), by_id.collect()))
        }
        Err(error) => {
            let (url, error) = (url.to_owned(), Arc::new(error));
            Err(Box::new(move || ManagerError::Runner {
                url: url.clone(),
                source: Arc::clone(&error),
            }))
        }
    }
}

fn by_runner(sessions: Vec<SessionInfo>) -> HashMap<String, Vec<(SessionInfo, SessionId)>> {
    let mut all: HashMap<_, Vec<_>> = HashMap::new();
    for info in sessions {
        if let Some(runner) = info.runner.clone() {
            all.entry(runner.url)
                .or_default()
                .push((info, runner.session));
        }
    }
    all
}

/// Returns whether two URLs name the same runner, whatever carries the frames.
fn is_same(url: &RemoteUrl, text: &str) -> bool {
    match (url, &text.parse()) {
        (
            RemoteUrl::Tcp {
                host, port, tls, ..
            },
            Ok(RemoteUrl::Tcp {
                host: other,
                port: other_port,
                tls: other_tls,
                ..
            }),
        ) => (host, port, tls) == (other, other_port, other_tls),
        (url, Ok(other)) => url == other,
        (_, Err(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use bowline_transport::Carrier;

    use super::*;

    #[test]
    fn runner_is_found_with_another_carrier() {
        let url = RemoteUrl::Tcp {
            host: "127.0.0.1".into(),
            port: 7420,
            tls: false,
            carrier: Carrier::Grpc,
        };
        assert!(is_same(&url, "http://127.0.0.1:7420"));
        for other in [
            "https://127.0.0.1:7420",
            "http://127.0.0.1:7421",
            "unix:/a",
            "",
        ] {
            assert!(!is_same(&url, other), "{other}");
        }
    }
}
