//! Repairs checksums and lengths after a mutation: an independent implementation of both formats.

/// Header bytes of a frame.
const FRAME: usize = 28;

/// Header bytes of a record of version 1, of the time that version 2 adds, and of the output offset that
/// its flag [`PLACED`] adds.
const RECORD: (usize, usize, usize) = (24, 8, 8);

/// Flag of a record with an output offset.
pub(super) const PLACED: u16 = 2;

/// Bytes of a segment's header before its streams, and per stream.
const SEGMENT: (usize, usize) = (40, 26);

/// The first bytes of a segment.
pub(super) const SIGNATURE: &[u8; 8] = b"\x89BJL\r\n\x1a\n";

/// The first bytes of a record.
pub(super) const MAGIC: &[u8; 4] = b"BJR\xb1";

/// Repairs every frame in a sequence of frames.
pub(super) fn mend_frames(mut rest: &mut [u8]) {
    while rest.len() >= FRAME {
        let length = length(rest, 0, rest.len() - FRAME);
        let (frame, after) = rest.split_at_mut(FRAME + length);
        seal(frame, FRAME - 4);
        rest = after;
    }
}

/// Repairs the header of a segment and every record after it.
pub(super) fn mend_segment(segment: &mut [u8]) {
    let (fixed, each) = SEGMENT;
    if segment.len() < fixed + 4 {
        return;
    }
    let most = (segment.len() - fixed - 4) / each;
    let declared = segment.get(10..12).and_then(|it| it.try_into().ok());
    let streams = usize::from(declared.map_or(0, u16::from_le_bytes)).min(most);
    write(segment, 0, SIGNATURE);
    write(segment, 10, &(streams as u16).to_le_bytes());
    let is_timed = segment.get(8..10) != Some(&[1, 0]);
    let (header, mut rest) = segment.split_at_mut(fixed + streams * each + 4);
    let body = header.len() - 4;
    seal(header, body);
    let (plain, time, place) = RECORD;
    while rest.len() >= plain + time + place {
        write(rest, 0, MAGIC);
        let flags = rest.get(6..8).and_then(|it| it.try_into().ok());
        let is_placed = flags.map_or(0, u16::from_le_bytes) & PLACED != 0;
        let head = match (is_timed, is_placed) {
            (false, _) => plain,
            (true, false) => plain + time,
            (true, true) => plain + time + place,
        };
        let length = length(rest, 16, rest.len() - head);
        let (record, after) = rest.split_at_mut(head + length);
        seal(record, plain - 4);
        rest = after;
    }
}

/// Returns the length at a position, reduced to the available bytes.
fn length(bytes: &mut [u8], at: usize, most: usize) -> usize {
    let declared = bytes.get(at..at + 4).and_then(|it| it.try_into().ok());
    let declared = declared.map_or(0, u32::from_le_bytes) as usize;
    if declared > most {
        write(bytes, at, &(most as u32).to_le_bytes());
    }
    declared.min(most)
}

/// Writes the checksum of all bytes except its own four.
fn seal(bytes: &mut [u8], at: usize) {
    let (before, rest) = bytes.split_at(at);
    let crc = crc32c::crc32c(before);
    let crc = crc32c::crc32c_append(crc, rest.get(4..).unwrap_or_default());
    write(bytes, at, &crc.to_le_bytes());
}

fn write(bytes: &mut [u8], at: usize, what: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + what.len()) {
        place.copy_from_slice(what);
    }
}

/// Returns a frame with raw fields.
pub(super) fn frame(kind: u8, flags: u8, stream: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    frame.extend((payload.len() as u32).to_le_bytes());
    frame.extend([kind, flags]);
    frame.extend(stream.to_le_bytes());
    frame.extend([7; 16]);
    frame.extend([0; 4]);
    frame.extend(payload);
    seal(&mut frame, FRAME - 4);
    frame
}

/// Returns a record of version 2 with raw fields.
pub(super) fn record(stream: u16, flags: u16, offset: u64, payload: &[u8]) -> Vec<u8> {
    let place = [7; 8];
    let place = if flags & PLACED == 0 { &[][..] } else { &place };
    let times = [&1_700_000_000_000_u64.to_le_bytes(), place].concat();
    sealed_record(stream, flags, offset, &times, payload)
}

/// Returns a record of version 1 with raw fields.
pub(super) fn untimed(stream: u16, flags: u16, offset: u64, payload: &[u8]) -> Vec<u8> {
    sealed_record(stream, flags, offset, &[], payload)
}

fn sealed_record(stream: u16, flags: u16, offset: u64, times: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut record = MAGIC.to_vec();
    record.extend(stream.to_le_bytes());
    record.extend(flags.to_le_bytes());
    record.extend(offset.to_le_bytes());
    record.extend((payload.len() as u32).to_le_bytes());
    record.extend([0; 4]);
    record.extend(times);
    record.extend(payload);
    seal(&mut record, RECORD.0 - 4);
    record
}

/// Returns a segment's header with streams that begin at offsets.
pub(super) fn header(version: u16, streams: &[(u16, u64)]) -> Vec<u8> {
    let mut header = SIGNATURE.to_vec();
    header.extend(version.to_le_bytes());
    header.extend((streams.len() as u16).to_le_bytes());
    header.extend(0_u32.to_le_bytes());
    header.extend([9; 16]);
    header.extend(1_700_000_000_000_u64.to_le_bytes());
    for (stream, begin) in streams {
        header.extend(stream.to_le_bytes());
        for offset in [begin; 3] {
            header.extend(offset.to_le_bytes());
        }
    }
    header.extend([0; 4]);
    let body = header.len() - 4;
    seal(&mut header, body);
    header
}
