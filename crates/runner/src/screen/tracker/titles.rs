//! The window's title and icon name, and their stacks (`CSI 22 t`, `CSI 23 t`).

use super::super::sequence::{Csi, Osc};

/// Bytes of a title that are kept. Nobody reads more, and each snapshot carries it.
const LONGEST: usize = 1024;

/// Titles on a stack, as xterm has them.
const DEEPEST: usize = 10;

/// Titles and icon names.
#[derive(Clone, Debug, Default)]
pub(super) struct Titles {
    icon: Stack,
    window: Stack,
}

#[derive(Clone, Debug, Default)]
struct Stack {
    /// Empty until one is set.
    now: Vec<u8>,
    below: Vec<Vec<u8>>,
}

impl Titles {
    pub(super) fn osc(&mut self, osc: &Osc<'_>) {
        // What the engine leaves out: its title is to be this one. DEL is a character like others.
        let is_plain = |byte: &u8| *byte >= 0x20;
        let title: Vec<u8> = osc
            .text
            .iter()
            .copied()
            .filter(is_plain)
            .take(LONGEST)
            .collect();
        if osc.number != 1 {
            self.window.now.clone_from(&title);
        }
        if osc.number != 2 {
            self.icon.now = title;
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

    /// Empties the titles of another session and their stacks.
    pub(super) fn forget(out: &mut Vec<u8>) {
        out.extend(b"\x1b[23;0t".repeat(DEEPEST));
        out.extend(b"\x1b]0;\x1b\\");
    }

    /// Sets and pushes again what was set and pushed. Some terminals have one stack for both, which is
    /// what programs mean nearly always: `CSI 22 ; 0 t`.
    pub(super) fn restore(&self, out: &mut Vec<u8>) {
        if self.icon.below.len() != self.window.below.len() {
            self.icon.restore(1, out);
            self.window.restore(2, out);
            return;
        }
        for (icon, window) in self.icon.below.iter().zip(&self.window.below) {
            set(1, icon, out);
            set(2, window, out);
            out.extend(b"\x1b[22;0t");
        }
        self.icon.restore_top(1, out);
        self.window.restore_top(2, out);
    }
}

fn set(number: u8, title: &[u8], out: &mut Vec<u8>) {
    out.extend(format!("\x1b]{number};").bytes());
    out.extend(title);
    out.extend(b"\x1b\\");
}

impl Stack {
    fn push(&mut self) {
        if self.below.len() == DEEPEST {
            self.below.remove(0);
        }
        self.below.push(self.now.clone());
    }

    fn pop(&mut self) {
        if let Some(title) = self.below.pop() {
            self.now = title;
        }
    }

    fn restore(&self, number: u8, out: &mut Vec<u8>) {
        for title in &self.below {
            set(number, title, out);
            out.extend(format!("\x1b[22;{number}t").bytes());
        }
        self.restore_top(number, out);
    }

    fn restore_top(&self, number: u8, out: &mut Vec<u8>) {
        if !self.now.is_empty() || !self.below.is_empty() {
            set(number, &self.now, out);
        }
    }
}
