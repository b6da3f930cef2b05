//! Reads a recorded stream: a file or standard input, plain or gzip.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use bowline_jsonl::{Framer, Item};
use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;

use crate::failure::Failure;

/// How much is read at once, in bytes.
const CHUNK: usize = 256 << 10;

/// The first two bytes of a gzip file (RFC 1952, section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A recorded stream.
pub(crate) struct Recording {
    name: PathBuf,
    source: Box<dyn Read>,
}

/// What reads a recording line by line.
pub(crate) trait Reader {
    /// Takes the next line.
    fn line(&mut self, item: &Item<'_>);

    /// Nothing more is at hand at the moment: shows what there is.
    fn pause(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

impl Recording {
    /// Opens a file, or standard input for `-`.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let name = path.to_owned();
        let raw: Box<dyn Read> = if path == Path::new("-") {
            if io::stdin().is_terminal() {
                return Err(Failure::usage(
                    "nothing to read: pipe a recorded stream in, or name a file",
                ));
            }
            Box::new(io::stdin())
        } else {
            Box::new(File::open(path).map_err(|error| cannot(&name, &error))?)
        };
        let mut buffered = BufReader::with_capacity(CHUNK, raw);
        let head = buffered.fill_buf().map_err(|error| cannot(&name, &error))?;
        let source: Box<dyn Read> = if head.starts_with(&GZIP) {
            Box::new(MultiGzDecoder::new(buffered))
        } else {
            Box::new(buffered)
        };
        Ok(Self { name, source })
    }

    /// Gives every line to `reader`, in order. Nothing is shown of a file that holds no event.
    pub(crate) fn read_into(mut self, reader: &mut impl Reader) -> Result<(), Failure> {
        let mut framer = Framer::default();
        let (mut is_empty, mut known) = (true, false);
        loop {
            let chunk = self.chunk()?;
            let is_over = chunk.is_empty();
            is_empty &= is_over;
            if is_over {
                framer.finish();
            } else {
                framer.push(chunk);
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
            if known {
                reader.pause()?;
            }
            if is_over {
                break;
            }
        }
        if known || is_empty {
            return Ok(());
        }
        Err(Failure::failed(format!(
            "{} holds no line of stream-json: give the agent's recorded output (.jsonl)",
            self.name.display()
        )))
    }

    fn chunk(&mut self) -> Result<Bytes, Failure> {
        let mut chunk = vec![0; CHUNK];
        loop {
            match self.source.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(cannot(&self.name, &error)),
                Ok(length) => {
                    chunk.truncate(length);
                    return Ok(chunk.into());
                }
            }
        }
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
