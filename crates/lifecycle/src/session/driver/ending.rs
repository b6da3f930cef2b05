//! The end of a session: what is left of its processes, its recording, and what handles read afterwards.

use std::sync::Arc;
use std::time::Duration;

use bowline_transport::{Drained, Exit, ExitStatus, Stream, TerminationPolicy, TerminationReport};
use parking_lot::Mutex;

use super::Driver;
use crate::machine::Input;
use crate::session::end::{DialogueEnd, EndedSession};

/// Why a recording is incomplete whose agent continues without it.
const DETACHED: &str = "the session goes on without this host";

/// How a session ends whose task was dropped, and why its recording is incomplete.
const ABANDONED: &str = "the runtime of the session was dropped";

impl Driver {
    /// Terminates the rest of the process tree and closes the recording. Returns the report, and why
    /// the recording is incomplete, if it is.
    pub(super) async fn clean_up(&mut self, exit: Exit) -> (TerminationReport, Option<String>) {
        self.exited(exit);
        self.report_spent();
        // The agent has exited; its descendants get no end of input and no interrupt first.
        let rest = TerminationPolicy {
            eof_grace: Duration::ZERO,
            interrupt: None,
            ..self.policy
        };
        let report = if self.is_detached {
            TerminationReport::untouched(self.terminal.containment(), exit)
        } else {
            self.terminal.terminate(rest).await
        };
        let recording_failed = match self.sources.log.end() {
            Some(recording) => recording.finish(exit).await.or_else(|| {
                let goes_on = self.is_detached && exit.status == ExitStatus::Unknown;
                goes_on.then(|| DETACHED.to_owned())
            }),
            None => None,
        };
        (report, recording_failed)
    }

    fn exited(&mut self, exit: Exit) {
        self.exit = Some(exit);
        self.feed(Input::Exited(exit));
        self.do_outputs();
    }

    /// Ends a session whose task was dropped. What is known of the agent stays readable.
    pub(super) fn abandon(mut self: Box<Self>) {
        let known = self.exit;
        let exit = known.unwrap_or_else(|| Exit {
            status: ExitStatus::Unknown,
            oom: false,
            drained: Drained::Timeout,
            output_end: self.terminal.end(Stream::Output),
            errors_end: self.terminal.end(Stream::Errors),
        });
        // After a panic, the machine may be in no state to handle an input.
        if known.is_none() && !std::thread::panicking() {
            self.exited(exit);
        }
        let report = TerminationReport::untouched(self.terminal.containment(), exit);
        let recording = self.sources.log.end();
        let mut end = self.end(exit, report, recording.map(|_| ABANDONED.to_owned()));
        if known.is_none() {
            ABANDONED.clone_into(&mut end.reason);
        }
        self.close(end);
    }

    pub(super) fn end(
        &self,
        exit: Exit,
        report: TerminationReport,
        recording_failed: Option<String>,
    ) -> DialogueEnd {
        let (expected, reason) = self.machine.end_summary();
        DialogueEnd {
            exit,
            expected,
            detached: self.is_detached,
            reason,
            report,
            stderr: self.machine.stderr(),
            recording_failed,
            unknown_option: self.machine.unknown_option(),
        }
    }

    /// Publishes the end. Messages that are still queued are dropped after it; a handle reads what
    /// they would have returned from the ended session.
    pub(super) fn close(mut self: Box<Self>, end: DialogueEnd) {
        self.publish_revision();
        self.observers.changed(self.machine.transcript(), true);
        self.observers.ended(&end);
        let driver = *self;
        drop(driver.observers);
        let last = EndedSession {
            end,
            machine: Mutex::new(driver.machine),
            start: driver.start,
        };
        driver.ended.send_replace(Some(Arc::new(last)));
    }
}
