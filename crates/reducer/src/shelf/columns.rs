//! Sixty-four records as columns of bits.
//!
//! A record is a row of numbers, and most of a column is one number, or numbers that are near each
//! other. A column is therefore kept as one of
//!
//! - nothing, when it is 0 throughout;
//! - its number, when there is one;
//! - its least number, and what each one is above it, in as many bits as the largest takes;
//! - the same above a line from the first number to the last, when they grow all along;
//! - the number that most have, a bit for each record that has another, and those as above;
//!
//! whichever is the shortest. Any row is read without those before it.

use std::sync::Arc;

/// Records of a sheet.
pub(crate) const SHEET: usize = 64;

/// Most columns of a record.
const COLUMNS: usize = 24;

/// The numbers that a record is made of.
pub(crate) type Row = [u64; COLUMNS];

/// A record that can be packed.
pub(crate) trait Packed: Clone {
    /// How many numbers of a row it takes.
    const COLUMNS: usize;

    /// Whether it is not expected to change.
    fn is_settled(&self) -> bool;

    /// Writes record `number`. What says nothing about it is left as it is in the row, which is that
    /// of the record before: a column is the shorter the less its numbers differ.
    fn to_row(&self, number: usize, row: &mut Row);

    /// Makes record `number` again.
    fn of_row(number: usize, row: &Row) -> Self;
}

/// A sheet: a bit for each column that is not 0, then those columns. Each is its kind, one or two
/// numbers, and bits.
#[derive(Clone, Debug)]
pub(crate) struct Columns(Arc<[u8]>);

/// In the kind of a column, beside the bits of a number: most records have the same number; or they
/// grow along a line.
const SPARSE: u8 = 1 << 7;
const SLOPED: u8 = 1 << 6;

/// Most records that have another number than most.
const MOST_OTHERS: u32 = 40;

/// Most bits of a number, so that it lies in eight bytes wherever it begins.
const WIDEST: u32 = 56;

impl Columns {
    /// Packs a sheet whose first record has the number `first`; none when a number is too wide.
    pub(super) fn of<T: Packed>(first: usize, records: &[T]) -> Option<Self> {
        const { assert!(T::COLUMNS <= COLUMNS) }
        let records: &[T; SHEET] = records.first_chunk()?;
        let mut columns = [[0; SHEET]; COLUMNS];
        let mut row = [0; COLUMNS];
        for (at, record) in records.iter().enumerate() {
            record.to_row(first + at, &mut row);
            for (column, &number) in columns.iter_mut().zip(row.iter().take(T::COLUMNS)) {
                column[at] = number;
            }
        }
        let mut out = Vec::with_capacity(1024);
        out.extend_from_slice(&[0; 4]);
        let mut there: u32 = 0;
        for (at, column) in columns.iter().take(T::COLUMNS).enumerate() {
            if column.iter().any(|&number| number != 0) {
                there |= 1 << at;
                write(&mut out, column)?;
            }
        }
        if let Some(head) = out.first_chunk_mut() {
            *head = there.to_le_bytes();
        }
        Some(Self(out.into()))
    }

    /// The row of one record.
    pub(super) fn row(&self, at: usize) -> Row {
        let mut row = [0; COLUMNS];
        let Some((head, mut rest)) = self.0.split_first_chunk() else {
            return row;
        };
        let mut there = u32::from_le_bytes(*head);
        while there != 0 {
            let column = there.trailing_zeros() as usize;
            there &= there - 1;
            (row[column], rest) = read(rest, at);
        }
        row
    }
}

