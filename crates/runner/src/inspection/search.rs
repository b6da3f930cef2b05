//! Search in a transcript, and in the bytes of a stream.

use std::borrow::Cow;

use bowline_reducer::{Block, BlockKind, Entry, EntryKind, Raw, ToolCall, Transcript};
use memchr::memmem::Finder;
use serde::Serialize;
use utoipa::ToSchema;

/// Bytes that are shown before and after what was found, about.
const CONTEXT: usize = 60;

/// Where something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = SearchPlace)]
pub(crate) enum SearchPlace {
    /// A prompt, an answer, a notice or an error.
    Text,
    /// A tool call: its title, input, output or result.
    Tools,
    /// The lines of the output.
    Bytes,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = SearchHit)]
pub(crate) struct SearchHit {
    r#in: SearchPlace,
    /// The number of the entry that has it.
    entry: Option<u32>,
    /// The number of the entry in the main thread that it is a part of.
    main_entry: Option<u32>,
    /// The id of the tool call.
    tool_call: Option<String>,
    /// Offsets in the output.
    bytes: Option<[u64; 2]>,
    /// What comes before it, as found, and after it.
    before: String,
    found: String,
    after: String,
}

impl SearchHit {
    /// Returns the offset past what was found.
    pub(crate) fn end(&self) -> Option<u64> {
        self.bytes.map(|[_, to]| to)
    }
}

/// What a search has found, and where it continues.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) hits: Vec<SearchHit>,
    /// The entry to continue with; `None` at the end.
    pub(crate) next: Option<u32>,
}

/// A text to look for. Letters of ASCII match in either case.
#[derive(Debug)]
struct Needle<'a>(Finder<'a>);

impl Needle<'_> {
    fn find(&self, text: &str) -> Option<[String; 3]> {
        let at = self.0.find(text.to_ascii_lowercase().as_bytes())?;
        Some(snippet(text, at, at + self.0.needle().len()))
    }
}

/// Looks through the entries from one on, in their order, those of sub-agents among them, for at most `max` hits.
pub(crate) fn search_transcript(
    transcript: &Transcript,
    text: &str,
    places: &[SearchPlace],
    from: u32,
    max: usize,
) -> Found {
    let lower = text.to_ascii_lowercase();
    let needle = Needle(Finder::new(&lower));
    let threads = std::iter::once(transcript.main()).chain(transcript.threads());
    let mut entries: Vec<_> = threads.flat_map(|it| it.entries()).collect();
    entries.sort_unstable_by_key(|it| it.id());
    let mut hits = Vec::new();
    let first = entries.partition_point(|it| it.id().number() < from);
    for entry in &entries[first..] {
        if hits.len() >= max {
            let next = Some(entry.id().number());
            return Found { hits, next };
        }
        search_entry(transcript, *entry, &needle, places, &mut hits);
    }
    Found { hits, next: None }
}

fn search_entry(
    transcript: &Transcript,
    entry: Entry<'_>,
    needle: &Needle<'_>,
    places: &[SearchPlace],
    hits: &mut Vec<SearchHit>,
) {
    let has_text = places.contains(&SearchPlace::Text);
    let text = match entry.kind() {
        EntryKind::User { text, .. }
        | EntryKind::Notice { text, .. }
        | EntryKind::Error { text, .. } => Some(text),
        EntryKind::Result { text, .. } => text,
        EntryKind::Assistant { blocks, .. } => {
            for block in blocks.iter() {
                match block.kind() {
                    BlockKind::Text { .. } | BlockKind::Thinking { .. } if has_text => {
                        hits.extend(search_block(block, needle));
                    }
                    BlockKind::ToolCall { id } if places.contains(&SearchPlace::Tools) => {
                        let call = transcript.tool_call(id);
                        hits.extend(call.and_then(|it| search_call(it, needle)));
                    }
                    _ => {}
                }
            }
            None
        }
        _ => None,
    };
    let found = text.filter(|_| has_text);
    let found = found.and_then(|text| needle.find(&text.to_cow()));
    hits.extend(found.map(|found| {
        let bytes = entry.bytes();
        hit(SearchPlace::Text, entry, [bytes.start, bytes.end], found)
    }));
}

