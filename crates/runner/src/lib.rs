//! Sessions that outlive their hosts: one process per session, and a daemon that serves them over
//! REST, WebSocket and gRPC.
//!
//! Each session is owned by a shim, a small process that holds the child, its output log and its
//! process tree. Clients connect and disconnect, and the daemon restarts, without effect on the
//! session. Lost output is always reported as a gap, and messages of a superseded connection are
//! ignored.
//!
//! # Modules
//!
//! | module | contents |
//! |---|---|
//! | `serve` | the daemon: configuration, listeners, TLS, start and stop |
//! | `api` | the endpoints: REST, frames over WebSocket, gRPC, the web terminal, ACP for editors |
//! | `app_state` | state shared by all endpoints: limits, metrics, tickets |
//! | `auth` | authentication of requests: token, tickets, `Host` and `Origin` checks |
//! | `conversations` | the dialogue sessions that the daemon drives |
//! | `current_request` | the id of the request that a task serves |
//! | `inspection` | what a session consists of, for its inspection: lines, spans of time, search, parts of a transcript |
//! | `session_fold` | the fold of a session's output and input |
//! | `recordings` | recordings as sessions that have ended |
//! | `conversation_files` | the files of a conversation as one archive, to continue it on another machine |
//! | `other_runners` | the sessions of other runners, that requests are forwarded to |
//! | `read_room` | how much memory the next read of a connection reserves |
//! | `sessions` | the sessions of a state folder: create, list, terminate |
//! | `shim` | the process of one session, and its folder |
//! | `session` | one running session: child, connections, journal |
//! | `session_machine` | the state machine of a session, without I/O |
//! | `screen` | the terminal screen model that snapshots come from |
//! | `scrollback` | the lines above a screen, from the recorded output |
//! | `client` | a client of the daemon |
//!
//! # Terms
//!
//! | term | meaning |
//! |---|---|
//! | shim | the process that owns one session |
//! | client | one connection to a session: a cursor over its streams, without a queue |
//! | lease | what a client may do: read, append or write |
//! | generation | the fencing token of the write lease: messages of an older one are ignored |
//! | epoch | one incarnation of the child; offsets of another epoch are invalid |

mod api;
mod app_state;
mod auth;
mod blocking;
mod client;
mod conversation_files;
mod conversations;
mod current_request;
mod descriptor_limit;
mod inspection;
mod other_runners;
mod read_room;
mod recordings;
mod screen;
mod scrollback;
mod serve;
mod session;
mod session_fold;
mod session_machine;
mod sessions;
mod shim;

pub use api::{NotifyConfiguration, NotifyError, acp};
pub use app_state::ServeLimits;
pub use auth::{
    NamedToken, NamedTokenError, NamedTokens, TokenError, TokenScope, UnknownScope,
    read_or_create_token,
};
pub use bowline_lifecycle::control::GENERATION_LABEL;
pub use bowline_lifecycle::{DialectName, agent_directory};
pub use bowline_transport::wire;
pub use bowline_transport::{
    Identity, MessageReceiver, MessageSender, Piece, SessionActivity, SessionDamage, SessionExit,
    SessionSummary, SessionSummaryState, Stream, TerminalSession,
};
pub use client::{LogRange, RunnerClient, RunnerError, RunnerProblem};
pub use conversation_files::{UnpackError, pack_conversation, unpack_conversation};
pub use other_runners::{
    ConversationWriter, MovableSession, OtherRunnerError, OtherRunners, OtherSession,
    conversation_of,
};
pub use recordings::{RecordingDetails, RecordingImport};
pub use screen::{
    OutputToken, ReplayFilter, SequenceKind, SequenceSplitter, SessionScreen, VtEngine,
};
pub use scrollback::DEFAULT_SCROLLBACK_LINES;
pub use serve::{
    Certificate, LinkServer, Runner, ServeConfiguration, ServeError, StopReport, Tls, TlsError,
    is_served, runtime,
};
pub use session::{
    Child, ChildCommand, ChildEvent, ChildPeer, Decision, SessionHandle, SessionStatus,
};
pub use session_machine::{
    ClientId, Effect, JournalRead, MachineConfiguration, OverflowPolicy, ScreenSnapshot,
    SessionMachine, StreamConfiguration,
};
pub use sessions::EndedSession;
pub use shim::{
    DEFAULT_RING_BYTES, JournalSpec, RING_VARIABLE, SCROLLBACK_VARIABLE, STATE_VARIABLE,
    SessionDir, SessionInfo, SessionPhase, SessionSpec, ShimError, ShimProgram, ShimStarted,
    SpawnFault, SpecEnvironment, SpecStdio, StateDir, StateDirError, TerminalMode, run_shim,
    spawn_shim,
};

/// Private pure functions, exposed to the fuzz targets. Not part of the API.
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz {
    pub use crate::api::{fuzz_cursor as cursor, fuzz_web_terminal as web_terminal};
    pub use crate::scrollback::fuzz_screen_record as screen_record;
}
