//! The bytes of a session: read from any offset, and recorded from any time.

use std::fs;

use bowline_lifecycle::{
    DialogueConfiguration, DialogueSession, Piece, RawOutput, RecordError, Stream,
};
use bowline_tests::session::{answered, within};

use crate::play::Play;

/// A turn that writes to both streams, and one with a long line.
const SCENARIO: &str = r#"
    [[turn]]
    steps = [ { stderr = "a warning" }, { text = "First." } ]
    [[turn]]
    steps = [ { text = "Second." }, { big = 300000 } ]
    [[turn]]
    steps = [ { text = "Third." } ]
"#;

/// Output that is kept in the tests of gaps.
const KEPT: usize = 4096;

fn play(kept_output: usize) -> Play {
    let mut play = Play::new(SCENARIO);
    play.configuration.kept_output = kept_output;
    play
}

async fn started(configuration: &DialogueConfiguration) -> DialogueSession {
    let session = within("a start", DialogueSession::start(configuration.clone())).await;
    session.expect("the understudy starts")
}

/// Reads to the end of the stream. Returns the gaps, and the bytes with a zero for each missing one.
async fn rest(mut output: RawOutput) -> (Vec<(u64, u64)>, Vec<u8>) {
    let (begin, mut gaps, mut bytes) = (output.offset(), Vec::new(), Vec::new());
    while let Some(piece) = within("a piece", output.next()).await {
        let end = begin + bytes.len() as u64;
        match piece {
            Piece::Bytes {
                offset,
                bytes: more,
            } => {
                assert_eq!(offset, end, "offsets follow each other");
                bytes.extend_from_slice(&more);
            }
            Piece::Gap { from, to } => {
                assert_eq!(from, end, "a gap begins where the bytes end");
                gaps.push((from, to));
                bytes.resize((to - begin) as usize, 0);
            }
        }
    }
    (gaps, bytes)
}

#[tokio::test]
async fn late_reader_sees_the_beginning_and_what_follows() {
    let mut play = play(1 << 20);
    let record = play.folder.path().join("record.jsonl");
    play.configuration.record = Some(record.clone());
    let session = started(&play.configuration).await;
    answered(&session, "one").await;
    let seen = session.raw_end(Stream::Output);
    assert!(seen > 0);
    let readers = [0, 7, seen, u64::MAX].map(|from| session.raw_output(Stream::Output, from));
    let errors = session.raw_output(Stream::Errors, 0);
    answered(&session, "two").await;
    let end = within("the end", session.end()).await;
    let all = fs::read(&record).expect("the recording");
    assert_eq!(all.len() as u64, end.exit.output_end);
    for (reader, from) in readers.into_iter().zip([0, 7, seen, seen]) {
        let (gaps, bytes) = rest(reader).await;
        assert_eq!((gaps, bytes == all[from as usize..]), (vec![], true));
    }
    assert_eq!(rest(errors).await.1, b"a warning\n");
    // The session is over, and what it kept is still there.
    let again = session.raw_output(Stream::Output, 3);
    assert_eq!(rest(again).await, (vec![], all[3..].to_vec()));
}

#[tokio::test]
async fn unread_bytes_are_a_gap_and_hold_nothing_back() {
    let play = play(KEPT);
    let session = started(&play.configuration).await;
    let reader = session.raw_output(Stream::Output, 0);
    // A reader that held the agent back would leave these unanswered.
    for prompt in ["one", "two", "three"] {
        answered(&session, prompt).await;
    }
    let end = within("the end", session.end()).await;
    let (gaps, bytes) = rest(reader).await;
    assert_eq!(bytes.len() as u64, end.exit.output_end);
    let [(0, to)] = gaps[..] else {
        panic!("{gaps:?}")
    };
    let kept = bytes.len() - to as usize;
    assert!((1..=KEPT).contains(&kept), "{kept} bytes are kept");
}

