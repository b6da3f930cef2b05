//! Mutations of bytes without knowledge of the format.

use crate::random::Random;

/// Maximum number of mutations of one input.
const CHANGES: usize = 4;

/// Longest part that is dropped, duplicated or moved, in bytes.
const PART: usize = 64;

/// Boundary values of integers.
const NUMBERS: [u64; 14] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x4_0000,
    0x4_0001,
    0x7fff_ffff,
    0xffff_ffff,
    u64::MAX >> 1,
    u64::MAX,
];

/// Applies one to four mutations to `input`, up to the length `longest`.
pub(super) fn change(
    input: &mut Vec<u8>,
    other: &[u8],
    dictionary: &[&[u8]],
    longest: usize,
    random: &mut Random,
) {
    for _ in 0..=random.below(CHANGES) {
        match random.below(12) {
            0 => flip(input, random),
            1 => overwrite(input, &[random.below(256) as u8], random),
            2 => drop(input.drain(random.part(input.len(), PART))),
            3 => double(input, random),
            4 => insert(input, random.pick(dictionary).unwrap_or(b"\0"), random),
            5 => overwrite(input, random.pick(dictionary).unwrap_or(b"\0"), random),
            6 => graft(input, other, random),
            7 => number(input, random),
            8 => step(input, random),
            9 => swap(input, random),
            10 => input.truncate(random.below(input.len() + 1)),
            _ => insert(input, &[random.below(256) as u8], random),
        }
    }
    input.truncate(longest);
}

fn flip(input: &mut [u8], random: &mut Random) {
    let at = random.below(input.len());
    if let Some(byte) = input.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

fn overwrite(input: &mut [u8], with: &[u8], random: &mut Random) {
    let at = random.below(input.len());
    for (byte, with) in input.iter_mut().skip(at).zip(with) {
        *byte = *with;
    }
}

fn insert(input: &mut Vec<u8>, piece: &[u8], random: &mut Random) {
    let at = random.below(input.len() + 1);
    drop(input.splice(at..at, piece.iter().copied()));
}

fn double(input: &mut Vec<u8>, random: &mut Random) {
    let part = random.part(input.len(), PART);
    let piece = input.get(part).unwrap_or_default().to_vec();
    for _ in 0..=random.below(3) {
        insert(input, &piece, random);
    }
}

/// Replaces a part with one of another input.
fn graft(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let place = random.part(input.len(), PART);
    let longest = if random.below(4) == 0 {
        other.len()
    } else {
        PART
    };
    let piece = other
        .get(random.part(other.len(), longest))
        .unwrap_or_default();
    drop(input.splice(place, piece.iter().copied()));
}

/// Overwrites bytes with an integer of any width and byte order.
fn number(input: &mut [u8], random: &mut Random) {
    let number = random.pick(&NUMBERS).unwrap_or(0);
    let width = 1 << random.below(4);
    let bytes = number.to_le_bytes();
    let mut bytes = bytes.into_iter().take(width).collect::<Vec<_>>();
    if random.below(4) == 0 {
        bytes.reverse();
    }
    overwrite(input, &bytes, random);
}

/// Adds or subtracts a small number.
fn step(input: &mut [u8], random: &mut Random) {
    let at = random.below(input.len());
    if let Some(byte) = input.get_mut(at) {
        let by = random.below(17) as u8;
        *byte = byte.wrapping_add(by).wrapping_sub(8);
    }
}

fn swap(input: &mut [u8], random: &mut Random) {
    let part = random.part(input.len(), 2 * PART);
    let middle = random.below(part.len());
    if let Some(part) = input.get_mut(part)
        && middle < part.len()
    {
        part.rotate_left(middle);
    }
}
