//! The window's title and icon name, and their stacks (`CSI 22 t`, `CSI 23 t`, xterm ctlseqs).

use super::super::sequence::{Csi, Osc};

/// Maximal bytes of a title; each snapshot has it.
const MAX_TITLE_BYTES: usize = 1024;

/// Maximal titles on a stack, as in xterm.
const MAX_DEPTH: usize = 10;

/// Titles and icon names.
#[derive(Clone, Debug, Default)]
pub(super) struct Titles {
    icon: Stack,
    window: Stack,
}

#[derive(Clone, Debug, Default)]
struct Stack {
    /// Empty until one is set.
    current: Vec<u8>,
    pushed: Vec<Vec<u8>>,
}

impl Titles {
    pub(super) fn osc(&mut self, osc: &Osc<'_>) {
        // The engine drops C0 controls from titles but keeps DEL; both titles have to be the same.
        let is_plain = |byte: &u8| *byte >= 0x20;
        let title: Vec<u8> = osc
            .text
            .iter()
            .copied()
            .filter(is_plain)
            .take(MAX_TITLE_BYTES)
            .collect();
        if osc.number != 1 {
            self.window.current.clone_from(&title);
        }
        if osc.number != 2 {
            self.icon.current = title;
        }
    }

    pub(super) fn csi(&mut self, csi: &Csi<'_>) {
        let mut params = csi.params().map(Option::unwrap_or_default);
        let (what, which) = (params.next(), params.next().unwrap_or(0));
        let stacks = [(1, &mut self.icon), (2, &mut self.window)];
        for (_, stack) in stacks
            .into_iter()
            .filter(|(own, _)| which == 0 || which == *own)
        {
            match what {
                Some(22) => stack.push(),
                Some(23) => stack.pop(),
                _ => {}
            }
        }
    }

    /// Appends the sequences that clear the titles of an earlier session and their stacks.
    pub(super) fn write_reset(out: &mut Vec<u8>) {
        out.extend(b"\x1b[23;0t".repeat(MAX_DEPTH));
        out.extend(b"\x1b]0;\x1b\\");
    }

    /// Appends the sequences that set and push titles again. Some terminals have one stack for both
    /// titles, so that `CSI 22 ; 0 t` is used where the stacks are equally high.
    pub(super) fn write_state(&self, out: &mut Vec<u8>) {
        if self.icon.pushed.len() != self.window.pushed.len() {
            self.icon.write_state(1, out);
            self.window.write_state(2, out);
            return;
        }
        for (icon, window) in self.icon.pushed.iter().zip(&self.window.pushed) {
            set(1, icon, out);
            set(2, window, out);
            out.extend(b"\x1b[22;0t");
        }
        self.icon.write_current(1, out);
        self.window.write_current(2, out);
    }
}

fn set(number: u8, title: &[u8], out: &mut Vec<u8>) {
    out.extend(format!("\x1b]{number};").bytes());
    out.extend(title);
    out.extend(b"\x1b\\");
}

impl Stack {
    fn push(&mut self) {
        if self.pushed.len() == MAX_DEPTH {
            self.pushed.remove(0);
        }
        self.pushed.push(self.current.clone());
    }

    fn pop(&mut self) {
        if let Some(title) = self.pushed.pop() {
            self.current = title;
        }
    }

    fn write_state(&self, number: u8, out: &mut Vec<u8>) {
        for title in &self.pushed {
            set(number, title, out);
            out.extend(format!("\x1b[22;{number}t").bytes());
        }
        self.write_current(number, out);
    }

    fn write_current(&self, number: u8, out: &mut Vec<u8>) {
        if !self.current.is_empty() || !self.pushed.is_empty() {
            set(number, &self.current, out);
        }
    }
}
