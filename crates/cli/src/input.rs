//! Reads a recorded stream: lines or a journal, a file or standard input, plain or gzip.

mod source;

use std::io;
use std::path::{Path, PathBuf};

use bowline_jsonl::{Framer, Item};
use bowline_lifecycle::Piece;

use crate::failure::Failure;

pub(crate) use source::Journal;

use source::{Source, source};

/// A recorded stream.
pub(crate) struct Recording {
    name: PathBuf,
    source: Source,
}

/// What reads a recording line by line.
pub(crate) trait Reader {
    /// Takes the next line.
    fn line(&mut self, item: &Item<'_>);

    /// Takes the news that bytes of the stream are missing.
    fn gap(&mut self, from: u64, to: u64);

    /// Takes what the journal was, at its end. Not called for a plain recording.
    fn journal(&mut self, _journal: Journal) {}

    /// Nothing more is at hand at the moment: shows what there is.
    fn pause(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

impl Recording {
    /// Opens a file, a folder with a journal, or standard input for `-`.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let name = path.to_owned();
        let source = source(path).map_err(|error| cannot(&name, &error))?;
        let Some(source) = source else {
            return Err(Failure::usage(
                "nothing to read: pipe a recorded stream in, or name a file",
            ));
        };
        Ok(Self { name, source })
    }

    /// Gives every line to `reader`, in order. Nothing is shown of a file that holds no event.
    pub(crate) fn read_into(mut self, reader: &mut impl Reader) -> Result<(), Failure> {
        let mut framer = Framer::default();
        let (mut is_empty, mut known) = (true, false);
        loop {
            let piece = self.source.next();
            let piece = piece.map_err(|error| cannot(&self.name, &error))?;
            let is_over = piece.is_none();
            is_empty &= is_over;
            let mut gap = None;
            match piece {
                None => framer.finish(),
                Some(Piece::Bytes { bytes, .. }) => framer.push(bytes),
                Some(Piece::Gap { from, to }) => {
                    framer.skip_to(to);
                    gap = Some((from, to));
                }
            }
            while let Some(frame) = framer.next_frame() {
                for item in frame.items() {
                    known |= item
                        .event
                        .as_ref()
                        .is_ok_and(bowline_jsonl::Event::is_known);
                    reader.line(&item);
                }
            }
            if let Some((from, to)) = gap {
                reader.gap(from, to);
            }
            if known {
                reader.pause()?;
            }
            if is_over {
                break;
            }
        }
        if let Some(journal) = self.source.journal() {
            reader.journal(journal);
        }
        if known || is_empty {
            return Ok(());
        }
        Err(Failure::failed(format!(
            "{} holds no line of stream-json: give the agent's recorded output (.jsonl)",
            self.name.display()
        )))
    }
}

fn cannot(name: &Path, error: &io::Error) -> Failure {
    let name = name.display();
    let advice = match error.kind() {
        io::ErrorKind::NotFound => "no such file: check the path",
        io::ErrorKind::PermissionDenied => "permission denied: check the file's mode",
        io::ErrorKind::IsADirectory => "it is a folder: give a file in it",
        io::ErrorKind::UnexpectedEof => "the gzip data is cut: copy the file again",
        _ => return Failure::failed(format!("cannot read {name}: {error}")),
    };
    Failure::failed(format!("cannot read {name}: {advice}"))
}
