//! The receipt of a prompt.

use tokio::sync::watch;

use crate::machine::ReceiptState;

/// The receipt of a prompt: follows its delivery and its answer.
#[derive(Clone, Debug)]
pub struct Receipt {
    pub(super) uuid: String,
    pub(super) state: watch::Receiver<ReceiptState>,
}

impl Receipt {
    /// Returns the prompt's uuid.
    #[must_use]
    pub fn uuid(&self) -> &str {
        &self.uuid
    }

    /// Returns the prompt's current state.
    #[must_use]
    pub fn state(&self) -> ReceiptState {
        *self.state.borrow()
    }

    /// Waits until the prompt has reached `state`, or a final one. Returns its state then.
    ///
    /// Cancel safe.
    pub async fn reached(&mut self, state: ReceiptState) -> ReceiptState {
        let reached = self
            .state
            .wait_for(|now| *now >= state || now.is_final())
            .await
            .map(|it| *it);
        reached.unwrap_or(ReceiptState::Unknown)
    }

    /// Waits until the prompt's state is final, and returns it.
    ///
    /// Cancel safe.
    pub async fn settled(&mut self) -> ReceiptState {
        self.reached(ReceiptState::Answered).await
    }
}
