//! The current segment.

use std::io::{self, IoSlice};
use std::sync::Arc;

use super::super::{Disk, Header, Record};

/// An open segment.
#[derive(Debug)]
pub(super) struct Segment<F> {
    pub(super) file: Arc<F>,
    pub(super) header: Header,
    /// Length of the completely written part, in bytes.
    pub(super) bytes: u64,
    pub(super) has_records: bool,
    /// Position up to which space is reserved.
    reserved: u64,
}

/// Number of bytes that are reserved ahead at once.
const RESERVE_STEP: u64 = 64 << 10;

impl<F> Segment<F> {
    pub(super) fn create<D: Disk<File = F>>(disk: &D, header: Header) -> io::Result<Self> {
        Ok(Self {
            file: Arc::new(disk.create(header.segment)?),
            header,
            bytes: 0,
            has_records: false,
            reserved: 0,
        })
    }

    /// Writes the header and the carried records, and syncs the latter.
    pub(super) fn begin<D>(&mut self, disk: &D, carried: &[Record]) -> io::Result<()>
    where
        D: Disk<File = F>,
    {
        let header = self.header.encode();
        self.write_all(disk, &header, &[])?;
        for record in carried {
            self.write(disk, record)?;
        }
        if carried.is_empty() {
            Ok(())
        } else {
            disk.sync(&self.file)
        }
    }

    /// Reserves space for `length` more bytes.
    pub(super) fn reserve<D>(&mut self, disk: &D, length: u64) -> io::Result<()>
    where
        D: Disk<File = F>,
    {
        let needed = self.bytes + length;
        if needed <= self.reserved {
            return Ok(());
        }
        let from = self.reserved.max(self.bytes);
        let ahead = needed + RESERVE_STEP;
        self.reserved = match disk.reserve(&self.file, from, ahead) {
            Ok(()) => ahead,
            Err(_) => disk.reserve(&self.file, from, needed).map(|()| needed)?,
        };
        Ok(())
    }

    /// Frees the space that was reserved and not used.
    pub(super) fn release<D: Disk<File = F>>(&self, disk: &D) {
        if self.reserved > self.bytes {
            disk.release(&self.file, self.bytes);
        }
    }

    pub(super) fn write<D: Disk<File = F>>(&mut self, disk: &D, record: &Record) -> io::Result<()> {
        let (head, payload) = record.encode();
        self.write_all(disk, head.as_ref(), &payload)?;
        self.has_records = true;
        Ok(())
    }

    fn write_all<D: Disk<File = F>>(
        &mut self,
        disk: &D,
        head: &[u8],
        rest: &[u8],
    ) -> io::Result<()> {
        let mut slices = [IoSlice::new(head), IoSlice::new(rest)];
        let mut left = &mut slices[..];
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            match disk.write(&self.file, left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut left, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.bytes += (head.len() + rest.len()) as u64;
        Ok(())
    }
}
