//! Shutting down: all sessions are ended, and the list on disk is updated.

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
    /// Each session that was running, with what was terminated and what survived.
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

impl SessionManager {
    /// Ends all sessions concurrently, and keeps them in the list. New ones can be created.
    pub async fn cleanup(&self) -> Vec<(ManagedId, TerminationReport)> {
        let mut ends = JoinSet::new();
        for id in self.inner.table.running_ids() {
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

    /// Refuses new sessions, ends all sessions, and waits until the list on disk is updated.
    pub async fn shutdown(&self) -> ShutdownReport {
        self.inner.table.close().await;
        let sessions = self.cleanup().await;
        let list_failed = self.flush().await.err();
        ShutdownReport {
            signal: None,
            sessions,
            list_failed: list_failed.map(|error| error_chain(&error)),
        }
    }

    /// Returns a future that waits for SIGTERM or SIGINT and then [shuts down](Self::shutdown). The
    /// signals are handled from this call on: they no longer end the process by themselves.
    ///
    /// # Errors
    ///
    /// The signal handlers cannot be installed.
    pub fn shutdown_on_signals(
        &self,
    ) -> io::Result<impl Future<Output = ShutdownReport> + Send + use<>> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let manager = self.clone();
        Ok(async move {
            let signal = tokio::select! {
                _ = terminate.recv() => ShutdownSignal::Terminate,
                _ = interrupt.recv() => ShutdownSignal::Interrupt,
            };
            ShutdownReport {
                signal: Some(signal),
                ..manager.shutdown().await
            }
        })
    }
}
