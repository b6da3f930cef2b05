//! Prompts, their receipts, and interrupts.

use std::sync::Arc;

use crate::cancellation::{Cancellation, cancellable};
use crate::core;
use crate::counters::ObjectKind;
use crate::error::Result;
use crate::mirror::{mirror, mirror_into};
use crate::runtime::{Tracked, abortable, call};

/// A prompt.
#[derive(Clone, Debug, uniffi::Record)]
pub struct Prompt {
    /// The parts of the prompt, in order.
    pub parts: Vec<PromptPart>,
    /// The prompt's UUID; a new one when absent.
    #[uniffi(default = None)]
    pub uuid: Option<String>,
    /// When the agent handles the prompt; in the order of arrival when absent.
    #[uniffi(default = None)]
    pub priority: Option<Priority>,
    /// Whether a leading slash is text and not a command.
    #[uniffi(default = false)]
    pub is_verbatim: bool,
    /// Whether to add the prompt to the conversation without an answer.
    #[uniffi(default = false)]
    pub is_append_only: bool,
}

/// A part of a prompt.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum PromptPart {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// The image's data.
        source: SourceData,
    },
    /// A document.
    Document {
        /// The document's data.
        source: SourceData,
        /// The document's title.
        title: Option<String>,
    },
}

/// The data of an image or a document.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum SourceData {
    /// Inline bytes.
    Base64 {
        /// The media type, such as `image/png`.
        media_type: String,
        /// The bytes in Base64.
        data: String,
    },
    /// Inline text.
    Text {
        /// The text.
        text: String,
    },
    /// A URL that the API fetches.
    Url {
        /// The URL.
        url: String,
    },
}

mirror_into! {
    /// When the agent handles a prompt.
    Priority = core::Priority {
        /// At once, interrupting the current turn.
        Now,
        /// Before other waiting prompts.
        Next,
        /// After other waiting prompts.
        Later,
    }
}

/// A change of a prompt that waits in the queue: one with the priority `Later`, until the agent is idle.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum QueueChange {
    /// New content.
    Replace {
        /// The parts of the prompt, in order.
        parts: Vec<PromptPart>,
    },
    /// A place before another prompt that waits.
    MoveBefore {
        /// The other prompt's UUID.
        uuid: String,
    },
    /// A place after another prompt that waits.
    MoveAfter {
        /// The other prompt's UUID.
        uuid: String,
    },
    /// The prompt is dropped.
    Cancel,
}

mirror! {
    /// The state of a prompt. It only moves forward.
    ReceiptState = core::ReceiptState, else Unknown {
        /// The session has queued the prompt.
        Accepted,
        /// The prompt was written to the agent's input.
        Written,
        /// The agent has echoed the prompt: it is part of the conversation.
        Echoed,
        /// A turn about the prompt is running.
        Started,
        /// A turn about the prompt has ended.
        Answered,
        /// The prompt was answered together with a later one.
        Merged,
        /// The agent knows the prompt's UUID from an earlier run and does not answer it again.
        Duplicate,
        /// The agent cancelled the prompt.
        Cancelled,
        /// The process ended before the prompt's state was known.
        Unknown,
    }
}

/// What an interrupt stops.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum InterruptScope {
    /// The current turn. Waiting prompts are handled next.
    Turn,
    /// The current turn and the waiting prompts.
    TurnAndQueued,
    /// The current turn and the background tasks that are open.
    TurnAndTasks,
    /// One background task. The turn continues.
    OneTask {
        /// The task's `task_id`.
        task_id: String,
    },
}

/// What an interrupt stopped.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct InterruptReport {
    /// The UUIDs of the prompts that still wait.
    pub still_queued: Vec<String>,
    /// The UUIDs of the prompts that were cancelled.
    pub cancelled: Vec<String>,
    /// The ids of the tasks that ended with the turn, or were asked to stop.
    pub tasks: Vec<String>,
}

/// Tracks the state of one prompt.
#[derive(uniffi::Object)]
pub struct Receipt {
    receipt: Tracked<core::Receipt>,
}

