//! Mutations of lines: broken, changed, or spelled differently.

use crate::corpus::Corpus;
use crate::dictionary::TOKENS;
use crate::random::Random;

/// Maximum number of mutations of one line.
const CHANGES: usize = 3;

/// Longest part of a line that is dropped, duplicated or inserted into another, in bytes.
const PART: usize = 200;

/// Maximum number of units that a string grows by: several vector blocks.
const GROWTH: usize = 200;

/// Units that a string grows by.
const UNITS: [&[u8]; 10] = [
    b"a",
    b"\\\\",
    b"\\n",
    b"\\u0041",
    b"\xe2\x86\x92",
    b"\\\"",
    b"\\ud83d\\ude00",
    b"\\ud83d",
    b"\xc3\xa9",
    b"{[,:",
];

/// Applies one to three mutations to a line.
pub(crate) fn mutate(line: &[u8], corpus: &Corpus, random: &mut Random) -> Vec<u8> {
    let mut mutant = line.to_vec();
    for _ in 0..=random.below(CHANGES) {
        match random.below(10) {
            0 => flip(&mut mutant, random),
            1 => drop(mutant.drain(random.part(mutant.len(), 8))),
            2 => mutant.truncate(random.below(mutant.len())),
            3 => double(&mut mutant, random),
            4 => insert(&mut mutant, random, &TOKENS),
            5 => graft(&mut mutant, corpus.any(random), random),
            6 => swap_members(&mut mutant, random),
            7 => grow(&mut mutant, random),
            8 => escape(&mut mutant, random),
            _ => space(&mut mutant, random),
        }
    }
    mutant
}

fn flip(mutant: &mut [u8], random: &mut Random) {
    let at = random.below(mutant.len());
    if let Some(byte) = mutant.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

fn put(mutant: &mut Vec<u8>, at: usize, piece: &[u8]) {
    drop(mutant.splice(at..at, piece.iter().copied()));
}

fn double(mutant: &mut Vec<u8>, random: &mut Random) {
    let part = random.part(mutant.len(), PART);
    let piece = mutant.get(part.clone()).unwrap_or_default().to_vec();
    put(mutant, part.start, &piece);
}

fn insert(mutant: &mut Vec<u8>, random: &mut Random, pieces: &[&[u8]]) {
    let at = random.below(mutant.len() + 1);
    put(mutant, at, random.pick(pieces).unwrap_or_default());
}

/// Replaces a part with one of another line.
fn graft(mutant: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let place = random.part(mutant.len(), PART);
    let piece = other
        .get(random.part(other.len(), PART))
        .unwrap_or_default();
    drop(mutant.splice(place, piece.iter().copied()));
}

/// Returns the positions of `byte`.
fn places(mutant: &[u8], byte: u8) -> Vec<usize> {
    let bytes = mutant.iter().enumerate();
    bytes
        .filter(|&(_, &it)| it == byte)
        .map(|(at, _)| at)
        .collect()
}

/// Swaps members or elements: the parts between three commas.
fn swap_members(mutant: &mut [u8], random: &mut Random) {
    let commas = places(mutant, b',');
    let at = random.below(commas.len());
    if let Some(&[first, second, third]) = commas.get(at..).and_then(|rest| rest.first_chunk())
        && let Some(members) = mutant.get_mut(first..third)
    {
        members.rotate_left(second - first);
    }
}

/// Lengthens a string, so that the bytes after it move to another position of a vector.
fn grow(mutant: &mut Vec<u8>, random: &mut Random) {
    let unit = random.pick(&UNITS).unwrap_or_default();
    let more = unit.repeat(random.below(GROWTH));
    if let Some(quote) = random.pick(&places(mutant, b'"')) {
        put(mutant, quote + 1, &more);
    }
}

/// Replaces a letter by its escape.
fn escape(mutant: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(mutant.len());
    if let Some(&letter) = mutant.get(at).filter(|it| it.is_ascii_alphanumeric()) {
        let escape = format!("\\u{:04x}", letter);
        drop(mutant.splice(at..=at, escape.into_bytes()));
    }
}

/// Inserts whitespace where JSON permits it.
fn space(mutant: &mut Vec<u8>, random: &mut Random) {
    let mark = random.pick(b"{}[],:").unwrap_or_default();
    let spaces: [&[u8]; 4] = [b" ", b"\t", b"  ", b"\r"];
    if let Some(at) = random.pick(&places(mutant, mark)) {
        put(
            mutant,
            at + random.below(2),
            random.pick(&spaces).unwrap_or_default(),
        );
    }
}
