//! Links over a broker in memory, under virtual time.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy, split};
use tokio::time::Instant;

use super::*;
use crate::bus::Messages as _;
use crate::carrier::WINDOW;
use crate::fake::FakeBus;

/// Accepts links and sends back what they send.
async fn echo(bus: &FakeBus) {
    let mut requests = bus.subscribe("bl.link.a").await.unwrap();
    let bus = bus.clone();
    tokio::spawn(async move {
        while let Some(request) = requests.recv().await {
            let (link, _) = accept_link(&bus, &request).await.unwrap().unwrap();
            tokio::spawn(async move {
                let (mut read, mut write) = split(link);
                let _ = copy(&mut read, &mut write).await;
                let _ = write.shutdown().await;
            });
        }
    });
}

#[tokio::test(start_paused = true)]
async fn bytes_pass_in_both_directions_within_the_window() {
    let bus = FakeBus::default();
    echo(&bus).await;
    let link = open_link(&bus, "bl.link.a", "test", "own").await.unwrap();
    let (mut read, mut write) = split(link);
    let sent: Vec<_> = (0..5 * WINDOW).map(|n| ((n * 7) >> 3) as u8).collect();
    let copy = sent.clone();
    tokio::spawn(async move {
        write.write_all(&copy).await.unwrap();
        write.shutdown().await.unwrap();
    });
    let mut received = Vec::new();
    read.read_to_end(&mut received).await.unwrap();
    assert!(received == sent);
}

#[tokio::test(start_paused = true)]
async fn absent_runner_is_told_at_once() {
    let bus = FakeBus::default();
    let begin = Instant::now();
    let away = open_link(&bus, "bl.link.a", "test", "own").await;
    assert!(matches!(away, Err(LinkError::Away)));
    assert!(begin.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn lost_message_ends_the_link() {
    let bus = FakeBus::default();
    echo(&bus).await;
    let mut link = open_link(&bus, "bl.link.a", "test", "own").await.unwrap();
    link.write_all(b"one").await.unwrap();
    let mut three = [0; 3];
    link.read_exact(&mut three).await.unwrap();
    bus.lose_messages(1);
    link.write_all(b"two").await.unwrap();
    tokio::time::sleep(Duration::from_millis(10)).await;
    // The other side ends its stream, or the host does, but nothing wrong is read.
    let _ = link.write_all(b"six").await;
    let mut rest = Vec::new();
    let _ = link.read_to_end(&mut rest).await;
    assert_eq!(rest, b"");
}

#[tokio::test(start_paused = true)]
async fn silent_peer_ends_the_link() {
    let bus = FakeBus::default();
    echo(&bus).await;
    let mut link = open_link(&bus, "bl.link.a", "test", "own").await.unwrap();
    // An idle link stays open.
    tokio::time::sleep(Duration::from_secs(100)).await;
    link.write_all(b"one").await.unwrap();
    let mut three = [0; 3];
    link.read_exact(&mut three).await.unwrap();
    bus.lose_messages(usize::MAX);
    let begin = Instant::now();
    let ended = link.read_exact(&mut three).await;
    assert!(ended.is_err());
    assert!(
        begin.elapsed() < Duration::from_secs(30),
        "{:?}",
        begin.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn refusal_reaches_the_host() {
    let bus = FakeBus::default();
    let mut requests = bus.subscribe("bl.link.a").await.unwrap();
    let runner = bus.clone();
    tokio::spawn(async move {
        let request = requests.recv().await.unwrap();
        refuse_link(&runner, &request, "no").await;
    });
    let refused = open_link(&bus, "bl.link.a", "test", "own").await;
    assert!(matches!(refused, Err(LinkError::Refused(why)) if why == "no"));
}
