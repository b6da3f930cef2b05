//! Streams over pipes: complete, in order, with documented backpressure.

use std::os::unix::ffi::OsStringExt as _;

use bowline_transport::{
    Configuration, ConnectionState, ExitStatus, Kind, Overflow, Piece, RetryError, Signal, Stream,
    TerminationPolicy, WriteError,
};
use bytes::Bytes;

use crate::support::{read_all, read_until, shell, start, until, within};

const MIB: usize = 1 << 20;

/// Distinct lines, which reveal loss, repetition and reordering.
fn lines(bytes: usize) -> Vec<u8> {
    let mut lines: Vec<u8> = (0..)
        .flat_map(|n: u32| format!("{n:>15}\n").into_bytes())
        .take(bytes)
        .collect();
    lines.truncate(bytes);
    lines
}

#[tokio::test]
async fn input_is_echoed_by_cat() {
    let session = start(Configuration::new("cat"));
    assert_eq!(session.kind(), Kind::LocalPipes);
    assert_eq!(*session.connection().borrow(), ConnectionState::Connected);
    assert_eq!(session.retry(), Err(RetryError::NotFailed));
    let mut output = session.reader(Stream::Output);
    let all: Vec<u8> = (0..=255).collect();
    within(session.write(all.clone().into())).await.unwrap();
    within(session.write(Bytes::new())).await.unwrap();
    within(session.close_input()).await.unwrap();
    assert_eq!(read_all(&mut output).await, (all, 0));
    let late = within(session.write("more".into())).await;
    assert!(matches!(late, Err(WriteError::Closed | WriteError::Ended)));
    assert_eq!(within(session.exited()).await.status, ExitStatus::Code(0));
    assert!(matches!(
        within(session.write("x".into())).await,
        Err(WriteError::Ended)
    ));
}

#[tokio::test]
async fn arguments_are_exact_bytes() {
    let mut configuration = shell("printf '%s|' \"$@\"");
    let odd = std::ffi::OsString::from_vec(vec![0xff, 0xfe, b'\n', b'\'']);
    configuration
        .args
        .extend(["sh".into(), odd, "".into(), "$HOME *".into()]);
    let session = start(configuration);
    let (all, _) = read_all(&mut session.reader(Stream::Output)).await;
    assert_eq!(all, b"\xff\xfe\n'||$HOME *|");
}

/// A short read means an empty pipe only if the buffer was not full: the first write leaves part of a
/// buffer free, and the second one does not fit in it.
#[tokio::test]
async fn read_that_fills_buffer_is_not_last() {
    let write = |bytes: usize| format!("dd if=/dev/zero bs={bytes} count=1 2>/dev/null");
    let script = format!("{}; read go; {}; read done", write(40_000), write(200_000));
    let session = start(shell(&script));
    let mut output = session.reader(Stream::Output);
    let mut seen = 0;
    for wanted in [40_000, 240_000] {
        while seen < wanted {
            match within(output.next()).await {
                Some(Piece::Bytes { bytes, .. }) => seen += bytes.len(),
                other => panic!("{other:?} after {seen} bytes"),
            }
        }
        within(session.write("\n".into())).await.unwrap();
    }
    assert_eq!(within(session.exited()).await.output_end, 240_000);
}

#[tokio::test]
async fn ten_mebibytes_round_trip() {
    let session = start(Configuration::new("cat"));
    let mut output = session.reader(Stream::Output);
    let sent = lines(10 * MIB);
    let writing = tokio::spawn({
        let (session, sent) = (session.clone(), Bytes::from(sent.clone()));
        async move {
            session.write(sent).await.unwrap();
            session.close_input().await.unwrap();
        }
    });
    let (all, missing) = read_all(&mut output).await;
    assert!(all == sent && missing == 0);
    within(writing).await.unwrap();
}

#[tokio::test]
async fn unread_input_does_not_block_output() {
    let session = start(shell(
        "trap 'echo hup' HUP; echo ready; while :; do sleep 1000 & wait; done",
    ));
    let mut output = session.reader(Stream::Output);
    let writing = tokio::spawn({
        let session = session.clone();
        async move { session.write(Bytes::from(vec![b'x'; 10 * MIB])).await }
    });
    read_until(&mut output, "ready").await;
    session.signal(Signal::Hangup).unwrap();
    read_until(&mut output, "hup").await;
    assert!(!writing.is_finished());
    let policy = TerminationPolicy {
        eof_grace: std::time::Duration::ZERO,
        ..TerminationPolicy::default()
    };
    let report = within(session.terminate(policy)).await;
    assert_eq!(report.survivors, [0_u32; 0]);
    assert_eq!(report.exit.status, ExitStatus::Signal(15));
    assert!(matches!(
        within(writing).await.unwrap(),
        Err(WriteError::Ended)
    ));
}

