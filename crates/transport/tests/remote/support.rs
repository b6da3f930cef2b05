//! Test utilities.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bowline_transport::{
    Attachment, ConnectionState, LogReader, Piece, Remote, RemoteUrl, TerminalEngine,
    TerminalSession,
};

use crate::network::Chaos;
use crate::owner::Owner;

/// Waits with a limit, in simulated time.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(Duration::from_secs(3600), future).await;
    waited.unwrap_or_else(|_| panic!("timed out: {what}"))
}

/// Returns a runner on the simulated network.
pub(crate) fn remote(network: &Arc<Chaos>) -> Remote {
    let mut remote = Remote::new(RemoteUrl::Shim("/none".into()));
    remote.network = Arc::clone(network) as _;
    remote
}

pub(crate) async fn attach(owner: &Owner, network: &Arc<Chaos>) -> TerminalSession {
    let attachment = Attachment {
        connect_timeout: Duration::from_secs(600),
        ..Attachment::default()
    };
    let remote = remote(network);
    let joined = TerminalEngine.attach_remote(&remote, owner.session, attachment);
    soon("attach", joined).await.expect("the owner is there")
}

/// Reads `count` bytes. Panics on a gap.
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

/// Waits for a connection state.
pub(crate) async fn state(
    session: &TerminalSession,
    what: &str,
    is_it: impl FnMut(&ConnectionState) -> bool,
) -> ConnectionState {
    let mut link = session.connection();
    let found = soon(what, link.wait_for(is_it)).await;
    found.expect("the session lives").clone()
}
