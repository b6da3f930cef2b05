//! The pool of inputs to mutate.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::random::Random;

/// Number of recent inputs that are chosen as often as all others together.
const LAST: usize = 32;

/// Inputs, each of which reached a new branch.
#[derive(Debug, Default)]
pub(super) struct Pool {
    inputs: Vec<Vec<u8>>,
    /// The folder that stores them between runs.
    folder: Option<PathBuf>,
}

impl Pool {
    /// Creates a pool of a target's seeds and of the inputs of an earlier run.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read or created.
    pub(super) fn new(seeds: Vec<Vec<u8>>, folder: Option<&Path>) -> io::Result<Self> {
        let mut inputs = seeds;
        if let Some(folder) = folder {
            fs::create_dir_all(folder)?;
            let entries = fs::read_dir(folder)?;
            let mut files = entries
                .map(|entry| Ok(entry?.path()))
                .collect::<io::Result<Vec<_>>>()?;
            files.sort();
            for file in files.into_iter().filter(|file| file.is_file()) {
                inputs.push(fs::read(file)?);
            }
        }
        Ok(Self {
            inputs,
            folder: folder.map(Path::to_path_buf),
        })
    }

    pub(super) const fn len(&self) -> usize {
        self.inputs.len()
    }

    pub(super) fn all(&self) -> &[Vec<u8>] {
        &self.inputs
    }

    /// Returns an input to mutate: often a recent one, which reached new branches.
    pub(super) fn pick(&self, random: &mut Random) -> &[u8] {
        let last = self.inputs.len().min(LAST);
        let at = match random.below(2) {
            0 => random.below(self.inputs.len()),
            _ => self.inputs.len() - last + random.below(last),
        };
        self.inputs.get(at).map_or(&[], Vec::as_slice)
    }

    /// Adds an input.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written to the folder.
    pub(super) fn keep(&mut self, input: &[u8]) -> io::Result<()> {
        if let Some(folder) = &self.folder {
            fs::write(folder.join(name(input)), input)?;
        }
        self.inputs.push(input.to_vec());
        Ok(())
    }
}

/// Returns a name derived from the content (FNV-1a).
pub(super) fn name(input: &[u8]) -> String {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325, mix);
    format!("{hash:016x}.bin")
}
