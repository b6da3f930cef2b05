//! Prompts, what becomes of them, and interrupts.

use std::sync::Arc;

use crate::core;

use crate::cancellation::{Cancellation, unless};
use crate::counters::Kind;
use crate::error::Outcome;
use crate::runtime::{Held, call, wait};

/// What the user says.
#[derive(Clone, Debug, uniffi::Record)]
pub struct Prompt {
    /// Its parts, in order.
    pub parts: Vec<PromptPart>,
    /// Names it; a fresh UUID when absent.
    #[uniffi(default = None)]
    pub uuid: Option<String>,
    /// When the agent should take it up.
    #[uniffi(default = None)]
    pub priority: Option<Priority>,
    /// Take a leading slash for a text and not for a command.
    #[uniffi(default = false)]
    pub is_verbatim: bool,
    /// Add it to the conversation without an answer.
    #[uniffi(default = false)]
    pub is_append_only: bool,
}

/// A part of a prompt.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum PromptPart {
    /// A text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// Where it is.
        source: SourceData,
    },
    /// A document.
    Document {
        /// Where it is.
        source: SourceData,
        /// Its title.
        title: Option<String>,
    },
}

/// Where an image or a document is.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum SourceData {
    /// Here, in base 64.
    Base64 {
        /// Such as `image/png`.
        media_type: String,
        /// The bytes in base 64.
        data: String,
    },
    /// Here, as a text.
    Text {
        /// The text.
        text: String,
    },
    /// At an address that the API fetches.
    Url {
        /// The address.
        url: String,
    },
}

/// When the agent should take up a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum Priority {
    /// At once: the running turn is pre-empted.
    Now,
    /// Next.
    Next,
    /// Behind what waits already.
    Later,
}

/// How far a prompt has come. It only moves forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ReceiptState {
    /// The session has taken it.
    Accepted,
    /// The kernel has taken its line.
    Written,
    /// The agent has repeated it: it is in the conversation.
    Echoed,
    /// A turn about it runs.
    Started,
    /// A turn about it has ended; the result says how.
    Answered,
    /// It was answered together with a later one.
    Merged,
    /// The agent knows its uuid from an earlier run: it repeats the prompt and does not answer it.
    Duplicate,
    /// The agent gave it up unanswered.
    Cancelled,
    /// The process ended before the agent said what became of it.
    Unknown,
}

/// How much an interrupt stops.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum InterruptScope {
    /// The running turn. Prompts that wait run right after it.
    Turn,
    /// The running turn and the prompts that wait.
    TurnAndQueued,
    /// The running turn, and the background tasks that are open then.
    TurnAndTasks,
    /// One task. The turn goes on.
    OneTask {
        /// Its `task_id`.
        task_id: String,
    },
}

/// What an interrupt has stopped.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Interrupted {
    /// Prompts that wait still, by uuid.
    pub still_queued: Vec<String>,
    /// Prompts that were given up, by uuid.
    pub cancelled: Vec<String>,
    /// Tasks that were asked to end, by id.
    pub tasks: Vec<String>,
}

/// What becomes of one prompt.
#[derive(uniffi::Object)]
pub struct Receipt {
    receipt: Held<core::Receipt>,
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
            receipt: Held::new(Kind::Receipt, receipt),
        })
    }
}

#[uniffi::export]
impl Receipt {
    /// The prompt's uuid.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn uuid(&self) -> Outcome<String> {
        call(|| Ok(self.receipt.uuid().to_owned()))
    }

    /// How far the prompt has come.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn state(&self) -> Outcome<ReceiptState> {
        call(|| Ok(self.receipt.state().into()))
    }

    /// Waits until the prompt has come at least this far, or will not come further; gives where it
    /// stands.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Cancelled`](crate::BowlineError::Cancelled).
    #[uniffi::method(default(cancellation = None))]
    pub async fn reached(
        &self,
        state: ReceiptState,
        cancellation: Option<Arc<Cancellation>>,
    ) -> Outcome<ReceiptState> {
        let mut receipt = core::Receipt::clone(&self.receipt);
        wait(unless(cancellation, async move {
            Ok(receipt.reached(state.into()).await.into())
        }))
        .await
    }
}

impl From<core::ReceiptState> for ReceiptState {
    fn from(state: core::ReceiptState) -> Self {
        use core::ReceiptState as Core;
        match state {
            Core::Accepted => Self::Accepted,
            Core::Written => Self::Written,
            Core::Echoed => Self::Echoed,
            Core::Started => Self::Started,
            Core::Answered => Self::Answered,
            Core::Merged => Self::Merged,
            Core::Duplicate => Self::Duplicate,
            Core::Cancelled => Self::Cancelled,
            _ => Self::Unknown,
        }
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

impl From<core::Interrupted> for Interrupted {
    fn from(it: core::Interrupted) -> Self {
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
            priority: prompt.priority.map(|priority| match priority {
                Priority::Now => core::Priority::Now,
                Priority::Next => core::Priority::Next,
                Priority::Later => core::Priority::Later,
            }),
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

impl From<SourceData> for core::Source {
    fn from(source: SourceData) -> Self {
        match source {
            SourceData::Base64 { media_type, data } => Self::Base64 { media_type, data },
            SourceData::Text { text } => Self::Text(text),
            SourceData::Url { url } => Self::Url(url),
        }
    }
}