#[tokio::test]
async fn pending_write_fails_when_child_dies() {
    let session = start(shell("sleep 1000 <&0 & echo ready; exec sleep 1000"));
    let mut output = session.reader(Stream::Output);
    read_until(&mut output, "ready").await;
    let writing = tokio::spawn({
        let session = session.clone();
        async move { session.write(Bytes::from(vec![b'x'; MIB])).await }
    });
    let pid = rustix::process::Pid::from_raw(session.pid().unwrap().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert!(matches!(
        within(writing).await.unwrap(),
        Err(WriteError::Ended)
    ));
    assert_eq!(within(session.exited()).await.status, ExitStatus::Signal(9));
}

#[tokio::test]
async fn writes_never_interleave() {
    let session = start(Configuration::new("cat"));
    let mut output = session.reader(Stream::Output);
    let writers: Vec<_> = (b'a'..=b'h')
        .map(|letter| {
            let session = session.clone();
            tokio::spawn(async move { session.write(vec![letter; MIB / 4].into()).await })
        })
        .collect();
    let closing = tokio::spawn(async move {
        for writer in writers {
            writer.await.unwrap().unwrap();
        }
        session.close_input().await.unwrap();
        session
    });
    let (all, _) = read_all(&mut output).await;
    assert_eq!(all.len(), 2 * MIB);
    assert!(
        all.chunks(MIB / 4)
            .all(|block| block.iter().all(|byte| *byte == block[0]))
    );
    within(closing).await.unwrap();
}

#[tokio::test]
async fn dropped_write_is_cancelled() {
    let session = start(Configuration::new("cat"));
    let first = tokio::spawn({
        let session = session.clone();
        async move { session.write(vec![b'a'; 8 * MIB].into()).await }
    });
    // The output is not read: cat blocks, and the first write stays pending.
    until(|| session.end(Stream::Output) == MIB as u64).await;
    let mut second = Box::pin(session.write("b".into()));
    let polled = futures_poll_once(&mut second).await;
    assert!(polled.is_none());
    drop(second);
    let mut output = session.reader(Stream::Output);
    let closing = tokio::spawn({
        let session = session.clone();
        async move { session.close_input().await }
    });
    let (all, missing) = read_all(&mut output).await;
    assert!(missing == 0 && all == vec![b'a'; 8 * MIB]);
    within(first).await.unwrap().unwrap();
    within(closing).await.unwrap().unwrap();
}

async fn futures_poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    tokio::select! {
        biased;
        output = future => Some(output),
        () = std::future::ready(()) => None,
    }
}

#[tokio::test]
async fn slow_reader_blocks_child_without_loss() {
    let session = start(Configuration::new("cat"));
    let mut slow = session.reader(Stream::Output);
    let mut fast = session.reader(Stream::Output);
    let sent = lines(4 * MIB);
    let writing = tokio::spawn({
        let (session, sent) = (session.clone(), Bytes::from(sent.clone()));
        async move {
            session.write(sent).await.unwrap();
            session.close_input().await.unwrap();
        }
    });
    let fast = tokio::spawn(async move { read_all(&mut fast).await });
    until(|| session.end(Stream::Output) == MIB as u64).await;
    let mut seen = Vec::new();
    while let Some(Piece::Bytes { bytes, .. }) = within(slow.next()).await {
        let ahead = session.end(Stream::Output) - seen.len() as u64;
        // The log grows by the size of a pipe when the child has exited.
        assert!(ahead <= 2 * MIB as u64, "{ahead} bytes in memory");
        seen.extend_from_slice(&bytes);
        tokio::task::yield_now().await;
    }
    assert!(seen == sent);
    assert!(within(fast).await.unwrap() == (sent, 0));
    within(writing).await.unwrap();
}

#[tokio::test]
async fn child_without_reader_blocks_without_loss() {
    let session = start(shell("head -c 3000000 /dev/zero; echo end"));
    until(|| session.end(Stream::Output) == MIB as u64).await;
    let mut output = session.reader(Stream::Output);
    let (all, missing) = read_all(&mut output).await;
    assert_eq!((all.len(), missing), (3_000_004, 0));
}

#[tokio::test]
async fn error_overflow_is_reported_as_gap() {
    let session = start(shell("head -c 10485760 /dev/zero >&2; echo done"));
    let mut errors = session.reader(Stream::Errors);
    read_until(&mut session.reader(Stream::Output), "done").await;
    let exit = within(session.exited()).await;
    assert_eq!(exit.errors_end, 10 * MIB as u64);
    let (all, missing) = read_all(&mut errors).await;
    assert!(missing >= 8 * MIB as u64, "{missing} bytes in gaps");
    assert_eq!(all.len() as u64 + missing, exit.errors_end);
}

#[tokio::test]
async fn log_limits_are_configurable() {
    let mut configuration = shell("head -c 100000 /dev/zero; echo end");
    configuration.limits.output_bytes = 1000;
    configuration.limits.output_overflow = Some(Overflow::DropOldest);
    let session = start(configuration);
    let mut output = session.reader(Stream::Output);
    until(|| session.end(Stream::Output) == 100_004).await;
    let first = within(output.next()).await;
    assert!(
        matches!(first, Some(Piece::Gap { from: 0, .. })),
        "{first:?}"
    );
}

#[tokio::test]
async fn later_reader_starts_at_any_offset() {
    let session = start(shell("printf 0123456789"));
    within(session.exited()).await;
    let (all, _) = {
        let mut reader = session.reader_at(Stream::Output, 4);
        assert_eq!(reader.offset(), 4);
        let first = reader.try_next().unwrap();
        assert_eq!(
            first,
            Piece::Bytes {
                offset: 4,
                bytes: "456789".into()
            }
        );
        assert_eq!(reader.try_next(), None);
        read_all(&mut session.reader(Stream::Output)).await
    };
    assert_eq!(all, b"0123456789");
}

#[tokio::test]
async fn readers_outlive_the_session() {
    let session = start(shell("echo last words; exec sleep 1000"));
    let mut output = session.reader(Stream::Output);
    until(|| session.end(Stream::Output) == 11).await;
    drop(session);
    assert_eq!(read_all(&mut output).await, (b"last words\n".to_vec(), 0));
}
