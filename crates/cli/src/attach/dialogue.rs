//! Shows a dialogue of a runner as it grows.

use std::process::ExitCode;

use bowline_jsonl::Framer;
use bowline_lifecycle::reducer::{HostEvent, Meta, Transcript};
use bowline_lifecycle::{ReconnectFailed, SessionId};
use bowline_runner::{Piece, RunnerClient, Stream, TerminalSession};

use crate::args::{Output, RunnerArgs};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::runner::{
    ConnectionNotices, announced, connection_failure, request_failed, unreachable_session,
    until_connection_failed,
};
use crate::stdio::{eprint, print};

/// The log carries no arrival times.
const NO_TIME: Meta = Meta { at_ms: 0 };

/// Shows a dialogue from its start until it ends or the connection fails for good.
pub(super) async fn show(
    client: &RunnerClient,
    runner: &RunnerArgs,
    id: SessionId,
    is_running: bool,
) -> Result<ExitCode, Failure> {
    let mut view = DialogueView {
        framer: Framer::default(),
        transcript: Transcript::new(),
        printer: Printer::live(Output::Text),
    };
    let mut failure = None;
    if is_running {
        let session = announced(client.attach_reader(id)).await;
        let session = session.map_err(|error| request_failed(runner, error))?;
        failure = view.follow(&session).await?;
    } else {
        view.read_log(client, runner, id).await?;
    }
    view.framer.finish();
    view.print_lines()?;
    print(&view.printer.finish(&view.transcript))?;
    match failure {
        Some(reason) => Err(unreachable_session(&runner.options(), id, &reason)),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// A transcript that is built from a session's output and printed.
struct DialogueView {
    framer: Framer,
    transcript: Transcript,
    printer: Printer,
}

impl DialogueView {
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

    /// Shows the log of a session that has ended.
    async fn read_log(
        &mut self,
        client: &RunnerClient,
        runner: &RunnerArgs,
        id: SessionId,
    ) -> Result<(), Failure> {
        let mut offset = 0;
        loop {
            let bytes = announced(client.log(id, offset)).await;
            let bytes = bytes.map_err(|error| request_failed(runner, error))?;
            if bytes.is_empty() {
                return Ok(());
            }
            let length = bytes.len() as u64;
            self.push(Piece::Bytes { offset, bytes })?;
            offset += length;
        }
    }

    fn push(&mut self, piece: Piece) -> Result<(), Failure> {
        match piece {
            Piece::Bytes { bytes, .. } => self.framer.push(bytes),
            Piece::Gap { from, to } => {
                self.framer.skip_to(to);
                self.print_lines()?;
                self.transcript
                    .apply_host(HostEvent::Gap { from, to }, NO_TIME);
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
        if text.is_empty() {
            Ok(())
        } else {
            print(&text)
        }
    }
}
