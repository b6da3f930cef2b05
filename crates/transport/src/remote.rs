//! Sessions whose child is on another machine, or belongs to another process of this one.
//!
//! A session is one task here: it owns a [machine](machine), which decides, and a connection. When
//! that breaks it is made again, and the streams go on where they stopped; what a host has written
//! is typed once, whatever happens to the connection.

mod ask;
mod attach;
mod begin;
mod create;
mod credentials;
mod driver;
mod error;
mod farewell;
#[cfg(feature = "grpc")]
mod grpc;
mod link;
mod machine;
mod network;
mod network_change;
mod open;
mod socket;
mod target;
mod terminal;
mod tls;
mod url;

pub use attach::{Attachment, Beginning};
pub use create::RemoteOrder;
pub use credentials::{Boxed, CredentialsProvider, NoCredentials, NoToken, Token, TokenFile};
pub use error::RemoteError;
pub use network::{Address, ByteStream, Network, SystemNetwork};
pub use target::Remote;
pub use tls::{Identity, Trust};
pub use url::{BadUrl, Carrier, RemoteUrl};
