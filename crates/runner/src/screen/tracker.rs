//! What a terminal keeps that the engine does not: which of a session's words are still in force.
//!
//! The engine restores cells, cursor, pen, margins, tabs, charsets and the usual modes. What is here
//! comes before and behind its bytes in a snapshot.

mod keyboard;
mod titles;

use super::sequence::{Csi, Osc, Sequence};

use keyboard::Keyboard;
use titles::Titles;

/// Mouse reports and their encodings.
const MOUSE: [u16; 9] = [9, 1000, 1001, 1002, 1003, 1005, 1006, 1015, 1016];

/// Private modes that the engine does not know, which a session may have set: reverse video (5),
/// reverse wrap (45), alternate scroll (1007), meta and alt keys (1034 to 1036, 1039), grapheme
/// clusters (2027), reports of the colour scheme (2031) and of the size (2048).
const PRIVATE: [u16; 10] = [5, 45, 1007, 1034, 1035, 1036, 1039, 2027, 2031, 2048];

/// Modes among these that are on until a session says otherwise, or whose default is the client's:
/// they are not switched off before a snapshot.
const LEFT_ALONE: [u16; 5] = [1007, 1034, 1035, 1036, 1039];

/// Longest link that is kept open, in bytes, as in the engine (and in VTE).
const LONGEST_LINK: usize = 2083 + 250;

/// Resources of `CSI > Pp ; Pv m` (XTMODKEYS): the keyboard's, cursor and function keys, other keys.
const KEY_RESOURCES: usize = 8;

/// What is in force besides what the engine knows.
#[derive(Clone, Debug, Default)]
pub(super) struct StateTracker {
    keyboard: Keyboard,
    titles: Titles,
    /// What was said of mouse modes: of each when it was last set, and when reset since.
    mouse: Vec<(u16, bool)>,
    /// The modes of [`PRIVATE`] that were said something about.
    private: Vec<(u16, bool)>,
    /// LNM: a line feed returns the carriage too.
    newline: bool,
    /// XTMODKEYS, by resource.
    key_resources: [Option<u16>; KEY_RESOURCES],
    /// An OSC 8 that was not ended, whole.
    link: Vec<u8>,
    /// The last semantic mark (OSC 133), if a command or its prompt is under way.
    mark: Option<u8>,
    /// The progress that is shown (OSC 9;4), whole.
    progress: Vec<u8>,
    is_alternate: bool,
}

impl StateTracker {
    /// Whether the alternate screen is shown.
    pub(super) fn is_alternate(&self) -> bool {
        self.is_alternate
    }

    /// The flags of the keyboard protocol that are in force.
    pub(super) fn keyboard_flags(&self) -> u16 {
        self.keyboard.flags(self.is_alternate)
    }

    pub(super) fn take(&mut self, sequence: &Sequence<'_>) {
        match sequence {
            Sequence::Csi(csi, _) => self.csi(csi),
            Sequence::Osc(osc, whole) => self.osc(osc, whole),
            Sequence::Escape(b"\x1bc") => self.reset(),
            _ => {}
        }
    }

    /// RIS. Titles describe the session and stay, as in the engine.
    fn reset(&mut self) {
        *self = Self {
            titles: std::mem::take(&mut self.titles),
            ..Self::default()
        };
    }

    fn csi(&mut self, csi: &Csi<'_>) {
        match csi.command() {
            (b'?', b"", last @ (b'h' | b'l')) => {
                for mode in csi.params().flatten() {
                    self.private_mode(mode, last == b'h');
                }
            }
            (0, b"", last @ (b'h' | b'l')) if csi.params().any(|mode| mode == Some(20)) => {
                self.newline = last == b'h';
            }
            (b'>', b"", b'm') => self.key_resource(csi),
            (_, b"", b'u') => self.keyboard.csi(csi, self.is_alternate),
            (0, b"", b't') => self.titles.csi(csi),
            _ => {}
        }
    }

    fn private_mode(&mut self, mode: u16, on: bool) {
        if matches!(mode, 47 | 1047 | 1049) {
            self.is_alternate = on;
        }
        if MOUSE.contains(&mode) {
            self.mouse_mode(mode, on);
        }
        if PRIVATE.contains(&mode) {
            self.private.retain(|(said, _)| *said != mode);
            if on || LEFT_ALONE.contains(&mode) {
                self.private.push((mode, on));
            }
        }
    }

