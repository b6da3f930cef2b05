//! The end of a host: all sessions are ended, and the list says so.

use std::future::Future;
use std::io;

use bowline_shell::ManagedId;
use bowline_transport::TerminationReport;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

use crate::{EndReason, SessionManager};

/// What became of the sessions of a host that shut down.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// The signal that asked for it, if one did.
    pub signal: Option<ShutdownSignal>,
    /// Each session that was alive, with what was killed and what survived.
    pub sessions: Vec<(ManagedId, TerminationReport)>,
    /// Why the list on disk does not say so, if it does not.
    pub list_failed: Option<String>,
}

/// A signal that asks a host to shut down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShutdownSignal {
    /// SIGTERM.
    Terminate,
    /// SIGINT.
    Interrupt,
}

impl SessionManager {
    /// Ends every session, all at once, and keeps them in the list. New ones may be made.
    pub async fn cleanup(&self) -> Vec<(ManagedId, TerminationReport)> {
        let mut ends = JoinSet::new();
        for id in self.inner.table.living() {
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

    /// Makes no more sessions, ends every one, and waits until the list on disk says so.
    pub async fn shutdown(&self) -> ShutdownReport {
        self.inner.table.close().await;
        let sessions = self.cleanup().await;
        let list_failed = self.flush().await.err().map(|error| error.to_string());
        ShutdownReport {
            signal: None,
            sessions,
            list_failed,
        }
    }

    /// A future that waits for SIGTERM or SIGINT and then [shuts down](Self::shutdown). The signals
    /// are caught from this call on, and by nothing else in this crate; from then on they do not
    /// end the process by themselves.
    ///
    /// # Errors
    ///
    /// The system does not let the signals be caught.
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
