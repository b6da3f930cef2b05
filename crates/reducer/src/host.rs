//! What the host knows and the stream does not say.

/// The host's clock at the moment that something came in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Milliseconds since an epoch of the host's choice; kept up to 2⁴⁸, some 8,900 years.
    pub at_ms: u64,
}

/// What the host knows and the stream does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostEvent<'a> {
    /// A process runs. Offsets count from 0 again when it is not the first one, as after a resume.
    ProcessStarted,
    /// A prompt was written to the agent.
    PromptSent {
        /// The uuid it carries, by which its echo is known.
        uuid: Option<&'a str>,
        /// What the user said.
        text: &'a str,
    },
    /// No result will come of a prompt: the agent knows it from before.
    PromptDropped {
        /// The uuid it carries.
        uuid: &'a str,
    },
    /// A permission request was answered. The first answer counts.
    PermissionAnswered {
        /// The request.
        request_id: &'a str,
        /// The answer.
        decision: HostDecision<'a>,
    },
    /// An interrupt was asked for.
    InterruptRequested,
    /// A part of the stream was lost, in bytes: `from` is the first that is missing, `to` the first
    /// that is there again.
    Gap {
        /// First missing byte.
        from: u64,
        /// First byte behind the gap.
        to: u64,
    },
    /// A lost connection could not be restored.
    ReconnectFailed {
        /// Why, and what to do next.
        reason: &'a str,
    },
    /// The agent was silent for too long.
    SessionTimeout {
        /// How long, and in which phase.
        reason: &'a str,
    },
    /// The process is gone; the same as [`Transcript::end`](crate::Transcript::end).
    ProcessEnded {
        /// How, such as `exit code 0` or `signal 9`.
        exit: &'a str,
        /// Whether the host asked for it.
        expected: bool,
    },
}

/// The host's answer to a permission request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostDecision<'a> {
    /// The tool may run.
    Allow {
        /// What runs instead of the model's input: a JSON object.
        updated_input: Option<&'a str>,
    },
    /// The tool may not run.
    Deny,
}

/// Why no more of the stream will come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End<'a> {
    /// A recording is over.
    Recording,
    /// The process is gone.
    Process {
        /// How, such as `exit code 0` or `signal 9`.
        exit: &'a str,
        /// Whether the host asked for it. When it did not, an `unexpected_exit` entry says so.
        expected: bool,
    },
}
