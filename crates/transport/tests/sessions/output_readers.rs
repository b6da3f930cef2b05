//! Output that the session's owner reads in its own task.

use bowline_transport::{
    Configuration, OutputReader, Piece, PtyMode, Received, Stream, TerminalEngine,
};

use crate::support::{on_pty, read_all, shell, within};

/// Reads the next piece of a stream, or its end.
async fn next(streams: &mut OutputReader) -> Option<(Stream, Option<Piece>)> {
    Some(match streams.next().await? {
        Received::Output(output) => (Stream::Output, Some(output.piece)),
        Received::Errors(piece) => (Stream::Errors, Some(piece)),
        Received::Ended(stream) => (stream, None),
        Received::Input(_) | Received::Control(_) => panic!("a local session reports no input"),
    })
}

/// Reads both streams to their ends. Returns their bytes and the number of reported ends.
async fn drain(streams: &mut OutputReader) -> ([Vec<u8>; 2], usize) {
    let (mut seen, mut ends) = ([Vec::new(), Vec::new()], 0);
    while let Some((stream, piece)) = within(next(streams)).await {
        let seen = match stream {
            Stream::Output => &mut seen[0],
            Stream::Errors => &mut seen[1],
        };
        match piece {
            Some(Piece::Bytes { offset, bytes }) => {
                assert_eq!(offset, seen.len() as u64, "offsets follow each other");
                seen.extend_from_slice(&bytes);
            }
            Some(gap) => panic!("an OutputReader misses nothing, but {gap:?}"),
            None => ends += 1,
        }
    }
    (seen, ends)
}

fn start_with_reader(
    configuration: Configuration,
) -> (bowline_transport::TerminalSession, OutputReader) {
    TerminalEngine
        .make_session_with_reader(configuration)
        .unwrap()
}

#[tokio::test]
async fn output_reader_and_log_reader_get_every_byte() {
    let mut configuration = shell("seq 200000; echo wrong >&2; exit 3");
    configuration.limits.history_bytes = 0;
    let (session, mut streams) = start_with_reader(configuration);
    let mut reader = session.reader(Stream::Output);
    let reading = tokio::spawn(async move { read_all(&mut reader).await });
    let ([output, errors], ends) = drain(&mut streams).await;
    assert_eq!((&errors[..], ends), (&b"wrong\n"[..], 2));
    assert_eq!(output.len(), 1_288_895);
    assert!(output.ends_with(b"\n199999\n200000\n"));
    assert_eq!(within(reading).await.unwrap(), (output, 0));
    let exit = within(session.exited()).await;
    assert_eq!((exit.output_end, exit.errors_end), (1_288_895, 6));
    assert!(
        within(streams.next()).await.is_none(),
        "the end stays the end"
    );
}

#[tokio::test]
async fn terminal_has_one_stream() {
    let (session, mut streams) = start_with_reader(on_pty(shell("echo hello"), PtyMode::Raw));
    let ([output, errors], ends) = drain(&mut streams).await;
    assert_eq!(
        (&output[..], &errors[..], ends),
        (&b"hello\n"[..], &b""[..], 1)
    );
    assert_eq!(within(session.exited()).await.output_end, 6);
}

#[tokio::test]
async fn slow_log_reader_blocks_output_reader() {
    let mut configuration = shell("head -c 3000000 /dev/zero");
    configuration.limits.output_bytes = 100_000;
    let (session, mut streams) = start_with_reader(configuration);
    let mut slow = session.reader(Stream::Output);
    let mut taken = 0;
    while taken < 100_000 {
        if let Some((_, Some(Piece::Bytes { bytes, .. }))) = within(next(&mut streams)).await {
            taken += bytes.len();
        }
    }
    assert_eq!(
        session.end(Stream::Output),
        100_000,
        "as far as the log goes"
    );
    let reading = tokio::spawn(async move { read_all(&mut slow).await });
    let ([rest, _], _) = drain_from(&mut streams, taken).await;
    assert_eq!(taken + rest, 3_000_000);
    let (all, missing) = within(reading).await.unwrap();
    assert_eq!((all.len(), missing), (3_000_000, 0));
}

/// Returns the number of remaining bytes of each stream.
async fn drain_from(streams: &mut OutputReader, mut offset: usize) -> ([usize; 2], usize) {
    let (mut more, mut ends) = ([0, 0], 0);
    while let Some((stream, piece)) = within(next(streams)).await {
        match piece {
            Some(Piece::Bytes { offset: at, bytes }) => {
                assert_eq!((stream, at), (Stream::Output, offset as u64));
                offset += bytes.len();
                more[0] += bytes.len();
            }
            Some(gap) => panic!("an OutputReader misses nothing, but {gap:?}"),
            None => ends += 1,
        }
    }
    (more, ends)
}

#[tokio::test]
async fn session_reads_after_output_reader_is_dropped() {
    let (session, mut streams) = start_with_reader(shell("echo first; read go; seq 200000"));
    let mut reader = session.reader(Stream::Output);
    let (stream, piece) = within(next(&mut streams)).await.unwrap();
    assert_eq!(stream, Stream::Output);
    let bytes = "first\n".into();
    assert_eq!(piece, Some(Piece::Bytes { offset: 0, bytes }));
    drop(streams);
    within(session.write("go\n".into())).await.unwrap();
    let (all, missing) = read_all(&mut reader).await;
    assert_eq!((all.len(), missing), (6 + 1_288_895, 0));
    within(session.exited()).await;
}

#[tokio::test]
async fn output_reader_ends_when_streams_are_cut() {
    // The child exits, and a silent descendant keeps its streams open.
    let (session, mut streams) = start_with_reader(shell("sleep 1000 & echo done"));
    let ([output, _], ends) = drain(&mut streams).await;
    assert_eq!((&output[..], ends), (&b"done\n"[..], 2));
    let exit = within(session.exited()).await;
    assert_eq!(exit.drained, bowline_transport::Drained::Timeout);
}
