//! Streams, one after the other, until something is found.

use std::fmt;
use std::hash::{DefaultHasher, Hasher as _};

use crate::corpus::Corpus;
use crate::cut::{Piece, pieces, whole};
use crate::mutate::mutate;
use crate::random::Random;
use crate::{oracle, safe, shipped};

/// Makes streams and holds both builds to them.
#[derive(Clone, Debug)]
pub struct Fuzzer {
    corpus: Corpus,
    seed: u64,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Streams, each through both builds, whole and in pieces.
    pub streams: u64,
    /// Lines of them that were changed.
    pub mutants: u64,
    /// Lines that were taken, changed or not.
    pub taken: u64,
    /// Lines that were refused.
    pub refused: u64,
    /// Bytes of all streams.
    pub bytes: u64,
}

/// Where two differ.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Number of the stream.
    pub number: u64,
    /// What differs.
    pub what: String,
    /// The stream.
    pub stream: Vec<u8>,
}

impl Fuzzer {
    /// The streams of a seed.
    #[must_use]
    pub const fn new(corpus: Corpus, seed: u64) -> Self {
        Self { corpus, seed }
    }

    /// Makes one stream and looks at it in every way.
    ///
    /// # Errors
    ///
    /// Two see different things.
    pub fn look(&self, number: u64, tally: &mut Tally) -> Result<(), Finding> {
        let mut random = Random::of(self.seed, number);
        let (stream, mutants) = self.stream(&mut random);
        let cuts = [pieces(&stream, &mut random), pieces(&stream, &mut random)];
        let found = |what| Finding {
            number,
            what,
            stream: stream.clone(),
        };
        let [taken, refused] = oracle::judge(&stream).map_err(found)?;
        compare(&stream, &cuts).map_err(found)?;
        tally.streams += 1;
        tally.mutants += mutants;
        tally.taken += taken;
        tally.refused += refused;
        tally.bytes += stream.len() as u64;
        Ok(())
    }

    /// Some lines in a row, of which one at least was changed.
    fn stream(&self, random: &mut Random) -> (Vec<u8>, u64) {
        let lines = self.corpus.some(random);
        let changed = random.below(lines.len());
        let (mut stream, mut mutants) = (Vec::new(), 0);
        for (at, line) in lines.iter().enumerate() {
            if at == changed || random.below(4) == 0 {
                stream.extend(mutate(line, &self.corpus, random));
                mutants += 1;
            } else {
                stream.extend(line);
            }
            stream.push(b'\n');
        }
        if random.below(8) == 0 {
            stream.pop();
        }
        (stream, mutants)
    }
}

/// One way to look at a stream.
type See<'a> = dyn Fn(&mut Seen) -> fmt::Result + 'a;

/// Both builds, whole and in pieces.
pub(crate) fn compare(stream: &[u8], cuts: &[Vec<Piece>; 2]) -> Result<(), String> {
    let whole = whole(stream);
    let expected = hash(|out| safe::see(&whole, out));
    let others: [(&str, &See<'_>); 4] = [
        ("with `unsafe`", &|out| shipped::see(&whole, out)),
        ("with `unsafe`, in pieces", &|out| {
            shipped::see(&cuts[0], out)
        }),
        ("without `unsafe`, in pieces", &|out| {
            safe::see(&cuts[0], out)
        }),
        ("with `unsafe`, in other pieces", &|out| {
            shipped::see(&cuts[1], out)
        }),
    ];
    for (name, see) in others {
        if hash(see) != expected {
            let text = text(see);
            let expected = self::text(|out| safe::see(&whole, out));
            let differ = text.lines().zip(expected.lines()).find(|(a, b)| a != b);
            return Err(format!("{name} it is {differ:?}"));
        }
    }
    Ok(())
}

/// What was seen, as a hash, or as a text for whoever wants to know.
#[derive(Debug, Default)]
struct Seen {
    hasher: DefaultHasher,
    text: Option<String>,
}

impl fmt::Write for Seen {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.hasher.write(more.as_bytes());
        if let Some(text) = &mut self.text {
            text.push_str(more);
        }
        Ok(())
    }
}

fn hash(see: impl Fn(&mut Seen) -> fmt::Result) -> Option<u64> {
    let mut seen = Seen::default();
    see(&mut seen).ok().map(|()| seen.hasher.finish())
}

fn text(see: impl Fn(&mut Seen) -> fmt::Result) -> String {
    let mut seen = Seen {
        text: Some(String::new()),
        ..Seen::default()
    };
    // Writing to a string cannot fail.
    let _ = see(&mut seen);
    seen.text.unwrap_or_default()
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, what) = (self.number, &self.what);
        let stream = self.stream.escape_ascii();
        write!(f, "stream {number}: {what}\n{stream}")
    }
}

impl std::error::Error for Finding {}
