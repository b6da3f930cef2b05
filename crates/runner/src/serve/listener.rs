//! Where the daemon listens: a Unix socket for its own user, and addresses of the network.

mod socket;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use bowline_transport::wire::DEAD_AFTER;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::time::{Instant, sleep, timeout_at};
use tracing::{debug, warn};

use super::connection::{self, From, HANDSHAKE};
use super::gate::Line;
use super::life::Life;
use super::tls::Encryption;
use crate::quiet::QuietStream;
pub(super) use socket::{Bound, bind};

/// The pause after an accept(2) that failed, for want of descriptors as a rule.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves our own user until the daemon ends.
pub(super) async fn serve_local(listener: UnixListener, app: Router, mut life: Life) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = life.ending() => return,
        };
        match accepted {
            Ok((stream, _)) if is_ours(&stream) => {
                let from = From {
                    line: Line::Local,
                    address: None,
                };
                let until = Instant::now() + HANDSHAKE;
                let (app, life) = (app.clone(), life.clone());
                match QuietStream::new(stream) {
                    Ok(stream) => {
                        tokio::spawn(connection::serve(stream, from, app, life, until));
                    }
                    Err(error) => rest(&error).await,
                }
            }
            Ok(_) => warn!("a process of another user was turned away"),
            Err(error) => rest(&error).await,
        }
    }
}

/// Serves the network until the daemon ends.
pub(super) async fn serve_network(
    listener: TcpListener,
    encryption: Option<Encryption>,
    app: Router,
    mut life: Life,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = life.ending() => return,
        };
        match accepted {
            Ok((stream, address)) => {
                let encryption = encryption.clone();
                tokio::spawn(greet(
                    stream,
                    address,
                    encryption,
                    app.clone(),
                    life.clone(),
                ));
            }
            Err(error) => rest(&error).await,
        }
    }
}

async fn greet(
    stream: TcpStream,
    address: SocketAddr,
    encryption: Option<Encryption>,
    app: Router,
    life: Life,
) {
    let until = Instant::now() + HANDSHAKE;
    let from = From {
        line: Line::Network,
        address: Some(address.ip()),
    };
    if let Err(error) = prepare(&stream) {
        debug!(%error, "a client was gone at once");
        return;
    }
    let Some(encryption) = encryption else {
        return connection::serve(stream, from, app, life, until).await;
    };
    match timeout_at(until, encryption.acceptor.accept(stream)).await {
        Ok(Ok(stream)) => connection::serve(stream, from, app, life, until).await,
        Ok(Err(error)) => debug!(%error, "no TLS with a client"),
        Err(_) => debug!("a client took too long to begin"),
    }
}

/// Sent bytes may stay unacknowledged for as long as a client may be silent (TCP_USER_TIMEOUT of tcp(7)).
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    #[cfg(target_os = "linux")]
    rustix::net::sockopt::set_tcp_user_timeout(stream, DEAD_AFTER.as_millis() as u32)?;
    Ok(())
}

/// Whether the peer runs as our own user: unix(7), SO_PEERCRED.
fn is_ours(stream: &UnixStream) -> bool {
    let ours = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == ours)
}

async fn rest(error: &io::Error) {
    warn!(%error, "no client could be let in");
    sleep(PAUSE).await;
}