impl std::fmt::Debug for Receipt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Receipt")
            .field(&self.receipt.uuid())
            .finish()
    }
}

impl Receipt {
    pub(crate) fn new(receipt: core::Receipt) -> Arc<Self> {
        Arc::new(Self {
            receipt: Tracked::new(ObjectKind::Receipt, receipt),
        })
    }
}

#[uniffi::export]
impl Receipt {
    /// Returns the prompt's UUID.
    pub fn uuid(&self) -> Result<String> {
        call(|| Ok(self.receipt.uuid().to_owned()))
    }

    /// Returns the prompt's current state.
    pub fn state(&self) -> Result<ReceiptState> {
        call(|| Ok(self.receipt.state().into()))
    }

    /// Waits until the prompt reaches `state` or its final state, and returns the state it is in.
    ///
    /// # Errors
    ///
    /// `Cancelled` if `cancellation` is cancelled. The prompt is not affected.
    #[uniffi::method(default(cancellation = None))]
    pub async fn wait_for(
        &self,
        state: ReceiptState,
        cancellation: Option<Arc<Cancellation>>,
    ) -> Result<ReceiptState> {
        let mut receipt = core::Receipt::clone(&self.receipt);
        abortable(cancellable(cancellation, async move {
            Ok(receipt.reached(state.into()).await.into())
        }))
        .await
    }
}

impl From<ReceiptState> for core::ReceiptState {
    fn from(state: ReceiptState) -> Self {
        match state {
            ReceiptState::Accepted => Self::Accepted,
            ReceiptState::Written => Self::Written,
            ReceiptState::Echoed => Self::Echoed,
            ReceiptState::Started => Self::Started,
            ReceiptState::Answered => Self::Answered,
            ReceiptState::Merged => Self::Merged,
            ReceiptState::Duplicate => Self::Duplicate,
            ReceiptState::Cancelled => Self::Cancelled,
            ReceiptState::Unknown => Self::Unknown,
        }
    }
}

impl From<InterruptScope> for core::InterruptScope {
    fn from(scope: InterruptScope) -> Self {
        match scope {
            InterruptScope::Turn => Self::Turn,
            InterruptScope::TurnAndQueued => Self::TurnAndQueued,
            InterruptScope::TurnAndTasks => Self::TurnAndTasks,
            InterruptScope::OneTask { task_id } => Self::Task(task_id),
        }
    }
}

impl From<core::InterruptReport> for InterruptReport {
    fn from(it: core::InterruptReport) -> Self {
        Self {
            still_queued: it.still_queued,
            cancelled: it.cancelled,
            tasks: it.tasks,
        }
    }
}

impl From<Prompt> for core::Prompt {
    fn from(prompt: Prompt) -> Self {
        Self {
            parts: prompt.parts.into_iter().map(Into::into).collect(),
            uuid: prompt.uuid,
            priority: prompt.priority.map(Into::into),
            verbatim: prompt.is_verbatim,
            append_only: prompt.is_append_only,
        }
    }
}

impl From<PromptPart> for core::PromptPart {
    fn from(part: PromptPart) -> Self {
        match part {
            PromptPart::Text { text } => Self::Text(text),
            PromptPart::Image { source } => Self::Image(source.into()),
            PromptPart::Document { source, title } => Self::Document {
                source: source.into(),
                title,
            },
        }
    }
}

impl From<QueueChange> for core::QueueChange {
    fn from(change: QueueChange) -> Self {
        match change {
            QueueChange::Replace { parts } => {
                Self::Replace(parts.into_iter().map(Into::into).collect())
            }
            QueueChange::MoveBefore { uuid } => Self::MoveBefore(uuid),
            QueueChange::MoveAfter { uuid } => Self::MoveAfter(uuid),
            QueueChange::Cancel => Self::Cancel,
        }
    }
}

impl From<SourceData> for core::Source {
    fn from(source: SourceData) -> Self {
        match source {
            SourceData::Base64 { media_type, data } => Self::Base64 { media_type, data },
            SourceData::Text { text } => Self::Text(text),
            SourceData::Url { url } => Self::Url(url),
        }
    }
}
