use axum::routing::get;
use hyper::client::conn::http2;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::super::progress::WriteDeadline;
use super::*;
use crate::auth::PeerKind;

/// Longer than a client may take nothing.
const STALLED: Duration = Duration::from_secs(20);

/// Length of the response, in bytes.
const LENGTH: usize = 1 << 20;

/// Serves a large response over a stream of `window` bytes.
fn serve(window: usize) -> (DuplexStream, JoinHandle<()>) {
    let (client, stream) = duplex(window);
    let connection = Connection {
        peer: Peer {
            kind: PeerKind::Local,
            address: None,
        },
        slot: None,
        app: Router::new().route("/", get(|| async { vec![b'x'; LENGTH] })),
        shutdown: CancellationToken::new(),
        deadline: Instant::now() + HANDSHAKE_TIMEOUT,
    };
    let serving = tokio::spawn(connection.serve(WriteDeadline::new(stream)));
    (client, serving)
}

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

#[tokio::test(start_paused = true)]
async fn client_that_reads_nothing_is_disconnected() {
    let (mut client, serving) = serve(1000);
    client.write_all(REQUEST).await.unwrap();
    timeout(STALLED, serving).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn slow_client_receives_the_whole_response() {
    let (mut client, serving) = serve(1000);
    client.write_all(REQUEST).await.unwrap();
    let (mut received, mut part) = (0, [0; 10_000]);
    loop {
        // Slower than the deadline, were it one for the whole response.
        sleep(Duration::from_secs(10)).await;
        match client.read(&mut part).await.unwrap() {
            0 => break,
            length => received += length,
        }
    }
    assert!(received > LENGTH);
    serving.await.unwrap();
}

/// The client answers pings and reads everything but the response.
#[tokio::test(start_paused = true)]
async fn http2_response_that_is_not_taken_ends_the_connection() {
    let (client, serving) = serve(1 << 20);
    let (mut requests, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(10_000)
        .handshake::<_, Body>(TokioIo::new(client))
        .await
        .unwrap();
    tokio::spawn(connection);
    let request = hyper::Request::get("http://x/")
        .body(Body::empty())
        .unwrap();
    let _unread = requests.send_request(request).await.unwrap();
    timeout(STALLED, serving).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn idle_http2_connection_is_kept() {
    let (client, serving) = serve(1 << 20);
    let (mut requests, connection) = http2::Builder::new(TokioExecutor::new())
        .handshake::<_, Body>(TokioIo::new(client))
        .await
        .unwrap();
    tokio::spawn(connection);
    for _ in 0..3 {
        let request = hyper::Request::get("http://x/")
            .body(Body::empty())
            .unwrap();
        let response = requests.send_request(request).await.unwrap();
        let body = axum::body::to_bytes(Body::new(response.into_body()), LENGTH).await;
        assert_eq!(body.unwrap().len(), LENGTH);
        sleep(STALLED).await;
    }
    assert!(!serving.is_finished());
}
