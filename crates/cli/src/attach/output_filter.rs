//! Filters a session's output before it reaches this terminal.

use std::borrow::Cow;

use bowline_runner::ReplayFilter;

/// Passes live output through, and removes terminal queries and clipboard writes from replayed
/// output: this terminal's answers would reach a program that was answered earlier.
#[derive(Debug, Default)]
pub(super) struct OutputFilter {
    replay: Option<ReplayFilter>,
}

impl OutputFilter {
    /// Returns what the terminal gets of a piece of output.
    pub(super) fn filter<'a>(&mut self, bytes: &'a [u8], is_replay: bool) -> Cow<'a, [u8]> {
        if is_replay {
            let mut filtered = Vec::with_capacity(bytes.len());
            let replay = self.replay.get_or_insert_default();
            replay.feed(bytes, &mut filtered);
            return filtered.into();
        }
        match self.replay.take() {
            None => bytes.into(),
            // A sequence that the replay has begun continues in the live output.
            Some(replay) => [&replay.rest(), bytes].concat().into(),
        }
    }

    /// Drops an incomplete sequence, after a screen snapshot has replaced output.
    pub(super) fn reset(&mut self) {
        self.replay = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUERIES: &[u8] = b"a\x1b[6n\x1b]52;c;aGk=\x07\x1b[21t\x1b[cb";

    fn filtered(filter: &mut OutputFilter, bytes: &[u8], is_replay: bool) -> String {
        String::from_utf8(filter.filter(bytes, is_replay).into_owned()).unwrap()
    }

    #[test]
    fn live_output_passes_unchanged() {
        let mut filter = OutputFilter::default();
        assert!(matches!(
            filter.filter(QUERIES, false),
            Cow::Borrowed(QUERIES)
        ));
    }

    #[test]
    fn queries_are_removed_from_replay() {
        for cut in 0..=QUERIES.len() {
            let mut filter = OutputFilter::default();
            let (head, tail) = QUERIES.split_at(cut);
            let shown = filtered(&mut filter, head, true) + &filtered(&mut filter, tail, true);
            assert_eq!(shown, "ab", "cut at {cut}");
            assert_eq!(filtered(&mut filter, b"c", false), "c", "cut at {cut}");
        }
    }

    #[test]
    fn query_completed_live_is_kept() {
        let mut filter = OutputFilter::default();
        assert_eq!(filtered(&mut filter, b"a\x1b[6", true), "a");
        assert_eq!(filtered(&mut filter, b"n", false), "\x1b[6n");
        assert_eq!(filtered(&mut filter, b"\x1b[6n", false), "\x1b[6n");
    }

    #[test]
    fn reset_drops_incomplete_sequence() {
        let mut filter = OutputFilter::default();
        assert_eq!(filtered(&mut filter, b"a\x1b[6", true), "a");
        filter.reset();
        assert_eq!(filtered(&mut filter, b"n", false), "n");
    }
}
