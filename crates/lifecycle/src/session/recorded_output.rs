//! Reads the output of a session again: from its recording, or from the past conversation.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use bowline_transport::Piece;
use bowline_transport::journal::{Arrived, JournalReader, OneFile};
use bowline_transport::wire::StreamId;
use bytes::Bytes;

use super::recording::RecordedOutput;

/// Output that can be read from any offset.
pub(super) enum OutputSource {
    History(Bytes),
    File {
        file: File,
        /// Offset of the first byte of the file in the output.
        begin: u64,
    },
    Journal(JournalReader<OneFile>, StreamId),
}

impl OutputSource {
    /// Opens a recording. `stream` is the stream of a journal that is read.
    pub(super) fn open(recorded: &RecordedOutput, stream: StreamId) -> io::Result<Self> {
        let path = &recorded.path;
        Ok(if recorded.is_journal {
            Self::Journal(JournalReader::open(OneFile::at(path))?, stream)
        } else {
            let (file, begin) = (File::open(path)?, recorded.begin);
            Self::File { file, begin }
        })
    }

    /// Reads up to `length` bytes at an offset. Their arrival is known in a journal. Returns `None` past the
    /// end.
    pub(super) fn read(&mut self, at: u64, length: usize) -> io::Result<Option<Arrived>> {
        let bytes = match self {
            Self::History(history) => {
                let from = usize::try_from(at).unwrap_or(usize::MAX).min(history.len());
                history.slice(from..history.len().min(from + length))
            }
            Self::File { begin, .. } if at < *begin => {
                return Ok(Some(
                    Piece::Gap {
                        from: at,
                        to: *begin,
                    }
                    .into(),
                ));
            }
            Self::File { file, begin } => {
                let mut bytes = vec![0; length];
                let length = file.read_at(&mut bytes, at - *begin)?;
                bytes.truncate(length);
                bytes.into()
            }
            Self::Journal(reader, stream) => return reader.read_arrived(*stream, at, length),
        };
        let piece = Piece::Bytes { offset: at, bytes };
        Ok((piece.end() > at).then(|| piece.into()))
    }
}
