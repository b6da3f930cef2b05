//! Tests of wakeups of the shared log.

use std::future::poll_fn;
use std::sync::Arc;

use bytes::Bytes;

use super::shared::SharedLog;
use super::{Log, Overflow, Piece};

#[tokio::test]
async fn waiting_reader_wakes_on_bytes_and_end() {
    let log = SharedLog::new(Log::new(16, Overflow::Block));
    let mut reader = log.reader();
    let waiting = tokio::spawn(async move { (reader.next().await, reader.next().await) });
    tokio::task::yield_now().await;
    log.push(Bytes::from_static(b"x"));
    log.close();
    let piece = Piece::Bytes {
        offset: 0,
        bytes: Bytes::from_static(b"x"),
    };
    assert_eq!(waiting.await.unwrap(), (Some(piece), None));
}

#[tokio::test]
async fn dropped_reader_makes_room() {
    let log = SharedLog::new(Log::new(4, Overflow::Block));
    let (mut fast, slow) = (log.reader(), log.reader());
    log.push(Bytes::from_static(b"full"));
    assert!(fast.next().await.is_some());
    let waiting = tokio::spawn({
        let log = Arc::clone(&log);
        async move { poll_fn(|cx| log.poll_room(cx)).await }
    });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    drop(slow);
    assert_eq!(waiting.await.unwrap(), Some(4));
}

#[tokio::test]
async fn close_wakes_waiting_filler() {
    let log = SharedLog::new(Log::new(4, Overflow::Block));
    log.push(Bytes::from_static(b"full"));
    let waiting = tokio::spawn({
        let log = Arc::clone(&log);
        async move { poll_fn(|cx| log.poll_room(cx)).await }
    });
    tokio::task::yield_now().await;
    log.close();
    assert_eq!(waiting.await.unwrap(), None);
}
