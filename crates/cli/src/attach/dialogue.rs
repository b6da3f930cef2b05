//! Shows a dialogue of a runner as it grows.

use std::process::ExitCode;

use bowline_jsonl::Framer;
use bowline_lifecycle::control::HISTORY_LABEL;
use bowline_lifecycle::reducer::{HostEvent, Meta, Transcript};
use bowline_lifecycle::{DialectName, ReconnectFailed, SessionId};
use bowline_recording::damage_message;
use bowline_runner::{
    Piece, RunnerClient, SessionSummary, SessionSummaryState, Stream, TerminalSession,
};
use bytes::Bytes;

use crate::args::{Output, RunnerArgs};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::recording::report_losses;
use crate::runner::{
    ConnectionNotices, announced, connection_failure, request_failed, unreachable_session,
    until_connection_failed,
};
use crate::stdio::{eprint, print};

/// The log carries no arrival times.
const NO_TIME: Meta = Meta { at_ms: 0 };

/// A session whose log is shown.
pub(crate) struct LogSource<'a> {
    pub(crate) client: &'a RunnerClient,
    pub(crate) runner: &'a RunnerArgs,
    pub(crate) session: &'a SessionSummary,
    /// Whether a session that runs is shown until its end, and not only until now.
    pub(crate) follows: bool,
}

/// Shows a dialogue from its start until it ends or the connection fails for good. Reports what of its
/// output is missing, which is a failure.
pub(crate) async fn show_dialogue(
    source: &LogSource<'_>,
    output: Output,
) -> Result<ExitCode, Failure> {
    let LogSource {
        client,
        runner,
        session,
        follows,
    } = source;
    let id = session.id;
    let mut view = DialogueView {
        framer: Framer::default(),
        transcript: Transcript::with_dialect(DialectName::of_labels(&session.labels)),
        printer: Printer::live(output),
        losses: Vec::new(),
    };
    if session.labels.contains_key(HISTORY_LABEL) {
        let past = announced(client.history(id)).await;
        let past = past.map_err(|error| request_failed(runner, error))?;
        view.past(past.unwrap_or_default())?;
    }
    let mut failure = None;
    if *follows {
        let session = announced(client.attach_reader(id)).await;
        let session = session.map_err(|error| request_failed(runner, error))?;
        failure = view.follow(&session).await?;
    } else {
        let end = view.read_log(client, runner, id).await?;
        if session.state == SessionSummaryState::Lost {
            view.losses.push(format!(
                "its process was killed; output after byte {end} may be missing"
            ));
        }
    }
    if session.state != SessionSummaryState::Running || *follows {
        view.framer.finish();
    }
    view.print_lines()?;
    print(&view.printer.finish(&view.transcript))?;
    let reported = report_losses(&format!("session {id}"), &view.losses, true);
    match failure {
        Some(reason) => Err(unreachable_session(&runner.options(), id, &reason)),
        None => Ok(reported),
    }
}

/// A transcript that is built from a session's output and printed.
struct DialogueView {
    framer: Framer,
    transcript: Transcript,
    printer: Printer,
    /// What of the output is missing, one message each.
    losses: Vec<String>,
}

impl DialogueView {
    /// Shows the past of the conversation that the session resumed.
    fn past(&mut self, past: Bytes) -> Result<(), Failure> {
        let mut framer = Framer::default();
        framer.push(past);
        self.transcript.fold_history(framer, NO_TIME);
        self.print_changes()
    }

    /// Shows the output of a running session. Returns why the connection failed, if it did.
    async fn follow(
        &mut self,
        session: &TerminalSession,
    ) -> Result<Option<ReconnectFailed>, Failure> {
        let mut output = session.reader(Stream::Output);
        let mut connection = session.connection();
        let mut notices = ConnectionNotices::new(session.connection(), "the session");
        loop {
            tokio::select! {
                biased;
                piece = output.next() => match piece {
                    Some(piece) => self.push(piece)?,
                    // A failed connection ends the output, too.
                    None => return Ok(connection_failure(&connection)),
                },
                reason = until_connection_failed(&mut connection) => return Ok(Some(reason)),
                notice = notices.next() => eprint(&format!("bowline: {notice}\n")),
            }
        }
    }

    /// Shows the log of a session that has ended. Returns the offset of its end.
    async fn read_log(
        &mut self,
        client: &RunnerClient,
        runner: &RunnerArgs,
        id: SessionId,
    ) -> Result<u64, Failure> {
        let mut offset = 0;
        loop {
            let range = announced(client.log(id, offset)).await;
            let range = range.map_err(|error| request_failed(runner, error))?;
            if let Some(damage) = &range.damage {
                self.damaged(damage)?;
            }
            if range.next <= offset {
                return Ok(offset);
            }
            if let Some((from, to)) = range.gap {
                self.push(Piece::Gap { from, to })?;
            }
            self.push(Piece::Bytes {
                offset: range.from,
                bytes: range.bytes,
            })?;
            offset = range.next;
        }
    }

    /// Records damage of the log, once.
    fn damaged(&mut self, damage: &str) -> Result<(), Failure> {
        let reason = damage_message("log", damage);
        if self.losses.contains(&reason) {
            return Ok(());
        }
        let event = HostEvent::Damaged { reason: &reason };
        self.transcript.apply_host(event, NO_TIME);
        self.losses.push(reason);
        self.print_changes()
    }

    fn push(&mut self, piece: Piece) -> Result<(), Failure> {
        match piece {
            Piece::Bytes { bytes, .. } => self.framer.push(bytes),
            Piece::Gap { from, to } => {
                self.framer.skip_to(to);
                self.print_lines()?;
                self.transcript
                    .apply_host(HostEvent::Gap { from, to }, NO_TIME);
                let loss = format!("bytes {from} to {to} of the output are missing");
                self.losses.push(loss);
                self.print_changes()?;
            }
        }
        self.print_lines()
    }

    /// Applies and prints the lines that are complete.
    fn print_lines(&mut self) -> Result<(), Failure> {
        let mut text = String::new();
        while let Some(frame) = self.framer.next_frame() {
            for item in frame.items() {
                self.transcript.apply(&item, NO_TIME);
                let changes = self.transcript.changes_since(self.printer.cursor());
                text.push_str(&self.printer.changes(&changes));
            }
        }
        print_text(&text)
    }

    /// Prints what has changed in the transcript.
    fn print_changes(&mut self) -> Result<(), Failure> {
        let changes = self.transcript.changes_since(self.printer.cursor());
        print_text(&self.printer.changes(&changes))
    }
}

fn print_text(text: &str) -> Result<(), Failure> {
    if text.is_empty() { Ok(()) } else { print(text) }
}
