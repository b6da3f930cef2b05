//! What of a session's output our terminal is fed.

use std::borrow::Cow;

use bowline_runner::ReplayFilter;

/// Output on its way to our terminal. What is live goes through as it is. What others have answered
/// already, while we were away, is cleaned: our terminal's answers would be typed into a program that
/// has its own, and a clipboard would be set that was meant for another moment.
#[derive(Debug, Default)]
pub(super) struct Feed {
    replay: Option<ReplayFilter>,
}

impl Feed {
    /// What our terminal is fed of a piece.
    pub(super) fn take<'a>(&mut self, bytes: &'a [u8], is_replay: bool) -> Cow<'a, [u8]> {
        if is_replay {
            let mut clean = Vec::with_capacity(bytes.len());
            let cleaner = self.replay.get_or_insert_default();
            cleaner.feed(bytes, &mut clean);
            return clean.into();
        }
        match self.replay.take() {
            None => bytes.into(),
            // What the replay has ended in goes on in what is live.
            Some(cleaner) => [&cleaner.rest(), bytes].concat().into(),
        }
    }

    /// A screen has come in place of output: what was begun before has no end.
    pub(super) fn begin_anew(&mut self) {
        self.replay = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKS: &[u8] = b"a\x1b[6n\x1b]52;c;aGk=\x07\x1b[21t\x1b[cb";

    fn fed(feed: &mut Feed, bytes: &[u8], is_replay: bool) -> String {
        String::from_utf8(feed.take(bytes, is_replay).into_owned()).unwrap()
    }

    #[test]
    fn what_is_live_is_fed_as_it_is() {
        let mut feed = Feed::default();
        assert!(matches!(feed.take(ASKS, false), Cow::Borrowed(ASKS)));
    }

    #[test]
    fn a_replay_asks_nothing_and_sets_no_clipboard() {
        for cut in 0..=ASKS.len() {
            let mut feed = Feed::default();
            let (one, other) = ASKS.split_at(cut);
            let shown = fed(&mut feed, one, true) + &fed(&mut feed, other, true);
            assert_eq!(shown, "ab", "cut at {cut}");
            assert_eq!(fed(&mut feed, b"c", false), "c", "cut at {cut}");
        }
    }

    #[test]
    fn a_question_that_is_ended_live_is_asked() {
        let mut feed = Feed::default();
        assert_eq!(fed(&mut feed, b"a\x1b[6", true), "a");
        assert_eq!(fed(&mut feed, b"n", false), "\x1b[6n");
        assert_eq!(fed(&mut feed, b"\x1b[6n", false), "\x1b[6n");
    }

    #[test]
    fn a_screen_ends_what_was_begun() {
        let mut feed = Feed::default();
        assert_eq!(fed(&mut feed, b"a\x1b[6", true), "a");
        feed.begin_anew();
        assert_eq!(fed(&mut feed, b"n", false), "n");
    }
}
