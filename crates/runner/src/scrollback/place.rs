//! Names a screen of the past.

use std::fmt;
use std::str::FromStr;

use bowline_transport::WindowSize;

/// A screen of the past: at an offset of the output, and with a size, since several may have been set there.
/// As text: `OFFSET-COLSxROWS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScreenPlace {
    pub(crate) offset: u64,
    pub(crate) size: WindowSize,
}

impl fmt::Display for ScreenPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WindowSize { cols, rows, .. } = self.size;
        write!(f, "{}-{cols}x{rows}", self.offset)
    }
}

impl FromStr for ScreenPlace {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (offset, size) = text.split_once('-')?;
            let (cols, rows) = size.split_once('x')?;
            let size = WindowSize::new(rows.parse().ok()?, cols.parse().ok()?);
            let offset = offset.parse().ok()?;
            Some(Self { offset, size })
        };
        parse().ok_or("`at` is not a screen; take it from `reattach-begin` or from another page")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_place_is_parsed_again() {
        let size = WindowSize::new(24, 80);
        let place = ScreenPlace { offset: 7, size };
        assert_eq!(place.to_string(), "7-80x24");
        assert_eq!("7-80x24".parse(), Ok(place));
        for text in ["", "7", "7-80", "x-80x24", "7-80x70000"] {
            assert!(text.parse::<ScreenPlace>().is_err(), "{text}");
        }
    }
}
