//! Thousands of connections that break at random bytes.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bowline_transport::wire::{StdioKind, StreamId};
use bowline_transport::{ExitStatus, Stream};
use bytes::Bytes;

use crate::network::Chaos;
use crate::owner::Owner;
use crate::support::{attach, read, soon};

/// Number of sessions and the maximum length of their connections in bytes.
const SESSIONS: u64 = 60;
const REACH: usize = 3_000;
const MESSAGES: usize = 120;

/// Returns bytes that differ at all offsets.
fn message(seed: u64, number: usize) -> Bytes {
    let length = 1 + (number * 37 + seed as usize * 101) % 900;
    let text = format!("{{\"n\":{number},\"x\":\"{}\"}}\n", "y".repeat(length));
    text.into()
}

#[tokio::test(start_paused = true)]
async fn output_is_complete_and_ordered() {
    let mut cuts = 0;
    for seed in 1..=SESSIONS {
        let owner = Owner::new(StdioKind::Pipes);
        let network = Arc::new(Chaos::new(owner.clone(), seed * 77_777, REACH));
        network.is_silent.store(seed % 5 == 0, Relaxed);
        let session = attach(&owner, &network).await;
        let mut output = session.reader(Stream::Output);
        let sent: Vec<Bytes> = (0..MESSAGES).map(|it| message(seed, it)).collect();
        let length = sent.iter().map(Bytes::len).sum();
        let writing = async {
            for bytes in &sent {
                soon("write", session.write(bytes.clone())).await.unwrap();
            }
        };
        let (received, ()) = tokio::join!(read(&mut output, length), writing);
        assert!(
            received == sent.concat(),
            "seed {seed}: the received bytes differ from the sent ones"
        );
        owner.with(|state| {
            assert!(
                state.typed == received,
                "seed {seed}: input was not written once"
            )
        });

        owner.say(StreamId::STDERR, b"last words");
        owner.exit(ExitStatus::Code(7));
        let exit = soon("exit", session.exited()).await;
        assert_eq!(exit.status, ExitStatus::Code(7));
        assert_eq!((exit.output_end, exit.errors_end), (length as u64, 10));
        assert_eq!(soon("end", output.next()).await, None);
        owner.with(|state| {
            // One lease all the time; a host that never received its first one could not name it.
            let nameless = state
                .attaches
                .iter()
                .filter(|it| it.resume_generation.is_none());
            assert_eq!(state.generation, nameless.count() as u64);
        });
        cuts += network.connections.load(Relaxed) - 1;
    }
    assert!(cuts >= 5_000, "only {cuts} connections were cut");
}

#[tokio::test(start_paused = true)]
async fn slow_reader_blocks_without_loss() {
    let owner = Owner::new(StdioKind::Pipes);
    let network = Arc::new(Chaos::new(owner.clone(), 5, 200_000));
    let session = attach(&owner, &network).await;
    let mut output = session.reader(Stream::Output);
    let all: Vec<u8> = (0..6 << 20_u32).map(|at| (at % 251) as u8).collect();
    owner.say(StreamId::STDOUT, &all);
    let mut received = Vec::new();
    while received.len() < all.len() {
        // Whatever is read, no more than a log and a window come.
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        let ahead = session.end(Stream::Output) as usize - received.len();
        assert!(ahead <= 1 << 20, "{ahead} bytes are ahead of the reader");
        received.extend(read(&mut output, 1).await);
    }
    assert!(received == all);
}
