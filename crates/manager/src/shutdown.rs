//! Shutting down: local sessions are ended, those at runners ended or left, and the list on disk is updated.

use std::future::Future;
use std::io;

use bowline_lifecycle::error_chain;
use bowline_shell::ManagedId;
use bowline_transport::TerminationReport;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

use crate::info::EndReason;
use crate::manager::SessionManager;

/// The result of a shutdown.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// The signal that requested it, if one did.
    pub signal: Option<ShutdownSignal>,
    /// Each session that was ended, with what was terminated and what survived.
    pub sessions: Vec<(ManagedId, TerminationReport)>,
    /// Why the list on disk could not be updated, if it was not.
    pub list_failed: Option<String>,
}

/// A signal that requests a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShutdownSignal {
    /// SIGTERM.
    Terminate,
    /// SIGINT.
    Interrupt,
}

/// What becomes of sessions at runners when the host shuts down. Local sessions end in both cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShutdownMode {
    /// They continue, and the next run of the host can [reattach](SessionManager::reattach) to them.
    Detach,
    /// They end.
    End,
}

impl SessionManager {
    /// Ends all sessions concurrently that this host is attached to, and keeps them in the list. New ones can be
    /// created.
    pub async fn cleanup(&self) -> Vec<(ManagedId, TerminationReport)> {
        self.end_each(self.inner.table.running_ids()).await
    }

    async fn end_each(&self, ids: Vec<ManagedId>) -> Vec<(ManagedId, TerminationReport)> {
        let mut ends = JoinSet::new();
        for id in ids {
            let table = self.inner.table.clone();
            ends.spawn(async move { (id, table.end(id, EndReason::Shutdown).await) });
        }
        let mut reports = Vec::new();
        while let Some(end) = ends.join_next().await {
            if let Ok((id, Ok(Some(report)))) = end {
                reports.push((id, report));
            }
        }
        reports
    }

    /// Refuses new sessions, ends all sessions, those at runners included, and waits until the list on disk is
    /// updated. A session that this host is not attached to continues.
    pub async fn end_all(&self) -> ShutdownReport {
        self.inner.table.close().await;
        let sessions = self.cleanup().await;
        self.report(sessions).await
    }

    /// Refuses new sessions, detaches from those at runners, which continue, ends the local ones, and waits
    /// until the list on disk is updated. The next run of the host can [reattach](Self::reattach).
    pub async fn detach_all(&self) -> ShutdownReport {
        self.inner.table.close().await;
        let (remote, local) = self.inner.table.by_place();
        let mut detached = JoinSet::new();
        for handle in remote {
            detached.spawn(async move { handle.detach().await });
        }
        let sessions = self.end_each(local).await;
        while detached.join_next().await.is_some() {}
        self.report(sessions).await
    }

    async fn report(&self, sessions: Vec<(ManagedId, TerminationReport)>) -> ShutdownReport {
        let list_failed = self.flush().await.err();
        ShutdownReport {
            signal: None,
            sessions,
            list_failed: list_failed.map(|error| error_chain(&error)),
        }
    }

    /// Returns a future that waits for SIGTERM or SIGINT and then shuts down: by [`end_all`](Self::end_all), or
    /// by [`detach_all`](Self::detach_all). The signals are handled from this call on: they no longer end the
    /// process by themselves.
    ///
    /// # Errors
    ///
    /// The signal handlers cannot be installed.
    pub fn shutdown_on_signals(
        &self,
        mode: ShutdownMode,
    ) -> io::Result<impl Future<Output = ShutdownReport> + Send + use<>> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let manager = self.clone();
        Ok(async move {
            let signal = tokio::select! {
                _ = terminate.recv() => ShutdownSignal::Terminate,
                _ = interrupt.recv() => ShutdownSignal::Interrupt,
            };
            let report = match mode {
                ShutdownMode::Detach => manager.detach_all().await,
                ShutdownMode::End => manager.end_all().await,
            };
            ShutdownReport {
                signal: Some(signal),
                ..report
            }
        })
    }
}
