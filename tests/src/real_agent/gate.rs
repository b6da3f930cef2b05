//! A named point at which scripted work waits for the test.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

/// A point at which scripted work waits until the test opens it.
///
/// Both states are sticky: [`Gate::reached`] returns at once after the first arrival, and work that
/// arrives after [`Gate::open`] passes. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate {
    reached: watch::Sender<bool>,
    opened: watch::Sender<bool>,
}

impl Gate {
    pub(crate) fn closed() -> Self {
        Self {
            reached: watch::Sender::new(false),
            opened: watch::Sender::new(false),
        }
    }

    /// Waits until scripted work has reached this gate.
    pub async fn reached(&self) {
        wait_until_set(&self.reached).await;
    }

    /// Releases all current and future waiters.
    pub fn open(&self) {
        self.opened.send_replace(true);
    }

    pub(crate) async fn pass(&self) {
        self.reached.send_replace(true);
        wait_until_set(&self.opened).await;
    }
}

async fn wait_until_set(flag: &watch::Sender<bool>) {
    let mut receiver = flag.subscribe();
    receiver
        .wait_for(|&is_set| is_set)
        .await
        .expect("the sender is a field of the gate");
}

/// The gates of one server, created on first use.
#[derive(Clone, Debug, Default)]
pub(super) struct Gates(Arc<Mutex<HashMap<String, Gate>>>);

impl Gates {
    pub(super) fn named(&self, name: &str) -> Gate {
        let mut gates = self.0.lock();
        gates
            .entry(name.to_owned())
            .or_insert_with(Gate::closed)
            .clone()
    }
}