    /// In some terminals a mode replaces the one before, in others all are set side by side; so they
    /// are told in order, each with its end.
    fn mouse_mode(&mut self, mode: u16, on: bool) {
        let outdated = |said: &(u16, bool)| said.0 == mode && (on || !said.1);
        self.mouse.retain(|said| !outdated(said));
        self.mouse.push((mode, on));
        let is_reset = |(mode, on): &(u16, bool)| !on || self.mouse.contains(&(*mode, false));
        if self.mouse.iter().all(is_reset) {
            self.mouse.clear();
        }
    }

    fn key_resource(&mut self, csi: &Csi<'_>) {
        let mut params = csi.params();
        match params.next().flatten() {
            None => self.key_resources = Default::default(),
            Some(resource) => {
                if let Some(known) = self.key_resources.get_mut(usize::from(resource)) {
                    *known = params.next().flatten();
                }
            }
        }
    }

    fn osc(&mut self, osc: &Osc<'_>, whole: &[u8]) {
        match osc.number {
            0..=2 => self.titles.osc(osc),
            8 => {
                let target = osc.text.iter().position(|byte| *byte == b';');
                let is_end = target.is_none_or(|at| osc.text.len() == at + 1);
                self.link.clear();
                if !is_end && whole.len() <= LONGEST_LINK {
                    self.link.extend_from_slice(whole);
                }
            }
            9 => {
                if let Some(progress) = osc.text.strip_prefix(b"4;") {
                    self.progress.clear();
                    if !progress.starts_with(b"0") && whole.len() <= 64 {
                        self.progress.extend_from_slice(whole);
                    }
                }
            }
            133 => {
                let mark = osc.text.first().copied();
                self.mark = mark.filter(|mark| matches!(mark, b'A' | b'B' | b'C'));
            }
            _ => {}
        }
    }

    /// What comes before the engine's bytes: an end to all that another session may have left in the
    /// terminal, as far as the engine does not end it itself. `cols` is the width.
    pub(super) fn prelude(&self, out: &mut Vec<u8>, cols: u16) {
        // Whatever sequence was cut when the client was lost.
        out.extend(b"\x18\x1b]8;;\x1b\\");
        Titles::forget(out);
        out.extend(b"\x1b[m\x1b(B\x1b)B\x0f\x1b[?69l\x1b[r\x1b[?6l");
        // Both screens have a keyboard stack and a saved cursor of their own.
        out.extend(b"\x1b[?1049h\x1b[<255u\x1b[=0u\x1b[H\x1b7");
        self.keyboard.restore(true, out);
        out.extend(b"\x1b[?1049l\x1b[<255u\x1b[=0u");
        self.keyboard.restore(false, out);
        out.extend(b"\x1b[>4;0m\x1b[0 q\x1b[?12l\x1b[20l");
        for mode in MOUSE
            .iter()
            .chain(PRIVATE.iter().filter(|mode| !LEFT_ALONE.contains(mode)))
        {
            out.extend(format!("\x1b[?{mode}l").bytes());
        }
        out.extend(b"\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\");
        // The engine tells of the tab stops that differ from each eighth column.
        out.extend(b"\x1b[?69l\x1b[r\x1b[?6l\x1b[3g");
        for col in (0..cols).step_by(8) {
            out.extend(format!("\x1b[1;{}H\x1bH", col + 1).bytes());
        }
    }

    /// What comes behind the engine's bytes.
    pub(super) fn restore(&self, out: &mut Vec<u8>) {
        // The engine has set some already, in an order of its own.
        for mode in MOUSE.iter().filter(|_| !self.mouse.is_empty()) {
            out.extend(format!("\x1b[?{mode}l").bytes());
        }
        for (mode, on) in self.mouse.iter().chain(&self.private) {
            let last = if *on { 'h' } else { 'l' };
            out.extend(format!("\x1b[?{mode}{last}").bytes());
        }
        if self.newline {
            out.extend(b"\x1b[20h");
        }
        for (resource, value) in self.key_resources.iter().enumerate() {
            if let Some(value) = value {
                out.extend(format!("\x1b[>{resource};{value}m").bytes());
            }
        }
        self.titles.restore(out);
        if let Some(mark) = self.mark {
            out.extend(format!("\x1b]133;{}\x1b\\", char::from(mark)).bytes());
        }
        out.extend(&self.progress);
        out.extend(&self.link);
    }
}
