//! Sessions whose child belongs to another process, on this machine or another one.
//!
//! Each session is one task, which owns a sans-I/O [state machine](machine) and a connection. A lost
//! connection is reestablished and the streams resume at their offsets. Input is written to the
//! child at most once.

mod alert_stream;
mod ask;
mod attach;
mod batch;
mod begin;
mod create;
mod credentials;
mod dialogue_log;
mod dialogue_reader;
mod driver;
mod error;
#[cfg(feature = "grpc")]
mod grpc;
mod history;
mod link;
mod machine;
mod messages;
mod network;
mod network_change;
mod open;
mod peer;
mod pending;
mod refusal;
mod session_summary;
mod session_update;
mod socket;
mod spans;
mod target;
mod terminal;
mod tls;
mod trust;
mod unix_connection;
mod url;
mod web_socket;

pub use attach::{Attachment, StartPosition};
pub use create::{HOOK_SETTINGS, RESERVED_LABELS, SessionRequest};
pub use credentials::{Boxed, CredentialsProvider, NoCredentials, NoToken, Token, TokenFile};
pub(crate) use dialogue_reader::DialogueReader;
pub use error::RemoteError;
pub use messages::{MessageReceiver, MessageSender};
pub use network::{Address, ByteStream, Network, SystemNetwork};
pub use session_summary::{
    SessionActivity, SessionDamage, SessionExit, SessionList, SessionSummary, SessionSummaryState,
};
pub use session_update::{MAX_METADATA, SessionUpdate};
pub use target::Remote;
pub use trust::{Identity, Trust};
pub use unix_connection::UnixConnection;
pub use url::{BadUrl, Carrier, RemoteUrl};
