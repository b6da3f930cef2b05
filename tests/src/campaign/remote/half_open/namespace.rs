//! A network namespace with a link to this one: ip-netns(8) and veth(4).

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;

/// A namespace and its link, both removed on drop.
#[derive(Debug)]
pub(super) struct Namespace {
    name: String,
    link: String,
    part: u8,
}

/// This machine does not permit a namespace.
#[derive(Debug, thiserror::Error)]
#[error("make a network namespace: {0}; run as root with `ip` on PATH to have this part")]
pub(super) struct Unavailable(String);

impl Namespace {
    pub(super) fn new() -> Result<Self, Unavailable> {
        let number = std::process::id() % 60_000;
        let namespace = Self {
            name: format!("bowline-{number}"),
            link: format!("bow{number}"),
            part: (number % 250) as u8,
        };
        namespace.make().map_err(Unavailable)?;
        Ok(namespace)
    }

    fn make(&self) -> Result<(), String> {
        let (name, link) = (&self.name, &self.link);
        let ours = format!("{}/30", Ipv4Addr::new(10, 203, self.part, 1));
        let theirs = format!("{}/30", Ipv4Addr::new(10, 203, self.part, 2));
        ip(&["netns", "add", name])?;
        ip(&[
            "link", "add", link, "type", "veth", "peer", "name", "far", "netns", name,
        ])?;
        ip(&["addr", "add", &ours, "dev", link])?;
        ip(&["link", "set", link, "up"])?;
        ip(&["-n", name, "addr", "add", &theirs, "dev", "far"])?;
        ip(&["-n", name, "link", "set", "lo", "up"])?;
        ip(&["-n", name, "link", "set", "far", "up"])?;
        // Strict reverse path filtering (ip-sysctl) drops packets from an unreachable source, so
        // that packets are dropped in both directions.
        let strict = "echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter";
        ip(&["netns", "exec", name, "sh", "-c", strict])
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// An address in the namespace to listen on.
    pub(super) fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::new(10, 203, self.part, 2), 0))
    }

    /// Takes our end of the link up or down, which this machine notices.
    pub(super) fn set_link(&self, is_up: bool) -> Result<(), String> {
        ip(&["link", "set", &self.link, if is_up { "up" } else { "down" }])
    }

    /// Starts or stops dropping all packets to us silently.
    pub(super) fn set_blackhole(&self, is_on: bool) -> Result<(), String> {
        let ours = Ipv4Addr::new(10, 203, self.part, 1).to_string();
        let what = if is_on { "add" } else { "del" };
        ip(&["-n", &self.name, "route", what, "blackhole", &ours])
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The link is removed with the namespace. Without a namespace, there is no link.
        let _ = ip(&["netns", "del", &self.name]);
        let _ = ip(&["link", "del", &self.link]);
    }
}

fn ip(words: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(words).output();
    let output = output.map_err(|error| format!("ip: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("ip {}: {stderr}", words.join(" ")))
}
