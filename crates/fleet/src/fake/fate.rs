//! What happens to the requests of a connection.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::sleep;

use super::FakeBus;
use crate::bus::BusError;

/// How long a request whose reply never arrives waits for it.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// What happens to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is performed and replied to after this time.
    Answered(Duration),
    /// It is performed, and the reply is lost.
    ReplyLost,
    /// It is lost.
    Lost,
    /// It is performed after this time, when the reply is not waited for any more.
    Late(Duration),
    /// It is refused.
    Refused(BusError),
}

type Fates = Box<dyn FnMut(&str) -> Fate + Send>;

/// The state of one connection.
pub(super) struct FakeConnection {
    connects: watch::Sender<u64>,
    is_cut: AtomicBool,
    fates: Mutex<Option<Fates>>,
}

impl fmt::Debug for FakeConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeConnection").finish_non_exhaustive()
    }
}

impl Default for FakeConnection {
    fn default() -> Self {
        Self {
            connects: watch::Sender::new(1),
            is_cut: AtomicBool::new(false),
            fates: Mutex::new(None),
        }
    }
}

impl FakeConnection {
    pub(super) fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
    }

    pub(super) fn connect(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
        self.connects.send_modify(|it| *it += 1);
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::SeqCst)
    }

    pub(super) fn connects(&self) -> watch::Receiver<u64> {
        self.connects.subscribe()
    }

    pub(super) fn set_fates(&self, fates: Fates) {
        *self.fates.lock() = Some(fates);
    }

    fn fate(&self, name: &str) -> Fate {
        match &mut *self.fates.lock() {
            Some(fates) => fates(name),
            None => Fate::Answered(Duration::ZERO),
        }
    }
}

impl FakeBus {
    /// Performs a request as its fate is. One that the broker has received is performed even if the connection is cut
    /// meanwhile.
    pub(super) async fn perform<T: Send + 'static>(
        &self,
        name: &str,
        request: impl FnOnce(&Self) -> Result<T, BusError> + Send + 'static,
    ) -> Result<T, BusError> {
        drop(self.broker()?);
        match self.connection.fate(name) {
            Fate::Answered(Duration::ZERO) => return request(self),
            Fate::Answered(after) => {
                sleep(after).await;
                drop(self.broker()?);
                return request(self);
            }
            Fate::Refused(error) => return Err(error),
            Fate::ReplyLost => drop(request(self)),
            Fate::Late(after) => {
                let bus = self.clone();
                tokio::spawn(async move {
                    sleep(REPLY_TIMEOUT + after).await;
                    drop(request(&bus));
                });
            }
            Fate::Lost => {}
        }
        sleep(REPLY_TIMEOUT).await;
        Err(BusError::Unanswered)
    }
}
