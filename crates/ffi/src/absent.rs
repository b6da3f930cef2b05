//! What a build without the feature `full` has in place of the core's types that it lacks: types without a
//! value, so that the calls on them compile to nothing. The modules that export such calls complete them.

macro_rules! without_values {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        $($(#[$doc])* #[derive(Clone, Debug)] pub(crate) enum $name {})*
    };
}

without_values! {
    /// A runner.
    Remote,
    /// A client of a runner's hooks.
    HookFeed,
    /// A server of hooks.
    HookServer,
    /// The configuration of a server of hooks.
    HookConfiguration,
    /// Passes the hooks of a session at a runner to a server.
    HookRelay,
    /// A kind of hook event.
    HookKind,
    /// A stream of hook events.
    HookSubscription,
    /// A stream of hook events that wait for a decision.
    HookQuestions,
    /// A hook event that waits for a decision.
    HookQuestion,
    /// A decision.
    HookReply,
    /// Runs commands in a visible terminal.
    TerminalExecutor,
    /// A command of an executor.
    ExecutorCommand,
    /// A terminal of the library.
    PtyTerminal,
}

impl HookKind {
    pub(crate) const COMMON: [Self; 0] = [];

    pub(crate) fn name(&self) -> &str {
        match *self {}
    }
}
