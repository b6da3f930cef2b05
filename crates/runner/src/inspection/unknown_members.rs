//! Members of lines that the parser does not know.

use bowline_jsonl::{DEFAULT_MAX_LINE, Framer};
use bytes::Bytes;
use serde::Serialize;
use utoipa::ToSchema;

/// A line with members that this version does not read.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = UnknownMembersOfLine)]
pub(crate) struct UnknownMembers {
    /// Offset of the line.
    offset: u64,
    /// The members, as JSON pointers (RFC 6901).
    members: Vec<String>,
}

impl UnknownMembers {
    /// Returns the lines that have some, of output that begins at an offset.
    pub(crate) fn find(offset: u64, output: Bytes) -> Vec<Self> {
        let mut framer = Framer::at(DEFAULT_MAX_LINE, offset, 1);
        framer.push(output);
        framer.finish();
        let mut found = Vec::new();
        while let Some(frame) = framer.next_frame() {
            for item in frame.items() {
                let Ok(event) = &item.event else { continue };
                let members = event.unknown_members();
                if !members.is_empty() {
                    let offset = item.at.offset;
                    found.push(Self { offset, members });
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_unknown_members_have_their_offsets() {
        let plain = "{\"type\":\"keep_alive\"}\n";
        let odd = "{\"type\":\"keep_alive\",\"new\":{\"a\":1}}\n";
        let output = Bytes::from([plain, odd, "not JSON\n", odd, "{\"type\":"].concat());
        let line = |offset: usize| UnknownMembers {
            offset: offset as u64,
            members: vec!["/new".to_owned()],
        };
        let second = 100 + plain.len() + odd.len() + "not JSON\n".len();
        let expected = [line(100 + plain.len()), line(second)];
        assert_eq!(UnknownMembers::find(100, output), expected);
    }
}
