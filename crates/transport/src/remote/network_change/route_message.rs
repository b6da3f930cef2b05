//! Messages of route(4): `struct rt_msghdr` of <net/route.h>.

/// `RTM_VERSION`, at offset 2.
const VERSION: u8 = 5;

/// Types of messages, at offset 3: routes that are added, deleted and changed, addresses that are added
/// and deleted, and interfaces that go up or down.
const ADD: u8 = 0x1;
const DELETE: u8 = 0x2;
const CHANGE: u8 = 0x3;
const NEW_ADDRESS: u8 = 0xc;
const DELETE_ADDRESS: u8 = 0xd;
const INTERFACE: u8 = 0xe;

/// Offset of the flags of a route, and the flags of the entries that the system makes for each neighbour
/// and each peer: `RTF_LLINFO` and `RTF_WASCLONED`. A connection attempt makes some, and is no change.
const FLAGS: usize = 8;
const NEIGHBOUR: u32 = 0x400;
const CLONED: u32 = 0x2_0000;

/// Returns whether a message reports a change that may make another machine reachable.
pub(super) fn is_change(message: &[u8]) -> bool {
    let [_, _, VERSION, kind, ..] = *message else {
        return false;
    };
    match kind {
        NEW_ADDRESS | DELETE_ADDRESS | INTERFACE => true,
        ADD | DELETE | CHANGE => flags(message).is_some_and(|it| it & (NEIGHBOUR | CLONED) == 0),
        _ => false,
    }
}

fn flags(message: &[u8]) -> Option<u32> {
    let flags = message.get(FLAGS..FLAGS + 4)?;
    Some(u32::from_ne_bytes(flags.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `RTF_UP`, `RTF_GATEWAY` and `RTF_STATIC`: a default route.
    const DEFAULT_ROUTE: u32 = 0x1 | 0x2 | 0x800;

    fn message(kind: u8, flags: u32) -> Vec<u8> {
        let mut message = vec![0; 92];
        message[0] = 92;
        message[2] = VERSION;
        message[3] = kind;
        message[8..12].copy_from_slice(&flags.to_ne_bytes());
        message
    }

    #[test]
    fn routes_addresses_and_interfaces_are_changes() {
        for kind in [ADD, DELETE, CHANGE, NEW_ADDRESS, DELETE_ADDRESS, INTERFACE] {
            assert!(is_change(&message(kind, DEFAULT_ROUTE)), "{kind}");
        }
        // RTM_GET, RTM_LOSING, RTM_MISS and RTM_NEWMADDR.
        for kind in [0x4, 0x5, 0x7, 0xf] {
            assert!(!is_change(&message(kind, DEFAULT_ROUTE)), "{kind}");
        }
    }

    #[test]
    fn entries_for_neighbours_and_peers_are_no_change() {
        for flags in [NEIGHBOUR, CLONED, NEIGHBOUR | CLONED | DEFAULT_ROUTE] {
            assert!(!is_change(&message(ADD, flags)) && !is_change(&message(DELETE, flags)));
        }
    }

    #[test]
    fn truncated_and_unknown_messages_are_no_change() {
        let change = message(ADD, DEFAULT_ROUTE);
        for length in 0..12 {
            assert!(!is_change(&change[..length]), "{length}");
        }
        let mut other = change;
        other[2] = 4;
        assert!(!is_change(&other));
    }
}
