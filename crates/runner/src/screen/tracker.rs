//! Terminal state that the engine does not keep: modes, keyboard flags, titles, links and marks
//! that are in force.
//!
//! The engine reproduces cells, cursor, pen, margins, tab stops, character sets and the usual
//! modes. A snapshot has the bytes written here before and after those of the engine. The sequences
//! are those of xterm ctlseqs.

mod keyboard;
mod titles;

use super::sequence::{Csi, Osc, Sequence};

use keyboard::Keyboard;
use titles::Titles;

/// Mouse tracking modes and encodings.
const MOUSE: [u16; 9] = [9, 1000, 1001, 1002, 1003, 1005, 1006, 1015, 1016];

/// Private modes unknown to the engine: reverse video (5), reverse wraparound (45), alternate
/// scroll (1007), meta and alt keys (1034 to 1036, 1039), grapheme clusters (2027), reports of the
/// colour scheme (2031) and of the size (2048).
const PRIVATE: [u16; 10] = [5, 45, 1007, 1034, 1035, 1036, 1039, 2027, 2031, 2048];

/// Modes of these that are set by default, or by the client's configuration: a snapshot does not
/// reset them.
const NOT_RESET: [u16; 5] = [1007, 1034, 1035, 1036, 1039];

/// Maximal bytes of an open link, as in the engine and in VTE.
const MAX_LINK_BYTES: usize = 2083 + 250;

/// Resources of XTMODKEYS (`CSI > Pp ; Pv m`).
const KEY_RESOURCES: usize = 8;

/// State that a snapshot restores in addition to the engine's.
#[derive(Clone, Debug, Default)]
pub(super) struct StateTracker {
    keyboard: Keyboard,
    titles: Titles,
    /// The mouse modes in the order in which they were set or reset.
    mouse: Vec<(u16, bool)>,
    /// The modes of [`PRIVATE`] that were set or reset.
    private: Vec<(u16, bool)>,
    /// LNM: LF implies CR.
    newline: bool,
    /// Values of XTMODKEYS by resource.
    key_resources: [Option<u16>; KEY_RESOURCES],
    /// The sequence of an open link (OSC 8).
    link: Vec<u8>,
    /// The last semantic mark (OSC 133) of a prompt or a running command.
    mark: Option<u8>,
    /// The sequence of the displayed progress (OSC 9;4).
    progress: Vec<u8>,
    is_alternate: bool,
}

impl StateTracker {
    /// Returns whether the alternate screen is shown.
    pub(super) fn is_alternate(&self) -> bool {
        self.is_alternate
    }

    /// Returns the flags of the keyboard protocol that are in force.
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

    /// RIS. Titles are kept, as in the engine.
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
            self.private.retain(|(requested, _)| *requested != mode);
            if on || NOT_RESET.contains(&mode) {
                self.private.push((mode, on));
            }
        }
    }

    /// Mouse modes replace each other in some terminals, and are independent in others; so they are
    /// replayed in their order, with their resets.
    fn mouse_mode(&mut self, mode: u16, on: bool) {
        let outdated = |requested: &(u16, bool)| requested.0 == mode && (on || !requested.1);
        self.mouse.retain(|requested| !outdated(requested));
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
                if !is_end && whole.len() <= MAX_LINK_BYTES {
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

    /// Appends the bytes that precede those of the engine: they reset what an earlier session may
    /// have left in the terminal, as far as the engine does not. `cols` is the width.
    pub(super) fn write_reset(&self, out: &mut Vec<u8>, cols: u16) {
        // CAN aborts a sequence that was cut when the client's connection was lost.
        out.extend(b"\x18\x1b]8;;\x1b\\");
        Titles::write_reset(out);
        out.extend(b"\x1b[m\x1b(B\x1b)B\x0f\x1b[?69l\x1b[r\x1b[?6l");
        // Each screen has a keyboard stack and a saved cursor of its own.
        out.extend(b"\x1b[?1049h\x1b[<255u\x1b[=0u\x1b[H\x1b7");
        self.keyboard.write_state(true, out);
        out.extend(b"\x1b[?1049l\x1b[<255u\x1b[=0u");
        self.keyboard.write_state(false, out);
        out.extend(b"\x1b[>4;0m\x1b[0 q\x1b[?12l\x1b[20l");
        for mode in MOUSE
            .iter()
            .chain(PRIVATE.iter().filter(|mode| !NOT_RESET.contains(mode)))
        {
            out.extend(format!("\x1b[?{mode}l").bytes());
        }
        out.extend(b"\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\");
        // The engine reproduces tab stops relative to every eighth column.
        out.extend(b"\x1b[?69l\x1b[r\x1b[?6l\x1b[3g");
        for col in (0..cols).step_by(8) {
            out.extend(format!("\x1b[1;{}H\x1bH", col + 1).bytes());
        }
    }

    /// Appends the bytes that follow those of the engine.
    pub(super) fn write_state(&self, out: &mut Vec<u8>) {
        // The engine has set some of them, in another order.
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
        self.titles.write_state(out);
        if let Some(mark) = self.mark {
            out.extend(format!("\x1b]133;{}\x1b\\", char::from(mark)).bytes());
        }
        out.extend(&self.progress);
        out.extend(&self.link);
    }
}
