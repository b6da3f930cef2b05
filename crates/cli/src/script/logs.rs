//! `bowline logs`: prints what a session has written.

use std::io::{self, Write as _};
use std::process::ExitCode;

use bowline_runner::wire::SessionKind;
use bowline_runner::{Piece, SessionSummaryState, Stream};

use crate::args::{self, Output};
use crate::attach::{LogSource, show_dialogue};
use crate::failure::Failure;
use crate::runner::{announced, client, find_session, request_failed};
use crate::stdio::{bytes_from, eprint};

/// Prints the output of a session until now, or with `--follow` until its end.
///
/// # Errors
/// If there is no such session, or its log cannot be read.
pub(crate) async fn logs(options: args::Logs) -> Result<ExitCode, Failure> {
    let client = client(&options.runner)?;
    #[cfg(feature = "fleet")]
    if let Some(network) = crate::fleet::network(&options.runner.fleet)?
        && let Some(session) = network.away(&options.id).await?
    {
        return crate::fleet::logs(&network, &session, &options).await;
    }
    let session = find_session(&client, &options.runner, &options.id).await?;
    let follows = options.follow && session.state == SessionSummaryState::Running;
    let source = LogSource {
        client: &client,
        runner: &options.runner,
        session: &session,
        follows,
    };
    if options.raw || session.kind == SessionKind::Terminal {
        return raw(&source, options.from).await;
    }
    let output = if options.events {
        Output::Changes
    } else {
        Output::Text
    };
    show_dialogue(&source, output).await
}

/// Prints the bytes from an offset on as they are.
async fn raw(source: &LogSource<'_>, from: u64) -> Result<ExitCode, Failure> {
    let id = source.session.id;
    let failed = |error| request_failed(source.runner, error);
    if source.follows {
        let attached = announced(source.client.attach_reader(id)).await;
        let session = attached.map_err(failed)?;
        let mut output = session.reader(Stream::Output);
        while let Some(piece) = output.next().await {
            match piece {
                Piece::Bytes { offset, bytes } => write(bytes_from(&bytes, offset, from))?,
                Piece::Gap { to, .. } if to <= from => {}
                Piece::Gap { from: gap, to } => missing(gap.max(from), to),
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut offset = from;
    loop {
        let range = announced(source.client.log(id, offset))
            .await
            .map_err(failed)?;
        if range.next <= offset {
            return Ok(ExitCode::SUCCESS);
        }
        if let Some((from, to)) = range.gap {
            missing(from, to);
        }
        write(&range.bytes)?;
        offset = range.next;
    }
}

fn missing(from: u64, to: u64) {
    eprint(&format!(
        "bowline: bytes {from} to {to} of the output are missing\n"
    ));
}

fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    written.map_err(|_| Failure::broken_pipe())
}
