//! A whole transcript on its way to readers, in parts. Readers that begin at about the same time share it: many do so
//! after a restart of the daemon, since their positions are of another fold.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bowline_reducer::ChangeParts;
use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::cursor::Position;
use super::event::WrittenItems;
use super::item::{SessionHead, part_items};
use super::source::BATCH;

/// How long further readers may begin with a transcript. Later ones begin with a newer one.
const JOIN_WINDOW: Duration = Duration::from_secs(1);

/// A transcript that is too long for one batch.
#[derive(Debug)]
pub(super) struct WholeTranscript {
    parts: ChangeParts,
    /// Where its readers are afterwards.
    to: Position,
    opened: Instant,
    kept: Mutex<KeptParts>,
    /// Held by the reader that writes a part for all.
    writing: AsyncMutex<()>,
}

/// The newest parts that were written, by number.
#[derive(Debug, Default)]
struct KeptParts {
    parts: BTreeMap<usize, Arc<WholePart>>,
    bytes: usize,
}

/// A part of a transcript.
#[derive(Debug)]
pub(super) struct WholePart {
    pub(super) written: WrittenItems,
    pub(super) is_last: bool,
}

/// A reader of a whole transcript.
#[derive(Debug)]
pub(super) struct WholeReader {
    whole: Arc<WholeTranscript>,
    /// Number of its next part.
    next: usize,
}

impl WholeTranscript {
    pub(super) fn new(parts: ChangeParts, to: Position) -> Self {
        Self {
            parts,
            to,
            opened: Instant::now(),
            kept: Mutex::default(),
            writing: AsyncMutex::default(),
        }
    }

    /// Returns whether further readers may begin with it, and continue in a fold that has reached a position.
    pub(super) fn leads_to(&self, end: Position) -> bool {
        end.instance == self.to.instance && self.is_recent()
    }

    /// Returns whether it is new enough for further readers.
    fn is_recent(&self) -> bool {
        self.opened.elapsed() < JOIN_WINDOW
    }

    /// Returns a part, which is written off the reactor if no reader has done so. Cancel safe.
    async fn part(
        self: &Arc<Self>,
        number: usize,
        head: &SessionHead,
        limit: usize,
    ) -> Arc<WholePart> {
        if let Some(known) = self.known(number) {
            return known;
        }
        let _writing = self.writing.lock().await;
        if let Some(known) = self.known(number) {
            return known;
        }
        let (whole, of) = (Arc::clone(self), head.clone());
        let written = spawn_blocking(move || whole.write(number, &of)).await;
        // The runtime may be shutting down.
        let part = Arc::new(written.unwrap_or_else(|_| self.write(number, head)));
        self.kept.lock().keep(number, &part, limit);
        part
    }

    fn known(&self, number: usize) -> Option<Arc<WholePart>> {
        self.kept.lock().parts.get(&number).cloned()
    }

    fn write(&self, number: usize, head: &SessionHead) -> WholePart {
        let from = number.saturating_mul(BATCH);
        let items = part_items(&self.parts, from, BATCH, head);
        let is_last = from.saturating_add(BATCH) >= self.parts.count();
        // A reader that loses its connection before the end begins again.
        let to = if is_last { self.to } else { Position::NONE };
        WholePart {
            written: WrittenItems::new(items, Position::NONE, to),
            is_last,
        }
    }
}

impl KeptParts {
    /// Keeps a part, and forgets the first ones over the limit.
    fn keep(&mut self, number: usize, part: &Arc<WholePart>, limit: usize) {
        self.bytes += part.written.bytes;
        self.parts.insert(number, Arc::clone(part));
        while self.bytes > limit
            && let Some((_, first)) = self.parts.pop_first()
        {
            self.bytes -= first.written.bytes;
        }
    }
}

impl WholeReader {
    pub(super) const fn new(whole: Arc<WholeTranscript>) -> Self {
        Self { whole, next: 0 }
    }

    /// Returns where the reader is after the last part.
    pub(super) fn to(&self) -> Position {
        self.whole.to
    }

