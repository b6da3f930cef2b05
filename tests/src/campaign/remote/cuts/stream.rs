//! A child that answers each line, through a proxy; its output must be the function of the lines.

use std::sync::Arc;
use std::time::Duration;

use bowline_transport::{
    Attachment, ExitStatus, Piece, PtyMode, Stream, TerminalEngine, TerminalSession, WriteError,
};
use bytes::Bytes;

use super::super::super::Random;
use super::super::super::support::{hidden, on_pty, within};
use super::super::daemon::Daemon;
use super::super::network::Detour;
use super::super::responder::{self, Responder};
use super::{CuttingProxy, Tally};
use crate::chaos::Impatient;

/// Maximum number of lines of a session.
const LINES: u64 = 160;

/// Maximum length of a line, in bytes.
const LINE: u64 = 1_500;

/// How long a host tries to attach.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Terminal,
    Pipes,
    TerminalOverGrpc,
    PipesOverGrpc,
}

pub(super) async fn run(
    daemon: &Daemon,
    faults: &CuttingProxy<'_>,
    seed: u64,
    kind: Kind,
) -> Result<Tally, String> {
    let mut what = hidden(responder::MODE, &[seed.to_string()]);
    if matches!(kind, Kind::Terminal | Kind::TerminalOverGrpc) {
        what = on_pty(what, PtyMode::Raw);
    }
    let id = daemon.leave(what).await?;
    let network = Impatient::new(Arc::new(Detour(faults.proxy.address())));
    let mut remote = daemon.remote_over(Arc::new(network));
    if matches!(kind, Kind::TerminalOverGrpc | Kind::PipesOverGrpc) {
        let url = format!("grpc://{}", daemon.address()).parse();
        remote.url = url.map_err(|error| format!("{error}"))?;
    }
    let attachment = Attachment {
        connect_timeout: CONNECT_TIMEOUT,
        ..Attachment::default()
    };
    let joined = TerminalEngine.attach_remote(&remote, id, attachment);
    let session = within("an attach", joined).await?;
    let session = session.map_err(|error| error.to_string())?;
    let (lines, mut responder) = (lines(seed), Responder::new(seed));
    let expected: Vec<u8> = lines
        .iter()
        .flat_map(|line| responder.respond(line))
        .collect();
    let (read_result, typed) = tokio::join!(read(&session, &expected), write(&session, &lines));
    read_result.and(typed)?;
    let exit = within("the exit", session.exited()).await?;
    faults.calm();
    let code = ExitStatus::Code(responder.code());
    if exit.status != code || exit.output_end != expected.len() as u64 {
        let length = expected.len();
        return Err(format!("{exit:?} after {length} bytes, not {code:?}"));
    }
    // A host that received the end releases the session, which is gone then.
    drop(session);
    daemon.buried(id).await?;
    // The end is not reported a second time.
    let runner = daemon.remote();
    let again = TerminalEngine.attach_remote(&runner, id, Attachment::default());
    if within("a refusal", again).await?.is_ok() {
        return Err("a session that was taken leave of can be joined".to_owned());
    }
    Ok(Tally {
        sessions: 1,
        bytes: expected.len() as u64,
        lines: lines.len() as u64,
        ..Tally::default()
    })
}

/// The input, derived from the seed.
fn lines(seed: u64) -> Vec<Bytes> {
    let mut random = Random::new(seed ^ 0x11);
    let count = LINES / 4 + random.below(LINES);
    let mut lines: Vec<Bytes> = (0..count)
        .map(|number| {
            let length = random.below(LINE) as usize;
            let filling = "x".repeat(length);
            format!("{number} {} {filling}\n", random.draw()).into()
        })
        .collect();
    lines.push(responder::LAST.into());
    lines
}

/// Reads to the end of the output. An unexpected byte is an error.
async fn read(session: &TerminalSession, expected: &[u8]) -> Result<(), String> {
    let mut output = session.reader(Stream::Output);
    let mut at = 0;
    loop {
        let piece = within("output", output.next()).await;
        match piece.map_err(|why| format!("{why}, at {at} of {}", expected.len()))? {
            Some(Piece::Bytes { offset, bytes }) => {
                if offset != at as u64 {
                    return Err(format!("output goes on at {offset}, and {at} was next"));
                }
                let end = at + bytes.len();
                if expected.get(at..end) != Some(&bytes[..]) {
                    return Err(format!("output differs in {at}..{end}"));
                }
                at = end;
            }
            Some(other) => return Err(format!("{other:?} at {at}")),
            None if at == expected.len() => return Ok(()),
            None => {
                let link = session.connection().borrow().clone();
                let length = expected.len();
                return Err(format!("output ends at {at} of {length}: {link:?}"));
            }
        }
    }
}

/// Writes everything, some lines together.
async fn write(session: &TerminalSession, lines: &[Bytes]) -> Result<(), String> {
    let (last, lines) = lines.split_last().ok_or("no lines")?;
    for some in lines.chunks(7) {
        let all = some.concat().into();
        let written = within("a write", session.write(all)).await?;
        written.map_err(|error| error.to_string())?;
    }
    match within("the last write", session.write(last.clone())).await? {
        // The last line ends the child, whose exit may arrive before the confirmation of the write.
        Ok(()) | Err(WriteError::Ended) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
