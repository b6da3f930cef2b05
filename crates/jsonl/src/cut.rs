//! Lines that were cut short and continue with a whole one: the writer ended within a line, and the
//! next run of the agent, or a copy from the beginning, was written after it.

use memchr::memrchr_iter;

use crate::event::{self, Body, Event};
use crate::grammar::Cursor;
use crate::text::Str;

/// Most bytes from the place of an error to the beginning of the next line: the rest of a literal or
/// of a `\u` escape that was cut.
const LOOKAHEAD: usize = 7;

/// Most braces before the place of an error that are tried.
const MAX_BRACES: usize = 3;

/// Most lines that are cut short before a whole one.
const MAX_CUT: usize = 8;

/// Returns where another line begins inside of `line`, which is no event: its syntax breaks at
/// `place`. The other line, or one that follows it, is whole.
#[cold]
pub(crate) fn next_line(line: &[u8], place: usize) -> Option<usize> {
    let (mut begin, mut place, mut first) = (0, place, None);
    for _ in 0..MAX_CUT {
        let near = line.get(..place + LOOKAHEAD).unwrap_or(line);
        let before = memrchr_iter(b'{', near).take(MAX_BRACES);
        // A line that was cut before a value has the next one as that value, and no end.
        let last = last_object(line.get(begin..)?).map(|last| begin + last);
        let last = last.filter(|_| near.len() == line.len());
        let starts = before.chain(last).filter(|&start| start > 0);
        let mut farthest = (place, None);
        for start in starts {
            match parse(line.get(start..)?) {
                Ok(()) => return first.or(Some(start)),
                Err(at) => farthest = farthest.max((start + at, Some(start))),
            }
        }
        (place, begin) = (farthest.0, farthest.1?);
        first = first.or(Some(begin));
    }
    None
}

/// Parses a whole line of the protocol; otherwise returns where it breaks.
fn parse(line: &[u8]) -> Result<(), usize> {
    let valid = match std::str::from_utf8(line) {
        Ok(_) => line.len(),
        Err(error) => error.valid_up_to(),
    };
    let text = std::str::from_utf8(line.get(..valid).unwrap_or_default()).unwrap_or_default();
    match event::event(Cursor::new(text)) {
        Ok((end, event)) if end.at() == line.len() && is_line(&event) => Ok(()),
        Ok((end, _)) => Err(end.at()),
        Err(nom::Err::Error(error) | nom::Err::Failure(error)) => Err(error.at()),
        Err(nom::Err::Incomplete(_)) => Err(0),
    }
}

/// Whether this is a line and not one of its members, such as a block, which has a `type` as well.
fn is_line(event: &Event<'_>) -> bool {
    let has_session = !event.session_id.is_none_or(Str::is_empty);
    match event.body {
        Body::ControlRequest(_)
        | Body::ControlResponse(_)
        | Body::ControlCancelRequest { .. }
        | Body::KeepAlive => true,
        // A terminal echoes the host's own.
        Body::User(_) => true,
        _ => has_session,
    }
}

/// Where the object begins that ends last.
fn last_object(line: &[u8]) -> Option<usize> {
    let (mut open, mut last) = (Vec::new(), None);
    let mut bytes = line.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'{' => open.push(at),
            b'}' => last = open.pop().or(last),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    last
}

fn skip_string<'a>(bytes: &mut impl Iterator<Item = (usize, &'a u8)>) {
    while let Some((_, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use crate::Framer;

    const CUT: &str =
        r#"{"type":"user","n":[-12.5e3,null,{"a":"é\u00e9\"{"}],"session_id":"s","uuid":"1"}"#;
    const WHOLE: &str = r#"{"type":"system","subtype":"init","tools":[{"a":{}}],"session_id":"s"}"#;

    /// The lines that are events, with their numbers, and how many are not.
    fn lines(input: &[u8]) -> (Vec<(u64, Vec<u8>)>, usize) {
        let mut framer = Framer::default();
        framer.push(Bytes::copy_from_slice(input));
        framer.finish();
        let (mut events, mut errors, mut end) = (Vec::new(), 0, 0);
        while let Some(frame) = framer.next_frame() {
            for item in frame.items() {
                assert_eq!(item.at.offset, end, "every byte belongs to one item");
                end = item.at.end;
                match item.event {
                    Ok(_) => events.push((item.at.line, item.raw.to_vec())),
                    Err(_) => errors += 1,
                }
            }
        }
        (events, errors)
    }

    #[test]
    fn whole_line_after_a_cut_one_is_an_event() {
        for cut in 1..CUT.len() {
            let input = [
                &CUT.as_bytes()[..cut],
                WHOLE.as_bytes(),
                b"\n",
                WHOLE.as_bytes(),
            ];
            let whole = WHOLE.as_bytes().to_vec();
            let expected = (vec![(1, whole.clone()), (2, whole)], 1);
            assert_eq!(lines(&input.concat()), expected, "cut at {cut}");
        }
    }

    #[test]
    fn whole_line_after_two_cut_ones_is_an_event() {
        for first in (1..CUT.len()).step_by(5) {
            for second in 1..CUT.len() {
                let cut = CUT.as_bytes();
                let input = [&cut[..first], &cut[..second], WHOLE.as_bytes(), b"\n"];
                let (events, errors) = lines(&input.concat());
                let expected = [(1, WHOLE.as_bytes().to_vec())];
                assert_eq!(events, expected, "cut at {first} and {second}");
                // A line that was cut before a value may have the second one as that value.
                assert!((1..=2).contains(&errors), "cut at {first} and {second}");
            }
        }
    }

    #[test]
    fn line_that_lacks_its_end_is_an_event() {
        let (events, errors) = lines([CUT, WHOLE, "\n"].concat().as_bytes());
        let expected = [CUT, WHOLE].map(|line| (1, line.as_bytes().to_vec()));
        assert_eq!((events, errors), (expected.to_vec(), 0));
    }

    #[test]
    fn whole_line_after_noise_and_a_cut_one_is_an_event() {
        let cut = CUT.get(..30).unwrap();
        let (events, errors) = lines(["Welcome ", cut, WHOLE, "\n"].concat().as_bytes());
        let expected = [(1, WHOLE.as_bytes().to_vec())];
        assert_eq!((events.as_slice(), errors), (&expected[..], 1));
    }

    #[test]
    fn object_that_is_no_event_is_no_line() {
        let (events, errors) = lines(b"{\"a\":{\"b\":1}\n");
        assert_eq!((events.len(), errors), (0, 1));
    }
}
