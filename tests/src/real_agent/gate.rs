//! A named point where the rig stops until the test says go on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

/// A point that scripted work reaches, and leaves only when the test opens it.
///
/// Both states are sticky: [`Gate::reached`] returns at once after the first arrival, and whoever
/// arrives after [`Gate::open`] passes through. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate {
    reached: watch::Sender<bool>,
    opened: watch::Sender<bool>,
}

impl Gate {
    fn closed() -> Self {
        Self {
            reached: watch::Sender::new(false),
            opened: watch::Sender::new(false),
        }
    }

    /// Waits until scripted work stands at this gate, or has passed it.
    pub async fn reached(&self) {
        set(&self.reached).await;
    }

    /// Lets through all who wait here, and all who come later.
    pub fn open(&self) {
        self.opened.send_replace(true);
    }

    pub(super) async fn pass(&self) {
        self.reached.send_replace(true);
        set(&self.opened).await;
    }
}

async fn set(flag: &watch::Sender<bool>) {
    let mut receiver = flag.subscribe();
    receiver
        .wait_for(|&is_set| is_set)
        .await
        .expect("the gate itself holds the sender");
}

/// The gates of one server, made when first named.
#[derive(Clone, Debug, Default)]
pub(super) struct Gates(Arc<Mutex<HashMap<String, Gate>>>);

impl Gates {
    pub(super) fn named(&self, name: &str) -> Gate {
        let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        gates
            .entry(name.to_owned())
            .or_insert_with(Gate::closed)
            .clone()
    }
}