fn write(out: &mut Vec<u8>, column: &[u64; SHEET]) -> Option<()> {
    let (least, most) = ends(column.iter());
    if least == most {
        out.push(0);
        number(out, least);
        return Some(());
    }
    let dense = width(most - least);
    let common = common(column);
    let others = (0..SHEET).fold(0, |others, at| {
        others | u64::from(column[at] != common) << at
    });
    let count = others.count_ones();
    let of_others = || {
        (0..SHEET)
            .filter(|at| others >> at & 1 == 1)
            .map(|at| &column[at])
    };
    if count <= MOST_OTHERS {
        let (least, most) = ends(of_others());
        let sparse = width(most - least);
        if 8 + (count * sparse).div_ceil(8) < 8 * dense {
            out.push(SPARSE | kind(sparse)?);
            number(out, common);
            number(out, least);
            out.extend_from_slice(&others.to_le_bytes());
            bits(out, sparse, of_others().map(|number| number - least));
            return Some(());
        }
    }
    match along(column).filter(|&(.., sloped)| sloped < dense) {
        Some((slope, start, sloped)) => {
            out.push(SLOPED | kind(sloped)?);
            number(out, start);
            number(out, slope);
            let numbers = column.iter().enumerate();
            bits(
                out,
                sloped,
                numbers.map(|(at, it)| it - start - climbed(slope, at)),
            );
        }
        None => {
            out.push(kind(dense)?);
            number(out, least);
            bits(out, dense, column.iter().map(|number| number - least));
        }
    }
    Some(())
}

/// The least of some numbers, and the largest.
fn ends<'a>(numbers: impl Iterator<Item = &'a u64>) -> (u64, u64) {
    numbers.fold((u64::MAX, 0), |(least, most), &it| {
        (least.min(it), most.max(it))
    })
}

/// A number that most records have, if there is one: then two of three have it, very likely.
fn common(column: &[u64; SHEET]) -> u64 {
    let [a, b, c] = [
        column[SHEET / 5],
        column[SHEET / 2],
        column[SHEET - SHEET / 5],
    ];
    if b == c { b } else { a }
}

/// A width as the kind of a column; none when it is too wide.
fn kind(width: u32) -> Option<u8> {
    u8::try_from(width).ok().filter(|_| width <= WIDEST)
}

/// A line below numbers that grow: by how much each, in 64ths, where it begins, and how many bits what
/// is above it takes; none when they do not grow, or only far above 0.
fn along(column: &[u64; SHEET]) -> Option<(u64, u64, u32)> {
    let [first, .., last] = *column;
    if last <= first || last >= 1 << WIDEST {
        return None;
    }
    let slope = ((last - first) << 6) / (SHEET as u64 - 1);
    let numbers = column.iter().enumerate();
    let above = |(at, &number)| Some((number as i64).wrapping_sub(climbed(slope, at) as i64));
    let above = numbers.filter_map(above);
    let (least, most) = above.fold((i64::MAX, i64::MIN), |(least, most), it| {
        (least.min(it), most.max(it))
    });
    let start = u64::try_from(least).ok()?;
    Some((slope, start, width((most - least) as u64)))
}

/// How much a line has grown at a record.
const fn climbed(slope: u64, at: usize) -> u64 {
    (slope * at as u64) >> 6
}

/// The number of record `at`, and what stands behind the column.
#[inline]
fn read(column: &[u8], at: usize) -> (u64, &[u8]) {
    let (&kind, rest) = column.split_first().unwrap_or((&0, &[]));
    let (common, rest) = numbered(rest);
    let width = usize::from(kind & !(SPARSE | SLOPED));
    if kind & SPARSE == 0 {
        let (slope, rest) = match kind & SLOPED {
            0 => (0, rest),
            _ => numbered(rest),
        };
        let above = bits_at(rest, at * width, width);
        let behind = rest.get(8 * width..).unwrap_or_default();
        return (common + climbed(slope, at) + above, behind);
    }
    let (least, rest) = numbered(rest);
    let (others, rest) = rest.split_first_chunk().unwrap_or((&[0; 8], &[]));
    let others = u64::from_le_bytes(*others);
    let behind = rest.get((others.count_ones() as usize * width).div_ceil(8)..);
    let before = (others & ((1 << at) - 1)).count_ones() as usize;
    let number = match others >> at & 1 {
        0 => common,
        _ => least + bits_at(rest, before * width, width),
    };
    (number, behind.unwrap_or_default())
}

