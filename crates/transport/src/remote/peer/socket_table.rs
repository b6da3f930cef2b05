//! Owners of TCP sockets, from the tables of proc(5).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The state of a listening socket, `TCP_LISTEN` of linux/tcp_states.h.
const LISTEN: &str = "0A";

/// Returns the owners of the table's sockets that listen at `peer` or are connected to `own`.
pub(super) fn owners(table: &str, peer: SocketAddr, own: SocketAddr) -> impl Iterator<Item = u32> {
    let rows = table.lines().skip(1);
    rows.filter_map(move |row| {
        let mut fields = row.split_ascii_whitespace().skip(1);
        let local = address(fields.next()?)?;
        let remote = address(fields.next()?)?;
        let is_listener = fields.next()? == LISTEN;
        let uid = fields.nth(3)?.parse().ok()?;
        let listens = is_listener
            && local.port() == peer.port()
            && (local.ip().is_unspecified() || is_same(local, peer));
        let is_connected = is_same(local, peer) && is_same(remote, own);
        (listens || is_connected).then_some(uid)
    })
}

fn is_same(a: SocketAddr, b: SocketAddr) -> bool {
    a.port() == b.port() && a.ip().to_canonical() == b.ip().to_canonical()
}

/// Parses an address: words of the network's bytes, each in the byte order of this machine, and the
/// port.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let words = address.as_bytes().chunks(8).map(|word| {
        let word = std::str::from_utf8(word).ok()?;
        Some(u32::from_str_radix(word, 16).ok()?.to_ne_bytes())
    });
    let bytes = words.collect::<Option<Vec<_>>>()?.concat();
    let ip = match bytes.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        _ => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use super::*;

    const HEADER: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

    fn of(rows: &[&str], peer: &str, own: &str) -> Vec<u32> {
        let table = format!("{HEADER}{}\n", rows.join("\n"));
        owners(&table, peer.parse().unwrap(), own.parse().unwrap()).collect()
    }

    #[test]
    fn listeners_and_accepted_sockets_are_found() {
        let rows = [
            "   0: 0100007F:1CFC 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 1 1 0 100 0 0 10 0",
            "   1: 00000000:1CFC 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1002        0 1 1 0 100 0 0 10 0",
            "   2: 0200007F:1CFC 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1003        0 1 1 0 100 0 0 10 0",
            "   3: 0100007F:1CFC 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1004        0 1 1 0 100 0 0 10 0",
            "   4: 0100007F:9C40 0100007F:1CFC 01 00000000:00000000 00:00000000 00000000  1005        0 1 1 0 100 0 0 10 0",
            "   5: 0100007F:1CFC 0100007F:9C41 01 00000000:00000000 00:00000000 00000000  1006        0 1 1 0 100 0 0 10 0",
            "   6: 0100007F:1CFD 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1007        0 1 1 0 100 0 0 10 0",
        ];
        let found = of(&rows, "127.0.0.1:7420", "127.0.0.1:40000");
        assert_eq!(found, [1001, 1002, 1004]);
    }

    #[test]
    fn mapped_and_unspecified_addresses_match() {
        let rows = [
            "   0: 00000000000000000000000000000000:1CFC 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 1 1 0 100 0 0 10 0",
            "   1: 00000000000000000000000001000000:1CFC 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1002        0 1 1 0 100 0 0 10 0",
            "   2: 0000000000000000FFFF00000100007F:1CFC 0000000000000000FFFF00000100007F:9C40 01 00000000:00000000 00:00000000 00000000  1003        0 1 1 0 100 0 0 10 0",
        ];
        let v4 = of(&rows, "127.0.0.1:7420", "127.0.0.1:40000");
        assert_eq!(v4, [1001, 1003]);
        let v6 = of(&rows, "[::1]:7420", "[::1]:40000");
        assert_eq!(v6, [1001, 1002]);
    }

    #[test]
    fn malformed_rows_are_skipped() {
        let rows = ["", "x", "0: zz:1 00:0 0A 0 0 0 7", "0: 0100007F 0 0A"];
        assert_eq!(of(&rows, "127.0.0.1:1", "127.0.0.1:2"), [0_u32; 0]);
    }
}