fn search_block(block: Block<'_>, needle: &Needle<'_>) -> Option<SearchHit> {
    let found = needle.find(&block.text()?.to_cow())?;
    let bytes = block.bytes();
    let bytes = [bytes.start, bytes.end];
    Some(hit(SearchPlace::Text, block.entry(), bytes, found))
}

fn search_call(call: ToolCall<'_>, needle: &Needle<'_>) -> Option<SearchHit> {
    let title = call.shown().title;
    let input = call.input().map(Raw::text);
    let result = call.result().map(|it| it.text().to_cow());
    let output = call.output().map(|it| it.to_cow());
    let texts = [
        Some(Cow::Borrowed(call.name())),
        title,
        input,
        result,
        output,
    ];
    let found = texts
        .into_iter()
        .flatten()
        .find_map(|it| needle.find(&it))?;
    let bytes = call.bytes();
    let bytes = [bytes.start, bytes.end];
    Some(SearchHit {
        tool_call: Some(call.id().to_owned()),
        ..hit(SearchPlace::Tools, call.entry()?, bytes, found)
    })
}

fn hit(
    place: SearchPlace,
    entry: Entry<'_>,
    bytes: [u64; 2],
    [before, found, after]: [String; 3],
) -> SearchHit {
    let mut main = entry;
    while let Some(holder) = main.thread().call().and_then(ToolCall::entry) {
        main = holder;
    }
    SearchHit {
        r#in: place,
        entry: Some(entry.id().number()),
        main_entry: Some(main.id().number()),
        tool_call: None,
        bytes: Some(bytes).filter(|[from, to]| from < to),
        before,
        found,
        after,
    }
}

/// Looks through bytes of a stream that begin at an offset, and returns a hit for each line with the text.
pub(crate) fn find_in_bytes(bytes: &[u8], offset: u64, text: &str, max: usize) -> Vec<SearchHit> {
    let lower = text.to_ascii_lowercase();
    let finder = Finder::new(&lower);
    let haystack = bytes.to_ascii_lowercase();
    let (mut hits, mut from) = (Vec::new(), 0);
    while hits.len() < max
        && let Some(at) = haystack.get(from..).and_then(|rest| finder.find(rest))
    {
        let (start, end) = (from + at, from + at + lower.len());
        let line_end =
            memchr::memchr(b'\n', &haystack[end..]).map_or(haystack.len(), |it| end + it);
        let line_start = memchr::memrchr(b'\n', &haystack[..start]).map_or(0, |it| it + 1);
        let around = start.saturating_sub(CONTEXT).max(line_start)..(end + CONTEXT).min(line_end);
        let part =
            |range: std::ops::Range<usize>| String::from_utf8_lossy(&bytes[range]).into_owned();
        hits.push(SearchHit {
            r#in: SearchPlace::Bytes,
            entry: None,
            main_entry: None,
            tool_call: None,
            bytes: Some([offset + start as u64, offset + end as u64]),
            before: part(around.start..start),
            found: part(start..end),
            after: part(end..around.end),
        });
        from = line_end;
    }
    hits
}

/// Cuts a text around what was found, between characters.
fn snippet(text: &str, from: usize, to: usize) -> [String; 3] {
    let start = text.floor_char_boundary(from.saturating_sub(CONTEXT));
    let end = text.ceil_char_boundary(to.saturating_add(CONTEXT).min(text.len()));
    let (from, to) = (text.floor_char_boundary(from), text.ceil_char_boundary(to));
    let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default().to_owned();
    [part(start..from), part(from..to), part(to..end)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snippet_is_cut_between_characters() {
        let text = "é".repeat(100);
        let [before, found, after] = snippet(&text, 101, 103);
        assert_eq!(found, "éé");
        assert!(text.contains(&before) && text.contains(&after));
        assert_eq!(snippet("abc", 1, 2), ["a", "b", "c"].map(str::to_owned));
    }

    #[test]
    fn each_line_of_bytes_is_one_hit() {
        let bytes = b"one two TWO\nthree\ntwo\n";
        let hits = find_in_bytes(bytes, 100, "Two", 10);
        let found: Vec<_> = hits.iter().map(|it| (it.bytes, &*it.before)).collect();
        assert_eq!(found, [(Some([104, 107]), "one "), (Some([118, 121]), "")]);
        assert_eq!(find_in_bytes(bytes, 0, "two", 1).len(), 1);
        assert!(find_in_bytes(bytes, 0, "four", 9).is_empty());
    }
}
