//! TCP keepalive options.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use bowline_process::drop_connection_after;
use rustix::net::sockopt;

/// Enables keepalive probes after `every` idle time, and closes a connection whose peer acknowledges
/// nothing for `dead`.
pub(crate) fn watch_peer(socket: impl AsFd, every: Duration, dead: Duration) -> io::Result<()> {
    sockopt::set_socket_keepalive(&socket, true)?;
    sockopt::set_tcp_keepidle(&socket, every)?;
    sockopt::set_tcp_keepintvl(&socket, every)?;
    drop_connection_after(&socket, dead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keepalive_options_are_set() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let (every, dead) = (Duration::from_secs(5), Duration::from_secs(15));
        watch_peer(&stream, every, dead).unwrap();
        assert!(sockopt::socket_keepalive(&stream).unwrap());
        assert_eq!(sockopt::tcp_keepidle(&stream).unwrap(), every);
        #[cfg(target_os = "linux")]
        assert_eq!(sockopt::tcp_user_timeout(&stream).unwrap(), 15_000);
    }
}