    /// Returns the next part. Parts of up to `limit` bytes are kept for other readers. Cancel safe.
    pub(super) async fn next_part(&mut self, head: &SessionHead, limit: usize) -> Arc<WholePart> {
        let is_shared = Arc::strong_count(&self.whole) > 1 || self.whole.is_recent();
        let limit = if is_shared { limit } else { 0 };
        let part = self.whole.part(self.next, head, limit).await;
        self.next += 1;
        part
    }
}

#[cfg(test)]
impl WholeReader {
    /// Returns whether another reader has the same transcript.
    pub(super) fn is_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.whole, &other.whole)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::sync::mpsc::channel;
    use std::task::Poll;

    use bowline_reducer::{HostEvent, Meta, Transcript};
    use bowline_transport::SessionId;

    use super::*;

    const LIMIT: usize = 1 << 20;

    /// A transcript of several parts, and its readers.
    fn readers(count: usize) -> (SessionHead, Vec<WholeReader>) {
        let mut transcript = Transcript::new();
        for _ in 0..3 * BATCH {
            let prompt = HostEvent::PromptSent {
                uuid: None,
                text: "hello",
            };
            transcript.apply_host(prompt, Meta::default());
        }
        let to = Position {
            instance: 7,
            revision: transcript.revision().number(),
        };
        let whole = Arc::new(WholeTranscript::new(transcript.change_parts(), to));
        let readers = (0..count).map(|_| WholeReader::new(Arc::clone(&whole)));
        (
            SessionHead::anonymous(SessionId::random()),
            readers.collect(),
        )
    }

    fn text(part: &WholePart) -> &[u8] {
        part.written.events.text()
    }

    #[tokio::test]
    async fn readers_share_the_text_of_each_part() {
        let (head, mut readers) = readers(2);
        let mut count = 0;
        loop {
            let mut parts = Vec::new();
            for reader in &mut readers {
                parts.push(reader.next_part(&head, LIMIT).await);
            }
            assert!(std::ptr::eq(text(&parts[0]), text(&parts[1])));
            assert!(Arc::ptr_eq(&parts[0], &parts[1]));
            count += 1;
            if parts[0].is_last {
                break;
            }
        }
        assert!(count >= 3, "{count} parts");
    }

    #[tokio::test]
    async fn slow_reader_gets_the_same_text_once_it_is_forgotten() {
        let (head, mut readers) = readers(2);
        let mut slow = readers.pop().unwrap();
        let mut fast = readers.pop().unwrap();
        loop {
            let ahead = fast.next_part(&head, 1).await;
            let part = slow.next_part(&head, 1).await;
            assert_eq!(text(&ahead), text(&part));
            assert!(!Arc::ptr_eq(&ahead, &part), "nothing is kept");
            if part.is_last {
                break;
            }
        }
        assert_eq!(fast.whole.kept.lock().bytes, 0);
    }

    /// While the only thread for blocking work is taken, a part that is written on it waits; one that is written on
    /// the reactor would not.
    #[test]
    fn part_is_written_off_the_reactor() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .max_blocking_threads(1)
            .build()
            .expect("a runtime");
        let (release, released) = channel::<()>();
        runtime.spawn_blocking(move || released.recv());
        runtime.block_on(async {
            let (head, mut readers) = readers(1);
            let mut part = pin!(readers[0].next_part(&head, LIMIT));
            let is_pending =
                poll_fn(|context| Poll::Ready(part.as_mut().poll(context).is_pending()));
            assert!(is_pending.await);
            drop(release);
            assert!(!part.await.is_last);
        });
    }

    #[tokio::test(start_paused = true)]
    async fn later_reader_begins_with_a_newer_transcript() {
        let (_, readers) = readers(1);
        let whole = &readers[0].whole;
        assert!(whole.leads_to(whole.to));
        assert!(!whole.leads_to(Position::NONE), "another fold");
        tokio::time::advance(JOIN_WINDOW).await;
        assert!(!whole.leads_to(whole.to));
    }
}