#[tokio::test]
async fn recording_has_what_memory_has_not() {
    for name in ["record.jsonl", "record.bjl"] {
        let mut play = play(KEPT);
        play.configuration.record = Some(play.folder.path().join(name));
        let session = started(&play.configuration).await;
        for prompt in ["one", "two", "three"] {
            answered(&session, prompt).await;
        }
        let live = session.raw_output(Stream::Output, 0);
        let end = within("the end", session.end()).await;
        let (gaps, bytes) = rest(live).await;
        assert_eq!(gaps, [], "{name}");
        assert_eq!(bytes.len() as u64, end.exit.output_end, "{name}");
        assert!(bytes.windows(6).any(|it| it == b"First."), "{name}");
        let late = rest(session.raw_output(Stream::Output, 11)).await;
        assert_eq!(late, (vec![], bytes[11..].to_vec()), "{name}");
    }
}

#[tokio::test]
async fn recording_begins_at_any_time() {
    for name in ["late.jsonl", "late.bjl"] {
        let play = play(1 << 20);
        let session = started(&play.configuration).await;
        answered(&session, "one").await;
        let late = play.folder.path().join(name);
        assert_eq!(session.record(&late).await.expect("a recording"), 0);
        let again = session
            .record(play.folder.path().join("second.jsonl"))
            .await;
        assert!(
            matches!(again, Err(RecordError::AlreadyRecorded { .. })),
            "{again:?}"
        );
        answered(&session, "two").await;
        let end = within("the end", session.end()).await;
        assert_eq!(end.recording_failed, None, "{name}");
        let bytes = fs::read(&late).expect("the recording");
        // A journal has the input as well, what was written before included.
        for (text, is_there) in [
            ("First.", true),
            ("Second.", true),
            ("initialize", name == "late.bjl"),
        ] {
            let found = bytes.windows(text.len()).any(|it| it == text.as_bytes());
            assert_eq!(found, is_there, "{text} in {name}");
        }
        let after = session.record(play.folder.path().join("third.jsonl")).await;
        assert!(after.is_err());
        assert!(!play.folder.path().join("third.jsonl").exists());
    }
}

#[tokio::test]
async fn recording_that_lacks_the_beginning_says_so() {
    for name in ["late.jsonl", "late.bjl"] {
        let play = play(KEPT);
        let session = started(&play.configuration).await;
        answered(&session, "one").await;
        answered(&session, "two").await;
        let late = play.folder.path().join(name);
        let taken = play.folder.path().join("taken.jsonl");
        fs::write(&taken, "").expect("a file");
        let refused = session.record(&taken).await;
        assert!(
            matches!(refused, Err(RecordError::Create { .. })),
            "{refused:?}"
        );
        let begin = session.record(&late).await.expect("a recording");
        assert!(begin > 300_000, "{begin}");
        answered(&session, "three").await;
        let end = within("the end", session.end()).await;
        let why = end.recording_failed.expect("what is missing");
        assert!(
            why.contains(&format!("bytes 0 to {begin}")),
            "{name}: {why}"
        );
        // A reader gets the same gap, and the rest from the file.
        let (gaps, bytes) = rest(session.raw_output(Stream::Output, 0)).await;
        assert_eq!(gaps, [(0, begin)], "{name}");
        assert!(bytes.windows(6).any(|it| it == b"Third."), "{name}");
    }
}

#[tokio::test]
async fn nothing_is_kept_where_none_is_asked_for() {
    let play = play(0);
    let session = started(&play.configuration).await;
    answered(&session, "one").await;
    let end = within("the end", session.end()).await;
    let (gaps, _) = rest(session.raw_output(Stream::Output, 0)).await;
    assert_eq!(gaps, [(0, end.exit.output_end)]);
    let late = session.record(play.folder.path().join("late.jsonl")).await;
    assert!(matches!(late, Err(RecordError::Ended)), "{late:?}");
}
