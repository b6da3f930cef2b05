//! Events that the host reports because the stream does not contain them.

use crate::model::{Question, QueuedPrompt, RequestOption};

/// Arrival time of a line or host event, by the host's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Milliseconds since an epoch of the host's choice.
    pub at_ms: u64,
}

/// An event that the stream does not contain. See
/// [`Transcript::apply_host`](crate::Transcript::apply_host).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostEvent<'a> {
    /// The lines of a past conversation follow; see [`Transcript::apply_history`](crate::Transcript::apply_history).
    HistoryStarted,
    /// The past conversation is complete; the session's own stream begins at offset 0.
    HistoryEnded,
    /// A process started. After an earlier process ended, as for a resume, offsets restart at 0.
    ProcessStarted,
    /// A prompt was written to the agent.
    PromptSent {
        /// Its uuid, by which the echo is matched.
        uuid: Option<&'a str>,
        /// Its text.
        text: &'a str,
    },
    /// The prompts that wait at the host changed.
    QueueChanged {
        /// Those that wait, in the order in which they will be sent.
        waiting: &'a [QueuedPrompt],
    },
    /// A prompt will get no result, since the agent knows it from before.
    PromptDropped {
        /// Its uuid.
        uuid: &'a str,
    },
    /// A permission request was answered. The first answer wins.
    PermissionAnswered {
        /// The request.
        request_id: &'a str,
        /// The answer.
        decision: HostDecision<'a>,
    },
    /// A client is known to have answered a permission request.
    PermissionAttributed {
        /// The request.
        request_id: &'a str,
        /// The client's name, or `policy`.
        who: &'a str,
        /// What it decided by, such as a rule, if it is known.
        how: Option<&'a str>,
    },
    /// The host itself asks its user something, such as what to do at a limit.
    HostAsked {
        /// Id of the request.
        request_id: &'a str,
        /// What asks, in place of a tool.
        tool_name: &'a str,
        /// Why, as the reason of the status.
        reason: &'a str,
        /// The question.
        question: &'a Question,
        /// The answers to choose from.
        options: &'a [RequestOption],
    },
    /// An interrupt was requested.
    InterruptRequested,
    /// Part of the stream was lost.
    Gap {
        /// Offset of the first missing byte.
        from: u64,
        /// Offset of the first byte after the gap.
        to: u64,
    },
    /// The stream is damaged or cut: part of it is missing, of unknown length.
    Damaged {
        /// What is damaged, and where.
        reason: &'a str,
    },
    /// A lost connection was not restored. Until [`Reconnecting`](Self::Reconnecting), the reason of the
    /// status begins with `disconnected: `.
    ReconnectFailed {
        /// The cause and the remedy.
        reason: &'a str,
    },
    /// A connection that was given up is being restored, or is up.
    Reconnecting,
    /// The agent produced no output for too long.
    SessionTimeout {
        /// For how long, and in which phase.
        reason: &'a str,
    },
    /// An answer that a rule or a timeout gave to a permission request was not written to the agent.
    AnswerUndelivered {
        /// Which request, what decided it, and the remedy.
        reason: &'a str,
    },
    /// The process exited; same as [`Transcript::end`](crate::Transcript::end).
    ProcessEnded {
        /// Its exit status, such as `exit code 0` or `signal 9`.
        exit: &'a str,
        /// Whether the host requested it.
        expected: bool,
    },
}

/// The host's answer to a permission request. See [`HostEvent::PermissionAnswered`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostDecision<'a> {
    /// The tool may run.
    Allow {
        /// Replaces the model's input: a JSON object.
        updated_input: Option<&'a str>,
    },
    /// The tool may not run.
    Deny,
}

/// Why the stream ended. See [`Transcript::end`](crate::Transcript::end).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End<'a> {
    /// A recording is over.
    Recording,
    /// The process exited.
    Process {
        /// Its exit status, such as `exit code 0` or `signal 9`.
        exit: &'a str,
        /// Whether the host requested it. If not, an `unexpected_exit` entry is added.
        expected: bool,
    },
}
