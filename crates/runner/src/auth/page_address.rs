//! The loopback address that the page is served on.

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::RwLock;

/// The loopback address that the page is served on, once it is. Its own names are accepted as `Host`, and its own
/// origin as `Origin`.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageAddress(Arc<RwLock<Option<SocketAddr>>>);

impl PageAddress {
    pub(crate) fn set(&self, address: SocketAddr) {
        *self.0.write() = Some(address);
    }

    pub(crate) fn get(&self) -> Option<SocketAddr> {
        *self.0.read()
    }

    /// Returns whether a value of the `Host` header names it.
    pub(super) fn accepts_host(&self, host: &str) -> bool {
        self.get().is_some_and(|address| {
            let is_port_of = |(name, port): (&str, &str)| {
                name.eq_ignore_ascii_case("localhost") && port == address.port().to_string()
            };
            host == address.to_string() || host.rsplit_once(':').is_some_and(is_port_of)
        })
    }

    /// Returns whether a value of the `Origin` header is one of a page from there.
    pub(super) fn accepts_origin(&self, origin: &str) -> bool {
        let host = origin.strip_prefix("http://");
        host.is_some_and(|host| self.accepts_host(host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_names_and_origins_are_accepted() {
        let page = PageAddress::default();
        assert!(!page.accepts_host("127.0.0.1:7420"));
        page.set(([127, 0, 0, 1], 7420).into());
        for host in ["127.0.0.1:7420", "localhost:7420", "LOCALHOST:7420"] {
            assert!(page.accepts_host(host), "{host}");
            assert!(page.accepts_origin(&format!("http://{host}")), "{host}");
            assert!(!page.accepts_origin(&format!("https://{host}")), "{host}");
        }
        for host in [
            "127.0.0.1",
            "localhost",
            "127.0.0.1:7421",
            "localhost:17420",
            "evil.localhost:7420",
            "localhost:7420.evil.org",
            "",
        ] {
            assert!(!page.accepts_host(host), "{host}");
        }
        assert!(!page.accepts_origin("null"));
    }
}
