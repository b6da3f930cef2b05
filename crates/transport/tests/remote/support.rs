//! What these tests share.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bowline_transport::{
    Attachment, ConnectionState, LogReader, Piece, Remote, RemoteUrl, TerminalEngine,
    TerminalSession,
};

use crate::network::Chaos;
use crate::owner::Owner;

/// Waits, but not for ever. Time is simulated, so this costs nothing.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(Duration::from_secs(3600), future).await;
    waited.unwrap_or_else(|_| panic!("timed out: {what}"))
}

/// A runner behind a network of ours.
pub(crate) fn remote(network: &Arc<Chaos>) -> Remote {
    let mut remote = Remote::new(RemoteUrl::Shim("/none".into()));
    remote.network = Arc::clone(network) as _;
    remote
}

pub(crate) async fn attach(owner: &Owner, network: &Arc<Chaos>) -> TerminalSession {
    let attachment = Attachment {
        patience: Duration::from_secs(600),
        ..Attachment::default()
    };
    let remote = remote(network);
    let joined = TerminalEngine.attach_remote(&remote, owner.session, attachment);
    soon("attach", joined).await.expect("the owner is there")
}

/// Reads so many bytes, none of which may be missing.
pub(crate) async fn read(reader: &mut LogReader, count: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < count {
        match soon("output", reader.next()).await {
            Some(Piece::Bytes { bytes, .. }) => all.extend(&bytes),
            other => panic!("{other:?} after {} bytes", all.len()),
        }
    }
    all
}

/// Waits for a state of the link.
pub(crate) async fn state(
    session: &TerminalSession,
    what: &str,
    is_it: impl FnMut(&ConnectionState) -> bool,
) -> ConnectionState {
    let mut link = session.connection();
    let found = soon(what, link.wait_for(is_it)).await;
    found.expect("the session lives").clone()
}