/// Bits that a number takes.
const fn width(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// Writes a number, seven bits a byte.
fn number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 1 << 7 {
        out.push(number as u8 | 1 << 7);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number, and gives what stands behind it.
#[inline]
fn numbered(bytes: &[u8]) -> (u64, &[u8]) {
    let (mut number, mut shift, mut rest) = (0, 0, bytes);
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 1 << 7 || shift > 63 {
            break;
        }
    }
    (number, rest)
}

fn bits(out: &mut Vec<u8>, width: u32, numbers: impl Iterator<Item = u64>) {
    let (mut word, mut count): (u64, u32) = (0, 0);
    for number in numbers {
        word |= number << count;
        count += width;
        if count >= u64::BITS {
            out.extend_from_slice(&word.to_le_bytes());
            count -= u64::BITS;
            // What did not fit: none of it when it ended with the word.
            word = number.checked_shr(width - count).unwrap_or_default();
        }
    }
    let last = word.to_le_bytes();
    out.extend(last.iter().take(count.div_ceil(8) as usize));
}

#[inline]
fn bits_at(bytes: &[u8], bit: usize, width: usize) -> u64 {
    let bytes = bytes.get(bit / 8..).unwrap_or_default();
    let word = match bytes.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(bytes) {
                *to = *from;
            }
            u64::from_le_bytes(word)
        }
    };
    word >> (bit % 8) & ((1 << width) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Three([u64; 3]);

    impl Packed for Three {
        const COLUMNS: usize = 3;

        fn is_settled(&self) -> bool {
            true
        }

        fn to_row(&self, _: usize, row: &mut Row) {
            row[..3].copy_from_slice(&self.0);
        }

        fn of_row(_: usize, row: &Row) -> Self {
            Self([row[0], row[1], row[2]])
        }
    }

    fn comes_back(make: impl Fn(usize) -> [u64; 3]) -> usize {
        let records: Vec<_> = (0..SHEET).map(|at| Three(make(at))).collect();
        let columns = Columns::of(0, &records).expect("numbers of 56 bits at most");
        for (at, record) in records.iter().enumerate() {
            assert_eq!(Three::of_row(at, &columns.row(at)), *record, "{at}");
        }
        columns.0.len()
    }

    #[test]
    fn every_row_comes_back() {
        let mut seed: u64 = 7;
        let mut random = || {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            seed >> 8
        };
        for round in 0..2_000 {
            let widths = [random() % 57, random() % 57, random() % 12];
            let share = random() % 70;
            let table: Vec<_> = (0..SHEET as u64)
                .map(|at| {
                    widths.map(|width| {
                        let is_other = random() % 64 < share;
                        let number = random() & ((1 << width) - 1);
                        let grown = (round % 7) * 1000 * at;
                        if is_other { number } else { round + grown }
                    })
                })
                .collect();
            comes_back(|at| table[at]);
        }
    }

    #[test]
    fn columns_take_what_their_numbers_need() {
        let head = 4;
        assert_eq!(comes_back(|_| [0, 0, 0]), head);
        assert_eq!(comes_back(|_| [0, 5, 0]), head + 2);
        let dense = comes_back(|at| [1000 + (at as u64 * 37) % 64, 0, 0]);
        assert_eq!(dense, head + 1 + 2 + 6 * 8);
        let sloped = comes_back(|at| [5000 + 300 * at as u64 + at as u64 % 2, 0, 0]);
        assert_eq!(sloped, head + 1 + 2 + 3 + 8);
        let sparse = comes_back(|at| [if at == 9 { 1 << 40 } else { 3 }, 0, 0]);
        assert_eq!(sparse, head + 1 + 1 + 6 + 8);
    }

    #[test]
    fn a_number_that_is_too_wide_is_not_packed() {
        let records: Vec<_> = (0..SHEET).map(|at| Three([0, at as u64, 0])).collect();
        assert!(Columns::of(0, &records).is_some());
        let records: Vec<_> = (0..SHEET)
            .map(|at| Three([0, (at as u64) << 52, 0]))
            .collect();
        assert!(Columns::of(0, &records).is_none());
    }
}
