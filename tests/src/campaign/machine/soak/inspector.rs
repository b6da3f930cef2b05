//! A reader of what the inspector shows of a session, for as long as a soak lasts.

use std::time::Duration;

use bowline_lifecycle::DialectName;
use bowline_transport::{Remote, SessionId};
use bytes::Bytes;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::dialogue::Dialogue;
use crate::campaign::Report;
use crate::campaign::support::within;
use crate::normalize::difference;

/// Pause between two readings, and before a request is repeated that a killed runner did not answer.
const PAUSE: Duration = Duration::from_millis(500);

/// Parts of a session that the inspector reads.
const PARTS: [&str; 3] = ["transcript", "timeline", "lines"];

/// A dialogue that is only read. Its content is the same for the whole run, so that the runner's memory for it is.
#[derive(Debug)]
pub(super) struct Inspector {
    dialogue: Dialogue,
    stop: watch::Sender<bool>,
    reading: JoinHandle<Result<u64, String>>,
}

impl Inspector {
    /// Starts a dialogue over the links that are cut, and reads it at the runner.
    pub(super) async fn start(links: &Remote, runner: &Remote) -> Result<Self, String> {
        let mut dialogue = Dialogue::start(Some(links), DialectName::Claude).await?;
        dialogue.send_each().await?;
        let (stop, stopped) = watch::channel(false);
        let reading = tokio::spawn(read(runner.clone(), dialogue.id(), stopped));
        Ok(Self {
            dialogue,
            stop,
            reading,
        })
    }

    /// Ends the reader, and reports what it found.
    pub(super) async fn finish(self, report: &mut Report) -> Result<(), String> {
        self.stop.send_replace(true);
        let read = within("the inspector's end", self.reading).await?;
        match read.map_err(|error| error.to_string())? {
            Ok(readings) => report.note(format!("{readings} readings of the inspector were equal")),
            Err(why) => report.violation(format!("inspector: {why}")),
        }
        self.dialogue.end().await;
        Ok(())
    }
}

/// Reads each part again and again, and compares it with the first reading. Returns the number of readings.
async fn read(
    runner: Remote,
    id: SessionId,
    stopped: watch::Receiver<bool>,
) -> Result<u64, String> {
    let mut first: [Option<Bytes>; PARTS.len()] = Default::default();
    let mut readings = 0;
    while !*stopped.borrow() {
        for (part, first) in PARTS.into_iter().zip(&mut first) {
            let path = format!("/api/sessions/{id}/{part}");
            let body = within(part, answer(&runner, &path)).await?;
            let expected = first.get_or_insert_with(|| body.clone());
            if *expected != body {
                return Err(format!(
                    "{part} differs from its first reading: {}",
                    what_differs(&body, expected)
                ));
            }
            readings += 1;
        }
        sleep(PAUSE).await;
    }
    Ok(readings)
}

/// Says where a reading differs from the first one.
fn what_differs(now: &[u8], first: &[u8]) -> String {
    match (serde_json::from_slice(now), serde_json::from_slice(first)) {
        (Ok(now), Ok(first)) => {
            difference(&now, &first, "").unwrap_or_else(|| "only in its bytes".into())
        }
        (now, first) => format!("{:?}, {:?}", now.err(), first.err()),
    }
}

/// Repeats a request until it succeeds: the runner is killed now and then.
async fn answer(runner: &Remote, path: &str) -> Bytes {
    loop {
        match runner.ask("GET", path, Bytes::new()).await {
            Ok((200, body)) => return body,
            _ => sleep(PAUSE).await,
        }
    }
}
