//! What becomes of one prompt.

use tokio::sync::watch;

use crate::machine::ReceiptState;

/// What becomes of one prompt.
#[derive(Clone, Debug)]
pub struct Receipt {
    pub(super) uuid: String,
    pub(super) state: watch::Receiver<ReceiptState>,
}

impl Receipt {
    /// The prompt's uuid.
    #[must_use]
    pub fn uuid(&self) -> &str {
        &self.uuid
    }

    /// How far the prompt has come.
    #[must_use]
    pub fn state(&self) -> ReceiptState {
        *self.state.borrow()
    }

    /// Waits until the prompt has come at least this far, or will not come further; gives where it
    /// stands.
    pub async fn reached(&mut self, state: ReceiptState) -> ReceiptState {
        let there = self
            .state
            .wait_for(|now| *now >= state || now.is_final())
            .await
            .map(|it| *it);
        there.unwrap_or(ReceiptState::Unknown)
    }

    /// Waits until nothing more will come of the prompt.
    pub async fn settled(&mut self) -> ReceiptState {
        self.reached(ReceiptState::Answered).await
    }
}
